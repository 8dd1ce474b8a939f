"""Files as a target, whatever is in them: the facts of a table, its records by id, its owner and receipts."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from connectors.base import DatasetSettings
from connectors.disk.cleaning import exchange, keeping
from connectors.disk.cleaning import notes as beside_file
from connectors.disk.cleaning.contents import FileContent, FileTable
from connectors.disk.cleaning.exchange import LockedFile
from connectors.disk.cleaning.locked import LockedTable
from connectors.disk.cleaning.notes import Pending
from connectors.disk.cleaning.rows import referring, rows_of
from connectors.disk.cleaning.transaction import FileWork
from connectors.disk.paths import looking
from connectors.errors import ColumnMissing
from connectors.target import (
    Catalogue,
    Cell,
    Cells,
    Change,
    ColumnFacts,
    KeptVersions,
    Owned,
    Promises,
    Receipt,
    Reference,
    Row,
    RowName,
    RowsDiffer,
    TableFacts,
    TargetError,
    TargetRefused,
    Violation,
)

_SECONDS = 20.0
_MOST_CONTENTS = 3
"""Files whose content is kept in memory: those of a plan that moves records and changes references to them."""


class FileTarget(ABC):
    """The tables in the files of one source. Locks, owner, receipts and transactions belong to a file."""

    promises = Promises(writes_all=True)
    kind: ClassVar[Literal["sheet", "file"]]

    def __init__(self, name: str, read_by: dict[str, Any]) -> None:
        """`read_by` are the datasets by which the source read each table, and by which a plan is about to write it."""
        self.name = name
        self._read_by = read_by
        self._looked: tuple[tuple[str, int, int, int, int], str] | None = None
        """The state of the file whose digest was asked for last, and that digest."""
        self._last: dict[str, tuple[str, FileContent]] = {}
        """The digest and the content of the version that was read or written last, by file; of a few files."""

    @abstractmethod
    def identity(self) -> str: ...

    @abstractmethod
    def name_of(self, dataset: Any) -> str:
        """The name of the dataset's table. Raises TargetRefused, DatasetMissing."""

    def table(self, dataset: Any) -> str:
        """As `connectors.target.Target.table`; from now on, values of that table are written as this dataset says."""
        name = self.name_of(dataset)
        self._read_by[name] = dataset
        return name

    @abstractmethod
    def file_of(self, table: str) -> str:
        """The name of the file with that table."""

    @abstractmethod
    def file_name(self, dataset: Any) -> str | None:
        """The name of the file of a dataset, even if it is missing; None if no record of it can be changed."""

    @abstractmethod
    def path(self, file: str) -> Path:
        """The file of that name, without links in its path. Raises TargetRefused, DatasetMissing."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """The folder of the source, which may be out of reach."""

    @abstractmethod
    def place(self, file: str) -> Path:
        """Where a file of that name is, or would be."""

    @abstractmethod
    def content(self, file: str, data: bytes) -> FileContent:
        """A version of a file. Raises a ConnectorError, perhaps only when a table is asked for."""

    @abstractmethod
    def beside(self, dataset: Any, table: str, key: Sequence[str]) -> Catalogue:
        """The facts of another table than the dataset's. Raises TargetRefused, DatasetMissing."""

    def catalogue(
        self,
        dataset: DatasetSettings,
        soft: Sequence[Reference] = (),
        *,
        table: str | None = None,
        key: Sequence[str] = (),
    ) -> Catalogue:
        name = self.table(dataset)
        if table is not None and table != name:
            return self.beside(dataset, table, key)
        own = self._facts(name, dataset, dataset)
        links = tuple(replace(link, to_table=link.to_table or name) for link in soft)
        tables = dict(own.tables)
        for link in links:
            tables |= {} if link.table in tables else self.beside(dataset, link.table, link.key).tables
        return replace(own, tables=tables, references=links)

    def rows(self, dataset: Any, key: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> list[Row | None]:
        name = self.table(dataset)
        table = self._read(name, dataset)
        for column in key:
            if column not in table.columns:
                raise ColumnMissing(name, column, table.columns)
        wanted = {_typed(identifier): number for number, identifier in enumerate(ids) if None not in identifier}
        record_at: dict[int, int] = {}
        for record, values in enumerate(table.typed(key)):
            place = wanted.get(_typed(values))
            if place is None:
                continue
            if place in record_at:
                raise TargetRefused(
                    f"Two records of {name} have the same {', '.join(key)}, so these columns do not identify a "
                    "record. Choose a unique `id`, or correct the file"
                )
            record_at[place] = record
        rows = dict(zip(record_at, rows_of(name, table, key, list(record_at.values())), strict=True))
        return [None if (number := wanted.get(_typed(id_))) is None else rows.get(number) for id_ in ids]

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        table = self._read(reference.table, None)
        return rows_of(reference.table, table, reference.key, referring(table, reference, to))

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        del changes
        return []

    def impossible(self, dataset: Any, changes: Sequence[Change]) -> dict[RowName, str]:
        """See connectors.target.Foreseeing."""
        tables: dict[str, LockedTable] = {}
        reasons: dict[RowName, str] = {}
        for name in {change.row.table: None for change in changes}:
            tables[name] = LockedTable(name, self._read(name, dataset if name == self.table(dataset) else None))
            tables[name].look_up(change.row for change in changes if change.row.table == name)
        for change in changes:
            name = change.row.table
            try:
                tables[name].apply(change)
            except RowsDiffer:
                continue  # a row that changed since is no longer cleaned by this plan
            except TargetError as error:
                reasons[change.row] = str(error)
        return reasons

    def remembers(self, table: str = "") -> bool:
        beside_file.load(self.path(self.file_of(table)))
        return True

    def receipts(self, keys: Sequence[str], table: str = "") -> dict[str, Receipt]:
        path = self.path(self.file_of(table))
        notes = beside_file.load(path)
        receipts = dict(notes.receipts)
        if notes.pending is not None and self._is_made(path, notes.pending):
            receipts |= notes.pending.receipts
        return {key: receipts[key] for key in keys if key in receipts}

    def _is_made(self, path: Path, pending: Pending) -> bool:
        """Return True if the pending change of a file, and of all others that change with it, was made."""
        parts = {file: self.path(file) for file in pending.files} or {"": path}
        of_parts = [(part, beside_file.load(part).pending) for part in parts.values()]
        return all(
            own is not None
            and own.version.together == pending.version.together
            and exchange.digest(self._bytes(part)) == own.version.after
            for part, own in of_parts
        )

    def happened(self, transaction: str) -> bool | None:
        del transaction
        return None

    @contextmanager
    def work(self, seconds: float) -> Iterator[FileWork]:
        with ExitStack() as locks:
            yield FileWork(self, locks, seconds)

    def owned(self, table: str) -> Owned:
        path = self.path(self.file_of(table))
        return Owned(f"file:{path}", beside_file.load(path).owner_of(self._digest(path)))

    def adopt(
        self, store: str, epoch: int, ratchet: int, instead_of: tuple[str, int, int] | None, table: str = ""
    ) -> bool:
        name = self.file_of(table)
        path = self.path(name)
        with LockedFile(path, name, _SECONDS) as file:
            file.must_be_free()
            notes, now = beside_file.load(path), exchange.digest(file.read())
            if notes.owner_of(now) != instead_of:
                return False
            with file.failing("note the owner of"):
                beside_file.save(path, notes.adopted((store, epoch, ratchet), now))
            return True

    def kept_versions(self, datasets: Sequence[Any]) -> KeptVersions:
        return keeping.kept(self, datasets)

    def release_versions(
        self, datasets: Sequence[Any], until: dt.datetime | None, *, dry_run: bool = False
    ) -> KeptVersions:
        return keeping.release(self, datasets, until, dry_run=dry_run)

    def forget_rows(self, datasets: Sequence[Any], rows: Sequence[tuple[str, Cells]]) -> int:
        return keeping.forget(self, datasets, rows)

    def _facts(
        self, name: str, read_by: DatasetSettings, dataset: DatasetSettings, key: Sequence[str] = ()
    ) -> Catalogue:
        """The facts of one table, whose columns have the types that the dataset declares."""
        names = self._read(name, read_by).columns
        columns = tuple(ColumnFacts(column, dataset.columns.get(column, "text")) for column in names)
        digest = hashlib.sha256(json.dumps([(column.name, column.type) for column in columns]).encode()).hexdigest()
        return Catalogue(name, {name: TableFacts(name, columns, tuple(key), kind=self.kind)}, (), digest)

    def _read(self, table: str, dataset: DatasetSettings | None) -> FileTable:
        name = self.file_of(table)
        return self.version(name, self._bytes(self.path(name))).table(table, dataset)

    def version(self, file: str, data: bytes) -> FileContent:
        """The content of a version of a file, which is read once. Raises a ConnectorError."""
        digest, last = exchange.digest(data), self._last.get(file)
        if last is None or last[0] != digest:
            content = self.content(file, data)
            self.remember(file, content)
            return content
        return last[1]

    def remember(self, file: str, content: FileContent) -> None:
        """Keep a version that was just read or written, so that it is not read again."""
        self._last.pop(file, None)
        self._last[file] = exchange.digest(content.data), content
        while len(self._last) > _MOST_CONTENTS:
            del self._last[next(iter(self._last))]

    def _digest(self, path: Path) -> str:
        """The digest of the file, computed anew only if its inode, size or times changed."""
        with looking(self.name, path):
            status = path.stat()
        state = (str(path), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if self._looked is None or self._looked[0] != state:
            self._looked = state, exchange.digest(self._bytes(path))
        return self._looked[1]

    def _bytes(self, path: Path) -> bytes:
        with looking(self.name, path):
            return path.read_bytes()


def _typed(values: Sequence[Any]) -> tuple[tuple[type, Any], ...]:
    """An id with the types of its values: 1 and 1.0 are equal in Python, but different ids."""
    return tuple((type(value), value) for value in values)
