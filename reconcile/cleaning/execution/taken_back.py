"""Cleanings that were undone since, though the state does not know of it: it was restored from a backup.

The target does: its receipts stand for every effect that was made, and for every one that was taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from connectors.target import Target
from reconcile.cleaning.chunks import in_chunks
from reconcile.cleaning.inverse import UNDO
from reconcile.findings.bundle import Bundle
from reconcile.findings.operations import BundleState
from reconcile.findings.states import Event
from reconcile.journal import effects
from reconcile.store import Store
from reconcile.store import bundles as stored
from reconcile.store.bundles import BundleError
from reconcile.store.sealing import SealedUnreadable
from reconcile.tracking import progress
from reconcile.tracking.progress import Move

_CHUNK = 250


def taken_back(store: Store, target: Target, plans: Mapping[str, Bundle]) -> set[str]:
    """Those of these plans that were done and then undone, and not done again, by the target's receipts.

    Raises a ConnectorError.
    """
    found: set[str] = set()
    left, life = dict(plans), 0
    while left:
        undone = {name: _keys(store, bundle, life, undo=True) for name, bundle in left.items()}
        again = {name: _keys(store, bundle, life + 1) for name, bundle in left.items()}
        there: set[str] = set()
        for table in {bundle.table for bundle in left.values()}:
            names = [name for name, bundle in left.items() if bundle.table == table]
            there |= target.receipts(sorted(set().union(*(undone[n] | again[n] for n in names))), table).keys()
        left = {name: bundle for name, bundle in left.items() if again[name] <= there}
        found |= {name for name, keys in undone.items() if name not in left and keys <= there}
        life += 1
    return found


def adopt(store: Store, target: Target, *, by: str) -> list[str]:
    """Let the findings of this target end as undone that its receipts show to be; their ids.

    Plans whose rows are not kept any more are left as they are: nothing of them can be undone since.
    Raises a ConnectorError, a StoreError.
    """
    identity = target.identity()
    with store.read() as tx:
        wanted = stored.Filter(states=(BundleState.SUCCEEDED,), target=identity)
        ids = [plan.id for plan in stored.find(tx, wanted) if plan.undoes is None and plan.content is not None]
    findings: list[str] = []
    for some in in_chunks(ids, _CHUNK):
        names = taken_back(store, target, _opened(store, some))
        if names:
            findings += _write(store, names, by)
    return findings


def _opened(store: Store, ids: list[str]) -> dict[str, Bundle]:
    plans: dict[str, Bundle] = {}
    with store.read() as tx:
        for name in ids:
            try:
                plans[name] = stored.get(tx, name).bundle
            except (BundleError, SealedUnreadable):
                continue  # nobody can undo what cannot be read; `audit verify` and `undo` say why
    return plans


def _write(store: Store, names: set[str], by: str) -> list[str]:
    with store.begin() as tx:
        plans = effects.found_undone(tx, names, actor=by)
        progress.move(tx, [Move(plan.finding, Event.TAKEN_BACK, plan.id) for plan in plans], by=by)
    return [plan.finding for plan in plans]


def _keys(store: Store, bundle: Bundle, life: int, *, undo: bool = False) -> set[str]:
    """The keys of a plan's operations, or of their undo, so many lives later; an operation has at least one."""
    suffix = UNDO if undo else ""
    operations = tuple(replace(one, effect=f"{one.effect}{suffix}") for one in bundle.operations)
    return set(effects.keys_of(store, bundle.target, replace(bundle, operations=operations), lives_ago=-life))
