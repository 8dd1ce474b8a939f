"""End a read from another thread: cancel it in the database, then cut its socket.

| | cancelled by | then |
| --- | --- | --- |
| PostgreSQL, rows | a cancel request on a connection of its own | its socket is shut down |
| PostgreSQL, ADBC | the driver's cancel request | likewise, if the socket can be identified |
| MariaDB, MySQL | KILL QUERY on a second connection | its socket is shut down |
| SQLite | interrupt() | every later statement of that read is interrupted |
| others | cancel() or interrupt() of the driver's connection, if any | the next rows are not requested |

Connecting ends by its own time-out.
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

from connectors.underway import CANCEL_SECONDS, Read, SocketHandle, Underway

_READ = "reconcile read"
_POSTGRESQL_PORT = 5432
_DESCRIPTORS = Path("/proc/self/fd")


def watched(engine: sa.Engine, underway: Underway) -> sa.Engine:
    """Register every connection of the engine as a read, from connecting until closing; return the engine."""

    @sa.event.listens_for(engine, "connect", insert=True)  # before a session is prepared, which can also hang
    def begin(raw: Any, record: Any) -> None:
        record.info[_READ] = underway.begin(*_ways(engine, raw))

    @sa.event.listens_for(engine, "close")
    def over(_: object, record: Any) -> None:
        read_of(record).over()

    return engine


def read_of(connection: Any) -> Read:
    """The read of a connection (or its record in the pool) of a watched engine."""
    read: Read = connection.info[_READ]
    return read


def _ways(engine: sa.Engine, raw: Any) -> tuple[Callable[[], object], SocketHandle | None]:
    driver = engine.dialect.driver if engine.dialect.name in ("postgresql", "mysql", "sqlite") else ""
    if driver == "psycopg":
        return lambda: _cancel_psycopg(raw), SocketHandle(raw.fileno())
    if driver == "pymysql":
        return lambda: _kill_query(engine, raw), SocketHandle(raw._sock.fileno())  # noqa: SLF001 - PyMySQL shows it nowhere
    return lambda: interrupt(raw), None


def interrupt(raw: Any) -> None:
    """Call the driver's `cancel` or `interrupt`, if it has one."""
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


def _kill_query(engine: sa.Engine, raw: Any) -> None:
    import pymysql  # noqa: PLC0415 - an extra

    _, arguments = engine.dialect.create_connect_args(engine.url)
    patience = dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout"), max(1, round(CANCEL_SECONDS)))
    with pymysql.connect(**{**arguments, **patience}) as second, second.cursor() as cursor:
        cursor.execute(f"KILL QUERY {int(raw.thread_id())}")


def connected_adbc(connect: Callable[[], Any], url: sa.URL, underway: Underway) -> tuple[Any, Read]:
    """Return the connection that `connect` makes, and its read. ADBC hides the socket: it is the new one.

    If several new sockets lead to that port, the read can only be cancelled.
    """
    port = url.port or _POSTGRESQL_PORT
    with _one_at_a_time(url.host, port):
        before = _sockets(port)
        connection = connect()
        line = _new(port, before)
    return connection, underway.begin(lambda: _cancel_adbc(connection, port), line)


def _cancel_adbc(connection: Any, port: int) -> None:
    """Cancel the query. libpq's old cancel waits forever for a silent server, so a timer cuts its socket."""
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


def _new(port: int, before: dict[str, int]) -> SocketHandle | None:
    came = [descriptor for name, descriptor in _sockets(port).items() if name not in before]
    return SocketHandle(came[0]) if len(came) == 1 else None


@functools.cache
def _one_at_a_time(host: str | None, port: int) -> threading.Lock:
    """One lock per server, so that a silent server does not block others."""
    del host, port
    return threading.Lock()


def _sockets(port: int) -> dict[str, int]:
    """The descriptors of this process's sockets that lead to that port, by their names in the kernel."""
    by_name: dict[str, int] = {}
    for path in _DESCRIPTORS.iterdir() if _DESCRIPTORS.exists() else ():
        with suppress(OSError):  # closed meanwhile, or connected to nothing
            name = str(path.readlink())
            if name.startswith("socket:") and _leads_to(port, int(path.name)):
                by_name[name] = int(path.name)
    return by_name


def _leads_to(port: int, descriptor: int) -> bool:
    handle = socket.socket(fileno=descriptor)
    try:
        peer = handle.getpeername()
    finally:
        handle.detach()
    return peer[1] == port if isinstance(peer, tuple) else str(peer).endswith(f".{port}")
