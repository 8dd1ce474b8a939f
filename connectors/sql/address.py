"""From a URL to read-only connections: drivers, paths, time limits, and sessions that speak UTC and cannot write."""

from __future__ import annotations

import importlib
import re
import time
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
_NO_URL = (
    "this is not a database URL; write dialect://user:password@host:port/database, with special characters of the "
    "password %-encoded, or sqlite:///file.db"
)
KEEPALIVES = {"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


def parsed(secret: SecretStr) -> URL:
    """The URL, for databases with a reader of their own with the driver we use, whichever it names.

    Raises ValueError with a sentence that shows no more of it than its scheme.
    """
    try:
        url = sa.make_url(secret.get_secret_value())
    except (sa.exc.ArgumentError, ValueError):  # the latter for a port that is no number
        raise ValueError(_NO_URL) from None
    if "@" in (url.host or ""):  # what stands before it is the end of a password, which is told to nobody
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
        raise ValueError(
            f"'{url.drivername}://' is no database that can be read here: there is postgresql, mysql, mariadb and "
            f"sqlite; for another one install the package of its driver, with its SQLAlchemy dialect"
        ) from None
    except ImportError:
        return  # the dialect is there and its driver is not: told when the source is read, like any missing driver


def has_own_reader(url: URL) -> bool:
    """Whether it is one of the databases that are read by more than what all databases have in common."""
    return url.drivername.partition("+")[0] in _DRIVERS


def where(url: URL) -> str:
    """Host, port and database, or the file: where a source is, for people, without user and password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    if not url.host and not has_own_reader(url):
        return url.database or f"the address of its {url.drivername}:// URL"
    host = url.host or "localhost"
    return f"{host}:{url.port}/{url.database or ''}" if url.port else f"{host}/{url.database or ''}"


def sqlite_file(source: str, url: URL, root: Path) -> Path:
    """The database file, a relative path being relative to the configuration. Raises SourceMissing, AccessDenied."""
    path = root / str(url.database)
    with looking(source, path):
        if not path.is_file():
            reason = "it is not a file" if path.exists() else "there is no such file"
            raise SourceMissing(source, str(url.database), reason)
    return path


def engine(source: str, url: URL, root: Path, seconds: float) -> sa.Engine:
    """An engine whose every connection is read-only, in UTC, and stops a statement after so many seconds.

    Raises DriverMissing and SourceMissing; connects to nothing yet. Nothing is pooled: a source holds a connection
    only while it reads.
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
    """The same address as libpq reads it, for ADBC. Holds the password: for the driver only."""
    timed = url.update_query_dict({key: str(value) for key, value in _libpq(url).items()})
    return timed.set(drivername="postgresql").render_as_string(hide_password=False)


def postgresql_session(seconds: float) -> list[str]:
    """What makes a PostgreSQL session ours; plain SETs, so that a connection pooler between us does not matter."""
    return [
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        "SET TIME ZONE 'UTC'",
        f"SET statement_timeout = {max(1, round(seconds * 1000))}",
        "SET extra_float_digits = 1",
        # What is read as text reads the same whatever the server is set to.
        "SET DateStyle = 'ISO, YMD'",
        "SET IntervalStyle = 'postgres'",
        "SET bytea_output = 'hex'",
        "SET lc_monetary = 'C'",
    ]


def _libpq(url: URL) -> dict[str, int | str]:
    # A server in SQL_ASCII sends bytes, of which psycopg makes no text unless it is told what they are.
    wanted: dict[str, int | str] = {"connect_timeout": CONNECT_SECONDS, "client_encoding": "utf8", **KEEPALIVES}
    return {key: value for key, value in wanted.items() if key not in url.query}


def _postgresql(url: URL, seconds: float) -> sa.Engine:
    made = sa.create_engine(url, poolclass=NullPool, connect_args=_libpq(url), hide_parameters=True)

    @sa.event.listens_for(made, "connect")
    def prepare(connection: Any, _: object) -> None:
        from connectors.sql.values import forgiving_dates  # noqa: PLC0415 - needs psycopg, which may not be installed

        forgiving_dates(connection)
        with connection.cursor() as cursor:
            for statement in postgresql_session(seconds):
                cursor.execute(statement)
        connection.commit()

    return made


def _mysql(url: URL, seconds: float) -> sa.Engine:
    arguments: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, "read_timeout": CONNECT_SECONDS}
    if "charset" not in url.query:
        arguments["charset"] = "utf8mb4"
    chosen = {key: value for key, value in arguments.items() if key not in url.query}
    made = sa.create_engine(url, poolclass=NullPool, connect_args=chosen, hide_parameters=True)

    @sa.event.listens_for(made, "connect")
    def prepare(connection: Any, _: object) -> None:
        mariadb = "mariadb" in connection.get_server_info().lower()
        limit = f"max_statement_time = {seconds}" if mariadb else f"max_execution_time = {round(seconds * 1000)}"
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
            cursor.execute("SET time_zone = '+00:00'")
            cursor.execute(f"SET SESSION {limit}")
        if "read_timeout" not in url.query:  # a server that accepts and says nothing was caught by the short one
            connection._read_timeout = round(seconds) + 30  # noqa: SLF001 - PyMySQL has no other way to change it

    return made


def _sqlite(url: URL, path: Path) -> sa.Engine:
    query = {**url.query, "mode": "ro", "uri": "true"}
    quoted = re.sub(r"[%?#]", lambda found: f"%{ord(found[0]):02x}", str(path.resolve()))
    made = sa.create_engine(url.set(database=f"file:{quoted}", query=query), poolclass=NullPool, hide_parameters=True)

    @sa.event.listens_for(made, "connect")
    def prepare(connection: Any, _: object) -> None:
        from connectors.sql.values import decoded  # noqa: PLC0415 - keeps this module free of pyarrow

        connection.text_factory = decoded
        connection.execute("PRAGMA query_only = ON")

    return made


class Deadline:
    """Stops a SQLite connection whose current piece of work runs longer than allowed; the others stop themselves."""

    def __init__(self, connection: sa.Connection, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        if connection.dialect.name == "sqlite":
            raw: Any = connection.connection.dbapi_connection
            read = read_of(connection)
            raw.set_progress_handler(lambda: read.ended or time.monotonic() > self._until, 10_000)

    def renew(self) -> None:
        """Start counting again: time that the reader of an answer takes is not the database's."""
        self._until = time.monotonic() + self._seconds
