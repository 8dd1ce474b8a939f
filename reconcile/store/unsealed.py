"""Rows of plans stored before a key for sealing was configured."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from reconcile.store.database import Transaction
from reconcile.store.plans import sealed
from reconcile.store.sealing import FORM
from reconcile.store.tables import plans

_BATCH = 200
_TEXTS = ("content", "outcome")


def next_ids(tx: Transaction, last: str) -> list[str]:
    """Lock the next plans after this one that hold unsealed rows; return their ids in order."""
    return list(tx.connection.execute(_UNSEALED, {"last": last}).scalars())


def seal(tx: Transaction, ids: Sequence[str]) -> None:
    """Seal the rows of these plans."""
    columns = (plans.c.id, *(plans.c[name] for name in _TEXTS))
    rows = tx.connection.execute(sa.select(*columns).where(plans.c.id.in_(ids)).with_for_update()).mappings().all()
    for row in rows:
        texts = {
            name: sealed(tx, name, row["id"], row[name])
            for name in _TEXTS
            if row[name] is not None and not row[name].startswith(f"{FORM}.")
        }
        tx.connection.execute(sa.update(plans).where(plans.c.id == row["id"]).values(texts))


_IN_CLEAR = sa.or_(*(sa.and_(plans.c[n].is_not(None), plans.c[n].not_like(f"{FORM}.%")) for n in _TEXTS))
_UNSEALED = (
    sa.select(plans.c.id)
    .where(plans.c.id > sa.bindparam("last"), _IN_CLEAR)
    .order_by(plans.c.id)
    .limit(_BATCH)
    .with_for_update()
)
