"""Commit a transaction: exchange each changed file for its next version, all of them as one change."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from connectors.disk.cleaning import exchange, together, versions
from connectors.disk.cleaning import notes as beside_file
from connectors.disk.cleaning.contents import NextVersion, Unwritable
from connectors.disk.cleaning.exchange import not_changed
from connectors.disk.cleaning.locked import LockedContent
from connectors.disk.cleaning.notes import Notes, Pending, Version
from connectors.disk.cleaning.opened import OpenedFiles
from connectors.errors import ConnectorError
from connectors.target import Receipt, TargetError, TransactionOutcome


@dataclass
class _Step:
    """One file of a commit. `former` are its notes before, `noted` those with the pending change."""

    name: str
    file: LockedContent
    version: NextVersion
    former: Notes
    noted: Notes

    @property
    def pending(self) -> Pending:
        assert self.noted.pending is not None  # noqa: S101 - set when the step is made
        return self.noted.pending

    def note(self, notes: Notes, *, unknown: bool = False) -> None:
        """Write these notes. Raises a TargetError: UNKNOWN if the file may have been exchanged."""
        self.file.notes = notes
        with self.file.file.failing("note the change of", unknown=unknown):
            beside_file.save(self.file.file.path, notes)


def commit(files: OpenedFiles, receipts: Mapping[str, Receipt]) -> None:
    """Make the changes of all opened files, and note the receipts. Raises a TargetError."""
    steps = _steps(files, receipts)
    _must_be_of_one_owner(steps, receipts)
    changing = [step for step in steps if step.pending.is_of_bytes]
    if not changing:
        for step in steps:
            step.note(step.noted.done())
        return
    members = [files.member(step.name, step.former, step.pending) for step in changing]
    try:
        together.replace(members, [step.version.content.data for step in changing], lambda: _note(steps))
    except TargetError as error:
        if error.outcome is not TransactionOutcome.UNKNOWN:
            for step in steps:
                if step.file.notes is step.noted:
                    step.note(step.former)
        raise
    for step in steps:
        step.note(step.noted.done(), unknown=True)
        files.target.remember(step.name, step.version.content)


def _note(steps: Sequence[_Step]) -> None:
    for step in steps:
        step.note(step.noted)
        exchange.reach("noted")


def _steps(files: OpenedFiles, receipts: Mapping[str, Receipt]) -> list[_Step]:
    by_file: dict[str, dict[str, Receipt]] = {name: {} for name, file in files.contents.items() if file.changed}
    for key, receipt in receipts.items():
        by_file.setdefault(files.target.file_of(receipt.table), {})[key] = receipt
    steps = [_step(name, files.open(name), by_file[name]) for name in by_file]
    steps = [step for step in steps if step.pending.is_of_bytes or step.pending.receipts]
    steps.sort(key=_order)
    if len(steps) > 1:
        names, name_of_change = tuple(step.name for step in steps), secrets.token_hex(8)
        for step in steps:
            version = replace(step.pending.version, together=name_of_change)
            step.noted = replace(step.noted, pending=replace(step.pending, version=version, files=names))
    return steps


def _order(step: _Step) -> tuple[int, bool, str]:
    """Files that gain records come first, and those that lose some last, so that no record is ever in neither."""
    tables = step.file.changed.values()
    loses = any(cells is None for table in tables for cells in table.changed.values())
    gains = any(number >= table.records.count for table in tables for number in table.changed)
    return 2 if loses else 0 if gains else 1, bool(step.pending.receipts), step.name


def _step(name: str, file: LockedContent, receipts: Mapping[str, Receipt]) -> _Step:
    before, version = exchange.digest(file.content.data), _next_version(file)
    ratchet = file.notes.owner[2] if file.notes.owner else 0
    pending = Pending(
        version=Version(before, exchange.digest(version.content.data), ratchet, at=versions.stamp_now()),
        receipts=receipts,
        removed=version.removed,
        keys={table_name: table.key for table_name, table in file.changed.items()},
        rows=tuple(row for table in file.changed.values() for row in table.changed_rows(file.notes)),
    )
    settings = {**file.notes.settings, **{table: locked.records.settings for table, locked in file.tables.items()}}
    return _Step(name, file, version, file.notes, replace(file.notes, pending=pending, settings=settings))


def _next_version(file: LockedContent) -> NextVersion:
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
        raise not_changed(file.file.name, reason, "check the planned values", TransactionOutcome.TERMINAL) from error


def _must_be_of_one_owner(steps: Sequence[_Step], receipts: Mapping[str, Receipt]) -> None:
    """Raise a TargetError for a file that another state cleans; the files with the receipts were looked at before."""
    stores = {receipt.store for receipt in receipts.values()}
    for step in steps:
        if step.former.owner is not None and stores and step.former.owner[0] not in stores:
            reason, remedy = "another state cleans it now", "clean it from there"
            raise not_changed(step.name, reason, remedy, TransactionOutcome.NOT_DONE)
