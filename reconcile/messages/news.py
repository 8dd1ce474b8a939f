"""News about findings: sums for each rule, and its largest findings. Pure."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable
from decimal import Decimal
from itertools import pairwise

from reconcile.config.settings import Project
from reconcile.findings.handled import dealt_with
from reconcile.findings.identity import member_name
from reconcile.findings.judgement import FindingChange
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from rules import values
from rules.forensics.disagreements import Disagreements
from rules.forensics.repeats import RepeatCauses
from rules.kinds.base import Rule


class News:
    """News about findings: sums for each rule, its `most` largest findings, and the `versions` of all of them."""

    def __init__(self, most: int = 40) -> None:
        self.versions: dict[str, int] = {}
        self._rules: dict[str, RuleNews] = defaultdict(lambda: RuleNews(most))

    @classmethod
    def of(cls, project: Project, findings: Iterable[Finding], most: int = 40) -> News:
        """Collect the news one finding at a time, and keep only the largest findings."""
        news = cls(most)
        for finding in findings:
            rule = project.rules[finding.rule]
            news.versions[finding.id] = finding.version
            news._rules[finding.rule].add(finding, rule)
        return news

    def of_rule(self, name: str) -> RuleNews:
        return self._rules[name]

    @property
    def rules(self) -> list[str]:
        """The rules with news."""
        return list(self._rules)

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

    def __init__(self, most: int) -> None:
        self._most = most
        self.changes: Counter[FindingChange] = Counter()
        self.states: Counter[State] = Counter()
        self.forms: Counter[str] = Counter()
        self.records = 0
        self.money: dict[str, Decimal] = {}
        self.summary = False
        self._repeats: RepeatCauses | None = None
        self._disagreements: Disagreements | None = None
        self._large: list[Finding] = []

    def add(self, finding: Finding, rule: Rule) -> None:
        self.changes[finding.change] += 1
        self.states[finding.state] += 1
        if finding.form != DUPLICATE:
            self.forms[finding.form] += 1
        self.records += _surplus_at_risk(finding)
        values.add(self.money, finding.money)
        self.summary = self.summary or finding.summary
        self._examine(finding, rule)
        self._large.append(finding)
        if len(self._large) > 10 * self._most:  # sort now and then, not for every finding
            self._large = self.largest()

    @property
    def cause(self) -> str | None:
        """The likely cause of the findings in a sentence, if a test bears it out."""
        return next((examined.cause() for examined in (self._repeats, self._disagreements) if examined), None)

    def _examine(self, finding: Finding, rule: Rule) -> None:
        if finding.form == DUPLICATE:
            if self._repeats is None:
                times = (rule.ordered_by, *rule.keep_columns)
                self._repeats = RepeatCauses({part.column for _, part in rule.key_parts()}, filter(None, times))
            self._repeats.add([member.values for member in finding.members if member.dataset is None])
            return
        left, right = ([member.values for member in finding.in_role(role)] for role in ("left", "right"))
        if not left and not right:
            return  # nothing is compared
        if self._disagreements is None:
            self._disagreements = Disagreements((rule.member_datasets[0], rule.member_datasets[-1]), rule.agreeing)
        self._disagreements.add(finding.key, left, right, finding.differences)

    def largest(self) -> list[Finding]:
        """Return the largest findings: the most money first, then the most records, then the oldest."""

        def rank(finding: Finding) -> tuple[Decimal, int, dt.datetime, str]:
            return -max(finding.money.values(), default=Decimal(0)), -finding.records, finding.first_seen, finding.id

        return sorted(self._large, key=rank)[: self._most]


def gaps(finding: Finding, rule: Rule) -> tuple[float, ...]:
    """Return the seconds between neighbours in time, if the rule orders by an instant."""
    if rule.ordered_by is None:
        return ()
    times = sorted(
        time for member in finding.members if isinstance(time := member.values.get(rule.ordered_by), dt.datetime)
    )
    return tuple((later - earlier).total_seconds() for earlier, later in pairwise(times))


def _surplus_at_risk(finding: Finding) -> int:
    """Return the number of surplus records that no decision covers; of handled ones without their keeper, one is."""
    names = list(map(member_name, finding.members))
    pairs = [(member_name(first), member_name(second)) for first, second in finding.handled_pairs]
    handled = dealt_with(names, pairs) if pairs else frozenset()
    one_stays = {name for pair in pairs for name in pair} - handled
    surplus = ((member_name(record), record) for record in finding.surplus)
    return sum(record.settled_at is None or name in one_stays for name, record in surplus if name not in handled)
