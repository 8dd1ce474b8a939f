"""A base as a target: the facts of its tables, its records by id, its owner and receipts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from connectors.airtable import pages, values
from connectors.airtable.cleaning import changes, owner
from connectors.airtable.cleaning.owner import BaseOwner
from connectors.airtable.cleaning.receipts import receipts_in
from connectors.airtable.cleaning.transaction import AirtableWork
from connectors.airtable.client import AirtableClient
from connectors.airtable.connector import AirtableDataset
from connectors.airtable.failures import Failure, in_words
from connectors.airtable.pages import Record
from connectors.airtable.schema import NOTES, RECORD, AirtableTable, BaseSchema
from connectors.airtable.source import AirtableSource, Reading
from connectors.errors import RENAMED, ColumnMissing
from connectors.target import (
    Catalogue,
    Cell,
    Cells,
    Change,
    ColumnFacts,
    Owned,
    Receipt,
    Reference,
    Row,
    RowName,
    TableFacts,
    TargetRefused,
    Violation,
)

KEYS_AT_ONCE = 40
_ELSEWHERE = "records are not copied to another table of a base; use `set` or `merge`"
_UNDELETABLE = (
    "Records of an Airtable base are not deleted: a restored record would get another id, and links to it would be "
    "lost. Use `action: set` to mark them, or `merge` with `surplus: {set: …}`"
)


class AirtableTarget:
    """The tables of one base. A table is its name, a row is named by Airtable's id of the record."""

    promises = AirtableSource.promises

    def __init__(self, name: str, client: AirtableClient, schema: Callable[[], BaseSchema]) -> None:
        self.name = name
        self.client = client
        self._read_schema = schema
        self._schema: BaseSchema | None = None
        self._columns: dict[str, dict[str, str]] = {}

    def identity(self) -> str:
        return f"airtable:{self.client.base}"

    def table(self, dataset: AirtableDataset) -> str:
        return self._table_of(dataset).name

    def catalogue(
        self,
        dataset: AirtableDataset,
        soft: Sequence[Reference] = (),
        *,
        table: str | None = None,
        key: Sequence[str] = (),
    ) -> Catalogue:
        del key
        own = self._table_of(dataset)
        if table is not None and table != own.name:
            return Catalogue(table, {table: TableFacts(table, (), (), refused=_ELSEWHERE)}, (), "")
        columns = (
            ColumnFacts(RECORD, "text", nullable=False, generated=True),
            *(field.facts for field in own.fields),
        )
        facts = TableFacts(own.name, columns, (RECORD,), undeletable=_UNDELETABLE)
        digest = hashlib.sha256(json.dumps([own.digest, dataset.view]).encode()).hexdigest()
        remarks = () if dataset.view is None else (f"Only records of view `{dataset.view}` are compared.",)
        return Catalogue(own.name, {own.name: facts}, tuple(soft), digest, remarks)

    def rows(self, dataset: AirtableDataset, key: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> list[Row | None]:
        table = self._table_of(dataset)
        by_id: dict[tuple[Any, ...], Row] = {}
        columns = [RECORD, *(field.column for field in table.fields)]
        for name in key:
            if name not in columns:
                raise ColumnMissing(f"table {table.name}", name, columns)
        reading = Reading(table, dataset)
        wanted = {_typed(identifier) for identifier in ids if None not in identifier}
        for page in self._pages(table, dataset, key, ids):
            batch = reading.batch(page).to_pylist() if page else []
            for record, row_values in zip(page, batch, strict=True):
                typed = _typed([row_values[name] for name in key])
                if typed not in wanted:
                    continue
                if typed in by_id:
                    raise TargetRefused(
                        f"Two records of table {table.name} have the same {', '.join(key)}, so these columns do not "
                        f"identify a record. Use `id: {RECORD}`, or correct the table"
                    )
                by_id[typed] = Row(row_name(table, record[0]), cells_of(table, record), row_values)
        return [by_id.get(_typed(identifier)) for identifier in ids]

    def _pages(
        self, table: AirtableTable, dataset: AirtableDataset, key: Sequence[str], ids: Sequence[tuple[Any, ...]]
    ) -> Iterator[list[Record]]:
        """The records among which those with these ids are: no others if Airtable's own ids are asked for."""
        fields = [field.id for field in table.fields]
        if tuple(key) != (RECORD,):
            return pages.records(self.client, table, fields, dataset.view)
        options = {"fields": fields, **({} if dataset.view is None else {"view": dataset.view})}
        return pages.by_ids(self.client, table, [str(i[0]) for i in ids if is_record(i[0])], options)

    def impossible(self, dataset: AirtableDataset, changes: Sequence[Change]) -> dict[RowName, str]:
        """See connectors.target.Foreseeing."""
        table = self._table_of(dataset)
        reasons = ((change.row, _reason(table, change)) for change in changes)
        return {row: reason for row, reason in reasons if reason is not None}

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        del reference, to
        return []

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        del changes
        return []

    def remembers(self, table: str = "") -> bool:
        """Create our field and our table where they are missing, and the list of changes. Raises TargetRefused."""
        schema = self._fresh()
        own = schema.table(table, RENAMED)
        try:
            if own.notes is None:
                self.client.add_field(own.id, dict(owner.FIELD))
            if schema.own is None:
                self.client.add_table(dict(owner.TABLE))
        except Failure as failure:
            if failure.status not in (403, 404, 422):
                raise in_words(self.name, failure) from None
            raise TargetRefused(
                f"Reconcile keeps receipts in the base of source {self.name!r}, and its token may not create them. Add "
                f"a long text field {NOTES!r}, without rich text formatting, to table {own.name!r}, and a table "
                f"{NOTES!r} with the fields 'Name' (single line text) and 'Note' (long text); or give the token the "
                "scope `schema.bases:write`, as a creator of the base"
            ) from None
        schema = self._fresh()
        try:
            changes.following(self.client, schema.table(table))
        except Failure as failure:
            error = in_words(self.name, failure)
            is_refused = failure.status in (401, 403, 404, 422)
            raise (changes.refused(self.name, error) if is_refused else error) from None
        return True

    def receipts(self, keys: Sequence[str], table: str = "") -> dict[str, Receipt]:
        own = self.known_table(table)
        return {key: receipt for key, (receipt, _) in self.noted(own, keys).items()} if own.notes else {}

    def noted(self, table: AirtableTable, keys: Sequence[str]) -> dict[str, Any]:
        """The receipts with these keys, each with its change; see receipts_in. Raises a ConnectorError."""
        assert table.notes is not None  # noqa: S101 - the caller looked
        texts = []
        for start in range(0, len(keys), KEYS_AT_ONCE):
            searches = (f"FIND('{key}',{{{NOTES}}})" for key in keys[start : start + KEYS_AT_ONCE] if _is_plain(key))
            formula = f"OR({','.join(searches)})"
            some = pages.matching(self.client, table, formula, [table.notes.id])
            texts += [filled.get(table.notes.id) for _, filled in some]
        return {key: entry for key, entry in receipts_in(texts).items() if key in keys}

    def happened(self, transaction: str) -> bool | None:
        del transaction
        return None

    @contextmanager
    def work(self, seconds: float) -> Iterator[AirtableWork]:
        with self.client.until(seconds):
            yield AirtableWork(self)

    def owned(self, table: str) -> Owned:
        del table
        return Owned(self.identity(), self.owner())

    def adopt(
        self, store: str, epoch: int, ratchet: int, instead_of: tuple[str, int, int] | None, table: str = ""
    ) -> bool:
        del table
        schema = self._known if self._known.own is not None else self._fresh()
        assert schema.own is not None  # noqa: S101 - remembering created it
        return BaseOwner(self.client, schema.own).replace(instead_of, (store, epoch, ratchet))

    def owner(self) -> tuple[str, int, int] | None:
        """The owner of the base. Raises TargetRefused, ConnectorError."""
        own = (self._known if self._known.own is not None else self._fresh()).own
        return None if own is None else BaseOwner(self.client, own).get()

    def known_table(self, name: str) -> AirtableTable:
        """The table of that name by the schema that was read last, with the columns of its dataset."""
        table = self._known.table(name, RENAMED)
        columns = self._columns.get(table.id)
        return table if columns is None else self._known.of_dataset(AirtableDataset(table=table.id, fields=columns))

    @property
    def _known(self) -> BaseSchema:
        return self._schema or self._fresh()

    def _fresh(self) -> BaseSchema:
        self._schema = self._read_schema()
        return self._schema

    def _table_of(self, dataset: AirtableDataset) -> AirtableTable:
        table = self._fresh().of_dataset(dataset)
        self._columns[table.id] = dataset.fields
        return table


def _reason(table: AirtableTable, change: Change) -> str | None:
    """The reason, without its full stop, why a change cannot be made; None if it can."""
    if change.before is None or change.after is None:
        return _UNDELETABLE
    for column, cell in change.after.items():
        try:
            values.written(table.field(column), cell)
        except values.Unwritable as error:
            return f"Field {column!r} of table {table.name!r} cannot be set: {error}"
    return None


def row_name(table: AirtableTable, record: str) -> RowName:
    return RowName(table.name, ((RECORD, ("t", record)),))


def cells_of(table: AirtableTable, record: Record) -> Cells:
    """The cells of a record by column: its id, and the values that people fill in."""
    filled = {field.column: values.cell(field, record[1].get(field.id)) for field in table.stored}
    return {RECORD: ("t", record[0]), **filled}


def is_record(text: object) -> bool:
    """Return True for an id of Airtable's form, which can be part of a formula."""
    return isinstance(text, str) and text.isascii() and text.isalnum() and text.startswith("rec")


def _is_plain(key: str) -> bool:
    return all(character.isalnum() or character in "._-" for character in key)


def _typed(identifier: Sequence[Any]) -> tuple[tuple[type, Any], ...]:
    """An id with the types of its values: 1 and 1.0 are equal in Python, but different ids."""
    return tuple((type(value), value) for value in identifier)
