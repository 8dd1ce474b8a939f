"""Users and tokens as every door lists them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from notifications.wording.words import to_the_minute
from reconcile.documents import JsonObject
from reconcile.store import users as stored
from reconcile.store.users import TokenRow, UserRow
from rules.values import canonical_instant

if TYPE_CHECKING:
    from reconcile.app import Application


@dataclass(frozen=True)
class UserView:
    """A user, without the password's hash."""

    name: str
    role: str
    sees_personal: bool
    is_disabled: bool
    has_password: bool

    @classmethod
    def of(cls, row: UserRow) -> UserView:
        return cls(row.name, row.role, row.sees_personal, row.disabled_at is not None, row.password is not None)

    def to_json(self) -> JsonObject:
        return {
            "user": self.name,
            "role": self.role,
            "personal_data": self.sees_personal,
            "disabled": self.is_disabled,
            "password": self.has_password,
        }

    def cells(self) -> tuple[str, ...]:
        state = "disabled" if self.is_disabled else "active"
        way = "password" if self.has_password else "proxy"
        return self.name, self.role, "unmasked" if self.sees_personal else "masked", state, way


@dataclass(frozen=True)
class TokenView:
    """A token, without its HMAC."""

    name: str
    user: str
    role: str
    expires_at: dt.datetime | None
    used_at: dt.datetime | None

    @classmethod
    def of(cls, row: TokenRow) -> TokenView:
        return cls(row.name, row.user, row.role, row.expires_at, row.used_at)

    def to_json(self) -> JsonObject:
        times = {"expires_at": self.expires_at, "used_at": self.used_at}
        shown = {name: None if at is None else canonical_instant(at) for name, at in times.items()}
        return {"name": self.name, "user": self.user, "role": self.role} | shown

    def cells(self, timezone: str) -> tuple[str, ...]:
        """Return the row of the list for people, with times in that zone."""
        times = (self.expires_at, self.used_at)
        shown = ("never" if at is None else to_the_minute(at, timezone) for at in times)
        return self.name, self.user, self.role, *shown


def users(application: Application) -> list[UserView]:
    """Return all users by name."""
    with application.memory.read() as tx:
        return list(map(UserView.of, stored.listed(tx)))


def tokens(application: Application) -> list[TokenView]:
    """Return all tokens by user and name."""
    with application.memory.read() as tx:
        return list(map(TokenView.of, stored.listed_tokens(tx)))
