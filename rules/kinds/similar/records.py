"""The records that are compared, in an order that only their contents decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rules.kinds.similar import contents, texts
from rules.kinds.similar.encoded import Encoded, Places
from rules.kinds.similar.settings import Settings


@dataclass(frozen=True)
class Records:
    """Records of one table, or of two, by place.

    The places follow the contents, never the rows: `rows` gives the row of each place, those of the second table after
    those of the first. `raw` holds the compared columns as they were read, `columns` as they are compared.
    """

    rows: Places
    sides: NDArray[np.int8]
    raw: tuple[Any, ...]
    columns: tuple[Encoded, ...]
    has_sides: bool

    @classmethod
    def of(cls, tables: Sequence[pa.Table], settings: Settings, ids: Sequence[Any] = ()) -> Records:
        """Return the records of one table or two. `ids` (one array for each table) decide between equal contents."""
        raw = [
            pa.chunked_array(
                [chunk for side, table in enumerate(tables) for chunk in table[compared.column(side)].chunks]
                or [pa.array([], pa.string())]
            )
            for compared in settings.compare
        ]
        sides = np.repeat(np.arange(len(tables), dtype=np.int8), [table.num_rows for table in tables])
        cleaned = [
            texts.normalised(column, compared.type) for column, compared in zip(raw, settings.compare, strict=True)
        ]
        digests = contents.combined([contents.digests(texts.as_text(column)) for column in raw])
        digests = contents.combined([digests, sides.astype(np.uint64)])
        order = np.argsort(digests, kind="stable")
        if ids:
            names = pa.chunked_array([chunk for column in ids for chunk in _chunks(texts.as_text(column))], pa.string())
            order = np.lexsort((contents.digests(names), digests))
        places = pa.array(order)
        return cls(
            order.astype(np.int64),
            sides[order],
            tuple(column.take(places) for column in raw),
            tuple(Encoded.of(column.take(places)) for column in cleaned),
            len(tables) > 1,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def crowds(self, larger_than: int) -> list[Places]:
        """Return the places of equal records, of groups with more records than that."""
        if not len(self):
            return []
        keys = np.stack([self.sides.astype(np.int32), *(column.codes for column in self.columns)])
        starts = np.flatnonzero(np.concatenate([[True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)]))
        sizes = np.diff(np.append(starts, len(self)))
        large = sizes > larger_than
        return [np.arange(start, start + size) for start, size in zip(starts[large], sizes[large], strict=True)]

    @cached_property
    def pairs(self) -> int:
        """How many pairs of records there are to compare."""
        right = int(self.sides.sum())
        return right * (len(self) - right) if self.has_sides else len(self) * (len(self) - 1) // 2


def _chunks(column: Any) -> list[Any]:
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]
