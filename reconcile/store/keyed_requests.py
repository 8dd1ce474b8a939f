"""Requests with an idempotency key: each is carried out once, and its answer is kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import keyed_requests


class KeyedRequest(NamedTuple):
    """A request that was received. `answer` is None while it is carried out, or if that was interrupted."""

    digest: str
    answer: Any


def begin(tx: Transaction, user: str, key: str, digest: str) -> KeyedRequest | None:
    """Record a request that begins; return the earlier one if the key was used."""
    row = {"user": user, "key": key, "digest": digest, "received_at": tx.now}
    statement = insert_for(tx, keyed_requests).on_conflict_do_nothing().returning(keyed_requests.c.key)
    if tx.connection.execute(statement, row).one_or_none() is not None:
        return None
    query = sa.select(keyed_requests.c.digest, keyed_requests.c.answer).where(*_of(user, key))
    return KeyedRequest(*tx.connection.execute(query).one())


def end(tx: Transaction, user: str, key: str, answer: Any) -> None:
    """Keep the answer of a request that was carried out."""
    tx.connection.execute(sa.update(keyed_requests).where(*_of(user, key)).values(answer=answer))


def forget(tx: Transaction, user: str, key: str) -> None:
    """Forget a request that changed nothing, so that its key can be used again."""
    tx.connection.execute(sa.delete(keyed_requests).where(*_of(user, key)))


def taken(tx: Transaction, user: str, key: str) -> Any:
    """Return the answer of a request that was carried out, and forget it; None without one."""
    delete = sa.delete(keyed_requests).where(*_of(user, key), keyed_requests.c.answer.is_not(None))
    return tx.connection.execute(delete.returning(keyed_requests.c.answer)).scalar()


def _of(user: str, key: str) -> tuple[sa.ColumnElement[bool], ...]:
    return keyed_requests.c.user == user, keyed_requests.c.key == key
