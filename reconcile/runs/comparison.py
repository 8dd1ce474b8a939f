"""Compare the rules of two releases on the same records: which findings appear, vanish or change. It only reads.

Each dataset is read once, into a copy that both releases are judged on. Only if a release reads it from another place,
or in another way, it is read again, directly afterwards. No store is read: the findings are those of a first run.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeVar

from connectors.errors import ConnectorError
from reconcile.config.settings import DatasetConfig, Project
from reconcile.detection import plausible
from reconcile.detection.bounded import TimeLimits, bounded
from reconcile.detection.copied import CopiedSource
from reconcile.detection.detect import Detected, RuleUnchecked, choose, definition_of, fit
from reconcile.detection.subject import Subject, subjects_of
from reconcile.findings.compared import GroupChange, compare
from reconcile.findings.identity import RuleIdentity
from reconcile.findings.results import RuleFailure
from reconcile.runs.check import Readers, RunOrder, check
from reconcile.runs.copies import DatasetCopies, NeededDataset, Place
from rules import values
from rules.groups.group import Group
from rules.kinds.base import Rule
from rules.values.packed import Packed

T = TypeVar("T")
State = Literal["unchanged", "compared", "added", "removed", "failed"]


@dataclass(frozen=True)
class ReleaseFindings:
    """The number of a rule's findings in one release, and their money at risk; or the reason why it has none."""

    findings: int = 0
    read: int = 0
    money: Mapping[str, Decimal] = field(default_factory=dict)
    failed: str | None = None


@dataclass(frozen=True)
class RuleComparison:
    """A rule in two releases, None where it is missing. An unchanged rule was not run and has no answers.

    `same` counts the findings that both have. `apart` names datasets that each release read by itself.
    """

    old: Rule | None
    new: Rule | None
    state: State
    before: ReleaseFindings | None = None
    after: ReleaseFindings | None = None
    changes: Sequence[GroupChange] = ()
    same: int = 0
    apart: tuple[str, ...] = ()

    @property
    def rule(self) -> Rule:
        """The rule as it will be, or as it was."""
        rule = self.new or self.old
        assert rule is not None  # noqa: S101 - one of them is given
        return rule

    def count(self, change: str) -> int:
        """Return the number of findings that appear, vanish or change."""
        return sum(entry.change == change for entry in self.changes)


@dataclass(frozen=True)
class ReleaseComparison:
    """Two releases by their hashes, with each of their rules; removed rules come last."""

    before: Project
    after: Project
    slot: dt.datetime
    rules: tuple[RuleComparison, ...]

    @property
    def has_changes(self) -> bool:
        return any(rule.changes for rule in self.rules)

    @property
    def failed(self) -> bool:
        """True if some rule could not be compared."""
        return any(rule.state == "failed" for rule in self.rules)


def compare_releases(
    before: Readers, after: Readers, slot: dt.datetime, only: Collection[str] = ()
) -> ReleaseComparison:
    """Compare all rules of two releases, or only these. Raises what `watch` raises."""
    pairs = [
        _RulePair(before, after, old, new, slot)
        for old, new in _pairs(before.project, after.project)
        if not only or any(rule.name in only for rule in (old, new) if rule is not None)
    ]
    return ReleaseComparison(before.project, after.project, slot, tuple(pair.compared() for pair in pairs))


def _pairs(before: Project, after: Project) -> Iterator[tuple[Rule | None, Rule | None]]:
    """Yield each rule of the second release with the one it continues, then the removed rules."""
    continued = set[str]()
    for name, new in after.rules.items():
        was = new.was if new.was is not None and new.was not in after.rules else None
        old = before.rules.get(name) or before.rules.get(was or "")
        if old is not None:
            continued.add(old.name)
        yield old, new
    yield from ((old, None) for name, old in before.rules.items() if name not in continued)


@dataclass(frozen=True)
class _Side:
    """A rule that fits its datasets in one release, and what it reads."""

    tools: Readers
    rule: Rule
    order: RunOrder
    needed: Mapping[str, NeededDataset]


@dataclass(frozen=True)
class _RulePair:
    before: Readers
    after: Readers
    old: Rule | None
    new: Rule | None
    slot: dt.datetime

    def compared(self) -> RuleComparison:
        if self.old and self.new and _footprint(self.before, self.old) == _footprint(self.after, self.new):
            return RuleComparison(self.old, self.new, "unchanged")
        before = None if self.old is None else self._prepared(self.before, self.old)
        after = None if self.new is None else self._prepared(self.after, self.new)
        sides = [side for side in (before, after) if isinstance(side, _Side)]
        with DatasetCopies(self._folder) as copies:
            sources = self._read(sides, copies) if sides else []
            read = iter(sources)
            outcomes = [_detected(side, next(read)) if isinstance(side, _Side) else side for side in (before, after)]
            return self._result(*outcomes, apart=_apart(sources))

    @property
    def _folder(self) -> Path:
        return self.before.budget.folder or Path(tempfile.gettempdir())

    def _prepared(self, tools: Readers, rule: Rule) -> _Side | str:
        """Fit the rule to its datasets as a run does; return a sentence if it could not run."""
        order = RunOrder.to_read(tools.project, rule.name, self.slot)

        def prepare(_: Callable[[int], None]) -> _Side:
            subjects = subjects_of(rule, tools.subject, self.slot)
            fitted = fit(rule, subjects)
            choose(rule, fitted, subjects)
            needed = {
                name: NeededDataset(Place.of(tools.project, name), subject, fitted.needed[name])
                for name, subject in subjects.items()
            }
            return _Side(tools, rule, order, needed)

        try:
            return _bounded([(tools, rule)], order, prepare)
        except (ConnectorError, RuleUnchecked) as error:
            tools.watch(rule.name, 0)
            return str(error)

    def _read(self, sides: Sequence[_Side], copies: DatasetCopies) -> list[Mapping[str, CopiedSource | ConnectorError]]:
        """Return the copies of each side by dataset."""
        needed = [dataset for side in sides for dataset in side.needed.values()]
        first = sides[0]
        read = iter(
            _bounded(
                [(side.tools, side.rule) for side in sides], first.order, lambda progress: copies.read(needed, progress)
            )
        )
        return [{name: next(read) for name in side.needed} for side in sides]

    def _result(self, before: _Outcome, after: _Outcome, *, apart: tuple[str, ...]) -> RuleComparison:
        result = RuleComparison(self.old, self.new, "failed", _answer(before), _answer(after), apart=apart)
        if isinstance(before, str) or isinstance(after, str):
            return result
        old, new = (side.detection.groups if side is not None else () for side in (before, after))
        changes = Packed(compare(old, new, by_records=self._by_records()))
        state: State = "added" if self.old is None else "removed" if self.new is None else "compared"
        same = len(new) - sum(change.after is not None for change in changes)
        return replace(result, state=state, changes=changes, same=same)

    def _by_records(self) -> bool:
        """Return True if both releases name records in the same way; else findings are known by their keys."""
        names = [
            [
                (settings.id, settings.settings if not settings.id else None)
                for settings in (tools.project.datasets[name] for name in rule.member_datasets)
            ]
            for tools, rule in ((self.before, self.old), (self.after, self.new))
            if rule is not None
        ]
        return names[0] == names[-1] or all(rule.by_records for rule in (self.old, self.new) if rule is not None)


_Outcome = Detected | str | None
"""A rule's answer in one release, why it has none, or None if the release lacks the rule."""


def _bounded(readers: Sequence[tuple[Readers, Rule]], order: RunOrder, work: Callable[[Callable[[int], None]], T]) -> T:
    """Do the work within the time limits of the job. Raises as `bounded` does."""
    tools, rule = readers[0]

    def stop() -> None:
        for reader, read_rule in readers:
            for dataset in read_rule.datasets:
                reader.stop(dataset)

    job = order.job
    limits = TimeLimits(job.time_limit, job.stall, job.name)
    return bounded(work, rule.name, limits, stop, watch=lambda read: tools.watch(rule.name, read))


def _detected(side: _Side, sources: Mapping[str, CopiedSource | ConnectorError]) -> Detected | str:
    """Return the rule's answer over the copies, as in a first run; or a sentence."""
    copies = {name: source for name, source in sources.items() if isinstance(source, CopiedSource)}
    for source in sources.values():
        if isinstance(source, ConnectorError):
            return str(source)
    tools = replace(
        side.tools,
        subject=lambda name: Subject(side.needed[name].subject.dataset, copies[name]),
        stop=lambda _dataset: None,
    )

    def judge(rule: Rule, identity: RuleIdentity, answer: Detected) -> Detected:
        plausible.refuse(rule, identity, answer, None)
        return answer

    checked = check(side.rule.model_copy(update={"engine": "embedded"}), side.order, tools, judge)
    return checked.failed if isinstance(checked, RuleFailure) else checked


def _answer(side: _Outcome) -> ReleaseFindings | None:
    if side is None or isinstance(side, str):
        return None if side is None else ReleaseFindings(failed=side)
    groups: Sequence[Group] = side.detection.groups
    return ReleaseFindings(
        len(groups), side.detection.read, dict(sorted(values.of(group.at_risk for group in groups).items()))
    )


def _apart(sources: Sequence[Mapping[str, CopiedSource | ConnectorError]]) -> tuple[str, ...]:
    """Return the datasets that both releases read, but not from one copy."""
    if len(sources) < 2:
        return ()
    shared = set(map(id, sources[0].values()))
    return tuple(name for name, source in sources[1].items() if id(source) not in shared)


def _datasets(tools: Readers, rule: Rule) -> list[DatasetConfig]:
    return [tools.project.datasets[name] for name in rule.datasets]


def _footprint(tools: Readers, rule: Rule) -> list[Any]:
    """Return all that decides a rule's findings: rules with equal footprints have the same ones."""
    datasets = _datasets(tools, rule)
    more = type(rule).not_matching - Rule.not_matching  # such as `keep`
    return [
        RuleIdentity.of(rule, dataset_definition=definition_of(datasets)).definition,
        rule.model_dump(mode="json", include=set(more)),
        [
            (Place.of(tools.project, dataset.name), replace(dataset, pii=(), references=(), display=(), link=None))
            for dataset in datasets
        ],
    ]
