"""Learn the weights of a rule from its records, and say what to expect of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rules.groups.learning import Expected, Learnt, LearntLevel
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.model.curve import THRESHOLDS, Curve
from rules.kinds.similar.model.document import ModelDocument
from rules.kinds.similar.model.estimation import Estimate
from rules.kinds.similar.model.judged import Judged
from rules.kinds.similar.model.model import Model
from rules.kinds.similar.model.scoring import probability
from rules.kinds.similar.rule import SimilarRule

_CLOSE = 0.02
"""A precision that is missed by less is reached."""
_MOST_TIMES, _FEW = 2, 20
"""Weights that take more than so many times the pairs, and a few more, are not plausible."""
_HEADING = """\
Written by `reconcile learn {rule}` from {records:,} records and {judged} judged pairs.
match, random: how often pairs of the same thing and other pairs agree that far. The comment is the weight in bits.\
"""
_CHANGED = "The rule's `weights` multiply these weights, and levels that its `levels` leave out count as different."
"""Closes the heading of a rule with such settings. The expected shares and the threshold respect them."""


def learn(rule: SimilarRule, matching: Matching, precision: float, judged: Judged) -> Learnt:
    """Return the model of these records. `matching` scores them with the model that the rule has now."""
    settings = replace(matching.settings, expected_precision=precision)
    estimate = replace(matching, settings=settings).estimate(judged)
    curve = [_expected(estimate.curve, threshold) for threshold in THRESHOLDS]
    document = estimate.model.document(rule.compare, curve)
    learnt = replace(matching, settings=replace(settings, threshold=None), model=Model.of(document))
    heading = _HEADING.format(rule=rule.name, records=len(matching.records), judged=len(judged))
    if rule.weights or rule.levels:
        heading = f"{heading}\n{_CHANGED}"
    at = _expected(estimate.curve, float(document.threshold))
    at_now = _of_present(matching, learnt, estimate, judged)
    return Learnt(
        setting="model",
        text=document.text(heading),
        now=None if rule.model is None else rule.model.text(heading),
        records=len(matching.records),
        matches=estimate.model.learnt_from,
        judged=len(judged),
        at=at,
        at_now=at_now,
        curve=curve,
        levels=list(_levels(document, learnt, matching)),
        doubt=estimate.model.thin or next(_doubts(at, at_now, precision, matching, learnt, judged), None),
    )


def _doubts(
    at: Expected, at_now: Expected, precision: float, matching: Matching, learnt: Matching, judged: Judged
) -> Iterator[str]:
    """Yield reasons why the weights are not plausible.

    Without labels, records that only share a place can be taken for the same thing.
    """
    if at.precision < precision - _CLOSE:
        yield (
            f"no threshold makes {precision:.0%} of the pairs right; at best {at.precision:.0%} would be. Judge more "
            "pairs, or compare another column"
        )
    if at.pairs > _MOST_TIMES * at_now.pairs + _FEW:
        yield (
            f"the weights would take {at.pairs:,} pairs, and the rule takes {at_now.pairs:,} now. Records that only "
            "have a place in common were probably taken for the same. Judge more pairs, or leave out columns that "
            "follow from each other, such as city and postcode"
        )
    ours, present = (_agreeing(each, judged) for each in (learnt, matching))
    if ours < present:
        yield (
            f"the weights agree with {ours:,} of {len(judged):,} judged pairs, those of the rule with {present:,}. "
            "Judge more pairs, or compare another column"
        )


def _agreeing(matching: Matching, judged: Judged) -> int:
    """Return how many judged pairs are taken as people said."""
    taken = matching.score(judged.first, judged.second).bits >= matching.minimum
    return int((taken == judged.same).sum())


def _expected(curve: Curve, threshold: float) -> Expected:
    return Expected(threshold, *curve.at(threshold))


def _of_present(matching: Matching, learnt: Matching, estimate: Estimate, judged: Judged) -> Expected:
    """Return what the learnt weights and people expect of the pairs that the rule takes now."""
    first, second, _ = matching.matches()
    size, total = len(matching.records), estimate.curve.total
    order = np.argsort(first * size + second)
    packed = (first * size + second)[order]
    right = estimate.calibration.calibrated(probability(learnt.score(first, second).bits))[order]
    places = np.searchsorted(packed, judged.packed(size))
    is_taken = np.append(packed, -1)[places] == judged.packed(size)
    right[places[is_taken]] = judged.same[is_taken]
    share = float(right.sum()) / len(first) if len(first) else 1.0
    recall = min(float(right.sum()) / total, 1.0) if total else 0.0
    return Expected(matching.threshold, len(first), share, recall)


def _levels(document: ModelDocument, learnt: Matching, matching: Matching) -> Iterator[LearntLevel]:
    features = matching.comparison.features
    for feature, weights, now in zip(features, learnt.scoring.tables, matching.scoring.tables, strict=True):
        for number, level in enumerate(feature.levels[1:], 1):
            shares = document.features[feature.name][level.name]
            _, _, case = level.name.partition(", ")
            words = f"{level.words} ({case})" if case else level.words
            yield LearntLevel(
                feature.name, words, shares.match, shares.random, float(weights[number]), float(now[number])
            )
