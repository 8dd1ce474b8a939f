"""From a URL to read-only connections: drivers, paths, time limits, and sessions in UTC that cannot write."""

from __future__ import annotations

import importlib
import re
import time
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import SecretStr
from sqlalchemy.engine import URL
from sqlalchemy.pool import NullPool

from connectors.disk.paths import looking
from connectors.errors import DriverMissing, SourceMissing
from connectors.sql.stop import read_of

CONNECT_SECONDS = 10
_DRIVERS = {
    "postgres": ("postgresql+psycopg", "psycopg", "PostgreSQL's driver psycopg", "reconcile-runner[postgres]"),
    "postgresql": ("postgresql+psycopg", "psycopg", "PostgreSQL's driver psycopg", "reconcile-runner[postgres]"),
    "mysql": ("mysql+pymysql", "pymysql", "MariaDB's and MySQL's driver PyMySQL", "reconcile-runner[mysql]"),
    "mariadb": ("mysql+pymysql", "pymysql", "MariaDB's and MySQL's driver PyMySQL", "reconcile-runner[mysql]"),
    "sqlite": ("sqlite+pysqlite", "sqlite3", "Python's sqlite3", "reconcile-runner"),
}
EXTRAS = {
    **{name: f"reconcile-runner[{name}]" for name in ("snowflake", "bigquery", "redshift", "trino")},
    "redshift_connector": "reconcile-runner[redshift]",
    "pymssql": "reconcile-runner[mssql]",
    "oracledb": "reconcile-runner[oracle]",
}
"""The package to install for a dialect or driver of another database, by its name in a URL or its module."""
_NO_URL = (
    "this is not a database URL; write dialect://user:password@host:port/database, with special characters of the "
    "password %-encoded, or sqlite:///file.db"
)
KEEPALIVES = {"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


def parsed(secret: SecretStr) -> URL:
    """The parsed URL. For databases with a reader of their own, it names the driver we use.

    Raises ValueError, whose sentence shows only the scheme.
    """
    try:
        url = sa.make_url(secret.get_secret_value())
    except (sa.exc.ArgumentError, ValueError):  # the latter for a port that is no number
        raise ValueError(_NO_URL) from None
    if "@" in (url.host or ""):  # before it is the end of a password, which must not be shown
        raise ValueError(_NO_URL)
    family = url.drivername.partition("+")[0]
    if family not in _DRIVERS:
        _must_have_dialect(url)
        return url
    if family == "sqlite" and url.database in (None, "", ":memory:"):
        raise ValueError("a SQLite source is a file: sqlite:///file.db")
    return url.set(drivername=_DRIVERS[family][0])


def _must_have_dialect(url: URL) -> None:
    try:
        url.get_dialect()
    except sa.exc.NoSuchModuleError:
        if url.get_backend_name() in EXTRAS:
            return  # reported when the source is read, as a missing driver is
        meant = get_close_matches(url.get_backend_name(), _DRIVERS, n=1, cutoff=0.8)
        advice = (
            f"did you mean '{meant[0]}://'?"
            if meant
            else "postgresql, mysql, mariadb and sqlite are built in; for another database, install its driver and its "
            "SQLAlchemy dialect"
        )
        raise ValueError(f"'{url.drivername}://' is not a supported database; {advice}") from None
    except ImportError:
        return  # the dialect exists but its driver does not: reported when the source is read


def has_own_reader(url: URL) -> bool:
    """Return True if we have a reader for this database, beyond the generic one."""
    return url.drivername.partition("+")[0] in _DRIVERS


def has_replicas(dialect: str) -> bool:
    """Return True if we can tell whether a replica of this database is up to date; MySQL has the dialect of MariaDB."""
    return dialect in ("postgresql", "mysql")


def where(url: URL) -> str:
    """The source's address for people: host, port and database, or the file, without user and password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    if not url.host and not has_own_reader(url):
        return url.database or f"the address of its {url.drivername}:// URL"
    host = url.host or "localhost"
    return f"{host}:{url.port}/{url.database or ''}" if url.port else f"{host}/{url.database or ''}"


def sqlite_file(source: str, url: URL, root: Path) -> Path:
    """The database file; a relative path begins at the configuration. Raises SourceMissing, AccessDenied."""
    path = root / str(url.database)
    with looking(source, path):
        if not path.is_file():
            reason = "it is not a file" if path.exists() else "file not found"
            raise SourceMissing(source, str(url.database), reason)
    return path


def engine(source: str, url: URL, root: Path, seconds: float) -> sa.Engine:
    """Create an engine whose connections are read-only, in UTC, and stop a statement after so many seconds.

    Raises DriverMissing and SourceMissing; does not connect. Nothing is pooled: a source holds a connection only while
    it reads.
    """
    family = url.get_backend_name()
    _, module, needs, install = _DRIVERS[family]
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise DriverMissing(source, needs, install) from error
    if family == "sqlite":
        return _sqlite(url, sqlite_file(source, url, root))
    return _postgresql(url, seconds) if family == "postgresql" else _mysql(url, seconds)


def libpq_uri(url: URL) -> str:
    """The URL in libpq's form, for ADBC. It holds the password: for the driver only."""
    timed = url.update_query_dict({key: str(value) for key, value in _libpq(url).items()})
    return timed.set(drivername="postgresql").render_as_string(hide_password=False)


def postgresql_session(seconds: float) -> list[str]:
    """The settings of our PostgreSQL sessions: plain SETs, which work through a connection pooler."""
    return [
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        "SET TIME ZONE 'UTC'",
        f"SET statement_timeout = {max(1, round(seconds * 1000))}",
        "SET extra_float_digits = 1",
        # Text forms are the same whatever the server's settings are.
        "SET DateStyle = 'ISO, YMD'",
        "SET IntervalStyle = 'postgres'",
        "SET bytea_output = 'hex'",
        "SET lc_monetary = 'C'",
        # A backslash in a text is an ordinary character, as `read_only` takes it.
        "SET standard_conforming_strings = on",
    ]


def _libpq(url: URL) -> dict[str, int | str]:
    # A server in SQL_ASCII sends bytes; psycopg decodes them only with a client encoding.
    options: dict[str, int | str] = {"connect_timeout": CONNECT_SECONDS, "client_encoding": "utf8", **KEEPALIVES}
    return {key: value for key, value in options.items() if key not in url.query}


def _postgresql(url: URL, seconds: float) -> sa.Engine:
    created = sa.create_engine(url, poolclass=NullPool, connect_args=_libpq(url), hide_parameters=True)

    @sa.event.listens_for(created, "connect")
    def prepare(connection: Any, _: object) -> None:
        from connectors.sql.values import forgiving_dates  # noqa: PLC0415 - needs psycopg, which may not be installed

        forgiving_dates(connection)
        with connection.cursor() as cursor:
            for statement in postgresql_session(seconds):
                cursor.execute(statement)
        connection.commit()

    return created


def _mysql(url: URL, seconds: float) -> sa.Engine:
    arguments: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, "read_timeout": CONNECT_SECONDS}
    if "charset" not in url.query:
        arguments["charset"] = "utf8mb4"
    chosen = {key: value for key, value in arguments.items() if key not in url.query}
    created = sa.create_engine(url, poolclass=NullPool, connect_args=chosen, hide_parameters=True)

    @sa.event.listens_for(created, "connect")
    def prepare(connection: Any, _: object) -> None:
        mariadb = "mariadb" in connection.get_server_info().lower()
        limit = f"max_statement_time = {seconds}" if mariadb else f"max_execution_time = {round(seconds * 1000)}"
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
            cursor.execute("SET time_zone = '+00:00'")
            cursor.execute(f"SET SESSION {limit}")
        if "read_timeout" not in url.query:  # a server that accepts and says nothing was caught by the short one
            connection._read_timeout = round(seconds) + 30  # noqa: SLF001 - PyMySQL has no other way to change it

    return created


def _sqlite(url: URL, path: Path) -> sa.Engine:
    query = {**url.query, "mode": "ro", "uri": "true"}
    quoted = re.sub(r"[%?#]", lambda match: f"%{ord(match[0]):02x}", str(path.resolve()))
    created = sa.create_engine(
        url.set(database=f"file:{quoted}", query=query), poolclass=NullPool, hide_parameters=True
    )

    @sa.event.listens_for(created, "connect")
    def prepare(connection: Any, _: object) -> None:
        from connectors.sql.values import decoded  # noqa: PLC0415 - keeps this module free of pyarrow

        connection.text_factory = decoded
        connection.execute("PRAGMA query_only = ON")

    return created


class Deadline:
    """Stops a SQLite connection whose current work takes too long; other databases do this themselves."""

    def __init__(self, connection: sa.Connection, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        if connection.dialect.name == "sqlite":
            raw: Any = connection.connection.dbapi_connection
            read = read_of(connection)
            raw.set_progress_handler(lambda: read.ended or time.monotonic() > self._until, 10_000)

    def renew(self) -> None:
        """Restart the time limit: the time in which we process rows does not count."""
        self._until = time.monotonic() + self._seconds
