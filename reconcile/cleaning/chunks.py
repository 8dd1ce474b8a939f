"""Many things, so many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def in_chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of so many, the last one shorter."""
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some
