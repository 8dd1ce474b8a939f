"""Detect undone cleanings that a state restored from a backup does not know about.

The target's receipts prove every effect that was made or undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from connectors.target import Target
from reconcile.cleaning.chunks import in_chunks
from reconcile.cleaning.inverse import UNDO
from reconcile.findings.bundle import Bundle
from reconcile.findings.states import BundleState, Event
from reconcile.journal import effects
from reconcile.store import Store
from reconcile.store import bundles as stored
from reconcile.store.bundles import BundleUnknown
from reconcile.store.sealing import RowsUnreadable
from reconcile.tracking import progress
from reconcile.tracking.progress import Move

_CHUNK = 250


def taken_back(store: Store, target: Target, plans: Mapping[str, Bundle]) -> set[str]:
    """Return the plans that were undone and not done again, according to the target's receipts.

    Raises a ConnectorError.
    """
    undone_ids: set[str] = set()
    remaining, life = dict(plans), 0
    while remaining:
        undone = {name: _keys(store, bundle, life, undo=True) for name, bundle in remaining.items()}
        redone = {name: _keys(store, bundle, life + 1) for name, bundle in remaining.items()}
        existing: set[str] = set()
        for table in {bundle.table for bundle in remaining.values()}:
            names = [name for name, bundle in remaining.items() if bundle.table == table]
            existing |= target.receipts(sorted(set().union(*(undone[n] | redone[n] for n in names))), table).keys()
        remaining = {name: bundle for name, bundle in remaining.items() if redone[name] <= existing}
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
        selection = stored.Filter(states=(BundleState.SUCCEEDED,), target=identity)
        ids = [plan.id for plan in stored.find(tx, selection) if plan.undoes is None and plan.content is not None]
    findings: list[str] = []
    for chunk in in_chunks(ids, _CHUNK):
        names = taken_back(store, target, _bundles(store, chunk))
        if names:
            findings += _record(store, names, by)
    return findings


def _bundles(store: Store, ids: list[str]) -> dict[str, Bundle]:
    plans: dict[str, Bundle] = {}
    with store.read() as tx:
        for name in ids:
            try:
                plans[name] = stored.get(tx, name).bundle
            except (BundleUnknown, RowsUnreadable):
                continue  # an unreadable plan cannot be undone; `audit verify` and `undo` report it
    return plans


def _record(store: Store, names: set[str], by: str) -> list[str]:
    with store.begin() as tx:
        plans = effects.found_undone(tx, names, actor=by)
        progress.move(tx, [Move(plan.finding, Event.TAKEN_BACK, plan.id) for plan in plans], by=by)
    return [plan.finding for plan in plans]


def _keys(store: Store, bundle: Bundle, life: int, *, undo: bool = False) -> set[str]:
    """Return the keys of a plan's operations, or of their undo, this many generations later; at least one each."""
    suffix = UNDO if undo else ""
    operations = tuple(replace(operation, effect=f"{operation.effect}{suffix}") for operation in bundle.operations)
    return set(effects.keys_of(store, bundle.target, replace(bundle, operations=operations), lives_ago=-life))
