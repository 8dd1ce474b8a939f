"""One case from detection to undo, through the product, judged by copies of the whole database.

The plan is the one that stands in the state before anything is approved. After the cleaning every table is what the
plan says and nothing else; after the undo every table is what it was before. A refusal is no failure where it left
everything as it was. What a trigger does in tables outside the plan may stay, if the outcome names the table.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from connectors.errors import ConnectorError
from connectors.target import Cell
from reconcile import config
from reconcile.app import Application
from reconcile.audit import log
from reconcile.decisions.service import Decisions
from reconcile.errors import Refused, Wrong
from reconcile.findings.plan import Plan
from reconcile.findings.results import Outcome
from reconcile.store import Store
from reconcile.store import plans as stored
from reconcile.store.plans import StoredPlan
from tests.reconcile.cleaning.any_schema.case import ELSEWHERE, MAIN, Case, Server, smaller
from tests.reconcile.cleaning.any_schema.ddl import Copy, Database, Row, Unmakeable, ddl_of, order

REFUSALS = (Wrong, Refused, ConnectorError)
SMALLER_TRIALS = 120


@dataclass
class Tally:
    """What cases came to. `unplanned`: rows that are not what a plan, or its undo, says."""

    schemas: int = 0
    unmakeable: int = 0
    planned: int = 0
    cleaned: int = 0
    undone: int = 0
    unplanned: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """Why nothing was planned, cleaned or taken back, by sentence."""

    def add(self, tally: Tally) -> None:
        for name in ("schemas", "unmakeable", "planned", "cleaned", "undone", "unplanned"):
            setattr(self, name, getattr(self, name) + getattr(tally, name))
        self.refused += tally.refused


class Broken(Exception):
    """A promise that was not kept: `kind` in a few words, `what` the rows or the sentence."""

    def __init__(self, kind: str, what: Sequence[str], rows: int = 0) -> None:
        super().__init__("\n".join([kind, *what]))
        self.kind = kind
        self.what = tuple(what)
        self.rows = rows


@dataclass(frozen=True)
class Failure:
    """The smallest case that breaks the same promise."""

    case: Case
    broken: Broken

    def __str__(self) -> str:
        rule = {"key": ["mail"], "keep": list(self.case.keep), "clean": dict(self.case.clean)}
        links = [f"references: {link.table}.{link.column} -> {MAIN}.{link.to}" for link in self.case.links]
        user = "a user who owns nothing" if self.case.limited else "the owner"
        told = [f"{self.case.server}, seed {self.case.seed}, as {user}: {self.broken.kind}"]
        told += [f"  {line}" for line in (*self.broken.what, *ddl_of(self.case), *links, json.dumps(rule))]
        return "\n".join(told)


# The product, over one case


@dataclass
class Bench:
    """A database, and an empty state that every case begins with."""

    server: Server
    database: Database
    folder: Path

    def __post_init__(self) -> None:
        self._empty = self.folder / "empty.db"
        Store.open(f"sqlite:///{self._empty}", self.folder).close()

    def check(self, case: Case) -> Tally:
        """Clean and take back whatever the rule finds. Raises Broken; Unmakeable."""
        tally = Tally(schemas=1)
        url = self.database.make(case)
        with self._application(case, url) as application:
            before = self.database.copy()
            report = application.run()
            _same(before, self.database.copy(), "the run changed rows, and nobody had approved anything")
            tally.refused.update(_why_not_planned(report.rules[0]))
            decisions = application.decisions("anna")
            for plan in _plans(application.store):
                tally.planned += 1
                self._clean(case, decisions, plan, tally)
            if not log.verify(application.store).intact:
                raise Broken("`audit verify` does not agree with what was done", [])
        return tally

    def _clean(self, case: Case, decisions: Decisions, plan: StoredPlan, tally: Tally) -> None:
        before, since = self.database.copy(), _last_entry(decisions.store)
        content = plan.content
        try:
            answer = decisions.approve(plan.finding, over_limit=True)
            sentence, done = answer.sentence, answer.ok
        except REFUSALS as error:
            sentence, done = str(error), False
        after = self.database.copy()
        if not done:
            _same(before, after, f"rows changed, though it said: {sentence}")
            tally.refused[f"clean: {_shape(sentence)}"] += 1
            return
        tally.cleaned += 1
        outside = _is_as_planned(self.database, case, content, before, after)
        _keeps_the_keeper(case, content, after)
        _links_lead_somewhere(case, before, after)
        told = _told(decisions.store, sentence, since)
        self._undo(case, decisions, plan, before, after, tally)
        _names(case, outside, told)

    def _undo(
        self, case: Case, decisions: Decisions, plan: StoredPlan, before: Copy, after: Copy, tally: Tally
    ) -> None:
        if plan.content.reversible == "no":
            return
        since = _last_entry(decisions.store)
        try:
            undone = decisions.undo(plan.finding)
            sentence, done = "; ".join(why for _, why in undone.failed), undone.undone == (plan.finding,)
        except REFUSALS as error:
            sentence, done = str(error), False
        now = self.database.copy()
        if not done:
            _same(after, now, f"the undo changed rows, though it said: {sentence}")
            harmless = all(trigger.kind == "log" for trigger in case.triggers)
            if plan.content.reversible == "yes" and harmless:
                raise Broken("`undo: yes`, and it was not taken back", [sentence])
            tally.refused[f"undo: {_shape(sentence)}"] += 1
            return
        told = _told(decisions.store, sentence, since)
        apart = set(_changed_outside(case, plan.content, before, now))
        hidden = _said_not_restored(case, told)
        different = _difference(_without(before, hidden), _without(now, hidden), apart)
        if different:
            raise Broken("taken back, and not as before", different, len(different))
        tally.undone += 1
        _names(case, _changed_outside(case, plan.content, after, now), told)

    @contextmanager
    def _application(self, case: Case, url: str) -> Iterator[Application]:
        folder = self.folder / "project"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path in self.folder.glob("empty.db*"):
            shutil.copy(path, folder / path.name.replace("empty.db", "reconcile.db"))
        (folder / "reconcile.yaml").write_text(json.dumps(configuration(case, url)))
        project = config.load(folder / "reconcile.yaml", {})
        with Application(project, sleep=lambda _: None) as application:
            yield application


def configuration(case: Case, url: str) -> dict[str, Any]:
    links = [{"table": link.table, "columns": [link.column], "to": [link.to]} for link in case.links]
    rule = {
        "kind": "duplicates",
        "dataset": MAIN,
        "key": ["mail"],
        "clean": dict(case.clean),
        "limits": {"records": 1000, "share": "100%", "group": 100},
        **({"keep": list(case.keep)} if case.keep else {}),
    }
    dataset = {"source": "shop", "table": MAIN, "id": "id", **({"references": links} if links else {})}
    return {
        "version": 1,
        "sources": {"shop": {"type": "sql", "url": url}},
        "datasets": {MAIN: dataset},
        "rules": {"twins": rule},
    }


def _plans(store: Store) -> list[StoredPlan]:
    with store.read() as tx:
        return [plan for plan in stored.find(tx, stored.PlanFilter()) if plan.undoes is None]


def _why_not_planned(rule: Outcome) -> Counter[str]:
    cleaning = rule.cleaning
    if not cleaning.is_done or cleaning.stopped:
        return Counter({f"run: {_shape(cleaning.stopped or str(rule))}": 1})
    return Counter({f"plan: {_shape(sentence)}": number for sentence, number in cleaning.not_planned.items()})


def _shape(sentence: str) -> str:
    """A sentence without what differs from case to case."""
    words = sentence.split()
    return " ".join("…" if any(mark.isdigit() for mark in word) else word for word in words)[:160]


# What the plan says


def _is_as_planned(database: Database, case: Case, plan: Plan, before: Copy, after: Copy) -> list[str]:
    """The tables outside the plan that changed; raises Broken where one inside is not what the plan says."""
    expected, free = _expected(database, case, plan, before)
    outside = _changed_outside(case, plan, before, after)
    different = _difference(expected, after, set(outside), free)
    if different:
        raise Broken("cleaned, and not as planned", different, len(different))
    return outside


Free = dict[str, list[tuple[Row, frozenset[str]]]]
"""By table: rows of the plan, as they are expected, and the columns that triggers may write besides."""


def _expected(database: Database, case: Case, plan: Plan, before: Copy) -> tuple[Copy, Free]:
    """Every table as it is after exactly the changes of the plan, with what triggers may add to the rows it writes."""
    tables = {name: [dict(row) for row in rows] for name, rows in before.items()}
    free: Free = {}
    for change in plan.changes:
        table = change.row.table
        key = _cells(database, case, table, dict(change.row.key))
        cells = _cells(database, case, table, dict(change.after or {}))
        rows = [row for row in tables[table] if key.items() <= row.items()]
        if len(rows) != (change.before is not None):
            raise Broken("the plan names a row that is not there, or is there already", [str(change.row)])
        if change.before is None:
            rows = [dict.fromkeys(_columns(case, table))]
            tables[table] += rows
        if change.after is None:
            tables[table].remove(rows[0])
        elif change.after:
            rows[0].update(cells)
            written = case.triggers or any(column.type == "clock" for column in case.table(table).columns)
            more = frozenset(_columns(case, table)) - cells.keys() if written else frozenset()
            free.setdefault(table, []).append((rows[0], more))
    return {name: order(rows) for name, rows in tables.items()}, free


def _columns(case: Case, table: str) -> list[str]:
    return [column.name for column in case.table(table).columns]


def _cells(database: Database, case: Case, table: str, cells: Mapping[str, Cell]) -> Row:
    columns = case.table(table)
    return {name: None if cell is None else database.cell(columns.column(name), *cell) for name, cell in cells.items()}


def _inside(plan: Plan) -> set[str]:
    tables = {change.row.table for change in plan.changes} | {plan.table}
    return tables | {guard.reference.table for guard in plan.references}


def _changed_outside(case: Case, plan: Plan, before: Copy, after: Copy) -> list[str]:
    """Tables that changed and that the plan does not speak of, where triggers of the case may have written to them."""
    if not any(trigger.kind in ELSEWHERE for trigger in case.triggers):
        return []
    outside = sorted((before.keys() | after.keys()) - _inside(plan))
    return [name for name in outside if before.get(name) != after.get(name)]


NO_NAME: Mapping[Server, str] = {"mariadb": "in tables it does not name"}
"""Where the database's count has no names of tables, the outcome says that, and so much is enough."""
_NOT_RESTORED = re.compile(r"Not restored: ([^.]*) of `(\w+)`")


def _names(case: Case, outside: Sequence[str], told: str) -> None:
    """What triggers did in tables outside the plan is named in the outcome: the only place that asks for it."""
    missing = [table for table in outside if table not in told]
    if missing and NO_NAME.get(case.server, "?") not in told:
        raise Broken("a trigger wrote outside the plan, and the outcome does not name the table", missing)


def _said_not_restored(case: Case, told: str) -> dict[str, set[str]]:
    """By table: the columns of which an undo says that the database wrote them by itself, where anything does."""
    clocks = any(column.type == "clock" for table in case.tables for column in table.columns)
    columns_by_table: dict[str, set[str]] = {}
    for columns, table in _NOT_RESTORED.findall(told) if case.triggers or clocks else ():
        columns_by_table.setdefault(table, set()).update(re.findall(r"`(\w+)`", columns))
    return columns_by_table


def _told(store: Store, sentence: str, since: int) -> str:
    """What the product says of an outcome: its answer, and what it wrote into the audit log since that entry."""
    with store.read() as tx:
        bodies = [str(entry.body) for entry in log.entries(tx) if entry.seq > since]
    return "\n".join([sentence, *bodies])


def _last_entry(store: Store) -> int:
    with store.read() as tx:
        return max((entry.seq for entry in log.entries(tx)), default=0)


# Comparing


def _same(before: Copy, now: Copy, kind: str) -> None:
    different = _difference(before, now, set())
    if different:
        raise Broken(kind.split(":", maxsplit=1)[0], [kind, *different], len(different))


def _difference(expected: Copy, now: Copy, apart: set[str], free: Free | None = None) -> list[str]:
    """A line for each row that should be there and is not, or is and should not be."""
    lines = []
    for table in sorted(expected.keys() | now.keys()):
        if table in apart:
            continue
        missing = [row for row in expected.get(table, []) if row not in now.get(table, [])]
        more = [row for row in now.get(table, []) if row not in expected.get(table, [])]
        counted = len(expected.get(table, [])) - len(now.get(table, []))
        for row, columns in (free or {}).get(table, []):
            fixed = [(name, value) for name, value in row.items() if name not in columns]
            like = [second for second in more if all(second[name] == value for name, value in fixed)]
            if row in missing and like:
                missing.remove(row)
                more.remove(like[0])
        lines += [f"{table}: missing {_short(row)}" for row in missing]
        lines += [f"{table}: not expected {_short(row)}" for row in more]
        if not missing and not more and counted:
            lines.append(f"{table}: {abs(counted)} rows {'less' if counted > 0 else 'more'} of the same content")
    return lines


def _without(tables: Copy, columns: Mapping[str, set[str]]) -> Copy:
    """The tables without these columns."""
    return {
        table: [{name: value for name, value in row.items() if name not in columns.get(table, ())} for row in rows]
        for table, rows in tables.items()
    }


def _short(row: Row) -> str:
    return ", ".join(f"{name}={value}" for name, value in row.items() if value is not None)


def _keeps_the_keeper(case: Case, plan: Plan, after: Copy) -> None:
    [ident] = json.loads(plan.keeper)
    kept = {_plain(case, row["id"]) for row in after[MAIN]}
    if _plain_id(ident[-1] if isinstance(ident, list) else ident) not in kept:
        raise Broken("the record that should stay is gone", [plan.keeper], 1)


def _links_lead_somewhere(case: Case, before: Copy, after: Copy) -> None:
    """A declared link that led to a record still leads to one, unless records only were marked."""
    was, remembered = ({_plain(case, row["id"]) for row in rows[MAIN]} for rows in (before, after))
    for link in case.links:
        lost = [
            row
            for row in after.get(link.table, [])
            if _plain(case, row[link.column]) in was and _plain(case, row[link.column]) not in remembered
        ]
        if lost:
            lines = [f"{link.table}: {_short(row)}" for row in lost]
            raise Broken("a declared link leads nowhere any more", lines, len(lines))


def _plain(case: Case, value: str | None) -> str:
    """An id as people compare it, whatever type its column has."""
    if value is None:
        return ""
    if case.server == "mariadb":
        return _plain_id(bytes.fromhex(value).decode())
    if case.server == "sqlite":
        return _plain_id(value.split(" ", 1)[1].strip("'"))
    return _plain_id(value)


def _plain_id(value: Any) -> str:
    try:
        return format(Decimal(str(value)).normalize(), "f")
    except InvalidOperation:
        return str(value).lower()


# Many cases


def smallest(bench: Bench, failure: Failure) -> Failure:
    """A case that breaks the same promise and from which nothing more can be left out."""
    trials = SMALLER_TRIALS
    going = True
    while going and trials > 0:
        going = False
        for less in smaller(failure.case):
            trials -= 1
            try:
                bench.check(less)
            except Broken as error:
                if error.kind == failure.broken.kind:
                    failure, going = Failure(less, error), True
                    break
            except Exception:  # noqa: BLE001, S112 - another mistake is not the one that is made smaller
                continue
            if trials <= 0:
                break
    return failure


def failure_of(bench: Bench, case: Case, tally: Tally) -> Broken | None:
    """Why a case fails, if it does; the tally counts it either way."""
    try:
        tally.add(bench.check(case))
    except Unmakeable:
        tally.add(Tally(schemas=1, unmakeable=1))
    except Broken as error:
        tally.add(Tally(schemas=1, unplanned=error.rows))
        return error
    except Exception as error:  # noqa: BLE001 - whatever it is, no person should see it
        tally.add(Tally(schemas=1))
        return Broken(f"an error that nobody expects: {type(error).__name__}", [str(error)[:2000]])
    return None
