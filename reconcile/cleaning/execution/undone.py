"""Detect undone cleanings that a state restored from a backup does not know about.

The target's receipts prove every effect that was made or undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from connectors.target import Target
from reconcile.cleaning.chunks import in_chunks
from reconcile.cleaning.inverse import UNDO
from reconcile.findings.plan import Plan
from reconcile.findings.states import Event, PlanState
from reconcile.journal import effects
from reconcile.store import Store
from reconcile.store import plans as stored
from reconcile.store.plans import PlanUnknown
from reconcile.store.sealing import RowsUnreadable
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition

_CHUNK = 250


def find_undone(store: Store, target: Target, plans: Mapping[str, Plan]) -> set[str]:
    """Return the plans that were undone and not done again, according to the target's receipts.

    Raises a ConnectorError.
    """
    undone_ids: set[str] = set()
    remaining, life = dict(plans), 0
    while remaining:
        undone = {name: _keys(store, plan, life, undo=True) for name, plan in remaining.items()}
        redone = {name: _keys(store, plan, life + 1) for name, plan in remaining.items()}
        existing: set[str] = set()
        for table in {plan.table for plan in remaining.values()}:
            names = [name for name, plan in remaining.items() if plan.table == table]
            existing |= target.receipts(sorted(set().union(*(undone[n] | redone[n] for n in names))), table).keys()
        remaining = {name: plan for name, plan in remaining.items() if redone[name] <= existing}
        undone_ids |= {name for name, keys in undone.items() if name not in remaining and keys <= existing}
        life += 1
    return undone_ids


def adopt(store: Store, target: Target, *, by: str) -> list[str]:
    """Mark findings of this target as undone if its receipts prove it; return their ids.

    Plans whose stored values were deleted are skipped: they could no longer be undone.
    Raises a ConnectorError, a StoreError.
    """
    identity = target.identity()
    with store.read() as tx:
        selection = stored.PlanFilter(states=(PlanState.SUCCEEDED,), target=identity)
        ids = [
            plan.id for plan in stored.find(tx, selection) if plan.undoes is None and plan.sealed_content is not None
        ]
    findings: list[str] = []
    for chunk in in_chunks(ids, _CHUNK):
        names = find_undone(store, target, _plans(store, chunk))
        if names:
            findings += _record(store, names, by)
    return findings


def _plans(store: Store, ids: list[str]) -> dict[str, Plan]:
    plans: dict[str, Plan] = {}
    with store.read() as tx:
        for name in ids:
            try:
                plans[name] = stored.get(tx, name).content
            except (PlanUnknown, RowsUnreadable):
                continue  # an unreadable plan cannot be undone; `audit verify` and `undo` report it
    return plans


def _record(store: Store, names: set[str], by: str) -> list[str]:
    with store.begin() as tx:
        plans = effects.found_undone(tx, names, actor=by)
        progress.move(tx, [Transition(plan.finding, Event.UNDONE, plan.id) for plan in plans], by=by)
    return [plan.finding for plan in plans]


def _keys(store: Store, plan: Plan, life: int, *, undo: bool = False) -> set[str]:
    """Return the keys of a plan's operations, or of their undo, this many generations later; at least one each."""
    suffix = UNDO if undo else ""
    operations = tuple(replace(operation, effect=f"{operation.effect}{suffix}") for operation in plan.operations)
    return set(effects.keys_of(store, plan.target, replace(plan, operations=operations), generations_ago=-life))
