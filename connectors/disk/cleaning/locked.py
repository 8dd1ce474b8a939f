"""A file while a transaction works on it: the records of its tables by their key, and the cells that changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from connectors.disk.cleaning.contents import Edits, FileContent, FileTable, FormerPlace, Unwritable
from connectors.disk.cleaning.exchange import LockedFile, Outcome, not_changed
from connectors.disk.cleaning.notes import ChangedRow, Notes, Pending
from connectors.disk.cleaning.rows import is_any_of, referring, rows_of
from connectors.target import Cell, Cells, Change, Reference, Row, RowName, RowsDiffer, TransactionOutcome

Texts = tuple[str, ...]
Changed = dict[int, Cells | None]


@dataclass
class LockedTable:
    """A table of a locked file: its records, and the cells that changed, by the number of the record.

    Records that are added have numbers above those of the file.
    """

    name: str
    records: FileTable
    changed: Changed = field(default_factory=dict)
    _names: dict[int, tuple[Texts, Texts]] = field(default_factory=dict)
    """The columns and texts by which records that are added are named."""
    _numbers: dict[Texts, dict[Texts, list[int]]] = field(default_factory=dict)
    _set: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """The records in which a column was set, even if that was taken back: only these can have another name."""

    def number_of(self, row: RowName) -> int | None:
        """The number of the row's record; None if there is none. Raises a TargetError if there are several."""
        columns, key = tuple(name for name, _ in row.key), self._key(row)
        self.look_up([row])
        was_set = set[int]().union(*(self._set.get(column, ()) for column in columns))
        renamed = {number: name for number in was_set if (name := self._new_name(number, columns)) is not None}
        numbers = [number for number in self._numbers[columns][key] if number not in renamed]
        numbers += [number for number, name in renamed.items() if name == key]
        numbers += [number for number in self._added() if self._names[number] == (columns, key)]
        present = [number for number in numbers if self.changed.get(number, {}) is not None]
        if len(present) > 1:
            reason = f"several of its records have the same {', '.join(columns)}"
            raise not_changed(self.name, reason, "make them unique", TransactionOutcome.CONFLICT)
        return present[0] if present else None

    def look_up(self, rows: Iterable[RowName]) -> None:
        """Find the records of these rows in one pass."""
        wanted: dict[Texts, set[Texts]] = defaultdict(set)
        for row in rows:
            columns, key = tuple(name for name, _ in row.key), self._key(row)
            if key not in self._numbers.setdefault(columns, {}):
                wanted[columns].add(key)
        for columns, keys in wanted.items():
            numbers: dict[Texts, list[int]] = {key: [] for key in keys}
            for number, texts in enumerate(self.records.texts(columns)):
                if texts in keys:
                    numbers[texts].append(number)
            self._numbers[columns] |= numbers

    def removed_number(self, row: RowName) -> int | None:
        """The number of a record of the file that this transaction removed."""
        columns, key = tuple(name for name, _ in row.key), self._key(row)
        numbers = self._numbers.get(columns, {}).get(key, ())
        return next((number for number in numbers if self.changed.get(number, {}) is None), None)

    @property
    def key(self) -> Texts:
        """The columns by which its rows were named."""
        return next(iter(self._numbers), self.records.columns)

    def cells(self, number: int) -> Cells:
        cells = self.changed.get(number)
        return self.records.cells(number) if cells is None else cells

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        """The rows that refer to any of these cells, with the changes of this transaction. Raises TargetRefused."""
        numbers = [number for number in referring(self.records, reference, to) if number not in self.changed]
        for number, cells in self.changed.items():
            if cells is not None and is_any_of([cells.get(column) for column in reference.columns], to, self.records):
                numbers.append(number)
        existing = sorted(number for number in numbers if number < self.records.count)
        rows = rows_of(self.name, self.records, reference.key, existing)
        return [replace(row, cells=self.cells(number)) for number, row in zip(existing, rows, strict=True)]

    def apply(self, change: Change) -> None:
        """Make a change that is no guard. Raises RowsDiffer, and a TargetError for what this file cannot hold."""
        if change.before is None:
            assert change.after is not None  # noqa: S101 - a row is added with its cells
            self.add(change.row, change.after)
            return
        number = self.number_of(change.row)
        if number is None:
            raise RowsDiffer(change.row, 0)
        if change.after is None:
            self.remove(number)
        else:
            self.set(number, change.after)

    def set(self, number: int, after: Cells) -> None:
        before = self.cells(number)
        fitted = {name: self.fitted(number, name, cell, before) for name, cell in after.items()}
        self.changed[number] = {**before, **fitted}
        for name in after:
            self._set[name].add(number)

    def remove(self, number: int) -> None:
        if number < self.records.count:
            try:
                self.records.check_removal(number)
            except Unwritable as error:
                remedy = "mark the record by `set` instead"
                raise not_changed(self.name, str(error), remedy, TransactionOutcome.TERMINAL) from error
            self.changed[number] = None
        else:
            del self.changed[number]

    def add(self, row: RowName, after: Cells) -> None:
        """Add a record; it takes the place of one with the same key that this transaction removed."""
        if self.number_of(row) is not None:
            reason = "it already has a record with the id of one that would be added"
            raise not_changed(self.name, reason, "compare the two", TransactionOutcome.CONFLICT)
        number = self.removed_number(row)
        cells = {name: self.fitted(number, name, after.get(name), after) for name in self.records.columns}
        if number is None:
            number = max([self.records.count - 1, *self._names]) + 1
            self._names[number] = tuple(name for name, _ in row.key), self._key(row)
        self.changed[number] = cells

    def fitted(self, number: int | None, name: str, cell: Cell, beside: Cells) -> Cell:
        """The cell as it is written in this file. Raises a TargetError for a value that it cannot hold."""
        is_added = number is None or number >= self.records.count
        try:
            return self.records.fitted(None if is_added else number, name, cell, beside)
        except Unwritable as error:
            reason = f"a value of {name!r} cannot be written ({error})"
            raise not_changed(self.name, reason, error.remedy, TransactionOutcome.TERMINAL) from error

    def edits(self, digest_of: Callable[[Cells], str], removed: Sequence[FormerPlace]) -> Edits:
        """The changes for the next version of the file; `removed` are places of records removed earlier."""
        count = self.records.count
        changed = {number: cells for number, cells in self.changed.items() if number < count}
        added = [(cells, digest_of(cells)) for n in self._added() if (cells := self.changed[n]) is not None]
        row_of = {number: digest_of(self.records.cells(number)) for number, cells in changed.items() if cells is None}
        return Edits(self.records, changed, added, removed, row_of)

    def changed_rows(self, notes: Notes) -> tuple[ChangedRow, ...]:
        """The digests of all changed rows; a row that gets another key is missing under the former one."""
        before: dict[Texts, Cells] = {}
        after: dict[Texts, Cells] = {}
        existing = [number for number in self.changed if number < self.records.count]
        texts = dict(zip(existing, self.records.texts(self.key, existing), strict=True))
        for number, cells in self.changed.items():
            name = texts[number] if number in texts else self._names[number][1]
            if number in texts:
                before[name] = self.records.cells(number)
            if cells is not None:
                after[self._new_name(number, self.key) or name] = cells
        return tuple(
            ChangedRow(
                self.name,
                notes.digest_of_key(self.key, name),
                *(None if name not in images else notes.digest_of(images[name]) for images in (before, after)),
            )
            for name in {**before, **after}
        )

    def _new_name(self, number: int, columns: Texts) -> Texts | None:
        """The name that a change gives a record of the file; None if it keeps its own, or is removed or added."""
        cells = self.changed.get(number)
        if cells is None or number >= self.records.count:
            return None
        before = self.records.cells(number)
        if all(cells.get(column) == before.get(column) for column in columns):
            return None
        return tuple(self.records.named(cells.get(column)) for column in columns)

    def _key(self, row: RowName) -> Texts:
        return tuple(self.records.named(cell) for _, cell in row.key)

    def _added(self) -> list[int]:
        return sorted(number for number in self.changed if number >= self.records.count)


@dataclass
class LockedContent:
    """A locked file: its content, our notes about it, and the tables that a transaction asked for."""

    file: LockedFile
    content: FileContent
    notes: Notes
    tables: dict[str, LockedTable] = field(default_factory=dict)

    def table(self, name: str) -> LockedTable:
        """Raises a ConnectorError."""
        if name not in self.tables:
            self.tables[name] = LockedTable(name, self.content.table(name, self.notes.settings.get(name)))
        return self.tables[name]

    @property
    def changed(self) -> Mapping[str, LockedTable]:
        """The tables with changes."""
        return {name: table for name, table in self.tables.items() if table.changed}


def outcome_by_rows(content: FileContent | None, notes: Notes, pending: Pending) -> Outcome | None:
    """Tell by the rows if a pending change was made: all are as after it, or all as before it.

    Without content, the file is missing. Raises a ConnectorError if the file cannot be read.
    """
    present = _present_rows(content, notes, pending)
    for outcome in _OUTCOMES:
        expected = ((row, row.after if outcome == "done" else row.before) for row in pending.rows)
        if present is not None and all(
            present[row.table, row.key] == ([] if image is None else [image]) for row, image in expected
        ):
            return outcome
    return None


def outcome_by_keys(content: FileContent | None, notes: Notes, pending: Pending) -> Outcome | None:
    """As `outcome_by_rows`, but a row that comes or goes may have been edited since: it only has to be there or not.

    That is enough to know which of two files has a record.
    """
    present = _present_rows(content, notes, pending)
    for outcome in _OUTCOMES:
        if present is not None and all(_is_there(row, outcome, present[row.table, row.key]) for row in pending.rows):
            return outcome
    return None


_OUTCOMES: tuple[Outcome, ...] = ("done", "not_done")


def _is_there(row: ChangedRow, outcome: Outcome, present: Sequence[str]) -> bool:
    image = row.after if outcome == "done" else row.before
    if row.before is None or row.after is None:
        return len(present) == (0 if image is None else 1)
    return list(present) == [image]


def _present_rows(
    content: FileContent | None, notes: Notes, pending: Pending
) -> Mapping[tuple[str, str], Sequence[str]] | None:
    """The digests of all rows with the key of a changed one, by table and key; None if the key columns are missing."""
    digests: dict[tuple[str, str], list[str]] = {(row.table, row.key): [] for row in pending.rows}
    if content is None:
        return digests
    for name, columns in pending.keys.items():
        table = content.table(name, notes.settings.get(name))
        if not set(columns) <= set(table.columns):
            return None
        for number, texts in enumerate(table.texts(columns)):
            key = (name, notes.digest_of_key(columns, texts))
            if key in digests:
                digests[key].append(notes.digest_of(table.cells(number)))
    return digests


def text_of(cell: Cell) -> str:
    return "" if cell is None else cell[1]
