"""Seal plans stored before `encryption_key` was set, if the audit log covers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.audit import facts, log
from reconcile.errors import Wrong
from reconcile.store import Store, Transaction, bundles, tables
from reconcile.store.sealing import FORM

_BATCH = 200
_TEXTS = ("content", "outcome")


class NoSealKey(Wrong):
    """No key for sealing is configured; nothing was changed."""

    def __init__(self) -> None:
        super().__init__("No `encryption_key` is configured, so nothing can be sealed; nothing was changed. Set one")


@dataclass(frozen=True)
class SealedNow:
    """The number of sealed plans, and the ids of refused ones: nothing proves that Reconcile stored them."""

    plans: int
    refused: tuple[str, ...] = ()


def seal(store: Store, *, actor: str = "reconcile") -> SealedNow:
    """Seal the rows of plans that are stored unencrypted and match the audit log; in small transactions.

    Other plans stay unchanged, and cannot be opened. Safe to repeat and to kill. Raises NoSealKey, StoreError.
    """
    if store.seals.kid is None:
        raise NoSealKey
    sealed, refused, last = 0, list[str](), ""
    while True:
        with store.begin() as tx:
            ids = list(tx.connection.execute(_UNSEALED, {"last": last}).scalars())
            if not ids:
                return SealedNow(sealed, tuple(refused))
            recorded = facts.as_recorded(tx, facts.PLAN, ids)
            proven = [name for name in ids if recorded.get(name, False)]
            _seal(tx, proven, actor)
        sealed += len(proven)
        refused += [name for name in ids if name not in proven]
        last = ids[-1]


def _seal(tx: Transaction, ids: Sequence[str], actor: str) -> None:
    if not ids:
        return
    table = tables.bundles
    columns = (table.c.id, *(table.c[name] for name in _TEXTS))
    rows = tx.connection.execute(sa.select(*columns).where(table.c.id.in_(ids)).with_for_update()).mappings().all()
    for row in rows:
        texts: dict[str, Any] = {
            name: bundles.sealed(tx, name, row["id"], row[name])
            for name in _TEXTS
            if row[name] is not None and not row[name].startswith(f"{FORM}.")
        }
        tx.connection.execute(sa.update(table).where(table.c.id == row["id"]).values(texts))
    log.touch(tx, facts.PLAN, ids)
    log.append(tx, actor, "state.sealed", f"store:{tx.store.id}", {"plans": len(ids), "key": tx.store.seals.kid})


_in_clear = sa.or_(
    *(sa.and_(tables.bundles.c[n].is_not(None), tables.bundles.c[n].not_like(f"{FORM}.%")) for n in _TEXTS)
)
_UNSEALED = (
    sa.select(tables.bundles.c.id)
    .where(tables.bundles.c.id > sa.bindparam("last"), _in_clear)
    .order_by(tables.bundles.c.id)
    .limit(_BATCH)
    .with_for_update()
)
