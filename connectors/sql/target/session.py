"""One connection that speaks a database's own words: no ORM, no cache, the driver's errors as they are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from connectors.sql.cells import Shape
from connectors.sql.errors import Place
from connectors.sql.stop import read_of


@dataclass(frozen=True)
class Answer:
    """The rows of a statement, and how many it touched."""

    rows: Sequence[Sequence[Any]]
    count: int


class Session:
    """A connection in use. `until` is when it sends nothing more, in seconds of `time.monotonic`."""

    def __init__(self, connection: sa.Connection, place: Place, seconds: float) -> None:
        self.connection = connection
        self.is_clean = False
        """Nothing is open in it and nothing went wrong: it can be used again."""
        self.stamp: object = None
        self.remembered: dict[str, tuple[object, Shape]] = {}
        """Tables as an earlier transaction found them, each with what tells quickly whether it is the same still."""
        self._said = ""
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
        """Whether somebody stopped it from outside."""
        return read_of(self.connection).ended

    def again(self, seconds: float) -> Session:
        """The same connection with time anew."""
        self.until = time.monotonic() + seconds
        return self

    def cut(self) -> None:
        """End whatever it is at, from another thread: cancelled in the database, then cut off."""
        self.is_cut = True
        read_of(self.connection).end()

    def end(self) -> None:
        """Close it; what is not committed is rolled back. Says nothing where the connection is broken."""
        try:
            self.raw.rollback()
        except self.errors:
            self.connection.invalidate()
        self.connection.close()

    def run(self, sql: str, bound: Sequence[Any] = ()) -> Answer:
        """One statement. Raises the driver's errors."""
        cursor = self._cursor
        cursor.execute(sql, tuple(bound))
        if not self._has_rows:
            return Answer((), cursor.rowcount)
        rows = cursor.fetchall()
        return Answer(rows, len(rows))

    def run_many(self, sql: str, bound: Sequence[Sequence[Any]]) -> int:
        """The same statement for each of these parameters; how many rows it touched in all."""
        if sql.startswith("SELECT"):
            return sum(self.run(sql, one).count for one in bound)
        self._cursor.executemany(sql, [tuple(one) for one in bound])
        return int(self._cursor.rowcount)

    def say(self, sql: str) -> None:
        """Statements without parameters, several at once where the driver takes that."""
        self._cursor.execute(sql)

    def ask(self, sql: str) -> Sequence[Sequence[Any]]:
        """The same, and the rows of all of them."""
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

    def say_once(self, sql: str) -> None:
        """The settings of the session, where they are not these already."""
        if self._said != sql:
            self.say(sql)
            self._said = sql

    def one(self, sql: str, bound: Sequence[Any] = ()) -> Any:
        """The first value of the first row; None where there is no row."""
        rows = self.run(sql, bound).rows
        return rows[0][0] if rows else None
