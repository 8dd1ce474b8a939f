"""One transaction on a spreadsheet: changes are collected, and `commit` makes them in one write and verifies it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from connectors.errors import ConnectorError
from connectors.google_sheets.cleaning import ledger as ledgers
from connectors.google_sheets.cleaning import replacing
from connectors.google_sheets.cleaning.book import Book, BookTable, Key
from connectors.google_sheets.cleaning.ledger import Entry, Ledger, Pending, Write
from connectors.google_sheets.cleaning.settling import Settled, Settling, ranges_of
from connectors.google_sheets.cleaning.writing import Answer, Overtaken, Writer, as_not_done, not_changed
from connectors.google_sheets.client import WriteLost
from connectors.target import (
    Cell,
    Change,
    Image,
    Receipt,
    ReceiptStands,
    Reference,
    Row,
    RowName,
    RowsDiffer,
    TargetError,
    TargetRefused,
    TransactionOutcome,
    Undecided,
    Unplanned,
    Violation,
)

if TYPE_CHECKING:
    from connectors.google_sheets.cleaning.target import SheetsTarget

_ENDS_SAVEPOINT = (TransactionOutcome.CONFLICT, TransactionOutcome.TERMINAL)


@dataclass
class _LockedRow:
    """A record at its place, by the key it was named with, and the cells to replace in it by column."""

    table: BookTable
    place: int
    key: Key
    writes: dict[str, Cell] = field(default_factory=dict)

    @property
    def cells(self) -> dict[str, Cell]:
        return {**self.table.cells(self.place), **self.writes}


class SheetsWork:
    """A transaction. It locks nothing: `commit` finds out if a row was edited, and then nothing of it stays."""

    transaction: ClassVar[None] = None

    def __init__(self, target: SheetsTarget, seconds: float) -> None:
        self._target = target
        self._writer = Writer(target.name, target.api, time.monotonic() + seconds)
        self._book: Book | None = None
        self._rows: dict[tuple[str, int], _LockedRow] = {}
        self._receipts: dict[str, Receipt] = {}
        self._has_asked = False
        self._depth = 0
        self._is_over = False

    def hold(self, tables: Sequence[str]) -> dict[str, str]:
        del tables
        return {}

    def lock(self, rows: Sequence[RowName]) -> dict[RowName, Row]:
        with self._going_on():
            self._load({row.table for row in rows})
            current = {}
            for row in sorted(rows, key=lambda row: row.table):
                locked = self._row(row)
                if locked is not None:
                    current[row] = Row(row, locked.cells)
            return current

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]], *, lock: bool) -> list[Row]:
        del reference, to, lock
        return []

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        return violations(changes)

    def receive(self, receipts: Sequence[Receipt]) -> None:
        with self._going_on():
            ledger = self._ledger({receipt.table for receipt in receipts})
            standing = {**ledger.receipts, **self._receipts}
            if existing := {receipt.key: standing[receipt.key] for receipt in receipts if receipt.key in standing}:
                raise ReceiptStands(existing)
            self._must_be_known(ledger, receipts)
            if ledger.owner is not None and any((each.store, each.epoch) != ledger.owner[:2] for each in receipts):
                raise not_changed(self._target.name, "another state cleans it now", "clean it from there")
            self._receipts |= {receipt.key: receipt for receipt in receipts}
            self._has_asked = True

    def _must_be_known(self, ledger: Ledger, receipts: Sequence[Receipt]) -> None:
        """Raise Undecided, once, for receipts of a change of which only a person can tell if it was made."""
        unsaid = [each for each in receipts if ledger.unknown.get(each.key, (0, True))[1] is False]
        if not unsaid:
            return
        rows = [ledgers.text_rows(ledger.unknown[each.key][0], [ledgers.receipt_row(each, "a")]) for each in unsaid]
        self._write(ledger, ledger.next(_nonce()), rows)
        raise Undecided(
            f"Source {self._target.name!r} was edited while it was cleaned, and its rows do not tell if that was done; "
            "compare the rows"
        )

    def apply(self, change: Change) -> None:
        self.apply_all([change])

    def apply_all(self, changes: Sequence[Change]) -> None:
        with self._going_on():
            self._load({change.row.table for change in changes})
            for change in changes:
                if not change.is_guard:
                    self._apply(change)

    def _apply(self, change: Change) -> None:
        if change.before is None or change.after is None:
            raise not_changed(change.row.table, UNDELETABLE, "use `set`", TransactionOutcome.TERMINAL)
        locked = self._row(change.row)
        if locked is None:
            raise RowsDiffer(change.row, 0)
        table = locked.table
        for name, cell in change.after.items():
            if name not in table.columns:
                raise not_changed(
                    change.row.table,
                    f"it has no column {name!r} any more",
                    "plan it again",
                    TransactionOutcome.CONFLICT,
                )
            try:
                new = cell if cell == locked.cells[name] else self._fitted(locked, table.columns[name], cell)
            except replacing.Unwritable as problem:
                raise not_changed(
                    change.row.table,
                    f"a cell of column {name!r} cannot be replaced: {problem}",
                    "change it by hand, or choose another value or column",
                    TransactionOutcome.TERMINAL,
                ) from problem
            locked.writes[name] = new

    def _fitted(self, locked: _LockedRow, column: int, cell: Cell) -> Cell:
        return replacing.fitted(locked.table, locked.place, column, cell, self._ledger(()).skills)

    def witness(self, changes: Sequence[Change], *, related: Sequence[str] = (), triggers: bool = False) -> SheetsWork:
        del changes, related, triggers
        return self

    def unplanned(self, images: Sequence[Image]) -> list[Unplanned]:
        """Only cells of the plan are replaced; `commit` verifies these: see connectors.target.Witness."""
        del images
        return []

    def unheld(self, images: Sequence[Image]) -> list[tuple[Image, tuple[str, ...]]]:
        wrong = []
        for image in images:
            now, meant = image.after or {}, image.change.after or {}
            columns = tuple(name for name, cell in meant.items() if _text(cell) != _text(now.get(name)))
            wrong += [(image, columns)] if columns and image.after is not None else []
        return wrong

    def seal(self, receipts: Sequence[Receipt]) -> None:
        with self._going_on():
            if any(receipt.key not in self._receipts for receipt in receipts):
                raise not_changed(self._target.name, "a receipt of this transaction is missing", "it is tried again")
            self._receipts |= {receipt.key: receipt for receipt in receipts}

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        with self._going_on():
            writes = {place: dict(row.writes) for place, row in self._rows.items()}
            receipts = dict(self._receipts)
        self._depth += 1
        try:
            yield
        except BaseException:
            self._rows = {place: replace(self._rows[place], writes=before) for place, before in writes.items()}
            self._receipts = receipts
            raise
        finally:
            self._depth -= 1

    def commit(self) -> None:
        """Make the changes in one write, and verify them. Raises a TargetError: UNKNOWN if only the ledger can tell."""
        with self._going_on():
            if self._receipts or any(row.writes for row in self._rows.values()):
                self._make()
        self._is_over = True

    def leave(self) -> None:
        """End a transaction without `commit`: a write of an earlier attempt that is still on its way is refused then.

        Raises a TargetError.
        """
        if self._has_asked and not self._is_over and self._book is not None and self._book.ledger is not None:
            self._is_over = True
            ledger = self._book.ledger
            self._write(ledger, ledger.next(_nonce()), [])

    def _make(self) -> None:
        book, ledger = self._loaded(), self._ledger(())
        tables = {row.table.facts.id: row.table for row in self._rows.values()}
        headers = [_LockedRow(table, table.header, ()) for table in tables.values()]
        entries = [_entry(row, ledger) for row in (*headers, *self._rows.values())]
        first = ledger.end
        middle, last = first + len(self._receipts), first + len(self._receipts) + len(entries)
        nonce = _nonce()
        pending = Pending(nonce, "apply", (middle, last), (first, middle))
        texts = [
            *map(ledgers.receipt_row, self._receipts.values()),
            *(("w", entry.to_json()) for entry in entries),
        ]
        if any(len(text) > ledgers.LONGEST for _, text in texts):
            raise not_changed(self._target.name, "a row is too long", "shorten its texts", TransactionOutcome.TERMINAL)
        datasets = {row.table.facts.title: _settings(row.table) for row in self._rows.values()}
        after = ledger.next(nonce, pending=pending, datasets={**ledger.datasets, **datasets})
        columns = ledgers.COPY + max((entry.width for entry in entries), default=0)
        requests = [
            *ledgers.room(ledger, last, columns),
            *([ledgers.text_rows(first, texts)] if texts else []),
            *(replacing.copied(entry, middle + n) for n, entry in enumerate(entries)),
        ]
        answer = self._sent(book, ledger, after, requests, entries)
        self._end_as(self._settled(nonce, ledger, answer))

    def _sent(
        self, book: Book, ledger: Ledger, after: Ledger, requests: list[ledgers.Request], entries: Sequence[Entry]
    ) -> Answer | None:
        """The answer to the write; None if it is lost. Raises a TargetError for a write that was not made."""
        try:
            return self._writer.replace(ledger, after, requests, entries, ranges_of(book, entries))
        except WriteLost:
            return None
        except Overtaken as refused:
            now = self._read(())
            if now.ledger is not None and now.ledger.nonce == after.nonce:
                return None  # it was refused for what it asks about, after it was made
            if now.ledger is not None and now.ledger.turn == ledger.turn and now.sheets == book.sheets:
                reason = f"Google did not accept the change ({refused.status})"
                raise not_changed(
                    self._target.name, reason, "check the protection of its sheets", TransactionOutcome.TERMINAL
                ) from None
            raise not_changed(
                self._target.name, "another process or person changed it at the same moment", "it is tried again"
            ) from None

    def _settled(self, nonce: str, ledger: Ledger, answer: Answer | None) -> Settled:
        """Verify a write that was made, or may have been. Every error is UNKNOWN: the ledger tells later."""
        settling = self._settling()
        try:
            if answer is None and not settling.was_applied(nonce, ledger.turn):
                raise not_changed(self._target.name, "Google did not answer", "it is tried again")
            return settling.settle(nonce, answer)
        except TargetError as error:
            if answer is None and error.outcome is TransactionOutcome.NOT_DONE and "did not answer" in str(error):
                raise
            raise TargetError(_unverified(self._target.name), TransactionOutcome.UNKNOWN) from error
        except ConnectorError as error:
            raise TargetError(_unverified(self._target.name), TransactionOutcome.UNKNOWN) from error

    def _end_as(self, settled: Settled) -> None:
        if settled.was_made is None:
            raise TargetError(_unverified(self._target.name), TransactionOutcome.UNKNOWN)
        if not settled.was_made:
            outcome = TransactionOutcome.TERMINAL if settled.is_final else TransactionOutcome.NOT_DONE
            remedy = "change it by hand" if settled.is_final else "it is tried again"
            raise not_changed(self._target.name, settled.reason, remedy, outcome)

    def _settling(self) -> Settling:
        return Settling(self._writer, self._read, _nonce)

    def _write(self, before: Ledger, after: Ledger, requests: list[ledgers.Request]) -> None:
        try:
            self._writer.write(before, after, requests)
        except (Overtaken, WriteLost):
            sentence = (
                f"Source {self._target.name!r} was changed by another process at the same moment; it is asked again"
            )
            raise TargetError(sentence, TransactionOutcome.UNKNOWN) from None

    # The spreadsheet

    def _read(self, sheets: Iterable[int]) -> Book:
        try:
            return self._target.book((), sheets)
        except TargetRefused:
            raise
        except ConnectorError as error:
            raise as_not_done(error) from error

    def _load(self, tables: set[str]) -> None:
        """Read the spreadsheet again if a table is missing. Settles a change that another process left first."""
        if self._book is not None and tables <= set(self._book.tables):
            return
        wanted = tables | set(self._book.tables if self._book else ())
        try:
            book = self._target.book(wanted)
            if book.ledger is not None and book.ledger.pending is not None:
                self._settling().settle(book.ledger.pending.nonce)
                book = self._target.book(wanted)
        except (TargetError, TargetRefused):
            raise
        except ConnectorError as error:
            raise as_not_done(error) from error
        if self._rows and self._book != book:
            self._must_be_same(book)
        self._book = book

    def _must_be_same(self, book: Book) -> None:
        """Raise a TargetError unless the locked rows are as they were read before."""
        for (title, place), row in self._rows.items():
            if title not in book.tables or book.tables[title].cells(place) != row.table.cells(place):
                raise not_changed(self._target.name, "it changed while it was read", "it is tried again")

    def _loaded(self) -> Book:
        self._load(set())
        assert self._book is not None  # noqa: S101 - it was loaded
        return self._book

    def _ledger(self, tables: Iterable[str]) -> Ledger:
        self._load(set(tables))
        ledger = self._loaded().ledger
        if ledger is None:
            raise not_changed(self._target.name, f"its sheet {ledgers.LEDGER!r} is gone", "it is created again")
        return ledger

    def _row(self, row: RowName) -> _LockedRow | None:
        """The record of that name, by its cells as they are now in this transaction."""
        table = self._loaded().tables[row.table]
        names = [name for name, _ in row.key]
        changed = {
            place: locked
            for (title, place), locked in self._rows.items()
            if title == row.table and set(names) & set(locked.writes)
        }
        places = [place for place in table.places(row.key) if place not in changed]
        places += [
            place
            for place, locked in changed.items()
            if [_text(locked.cells.get(name)) for name in names] == [_text(cell) for _, cell in row.key]
        ]
        if len(places) > 1:
            reason = f"several of its records have the same {', '.join(names)}"
            raise not_changed(row.table, reason, "make them unique", TransactionOutcome.CONFLICT)
        if not places:
            return None
        locked = self._rows.get((row.table, places[0]))
        if locked is None:
            locked = self._rows[row.table, places[0]] = _LockedRow(table, places[0], row.key)
        return locked

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """End the transaction after an error, except for one that ends only its savepoint."""
        if self._is_over:
            raise not_changed(self._target.name, "the transaction is over", "it is tried again")
        try:
            yield
        except BaseException as error:
            is_of_savepoint = not isinstance(error, TargetError) or error.outcome in _ENDS_SAVEPOINT
            self._is_over = not (self._depth and is_of_savepoint)
            raise


UNDELETABLE = (
    "Google Sheets cannot delete or add a row on a condition, so an edit of somebody could be lost. Use `action: set` "
    "to mark records, or `merge` with `surplus: {set: …}`"
)


def violations(changes: Sequence[Change]) -> list[Violation]:
    """The changes whose cells could not be put back exactly."""
    return [
        Violation(
            change.row,
            name,
            sentence=f"Column `{name}` of `{change.row.table}` holds what could not be written back: {reason}.",
        )
        for change in changes
        if change.before is not None and change.after
        for name in change.after
        if change.after[name] != change.before.get(name)
        and (reason := replacing.restorable(change.before.get(name))) is not None
    ]


def _entry(row: _LockedRow, ledger: Ledger) -> Entry:
    table, width = row.table, row.table.width
    cells = replacing.padded(table.grid[row.place] if row.place < len(table.grid) else [], width)
    before = table.cells(row.place)
    writes = tuple(
        Write(table.columns[name], before[name], cell) for name, cell in row.writes.items() if cell != before[name]
    )
    key = tuple((table.columns[name], cells[table.columns[name]]) for name, _ in row.key)
    return Entry(table.facts.id, row.place, width, key, ledger.digest(cells), writes)


def _settings(table: BookTable) -> dict[str, object]:
    return table.dataset.model_dump(mode="json", exclude={"sheet"})


def _nonce() -> str:
    return secrets.token_hex(8)


def _text(cell: Cell) -> str:
    return "" if cell is None else cell[1]


def _unverified(source: str) -> str:
    return f"Google Sheets did not tell if the change of source {source!r} was made as planned; it is asked again"
