"""Generations in names: John Smith Sr and John Smith Jr are two persons, and either of them can be John Smith."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rules.kinds.similar.encoded import Codes, Encoded
from rules.kinds.similar.features.base import MISSING_LEVEL, Level
from rules.kinds.similar.features.graded import UNLIKE
from rules.kinds.similar.features.values import ValueFeature
from rules.kinds.similar.settings import Settings
from rules.kinds.similar.types import PERSONAL, SemanticType
from rules.normalise.vocabulary import forms

_FEWEST_WORDS: Mapping[SemanticType, int] = {**dict.fromkeys(sorted(PERSONAL), 2), SemanticType.NAME: 3}
"""In names of fewer words, Junior is a name."""
_LEVELS = (
    MISSING_LEVEL,
    Level("different", 0.0005, 0.5, "is of another generation (Sr, Jr)"),
    Level("same", 0.9995, 0.5, "is of the same generation (Sr, Jr)"),
)


def of_names(columns: Sequence[Encoded], settings: Settings) -> ValueFeature | None:
    """Return the feature of the generations that names end in; None unless two different ones occur."""
    read = {
        number: _of_column(encoded, _FEWEST_WORDS[compared.type])
        for number, (compared, encoded) in enumerate(zip(settings.compare, columns, strict=True))
        if compared.type in _FEWEST_WORDS
    }
    ending = [number for number, generations in read.items() if (generations >= 0).any()]
    if not ending:
        return None
    generations = read[ending[0]]
    for number in ending[1:]:
        generations = np.where(generations < 0, read[number], generations)
    encoded = Encoded.of(pa.array(generations.astype(str), mask=generations < 0))
    name = f"{settings.compare[ending[0]].name} generation"
    return ValueFeature(name, ending[0], encoded, _LEVELS, UNLIKE) if len(encoded.values) > 1 else None


def without(encoded: Encoded) -> Encoded:
    """Return a column of single names without the generations that they end in."""
    values = encoded.values.cast(pa.string())
    if not pc.any(_may_end(values)).as_py():
        return encoded
    return encoded.mapped(Encoded.of(pc.replace_substring_regex(values, rf" (?:{_any()})$", "")))


def _of_column(encoded: Encoded, fewest_words: int) -> Codes:
    """Return the generation of each record's name, -1 for none."""
    values = encoded.values.cast(pa.string())
    generations = np.full(len(values) + 1, -1, dtype=np.int32)
    for position in np.flatnonzero(np.asarray(_may_end(values), dtype=bool)).tolist():
        generations[position] = _of_text(values[position].as_py(), fewest_words)
    return generations[encoded.codes]


def _of_text(text: str, fewest_words: int) -> int:
    """Return the generation at the end of a name, or of a part of it: `Smith Jr, John`; -1 for none."""
    parts = [part.replace(".", " ").split() for part in text.lower().split(",")]
    if sum(map(len, parts)) < fewest_words:
        return -1
    generations = forms("names", "generations")
    return next((int(generations[part[-1]]) for part in parts if part and part[-1] in generations), -1)


def _may_end(values: pa.Array) -> pa.Array:
    return pc.match_substring_regex(values, rf"(?i)\b(?:{_any()})(?:\b|$)")


def _any() -> str:
    return "|".join(sorted(forms("names", "generations")))
