"""Source `airtable`: the tables of a base, typed by its schema, in bounded memory."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from connectors.airtable import pages, values
from connectors.airtable.client import RECORDS_AT_ONCE, AirtableClient
from connectors.airtable.connector import AirtableConnector, AirtableDataset, AirtableSettings
from connectors.airtable.failures import Failure, in_words
from connectors.airtable.pages import Record
from connectors.airtable.schema import RECORD, AirtableField, AirtableTable, BaseSchema
from connectors.base import Declaration, Scan, UnreadableCells, unreadable_cells
from connectors.changing import Changing
from connectors.coerce import Coercion
from connectors.declared import Notation, declared
from connectors.errors import ColumnMissing
from connectors.target import Change, Promises, RowName

if TYPE_CHECKING:
    from connectors.airtable.cleaning.target import AirtableTarget

_ID: pa.Field[Any] = pa.field(RECORD, pa.string(), nullable=False)


class AirtableSource(AirtableConnector, Changing["AirtableTarget"]):
    """The tables of a base. Reads never change them.

    It is also a `connectors.target.Target` of its records: see `connectors.airtable.cleaning`.
    """

    promises = Promises(all_or_nothing=False, rows_together=RECORDS_AT_ONCE)

    def __init__(self, name: str, settings: AirtableSettings, directory: Path) -> None:
        del directory
        self.name = name
        self.client = AirtableClient(name, settings)

    def schema(self) -> BaseSchema:
        """The tables and fields of the base now. Raises a ConnectorError."""
        try:
            return BaseSchema.of(self.name, self.client.schema())
        except Failure as failure:
            raise in_words(self.name, failure) from None

    def datasets(self) -> Sequence[str]:
        return [table.name for table in self.schema().tables]

    def describe(self, dataset: AirtableDataset) -> pa.Schema:
        return Reading(self.schema().of_dataset(dataset), dataset).schema

    def scan(self, dataset: AirtableDataset, columns: Sequence[str]) -> Scan:
        reading = Reading(self.schema().of_dataset(dataset), dataset, columns)
        batches = reading.batches(self._records(dataset, reading))
        return Scan(pa.RecordBatchReader.from_batches(reading.schema, batches), reading.problems)

    def _records(self, dataset: AirtableDataset, reading: Reading) -> Iterator[list[Record]]:
        ids = [field.id for field in reading.fields if field is not None]
        return pages.records(self.client, reading.table, ids, dataset.view)

    def candidates(self) -> Sequence[str]:
        return self.datasets()

    def declaration(self, candidate: str) -> Declaration:
        return Declaration({"table": candidate})

    def keys(self, dataset: AirtableDataset) -> Sequence[tuple[str, ...]]:
        del dataset
        return [(RECORD,)]

    def state(self, dataset: AirtableDataset) -> str | None:
        """See connectors.base.Watchable: the place in Airtable's list of changes if we follow the table, else the
        digest of its records."""
        from connectors.airtable.cleaning.changes import place_in_changes  # noqa: PLC0415 - part of cleaning

        table = self.schema().of_dataset(dataset)
        place = place_in_changes(self.client, table)
        return f"{table.digest}:{place}" if place else self.content(dataset, lambda _: None)

    def content(self, dataset: AirtableDataset, progress: Callable[[int], None]) -> str:
        """See connectors.base.ContentHashed. It lists all records, and keeps 32 bytes of each."""
        table = self.schema().of_dataset(dataset)
        kept = {field.id: field for field in table.fields}
        digests = []
        for page in pages.records(self.client, table, list(kept), dataset.view):
            digests += [_digest(key, filled, kept) for key, filled in page]
            progress(0)
        total = hashlib.sha256(table.digest.encode())
        for digest in sorted(digests):
            total.update(digest)
        return total.hexdigest()

    def stop(self) -> None:
        """See connectors.base.Stoppable. A request that waits for an answer ends with it, or at its time limit."""
        self.client.stop()

    def close(self) -> None:
        self.client.close()

    def impossible(self, dataset: AirtableDataset, changes: Sequence[Change]) -> dict[RowName, str]:
        """See connectors.target.Foreseeing."""
        return self._target.impossible(dataset, changes)

    def _new_target(self) -> AirtableTarget:
        from connectors.airtable.cleaning.target import AirtableTarget  # noqa: PLC0415 - a process that only reads saves its time

        return AirtableTarget(self.name, self.client, self.schema)


class Reading:
    """The columns of a dataset that are read, all by default, and the cells that could not be read."""

    def __init__(self, table: AirtableTable, dataset: AirtableDataset, columns: Sequence[str] | None = None) -> None:
        """Raises ColumnMissing, ColumnTypeUnknown."""
        self.table = table
        names = [RECORD, *(field.column for field in table.fields)]
        kinds = {name: declared(name, word) for name, word in dataset.columns.items()}
        for name in (*kinds, *(columns or ())):
            if name not in names:
                raise ColumnMissing(f"table {table.name}", name, names)
        self._columns = list(names if columns is None else columns)
        self.fields: list[AirtableField | None] = [
            None if name == RECORD else table.field(name) for name in self._columns
        ]
        self._kinds = kinds
        self._raw = pa.schema([self._field(field) for field in self.fields])
        notation = Notation(dataset.decimal, dataset.null_values, dataset.timezone)
        self._null_values = frozenset(dataset.null_values)
        self._coercion = Coercion(self._raw, kinds, notation)
        self._unread: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], str] = {}

    @property
    def schema(self) -> pa.Schema:
        return self._coercion.schema

    def _field(self, field: AirtableField | None) -> pa.Field[Any]:
        if field is None:
            return _ID
        kind = pa.string() if field.column in self._kinds else values.arrow_type(field)
        return pa.field(field.column, kind, nullable=kind != pa.bool_())

    def batches(self, of_records: Iterator[list[Record]]) -> Iterator[pa.RecordBatch]:
        try:
            for page in of_records:
                if page:
                    yield self.batch(page)
        finally:
            self._coercion.close()

    def batch(self, page: Sequence[Record]) -> pa.RecordBatch:
        """The records as a scan gives them."""
        arrays = [
            pa.array([self._value(field, key, filled) for key, filled in page], self._raw.field(number).type)
            for number, field in enumerate(self.fields)
        ]
        raw = pa.RecordBatch.from_arrays(arrays, schema=self._raw)
        before = self._coercion.position
        return self._coercion.batch(raw, lambda number: f"record {page[number - before][0]}")

    def _value(self, field: AirtableField | None, key: str, filled: Mapping[str, Any]) -> Any:
        if field is None:
            return key
        try:
            value = values.read(field, filled.get(field.id))
        except values.Unreadable as error:
            which = (field.column, str(error))
            self._unread[which] += 1
            self._first.setdefault(which, f"record {key}")
            return False if field.kind == "checkbox" and field.column not in self._kinds else None
        if field.column in self._kinds and value is not None:
            value = ("true" if value else "false") if isinstance(value, bool) else str(value)
        return None if isinstance(value, str) and value in self._null_values else value

    def problems(self) -> tuple[UnreadableCells, ...]:
        """The cells that have no value of their column's type, such as errors of formulas."""
        own = [
            UnreadableCells(column, reason, number, self._first[column, reason])
            for (column, reason), number in self._unread.items()
        ]
        return unreadable_cells([*own, *self._coercion.problems()])


def _digest(key: str, filled: Mapping[str, Any], fields: Mapping[str, AirtableField]) -> bytes:
    shown = []
    for field in fields.values():
        try:
            shown.append(repr(values.read(field, filled.get(field.id))))
        except values.Unreadable as error:
            shown.append(f"unreadable: {error}")
    return hashlib.sha256(repr([key, shown]).encode()).digest()
