"""Holds in the store: which records which plans claim, and in which role."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from reconcile.store import bulk
from reconcile.store.database import Transaction
from reconcile.store.tables import holds

_CHUNK = 2_000


class HoldRow(NamedTuple):
    """A record of a target that a plan claims as keeper or surplus."""

    target: str
    record: str
    plan: str
    role: str


def queue(tx: Transaction, locks: Collection[int]) -> None:
    """Wait for these advisory locks, in their order, and keep them until the transaction ends. PostgreSQL only."""
    tx.connection.execute(_QUEUE, {"buckets": sorted(locks)})


def held(tx: Transaction, target: str, records: Sequence[str]) -> Iterator[HoldRow]:
    """Yield the holds of these records of a target."""
    for at in range(0, len(records), _CHUNK):
        bound = {"target": target, "records": records[at : at + _CHUNK]}
        yield from (HoldRow(target, *row) for row in tx.connection.execute(_HELD, bound))


def insert(tx: Transaction, rows: Iterable[HoldRow]) -> None:
    values = [{**row._asdict(), "since": tx.now} for row in sorted(rows)]
    bulk.insert(tx, holds, values)


def release(tx: Transaction, plans: Iterable[str]) -> None:
    """Release all records these plans hold."""
    ids = sorted(plans)
    for at in range(0, len(ids), _CHUNK):
        tx.connection.execute(_RELEASE, {"the_plans": ids[at : at + _CHUNK]})


_QUEUE = sa.text(
    "SELECT pg_advisory_xact_lock(one.bucket) FROM (SELECT unnest(CAST(:buckets AS bigint[])) AS bucket ORDER BY 1) one"
)
_HELD = sa.select(holds.c.record, holds.c.plan, holds.c.role).where(
    holds.c.target == sa.bindparam("target"), bulk.one_of(holds.c.record, "records")
)
_RELEASE = sa.delete(holds).where(bulk.one_of(holds.c.plan, "the_plans"))
