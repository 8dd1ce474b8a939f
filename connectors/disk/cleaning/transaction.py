"""One transaction on a file: changes are collected, and `commit` exchanges the file for its next version."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from connectors.disk.cleaning import exchange
from connectors.disk.cleaning import notes as beside_file
from connectors.disk.cleaning.contents import NextVersion, Unwritable
from connectors.disk.cleaning.exchange import LockedFile, Outcome, not_changed
from connectors.disk.cleaning.locked import LockedContent, LockedTable, outcome_by_rows, text_of
from connectors.disk.cleaning.notes import Notes, Pending, Version
from connectors.errors import ConnectorError
from connectors.target import (
    Cell,
    Change,
    Image,
    Receipt,
    ReceiptStands,
    Reference,
    Row,
    RowName,
    TargetError,
    TargetRefused,
    TransactionOutcome,
    Undecided,
    Unplanned,
    Violation,
)

if TYPE_CHECKING:
    from connectors.disk.cleaning.target import FileTarget

_ENDS_SAVEPOINT = (TransactionOutcome.CONFLICT, TransactionOutcome.TERMINAL)


class FileWork:
    """A transaction of one file; other files can only be looked at. It is over when its locks are given back."""

    transaction: ClassVar[None] = None

    def __init__(self, target: FileTarget, locks: ExitStack, seconds: float) -> None:
        self._target, self._locks = target, locks
        self._end = time.monotonic() + seconds
        self._files: dict[str, LockedContent] = {}
        self._receipts: dict[str, Receipt] = {}
        self._depth = 0
        self._is_over = False

    def hold(self, tables: Sequence[str]) -> dict[str, str]:
        del tables
        return {}

    def lock(self, rows: Sequence[RowName]) -> dict[RowName, Row]:
        with self._going_on():
            current = {}
            self._look_up(rows)
            for row in sorted(rows, key=lambda row: row.table):
                table = self._table(row.table)
                if (number := table.number_of(row)) is not None:
                    current[row] = Row(row, dict(table.cells(number)))
            return current

    def _look_up(self, rows: Sequence[RowName]) -> None:
        by_table = defaultdict(list)
        for row in rows:
            by_table[row.table].append(row)
        for name in sorted(by_table):
            self._table(name).look_up(by_table[name])

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]], *, lock: bool) -> list[Row]:
        del lock  # the whole file is locked
        with self._going_on():
            return self._table(reference.table).referring(reference, to)

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        del changes
        return []

    def receive(self, receipts: Sequence[Receipt]) -> None:
        with self._going_on():
            by_file = defaultdict(list)
            for receipt in receipts:
                by_file[self._target.file_of(receipt.table)].append(receipt)
            for name in sorted(by_file):
                self._receive(self._file(name), by_file[name])
            self._must_be_one_file()

    def _receive(self, file: LockedContent, receipts: Sequence[Receipt]) -> None:
        standing = {**file.notes.receipts, **self._receipts}
        if existing := {receipt.key: standing[receipt.key] for receipt in receipts if receipt.key in standing}:
            raise ReceiptStands(existing)
        if undecided := [receipt.key for receipt in receipts if file.notes.undecided.get(receipt.key) is False]:
            answered = {**file.notes.undecided, **dict.fromkeys(undecided, True)}
            file.notes = replace(file.notes, undecided=answered)
            self._save(file)
            raise Undecided(
                f"{file.file.name} was saved by another program while it was cleaned, and its rows do not tell if "
                "that was done; compare the rows"
            )
        owner = file.notes.owner
        if owner is not None and any((receipt.store, receipt.epoch) != owner[:2] for receipt in receipts):
            raise not_changed(
                file.file.name, "another state cleans it now", "clean it from there", TransactionOutcome.NOT_DONE
            )
        self._receipts |= {receipt.key: receipt for receipt in receipts}

    def apply(self, change: Change) -> None:
        self.apply_all([change])

    def apply_all(self, changes: Sequence[Change]) -> None:
        with self._going_on():
            self._look_up([change.row for change in changes if not change.is_guard])
            for change in changes:
                if not change.is_guard:
                    self._table(change.row.table).apply(change)
            self._must_be_one_file()

    def witness(self, changes: Sequence[Change], *, related: Sequence[str] = (), triggers: bool = False) -> FileWork:
        del changes, related, triggers
        return self

    def unplanned(self, images: Sequence[Image]) -> list[Unplanned]:
        """Nothing else writes into the version that `commit` puts in place: see connectors.target.Witness."""
        del images
        return []

    def unheld(self, images: Sequence[Image]) -> list[tuple[Image, tuple[str, ...]]]:
        wrong = []
        for image in images:
            table = self._table(image.change.row.table)
            set_, now = image.change.after or {}, image.after or {}
            number = table.number_of(image.change.row)
            columns = tuple(
                name
                for name, cell in set_.items()
                if text_of(table.fitted(number, name, cell, now)) != text_of(now.get(name))
            )
            wrong += [(image, columns)] if columns and image.after is not None else []
        return wrong

    def seal(self, receipts: Sequence[Receipt]) -> None:
        with self._going_on():
            if any(receipt.key not in self._receipts for receipt in receipts):
                reason = "a receipt of this transaction is missing"
                raise not_changed(self._target.name, reason, "it is tried again", TransactionOutcome.NOT_DONE)
            self._receipts |= {receipt.key: receipt for receipt in receipts}

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        with self._going_on():
            changed = {name: dict(table.changed) for name, table in self._tables()}
            receipts = dict(self._receipts)
        self._depth += 1
        try:
            yield
        except BaseException:
            for name, table in self._tables():
                table.changed = changed.get(name, {})
            self._receipts = receipts
            raise
        finally:
            self._depth -= 1

    def commit(self) -> None:
        """Exchange the file. Raises a TargetError: UNKNOWN if only the notes and the file can tell."""
        with self._going_on():
            for name in self._must_be_one_file():
                self._exchange(self._files[name])
        self._is_over = True

    def _exchange(self, file: LockedContent) -> None:
        before = exchange.digest(file.content.data)
        version = self._next_version(file)
        after = exchange.digest(version.content.data)
        ratchet = file.notes.owner[2] if file.notes.owner else 0
        keys = {name: table.key for name, table in file.changed.items()}
        rows = tuple(row for table in file.changed.values() for row in table.changed_rows(file.notes))
        pending = Pending(Version(before, after, ratchet), self._receipts, version.removed, keys, rows)
        former = file.notes
        settings = {**former.settings, **{name: table.records.settings for name, table in file.tables.items()}}
        noted = replace(former, pending=pending, settings=settings)

        def note() -> None:
            file.notes = noted
            beside_file.save(file.file.path, noted)

        try:
            if after != before:
                file.file.replace(before, version.content.data, note, former.is_former)
        except TargetError as error:
            if error.outcome is not TransactionOutcome.UNKNOWN and file.notes is noted:
                file.notes = former
                self._save(file)
            raise
        file.notes = (
            noted.done() if after != before else replace(former, receipts={**former.receipts, **self._receipts})
        )
        with file.file.failing("note the change of", unknown=after != before):
            beside_file.save(file.file.path, file.notes)
        self._target.remember(file.file.name, version.content)

    def _next_version(self, file: LockedContent) -> NextVersion:
        if not file.changed:
            return NextVersion(file.content, {})
        edits = {
            name: table.edits(file.notes.digest_of, file.notes.removed.get(name, ()))
            for name, table in file.changed.items()
        }
        try:
            return file.content.next_version(edits)
        except (Unwritable, ConnectorError) as error:
            reason = str(error) if isinstance(error, Unwritable) else "it could not be read afterwards"
            raise not_changed(
                file.file.name, reason, "check the planned values", TransactionOutcome.TERMINAL
            ) from error

    def _must_be_one_file(self) -> set[str]:
        """The file that changes, if any. Raises a TargetError for two: they cannot be exchanged in one step."""
        names = {name for name, file in self._files.items() if file.changed}
        names |= {self._target.file_of(receipt.table) for receipt in self._receipts.values()}
        if len(names) > 1:
            reason = "another file would have to change in the same step"
            raise not_changed(max(names), reason, "it is done alone", TransactionOutcome.NOT_DONE)
        return names

    def _tables(self) -> Iterator[tuple[str, LockedTable]]:
        for file in self._files.values():
            yield from file.tables.items()

    def _table(self, name: str) -> LockedTable:
        with _reading():
            return self._file(self._target.file_of(name)).table(name)

    def _file(self, name: str) -> LockedContent:
        if name not in self._files:
            with _reading():
                self._files[name] = self._read(name)
        return self._files[name]

    def _read(self, name: str) -> LockedContent:
        path = self._target.path(name)
        file = self._locks.enter_context(LockedFile(path, name, self._end - time.monotonic()))
        notes = beside_file.load(path)
        settled = self._settled(file, notes)
        content = LockedContent(file, self._target.version(name, file.read()), settled)
        if settled is not notes:
            self._save(content)
        return content

    def _settled(self, file: LockedFile, notes: Notes) -> Notes:
        """Find out about a change that a process began and did not finish."""
        pending = notes.pending
        if pending is None:
            file.tidy()
            return notes

        def ask_rows(data: bytes) -> Outcome | None:
            return outcome_by_rows(self._target.version(file.name, data), notes, pending)

        outcome = file.settle(pending.version.before, pending.version.after, ask_rows)
        if outcome is None:
            return notes.unknown()
        return notes.done() if outcome == "done" else notes.not_done()

    def _save(self, file: LockedContent) -> None:
        with file.file.failing("note the change of"):
            beside_file.save(file.file.path, file.notes)

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """End the transaction after an error, except for one that ends only its savepoint."""
        if self._is_over:
            reason = "the transaction is over"
            raise not_changed(self._target.name, reason, "it is tried again", TransactionOutcome.NOT_DONE)
        try:
            yield
        except BaseException as error:
            is_of_savepoint = not isinstance(error, TargetError) or error.outcome in _ENDS_SAVEPOINT
            self._is_over = not (self._depth and is_of_savepoint)
            raise


@contextmanager
def _reading() -> Iterator[None]:
    """Raise a TargetError if a file cannot be read: nothing was changed."""
    try:
        yield
    except (TargetError, TargetRefused):
        raise
    except ConnectorError as error:
        sentence = f"{str(error).rstrip('.')}. Nothing was changed"
        raise TargetError(sentence, TransactionOutcome.NOT_DONE) from error
