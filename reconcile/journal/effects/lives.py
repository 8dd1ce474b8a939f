"""Generations of a record: a removed id may come back, as the same record or as another one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from connectors.target import RowName
from reconcile.findings.bundle import Bundle
from reconcile.findings.states import BundleState
from reconcile.journal import holds
from reconcile.journal.effects.moving import CHUNK, keys_of
from reconcile.store import Transaction
from reconcile.store.bulk import one_of
from reconcile.store.bundles import COLUMNS, stored
from reconcile.store.sealing import RowsUnreadable
from reconcile.store.tables import bundles, effects

_MARKS = re.compile(r"(set:.*|merge)(?<!\.undo)")
"""Effects after which the record may still exist."""
_DONE = (BundleState.SUCCEEDED, BundleState.COMPENSATED)


def generations(tx: Transaction, target: str, wanted: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
    """The generation an effect on a record would have now; `wanted` are (effect, name of the record: `keys.name_of`).

    1 for an effect never done; the same while it is in progress, or if it was proven not done; one more after it was
    done: a new plan for it means the record exists again.
    """
    names = {holds.subject_of(tx.store.key, name): name for _, name in wanted}
    wanted_pairs = set(wanted)
    numbers: dict[tuple[str, str], int] = {}
    hashes = sorted(names)
    for at in range(0, len(hashes), CHUNK):
        for row in tx.connection.execute(_GENERATIONS, {"target": target, "subjects": hashes[at : at + CHUNK]}):
            pair = (row.effect, names[row.record])
            if pair in wanted_pairs:
                number = row.generation + (BundleState(row.state) in _DONE)
                numbers[pair] = max(numbers.get(pair, 1), number)
    return {pair: numbers.get(pair, 1) for pair in wanted}


def known(tx: Transaction, target: str, names: Sequence[str]) -> set[str]:
    """Those of these records (named by `keys.name_of`) on which any effect was ever sent."""
    names_by_hash = {holds.subject_of(tx.store.key, name): name for name in names}
    hashes = sorted(names_by_hash)
    sent_names: set[str] = set()
    for at in range(0, len(hashes), CHUNK):
        bound = {"target": target, "subjects": hashes[at : at + CHUNK]}
        sent_names.update(names_by_hash[row.record] for row in tx.connection.execute(_GENERATIONS, bound))
    return sent_names


def stays_marked(tx: Transaction, bundle: Bundle) -> bool:
    """Return True if the record this plan keeps was itself set aside for another one, without an undo: the plan would
    leave no record."""
    subject = holds.subject_of(tx.store.key, holds.name_of(bundle.table, bundle.keeper))
    marks = (
        BundleState(row.state) is BundleState.SUCCEEDED and _MARKS.fullmatch(row.effect)
        for row in _effects_on(tx, bundle, subject)
    )
    return bundle.undoes is None and any(marks)


def _effects_on(tx: Transaction, bundle: Bundle, subject: str) -> Sequence[Any]:
    return tx.connection.execute(_GENERATIONS, {"target": bundle.target, "subjects": [subject]}).all()


def restored(tx: Transaction, bundle: Bundle) -> bool:
    """Return True if a row that this plan would remove was removed before and exists again unchanged: somebody restored
    it, and a person decides. True also if its earlier content is no longer kept or has no key here."""
    if bundle.undoes is not None or all(operation.generation == 1 for operation in bundle.operations):
        return False
    earlier_keys = keys_of(tx.store, bundle.target, bundle, lives_ago=1)
    query = sa.select(*COLUMNS).join(effects, effects.c.bundle == bundles.c.id).where(effects.c.key.in_(earlier_keys))
    removed = (change for change in bundle.changes if change.role in ("surplus", "moved"))
    rows = {change.row: change.before for change in removed if change.before}
    for row in tx.connection.execute(query.distinct()):
        try:
            earlier = stored(tx, row).bundle
        except RowsUnreadable:
            return True
        if any(_is_unchanged(change.row, change.before, rows, bundle.ignore_drift) for change in earlier.changes):
            return True
    return False


def _is_unchanged(
    row: RowName, earlier: Mapping[str, Any] | None, rows: Mapping[RowName, Mapping[str, Any]], ignored: Sequence[str]
) -> bool:
    current = rows.get(row)
    if current is None or earlier is None:
        return False
    return all(current.get(name) == value for name, value in earlier.items() if name not in ignored)


_GENERATIONS = sa.select(effects.c.effect, effects.c.record, effects.c.generation, effects.c.state).where(
    one_of(effects.c.record, "subjects"), effects.c.target == sa.bindparam("target")
)
