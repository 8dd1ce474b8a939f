"""Values that a table writes once per block: `fill` repeats them in the empty cells below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from connectors.errors import ColumnMissing


def confirm_columns(where: str, fill: Sequence[str], existing: Sequence[str]) -> None:
    """Raise ColumnMissing for a column to fill that is not there."""
    for name in fill:
        if name not in existing:
            raise ColumnMissing(where, name, existing)


def filled(batches: Iterator[pa.RecordBatch], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of one table with the last text above in the empty cells of these columns of text.

    A text of white space is empty. Cells above the first text stay as they are.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to load, and few datasets need it

    last: dict[str, Any] = {name: pa.scalar(None, pa.string()) for name in columns}
    for batch in batches:
        arrays = list(batch.columns)
        for place, name in enumerate(batch.schema.names):
            if name not in last or not batch.num_rows:
                continue
            texts = pa.concat_arrays([pa.array([last[name]], pa.string()), batch.column(place)])
            bare = pc.if_else(pc.equal(pc.utf8_trim_whitespace(texts), ""), pa.scalar(None, pa.string()), texts)
            arrays[place] = pc.fill_null_forward(bare).slice(1)
            last[name] = arrays[place][-1]
        yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
