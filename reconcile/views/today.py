"""Today: what waits for a decision, what failed, money at risk, recovered and handled, and what appeared day by day."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from notifications.base import MASK
from notifications.wording import words
from reconcile.findings.states import WAITING, State
from reconcile.journal import breaker
from reconcile.masking.personal import Masking
from reconcile.store import breakers, findings, overview, troubles
from reconcile.store.overview import FailureRow
from reconcile.store.troubles import Trouble
from reconcile.views.effects import BreakerView
from rules import values
from rules.models import Severity

if TYPE_CHECKING:
    from reconcile.app import Application

IN_PROGRESS = (State.APPROVED, State.CLEANING, State.PARTLY)
DAYS = 30
_NAMED = 4


@dataclass(frozen=True)
class Days:
    """Numbers of findings by day, oldest first, for the rules with the most and for all others together."""

    days: tuple[dt.date, ...]
    numbers: Mapping[str, Sequence[int]]

    @property
    def largest(self) -> int:
        return max((sum(column) for column in zip(*self.numbers.values(), strict=True)), default=0)


@dataclass(frozen=True)
class WaitingRule:
    """A rule with the number of findings that wait."""

    name: str
    severity: str
    waiting: int
    at_risk: str


@dataclass(frozen=True)
class Today:
    """The state of everything. `waiting` are numbers by severity, the gravest first; `recovered` and `handled` are
    since 30 days; `stopped` are targets that changes wait for, such as a file that is open elsewhere, except
    those in `troubles`."""

    waiting: Mapping[str, int]
    in_progress: int
    trouble: int
    at_risk: str
    recovered: str
    handled: str
    rules: tuple[WaitingRule, ...]
    days: Days
    troubles: tuple[Trouble, ...]
    failures: tuple[FailureRow, ...]
    stopped: tuple[BreakerView, ...]


def today(application: Application) -> Today:
    """Return the state of everything. Raises StoreError."""
    with application.memory.read() as tx:
        since = (tx.now - dt.timedelta(days=DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
        counts = findings.counts(tx)
        at_risk = sums_of(overview.money_of_findings(tx, WAITING))
        recovered = sums_of(overview.money_cleaned(tx, since))
        handled = sums_of(overview.money_handled(tx, since))
        days = by_day(overview.new_by_day(tx, since), since.date())
        lasting, failing = tuple(troubles.ongoing(tx)), tuple(overview.failing(tx))
        not_closed = breakers.not_closed(tx)
        told = breaker.idle(tx, not_closed) | {trouble.subject.removeprefix("target:") for trouble in lasting}
        stopped = [row for row in not_closed if row.target not in told]
        sources = breaker.sources(tx, stopped)
    waiting = [count for count in counts if count.state in WAITING]
    severities = Counter[Severity]()
    for count in waiting:
        severities[count.severity] += count.findings
    return Today(
        waiting={severity.name: severities[severity] for severity in sorted(severities, reverse=True)},
        in_progress=sum(count.findings for count in counts if count.state in IN_PROGRESS),
        trouble=sum(count.findings for count in counts if count.state in (State.FAILED, State.QUARANTINED)),
        at_risk=_shown(application, at_risk),
        recovered=_shown(application, recovered),
        handled=_shown(application, handled),
        rules=tuple(_rules(application, waiting, at_risk)),
        days=days,
        troubles=lasting,
        failures=failing,
        stopped=tuple(BreakerView.of(row, sources.get(row.target, "")) for row in stopped),
    )


def by_day(rows: Iterable[tuple[str, str, int]], first: dt.date, days: int = DAYS) -> Days:
    """Arrange numbers by rule and day; rules beyond the four with the most are one."""
    numbers: dict[str, dict[str, int]] = defaultdict(dict)
    for rule, day, number in rows:
        numbers[rule][day] = number
    ranked = sorted(numbers, key=lambda rule: (-sum(numbers[rule].values()), rule))
    dates = tuple(first + dt.timedelta(days=number) for number in range(days))
    shown = {rule: [numbers[rule].get(day.isoformat(), 0) for day in dates] for rule in ranked[:_NAMED]}
    if others := ranked[_NAMED:]:
        name = words.plural(len(others), "other rule", "other rules")
        shown[name] = [sum(numbers[rule].get(day.isoformat(), 0) for rule in others) for day in dates]
    return Days(dates, shown)


Sums = Mapping[str, tuple[int, Mapping[str, Decimal]]]
"""By rule: the number of amounts, and their sums by currency."""


def sums_of(rows: Iterable[tuple[str, Mapping[str, str]]]) -> Sums:
    """Return the sums of amounts by rule."""
    number, sums = Counter[str](), defaultdict[str, dict[str, Decimal]](dict)
    for rule, money in rows:
        if money:
            number[rule] += 1
            values.add(sums[rule], {currency: abs(Decimal(amount)) for currency, amount in money.items()})
    return {rule: (number[rule], sums[rule]) for rule in number}


def _shown(application: Application, sums: Sums) -> str:
    """Return the sum over all rules in words, without those that are masked: the others would tell them."""
    total: dict[str, Decimal] = {}
    shown = {rule for rule in sums if money_in_words(application, rule, sums) != MASK}
    for rule in shown:
        values.add(total, sums[rule][1])
    if len(shown) == len(sums):
        return words.money(total)
    return f"{words.money(total)} + {MASK}" if total else MASK


def money_in_words(application: Application, rule: str, sums: Sums) -> str:
    """Return the sum of a rule in words; masked if its amounts are, or if it is not known whether they are."""
    _, amounts = sums.get(rule, (0, {}))
    settings = application.project.rules.get(rule)
    if settings is None:
        return MASK if amounts else ""
    return Masking.of(application.project, settings.dataset, rule).at_risk(amounts)


def _rules(application: Application, waiting: Sequence[findings.Count], at_risk: Sums) -> Iterable[WaitingRule]:
    numbers = Counter[str]()
    for count in waiting:
        numbers[count.rule] += count.findings
    severities = {name: rule.severity for name, rule in application.project.rules.items()}
    names = sorted(numbers, key=lambda name: (-severities.get(name, Severity.info), -numbers[name], name))
    for name in names:
        severity = severities.get(name, Severity.info).name
        yield WaitingRule(name, severity, numbers[name], money_in_words(application, name, at_risk))
