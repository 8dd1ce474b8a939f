"""Sketches: what they exclude is never alike."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.kinds.similar.encoded import Encoded
from rules.kinds.similar.features.base import DIFFERENT
from rules.kinds.similar.features.cells import Cells
from rules.kinds.similar.features.values import value_feature
from rules.kinds.similar.sketches import Sketches
from rules.kinds.similar.types import SEVERAL_VALUED, SemanticType

COMPARED_WHOLE = [
    SemanticType.GIVEN_NAME,
    SemanticType.SURNAME,
    SemanticType.EMAIL,
    SemanticType.PHONE,
    SemanticType.POSTCODE,
    SemanticType.CITY,
    SemanticType.EXACT,
    SemanticType.NUMBER,
]
LETTERS = "abcdez019 @.-яжñ漢😀"
TEXTS = st.text(LETTERS, min_size=1, max_size=14)


@st.composite
def spellings(draw: st.DrawFn) -> list[str]:
    """Texts with others that are up to three edits away, forms of one name, lookalikes, and several in one cell."""
    texts = draw(st.lists(TEXTS, min_size=2, max_size=8))
    texts += draw(st.lists(st.sampled_from(("robert", "bob", "a0o11", "aoo1l"))))
    for _ in range(draw(st.integers(0, 12))):
        texts.append(edited(draw, draw(st.sampled_from(texts))))
    texts += ["; ".join(pair) for pair in list(pairwise(texts))[: draw(st.integers(0, 3))]]
    return [text for text in texts if text]


def edited(draw: st.DrawFn, text: str) -> str:
    place, letter = draw(st.integers(0, len(text))), draw(st.sampled_from(LETTERS))
    swapped = text[place : place + 2][::-1]
    return draw(
        st.sampled_from(
            [
                text[:place] + letter + text[place:],
                text[:place] + text[place + 1 :],
                text[:place] + letter + text[place + 1 :],
                text[:place] + swapped + text[place + 2 :],
            ]
        )
    )


@pytest.mark.parametrize("semantic_type", COMPARED_WHOLE)
@given(texts=spellings())
def test_no_pair_is_excluded_that_is_not_different(semantic_type: SemanticType, texts: list[str]):
    encoded = Encoded.of(pa.array(texts))
    cells = Cells.of(encoded.values) if semantic_type in SEVERAL_VALUED else None
    grading = value_feature("column", 0, encoded, semantic_type, cells).grading
    left, right = np.triu_indices(len(encoded.values), 1)

    levels = grading.grade(encoded, left, right)

    assert grading.may_differ_less(encoded, left, right)[levels != DIFFERENT].all()


def test_most_pairs_of_different_texts_are_excluded():
    generator = np.random.default_rng(5)
    texts = ["".join(generator.choice(list("bdfgklmnprstaeiou"), 9)) for _ in range(200)]
    encoded = Encoded.of(pa.array(texts))
    grading = value_feature("column", 0, encoded, SemanticType.SURNAME, None).grading

    assert grading.may_differ_less(encoded, *np.triu_indices(200, 1)).mean() < 0.05


@given(texts=st.lists(st.text(LETTERS, max_size=9), min_size=1))
def test_lengths_count_characters_and_ends_are_those_of_the_text(texts: list[str]):
    sketches = Sketches.of_texts(pa.array(texts))

    assert sketches.lengths.tolist() == [len(text) for text in texts]
    for place, text in enumerate(texts):
        beginning, end = (Sketches.of_texts(pa.array([part])) for part in (text[:4], text[-4:]))
        assert sketches.firsts[place] == beginning.firsts[0]
        assert sketches.lasts[place] == end.lasts[0]


def test_a_slice_of_a_column_has_its_own_sketches():
    column = pa.array(["anna", "bob", "zoë"])

    assert Sketches.of_texts(column.slice(1)).lengths.tolist() == [3, 3]
