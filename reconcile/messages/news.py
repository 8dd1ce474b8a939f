"""News about findings: sums for each rule, and its largest findings. Pure."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import combinations, pairwise

from reconcile.config.settings import Project
from reconcile.findings.judgement import FindingChange
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from rules import values
from rules.forensics import Shift
from rules.kinds.base import Rule

MOST_GROUPS = 40
"""The most groups of a rule in a notice. A message shows three, its thread some more; a count stands for the rest."""

_COMPARED = 10
"""Records of a group whose places in files are compared."""
_MOST_SHIFTS = 10_000


class News:
    """News about findings: sums for each rule, the largest findings, and the `versions` of all of them."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self._rules: dict[str, RuleNews] = defaultdict(RuleNews)

    @classmethod
    def of(cls, project: Project, findings: Iterable[Finding]) -> News:
        """Collect the news one finding at a time, and keep only the largest findings."""
        news = cls()
        for finding in findings:
            rule = project.rules[finding.rule]
            news.versions[finding.id] = finding.version
            news._rules[finding.rule].add(finding, gaps(finding, rule))
        return news

    def of_rule(self, name: str) -> RuleNews:
        return self._rules[name]

    @property
    def shown(self) -> list[str]:
        """The ids of the findings that a message may show."""
        return [finding.id for rule in self._rules.values() for finding in rule.largest()]

    def __bool__(self) -> bool:
        return bool(self.versions)


class RuleNews:
    """News about a rule's findings. `records` counts the surplus that no earlier decision covers, and `forms` all
    findings that are not duplicates by form.
    """

    def __init__(self) -> None:
        self.changes: Counter[FindingChange] = Counter()
        self.states: Counter[State] = Counter()
        self.forms: Counter[str] = Counter()
        self.records = 0
        self.money: dict[str, Decimal] = {}
        self.summary = False
        self.gaps: list[float] = []
        self.shifts: Counter[Shift] = Counter()
        self._large: list[Finding] = []

    def add(self, finding: Finding, between: Iterable[float]) -> None:
        self.changes[finding.change] += 1
        self.states[finding.state] += 1
        if finding.form != DUPLICATE:
            self.forms[finding.form] += 1
        self.records += sum(record.settled_at is None for record in finding.surplus)
        values.add(self.money, finding.money)
        self.summary = self.summary or finding.summary
        self.gaps.extend(between)
        self.shifts.update(_shifts(finding))
        if len(self.shifts) > _MOST_SHIFTS:  # keep the most common ones
            self.shifts = Counter(dict(self.shifts.most_common(_MOST_SHIFTS // 10)))
        self._large.append(finding)
        if len(self._large) > 10 * MOST_GROUPS:  # sort now and then, not for every finding
            self._large = self.largest()

    def largest(self) -> list[Finding]:
        """Return the largest findings: the most money first, then the most records, then the oldest."""

        def rank(finding: Finding) -> tuple[Decimal, int, dt.datetime, str]:
            return -max(finding.money.values(), default=Decimal(0)), -finding.records, finding.first_seen, finding.id

        return sorted(self._large, key=rank)[:MOST_GROUPS]


def gaps(finding: Finding, rule: Rule) -> tuple[float, ...]:
    """Return the seconds between neighbours in time, if the rule orders by an instant."""
    if rule.ordered_by is None:
        return ()
    times = sorted(
        time for member in finding.members if isinstance(time := member.values.get(rule.ordered_by), dt.datetime)
    )
    return tuple((later - earlier).total_seconds() for earlier, later in pairwise(times))


def _shifts(finding: Finding) -> Iterator[Shift]:
    """Yield the finding's pairs of records in two files of a dataset, if file and row identify records."""
    places = sorted(
        (file, row)
        for member in finding.members[:_COMPARED]
        if finding.form == DUPLICATE and member.dataset is None
        if isinstance(file := member.values.get("_file"), str) and isinstance(row := member.values.get("_row"), int)
    )
    return ((a, b, at - of) for (a, of), (b, at) in combinations(places, 2) if a != b)
