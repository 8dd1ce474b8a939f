"""Users and their tokens in the store."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

import sqlalchemy as sa

from reconcile.store.database import Transaction
from reconcile.store.tables import tokens, users


class UserRow(NamedTuple):
    """A user. `password` is a hash; None if a proxy signs this user in."""

    name: str
    role: str
    password: str | None
    sees_personal: bool
    disabled_at: dt.datetime | None
    created_at: dt.datetime


class TokenRow(NamedTuple):
    """A token of a user; `id` is its HMAC."""

    name: str
    id: str
    user: str
    role: str
    created_at: dt.datetime
    expires_at: dt.datetime | None
    used_at: dt.datetime | None


_USER = sa.select(*(users.c[name] for name in UserRow._fields))
_TOKEN = sa.select(*(tokens.c[name] for name in TokenRow._fields))
_SOME_USER = sa.select(sa.exists().select_from(users))


def exist(tx: Transaction) -> bool:
    """Return True if there is any user."""
    return bool(tx.connection.execute(_SOME_USER).scalar())


def get(tx: Transaction, name: str) -> UserRow | None:
    row = tx.connection.execute(_USER.where(users.c.name == name)).one_or_none()
    return None if row is None else UserRow(*row)


def listed(tx: Transaction, *, lock: bool = False) -> list[UserRow]:
    """Return all users; `lock` makes other changes of any of them wait."""
    query = _USER.order_by(users.c.name)
    return [UserRow(*row) for row in tx.connection.execute(query.with_for_update() if lock else query)]


def add(tx: Transaction, user: UserRow) -> None:
    tx.connection.execute(sa.insert(users), user._asdict())


def change(tx: Transaction, user: UserRow) -> None:
    """Store the user in place of the present one of that name."""
    fields = {name: value for name, value in user._asdict().items() if name != "name"}
    tx.connection.execute(sa.update(users).where(users.c.name == user.name).values(fields))


def token(tx: Transaction, name: str) -> TokenRow | None:
    row = tx.connection.execute(_TOKEN.where(tokens.c.name == name)).one_or_none()
    return None if row is None else TokenRow(*row)


def token_of(tx: Transaction, token_id: str) -> TokenRow | None:
    """Return the token with this HMAC."""
    row = tx.connection.execute(_TOKEN.where(tokens.c.id == token_id)).one_or_none()
    return None if row is None else TokenRow(*row)


def listed_tokens(tx: Transaction) -> list[TokenRow]:
    return [TokenRow(*row) for row in tx.connection.execute(_TOKEN.order_by(tokens.c.user, tokens.c.name))]


def add_token(tx: Transaction, row: TokenRow) -> None:
    tx.connection.execute(sa.insert(tokens), row._asdict())


def delete_token(tx: Transaction, name: str) -> None:
    tx.connection.execute(sa.delete(tokens).where(tokens.c.name == name))


def mark_used(tx: Transaction, name: str) -> None:
    tx.connection.execute(sa.update(tokens).where(tokens.c.name == name).values(used_at=tx.now))
