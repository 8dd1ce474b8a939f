"""Learn the weights of a rule from its records, and say what to expect of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rules.groups.learning import Expected, Learnt, LearntLevel
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.model.curve import THRESHOLDS, Curve
from rules.kinds.similar.model.document import ModelDocument
from rules.kinds.similar.model.judged import Judged
from rules.kinds.similar.model.model import Model
from rules.kinds.similar.model.scoring import probability
from rules.kinds.similar.rule import SimilarRule

_HEADING = """\
Written by `reconcile learn {rule}` from {records:,} records and {judged} judged pairs.
match, random: how often pairs of the same thing and other pairs agree that far. The comment is the weight in bits.\
"""


def learn(rule: SimilarRule, matching: Matching, precision: float, judged: Judged) -> Learnt:
    """Return the model of these records. `matching` scores them with the model that the rule has now."""
    settings = replace(matching.settings, expected_precision=precision)
    estimate = replace(matching, settings=settings).estimate(judged)
    curve = [_expected(estimate.curve, threshold) for threshold in THRESHOLDS]
    document = estimate.model.document(rule.compare, curve)
    learnt = replace(matching, settings=replace(settings, threshold=None), model=Model.of(document))
    heading = _HEADING.format(rule=rule.name, records=len(matching.records), judged=len(judged))
    return Learnt(
        setting="model",
        text=document.text(heading),
        now=None if rule.model is None else rule.model.text(heading),
        records=len(matching.records),
        matches=estimate.model.learnt_from,
        judged=len(judged),
        at=_expected(estimate.curve, float(document.threshold)),
        at_now=_of_current(matching, learnt, estimate.curve.total),
        curve=curve,
        levels=list(_levels(document, learnt, matching)),
        thin=estimate.model.thin,
    )


def _expected(curve: Curve, threshold: float) -> Expected:
    return Expected(threshold, *curve.at(threshold))


def _of_current(matching: Matching, learnt: Matching, total: float) -> Expected:
    """Return what the learnt weights expect of the pairs that the rule takes now."""
    first, second, _ = matching.matches()
    probabilities: NDArray[np.float64] = probability(learnt.score(first, second).bits)
    right, pairs = float(probabilities.sum()), len(first)
    return Expected(
        matching.threshold, pairs, right / pairs if pairs else 1.0, min(right / total, 1.0) if total else 0.0
    )


def _levels(document: ModelDocument, learnt: Matching, matching: Matching) -> Iterator[LearntLevel]:
    features = matching.comparison.features
    for feature, weights, now in zip(features, learnt.scoring.tables, matching.scoring.tables, strict=True):
        for number, level in enumerate(feature.levels[1:], 1):
            shares = document.features[feature.name][level.name]
            yield LearntLevel(
                feature.name, level.words, shares.match, shares.random, float(weights[number]), float(now[number])
            )
