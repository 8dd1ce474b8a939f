"""A connector of another package: sheets in memory, which are read, cleaned and undone without SQL."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from connectors.base import DatasetSettings, Scan, SourceSettings
from connectors.errors import DatasetMissing
from connectors.target import (
    Catalogue,
    Cell,
    Cells,
    Change,
    ColumnFacts,
    Image,
    Owned,
    Promises,
    Receipt,
    ReceiptStands,
    Reference,
    Row,
    RowName,
    RowsDiffer,
    TableFacts,
    Unplanned,
    Violation,
)

Sheet = dict[str, dict[str, str | None]]
"""Rows by their id; every row has the same columns, `id` among them."""


@dataclass
class Book:
    """Sheets by name, and what Reconcile notes beside them."""

    sheets: dict[str, Sheet] = field(default_factory=dict)
    receipts: dict[str, Receipt] = field(default_factory=dict)
    owners: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    transactions: int = 0


BOOKS: dict[str, Book] = {}
_LOCK = threading.RLock()


class MemorySheet:
    """Source `memory_sheet`. Its transactions work on a copy that `commit` puts in place."""

    class Settings(SourceSettings):
        book: str
        together: bool = True
        guarded: bool = True

    class Dataset(DatasetSettings):
        sheet: str

    def __init__(self, name: str, settings: Any, root: Path) -> None:
        self.name = name
        self.promises = Promises(all_or_nothing=settings.together, compare_and_set=settings.guarded)
        self._book = settings.book

    @staticmethod
    def obstacle(settings: Any, dataset: Any) -> str | None:
        return None

    @staticmethod
    def file(settings: Any, root: Path) -> Path | None:
        return None

    @property
    def book(self) -> Book:
        return BOOKS[self._book]

    # Source

    def datasets(self) -> Sequence[str]:
        return tuple(self.book.sheets)

    def describe(self, dataset: Any) -> pa.Schema:
        return pa.schema([(name, pa.string()) for name in self._columns(dataset.sheet)])

    def scan(self, dataset: Any, columns: Sequence[str]) -> Scan:
        rows = [{name: row[name] for name in columns} for row in self._sheet(dataset.sheet).values()]
        table = pa.Table.from_pylist(rows, schema=pa.schema([(name, pa.string()) for name in columns]))
        return Scan(table.to_reader())

    def close(self) -> None:
        pass

    def _sheet(self, name: str) -> Sheet:
        if name not in self.book.sheets:
            raise DatasetMissing(self.name, name, self.book.sheets)
        return self.book.sheets[name]

    def _columns(self, name: str) -> tuple[str, ...]:
        return tuple(next(iter(self._sheet(name).values()), {"id": ""}))

    # Target

    def identity(self) -> str:
        return f"memory:{self._book}"

    def catalogue(
        self, dataset: Any, soft: Sequence[Reference] = (), *, table: str | None = None, key: Sequence[str] = ()
    ) -> Catalogue:
        name = table or dataset.sheet
        columns = self._columns(name)
        facts = TableFacts(name, tuple(ColumnFacts(column, "text") for column in columns), ("id",))
        return Catalogue(name, {name: facts}, tuple(soft), hashlib.sha256(repr(columns).encode()).hexdigest())

    def rows(self, dataset: Any, key: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> list[Row | None]:
        sheet = self._sheet(dataset.sheet)
        by_key = {tuple(row[name] for name in key): row for row in sheet.values()}
        return [_row(dataset.sheet, by_key[identifier]) if identifier in by_key else None for identifier in ids]

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        return []

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        return []

    def table(self, dataset: Any) -> str:
        self._sheet(dataset.sheet)
        return str(dataset.sheet)

    def remembers(self, table: str = "") -> bool:
        return True

    def receipts(self, keys: Sequence[str], table: str = "") -> dict[str, Receipt]:
        return {key: self.book.receipts[key] for key in keys if key in self.book.receipts}

    def happened(self, transaction: str) -> bool | None:
        return None

    @contextmanager
    def work(self, seconds: float) -> Iterator[SheetWork]:
        with _LOCK:
            self.book.transactions += 1
            yield SheetWork(self._book, copy.deepcopy(self.book))

    def owned(self, table: str) -> Owned:
        return Owned(self._book, self.book.owners.get(self._book))

    def adopt(
        self, store: str, epoch: int, ratchet: int, instead_of: tuple[str, int, int] | None, table: str = ""
    ) -> bool:
        with _LOCK:
            if self.book.owners.get(self._book) != instead_of:
                return False
            self.book.owners[self._book] = (store, epoch, ratchet)
            return True


class SheetWork:
    """One transaction: a copy of the book, which takes its place at `commit`."""

    transaction: ClassVar[None] = None

    def __init__(self, name: str, book: Book) -> None:
        self._name, self._book = name, book

    def hold(self, tables: Sequence[str]) -> dict[str, str]:
        return {}

    def lock(self, rows: Sequence[RowName]) -> dict[RowName, Row]:
        return {
            name: _row(name.table, self._book.sheets[name.table][key])
            for name in rows
            if (key := _key(name, self._book))
        }

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]], *, lock: bool) -> list[Row]:
        return []

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        return []

    def receive(self, receipts: Sequence[Receipt]) -> None:
        existing = {
            receipt.key: self._book.receipts[receipt.key] for receipt in receipts if receipt.key in self._book.receipts
        }
        if existing:
            raise ReceiptStands(existing)
        self._book.receipts |= {receipt.key: receipt for receipt in receipts}

    def apply(self, change: Change) -> None:
        if change.is_guard:
            return
        sheet, key = self._book.sheets[change.row.table], _key(change.row, self._book)
        if change.before is None:
            values = {name: _text(cell) for name, cell in (change.after or {}).items()}
            sheet[str(values["id"])] = values
        elif key is None:
            raise RowsDiffer(change.row, 0)
        elif change.after is None:
            del sheet[key]
        else:
            sheet[key] |= {name: _text(cell) for name, cell in change.after.items()}

    def apply_all(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self.apply(change)

    def witness(self, changes: Sequence[Change], *, related: Sequence[str] = (), triggers: bool = False) -> SheetWork:
        return self

    def unplanned(self, images: Sequence[Image]) -> list[Unplanned]:
        return []

    def unheld(self, images: Sequence[Image]) -> list[tuple[Image, tuple[str, ...]]]:
        return []

    def seal(self, receipts: Sequence[Receipt]) -> None:
        self._book.receipts |= {receipt.key: receipt for receipt in receipts}

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        before = copy.deepcopy(self._book)
        try:
            yield
        except BaseException:
            self._book = before
            raise

    def commit(self) -> None:
        BOOKS[self._name] = self._book


def _row(sheet: str, values: Mapping[str, str | None]) -> Row:
    cells: Cells = {name: None if value is None else ("t", value) for name, value in values.items()}
    return Row(RowName(sheet, (("id", cells["id"]),)), cells, dict(values))


def _key(name: RowName, book: Book) -> str | None:
    [(_, cell)] = name.key
    key = _text(cell)
    return key if key in book.sheets[name.table] else None


def _text(cell: Cell) -> str | None:
    return None if cell is None else cell[1]
