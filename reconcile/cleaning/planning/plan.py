"""From findings to plans: read the rows again and list every change, without writing anything.

An action only decides the changes of the group's own rows. The rest is the same for all actions: skip records that no
longer match, guard the keeper, handle references to the surplus, and order the changes as constraints allow. The same
rows give the same plan in every process.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property

from connectors.base import RowSecured
from connectors.calls import Call, CallTarget
from connectors.errors import DatasetMissing
from connectors.target import Catalogue, Foreseeing, Reference, Row, RowName, TableFacts, Target, TargetRefused
from reconcile.cleaning.actions.base import (
    Action,
    ActionPlan,
    ActionTable,
    AsksPerson,
    Effect,
    GroupMembers,
    NothingToDo,
    NotPlannable,
    PlanTooLarge,
    Stale,
)
from reconcile.cleaning.planning.asking import Asking, CurrentGroups
from reconcile.cleaning.planning.binding import in_target
from reconcile.cleaning.planning.draft import Draft, ReadReferring, cells_at
from reconcile.cleaning.planning.members import cleaned_members, members_now
from reconcile.cleaning.planning.references import Closure, RemovedRow, group_collision
from reconcile.cleaning.planning.reversing import (
    irreversible,
    limits_of_undo,
    shared_values,
    taken_back,
    touched_tables,
)
from reconcile.config.settings import DatasetConfig
from reconcile.detection.detect import Budget
from reconcile.detection.subject import Subjects
from reconcile.findings.identity import is_erased, public
from reconcile.findings.plan import Operation, Plan, salt_of
from reconcile.findings.shown import Finding
from reconcile.journal.holds import name_of
from reconcile.plugins import Kinds, kind_of
from reconcile.store import Store
from rules.cleaning import Clean
from rules.document.mistakes import listed, suggestion
from rules.engines.base import Relation
from rules.groups.money import money_moved, not_counted
from rules.kinds.base import Fitted, Rule
from rules.values import RecordId, Type

DEFAULT_BUDGET = Budget("1GB")
CHUNK = 500
"""Findings read together; fewer if they have many records."""
_MOST_RECORDS = 5_000
_NUMBERS = {Type.INTEGER: int, Type.DECIMAL: Decimal, Type.FLOAT: float}

Generations = Callable[[Sequence[tuple[str, str]]], Mapping[tuple[str, str], int]]
"""The generation of an effect on a record, by (effect, `keys.name_of` the record); 1 if missing."""


@dataclass(frozen=True)
class PlanningContext:
    """The tools for planning a rule with `clean`: its target, and its datasets as the rule and their target see them.

    `slot` is the value of `slot()` in its conditions. `binding` is the rule's (`binding.binding_of`). `secret` is the
    key of the digests in its plans: a plain hash of personal data is still personal data. `budget`, `store` and `run`
    are for asking the rule again, see `asking.Asking`.
    """

    target: Target
    subjects: Subjects
    rule: Rule
    catalogue: Catalogue
    slot: dt.datetime
    generations: Generations = field(default=lambda _: {})
    binding: str = ""
    secret: bytes = b"no state"
    budget: Budget = DEFAULT_BUDGET
    store: Store | None = None
    run: str = ""

    @classmethod
    def of(
        cls,
        target: Target,
        subjects: Subjects,
        rule: Rule,
        slot: dt.datetime,
        generations: Generations = lambda _: {},
        binding: str = "",
    ) -> PlanningContext:
        """Return tools with the current catalogue. Raises TargetRefused, ConnectorError."""
        dataset = subjects[rule.cleaned].dataset
        catalogue = target.catalogue(dataset.settings, soft_links(dataset))
        return cls(target, subjects, rule, catalogue, slot, generations, binding)

    @property
    def dataset(self) -> DatasetConfig:
        """The dataset whose records are cleaned."""
        return self.subjects[self.rule.cleaned].dataset

    @property
    def relation(self) -> Relation:
        return self.subjects[self.rule.cleaned].relation

    @cached_property
    def settings(self) -> Clean:
        assert self.rule.clean is not None  # noqa: S101 - only rules that clean are planned
        return self.rule.clean

    @cached_property
    def action(self) -> Action:
        action: Action = Kinds("actions").load(self.settings.action)()
        return action

    @cached_property
    def place(self) -> ActionTable:
        return place(self.target, self.dataset, self.relation, self.catalogue)

    @cached_property
    def fitted(self) -> Fitted:
        """The rule with its datasets; what they only display decides about no plan."""
        relations = {name: replace(subject.relation, display=()) for name, subject in self.subjects.items()}
        return kind_of(self.rule).fit(self.rule, relations)

    @cached_property
    def asking(self) -> Asking:
        """Asks the rule again; its answers are for plans that are made at once."""
        facts = self.catalogue.tables[self.catalogue.table]
        required = {column.name for column in facts.columns if not column.nullable}
        key = set(facts.primary_key)
        names_rows = bool(key) and key <= set(self.dataset.id) <= required
        given = (self.rule, self.subjects, self.slot, self.budget, self.binding, self.store, self.run)
        return Asking(*given, names_rows=names_rows)

    @cached_property
    def identity(self) -> str:
        return self.target.identity()

    @property
    def bound(self) -> str:
        """The binding in this target and schema; see `binding.in_target`."""
        return in_target(self.binding, self.identity, self.catalogue.schema)


def soft_links(dataset: DatasetConfig) -> tuple[Reference, ...]:
    """Return the links that the dataset declares; an empty `to_table` means the dataset's own table."""
    return tuple(
        Reference(
            f"{link.table}({', '.join(link.columns)})",
            link.table,
            link.columns,
            "",
            link.to or dataset.id,
            soft=True,
            key=link.id,
        )
        for link in dataset.references
    )


def place(target: Target, dataset: DatasetConfig, relation: Relation, catalogue: Catalogue) -> ActionTable:
    """Return the place that an action works on, for `mistakes` too."""
    tables: dict[str, TableFacts | None] = {}

    def other(name: str) -> TableFacts | None:
        if name not in tables:
            tables[name] = _facts(target, dataset, name)
        return tables[name]

    return ActionTable(catalogue.tables[catalogue.table], relation.schema, dataset.id, other)


def mistakes(rule: Rule, where: ActionTable, fitted: Fitted) -> list[str]:
    """Return why the rule's `clean` cannot work there, one sentence each; empty if it can."""
    if rule.clean is None:
        return []
    action: Action = Kinds("actions").load(rule.clean.action)()
    wrong = [where.table.refused] if where.table.refused else []
    columns = [column.name for column in where.table.columns]
    wrong += [
        f"`ignore_drift` names `{name}`, which is not a column; {suggestion(name, columns)}"
        for name in rule.clean.ignore_drift
        if name not in columns
    ]
    wrong += _drifting(rule, fitted) if rule.clean.ignore_drift else []
    unnamed = [name for name in where.id if name not in columns]
    if unnamed:
        wrong.append(f"Its id has {listed(unnamed)}, which cannot find a row of `{where.table.table}`")
    return wrong + action.check(rule.clean, where)


def _drifting(rule: Rule, fitted: Fitted) -> list[str]:
    """Refuse `ignore_drift` columns that the rule matches by: unseen changes there would clean the wrong records."""
    assert rule.clean is not None  # noqa: S101 - the caller looked
    kept = [line.column for line in fitted.keep if line.column is not None]
    deciding = dict.fromkeys(fitted.relation.id, "identifies records")
    deciding |= dict.fromkeys(kept, "chooses the keeper")
    deciding |= dict.fromkeys(fitted.deciding, "matches records")
    uses = {behind: use for name, use in deciding.items() for behind in fitted.columns.sources([name])}
    return [
        f"`ignore_drift` names `{name}`, which rule `{rule.name}` uses: it {uses[name]}; remove it"
        for name in rule.clean.ignore_drift
        if name in uses
    ]


def make(finding: Finding, tools: PlanningContext) -> Plan:
    """Make the plan for one finding. Raises Stale, NothingToDo, AsksPerson or another NotPlannable; ConnectorError."""
    [(_, planned)] = make_many([finding], tools)
    if isinstance(planned, Plan):
        return planned
    raise planned


def make_many(findings: Iterable[Finding], tools: PlanningContext) -> Iterator[tuple[str, Plan | NotPlannable]]:
    """Yield the plan for each finding in order, or why there is none; rows are read in chunks.

    Raises ConnectorError if the target fails.
    """
    wrong = [*_promises(tools.target, tools.settings), *mistakes(tools.rule, tools.place, tools.fitted)]
    wrong += hidden_rows(tools.rule, tools.subjects)
    for chunk in _chunks(findings):
        if wrong:
            reason = f"Rule `{tools.rule.name}` cleans nothing: {wrong[0].rstrip('.')}."
            yield from ((finding.id, NotPlannable(reason)) for finding in chunk)
        else:
            yield from _plan_chunk(chunk, tools)


def _promises(target: Target, settings: Clean) -> Iterator[str]:
    if settings.calls:
        if not isinstance(target, CallTarget):
            yield f"Source `{target.name}` takes no calls, which action `{settings.action}` makes"
    elif not target.promises.compare_and_set:
        yield f"Source `{target.name}` cannot lock a row until a change is made, so nothing is changed there"


def hidden_rows(rule: Rule, subjects: Subjects) -> Iterator[str]:
    """Yield why records of the rule's other datasets may be missing, one sentence each.

    A partner that cannot be seen is no reason to clean, nor is a hidden pair of records that people listed. The target
    itself refuses a table whose rows it hides.
    """
    for name in rule.datasets:
        source, settings = subjects[name].source, subjects[name].dataset.settings
        if name != rule.cleaned and isinstance(source, RowSecured) and (reason := source.hides_rows(settings)):
            what = "the query" if name not in rule.configured_datasets else f"dataset `{name}`"
            yield f"Not all records of {what} can be seen: {reason}"


def _chunks(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    chunk: list[Finding] = []
    records = 0
    for finding in findings:
        if chunk and (len(chunk) == CHUNK or records + finding.records > _MOST_RECORDS):
            yield chunk
            chunk, records = [], 0
        chunk.append(finding)
        records += finding.records
    if chunk:
        yield chunk


@dataclass
class _StartedPlan:
    """A finding whose own rows are planned, but not yet its references."""

    finding: Finding
    group: GroupMembers
    done: ActionPlan
    draft: Draft

    @property
    def leaving(self) -> list[Row]:
        return [record.row for record in self.group.surplus if record.name in self.done.leaving]


def _plan_chunk(chunk: Sequence[Finding], tools: PlanningContext) -> Iterator[tuple[str, Plan | NotPlannable]]:
    started: dict[str, _StartedPlan | NotPlannable] = {
        finding.id: NothingToDo(f"Rule `{tools.rule.name}` cleans only {listed(tools.settings.forms)} findings.")
        for finding in chunk
        if tools.settings.forms and finding.form not in tools.settings.forms
    }
    with_rows = list(_read_rows([finding for finding in chunk if finding.id not in started], tools))
    answer = _answer([rows for _, rows in with_rows], tools)
    for finding, rows in with_rows:
        try:
            started[finding.id] = _begin(finding, rows, answer, tools)
        except NotPlannable as error:
            started[finding.id] = error
    referring = ReadReferring(tools.target)
    _read_references([entry for entry in started.values() if isinstance(entry, _StartedPlan)], referring, tools)
    planned = _possible([_planned(started[finding.id], referring, tools) for finding in chunk], tools)
    plans = irreversible([plan for plan in planned if isinstance(plan, Plan)], tools.target)
    yield from ((finding.id, plans.get(finding.id, plan)) for finding, plan in zip(chunk, planned, strict=True))


def _planned(
    entry: _StartedPlan | NotPlannable, referring: ReadReferring, tools: PlanningContext
) -> Plan | NotPlannable:
    if isinstance(entry, NotPlannable):
        return entry
    try:
        return _plan(entry, referring, tools)
    except NotPlannable as error:
        return error
    except TargetRefused as error:
        return NotPlannable(str(error))


def _possible(planned: Sequence[Plan | NotPlannable], tools: PlanningContext) -> list[Plan | NotPlannable]:
    """Return the same, with the reason instead of each plan that the target could never carry out."""
    target = tools.target
    plans = [plan for plan in planned if isinstance(plan, Plan)]
    changes = [change for plan in plans for change in plan.changes if not change.is_guard]
    if not changes or not isinstance(target, Foreseeing):
        return list(planned)
    reasons = target.impossible(tools.dataset.settings, changes)
    return [_unless(reasons, plan) if isinstance(plan, Plan) else plan for plan in planned]


def _unless(reasons: Mapping[RowName, str], plan: Plan) -> Plan | NotPlannable:
    reason = next((reasons[change.row] for change in plan.changes if change.row in reasons), None)
    return plan if reason is None else NotPlannable(f"{reason}.")


def _answer(of_findings: Sequence[Sequence[Row | None] | None], tools: PlanningContext) -> CurrentGroups:
    """Ask the rule about the findings whose rows all exist; no other one is planned."""
    complete = [[row for row in rows if row is not None] for rows in of_findings if rows and None not in rows]
    return tools.asking.about([row for rows in complete for row in rows]) if complete else CurrentGroups()


def _read_rows(
    chunk: Sequence[Finding], tools: PlanningContext
) -> Iterator[tuple[Finding, Sequence[Row | None] | None]]:
    """Yield the findings with the current rows of their records in the cleaned dataset; None for a finding that is too
    large to be cleaned."""
    limit, rule = tools.settings.plan_rows, tools.rule
    within_limit = [finding for finding in chunk if _to_clean(finding, rule) <= limit]
    ids = [[_typed(member.id, tools) for member in cleaned_members(finding, rule)] for finding in within_limit]
    to_read = [identifier for member_ids in ids for identifier in member_ids if identifier is not None]
    rows = iter(tools.target.rows(tools.dataset.settings, tools.dataset.id, to_read) if to_read else ())
    ids_of = {finding.id: member_ids for finding, member_ids in zip(within_limit, ids, strict=True)}
    for finding in chunk:
        member_ids = ids_of.get(finding.id)
        yield finding, None if member_ids is None else [None if key is None else next(rows) for key in member_ids]


def read_rows(finding: Finding, tools: PlanningContext) -> Sequence[Row | None]:
    """Return the current rows of the finding's records in the cleaned dataset. Raises PlanTooLarge, ConnectorError."""
    [(_, rows)] = _read_rows([finding], tools)
    if rows is None:
        raise PlanTooLarge(tools.settings.plan_rows)
    return rows


def _to_clean(finding: Finding, rule: Rule) -> int:
    return len(finding.surplus if finding.keeper else cleaned_members(finding, rule))


def _typed(record: RecordId, tools: PlanningContext) -> RecordId | None:
    """Convert an id to the dataset's types: the store does not distinguish 5 from 5.00.

    None if no record can have it: it was erased, or the dataset's `id` changed since.
    """
    if is_erased(record):
        return None
    kinds = [tools.relation.schema[name].type for name in tools.dataset.id]
    try:
        typed_parts = zip(kinds, record, strict=True)
        return tuple(_NUMBERS[kind](part) if kind in _NUMBERS else part for kind, part in typed_parts)
    except (ValueError, TypeError, ArithmeticError):
        return None


def _begin(
    finding: Finding, rows: Sequence[Row | None] | None, answer: CurrentGroups, tools: PlanningContext
) -> _StartedPlan:
    if rows is None:
        raise PlanTooLarge(tools.settings.plan_rows)
    group = members_now(finding, rows, answer, tools)
    action_plan = tools.action.changes(group, tools.settings, replace(tools.place, finding=finding.id))
    draft = Draft(tools.catalogue)
    for change in action_plan.changes:
        draft.add(change)
    for record in group.staying:
        draft.guard(record.row)
    for record in group.surplus if action_plan.calls else ():
        draft.guard(record.row, "surplus")
    all_rows = [record.row for record in (*group.staying, *group.surplus)]
    shared = group_collision(all_rows, tools.catalogue.tables[tools.catalogue.table], draft)
    if shared:
        raise NotPlannable(
            f"Two of its records would get the same {listed(shared)}, which must be unique; set that column too."
        )
    return _StartedPlan(finding, group, action_plan, draft)


def _read_references(started: Sequence[_StartedPlan], referring: ReadReferring, tools: PlanningContext) -> None:
    """Read the references to the surplus of all these, and to their new targets, in few queries."""
    repoints = tools.settings.references == "repoint"
    rows = [row for entry in started for row in entry.leaving]
    keepers = [entry.group.keeper for entry in started if repoints and entry.leaving]
    rows += [keeper.row for keeper in keepers if keeper is not None]
    for reference in tools.catalogue.references:
        if reference.to_table == tools.catalogue.table:
            keys = (cells_at(row.cells, reference.to_columns) for row in rows)
            referring.read(reference, (key for key in keys if key is not None))


def _plan(started: _StartedPlan, referring: ReadReferring, tools: PlanningContext) -> Plan:
    group, draft = started.group, started.draft
    stays = frozenset(record.row.name for record in group.staying)
    keeper = None if group.keeper is None else group.keeper.row
    instead = keeper if tools.settings.references == "repoint" else None
    closure = Closure(draft, tools.settings.references, referring, keeper, stays, tools.settings.plan_rows)
    closure.follow(RemovedRow(row, instead) for row in started.leaving)
    closure.check_keys()
    moved = {record.name for record in group.surplus if record.row.name in closure.moved}
    effects = [effect for effect in started.done.effects if not effect.idle or effect.record in moved]
    if not effects:
        raise NothingToDo("Its records need no change; there is nothing to do.")
    changes, calls = draft.in_order(), started.done.calls
    if len(calls) > 1:
        raise AsksPerson(
            f"Source `{tools.dataset.source}` is called for one record at a time, and this group needs "
            f"{len(calls):,} calls; only a person can decide about them."
        )
    promises, changed_rows = tools.target.promises, sum(not change.is_guard for change in changes)
    if not promises.all_or_nothing and changed_rows > promises.rows_together:
        most = "several rows" if promises.rows_together == 1 else f"more than {promises.rows_together} rows"
        raise AsksPerson(
            f"Source `{tools.dataset.source}` cannot change {most} together, which this plan needs; change "
            "them by hand."
        )
    if changed_rows > tools.settings.plan_rows:
        raise PlanTooLarge(tools.settings.plan_rows)
    tables = touched_tables(changes, tools.catalogue.tables, tools.place.other)
    undo_limits = (*limits_of_undo(changes, tables), *shared_values(changes, tools.catalogue))
    can_undo = tools.settings.can_undo and all(call.undo is not None for call in calls)
    handled = {effect.record for effect in effects}
    changed = [record for record in group.surplus if record.name in handled]
    moved_money = money_moved(changed, tools.relation)
    ignored = _ignored(started.done, tools)
    lacks = {record.name: not_counted(record, tools.relation) for record in changed}
    return Plan(
        finding=started.finding.id,
        rule=tools.rule.name,
        dataset=tools.dataset.name,
        source=tools.dataset.source,
        target=tools.identity,
        table=tools.catalogue.table,
        action=tools.action.name,
        keeper="" if group.keeper is None else group.keeper.name,
        operations=_operations(effects, calls, tools),
        changes=changes,
        catalogue=tools.catalogue.digest,
        references=closure.guards(),
        ignore_drift=ignored,
        filled=ignored if any(line.how == "most_complete" for line in tools.fitted.keep) else (),
        money={currency: str(public(amount)) for currency, amount in sorted(moved_money.items())},
        reversible=("window" if undo_limits else "yes") if can_undo else "no",
        why=(*undo_limits, *map(taken_back, calls)),
        triggers=tuple(f"{facts.table}.{name}" for facts in tables for name in facts.triggers),
        origins=dict(sorted(started.done.origins.items())),
        binding=tools.binding,
        uncounted={name: reason for name, reason in lacks.items() if reason is not None},
        evidence=group.evidence,
        salt=salt_of(tools.secret, started.finding.id),
        calls=calls,
    )


def _ignored(action_plan: ActionPlan, tools: PlanningContext) -> tuple[str, ...]:
    """Return the `ignore_drift` columns that the plan was not computed from."""
    if action_plan.reads is None:
        return ()
    money = tools.relation.money
    reads = {*action_plan.reads, *((money.amount, money.currency_column or "") if money else ())}
    linked = (link.to_columns for link in tools.catalogue.references if link.to_table == tools.catalogue.table)
    behind = {*tools.fitted.columns.sources(sorted(reads)), *(name for columns in linked for name in columns)}
    return tuple(sorted(set(tools.settings.ignore_drift) - behind))


def _operations(effects: Sequence[Effect], calls: Sequence[Call], tools: PlanningContext) -> tuple[Operation, ...]:
    if calls:  # what is sent counts too: the same key never sends something else
        sent = [sorted(call.sends.items()) for call in calls]
        effects = [
            replace(effect, payload=[*effect.payload, *pairs]) for effect, pairs in zip(effects, sent, strict=True)
        ]
    names = [(effect.effect, name_of(tools.catalogue.table, effect.record)) for effect in effects]
    generations = tools.generations(names)
    return tuple(
        Operation(effect.record, effect.effect, _fingerprint(effect, tools), generations.get(name, 1))
        for effect, name in zip(effects, names, strict=True)
    )


def _fingerprint(effect: Effect, tools: PlanningContext) -> str:
    content = [effect.effect, tools.identity, tools.catalogue.table, list(effect.payload)]
    return hashlib.sha256(json.dumps(content, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


def _facts(target: Target, dataset: DatasetConfig, name: str) -> TableFacts | None:
    """Return another table of the same target; None if it does not exist."""
    try:
        catalogue = target.catalogue(dataset.settings, table=name, key=dataset.id)
    except (DatasetMissing, TargetRefused):
        return None
    return catalogue.tables[catalogue.table]


__all__ = [
    "AsksPerson",
    "NotPlannable",
    "NothingToDo",
    "PlanningContext",
    "Stale",
    "make",
    "make_many",
    "mistakes",
    "place",
    "read_rows",
]
