"""Holds: which records a cleaning has in hand, so that none is ever keeper of one and surplus of another at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from reconcile.findings.bundle import Bundle
from reconcile.journal import keys
from reconcile.store import Transaction, bulk
from reconcile.store.tables import holds

KEEPER, SURPLUS = "keeper", "surplus"
_BUCKETS = 64
_CHUNK = 2_000


class HoldConflict(Exception):
    """Another cleaning has a record in hand as something else; nothing was taken, and this one waits for it."""

    def __init__(self, bundle: str, other: str, record: str) -> None:
        super().__init__(f"{other} has a record of {bundle} in hand; it waits until that one is over.")
        self.bundle = bundle
        self.other = other
        self.record = record


@dataclass(frozen=True)
class Wanted:
    """The records a plan needs: names as `keys.name_of` makes them; surplus excludes everybody, keepers share."""

    bundle: str
    target: str
    keeper: tuple[str, ...]
    surplus: tuple[str, ...]

    @classmethod
    def of(cls, bundle_id: str, target: str, bundle: Bundle) -> Wanted:
        names = [keys.name_of(bundle.table, record) for record in (bundle.keeper, *bundle.surplus)]
        return cls(bundle_id, target, tuple(names[:1]), tuple(names[1:]))

    @property
    def roles(self) -> dict[str, str]:
        return dict.fromkeys(self.keeper, KEEPER) | dict.fromkeys(self.surplus, SURPLUS)


def take(tx: Transaction, bundle: str, target: str, keeper: Sequence[str], surplus: Sequence[str]) -> None:
    """Hold these records for a plan; raises HoldConflict. Taking them twice is taking them once."""
    conflicts = take_all(tx, [Wanted(bundle, target, tuple(keeper), tuple(surplus))])
    if conflicts:
        raise conflicts[0]


def take_all(tx: Transaction, wanted: Sequence[Wanted]) -> list[HoldConflict]:
    """Hold the records of many plans; those with a conflict hold nothing, and it is returned, one a plan."""
    if not wanted:
        return []
    _queue(tx, wanted)
    standing = _standing(tx, wanted)
    conflicts, rows = [], []
    for one in wanted:
        conflict = _conflict(one, standing)
        if conflict is not None:
            conflicts.append(conflict)
            continue
        for record, role in one.roles.items():
            mine = standing.setdefault((one.target, record), {})
            if one.bundle not in mine:
                mine[one.bundle] = role
                row = {"target": one.target, "record": record, "bundle": one.bundle, "role": role, "since": tx.now}
                rows.append(row)
    if rows:
        rows.sort(key=lambda row: (row["target"], row["record"], row["bundle"]))
        bulk.insert(tx, holds, rows)
    return conflicts


def release(tx: Transaction, bundles: Iterable[str]) -> None:
    """Let go of everything these plans hold."""
    ids = sorted(bundles)
    for at in range(0, len(ids), _CHUNK):
        tx.connection.execute(_RELEASE, {"the_bundles": ids[at : at + _CHUNK]})


def of(tx: Transaction, bundle: str) -> dict[str, str]:
    """The records a plan holds, and each one's role."""
    query = sa.select(holds.c.record, holds.c.role).where(holds.c.bundle == bundle).order_by(holds.c.record)
    return dict(tx.connection.execute(query).all())


Standing = dict[tuple[str, str], dict[str, str]]


def _conflict(one: Wanted, standing: Standing) -> HoldConflict | None:
    for record, role in sorted(one.roles.items()):
        for other, theirs in standing.get((one.target, record), {}).items():
            if other != one.bundle and SURPLUS in (role, theirs):
                return HoldConflict(one.bundle, other, record)
    return None


def _standing(tx: Transaction, wanted: Sequence[Wanted]) -> Standing:
    names: dict[str, set[str]] = {}
    for one in wanted:
        names.setdefault(one.target, set()).update(one.roles)
    found: Standing = {}
    for target, records in sorted(names.items()):
        listed = sorted(records)
        for at in range(0, len(listed), _CHUNK):
            bound = {"target": target, "records": listed[at : at + _CHUNK]}
            for row in tx.connection.execute(_STANDING, bound):
                found.setdefault((target, row.record), {})[row.bundle] = row.role
    return found


def _queue(tx: Transaction, wanted: Sequence[Wanted]) -> None:
    """On PostgreSQL two transactions could each see that the other holds nothing yet: whoever wants a record waits for
    whoever wanted it before, until that transaction is kept or not. On SQLite there is only one writer."""
    if not tx.store.is_shared:
        return
    buckets = {_bucket(one.target, record) for one in wanted for record in one.roles}
    tx.connection.execute(_QUEUE, {"buckets": sorted(buckets)})


def _bucket(target: str, record: str) -> int:
    digest = hashlib.sha256(f"{target}\0{record}".encode()).digest()
    return _FIRST_LOCK + digest[0] % _BUCKETS


_FIRST_LOCK = 0x7265636F6E680000  # "reconh": advisory locks of this database; the store's own is "reconcil"
_QUEUE = sa.text(
    "SELECT pg_advisory_xact_lock(one.bucket) FROM (SELECT unnest(CAST(:buckets AS bigint[])) AS bucket ORDER BY 1) one"
)
_STANDING = sa.select(holds.c.record, holds.c.bundle, holds.c.role).where(
    holds.c.target == sa.bindparam("target"), bulk.one_of(holds.c.record, "records")
)
_RELEASE = sa.delete(holds).where(bulk.one_of(holds.c.bundle, "the_bundles"))
