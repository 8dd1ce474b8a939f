"""The world of the tests: a shop and the office that cleans it, from a configuration to an undo."""

from __future__ import annotations

import copy
import datetime as dt
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from connectors.target import TargetError, TransactionOutcome
from reconcile import config, points
from reconcile.app import Application
from reconcile.audit import log
from reconcile.cleaning.undo import Undone
from reconcile.decisions.request import DecisionResult
from reconcile.decisions.service import Decisions
from reconcile.findings.results import to_json
from reconcile.runs.report import RunReport
from reconcile.store import Store
from reconcile.store import findings as stored_findings
from reconcile.store import plans as stored
from reconcile.store.plans import StoredPlan
from tests.support import cli
from tests.support.cli import KeptFolder
from tests.support.shop import LOCAL, Shop

DELETE = {"clean": {"action": "delete"}}
ALONE = DELETE | {"approval": "none"}
"""Delete the surplus with nobody asked."""
MARK = {"clean": {"action": "set", "values": {"name": "twin"}}, "approval": "none"}
TWO = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "b@x", "Bob"))
"""Three customers, two of whom are one."""
CUSTOMERS: dict[str, Any] = {"source": "shop", "table": "customers", "id": "id"}


class Killed(BaseException):
    """The process ends here, as far as the code under test can tell."""


@dataclass
class World:
    """A shop and the office that cleans it: one folder in which everything happens, from YAML to undo.

    `shop` is the database, `rules` and `config` become the configuration, `command` is the command line. What runs
    in this process reads `clock`, if it is set.
    """

    folder: Path
    rules: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    clock: dt.datetime | None = None
    url: str = LOCAL

    @classmethod
    def at(cls, folder: Path, *rows: tuple[Any, ...], config: dict[str, Any] | None = None, **rules: Any) -> World:
        """Customers (id, email, name) and rules by name, each on top of one that looks for equal e-mails."""
        folder.mkdir(parents=True, exist_ok=True)
        world = cls(folder, {name.replace("_", "-"): rule for name, rule in rules.items()}, config or {})
        world.shop.sql("CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))")
        world.add(*rows)
        return world

    @cached_property
    def shop(self) -> Shop:
        return Shop(self.url, self.folder)

    @property
    def command(self) -> cli.Project:
        return cli.Project(self.folder)

    def kept(self) -> Kept:
        """Keep its files as they are, for tests that go on from here."""
        return Kept(self)

    def write(self) -> World:
        base = {"kind": "duplicates", "dataset": "customers", "key": ["email"], "keep": [{"first": "id"}]}
        wide = {"limits": {"records": 1000, "share": "100%", "group": 100}}
        written = {
            "version": 1,
            "sources": {"shop": {"type": "sql", "url": self.url}},
            "datasets": {"customers": CUSTOMERS},
            "rules": {name: base | wide | rule for name, rule in self.rules.items()},
            "jobs": {"nightly": {"rules": "all", "notify": ["team"]}},
            "channels": {"team": {"type": "file", "path": "messages.txt"}},
        }
        (self.folder / "reconcile.yaml").write_text(json.dumps(written | self.config))
        return self

    @contextmanager
    def open(self) -> Iterator[Application]:
        self.write()
        project = config.load(self.folder / "reconcile.yaml", {})
        clock = (lambda: self.clock) if self.clock else None
        store = Store.open(project.state.get_secret_value(), self.folder, clock=clock)  # type: ignore[arg-type]
        try:
            with Application(project, sleep=self._sleep, store=store) as application:
                yield application
        finally:
            store.close()

    def _sleep(self, seconds: float) -> None:
        if self.clock is None:  # else to wait changes nothing
            time.sleep(min(seconds, 1.1))

    def run(self) -> RunReport:
        with self.open() as application:
            return application.run("nightly")

    def cleaning(self, report: RunReport, rule: str = "twins") -> dict[str, int]:
        """What a run says it did about a rule's findings: counts that are not zero."""
        [counts] = [to_json(outcome.cleaning) for outcome in report.rules if outcome.rule == rule]
        return {name: count for name, count in counts.items() if isinstance(count, int) and count and name != "refused"}

    @contextmanager
    def decisions(self, actor: str = "anna") -> Iterator[Decisions]:
        with self.open() as application:
            yield application.decisions(actor)

    def approve(self, finding: str, actor: str = "anna", **given: Any) -> DecisionResult:
        with self.decisions(actor) as decisions:
            return decisions.approve(finding, **given)

    def undo(self, finding: str | None = None, **given: Any) -> Undone:
        with self.decisions() as decisions:
            return decisions.undo(finding, **given)

    def add(self, *rows: tuple[Any, ...]) -> None:
        """More customers (id, email, name)."""
        with self.shop.engine.begin() as connection:
            for row in rows:
                connection.exec_driver_sql("INSERT INTO customers (id, email, name) VALUES (?, ?, ?)", row)

    # The state

    def findings(self) -> dict[str, str]:
        """The state of every finding, by id."""
        with self.open() as application, application.store.read() as tx:
            return {finding.id: finding.state.value for finding in stored_findings.find(tx)}

    def only(self) -> str:
        [name] = self.findings()
        return name

    def plans(self, finding: str | None = None) -> list[StoredPlan]:
        with self.open() as application, application.store.read() as tx:
            return list(stored.find(tx, stored.PlanFilter(finding=finding)))

    def events(self, prefix: str = "") -> list[str]:
        with self.open() as application, application.store.read() as tx:
            return [entry.event for entry in log.entries(tx) if entry.event.startswith(prefix)]

    def intact(self) -> bool:
        with self.open() as application:
            return log.verify(application.store).intact

    def messages(self) -> str:
        path = self.folder / "messages.txt"
        return path.read_text() if path.exists() else ""

    @contextmanager
    def killed_at(self, label: str) -> Iterator[None]:
        """The process ends where the code reaches this point; whoever had plans in hand is dead afterwards."""

        def die(reached: str) -> None:
            if reached == label:
                raise Killed

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(points, "armed", die)
            with pytest.raises(Killed):
                yield
        self.bury()

    def bury(self) -> None:
        """Make the owners of claimed plans look dead."""
        bury(self.folder)


def bury(folder: Path) -> None:
    """Make the owners of claimed plans look dead: their pid belongs to another process now."""
    with closing(sqlite3.connect(folder / "reconcile.db")) as connection:
        for name, owner in connection.execute("SELECT id, owner FROM plans WHERE owner IS NOT NULL").fetchall():
            dead = json.loads(owner) | {"started": 1}
            connection.execute("UPDATE plans SET owner = ? WHERE id = ?", (json.dumps(dead), name))
        connection.execute("UPDATE leases SET owner = NULL")
        connection.commit()


@contextmanager
def commit_unanswered() -> Iterator[None]:
    """The answer to COMMIT is lost, and the process ends before it asks the target what came of it."""

    def lose(reached: str) -> None:
        if reached == "target.committed":
            raise TargetError("The connection broke in COMMIT", TransactionOutcome.UNKNOWN)
        if reached == "resolve.begun":
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(points, "armed", lose)
        with pytest.raises(KeyboardInterrupt):
            yield


@pytest.fixture
def asking(tmp_path: Path) -> World:
    """One group of twins, whose plan waits for approval."""
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.run()
    return world


class Kept:
    """A world that many tests go on from: each gets it as it was."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._folder = KeptFolder(world.folder)

    def restored(self) -> World:
        folder = self._folder.restored()
        return World(folder, *copy.deepcopy((self._world.rules, self._world.config)), url=self._world.url)
