"""A database with records to clean, its findings and plans, and a small executor of plans and of their inverse."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import SecretStr

from connectors.sql.settings import SqlDataset, SqlSettings
from connectors.sql.source import SqlSource
from connectors.target import Cell, Cells, Change, RowName
from reconcile.cleaning.actions import KINDS
from reconcile.cleaning.planning import plan
from reconcile.cleaning.planning.plan import Tools
from reconcile.config.settings import DatasetConfig, LinkEntry
from reconcile.detection.detect import Subject
from reconcile.findings.bundle import Bundle
from reconcile.findings.identity import fingerprint, record_of, short_id
from reconcile.findings.judgement import Change as Told
from reconcile.findings.shown import Finding, FindingMember
from reconcile.findings.states import State
from reconcile.plugins import resolve_name
from rules.engines.base import Group
from rules.kinds.duplicates import DuplicatesRule
from rules.models import Severity
from rules.values import Type

NOON = dt.datetime(2026, 11, 21, 12, 0, tzinfo=dt.UTC)
Rows = dict[str, list[tuple[Any, ...]]]


class Drifted(Exception):
    """A row, or who refers to one, is not as it was when it was planned; nothing was done."""


def rule_of(clean: Mapping[str, Any], **settings: Any) -> DuplicatesRule:
    """A rule on the dataset `records` with this `clean:`, whose values are texts as a file's are."""
    made = resolve_name(KINDS[clean["action"]]).Settings.model_validate(dict(clean))
    return DuplicatesRule(name="twins", dataset="records", clean=made, **settings)


@dataclass
class Shop:
    """One database. `table` is the dataset's, `links` its declared references."""

    url: str
    root: Path
    table: str = "customers"
    id: tuple[str, ...] = ("id",)
    links: tuple[LinkEntry, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def engine(self) -> sa.Engine:
        made = sa.create_engine(self.url)
        if made.dialect.name == "sqlite":
            sa.event.listen(made, "connect", lambda one, _: one.execute("pragma foreign_keys = on"))
        return made

    @cached_property
    def source(self) -> SqlSource:
        return SqlSource("shop", SqlSettings(type="sql", url=SecretStr(self.url)), self.root)

    @property
    def dataset(self) -> DatasetConfig:
        settings = SqlDataset(table=self.table)
        return DatasetConfig("records", "shop", settings, self.id, references=self.links, **self.config)

    def run(self, *statements: str) -> None:
        with self.engine.begin() as connection:
            for one in statements:
                connection.exec_driver_sql(one)

    def rows(self, *tables: str) -> Rows:
        """All rows of these tables, sorted."""
        with self.engine.connect() as connection:
            found = {one: connection.exec_driver_sql(f"select * from {one}").all() for one in tables}
        return {one: sorted((tuple(row) for row in rows), key=repr) for one, rows in found.items()}

    def tools(self, rule: DuplicatesRule) -> Tools:
        return Tools.of(self.source, {rule.dataset: Subject(self.dataset, self.source)}, rule, NOON)

    def findings(self, rule: DuplicatesRule) -> list[Finding]:
        """What a detection finds now."""
        tools = self.tools(rule)
        names = ", ".join(self.id)
        with self.engine.connect() as connection:
            asked = connection.exec_driver_sql(f"select {names} from {self.table}")
            kinds = [tools.relation.schema[name].type for name in self.id]
            ids = [tuple(map(_typed, row, kinds)) for row in asked]
        rows = [row.values for row in self.source.rows(self.dataset.settings, self.id, ids) if row is not None]
        [groups] = tools.fitted.regroup([rows], NOON, lambda _: ())
        return [finding_of(group, rule) for group in groups]

    def plans(self, rule: DuplicatesRule) -> list[Bundle | plan.NotPlannable]:
        return [one for _, one in plan.make_many(self.findings(rule), self.tools(rule))]

    def plan(self, rule: DuplicatesRule) -> Bundle:
        """The plan for the only finding; raises why there is none."""
        [one] = self.plans(rule)
        if isinstance(one, Bundle):
            return one
        raise one

    def carry_out(self, bundle: Bundle) -> tuple[Change, ...]:
        """Do a plan as it is, and give the changes that would take it back. Raises Drifted."""
        with self.source.work(30) as work:
            there = work.lock([one.row for one in bundle.changes if one.before is not None])
            for one in bundle.changes:
                if one.before is not None and (one.row not in there or there[one.row].cells != one.before):
                    raise Drifted
            for guard in bundle.references:
                rows = work.referring(guard.reference, guard.to, lock=True)
                if {row.name for row in rows} != set(guard.rows):
                    raise Drifted
            for one in bundle.changes:
                work.apply(one)
            after = {name: row.cells for name, row in work.lock(list(map(named_after, bundle.changes))).items()}
            work.commit()
        return tuple(inverse(one, after) for one in reversed(bundle.changes) if not one.is_guard)

    def carried_out(self, bundle: Bundle) -> bool:
        """Whether the rows were as they were planned, and so the plan was done."""
        try:
            self.carry_out(bundle)
        except Drifted:
            return False
        return True

    def do(self, changes: Sequence[Change]) -> None:
        """Do these changes, each on the row as it is expected to be."""
        with self.source.work(30) as work:
            there = work.lock([one.row for one in changes if one.before is not None])
            assert all(there[one.row].cells == one.before for one in changes if one.before is not None)
            for one in changes:
                work.apply(one)
            work.commit()

    def close(self) -> None:
        self.source.close()
        self.engine.dispose()


def _typed(value: Any, kind: Type) -> Any:
    return Decimal(str(value)) if kind is Type.DECIMAL else value


def named_after(change: Change) -> RowName:
    """What the row of a change is called in the end."""
    after = change.after or {}
    return RowName(change.row.table, tuple((name, after.get(name, cell)) for name, cell in change.row.key))


def inverse(change: Change, after: Mapping[RowName, Cells]) -> Change:
    """The change that takes this one back."""
    if change.after is None:
        return Change(change.row, None, change.before, change.role)
    now = after[named_after(change)]
    if change.before is None:
        return Change(change.row, now, None, change.role)
    back: dict[str, Cell] = {name: cell for name, cell in change.before.items() if now[name] != cell}
    return Change(named_after(change), now, back, change.role)


def finding_of(group: Group, rule: DuplicatesRule, **said: Any) -> Finding:
    """The finding that a first run makes of a group."""
    mark = fingerprint(rule.name, rule.kind, group.key, group.span[0] if group.span else record_of(group.keeper.id))
    keeper, *surplus = (FindingMember(one.id, one.values, NOON) for one in group.members)
    made = Finding(
        id=short_id(mark),
        fingerprint=mark,
        rule=rule.name,
        kind=rule.kind,
        dataset=rule.dataset,
        state=State.OPEN,
        severity=Severity.medium,
        version=1,
        change=Told.NEW,
        key=group.key,
        records=len(group.members),
        first_run="run1",
        first_seen=NOON,
        last_run="run1",
        last_seen=NOON,
        state_since=NOON,
        keeper=keeper,
        surplus=tuple(surplus),
        money={currency: Decimal(amount) for currency, amount in group.money.items()},
        span=group.span,
    )
    return replace(made, **said)


def settled(finding: Finding, *ids: tuple[Any, ...]) -> Finding:
    """The finding after a decision about these of its records."""

    def one(member: FindingMember) -> FindingMember:
        return replace(member, settled_at=NOON) if member.id in ids else member

    assert finding.keeper is not None
    return replace(finding, keeper=one(finding.keeper), surplus=tuple(map(one, finding.surplus)))


def shops(request: Any, root: Path, **said: Any) -> Shop:
    """A shop in the database that a parametrised fixture names: sqlite, postgresql or mariadb."""
    if request.param == "sqlite":
        return Shop(f"sqlite:///{root}/shop.db", root, **said)
    return Shop(request.getfixturevalue({"postgresql": "postgres_url"}.get(request.param, "mariadb_url")), root, **said)
