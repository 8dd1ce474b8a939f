"""One connection that runs a database's own SQL: no ORM, no cache, unchanged driver errors.

Cut off transactions that take too long, in any driver: one thread for all transactions of a process.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from connectors.sql.cells import TableShape
from connectors.sql.errors import ErrorContext
from connectors.sql.stop import read_of


@dataclass(frozen=True)
class StatementResult:
    """The rows of a statement, and the number of rows it touched."""

    rows: Sequence[Sequence[Any]]
    count: int


class TargetSession:
    """A connection in use. After `until`, in seconds of `time.monotonic`, it sends nothing more."""

    def __init__(self, connection: sa.Connection, place: ErrorContext, seconds: float) -> None:
        self.connection = connection
        self.is_clean = False
        """Nothing is open in it and nothing failed: it can be reused."""
        self.stamp: object = None
        self.remembered: dict[str, tuple[object, TableShape]] = {}
        """Tables as an earlier transaction found them, each with a value that changes with the table."""
        self._sent_settings = ""
        self.is_cut = False
        self.place = place
        self.until = time.monotonic() + seconds
        pooled: Any = connection.connection
        self.raw: Any = pooled.dbapi_connection
        self._cursor: Any = self.raw.cursor()
        self._describes = connection.dialect.name != "postgresql"
        module: Any = connection.dialect.loaded_dbapi
        self.errors: type[Exception] = module.Error
        if connection.dialect.name == "sqlite":
            read = read_of(connection)
            self.raw.set_progress_handler(lambda: read.ended or self.is_late, 10_000)

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.until

    @property
    def is_ended(self) -> bool:
        """Return True if it was stopped from outside."""
        return read_of(self.connection).ended

    def again(self, seconds: float) -> TargetSession:
        """The same connection with a new time limit."""
        self.until = time.monotonic() + seconds
        return self

    def cut(self) -> None:
        """End its current statement, from another thread: cancel it in the database, then cut the connection."""
        self.is_cut = True
        read_of(self.connection).end()

    def end(self) -> None:
        """Close it and roll back uncommitted changes. Ignores a broken connection."""
        try:
            self.raw.rollback()
        except self.errors:
            self.connection.invalidate()
        self.connection.close()

    def run(self, sql: str, bound: Sequence[Any] = ()) -> StatementResult:
        """Run one statement. Raises the driver's errors."""
        cursor = self._cursor
        cursor.execute(sql, tuple(bound))
        if not self._has_rows:
            return StatementResult((), cursor.rowcount)
        rows = cursor.fetchall()
        return StatementResult(rows, len(rows))

    def run_many(self, sql: str, bound: Sequence[Sequence[Any]]) -> int:
        """Run the statement with each of these parameters; return the number of rows it touched in all."""
        if sql.startswith("SELECT"):
            return sum(self.run(sql, parameters).count for parameters in bound)
        self._cursor.executemany(sql, [tuple(parameters) for parameters in bound])
        return int(self._cursor.rowcount)

    def send(self, sql: str) -> None:
        """Run statements without parameters, several at once if the driver allows it."""
        self._cursor.execute(sql)

    def ask(self, sql: str) -> Sequence[Sequence[Any]]:
        """Run several statements without parameters; return the rows of all of them."""
        self._cursor.execute(sql)
        rows: list[Sequence[Any]] = []
        while True:
            if self._has_rows:
                rows += self._cursor.fetchall()
            if not self._cursor.nextset():
                return rows

    @property
    def _has_rows(self) -> bool:
        if self._describes:
            return bool(self._cursor.description)
        return bool(self._cursor.pgresult.nfields)  # psycopg makes objects of all columns when it is asked for them

    def send_once(self, sql: str) -> None:
        """Send the settings of the session, unless they are already in force."""
        if self._sent_settings != sql:
            self.send(sql)
            self._sent_settings = sql

    def value(self, sql: str, bound: Sequence[Any] = ()) -> Any:
        """The first value of the first row; None if there is no row."""
        rows = self.run(sql, bound).rows
        return rows[0][0] if rows else None


_KEPT = 1000


class DeadlineTimer:
    """Calls back when a block does not end in time. Its thread starts with the first block, and again after a fork."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []
        self._finished: set[int] = set()
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    @contextmanager
    def within(self, seconds: float, late: Callable[[], None]) -> Iterator[None]:
        """Call `late`, once and in another thread, if the block is not over after so many seconds."""
        if self._process != os.getpid():
            self._begin()
        number = next(self._numbers)
        with self._changed:
            heapq.heappush(self._waiting, (time.monotonic() + seconds, number, late))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="time limits of targets", daemon=True)
                self._thread.start()
            elif self._waiting[0][1] == number:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._finished.add(number)
                if len(self._finished) > _KEPT:
                    self._waiting = [entry for entry in self._waiting if entry[1] not in self._finished]
                    heapq.heapify(self._waiting)
                    self._finished.clear()

    def _run(self) -> None:
        while True:
            with self._changed:
                late = self._next()
            if late is not None:
                late()

    def _next(self) -> Callable[[], None] | None:
        """The next callback that is due; None after waiting in vain."""
        while self._waiting and self._waiting[0][1] in self._finished:
            self._finished.discard(heapq.heappop(self._waiting)[1])
        if not self._waiting:
            self._changed.wait()
            return None
        seconds_left = self._waiting[0][0] - time.monotonic()
        if seconds_left > 0:
            self._changed.wait(seconds_left)
            return None
        return heapq.heappop(self._waiting)[2]


watch = DeadlineTimer()
