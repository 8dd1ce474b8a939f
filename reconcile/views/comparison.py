"""Two releases compared, as every door shows it: masked, and ready to print. Nothing is written."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from heapq import nsmallest
from itertools import groupby, product
from typing import TYPE_CHECKING, Any

from notifications.base import MASK
from notifications.wording.words import plural
from reconcile.config import ConfigProblems
from reconcile.coordination import releases
from reconcile.coordination.releases import shortened
from reconcile.documents import JsonObject
from reconcile.findings.compared import GroupChange
from reconcile.findings.identity import public
from reconcile.findings.judgement import FindingChange
from reconcile.findings.shown import Foreseen
from reconcile.masking.personal import Masking
from reconcile.masking.public import foreseen_json
from reconcile.runs.comparison import ReleaseComparison, ReleaseFindings, RuleComparison, compare_releases
from reconcile.schedule.slots import slot_text
from rules.groups.group import Group

if TYPE_CHECKING:
    from reconcile.app import Application

HEADINGS = ("rule", "appear", "vanish", "change", "same", "at risk before", "after")
RIGHT = (1, 2, 3, 4, 5, 6)
_CHANGES = ("appears", "vanishes", "changes")
_MOST_RECORDS = 3
_VERBS = {"keeper": "keep"}


def compare(
    application: Application,
    before: str,
    after: str | None,
    *,
    rules: Sequence[str] = (),
    show: bool = False,
    watch: Callable[[str, int], None] = lambda _rule, _read: None,
) -> ComparisonView:
    """Compare two releases, by default the second is that of the configuration file; see `Application.release`.

    Raises its errors, and NameUnknown for a rule that is in neither.
    """
    with ExitStack() as stack:
        old = stack.enter_context(application.release(before))
        new = application if after is None else stack.enter_context(application.release(after))
        for rule in rules:
            application.require("rule", rule, [*new.project.rules, *old.project.rules])
        now = dt.datetime.now(dt.UTC)
        compared = compare_releases(old.readers(watch), new.readers(watch), now, rules)
        return ComparisonView(compared, show, _marks(application))


def _marks(application: Application) -> Mapping[str, str]:
    """Return what the list of releases calls some of them, by their hashes."""
    marks = {application.project.release: "this file"}
    if application.has_state:
        with application.memory.read() as tx:
            now = releases.current(tx)
        if now is not None:
            marks[now.release] = ", ".join(["current", *filter(None, [marks.get(now.release)])])
    return marks


def of_promotion(
    application: Application, release: str | None, watch: Callable[[str, int], None]
) -> ComparisonView | str | None:
    """Compare the current release with the one that would become current; None if that is no change.

    Returns a sentence if a release cannot be run here. Raises ReleaseUnknown, ReleaseAmbiguous, StoreError.
    """
    if not application.has_state:
        return None
    with application.memory.read() as tx:
        now = releases.current(tx)
        file = application.project.release
        promoted = file if release is None else releases.named(tx, release, application.project)
    if now is None or now.release == promoted:
        return None
    try:
        return compare(application, releases.ACTIVE, release, watch=watch)
    except (releases.ReleaseRefused, ConfigProblems) as error:
        return f"The findings of the two releases could not be compared: {error}"


@dataclass(frozen=True)
class ComparisonView:
    """A comparison with personal data masked, unless `show`. `marks` are what the list calls releases, by hash."""

    comparison: ReleaseComparison
    show: bool = False
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        before, after = self.comparison.before, self.comparison.after
        return f"from release {self._named(before.release)} to {self._named(after.release)}"

    def _named(self, release: str) -> str:
        mark = self.marks.get(release)
        return f"{shortened(release)} ({mark})" if mark else shortened(release)

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield a row of the table for each rule that both or one of the releases ran."""
        for rule in self.comparison.rules:
            if rule.state not in ("unchanged", "failed"):
                counts = (*(rule.count(change) for change in _CHANGES), rule.same)
                risks = (self._risk(rule, rule.before), self._risk(rule, rule.after))
                yield _title(rule), *(f"{number:,}" for number in counts), *risks

    def remarks(self) -> Iterator[str]:
        """Yield sentences about rules that are not in the table, and about those that need one."""
        unchanged = [rule.rule.name for rule in self.comparison.rules if rule.state == "unchanged"]
        if unchanged:
            yield f"unchanged, so not run: {', '.join(unchanged)}"
        for rule in self.comparison.rules:
            yield from _remarks(rule)

    def largest(self, most: int) -> Iterator[str]:
        """Yield the first findings that differ, by severity and money, and the number of the others."""
        ranked = nsmallest(most, self._changes(), key=lambda item: item[0])
        yield from (self._line(rule, change) for _, rule, change in ranked)
        left = sum(len(rule.changes) for rule in self.comparison.rules) - len(ranked)
        if left:
            yield f"and {left:,} more; --limit or --json shows them"

    @property
    def is_masked(self) -> bool:
        return any(rule.changes and _hides_something(self._hidden(rule)) for rule in self.comparison.rules)

    def to_json(self, *, findings: bool = True) -> JsonObject:
        """Return the public JSON; `findings` is an iterator, and left out on request."""
        comparison = self.comparison
        document: JsonObject = {
            "from": comparison.before.release,
            "to": comparison.after.release,
            "slot": slot_text(comparison.slot),
            "rules": [self._rule(rule) for rule in comparison.rules],
        }
        return document | ({"findings": self._findings()} if findings else {})

    def _rule(self, rule: RuleComparison) -> JsonObject:
        old, new = rule.old, rule.new
        return {
            "rule": rule.rule.name,
            "was": old.name if old and new and old.name != new.name else None,
            "state": rule.state,
            **{change: rule.count(change) for change in _CHANGES},
            "same": rule.same,
            "severity": {"from": old and old.severity.name, "to": new and new.severity.name},
            "from": self._answer(rule, rule.before),
            "to": self._answer(rule, rule.after),
            "apart": list(rule.apart),
        }

    def _answer(self, rule: RuleComparison, answer: ReleaseFindings | None) -> JsonObject | None:
        if answer is None:
            return None
        if answer.failed is not None:
            return {"failed": answer.failed}
        shown = self._hidden(rule).risk(answer.money)
        money = {code: str(public(amount)) if shown else MASK for code, amount in answer.money.items()}
        return {"findings": answer.findings, "records": answer.read, "money": money}

    def _findings(self) -> Iterator[JsonObject]:
        for rule in self.comparison.rules:
            hidden = self._hidden(rule)
            for change in rule.changes:
                yield {
                    "rule": rule.rule.name,
                    "change": change.change,
                    "differs": list(change.differs),
                    "from": _group(rule, change.before, hidden),
                    "to": _group(rule, change.after, hidden),
                }

    def _changes(self) -> Iterator[tuple[tuple[Any, ...], RuleComparison, GroupChange]]:
        place = 0
        for rule in self.comparison.rules:
            for change in rule.changes:
                place += 1
                group = change.shown
                money = max(group.at_risk.values(), default=Decimal(0))
                yield (-rule.rule.severity, -money, -len(group.members), place), rule, change

    def _line(self, rule: RuleComparison, change: GroupChange) -> str:
        hidden, group = self._hidden(rule), change.shown
        datasets = rule.rule.member_datasets
        key = " · ".join(_text(hidden.of_key(column, public(value), datasets)) for column, value in group.key.items())
        risk = f", {hidden.at_risk(group.at_risk)} at risk" if group.money else ""
        differs = f" ({', '.join(change.differs)})" if change.differs else ""
        was = ""
        if change.before is not None and change.after is not None and set(change.differs) - {"key", "span"}:
            was = f"; was: {_records(change.before, datasets, hidden)}"
        return f"{rule.rule.name} {change.change}{differs}  {key}: {_records(group, datasets, hidden)}{risk}{was}"

    def _risk(self, rule: RuleComparison, answer: ReleaseFindings | None) -> str:
        return "" if answer is None else self._hidden(rule).at_risk(answer.money)

    def _hidden(self, rule: RuleComparison) -> Masking:
        """Return the columns to mask: those of either release."""
        if self.show:
            return Masking()
        projects = (self.comparison.before, self.comparison.after)
        veils = [
            Masking.of(project, own.dataset, own.name)
            for project, own in product(projects, (rule.old, rule.new))
            if own is not None and own.dataset in project.datasets
        ]
        return functools.reduce(Masking.also, veils)


def _hides_something(hidden: Masking) -> bool:
    return any(side.columns != frozenset() for side in (hidden, *(hidden.others or {}).values()))


def _title(rule: RuleComparison) -> str:
    return rule.rule.name if rule.state == "compared" else f"{rule.rule.name} ({rule.state})"


def _remarks(rule: RuleComparison) -> Iterator[str]:
    name, old, new = rule.rule.name, rule.old, rule.new
    for answer, release in ((rule.before, "the first"), (rule.after, "the second")):
        if answer is not None and answer.failed is not None:
            yield f"{name}: could not run in {release} release: {answer.failed}"
    if old and new and old.name != new.name:
        yield f"{name}: was {old.name}"
    if old and new and old.severity != new.severity:
        yield f"{name}: severity {old.severity.name} becomes {new.severity.name}"
    if renamed := sum("key" in change.differs for change in rule.changes if not rule.rule.by_records):
        yield f"{name}: {plural(renamed, 'finding gets', 'findings get')} another key, so a new id without decisions"
    if rule.apart:
        yield (
            f"{name}: each release reads {' and '.join(rule.apart)} in its own way, one directly after the other, so "
            "records that changed in between may differ"
        )


def _records(group: Group, datasets: Sequence[str], hidden: Masking) -> str:
    """Return the records by role, like "keep 1, surplus 2; 3"."""
    roles = [role for role, _ in group.roles]
    named = zip(roles, hidden.names(group.members, datasets), strict=True)
    return ", ".join(
        f"{_VERBS.get(role, role)} {_shortened([name for _, name in names])}"
        for role, names in groupby(named, key=lambda item: item[0])
    )


def _shortened(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_RECORDS:,} more" if len(names) > _MOST_RECORDS else ""
    return f"{'; '.join(names[:_MOST_RECORDS])}{more}"


def _group(rule: RuleComparison, group: Group | None, hidden: Masking) -> JsonObject | None:
    if group is None:
        return None
    settings = rule.rule
    fixed = (settings.name, settings.kind, settings.dataset, settings.severity, FindingChange.NEW)
    told = foreseen_json(Foreseen(None, *fixed, group, settings.member_datasets), hidden)
    return {name: value for name, value in told.items() if name not in _OF_A_RUN}


_OF_A_RUN = ("id", "rule", "kind", "dataset", "state", "severity", "change")


def _text(value: Any) -> str:
    return "" if value is None else str(value)
