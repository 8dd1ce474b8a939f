"""The common part of sources of type `delta` and `iceberg`: each run reads one version of a table.

A table is opened once and stays at that version until `renew`, so all reads of a run see the same records while other
programs write. Values are those of a Parquet file with the same records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import duckdb
import pyarrow as pa
from pydantic import SecretStr

from connectors.base import ColumnComparison, DatasetSettings, Scan, UnreadableCells
from connectors.batches import gathered, sliced
from connectors.coerce import Coercion
from connectors.declared import Declared, Notation, declared
from connectors.errors import ColumnMissing, ConnectorError, DatasetMissing
from connectors.headers import confusable, repeated, stable_names
from connectors.lake.errors import LakePlace, TableRefused, translated
from connectors.lake.inexact import (
    ColumnRefused,
    Inexact,
    naming_column,
    refuse_finer_times,
    without_text,
)
from connectors.lake.values import PlainValues

ROWS = 65_536


class LakeDataset(DatasetSettings):
    """A table; the connector adds the setting that names it."""

    @property
    def place(self) -> str:
        """The table, for people."""
        raise NotImplementedError


class PinnedTable(Protocol):
    """One version of a table: the same records whatever writers do."""

    version: str
    """For people, like `version 12`."""
    content: str
    """Equal for two tables only if they hold the same records under the same names."""
    schema: pa.Schema
    inexact: Inexact
    """Columns that the library would change."""

    def select(self, comparisons: Sequence[ColumnComparison]) -> TablePart:
        """Choose the files to read by comparisons of columns of the schema. Raises a ConnectorError."""


@dataclass(frozen=True)
class TablePart:
    """The files of a table that are read, and the number of records in the others.

    `batches` returns the columns, in this order, in the library's types. It raises a ConnectorError, also in the
    middle.
    """

    batches: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    left_out: int = 0


class LakeSource(ABC):
    """Tables of one lake. Creating it reads nothing; reading changes nothing."""

    def __init__(self, name: str, where: str, library: str, options: Mapping[str, SecretStr]) -> None:
        """`where` is the lake's address, for people, and `options` are the library's own."""
        self.name = name
        self._options = {key: value.get_secret_value() for key, value in options.items()}
        self._place = LakePlace(name, where, library, tuple(filter(None, self._options.values())))
        self._tables: dict[str, PinnedTable] = {}

    @abstractmethod
    def datasets(self) -> Sequence[str]:
        """The names of its tables, as far as they can be listed."""

    @abstractmethod
    def _open(self, dataset: Any) -> PinnedTable:
        """Open the newest version of a table. Raises a ConnectorError."""

    @abstractmethod
    def _own_error(self, dataset: str, error: Exception, text: str) -> ConnectorError | None:
        """The connector's own error for one of the library about that dataset; None for any other."""

    def _translated(self, dataset: str, version: str | None) -> AbstractContextManager[None]:
        return translated(self._place, dataset, version, partial(self._own_error, dataset))

    def describe(self, dataset: LakeDataset) -> pa.Schema:
        reading = self._reading(dataset)
        with reading.values:
            schema = reading.coercion().schema
        reasons = [reading.table.inexact.get(name) for name in reading.stored.names]
        return pa.schema(
            field.with_metadata({"refused": reason}) if reason else field
            for field, reason in zip(schema, reasons, strict=True)
        )

    def scan(self, dataset: LakeDataset, columns: Sequence[str]) -> Scan:
        return self.select(dataset, columns, ())

    def select(self, dataset: LakeDataset, columns: Sequence[str], comparisons: Sequence[ColumnComparison]) -> Scan:
        """See connectors.base.Selective."""
        reading = self._reading(dataset, columns)
        reading.refuse_inexact()
        part = reading.table.select(_as_stored(dataset, reading.table.schema, comparisons))
        coercion = reading.coercion()
        reader = pa.RecordBatchReader.from_batches(coercion.schema, _batches(reading, part, coercion))

        def release() -> None:
            reading.values.close()
            coercion.close()

        return Scan(reader, coercion.problems, release, part.left_out)

    def warnings(self, dataset: LakeDataset, columns: Sequence[str] | None) -> tuple[UnreadableCells, ...]:
        table = self._pinned(dataset)
        header = table.schema.names
        warning = confusable(repeated(header, stable_names(header)), columns)
        reasons = [f"{warning}; rename them in the table"] if warning else []
        if columns is None:
            reasons += [f"column {name!r} cannot be read: {reason}" for name, reason in table.inexact.items()]
        return tuple(UnreadableCells("*", reason, 0, dataset.place) for reason in reasons)

    def version(self, dataset: LakeDataset) -> str:
        """See connectors.base.Versioned."""
        return self._pinned(dataset).version

    def renew(self) -> None:
        """See connectors.base.Versioned."""
        self._tables.clear()

    def content(self, dataset: LakeDataset, progress: Callable[[int], None]) -> str:  # noqa: ARG002 - no file is read
        """See connectors.base.ContentHashed."""
        return self._pinned(dataset).content

    def state(self, dataset: LakeDataset) -> str | None:
        """See connectors.base.Watchable: the newest version, whichever one runs read."""
        try:
            return self._open(dataset).content
        except DatasetMissing:
            return None

    def close(self) -> None:
        """Forget the open tables."""
        self._tables.clear()

    def _pinned(self, dataset: LakeDataset) -> PinnedTable:
        if dataset.place not in self._tables:
            self._tables[dataset.place] = self._open(dataset)
        return self._tables[dataset.place]

    def _reading(self, dataset: LakeDataset, columns: Sequence[str] | None = None) -> _Reading:
        table = self._pinned(dataset)
        place = f"{dataset.place} of source {self.name!r}"
        names = dict(zip(stable_names(table.schema.names), table.schema, strict=True))
        for column in (*dataset.columns, *(columns or ())):
            if column not in names:
                raise ColumnMissing(place, column, list(names))
        selected = {name: names[name] for name in (names if columns is None else columns)}
        stored = pa.schema([pa.field(field.name, field.type) for field in selected.values()])
        return _Reading(
            dataset,
            self._place.table(dataset.place),
            table,
            tuple(selected),
            stored,
            PlainValues(pa.schema(selected.values())),
        )


@dataclass(frozen=True)
class _Reading:
    """A read of some columns of a table: `stored` as the library describes them, `names` as rules call them."""

    dataset: LakeDataset
    place: str
    table: PinnedTable
    names: tuple[str, ...]
    stored: pa.Schema
    values: PlainValues

    def coercion(self) -> Coercion:
        dataset, plain = self.dataset, self.values.schema
        raw = pa.schema([field.with_name(name) for name, field in zip(self.names, plain, strict=True)])
        local = {self.names[place]: Declared("instant") for place in self.values.naive}
        kinds = {name: declared(name, word) for name, word in dataset.columns.items() if name in self.names}
        notation = Notation(dataset.decimal, dataset.null_values, dataset.timezone)
        return Coercion(raw, {**local, **kinds}, notation)

    def refuse_inexact(self) -> None:
        """Raise ColumnRefused for a column that the library would change."""
        for name in self.stored.names:
            if name in self.table.inexact:
                self.values.close()
                raise ColumnRefused(self.place, name, self.table.inexact[name])

    def vectors(self, part: TablePart) -> Iterator[pa.RecordBatch]:
        """The records in the types of the library. Raises a ConnectorError."""
        batches = naming_column(self.place, part.batches, self.stored.names, self.table.schema.names)
        # A library returns the same column in different types, such as large texts from some files.
        return (_in_types(self, vector) for vector in sliced(batches, ROWS))

    def plain(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch as DuckDB reads it from Parquet. Raises ColumnRefused."""
        refuse_finer_times(self.place, batch)
        try:
            return self.values.batch(batch)
        except duckdb.Error:
            raise without_text(self.place, batch, _plain_alone) from None


def _plain_alone(batch: pa.RecordBatch) -> pa.RecordBatch:
    with PlainValues(batch.schema) as values:
        return values.batch(batch)


def _as_stored(
    dataset: LakeDataset, schema: pa.Schema, comparisons: Sequence[ColumnComparison]
) -> list[ColumnComparison]:
    """The comparisons by the table's names, of columns whose stored values are those that rules compare."""
    fields = dict(zip(stable_names(schema.names), schema, strict=True))
    same = {
        name: field
        for name, field in fields.items()
        if name not in dataset.columns and (not _is_naive(field.type) or dataset.timezone == "UTC")
    }
    usable = () if dataset.null_values else comparisons
    return [replace(each, column=same[each.column].name) for each in usable if each.column in same]


def _is_naive(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is None


def _batches(reading: _Reading, part: TablePart, coercion: Coercion) -> Iterator[pa.RecordBatch]:
    for batch in gathered(reading.vectors(part), ROWS):
        yield coercion.batch(pa.RecordBatch.from_arrays(reading.plain(batch).columns, names=list(reading.names)))


def _in_types(reading: _Reading, vector: pa.RecordBatch) -> pa.RecordBatch:
    arrays = []
    for array, field in zip(vector.columns, reading.stored, strict=True):
        try:
            arrays.append(array.cast(field.type))
        except pa.ArrowException as error:
            reason = f"column {field.name!r} is of type {field.type}, but a file of it holds {array.type}"
            raise TableRefused(reading.place, reason, "check it with the program that writes it") from error
    return pa.RecordBatch.from_arrays(arrays, schema=reading.stored)
