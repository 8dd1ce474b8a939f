"""Likely causes of duplicates, from distances between repeats in time and in files; stated only past a threshold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

_RATIO = 1.15  # bins grow by 15 %: a retry after 30 s lands in one of two neighbouring bins
_FEWEST = 8  # repeats; fewer support no claim
_SHARE = 0.6  # of the repeats that must lie in the peak
_CHANCE = 0.001  # of seeing such a peak in scattered repeats, over all bins (Bonferroni)
_TIMEOUTS = (1, 2, 3, 5, 10, 15, 20, 25, 30, 45, 60, 90, 120, 180, 300, 600, 900, 1800, 3600)

Shift = tuple[str, str, int]
"""Two files, ordered by name, and how many rows further down the second file has a record."""


def retry_sentence(seconds: Sequence[float]) -> str | None:
    """One sentence on a peak in the distances (seconds from each repeat to the previous record), or None.

    The test: distances fall into geometric bins; under "scattered" each of the bins between 0.1 s and a day is
    equally likely. Two neighbouring bins that hold at least 60 % of at least 8 repeats, with a one-sided binomial
    probability below 0.001 after Bonferroni correction, are a peak.
    """
    gaps = sorted(s for s in seconds if s > 0)
    if len(gaps) < _FEWEST:
        return None
    bins = math.ceil(math.log(86_400 / 0.1, _RATIO))
    inside = _densest(gaps, _RATIO**2)
    chance = _binomial_tail(len(inside), len(gaps), 2 / bins) * bins
    if len(inside) < _SHARE * len(gaps) or chance > _CHANCE:
        return None
    low, high = inside[0], inside[-1]
    middle = inside[len(inside) // 2]
    usual = next((t for t in _TIMEOUTS if abs(middle - t) <= 0.05 * t + 0.5), None)
    after = _time(usual) if usual else f"about {_time(middle)}"
    between = _time(low) if _time(low) == _time(high) else f"{_range(low, high)}"
    return (
        f"{len(inside)} of {len(gaps)} repeats came {between} after the previous record: "
        f"this looks like a client that retries after {after}."
    )


def copy_sentence(shifts: Mapping[Shift, int], repeats: int) -> str | None:
    """One sentence on a file that holds the same records as another one, or None.

    `shifts` counts pairs of repeated records by their two files and the distance of their rows. An export that was
    delivered twice, whole or in part, repeats its records at one distance; other repeats are scattered.
    """
    if not shifts:
        return None
    (first, second, _), count = max(shifts.items(), key=lambda item: (item[1], item[0]))
    if count < _FEWEST or count < _SHARE * repeats:
        return None
    return (
        f"{count:,} of {repeats:,} repeats are in {first} and, in the same order, in {second}: "
        "this looks like one export that was delivered twice."
    )


def _densest(ordered: list[float], ratio: float) -> list[float]:
    best: list[float] = []
    start = 0
    for end, value in enumerate(ordered):
        while value > ordered[start] * ratio:
            start += 1
        if end - start + 1 > len(best):
            best = ordered[start : end + 1]
    return best


def _binomial_tail(k: int, n: int, p: float) -> float:
    """P(X >= k) for X ~ Binomial(n, p), summed in logarithms."""
    logs = [
        math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p) + (n - i) * math.log1p(-p)
        for i in range(k, n + 1)
    ]
    return sum(math.exp(v) for v in logs)


def _time(seconds: float) -> str:
    if seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def _range(low: float, high: float) -> str:
    left, right = _time(low), _time(high)
    unit = right.split(" ")[1]
    return f"{left.removesuffix(' ' + unit)}–{right}"
