"""How a read of each database is ended from another thread: how it is cancelled, and by which socket it is cut off.

| | cancelled by | then |
| --- | --- | --- |
| PostgreSQL, rows | a cancel request on a connection of its own | its socket is shut down |
| PostgreSQL, ADBC | the driver's cancel request | likewise, where the socket can be told from others |
| MariaDB, MySQL | KILL QUERY on a second connection | its socket is shut down |
| SQLite | interrupt() | every later statement of that read is interrupted |
| others | cancel() or interrupt() of the driver's connection, where there is one | the next rows are not asked for |

Connecting is ended by its own time-out.
"""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from connectors.underway import CANCEL_SECONDS, Line, Read, Underway

_READ = "reconcile read"
_POSTGRESQL_PORT = 5432
_DESCRIPTORS = Path("/proc/self/fd")


def watched(made: sa.Engine, underway: Underway) -> sa.Engine:
    """The engine, whose connections are reads under way as soon as they are connected until they are closed."""

    @sa.event.listens_for(made, "connect", insert=True)  # before a session is prepared, which can hang as well
    def begin(raw: Any, record: Any) -> None:
        record.info[_READ] = underway.begin(*_ways(made, raw))

    @sa.event.listens_for(made, "close")
    def over(_: object, record: Any) -> None:
        read_of(record).over()

    return made


def read_of(connection: Any) -> Read:
    """The read of a connection (or its record in the pool) of a watched engine."""
    read: Read = connection.info[_READ]
    return read


def _ways(made: sa.Engine, raw: Any) -> tuple[Callable[[], object], Line | None]:
    driver = made.dialect.driver if made.dialect.name in ("postgresql", "mysql", "sqlite") else ""
    if driver == "psycopg":
        return lambda: _cancel_psycopg(raw), Line(raw.fileno())
    if driver == "pymysql":
        return lambda: _kill_query(made, raw), Line(raw._sock.fileno())  # noqa: SLF001 - PyMySQL shows it nowhere
    return lambda: interrupt(raw), None


def interrupt(raw: Any) -> None:
    """What drivers without a way of their own may have."""
    for name in ("cancel", "interrupt"):
        stop = getattr(raw, name, None)
        if callable(stop):
            stop()
            return


def _cancel_psycopg(raw: Any) -> None:
    import psycopg  # noqa: PLC0415 - an extra

    if not psycopg.capabilities.has_cancel_safe():
        raise NotImplementedError("this libpq can only cancel without a time-out")
    raw.cancel_safe(timeout=CANCEL_SECONDS)


def _kill_query(made: sa.Engine, raw: Any) -> None:
    import pymysql  # noqa: PLC0415 - an extra

    _, arguments = made.dialect.create_connect_args(made.url)
    patience = dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout"), max(1, round(CANCEL_SECONDS)))
    with pymysql.connect(**{**arguments, **patience}) as other, other.cursor() as cursor:
        cursor.execute(f"KILL QUERY {int(raw.thread_id())}")


def connected_adbc(connect: Callable[[], Any], url: sa.URL, underway: Underway) -> tuple[Any, Read]:
    """The connection that `connect` makes, and its read. ADBC shows no socket: it is the one that came with it.

    Where several to that port came at once there is no telling them apart, and the read can only be cancelled.
    """
    port = url.port or _POSTGRESQL_PORT
    with _one_at_a_time(url.host, port):
        before = _sockets(port)
        connection = connect()
        found = _new(port, before)
    return connection, underway.begin(lambda: _cancel_adbc(connection, port), found)


def _cancel_adbc(connection: Any, port: int) -> None:
    """libpq's old way to cancel waits for ever for a server that is silent, so its socket is cut as well."""
    before = _sockets(port)

    def give_up() -> None:
        line = _new(port, before)
        if line is not None:
            line.cut()
            line.close()

    patience = threading.Timer(CANCEL_SECONDS, give_up)
    patience.daemon = True
    patience.start()
    try:
        connection.adbc_cancel()
    finally:
        patience.cancel()


def _new(port: int, before: dict[str, int]) -> Line | None:
    came = [descriptor for name, descriptor in _sockets(port).items() if name not in before]
    return Line(came[0]) if len(came) == 1 else None


@functools.cache
def _one_at_a_time(host: str | None, port: int) -> threading.Lock:
    """One lock a server, so that one which is silent keeps nobody else waiting."""
    del host, port
    return threading.Lock()


def _sockets(port: int) -> dict[str, int]:
    """This process's sockets that are connected to that port, by their names in the kernel."""
    found: dict[str, int] = {}
    for one in _DESCRIPTORS.iterdir() if _DESCRIPTORS.exists() else ():
        with suppress(OSError):  # closed meanwhile, or connected to nothing
            name = str(one.readlink())
            if name.startswith("socket:") and _leads_to(port, int(one.name)):
                found[name] = int(one.name)
    return found


def _leads_to(port: int, descriptor: int) -> bool:
    handle = socket.socket(fileno=descriptor)
    try:
        peer = handle.getpeername()
    finally:
        handle.detach()
    return peer[1] == port if isinstance(peer, tuple) else str(peer).endswith(f".{port}")
