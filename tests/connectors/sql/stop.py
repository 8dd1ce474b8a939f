"""Databases whose reads never end by themselves, behind a proxy that can break what is read."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from tests.support.tcp_proxy import TcpProxy

_COUNTING = "with recursive r(g) as (select 1 union all select g + 1 from r)"
VIEWS = {
    "postgresql": (
        "create view slow as select g as id, pg_sleep(100)::text as word from generate_series(1, 10) g",
        f"create view endless as {_COUNTING} select g as id, repeat('x', 100) as word from r",
    ),
    "mysql": (
        "create view slow as select 1 as id, concat(sleep(100), '') as word",
        "create view endless as select seq as id, repeat('x', 100) as word from seq_1_to_1000000000",
    ),
    "sqlite": (
        f"create view slow as {_COUNTING} select max(g) as id, 'x' as word from r",
        f"create view endless as {_COUNTING} select g as id, 'x' as word from r",
    ),
}
_RUNNING = {
    "postgresql": "select pid from pg_stat_activity where datname = current_database() "
    "and pid <> pg_backend_pid() and state = 'active' and backend_type = 'client backend' "
    "and clock_timestamp() - query_start > interval '0.3 s'",
    "mysql": "select id from information_schema.processlist where db = database() and id <> connection_id() "
    "and command <> 'Sleep' and time_ms > 300",
}


@dataclass
class Server:
    """A database with the views slow, which says nothing for 100 s, and endless, which says too much."""

    direct: str
    url: str
    proxy: TcpProxy

    @property
    def running(self) -> int:
        """How many statements of others run in this database and have for a while, unlike what looks at its tables."""
        return len(self._ids("", ""))

    def rid(self) -> None:
        """End them: a server hears of a client that was cut off only when it has something to say to it."""
        self._ids("select pg_terminate_backend({})", "kill {}")

    def _ids(self, postgresql: str, mysql: str) -> list[int]:
        engine = sa.create_engine(self.direct, poolclass=sa.pool.NullPool)
        kill = postgresql if engine.dialect.name == "postgresql" else mysql
        with engine.connect() as connection:
            ids = list(connection.exec_driver_sql(_RUNNING[engine.dialect.name]).scalars())
            for item in ids if kill else ():
                connection.exec_driver_sql(kill.format(item))
            return ids


def prepared(url: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.begin() as connection:
        for statement in VIEWS[engine.dialect.name]:
            connection.exec_driver_sql(statement)
    engine.dispose()


@contextlib.contextmanager
def served(direct: str) -> Iterator[Server]:
    """The database with the views, and a proxy before it."""
    prepared(direct)
    url = sa.make_url(direct)
    port = url.port or (5432 if url.get_backend_name() == "postgresql" else 3306)
    with TcpProxy((url.host or "127.0.0.1", port)) as proxy:
        through = url.set(host=proxy.host, port=proxy.port, drivername=url.get_backend_name())
        yield Server(direct, through.render_as_string(hide_password=False), proxy)


def sqlite_at(path: Path) -> str:
    prepared(f"sqlite:///{path}")
    return f"sqlite:///{path}"


def until(happened: Callable[[], object], what: str, seconds: float = 20) -> None:
    """Wait until it has happened."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


class InThread:
    """Work in a thread of its own; `error` is what it raised."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def ended(self, seconds: float) -> BaseException | None:
        """What it raised, once it has ended, which must be within so many seconds."""
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "the work goes on"
        return self.error
