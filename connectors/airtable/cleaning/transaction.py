"""One transaction of a base: `commit` changes up to ten records of a table by one request, and checks what it replaced.

Airtable has no conditional update. So the change writes its receipts into the records that it sets, and afterwards
Airtable's list of changes tells what it replaced. If that is not what was locked, the change is taken back: what a
person wrote meanwhile is in the record again, and nothing was done.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from connectors.airtable import pages, values
from connectors.airtable.cleaning import changes
from connectors.airtable.cleaning.changes import Place
from connectors.airtable.cleaning.confirmation import Confirmation, Verdict
from connectors.airtable.cleaning.receipts import MOST_CHARACTERS, ChangeNote, digest, with_note
from connectors.airtable.client import RECORDS_AT_ONCE, Json
from connectors.airtable.failures import Failure, before_change, in_words, of_change
from connectors.airtable.pages import Record
from connectors.airtable.schema import RECORD, AirtableField, AirtableTable
from connectors.errors import ConnectorError
from connectors.target import (
    Cell,
    Cells,
    Change,
    Image,
    Receipt,
    ReceiptStands,
    Reference,
    Row,
    RowName,
    RowsDiffer,
    TargetError,
    TransactionOutcome,
    Undecided,
    Unplanned,
    Violation,
)

if TYPE_CHECKING:
    from connectors.airtable.cleaning.target import AirtableTarget

MARGIN = 1.0
"""Seconds of a transaction that must be left to send its change."""
_ENDS_SAVEPOINT = (TransactionOutcome.CONFLICT, TransactionOutcome.TERMINAL)


class AirtableWork:
    """A transaction of one table. Changes are collected; nothing is sent before `commit`."""

    transaction: ClassVar[None] = None

    def __init__(self, target: AirtableTarget) -> None:
        self._target, self._client = target, target.client
        self._table: AirtableTable | None = None
        self._records: dict[str, Record | None] = {}
        """The records as they were locked, by id; None for a missing one."""
        self._place: Place | None = None
        """The place in the list of changes before they were."""
        self._changed: dict[str, Cells] = {}
        """The cells to set, by the id of the record."""
        self._receipts: dict[str, Receipt] = {}
        self._depth = 0
        self._is_over = False

    def hold(self, tables: Sequence[str]) -> dict[str, str]:
        del tables
        return {}

    def lock(self, rows: Sequence[RowName]) -> dict[RowName, Row]:
        from connectors.airtable.cleaning.target import cells_of, row_name  # noqa: PLC0415 - the module needs this one

        with self._going_on():
            for row in rows:
                self._must_be_table(row.table)
            ids = {row: _id(row) for row in rows}
            self._read([key for key in ids.values() if key not in self._records])
            current = {}
            for row, key in ids.items():
                record = self._records[key]
                if record is not None and row == row_name(self._own, key):
                    cells = {**cells_of(self._own, record), **self._changed.get(key, {})}
                    current[row] = Row(row, cells)
            return current

    def _read(self, ids: Sequence[str]) -> None:
        from connectors.airtable.cleaning.target import is_record  # noqa: PLC0415 - the module needs this one

        table = self._own
        if self._place is None and ids:  # before the records: then all later edits of them are in the list
            self._place = self._following()
        self._records |= dict.fromkeys(ids)
        wanted = [key for key in dict.fromkeys(ids) if is_record(key)]
        for page in pages.by_ids(self._client, table, wanted):
            self._records |= {record[0]: record for record in page}

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]], *, lock: bool) -> list[Row]:
        del reference, to, lock
        return []

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        del changes
        return []

    def receive(self, receipts: Sequence[Receipt]) -> None:
        with self._going_on():
            for receipt in receipts:
                self._must_be_table(receipt.table)
            standing = {key: self._receipts[key] for key in (r.key for r in receipts) if key in self._receipts}
            if standing:
                raise ReceiptStands(standing)
            self._must_be_owner(receipts)
            self._settle([receipt.key for receipt in receipts])
            self._receipts |= {receipt.key: receipt for receipt in receipts}

    def _must_be_owner(self, receipts: Sequence[Receipt]) -> None:
        owner = self._target.owner()
        if owner is not None and any((receipt.store, receipt.epoch) != owner[:2] for receipt in receipts):
            raise self._not_done("another state cleans the base now; clean it from there")

    def _settle(self, keys: Sequence[str]) -> None:
        """Find out about earlier attempts with these receipts. Raises ReceiptStands if they were done, Undecided if
        only a person can tell; takes back what was done on old evidence."""
        noted = self._target.noted(self._own, keys)
        notes = {note.nonce: note for _, note in noted.values()}
        done: dict[str, Receipt] = {}
        for note in notes.values():
            verdict = Verdict.KEPT if note.is_unsure else self._confirmation(note).settle()
            if verdict is Verdict.FORGOTTEN:
                self._confirmation(note).mark_unsure()
                raise Undecided(
                    f"A change of table {self._own.name!r} of source {self._target.name!r} was made, but Airtable no "
                    "longer tells if an edit in that moment was overwritten; compare the record's history"
                )
            if verdict is Verdict.PENDING:
                raise self._unknown("its list of changes does not tell yet what the change replaced")
            if verdict is Verdict.KEPT:
                done |= {receipt.key: receipt for receipt in note.receipts if receipt.key in keys}
        if done:
            raise ReceiptStands(done)

    def _confirmation(self, note: ChangeNote) -> Confirmation:
        return Confirmation(self._client, self._own, note)

    def apply(self, change: Change) -> None:
        self.apply_all([change])

    def apply_all(self, changes: Sequence[Change]) -> None:
        with self._going_on():
            for change in changes:
                if not change.is_guard:
                    self._apply(change)
            if len(self._changed) > RECORDS_AT_ONCE:
                raise self._refused(f"more than {RECORDS_AT_ONCE} records would have to change together")

    def _apply(self, change: Change) -> None:
        self._must_be_table(change.row.table)
        key = _id(change.row)
        if change.before is None or change.after is None:
            raise self._refused("its records are neither deleted nor created")
        if key not in self._records:
            self._read([key])
        if self._records[key] is None:
            raise RowsDiffer(change.row, 0)
        fitted = {name: self._fitted(name, cell) for name, cell in change.after.items()}
        self._changed[key] = {**self._changed.get(key, {}), **fitted}

    def _fitted(self, column: str, cell: Cell) -> Cell:
        """The cell as Airtable will return it. Raises a TargetError for a value that the field cannot hold."""
        field = None if column == RECORD else self._own.field(column)
        if field is None or field.is_computed:
            raise self._refused(f"field {column!r} is computed by Airtable")
        try:
            return values.cell(field, values.written(field, cell))
        except values.Unwritable as error:
            raise self._refused(f"field {column!r} cannot be set: {error}") from error

    def witness(
        self, changes: Sequence[Change], *, related: Sequence[str] = (), triggers: bool = False
    ) -> AirtableWork:
        del changes, related, triggers
        return self

    def unplanned(self, images: Sequence[Image]) -> list[Unplanned]:
        """Nothing was sent yet: `commit` looks for itself. See connectors.target.Witness."""
        del images
        return []

    def unheld(self, images: Sequence[Image]) -> list[tuple[Image, tuple[str, ...]]]:
        wrong = []
        for image in images:
            now = image.after or {}
            columns = tuple(
                name for name, cell in (image.change.after or {}).items() if self._fitted(name, cell) != now.get(name)
            )
            wrong += [(image, columns)] if columns else []
        return wrong

    def seal(self, receipts: Sequence[Receipt]) -> None:
        with self._going_on():
            if any(receipt.key not in self._receipts for receipt in receipts):
                raise self._not_done("a receipt of this transaction is missing; it is tried again")
            self._receipts |= {receipt.key: receipt for receipt in receipts}

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        with self._going_on():
            changed, receipts = dict(self._changed), dict(self._receipts)
        self._depth += 1
        try:
            yield
        except BaseException:
            self._changed, self._receipts = changed, receipts
            raise
        finally:
            self._depth -= 1

    def commit(self) -> None:
        """Send the change, and find out what it replaced. Raises a TargetError, UNKNOWN if only a later look tells."""
        with self._going_on():
            if self._changed:
                self._commit()
        self._is_over = True

    def _commit(self) -> None:
        confirmation = self._confirmation(self._note())
        confirmation.planned = {
            key: {
                field.id: values.plain(field, self._json(field.column, cell)) for field, cell in self._by_field(cells)
            }
            for key, cells in self._changed.items()
        }
        bodies = self._bodies(confirmation.note)
        if self._client.left < MARGIN:
            raise self._not_done("its time was over; it is tried again")
        lost = self._send(bodies)
        verdict = confirmation.settle(is_sent_now=True)
        if verdict is Verdict.ABSENT:
            raise lost or self._unknown("the change is not in its records yet")
        if verdict in (Verdict.PENDING, Verdict.FORGOTTEN):
            raise self._unknown("its list of changes does not tell yet what the change replaced")
        if verdict is Verdict.ALTERED:
            raise self._refused("Airtable stored other values than were planned, so they were taken back")
        if verdict is not Verdict.KEPT:
            raise self._not_done("a record was edited in the moment of its change, so the edit was kept")

    def _by_field(self, cells: Cells) -> list[tuple[AirtableField, Cell]]:
        return [(self._own.field(name), cell) for name, cell in cells.items()]

    def _send(self, bodies: Sequence[Json]) -> TargetError | None:
        """Send the change. Returns the error of a lost answer: the records tell if it arrived."""
        try:
            self._client.change(self._own.id, bodies)
        except Failure as failure:
            error = of_change(self._target.name, failure)
            if error.outcome is not TransactionOutcome.UNKNOWN:
                raise error from None
            return error
        return None

    def _bodies(self, note: ChangeNote) -> list[Json]:
        assert self._own.notes is not None  # noqa: S101 - the caller looked
        bodies: list[Json] = []
        for key, cells in self._changed.items():
            record = self._records[key]
            assert record is not None  # noqa: S101 - applying it looked
            text = with_note(record[1].get(self._own.notes.id), note)
            if len(text) > MOST_CHARACTERS:
                raise self._refused("the field with its receipts is full; shorten it")
            fields = {self._own.field(name).id: self._json(name, cell) for name, cell in cells.items()}
            bodies.append({"id": key, "fields": {**fields, self._own.notes.id: text}})
        return bodies

    def _json(self, column: str, cell: Cell) -> Any:
        return values.written(self._own.field(column), cell)

    def _note(self) -> ChangeNote:
        """The note of this change."""
        assert self._place is not None  # noqa: S101 - the records were read
        if self._own.notes is None:
            raise self._not_done("its field with the receipts is missing; it is created again")
        guards = tuple(key for key, record in self._records.items() if record is not None and key not in self._changed)
        nonce = secrets.token_hex(12)
        fields = dict.fromkeys(self._own.field(name).id for cells in self._changed.values() for name in cells)
        before = {
            key: digest(nonce, changes.image(self._own, record[1]))
            for key in self._changed
            if (record := self._records[key]) is not None
        }
        return ChangeNote(nonce, self._place, tuple(fields), before, guards, tuple(self._receipts.values()))

    def _following(self) -> Place:
        try:
            return changes.following(self._client, self._own)
        except Failure as failure:
            raise before_change(in_words(self._target.name, failure)) from None

    @property
    def _own(self) -> AirtableTable:
        assert self._table is not None  # noqa: S101 - the first row or receipt sets it
        return self._table

    def _must_be_table(self, name: str) -> None:
        if self._table is None:
            self._table = self._target.known_table(name)
        if self._table.name != name:
            raise self._not_done("a record of another table would have to change in the same step")

    def _not_done(self, reason: str) -> TargetError:
        return self._error(reason, TransactionOutcome.NOT_DONE)

    def _refused(self, reason: str) -> TargetError:
        return self._error(reason, TransactionOutcome.TERMINAL)

    def _unknown(self, reason: str) -> TargetError:
        sentence = f"It is not known if table {self._own.name!r} of source {self._target.name!r} was changed: {reason}"
        return TargetError(sentence, TransactionOutcome.UNKNOWN)

    def _error(self, reason: str, outcome: TransactionOutcome) -> TargetError:
        table = "" if self._table is None else f"Table {self._table.name!r} of source "
        return TargetError(f"{table}{self._target.name!r} was not changed: {reason}", outcome)

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """End the transaction after an error, except for one that ends only its savepoint."""
        if self._is_over:
            raise self._not_done("the transaction is over; it is tried again")
        try:
            yield
        except BaseException as error:
            is_of_savepoint = not isinstance(error, ConnectorError) or (
                isinstance(error, TargetError) and error.outcome in _ENDS_SAVEPOINT
            )
            self._is_over = not (self._depth and is_of_savepoint)
            if isinstance(error, ConnectorError) and not isinstance(error, TargetError):
                raise before_change(error) from error
            raise


def _id(row: RowName) -> str:
    return next((cell[1] for column, cell in row.key if column == RECORD and cell is not None), "")
