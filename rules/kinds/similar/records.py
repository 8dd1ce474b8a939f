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
                [
                    chunk
                    for side, table in enumerate(tables)
                    for chunk in _aligned(tables, side, compared.column(side)).chunks
                ]
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
        if ids:
            identities = contents.digests(
                pa.chunked_array(
                    [
                        texts.as_text(pa.chunked_array([i])).combine_chunks()
                        if not isinstance(i, pa.ChunkedArray)
                        else texts.as_text(i).combine_chunks()
                        for i in ids
                    ]
                )
            )
            order = np.lexsort((identities, digests))
        else:
            order = np.argsort(digests, kind="stable")
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

    @cached_property
    def pairs(self) -> int:
        """How many pairs of records there are to compare."""
        right = int(self.sides.sum())
        return right * (len(self) - right) if self.has_sides else len(self) * (len(self) - 1) // 2


def _aligned(tables: Sequence[pa.Table], side: int, name: str) -> Any:
    """Return a column of a side, as text if the columns of the sides have different types."""
    column = tables[side][name]
    return column if len(tables) == 1 else column
