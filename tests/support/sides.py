"""Invoices in one system and payments in another, and the project that compares them and cleans one side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tests.support.cli import Answer, Project

INVOICES = (
    ("I-1", "INV-1", "100.00", "open"),
    ("I-2", "INV-2", "50.00", "open"),
    ("I-3", "INV-3", "70.00", "open"),
)
PAYMENTS = (("1", "INV-1", "100.00", "paid"), ("9", "INV-9", "5.00", "paid"))
WIDE = {"records": 1000, "share": "100%", "group": 100}
CANCEL = {"dataset": "invoices", "forms": ["left_only"], "action": "set", "values": {"status": "cancelled"}}
PAY = {"dataset": "invoices", "forms": ["mismatch"], "action": "set", "values": {"status": "paid"}}
SQL = "create table {} (id varchar(20) primary key, number varchar(40), amount decimal(12, 2), status varchar(20))"


class Table:
    """A table of one side, read and written without Reconcile."""

    def __init__(self, url: str, name: str, rows: tuple[tuple[str, ...], ...]) -> None:
        self.url, self.name = url, name
        self.engine = sa.create_engine(url, poolclass=sa.NullPool)
        self.sql(SQL.format(name))
        self.add(*rows)

    @property
    def config(self) -> dict[str, Any]:
        return {"type": "sql", "url": self.url}

    def sql(self, *statements: str) -> None:
        with self.engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def add(self, *rows: tuple[str, ...]) -> None:
        self.sql(*(f"insert into {self.name} values ({', '.join(map(repr, row))})" for row in rows))

    def set(self, record: str, **values: str) -> None:
        self.sql(*(f"update {self.name} set {name} = '{text}' where id = '{record}'" for name, text in values.items()))

    def remove(self, record: str) -> None:
        self.sql(f"delete from {self.name} where id = '{record}'")

    @property
    def status(self) -> dict[str, str]:
        with self.engine.connect() as connection:
            rows = connection.exec_driver_sql(f"select id, status from {self.name} order by id").all()
        return {str(record): str(status) for record, status in rows}

    @property
    def receipts(self) -> int:
        """The number of operations that the database remembers as done."""
        with self.engine.connect() as connection:
            if not sa.inspect(connection).has_table("reconcile_receipts"):
                return 0
            return int(connection.exec_driver_sql("select count(*) from reconcile_receipts").scalar_one())


class Export:
    """Payments as a CSV file."""

    def __init__(self, folder: Path, rows: tuple[tuple[str, ...], ...]) -> None:
        self.file, self.rows = folder / "payments.csv", dict[str, tuple[str, ...]]()
        self.config: dict[str, Any] = {"type": "files", "root": str(folder)}
        self.add(*rows)

    def add(self, *rows: tuple[str, ...]) -> None:
        self.rows |= {row[0]: row for row in rows}
        self._write()

    def set(self, record: str, **values: str) -> None:
        names = ("id", "number", "amount", "status")
        row = dict(zip(names, self.rows[record], strict=True)) | values
        self.add(tuple(row[name] for name in names))

    def remove(self, record: str) -> None:
        del self.rows[record]
        self._write()

    def _write(self) -> None:
        lines = ["id,number,amount,status", *map(",".join, self.rows.values())]
        self.file.write_text("\n".join(lines) + "\n")

    @property
    def status(self) -> dict[str, str]:
        return {record: row[3] for record, row in sorted(self.rows.items())}


@dataclass
class Sides:
    """Two systems with invoices and payments, and one rule over them."""

    folder: Path
    invoices: Table
    payments: Table | Export
    rule: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def at(cls, folder: Path, left: str, right: str, **rule: Any) -> Sides:
        """`left` and `right` are addresses of databases; `right` may be `csv`."""
        invoices = Table(left, "invoices", INVOICES)
        payments = Export(folder, PAYMENTS) if right == "csv" else Table(right, "payments", PAYMENTS)
        return cls(folder, invoices, payments, rule)

    @property
    def command(self) -> Project:
        return Project(self.folder)

    def write(self) -> Sides:
        file = {"path": "payments.csv", "columns": {"amount": "decimal"}}
        place = file if isinstance(self.payments, Export) else {"table": "payments"}
        money = {"amount": "amount", "currency": "EUR"}
        rule = {
            "kind": "reconciliation",
            "left": "invoices",
            "right": "payments",
            "key": ["number"],
            "limits": WIDE,
        }
        written = {
            "version": 1,
            "sources": {"shop": self.invoices.config, "bank": self.payments.config},
            "datasets": {
                "invoices": {"source": "shop", "table": "invoices", "id": "id", "money": money},
                "payments": {"source": "bank", **place, "id": "id", "money": money},
            },
            "rules": {"unpaid": rule | self.rule},
            "jobs": {"nightly": {"rules": "all", "existing": "report"}},
        }
        self.command.write(json.dumps(written | self.config))
        return self

    def run(self, code: int | None = 0) -> Mapping[str, Any]:
        """What the run says about the rule; without a code, however it ends."""
        answer = self.write().command("run", "--json", "--all")
        assert code is None or answer.code == code, answer.said
        rule: Mapping[str, Any] = answer.json["rules"][0]
        return rule

    def cleaning(self, code: int = 0) -> Mapping[str, Any]:
        """What the run says about its cleaning, without zeros."""
        counts: Mapping[str, Any] = self.run(code)["cleaning"]
        return {name: value for name, value in counts.items() if value and name != "binding"}

    def state(self, finding: str) -> str:
        answer = self.command("show", finding, "--json")
        assert answer.code == 0, answer.said
        return str(answer.json["state"])

    def of_record(self, record: str) -> str:
        """The id of the finding that holds this record of the left side, or else of the right one."""
        answer = self.command("findings", "--all", "--json")
        return next(
            finding["id"]
            for side in ("left", "right")
            for finding in answer.json
            for member in finding.get(side) or ()
            if record in str(member)
        )

    def decide(self, *words: str, **environ: str) -> Answer:
        return self.command(*words, **({"RECONCILE_ACTOR": "anna"} | environ))


@contextmanager
def unchanged(table: Table) -> Iterator[None]:
    """Nothing in the table changes meanwhile, and no operation is done there."""
    before = (table.status, table.receipts)
    yield
    assert (table.status, table.receipts) == before
