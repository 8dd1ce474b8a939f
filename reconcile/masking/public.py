"""Findings and results as public JSON, with personal data masked: record ids are lists, instants ISO, decimals text.

New versions only add fields. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from notifications.base import MASK
from reconcile.documents import JsonObject
from reconcile.findings.chosen_values import by_record
from reconcile.findings.identity import is_of_content, public
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.results import Outcome, RuleResult, to_json
from reconcile.findings.shown import Finding, Foreseen, NamedRecord
from reconcile.masking.personal import Masking
from rules.groups.group import Difference, Nearby
from rules.pairs import evidence
from rules.pairs.evidence import Link
from rules.values import Value

Roles = Sequence[tuple[str, NamedRecord]]
_SIDES = ("left", "right")


def outcome_json(outcome: Outcome, hidden: Masking) -> JsonObject:
    """Return a rule's part of a report; its sums are masked if its amounts are."""
    shown = to_json(outcome)
    if not isinstance(outcome, RuleResult):
        return shown
    if hidden.hides_amounts:
        shown["money"] = dict.fromkeys(outcome.money, MASK)
        shown |= {"balance": [{"currency": line.currency} for line in outcome.balance]} if outcome.balance else {}
    return shown


def foreseen_json(finding: Foreseen, hidden: Masking) -> JsonObject:
    """Return a finding of a dry run."""
    group = finding.group
    shown = {
        "id": finding.id,
        "rule": finding.rule,
        "kind": finding.kind,
        "dataset": finding.dataset,
        "state": finding.state.value,
        "severity": finding.severity.name,
        "change": finding.change.value,
        **_group(group.roles, finding.dataset, group.form, hidden),
        **_sums(group.key, finding.datasets, len(group.members), group.at_risk, hidden),
        **_places(group.members, hidden),
    }
    shown |= {"repetition": vars(group.repetition)} if group.repetition else {}
    probability = evidence.probability(group.links)
    shown |= {} if probability is None else {"probability": float(probability)}
    shown |= _nearby(group.nearby, group.nearby_records, finding.datasets, hidden)
    return shown | _comparison(group.differences, group.reason, finding.datasets, hidden)


def finding_json(finding: Finding, hidden: Masking) -> JsonObject:
    roles = [(member.role, member) for member in finding.members]
    required: JsonObject = {
        "id": finding.id,
        "rule": finding.rule,
        "kind": finding.kind,
        "dataset": finding.dataset,
        "state": finding.state.value,
        "severity": finding.severity.name,
        **_group(roles, finding.dataset, finding.form, hidden),
        **_sums(finding.key, finding.datasets, finding.records, dict(sorted(finding.money.items())), hidden),
        "first_seen": public(finding.first_seen),
        "last_seen": public(finding.last_seen),
        "state_since": public(finding.state_since),
        "version": finding.version,
        "last_change": finding.change.value,
        "first_run": finding.first_run,
        "last_run": finding.last_run,
    }
    optional = dict(_optional(finding, hidden))
    return required | {name: value for name, value in optional.items() if value is not None}


def _optional(finding: Finding, hidden: Masking) -> Iterator[tuple[str, Any]]:
    """Yield the fields of which only those with a value are shown."""
    span = finding.span or ()
    yield "span", [hidden.of_key(hidden.span, public(value), finding.datasets) for value in span] or None
    yield "repetition", None if finding.repetition is None else vars(finding.repetition)
    yield "reason", finding.reason
    yield "snoozed_until", None if finding.snoozed_until is None else public(finding.snoozed_until)
    for name in ("assigned_to", "decided_by", "note", "merged_into", "not_undone"):
        yield name, getattr(finding, name)
    yield "kept_by", finding.kept_by
    yield (
        "rule_keeper",
        next(iter(_records([finding.rule_keeper] if finding.rule_keeper else [], finding, hidden)), None),
    )
    yield "chosen_values", chosen_values(finding, hidden) or None
    settled = [member for member in finding.members if member.settled_at]
    yield "settled", _records(settled, finding, hidden) or None
    for name in ("settled_pairs", "handled_pairs"):
        yield name, [_records(pair, finding, hidden) for pair in getattr(finding, name)] or None
    yield "probability", None if finding.probability is None else float(finding.probability)
    yield "links", [_link(link) for link in finding.links] or None
    yield from _comparison(finding.differences, finding.form_reason, finding.datasets, hidden).items()
    yield from _places(finding.members, hidden).items()
    yield from _nearby(finding.nearby, finding.nearby_records, finding.datasets, hidden).items()


def _link(link: Link) -> JsonObject:
    """Return what joins two records; only a rule that words its evidence gives more than keys."""
    shown = {"records": [link.first, link.second], "keys": list(link.keys), "bridge": link.bridge}
    optional = {
        "detail": link.detail or None,
        "weight": None if link.weight is None else public(link.weight),
        "probability": None if link.probability is None else float(link.probability),
    }
    return shown | {name: value for name, value in optional.items() if value is not None}


def chosen_values(finding: Finding, hidden: Masking) -> list[JsonObject]:
    """Return the columns whose value a person chose, by the record that gives it and the person."""
    return [
        {"columns": columns, "record": hidden.side(member.dataset).record(member.id), "by": by}
        for member, by, columns in by_record(finding)
    ]


def _group(roles: Roles, dataset: str, form: str, hidden: Masking) -> JsonObject:
    """Return the form and the records: keeper and surplus, or those of each role with their dataset, both sides of a
    comparison."""
    by_role: dict[str, list[NamedRecord]] = {}
    for role, member in roles:
        by_role.setdefault(role, []).append(member)
    if form != DUPLICATE:
        named = _SIDES if by_role.keys() <= set(_SIDES) else tuple(by_role)
        return {"form": form} | {
            role: [_record(member, dataset, hidden) for member in by_role.get(role, ())] for role in named
        }
    keeper = next(iter(by_role.get("keeper", ())), None)
    shown: JsonObject = {
        "form": form,
        "keeper": hidden.side(keeper.dataset).record(keeper.id) if keeper else None,
        "surplus": [hidden.side(member.dataset).record(member.id) for member in by_role.get("surplus", ())],
    }
    if any(member.dataset is not None for _, member in roles):
        shown["members"] = [{"role": role, **_record(member, dataset, hidden)} for role, member in roles]
    return shown


def _record(member: NamedRecord, dataset: str, hidden: Masking) -> JsonObject:
    """Return a record with its dataset, and its place or its values if it has no id."""
    side = hidden.side(member.dataset)
    shown = {"dataset": member.dataset or dataset, "id": side.record(member.id)}
    if (place := side.place(member)) is not None:
        return shown | {"place": place}
    return shown | ({"values": side.values(member)} if is_of_content(member.id) else {})


def _records(members: Sequence[NamedRecord], finding: Finding, hidden: Masking) -> list[Any]:
    if len(finding.datasets) > 1:
        return [_record(member, finding.dataset, hidden) for member in members]
    return [hidden.side(member.dataset).record(member.id) for member in members]


def _sums(
    key: Mapping[str, Value], datasets: Sequence[str], records: int, money: Mapping[str, Decimal], hidden: Masking
) -> JsonObject:
    return {
        "key": {column: hidden.of_key(column, public(value), datasets) for column, value in key.items()},
        "records": records,
        "money": {name: MASK if hidden.hides_amounts else public(amount) for name, amount in money.items()},
    }


def _comparison(
    differences: Sequence[Difference], reason: str | None, datasets: Sequence[str], hidden: Masking
) -> JsonObject:
    """Return the fields that differ, and why the form; empty without both."""
    shown: JsonObject = {"form_reason": reason} if reason else {}
    if differences:
        values = [(difference.column, *hidden.compared(difference, datasets)) for difference in differences]
        shown["differences"] = [{"column": column, "left": left, "right": right} for column, left, right in values]
    return shown


def _nearby(nearest: Sequence[Nearby], records: int, datasets: Sequence[str], hidden: Masking) -> JsonObject:
    """Return the records near a group that its window left out, the nearest first; empty if there are none."""
    if not nearest:
        return {}
    shown = {
        "nearest": [hidden.side(record.dataset).record(record.id) for record in nearest],
        "at": [hidden.of_key(hidden.span, public(record.at), datasets) for record in nearest],
    }
    return {"nearby": {"records": records, **shown, **_places(nearest, hidden)}}


def _places(members: Sequence[NamedRecord], hidden: Masking) -> JsonObject:
    """Return file and row of records without an id, else their values; empty if the records have ids."""
    if not members or not all(is_of_content(member.id) for member in members):
        return {}
    places = [hidden.side(member.dataset).place(member) for member in members]
    if None not in places:
        return {"places": places}
    return {"values": [hidden.side(member.dataset).values(member) for member in members]}
