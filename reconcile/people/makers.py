"""The other holders of the credential that a person acts with: whoever set the password, or made the token, for them.

They could act as this person, so `approval: two_person` counts both as one person. It ends when the owner changes the
password in the console, which asks for the present one; a token stays its maker's.

A person who acts with a credential that someone else made also acts for its maker: the log entry of a new password or
token names everyone who held the credential that made it.
"""

from __future__ import annotations

from reconcile.audit import log
from reconcile.store import Transaction
from reconcile.store import users as stored
from reconcile.store.audit_log import LogEntry

UNVERIFIED = "a terminal or a token"
"""The maker of a password that was set under the owner's name, but without the present password."""
_PASSWORDS = ("user.added", "user.password_changed")
_TOLD = "credential_by"


def makers(tx: Transaction, user: str, origin: str | None) -> frozenset[str]:
    """Return the other people who hold the credential; `origin` is `ada@console`, or `ada@api:nightly` for a token."""
    if origin == f"{user}@console":
        return _of_password(tx, user)
    door, _, token = (origin or "").partition("@api:")
    return _of_token(tx, user, token) if token and door == user else frozenset()


def is_of_user(user: str, origin: str | None) -> bool:
    """Return True if a user acted, who signed in or for whom a token did; at the command line, nobody signs in."""
    return origin is not None and origin.startswith((f"{user}@console", f"{user}@api:", f"{user}@slack"))


def told(tx: Transaction, user: str, origin: str | None) -> dict[str, str]:
    """Return what an entry tells of a person whose credential others hold: `credential_by`, unless nobody does."""
    others = makers(tx, user, origin)
    return {_TOLD: ", ".join(sorted(others))} if others else {}


def named_in(entry: LogEntry) -> frozenset[str]:
    """Return the people that an entry names so."""
    names = (entry.body or {}).get(_TOLD, "")
    return frozenset(names.split(", ") if names else ())


def _of_password(tx: Transaction, user: str) -> frozenset[str]:
    row = stored.get(tx, user)
    entry = log.last_of(tx, f"user:{user}", _PASSWORDS)
    if row is None or row.password is None or entry is None:
        return frozenset()  # a proxy signs this person in
    if entry.actor != user:
        return (named_in(entry) | {entry.actor}) - {user}
    is_own = entry.event == "user.added" or "kept" in (entry.body or {})
    return frozenset() if is_own else (named_in(entry) | {UNVERIFIED}) - {user}


def _of_token(tx: Transaction, user: str, token: str) -> frozenset[str]:
    added = [
        entry
        for entry in log.entries(tx, event="token.added", subject=f"user:{user}")
        if entry.body and entry.body.get("token") == token
    ]
    return frozenset(name for entry in added[-1:] for name in (entry.actor, *named_in(entry))) - {user}
