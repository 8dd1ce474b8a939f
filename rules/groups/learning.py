"""What a rule can learn from its records and from what people said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LearntLevel:
    """A level of agreement of a column, in words, with its weights in bits: as learnt, and as the rule has it now.

    `match` and `random` are its shares among pairs of the same thing and among other pairs.
    """

    column: str
    words: str
    match: float
    random: float
    weight: float
    now: float


@dataclass(frozen=True)
class Expected:
    """What to expect of a threshold: so many pairs, of which so many are right, and so many of all right ones."""

    threshold: float
    pairs: int
    precision: float
    recall: float


@dataclass(frozen=True)
class Weights:
    """The learnt weights of a rule in bits, by column and level of agreement.

    `expected` is what was to be expected of thresholds when they were learnt.
    """

    threshold: float
    columns: Mapping[str, Mapping[str, float]]
    expected: Sequence[Expected]


@dataclass(frozen=True)
class Learnt:
    """A learnt model. `text` is its file, which the rule names as its `setting`; `now` is that of its present model, if
    it has one.

    `matches` is the expected number of pairs of the same thing among `records`. `judged` counts the judged pairs that
    are still in the data. `at` and `at_now` say what to expect of the learnt and the present weights. `doubt` is the
    reason why nobody should use the weights, if there is one.
    """

    setting: str
    text: str
    now: str | None
    records: int
    matches: float
    judged: int
    at: Expected
    at_now: Expected
    curve: Sequence[Expected]
    levels: Sequence[LearntLevel]
    doubt: str | None = None
