"""A table of PostgreSQL whose runs read only what changed, beside a second state whose runs read all of it."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cli_support
import sqlalchemy as sa
from runs_support import Command

from reconcile.app import Application, load
from reconcile.findings.results import RuleFailure, RuleResult
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.store import findings as stored
from reconcile.tracking import decide

FIRST = dt.datetime(2026, 11, 2, 6, tzinfo=dt.UTC)
"""A Monday."""
DAY = dt.timedelta(days=1)
TABLE = """
    create table charges (
        id bigint primary key, customer bigint, email text, amount numeric(12, 2), status text not null default 'ok',
        updated_at timestamptz
    );
    create index on charges (updated_at);
    create index on charges (customer);
"""
RULE: dict[str, Any] = {
    "kind": "duplicates",
    "dataset": "charges",
    "key": ["customer", {"email": ["trim", "lower"]}],
    "where": "status = 'ok'",
    "keep": [{"first": "id"}],
}
INCREMENTAL = {"by": "updated_at", "overlap": "5s"}
OLD = "clock_timestamp() - interval '30 days'"

Shown = tuple[str, str, tuple[Any, ...], tuple[Any, ...], int]


@dataclass
class ChangingTable:
    """The table and one state over it."""

    url: str
    folder: Path
    rule: dict[str, Any] = field(default_factory=lambda: dict(RULE))
    incremental: dict[str, Any] | None = field(default_factory=lambda: dict(INCREMENTAL))
    dataset: dict[str, Any] = field(default_factory=dict)
    slot: dt.datetime = FIRST
    state: str = "sqlite:///state.db"

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.url, poolclass=sa.NullPool)

    def create(self) -> ChangingTable:
        for statement in filter(str.strip, TABLE.split(";")):
            self.sql(statement)
        return self

    def sql(self, text: str, **values: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(sa.text(text), values)

    def add(self, *rows: tuple[Any, ...], at: str = "clock_timestamp()") -> None:
        """Insert rows of (id, customer, email, amount), changed at that time."""
        for row in rows:
            cells = dict(zip(("id", "customer", "email", "amount"), row, strict=True))
            self.sql(f"insert into charges values (:id, :customer, :email, :amount, 'ok', {at})", **cells)

    def write(self) -> Path:
        dataset = {"source": "shop", "table": "charges", "id": "id", "money": {"amount": "amount", "currency": "EUR"}}
        dataset |= {"incremental": self.incremental} if self.incremental else {}
        dataset = {name: value for name, value in (dataset | self.dataset).items() if value is not None}
        written = {
            "state": self.state,
            "sources": {"shop": {"type": "sql", "url": self.url.replace("+psycopg", "")}},
            "datasets": {"charges": dataset},
            "rules": {"twice": self.rule},
            "jobs": {name: {"rules": "all"} for name in ("default", "second")},
        }
        self.folder.mkdir(exist_ok=True)
        path = self.folder / "reconcile.yaml"
        path.write_text(json.dumps(written), encoding="utf-8")
        return path

    @contextmanager
    def application(self) -> Iterator[Application]:
        with load(self.write(), {}) as application:
            yield application

    def run(
        self, slot: dt.datetime | None = None, watch: Callable[[str, int], None] = lambda _rule, _read: None
    ) -> RuleResult:
        """Run the rule for the next day's slot, or for this one."""
        self.slot = slot or self.slot + dt.timedelta(minutes=1)
        with self.application() as application:
            [report] = application.run_all(("default",), (), slot=self.slot.isoformat(), watch=watch)
        [outcome] = report.rules
        assert not isinstance(outcome, RuleFailure), outcome.failed
        return outcome

    def copied(self, folder: Path) -> ChangingTable:
        """The same table with a copy of the state."""
        shutil.copytree(self.folder, folder)
        return replace(self, folder=folder)

    def held_run(self, dies_at: int = 0) -> Command:
        """The next day's run in a process of its own, which kills itself at its statement of that number."""
        slot = (self.slot + DAY).isoformat()
        return (
            Command(self.folder, "run", "--quiet", "default", "--slot", slot, held=True, dies_at=dies_at).ready().go()
        )

    def command(self, *arguments: str) -> cli_support.Answer:
        self.write()
        return cli_support.Project(self.folder)(*arguments)

    def every(self, **filters: Any) -> list[Finding]:
        with self.application() as application, application.store.read() as tx:
            return list(stored.find(tx, stored.FindingFilter(**filters)))

    def only(self, column: str, value: Any) -> Finding:
        [finding] = (finding for finding in self.every() if finding.key[column] == value)
        return finding

    def dismiss_open(self, customer: int) -> None:
        """Dismiss the open finding of that customer with the smallest key, if there is one."""
        of_customer = (
            finding for finding in self.every() if finding.key["customer"] == customer and finding.state is State.OPEN
        )
        first = min(of_customer, key=lambda finding: str(finding.key["email"]), default=None)
        if first is not None:
            with self.application() as application:
                decide.dismiss(application.store, first.id, actor="ann")

    def findings(self) -> list[Shown]:
        """Every finding: its state, key, present records in their order, money, and times it was reported."""
        return sorted(
            (
                finding.state.value,
                repr(dict(finding.key)),
                tuple((member.role, *member.id) for member in finding.members),
                tuple(sorted((code, str(amount)) for code, amount in finding.money.items())),
                finding.version,
            )
            for finding in self.every()
        )
