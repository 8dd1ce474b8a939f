"""Arrow batches of a size that suits the engine, whatever size a library returns."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

BATCH = 16_000_000
"""Bytes of a batch, unless a single batch of the library has more."""


def sliced(vectors: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Batches of at most so many rows, and of fewer rows if they would exceed BATCH bytes by far."""
    for vector in vectors:
        most = max(1, min(rows, BATCH * vector.num_rows // max(vector.nbytes, 1)))
        yield from (vector.slice(start, most) for start in range(0, vector.num_rows, most))


def gathered(vectors: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Batches of so many rows, or of fewer rows if they exceed BATCH bytes, from smaller ones."""
    waiting, count, size = list[pa.RecordBatch](), 0, 0
    for vector in vectors:
        if count + vector.num_rows > rows or size + vector.nbytes > BATCH:
            yield from _merged(waiting)
            count = size = 0
        waiting.append(vector)
        count, size = count + vector.num_rows, size + vector.nbytes
    yield from _merged(waiting)


def _merged(waiting: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge the waiting batches into one and release them before it is used."""
    if waiting:
        batch = waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting)
        waiting.clear()
        yield batch
