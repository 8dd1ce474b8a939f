"""The shop of the tests: a database with records that a configuration points to, and plain SQL in it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa

from connectors.sql.source import SqlSource
from tests.support.servers import scratch_database

Rows = dict[str, list[tuple[Any, ...]]]
LOCAL = "sqlite:///shop.db"
SERVERS = ["sqlite", *(pytest.param(name, marks=pytest.mark.server) for name in ("postgres_url", "mariadb_url"))]
"""Parameters of a fixture that asks `address` for a database."""


def address(request: pytest.FixtureRequest) -> str:
    """The empty database that one of SERVERS names, or the server itself."""
    fixtures = {"postgresql": "postgres_url", "mariadb": "mariadb_url"}
    return (
        LOCAL if request.param == "sqlite" else str(request.getfixturevalue(fixtures.get(request.param, request.param)))
    )


@dataclass
class Shop:
    """A database with records that a configuration points to: what Reconcile reads and cleans.

    `url` is as a configuration in `folder` writes it. Statements run as another program would run them, each time in
    a connection of its own. A shop knows neither a state nor a schedule; a test that needs them uses a World.
    """

    url: str
    folder: Path
    strict: ClassVar[bool] = False
    """Whether SQLite checks foreign keys, which it does only for programs that ask for it."""
    opened: list[SqlSource] = field(default_factory=list, repr=False)

    @cached_property
    def engine(self) -> sa.Engine:
        url = sa.make_url(self.url)
        if url.get_backend_name() == "sqlite":
            url = url.set(database=str(self.folder / str(url.database)))
        engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
        if self.dialect == "sqlite" and self.strict:
            sa.event.listen(engine, "connect", lambda connection, _: connection.execute("pragma foreign_keys = on"))
        return engine

    @property
    def dialect(self) -> str:
        """sqlite, postgresql or mysql."""
        return sa.make_url(self.url).get_backend_name()

    def open(self, url: str | None = None, **settings: Any) -> SqlSource:
        """A source over this database, at another address if one is given; `close` closes it."""
        written = {"type": "sql", "url": url or self.url, **settings}
        self.opened.append(SqlSource("shop", SqlSource.Settings.model_validate(written), self.folder))
        return self.opened[-1]

    @cached_property
    def source(self) -> SqlSource:
        return self.open()

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements in one transaction; returns the rows of the last."""
        rows: list[tuple[Any, ...]] = []
        with self.engine.begin() as connection:
            for statement in statements:
                written = statement if self.dialect == "sqlite" else statement.replace("%", "%%")
                result = connection.exec_driver_sql(written)
                rows = [tuple(row) for row in result] if result.returns_rows else []
        return rows

    def rows(self, table: str = "customers", columns: str = "*") -> list[tuple[Any, ...]]:
        """The rows of a table by their first column."""
        return self.sql(f"select {columns} from {table} order by 1")

    def tables(self, *names: str) -> Rows:
        """All rows of these tables, sorted as texts."""
        return {name: sorted(self.sql(f"select * from {name}"), key=repr) for name in names}

    def ids(self, table: str = "customers", column: str = "id") -> list[Any]:
        return [row[0] for row in self.rows(table, column)]

    def quoted(self, name: str) -> str:
        mark = "`" if self.dialect == "mysql" else '"'
        return mark + name.replace(mark, mark * 2) + mark

    def empty(self) -> None:
        """Drop every table."""
        if self.dialect == "sqlite":
            Path(str(self.engine.url.database)).unlink(missing_ok=True)
            self.sql("select 1")
            return
        with self.engine.connect() as connection:
            names = sa.inspect(connection).get_table_names()
        cascade = " cascade" if self.dialect == "postgresql" else ""
        unchecked = ["set foreign_key_checks = 0"] if self.dialect == "mysql" else []
        self.sql(*unchecked, *(f"drop table {self.quoted(name)}{cascade}" for name in names))

    def through(self, host: str, port: int) -> str:
        """The address of this database behind a proxy."""
        return sa.make_url(self.url).set(host=host, port=port).render_as_string(hide_password=False)

    def close(self) -> None:
        """Close every source over it. The shop can be used again."""
        while self.opened:
            self.opened.pop().close()
        self.__dict__.pop("source", None)


def shop_on(server: str | None, folder: Path) -> Iterator[Shop]:
    """A shop in a new database of that server, which is gone afterwards; without one, in a SQLite file."""
    for url in scratch_database(server) if server else (LOCAL,):
        shop = Shop(url, folder)
        yield shop
        shop.close()
