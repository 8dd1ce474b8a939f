"""Idempotency keys: a request that is sent again with its key is carried out once and gets the first answer.

A request that was refused is forgotten, because it changed nothing. One that was interrupted stays unknown: what it
asked for may have been done, so its key never carries it out a second time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from reconcile.errors import Refused, Wrong
from reconcile.store import Store, keyed_requests
from reconcile.store.columns import json_text

LONGEST = 200


class KeyRefused(Wrong):
    """This cannot be an idempotency key."""

    def __init__(self) -> None:
        super().__init__(f"An Idempotency-Key has 1 to {LONGEST} visible ASCII characters. Nothing was changed")


class KeyReused(Wrong):
    """The key belongs to a request that asked for something else."""

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was used for a different request. Nothing was changed; use a new key")


class OutcomeUnknown(Refused):
    """A request with this key is being carried out, or was interrupted."""

    def __init__(self) -> None:
        super().__init__(
            "Another request with this Idempotency-Key is in progress or was interrupted. This request changed "
            "nothing; check whether the first one took effect, and use a new key if it did not"
        )


def once(store: Store, user: str, key: str | None, request: Any, act: Callable[[], Any]) -> tuple[Any, bool]:
    """Carry out a request unless its key was used; return its JSON answer, and True if that is an earlier one.

    `request` is what is asked for, as JSON. Raises KeyRefused, KeyReused, OutcomeUnknown and what `act` raises.
    """
    if key is None:
        return act(), False
    if not 1 <= len(key) <= LONGEST or not all("!" <= character <= "~" for character in key):
        raise KeyRefused
    digest = digest_of(request)
    with store.begin() as tx:
        earlier = keyed_requests.begin(tx, user, key, digest)
    if earlier is not None:
        if earlier.digest != digest:
            raise KeyReused
        if earlier.answer is None:
            raise OutcomeUnknown
        return earlier.answer, True
    try:
        answer = act()
    except (Wrong, Refused):  # nothing was changed; after any other error that is unknown
        with store.begin() as tx:
            keyed_requests.forget(tx, user, key)
        raise
    with store.begin() as tx:
        keyed_requests.end(tx, user, key, answer)
    return answer, False


def digest_of(request: Any) -> str:
    return hashlib.sha256(json_text(request).encode()).hexdigest()
