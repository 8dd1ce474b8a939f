"""Digests of what makes up each group, computed in columns: equal digests mean equal groups of an unchanged rule."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rules.engines.base import Positions
from rules.groups.recognised import DIGEST_BYTES

_AT_ONCE = 200_000
"""Values that are texts at the same time; all records of a key come together, so it may be more."""
_BYTES = pa.large_binary()


def digests(table: pa.Table, numbers: Positions, keys: Sequence[Any], salt: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number of each key, ascending, and the digest of its records: 16 bytes.

    `numbers` has the number of each record's key, or a negative one for a record that takes no part. A digest covers
    the values of all columns in all records of the key, in any order, their types, the key, and the salt.
    """
    types = [(field.name, str(field.type)) for field in table.schema]
    taking_part = np.flatnonzero(numbers >= 0)
    order = taking_part[np.argsort(numbers[taking_part], kind="stable")]
    ordered, begin, rows = numbers[order], 0, max(1, _AT_ONCE // max(1, table.num_columns))
    while begin < len(order):
        last = min(begin + rows, len(order)) - 1
        end = int(np.searchsorted(ordered, ordered[last], side="right"))
        texts = _texts(table.take(pa.array(order[begin:end])))
        yield from _of_part(ordered[begin:end], texts, keys, repr(types).encode() + salt)
        begin = end


def _of_part(numbers: Positions, texts: pa.Array, keys: Sequence[Any], start: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the digests of ascending numbers: of each, the texts of its records in their own order."""
    by_number = [("number", "ascending"), ("text", "ascending")]
    sorted_texts = pa.table({"number": numbers, "text": texts}).sort_by(by_number).column("text").combine_chunks()
    _, offsets, content = sorted_texts.buffers()
    places = np.frombuffer(offsets, np.int64)[sorted_texts.offset :].tolist()
    data = memoryview(content) if content else memoryview(b"")
    begins = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    for begin, end in zip(begins, [*begins[1:], len(numbers)], strict=True):
        number = int(numbers[begin])
        digest = hashlib.sha256(start + repr(keys[number]).encode())
        digest.update(data[places[begin] : places[end]])
        yield number, digest.digest()[:DIGEST_BYTES]


def _texts(table: pa.Table) -> pa.Array:
    """Return each row as a text that differs for every other row: values after their lengths, and a sign for null."""
    columns = [_with_length(_text(column)) for column in table.columns]
    separator, null = pa.scalar(b"", _BYTES), b"-"
    return pc.binary_join_element_wise(*columns, separator, null_handling="replace", null_replacement=null)


def _with_length(text: pa.ChunkedArray) -> pa.ChunkedArray:
    length = pc.binary_length(text).cast(pa.string()).cast(_BYTES)
    return pc.binary_join_element_wise(length, text, pa.scalar(b":", _BYTES))


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as texts, different for different values of one type."""
    type_ = column.type
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return column.cast(_BYTES)
    if pa.types.is_timestamp(type_):
        column = column.cast(pa.int64())
    elif pa.types.is_date(type_):
        column = column.cast(pa.date32()).cast(pa.int32())
    return column.cast(pa.string()).cast(_BYTES)
