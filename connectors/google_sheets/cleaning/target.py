"""A spreadsheet as a target: the facts of a sheet, its records by id, its owner and receipts in the ledger."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from connectors.errors import ColumnMissing
from connectors.google_sheets import reading
from connectors.google_sheets.cleaning import book as books
from connectors.google_sheets.cleaning import ledger as ledgers
from connectors.google_sheets.cleaning import replacing
from connectors.google_sheets.cleaning.book import Book, BookTable
from connectors.google_sheets.cleaning.ledger import Ledger, Skills
from connectors.google_sheets.cleaning.transaction import UNDELETABLE, SheetsWork, violations
from connectors.google_sheets.cleaning.writing import Overtaken, Writer
from connectors.google_sheets.client import Api, WriteLost
from connectors.google_sheets.connector import GoogleSheetsConnector, GoogleSheetsDataset
from connectors.google_sheets.refusals import RequestRefused
from connectors.target import (
    Catalogue,
    Cell,
    Change,
    ColumnFacts,
    Owned,
    Promises,
    Receipt,
    Reference,
    Row,
    RowName,
    TableFacts,
    TargetError,
    TargetRefused,
    TransactionOutcome,
    Violation,
)
from connectors.workbook.forms import kinds_of, notation_of

_SECONDS = 20.0
_TRIES = 4
_ELSEWHERE = "rows cannot be moved to another sheet; use `set` to mark them"


class SheetsTarget:
    """The sheets of one spreadsheet. A table is the name of a sheet."""

    promises = Promises()

    def __init__(self, name: str, spreadsheet: str, api: Api, place: Callable[[], Path]) -> None:
        """`place` returns the path of a new temporary file."""
        self.name, self.api = name, api
        self._spreadsheet, self._place = spreadsheet, place
        self._seen: dict[str, GoogleSheetsDataset] = {}
        self._only: str | None = None

    def identity(self) -> str:
        return f"google_sheets:{self._spreadsheet}"

    def table(self, dataset: GoogleSheetsDataset) -> str:
        obstacle = GoogleSheetsConnector.obstacle(None, dataset)
        title = dataset.sheet or self._only_sheet()
        if obstacle is not None:
            raise TargetRefused(f"Records of sheet {title!r} cannot be cleaned: {obstacle}")
        if title == ledgers.LEDGER:
            raise TargetRefused(f"The sheet {title!r} is Reconcile's own and is never cleaned")
        self._seen[title] = dataset
        return title

    def catalogue(
        self,
        dataset: GoogleSheetsDataset,
        soft: Sequence[Reference] = (),
        *,
        table: str | None = None,
        key: Sequence[str] = (),
    ) -> Catalogue:
        del key
        title = self.table(dataset)
        if table is not None and table != title:
            return Catalogue(table, {table: TableFacts(table, (), (), refused=_ELSEWHERE)}, (), "")
        content = self._table(title)
        columns = tuple(ColumnFacts(name, dataset.columns.get(name, "text")) for name in content.columns)
        digest = hashlib.sha256(json.dumps([(column.name, column.type) for column in columns]).encode()).hexdigest()
        facts = TableFacts(title, columns, (), refused=_protection(content), undeletable=UNDELETABLE, kind="sheet")
        return Catalogue(title, {title: facts}, tuple(soft), digest)

    def rows(
        self, dataset: GoogleSheetsDataset, key: Sequence[str], ids: Sequence[tuple[Any, ...]]
    ) -> list[Row | None]:
        title = self.table(dataset)
        content = self._table(title)
        for name in key:
            if name not in content.columns:
                raise ColumnMissing(title, name, list(content.columns))
        by_place = _values(content)
        wanted = {_typed(identifier) for identifier in ids if None not in identifier}
        places: dict[Any, int] = {}
        for place, values in by_place.items():
            identifier = _typed([values.get(name) for name in key])
            if identifier in wanted and identifier in places:
                raise TargetRefused(
                    f"Two records of {title} have the same {', '.join(key)}, so these columns do not identify a "
                    "record. Choose a unique `id`, or correct the sheet"
                )
            places[identifier] = place
        places_of_ids = [places.get(_typed(identifier)) if None not in identifier else None for identifier in ids]
        return [None if place is None else _row(content, key, place, by_place[place]) for place in places_of_ids]

    def impossible(self, dataset: GoogleSheetsDataset, changes: Sequence[Change]) -> dict[RowName, str]:
        """See connectors.target.Foreseeing."""
        title = self.table(dataset)
        book = self.book([title])
        table, skills = book.tables[title], None if book.ledger is None else book.ledger.skills
        reasons = ((change.row, _reason(table, change, skills)) for change in changes if change.row.table == title)
        return {row: reason for row, reason in reasons if reason is not None}

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        del reference, to
        return []

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        return violations(changes)

    def remembers(self, table: str = "") -> bool:
        del table
        self._ledger()
        return True

    def receipts(self, keys: Sequence[str], table: str = "") -> dict[str, Receipt]:
        """The receipts of changes that are verified, or of one that is being verified: `receive` settles it."""
        del table
        ledger = self.book(()).ledger
        receipts = {} if ledger is None else ledger.receipts
        return {key: receipts[key] for key in keys if key in receipts}

    def happened(self, transaction: str) -> bool | None:
        del transaction
        return None

    @contextmanager
    def work(self, seconds: float) -> Iterator[SheetsWork]:
        work = SheetsWork(self, seconds)
        yield work
        work.leave()

    def owned(self, table: str) -> Owned:
        del table
        ledger = self.book(()).ledger
        return Owned(self.identity(), None if ledger is None else ledger.owner)

    def adopt(
        self, store: str, epoch: int, ratchet: int, instead_of: tuple[str, int, int] | None, table: str = ""
    ) -> bool:
        del table
        for _ in range(_TRIES):
            ledger = self._ledger()
            if ledger.owner == (store, epoch, ratchet):
                return True
            if ledger.owner != instead_of:
                return False
            after = ledger.next(f"{store} {ratchet}", owner=(store, epoch, ratchet))
            try:
                self._writer().write(ledger, after, [])
            except (Overtaken, WriteLost):
                continue
            return True
        raise _busy(self.name)

    def book(self, tables: Iterable[str], sheets: Iterable[int] = ()) -> Book:
        """The spreadsheet now, with these tables, and the sheets with these ids. Raises a ConnectorError."""
        wanted = {title: self._seen[title] for title in tables if title in self._seen}
        unseen = [title for title in tables if title not in wanted]
        if unseen:
            ledger = self.book(()).ledger
            noted = {} if ledger is None else ledger.datasets
            for title in unseen:
                wanted[title] = GoogleSheetsDataset.model_validate({**noted.get(title, {}), "sheet": title})
        self.api.begin()
        try:
            return books.read(self.name, self.api, wanted, self._place, sheets)
        except RequestRefused:  # a sheet was renamed between two requests
            return books.read(self.name, self.api, wanted, self._place, sheets)

    def _table(self, title: str) -> BookTable:
        return self.book([title]).tables[title]

    def _only_sheet(self) -> str:
        if self._only is None:
            self.api.begin()
            _, sheets = reading.sheets_of(self.api)
            self._only = reading.chosen(self.name, GoogleSheetsDataset(), sheets).title
        return self._only

    def _writer(self) -> Writer:
        return Writer(self.name, self.api, time.monotonic() + _SECONDS)

    def _ledger(self) -> Ledger:
        """The ledger, which is created if it does not exist. Raises TargetRefused for a sheet that is not ours."""
        for _ in range(_TRIES):
            book = self.book(())
            if book.ledger is not None:
                return book.ledger
            if any(books.is_ours(sheet) for sheet in book.sheets):
                raise TargetRefused(
                    f"Source {self.name!r} has a sheet {ledgers.LEDGER!r} that Reconcile did not create; rename it"
                )
            widest = max((sheet.columns for sheet in book.sheets), default=0)
            body = {"requests": ledgers.creation(ledgers.new(widest + ledgers.COPY, ledgers.ROWS))}
            try:
                self.api.batch_update(body, _SECONDS)
            except (RequestRefused, WriteLost):
                continue
        raise _busy(self.name)


def _busy(source: str) -> TargetError:
    sentence = f"Source {source!r} did not accept the notes of a cleaning. Nothing was changed; it is tried again"
    return TargetError(sentence, TransactionOutcome.NOT_DONE)


def _protection(table: BookTable) -> str | None:
    """The reason why nothing of a sheet can be changed: it is protected as a whole."""
    for protection in table.protected:
        area = protection.get("range", {})
        is_whole = not {"startRowIndex", "startColumnIndex"} & set(area) and not protection.get("unprotectedRanges")
        if is_whole and not protection.get("warningOnly") and not protection.get("requestingUserCanEdit"):
            return f"Sheet {table.facts.title!r} is protected, and the account of the source may not edit it"
    return None


def _reason(table: BookTable, change: Change, skills: Skills | None) -> str | None:
    """The reason, without its full stop, why a change cannot be made; None if it can, or if its row changed since."""
    places = table.places(change.row.key)
    if len(places) != 1:
        return None
    for name, cell in (change.after or {}).items():
        if name not in table.columns or cell == (change.before or {}).get(name):
            continue
        try:
            replacing.fitted(table, places[0], table.columns[name], cell, skills)
        except replacing.Unwritable as problem:
            return (
                f"A cell of column {name!r} in sheet {table.facts.title!r} cannot be replaced: {problem}. Change it by "
                "hand, or choose another value or column"
            )
    return None


def _values(table: BookTable) -> dict[int, dict[str, Any]]:
    """The values of all records as a scan reads them, by their place; those that cannot be read are missing."""
    kinds, notation = kinds_of(table.dataset), notation_of(table.dataset)
    values: dict[int, dict[str, Any]] = {
        place: {"_file": table.facts.title, "_row": place + 1, **dict.fromkeys(table.columns)} for place in table.rows
    }
    for name in table.columns:  # one by one: an error in one column would leave out the whole record
        scan = table.sheet.scan(["_row", name], kinds, notation)
        try:
            for batch in scan.reader:
                for row, value in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    values[row - 1][name] = value
        finally:
            scan.close()
    return values


def _row(table: BookTable, key: Sequence[str], place: int, values: Mapping[str, Any]) -> Row:
    cells = table.cells(place)
    return Row(RowName(table.facts.title, tuple((name, cells[name]) for name in key)), cells, values)


def _typed(values: Sequence[Any]) -> tuple[tuple[type, Any], ...]:
    """An id with the types of its values: 1 and 1.0 are equal in Python, but different ids."""
    return tuple((type(value), value) for value in values)
