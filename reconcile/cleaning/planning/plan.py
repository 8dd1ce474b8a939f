"""From findings to plans: what would become of every row, read anew, and nothing written.

An action says what becomes of the group's own rows; everything else is the same for all of them: records that no longer
match are left alone, the keeper stands guard, whoever refers to the surplus is seen to, and changes come in an order
that constraints allow. The same rows give the same plan, in every process.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property

from connectors.errors import DatasetMissing
from connectors.target import Catalogue, Reference, Row, TableFacts, Target, TargetRefused
from reconcile.cleaning.actions.base import (
    Action,
    ActionPlan,
    AsksPerson,
    Effect,
    Members,
    NothingToDo,
    NotPlannable,
    Place,
    Stale,
    TooManyRows,
)
from reconcile.cleaning.planning.binding import in_target
from reconcile.cleaning.planning.collisions import group_collision
from reconcile.cleaning.planning.draft import Draft, cells_at
from reconcile.cleaning.planning.members import members_now
from reconcile.cleaning.planning.reading import ReadReferring
from reconcile.cleaning.planning.references import Closure, Leaving
from reconcile.cleaning.planning.reversing import limits_of_undo, shared_values, touched_tables
from reconcile.config.settings import DatasetConfig
from reconcile.detection.detect import Subjects, read_again
from reconcile.findings.bundle import Bundle, Operation
from reconcile.findings.identity import is_erased, public
from reconcile.findings.shown import Finding
from reconcile.journal.keys import name_of
from reconcile.plugins import Kinds, kind_of
from rules import grouping
from rules.cleaning import Clean
from rules.document.mistakes import listed, suggestion
from rules.engines.base import Group, Relation
from rules.kinds.base import Fitted, Rule
from rules.values import RecordId, Type

CHUNK = 500
"""So many findings are read together, fewer where they have many records."""
_MOST_RECORDS = 5_000
_NUMBERS = {Type.INTEGER: int, Type.DECIMAL: Decimal, Type.FLOAT: float}

Generations = Callable[[Sequence[tuple[str, str]]], Mapping[tuple[str, str], int]]
"""Which life of a record an effect would be on, for (effect, `keys.name_of` the record); 1 where it says nothing."""


@dataclass(frozen=True)
class Tools:
    """What planning needs of a rule with `clean`: its target, and its datasets as rules and their database see them.

    `slot` is what `slot()` of its conditions means. `binding` is the rule's (`binding.binding_of`).
    """

    target: Target
    subjects: Subjects
    rule: Rule
    catalogue: Catalogue
    slot: dt.datetime
    generations: Generations = field(default=lambda _: {})
    binding: str = ""

    @classmethod
    def of(
        cls,
        target: Target,
        subjects: Subjects,
        rule: Rule,
        slot: dt.datetime,
        generations: Generations = lambda _: {},
        binding: str = "",
    ) -> Tools:
        """With the catalogue as it is now. Raises TargetRefused, ConnectorError."""
        dataset = subjects[rule.dataset].dataset
        catalogue = target.catalogue(dataset.settings, soft_links(dataset))
        return cls(target, subjects, rule, catalogue, slot, generations, binding)

    @property
    def dataset(self) -> DatasetConfig:
        """The dataset whose records are cleaned."""
        return self.subjects[self.rule.dataset].dataset

    @property
    def relation(self) -> Relation:
        return self.subjects[self.rule.dataset].relation

    @cached_property
    def settings(self) -> Clean:
        assert self.rule.clean is not None  # noqa: S101 - only rules that clean are planned
        return self.rule.clean

    @cached_property
    def action(self) -> Action:
        made: Action = Kinds("actions").load(self.settings.action)()
        return made

    @cached_property
    def place(self) -> Place:
        return place(self.target, self.dataset, self.relation, self.catalogue)

    @cached_property
    def fitted(self) -> Fitted:
        return kind_of(self.rule).fit(self.rule, {name: one.relation for name, one in self.subjects.items()})

    @cached_property
    def identity(self) -> str:
        return self.target.identity()

    @property
    def bound(self) -> str:
        """The binding in this database and schema; see `binding.in_target`."""
        return in_target(self.binding, self.identity, self.catalogue.schema)


def soft_links(dataset: DatasetConfig) -> tuple[Reference, ...]:
    """The links that the dataset declares; a target takes an empty `to_table` for the dataset's own."""
    return tuple(
        Reference(f"{one.table}({', '.join(one.columns)})", one.table, one.columns, "", one.to or dataset.id, soft=True)
        for one in dataset.references
    )


def place(target: Target, dataset: DatasetConfig, relation: Relation, catalogue: Catalogue) -> Place:
    """Where an action acts; what `mistakes` is asked about."""
    known: dict[str, TableFacts | None] = {}

    def other(name: str) -> TableFacts | None:
        if name not in known:
            known[name] = _facts(target, dataset, name)
        return known[name]

    return Place(catalogue.tables[catalogue.table], relation.schema, dataset.id, other)


def mistakes(rule: Rule, where: Place, fitted: Fitted) -> list[str]:
    """What keeps the rule's `clean` from working there, one sentence each; empty when nothing does."""
    if rule.clean is None:
        return []
    action: Action = Kinds("actions").load(rule.clean.action)()
    wrong = [where.table.refused] if where.table.refused else []
    columns = [one.name for one in where.table.columns]
    wrong += [
        f"`ignore_drift` names `{name}`, which is no column; {suggestion(name, columns)}"
        for name in rule.clean.ignore_drift
        if name not in columns
    ]
    wrong += _drifting(rule, fitted) if rule.clean.ignore_drift else []
    unnamed = [name for name in where.id if name not in columns]
    if unnamed:
        wrong.append(f"Its id has {listed(unnamed)}, which no row of `{where.table.table}` can be found by")
    return wrong + action.check(rule.clean, where)


def _drifting(rule: Rule, fitted: Fitted) -> list[str]:
    """What says that records are twins may not change unseen: the surplus would go though its keeper is another's."""
    assert rule.clean is not None  # noqa: S101 - the caller looked
    kept = [line.column for line in fitted.keep if line.column is not None]
    deciding = dict.fromkeys(fitted.relation.id, "names its records")
    deciding |= dict.fromkeys(kept, "chooses the record that stays")
    deciding |= dict.fromkeys(fitted.deciding, "tells what belongs together")
    why = {behind: what for name, what in deciding.items() for behind in fitted.columns.sources([name])}
    return [
        f"`ignore_drift` names `{name}`, by which rule `{rule.name}` {why[name]}; leave it out"
        for name in rule.clean.ignore_drift
        if name in why
    ]


def make(finding: Finding, tools: Tools) -> Bundle:
    """The plan for one finding. Raises Stale, NothingToDo, AsksPerson or another NotPlannable; ConnectorError."""
    [(_, planned)] = make_many([finding], tools)
    if isinstance(planned, Bundle):
        return planned
    raise planned


def make_many(findings: Iterable[Finding], tools: Tools) -> Iterator[tuple[str, Bundle | NotPlannable]]:
    """The plan for each finding, in their order, or why there is none; rows are read for a chunk of them at a time.

    Raises what the target does not answer with: ConnectorError.
    """
    wrong = [*_promises(tools.target), *mistakes(tools.rule, tools.place, tools.fitted)]
    for chunk in _chunks(findings):
        if wrong:
            why = f"Nothing is cleaned by rule `{tools.rule.name}`: {wrong[0].rstrip('.')}."
            yield from ((one.id, NotPlannable(why)) for one in chunk)
        else:
            yield from _planned(chunk, tools)


def _promises(target: Target) -> Iterator[str]:
    if not target.promises.compare_and_set:
        yield f"Source `{target.name}` cannot keep a row unchanged until a change is made, so nothing is changed there"


def _chunks(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    chunk: list[Finding] = []
    records = 0
    for one in findings:
        if chunk and (len(chunk) == CHUNK or records + one.records > _MOST_RECORDS):
            yield chunk
            chunk, records = [], 0
        chunk.append(one)
        records += one.records
    if chunk:
        yield chunk


@dataclass
class _Begun:
    """A finding whose own rows are planned, and whose references are not."""

    finding: Finding
    group: Members
    done: ActionPlan
    draft: Draft

    @property
    def leaving(self) -> list[Row]:
        return [one.row for one in self.group.surplus if one.name in self.done.leaving]


def _planned(chunk: Sequence[Finding], tools: Tools) -> Iterator[tuple[str, Bundle | NotPlannable]]:
    begun: dict[str, _Begun | NotPlannable] = {}
    read = [(finding, rows) for finding, rows in _rows(chunk, tools)]
    groups = _regrouped([(finding.id, rows) for finding, rows in read], tools)
    for finding, rows in read:
        try:
            begun[finding.id] = _begin(finding, rows, groups.get(finding.id, ()), tools)
        except NotPlannable as why:
            begun[finding.id] = why
    referring = ReadReferring(tools.target)
    _read_references([one for one in begun.values() if isinstance(one, _Begun)], referring, tools)
    for name, one in begun.items():
        if isinstance(one, NotPlannable):
            yield name, one
        else:
            try:
                yield name, _bundle(one, referring, tools)
            except NotPlannable as why:
                yield name, why
            except TargetRefused as why:
                yield name, NotPlannable(str(why))


def _regrouped(
    read: Sequence[tuple[str, Sequence[Row | None] | None]], tools: Tools
) -> Mapping[str, tuple[Group, ...]]:
    """What the rule makes of the findings whose rows are all there, by finding."""
    whole = {name: [row.values for row in rows if row is not None] for name, rows in read if rows and None not in rows}
    groups = tools.fitted.regroup(list(whole.values()), tools.slot, lambda name: read_again(tools.subjects[name]))
    return dict(zip(whole, groups, strict=True))


def _rows(chunk: Sequence[Finding], tools: Tools) -> Iterator[tuple[Finding, Sequence[Row | None] | None]]:
    """The findings' rows as they are now; None for a finding that is too large to be cleaned at all."""
    most = tools.settings.bundle_rows
    small = [one for one in chunk if len(one.surplus) <= most]
    ids = [[_typed(member.id, tools) for member in one.members] for one in small]
    asked = [one for some in ids for one in some if one is not None]
    read = iter(tools.target.rows(tools.dataset.settings, tools.dataset.id, asked) if asked else ())
    named = {one.id: some for one, some in zip(small, ids, strict=True)}
    for one in chunk:
        found = named.get(one.id)
        yield one, None if found is None else [None if record is None else next(read) for record in found]


def _typed(record: RecordId, tools: Tools) -> RecordId | None:
    """An id as the dataset has it: the name of a record in the store does not tell 5 from 5.00.

    None where no record can be called so any more: it was erased, or the dataset's `id` is another one since.
    """
    if is_erased(record):
        return None
    kinds = [tools.relation.schema[name].type for name in tools.dataset.id]
    try:
        both = zip(kinds, record, strict=True)
        return tuple(_NUMBERS[kind](part) if kind in _NUMBERS else part for kind, part in both)
    except (ValueError, TypeError, ArithmeticError):
        return None


def _begin(finding: Finding, rows: Sequence[Row | None] | None, groups: Sequence[Group], tools: Tools) -> _Begun:
    if rows is None:
        raise TooManyRows(tools.settings.bundle_rows)
    group = members_now(finding, rows, groups, tools.fitted, tools.slot)
    done = tools.action.changes(group, tools.settings, replace(tools.place, finding=finding.id))
    draft = Draft(tools.catalogue)
    for change in done.changes:
        draft.add(change)
    for one in (group.keeper, *group.settled):
        draft.guard(one.row)
    everyone = [one.row for one in (group.keeper, *group.surplus, *group.settled)]
    shared = group_collision(everyone, tools.catalogue.tables[tools.catalogue.table], draft)
    if shared:
        raise NotPlannable(
            f"Two of its records would have the same {listed(shared)}, and only one may; set it as well."
        )
    return _Begun(finding, group, done, draft)


def _read_references(begun: Sequence[_Begun], referring: ReadReferring, tools: Tools) -> None:
    """Read who refers to the surplus of all these, and to what they are re-pointed to, in few questions."""
    repoints = tools.settings.references == "repoint"
    rows = [row for one in begun for row in one.leaving]
    rows += [one.group.keeper.row for one in begun if repoints and one.leaving]
    for reference in tools.catalogue.references:
        if reference.to_table == tools.catalogue.table:
            keys = (cells_at(row.cells, reference.to_columns) for row in rows)
            referring.read(reference, (key for key in keys if key is not None))


def _bundle(begun: _Begun, referring: ReadReferring, tools: Tools) -> Bundle:
    group, draft = begun.group, begun.draft
    stays = frozenset(one.row.name for one in (group.keeper, *group.settled))
    instead = group.keeper.row if tools.settings.references == "repoint" else None
    closure = Closure(draft, tools.settings.references, referring, group.keeper.row, stays, tools.settings.bundle_rows)
    closure.follow(Leaving(row, instead) for row in begun.leaving)
    closure.check_keys()
    moved = {one.name for one in group.surplus if one.row.name in closure.moved}
    effects = [one for one in begun.done.effects if not one.idle or one.record in moved]
    if not effects:
        raise NothingToDo("Its records are as they would be left; there is nothing to do.")
    changes = draft.in_order()
    if not tools.target.promises.all_or_nothing and sum(not one.is_guard for one in changes) > 1:
        raise AsksPerson(
            f"Source `{tools.dataset.source}` cannot change several rows together, and this plan needs that; change "
            "them there by hand."
        )
    if sum(not one.is_guard for one in changes) > tools.settings.bundle_rows:
        raise TooManyRows(tools.settings.bundle_rows)
    tables = touched_tables(changes, tools.catalogue.tables, tools.place.other)
    why = (*limits_of_undo(changes, tables), *shared_values(changes, tools.catalogue))
    handled = {one.record for one in effects}
    changed = [one for one in group.surplus if one.name in handled]
    moved_money = grouping.money_moved(changed, tools.relation)
    ignored = _ignored(begun.done, tools)
    lacks = {one.name: grouping.not_counted(one, tools.relation) for one in changed}
    return Bundle(
        finding=begun.finding.id,
        rule=tools.rule.name,
        dataset=tools.dataset.name,
        source=tools.dataset.source,
        target=tools.identity,
        table=tools.catalogue.table,
        action=tools.action.name,
        keeper=group.keeper.name,
        operations=_operations(effects, tools),
        changes=changes,
        catalogue=tools.catalogue.digest,
        references=closure.guards(),
        ignore_drift=ignored,
        filled=ignored if any(line.how == "most_complete" for line in tools.fitted.keep) else (),
        money={currency: str(public(amount)) for currency, amount in sorted(moved_money.items())},
        reversible=("window" if why else "yes") if tools.settings.can_undo else "no",
        why=why,
        triggers=tuple(f"{facts.table}.{name}" for facts in tables for name in facts.triggers),
        origins=dict(sorted(begun.done.origins.items())),
        binding=tools.binding,
        uncounted={name: what for name, what in lacks.items() if what is not None},
    )


def _ignored(done: ActionPlan, tools: Tools) -> tuple[str, ...]:
    """The columns that may drift: of those that the rule ignores, the ones nothing of the plan was computed from."""
    if done.reads is None:
        return ()
    money = tools.relation.money
    reads = {*done.reads, *((money.amount, money.currency_column or "") if money else ())}
    linked = (one.to_columns for one in tools.catalogue.references if one.to_table == tools.catalogue.table)
    behind = {*tools.fitted.columns.sources(sorted(reads)), *(name for columns in linked for name in columns)}
    return tuple(sorted(set(tools.settings.ignore_drift) - behind))


def _operations(effects: Sequence[Effect], tools: Tools) -> tuple[Operation, ...]:
    names = [(one.effect, name_of(tools.catalogue.table, one.record)) for one in effects]
    lives = tools.generations(names)
    return tuple(
        Operation(one.record, one.effect, _fingerprint(one, tools), lives.get(name, 1))
        for one, name in zip(effects, names, strict=True)
    )


def _fingerprint(effect: Effect, tools: Tools) -> str:
    said = [effect.effect, tools.identity, tools.catalogue.table, list(effect.payload)]
    return hashlib.sha256(json.dumps(said, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


def _facts(target: Target, dataset: DatasetConfig, name: str) -> TableFacts | None:
    """Another table of the same target; None where there is none."""
    try:
        found = target.catalogue(dataset.settings, table=name)
    except (DatasetMissing, TargetRefused):
        return None
    return found.tables[found.table]


__all__ = ["AsksPerson", "NotPlannable", "NothingToDo", "Stale", "Tools", "make", "make_many", "mistakes", "place"]
