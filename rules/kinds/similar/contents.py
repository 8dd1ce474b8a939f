"""Digests of the contents of a column, computed on whole columns: equal for equal values on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Digests = NDArray[np.uint64]

_PRIME = 0x100000001B3
NULL = np.uint64(0x9E3779B97F4A7C15)
"""The digest of a null."""


def digests(values: Any) -> Digests:
    """Return a number of 64 bits for each text of an Arrow array, equal for equal texts; nulls have their own."""
    column = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    column = column.cast(pa.large_string())
    if column.offset:
        column = pa.concat_arrays([column])
    _, offset_buffer, data = column.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int64)[: len(column) + 1] if len(column) else np.zeros(1, np.int64)
    text = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, np.uint8)
    result = np.zeros(len(column), dtype=np.uint64)
    for begin in range(0, len(column), _CHUNK):
        end = min(begin + _CHUNK, len(column))
        result[begin:end] = _chunk(text, offsets[begin : end + 1])
    nulls = np.asarray(column.is_null())
    return np.where(nulls, NULL, result)


_CHUNK = 100_000


def _chunk(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Digests:
    """Return the polynomial of each text's bytes, mixed with its length."""
    begin, end = int(offsets[0]), int(offsets[-1])
    lengths = np.diff(offsets)
    longest = int(lengths.max(initial=0))
    powers = np.cumprod(np.full(max(longest, 1), _PRIME, dtype=np.uint64))
    places = np.arange(begin, end) - np.repeat(offsets[:-1], lengths)
    terms = (text[begin:end].astype(np.uint64) + np.uint64(1)) * powers[places]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
    polynomials = sums[offsets[1:] - begin] - sums[offsets[:-1] - begin]
    return mixed(polynomials + lengths.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F))


def mixed(numbers: Digests) -> Digests:
    """Return the numbers with their bits mixed, one to one."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def combined(columns: list[Digests]) -> Digests:
    """Return one digest for each row of several columns."""
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        total = mixed(total * np.uint64(_PRIME) + column)
    return total
