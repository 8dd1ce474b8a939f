"""Users: who may sign in, with which role. Every change is in the audit log and ends what the user had open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from reconcile.audit import facts, log
from reconcile.audit import sessions as proven
from reconcile.errors import Refused, Wrong
from reconcile.people import makers, passwords
from reconcile.people.roles import Role, parse_role
from reconcile.store import Transaction, sessions
from reconcile.store import users as stored
from reconcile.store.users import UserRow
from rules.document.mistakes import suggestion

CHANGES = (
    *("user.added", "user.role_changed", "user.password_changed", "user.disabled", "user.enabled"),
    *("token.added", "token.revoked"),
)
"""The events that change a user or their tokens."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")


class UserUnknown(Wrong):
    """There is no user of that name; nothing was changed."""

    def __init__(self, name: str, names: list[str]) -> None:
        hint = suggestion(name, names) if names else "there are none yet: `reconcile users add NAME --role admin`"
        super().__init__(f"There is no user `{name}`; {hint}")


class UserExists(Refused):
    """There is a user of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"User {name} already exists; `reconcile users role {name} ROLE` changes the role")


class NameRefused(Wrong):
    """This cannot be the name of a user or token."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"`{name[:64]}` cannot be a name; use up to 64 of a-z, 0-9 and . _ @ + -, beginning with a letter or digit"
        )


class LastAdministrator(Refused):
    """Nobody else could manage users; nothing was changed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is the only administrator. Nothing was changed; make another user admin first")


def is_name(name: str) -> bool:
    """Return True if this can name a user: lower case, so two names never look like one person."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> None:
    """Raise NameRefused unless this can name a user."""
    if not is_name(name):
        raise NameRefused(name)


def add(
    tx: Transaction,
    name: str,
    role: Role,
    *,
    by: str,
    password: str | None = None,
    sees_personal: bool = False,
    origin: str | None = None,
) -> UserRow:
    """Add a user; without a password only a proxy can sign them in. `origin` is that of the person `by`.

    Raises NameRefused, UserExists, PasswordRefused, ConsoleMissing.
    """
    check_name(name)
    if stored.get(tx, name) is not None:
        raise UserExists(name)
    secret = None if password is None else passwords.hashed(password, name)
    user = UserRow(name, role.word, secret, sees_personal, None, tx.now)
    stored.add(tx, user)
    held = makers.told(tx, by, origin)
    _tell(tx, name, "user.added", by, {"role": role.word, "sees_personal": sees_personal, **held})
    return user


def set_role(
    tx: Transaction, name: str, role: Role | None = None, *, by: str, sees_personal: bool | None = None
) -> tuple[UserRow, bool]:
    """Give the user another role, or the right to see personal data; return the user, and True if that changed.

    Raises UserUnknown, LastAdministrator.
    """
    user = named(tx, name, lock=True)
    changed = user._replace(
        role=user.role if role is None else role.word,
        sees_personal=user.sees_personal if sees_personal is None else sees_personal,
    )
    if changed == user:
        return user, False
    _keep_an_administrator(tx, changed)
    stored.change(tx, changed)
    body = {"role": changed.role, "was": user.role, "sees_personal": changed.sees_personal}
    _tell(tx, name, "user.role_changed", by, body)
    return changed, True


def set_password(
    tx: Transaction, name: str, password: str, *, by: str, keep: str | None = None, origin: str | None = None
) -> None:
    """Set the password; every session of the user ends, except `keep`. `origin` is that of the person `by`.

    Raises UserUnknown, PasswordRefused, ConsoleMissing.
    """
    user = named(tx, name, lock=True)
    held = makers.told(tx, by, origin)
    secret = passwords.hashed(password, name)
    stored.change(tx, user._replace(password=secret))
    sessions.end_of_user(tx, name, but=keep)
    kept = None if keep is None else sessions.get(tx, keep)
    if kept is not None:
        sessions.change(tx, proven.sealed(tx, kept, secret))
    _tell(tx, name, "user.password_changed", by, held if kept is None else {"kept": proven.named(kept.id)})


def disable(tx: Transaction, name: str, *, by: str) -> bool:
    """End the user's sessions and refuse sign-ins and tokens; return False if that was so already.

    Raises UserUnknown, LastAdministrator.
    """
    user = named(tx, name, lock=True)
    if user.disabled_at is not None:
        return False
    changed = user._replace(disabled_at=tx.now)
    _keep_an_administrator(tx, changed)
    stored.change(tx, changed)
    sessions.end_of_user(tx, name)
    _tell(tx, name, "user.disabled", by, {})
    return True


def enable(tx: Transaction, name: str, *, by: str) -> bool:
    """Let a disabled user sign in again; return False if the user was not disabled. Raises UserUnknown."""
    user = named(tx, name, lock=True)
    if user.disabled_at is None:
        return False
    stored.change(tx, user._replace(disabled_at=None))
    _tell(tx, name, "user.enabled", by, {})
    return True


def named(tx: Transaction, name: str, *, lock: bool = False) -> UserRow:
    """Return the user of that name; raises UserUnknown with the nearest name. `lock` locks all users."""
    rows = {row.name: row for row in stored.listed(tx, lock=lock)}
    if name not in rows:
        raise UserUnknown(name, list(rows))
    return rows[name]


def active(tx: Transaction, name: str) -> UserRow | None:
    """Return the user if they may act: neither disabled, nor changed by somebody who only wrote the database."""
    user = stored.get(tx, name) if is_name(name) else None
    if user is None or user.disabled_at is not None:
        return None
    return user if log.is_as_last_told(tx, facts.USER, name, f"user:{name}", CHANGES) else None


def why_not_reviewing(tx: Transaction, name: str) -> str | None:
    """Return why this user may not approve now, as a clause; None if they may."""
    user = stored.get(tx, name)
    if user is None:
        return f"{name} is no longer a user"
    if user.disabled_at is not None:
        return f"{name} is disabled"
    if not may_review(user):
        return f"{name} is {user.role} now"
    return None if active(tx, name) else f"{name} was changed outside Reconcile"


def may_review(user: UserRow) -> bool:
    """Return True if the user's role includes decisions, and they are not disabled."""
    return user.disabled_at is None and parse_role(user.role) >= Role.REVIEWER


def _keep_an_administrator(tx: Transaction, changed: UserRow) -> None:
    """Raise LastAdministrator if nobody could manage users after this change."""
    rows = {row.name: row for row in stored.listed(tx)}
    was_admin = _is_administrator(rows[changed.name])
    rows[changed.name] = changed
    if was_admin and not any(map(_is_administrator, rows.values())):
        raise LastAdministrator(changed.name)


def _is_administrator(user: UserRow) -> bool:
    return user.disabled_at is None and parse_role(user.role) is Role.ADMIN


def _tell(tx: Transaction, name: str, event: str, by: str, body: Mapping[str, Any]) -> None:
    log.touch(tx, facts.USER, [name])
    log.append(tx, by, event, f"user:{name}", {"user": name, **body})
