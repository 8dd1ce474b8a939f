"""One transaction on files: changes are collected, and `commit` exchanges each changed file for its next version."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from connectors.disk.cleaning.committing import commit
from connectors.disk.cleaning.exchange import not_changed
from connectors.disk.cleaning.locked import LockedContent, LockedTable, text_of
from connectors.disk.cleaning.opened import OpenedFiles
from connectors.disk.cleaning.together import listed
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
    """A transaction of the files of one source. It is over when its locks are given back."""

    transaction: ClassVar[None] = None

    def __init__(self, target: FileTarget, locks: ExitStack, seconds: float) -> None:
        self._target = target
        self._files = OpenedFiles(target, locks, seconds)
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

    def _receive(self, file: LockedContent, receipts: Sequence[Receipt]) -> None:
        standing = {**file.notes.receipts, **self._receipts}
        if existing := {receipt.key: standing[receipt.key] for receipt in receipts if receipt.key in standing}:
            raise ReceiptStands(existing)
        if undecided := [receipt.key for receipt in receipts if file.notes.undecided.get(receipt.key) is False]:
            answered = {**file.notes.undecided, **dict.fromkeys(undecided, True)}
            file.notes = replace(file.notes, undecided=answered)
            self._files.save(file)
            raise _undecided(file)
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
        """Exchange the files. Raises a TargetError: UNKNOWN if only the notes and the files can tell."""
        with self._going_on(), _reading():
            commit(self._files, self._receipts)
        self._is_over = True

    def _tables(self) -> Iterator[tuple[str, LockedTable]]:
        for file in self._files.contents.values():
            yield from file.tables.items()

    def _table(self, name: str) -> LockedTable:
        with _reading():
            return self._file(self._target.file_of(name)).table(name)

    def _file(self, name: str) -> LockedContent:
        with _reading():
            return self._files.open(name)

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


def _undecided(file: LockedContent) -> Undecided:
    if not file.notes.undecided_files:
        return Undecided(
            f"{file.file.name} was saved by another program while it was cleaned, and its rows do not tell if "
            "that was done; compare the rows"
        )
    names = listed(file.notes.undecided_files)
    return Undecided(
        f"{names} are changed together, and another program saved one of them meanwhile. Their rows do not tell if "
        "that was done; compare the rows"
    )


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
