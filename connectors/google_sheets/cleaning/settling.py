"""Find out if a change was made as planned, and take it back if not.

The write that changes cells also copies each row into the ledger as it was at that moment. So whoever reads the ledger
later, after a kill too, can tell if a row was still the one of the plan. If it was not, what was replaced is replaced
back, in the record that was hit, and only while it holds what we wrote. That write is verified in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from connectors.google_sheets.cleaning import ledger as ledgers
from connectors.google_sheets.cleaning import replacing
from connectors.google_sheets.cleaning.book import Book
from connectors.google_sheets.cleaning.ledger import Entry, Ledger, Pending, Request, Write, untyped
from connectors.google_sheets.cleaning.writing import Answer, Overtaken, Writer
from connectors.google_sheets.client import WriteLost
from connectors.google_sheets.grid import TEXT, cell_of, quoted, result_of
from connectors.target import Cell, TargetError, TransactionOutcome

TRIES = 12
EDITED = "its rows were edited at the same moment"


@dataclass(frozen=True)
class Settled:
    """`was_made` is None if only a person can tell. `reason` is a clause; `is_final`: another try cannot help."""

    was_made: bool | None
    reason: str = ""
    is_final: bool = False


@dataclass(frozen=True)
class _Verdict:
    settled: Settled
    backs: Sequence[Entry] = ()


class Settling:
    """Settles the pending change of a spreadsheet. `read` reads these sheets and the ledger."""

    def __init__(self, writer: Writer, read: Callable[[Iterable[int]], Book], salt: Callable[[], str]) -> None:
        self._writer, self._read, self._new_nonce = writer, read, salt
        self._sheets: set[int] = set()

    def was_applied(self, nonce: str, turn: int) -> bool:
        """Tell if a write that was sent at this turn, without an answer, was made; afterwards it can't be any more.

        Raises a TargetError that is UNKNOWN if Google does not answer.
        """
        for _ in range(TRIES):
            ledger = self._ledger()
            if ledger.nonce == nonce or nonce in dict(ledger.settled) or _is_pending(ledger, nonce):
                return True
            if ledger.turn != turn:
                return False
            try:
                self._writer.write(ledger, ledger.next(self._new_nonce()), [])
            except (Overtaken, WriteLost):
                continue
            return False
        raise _unknown(self._writer.source)

    def settle(self, nonce: str, answer: Answer | None = None) -> Settled:
        """Settle this change, whose write was made. Raises a TargetError; the next call goes on."""
        reason, is_final = EDITED, False
        for _ in range(TRIES):
            book = self._book()
            ledger = book.ledger
            if ledger is None:
                raise _unknown(self._writer.source)
            if ledger.pending is None or ledger.pending.nonce != nonce:
                return Settled(dict(ledger.settled).get(nonce), reason, is_final)
            verdict = self._verdict(book, ledger, ledger.pending, answer)
            answer = None
            if verdict.settled.reason:
                reason, is_final = verdict.settled.reason, verdict.settled.is_final
            backs = [entry for entry in map(_Located(book), verdict.backs) if entry is not None]
            try:
                if backs:
                    answer = self._take_back(book, ledger, ledger.pending, backs)
                else:
                    self._finish(ledger, ledger.pending, verdict.settled.was_made)
                    return Settled(verdict.settled.was_made, reason, is_final)
            except (Overtaken, WriteLost):
                continue
        raise _unknown(self._writer.source)

    def _verdict(self, book: Book, ledger: Ledger, pending: Pending, answer: Answer | None) -> _Verdict:
        if pending.phase == "apply":
            return _applied(book, ledger, answer)
        return _taken_back(ledger.entries, answer)

    def _take_back(self, book: Book, ledger: Ledger, pending: Pending, backs: Sequence[Entry]) -> Answer:
        first = pending.entries[0]
        rows = first, first + len(backs)
        after = ledger.next(self._new_nonce(), pending=replace(pending, phase="back", entries=rows))
        columns = ledgers.COPY + max(entry.width for entry in backs)
        requests: list[Request] = [
            *ledgers.room(ledger, rows[1], columns),
            *ledgers.emptied(ledger, pending.entries),
            ledgers.text_rows(first, [("w", entry.to_json()) for entry in backs]),
            *(replacing.copied(entry, first + n) for n, entry in enumerate(backs)),
        ]
        return self._writer.replace(ledger, after, requests, backs, ranges_of(book, backs))

    def _finish(self, ledger: Ledger, pending: Pending, was_made: bool | None) -> None:  # noqa: FBT001 - an outcome
        after = ledger.next(self._new_nonce()).with_settled(pending.nonce, was_made=was_made)
        requests = ledgers.emptied(ledger, pending.entries)
        if was_made is False:
            requests += ledgers.emptied(ledger, pending.receipts)
        elif was_made is None and pending.receipts[0] < pending.receipts[1]:
            own = list(ledger.receipts.values())[pending.receipts[0] - pending.receipts[1] :]
            requests.append(ledgers.text_rows(pending.receipts[0], [ledgers.receipt_row(each, "u") for each in own]))
        self._writer.write(ledger, after, requests)

    def _ledger(self) -> Ledger:
        ledger = self._read(()).ledger
        if ledger is None:
            raise _unknown(self._writer.source)
        return ledger

    def _book(self) -> Book:
        """The spreadsheet with all sheets of the pending change."""
        while True:
            book = self._read(self._sheets)
            sheets = {entry.sheet for entry in book.ledger.entries} if book.ledger else set()
            if sheets <= self._sheets:
                return book
            self._sheets |= sheets


def ranges_of(book: Book, entries: Sequence[Entry]) -> list[str]:
    """The changed rows in A1 notation."""
    titles = {sheet.id: sheet.title for sheet in book.sheets}
    changed = dict.fromkeys((entry.sheet, entry.row) for entry in entries if entry.writes)
    return [f"{quoted(titles[sheet])}!{row + 1}:{row + 1}" for sheet, row in changed if sheet in titles]


def _applied(book: Book, ledger: Ledger, answer: Answer | None) -> _Verdict:
    """Judge the change by the rows as they were when it was made."""
    is_same = all(ledger.digest(entry.copy) == entry.digest for entry in ledger.entries)
    backs: list[Entry] = []
    problem, unclear = "", False
    for entry in ledger.entries:
        for write in entry.writes:
            is_met, now, is_clear = _outcome(book, entry, write, answer)
            if not is_met:
                problem = problem or "Google Sheets did not find the content of a cell that was as planned"
                continue
            unclear = unclear or not is_clear
            if is_clear and now != untyped(write.new):
                problem = "Google Sheets read a value as something else than planned"
            backs.append(_back(entry, Write(write.column, now if answer else write.new, write.old)))
    if is_same and not problem:
        return _Verdict(Settled(was_made=None if unclear else True))
    return _Verdict(Settled(was_made=False, reason=problem if is_same else EDITED, is_final=is_same), backs)


def _outcome(book: Book, entry: Entry, write: Write, answer: Answer | None) -> tuple[bool, Cell, bool]:
    """Tell if the cell was replaced, what it held then, and if that is clear."""
    if answer is not None:
        cell = answer.cell(entry, write)
        now = untyped(result_of(cell))
        if now is not None and now != untyped(write.new):
            now = TEXT, str(cell.get("formattedValue", now[1]))
        return answer.was_replaced(entry, write), now, True
    if untyped(entry.copied(write.column)) != untyped(write.old):
        return False, None, True
    row = _Located(book).row(entry.sheet, entry.row, _key_now(entry), write.column, write.new)
    now = untyped(result_of(book.cell(entry.sheet, row, write.column))) if row is not None else None
    if row is not None and now == untyped(write.new):
        return True, now, True
    elsewhere = _Located(book).row(entry.sheet, entry.row, entry.copied_key, write.column, write.old)
    return (False, None, True) if elsewhere is not None else (True, now, False)


def _taken_back(entries: Sequence[Entry], answer: Answer | None) -> _Verdict:
    """Judge what was replaced back: a row that was hit instead of the right one is replaced back, too."""
    backs: list[Entry] = []
    for entry in entries:
        for write in entry.writes:
            is_met = (
                answer.was_replaced(entry, write)
                if answer is not None
                else _text(entry.copied(write.column)) == _text(write.old)
            )
            if entry.is_of_key():
                continue
            if is_met:
                backs.append(_back(entry, Write(write.column, write.new, write.old)))
            backs.append(replace(entry, writes=(write,)))
    return _Verdict(Settled(was_made=False), backs)


def _back(entry: Entry, write: Write) -> Entry:
    """The entry that replaces a cell back in the record that was hit."""
    return Entry(entry.sheet, entry.row, entry.width, _key_now(entry), "", (write,))


def _key_now(entry: Entry) -> tuple[tuple[int, Cell], ...]:
    """The key of the record that was hit, after the change."""
    new = {write.column: write.new for write in entry.writes}
    return tuple((column, new.get(column, cell)) for column, cell in entry.copied_key)


class _Located:
    """Finds the record of an entry where it is now."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def __call__(self, entry: Entry) -> Entry | None:
        """The entry with the present place of its record; None if that no longer holds what was written."""
        [write] = entry.writes
        row = self.row(entry.sheet, entry.row, entry.key, write.column, write.old)
        return None if row is None else replace(entry, row=row)

    def row(self, sheet: int, near: int, key: Iterable[tuple[int, Cell]], column: int, content: Cell) -> int | None:
        """The row with this key and content, the nearest one if there are several."""
        wanted = [(place, untyped(cell)) for place, cell in key]
        grid: Sequence[Any] = self._book.grids.get(sheet, [])
        rows = [
            row
            for row in range(max(len(grid), near + 1))
            if all(untyped(result_of(self._book.cell(sheet, row, place))) == cell for place, cell in wanted)
            and self._shows(sheet, row, column, content)
        ]
        return min(rows, key=lambda row: abs(row - near), default=None)

    def _shows(self, sheet: int, row: int, column: int, content: Cell) -> bool:
        cell = self._book.cell(sheet, row, column)
        now = cell_of(cell)
        if now is None or content is None:
            return now is content
        return content[1] in (now[1], cell.get("formattedValue"))


def _text(cell: Cell) -> str:
    return "" if cell is None else cell[1]


def _is_pending(ledger: Ledger, nonce: str) -> bool:
    return ledger.pending is not None and ledger.pending.nonce == nonce


def _unknown(source: str) -> TargetError:
    sentence = f"Google Sheets did not tell if source {source!r} was changed; it is asked again"
    return TargetError(sentence, TransactionOutcome.UNKNOWN)
