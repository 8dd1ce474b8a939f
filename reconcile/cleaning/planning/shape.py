"""The shape check: a rule stops cleaning if one of its datasets changed unexpectedly.

A column that vanished, changed its type or emptied, a source that lost half its records, or many times the usual
groups: each may make a rule match the wrong records. The rule keeps reporting; cleaning waits for a person. Each run
is compared with the last accepted shape, so a stopped run changes nothing. If a source of fewer than `FEW` records lost
half of them, or half of the values of a column, or if a list of pairs has more rows that name no pair, the rule is not
stopped, but people are asked about each plan.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import Any

from notifications.wording.words import plural
from reconcile.detection.detect import Detected
from reconcile.detection.missing import named_by_cleaning
from reconcile.detection.subject import undisplayed
from reconcile.findings.states import HOLDING, PlanState
from reconcile.plugins import kind_of
from reconcile.store import Transaction, plans, shapes
from rules.engines.base import Relation
from rules.groups.detection import Detection
from rules.groups.group import Member
from rules.kinds.base import Rule

TIMES = 5
"""More groups than this many times the median are too many."""
FEW = 20
"""With fewer records or groups, shares mean nothing."""
FEW_MEMBERS = 10
"""The same for members of groups, of which a healthy dataset has few."""
EMPTIED = 0.5
"""A column emptied if the share of records without it rose by this."""
REMEMBERED = 20
"""Runs that count for the median of groups."""
LOOKED_AT = 10_000
"""Members whose values are checked."""
WHERE = "where"


@dataclass(frozen=True)
class DatasetShape:
    """The shape of one of a rule's datasets in one run. `rule` is the rule's binding.

    `types` are those of all columns of the dataset; `used` names the columns the rule matches, keeps or cleans by.
    `empty`: by column, the share of scanned records that were skipped because they lack it; for `where`, the share of
    all records it cannot be evaluated for. `bare`: the share of group members that lack it. `lacking`: the share of all
    records without a value in it, empty if that is unknown. `cleaned`: how many records
    the rule may have removed from the dataset so far.
    """

    run: str
    rule: str
    types: Mapping[str, str]
    used: Sequence[str]
    read: int
    groups: int
    members: int
    cleaned: int = 0
    empty: Mapping[str, float] = field(default_factory=dict)
    bare: Mapping[str, float] = field(default_factory=dict)
    lacking: Mapping[str, float] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Return 64 hex digits that identify the dataset's columns and types."""
        return hashlib.sha256(json.dumps(sorted(self.types.items())).encode()).hexdigest()


@dataclass(frozen=True)
class ShapeChange:
    """A difference that is too large, as a clause. It `is_small` if people are asked and the rule is not stopped.

    A number of groups `follows` from the datasets, so another difference explains more.
    """

    reason: str
    is_small: bool = False
    follows: bool = False


@dataclass(frozen=True)
class Past:
    """Earlier runs: the shape of the last one, and the number of groups of each."""

    shape: DatasetShape | None
    groups: Sequence[int]


def of(rule: Rule, answer: Detected, dataset: str, run: str, binding: str, cleaned: int = 0) -> DatasetShape:
    """Return the shape of one of the rule's datasets in a detection."""
    detection, relation = answer.detection.of(dataset), answer.subjects[dataset].relation
    named = None if dataset == rule.dataset else dataset
    members = list(islice((member for member in _members(detection) if member.dataset == named), LOOKED_AT))
    missing = Counter(name for member in members for name, value in member.values.items() if value is None)
    empty: dict[str, float] = {}
    for left_out in detection.skipped:
        of_all = detection.scanned if left_out.scanned else detection.read
        empty[left_out.column] = empty.get(left_out.column, 0.0) + left_out.records / (of_all or 1)
    return DatasetShape(
        run=run,
        rule=binding,
        types={column.name: column.type.value for column in relation.schema},
        used=_used(rule, answer.fitted.needed[dataset], relation),
        read=detection.read,
        groups=len(detection.groups),
        members=len(members),
        cleaned=cleaned,
        empty=empty,
        bare={name: records / (len(members) or 1) for name, records in missing.items()},
        lacking=_lacking(rule, answer, dataset),
    )


def _lacking(rule: Rule, answer: Detected, dataset: str) -> Mapping[str, float]:
    """Return the shares of the columns that the rule uses, without those that it only displays."""
    plain = {name: undisplayed(subject) for name, subject in answer.subjects.items()}
    used = kind_of(rule).fit(rule, {name: subject.relation for name, subject in plain.items()}).needed[dataset]
    names = {*used, *named_by_cleaning(rule)}
    return {name: share for name, share in answer.lacking.get(dataset, {}).items() if name in names}


def refuse(tx: Transaction, rule: Rule, answer: Detected, run: str, binding: str) -> str | None:
    """Return why this rule may not clean, for `limits.stop`; None accepts the shapes for later comparisons.

    `binding` is the rule's: shapes are compared only while it stays the same. A refused shape waits for `allow`. A
    resumed run is compared with the runs before it. If another dataset of a comparison is incomplete, partners are
    missing, and if a list of pairs is, records count as the same: so the shapes of all are checked.
    """
    compared = [_compared(tx, rule, answer, dataset, run, binding) for dataset in rule.configured_datasets]
    for each in compared:
        each.keep(tx, rule)
    change = _first(compared)
    return None if change is None or change.is_small else change.reason


def change_of(tx: Transaction, rule: Rule, answer: Detected, run: str, binding: str) -> ShapeChange | None:
    """Return why a run with this answer would stop the rule's cleaning or ask people, without keeping anything."""
    return _first([_compared(tx, rule, answer, dataset, run, binding) for dataset in rule.configured_datasets])


def _first(compared: Sequence[_Compared]) -> ShapeChange | None:
    """Return the difference that matters most."""
    changes = [each.change for each in compared if each.change is not None]
    return min(changes, key=lambda change: (change.is_small, change.follows), default=None)


@dataclass(frozen=True)
class _Compared:
    """The shape of a dataset now, what is stored of it, and the difference, if it is too large."""

    dataset: str
    now: DatasetShape
    memory: _Memory | None
    change: ShapeChange | None

    def keep(self, tx: Transaction, rule: Rule) -> None:
        """Accept the shape for later comparisons, or let it wait for `allow`."""
        memory = self.memory
        if memory is None or self.change is None or self.change.is_small:
            _write(tx, self.dataset, rule.name, _accepted(memory, self.now))
        else:
            _write(tx, self.dataset, rule.name, replace(memory, waiting=self.now))


def _compared(tx: Transaction, rule: Rule, answer: Detected, dataset: str, run: str, binding: str) -> _Compared:
    removed = in_progress = 0
    if dataset == rule.cleaned:
        removed = plans.records_removed(tx, rule.name)
        in_progress = plans.records_removed(tx, rule.name, (*HOLDING, PlanState.COMPENSATING))
    now = of(rule, answer, dataset, run, binding, removed)
    memory = _read(tx, rule, dataset)
    if memory is None:
        return _Compared(dataset, now, None, None)
    if not now.lacking:
        now = replace(now, lacking=memory.shape.lacking)
    return _Compared(dataset, now, memory, _change(rule, memory.before(run), now, in_progress, dataset))


def allow(tx: Transaction, dataset: str, rule: str) -> bool:
    """Accept the refused shape for later comparisons; return False if none waits."""
    memory = _row(tx, dataset, rule)
    if memory is None or memory.waiting is None:
        return False
    _write(tx, dataset, rule, _accepted(None, memory.waiting))
    return True


def compare(
    rule: Rule, before: Past, now: DatasetShape, in_progress: int = 0, *, dataset: str | None = None
) -> str | None:
    """Return the first difference that is too large, for `limits.stop`; None if there is none.

    `in_progress` are records that plans may have removed already, though this is not known yet, for example after a
    kill. `dataset` is the rule's first one by default.

    The first run of a rule, and the first after an edit, compare nothing: they ask people anyway.
    """
    change = _change(rule, before, now, in_progress, dataset or rule.dataset)
    return None if change is None or change.is_small else change.reason


def _change(rule: Rule, before: Past, now: DatasetShape, in_progress: int, dataset: str) -> ShapeChange | None:
    previous = before.shape
    if previous is None or previous.rule != now.rule:
        return None
    beginning = f"dataset {dataset!r} changed unexpectedly: "
    if (reason := next(_differences(rule, previous, now, in_progress), None)) is not None:
        return ShapeChange(beginning + reason)
    usual = statistics.median(before.groups) if before.groups else None
    if usual is not None and now.groups > max(TIMES * usual, FEW):
        reason = f"it has {now.groups:,} groups instead of the usual {usual:,.0f}"
        return ShapeChange(beginning + reason, follows=True)
    if _is_halved(previous, now, in_progress):
        return ShapeChange(beginning + _of_records(previous, now), is_small=True)
    lost = _emptied_of_all if dataset in rule.member_datasets else _fewer_pairs
    emptied = next(lost(previous, now), None)
    return None if emptied is None else ShapeChange(beginning + emptied, is_small=True)


def _is_halved(previous: DatasetShape, now: DatasetShape, in_progress: int) -> bool:
    """Return True if the dataset lost half of its records; our own deletions are no loss."""
    expected = now.read + max(0, now.cleaned + in_progress - previous.cleaned)
    return previous.read > expected and expected * 2 <= previous.read


def _of_records(previous: DatasetShape, now: DatasetShape) -> str:
    return f"it has {plural(now.read, 'record', 'records')} instead of {previous.read:,}"


def _differences(rule: Rule, previous: DatasetShape, now: DatasetShape, in_progress: int) -> Iterator[str]:
    used = {*now.used, *(name for name in named_by_cleaning(rule) if name in previous.types)}
    for name in sorted(used):
        if name in previous.types and name not in now.types:
            yield f"column {name} no longer exists"
        elif previous.types.get(name, now.types.get(name)) != now.types.get(name):
            yield f"column {name} was {previous.types[name]} and is now {now.types[name]}"
    if previous.read >= FEW and _is_halved(previous, now, in_progress):
        yield _of_records(previous, now)
    if now.read >= FEW:
        yield from _emptied_of_all(previous, now)
    if min(now.members, previous.members) >= FEW_MEMBERS:
        yield from _emptied(previous.bare, now.bare, "the records of its groups")


def _emptied_of_all(previous: DatasetShape, now: DatasetShape) -> Iterator[str]:
    """Yield the columns that lost values in all records, or in those that were compared."""
    yield from _emptied(previous.empty, now.empty, "the records")
    measured = {name: share for name, share in now.lacking.items() if name in previous.lacking}
    yield from _emptied(previous.lacking, measured, "the records")


def _fewer_pairs(previous: DatasetShape, now: DatasetShape) -> Iterator[str]:
    """Yield the columns of a list in which more rows name no record: each of them may have named one."""
    for name, share in sorted(now.empty.items()):
        before, unusable = round(previous.empty.get(name, 0.0) * previous.read), round(share * now.read)
        if unusable > before:
            rows = plural(unusable, "row", "rows")
            yield f"column {name} is empty or unusable in {rows} of {now.read:,}; before, in {before:,}"


def _emptied(previous: Mapping[str, float], now: Mapping[str, float], of_what: str) -> Iterator[str]:
    for name, share in sorted(now.items()):
        if share - previous.get(name, 0.0) >= EMPTIED:
            subject = "`where` cannot be evaluated for" if name == WHERE else f"column {name} is empty or unusable in"
            yield f"{subject} {share:.0%} of {of_what}; before, {previous.get(name, 0.0):.0%}"


def _members(detection: Detection) -> Iterator[Member]:
    for group in detection.groups:
        yield from group.members


def _used(rule: Rule, needed: Iterable[str], relation: Relation) -> tuple[str, ...]:
    texts = named_by_cleaning(rule)
    columns = {*needed, *(name for name in relation.schema.names if name in texts)}
    return tuple(sorted(columns))


# The stored shapes: one row per dataset and rule


@dataclass(frozen=True)
class _Memory:
    """The stored shapes of a rule. `groups` are pairs of run and number, for the latest accepted runs.

    `waiting` was refused. `previous` is the shape before the last run's, in case that run is resumed.
    """

    shape: DatasetShape
    groups: Sequence[tuple[str, int]]
    previous: DatasetShape | None = None
    waiting: DatasetShape | None = None

    def before(self, run: str) -> Past:
        """Return earlier runs, without an earlier attempt of this run."""
        shape = self.previous if self.shape.run == run else self.shape
        return Past(shape, [groups for earlier_run, groups in self.groups if earlier_run != run])


def _accepted(memory: _Memory | None, now: DatasetShape) -> _Memory:
    if memory is None:
        return _Memory(now, [(now.run, now.groups)])
    groups = [entry for entry in memory.groups if entry[0] != now.run and memory.shape.rule == now.rule]
    return _Memory(now, [*groups, (now.run, now.groups)][-REMEMBERED:], memory.before(now.run).shape)


def _read(tx: Transaction, rule: Rule, dataset: str) -> _Memory | None:
    memory = _row(tx, dataset, rule.name)
    return memory if memory is not None or rule.was is None else _row(tx, dataset, rule.was)


def _row(tx: Transaction, dataset: str, rule: str) -> _Memory | None:
    facts = shapes.facts(tx, dataset, rule)
    if facts is None:
        return None
    groups = [(run, groups) for run, groups in facts["groups"]]
    return _Memory(DatasetShape(**facts["shape"]), groups, _shape(facts["previous"]), _shape(facts["waiting"]))


def _shape(facts: Mapping[str, Any] | None) -> DatasetShape | None:
    return None if facts is None else DatasetShape(**facts)


def _write(tx: Transaction, dataset: str, rule: str, memory: _Memory) -> None:
    shapes.keep(tx, dataset, rule, digest=memory.shape.digest, facts=asdict(memory))
