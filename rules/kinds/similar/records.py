"""The records that are compared, in an order that only their contents decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rules.kinds.similar import contents, parallel, texts, umlauts, words
from rules.kinds.similar.contents import Digests
from rules.kinds.similar.encoded import Encoded, Places
from rules.kinds.similar.settings import Compared, Settings
from rules.kinds.similar.types import WORDLESS, SemanticType


@dataclass(frozen=True)
class Records:
    """Records of one table, or of two, by place.

    The places follow the contents, never the rows, those of the first table before those of the second: `rows` gives
    the row of each place, those of the second table after those of the first. `columns` holds the compared columns as
    they are compared, and `amounts` those of amounts, by position, as numbers.
    """

    rows: Places
    sides: NDArray[np.int8]
    columns: tuple[Encoded, ...]
    amounts: Mapping[int, NDArray[np.float64]]
    spellings: Mapping[str, str]
    """Words as they are without umlauts, such as `mueller`, with their form among those that are compared."""
    has_sides: bool

    @classmethod
    def of(cls, tables: Sequence[pa.Table], settings: Settings, ids: Sequence[Any] = ()) -> Records:
        """Return the records of one table or two. `ids` (one array for each table) decide between equal contents."""
        sides = np.repeat(np.arange(len(tables), dtype=np.int8), [table.num_rows for table in tables])
        read = list(parallel.in_order(lambda compared: _Column.of(tables, compared), settings.compare))
        digests = contents.combined([column.digests for column in read])
        keys: list[NDArray[Any]] = [contents.combined([digests, sides.astype(np.uint64)]), sides]
        if ids:
            names = pa.chunked_array([chunk for column in ids for chunk in _chunks(texts.as_text(column))], pa.string())
            keys.insert(0, contents.digests(names))
        rows = np.lexsort(keys).astype(np.int64)
        return cls(
            rows,
            sides[rows],
            tuple(parallel.in_order(lambda column: column.compared.by_place(rows), read)),
            {number: column.amounts[rows] for number, column in enumerate(read) if column.amounts is not None},
            {word: form for column in read for word, form in column.spellings},
            len(tables) > 1,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def crowds(self, larger_than: int) -> list[Places]:
        """Return the places of equal records, of groups with more records than that."""
        if not len(self):
            return []
        is_first = np.ones(len(self), dtype=bool)
        is_first[1:] = self.sides[1:] != self.sides[:-1]
        for column in self.columns:
            is_first[1:] |= column.codes[1:] != column.codes[:-1]
        starts = np.flatnonzero(is_first)
        sizes = np.diff(np.append(starts, len(self)))
        large = sizes > larger_than
        return [np.arange(start, start + size) for start, size in zip(starts[large], sizes[large], strict=True)]

    @cached_property
    def left(self) -> int:
        """How many records the first table has: their places come first."""
        return len(self) - int(self.sides.sum())

    @cached_property
    def pairs(self) -> int:
        """How many pairs of records there are to compare."""
        return self.left * (len(self) - self.left) if self.has_sides else len(self) * (len(self) - 1) // 2


@dataclass(frozen=True)
class _Column:
    """A column by row: digests of what was read, the values as they are compared, and amounts as numbers.

    `spellings` are its words without umlauts, as `Records` has them.
    """

    digests: Digests
    compared: Encoded
    amounts: NDArray[np.float64] | None
    spellings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, tables: Sequence[pa.Table], compared: Compared) -> _Column:
        """Read a column. Each distinct value is cleaned once."""
        chunks = [chunk for side, table in enumerate(tables) for chunk in table[compared.column(side)].chunks]
        column = pa.chunked_array(chunks or [pa.array([], pa.string())])
        if pa.types.is_null(column.type) or (compared.type is not SemanticType.AMOUNT and not _repeats(column)):
            cleaned = Encoded.of(texts.normalised(column, compared.type))
            text = texts.as_text(column)
            return cls(contents.digests(text), cleaned, None, _spellings(text, compared))
        read = Encoded.of(column)
        rows = read.codes
        text = texts.as_text(read.values)
        digests = np.append(contents.digests(text), contents.NULL)[rows]
        cleaned = read.mapped(Encoded.of(texts.normalised(read.values, compared.type)))
        amounts = None
        if compared.type is SemanticType.AMOUNT:
            numbers = texts.numbers(read.values)
            amounts = np.append(numbers, np.nan)[rows]
            # 12.5 and 12.50 are one amount, and sources write amounts in different ways.
            digests = np.append(contents.digests(pa.array(numbers).cast(pa.string())), contents.NULL)[rows]
        return cls(digests, cleaned, amounts, _spellings(text, compared))


def _spellings(text: Any, compared: Compared) -> tuple[tuple[str, str], ...]:
    if compared.type in WORDLESS:
        return ()
    return tuple(umlauts.spelled_out(text, words.reader(compared.type)))


_SAMPLE = 10_000


def _repeats(column: pa.ChunkedArray) -> bool:
    """Return True if values of a column probably repeat so often that it is faster to look at each distinct one."""
    sample = column.slice(0, _SAMPLE)
    return len(sample.unique()) < len(sample) / 2


def _chunks(column: Any) -> list[Any]:
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]
