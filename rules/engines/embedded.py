"""The reference engine: DuckDB in this process, in bounded memory."""

from __future__ import annotations

import contextlib
import functools
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from duckdb.func import FunctionNullHandling

from rules.engines import hashed, windowed
from rules.engines.base import (
    IdentityProblem,
    OutOfMemory,
    Readable,
    RecordCounts,
    Repeats,
    Stop,
    Streamed,
    TooManyDigits,
)
from rules.functions import render

MEMORY = "2GB"
SLICE = 8_000_000  # hashes processed on one thread at a time, 8 bytes each
_SORTERS = 2
_NULLS = FunctionNullHandling.SPECIAL
_BATCH = 1_000_000
_OVERFLOW = re.compile("Overflow in (addition|subtraction|multiplication)")
T = TypeVar("T")


class Embedded:
    """DuckDB over one set of records, inside a `with`.

    `table` names the columns to read. `memory` is DuckDB's limit (`1GB`); data that does not fit spills into `temp`.
    `stop` interrupts it.
    """

    name = "embedded"
    dialect = "duckdb"

    def __init__(
        self,
        table: sa.TableClause,
        records: Streamed | Readable,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> None:
        self._table = table
        self._columns = tuple(column.name for column in table.c)
        self._records = records
        self._memory = memory or MEMORY
        self._temp = temp
        self._stop = stop or Stop()
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
                    # Our joins look records up in a smaller set. DuckDB guesses the size of a CSV file, and would
                    # swap the sides and hash the file.
                    "disabled_optimizers": "build_side_probe_side",
                }
            )
            opened.callback(self._close)
            opened.enter_context(self._stop.reaches(self._db.interrupt))
            self._db.execute("set timezone = 'UTC'; set enable_progress_bar = false")
            self._load()
            self._exit = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()
        if isinstance(error, duckdb.OutOfRangeException) and _OVERFLOW.search(str(error)):
            raise TooManyDigits from error

    def _close(self) -> None:
        # DuckDB reports leaks when a function outlives its connection.
        for name in self._functions:
            self._db.remove_function(name)
        self._db.close()

    def append(self, reader: pa.RecordBatchReader) -> None:
        """Add batches with the columns of the schema to the streamed records."""
        self._take(reader, "insert into records by name")

    def query(self, statement: sa.Select[Any]) -> pa.Table:
        """Return the answer to any statement over the records."""
        table: pa.Table = self._db.sql(render(statement, self.dialect)).to_arrow_table()
        return table

    def tally(self, question: Repeats) -> RecordCounts:
        """Count all records by state. Raises OutOfMemory."""
        self._mark(question)
        states = {int(state): int(records) for state, records in self._rows(hashed.states())}
        if question.ids is None:
            return RecordCounts(states)
        inside = sum(records for state, records in states.items() if state not in question.outside)
        return RecordCounts(states, self._identity(question.ids, inside))

    def members(self, question: Repeats) -> pa.Table:
        """Return the columns of the records whose key repeats. Raises OutOfMemory when every way failed."""
        self._mark(question)
        find = functools.partial(self._find, question)
        return self._first_that_fits([find, functools.partial(self._on_one_thread, find)])

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

    def _find(self, question: Repeats) -> pa.Table:
        self._repeat(question)
        if not question.handle or question.over is None:
            return self.query(hashed.members(question))
        select = render(hashed.candidates(question, self.table), self.dialect)
        self._db.execute(f"create or replace temp table {hashed.CANDIDATES} as {select}")
        candidates = _candidates(self.table)
        return self.query(hashed.members(question.over(candidates)))

    def _repeat(self, question: Repeats) -> None:
        """Fill the table of repeated hashes."""
        into = "create or replace temp table repeated as "
        for hashes in self._repeating("key_hash", question.minimum):
            self._db.register("hashes", pa.table({"key_hash": hashes}))
            try:
                self._db.execute(into + render(hashed.repeated(question), self.dialect))
            finally:
                self._db.unregister("hashes")
            into = "insert into repeated "

    def _identity(self, ids: sa.Select[Any], inside: int) -> IdentityProblem:
        if not any(len(hashes) for hashes in self._repeating("handle", 2)):
            return IdentityProblem(nulls=inside - self._number(hashed.named()))
        # Two ids may share a hash, so equal hashes are only a hint: the ids themselves decide.
        rows = functools.partial(self._rows, windowed.identity(ids))
        [(_, named, different)] = self._first_that_fits([rows, functools.partial(self._on_one_thread, rows)])
        return IdentityProblem(inside - named, named - different)

    def _repeating(self, column: str, minimum: int) -> Iterator[hashed.Hashes]:
        """Yield, a few slices at a time, the hashes that at least `minimum` marks have in that column."""
        slices = _SORTERS * (1 + self._number(hashed.marked()) // (_SORTERS * SLICE))
        with ThreadPoolExecutor(_SORTERS) as sorters:
            for first in range(0, slices, _SORTERS):
                numbers = range(first, first + _SORTERS)
                arrays = [self._arrays(hashed.halves(column, slices, number)) for number in numbers]
                halves = [hashed.repeating(piece, minimum) for piece in sorters.map(hashed.one_array, arrays)]
                yield hashed.repeating(self._alike(column, slices, numbers, np.concatenate(halves)), minimum)

    def _alike(self, column: str, slices: int, numbers: Sequence[int], halves: hashed.Halves) -> hashed.Hashes:
        """Return the full hashes in those slices with these upper halves, sorted."""
        self._db.register("halves", pa.table({"half": halves}))
        try:
            hashes = np.concatenate([np.empty(0, np.uint64), *self._arrays(hashed.alike(column, slices, numbers))])
        finally:
            self._db.unregister("halves")
        hashes.sort()
        return hashes

    def _arrays(self, statement: sa.Select[Any]) -> list[hashed.Hashes]:
        reader = self._db.sql(render(statement, self.dialect)).to_arrow_reader(_BATCH)
        return [batch.column(0).to_numpy() for batch in reader]

    def _first_that_fits(self, ways: Sequence[Callable[[], T]]) -> T:
        """Return the answer of the first way that fits into memory; DuckDB stays usable after one that did not."""
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
    """Return the SQL for display."""
    texts = {
        "marks": "create temp table marks as\n" + _text(hashed.marks(question)),
        "repeated, where hashes are the key hashes that repeat among the marks, found by sorting": (
            "create temp table repeated as\n" + _text(hashed.repeated(question))
        ),
    }
    if question.handle and question.over is not None:
        candidates = _text(hashed.candidates(question, table))
        texts["candidates"] = f"create temp table {hashed.CANDIDATES} as\n{candidates}"
        question = question.over(_candidates(table))
    texts["members"] = _text(hashed.members(question))
    return tuple(f"-- {name}\n{text}" for name, text in texts.items())


def _candidates(table: sa.FromClause) -> sa.TableClause:
    return sa.table(hashed.CANDIDATES, *(sa.column(column.name, column.type) for column in table.c))


def _text(statement: sa.Select[Any]) -> str:
    return render(statement, Embedded.dialect)
