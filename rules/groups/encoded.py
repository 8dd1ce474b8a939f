"""Rows of a table that differ, found in columns: what is computed of equal rows is computed once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from rules.engines.base import Positions

FEW = 5_000
"""Rows; for fewer, loading the functions of pyarrow takes longer than computing for every row."""


def different(table: pa.Table, few: int = FEW) -> tuple[pa.Table, Positions]:
    """Return the different rows of a table without chunks, and for each of its rows the place among them.

    Equal values may count as different, as zeros with another sign, but never the other way round.
    """
    if len(table) <= few or not table.num_columns:
        return table, np.arange(len(table))
    places = np.zeros(len(table), np.int64)
    for column in table.columns:
        values = column.combine_chunks().dictionary_encode(null_encoding="encode")
        places = places * len(values.dictionary) + values.indices.to_numpy(zero_copy_only=False)
        _, first, places = np.unique(places, return_index=True, return_inverse=True)
    return table.take(pa.array(first)), places
