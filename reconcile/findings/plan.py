"""A plan: what happens to each row of one group, as data; people approve its hash. Pure."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from connectors.calls import Call
from connectors.target import Cell, Cells, Change, Reference, RowName
from reconcile.documents import JsonObject

FORM = "reconcile/plan/1"


@dataclass(frozen=True)
class Operation:
    """One effect on one surplus record, identified by an idempotency key.

    `record` is the record's name in the store. `fingerprint` covers the change (effect, target, columns and values),
    not the rule or the previous values. `generation` rises when a removed id comes back as another record.
    """

    record: str
    effect: str
    fingerprint: str
    generation: int = 1


@dataclass(frozen=True)
class ReferenceGuard:
    """The rows that referred to the surplus at planning; the plan is executed only while they are the same."""

    reference: Reference
    to: tuple[tuple[Cell, ...], ...]
    rows: tuple[RowName, ...]


@dataclass(frozen=True)
class Plan:
    """The plan for one group. `changes` are in order of execution; `why` gives the limits of its undo.

    A plan changes rows, or makes one of `calls`, which belong to the operations in their order; then its `changes` are
    guards.

    `origins` names, for a merge, the source record of each surviving value of the keeper. `undoes` is the plan that
    this one reverses. `binding` identifies the rule's settings at planning: after an edit the plan is void. `uncounted`
    gives the reason for surplus whose amount is not in `money`, like "no currency". `filled` are columns of
    `ignore_drift` whose values may change, but not between empty and filled.

    A discrepancy has no `keeper`: it is empty, and all cleaned records are surplus. `evidence` identifies the records
    of other datasets that the plan relies on, with their values: 64 hex digits, empty if there are none. `salt` comes
    from the state's key and the finding: without it nobody can compare the hash with guesses of masked values. Plans of
    earlier versions have none.
    """

    finding: str
    rule: str
    dataset: str
    source: str
    target: str
    table: str
    action: str
    keeper: str
    operations: tuple[Operation, ...]
    changes: tuple[Change, ...]
    catalogue: str
    references: tuple[ReferenceGuard, ...] = ()
    ignore_drift: tuple[str, ...] = ()
    money: Mapping[str, str] = field(default_factory=dict)
    reversible: str = "yes"
    why: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    undoes: str | None = None
    binding: str = ""
    uncounted: Mapping[str, str] = field(default_factory=dict)
    filled: tuple[str, ...] = ()
    evidence: str = ""
    salt: str = ""
    calls: tuple[Call, ...] = ()

    @property
    def group(self) -> int:
        """The number of records of the group that are or may be affected, the keeper included."""
        return len(self.surplus) + bool(self.keeper)

    @property
    def rows(self) -> int:
        """The number of rows it changes, without guards."""
        return sum(not change.is_guard for change in self.changes)

    @property
    def surplus(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(operation.record for operation in self.operations))

    @property
    def plan_hash(self) -> str:
        """64 hex digits that identify exactly this plan."""
        return hash_of(text_of(self))

    @property
    def hashes(self) -> tuple[str, ...]:
        """The hashes under which exactly this plan may be stored: also that of an earlier version."""
        unsalted = (replace(self, salt="").plan_hash,) if self.salt else ()
        return (self.plan_hash, *unsalted)


def salt_of(key: bytes, finding: str) -> str:
    """Return the salt of all plans of a finding: 32 hex digits."""
    return hmac.digest(key, f"reconcile/plan-salt/1|{finding}".encode(), "sha256").hex()[:32]


def to_json(plan: Plan) -> JsonObject:
    """Plain JSON for `from_json`, which returns the same plan."""
    fields = dict(vars(plan))
    fields["operations"] = [dict(vars(operation)) for operation in plan.operations]
    fields["changes"] = [change_to_json(change) for change in plan.changes]
    fields["references"] = [
        {
            "reference": _reference_to_json(guard.reference),
            "to": guard.to,
            "rows": [_name_to_json(row) for row in guard.rows],
        }
        for guard in plan.references
    ]
    fields["money"], fields["origins"] = dict(plan.money), dict(plan.origins)
    fields["uncounted"] = dict(plan.uncounted)
    fields["calls"] = [_call_to_json(call) for call in plan.calls]
    for name in ("uncounted", "filled", "evidence", "salt", "calls"):
        if not fields[name]:
            del fields[name]  # so plans of earlier versions keep their hash
    return fields


def text_of(plan: Plan) -> str:
    """The JSON as the text that is hashed."""
    return json.dumps(to_json(plan), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def hash_of(text: str) -> str:
    """The hash of a plan's text from `text_of`: 64 hex digits that identify exactly this plan."""
    return hashlib.sha256(f'["{FORM}",{text}]'.encode()).hexdigest()


def is_alike(first: Plan, second: Plan) -> bool:
    """Return True if two plans differ only in values that may drift: a decision about one is valid for the other."""
    return text_of(_without_drift(first)) == text_of(_without_drift(second))


def is_alike_renamed(former: Plan, plan: Plan, renamed: Mapping[str, str]) -> bool:
    """Return True if a plan makes the same of the same records as a former one, whose records have other ids now.

    The types of its cells may differ, and what identifies the settings and the table: they changed with the ids.
    """
    return _outline(former, renamed) == _outline(plan, {})


def _outline(plan: Plan, renamed: Mapping[str, str]) -> object:
    def texts(cells: Cells | None) -> Mapping[str, str | None] | None:
        return None if cells is None else {name: None if cell is None else cell[1] for name, cell in cells.items()}

    operations = {(renamed.get(operation.record, operation.record), operation.effect) for operation in plan.operations}
    changes = [
        (change.role, change.row.table, texts(dict(change.row.key)), texts(change.before), texts(change.after))
        for change in _without_drift(plan).changes
    ]
    keeper = renamed.get(plan.keeper, plan.keeper)
    calls = [(call.sends, call.undo, call.answer) for call in plan.calls]
    return plan.finding, plan.target, plan.table, plan.action, plan.undoes, keeper, operations, changes, calls


def _without_drift(plan: Plan) -> Plan:
    def without(cells: Cells | None) -> Cells:
        return {name: cell for name, cell in (cells or {}).items() if name not in plan.ignore_drift}

    def kept(change: Change) -> Change:
        if change.is_arrival:
            return replace(change, after=without(change.after))
        if change.before is None or change.row.table != plan.table:
            return change
        return replace(change, before=without(change.before))

    return replace(plan, salt="", changes=tuple(map(kept, plan.changes))) if plan.ignore_drift else plan


def from_json(fields: Mapping[str, Any]) -> Plan:
    """Read a plan from the output of `to_json`."""
    guards = (
        ReferenceGuard(
            _reference(guard["reference"]),
            tuple(tuple(map(_cell, cells)) for cells in guard["to"]),
            tuple(map(_name, guard["rows"])),
        )
        for guard in fields["references"]
    )
    parsed = {
        "operations": tuple(Operation(**operation) for operation in fields["operations"]),
        "changes": tuple(map(change_from_json, fields["changes"])),
        "calls": tuple(Call(**{**call, "row": _name(call["row"])}) for call in fields.get("calls", ())),
        "references": tuple(guards),
        "ignore_drift": tuple(fields["ignore_drift"]),
        "filled": tuple(fields.get("filled", ())),
        "why": tuple(fields["why"]),
        "triggers": tuple(fields["triggers"]),
    }
    return Plan(**{**fields, **parsed})


def change_to_json(change: Change) -> JsonObject:
    before, after = (None if cells is None else dict(cells) for cells in (change.before, change.after))
    unsure = {"unsure": change.unsure} if change.unsure else {}
    return {"row": _name_to_json(change.row), "before": before, "after": after, "role": change.role, **unsure}


def change_from_json(fields: Mapping[str, Any]) -> Change:
    unsure = tuple(fields.get("unsure", ()))
    return Change(_name(fields["row"]), _cells(fields["before"]), _cells(fields["after"]), fields["role"], unsure)


def _call_to_json(call: Call) -> JsonObject:
    return {**vars(call), "row": _name_to_json(call.row)}


def _name_to_json(row: RowName) -> JsonObject:
    return {"table": row.table, "key": row.key}


def _name(fields: Mapping[str, Any]) -> RowName:
    return RowName(fields["table"], tuple((column, _cell(cell)) for column, cell in fields["key"]))


def _cells(cells: Mapping[str, Any] | None) -> Cells | None:
    return None if cells is None else {column: _cell(cell) for column, cell in cells.items()}


def _cell(cell: Any) -> Cell:
    return None if cell is None else (cell[0], cell[1])


def _reference(fields: Mapping[str, Any]) -> Reference:
    names = ("columns", "to_columns", "key")
    return Reference(**{**fields, **{name: tuple(fields[name]) for name in names if name in fields}})


def _reference_to_json(reference: Reference) -> JsonObject:
    fields = dict(vars(reference))
    if not fields["key"]:
        del fields["key"]  # so plans of earlier versions keep their hash
    return fields
