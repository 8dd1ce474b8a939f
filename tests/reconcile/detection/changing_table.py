"""A table whose runs read only what changed, beside a second state whose runs read all of it."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from reconcile.app import Application, load
from reconcile.findings.results import RuleResult
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.store import findings as stored
from tests.support import cli
from tests.support.runs import Command

FIRST = dt.datetime(2026, 11, 2, 6, tzinfo=dt.UTC)
"""A Monday."""
DAY = dt.timedelta(days=1)
TABLE = """
    create table charges (
        id {id} primary key, customer bigint, email text, amount numeric(12, 2),
        status varchar(8) not null default 'ok', updated_at {time}, minute bigint default 0
    );
    create index charges_updated_at_idx on charges (updated_at);
    create index charges_customer_idx on charges (customer);
"""


@dataclass(frozen=True)
class Dialect:
    """How a database writes the table, and a time: now, and so many of a unit before or after that."""

    table: str
    now: str
    apart: str

    def at(self, number: int, unit: str) -> str:
        return self.apart.format(number=number, unit=unit)


DIALECTS = {
    "postgresql": Dialect(
        TABLE.format(id="bigint", time="timestamptz"),
        "clock_timestamp()",
        "clock_timestamp() + interval '{number} {unit}'",
    ),
    "mysql": Dialect(
        TABLE.format(id="bigint", time="datetime(6)"),
        "utc_timestamp(6)",
        "utc_timestamp(6) + interval {number} {unit}",
    ),
    "sqlite": Dialect(
        TABLE.format(id="integer", time="datetime"),
        "strftime('%Y-%m-%d %H:%M:%f', 'now')",
        "strftime('%Y-%m-%d %H:%M:%f', 'now', '{number} {unit}')",
    ),
}
RULE: dict[str, Any] = {
    "kind": "duplicates",
    "dataset": "charges",
    "key": ["customer", {"email": ["trim", "lower"]}],
    "where": "status = 'ok'",
    "keep": [{"first": "id"}],
}
INCREMENTAL = {"by": "updated_at", "overlap": "5s"}
OLD = DIALECTS["postgresql"].at(-30, "day")

Shown = tuple[str, str, str, tuple[Any, ...], tuple[Any, ...], int]


@dataclass
class ChangingTable:
    """The table and one state over it. `more` are rules besides `rule`, by name. `replica` is where runs read."""

    url: str
    folder: Path
    rule: dict[str, Any] = field(default_factory=lambda: dict(RULE))
    more: dict[str, dict[str, Any]] = field(default_factory=dict)
    incremental: dict[str, Any] | None = field(default_factory=lambda: dict(INCREMENTAL))
    dataset: dict[str, Any] = field(default_factory=dict)
    slot: dt.datetime = FIRST
    state: str = "sqlite:///state.db"
    replica: str | None = None

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.url, poolclass=sa.NullPool)

    @property
    def dialect(self) -> Dialect:
        return DIALECTS[self.engine.dialect.name]

    def create(self) -> ChangingTable:
        for statement in filter(str.strip, self.dialect.table.split(";")):
            self.sql(statement)
        return self

    def sql(self, text: str, **values: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(sa.text(text), values)

    def add(self, *rows: tuple[Any, ...], at: str | None = None, minute: int | None = 0) -> None:
        """Insert rows of (id, customer, email, amount), changed at that time, by default now."""
        names = ("id", "customer", "email", "amount")
        for row in rows:
            cells = dict(zip(names, row, strict=True)) | {"minute": minute}
            values = f"{', '.join(f':{name}' for name in cells)}, {at or self.dialect.now}"
            self.sql(f"insert into charges ({', '.join(cells)}, updated_at) values ({values})", **cells)

    def write(self) -> Path:
        dataset = {"source": "shop", "table": "charges", "id": "id", "money": {"amount": "amount", "currency": "EUR"}}
        dataset |= {"incremental": self.incremental} if self.incremental else {}
        dataset = {name: value for name, value in (dataset | self.dataset).items() if value is not None}
        places = {"url": self.url} | ({"replica": self.replica} if self.replica else {})
        source = {name: url.replace("+psycopg", "").replace("+pymysql", "") for name, url in places.items()}
        written = {
            "state": self.state,
            "sources": {"shop": {"type": "sql"} | source},
            "datasets": {"charges": dataset},
            "rules": {"twice": self.rule} | self.more,
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
        """Run the rule for the next minute's slot, or for this one."""
        [outcome] = self.run_all(slot, watch)
        return outcome

    def run_all(
        self, slot: dt.datetime | None = None, watch: Callable[[str, int], None] = lambda _rule, _read: None
    ) -> list[RuleResult]:
        """Run all rules."""
        self.slot = slot or self.slot + dt.timedelta(minutes=1)
        with self.application() as application:
            [report] = application.run_all(("default",), (), slot=self.slot.isoformat(), watch=watch)
        assert not report.failures, report.failures[0].failed
        return report.checked

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

    def command(self, *arguments: str) -> cli.Answer:
        self.write()
        return cli.Project(self.folder)(*arguments)

    def every(self, **filters: Any) -> list[Finding]:
        with self.application() as application, application.store.read() as tx:
            return list(stored.find(tx, stored.FindingFilter(**filters)))

    def only(self, column: str, value: Any) -> Finding:
        [finding] = (finding for finding in self.every() if finding.key[column] == value)
        return finding

    def decide(self, rule: str, customer: int, state: State, decision: Callable[..., object]) -> None:
        """Decide about the rule's finding of that customer in that state with the smallest key and records."""
        of_customer = (
            finding for finding in self.every(rules=(rule,), states=(state,)) if finding.key["customer"] == customer
        )
        first = min(of_customer, key=lambda finding: (str(finding.key["email"]), finding.members[0].id), default=None)
        if first is not None:
            with self.application() as application:
                decision(application.store, first.id, actor="ann")

    def findings(self) -> list[Shown]:
        """Every finding: its state, rule, key, present records in their order, money, and times it was reported."""
        return sorted(
            (
                finding.state.value,
                finding.rule,
                repr(dict(finding.key)),
                tuple((member.role, *member.id) for member in finding.members),
                tuple(sorted((code, str(amount)) for code, amount in finding.money.items())),
                finding.version,
            )
            for finding in self.every()
        )
