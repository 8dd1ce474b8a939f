"""The store: opened once per process, one transaction per step, with the database's clock."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import sqlalchemy as sa

from reconcile.store import copying, errors, key, tables
from reconcile.store.engine import (
    APPLICATION_ID,
    SCHEMA,
    StoreLocation,
    create_file,
    frozen,
    is_there,
    locate,
    look_up_references,
    standing,
)
from reconcile.store.failing import Failing
from reconcile.store.sealing import Seals

Clock = Callable[[], dt.datetime]

_LOCK = 0x7265636F6E63696C  # "reconcil": the advisory lock under which a PostgreSQL store is created or upgraded
_META = sa.select(tables.meta.c.store_id, tables.meta.c.epoch, tables.meta.c.revision, tables.meta.c.key_check)
_ADMITTED = sa.select(tables.meta.c.revision, tables.meta.c.epoch)
_ADMITTED_AT = _ADMITTED.add_columns(sa.func.clock_timestamp())


class Finisher(Protocol):
    """Work at the very end of a transaction."""

    def finish(self, tx: Transaction) -> None:
        """Finish once, after the body and directly before COMMIT; an error rolls everything back."""


F = TypeVar("F", bound=Finisher)


class Transaction:
    """The work between BEGIN and COMMIT. `now` is the store's clock, read once after BEGIN, aware, in UTC."""

    def __init__(self, store: Store, connection: sa.Connection, now: dt.datetime) -> None:
        self.store = store
        self.connection = connection
        self.now = now
        self._finishers: dict[type[Finisher], Finisher] = {}
        self.after_commit: list[Callable[[], None]] = []
        """Called after COMMIT; their work is not part of the transaction."""

    def finisher(self, kind: type[F]) -> F:
        """Return this transaction's finisher of that kind, created on first use; they run in order of creation."""
        finisher = self._finishers.setdefault(kind, kind())
        assert isinstance(finisher, kind)  # noqa: S101 - what mypy cannot see: the dictionary is keyed by type
        return finisher

    def finish(self) -> None:
        for finisher in self._finishers.values():
            finisher.finish(self)


class Store:
    """An open state database. Safe to share between threads; one per process (never across a fork)."""

    def __init__(
        self, place: StoreLocation, patience: dt.timedelta, clock: Clock | None, seals: Seals | None = None
    ) -> None:
        self._place = place
        self._engine = place.engine
        self._patience = patience
        self._clock = clock
        self._opened = standing(place)
        self.id = ""
        self.epoch = 0
        self.revision = ""
        self.was_upgraded = False
        self.key = b""
        """The store's secret (32 bytes). It is for HMACs only and never leaves the process."""
        self.seals = seals or Seals()
        """Seals and opens the values of records before a cleaning."""
        self.writes = Failing()
        """The outcomes of this process's writes."""

    @classmethod
    def open(
        cls,
        url: str,
        root: Path,
        *,
        key: bytes | None = None,
        clock: Clock | None = None,
        patience: dt.timedelta = dt.timedelta(seconds=10),
        seals: Seals | None = None,
        upgrade: Callable[[Store], None] | None = None,
    ) -> Store:
        """Open the store at a `state:` URL, creating it if needed; `root` is the configuration's folder.

        `upgrade` is called with an older store, which others can't upgrade meanwhile, right before it is upgraded: it
        can copy the store. Without it an older store is refused (StoreOlder), and stays as it is.

        `key` overrides the key file. `clock` replaces the store's own clock (tests, replays). `patience` is how long to
        wait for a locked database. `seals` are those of the configuration's keys. Raises a StoreError.
        """
        store = cls(locate(url, root, patience), patience, clock, seals)
        try:
            store._prepare(key, upgrade)
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def as_it_is(cls, url: str, root: Path, *, seals: Seals | None = None) -> Store:
        """Open the existing store at a `state:` URL to copy it: an older schema stays, and shows in `revision`.

        Raises a StoreError.
        """
        patience = dt.timedelta(seconds=10)
        store = cls(locate(url, root, patience), patience, None, seals)
        try:
            store._examine()
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def examine(cls, file: Path) -> Store:
        """Open the store in an unused SQLite file read-only: it is not upgraded, and no file is created beside it.

        Its key is in the key file beside it. Raises a StoreError; an older schema shows in `revision`.
        """
        store = cls(frozen(file), dt.timedelta(0), None)
        try:
            store._examine()
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def found_at(cls, url: str, root: Path) -> tuple[str, str | None]:
        """Return the place of the store at a `state:` URL, as in errors, and its schema; None if there is none yet.

        Nothing is changed. Raises a StoreError.
        """
        place = locate(url, root, dt.timedelta(seconds=10))
        if place.file is not None and (not is_there(place) or place.file.stat().st_size == 0):
            return place.where, None  # opened, an empty file would become a database
        store = cls(place, dt.timedelta(seconds=10), None)
        try:
            with store._looking() as meta:
                return place.where, None if meta is None else str(meta.revision)
        finally:
            store.close()

    @staticmethod
    def key_file_at(url: str, root: Path) -> Path:
        """Return the present or future key file of the store at a `state:` URL; opens nothing."""
        return locate(url, root, dt.timedelta(0)).key_file

    @property
    def where(self) -> str:
        """The store's place in errors, without a password."""
        return self._place.where

    @property
    def is_shared(self) -> bool:
        """True if other hosts can use it too (PostgreSQL), so that deadlines use its clock."""
        return self._place.file is None

    @property
    def key_file(self) -> Path:
        """The present or future file of the key."""
        return self._place.key_file

    @property
    def signed_file(self) -> Path:
        """The file of the newest signed head of the audit log, beside the key."""
        return key.signed_of(self._place.key_file)

    def heir(self, store_id: str, secret: bytes, epoch: int) -> Store:
        """Return the store as it will be after a transaction that gives it this identity; it shares our connections."""
        store = Store(self._place, self._patience, self._clock, self.seals)
        store.id, store.key, store.epoch, store.revision = store_id, secret, epoch, self.revision
        return store

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def begin(self, *, unchecked: bool = False) -> Iterator[Transaction]:
        """Run one read-write transaction: committed at the end of the block, rolled back when it raises.

        On SQLite writers queue at its start; on PostgreSQL it is READ COMMITTED. Raises a StoreError: CommitUnknown
        when the connection broke in COMMIT, else nothing was saved. `unchecked`: the caller ensures that nothing
        refers to the rows it deletes; otherwise SQLite would scan whole tables for each row.
        """
        try:
            with self._begin(unchecked=unchecked) as tx:
                yield tx
        except errors.StoreReplaced:
            raise
        except errors.StoreError as error:
            self.writes.failed(error)
            raise
        self.writes.succeeded()

    @contextmanager
    def _begin(self, *, unchecked: bool) -> Iterator[Transaction]:
        committing = False
        self._refuse_another_file()
        try:
            with self._writing(unchecked=unchecked) as connection, connection.begin() as work:
                tx = Transaction(self, connection, self._admit(connection))
                yield tx
                tx.finish()
                committing = True
                work.commit()
            for then in tx.after_commit:
                then()
        except sa.exc.DBAPIError as error:
            self._tell(error, committing=committing)
            raise

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open one consistent, read-only view; it neither waits for writers nor blocks them."""
        self._refuse_another_file()
        try:
            with self._reading() as connection, connection.begin():
                yield Transaction(self, connection, self._admit(connection))
        except sa.exc.DBAPIError as error:
            self._tell(error)
            raise

    @contextmanager
    def _writing(self, *, unchecked: bool) -> Iterator[sa.Connection]:
        with self._engine.connect() as connection:
            if self.is_shared or not unchecked:
                yield connection
                return
            look_up_references(connection, enabled=False)
            try:
                yield connection
            finally:
                look_up_references(connection, enabled=True)

    def _reading(self) -> sa.Connection:
        if self.is_shared:
            return self._engine.connect().execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        return self._engine.connect().execution_options(reconcile_reading=True)

    def _refuse_another_file(self) -> None:
        """Raise StoreGone if the open file was moved or deleted: other processes would not see writes to it."""
        if standing(self._place) != self._opened:
            raise errors.StoreGone(self.where)

    def _tell(self, error: sa.exc.DBAPIError, *, committing: bool = False) -> None:
        sentence = errors.in_words(error, self.where, self._patience, committing=committing)
        if sentence is not None:
            raise sentence from error

    def _admit(self, connection: sa.Connection) -> dt.datetime:
        """Return the time, and check that nobody upgraded or restored the store meanwhile.

        Without a row, a restore we waited for emptied the table after our snapshot (PostgreSQL).
        """
        row = connection.execute(_ADMITTED_AT if self.is_shared else _ADMITTED).one_or_none()
        if row is None:
            raise errors.StoreReplaced(self.where)
        self._refuse_newer(row[0])
        if row[1] != self.epoch:
            raise errors.StoreReplaced(self.where)
        now = row[2] if self.is_shared else dt.datetime.now(dt.UTC)
        return self._clock() if self._clock else now.astimezone(dt.UTC)

    def _refuse_newer(self, revision: str) -> None:
        if revision > tables.REVISION:
            raise errors.StoreNewer(self.where, revision, tables.REVISION)

    # Opening

    def _prepare(self, key_override: bytes | None, upgrade: Callable[[Store], None] | None) -> None:
        create_file(self._place)
        self._opened = standing(self._place)
        with self._looking() as existing:
            if existing is not None and existing.revision < tables.REVISION:
                if upgrade is None:
                    raise errors.StoreOlder(self.where, existing.revision, tables.REVISION)
                self._become(existing, key_override)
            ready = existing is not None and existing.revision >= tables.REVISION
            meta = existing if existing is not None and ready else self._create_or_upgrade(key_override, upgrade)
        self._become(meta, key_override)

    def _become(self, meta: sa.Row[str, int, str, str], key_override: bytes | None = None) -> None:
        self._take(meta)
        self.key = key.fitting(self._place.key_file, self.where, self.id, meta.key_check, key_override)

    def _examine(self) -> None:
        with self._looking() as meta:
            if meta is None:
                raise errors.StoreUnreadable(self.where, "it is empty")
        self._become(meta)

    @contextmanager
    def _looking(self) -> Iterator[sa.Row[str, int, str, str] | None]:
        """Read the meta row, and translate driver errors until the end of the block."""
        try:
            with self._reading() as connection, connection.begin():
                meta = self._identity(connection)
            yield meta
        except sa.exc.DBAPIError as error:
            self._tell(error)
            raise

    def _take(self, meta: sa.Row[str, int, str, str]) -> None:
        self._refuse_newer(meta.revision)
        self.id, self.epoch, self.revision = meta.store_id, meta.epoch, meta.revision

    def _identity(self, connection: sa.Connection) -> sa.Row[str, int, str, str] | None:
        """Return the meta row; None for an empty database. Raises StoreForeign for another program's database."""
        names = self._tables(connection)
        if not names:
            return None
        ours = "meta" in names and (
            self.is_shared or connection.exec_driver_sql("PRAGMA application_id").scalar_one() == APPLICATION_ID
        )
        if not ours or "audit_head" not in names:
            shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            raise errors.StoreForeign(self.where, f"the tables {shown}" if len(names) > 1 else f"the table {shown}")
        row = connection.execute(_META).one_or_none()
        if row is None:
            raise errors.StoreReplaced(self.where)
        if row.revision < tables.FIRST_REVISION:
            raise errors.StoreUnreleased(self.where)
        return row

    def _tables(self, connection: sa.Connection) -> list[str]:
        if self.is_shared:
            listing = sa.text("SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = :schema ORDER BY 1")
            return list(connection.execute(listing, {"schema": SCHEMA}).scalars())
        listing = sa.text("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1")
        return list(connection.execute(listing).scalars())

    def _create_or_upgrade(
        self, key_override: bytes | None, upgrade: Callable[[Store], None] | None
    ) -> sa.Row[str, int, str, str]:
        """Create or upgrade under a lock; other processes wait and then find it done."""
        with self._engine.begin() as connection:
            if self.is_shared:
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            meta = self._identity(connection)
            if meta is not None and meta.revision >= tables.REVISION:
                return meta
            if self.is_shared:
                connection.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
            else:
                connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            if meta is None:
                copying.create(connection)
                self._christen(connection, key_override)
            else:
                if upgrade is not None:
                    upgrade(self)
                self._upgrade(connection)
            return connection.execute(_META).one()

    def _upgrade(self, connection: sa.Connection) -> None:
        from reconcile.store import migrations  # noqa: PLC0415 - Alembic takes 0.2 s to import, and is needed once per release

        migrations.upgrade(connection, tables.REVISION)
        self.was_upgraded = True
        connection.execute(sa.update(tables.meta).values(revision=tables.REVISION))

    def _christen(self, connection: sa.Connection, key_override: bytes | None) -> None:
        store_id = f"st_{secrets.token_hex(16)}"
        secret = key_override or key.make(self._place.key_file, self.where)
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
