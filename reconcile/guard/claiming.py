"""Claims: each change is one short transaction that finds its key by the primary key.

A claim is answered with the key itself, with the lease of another claim, or with the stored result. A lease that ended
goes to the next claim, and the fence rises: the former one can't complete the key any more. Only refusals, take-overs
and what people change are entries of the audit log, whose end serialises writers; see docs/decisions/0099.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from reconcile.audit import log
from reconcile.coordination.clock import HostTime
from reconcile.errors import Refused, Wrong
from reconcile.guard.keys import PREFIX
from reconcile.store import Transaction, guarded_keys
from reconcile.store.columns import json_text
from reconcile.store.guarded_keys import FREE, KeyRow, KeyState, Taking
from rules.document.mistakes import suggestion
from rules.values import canonical_instant

LARGEST_RESULT = 65_536
"""Bytes of a result as JSON."""
LONGEST_TEXT = 500
"""Characters of a reason, or of who claims."""
SHORTEST_NAME = len(PREFIX) + 11
"""Characters with which people name a key: `gk1.`, the key id, and the first four."""
ACTOR = "reconcile"
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class NamespaceUnknown(Wrong):
    """There is no namespace of that name: with a misspelt one, a key would be claimed a second time."""

    def __init__(self, name: str, names: tuple[str, ...]) -> None:
        hint = suggestion(name, names) if names else "the configuration has none; add it below `guard`"
        super().__init__(f"There is no namespace `{name}`; {hint}. Nothing was claimed")


class KeyUnknown(Wrong):
    """There is no such key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"There is no key {key}. `reconcile keys` lists those in progress. Nothing was changed")


class KeyAmbiguous(Wrong):
    """Several keys begin like this."""

    def __init__(self, text: str) -> None:
        super().__init__(f"Several keys begin with {text}. Nothing was changed; give more of its name")


class OtherPayload(Wrong):
    """The key was claimed with another payload."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"Key {key} was claimed for something else: the payload differs. Nothing was claimed; if both are right, "
            "add what differs to the key"
        )


class ClaimLost(Refused):
    """The claim ended: another one took the key over, or a person released it."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"This claim of key {key} has ended: its lease was over and another claim took the key, or a person "
            "released it. Nothing was changed"
        )


class NotInProgress(Refused):
    """Only a key in progress has a lease."""

    def __init__(self, row: KeyRow) -> None:
        words = row.state.value.replace("_", " ")
        super().__init__(f"Key {row.key} is {words}, so it has no lease to end. Nothing was changed")


class StillInProgress(Refused):
    """Another claim works on the key."""

    def __init__(self, key: str, until: dt.datetime) -> None:
        super().__init__(
            f"Key {key} is in progress until {until:%Y-%m-%d %H:%M:%S} UTC at the latest. Nothing was done; try again "
            "later"
        )
        self.until = until


class ResultNotStored(Wrong):
    """The key is done, but without its result, which can't be stored."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"Key {key} is done, but its result is not stored: {why}. Repeats get no result")


@dataclass(frozen=True)
class Taken:
    """The claim is *yours*: do the work, then complete or fail it. `attempt` is 1 for the first claim of the key.

    After `attempt` 1, an earlier claim's outcome may be unknown: look whether the work was done.
    """

    namespace: str
    key: str
    fence: int
    until: dt.datetime
    attempt: int


@dataclass(frozen=True)
class InProgress:
    """Another claim works on the key until its lease ends, in so many `seconds`, unless it is renewed."""

    namespace: str
    key: str
    until: dt.datetime
    seconds: float
    by: str


@dataclass(frozen=True)
class Done:
    """The work was done; `result` is what it answered."""

    namespace: str
    key: str
    result: Any
    at: dt.datetime


@dataclass(frozen=True)
class Conflict:
    """The key was claimed with another payload."""

    namespace: str
    key: str


Answer = Taken | InProgress | Done | Conflict


@dataclass(frozen=True)
class Wanted:
    """A claim: `payload` is its fingerprint, and `by` the claimer, whose repeated claim gets the same answer."""

    namespace: str
    key: str
    payload: str
    by: str
    lease: dt.timedelta
    keep: dt.timedelta


def claim(tx: Transaction, wanted: Wanted, host: HostTime) -> tuple[Answer, str]:
    """Claim a key; return the answer, and the event to count."""
    taking = _taking(tx, wanted, host, 0)
    while not guarded_keys.add(tx, wanted.key, wanted.namespace, taking):
        stored = guarded_keys.get(tx, wanted.key)
        if stored is None:
            continue  # deleted meanwhile, since it was kept long enough
        answer = _answer(tx, wanted, host, *stored)
        if answer is not None:
            return answer
    return Taken(wanted.namespace, wanted.key, taking.fence, taking.lease_until, 1), "created"


def _answer(tx: Transaction, wanted: Wanted, host: HostTime, row: KeyRow, result: Any) -> tuple[Answer, str] | None:
    """Return the answer for an existing key, taking it if it is free; None if it changed meanwhile."""
    if row.payload != wanted.payload and row.state not in FREE:
        if guarded_keys.count_refusal(tx, row.key) == 1:
            _tell(tx, ACTOR, "key.refused", row, by=wanted.by)
        return Conflict(row.namespace, row.key), "conflicts"
    if row.state is KeyState.DONE:
        return Done(row.namespace, row.key, result, row.changed_at), "hits"
    seconds = remaining(row, tx.now, host)
    if row.state is KeyState.IN_PROGRESS and seconds > 0:
        if row.claimed_by == wanted.by:
            return Taken(row.namespace, row.key, row.fence, row.lease_until, row.attempts), "repeats"
        return InProgress(row.namespace, row.key, row.lease_until, seconds, row.claimed_by), "waits"
    taking = _taking(tx, wanted, host, row.fence)
    if not guarded_keys.take(tx, row, taking):
        return None
    taken = Taken(row.namespace, row.key, taking.fence, taking.lease_until, row.attempts + 1)
    if row.state in FREE:
        return taken, "created"
    _tell(tx, ACTOR, "key.taken_over", row, by=wanted.by, former=row.claimed_by)
    return taken, "expired"


def remaining(row: KeyRow, now: dt.datetime, host: HostTime) -> float:
    """Return the seconds until the lease of a key in progress ends; 0 after its end.

    On SQLite the host's time since boot decides, which nobody can set; after a boot, and on PostgreSQL, the store's
    clock does.
    """
    boot, _, end = (row.lease_boot or "").rpartition(" ")
    if boot == host.boot and end:
        return max(0.0, (int(end) - host.ns) / 1e9)
    return max(0.0, (row.lease_until - now).total_seconds())


def complete(tx: Transaction, key: str, fence: int, result: Any, keep: dt.timedelta) -> bool:
    """Mark a claimed key as done, with its result. Return False if this was done before.

    Raises KeyUnknown; ClaimLost, also for another result.
    """
    if guarded_keys.finish(tx, key, fence, KeyState.DONE, tx.now + keep, result=result, reason=None):
        return True
    row, stored = present(tx, key)
    if (row.state, row.fence) != (KeyState.DONE, fence) or json_text(stored) != json_text(result):
        raise ClaimLost(key)
    return False


def fail(tx: Transaction, key: str, fence: int, reason: str, keep: dt.timedelta) -> bool:
    """Free a claimed key: its work was certainly not done. Return False if this was said before.

    Raises KeyUnknown, ClaimLost.
    """
    if guarded_keys.finish(tx, key, fence, KeyState.FAILED, tx.now + keep, result=None, reason=shortened(reason)):
        return True
    row, _ = present(tx, key)
    if (row.state, row.fence) != (KeyState.FAILED, fence):
        raise ClaimLost(key)
    return False


def renew(
    tx: Transaction, key: str, fence: int, lease: dt.timedelta, keep: dt.timedelta, host: HostTime
) -> dt.datetime:
    """Let the lease of a claim last that long from now on; return its end. Raises KeyUnknown, ClaimLost."""
    until = tx.now + lease
    if not guarded_keys.extend(tx, key, fence, until, _boot_end(tx, lease, host), tx.now + keep):
        present(tx, key)
        raise ClaimLost(key)
    return until


def problem_of(result: Any) -> str | None:
    """Return why a result can't be stored; None if it can."""
    try:
        size = len(json_text(result))
    except (TypeError, ValueError, RecursionError) as error:
        return f"it is not JSON ({' '.join(str(error).split())[:100]})"
    return None if size <= LARGEST_RESULT else f"it has {size:,} bytes as JSON, and {LARGEST_RESULT:,} are the most"


def named(tx: Transaction, text: str) -> KeyRow:
    """Return the key whose name begins with this text. Raises KeyUnknown, KeyAmbiguous."""
    is_name = text.startswith(PREFIX) and len(text) >= SHORTEST_NAME and text.isascii() and text.isprintable()
    rows = guarded_keys.beginning_with(tx, text, 3) if is_name else []
    if not rows:
        raise KeyUnknown(shortened(text))
    if len(rows) > 1 and rows[0].key != text:
        raise KeyAmbiguous(text)
    return rows[0]


# What people change


def release(tx: Transaction, key: str, *, reason: str, by: str) -> KeyRow:
    """Let the next claim of a key do its work, even if it was done. Raises KeyUnknown; ClaimLost if it changed now."""
    row, _ = present(tx, key)
    values = {"state": KeyState.RELEASED.value, "result": None, "reason": shortened(reason), "lease_boot": None}
    return _changed(tx, row, "key.released", by, reason, values)


def expire(tx: Transaction, key: str, *, reason: str, by: str) -> KeyRow:
    """End the lease of a key in progress, whose claimer is dead. Raises KeyUnknown, NotInProgress, ClaimLost."""
    row, _ = present(tx, key)
    if row.state is not KeyState.IN_PROGRESS:
        raise NotInProgress(row)
    values = {"lease_until": tx.now, "lease_boot": None, "fence": _fence(tx, row.fence), "reason": shortened(reason)}
    return _changed(tx, row, "key.expired", by, reason, values)


def _changed(tx: Transaction, row: KeyRow, event: str, by: str, reason: str, values: dict[str, Any]) -> KeyRow:
    if not guarded_keys.change(tx, row, **values):
        raise ClaimLost(row.key)
    _tell(tx, by, event, row, note=shortened(reason))
    return present(tx, row.key)[0]


def present(tx: Transaction, key: str) -> tuple[KeyRow, Any]:
    """Return a key and its result. Raises KeyUnknown."""
    stored = guarded_keys.get(tx, key)
    if stored is None:
        raise KeyUnknown(key)
    return stored


def _taking(tx: Transaction, wanted: Wanted, host: HostTime, former: int) -> Taking:
    until, boot = tx.now + wanted.lease, _boot_end(tx, wanted.lease, host)
    return Taking(wanted.payload, _fence(tx, former), wanted.by, until, boot, tx.now + wanted.keep)


def _fence(tx: Transaction, former: int) -> int:
    """Return a number that no earlier claim of the key had, even one whose row was deleted: microseconds since 1970."""
    return max(former + 1, (tx.now - _EPOCH) // dt.timedelta(microseconds=1))


def _boot_end(tx: Transaction, lease: dt.timedelta, host: HostTime) -> str | None:
    if tx.store.is_shared:
        return None
    return f"{host.boot} {host.ns + round(lease.total_seconds() * 1e9)}"


def _tell(tx: Transaction, actor: str, event: str, row: KeyRow, **more: str) -> None:
    body = {"key": row.key, "namespace": row.namespace, "state": row.state.value, "attempts": row.attempts}
    body |= {"since": canonical_instant(row.changed_at), **more}
    log.append(tx, actor, event, f"key:{row.key}", body)


def shortened(text: str) -> str:
    """Return a text on one line, as long as it may be."""
    plain = text.replace("\0", " ").encode("utf-8", "replace").decode()
    return " ".join(plain.split())[:LONGEST_TEXT]
