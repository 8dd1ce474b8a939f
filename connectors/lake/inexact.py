"""Columns whose values a library or DuckDB would change: they are refused, and the other columns are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from connectors.errors import ConnectorError
from connectors.lake.errors import TableRefused, TableUnreadable

Inexact = Mapping[str, str]
"""The reason, as a clause, for each column that is refused."""
_REMEDY = "leave it out, or read the table with a source of type `spark`"
_FINER = "it has times in nanoseconds, but Reconcile compares microseconds"
_NO_TEXT = "a value has no exact text, such as a map that has the same key twice"


class ColumnRefused(TableRefused):
    """A column that is not read exactly; nothing of the read is used."""

    def __init__(self, place: str, column: str, reason: str, remedy: str = _REMEDY) -> None:
        super().__init__(f"Column {column!r} of {place[:1].lower()}{place[1:]}", reason, remedy)


def contains(kind: pa.DataType, is_wanted: Callable[[pa.DataType], bool]) -> bool:
    """Return True if a type, or one inside it, is wanted."""
    return is_wanted(kind) or any(contains(part, is_wanted) for part in _parts(kind))


def _parts(kind: pa.DataType) -> Iterator[pa.DataType]:
    if pa.types.is_map(kind):
        yield from (kind.key_type, kind.item_type)
    else:
        yield from (kind.field(place).type for place in range(kind.num_fields))


def holds_structs(kind: pa.DataType, *containers: Callable[[pa.DataType], bool]) -> bool:
    """Return True if a type is or has a container, such as a list, with structs inside."""
    return contains(
        kind,
        lambda part: any(is_it(part) for is_it in containers) and contains(part, pa.types.is_struct),
    )


def is_list(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType)


def is_microseconds(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.TimestampType) and kind.unit == "us"


def is_nanoseconds(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.TimestampType) and kind.unit == "ns"


def refuse_finer_times(place: str, batch: pa.RecordBatch) -> None:
    """Raise ColumnRefused for a time with nanoseconds, which reading would cut."""
    for field, array in zip(batch.schema, batch.columns, strict=True):
        if is_nanoseconds(field.type):
            try:
                array.cast(pa.timestamp("us", field.type.tz))
            except pa.ArrowInvalid:
                raise ColumnRefused(place, field.name, _FINER, "leave it out, or store it as text") from None


def without_text(place: str, batch: pa.RecordBatch, convert: Callable[[pa.RecordBatch], Any]) -> ColumnRefused:
    """The error for a batch that DuckDB does not convert, with the first such column."""
    for name in batch.schema.names[:-1]:
        try:
            convert(batch.select([name]))
        except duckdb.Error:
            return ColumnRefused(place, name, _NO_TEXT)
    return ColumnRefused(place, batch.schema.names[-1], _NO_TEXT)


def naming_column(
    place: str, read: Callable[[Sequence[str]], Iterator[Any]], wanted: Sequence[str], every: Sequence[str]
) -> Iterator[Any]:
    """Read the wanted columns; name the column that the library cannot read, if it can read another one of `every`."""
    try:
        yield from read(wanted)
    except TableUnreadable as error:
        unreadable = next((name for name in wanted if _fails(read, name)), None)
        if unreadable is None or all(_fails(read, name) for name in every if name != unreadable):
            raise
        raise ColumnRefused(place, unreadable, error.reason) from None


def _fails(read: Callable[[Sequence[str]], Iterator[Any]], name: str) -> bool:
    try:
        for _ in read([name]):
            pass
    except ConnectorError:
        return True
    return False
