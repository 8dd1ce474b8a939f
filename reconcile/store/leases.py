"""Leases in the store: each change compares the fence, so only one of two processes makes it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from reconcile.store.database import Transaction
from reconcile.store.tables import leases


class LeaseRow(NamedTuple):
    """The owner of a lease as JSON (None: free), its fence, and its end."""

    owner: Any
    fence: int
    until: dt.datetime


def lock(tx: Transaction, name: str) -> LeaseRow:
    """Lock the lease of that name until the transaction ends, creating it if it does not exist."""
    tx.connection.execute(_NEW_ROW, {"name": name, "now": tx.now})
    return LeaseRow(*tx.connection.execute(_ROW.with_for_update(), {"lease": name}).one())


def get(tx: Transaction, name: str) -> LeaseRow | None:
    row = tx.connection.execute(_ROW, {"lease": name}).one_or_none()
    return None if row is None else LeaseRow(*row)


def take(tx: Transaction, name: str, fence: int, owner: Mapping[str, Any], until: dt.datetime) -> int:
    """Give the lease with this fence to an owner; return its next fence."""
    chosen = sa.update(leases).where(leases.c.name == name, leases.c.fence == fence)
    values = {"fence": leases.c.fence + 1, "owner": owner, "lease_until": until, "taken_at": tx.now}
    return int(tx.connection.execute(chosen.values(values).returning(leases.c.fence)).scalar_one())


def update(tx: Transaction, name: str, fence: int, owner: Mapping[str, Any] | None, until: dt.datetime) -> bool:
    """Write the owner and the end of the lease; return False if it has another fence."""
    chosen = sa.update(leases).where(leases.c.name == name, leases.c.fence == fence)
    return tx.connection.execute(chosen.values(owner=owner, lease_until=until)).rowcount == 1


def shorten(tx: Transaction, name: str, until: dt.datetime) -> None:
    tx.connection.execute(sa.update(leases).where(leases.c.name == name).values(lease_until=until))


def keep(tx: Transaction, name: str, fence: int) -> bool:
    """Keep others from taking the lease until the transaction ends, without blocking renewals; return False if it has
    another fence."""
    row = sa.select(leases.c.fence).where(leases.c.name == name, leases.c.fence == fence)
    return tx.connection.execute(row.with_for_update(read=True, key_share=True)).one_or_none() is not None


_NEW_ROW = sa.text(
    "INSERT INTO leases (name, fence, lease_until, taken_at) VALUES (:name, 0, :now, :now) ON CONFLICT DO NOTHING"
).bindparams(sa.bindparam("now", type_=leases.c.lease_until.type))
_ROW = sa.select(leases.c.owner, leases.c.fence, leases.c.lease_until).where(leases.c.name == sa.bindparam("lease"))
