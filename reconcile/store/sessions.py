"""Sessions, and attempts to sign in, in the store."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from typing import NamedTuple

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import attempts, sessions, users


class SessionRow(NamedTuple):
    """A signed-in browser. `id` is an HMAC, and `seal` one over the row, missing in rows of earlier versions."""

    id: str
    user: str
    started_at: dt.datetime
    seen_at: dt.datetime
    ends_at: dt.datetime
    seal: str | None = None


_SESSION = sa.select(*(sessions.c[name] for name in SessionRow._fields))


def get(tx: Transaction, session: str) -> SessionRow | None:
    row = tx.connection.execute(_SESSION.where(sessions.c.id == session)).one_or_none()
    return None if row is None else SessionRow(*row)


def add(tx: Transaction, row: SessionRow) -> None:
    tx.connection.execute(sa.insert(sessions), row._asdict())


def change(tx: Transaction, row: SessionRow) -> None:
    """Store when the session was last used, and its seal, unless it ended meanwhile."""
    of_this = sa.update(sessions).where(sessions.c.id == row.id)
    tx.connection.execute(of_this.values(seen_at=row.seen_at, seal=row.seal))


def sealed_ones(tx: Transaction) -> list[tuple[SessionRow, str | None]]:
    """Return every session with a seal, with the hash of its user's password, in the order of their ids."""
    query = sa.select(*(sessions.c[name] for name in SessionRow._fields), users.c.password)
    query = query.join(users, users.c.name == sessions.c.user).where(sessions.c.seal.is_not(None))
    return [(SessionRow(*row), password) for *row, password in tx.connection.execute(query.order_by(sessions.c.id))]


def end(tx: Transaction, session: str) -> bool:
    """Delete the session; return False if there was none."""
    return tx.connection.execute(sa.delete(sessions).where(sessions.c.id == session)).rowcount > 0


def end_of_user(tx: Transaction, user: str, *, but: str | None = None) -> None:
    """Delete the sessions of the user, except one."""
    others = [sessions.c.id != but] if but else []
    tx.connection.execute(sa.delete(sessions).where(sessions.c.user == user, *others))


def end_all(tx: Transaction) -> None:
    tx.connection.execute(sa.delete(sessions))


def delete_ended(tx: Transaction, idle_since: dt.datetime) -> None:
    """Delete the sessions that ended, and those unused since a time."""
    tx.connection.execute(sa.delete(sessions).where((sessions.c.ends_at <= tx.now) | (sessions.c.seen_at < idle_since)))


# Attempts to sign in


def count(tx: Transaction, scopes: Collection[str], since: dt.datetime) -> Mapping[str, tuple[int, dt.datetime]]:
    """Count one more attempt of each scope; return their counts and when each window began.

    A window that began before `since` starts again. Concurrent attempts wait for each other.
    """
    tx.connection.execute(sa.delete(attempts).where(attempts.c.since < since))
    insert = insert_for(tx, attempts)
    one_more = insert.on_conflict_do_update(index_elements=["scope"], set_={"count": attempts.c.count + 1})
    for scope in sorted(scopes):
        tx.connection.execute(one_more, {"scope": scope, "count": 1, "since": tx.now})
    columns = (attempts.c.scope, attempts.c.count, attempts.c.since)
    rows = tx.connection.execute(sa.select(*columns).where(attempts.c.scope.in_(scopes)))
    return {scope: (number, begun) for scope, number, begun in rows}


def forget(tx: Transaction, scopes: Collection[str]) -> None:
    """Forget the attempts of these scopes."""
    tx.connection.execute(sa.delete(attempts).where(attempts.c.scope.in_(scopes)))


def take_back(tx: Transaction, scope: str) -> None:
    """Count one attempt of the scope less."""
    tx.connection.execute(sa.update(attempts).where(attempts.c.scope == scope).values({"count": attempts.c.count - 1}))
