"""A database whose rows can be changed: what `connectors.target` promises, for PostgreSQL, MariaDB, MySQL and SQLite.

Changes go over connections of their own, which may write; everything else of the source reads over connections that
cannot. What is changed, and how long it may take, is told in `connectors.sql_target_work`; what our own tables hold in
`connectors.sql_receipts`; what an error means in `connectors.sql_outcomes`.
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
from connectors.sql_catalogue import catalogue
from connectors.sql_cells import Shape
from connectors.sql_errors import Place, translated
from connectors.sql_outcomes import Phase
from connectors.sql_receipts import OWNER, RECEIPTS, OurTables
from connectors.sql_settings import SqlDataset
from connectors.sql_stop import watched
from connectors.sql_target_dialect import Dialect
from connectors.sql_target_errors import told
from connectors.sql_target_rows import Records
from connectors.sql_target_session import Session
from connectors.sql_target_tables import Tables
from connectors.sql_target_watch import watch
from connectors.sql_target_work import SqlWork
from connectors.target import (
    Catalogue,
    Cell,
    Outcome,
    Receipt,
    Reference,
    Row,
    TargetError,
    TargetRefused,
    Work,
)

_OWN_SECONDS = 40.0
"""How long a transaction on our own tables is given."""
_KEPT_SECONDS = 20.0
_ENGINES = 8
_PARENTS: list[Session] = []
_T = TypeVar("_T")
_PROBE = Receipt("reconcile.probe", "", "", 0, 0, "")


class SqlTarget:
    """The changing side of a SqlSource. Opens connections when it is asked for something, and keeps one for the next.

    `names` gives the datasets there are, for the sentence of one that is not.
    """

    def __init__(
        self, url: sa.URL, root: Path, place: Place, seconds: float, names: Callable[[], Sequence[str]]
    ) -> None:
        self.name = place.source
        self._url, self._root, self._place, self._seconds = url, root, place, seconds
        self._names = names
        self._dialect = _dialect(place.dialect)
        self._ours = OurTables(self._dialect)
        self._engines: dict[float, sa.Engine] = {}
        self._kept: tuple[Session, int, float] | None = None
        self._lock = threading.Lock()
        self._remembers = False

    def identity(self) -> str:
        with self._reading() as session:
            found = self._dialect.identity(session)
            if found is None and self._dialect.shape(session, None, OWNER) is not None:
                found = self._ours.identity(session)
        if found is not None:
            return found
        if not self.remembers():
            raise TargetRefused(
                f"Source {self.name!r} at {self._place.where} has no name of its own, and the table {OWNER} that would "
                f"give it one cannot be made there; give the user the right to create it"
            )
        with self._reading() as session:
            return str(self._ours.identity(session))

    def catalogue(self, dataset: Any, soft: Sequence[Reference] = ()) -> Catalogue:
        with self._reading() as session:
            shape = self._shape(session, dataset)
            return catalogue(session.connection, _clause(shape), soft)

    def rows(self, dataset: Any, key: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> list[Row | None]:
        with self._reading() as session:
            return Records(session, self._dialect, dataset, self._shape(session, dataset)).with_ids(key, ids)

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        with self._reading() as session:
            return Tables(session, self._dialect).referring(reference, to, lock=False)

    def remembers(self) -> bool:
        if not self._remembers:
            try:
                self._make_tables()
            except TargetError as error:
                if error.code in self._dialect.no_rights:
                    return False
                raise
            self._remembers = True
        return True

    def receipts(self, keys: Sequence[str]) -> dict[str, Receipt]:
        with self._reading() as session:
            there = self._dialect.shape(session, None, RECEIPTS)
            return self._ours.find(session, keys) if there is not None else {}

    def happened(self, transaction: str) -> bool | None:
        with self._reading() as session:
            return self._dialect.happened(session, transaction)

    @contextmanager
    def work(self, seconds: float) -> Iterator[Work]:
        with self._session(seconds) as session:
            work = SqlWork(session, self._dialect, self._ours)
            yield work
            session.is_clean = work.committed

    def owner(self) -> tuple[str, int, int] | None:
        with self._reading() as session:
            there = self._dialect.shape(session, None, OWNER)
            return self._ours.owner(session) if there is not None else None

    def adopt(self, store: str, epoch: int, ratchet: int, instead_of: tuple[str, int, int] | None) -> bool:
        self._make_tables()
        return self._own(lambda session: self._ours.adopt(session, (store, epoch, ratchet), instead_of))

    def close(self) -> None:
        """Give back what is kept between transactions. Safe to call twice."""
        kept = self._taken(1)
        if kept is not None:
            kept.end()

    def _make_tables(self) -> None:
        """Make our tables where they are not there, and see that they can be written. Raises TargetError."""
        with self._reading() as session:
            missing = any(self._dialect.shape(session, None, one) is None for one in (RECEIPTS, OWNER))
        if missing:
            for statement in self._ours.made():
                self._make(statement)
        identity = f"random:{secrets.token_hex(16)}"
        self._own(lambda session: self._ours.name_it(session, identity))
        with self.work(_OWN_SECONDS) as work:  # not committed: whether it would go through is all we want to know
            work.receive([_PROBE])
            work.seal([_PROBE])

    def _make(self, statement: str) -> None:
        try:
            self._own(lambda session: session.say(statement))
        except TargetError as error:
            if error.code not in self._dialect.made_meanwhile:
                raise

    def _own(self, act: Callable[[Session], _T]) -> _T:
        """A transaction on our own tables."""
        with self._session(_OWN_SECONDS) as session:
            phase: Phase = "before"
            try:
                answer = act(session)
                phase = "commit"
                self._dialect.commit(session)
            except session.errors as error:
                raise told(self._place, self._dialect.code(error), phase, error) from None
            session.is_clean = True
            return answer

    @contextmanager
    def _session(self, seconds: float) -> Iterator[Session]:
        """A session in which a transaction is begun; a server that is silent, even now, is cut off in the end."""
        used: list[Session] = []

        def late() -> None:
            if used:
                used[-1].cut()
            else:  # it is not even connected
                self._place.underway.stop()

        with watch.within(seconds, late):
            session = self._begun(seconds, used)
            try:
                yield session
            finally:
                self._let_go(session)

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        """A transaction that can only read; its errors are those of every read."""
        stops = self._place.underway.stops
        session: Session | None = None
        try:
            connection = self._engine(self._seconds).connect()
            session = Session(connection, self._place, self._seconds)
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

    def _begun(self, seconds: float, used: list[Session]) -> Session:
        """A session in which a transaction is begun, and in `used` what it is begun on. Raises TargetError."""
        kept = self._taken(seconds)
        if kept is not None:
            used.append(kept)
            try:
                self._dialect.begin(kept, seconds)
            except kept.errors as error:
                kept.end()
                used.clear()
                code = self._dialect.code(error)
                if kept.is_cut or code not in self._dialect.lost:
                    raise told(self._place, code, "before", error) from None
            else:
                return kept
        try:
            session = Session(self._engine(seconds).connect(), self._place, seconds / 2)
        except sa.exc.DBAPIError as error:
            said = translated(error, self._place, self._place.underway.stops)
            lasting = said.reaction is not Reaction.RETRY
            raise TargetError(str(said), Outcome.PAUSE if lasting else Outcome.NOT_DONE) from None
        used.append(session)
        try:
            session.stamp = self._dialect.stamp(session)
            self._dialect.begin(session, seconds)
        except session.errors as error:
            session.end()
            raise told(self._place, self._dialect.code(error), "before", error) from None
        except BaseException:
            session.end()
            raise
        return session

    def _taken(self, seconds: float) -> Session | None:
        """The connection that the last transaction left, where this process made it just now."""
        with self._lock:
            kept, self._kept = self._kept, None
        if kept is None:
            return None
        session, process, since = kept
        if process != os.getpid():
            _PARENTS.append(session)  # closing it here, also by forgetting it, would end the parent's
            return None
        if time.monotonic() - since > _KEPT_SECONDS or not self._is_usable(session):
            session.end()
            return None
        return session.again(seconds / 2)

    def _is_usable(self, session: Session) -> bool:
        try:
            return not session.is_ended and self._dialect.stamp(session) == session.stamp
        except session.errors:
            return False

    def _let_go(self, session: Session) -> None:
        with self._lock:
            keep = session.is_clean and self._kept is None
            if keep:
                session.is_clean = False
                self._kept = (session, os.getpid(), time.monotonic())
        if not keep:
            session.end()

    def _engine(self, seconds: float) -> sa.Engine:
        """Engines ask the database a few things when they connect for the first time, so they are kept."""
        with self._lock:
            made = self._engines.get(seconds)
            if made is None:
                if len(self._engines) >= _ENGINES:
                    self._engines.clear()
                made = watched(self._dialect.engine(self.name, self._url, self._root, seconds), self._place.underway)
                self._engines[seconds] = made
        return made

    def _shape(self, session: Session, dataset: SqlDataset) -> Shape:
        if dataset.table is None:
            raise TargetRefused(f"A dataset of source {self.name!r} is a query; only records of a table can be cleaned")
        shape = Tables(session, self._dialect).find(dataset.table)
        if shape is None:
            raise DatasetMissing(self.name, f"table {dataset.table}", [f"table {one}" for one in self._names()])
        return shape


def _clause(shape: Shape) -> sa.TableClause:
    return sa.table(quoted_name(shape.table, quote=True), schema=shape.schema and quoted_name(shape.schema, quote=True))


def _dialect(name: str) -> Dialect:
    if name == "postgresql":
        from connectors.sql_target_postgresql import PostgreSql  # noqa: PLC0415 - needs psycopg, which is an extra

        return PostgreSql()
    if name == "mysql":
        from connectors.sql_target_mysql import MySql  # noqa: PLC0415 - needs PyMySQL, which is an extra

        return MySql()
    from connectors.sql_target_sqlite import Sqlite  # noqa: PLC0415 - only one of them is needed

    return Sqlite()
