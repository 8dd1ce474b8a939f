"""Are the constants of the engine fitted to these sets? Choose them by all sets but one, and look at that one.

Sets that one generator or one source made are a family and are left out together. Two experiments: the constants of
the model over a small grid, and the built-in shares of levels, counted among the true pairs of the other families.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bench.similar import report
from bench.similar.evaluation import Prepared, replaced
from bench.similar.sets import load
from rules.kinds.similar.model import estimation
from rules.kinds.similar.model.model import Model, Shares, builtin_shares, normalised

RECORDS = 700
"""A larger set is represented by so many of its records."""
THRESHOLDS = (0.05, 0.1, 0.2, 0.35, 0.5)
ASSIGNED = (0.0125, 0.025, 0.05, 0.1, 0.2)
"""With partners one to one, in the same order: a choice names one of each."""
NEIGHBOURS = (0.1, 0.5, 2.0)
BELIEFS = (5.0, 20.0)
SHARES_OF_BELIEF = (0.1, 0.3, 0.6)
LEAST = ((0.2, 0.05), (0.4, 0.1), (0.6, 0.2))
Choice = tuple[float, ...]
Part = TypeVar("Part")
SHIPPED_BUILTIN: Choice = (estimation.BUILTIN_THRESHOLD, estimation.NEIGHBOURS)
SHIPPED_ESTIMATED: Choice = (estimation.BELIEF, estimation.SHARE_OF_BELIEF, estimation.LEAST)
_NONE = 1e-6
"""A least threshold that bounds nothing."""
_SMOOTHING = 0.02
"""The weight of the shipped shares beside counted ones, so that no level is impossible."""
Key = tuple[str, tuple[str, ...]]
"""The type of a column and the names of the levels of its feature."""


@dataclass
class Outcome:
    """The F1 of a set under each choice of constants, and the shares of levels among its true pairs."""

    builtin: dict[Choice, float] = field(default_factory=dict)
    estimated: dict[Choice, float] = field(default_factory=dict)
    counted: dict[Key, NDArray[np.float64]] = field(default_factory=dict)
    by_others: float = 0.0
    by_own: float = 0.0


def family(name: str) -> str:
    """Return the family of a set: what one generator made."""
    return next((begin for begin in ("febrl", "hell", "made-up", "persons") if name.startswith(begin)), name)


def sections(names: Sequence[str]) -> str:
    """Return the section on leaving one set out."""
    prepared = {}
    for name in names:
        if labelled := load(name):
            prepared[name] = Prepared.of(labelled.at_most(RECORDS))
    outcomes = {}
    for name, each in prepared.items():
        outcomes[name] = _outcome(each)
        print(f"  {name}: {outcomes[name].builtin} {outcomes[name].estimated}", file=sys.stderr, flush=True)
    for name, each in prepared.items():
        others = _mean([_mean(counted) for counted in _by_family(name, outcomes, lambda each: each.counted)])
        outcomes[name].by_others = each.rates(_with_shares(each, others)).f1
        outcomes[name].by_own = each.rates(_with_shares(each, outcomes[name].counted)).f1
    rows = [[name, *_cells(name, outcomes)] for name in outcomes]
    heads = [
        "set left out",
        "built-in, shipped",
        "constants by the others",
        "shares by the others",
        "shares by its own labels",
        "estimated, shipped",
        "constants by the others",
        "best choice for it",
    ]
    return report.section("Leave one out", _about(), report.table(heads, rows), _choices(outcomes))


def _about() -> str:
    return (
        f"F1 of pairs; sets of more than {RECORDS:,} records by a random part with whole entities. Constants of the "
        f"built-in model: threshold {THRESHOLDS}, one to one {ASSIGNED}, `NEIGHBOURS` {NEIGHBOURS}; `TWINS` moves the "
        f"log odds of all pairs, as the threshold does. Constants of the estimation: `BELIEF` {BELIEFS}, "
        f"`SHARE_OF_BELIEF` {SHARES_OF_BELIEF}, the least threshold {LEAST}. They are chosen by the mean F1 of all "
        "other families, each of which counts once. Shares by the others: the built-in shares of levels among matches "
        "are replaced by those counted among the true pairs of the other families; a type that no other family has "
        "keeps its shipped ones."
    )


def _outcome(prepared: Prepared) -> Outcome:
    outcome = Outcome(counted=_counted(prepared))
    one_to_one = prepared.labelled.one_to_one
    for threshold, neighbours in product(THRESHOLDS, NEIGHBOURS):
        own = ASSIGNED[THRESHOLDS.index(threshold)] if one_to_one else threshold
        with replaced(estimation, "NEIGHBOURS", neighbours):
            model = estimation.builtin(prepared.comparison, one_to_one=one_to_one)
        outcome.builtin[threshold, neighbours] = prepared.rates(replace(model, threshold=own)).f1
    for belief, share in product(BELIEFS, SHARES_OF_BELIEF):
        with replaced(estimation, "BELIEF", belief), replaced(estimation, "SHARE_OF_BELIEF", share):
            outcome.estimated.update(_by_least(prepared, belief, share))
    return outcome


def _by_least(prepared: Prepared, belief: float, share: float) -> dict[Choice, float]:
    """Return the F1 for each least threshold; the model is estimated once, since they only bound its threshold."""
    with replaced(estimation, "LEAST", _NONE), replaced(estimation, "LEAST_ASSIGNED", _NONE):
        model = prepared.matching().estimate().model
    result = {}
    for least, assigned in LEAST:
        lowest = assigned if prepared.labelled.one_to_one else least
        result[belief, share, least] = prepared.rates(replace(model, threshold=max(model.threshold, lowest))).f1
    return result


def _counted(prepared: Prepared) -> dict[Key, NDArray[np.float64]]:
    """Return the shares of levels among the true pairs, by feature of a kind; several features of a kind are added."""
    levels = prepared.comparison.levels(*prepared.true_places())
    counts: dict[Key, NDArray[np.float64]] = {}
    for number, feature in enumerate(prepared.comparison.features):
        key = _key(prepared, number)
        own = np.bincount(levels[:, number], minlength=len(feature.levels))[1:].astype(np.float64)
        counts[key] = counts.get(key, np.zeros(len(own))) + own
    return {key: own / max(own.sum(), 1.0) for key, own in counts.items()}


def _key(prepared: Prepared, number: int) -> Key:
    feature = prepared.comparison.features[number]
    names = tuple(level.name for level in feature.levels[1:])
    return str(prepared.labelled.settings.compare[feature.column].type), names


def _mean(shares: Sequence[Mapping[Key, NDArray[np.float64]]]) -> dict[Key, NDArray[np.float64]]:
    collected = defaultdict(list)
    for counted in shares:
        for key, own in counted.items():
            collected[key].append(own)
    return {key: np.mean(every, axis=0) for key, every in collected.items()}


def _with_shares(prepared: Prepared, counted: Mapping[Key, NDArray[np.float64]]) -> Model:
    """Return the built-in model with counted shares among matches."""
    model = estimation.builtin(prepared.comparison, one_to_one=prepared.labelled.one_to_one)
    shares = dict(model.shares)
    for number, feature in enumerate(prepared.comparison.features):
        own = counted.get(_key(prepared, number))
        if own is None or not own.sum():
            continue
        before = shares[feature.name]
        contexts = np.asarray([level.context for level in feature.levels[1:]])
        mixed = normalised(own + _SMOOTHING * np.asarray(builtin_shares(feature).match), contexts)
        shares[feature.name] = Shares(before.levels, tuple(mixed.tolist()), before.random)
    return estimation.with_neighbours(replace(model, shares=shares), prepared.comparison)


def _cells(name: str, outcomes: Mapping[str, Outcome]) -> list[str]:
    own = outcomes[name]
    builtin = chosen(name, outcomes, lambda outcome: outcome.builtin, SHIPPED_BUILTIN)
    estimated = chosen(name, outcomes, lambda outcome: outcome.estimated, SHIPPED_ESTIMATED)
    shipped, learnt = own.builtin[SHIPPED_BUILTIN], own.estimated[SHIPPED_ESTIMATED]
    changed = (
        (own.builtin[builtin], shipped),
        (own.by_others, shipped),
        (own.by_own, shipped),
    )
    best = max([*own.builtin.values(), *own.estimated.values()])
    cells = [f"{report.rate(value)} ({report.difference(value - base)})" for value, base in changed]
    by_others = own.estimated[estimated]
    return [
        report.rate(shipped),
        *cells,
        report.rate(learnt),
        f"{report.rate(by_others)} ({report.difference(by_others - learnt)})",
        report.rate(best),
    ]


def _by_family(left_out: str, outcomes: Mapping[str, Outcome], part: Callable[[Outcome], Part]) -> list[list[Part]]:
    """Return a part of the outcomes of each family but that of the set left out."""
    families = defaultdict(list)
    for name, outcome in outcomes.items():
        if family(name) != family(left_out):
            families[family(name)].append(part(outcome))
    return list(families.values())


def chosen(
    left_out: str, outcomes: Mapping[str, Outcome], grid: Callable[[Outcome], Mapping[Choice, float]], shipped: Choice
) -> Choice:
    """Return the constants with the best mean F1 over all families but that of the set left out.

    Of those that are equal to a thousandth, the shipped ones win.
    """
    families = _by_family(left_out, outcomes, grid)

    def mean(choice: Choice) -> float:
        return float(np.mean([np.mean([each[choice] for each in members]) for members in families]))

    return max(grid(outcomes[left_out]), key=lambda choice: (round(mean(choice), 3), choice == shipped, choice))


def _choices(outcomes: Mapping[str, Outcome]) -> str:
    """Return a sentence on what was chosen how often."""
    sentences = []
    for words, shipped, grid in (
        ("Built-in (threshold, `NEIGHBOURS`)", SHIPPED_BUILTIN, lambda outcome: outcome.builtin),
        ("Estimated (`BELIEF`, `SHARE_OF_BELIEF`, least threshold)", SHIPPED_ESTIMATED, lambda each: each.estimated),
    ):
        choices: dict[Choice, list[str]] = defaultdict(list)
        for name in outcomes:
            choices[chosen(name, outcomes, grid, shipped)].append(name)
        told = "; ".join(f"{choice} without {', '.join(left_out)}" for choice, left_out in choices.items())
        sentences.append(f"{words}: shipped {shipped}; chosen {told}.")
    return "\n\n".join(sentences)
