"""What chance does in tests: where it begins, how long it lasts, how many examples it tries."""

import os
import random
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import settings

SEED = int(os.environ.get("RECONCILE_SEED") or random.randrange(10**6))
"""Where chance comes from; printed with every failure by way of the test's id or its message."""
SECONDS = float(os.environ.get("RECONCILE_CHAOS_SECONDS") or 0)
"""How long the long tier is to take, all suites together; 0: the short one of every test run."""
REPORT = os.environ.get("RECONCILE_CHAOS_REPORT")
"""A file that each suite writes its line of the table to."""
Case = TypeVar("Case")


def lasting(share: float, short: Callable[[], bool]) -> Callable[[], bool]:
    """When a storm is over: `short` says so in the short tier, its share of the time in the long one."""
    if not SECONDS:
        return short
    end = time.monotonic() + SECONDS * share
    return lambda: time.monotonic() > end


def few(short: int, long: int) -> int:
    """Return how many examples to try: `short` in every test run, `long` in the long tier."""
    return long if SECONDS else short


def spread(cases: Sequence[Case], number: int) -> list[Case]:
    """Return so many of the cases, spread evenly from the first to the last; all of them in the long tier."""
    if SECONDS or number >= len(cases):
        return list(cases)
    return [cases[round(place * (len(cases) - 1) / (number - 1))] for place in range(number)]


def examples(number: int, quick: int | None = None) -> int:
    """Return how many examples to try: so many in the long tier or by hand, and half in `make test`.

    pytest loads the profile of its command line before it reads the tests.
    """
    profile = settings.get_current_profile_name()
    if profile == "quick" and quick is not None:
        return quick
    return number // 2 if profile == "test" and not SECONDS else number
