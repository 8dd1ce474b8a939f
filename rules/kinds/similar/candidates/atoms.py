"""Atoms: what of a value two records can share although the values differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rules.kinds.similar import texts
from rules.kinds.similar.encoded import Encoded, Places
from rules.kinds.similar.features import dates
from rules.kinds.similar.types import PERSONAL, SemanticType


@dataclass(frozen=True)
class Atoms:
    """Atoms of one kind: `keys[i]` is one of the record at `places[i]`. Keys are smaller than `bound`."""

    name: str
    column: int
    places: Places
    keys: NDArray[np.int64]
    bound: int
    is_single: bool
    """True if no record has two."""

    def only(self, kept: NDArray[np.bool_]) -> Atoms:
        """Return the atoms of some of the records."""
        chosen = kept[self.places]
        return replace(self, places=self.places[chosen], keys=self.keys[chosen])


def of_values(name: str, column: int, encoded: Encoded, values: object | None = None) -> Atoms:
    """Return the values of a column as atoms, or other texts in place of its distinct values."""
    if values is None:
        mapped = np.arange(len(encoded.values), dtype=np.int64)
        bound = len(encoded.values)
    else:
        codes = Encoded.of(pc.if_else(pc.equal(values, ""), None, values))
        mapped, bound = codes.codes.astype(np.int64), len(codes.values)
    return _of_codes(name, column, encoded, mapped, bound)


def _of_codes(name: str, column: int, encoded: Encoded, mapped: NDArray[np.int64], bound: int) -> Atoms:
    keys = np.where(encoded.codes >= 0, np.append(mapped, -1)[encoded.codes], -1)
    places = np.flatnonzero(keys >= 0)
    return Atoms(name, column, places, keys[places], max(bound, 1), is_single=True)


def of_numbers(name: str, column: int, numbers: NDArray[np.int64], valid: NDArray[np.bool_]) -> Atoms:
    """Return numbers, one for each record, as atoms."""
    places = np.flatnonzero(valid)
    distinct, keys = np.unique(numbers[places], return_inverse=True)
    return Atoms(name, column, places, keys.astype(np.int64), max(len(distinct), 1), is_single=True)


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
        yield of_values(f"{name} before the @", column, encoded, pc.replace_substring_regex(text, "@.*$", ""))
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
        yield _of_codes(label, column, encoded, np.where(mapped > 0, mapped, -1), int(mapped.max(initial=0)) + 1)


def _of_amounts(name: str, column: int, amounts: NDArray[np.float64]) -> Iterator[Atoms]:
    valid = ~np.isnan(amounts) & (amounts != 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(valid, np.log(np.abs(amounts)), 0.0)
    for label, width, shift in (
        (f"size of {name}", 0.08, 0.0),
        (f"shifted size of {name}", 0.08, 0.5),
    ):
        yield of_numbers(label, column, np.floor(size / width + shift).astype(np.int64), valid)
