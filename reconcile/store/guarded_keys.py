"""Keys that programs claimed: every change compares the fence, so only one of two claims makes it."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from reconcile.store.bulk import bound, insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import guard_counts, guarded_keys


class KeyState(enum.StrEnum):
    """The state of a key: the next claim gets one that `failed` or was `released` as if it were new."""

    IN_PROGRESS = "in_progress"
    DONE = "done"
    FAILED = "failed"
    RELEASED = "released"


FREE = (KeyState.FAILED, KeyState.RELEASED)


class KeyRow(NamedTuple):
    """A key as it is stored, see `tables.guarded_keys`. `result_size` is the size of the result as JSON, in bytes."""

    key: str
    namespace: str
    state: KeyState
    payload: str
    fence: int
    attempts: int
    refusals: int
    claimed_by: str
    lease_until: dt.datetime
    lease_boot: str | None
    created_at: dt.datetime
    changed_at: dt.datetime
    keep_until: dt.datetime
    reason: str | None
    result_size: int


class Taking(NamedTuple):
    """What a claim writes."""

    payload: str
    fence: int
    claimed_by: str
    lease_until: dt.datetime
    lease_boot: str | None
    keep_until: dt.datetime


_SIZE = sa.func.coalesce(sa.func.length(sa.type_coerce(guarded_keys.c.result, sa.Text)), 0)
_ROW = sa.select(*(guarded_keys.c[name] for name in KeyRow._fields[:-1]), _SIZE)
_OF_KEY = guarded_keys.c.key == sa.bindparam("the_key")
_UNCHANGED = (
    _OF_KEY,
    guarded_keys.c.fence == sa.bindparam("the_fence"),
    guarded_keys.c.state == sa.bindparam("the_state"),
)
_GET = _ROW.add_columns(guarded_keys.c.result).where(_OF_KEY)
_NEW = ("key", "namespace", "state", "attempts", "refusals", "created_at", "changed_at", *Taking._fields)
_ADD = sa.text(
    f"INSERT INTO guarded_keys ({', '.join(_NEW)}) VALUES (:{', :'.join(_NEW)}) ON CONFLICT DO NOTHING RETURNING key"
).bindparams(*(sa.bindparam(name, type_=guarded_keys.c[name].type) for name in _NEW))
_TAKE = (
    sa.update(guarded_keys)
    .where(*_UNCHANGED)
    .values(bound(guarded_keys, ("state", "changed_at", *Taking._fields)))
    .values(attempts=guarded_keys.c.attempts + 1, reason=None)
)
_FINISH = (
    sa.update(guarded_keys)
    .where(*_UNCHANGED)
    .values(bound(guarded_keys, ("state", "changed_at", "keep_until", "result", "reason")))
    .values(lease_boot=None)
)
_EXTEND = (
    sa.update(guarded_keys).where(*_UNCHANGED).values(bound(guarded_keys, ("lease_until", "lease_boot", "keep_until")))
)
_REFUSE = (
    sa.update(guarded_keys)
    .where(_OF_KEY)
    .values(refusals=guarded_keys.c.refusals + 1)
    .returning(guarded_keys.c.refusals)
)


def add(tx: Transaction, key: str, namespace: str, taking: Taking) -> bool:
    """Add a key with its first claim; return False if it exists."""
    row = {"key": key, "namespace": namespace, "state": KeyState.IN_PROGRESS.value, "attempts": 1, "refusals": 0}
    row |= {"created_at": tx.now, "changed_at": tx.now, **taking._asdict()}
    return tx.connection.execute(_ADD, row).one_or_none() is not None


def get(tx: Transaction, key: str) -> tuple[KeyRow, Any] | None:
    """Return a key and its result; None if there is none."""
    row = tx.connection.execute(_GET, {"the_key": key}).one_or_none()
    return None if row is None else (_key_row(row[:-1]), row[-1])


def take(tx: Transaction, row: KeyRow, taking: Taking) -> bool:
    """Give a key that is still as in `row` to another claim; return False if it changed meanwhile."""
    values = {"state": KeyState.IN_PROGRESS.value, "changed_at": tx.now, **taking._asdict()}
    return _changes(tx, _TAKE, row.key, row.fence, row.state, values)


def finish(
    tx: Transaction, key: str, fence: int, state: KeyState, keep_until: dt.datetime, *, result: Any, reason: str | None
) -> bool:
    """End a claim; return False if it is not the key's present one."""
    values = {"state": state.value, "changed_at": tx.now, "keep_until": keep_until, "result": result, "reason": reason}
    return _changes(tx, _FINISH, key, fence, KeyState.IN_PROGRESS, values)


def extend(
    tx: Transaction, key: str, fence: int, until: dt.datetime, boot: str | None, keep_until: dt.datetime
) -> bool:
    """Let the lease of a claim end at another time; return False if it is not the key's present one."""
    values = {"lease_until": until, "lease_boot": boot, "keep_until": keep_until}
    return _changes(tx, _EXTEND, key, fence, KeyState.IN_PROGRESS, values)


def change(tx: Transaction, row: KeyRow, **values: Any) -> bool:
    """Write a person's change to a key that is still as in `row`; return False if it changed meanwhile."""
    statement = sa.update(guarded_keys).where(*_UNCHANGED).values(changed_at=tx.now, **values)
    return _changes(tx, statement, row.key, row.fence, row.state, {})


def count_refusal(tx: Transaction, key: str) -> int:
    """Count a claim with another payload; return their number."""
    return int(tx.connection.execute(_REFUSE, {"the_key": key}).scalar() or 0)


def _changes(
    tx: Transaction, statement: sa.Update, key: str, fence: int, state: KeyState, values: Mapping[str, Any]
) -> bool:
    of_key = {"the_key": key, "the_fence": fence, "the_state": state.value}
    return tx.connection.execute(statement, {**of_key, **values}).rowcount == 1


class Position(NamedTuple):
    """The last key of a page: the next one begins after it."""

    keep_until: dt.datetime
    key: str


def listed(
    tx: Transaction, state: KeyState, namespace: str | None, limit: int, after: Position | None = None
) -> list[KeyRow]:
    """Return keys in a state, those that are kept longest first."""
    columns = guarded_keys.c
    query = _ROW.where(columns.state == state.value)
    if namespace is not None:
        query = query.where(columns.namespace == namespace)
    if after is not None:
        last = sa.literal(after.keep_until, columns.keep_until.type), sa.literal(after.key, columns.key.type)
        query = query.where(sa.tuple_(columns.keep_until, columns.key) < sa.tuple_(*last))
    query = query.order_by(columns.keep_until.desc(), columns.key.desc()).limit(limit)
    return [_key_row(row) for row in tx.connection.execute(query)]


def beginning_with(tx: Transaction, start: str, limit: int) -> list[KeyRow]:
    """Return keys whose name begins with this text, which has no character above `~`, in order."""
    query = _ROW.where(guarded_keys.c.key >= start, guarded_keys.c.key < start + "\x7f")
    return [_key_row(row) for row in tx.connection.execute(query.order_by(guarded_keys.c.key).limit(limit))]


def _key_row(row: Any) -> KeyRow:
    values = KeyRow(*row)
    return values._replace(state=KeyState(values.state))


# Counts


def add_counts(tx: Transaction, counts: Mapping[tuple[str, str], int]) -> None:
    """Add to the counts of namespaces and events, in their order, so that two transactions never wait in a circle."""
    statement = insert_for(tx, guard_counts)
    added = statement.on_conflict_do_update(
        index_elements=["namespace", "event"], set_={"count": guard_counts.c.count + statement.excluded.count}
    )
    for (namespace, event), count in sorted(counts.items()):
        tx.connection.execute(added, {"namespace": namespace, "event": event, "count": count})


def counts(tx: Transaction) -> dict[tuple[str, str], int]:
    """Return the counts by namespace and event."""
    query = sa.select(guard_counts.c.namespace, guard_counts.c.event, guard_counts.c.count)
    return {(namespace, event): number for namespace, event, number in tx.connection.execute(query)}


def in_progress(tx: Transaction) -> dict[str, int]:
    """Return the number of keys in progress by namespace."""
    columns = guarded_keys.c
    query = sa.select(columns.namespace, sa.func.count()).where(columns.state == KeyState.IN_PROGRESS.value)
    rows = tx.connection.execute(query.group_by(columns.namespace))
    return {str(row[0]): int(row[1]) for row in rows}
