"""A shop whose customers exist twice, and plans for them by hand: for tests of what carries plans out."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from connectors.sql import SqlSource
from connectors.target import Cells, Change, Receipt, Reference, Row, RowName, Target
from reconcile.clean.execute import Job
from reconcile.findings.bundle import Bundle, Operation, ReferenceGuard
from reconcile.findings.identity import record_of

SCHEMA = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60), status VARCHAR(20), "
    "touched VARCHAR(60))",
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customers (id), total INTEGER)",
)
ORDERS = Reference("orders_customer", "orders", ("customer",), "customers", ("id",))


def text(value: str) -> tuple[str, str]:
    """A cell of whatever type its column has."""
    return ("t", value)


@dataclass
class Customers:
    """A database with customers and orders, by any URL, and its target."""

    url: str
    source: SqlSource
    engine: sa.Engine = field(repr=False)

    @classmethod
    def at(cls, url: str, folder: Path) -> Customers:
        settings = SqlSource.Settings(type="sql", url=url)
        source = SqlSource("shop", settings, folder)
        engine = sa.create_engine(url if not url.startswith("sqlite") else f"sqlite:///{folder}/{url.split('///')[1]}")
        shop = cls(url, source, engine)
        shop.do(*SCHEMA)
        return shop

    @property
    def target(self) -> Target:
        return self.source

    def do(self, *statements: str) -> None:
        with self.engine.begin() as connection:
            for one in statements:
                connection.execute(sa.text(one))

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        with self.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(statement))]

    def add(self, *ids: int, name: str = "Anna") -> None:
        for one in ids:
            self.do(f"INSERT INTO customers VALUES ({one}, 'a@example.com', '{name}', 'active', NULL)")

    def order(self, number: int, customer: int) -> None:
        self.do(f"INSERT INTO orders VALUES ({number}, {customer}, 10)")

    def customers(self) -> list[tuple[Any, ...]]:
        return self.ask("SELECT id, email, name, status FROM customers ORDER BY id")

    def rows(self, *ids: int) -> list[Row]:
        dataset = SqlSource.Dataset(table="customers")
        found = self.target.rows(dataset, ["id"], [(one,) for one in ids])
        return [row for row in found if row is not None]

    # Plans

    def deletion(self, keeper: int, *surplus: int, guarded: bool = True) -> Bundle:
        """Delete the surplus, which nothing may refer to."""
        kept, *gone = self.rows(keeper, *surplus)
        changes = (
            Change(kept.name, kept.cells, {}, "keeper"),
            *(Change(r.name, r.cells, None, "surplus") for r in gone),
        )
        guards = (ReferenceGuard(ORDERS, tuple((row.cells["id"],) for row in gone), ()),) if guarded else ()
        return self._bundle("delete", keeper, surplus, changes, references=guards)

    def marking(self, keeper: int, *surplus: int, **values: str) -> Bundle:
        """Set columns of the surplus."""
        kept, *marked = self.rows(keeper, *surplus)
        after: Cells = {name: text(value) for name, value in values.items()}
        changes = (
            Change(kept.name, kept.cells, {}, "keeper"),
            *(Change(r.name, r.cells, after, "surplus") for r in marked),
        )
        return self._bundle("set", keeper, surplus, changes)

    def repointing(self, keeper: int, surplus: int, *orders: int) -> Bundle:
        """Move orders to the keeper, then delete the surplus."""
        kept, gone = self.rows(keeper, surplus)
        dataset = SqlSource.Dataset(table="orders")
        moved = [row for row in self.target.rows(dataset, ["id"], [(one,) for one in orders]) if row is not None]
        changes = (
            Change(kept.name, kept.cells, {}, "keeper"),
            *(Change(row.name, row.cells, {"customer": kept.cells["id"]}, "reference") for row in moved),
            Change(gone.name, gone.cells, None, "surplus"),
        )
        guard = ReferenceGuard(ORDERS, ((gone.cells["id"],),), tuple(row.name for row in moved))
        return self._bundle("delete", keeper, (surplus,), changes, references=(guard,))

    def _bundle(
        self,
        action: str,
        keeper: int,
        surplus: Sequence[int],
        changes: tuple[Change, ...],
        references: tuple[ReferenceGuard, ...] = (),
    ) -> Bundle:
        operations = tuple(Operation(record_of((one,)), action, f"{action} {one}") for one in surplus)
        return Bundle(
            finding=f"F-{keeper:06d}",
            rule="twins",
            dataset="customers",
            source="shop",
            target=self.target.identity(),
            table="customers",
            action=action,
            keeper=record_of((keeper,)),
            operations=operations,
            changes=changes,
            catalogue="",
            references=references,
        )


_NUMBERS = itertools.count(1)


def job(bundle: Bundle, name: str | None = None, *, receipts: bool = True, store: str = "st_1") -> Job:
    """The bundle as it is when it is `sent`; its keys are made of its records, as ours are."""
    called = name or f"b-{next(_NUMBERS)}"
    made = (
        Receipt(f"rk1.{bundle.rule}.{one.effect}.{one.record}", one.fingerprint, store, 1, 1, called)
        for one in bundle.operations
    )
    return Job(called, bundle, tuple(made) if receipts else ())


def otherwise(bundle: Bundle) -> Bundle:
    """The same operations with another content."""
    return replace(bundle, operations=tuple(replace(one, fingerprint="other") for one in bundle.operations))


def row_name(table: str, number: int) -> RowName:
    return RowName(table, (("id", ("z", str(number))),))


def tables_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything a SQLite file holds, but our own tables."""
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        ours = [name for name in names if not name.startswith("reconcile_")]
        return {name: connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in sorted(ours)}  # noqa: S608
