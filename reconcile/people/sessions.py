"""Sessions: signing in with a password, as few times as people need and guessing does not."""

from __future__ import annotations

import datetime as dt
import hmac
import ipaddress
import secrets
from dataclasses import dataclass

from reconcile.audit import log
from reconcile.audit import sessions as proven
from reconcile.errors import Refused
from reconcile.people import passwords, users
from reconcile.people.roles import Person, parse_role
from reconcile.store import Store, Transaction
from reconcile.store import sessions as stored
from reconcile.store import users as stored_users
from reconcile.store.sessions import SessionRow
from reconcile.store.users import UserRow

WINDOW = dt.timedelta(minutes=15)
"""Attempts are counted this long."""
OF_NAME_AND_ADDRESS, OF_NAME, OF_ADDRESS = 5, 50, 30
"""Attempts in a window: for a name from one address, for a name from anywhere, for all names from one address."""
OF_SEARCHES = 60
"""Searches of personal data in a window: more would read values character by character."""
_ALLOWED = (OF_NAME_AND_ADDRESS, OF_NAME, OF_ADDRESS)
SEEN_EVERY = dt.timedelta(minutes=1)
"""How exactly the time of the last use is recorded."""


class SignInRefused(Refused):
    """Name or password is wrong, or the user may not sign in: the sentence does not say which."""

    def __init__(self) -> None:
        super().__init__("The name or the password is wrong. Try again, or ask an administrator for a new password")


class TooManyAttempts(Refused):
    """Too many attempts; this one was not checked."""

    def __init__(self, wait: dt.timedelta, attempted: str = "attempts to sign in") -> None:
        self.wait = wait
        minutes = max(1, -(-int(wait.total_seconds()) // 60))
        unit = "minute" if minutes == 1 else "minutes"
        super().__init__(f"Too many {attempted}. Try again in {minutes} {unit}")


@dataclass(frozen=True)
class Lifetime:
    """How long a session lives: `idle` since its last use, and `whole` in any case."""

    idle: dt.timedelta = dt.timedelta(hours=2)
    whole: dt.timedelta = dt.timedelta(hours=12)


@dataclass(frozen=True)
class SignedIn:
    """A session in use. `secret` is the cookie's content, `csrf` the proof that a form is one of ours."""

    person: Person
    secret: str
    csrf: str


def sign_in(
    store: Store, name: str, password: str, address: str, lifetime: Lifetime, *, former: str | None = None
) -> SignedIn:
    """Begin a session; the `former` one of this browser ends. Raises SignInRefused, TooManyAttempts, ConsoleMissing.

    Attempts are counted before the password is looked at, in the store: neither many processes nor a restart allow
    more of them.
    """
    name = name.strip().lower()
    confirm(store, name, password, address)
    with store.begin() as tx:
        return _begin(tx, name, lifetime, former, "password")


def count_attempt(store: Store, name: str, address: str) -> None:
    """Count an attempt that is no sign-in. Raises TooManyAttempts."""
    with store.begin() as tx:
        _count(tx, dict(zip(_scopes(store, name, address), _ALLOWED, strict=True)))


def count_search(tx: Transaction, user: str) -> None:
    """Count a search of personal data. Raises TooManyAttempts."""
    _count(tx, {_hmac(tx.store, "search", user): OF_SEARCHES}, "searches of personal data")


def confirm(store: Store, name: str, password: str, address: str) -> None:
    """Check the password of a person who is signed in. Raises SignInRefused, TooManyAttempts."""
    of_both, of_name, of_address = scopes = _scopes(store, name, address)
    with store.begin() as tx:
        _count(tx, dict(zip(scopes, _ALLOWED, strict=True)))
    with store.read() as tx:
        user = users.active(tx, name)
    if not passwords.is_right(password, user.password if user else None):
        raise SignInRefused
    with store.begin() as tx:
        stored.forget(tx, [of_both, of_name])
        stored.take_back(tx, of_address)  # not forgotten: who has an account could else try all other names


def sign_in_by_proxy(store: Store, name: str, lifetime: Lifetime, *, former: str | None = None) -> SignedIn | None:
    """Begin a session for the user that a trusted proxy names; None if there is no such active user."""
    with store.read() as tx:
        user = users.active(tx, name.strip().lower())
    if user is None:
        return None
    with store.begin() as tx:
        return _begin(tx, user.name, lifetime, former, "proxy")


def resume(store: Store, secret: str, lifetime: Lifetime) -> SignedIn | None:
    """Return the session of a cookie; None if it ended, or its user may not act any more."""
    user_name, _, _ = secret.partition(":")
    with store.read() as tx:
        row = stored.get(tx, _id(store, secret))
        if row is None or row.user != user_name or _is_over(row, tx.now, lifetime):
            return None
        user = users.active(tx, row.user)
        if user is None or not proven.is_genuine(tx, row, user.password):
            return None
        is_recent = tx.now - row.seen_at < SEEN_EVERY
    if not is_recent:
        with store.begin() as tx:
            stored.change(tx, proven.sealed(tx, row._replace(seen_at=tx.now), user.password))
    return _signed_in(store, user, secret)


def sign_out(store: Store, secret: str) -> None:
    """End the session of a cookie."""
    with store.begin() as tx:
        _end(tx, secret)


def id_of(store: Store, secret: str) -> str:
    """Return the id of a session in the store."""
    return _id(store, secret)


def _begin(tx: Transaction, name: str, lifetime: Lifetime, former: str | None, how: str) -> SignedIn:
    if former is not None:
        _end(tx, former)
    stored.delete_ended(tx, tx.now - lifetime.idle)
    user = stored_users.get(tx, name)
    if user is None or user.disabled_at is not None:
        raise SignInRefused
    secret = f"{name}:{secrets.token_urlsafe(32)}"
    row = SessionRow(_id(tx.store, secret), name, tx.now, tx.now, tx.now + lifetime.whole)
    stored.add(tx, proven.sealed(tx, row, user.password))
    body = {"user": name, "by": how, "session": proven.named(row.id)}
    log.append(tx, name, proven.BEGUN, f"user:{name}", body)
    return _signed_in(tx.store, user, secret)


def _end(tx: Transaction, secret: str) -> None:
    """Delete a session; the entry is what keeps its row from counting again."""
    user, _, _ = secret.partition(":")
    session = _id(tx.store, secret)
    if stored.end(tx, session):
        body = {"user": user, "session": proven.named(session)}
        log.append(tx, user, proven.ENDED, f"user:{user}", body)


def _signed_in(store: Store, user: UserRow, secret: str) -> SignedIn:
    person = Person(user.name, parse_role(user.role), user.sees_personal, f"{user.name}@console")
    return SignedIn(person, secret, _hmac(store, "csrf", secret))


def _is_over(row: SessionRow, now: dt.datetime, lifetime: Lifetime) -> bool:
    return row.ends_at <= now or now - row.seen_at > lifetime.idle


def _scopes(store: Store, name: str, address: str) -> tuple[str, str, str]:
    """Return HMACs of what attempts are counted for, as in `_ALLOWED`: a name may be a mistyped password."""
    address = _place(address)
    of_both, of_name, of_address = (
        _hmac(store, "attempt", scope) for scope in (f"both|{name}|{address}", f"name|{name}", f"address|{address}")
    )
    return of_both, of_name, of_address


def _place(address: str) -> str:
    """Return the address that attempts are counted for: one host has a whole IPv6 network of 64 bits to send from."""
    try:
        place = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:  # a socket's or a proxy's own word for where it comes from
        return address
    if place.version == 4:
        return str(place)
    return str(place.ipv4_mapped or ipaddress.ip_network((place.packed, 64), strict=False))


def _count(tx: Transaction, allowed: dict[str, int], attempted: str = "attempts to sign in") -> None:
    """Count an attempt; raises TooManyAttempts, which takes it back."""
    counts = stored.count(tx, list(allowed), tx.now - WINDOW)
    waits = [begun + WINDOW - tx.now for scope, (number, begun) in counts.items() if number > allowed[scope]]
    if waits:
        raise TooManyAttempts(max(waits), attempted)


def _id(store: Store, secret: str) -> str:
    """Return the HMAC of a cookie: whoever reads the database learns no cookie, and cannot add a session."""
    return _hmac(store, "session", secret)


def _hmac(store: Store, purpose: str, text: str) -> str:
    return hmac.digest(store.key, f"reconcile/{purpose}/1|{text}".encode(errors="replace"), "sha256").hex()
