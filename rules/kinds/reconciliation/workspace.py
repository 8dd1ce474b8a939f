"""The records of both sides in DuckDB: loaded once, then matched in parts of their keys."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from rules.engines.base import OutOfMemory, Readable, Stop, Streamed
from rules.engines.session import Session, is_overflow
from rules.functions import render
from rules.kinds.reconciliation.bound import BoundReconciliation
from rules.kinds.reconciliation.stored import SideTable

_HASHES = 4_000_000
"""Hashes that are sorted at a time, 8 bytes each."""


class Workspace(Session):
    """DuckDB over the records of both sides, inside a `with`. Each side has a table of its records.

    `records` are those of each dataset, or of each side.
    """

    def __init__(
        self,
        bound: BoundReconciliation,
        records: Mapping[str, Streamed | Readable] | tuple[Streamed, Streamed],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> None:
        super().__init__(memory, temp, stop)
        self._bound = bound
        self._records = records
        self.tables = tuple(SideTable(bound, side, slot) for side in bound.sides)

    def load(self) -> None:
        for table in self.tables:
            self.define(table.filled.functions)
        if isinstance(self._records, tuple):
            of_sides: Sequence[Streamed | Readable] = self._records
        elif self._bound.is_of_one_dataset:
            self._load_once(self._records[self._bound.left.relation.dataset])
            return
        else:
            of_sides = [self._records[table.side.relation.dataset] for table in self.tables]
        for table, records in zip(self.tables, of_sides, strict=True):
            if isinstance(records, Readable):
                self._fill_readable(table, records)
            else:
                with self.shown(table.source.name, records.open(table.side.needed)):
                    self._fill(table)

    def _load_once(self, records: Streamed | Readable) -> None:
        """Read a dataset that is compared with itself only once: its records may arrive only once."""
        needed = {name for side in self._bound.sides for name in side.needed}
        columns = tuple(name for name in self._bound.left.relation.schema.names if name in needed)
        if isinstance(records, Readable):
            for table in self.tables:
                self._fill_readable(table, records)
            return
        self.take(records.open(columns), columns, "create temp table both_sources as")
        for table in self.tables:
            self.execute(f"create temp view {table.source.name} as select * from both_sources")
            self._fill(table)
            self.execute(f"drop view {table.source.name}")
        self.execute("drop table both_sources")

    def _fill_readable(self, table: SideTable, records: Readable) -> None:
        try:
            self.execute(f"create temp view {table.source.name} as {records.sql(table.side.needed)}")
            self._fill(table)
        except duckdb.Error as error:
            if records.failure is None or is_overflow(error):
                raise
            raise records.failure(error) from error

    def _fill(self, table: SideTable) -> None:
        try:
            self.run(f"create temp table {table.table.name} as {self.text(table.filled.select)}")
        except duckdb.OutOfMemoryException as error:
            raise OutOfMemory(self._memory) from error

    def ids(self, table: SideTable, records: int) -> tuple[int, int]:
        """Return the number of records with an id, and of different ids.

        Sorting hashes as integers takes less memory than counting ids. Two ids may share a hash, so equal hashes are
        only a hint.
        """
        slices = 1 + records // _HASHES
        named, repeats = 0, False
        for number in range(slices):
            hashes = np.sort(self.query(table.id_hashes(number, slices))["hashed"].to_numpy())
            named += len(hashes)
            repeats = repeats or bool((hashes[1:] == hashes[:-1]).any())
        if not repeats:
            return named, named
        [(different,)] = self.rows(table.different_ids())
        return named, int(different)

    def text(self, statement: sa.ClauseElement) -> str:
        return render(statement, self.dialect)

    def schemas(self, tables: Sequence[SideTable]) -> Sequence[pa.Schema]:
        """Return the Arrow types of both tables."""
        return [self.query(sa.select(table.table).limit(0)).schema for table in tables]
