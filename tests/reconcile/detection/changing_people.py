"""A table of people whose runs compare only what changed, under states that differ in what they take for changed."""

from __future__ import annotations

import datetime as dt
import json
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from reconcile.app import load
from reconcile.findings.results import RuleResult
from reconcile.findings.shown import Finding
from reconcile.store import Store
from reconcile.store import findings as stored
from tests.reconcile.detection.changing_table import FIRST
from tests.support import cli
from tests.support.runs import Command

COLUMNS = ("given", "surname", "email", "phone", "born", "city")
RULE: dict[str, Any] = {
    "kind": "similar",
    "dataset": "people",
    "compare": {
        "given": "given_name",
        "surname": "surname",
        "email": "email",
        "phone": "phone",
        "born": "date",
        "city": "city",
    },
    "max_share": "90%",
}
_TABLE = """
    create table people (
        id {id} primary key, given text, surname text, email text, phone text, born text, city text,
        status varchar(8) not null default 'ok', updated_at {time}
    );
    create index people_updated_at on people (updated_at);
"""
_TYPES = {"sqlite": ("integer", "datetime"), "postgresql": ("bigint", "timestamptz")}
_NOW = {"sqlite": "strftime('%Y-%m-%d %H:%M:%f', 'now')", "postgresql": "clock_timestamp()"}
_OLD = {"sqlite": "'2026-01-01 00:00:00'", "postgresql": "timestamptz '2026-01-01'"}
_SYLLABLES = [f"{consonant}{vowel}" for consonant in "bdfgklmnprst" for vowel in "aeiou"]


def person(generator: random.Random) -> dict[str, str | None]:
    """Return a made-up person; some share a name or a town with others."""
    given = "".join(generator.choices(_SYLLABLES, k=2))
    surname = "".join(generator.choices(_SYLLABLES, k=3))
    year, month, day = generator.randint(1940, 2005), generator.randint(1, 12), generator.randint(1, 28)
    return {
        "given": given,
        "surname": surname,
        "email": f"{given}.{surname}{generator.randint(1, 99)}@mail.example",
        "phone": f"030{generator.randint(1_000_000, 9_999_999)}",
        "born": f"{year}-{month:02}-{day:02}",
        "city": generator.choice(["berlin", "hamburg", "mainz", "ulm", "essen", "bonn", "kiel"]),
    }


def mutated(generator: random.Random, values: dict[str, str | None]) -> dict[str, str | None]:
    """Return a person written differently in one or two columns."""
    changed = dict(values)
    for column in generator.sample(COLUMNS, generator.randint(1, 2)):
        text = changed[column] or "x"
        place = generator.randrange(len(text))
        how = generator.choice(["typo", "empty", "upper", "other"])
        changed[column] = {
            "typo": text[:place] + generator.choice("abcdefgh123") + text[place + 1 :],
            "empty": None,
            "upper": text.upper(),
            "other": person(generator)[column],
        }[how]
    return changed


@dataclass
class People:
    """The table. `overlap` says, for each state, from when on records count as changed."""

    url: str
    folder: Path
    rule: dict[str, Any] = field(default_factory=lambda: dict(RULE))
    slot: dt.datetime = FIRST

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        self.folder.mkdir(exist_ok=True)

    @property
    def now(self) -> str:
        return _NOW[self.engine.dialect.name]

    def create(self) -> People:
        identity, time = _TYPES[self.engine.dialect.name]
        self.sql("drop table if exists people")
        for statement in filter(str.strip, _TABLE.format(id=identity, time=time).split(";")):
            self.sql(statement)
        return self

    def sql(self, text: str, values: Sequence[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        with self.engine.begin() as connection:
            connection.execute(sa.text(text), values)

    def people(self) -> dict[int, dict[str, str | None]]:
        with self.engine.begin() as connection:
            rows = connection.execute(sa.text(f"select id, {', '.join(COLUMNS)} from people order by id")).all()
        return {row[0]: dict(zip(COLUMNS, row[1:], strict=True)) for row in rows}

    def add(self, people: dict[int, dict[str, str | None]], *, old: bool = False) -> None:
        at = _OLD[self.engine.dialect.name] if old else self.now
        names = ("id", *COLUMNS)
        statement = (
            f"insert into people ({', '.join(names)}, updated_at) values ({', '.join(f':{n}' for n in names)}, {at})"
        )
        self.sql(statement, [{"id": number, **values} for number, values in people.items()])

    def change(self, number: int, values: dict[str, str | None]) -> None:
        changes = ", ".join(f"{name} = :{name}" for name in values)
        self.sql(f"update people set {changes}, updated_at = {self.now} where id = :id", {"id": number, **values})

    def delete(self, *numbers: int) -> None:
        for number in numbers:
            self.sql("delete from people where id = :id", {"id": number})

    def write(self, state: str, overlap: str | None, full: str = "1000d") -> Path:
        dataset: dict[str, Any] = {"source": "shop", "table": "people", "id": "id"}
        if overlap is not None:
            dataset["incremental"] = {"by": "updated_at", "overlap": overlap, "full": full}
        written = {
            "state": "sqlite:///state.db",
            "sources": {"shop": {"type": "sql", "url": self.url.replace("+psycopg", "")}},
            "datasets": {"people": dataset},
            "rules": {"twin": self.rule},
            "jobs": {"default": {"rules": "all"}},
        }
        folder = self.folder / state
        folder.mkdir(exist_ok=True)
        path = folder / "reconcile.yaml"
        path.write_text(json.dumps(written), encoding="utf-8")
        return path

    def run(self, state: str, overlap: str | None, *, full: bool = False) -> RuleResult:
        """Run the rule under a state for the next slot."""
        self.slot += dt.timedelta(minutes=1)
        with load(self.write(state, overlap), {}) as application:
            [report] = application.run_all(("default",), (), slot=self.slot.isoformat(), full=full)
        assert not report.failures, report.failures[0].failed
        return report.checked[0]

    def every(self, state: str, overlap: str | None = None) -> list[Finding]:
        with load(self.write(state, overlap), {}) as application, application.store.read() as tx:
            return list(stored.find(tx, stored.FindingFilter()))

    def findings(self, state: str) -> list[tuple[Any, ...]]:
        """Every finding: its state, key, present records in their order with their links, and times it was told."""
        return sorted(
            (
                finding.state.value,
                repr(dict(finding.key)),
                tuple((member.role, *member.id) for member in finding.members),
                repr(finding.links) if hasattr(finding, "links") else "",
                finding.version,
            )
            for finding in self.every(state)
        )

    def begin(self, rule: dict[str, Any]) -> None:
        """Empty the table and forget the states."""
        self.sql("delete from people")
        self.rule, self.slot = rule, FIRST
        for state in self.folder.iterdir():
            shutil.rmtree(state)

    def decide(self, state: str, decision: Callable[[Store], object]) -> None:
        with load(self.write(state, None), {}) as application:
            decision(application.store)

    def copy(self, state: str, name: str) -> None:
        shutil.copytree(self.folder / state, self.folder / name)

    def command(self, state: str, overlap: str | None, *arguments: str) -> cli.Answer:
        return cli.Project(self.write(state, overlap).parent)(*arguments)

    def held_run(self, state: str, overlap: str, dies_at: int = 0) -> Command:
        """The next run in a process of its own, which kills itself at its statement of that number."""
        folder = self.write(state, overlap).parent
        slot = (self.slot + dt.timedelta(minutes=1)).isoformat()
        return Command(folder, "run", "--quiet", "default", "--slot", slot, held=True, dies_at=dies_at).ready().go()
