"""Databases for the suites of targets: one a module on each server, its tables made anew for each test."""

import sqlite3
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from connectors.conformance.target import CUSTOMERS, NOTES, StoredTarget
from connectors.sql.source import SqlSource
from connectors.target import Receipt, Row
from tests.support.shop import Shop

SECRET = "s3cr3t-canary"


def elsewhere(shop: Shop) -> str:
    """The address of another database on the same server."""
    if shop.dialect == "sqlite":
        return "sqlite:///other.db"
    database = "postgres" if shop.dialect == "postgresql" else "mysql"
    return sa.make_url(shop.url).set(database=database).render_as_string(hide_password=False)


class ShopKit:
    """The tables of the conformance suite, by plain SQL."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self.secret = SECRET if shop.dialect == "postgresql" else None

    def store(self) -> StoredTarget:
        shop = self._shop
        shop.empty()
        sqlite3.connect(shop.folder / "other.db").close()
        shop.sql(
            "create table customers (id integer primary key, name varchar(40), email varchar(60))",
            "create table notes (id integer primary key, customer integer, body varchar(40), "
            "foreign key (customer) references customers (id))",
        )
        with shop.engine.begin() as connection:
            for name, rows in (("customers", CUSTOMERS), ("notes", NOTES)):
                table = sa.table(name, *(sa.column(name) for name in rows[0]))
                connection.execute(table.insert(), [dict(row) for row in rows])
        secret = sa.make_url(shop.url)
        if self.secret:
            secret = secret.set(password=self.secret)
        url = secret.render_as_string(hide_password=False)
        source, dataset = shop.open(url), SqlSource.Dataset(table="customers")

        def scan() -> pa.Table:
            names = list(source.describe(dataset).names)
            return source.scan(dataset, names).reader.read_all()

        return StoredTarget(
            target=source,
            customers=dataset,
            notes=SqlSource.Dataset(table="notes"),
            another=lambda: shop.open(url),
            elsewhere=lambda: shop.open(elsewhere(shop)),
            scan=scan,
            close=shop.close,
        )


def record(source: SqlSource, table: str, ident: Any = 1, key: str = "id") -> Row:
    """The row of that id."""
    row = source.rows(SqlSource.Dataset(table=table), [key], [(ident,)])[0]
    assert row is not None
    return row


def receipt(key: str, **given: Any) -> Receipt:
    return Receipt(**{"key": key, "fingerprint": "f", "store": "s", "epoch": 1, "fence": 1, "plan": "B", **given})
