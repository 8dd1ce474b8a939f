"""A bundle: everything that becomes of one group's records together, as data; its hash is what is approved. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from connectors.target import Cell, Cells, Change, Reference, RowName

FORM = "reconcile/plan/1"


@dataclass(frozen=True)
class Operation:
    """One effect on one surplus record: what its idempotency key is of.

    `record` is the record's name in the store. `fingerprint` is of what is done (effect, target, columns and values),
    neither of the rule nor of what was there before. `generation` counts the lives of that name: it rises when a record
    that was done away with is there again as another one.
    """

    record: str
    effect: str
    fingerprint: str
    generation: int = 1


@dataclass(frozen=True)
class ReferenceGuard:
    """The rows that referred to the surplus when it was planned: it is done only while they are these."""

    reference: Reference
    to: tuple[tuple[Cell, ...], ...]
    rows: tuple[RowName, ...]


@dataclass(frozen=True)
class Bundle:
    """The plan for one group. `changes` are in the order they are applied in; `why` says what limits its undo.

    `origins` names, of a merge, the record that each surviving value of the keeper comes from. `undoes` is the bundle
    that this one takes back. `binding` stands for what the rule matched, kept and did when it was planned: after an
    edit the plan is void. `uncounted` says of surplus whose amount is not in `money` what it lacks, like "no currency".
    `filled` are columns of `ignore_drift` of which only the values may change, and not whether there is one.
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

    @property
    def rows(self) -> int:
        """How many rows it changes, guards aside."""
        return sum(not one.is_guard for one in self.changes)

    @property
    def surplus(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.record for one in self.operations))

    @property
    def plan_hash(self) -> str:
        """64 hex digits that name exactly this plan."""
        return hash_of(text_of(self))


def to_json(bundle: Bundle) -> dict[str, Any]:
    """Plain JSON that `from_json` turns back into the same bundle."""
    said = dict(vars(bundle))
    said["operations"] = [dict(vars(one)) for one in bundle.operations]
    said["changes"] = [change_to_json(one) for one in bundle.changes]
    said["references"] = [
        {"reference": dict(vars(one.reference)), "to": one.to, "rows": [_name_to_json(row) for row in one.rows]}
        for one in bundle.references
    ]
    said["money"], said["origins"] = dict(bundle.money), dict(bundle.origins)
    said["uncounted"] = dict(bundle.uncounted)
    for name in ("uncounted", "filled"):
        if not said[name]:
            del said[name]  # so that plans of earlier versions keep their hash
    return said


def text_of(bundle: Bundle) -> str:
    """That JSON as the one text that a plan's hash is of."""
    return json.dumps(to_json(bundle), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def hash_of(text: str) -> str:
    """The hash of the plan that `text_of` wrote: 64 hex digits that name exactly this plan."""
    return hashlib.sha256(f'["{FORM}",{text}]'.encode()).hexdigest()


def is_alike(one: Bundle, other: Bundle) -> bool:
    """Whether two plans differ in no more than what columns held that may drift: who decided about one decided about
    the other."""
    return text_of(_without_drift(one)) == text_of(_without_drift(other))


def _without_drift(bundle: Bundle) -> Bundle:
    def without(cells: Cells | None) -> Cells:
        return {name: cell for name, cell in (cells or {}).items() if name not in bundle.ignore_drift}

    def kept(change: Change) -> Change:
        if change.is_arrival:
            return replace(change, after=without(change.after))
        if change.before is None or change.row.table != bundle.table:
            return change
        return replace(change, before=without(change.before))

    return replace(bundle, changes=tuple(map(kept, bundle.changes))) if bundle.ignore_drift else bundle


def from_json(said: Mapping[str, Any]) -> Bundle:
    """The bundle that `to_json` was given."""
    guards = (
        ReferenceGuard(
            _reference(one["reference"]),
            tuple(tuple(map(_cell, cells)) for cells in one["to"]),
            tuple(map(_name, one["rows"])),
        )
        for one in said["references"]
    )
    made = {
        "operations": tuple(Operation(**one) for one in said["operations"]),
        "changes": tuple(map(change_from_json, said["changes"])),
        "references": tuple(guards),
        "ignore_drift": tuple(said["ignore_drift"]),
        "filled": tuple(said.get("filled", ())),
        "why": tuple(said["why"]),
        "triggers": tuple(said["triggers"]),
    }
    return Bundle(**{**said, **made})


def change_to_json(change: Change) -> dict[str, Any]:
    before, after = (None if cells is None else dict(cells) for cells in (change.before, change.after))
    unsure = {"unsure": change.unsure} if change.unsure else {}
    return {"row": _name_to_json(change.row), "before": before, "after": after, "role": change.role, **unsure}


def change_from_json(said: Mapping[str, Any]) -> Change:
    unsure = tuple(said.get("unsure", ()))
    return Change(_name(said["row"]), _cells(said["before"]), _cells(said["after"]), said["role"], unsure)


def _name_to_json(row: RowName) -> dict[str, Any]:
    return {"table": row.table, "key": row.key}


def _name(said: Mapping[str, Any]) -> RowName:
    return RowName(said["table"], tuple((column, _cell(cell)) for column, cell in said["key"]))


def _cells(said: Mapping[str, Any] | None) -> Cells | None:
    return None if said is None else {column: _cell(cell) for column, cell in said.items()}


def _cell(said: Any) -> Cell:
    return None if said is None else (said[0], said[1])


def _reference(said: Mapping[str, Any]) -> Reference:
    return Reference(**{**said, "columns": tuple(said["columns"]), "to_columns": tuple(said["to_columns"])})
