"""The reference engine: DuckDB in this process, in bounded memory."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
import sqlalchemy as sa
from duckdb.func import FunctionNullHandling

from rules.engines import hashed, windowed
from rules.engines.base import IdentityProblem, OutOfMemory, Readable, Repeats, Streamed, Tally
from rules.functions import render

MEMORY = "2GB"
SLICE = 1_500_000  # records whose hashes are grouped at a time; measured: larger is slower and needs more memory
_NULLS = FunctionNullHandling.SPECIAL
T = TypeVar("T")


class Embedded:
    """DuckDB over one set of records, inside a `with`.

    `table` names the columns to read. `memory` is DuckDB's limit (`1GB`); what does not fit spills into `temp`.
    """

    name = "embedded"
    dialect = "duckdb"

    def __init__(
        self, table: sa.TableClause, records: Streamed | Readable, memory: str | None = None, temp: Path | None = None
    ) -> None:
        self._table = table
        self._columns = tuple(column.name for column in table.c)
        self._records = records
        self._memory = memory or MEMORY
        self._temp = temp
        self._marked: Repeats | None = None
        self._functions: set[str] = set()
        self._exit = contextlib.ExitStack()

    @property
    def table(self) -> sa.FromClause:
        return self._table

    def __enter__(self) -> Embedded:
        with contextlib.ExitStack() as opened:
            folder = opened.enter_context(
                tempfile.TemporaryDirectory(prefix="reconcile-", dir=self._temp, ignore_cleanup_errors=True)
            )
            self._db = duckdb.connect(
                config={
                    "memory_limit": self._memory,
                    "temp_directory": folder,
                    "preserve_insertion_order": "false",
                    "autoinstall_known_extensions": "false",
                }
            )
            opened.callback(self._close)
            self._db.execute("set timezone = 'UTC'; set enable_progress_bar = false")
            self._load()
            self._exit = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()

    def _close(self) -> None:
        # DuckDB reports leaks when a function outlives its connection.
        for name in self._functions:
            self._db.remove_function(name)
        self._db.close()

    def append(self, reader: pa.RecordBatchReader) -> None:
        """Add batches with the columns of the schema to the records that streamed in."""
        self._take(reader, "insert into records by name")

    def query(self, statement: sa.Select[Any]) -> pa.Table:
        """The answer to any statement over the records, for what a question does not cover."""
        answer: pa.Table = self._db.sql(render(statement, self.dialect)).to_arrow_table()
        return answer

    def tally(self, question: Repeats) -> Tally:
        """Counts over all records. Raises OutOfMemory."""
        self._mark(question)
        states = {int(state): int(records) for state, records in self._rows(hashed.states())}
        if question.ids is None:
            return Tally(states)
        nulls = sum(n for state, n in states.items() if state not in question.outside) - self._number(hashed.named())
        return Tally(states, IdentityProblem(nulls, self._repeated_ids(question.ids)))

    def members(self, question: Repeats) -> pa.Table:
        """The columns of the records whose key repeats. Raises OutOfMemory when every way to find them did."""
        self._mark(question)
        slices = 1 + self._number(hashed.taking_part()) // SLICE
        by_hash = functools.partial(self._by_hash, question)
        by_window = functools.partial(self.query, windowed.repeated(question))
        return self._first_that_fits(
            [
                functools.partial(by_hash, slices),
                by_window,
                functools.partial(self._on_one_thread, by_window),
                functools.partial(self._on_one_thread, functools.partial(by_hash, slices * 32)),
            ]
        )

    def _load(self) -> None:
        if isinstance(self._records, Readable):
            self._db.execute(f"create temp view records as {self._records.sql(self._columns)}")
        else:
            self._take(self._records.open(self._columns), "create temp table records as")

    def _take(self, reader: pa.RecordBatchReader, into: str) -> None:
        self._db.register("arriving", reader)
        try:
            names = ", ".join('"' + name.replace('"', '""') + '"' for name in self._columns)
            self._db.execute(f"{into} select {names} from arriving")
        except duckdb.OutOfMemoryException as error:
            raise OutOfMemory(self._memory) from error
        finally:
            self._db.unregister("arriving")
        self._marked = None

    def _mark(self, question: Repeats) -> None:
        if self._marked is question:
            return
        for name, (function, arguments) in question.python.items():
            if name not in self._functions:
                self._db.create_function(name, function, ["VARCHAR"] * arguments, "VARCHAR", null_handling=_NULLS)
                self._functions.add(name)
        create = "create or replace temp table marks as " + render(hashed.marks(question), self.dialect)
        execute = functools.partial(self._db.execute, create)
        self._first_that_fits([execute, functools.partial(self._on_one_thread, execute)])
        self._marked = question

    def _by_hash(self, question: Repeats, slices: int) -> pa.Table:
        into = "create or replace temp table repeated as "
        for number in range(slices):
            self._db.execute(into + render(hashed.repeated(question, slices, number), self.dialect))
            into = "insert into repeated "
        return self.query(hashed.members(hashed.narrowed(question, self.table)))

    def _repeated_ids(self, ids: sa.Select[Any]) -> int:
        """How many records carry an id that another one before them has."""
        named = self._number(hashed.named())
        slices = 1 + named // SLICE

        def different(slices: int) -> int:
            return sum(self._number(hashed.different_ids(slices, number)) for number in range(slices))

        if (
            self._first_that_fits([functools.partial(different, slices), functools.partial(different, slices * 32)])
            == named
        ):
            return 0
        # Two ids may share a hash, so equal hashes only raise the suspicion: the ids themselves decide.
        rows = functools.partial(self._rows, windowed.identity(ids))
        [(_, whole, different_ids)] = self._first_that_fits([rows, functools.partial(self._on_one_thread, rows)])
        return int(whole) - int(different_ids)

    def _first_that_fits(self, ways: Sequence[Callable[[], T]]) -> T:
        """The answer of the first way that does not run out of memory; DuckDB stays usable after one that did."""
        failed: duckdb.OutOfMemoryException | None = None
        for way in ways:
            try:
                return way()
            except duckdb.OutOfMemoryException as error:
                failed = error
        raise OutOfMemory(self._memory) from failed

    def _on_one_thread(self, way: Callable[[], T]) -> T:
        self._db.execute("set threads = 1")
        try:
            return way()
        finally:
            self._db.execute("reset threads")

    def _rows(self, statement: sa.Select[Any]) -> list[tuple[Any, ...]]:
        return self._db.execute(render(statement, self.dialect)).fetchall()

    def _number(self, statement: sa.Select[Any]) -> int:
        [(number,)] = self._rows(statement)
        return int(number)


def statements(question: Repeats, table: sa.FromClause) -> tuple[str, ...]:
    """The SQL for people to read; slices are left out, they only repeat the grouping for a part of the hashes."""
    texts = {
        "marks": "create temp table marks as\n" + render(hashed.marks(question), Embedded.dialect),
        "repeated": "create temp table repeated as\n" + render(hashed.repeated(question, 1, 0), Embedded.dialect),
        "members": render(hashed.members(hashed.narrowed(question, table)), Embedded.dialect),
    }
    return tuple(f"-- {name}\n{text}" for name, text in texts.items())
