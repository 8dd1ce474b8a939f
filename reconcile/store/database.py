"""The store: opened once a process, one transaction per step, told the time by the database that keeps it."""

from __future__ import annotations

import datetime as dt
import hmac
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import sqlalchemy as sa

from reconcile.store import errors, key, tables, told
from reconcile.store.engine import APPLICATION_ID, SCHEMA, Place, create_file, locate

Clock = Callable[[], dt.datetime]

_LOCK = 0x7265636F6E63696C  # "reconcil": the advisory lock under which a PostgreSQL store is created or upgraded
_META = sa.select(tables.meta.c.store_id, tables.meta.c.epoch, tables.meta.c.revision, tables.meta.c.key_check)
_REVISION = sa.select(tables.meta.c.revision)
_REVISION_AND_TIME = sa.select(tables.meta.c.revision, sa.func.clock_timestamp())


class Finisher(Protocol):
    """Work that belongs at the very end of a transaction, whatever was done in between."""

    def finish(self, tx: Transaction) -> None:
        """Called once, after the body and directly before COMMIT; an error rolls everything back."""


F = TypeVar("F", bound=Finisher)


class Transaction:
    """What happens between BEGIN and COMMIT. `now` is the store's clock, read once after BEGIN, aware, in UTC."""

    def __init__(self, store: Store, connection: sa.Connection, now: dt.datetime) -> None:
        self.store = store
        self.connection = connection
        self.now = now
        self._finishers: dict[type[Finisher], Finisher] = {}

    def finisher(self, kind: type[F]) -> F:
        """This transaction's one finisher of that kind, made when first asked for; they run in that order."""
        found = self._finishers.setdefault(kind, kind())
        assert isinstance(found, kind)  # noqa: S101 - what mypy cannot see: the dictionary is keyed by type
        return found

    def finish(self) -> None:
        for one in self._finishers.values():
            one.finish(self)


class Store:
    """An open state database. Safe to share between threads; one per process (never across a fork)."""

    def __init__(self, place: Place, patience: dt.timedelta, clock: Clock | None) -> None:
        self._place = place
        self._engine = place.engine
        self._patience = patience
        self._clock = clock
        self.id = ""
        self.epoch = 0
        self.key = b""
        """The store's secret (32 bytes). It is for HMACs only and never leaves the process."""

    @classmethod
    def open(
        cls,
        url: str,
        root: Path,
        *,
        key: bytes | None = None,
        clock: Clock | None = None,
        patience: dt.timedelta = dt.timedelta(seconds=10),
    ) -> Store:
        """The store at a `state:` URL, created or upgraded where needed; `root` is the folder of the configuration.

        `key` overrides the key file. `clock` replaces the store's own clock (tests, replays). `patience` is how long a
        locked database is waited for. Raises a StoreError.
        """
        store = cls(locate(url, root, patience), patience, clock)
        try:
            store._prepare(key)
        except BaseException:
            store.close()
            raise
        return store

    @property
    def where(self) -> str:
        """The store's place as errors name it: no password in it."""
        return self._place.where

    @property
    def is_shared(self) -> bool:
        """True where other hosts can use it too (PostgreSQL), so that deadlines go by its clock."""
        return self._place.file is None

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def begin(self) -> Iterator[Transaction]:
        """One read-write transaction: kept whole at the end of the block, or not at all when it raises.

        On SQLite writers queue at its start; on PostgreSQL it is READ COMMITTED. Raises a StoreError: StoreInDoubt
        when the connection broke in COMMIT, else nothing was kept.
        """
        committing = False
        try:
            with self._engine.connect() as connection, connection.begin() as work:
                tx = Transaction(self, connection, self._admit(connection))
                yield tx
                tx.finish()
                committing = True
                work.commit()
        except sa.exc.DBAPIError as error:
            self._tell(error, committing=committing)
            raise

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """One consistent, read-only view; it neither waits for writers nor holds them up."""
        try:
            with self._reading() as connection, connection.begin():
                yield Transaction(self, connection, self._admit(connection))
        except sa.exc.DBAPIError as error:
            self._tell(error)
            raise

    def _reading(self) -> sa.Connection:
        if self.is_shared:
            return self._engine.connect().execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        return self._engine.connect().execution_options(reconcile_reading=True)

    def _tell(self, error: sa.exc.DBAPIError, *, committing: bool = False) -> None:
        sentence = told.in_words(error, self.where, self._patience, committing=committing)
        if sentence is not None:
            raise sentence from error

    def _admit(self, connection: sa.Connection) -> dt.datetime:
        """The time, and the check that nobody upgraded the store under us."""
        if self.is_shared:
            revision, now = connection.execute(_REVISION_AND_TIME).one()
        else:
            revision, now = connection.execute(_REVISION).scalar_one(), dt.datetime.now(dt.UTC)
        self._refuse_newer(revision)
        return self._clock() if self._clock else now.astimezone(dt.UTC)

    def _refuse_newer(self, revision: str) -> None:
        if revision > tables.REVISION:
            raise errors.StoreNewer(self.where, revision, tables.REVISION)

    # Opening

    def _prepare(self, given: bytes | None) -> None:
        create_file(self._place)
        try:
            with self._reading() as connection, connection.begin():
                found = self._identity(connection)
            if found is None or found.revision < tables.REVISION:
                found = self._create_or_upgrade(given)
        except sa.exc.DBAPIError as error:
            self._tell(error)
            raise
        self._refuse_newer(found.revision)
        self.id, self.epoch = found.store_id, found.epoch
        self.key = given or key.read(self._place.key_file, self.where)
        if not hmac.compare_digest(key.check(self.key, self.id), found.key_check):
            raise errors.StoreKeyMissing(self.where, str(self._place.key_file), "belongs to another store")

    def _identity(self, connection: sa.Connection) -> sa.Row[str, int, str, str] | None:
        """The meta row; None for an empty database. Raises StoreForeign for one that is not ours."""
        names = self._tables(connection)
        if not names:
            return None
        ours = "meta" in names and (
            self.is_shared or connection.exec_driver_sql("PRAGMA application_id").scalar_one() == APPLICATION_ID
        )
        if not ours or "audit_head" not in names:
            shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            raise errors.StoreForeign(self.where, f"the tables {shown}" if len(names) > 1 else f"the table {shown}")
        return connection.execute(_META).one()

    def _tables(self, connection: sa.Connection) -> list[str]:
        if self.is_shared:
            listing = sa.text("SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = :schema ORDER BY 1")
            return list(connection.execute(listing, {"schema": SCHEMA}).scalars())
        listing = sa.text("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1")
        return list(connection.execute(listing).scalars())

    def _create_or_upgrade(self, given: bytes | None) -> sa.Row[str, int, str, str]:
        """Under a lock that lets one process do it; the others find it done."""
        from reconcile.store import migrations  # noqa: PLC0415 - Alembic costs 0.2 s, and is needed once a release

        with self._engine.begin() as connection:
            if self.is_shared:
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            found = self._identity(connection)
            if found is not None and found.revision >= tables.REVISION:
                return found
            if self.is_shared:
                connection.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
            else:
                connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            migrations.upgrade(connection, tables.REVISION)
            if found is None:
                self._christen(connection, given)
            else:
                connection.execute(sa.update(tables.meta).values(revision=tables.REVISION))
            return connection.execute(_META).one()

    def _christen(self, connection: sa.Connection, given: bytes | None) -> None:
        store_id = f"st_{secrets.token_hex(16)}"
        secret = given or key.make(self._place.key_file, self.where)
        row = {
            "id": 1,
            "store_id": store_id,
            "epoch": 1,
            "revision": tables.REVISION,
            "key_check": key.check(secret, store_id),
            "created_at": self._clock() if self._clock else dt.datetime.now(dt.UTC),
        }
        connection.execute(sa.insert(tables.meta).values(row))
        connection.execute(sa.insert(tables.audit_head).values(id=1, seq=0, head=""))
