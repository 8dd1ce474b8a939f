"""The port of an anchor, and the errors of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from reconcile.audit.verifier import Mark
from reconcile.errors import Failed

Receipt = Mapping[str, str]


class AnchorError(Failed):
    """An anchor could not be written or read. The message is one sentence; the head will be written later."""

    def __init__(self, anchor: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The anchor {anchor!r} {reason}")


@dataclass(frozen=True)
class Torn:
    """A line or message in an anchor that is not a signed head: a crash cut it off, or somebody edited it."""

    where: str
    is_last: bool


class Anchor(Protocol):
    """A place to which signed heads are only ever added."""

    def write(self, mark: Mark) -> Receipt:
        """Add a head, durably; the receipt says where. Writing one twice does no harm. Raises AnchorError."""

    def read(self, store: str) -> Iterator[Mark | Torn]:
        """Every head of that store, the oldest first. Raises AnchorError, also if it cannot be read back from here."""


class HeadLost(AnchorError):
    """The anchor no longer holds a head that it took; nothing was written to it."""

    def __init__(self, anchor: str, place: str, seq: int) -> None:
        super().__init__(
            anchor,
            f"no longer holds the head of entry {seq:,} ({place}): it was removed or replaced. Put it back, or run "
            "`reconcile audit verify` and give the anchor another name to start over",
        )


@runtime_checkable
class Lasting(Anchor, Protocol):
    """An anchor that can tell quickly whether it still holds the head that it took last."""

    def check_held(self, mark: Mark, receipt: Receipt) -> None:
        """Raise HeadLost if the head with this receipt is gone."""


@runtime_checkable
class Fading(Anchor, Protocol):
    """An anchor in a place that hides or deletes old messages by rules of its own."""

    fades: str
    """The rules, as a clause."""
