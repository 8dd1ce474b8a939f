"""A database whose rows can be changed: the port `connectors.target` for PostgreSQL, MariaDB, MySQL and SQLite.

Changes use connections of their own, which may write; every other read uses connections that cannot.
Beside this module, `transaction` makes the changes and limits their time, `receipts` keeps our own tables, and
`outcomes` lists the outcomes of errors.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from connectors.errors import DatasetMissing, Reaction
from connectors.sql.catalogue.tables import catalogue
from connectors.sql.cells import TableShape
from connectors.sql.cleaning.dialect import Dialect
from connectors.sql.cleaning.outcomes import Phase, failed, over, target_error
from connectors.sql.cleaning.receipts import OWNER, RECEIPTS, OurTables, OwnerRow
from connectors.sql.cleaning.rows import TableShapes, TargetRecords
from connectors.sql.cleaning.session import TargetSession, watch
from connectors.sql.cleaning.transaction import SqlWork
from connectors.sql.cleaning.violations import violations
from connectors.sql.errors import ErrorContext, translated
from connectors.sql.settings import SqlDataset
from connectors.sql.stop import watched
from connectors.target import (
    Catalogue,
    Cell,
    Change,
    Owned,
    Promises,
    Receipt,
    Reference,
    Row,
    TargetError,
    TargetRefused,
    TransactionOutcome,
    Violation,
    Work,
)

_OWN_SECONDS = 40.0
"""The time limit of a transaction on our own tables."""
_KEPT_SECONDS = 20.0
_ENGINES = 8
_PARENTS: list[TargetSession] = []
_T = TypeVar("_T")
_PROBE = Receipt("reconcile.probe", "", "", 0, 0, "")


class TableNotWritable(TargetRefused):
    """Our own tables exist beside the cleaned one, but this user may not write them: they may be another state's."""

    def __init__(self, source: str, schema: str) -> None:
        super().__init__(
            f"This user cannot write {schema}.{OWNER} of source {source!r}, which records the state that cleans there; "
            f"it may be another state. Nothing is cleaned there. Clean from that state, or grant the user "
            f"SELECT, INSERT and UPDATE on {schema}.{OWNER} and {schema}.{RECEIPTS}"
        )


class SqlTarget:
    """The changing side of a SqlSource. Opens connections on demand and keeps one for the next transaction.

    `names` returns the existing datasets, for the error about a missing one.
    """

    promises = Promises()

    def __init__(
        self, url: sa.URL, root: Path, place: ErrorContext, seconds: float, names: Callable[[], Sequence[str]]
    ) -> None:
        self.name = place.source
        self._url, self._root, self._place, self._seconds = url, root, place, seconds
        self._names = names
        self._dialect = _dialect(place.dialect)
        self._engines: dict[float, sa.Engine] = {}
        self._idle: tuple[TargetSession, int, float] | None = None
        self._lock = threading.Lock()
        self._homes: dict[str, str] = {}
        """The schema of our own tables by that of the cleaned table, once they can be written there."""

    def identity(self) -> str:
        with self._reading() as session:
            schema = self._default(session)
            identity = self._dialect.identity(session) or self._random_name(session, schema)
        if identity is not None:
            return identity
        if schema is None or not self._make_tables(schema, schema):
            raise TargetRefused(
                f"Source {self.name!r} at {self._place.where} has no identity of its own, and this user may not create "
                f"the table {OWNER} that would give it one. Grant the user the right to create it"
            )
        with self._reading() as session:
            return str(self._random_name(session, schema))

    def _random_name(self, session: TargetSession, schema: str | None) -> str | None:
        row = None if schema is None else self._owner_row(session, schema)
        return None if row is None else row.identity

    def table(self, dataset: Any) -> str:
        with self._reading() as session:
            return self._shape(session, dataset).name

    def catalogue(
        self, dataset: Any, soft: Sequence[Reference] = (), *, table: str | None = None, key: Sequence[str] = ()
    ) -> Catalogue:
        del key  # the catalogue of a database knows the keys of its tables
        named = dataset if table is None else dataset.model_copy(update={"table": table})
        with self._reading() as session:
            shape = self._shape(session, named)
            return catalogue(session.connection, _clause(shape), soft)

    def rows(self, dataset: Any, key: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> list[Row | None]:
        with self._reading() as session:
            return TargetRecords(session, self._dialect, dataset, self._shape(session, dataset)).with_ids(key, ids)

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        with self._reading() as session:
            return TableShapes(session, self._dialect).referring(reference, to, lock=False)

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        with self._reading() as session:
            return violations(session, self._dialect, TableShapes(session, self._dialect), changes)

    def remembers(self, table: str = "") -> bool:
        with self._reading() as session:
            schema, default = self._schema(session, table), self._default(session)
        return self._remembers(schema, default)

    def _remembers(self, schema: str, default: str | None) -> bool:
        """Create our tables beside the cleaned one or, without that right, in the default schema; False if neither."""
        if schema not in self._homes:
            homes = (schema_name for schema_name in dict.fromkeys((schema, default)) if schema_name is not None)
            home = next((schema_name for schema_name in homes if self._make_tables(schema_name, schema, default)), None)
            if home is None:
                return False
            self._homes[schema] = home
        return True

    def receipts(self, keys: Sequence[str], table: str = "") -> dict[str, Receipt]:
        with self._reading() as session:
            schema = self._schema(session, table)
            ours = self._at(self._homes.get(schema, schema))
            return ours.find(session, keys) if self._is_there(session, ours, RECEIPTS) else {}

    def happened(self, transaction: str) -> bool | None:
        with self._reading() as session:
            return self._dialect.happened(session, transaction)

    @contextmanager
    def work(self, seconds: float) -> Iterator[Work]:
        with self._session(seconds) as session:
            work = SqlWork(session, self._dialect, self._our_tables)
            yield work
            session.is_clean = work.committed

    def owned(self, table: str) -> Owned:
        """Look beside the table, then in the default schema for a row that covers all schemas."""
        with self._reading() as session:
            schema, default = self._schema(session, table), self._default(session)
            home = self._homes.get(schema, schema)
            row = self._owner_row(session, home)
            self._at(home).check(session, RECEIPTS)
            if row is None and default is not None:
                before = self._owner_row(session, default)
                if before is not None and before.is_older:
                    home, row = default, before
            place = self._dialect.place(session, home)
            identity = self._dialect.identity(session)
        identity = identity or self.identity()
        owner = None if row is None else row.owner
        is_older = row is not None and row.is_older
        if is_older and home != schema:  # that row covers everything reached by this default schema
            return Owned(identity, owner)
        before_place = identity if is_older or (not owner and home == default) else None
        return Owned(place or f"{identity}/{home}", owner, before_place)

    def adopt(
        self, store: str, epoch: int, ratchet: int, instead_of: tuple[str, int, int] | None, table: str = ""
    ) -> bool:
        with self._reading() as session:
            schema, default = self._schema(session, table), self._default(session)
        if not self._remembers(schema, default):
            raise failed(self._place, f"this user cannot create the table {OWNER} there", TransactionOutcome.PAUSE)
        home = self._homes[schema]
        to = (store, epoch, ratchet)
        return self._own(lambda session: self._at(home).adopt(session, to, instead_of, mark=home == schema))

    def close(self) -> None:
        """Close the connection kept between transactions. Safe to call twice."""
        session = self._reusable(1)
        if session is not None:
            session.end()

    def _at(self, schema: str) -> OurTables:
        return OurTables(self._dialect, schema)

    def _default(self, session: TargetSession) -> str | None:
        """The schema of names without one; SQLite has only `main`."""
        return "main" if self._dialect.name == "sqlite" else self._dialect.default_schema(session)

    def _schema(self, session: TargetSession, table: str) -> str:
        """The schema of the table; if the table is gone, the one that its name means."""
        shape = TableShapes(session, self._dialect).find(table) if table else None
        named_schema = table.rpartition(".")[0]
        return (shape.schema if shape else named_schema) or self._default(session) or ""

    def _our_tables(self, session: TargetSession, table: str) -> OurTables:
        """Our tables for this one, in a transaction that writes them. Raises TargetError, TableNotOurs."""
        schema = self._schema(session, table)
        home = self._homes.get(schema, None if self._homes else schema)
        if home is None:
            raise over(self._place, f"table {table} moved to another schema after its owner was looked up")
        ours = self._at(home)
        ours.hold(session)
        return ours

    def _is_there(self, session: TargetSession, ours: OurTables, name: str) -> bool:
        """Return True if this table of ours exists. Raises TableNotOurs if it is not as we create it."""
        ours.check(session, name)
        return self._dialect.shape(session, ours.schema, name) is not None

    def _owner_row(self, session: TargetSession, schema: str) -> OwnerRow | None:
        ours = self._at(schema)
        return ours.row(session) if self._is_there(session, ours, OWNER) else None

    def _make_tables(self, home: str, schema: str, default: str | None = None) -> bool:
        """Create our missing tables for those of `schema`; False without the right. Raises TargetError, TableNotOurs,
        and TableNotWritable for existing tables."""
        ours = self._at(home)
        with self._reading() as session:
            missing = [table for table in (RECEIPTS, OWNER) if not self._is_there(session, ours, table)]
            before = None
            if default is not None and default != home:
                older = self._at(default)
                before = older if all(self._is_there(session, older, table) for table in (RECEIPTS, OWNER)) else None
        identity = f"random:{secrets.token_hex(16)}"
        try:
            for name in missing:
                self._make(ours.create_statements()[name])
            self._own(lambda session: self._claim(session, ours, identity, before, mark=home == schema))
        except TargetError as error:
            if error.code not in self._dialect.no_rights:
                raise
            if not missing and home != default:
                raise TableNotWritable(self.name, home) from None
            return False
        return True

    def _claim(
        self, session: TargetSession, ours: OurTables, identity: str, before: OurTables | None, *, mark: bool
    ) -> None:
        """Insert the owner's row if it is missing, and check that a receipt can be written."""
        ours.hold(session)
        ours.check(session, OWNER)
        ours.name_it(session, identity, before, mark=mark)
        session.run("SAVEPOINT reconcile_probe")  # a trial: nothing of it stays
        ours.insert(session, [_PROBE])
        ours.seal(session, [_PROBE])
        session.run("ROLLBACK TO SAVEPOINT reconcile_probe")

    def _make(self, statement: str) -> None:
        try:
            self._own(lambda session: session.run(statement))
        except TargetError as error:
            if error.code not in self._dialect.created_meanwhile:
                raise

    def _own(self, act: Callable[[TargetSession], _T]) -> _T:
        with self._session(_OWN_SECONDS) as session:
            phase: Phase = "before"
            try:
                answer = act(session)
                phase = "commit"
                self._dialect.commit(session)
            except session.errors as error:
                raise target_error(self._place, self._dialect.code(error), phase, error) from None
            session.is_clean = True
            return answer

    @contextmanager
    def _session(self, seconds: float) -> Iterator[TargetSession]:
        """Open a session with a transaction. A silent server is cut off after `seconds`, also while connecting."""
        sessions: list[TargetSession] = []

        def late() -> None:
            if sessions:
                sessions[-1].cut()
            else:  # still connecting
                self._place.underway.stop()

        with watch.within(seconds, late):
            session = self._begin_session(seconds, sessions)
            try:
                yield session
            finally:
                self._release(session)

    @contextmanager
    def _reading(self) -> Iterator[TargetSession]:
        """Open a read-only transaction; its errors are those of every read."""
        stops = self._place.underway.stops
        session: TargetSession | None = None
        try:
            connection = self._engine(self._seconds).connect()
            session = TargetSession(connection, self._place, self._seconds)
            self._dialect.begin_reading(session, self._seconds)
            yield session
        except sa.exc.DBAPIError as error:
            raise translated(error, self._place, stops) from None
        except Exception as error:
            if session is not None and isinstance(error, session.errors):
                raise translated(error, self._place, stops) from None
            raise
        finally:
            if session is not None:
                session.end()

    def _begin_session(self, seconds: float, sessions: list[TargetSession]) -> TargetSession:
        """Return a session with a transaction; append each session it tries to `sessions`. Raises TargetError."""
        kept_session = self._reusable(seconds)
        if kept_session is not None:
            sessions.append(kept_session)
            try:
                self._dialect.begin(kept_session, seconds)
            except kept_session.errors as error:
                kept_session.end()
                sessions.clear()
                code = self._dialect.code(error)
                if kept_session.is_cut or code not in self._dialect.lost:
                    raise target_error(self._place, code, "before", error) from None
            else:
                return kept_session
        try:
            session = TargetSession(self._engine(seconds).connect(), self._place, seconds / 2)
        except sa.exc.DBAPIError as error:
            failure = translated(error, self._place, self._place.underway.stops)
            lasting = failure.reaction is not Reaction.RETRY
            raise TargetError(
                str(failure), TransactionOutcome.PAUSE if lasting else TransactionOutcome.NOT_DONE
            ) from None
        sessions.append(session)
        try:
            session.stamp = self._dialect.stamp(session)
            self._dialect.begin(session, seconds)
        except session.errors as error:
            session.end()
            raise target_error(self._place, self._dialect.code(error), "before", error) from None
        except BaseException:
            session.end()
            raise
        return session

    def _reusable(self, seconds: float) -> TargetSession | None:
        """The connection that the last transaction kept, if this process opened it recently."""
        with self._lock:
            kept_connection, self._idle = self._idle, None
        if kept_connection is None:
            return None
        session, process, since = kept_connection
        if process != os.getpid():
            _PARENTS.append(session)  # closing or collecting it here would end the parent's
            return None
        if time.monotonic() - since > _KEPT_SECONDS or not self._is_usable(session):
            session.end()
            return None
        return session.again(seconds / 2)

    def _is_usable(self, session: TargetSession) -> bool:
        try:
            return not session.is_ended and self._dialect.stamp(session) == session.stamp
        except session.errors:
            return False

    def _release(self, session: TargetSession) -> None:
        with self._lock:
            keep = session.is_clean and self._idle is None
            if keep:
                session.is_clean = False
                self._idle = (session, os.getpid(), time.monotonic())
        if not keep:
            session.end()

    def _engine(self, seconds: float) -> sa.Engine:
        """A cached engine: engines query the database when they first connect."""
        with self._lock:
            engine = self._engines.get(seconds)
            if engine is None:
                if len(self._engines) >= _ENGINES:
                    self._engines.clear()
                engine = watched(self._dialect.engine(self.name, self._url, self._root, seconds), self._place.underway)
                self._engines[seconds] = engine
        return engine

    def _shape(self, session: TargetSession, dataset: SqlDataset) -> TableShape:
        if dataset.table is None:
            raise TargetRefused(f"A dataset of source {self.name!r} is a query; only records of a table can be cleaned")
        shape = TableShapes(session, self._dialect).find(dataset.table)
        if shape is None:
            raise DatasetMissing(self.name, f"table {dataset.table}", [f"table {table}" for table in self._names()])
        return shape


def _clause(shape: TableShape) -> sa.TableClause:
    return sa.table(quoted_name(shape.table, quote=True), schema=shape.schema and quoted_name(shape.schema, quote=True))


def _dialect(name: str) -> Dialect:
    if name == "postgresql":
        from connectors.sql.cleaning.postgresql import PostgreSqlDialect  # noqa: PLC0415 - needs psycopg, which is an extra

        return PostgreSqlDialect()
    if name == "mysql":
        from connectors.sql.cleaning.mysql import MySqlDialect  # noqa: PLC0415 - needs PyMySQL, which is an extra

        return MySqlDialect()
    from connectors.sql.cleaning.sqlite import SqliteDialect  # noqa: PLC0415 - only one of them is needed

    return SqliteDialect()
