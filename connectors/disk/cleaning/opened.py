"""The files of a transaction: each is locked once, and what a process left unfinished there is settled first."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from connectors.disk.cleaning import notes as beside_file
from connectors.disk.cleaning import together
from connectors.disk.cleaning.exchange import LockedFile, Outcome, not_changed
from connectors.disk.cleaning.locked import LockedContent, outcome_by_keys, outcome_by_rows
from connectors.disk.cleaning.notes import Notes, Pending
from connectors.disk.cleaning.together import Member
from connectors.errors import DatasetMissing
from connectors.target import TransactionOutcome

if TYPE_CHECKING:
    from connectors.disk.cleaning.target import FileTarget


class OpenedFiles:
    """The files that a transaction looked at, by name. They stay locked until `locks` are given back."""

    def __init__(self, target: FileTarget, locks: ExitStack, seconds: float) -> None:
        self.target, self._locks = target, locks
        self._end = time.monotonic() + seconds
        self._locked: dict[str, LockedFile] = {}
        self.contents: dict[str, LockedContent] = {}

    def open(self, name: str) -> LockedContent:
        """Raises a ConnectorError."""
        if name not in self.contents:
            self.contents[name] = self._opened(name)
        return self.contents[name]

    def settled(self, name: str) -> tuple[LockedFile, Notes]:
        """A file whose content does not matter, or that somebody removed, with its notes. Raises a ConnectorError."""
        file = self._lock(name)
        notes = beside_file.load(file.path)
        return file, notes if notes.pending is None else self._settled(name, notes, notes.pending)

    def member(self, name: str, notes: Notes, pending: Pending) -> Member:
        """The file with its pending change, to make or to settle it."""
        version = pending.version
        rows = self._rows(name, notes, pending)
        return Member(self._lock(name), version.before, version.after, rows, notes.replaced_at)

    def _opened(self, name: str) -> LockedContent:
        file, notes = self.settled(name)
        file.tidy()
        return LockedContent(file, self.target.version(name, file.read()), notes)

    def _lock(self, name: str) -> LockedFile:
        if name not in self._locked:
            try:
                path = self.target.path(name)
            except DatasetMissing:
                path = self.target.place(name)
            self._locked[name] = self._locks.enter_context(LockedFile(path, name, self._end - time.monotonic()))
        return self._locked[name]

    def _settled(self, name: str, notes: Notes, pending: Pending) -> Notes:
        """Settle a change that a process began and did not finish, in all of its files; return the notes of this one.

        A file whose notes do not hold it any more, or not yet, is settled already, or was not begun.
        """
        own = name in pending.files or not pending.files
        if not own or any(self.target.file_of(table) != name for table in pending.keys):
            reason = "another source, which reads it from another folder, began a change of it and did not finish"
            raise not_changed(name, reason, "clean it through that source first", TransactionOutcome.NOT_DONE)
        all_notes = {file: self._notes(file) for file in pending.files if file != name} | {name: notes}
        parts = {
            file: (of_file, of_file.pending)
            for file, of_file in all_notes.items()
            if of_file.pending is not None and of_file.pending.version.together == pending.version.together
        }
        if not pending.files or set(parts) != set(pending.files):
            parts = {name: (notes, pending)}
        members = [self.member(file, *parts[file]) for file in pending.files or (name,) if file in parts]
        members = [member for member in members if member.before != member.after]
        if members:
            outcome = together.settle(members)
        else:  # only the receipts are noted here
            is_made = any(of_file.has_made(pending.version.together) for of_file in all_notes.values())
            outcome = "done" if is_made else "not_done"
        for file, (of_file, _) in parts.items():
            all_notes[file] = of_file.settled(outcome)
            self.save_notes(self._lock(file), all_notes[file])
        return all_notes[name]

    def _notes(self, name: str) -> Notes:
        return self.contents[name].notes if name in self.contents else beside_file.load(self._lock(name).path)

    def _rows(self, name: str, notes: Notes, pending: Pending) -> Callable[[bytes | None], Outcome | None]:
        def ask_rows(data: bytes | None) -> Outcome | None:
            content = None if data is None else self.target.version(name, data)
            outcome = outcome_by_rows(content, notes, pending)
            return outcome_by_keys(content, notes, pending) if outcome is None and pending.files else outcome

        return ask_rows

    def save(self, content: LockedContent) -> None:
        self.save_notes(content.file, content.notes)

    def save_notes(self, file: LockedFile, notes: Notes) -> None:
        if file.path.exists():  # the notes of a file that somebody removed wait until it is there again
            with file.failing("note the change of"):
                beside_file.save(file.path, notes)
