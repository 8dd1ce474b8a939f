"""The port of an anchor, and the errors of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from reconcile.audit.verifier import Mark

Receipt = Mapping[str, str]


class AnchorError(Exception):
    """An anchor did not take a head, or could not be read. It is one sentence; the head will be written later."""

    def __init__(self, anchor: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The anchor {anchor!r} {reason}")


class NotReadable(AnchorError):
    """The anchor cannot be read back from here: its copy has to be compared where it is kept."""


@dataclass(frozen=True)
class Torn:
    """Something in an anchor that is no signed head: a line that a crash cut off, or one that was edited."""

    where: str
    is_last: bool


class Anchor(Protocol):
    """A place that signed heads are added to and never taken from."""

    def write(self, mark: Mark) -> Receipt:
        """Add a head, durably; the receipt says where. Writing one twice does no harm. Raises AnchorError."""


@runtime_checkable
class Readable(Protocol):
    """An anchor that can be read back."""

    def read(self, store: str) -> Iterator[Mark | Torn]:
        """Every head of that store, the oldest first. Raises AnchorError, NotReadable."""


@runtime_checkable
class Fading(Readable, Protocol):
    """An anchor in a place that shows what was written last, and hides or deletes what is older by rules of its own."""

    fades: str
    """What the rules are, as a clause."""
