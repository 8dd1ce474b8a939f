"""Generations of a record: a removed id may come back, as the same record or as another one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from connectors.target import RowName
from reconcile.findings.plan import Plan
from reconcile.findings.states import PlanState
from reconcile.journal import holds
from reconcile.journal.effects.moving import keys_of
from reconcile.store import Transaction, effects
from reconcile.store.sealing import RowsUnreadable

_MARKS = re.compile(r"(set:.*|merge)(?<!\.undo)")
"""Effects after which the record may still exist."""
_DONE = (PlanState.SUCCEEDED, PlanState.COMPENSATED)


def generations(tx: Transaction, target: str, wanted: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
    """The generation an effect on a record would have now; `wanted` are (effect, name of the record: `keys.name_of`).

    1 for an effect never done; the same while it is in progress, or if it was proven not done; one more after it was
    done: a new plan for it means the record exists again.
    """
    names = {holds.subject_of(tx.store.key, name): name for _, name in wanted}
    wanted_pairs = set(wanted)
    numbers: dict[tuple[str, str], int] = {}
    for row in effects.generations_of(tx, target, names):
        pair = (row.effect, names[row.record])
        if pair in wanted_pairs:
            number = row.generation + (PlanState(row.state) in _DONE)
            numbers[pair] = max(numbers.get(pair, 1), number)
    return {pair: numbers.get(pair, 1) for pair in wanted}


def known(tx: Transaction, target: str, names: Sequence[str]) -> set[str]:
    """Those of these records (named by `keys.name_of`) on which any effect was ever sent."""
    names_by_hash = {holds.subject_of(tx.store.key, name): name for name in names}
    return {names_by_hash[row.record] for row in effects.generations_of(tx, target, names_by_hash)}


def stays_marked(tx: Transaction, plan: Plan) -> bool:
    """Return True if the record this plan keeps was itself set aside for another one, without an undo: the plan would
    leave no record."""
    if not plan.keeper:
        return False
    subject = holds.subject_of(tx.store.key, holds.name_of(plan.table, plan.keeper))
    marks = (
        PlanState(row.state) is PlanState.SUCCEEDED and _MARKS.fullmatch(row.effect)
        for row in effects.generations_of(tx, plan.target, [subject])
    )
    return plan.undoes is None and any(marks)


def restored(tx: Transaction, plan: Plan) -> bool:
    """Return True if a row that this plan would remove was removed before and exists again unchanged: somebody restored
    it, and a person decides. True also if its earlier content is no longer kept or has no key here, and for a call that
    was made before."""
    if plan.undoes is not None or all(operation.generation == 1 for operation in plan.operations):
        return False
    if plan.calls:
        return True
    earlier_keys = keys_of(tx.store, plan.target, plan, generations_ago=1)
    removed = (change for change in plan.changes if change.role in ("surplus", "moved"))
    rows = {change.row: change.before for change in removed if change.before}
    for earlier_plan in effects.plans_of(tx, earlier_keys):
        try:
            earlier = earlier_plan.content
        except RowsUnreadable:
            return True
        if any(_is_unchanged(change.row, change.before, rows, plan.ignore_drift) for change in earlier.changes):
            return True
    return False


def _is_unchanged(
    row: RowName, earlier: Mapping[str, Any] | None, rows: Mapping[RowName, Mapping[str, Any]], ignored: Sequence[str]
) -> bool:
    current = rows.get(row)
    if current is None or earlier is None:
        return False
    return all(current.get(name) == value for name, value in earlier.items() if name not in ignored)
