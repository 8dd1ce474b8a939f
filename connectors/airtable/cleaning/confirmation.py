"""Find out what a change of ours replaced, and take it back if that was not what was locked.

Each update of ours has the change's nonce in the field of receipts. So in Airtable's list of changes, all updates
without it are other people's: what they wrote last is what belongs into a cell of a change that is taken back.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from connectors.airtable import pages, values
from connectors.airtable.cleaning import changes
from connectors.airtable.cleaning.changes import POLLS, Forgotten, History, RecordChange
from connectors.airtable.cleaning.receipts import ChangeNote, digest, notes_in, with_note, without_note
from connectors.airtable.client import AirtableClient, Json
from connectors.airtable.failures import GONE, Failure, before_change, in_words
from connectors.airtable.schema import AirtableTable
from connectors.errors import ConnectorError
from connectors.target import TargetError, TransactionOutcome

ROUNDS = 12
"""How often a value is put back if people go on editing in the same moment."""
FilledRecords = Mapping[str, Mapping[str, Any]]
"""The values of records by the ids of records and fields."""


class Verdict(enum.Enum):
    KEPT = "kept"  # it replaced what was locked
    ABSENT = "absent"  # no record has its receipt
    TAKEN_BACK = "taken_back"  # it replaced something else, which is in the records again
    ALTERED = "altered"  # Airtable stored other values than we sent, so it was taken back
    PENDING = "pending"  # Airtable's list does not have it yet
    FORGOTTEN = "forgotten"  # Airtable's list no longer has it


@dataclass(frozen=True)
class _CellsToRestore:
    """Of one record, by field: `theirs` is what belongs into the cells, `ours` what we wrote there last.

    `backs` is the number of the last update that began to put `theirs` back.
    """

    theirs: Mapping[str, Any]
    ours: Mapping[str, Any]
    backs: int


@dataclass
class Confirmation:
    """What became of one change. `planned` are the values that were sent, known only to the process that sent them."""

    client: AirtableClient
    table: AirtableTable
    note: ChangeNote
    planned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def settle(self, *, is_sent_now: bool = False) -> Verdict:
        """Return what became of the change. `is_sent_now`: it was sent a moment ago, so the list may lack it yet.

        Raises a TargetError, which is UNKNOWN if the change may have been made.
        """
        try:
            return self._settle(waits=is_sent_now)
        except Failure as failure:
            error = in_words(self.client.name, failure)
            raise (self._unknown(str(error)) if is_sent_now else before_change(error)) from None
        except TargetError:
            raise
        except ConnectorError as error:
            raise (self._unknown(str(error)) if is_sent_now else before_change(error)) from error

    def _settle(self, *, waits: bool) -> Verdict:
        applied = self._applied()
        if not applied:
            return Verdict.ABSENT
        try:
            history = self._history(dict.fromkeys(applied, 0), waits=waits)
        except Forgotten:
            return Verdict.FORGOTTEN
        if history is None:
            return Verdict.PENDING
        replaced = {key: change for key in applied if (change := self._change_of(history, key)) is not None}
        is_whole = set(applied) == set(self.note.records) and not any(note.backs for note in applied.values())
        is_as_planned = self._is_as_planned(replaced)
        if is_whole and is_as_planned and self._is_as_locked(replaced) and self._guards_stayed(history):
            return Verdict.KEPT
        self._take_back(max(note.backs for note in applied.values()))
        return Verdict.TAKEN_BACK if is_as_planned else Verdict.ALTERED

    def mark_unsure(self) -> None:
        """Note that a person is asked, so that the next look takes the change as made. Raises a TargetError."""
        unsure = replace(self.note, is_unsure=True)
        try:
            current = self._current()
            self._change(
                {key: with_note(self._text(current[key]), unsure) for key in self._applied() if key in current}
            )
        except Failure as failure:
            raise self._unknown(str(in_words(self.client.name, failure))) from None

    # What became of it

    def _applied(self) -> dict[str, ChangeNote]:
        """The records that have its receipt, each with the note in it."""
        by_record = {key: notes_in(self._text(filled)) for key, filled in self._current().items()}
        return {key: note for key, notes in by_record.items() for note in notes if note.nonce == self.note.nonce}

    def _current(self) -> FilledRecords:
        listed = pages.by_ids(self.client, self.table, self.note.records)
        return {key: filled for page in listed for key, filled in page}

    def _text(self, filled: Mapping[str, Any]) -> Any:
        assert self.table.notes is not None  # noqa: S101 - a cleaned table has the field
        return filled.get(self.table.notes.id)

    def _history(self, backs: Mapping[str, int], *, waits: bool) -> History | None:
        """The changes since ours was prepared, once the list has the update of ours with that number for each of these
        records; None if it does not have them yet. Raises Failure, Forgotten."""
        records = [*self.note.records, *self.note.guards]
        for pause in (0.0, *(POLLS if waits else ())):
            if pause >= self.client.left:
                return None
            self.client.wait(pause)
            try:
                history = changes.history(self.client, self.table, self.note.place, records)
            except Failure as failure:
                if failure.status in (401, 403, 404, 422):
                    raise Forgotten from None
                raise
            if all(number in self._updates(history, key) for key, number in backs.items()):
                return history
        return None

    def _updates(self, history: History, record: str) -> set[int]:
        """The numbers of our updates of a record; 0 is the change itself."""
        notes = (self._note_in(change) for key, change in history if key == record)
        return {note.backs for note in notes if note is not None}

    def _note_in(self, change: RecordChange | None) -> ChangeNote | None:
        """Our note if the change wrote it: then it is our update."""
        notes = [] if change is None else notes_in(self._text(change.current))
        return next((note for note in notes if note.nonce == self.note.nonce), None)

    def _change_of(self, history: History, record: str) -> RecordChange | None:
        return next((change for key, change in history if key == record and self._note_in(change) is not None), None)

    def _is_as_locked(self, replaced: Mapping[str, RecordChange]) -> bool:
        """Return True if each record was as it was locked when it was changed."""
        images = {key: changes.image(self.table, change.before) for key, change in replaced.items()}
        return {key: digest(self.note.nonce, image) for key, image in images.items()} == dict(self.note.before)

    def _is_as_planned(self, replaced: Mapping[str, RecordChange]) -> bool:
        return all(
            values.plain(self._field(name), change.after.get(name)) == value
            for key, change in replaced.items()
            for name, value in self.planned.get(key, {}).items()
        )

    def _guards_stayed(self, history: History) -> bool:
        """Return True if nobody edited the records that had to stay as they were, before they changed."""
        stored = {item.id for item in self.table.stored}
        for key, change in history:
            if self._note_in(change) is not None:
                return True
            if key in self.note.guards and (change is None or not stored.isdisjoint(change.current)):
                return False
        return True

    # How it is taken back

    def _take_back(self, number: int) -> None:
        """Put what people wrote into the cells that we set, and remove the receipts. `number` updates of ours that did
        so are in the records already.

        An update that puts a value back can itself overwrite an edit. The list tells, so that edit is put back next.
        Raises a TargetError that is UNKNOWN if that has no end in time, or if Airtable does not answer.
        """
        updated = self._with_note(number)
        for _ in range(ROUNDS):
            try:
                history = self._history(dict.fromkeys(updated, number), waits=True)
            except Forgotten:
                history = None
            if history is None:
                raise self._unknown("Airtable does not tell yet what people wrote meanwhile")
            current = self._current()
            bodies = self._bodies(history, current)
            if not bodies:
                if self._remove_notes(current):
                    return
                continue
            number += 1
            text = replace(self.note, backs=number)
            self._change({key: with_note(self._text(current[key]), text) for key in bodies}, bodies)
            updated = self._with_note(number)
        raise self._unknown("people edit its records again and again")

    def _with_note(self, number: int) -> list[str]:
        """The records whose note has that number."""
        return [key for key, note in self._applied().items() if note.backs == number]

    def _bodies(self, history: History, current: FilledRecords) -> dict[str, Json]:
        """The values to put back, by record and field: of cells that hold what we wrote, not of those edited since."""
        bodies: dict[str, Json] = {}
        for key in self.note.records:
            restoring = self._restoring([change for record, change in history if record == key])
            filled = current.get(key)
            if filled is None or restoring is None:
                continue
            now = {name: values.plain(self._field(name), filled.get(name)) for name in restoring.theirs}
            wrong = {
                name: _json(self._field(name).kind, value)
                for name, value in restoring.theirs.items()
                if now[name] != value and now[name] == restoring.ours.get(name)
            }
            if wrong:
                bodies[key] = wrong
        return bodies

    def _restoring(self, of_record: Sequence[RecordChange | None]) -> _CellsToRestore | None:
        """Fold the changes of a record from ours on; None if ours is not among them."""
        names = [name for name in self.note.fields if any(item.id == name for item in self.table.fields)]
        restoring: _CellsToRestore | None = None
        for change in of_record:
            if change is None:
                continue
            note = self._note_in(change)
            written = {
                name: values.plain(self._field(name), change.current[name]) for name in names if name in change.current
            }
            if restoring is None:
                if note is not None:
                    before = {name: values.plain(self._field(name), change.before.get(name)) for name in names}
                    after = {name: values.plain(self._field(name), change.after.get(name)) for name in names}
                    restoring = _CellsToRestore(before, after, note.backs)
            elif note is not None:
                restoring = replace(restoring, ours={**restoring.ours, **written}, backs=note.backs)
            else:
                restoring = replace(restoring, theirs={**restoring.theirs, **written})
        return restoring

    def _remove_notes(self, current: FilledRecords) -> bool:
        """Remove our note from the records; False if one of them was deleted meanwhile."""
        by_record = {key: self._text(filled) for key, filled in current.items()}
        texts = {
            key: without_note(text, self.note.nonce)
            for key, text in by_record.items()
            if any(note.nonce == self.note.nonce for note in notes_in(text))
        }
        return self._change(texts) if texts else True

    def _change(self, texts: Mapping[str, str], cells: Mapping[str, Json] | None = None) -> bool:
        """Send an update with these texts of the field of receipts; False if a record was deleted meanwhile, so that
        nothing was changed. If its answer is lost, the records tell."""
        assert self.table.notes is not None  # noqa: S101 - a cleaned table has the field
        bodies = [
            {"id": key, "fields": {**(cells or {}).get(key, {}), self.table.notes.id: text}}
            for key, text in texts.items()
        ]
        try:
            self.client.change(self.table.id, bodies, "note the change")
        except Failure as failure:
            if failure.kind in GONE:
                return False
            if failure.is_certain:
                raise
        return True

    def _field(self, name: str) -> Any:
        return next(item for item in self.table.fields if item.id == name)

    def _unknown(self, reason: str) -> TargetError:
        sentence = f"It is not known if table {self.table.name!r} of source {self.client.name!r} was changed: {reason}"
        return TargetError(sentence, TransactionOutcome.UNKNOWN)


def _json(kind: str, value: Any) -> Any:
    """A plain value as a request sets it."""
    return False if kind == "checkbox" and value is None else value
