"""Roles, and the person behind a request. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from reconcile.errors import Refused, Wrong


class Role(enum.IntEnum):
    """The rights of a person; each role includes the ones before it."""

    VIEWER = 1
    """Sees findings, runs and the log, with personal data masked."""
    REVIEWER = 2
    """Also decides about findings and approves plans."""
    OPERATOR = 3
    """Also triggers, pauses, retries and undoes."""
    ADMIN = 4
    """Also manages users, tokens and releases."""

    @property
    def word(self) -> str:
        return self.name.lower()


WORDS = tuple(role.word for role in Role)


class RoleUnknown(Wrong):
    """There is no role of that name."""

    def __init__(self, word: str) -> None:
        super().__init__(f"`{word}` is not a role; use {', '.join(WORDS[:-1])} or {WORDS[-1]}")


class NotAllowed(Refused):
    """The person's role does not include this."""

    def __init__(self, person: Person, needed: Role) -> None:
        super().__init__(
            f"{person.name} is {person.role.word}, and this needs the role {needed.word}. Nothing was changed; "
            "an administrator can change the role"
        )


def parse_role(word: str) -> Role:
    """Return the role of that name; raises RoleUnknown."""
    try:
        return Role[word.upper()] if word.islower() else Role[""]
    except KeyError:
        raise RoleUnknown(word) from None


@dataclass(frozen=True)
class Person:
    """A person who signed in, or for whom a program acts. `sees_personal`: may see personal data in clear.

    `origin` is recorded with approvals: `ada@console`, or `ada@api:nightly` for a token of that name.
    """

    name: str
    role: Role
    sees_personal: bool
    origin: str

    def require(self, role: Role) -> None:
        """Raise NotAllowed unless the person has at least this role."""
        if self.role < role:
            raise NotAllowed(self, role)
