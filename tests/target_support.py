"""Databases for the suites of targets: one a module on each server, its tables made anew for each test."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from connectors.conformance.target import CUSTOMERS, NOTES, StoredTarget
from connectors.sql.source import SqlSource
from connectors.target import Receipt, Row

SECRET = "s3cr3t-canary"


@dataclass
class Shop:
    """A database: `url` for us, `run` for plain SQL as somebody else says it."""

    name: str  # sqlite, postgresql, mysql
    url: str
    root: Path
    elsewhere: str
    opened: list[SqlSource] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)

    def run(self, *statements: str) -> list[Sequence[Any]]:
        """The rows of the last one."""
        rows: list[Sequence[Any]] = []
        with self.engine.connect() as connection:
            for statement in statements:
                answer = connection.exec_driver_sql(
                    statement.replace("%", "%%") if self.name != "sqlite" else statement
                )
                rows = [tuple(row) for row in answer] if answer.returns_rows else []
        return rows

    def quoted(self, name: str) -> str:
        mark = "`" if self.name == "mysql" else '"'
        return mark + name.replace(mark, mark * 2) + mark

    def emptied(self) -> None:
        """Without a table."""
        if self.name == "sqlite":
            path = Path(str(sa.make_url(self.url).database))
            path.unlink(missing_ok=True)
            sqlite3.connect(path).close()
            return
        with self.engine.connect() as connection:
            names = sa.inspect(connection).get_table_names()
            if self.name == "mysql":
                connection.exec_driver_sql("set foreign_key_checks = 0")
            for name in names:
                cascade = " cascade" if self.name == "postgresql" else ""
                connection.exec_driver_sql(f"drop table {self.quoted(name)}{cascade}".replace("%", "%%"))

    def source(self, url: str | None = None, root: Path | None = None, **settings: Any) -> SqlSource:
        source: SqlSource = SqlSource(
            "shop",
            SqlSource.Settings.model_validate({"type": "sql", "url": url or self.url, **settings}),
            root or self.root,
        )
        self.opened.append(source)
        return source

    def close(self) -> None:
        while self.opened:
            self.opened.pop().close()

    @property
    def address(self) -> tuple[str, int]:
        url = sa.make_url(self.url)
        return str(url.host), int(url.port or 0)

    def through(self, host: str, port: int) -> str:
        return sa.make_url(self.url).set(host=host, port=port).render_as_string(hide_password=False)

    def kit(self) -> ShopKit:
        return ShopKit(self)


class ShopKit:
    """The tables of the conformance suite, by plain SQL."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self.secret = SECRET if shop.name == "postgresql" else None

    def store(self) -> StoredTarget:
        shop = self._shop
        shop.emptied()
        shop.run(
            "create table customers (id integer primary key, name varchar(40), email varchar(60))",
            "create table notes (id integer primary key, customer integer, body varchar(40), "
            "foreign key (customer) references customers (id))",
        )
        with shop.engine.connect() as connection:
            for name, rows in (("customers", CUSTOMERS), ("notes", NOTES)):
                table = sa.table(name, *(sa.column(name) for name in rows[0]))
                connection.execute(table.insert(), [dict(row) for row in rows])
        secret = sa.make_url(shop.url)
        if self.secret:
            secret = secret.set(password=self.secret)
        url = secret.render_as_string(hide_password=False)
        source, dataset = shop.source(url), SqlSource.Dataset(table="customers")

        def scan() -> pa.Table:
            names = list(source.describe(dataset).names)
            return source.scan(dataset, names).reader.read_all()

        return StoredTarget(
            target=source,
            customers=dataset,
            notes=SqlSource.Dataset(table="notes"),
            another=lambda: shop.source(url),
            elsewhere=lambda: shop.source(shop.elsewhere),
            scan=scan,
            close=shop.close,
        )


def shop_of(name: str, server: Callable[[], Iterator[str]], root: Path) -> Iterator[Shop]:
    """A shop in a database of its own, which is gone afterwards."""
    if name == "sqlite":
        other_file = root / "other.db"
        sqlite3.connect(other_file).close()
        sqlite3.connect(root / "shop.db").close()
        shop = Shop(name, f"sqlite:///{root}/shop.db", root, f"sqlite:///{other_file}")
        yield shop
        shop.close()
        return
    for url in server():
        database = "postgres" if name == "postgresql" else "mysql"
        elsewhere = sa.make_url(url).set(database=database).render_as_string(hide_password=False)
        shop = Shop(name, url, root, elsewhere)
        yield shop
        shop.close()


def record(source: SqlSource, table: str, ident: Any = 1, key: str = "id") -> Row:
    """The row of that id."""
    row = source.rows(SqlSource.Dataset(table=table), [key], [(ident,)])[0]
    assert row is not None
    return row


def receipt(key: str, **given: Any) -> Receipt:
    return Receipt(**{"key": key, "fingerprint": "f", "store": "s", "epoch": 1, "fence": 1, "bundle": "B", **given})
