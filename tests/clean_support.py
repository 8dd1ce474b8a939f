"""A shop whose customers exist twice, and plans for them by hand: for tests of what carries plans out."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from connectors.sql.source import SqlSource
from connectors.target import Cells, Change, Receipt, Reference, Row, RowName, Target
from reconcile import cli, config
from reconcile.app import Application
from reconcile.audit import log
from reconcile.cleaning.decisions import Answer, Desk
from reconcile.cleaning.execution.execute import Job
from reconcile.cleaning.undo import Undone
from reconcile.findings.bundle import Bundle, Operation, ReferenceGuard
from reconcile.findings.identity import record_of
from reconcile.findings.results import to_json
from reconcile.runs.report import RunReport
from reconcile.store import Store
from reconcile.store import bundles as stored
from reconcile.store import findings as stored_findings
from reconcile.store.bundles import Stored

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
        return {name: connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in sorted(ours)}


# Whole projects


class Killed(BaseException):
    """The process ends here, as far as the code under test can tell."""


@dataclass
class World:
    """A configuration, its state and one SQLite database, run in this process. `clock` is the store's."""

    folder: Path
    rules: dict[str, Any]
    config: dict[str, Any] = field(default_factory=dict)
    clock: dt.datetime | None = None

    @classmethod
    def at(cls, folder: Path, *rows: tuple[Any, ...], config: dict[str, Any] | None = None, **rules: Any) -> World:
        """Customers (id, email, name) and rules by name, each on top of one that looks for equal e-mails."""
        folder.mkdir(parents=True, exist_ok=True)
        world = cls(folder, {name.replace("_", "-"): said for name, said in rules.items()}, config or {})
        world.do("CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))")
        world.add(*rows)
        return world

    def write(self) -> None:
        base = {"kind": "duplicates", "dataset": "customers", "key": ["email"], "keep": [{"first": "id"}]}
        wide = {"limits": {"records": 1000, "share": "100%", "group": 100}}
        said = {
            "version": 1,
            "sources": {"shop": {"type": "sql", "url": "sqlite:///shop.db"}},
            "datasets": {"customers": {"source": "shop", "table": "customers", "id": "id"}},
            "rules": {name: base | wide | one for name, one in self.rules.items()},
            "jobs": {"nightly": {"rules": "all", "notify": ["team"]}},
            "channels": {"team": {"type": "file", "path": "messages.txt"}},
        }
        (self.folder / "reconcile.yaml").write_text(json.dumps(said | self.config))

    @contextmanager
    def open(self) -> Iterator[Application]:
        self.write()
        project = config.load(self.folder / "reconcile.yaml", {})
        clock = (lambda: self.clock) if self.clock else None
        store = Store.open(project.state.get_secret_value(), self.folder, clock=clock)  # type: ignore[arg-type]
        try:
            with Application(project, sleep=lambda seconds: time.sleep(min(seconds, 1.1)), store=store) as application:
                yield application
        finally:
            store.close()

    def run(self) -> RunReport:
        with self.open() as application:
            return application.run("nightly")

    def cleaning(self, report: RunReport, rule: str = "twins") -> dict[str, int]:
        """What a run says it did about a rule's findings: counts that are not zero."""
        [said] = [to_json(one.cleaning) for one in report.rules if one.rule == rule]
        return {
            name: number for name, number in said.items() if isinstance(number, int) and number and name != "refused"
        }

    @contextmanager
    def desk(self, actor: str = "anna") -> Iterator[Desk]:
        with self.open() as application:
            yield application.desk(actor)

    def approve(self, finding: str, actor: str = "anna", **said: Any) -> Answer:
        with self.desk(actor) as desk:
            return desk.approve(finding, **said)

    def undo(self, finding: str | None = None, **said: Any) -> Undone:
        with self.desk() as desk:
            return desk.undo(finding, **said)

    # The database

    def do(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.folder / "shop.db")) as connection:
            for one in statements:
                connection.execute(one)
            connection.commit()

    def add(self, *rows: tuple[Any, ...]) -> None:
        with closing(sqlite3.connect(self.folder / "shop.db")) as connection:
            connection.executemany("INSERT INTO customers (id, email, name) VALUES (?, ?, ?)", rows)
            connection.commit()

    def rows(self, table: str = "customers") -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.folder / "shop.db")) as connection:
            return connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()

    def ids(self) -> list[int]:
        return [row[0] for row in self.rows()]

    # The state

    def findings(self) -> dict[str, str]:
        """The state of every finding, by id."""
        with self.open() as application, application.store.read() as tx:
            return {one.id: one.state.value for one in stored_findings.find(tx)}

    def only(self) -> str:
        [name] = self.findings()
        return name

    def plans(self, finding: str | None = None) -> list[Stored]:
        with self.open() as application, application.store.read() as tx:
            return list(stored.find(tx, stored.Filter(finding=finding)))

    def events(self, prefix: str = "") -> list[str]:
        with self.open() as application, application.store.read() as tx:
            return [one.event for one in log.entries(tx) if one.event.startswith(prefix)]

    def intact(self) -> bool:
        with self.open() as application:
            return log.verify(application.store).intact

    def messages(self) -> str:
        path = self.folder / "messages.txt"
        return path.read_text() if path.exists() else ""

    def bury(self) -> None:
        """Make the owners of claimed plans look dead: their pid belongs to another process now."""
        with closing(sqlite3.connect(self.folder / "reconcile.db")) as connection:
            for name, owner in connection.execute("SELECT id, owner FROM bundles WHERE owner IS NOT NULL").fetchall():
                dead = json.loads(owner) | {"started": 1}
                connection.execute("UPDATE bundles SET owner = ? WHERE id = ?", (json.dumps(dead), name))
            connection.execute("UPDATE leases SET owner = NULL")
            connection.commit()


def command(world: World, *words: str) -> int:
    """The exit code of a command in the world's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["reconcile", *words, "-c", str(world.folder / "reconcile.yaml")])
        try:
            cli.main()
        except SystemExit as ended:
            return int(ended.code or 0)
    return 0
