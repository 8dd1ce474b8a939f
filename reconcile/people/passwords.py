"""Passwords: argon2 hashes, as argon2-cffi recommends them (RFC 9106)."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING

from reconcile.errors import Wrong

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST = 12
LONGEST = 1_000
_DIFFERENT = SHORTEST // 3
"""The fewest different characters."""
RULE = f"At least {SHORTEST} characters, {_DIFFERENT} of them different. It must not contain the user's name."
"""The requirements for a password, in words."""

_AT_ONCE = threading.Semaphore(2)
"""Each computation takes 64 MiB."""


class PasswordRefused(Wrong):
    """The password does not protect the account; nothing was changed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"This password {why}. Nothing was changed; choose another")


class ConsoleMissing(Wrong):
    """The extra `console` is not installed."""

    def __init__(self) -> None:
        super().__init__("Users and the console need the extra `console`: pip install 'reconcile-runner[console]'")


def hashed(password: str, user: str) -> str:
    """Return the hash of a new password. Raises PasswordRefused, ConsoleMissing."""
    if len(password) < SHORTEST:
        raise PasswordRefused(f"is shorter than {SHORTEST} characters")
    if len(password) > LONGEST:
        raise PasswordRefused(f"is longer than {LONGEST:,} characters")
    if len(set(password)) < _DIFFERENT:
        raise PasswordRefused(f"is easy to guess: it has fewer than {_DIFFERENT} different characters")
    if user in password.casefold():
        raise PasswordRefused("is easy to guess: it contains the user's name")
    with _AT_ONCE:
        return _hasher().hash(password)


def is_right(password: str, stored: str | None) -> bool:
    """Return True if this is the password. Without a hash it takes as long and returns False.

    Raises ConsoleMissing.
    """
    from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415 - of the extra `console`

    with _AT_ONCE:
        try:
            _hasher().verify(stored or _no_hash(), password[: LONGEST + 1])
        except (VerificationError, InvalidHashError):
            return False
    return stored is not None


@functools.cache
def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher as Hasher  # noqa: PLC0415 - of the extra `console`
    except ModuleNotFoundError:
        raise ConsoleMissing from None
    return Hasher()


@functools.cache
def _no_hash() -> str:
    return _hasher().hash("the password of nobody")
