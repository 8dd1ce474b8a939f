"""Filters by sketches: which pairs of unequal values may have another level than that of different ones.

Each of them must let every pair pass that the grade of its type in `values` calls something else than different.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Encoded
from rules.kinds.similar.features.graded import Filter
from rules.kinds.similar.sketches import Numbers
from rules.kinds.similar.types import SemanticType


def _name(encoded: Encoded, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
    pairs = encoded.sketches.pairs(left, right)
    edits = (pairs.shorter >= 3).astype(np.int8) + (pairs.shorter >= 8)
    may_be_edited: NDArray[np.bool_] = pairs.may_be_edits_apart(edits) & (edits > 0)
    may_begin: NDArray[np.bool_] = pairs.firsts >= np.minimum(pairs.shorter, 4)
    return may_be_edited | may_begin | pairs.may_be_alike(0.86)


def _city(encoded: Encoded, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
    pairs = encoded.sketches.pairs(left, right)
    edits = 1 + (pairs.shorter >= 8).astype(np.int8)
    return pairs.may_be_edits_apart(edits) | pairs.may_be_alike(0.88)


def _phone(encoded: Encoded, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
    pairs = encoded.sketches.pairs(left, right)
    may_end: NDArray[np.bool_] = pairs.lasts == 4
    return may_end | pairs.may_be_edits_apart(1)


def _postcode(encoded: Encoded, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
    pairs = encoded.sketches.pairs(left, right)
    may_begin: NDArray[np.bool_] = pairs.firsts >= 3
    return may_begin | pairs.may_be_edits_apart(1)


def _email(encoded: Encoded, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
    local = encoded.before_at
    before, after = local.codes[left], local.codes[right]
    is_same: NDArray[np.bool_] = before == after
    return (
        is_same
        | encoded.sketches.pairs(left, right).may_be_edits_apart(1)
        | local.sketches.pairs(before, after).may_be_alike(0.9)
    )


def _code(encoded: Encoded, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
    return encoded.sketches.pairs(left, right).may_be_edits_apart(1)


FILTERS: Mapping[SemanticType, Filter] = {
    SemanticType.GIVEN_NAME: _name,
    SemanticType.SURNAME: _name,
    SemanticType.CITY: _city,
    SemanticType.PHONE: _phone,
    SemanticType.POSTCODE: _postcode,
    SemanticType.EMAIL: _email,
    SemanticType.EXACT: _code,
    SemanticType.NUMBER: _code,
}
