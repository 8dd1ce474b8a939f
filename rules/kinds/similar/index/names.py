"""The ids of records in columns: whole numbers and texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Places
from rules.kinds.similar.index.document import Array
from rules.values import RecordId


def columns(table: pa.Table, names: Sequence[str]) -> pa.Table | None:
    """Return the id columns of a table as whole numbers and texts; None if one has another type, or an empty value."""
    read = {}
    for name in names:
        column = table[name]
        if pa.types.is_integer(column.type):
            read[name] = column.cast(pa.int64())
        elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            read[name] = column.cast(pa.large_string())
        else:
            return None
        if column.null_count:
            return None
    return pa.table(read)


def positions(records: pa.Table, ids: pa.Table) -> Places:
    """Return where each of the records has its id among `ids`, -1 for none."""
    matches = pc.index_in(_joined(records), value_set=_joined(ids))
    return np.asarray(pc.fill_null(matches, -1), dtype=np.int64)


def are_distinct(ids: pa.Table) -> bool:
    return len(pc.unique(_joined(ids))) == len(ids)


def first_of_each(ids: pa.Table) -> NDArray[np.int64]:
    """Return the rows that are the first with their id."""
    encoded = _joined(ids).dictionary_encode().indices
    _, rows = np.unique(np.asarray(encoded), return_index=True)
    return np.sort(rows).astype(np.int64)


def tuples(ids: pa.Table) -> list[RecordId]:
    """Return the ids as values."""
    return list(zip(*(column.to_pylist() for column in ids.columns), strict=True))


def of_tuples(ids: Iterable[RecordId], like: pa.Table) -> pa.Table:
    """Return those of the ids that have the types of another table."""
    types = [int if pa.types.is_integer(field.type) else str for field in like.schema]
    fitting = [record for record in ids if len(record) == len(types) and all(map(_is_of, record, types))]
    values = zip(*fitting, strict=True) if fitting else [[] for _ in types]
    return pa.table(
        {field.name: pa.array(list(column), field.type) for field, column in zip(like.schema, values, strict=True)}
    )


def _is_of(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not (isinstance(value, int) and not -(2**63) <= value < 2**63)


def arrays(ids: pa.Table) -> dict[str, Array]:
    """Return the ids as arrays by name, to store them."""
    stored: dict[str, Array] = {}
    for number, column in enumerate(ids.columns):
        chunk = column.combine_chunks()
        if pa.types.is_integer(chunk.type):
            stored[f"id {number}"] = np.asarray(chunk, dtype=np.int64)
        else:
            stored[f"id {number} lengths"] = np.asarray(pc.binary_length(chunk), dtype=np.int32)
            text = "".join(chunk.to_pylist()).encode()
            stored[f"id {number} text"] = np.frombuffer(text, dtype=np.uint8)
    return stored


def read(stored: Mapping[str, Array], names: Sequence[str]) -> pa.Table:
    """Return the ids of stored arrays."""
    return pa.table({name: _column(stored, number) for number, name in enumerate(names)})


def _column(stored: Mapping[str, Array], number: int) -> Any:
    plain = stored.get(f"id {number}")
    if plain is not None:
        return pa.array(plain)
    offsets = np.concatenate([[0], np.cumsum(stored[f"id {number} lengths"], dtype=np.int64)])
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(stored[f"id {number} text"].tobytes())]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)


def _joined(ids: pa.Table) -> Any:
    """Return one value for each id."""
    if len(ids.columns) == 1:
        return ids.column(0).combine_chunks()
    texts = [column.cast(pa.large_string()).combine_chunks() for column in ids.columns]
    return pc.binary_join_element_wise(*texts, pa.scalar("\x1f", pa.large_string()))
