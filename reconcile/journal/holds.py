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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reconcile.findings.plan import Plan
from reconcile.store import Transaction
from reconcile.store import holds as stored
from reconcile.store.columns import json_text
from reconcile.store.holds import HoldRow

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


class HoldConflict(Exception):
    """Another cleaning holds a record in another role; nothing was held, and this one waits for it."""

    def __init__(self, plan: str, other: str, record: str) -> None:
        super().__init__(f"{other} holds a record of {plan}; {plan} waits until {other} has ended.")
        self.plan = plan
        self.other = other
        self.record = record


@dataclass(frozen=True)
class HoldRequest:
    """The records a plan needs, named by `keys.name_of`; surplus records are exclusive, keepers are shared."""

    plan: str
    target: str
    keeper: tuple[str, ...]
    surplus: tuple[str, ...]

    @classmethod
    def of(cls, plan_id: str, target: str, plan: Plan, renamed: Mapping[str, str] | None = None) -> HoldRequest:
        """Return the request of a plan; `renamed` are the present names of its records that have another one now."""
        renamed = renamed or {}
        keeper, *surplus = (name_of(plan.table, renamed.get(name, name)) for name in (plan.keeper, *plan.surplus))
        return cls(plan_id, target, (keeper,) if plan.keeper else (), tuple(surplus))

    @property
    def roles(self) -> dict[str, str]:
        return dict.fromkeys(self.keeper, KEEPER) | dict.fromkeys(self.surplus, SURPLUS)


def take_all(tx: Transaction, wanted: Sequence[HoldRequest]) -> list[HoldConflict]:
    """Hold the records of many plans; return one conflict for each plan that has one, which holds nothing."""
    if not wanted:
        return []
    _queue(tx, wanted)
    held = _held_by_others(tx, wanted)
    conflicts: list[HoldConflict] = []
    rows: list[HoldRow] = []
    for need in wanted:
        conflict = _conflict(need, held)
        if conflict is not None:
            conflicts.append(conflict)
            continue
        for record, role in need.roles.items():
            holders = held.setdefault((need.target, record), {})
            if need.plan not in holders:
                holders[need.plan] = role
                rows.append(HoldRow(need.target, record, need.plan, role))
    stored.insert(tx, rows)
    return conflicts


_Held = dict[tuple[str, str], dict[str, str]]


def _conflict(need: HoldRequest, held: _Held) -> HoldConflict | None:
    for record, role in sorted(need.roles.items()):
        for other, other_role in held.get((need.target, record), {}).items():
            if other != need.plan and SURPLUS in (role, other_role):
                return HoldConflict(need.plan, other, record)
    return None


def _held_by_others(tx: Transaction, wanted: Sequence[HoldRequest]) -> _Held:
    names: dict[str, set[str]] = {}
    for need in wanted:
        names.setdefault(need.target, set()).update(need.roles)
    held: _Held = {}
    for target, records in sorted(names.items()):
        for row in stored.held(tx, target, sorted(records)):
            held.setdefault((target, row.record), {})[row.plan] = row.role
    return held


def _queue(tx: Transaction, wanted: Sequence[HoldRequest]) -> None:
    """Queue for the records' locks. On PostgreSQL two transactions could each miss the other's new holds, so each waits
    until an earlier one for the same record ends. On SQLite there is only one writer."""
    if not tx.store.is_shared:
        return
    stored.queue(tx, {_bucket(need.target, record) for need in wanted for record in need.roles})


def _bucket(target: str, record: str) -> int:
    digest = hashlib.sha256(f"{target}\0{record}".encode()).digest()
    return _FIRST_LOCK + digest[0] % _BUCKETS


_FIRST_LOCK = 0x7265636F6E680000  # "reconh": advisory locks of this database; the store's own is "reconcil"
