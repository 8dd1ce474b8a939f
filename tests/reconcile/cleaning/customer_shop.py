"""A shop whose customers exist twice, and plans for them made by hand: for tests of what carries plans out."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from connectors.sql.source import SqlSource
from connectors.target import Cells, Change, Receipt, Reference, Row, RowName, Target
from reconcile.cleaning.execution.execute import SentPlan
from reconcile.findings.identity import record_of
from reconcile.findings.plan import Operation, Plan, ReferenceGuard
from tests.support.shop import Shop

SCHEMA = (
    """CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60), status VARCHAR(20),
    touched VARCHAR(60))""",
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customers (id), total INTEGER)",
)
ORDERS = Reference("orders_customer", "orders", ("customer",), "customers", ("id",))


def text(value: str) -> tuple[str, str]:
    """A cell of whatever type its column has."""
    return ("t", value)


@dataclass
class CustomerShop(Shop):
    """A shop with customers and their orders, and plans for them made by hand."""

    @classmethod
    def at(cls, url: str, folder: Path) -> CustomerShop:
        shop = cls(url, folder)
        shop.sql(*SCHEMA)
        return shop

    @property
    def target(self) -> Target:
        return self.source

    def add(self, *ids: int, name: str = "Anna") -> None:
        for identifier in ids:
            self.sql(f"INSERT INTO customers VALUES ({identifier}, 'a@example.com', '{name}', 'active', NULL)")

    def order(self, number: int, customer: int) -> None:
        self.sql(f"INSERT INTO orders VALUES ({number}, {customer}, 10)")

    def customers(self) -> list[tuple[Any, ...]]:
        return self.rows("customers", "id, email, name, status")

    def read(self, *ids: int) -> list[Row]:
        dataset = SqlSource.Dataset(table="customers")
        rows = self.target.rows(dataset, ["id"], [(identifier,) for identifier in ids])
        return [row for row in rows if row is not None]

    # Plans

    def deletion(self, keeper: int, *surplus: int, guarded: bool = True) -> Plan:
        """Delete the surplus, which nothing may refer to."""
        kept, *gone = self.read(keeper, *surplus)
        changes = (
            Change(kept.name, kept.cells, {}, "keeper"),
            *(Change(r.name, r.cells, None, "surplus") for r in gone),
        )
        guards = (ReferenceGuard(ORDERS, tuple((row.cells["id"],) for row in gone), ()),) if guarded else ()
        return self._plan("delete", keeper, surplus, changes, references=guards)

    def marking(self, keeper: int, *surplus: int, **values: str) -> Plan:
        """Set columns of the surplus."""
        kept, *marked = self.read(keeper, *surplus)
        after: Cells = {name: text(value) for name, value in values.items()}
        changes = (
            Change(kept.name, kept.cells, {}, "keeper"),
            *(Change(r.name, r.cells, after, "surplus") for r in marked),
        )
        return self._plan("set", keeper, surplus, changes)

    def repointing(self, keeper: int, surplus: int, *orders: int) -> Plan:
        """Move orders to the keeper, then delete the surplus."""
        kept, gone = self.read(keeper, surplus)
        dataset = SqlSource.Dataset(table="orders")
        moved = [row for row in self.target.rows(dataset, ["id"], [(order,) for order in orders]) if row is not None]
        changes = (
            Change(kept.name, kept.cells, {}, "keeper"),
            *(Change(row.name, row.cells, {"customer": kept.cells["id"]}, "reference") for row in moved),
            Change(gone.name, gone.cells, None, "surplus"),
        )
        guard = ReferenceGuard(ORDERS, ((gone.cells["id"],),), tuple(row.name for row in moved))
        return self._plan("delete", keeper, (surplus,), changes, references=(guard,))

    def _plan(
        self,
        action: str,
        keeper: int,
        surplus: Sequence[int],
        changes: tuple[Change, ...],
        references: tuple[ReferenceGuard, ...] = (),
    ) -> Plan:
        operations = tuple(Operation(record_of((member,)), action, f"{action} {member}") for member in surplus)
        return Plan(
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


def job(plan: Plan, name: str | None = None, *, receipts: bool = True, store: str = "st_1") -> SentPlan:
    """The plan as it is when it is `sent`; its keys are made of its records, as ours are."""
    called = name or f"b-{next(_NUMBERS)}"
    created = (
        Receipt(f"rk1.{plan.rule}.{operation.effect}.{operation.record}", operation.fingerprint, store, 1, 1, called)
        for operation in plan.operations
    )
    return SentPlan(called, plan, tuple(created) if receipts else ())


def otherwise(plan: Plan) -> Plan:
    """The same operations with another content."""
    return replace(plan, operations=tuple(replace(operation, fingerprint="other") for operation in plan.operations))


def row_name(table: str, number: int) -> RowName:
    return RowName(table, (("id", ("z", str(number))),))


def tables_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything a SQLite file holds, but our own tables."""
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        ours = [name for name in names if not name.startswith("reconcile_")]
        return {name: connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in sorted(ours)}
