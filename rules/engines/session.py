"""A session of DuckDB in this process: bounded memory, a spill folder, interrupts, and functions that it calls back."""

from __future__ import annotations

import contextlib
import functools
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import duckdb
import pyarrow as pa
import sqlalchemy as sa
from duckdb.func import FunctionNullHandling

from rules.engines.base import OutOfMemory, Stop, TooManyDigits
from rules.functions import render

MEMORY = "2GB"
_NULLS = FunctionNullHandling.SPECIAL
_OVERFLOW = re.compile(
    "Overflow in (addition|subtraction|multiplication)"
    r"|Casting value .* to type DECIMAL\(38,\s*\d+\) failed: value is out of range"  # beside a fraction
)
_UNPLANNED = "BindBuiltinScalarFunction"
_UNUSED = "build_side_probe_side"
"""Our joins look records up in a smaller set. DuckDB guesses the size of a CSV file, and would swap the sides and hash
the file."""
T = TypeVar("T")


def is_overflow(error: duckdb.Error) -> bool:
    """Return True if a computation of the rule has more digits than DuckDB can hold, also beside another number."""
    return isinstance(error, duckdb.OutOfRangeException | duckdb.ConversionException) and bool(
        _OVERFLOW.search(str(error))
    )


class Session:
    """A connection to DuckDB, inside a `with`. A subclass loads its records in `load`.

    `memory` is DuckDB's limit (`1GB`); data that does not fit spills into `temp`. `stop` interrupts it.
    """

    name = "embedded"
    dialect = "duckdb"

    def __init__(self, memory: str | None = None, temp: Path | None = None, stop: Stop | None = None) -> None:
        self._memory = memory or MEMORY
        self._temp = temp
        self._stop = stop or Stop()
        self._functions: set[str] = set()
        self._exit = contextlib.ExitStack()

    def load(self) -> None:
        """Load the records; called once, when the session opens."""

    def __enter__(self) -> Self:
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
                    "disabled_optimizers": _UNUSED,
                }
            )
            opened.callback(self._close)
            opened.enter_context(self._stop.reaches(self._db.interrupt))
            self.run("set timezone = 'UTC'; set enable_progress_bar = false")
            self.load()
            self._exit = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()
        if isinstance(error, duckdb.Error) and is_overflow(error):
            raise TooManyDigits from error

    def _close(self) -> None:
        self._db.abort()  # of an answer that nobody read to its end
        # DuckDB reports leaks when a function outlives its connection.
        for name in self._functions:
            self._db.remove_function(name)
        self._db.close()

    def define(self, functions: Mapping[str, tuple[Callable[..., str | None], int]]) -> None:
        """Let DuckDB call these functions of that many texts (or None); each returns a text (or None)."""
        for name, (function, arguments) in functions.items():
            if name not in self._functions:
                self._db.create_function(name, function, ["VARCHAR"] * arguments, "VARCHAR", null_handling=_NULLS)
                self._functions.add(name)

    def take(self, reader: pa.RecordBatchReader, columns: Sequence[str], into: str) -> None:
        """Read the columns of a stream `into` a table. Raises OutOfMemory."""
        try:
            with self.shown("arriving", reader):
                names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
                self.run(f"{into} select {names} from arriving")
        except duckdb.OutOfMemoryException as error:
            raise OutOfMemory(self._memory) from error

    @contextlib.contextmanager
    def shown(self, name: str, data: pa.Table | pa.RecordBatchReader) -> Iterator[None]:
        """Let statements inside the block read `data` as a table of this name."""
        self._db.register(name, data)
        try:
            yield
        finally:
            self._db.unregister(name)

    def run(self, text: str) -> None:
        """Run a statement without rows to its end.

        Its result may still count as unfinished after `execute`, where threads wait for a processor; what is not a
        statement, like a new function, is refused until then.
        """
        self._db.execute(text)
        self._db.complete()

    def query(self, statement: sa.Select[Any]) -> pa.Table:
        """Return the answer to a statement."""
        table: pa.Table = self._db.sql(render(statement, self.dialect)).to_arrow_table()
        return table

    def rows(self, statement: sa.Select[Any]) -> list[tuple[Any, ...]]:
        """Return the answer to a statement as Python values."""
        rows = self._db.execute(render(statement, self.dialect)).fetchall()
        self._db.complete()
        return rows

    def execute(self, text: str) -> None:
        """Execute a statement, on one thread if several need too much memory. Raises OutOfMemory."""
        self.fitting(functools.partial(self.run, text))

    def fitting(self, way: Callable[[], T]) -> T:
        """Return what `way` returns, on one thread if several need too much memory. Raises OutOfMemory.

        DuckDB stays usable after a statement that did not fit, and after one that it could not plan: DuckDB 2.0 fails
        on some conditions over columns that hold nothing, by what it knows of their values.
        """
        try:
            return self._fitting(way)
        except duckdb.InvalidInputException as error:
            if _UNPLANNED not in str(error):
                raise
            self.run(f"set disabled_optimizers = '{_UNUSED},statistics_propagation'")
            return self._fitting(way)

    def _fitting(self, way: Callable[[], T]) -> T:
        failed: duckdb.OutOfMemoryException | None = None
        for attempt in (way, functools.partial(self._on_one_thread, way)):
            try:
                return attempt()
            except duckdb.OutOfMemoryException as error:
                failed = error
        raise OutOfMemory(self._memory) from failed

    def _on_one_thread(self, way: Callable[[], T]) -> T:
        self.run("set threads = 1")
        try:
            return way()
        finally:
            self.run("reset threads")
