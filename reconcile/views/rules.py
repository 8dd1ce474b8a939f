"""Rules as the console shows them: what they say, what they found, and how often people agreed."""

from __future__ import annotations

import datetime as dt
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import yaml

from reconcile.coordination.releases import shortened
from reconcile.documents import JsonObject
from reconcile.findings.results import Outcome, outcome_of
from reconcile.findings.shown import Finding
from reconcile.findings.states import WAITING, State
from reconcile.masking.personal import Masking
from reconcile.store import Transaction, findings, overview
from reconcile.store import releases as stored_releases
from reconcile.store import runs as stored_runs
from reconcile.views import pairs
from reconcile.views.advice import Judged, proposal
from reconcile.views.today import DAYS, Days, Sums, by_day, money_in_words, sums_of

if TYPE_CHECKING:
    from reconcile.app import Application
    from rules.groups.learning import Weights
    from rules.kinds.base import Rule

_CONFIRMED = (State.APPROVED, State.CLEANING, State.PARTLY, State.CLEANED, State.HANDLED)
_REJECTED = (State.DISMISSED, State.UNDONE)
_FEW = 4
"""Below so many decisions no advice is given."""
_MOSTLY_WRONG = 0.75
_NARROW = (
    "Narrow it with `where`, list pairs that are not the same in `except`, or ask for more: another column in `key`, a "
    "shorter `window`."
)
_TRY = "To see it, change a copy of the configuration and compare: `reconcile diff ./reconcile.yaml ./copy.yaml`."
_JUDGED_BY = 500
_RELEASES = 20
_RUNS = 20
_LEARNT = ("model",)
"""Settings with many numbers, which the page draws."""


@dataclass(frozen=True)
class Feedback:
    """Counts of a rule's findings that people or rules decided: `confirmed` were or are being cleaned, or were handled
    outside Reconcile; `rejected` were dismissed or undone. `time_to_decision` is the median of those that people
    decided."""

    confirmed: int
    rejected: int
    time_to_decision: dt.timedelta | None = None

    @property
    def decided(self) -> int:
        return self.confirmed + self.rejected

    @property
    def precision(self) -> float | None:
        """The share of confirmed findings among the decided ones; None before the first decision."""
        return self.confirmed / self.decided if self.decided else None

    @property
    def is_mostly_rejected(self) -> bool:
        return self.decided >= _FEW and self.rejected >= _MOSTLY_WRONG * self.decided


@dataclass(frozen=True)
class RuleView:
    """A rule with the numbers of its findings by state, and money in words: `at_risk` in those that wait,
    `recovered` by cleaning and `handled` outside Reconcile, both in 30 days. `advice` is what to change in a rule that
    people mostly reject."""

    rule: Rule
    numbers: Mapping[State, int]
    feedback: Feedback
    at_risk: str
    recovered: str
    handled: str
    advice: str | None = None

    @property
    def waiting(self) -> int:
        return sum(self.numbers.get(state, 0) for state in WAITING)

    @property
    def every(self) -> int:
        return sum(self.numbers.values())

    def to_json(self) -> JsonObject:
        median, precision = self.feedback.time_to_decision, self.feedback.precision
        return {
            "rule": self.rule.name,
            "kind": self.rule.kind,
            "severity": self.rule.severity.name,
            "datasets": list(self.rule.member_datasets),
            "findings": {state.value: number for state, number in self.numbers.items()},
            "waiting": self.waiting,
            "confirmed": self.feedback.confirmed,
            "rejected": self.feedback.rejected,
            "precision": None if precision is None else round(precision, 4),
            "seconds_to_decision": None if median is None else round(median.total_seconds()),
            "at_risk": self.at_risk,
            "recovered": self.recovered,
            "handled": self.handled,
            "advice": self.advice,
        }


@dataclass(frozen=True)
class RuleChange:
    """A release in which the definition of a rule became what it says."""

    release: str
    first_seen: dt.datetime
    definition: str


@dataclass(frozen=True)
class RuleDetail:
    """A rule with its definition as YAML, its changes, newest first, and its latest result with its run's id.

    `pairs` of its records wait for an answer.
    """

    view: RuleView
    definition: str
    changes: Sequence[RuleChange]
    days: Days
    latest: tuple[str, Outcome] | None
    weights: Weights | None = None
    """Its learnt weights, if it has some; the definition leaves them out."""
    pairs: int = 0


def listed(application: Application) -> list[RuleView]:
    """Return the rules of the configuration, those with the most waiting findings first. Raises StoreError."""
    with application.memory.read() as tx:
        sums = _Sums.of(tx)
        views = [_advised(application, tx, sums.view(application, rule)) for rule in application.project.rules.values()]
    return sorted(views, key=lambda view: (-view.waiting, -view.rule.severity, view.rule.name))


def detail(application: Application, name: str) -> RuleDetail:
    """Return a rule. Raises NameUnknown, StoreError."""
    application.require("rule", name, tuple(application.project.rules))
    with application.memory.read() as tx:
        since = _since(tx)
        days = by_day(overview.new_by_day(tx, since, name), since.date())
        view = _advised(application, tx, _Sums.of(tx, name).view(application, application.project.rules[name]))
        changes = _changes(tx, name)
        latest = _latest(tx, name)
    weights = application.project.rules[name].learnt_weights
    definition, waiting = changes[0].definition if changes else "", pairs.count(application, [name])
    return RuleDetail(view, definition, changes, days, latest, weights, waiting)


@dataclass(frozen=True)
class _Sums:
    """Numbers and sums of one rule or all, by rule."""

    numbers: Mapping[str, Mapping[State, int]]
    seconds: Mapping[str, Sequence[float]]
    at_risk: Sums
    recovered: Sums
    handled: Sums

    @classmethod
    def of(cls, tx: Transaction, rule: str | None = None) -> _Sums:
        seconds = defaultdict[str, list[float]](list)
        for name, first_seen, decided in overview.decided(tx, (*_CONFIRMED, State.DISMISSED), rule):
            seconds[name].append((decided - first_seen).total_seconds())
        at_risk = sums_of(overview.money_of_findings(tx, WAITING, rule))
        recovered = sums_of(overview.money_cleaned(tx, _since(tx), rule))
        handled = sums_of(overview.money_handled(tx, _since(tx), rule))
        return cls(_numbers(tx), seconds, at_risk, recovered, handled)

    def view(self, application: Application, rule: Rule) -> RuleView:
        numbers = self.numbers.get(rule.name, {})
        confirmed, rejected = (sum(numbers.get(state, 0) for state in states) for states in (_CONFIRMED, _REJECTED))
        seconds = self.seconds.get(rule.name)
        median = dt.timedelta(seconds=statistics.median(seconds)) if seconds else None
        sums = (self.at_risk, self.recovered, self.handled)
        at_risk, recovered, handled = (money_in_words(application, rule.name, money) for money in sums)
        return RuleView(rule, numbers, Feedback(confirmed, rejected, median), at_risk, recovered, handled)


def _advised(application: Application, tx: Transaction, view: RuleView) -> RuleView:
    """Return the view of a rule with advice, if people mostly reject it."""
    feedback, rule = view.feedback, view.rule
    if not feedback.is_mostly_rejected:
        return view
    advice = (
        f"People rejected {feedback.rejected:,} of {feedback.confirmed + feedback.rejected:,} findings of this rule."
    )
    hidden = Masking.of(application.project, rule.dataset, rule.name)
    judged = Judged(*(_some(tx, rule, states) for states in (_REJECTED, _CONFIRMED, WAITING)))
    change = proposal(judged, hidden, rule.ordered_by) if len(rule.member_datasets) == 1 else None
    if change is None:
        return replace(view, advice=f"{advice} {_NARROW}")
    waiting = f", and {change.waiting:,} of the {len(judged.waiting):,} that wait" if judged.waiting else ""
    left_out = (
        f"{change.words}, it would leave out {change.left_out:,} of the {len(judged.rejected):,} rejected, none of the "
        f"{len(judged.confirmed):,} confirmed{waiting}"
    )
    return replace(view, advice=f"{advice} {left_out}. {_TRY}")


def _some(tx: Transaction, rule: Rule, states: Sequence[State]) -> list[Finding]:
    """Return the findings to judge a change by: with their records, and at most so many."""
    return findings.find(tx, findings.FindingFilter(rules=(rule.name,), states=tuple(states), limit=_JUDGED_BY))


def _since(tx: Transaction) -> dt.datetime:
    return (tx.now - dt.timedelta(days=DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)


def _numbers(tx: Transaction) -> Mapping[str, Mapping[State, int]]:
    numbers: dict[str, Counter[State]] = {}
    for count in findings.counts(tx):
        numbers.setdefault(count.rule, Counter())[count.state] += count.findings
    return numbers


def _changes(tx: Transaction, name: str) -> list[RuleChange]:
    """Return the changes of a rule in the latest releases, newest first."""
    changes: list[RuleChange] = []
    for row in reversed(stored_releases.listed(tx, _RELEASES)):
        definition = _definition(row.config, name)
        if definition and (not changes or definition != changes[-1].definition):
            changes.append(RuleChange(shortened(row.release), row.first_seen, definition))
    return changes[::-1]


def _definition(config: Mapping[str, Any], name: str) -> str:
    rule = (config.get("rules") or {}).get(name)
    if rule is None:
        return ""
    rule = {key: "…" if key in _LEARNT and isinstance(value, dict) else value for key, value in rule.items()}
    return yaml.safe_dump({name: rule}, sort_keys=False, allow_unicode=True, width=100)


def _latest(tx: Transaction, name: str) -> tuple[str, Outcome] | None:
    for row in stored_runs.listed(tx, None, _RUNS):
        for outcome in (row.summary or {}).get("rules", ()):
            if outcome["rule"] == name:
                return row.id, outcome_of(outcome)
    return None
