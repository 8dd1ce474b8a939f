"""The threshold of every claim: enough cases, most of them, and more than chance would give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

FEWEST = 8
"""Cases; fewer support no claim."""

SHARE = 0.6
"""The share of the cases that a claim must explain."""

CHANCE = 0.001
"""The largest probability of so many cases by chance, after correction for all the looks that were taken."""

LOOKS_LIKE = 0.02
"""The probability that a wrong amount looks like a named error by chance; for random amounts it is below 1 in 90."""

ONE_DAY = 1 / 14
"""The probability that a wrong date is wrong by one day in one direction: it may be any of the two weeks around."""

MOST = 10_000
"""Things of one sort that are remembered: groups, pairs, differences."""


def is_striking(cases: int, total: int, chance: float) -> bool:
    """Return True if so many of the total, and so little chance of it, support a claim."""
    return cases >= FEWEST and cases >= SHARE * total and chance <= CHANCE


def binomial_tail(cases: int, total: int, probability: float) -> float:
    """Return P(X >= cases) for X ~ Binomial(total, probability)."""
    if cases <= 0 or probability >= 1:
        return 1.0
    if probability <= 0:
        return 0.0
    odds = math.log(probability), math.log1p(-probability)
    logs = (_choose(total, n) + n * odds[0] + (total - n) * odds[1] for n in range(cases, total + 1))
    return min(1.0, sum(map(math.exp, logs)))


def scan_chance(cases: int, total: int, width: float) -> float:
    """Bound the probability that so many of the total, scattered evenly over a length of 1, lie within a width.

    The union bound over all choices of that many points, whose range is known: P(range <= w) = k w^(k-1) - (k-1) w^k.
    It is multiplied by the total, since the number of points was chosen after looking.
    """
    if width >= 1 or cases < 2:
        return 1.0
    if width <= 0:
        return 0.0
    log = _choose(total, cases) + math.log(total) + math.log(cases) + (cases - 1) * math.log(width)
    return math.exp(min(0.0, log))


def _choose(total: int, cases: int) -> float:
    """Return the logarithm of the number of choices."""
    return math.lgamma(total + 1) - math.lgamma(cases + 1) - math.lgamma(total - cases + 1)


@dataclass(frozen=True)
class Claim:
    """A sentence that so many of the total support, and the probability that chance alone would support it."""

    cases: int
    total: int
    chance: float
    sentence: str


def strongest(claims: Sequence[Claim]) -> str | None:
    """Return the sentence of the claim with most cases among those past the threshold.

    Chance is multiplied by the number of claims, each of which was a look (Bonferroni).
    """
    striking = [claim for claim in claims if is_striking(claim.cases, claim.total, claim.chance * len(claims))]
    return max(striking, key=lambda claim: claim.cases).sentence if striking else None
