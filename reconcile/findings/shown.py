"""A finding for people and programs, and its public JSON. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from reconcile.findings.identity import is_of_content, public
from reconcile.findings.judgement import Change
from reconcile.findings.states import State
from rules.engines.base import Nearby
from rules.models import Severity
from rules.values import PLACE, RecordId, Value


@dataclass(frozen=True)
class FindingMember:
    """A record of a finding. `settled_at`: the time of a decision on it; only records without one can be surplus."""

    id: RecordId
    values: Mapping[str, Value]
    first_seen: dt.datetime
    settled_at: dt.datetime | None = None


@dataclass(frozen=True)
class Finding:
    """The current state of one finding, keeper first, surplus in the order of handling.

    `change` is the last reported change, in `version`; `summary`: it belongs to the one summary of a rule's first run.
    `settled_pairs` are the pairs judged different that are still valid. `money` is the surplus's sum per currency,
    without its sign. `nearby` are the nearest of the `nearby_records` that a window left out. `not_undone`: the reason
    why the last requested undo was not done.
    """

    id: str
    fingerprint: str
    rule: str
    kind: str
    dataset: str
    state: State
    severity: Severity
    version: int
    change: Change
    key: Mapping[str, Value]
    records: int
    first_run: str
    first_seen: dt.datetime
    last_run: str
    last_seen: dt.datetime
    state_since: dt.datetime
    keeper: FindingMember | None = None
    surplus: tuple[FindingMember, ...] = ()
    money: Mapping[str, Decimal] = field(default_factory=dict)
    span: tuple[Value, Value] | None = None
    settled_pairs: tuple[tuple[RecordId, RecordId], ...] = ()
    summary: bool = False
    reason: str | None = None
    snoozed_until: dt.datetime | None = None
    assigned_to: str | None = None
    decided_by: str | None = None
    note: str | None = None
    merged_into: str | None = None
    not_undone: str | None = None
    nearby: tuple[Nearby, ...] = ()
    nearby_records: int = 0

    @property
    def members(self) -> tuple[FindingMember, ...]:
        return (self.keeper, *self.surplus) if self.keeper else self.surplus


def to_json(finding: Finding) -> dict[str, Any]:
    """A finding as public JSON: record ids are lists, instants ISO, decimals text. New versions only add fields."""
    required: dict[str, Any] = {
        "id": finding.id,
        "fingerprint": finding.fingerprint,
        "rule": finding.rule,
        "kind": finding.kind,
        "dataset": finding.dataset,
        "status": finding.state.value,
        "severity": finding.severity.name,
        "keeper": _id(finding.keeper.id) if finding.keeper else None,
        "surplus": [_id(member.id) for member in finding.surplus],
        "key": {name: public(value) for name, value in finding.key.items()},
        "records": finding.records,
        "money": {currency: public(amount) for currency, amount in sorted(finding.money.items())},
        "first_seen": public(finding.first_seen),
        "last_seen": public(finding.last_seen),
        "status_since": public(finding.state_since),
        "version": finding.version,
        "last_change": finding.change.value,
        "first_run": finding.first_run,
        "last_run": finding.last_run,
    }
    optional: dict[str, Any] = {
        "span": [public(value) for value in finding.span] if finding.span else None,
        "reason": finding.reason,
        "snoozed_until": None if finding.snoozed_until is None else public(finding.snoozed_until),
        "assigned_to": finding.assigned_to,
        "decided_by": finding.decided_by,
        "note": finding.note,
        "merged_into": finding.merged_into,
        "not_undone": finding.not_undone,
        "settled": [_id(member.id) for member in finding.members if member.settled_at] or None,
        "settled_pairs": [[_id(a), _id(b)] for a, b in finding.settled_pairs] or None,
        **places(finding.members),
        **nearby(finding.nearby, finding.nearby_records),
    }
    return required | {name: value for name, value in optional.items() if value is not None}


def nearby(nearest: Sequence[Nearby], records: int) -> dict[str, Any]:
    """The records near a group that its window left out, the nearest first; empty if there are none."""
    if not nearest:
        return {}
    fields = {"nearest": [_id(record.id) for record in nearest], "at": [public(record.at) for record in nearest]}
    return {"nearby": {"records": records, **fields, **places(nearest)}}


class Named(Protocol):
    """A record of a finding or of a group."""

    @property
    def id(self) -> RecordId: ...

    @property
    def values(self) -> Mapping[str, Value]: ...


def places(members: Sequence[Named]) -> dict[str, Any]:
    """File and row of records without an id, keeper first, else their values; empty if the records have ids."""
    if not members or not all(is_of_content(member.id) for member in members):
        return {}
    at = [[public(member.values.get(name)) for name in PLACE] for member in members]
    if all(None not in place for place in at):
        return {"places": at}
    return {"values": [{name: public(value) for name, value in member.values.items()} for member in members]}


def _id(record: Sequence[Value]) -> list[str | int | float | bool | None]:
    return [public(part) for part in record]
