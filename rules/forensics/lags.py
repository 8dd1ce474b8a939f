"""Causes that show in the time between a repeat and the previous record: retries, jobs that overlap, posted batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from rules.forensics.chance import FEWEST, SHARE, is_striking, scan_chance
from rules.forensics.repeated import Repeated

T = TypeVar("T")

_RATIO = 1.15**2
"""The longest lag of a peak is at most this multiple of its shortest: a retry after 30 s is not punctual."""

_SHORTEST, _LONGEST = 0.1, 43_200.0
"""Seconds. Beyond half a day people have a rhythm of their own: who buys bread every morning repeats no order."""

_PATIENCE = 180.0
"""Seconds after which no client still waits, but a job may start again."""

_TIMEOUTS = (1, 2, 3, 5, 10, 15, 20, 25, 30, 45, 60, 90, 120)
_SCHEDULES = (180, 240, 300, 360, 600, 720, 900, 1200, 1800, 3600, 7200, 10_800, 14_400, 21_600)


class Lags:
    """Test: the lags of most repeats have a peak.

    Statistic: the most lags between a value and 1.32 times that value. Chance: the scan statistic's union bound for
    lags scattered evenly up to the longest, and for logarithms of lags scattered evenly between 0.1 s and half a day,
    whichever is larger; it includes all places and numbers of lags that were looked at. Lags measured in whole seconds,
    minutes or hours are as wide as that unit.

    A peak below three minutes is a retry. A slower one is a batch posted twice if most repeats came within a time that
    is shorter than the lag: the first copies ended before the second began. Otherwise it is a job, if the lag is that
    of a usual schedule.
    """

    def __init__(self) -> None:
        self._lags: list[tuple[float, float]] = []

    def add(self, group: Repeated) -> None:
        self._lags.extend(group.lags)

    def sentence(self) -> str | None:
        total = len(self._lags)
        lags = sorted(lag for lag in self._lags if 0 < lag[0] <= _LONGEST)
        peak = _most(lags, lambda first, last: last[0] <= first[0] * _RATIO)
        if not peak or not is_striking(len(peak), total, _chance(self._lags, peak)):
            return None
        low, middle, high = peak[0][0], peak[len(peak) // 2][0], peak[-1][0]
        between = _time(low) if _time(low) == _time(high) else _range(low, high)
        block = _most(sorted(at for _, at in peak), lambda first, last: last - first < middle)
        if middle >= _PATIENCE and len(block) >= FEWEST and len(block) >= SHARE * total:
            within = _time(max(1.0, block[-1] - block[0]))
            return (
                f"{len(block):,} of {total:,} repeats came {between} after the previous record, all within {within}: "
                "this looks like one batch that was posted twice."
            )
        return f"{len(peak):,} of {total:,} repeats came {between} after the previous record: {_cause(middle)}."


def _cause(lag: float) -> str:
    usual = next((t for t in (*_TIMEOUTS, *_SCHEDULES) if abs(lag - t) <= 0.05 * t + 0.5), None)
    if lag < _PATIENCE:
        return f"this looks like a client that retries after {f'about {_time(lag)}' if usual is None else _time(usual)}"
    if usual is None:
        return f"this looks like work that is done again after about {_time(lag)}"
    return f"this looks like a job that starts every {usual // 60} min while its previous run is still busy"


def _chance(lags: Sequence[tuple[float, float]], peak: Sequence[tuple[float, float]]) -> float:
    """Return the probability of such a peak among scattered lags."""
    unit = next((unit for unit in (3600, 60, 1) if all(lag % unit == 0 for lag, _ in lags)), 0.001)
    low, high, longest = peak[0][0], peak[-1][0] + unit, max(lag for lag, _ in lags) + unit
    even = (high - low) / longest
    logarithmic = math.log(high / low) / math.log(_LONGEST / _SHORTEST)
    return max(scan_chance(len(peak), len(lags), width) for width in (even, logarithmic))


def _most(ordered: Sequence[T], are_near: Callable[[T, T], bool]) -> Sequence[T]:
    """Return the most neighbours of which the first and the last are near."""
    best = start = end = 0
    for place, item in enumerate(ordered, 1):
        while not are_near(ordered[start], item):
            start += 1
        if place - start > end - best:
            best, end = start, place
    return ordered[best:end]


def _time(seconds: float) -> str:
    if seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < _PATIENCE else f"{seconds / 60:.1f}".removesuffix(".0") + " min"


def _range(low: float, high: float) -> str:
    left, right = _time(low), _time(high)
    unit = right.split(" ")[1]
    return f"{left.removesuffix(' ' + unit)}–{right}"
