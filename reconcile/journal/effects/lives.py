"""A record and its incarnations: a name that was done away with may come back, as the same record or as another one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from connectors.target import RowName
from reconcile.findings.bundle import Bundle
from reconcile.findings.operations import BundleState
from reconcile.journal import keys
from reconcile.journal.effects.moving import CHUNK, keys_of
from reconcile.store import Transaction
from reconcile.store.bulk import one_of
from reconcile.store.bundles import COLUMNS, BundleError, stored
from reconcile.store.sealing import SealedUnreadable
from reconcile.store.tables import bundles, effects

_MARKS = re.compile(r"(set:.*|merge)(?<!\.undo)")
"""Effects after which their record may be there still."""
_DONE = (BundleState.SUCCEEDED, BundleState.COMPENSATED)


def generations(tx: Transaction, target: str, wanted: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
    """Which generation an effect on a record would be of now; wanted are (effect, name of the record: `keys.name_of`).

    1 for what was never done; the same again while it is in hand, or was proven not done; one more after it was done:
    whoever plans it found the record there again.
    """
    subjects = {keys.subject_of(tx.store.key, name): name for _, name in wanted}
    asked = set(wanted)
    found: dict[tuple[str, str], int] = {}
    listed = sorted(subjects)
    for at in range(0, len(listed), CHUNK):
        for row in tx.connection.execute(_LIVES, {"target": target, "subjects": listed[at : at + CHUNK]}):
            pair = (row.effect, subjects[row.record])
            if pair in asked:
                number = row.generation + (BundleState(row.state) in _DONE)
                found[pair] = max(found.get(pair, 1), number)
    return {pair: found.get(pair, 1) for pair in wanted}


def known(tx: Transaction, target: str, names: Sequence[str]) -> set[str]:
    """Those of these records (names as `keys.name_of` makes them) on which any effect was ever sent."""
    subjects = {keys.subject_of(tx.store.key, name): name for name in names}
    listed = sorted(subjects)
    found: set[str] = set()
    for at in range(0, len(listed), CHUNK):
        some = {"target": target, "subjects": listed[at : at + CHUNK]}
        found.update(subjects[row.record] for row in tx.connection.execute(_LIVES, some))
    return found


def stays_marked(tx: Transaction, bundle: Bundle) -> bool:
    """Whether the record that is to stay was itself set aside in favour of another one, and nobody took that back: with
    what this plan would do, nobody would be left."""
    subject = keys.subject_of(tx.store.key, keys.name_of(bundle.table, bundle.keeper))
    done = (
        BundleState(row.state) is BundleState.SUCCEEDED and _MARKS.fullmatch(row.effect)
        for row in _of(tx, bundle, subject)
    )
    return bundle.undoes is None and any(done)


def _of(tx: Transaction, bundle: Bundle, subject: str) -> Sequence[Any]:
    return tx.connection.execute(_LIVES, {"target": bundle.target, "subjects": [subject]}).all()


def restored(tx: Transaction, bundle: Bundle) -> bool:
    """Whether a row that this plan would do away with was done away with before and is there again as it was then:
    somebody restored it, and a person decides. So it is when what it was then is not kept any more, or
    has no key here."""
    if bundle.undoes is not None or all(one.generation == 1 for one in bundle.operations):
        return False
    before = keys_of(tx.store, bundle.target, bundle, lives_ago=1)
    query = sa.select(*COLUMNS).join(effects, effects.c.bundle == bundles.c.id).where(effects.c.key.in_(before))
    rows = {one.row: one.before for one in bundle.changes if one.role in ("surplus", "moved") and one.before}
    for row in tx.connection.execute(query.distinct()):
        try:
            earlier = stored(tx, row).bundle
        except (BundleError, SealedUnreadable):
            return True
        if any(_is_as_it_was(one.row, one.before, rows, bundle.ignore_drift) for one in earlier.changes):
            return True
    return False


def _is_as_it_was(
    row: RowName, before: Mapping[str, Any] | None, rows: Mapping[RowName, Mapping[str, Any]], ignored: Sequence[str]
) -> bool:
    now = rows.get(row)
    if now is None or before is None:
        return False
    return all(now.get(name) == value for name, value in before.items() if name not in ignored)


_LIVES = sa.select(effects.c.effect, effects.c.record, effects.c.generation, effects.c.state).where(
    one_of(effects.c.record, "subjects"), effects.c.target == sa.bindparam("target")
)
