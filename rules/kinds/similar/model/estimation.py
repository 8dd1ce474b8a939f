"""Estimate a model from unlabelled records: random shares from random pairs, match shares by EM over all pairs.

Fellegi and Sunter 1969; EM as Winkler 1988. Candidates count once; a sample of the other pairs stands for all of
them and never matches, so nothing depends on how the candidates were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.candidates.choice import Candidates
from rules.kinds.similar.comparison import Comparison
from rules.kinds.similar.encoded import Levels, Places, sorted_distinct
from rules.kinds.similar.features.base import Feature
from rules.kinds.similar.model.curve import Curve
from rules.kinds.similar.model.judged import Calibration, Judged
from rules.kinds.similar.model.model import Model, Shares, builtin_shares, normalised
from rules.kinds.similar.model.scoring import Scoring, competing, probability
from rules.kinds.similar.records import Records

ROUNDS = 60
RANDOM_PAIRS = 400_000
BELIEF = 20.0
"""The built-in shares count as much as this many matches,"""
SHARE_OF_BELIEF = 0.3
"""and at least as this share of the expected ones: left alone, EM drops matches that disagree in a strong column."""
RANDOM_BELIEF = 50.0
BUILTIN_PAIRS = 200_000
_DRAWS = 32
"""Draws for each pair of few records: by then every pair was drawn."""
LEAST, LEAST_ASSIGNED = 0.4, 0.1
"""The least thresholds; where records compete for partners, improbable pairs have lost already."""
MOST_CERTAIN = 0.999
BUILTIN_THRESHOLD, BUILTIN_ASSIGNED = 0.2, 0.05
TWINS = 1.0
NEIGHBOURS = 0.5
"""The built-in guess how many twins a record has; between two tables, half the records of the smaller one."""
MOVED = 0.003
"""The built-in guess at the share of matches that moved. Estimated shares do without: they took sites of one chain for
sites that had moved, and more so the larger the share."""
LEAST_MATCHES = 20.0
"""With fewer expected matches the data are too thin to learn from."""
_CLOSE = 1e-5


@dataclass(frozen=True)
class Evidence:
    """Compared pairs: `weight` is how many pairs of the whole each stands for."""

    first: Places
    second: Places
    levels: Levels
    rarity: NDArray[np.float64]
    """The bits of rarity, added up over the features."""
    shared_rarity: NDArray[np.float64]
    """The bits of rarity of the features that neighbours share."""
    can_match: NDArray[np.bool_]
    weight: NDArray[np.float64]
    judged: NDArray[np.int64]
    """The positions of the pairs that people judged,"""
    same: NDArray[np.bool_]
    """and whether they said that they are the same."""

    def as_judged(self, matches: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities with those of the judged pairs certain."""
        certain = matches.copy()
        certain[self.judged] = self.same
        return certain


@dataclass(frozen=True)
class Estimate:
    """A model, with what is to be expected of it, and how judged pairs correct its probabilities."""

    model: Model
    curve: Curve
    calibration: Calibration


def estimate(
    comparison: Comparison,
    candidates: Candidates,
    *,
    one_to_one: bool,
    expected_precision: float,
    judged: Judged | None = None,
) -> Estimate:
    """Return the model of these records. The same records and judgements give the same model.

    `judged` pairs count as what people said. With enough of them, the threshold and the curve follow from how often
    the model was right about them.
    """
    evidence = _gather(comparison, candidates, judged or Judged.of({}, comparison.records))
    model = with_neighbours(Model.builtin(comparison.features, TWINS), comparison)
    for _ in range(ROUNDS):
        matches, neighbours = _expected(Scoring(comparison, model), evidence, one_to_one=one_to_one)
        matches = evidence.as_judged(matches)
        updated = _maximised(comparison, evidence, matches, neighbours * (1 - matches))
        is_close = _distance(model, updated) < _CLOSE
        model = updated
        if is_close:
            break
    probabilities, _ = _expected(Scoring(comparison, model), evidence, one_to_one=one_to_one)
    calibration = Calibration.of(probabilities[evidence.judged], evidence.same)
    matches = np.where(evidence.can_match, evidence.as_judged(calibration.calibrated(probabilities)), 0.0)
    total = float(matches.sum())
    thin = None
    if total < LEAST_MATCHES:
        few = f"about {total:.0f} pairs of the same thing are too few to learn from"
        thin = f"{few}; the built-in weights serve small data"
    taken = evidence.can_match
    if one_to_one:
        taken = _best_of_both(probabilities, evidence, len(comparison.records))
    curve = Curve.of(probabilities[taken], matches[taken], total)
    least = calibration.of_model(LEAST_ASSIGNED if one_to_one else LEAST)
    threshold = curve.cut(expected_precision, least, MOST_CERTAIN)
    return Estimate(replace(model, threshold=threshold, learnt_from=total, thin=thin), curve, calibration)


def builtin(comparison: Comparison, *, one_to_one: bool) -> Model:
    """Return the built-in model with the shares of random pairs counted: what is common differs between data."""
    packed = _random_pairs(comparison.records, BUILTIN_PAIRS)
    size = max(len(comparison.records), 1)
    levels = comparison.levels(packed // size, packed % size)
    shares = {}
    for number, feature in enumerate(comparison.features):
        own = builtin_shares(feature)
        counts = np.bincount(levels[:, number], minlength=len(feature.levels))[1:].astype(np.float64)
        shares[feature.name] = Shares(own.levels, own.match, _blended(counts, own.random, RANDOM_BELIEF, feature))
    twins = TWINS
    if comparison.records.has_sides:
        right = int(comparison.records.sides.sum())
        twins = min(right, size - right) / size
    return with_neighbours(
        Model(shares, twins, moved=MOVED, threshold=BUILTIN_ASSIGNED if one_to_one else BUILTIN_THRESHOLD), comparison
    )


def _best_of_both(matches: NDArray[np.float64], evidence: Evidence, records: int) -> NDArray[np.bool_]:
    """Return which candidates no other one of the same records exceeds: about those that an assignment takes."""
    best = np.zeros(records)
    for places in (evidence.first, evidence.second):
        np.maximum.at(best, places, matches)
    taken: NDArray[np.bool_] = (matches >= best[evidence.first]) & (matches >= best[evidence.second])
    return taken & evidence.can_match


def _gather(comparison: Comparison, candidates: Candidates, judged: Judged) -> Evidence:
    records = comparison.records
    size = max(len(records), 1)
    first, second = candidates.first, candidates.second
    weight = np.ones(len(first))
    can_match = np.ones(len(first), dtype=bool)
    if not candidates.is_every_pair:
        unseen = np.setdiff1d(judged.packed(size), candidates.packed)
        others = np.setdiff1d(_random_pairs(records, RANDOM_PAIRS), np.concatenate([candidates.packed, unseen]))
        first = np.concatenate([first, unseen // size, others // size])
        second = np.concatenate([second, unseen % size, others % size])
        rest = (records.pairs - len(candidates) - len(unseen)) / max(len(others), 1)
        weight = np.concatenate([weight, np.ones(len(unseen)), np.full(len(others), rest)])
        can_match = np.concatenate([can_match, np.ones(len(unseen), dtype=bool), np.zeros(len(others), dtype=bool)])
    levels = comparison.levels(first, second)
    rarities = comparison.rarities(first, second, levels).astype(np.float64)
    shared = rarities[:, list(comparison.shared)].sum(axis=1)
    of_judged, same = judged.among(first * size + second, size)
    return Evidence(first, second, levels, rarities.sum(axis=1), shared, can_match, weight, of_judged, same)


def _random_pairs(records: Records, size: int) -> NDArray[np.int64]:
    """Return distinct random pairs, packed; the same ones for the same number of records."""
    size = min(size, _DRAWS * records.pairs)
    generator = np.random.default_rng(20_240_229)
    sides = [np.flatnonzero(records.sides == side) for side in (0, 1)] if records.has_sides else []
    if len(records) < 2 or any(not len(side) for side in sides):
        return np.zeros(0, dtype=np.int64)
    if records.has_sides:
        first, second = (side[generator.integers(0, len(side), size)] for side in sides)
    else:
        first, second = (generator.integers(0, len(records), size) for _ in range(2))
        first, second = np.minimum(first, second), np.maximum(first, second)
    return sorted_distinct((first * len(records) + second)[first != second])


def _expected(
    scoring: Scoring, evidence: Evidence, *, one_to_one: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probabilities of each pair that it matches, and that it is one of neighbours if it does not."""
    bits = evidence.rarity + scoring.prior
    for number, table in enumerate(scoring.tables):
        bits += table[evidence.levels[:, number]]
    neighbours = np.zeros(len(bits))
    if scoring.neighbour_tables:
        near = scoring.neighbourly(evidence.levels, evidence.shared_rarity)
        neighbours = probability(near)
        bits -= np.logaddexp2(0, near)
    bits = np.where(evidence.can_match, bits, -np.inf)
    if one_to_one:
        matches = competing(bits, evidence.first, evidence.second, len(scoring.comparison.records))
    else:
        matches = probability(bits)
    return np.where(evidence.can_match, matches, 0.0), neighbours


def _maximised(
    comparison: Comparison, evidence: Evidence, matches: NDArray[np.float64], neighbours: NDArray[np.float64]
) -> Model:
    """Return the model under which these matches and neighbours are most likely."""
    shares, near = {}, {}
    neighbours = neighbours * evidence.weight
    for number, feature in enumerate(comparison.features):
        builtin = builtin_shares(feature)

        def counted(
            weights: NDArray[np.float64], number: int = number, size: int = len(feature.levels)
        ) -> NDArray[np.float64]:
            return np.bincount(evidence.levels[:, number], weights=weights, minlength=size)[1:].astype(np.float64)

        matched = counted(matches)
        random: NDArray[np.float64] = counted(evidence.weight) - matched
        if number in comparison.shared:
            neighbourly = counted(neighbours)
            random -= neighbourly
        random_shares = _blended(np.maximum(random, 0), builtin.random, RANDOM_BELIEF, feature)
        believed = max(BELIEF, SHARE_OF_BELIEF * float(matched.sum()))
        shares[feature.name] = Shares(
            builtin.levels, _blended(matched, builtin.match, believed, feature), random_shares
        )
        if number in comparison.shared:
            believed = max(BELIEF, SHARE_OF_BELIEF * float(neighbourly.sum()))
            near[feature.name] = Shares(
                builtin.levels, _blended(neighbourly, builtin.match, believed, feature), random_shares
            )
    records = max(len(comparison.records), 1)
    twins, neighbourhood = 2 * float(matches.sum()) / records, 2 * float(neighbours.sum()) / records
    return Model(shares, max(twins, 1e-6), near, max(neighbourhood, 1e-6))


def with_neighbours(model: Model, comparison: Comparison) -> Model:
    """Return the model with the built-in guess at neighbours: as many as twins, and alike in the same way."""
    near = {
        comparison.features[number].name: model.shares[comparison.features[number].name] for number in comparison.shared
    }
    return replace(model, neighbours=near, neighbourhood=NEIGHBOURS)


def _blended(
    counts: NDArray[np.float64], builtin: tuple[float, ...], belief: float, feature: Feature
) -> tuple[float, ...]:
    """Return the shares of counted levels, the built-in ones counting as much as `belief` pairs in each context."""
    contexts = np.asarray([level.context for level in feature.levels[1:]])
    return tuple(normalised(counts + belief * np.asarray(builtin), contexts).tolist())


def _distance(before: Model, after: Model) -> float:
    return max(
        (
            abs(a - b)
            for name, shares in after.shares.items()
            for a, b in zip(before.shares[name].match, shares.match, strict=True)
        ),
        default=0.0,
    )
