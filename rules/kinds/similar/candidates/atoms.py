"""Atoms: what of a value two records can share although the values differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rules.kinds.similar import contents, texts
from rules.kinds.similar.contents import Digests
from rules.kinds.similar.encoded import Encoded
from rules.kinds.similar.features import dates
from rules.kinds.similar.types import PERSONAL, SemanticType

Keys = NDArray[np.int32]


def _of_no_name() -> Digests:
    return np.zeros(0, dtype=np.uint64)


@dataclass(frozen=True)
class Atoms:
    """Atoms of one kind, smaller than `bound`.

    If a record has at most one, `keys[i]` is that of record `i`, or -1, and `holders` is None; otherwise `keys[i]` is
    one of the record at `holders[i]`.
    """

    name: str
    column: int
    keys: Keys
    bound: int
    holders: NDArray[np.int32] | None = None
    digests: Callable[[], Digests] = field(default=_of_no_name, compare=False)
    """Return a digest of each atom by its number: equal for equal atoms in every run."""

    @property
    def is_single(self) -> bool:
        return self.holders is None

    def only(self, kept: NDArray[np.bool_]) -> Atoms:
        """Return the atoms of some of the records."""
        if self.holders is None:
            return replace(self, keys=np.where(kept, self.keys, np.int32(-1)))
        chosen = kept[self.holders]
        return replace(self, keys=self.keys[chosen], holders=self.holders[chosen])

    def common(self, more_than: int) -> Atoms:
        """Return only the atoms that more records than that have."""
        counts = np.bincount(self.keys[self.keys >= 0], minlength=self.bound)
        rare = np.append(counts <= more_than, np.True_)  # the last stands for no atom
        if self.holders is None:
            return replace(self, keys=np.where(rare[self.keys], np.int32(-1), self.keys))
        chosen = ~rare[self.keys]
        return replace(self, keys=self.keys[chosen], holders=self.holders[chosen])

    @property
    def is_empty(self) -> bool:
        return not bool((self.keys >= 0).any())


def of_values(name: str, column: int, encoded: Encoded, values: object | None = None) -> Atoms:
    """Return the values of a column as atoms, or other texts in place of its distinct values."""
    if values is None:
        return Atoms(name, column, encoded.codes, max(len(encoded.values), 1), digests=of_texts(encoded.values))
    mapped = Encoded.of(pc.if_else(pc.equal(values, ""), None, values))
    return _of_codes(name, column, encoded, mapped.codes, len(mapped.values), of_texts(mapped.values))


def of_texts(values: Any) -> Callable[[], Digests]:
    """Return the function that gives the digests of an Arrow array of texts."""
    return lambda: contents.digests(values)


def _of_codes(
    name: str, column: int, encoded: Encoded, mapped: NDArray[Any], bound: int, digests: Callable[[], Digests]
) -> Atoms:
    keys = np.append(mapped, -1).astype(np.int32)[encoded.codes]
    return Atoms(name, column, keys, max(bound, 1), digests=digests)


def of_numbers(name: str, column: int, numbers: NDArray[np.int64], valid: NDArray[np.bool_]) -> Atoms:
    """Return numbers, one for each record, as atoms."""
    keys = np.full(len(numbers), -1, dtype=np.int32)
    distinct, keys[valid] = np.unique(numbers[valid], return_inverse=True)
    return Atoms(name, column, keys, max(len(distinct), 1), digests=lambda: distinct.astype(np.uint64))


def of_column(
    name: str, column: int, encoded: Encoded, semantic_type: SemanticType, amounts: NDArray[np.float64] | None
) -> Iterator[Atoms]:
    """Yield the atoms of a column that has one value in a record."""
    yield of_values(name, column, encoded)
    text = encoded.values.cast(pa.string())
    if semantic_type in PERSONAL:
        yield of_values(f"sound of {name}", column, encoded, texts.skeleton(text))
    elif semantic_type is SemanticType.POSTCODE:
        yield of_values(f"beginning of {name}", column, encoded, pc.utf8_slice_codeunits(text, 0, 3))
    elif semantic_type is SemanticType.EMAIL:
        before = encoded.before_at
        digests = of_texts(before.values)
        yield _of_codes(f"{name} before the @", column, encoded, before.codes, len(before.values), digests)
    elif semantic_type is SemanticType.PHONE:
        yield of_values(f"end of {name}", column, encoded, pc.utf8_slice_codeunits(text, -4, None))
    elif semantic_type is SemanticType.DATE:
        yield from _of_dates(name, column, encoded)
    elif semantic_type is SemanticType.AMOUNT and amounts is not None:
        yield from _of_amounts(name, column, amounts)


def _of_dates(name: str, column: int, encoded: Encoded) -> Iterator[Atoms]:
    years, months, days, numbers = (part.astype(np.int64) for part in dates.parts(encoded.values))
    width = 20_000
    for label, mapped in (
        (f"year and month of {name}", years * 100 + months),
        (f"month and day of {name}", np.where(years > 0, months * 100 + days, 0)),
        (f"year and day of {name}", years * 100 + days),
        (f"week of {name}", np.where(numbers > -1_000_000, (numbers + width * 8) // 8, 0)),
        (f"shifted week of {name}", np.where(numbers > -1_000_000, (numbers + 4 + width * 8) // 8, 0)),
    ):
        bound = int(mapped.max(initial=0)) + 1
        yield _of_codes(label, column, encoded, np.where(mapped > 0, mapped, -1), bound, _of_range(bound))


def _of_range(bound: int) -> Callable[[], Digests]:
    """Return the function that gives the digests of atoms that are numbers themselves."""
    return lambda: np.arange(bound, dtype=np.uint64)


def _of_amounts(name: str, column: int, amounts: NDArray[np.float64]) -> Iterator[Atoms]:
    valid = ~np.isnan(amounts) & (amounts != 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(valid, np.log(np.abs(amounts)), 0.0)
    for label, width, shift in (
        (f"size of {name}", 0.08, 0.0),
        (f"shifted size of {name}", 0.08, 0.5),
    ):
        yield of_numbers(label, column, np.floor(size / width + shift).astype(np.int64), valid)
