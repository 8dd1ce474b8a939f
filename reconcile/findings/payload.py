"""The parts of a group that its finding stores in its payload, written and read. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reconcile.findings.identity import dataset_of, decode, encode, id_of, judged_values, member_name
from rules.engines.base import Difference, Discrepancy, DuplicateGroup, Group, Link, Member, Nearby
from rules.values import Value

DUPLICATE = "duplicate"
"""The form of a group that has a keeper; it is not stored."""
PARTS = ("span", "nearby", "form", "datasets", "differing", "form_reason", "links", "judged")
"""The names that `written` may use; a finding that is found again gets them anew."""
PERSONAL = ("nearby", "differing", "judged", "settled_key")
"""The names of those parts that hold values of records, or their ids."""


@dataclass(frozen=True)
class GroupParts:
    """What a payload says about a group; see `Finding` for its fields."""

    form: str = DUPLICATE
    datasets: tuple[str, ...] = ()
    span: tuple[Value, Value] | None = None
    nearby: tuple[Nearby, ...] = ()
    nearby_records: int = 0
    differences: tuple[Difference, ...] = ()
    form_reason: str | None = None
    links: tuple[Link, ...] = ()


def written(group: Group, datasets: Sequence[str]) -> dict[str, Any]:
    """Return the parts of a group for the payload; `datasets` are those whose records its rule's
    groups hold."""
    parts: dict[str, Any] = {"span": [encode(end) for end in group.span] if group.span else None}
    parts |= {"datasets": list(datasets)} if len(datasets) > 1 else {}
    if isinstance(group, DuplicateGroup):
        judged = {"judged": encoded(judged_values(group))} if group.links else {}
        return parts | judged | _nearby(group) | _links(group)
    parts |= {"form": group.form, "judged": encoded(judged_values(group))}
    if isinstance(group, Discrepancy):
        parts["differing"] = [
            [each.column, encode(each.left), encode(each.right), each.left_column, each.right_column]
            for each in group.differences
        ]
        parts["form_reason"] = group.reason
    return parts


def read(payload: Mapping[str, Any]) -> GroupParts:
    """Return the parts that `written` wrote."""
    span, nearby = payload.get("span"), payload.get("nearby") or {}
    return GroupParts(
        form=payload.get("form", DUPLICATE),
        datasets=tuple(payload.get("datasets", ())),
        span=(decode(span[0]), decode(span[1])) if span else None,
        nearby=tuple(
            Nearby(id_of(record), {name: decode(value) for name, value in values}, dataset_of(record), at=decode(at))
            for record, values, at in nearby.get("nearest", ())
        ),
        nearby_records=nearby.get("records", 0),
        differences=tuple(
            Difference(column, decode(left), decode(right), *columns)
            for column, left, right, *columns in payload.get("differing", ())
        ),
        form_reason=payload.get("form_reason"),
        links=tuple(
            Link(first, second, tuple(keys), bridge) for first, second, keys, bridge in payload.get("links", ())
        ),
    )


def encoded(values: Mapping[str, Value]) -> list[Any]:
    """Return values by column as a list, which keeps their order in JSON."""
    return [[column, encode(value)] for column, value in values.items()]


def _nearby(group: DuplicateGroup) -> dict[str, Any]:
    nearest = [[member_name(record), encoded(record.values), encode(record.at)] for record in group.nearby]
    return {"nearby": {"records": group.nearby_records, "nearest": nearest}} if nearest else {}


def _links(group: DuplicateGroup) -> dict[str, Any]:
    """Return the links between records that are stored: each once, in order."""
    places = _places(group.members)
    links = [[places[link.first], places[link.second], list(link.keys), link.bridge] for link in group.links]
    return {"links": [link for link in links if link[0] != link[1]]} if links else {}


def _places(members: Sequence[Member]) -> list[int]:
    """Return the place of each member among the different ones."""
    places: dict[str, int] = {}
    return [places.setdefault(member_name(member), len(places)) for member in members]
