"""Holds: records claimed by a cleaning, so none is keeper of one cleaning and surplus of another at once.

Idempotency keys: one per effect, record and generation, always the same for every process.

A key is a keyed hash: a plain hash of an e-mail address is still personal data. It must not depend on time,
attempt, run, worker, revision of the rule, order of rows, or the other records of the group, which may grow.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from reconcile.findings.bundle import Bundle
from reconcile.store import Transaction, bulk
from reconcile.store.columns import json_text
from reconcile.store.tables import holds

VERSION = 1


def key_of(secret: bytes, *, namespace: str, target: str, effect: str, record: str, generation: int) -> str:
    """`rk1.<key id>.<52 characters>`: HMAC-SHA256 of the canonical JSON of the arguments, in base 32.

    `namespace` is the store's id, `target` the target's identity, `record` the typed name of a record (`name_of`).
    """
    fields = {"v": VERSION, "namespace": namespace, "target": target, "effect": effect, "record": record}
    digest = hmac.digest(secret, json_text(fields | {"generation": generation}).encode(), "sha256")
    return f"rk{VERSION}.{key_id(secret)}.{_base32(digest)}"


@functools.lru_cache(maxsize=8)
def key_id(secret: bytes) -> str:
    """Six characters that identify the secret of a key without revealing it."""
    return _base32(hmac.digest(secret, b"reconcile/effects/1/key-id", "sha256"))[:6]


def name_of(table: str, record: str) -> str:
    """A record's name within its target: its table, and its id as the store names it (`identity.record_of`)."""
    return json_text([table, record])


def subject_of(secret: bytes, name: str) -> str:
    """The journal's form of a record's name: 64 hex digits that outlive the erasure of everything else."""
    return hmac.digest(secret, b"reconcile/effects/1/record\0" + name.encode(), "sha256").hex()


def _base32(digest: bytes) -> str:
    return base64.b32encode(digest).decode().rstrip("=").lower()


KEEPER, SURPLUS = "keeper", "surplus"
_BUCKETS = 64
_CHUNK = 2_000


class HoldConflict(Exception):
    """Another cleaning holds a record in another role; nothing was held, and this one waits for it."""

    def __init__(self, bundle: str, other: str, record: str) -> None:
        super().__init__(f"{other} holds a record of {bundle}; {bundle} waits until {other} is over.")
        self.bundle = bundle
        self.other = other
        self.record = record


@dataclass(frozen=True)
class Wanted:
    """The records a plan needs, named by `keys.name_of`; surplus records are exclusive, keepers are shared."""

    bundle: str
    target: str
    keeper: tuple[str, ...]
    surplus: tuple[str, ...]

    @classmethod
    def of(cls, bundle_id: str, target: str, bundle: Bundle) -> Wanted:
        names = [name_of(bundle.table, record) for record in (bundle.keeper, *bundle.surplus)]
        return cls(bundle_id, target, tuple(names[:1]), tuple(names[1:]))

    @property
    def roles(self) -> dict[str, str]:
        return dict.fromkeys(self.keeper, KEEPER) | dict.fromkeys(self.surplus, SURPLUS)


def take(tx: Transaction, bundle: str, target: str, keeper: Sequence[str], surplus: Sequence[str]) -> None:
    """Hold these records for a plan; raises HoldConflict. Safe to call twice."""
    conflicts = take_all(tx, [Wanted(bundle, target, tuple(keeper), tuple(surplus))])
    if conflicts:
        raise conflicts[0]


def take_all(tx: Transaction, wanted: Sequence[Wanted]) -> list[HoldConflict]:
    """Hold the records of many plans; return one conflict for each plan that has one, which holds nothing."""
    if not wanted:
        return []
    _queue(tx, wanted)
    held = _held_by_others(tx, wanted)
    conflicts, rows = [], []
    for need in wanted:
        conflict = _conflict(need, held)
        if conflict is not None:
            conflicts.append(conflict)
            continue
        for record, role in need.roles.items():
            holders = held.setdefault((need.target, record), {})
            if need.bundle not in holders:
                holders[need.bundle] = role
                row = {"target": need.target, "record": record, "bundle": need.bundle, "role": role, "since": tx.now}
                rows.append(row)
    if rows:
        rows.sort(key=lambda row: (row["target"], row["record"], row["bundle"]))
        bulk.insert(tx, holds, rows)
    return conflicts


def release(tx: Transaction, bundles: Iterable[str]) -> None:
    """Release all records these plans hold."""
    ids = sorted(bundles)
    for at in range(0, len(ids), _CHUNK):
        tx.connection.execute(_RELEASE, {"the_bundles": ids[at : at + _CHUNK]})


def of(tx: Transaction, bundle: str) -> dict[str, str]:
    """The records a plan holds, with their roles."""
    query = sa.select(holds.c.record, holds.c.role).where(holds.c.bundle == bundle).order_by(holds.c.record)
    return dict(tx.connection.execute(query).all())


_Held = dict[tuple[str, str], dict[str, str]]


def _conflict(need: Wanted, held: _Held) -> HoldConflict | None:
    for record, role in sorted(need.roles.items()):
        for other, other_role in held.get((need.target, record), {}).items():
            if other != need.bundle and SURPLUS in (role, other_role):
                return HoldConflict(need.bundle, other, record)
    return None


def _held_by_others(tx: Transaction, wanted: Sequence[Wanted]) -> _Held:
    names: dict[str, set[str]] = {}
    for need in wanted:
        names.setdefault(need.target, set()).update(need.roles)
    held: _Held = {}
    for target, records in sorted(names.items()):
        sorted_records = sorted(records)
        for at in range(0, len(sorted_records), _CHUNK):
            bound = {"target": target, "records": sorted_records[at : at + _CHUNK]}
            for row in tx.connection.execute(_HELD, bound):
                held.setdefault((target, row.record), {})[row.bundle] = row.role
    return held


def _queue(tx: Transaction, wanted: Sequence[Wanted]) -> None:
    """Queue for the records' locks. On PostgreSQL two transactions could each miss the other's new holds, so each waits
    until an earlier one for the same record ends. On SQLite there is only one writer."""
    if not tx.store.is_shared:
        return
    buckets = {_bucket(need.target, record) for need in wanted for record in need.roles}
    tx.connection.execute(_QUEUE, {"buckets": sorted(buckets)})


def _bucket(target: str, record: str) -> int:
    digest = hashlib.sha256(f"{target}\0{record}".encode()).digest()
    return _FIRST_LOCK + digest[0] % _BUCKETS


_FIRST_LOCK = 0x7265636F6E680000  # "reconh": advisory locks of this database; the store's own is "reconcil"
_QUEUE = sa.text(
    "SELECT pg_advisory_xact_lock(one.bucket) FROM (SELECT unnest(CAST(:buckets AS bigint[])) AS bucket ORDER BY 1) one"
)
_HELD = sa.select(holds.c.record, holds.c.bundle, holds.c.role).where(
    holds.c.target == sa.bindparam("target"), bulk.one_of(holds.c.record, "records")
)
_RELEASE = sa.delete(holds).where(bulk.one_of(holds.c.bundle, "the_bundles"))
