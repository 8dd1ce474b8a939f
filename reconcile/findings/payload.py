"""The parts of a group that its finding stores in its payload, written and read. Pure."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from reconcile.documents import JsonObject
from reconcile.findings.identity import dataset_of, decode, encode, id_of, judged_values, member_name, public
from rules.groups.group import Difference, Group, Member, Nearby
from rules.groups.repetition import Repetition
from rules.pairs import distances
from rules.pairs.evidence import Link
from rules.values import EXACT, Value

DUPLICATE = "duplicate"
"""The form of a group that has a keeper; it is not stored."""
HANDLED_MONEY = "handled_money"
"""The money of the records of an undecided finding that were handled; `money` is that of the others."""
DECIDED = "decided"
"""The state that a person gave a finding by the decision about its settled records. A cleaning settles records too."""
DECIDED_MONEY = "decided_money"
"""The money of a finding when a person said that it was handled."""
PARTS = (
    "span",
    "nearby",
    "form",
    "datasets",
    "differing",
    "form_reason",
    "links",
    "judged",
    "repetition",
    "beside",
    HANDLED_MONEY,
)
"""The names that `written` may use; a finding that is found again gets new ones."""
PEAKS = "peaks"
"""The largest extents of a discrepancy since it was new or came back."""
MISSING = "@missing"
"""The name of the extent of a gap: how many numbers are missing."""
PERSONAL = ("nearby", "differing", "judged", "settled_key", "beside", PEAKS)
"""The names of parts that hold values of records, or their ids."""

_NOTHING = Decimal(0)
_MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(frozen=True)
class GroupParts:
    """The parts of a payload that describe a group; see `Finding` for its fields."""

    form: str = DUPLICATE
    datasets: tuple[str, ...] = ()
    span: tuple[Value, Value] | None = None
    nearby: tuple[Nearby, ...] = ()
    nearby_records: int = 0
    differences: tuple[Difference, ...] = ()
    form_reason: str | None = None
    links: tuple[Link, ...] = ()
    repetition: Repetition | None = None


def written(group: Group, datasets: Sequence[str]) -> JsonObject:
    """Return the parts of a group for the payload; `datasets` are those whose records its rule's
    groups hold."""
    parts: JsonObject = {"span": [encode(end) for end in group.span] if group.span else None}
    parts |= {"datasets": list(datasets)} if len(datasets) > 1 else {}
    if group.form != DUPLICATE:
        parts["form"] = group.form
    if group.form != DUPLICATE or group.links:
        parts["judged"] = encoded(judged_values(group))
    if group.repetition:
        parts["repetition"] = list(vars(group.repetition).values())
    if group.has_sides:
        parts["differing"] = [
            [each.column, encode(each.left), encode(each.right), each.left_column, each.right_column]
            for each in group.differences
        ]
        parts["form_reason"] = group.reason
    if group.beside:
        parts["beside"] = [[member_name(record), encoded(record.values)] for record in group.beside]
    return parts | _nearby(group) | _links(group)


def read(payload: Mapping[str, Any]) -> GroupParts:
    """Return the parts that `written` wrote."""
    span, nearby = payload.get("span"), payload.get("nearby") or {}
    repetition = payload.get("repetition")
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
        repetition=Repetition(*repetition) if repetition else None,
        links=tuple(
            Link(first, second, tuple(keys), bridge, *_read_evidence(*evidence))
            for first, second, keys, bridge, *evidence in payload.get("links", ())
        ),
    )


def extents(at_risk: Mapping[str, Decimal], differences: Sequence[Difference]) -> dict[str, Decimal]:
    """Return how large a discrepancy is: its money by currency, and for each field that differs how far.

    Times are counted in microseconds. A field that holds no numbers or times just differs: 0.
    """
    sizes = {f"@at risk {currency}": amount for currency, amount in at_risk.items()}
    return sizes | {each.column: _distance(each.left, each.right) for each in differences}


def extents_of(group: Group) -> dict[str, Decimal]:
    """Return the extents of a group that can become larger without another record; empty for others."""
    if not group.can_worsen:
        return {}
    return extents(group.at_risk, group.differences) | ({MISSING: Decimal(group.missing)} if group.missing else {})


def apart(left: Value, right: Value) -> str | None:
    """Return how far apart two values are, in words: "by 0.50" or "8 days apart"; None if that is not measured."""
    match left, right:
        case (dt.datetime(), _) | (_, dt.datetime()):
            return None  # their days depend on the time zones of both datasets
        case (dt.date(), dt.date()):
            days = abs((left - right).days)
            return f"{days:,} {'day' if days == 1 else 'days'} apart"
    size = _distance(left, right)
    return f"by {public(size)}" if size else None


def _distance(left: Value, right: Value) -> Decimal:
    match left, right:
        case (bool(), _) | (_, bool()):
            return _NOTHING
        case (int() | float() | Decimal(), int() | float() | Decimal()):
            numbers = distances.number(left), distances.number(right)
            return abs(EXACT.subtract(*numbers)) if all(number.is_finite() for number in numbers) else _NOTHING
        case (dt.datetime(), dt.datetime()) | (dt.date(), dt.date()) if type(left) is type(right):
            return Decimal(abs(left - right) // _MICROSECOND)
    return _NOTHING


def amount_rank(money: Mapping[str, Decimal]) -> float:
    """Return minus the largest amount; a debit is as large as a credit, and of several currencies the number counts."""
    return -min(max((abs(float(amount)) for amount in money.values()), default=0.0), sys.float_info.max)


def peaks(payload: Mapping[str, Any], money: Mapping[str, str]) -> dict[str, Decimal]:
    """Return the largest extents of a stored discrepancy; those of its last run if none are stored."""
    if PEAKS in payload:
        return {name: Decimal(size) for name, size in payload[PEAKS]}
    if "form" not in payload:
        return {}
    return extents({currency: abs(Decimal(amount)) for currency, amount in money.items()}, read(payload).differences)


def with_peaks(parts: Mapping[str, Any], group: Group, former: Mapping[str, Decimal]) -> JsonObject:
    """Return the parts with the peaks of a group that has extents: these, or the former ones that are larger."""
    if not (sizes := extents_of(group)):
        return dict(parts)
    largest = dict(former)
    for name, size in sizes.items():
        largest[name] = max(size, former.get(name, size))
    return {**parts, PEAKS: [[name, str(size)] for name, size in sorted(largest.items())]}


def encoded(values: Mapping[str, Value]) -> list[Any]:
    """Return values by column as a list, which keeps their order in JSON."""
    return [[column, encode(value)] for column, value in values.items()]


def _nearby(group: Group) -> JsonObject:
    nearest = [[member_name(record), encoded(record.values), encode(record.at)] for record in group.nearby]
    return {"nearby": {"records": group.nearby_records, "nearest": nearest}} if nearest else {}


def _links(group: Group) -> JsonObject:
    """Return the links between records that are stored: each once, in order."""
    if not group.links:
        return {}
    places = _places(group.members)
    links = [
        [places[link.first], places[link.second], list(link.keys), link.bridge, *_evidence(link)]
        for link in group.links
    ]
    return {"links": [link for link in links if link[0] != link[1]]}


def _evidence(link: Link) -> list[str | None]:
    """Return the detail of a link, its weight and its probability as texts; nothing if it has none of them."""
    numbers = [None if number is None else str(number) for number in (link.weight, link.probability)]
    return [link.detail, *numbers] if link.detail or any(numbers) else []


def _read_evidence(
    detail: str = "", weight: str | None = None, probability: str | None = None
) -> tuple[str, Decimal | None, Decimal | None]:
    return detail, _read_number(weight), _read_number(probability)


def _read_number(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _places(members: Sequence[Member]) -> list[int]:
    """Return the place of each member among the different ones."""
    places: dict[str, int] = {}
    return [places.setdefault(member_name(member), len(places)) for member in members]
