"""Compute side by side: numpy, Arrow and rapidfuzz do most of their work without Python's lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_MOST_THREADS = 4
"""More threads mostly wait for each other, and each holds the memory of what it computes."""


def threads() -> int:
    """Return how many threads to use: one for each processor that this process may use, up to four."""
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, _MOST_THREADS)


def in_order(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield the result for each item, in their order; a few are computed ahead, so that memory stays bounded.

    Items are read in the caller's thread.
    """
    count = threads()
    if count == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(count) as pool:
        rest = iter(items)
        pending: deque[Future[R]] = deque(pool.submit(function, item) for item in islice(rest, count + 1))
        try:
            while pending:
                result = pending.popleft().result()
                pending.extend(pool.submit(function, item) for item in islice(rest, 1))
                yield result
        finally:
            for future in pending:
                future.cancel()
