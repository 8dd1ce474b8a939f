"""Tokens: a program acts for a user, with at most the user's role. A token is shown once and stored as an HMAC."""

from __future__ import annotations

import datetime as dt
import hmac
import secrets

from reconcile.audit import facts, log
from reconcile.errors import Refused, Wrong
from reconcile.people import makers, users
from reconcile.people.roles import Person, Role, parse_role
from reconcile.store import Store, Transaction
from reconcile.store import users as stored
from reconcile.store.users import TokenRow
from rules.document.mistakes import suggestion
from rules.values import canonical_instant

PREFIX = "rct_"
"""How every token begins, so that people and scanners recognise one."""
SEEN_EVERY = dt.timedelta(minutes=1)
"""How exactly the time of the last use is recorded."""


class TokenUnknown(Wrong):
    """There is no token of that name; nothing was changed."""

    def __init__(self, name: str, names: list[str]) -> None:
        hint = suggestion(name, names) if names else "there are none"
        super().__init__(f"There is no token `{name}`; {hint}")


class TokenExists(Refused):
    """There is a token of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Token {name} already exists; `reconcile tokens revoke {name}` ends it")


class ExpiryInThePast(Wrong):
    """The token would have expired already."""

    def __init__(self, expires: dt.datetime) -> None:
        super().__init__(f"A token that expires at {expires:%Y-%m-%d %H:%M} UTC would never work. Give a later time")


class RoleTooHigh(Refused):
    """The token would have a higher role than its user; nothing was changed."""

    def __init__(self, user: str, owned: Role, asked: Role) -> None:
        super().__init__(
            f"{user} is {owned.word}, so a token of theirs cannot be {asked.word}. Nothing was changed; give it the "
            f"role {owned.word} or a lower one"
        )


def add(
    tx: Transaction,
    name: str,
    user: str,
    role: Role | None = None,
    *,
    by: str,
    expires: dt.datetime | None = None,
    origin: str | None = None,
) -> str:
    """Make a token for the user, with their role unless a lesser one is given; return the token. `origin` is that of
    the person `by`.

    Raises NameRefused, TokenExists, UserUnknown, ExpiryInThePast, RoleTooHigh.
    """
    users.check_name(name)
    owner = users.named(tx, user, lock=True)
    if stored.token(tx, name) is not None:
        raise TokenExists(name)
    if expires is not None and expires <= tx.now:
        raise ExpiryInThePast(expires)
    allowed = parse_role(owner.role)
    if role is not None and role > allowed:
        raise RoleTooHigh(user, allowed, role)
    chosen = allowed if role is None else role
    token = PREFIX + secrets.token_urlsafe(32)
    stored.add_token(tx, TokenRow(name, _id(tx.store, token), user, chosen.word, tx.now, expires, None))
    until = None if expires is None else canonical_instant(expires)
    body = {"token": name, "role": chosen.word, "expires": until, **makers.told(tx, by, origin)}
    _tell(tx, user, "token.added", by, body)
    return token


def revoke(tx: Transaction, name: str, *, by: str) -> None:
    """End a token. Raises TokenUnknown."""
    row = stored.token(tx, name)
    if row is None:
        raise TokenUnknown(name, [token.name for token in stored.listed_tokens(tx)])
    stored.delete_token(tx, name)
    _tell(tx, row.user, "token.revoked", by, {"token": name})


def person(store: Store, token: str) -> Person | None:
    """Return the user for whom the token acts now; None for an unknown or expired token, or a disabled user."""
    if not token.startswith(PREFIX):
        return None
    with store.read() as tx:
        row = stored.token_of(tx, _id(store, token))
        user = None if row is None else users.active(tx, row.user)
        if row is None or user is None or (row.expires_at is not None and row.expires_at <= tx.now):
            return None
        is_recent = row.used_at is not None and tx.now - row.used_at < SEEN_EVERY
    if not is_recent:
        with store.begin() as tx:
            stored.mark_used(tx, row.name)
    role = min(parse_role(row.role), parse_role(user.role))
    return Person(user.name, role, user.sees_personal, f"{user.name}@api:{row.name}")


def _id(store: Store, token: str) -> str:
    """Return the HMAC of a token: whoever reads the database learns no token, and cannot add one without the key."""
    return hmac.digest(store.key, f"reconcile/token/1|{token}".encode(), "sha256").hex()


def _tell(tx: Transaction, user: str, event: str, by: str, body: dict[str, str | None]) -> None:
    log.touch(tx, facts.USER, [user])
    log.append(tx, by, event, f"user:{user}", {"user": user, **body})
