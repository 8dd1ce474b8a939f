"""A database with records to clean, its findings and plans, and a small executor of plans and of their inverse."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from connectors.sql.settings import SqlDataset
from connectors.target import Cell, Cells, Change, RowName
from reconcile.cleaning.actions import KINDS
from reconcile.cleaning.planning import plan as planning
from reconcile.cleaning.planning.plan import PlanningContext
from reconcile.config.settings import DatasetConfig, LinkEntry
from reconcile.detection.subject import Subject
from reconcile.findings.identity import fingerprint, record_of, short_id
from reconcile.findings.judgement import FindingChange
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding, FindingMember
from reconcile.findings.states import State
from reconcile.plugins import resolve_name
from rules.groups.group import DuplicateGroup
from rules.kinds.duplicates import DuplicatesRule
from rules.kinds.duplicates.detection import FittedDuplicates
from rules.models import Severity
from rules.values import Type
from tests.support.shop import LOCAL, Shop, address

NOON = dt.datetime(2026, 11, 21, 12, 0, tzinfo=dt.UTC)


class Drifted(Exception):
    """A row, or who refers to one, is not as it was when it was planned; nothing was done."""


def rule_of(clean: Mapping[str, Any], **settings: Any) -> DuplicatesRule:
    """A rule on the dataset `records` with this `clean:`, whose values are texts as a file's are."""
    created = resolve_name(KINDS[clean["action"]]).Settings.model_validate(dict(clean))
    return DuplicatesRule(name="twins", dataset="records", clean=created, **settings)


@dataclass
class PlannedShop(Shop):
    """A shop whose duplicates are found, planned and cleaned with no state beside it.

    `table` is the dataset's, `links` are its declared references.
    """

    strict: ClassVar[bool] = True
    table: str = "customers"
    id: tuple[str, ...] = ("id",)
    links: tuple[LinkEntry, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def dataset(self) -> DatasetConfig:
        settings = SqlDataset(table=self.table)
        return DatasetConfig("records", "shop", settings, self.id, references=self.links, **self.config)

    def tools(self, rule: DuplicatesRule) -> PlanningContext:
        return PlanningContext.of(self.source, {rule.dataset: Subject(self.dataset, self.source)}, rule, NOON)

    def findings(self, rule: DuplicatesRule) -> list[Finding]:
        """What a detection finds now."""
        tools = self.tools(rule)
        names = ", ".join(self.id)
        with self.engine.connect() as connection:
            asked = connection.exec_driver_sql(f"select {names} from {self.table}")
            kinds = [tools.relation.schema[name].type for name in self.id]
            ids = [tuple(map(_typed, row, kinds)) for row in asked]
        rows = [row.values for row in self.source.rows(self.dataset.settings, self.id, ids) if row is not None]
        groups = FittedDuplicates.of(rule, tools.relation).regroup(rows, NOON)
        return [finding_of(group, rule) for group in groups]

    def plans(self, rule: DuplicatesRule) -> list[Plan | planning.NotPlannable]:
        return [finding for _, finding in planning.make_many(self.findings(rule), self.tools(rule))]

    def plan(self, rule: DuplicatesRule) -> Plan:
        """The plan for the only finding; raises why there is none."""
        [item] = self.plans(rule)
        if isinstance(item, Plan):
            return item
        raise item

    def carry_out(self, plan: Plan) -> tuple[Change, ...]:
        """Do a plan as it is, and give the changes that would take it back. Raises Drifted."""
        with self.source.work(30) as work:
            locked = work.lock([item.row for item in plan.changes if item.before is not None])
            for change in plan.changes:
                if change.before is not None and (
                    change.row not in locked or locked[change.row].cells != change.before
                ):
                    raise Drifted
            for guard in plan.references:
                rows = work.referring(guard.reference, guard.to, lock=True)
                if {row.name for row in rows} != set(guard.rows):
                    raise Drifted
            for change in plan.changes:
                work.apply(change)
            after = {name: row.cells for name, row in work.lock(list(map(named_after, plan.changes))).items()}
            work.commit()
        return tuple(inverse(item, after) for item in reversed(plan.changes) if not item.is_guard)

    def carried_out(self, plan: Plan) -> bool:
        """Whether the rows were as they were planned, and so the plan was done."""
        try:
            self.carry_out(plan)
        except Drifted:
            return False
        return True

    def apply(self, changes: Sequence[Change]) -> None:
        """Do these changes, each on the row as it is expected to be."""
        with self.source.work(30) as work:
            locked = work.lock([item.row for item in changes if item.before is not None])
            assert all(locked[item.row].cells == item.before for item in changes if item.before is not None)
            for change in changes:
                work.apply(change)
            work.commit()


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


def finding_of(group: DuplicateGroup, rule: DuplicatesRule, **settings: Any) -> Finding:
    """The finding that a first run makes of a group."""
    mark = fingerprint(rule.name, rule.kind, group.key, group.span[0] if group.span else record_of(group.keeper.id))
    finding = Finding(
        id=short_id(mark),
        fingerprint=mark,
        rule=rule.name,
        kind=rule.kind,
        dataset=rule.dataset,
        state=State.OPEN,
        severity=Severity.medium,
        version=1,
        change=FindingChange.NEW,
        key=group.key,
        records=len(group.members),
        first_run="run1",
        first_seen=NOON,
        last_run="run1",
        last_seen=NOON,
        state_since=NOON,
        members=tuple(FindingMember(role, item.id, item.values, NOON) for role, item in group.roles),
        money={currency: Decimal(amount) for currency, amount in group.money.items()},
        span=group.span,
    )
    return replace(finding, **settings)


def settled(finding: Finding, *ids: tuple[Any, ...]) -> Finding:
    """The finding after a decision about these of its records."""

    def one(member: FindingMember) -> FindingMember:
        return replace(member, settled_at=NOON) if member.id in ids else member

    return replace(finding, members=tuple(map(one, finding.members)))


def planned_shop(request: Any, folder: Path, **settings: Any) -> PlannedShop:
    """A shop in the database that a parametrised fixture names; without a parameter, in a SQLite file."""
    return PlannedShop(address(request) if hasattr(request, "param") else LOCAL, folder, **settings)
