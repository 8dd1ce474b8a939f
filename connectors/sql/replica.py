"""Read from a replica, but never before it has all that its primary had committed, and from no other server.

1. The primary tells its position.
2. The replica is asked for its own until it has reached that position, for at most a minute.
3. The primary tells its position again: no replica of it can be further.

So a read finds at least what a read of the primary would have found when it began. All three are asked on the
connection that then reads, because an address may lead to several replicas.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from connectors.errors import PrimaryRefused, ReplicaBehind, ReplicaRefused
from connectors.sql import replication
from connectors.sql.errors import ErrorContext
from connectors.sql.replication import Ask, ServerState
from connectors.sql.stop import read_of
from connectors.sql.stream import translated_errors

PATIENCE = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5


@dataclass(frozen=True)
class Replica:
    """A replica and its primary, which `connect` connects to. `patience` is the seconds that a read waits."""

    place: ErrorContext
    primary_place: ErrorContext
    connect: Callable[[], AbstractContextManager[sa.Connection]]
    patience: float = field(default_factory=lambda: PATIENCE)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    @contextmanager
    def at_primary(self) -> Iterator[sa.Connection]:
        """Connect to the primary; errors in the block are errors of the primary."""
        with self.connect() as connection, translated_errors(self.primary_place, read_of(connection)):
            yield connection

    def await_on(self, connection: sa.Connection) -> None:
        """Wait until the replica of this connection has what the primary has now; ends a transaction of it."""
        if connection.dialect.name == "mysql" and not getattr(connection.dialect, "is_mariadb", False):
            raise ReplicaRefused(
                self.place.source,
                self.place.where,
                "is MySQL; Reconcile can wait only for replicas of PostgreSQL and MariaDB",
            )

        def ask(statement: str) -> Sequence[Any]:
            with translated_errors(self.place, read_of(connection)):
                connection.rollback()
                return _asked(connection, statement)

        self.await_with(ask)

    def await_with(self, ask: Ask) -> None:
        """Wait until the replica that answers has what the primary has now.

        Raises ReplicaBehind, ReplicaRefused, PrimaryRefused, and other ConnectorErrors of both servers.
        """
        stops = self.place.underway.stops
        with self.connect() as connection:

            def ask_primary(statement: str) -> Sequence[Any]:
                with translated_errors(self.primary_place, read_of(connection)):
                    return _asked(connection, statement)

            self._await(ask, ask_primary, stops)

    def _await(self, ask: Ask, ask_primary: Ask, stops: int) -> None:
        goal = self._standing(ask_primary)
        self._must_lead(goal)
        until, pause = self.clock() + self.patience, _FIRST_PAUSE
        while True:
            there = self._standing(ask)
            self._must_follow(there, goal)
            lag = replication.lacking(there.position, goal.position)
            if not lag:
                break
            if self.clock() >= until:
                words = replication.lag_in_words(self.place, lag)
                raise ReplicaBehind(self.place.source, self.place.where, words, self.patience)
            self.place.must_go_on(stops)
            self.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        later = self._standing(ask_primary)
        if replication.diverges(there.position, goal.position, later.position):
            raise self._refused(f"has changes that its primary at {self.primary_place.where} does not have")

    def _standing(self, ask: Ask) -> ServerState:
        return (replication.postgresql if self.place.dialect == "postgresql" else replication.mariadb)(ask)

    def _must_lead(self, primary: ServerState) -> None:
        where, source = self.primary_place.where, self.place.source
        if not primary.leads:
            raise PrimaryRefused(source, where, "is itself a replica, and does not report what its primary committed")
        if not primary.position:
            raise PrimaryRefused(source, where, "writes no binary log, so it has no replica")

    def _must_follow(self, there: ServerState, primary: ServerState) -> None:
        at = f"the primary at {self.primary_place.where}"
        if not there.follows:
            raise self._refused("is not a replica: it was promoted, its replication was stopped, or it never was one")
        if there.cluster != primary.cluster:
            raise self._refused(f"is a replica of a server other than {at}")
        if there.database != primary.database:
            raise self._refused(f"uses the database {there.database!r}, but {at} uses {primary.database!r}")
        if there.schemas != primary.schemas:
            schemas = f"looks up tables in the schemas {there.schemas!r}, but {at} looks in {primary.schemas!r}"
            raise self._refused(f"{schemas}: give both users the same search_path")
        if there.has_own_changes:
            raise self._refused("has changes that do not come from its primary")

    def _refused(self, reason: str) -> ReplicaRefused:
        return ReplicaRefused(self.place.source, self.place.where, reason)


def _asked(connection: sa.Connection, statement: str) -> Sequence[Any]:
    row = connection.exec_driver_sql(statement).one()
    connection.rollback()
    return row
