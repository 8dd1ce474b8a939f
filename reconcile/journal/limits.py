"""Limits: the changes allowed per rule and per target, in one run and in any 24 hours, counted before execution.

A plan is counted once, under the lock of its rule's and its target's row, so no two workers use the same room; its
use is returned when the plan is proven not done. Nothing is truncated: plans that do not fit are refused as a whole.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from reconcile.audit import facts, log
from reconcile.errors import Refused
from reconcile.findings.plan import Plan
from reconcile.journal.limits_in_words import money_in_words, rows_in_words, subject_of
from reconcile.store import Transaction
from reconcile.store import limits as stored
from reconcile.store.limits import Counted, Kind, ScopeRow, ScopeSums, Texts
from rules import values as sums
from rules.cleaning import Caps

DAY = dt.timedelta(hours=24)

UNCOUNTED = "money"
"""The limit that is exceeded if money cannot be counted."""
_NAMED = 5
"""The most plans named in a sentence."""

Money = Mapping[str, Decimal]


class OverLimit(Refused):
    """The plans exceed a limit of the rule or the target; nothing was counted, and people decide about all."""

    def __init__(self, reason: str, cap: str, consequence: str = "All of them need a decision.") -> None:
        super().__init__(f"{reason}. {consequence}")
        self.reason = reason
        """The limit and what exceeds it, without a full stop."""
        self.cap = cap
        """The limit: `records`, a currency, or `money` that cannot be counted."""


class CleaningStopped(OverLimit):
    """Cleaning is stopped there and waits for a person; the sentence is the same everywhere."""

    def __init__(self, scope: str, reason: str) -> None:
        kind, _, name = scope.partition(":")
        of_rule = kind == "rule"
        subject = subject_of(scope)
        next_step = f"then run `reconcile allow {name}`" if of_rule else "then allow it again"
        super().__init__(f"Cleaning of {subject} is stopped: {reason}", "stopped", f"Find out why, {next_step}.")
        self.scope = scope


@dataclass(frozen=True)
class Use:
    """A plan's use of its limits: rows of any table, and money by currency.

    `uncounted` names records whose amount cannot be counted, with the reason; empty if there are none.
    """

    plan: str
    records: int
    money: Money = field(default_factory=dict)
    uncounted: str = ""

    @classmethod
    def of(cls, plan_id: str, plan: Plan) -> Use:
        """Surplus, re-pointed and captured rows count, and calls; the keeper's own fields do not.

        A negative amount (a refund, a credit note) counts as much as a positive one: it makes no room for others.
        """
        rows = sum(not change.is_guard and change.role != "keeper" for change in plan.changes)
        money = sums.by_currency({unit: Decimal(amount).copy_abs() for unit, amount in plan.money.items()})
        return cls(plan_id, rows + len(plan.calls), money, _uncounted(plan))


def _uncounted(plan: Plan) -> str:
    lacks = sorted(set(plan.uncounted.values()))
    records = "1 record" if len(plan.uncounted) == 1 else f"{len(plan.uncounted)} records"
    return f"{records} of {plan.finding} ({', '.join(lacks)})" if lacks else ""


@dataclass(frozen=True)
class DayLimit:
    """A limit for 24 hours and its use, in the words of a refusal. `name`: `rows` or a currency."""

    name: str
    sentence: str
    is_exceeded: bool


@dataclass(frozen=True)
class Both:
    """The limits of a rule and of its target; None: no limits."""

    rule: Caps | None = None
    target: Caps | None = None


def of_rule(name: str) -> str:
    return f"rule:{name}"


def of_target(identity: str) -> str:
    return f"target:{identity}"


def reserve(
    tx: Transaction,
    uses: Sequence[Use],
    *,
    rule: str,
    target: str,
    run: str | None,
    caps: Both | None,
) -> None:
    """Count the use of these plans, all or none: raises OverLimit, CleaningStopped.

    A plan counted within the last 24 hours is not counted again, but its use is compared with `caps` again: a limit
    may have been lowered since. Without caps it is counted but never refused.
    """
    counters = _counters(tx, rule, target, run)
    for counter in counters:
        if counter.stopped:
            raise CleaningStopped(counter.scope, counter.stopped)
    new_uses, counted_before = _not_counted(tx, uses, run)
    new_plans = {use.plan for use in new_uses}
    total = _sum((use.records, use.money) for use in new_uses)
    caps_of = caps or Both()
    for counter, limits in zip(counters, (caps_of.rule, caps_of.target), strict=True):
        counter.refresh(tx)
        counter.in_run = _less(counter.in_run, counted_before)
        if limits is not None:
            counter.refuse_uncounted(uses, limits)
            counter.refuse_again(tx, [use for use in uses if use.plan not in new_plans], limits)
            if new_uses:
                counter.refuse(total, limits)
    if not new_uses:
        return
    for counter in counters:
        counter.add(tx, total)
    log.touch(tx, facts.PLAN, [use.plan for use in new_uses])
    in_order = sorted(new_uses, key=lambda use: use.plan)
    counted = [Counted(use.plan, rule, target, run, tx.now, use.records, _texts(use.money)) for use in in_order]
    stored.put(tx, counted)


def used(tx: Transaction, kind: Kind, name: str, *, without: Iterable[str] = ()) -> tuple[int, Money]:
    """Return the rows and the money that plans used of a rule or a target in the last 24 hours, except these plans."""
    excluded = [row for row in counted(tx, without) if getattr(row, kind) == name]
    everything = _total(stored.records_between(tx, kind, name, tx.now - DAY))
    return _less(everything, _sum((row.records, _amounts(row.money)) for row in excluded))


def counted(tx: Transaction, plans: Iterable[str]) -> list[Counted]:
    """Return the use of those of these plans that were counted in the last 24 hours."""
    ids = sorted(plans)
    return [row for row in stored.counted(tx, ids) if row.at > tx.now - DAY] if ids else []


def of_day(scope: str, caps: Caps, planned: tuple[int, Money], others: tuple[int, Money]) -> Iterator[DayLimit]:
    """Yield each limit of a rule or a target for 24 hours, with what would be used of it.

    `planned` are the rows and the money of the plans at hand, `others` those of other plans in the last 24 hours.
    """
    (records, money), subject = _more(planned, others), subject_of(scope)
    if caps.most is not None:
        sentence = rows_in_words(subject, records, "in 24 hours", caps, others[0])
        yield DayLimit("rows", sentence, records > caps.most)
    for unit, amount in sorted(planned[1].items()) if caps.money else ():
        if amount:
            sentence = money_in_words(subject, unit, money[unit], "in 24 hours", caps, others[1].get(unit))
            yield DayLimit(unit, sentence, unit not in caps.money or money[unit] > caps.money[unit])


def give_back(tx: Transaction, plans: Iterable[str]) -> None:
    """Return the use of these plans, which are proven not done."""
    returned = stored.forget(tx, plans)
    log.touch(tx, facts.PLAN, [row.plan for row in returned])
    by_scope: dict[tuple[str, str, str | None], list[Counted]] = {}
    for row in returned:
        by_scope.setdefault((row.target, row.rule, row.run), []).append(row)
    for (target, rule, run), rows in sorted(by_scope.items(), key=repr):
        for counter in _counters(tx, rule, target, run):
            counter.take_off(tx, rows)


def stop(tx: Transaction, scope: str, reason: str, by: str = "reconcile") -> str:
    """Stop the cleaning of a scope (`of_rule`, `of_target`) until a person allows it; return the sentence."""
    log.touch(tx, facts.LIMITS, [scope])
    stored.create(tx, [scope])
    stored.stop(tx, scope, reason)
    log.append(tx, by, "cleaning.stopped", scope, {"scope": scope, "reason": reason})
    return str(CleaningStopped(scope, reason))


def allow(tx: Transaction, scope: str, by: str) -> bool:
    """Allow the cleaning again for a person; return False if it was not stopped."""
    if not stored.allow(tx, scope):
        return False
    log.touch(tx, facts.LIMITS, [scope])
    log.append(tx, by, "cleaning.allowed", scope, {"scope": scope})
    return True


def stops(tx: Transaction) -> dict[str, str]:
    """All stopped scopes, with the sentence that gives the reason and the next step."""
    reasons = stored.stopped(tx).items()
    return {scope: str(CleaningStopped(scope, reason or "the reason is unknown")) for scope, reason in reasons}


def stopped(tx: Transaction, *, rule: str, target: str) -> str | None:
    """The reason, as a sentence, that this rule cleans nothing in this target; None if it may."""
    sentences = stops(tx)
    return next((sentences[scope] for scope in (of_rule(rule), of_target(target)) if scope in sentences), None)


# Counting


@dataclass
class _Counter:
    """The locked row of a scope: the sums of its uses."""

    scope: str
    kind: Kind
    name: str
    run: str | None
    stopped: str | None
    counted_at: dt.datetime | None
    day: tuple[int, Money]
    counted_run: str | None
    in_run: tuple[int, Money]

    def refresh(self, tx: Transaction) -> None:
        """Drop uses that are a day old; for another run than last time, sum its uses again."""
        since = tx.now - DAY
        if self.counted_at is None or self.counted_at > tx.now:
            self.day = _total(stored.records_between(tx, self.kind, self.name, since))
        else:
            expired = stored.records_between(tx, self.kind, self.name, self.counted_at - DAY, since)
            self.day = _less(self.day, _total(expired))
        if self.run != self.counted_run:
            in_run = (0, ()) if self.run is None else stored.records_in_run(tx, self.kind, self.name, self.run)
            self.in_run = _total(in_run)
            self.counted_run = self.run

    @property
    def what(self) -> str:
        return subject_of(self.scope)

    def refuse_uncounted(self, uses: Iterable[Use], caps: Caps) -> None:
        """Refuse plans whose money cannot be counted if money is limited: it could be any amount."""
        uncounted = [use.uncounted for use in uses if use.uncounted] if caps.money else []
        if uncounted:
            more = f" and {len(uncounted) - _NAMED} more plans" if len(uncounted) > _NAMED else ""
            plans = f"{'; '.join(uncounted[:_NAMED])}{more}"
            raise OverLimit(f"Money cannot be counted in {plans}, but money is limited for {self.what}", UNCOUNTED)

    def refuse(self, total: tuple[int, Money], caps: Caps) -> None:
        for used, span in ((self.day, "in 24 hours"), *([(self.in_run, "in a run")] if self.run else [])):
            self._refuse(_more(used, total), total[1], caps, span)

    def _refuse(self, used: tuple[int, Money], added: Money, caps: Caps, span: str) -> None:
        exceeded = _exceeded(used, added, caps)
        if exceeded == "records":
            raise OverLimit(rows_in_words(self.what, used[0], span, caps), exceeded)
        if exceeded is not None:
            raise OverLimit(money_in_words(self.what, exceeded, used[1][exceeded], span, caps), exceeded)

    def refuse_again(self, tx: Transaction, uses: Sequence[Use], caps: Caps) -> None:
        """Refuse plans that were counted under a higher limit than today's.

        Plans that nobody approved yet, and those that a person let exceed limits, leave them their room.
        """
        total = _sum((use.records, use.money) for use in uses)
        if not uses or not _exceeded(self.day, total[1], caps):
            return
        names = [use.plan for use in uses]
        used = _more(total, _total(stored.records_within_limits(tx, self.kind, self.name, tx.now - DAY, names)))
        self._refuse(used, total[1], caps, "in 24 hours")

    def add(self, tx: Transaction, total: tuple[int, Money]) -> None:
        self.day = _more(self.day, total)
        if self.run is not None:
            self.in_run = _more(self.in_run, total)
        self._write(tx, tx.now)

    def take_off(self, tx: Transaction, rows: Sequence[Counted]) -> None:
        if self.counted_at is None:
            return
        in_day = [row for row in rows if row.at > self.counted_at - DAY]
        self.day = _less(self.day, _sum((row.records, _amounts(row.money)) for row in in_day))
        if self.run is not None and self.run == self.counted_run:
            self.in_run = _less(self.in_run, _sum((row.records, _amounts(row.money)) for row in rows))
        self._write(tx, self.counted_at)

    def _write(self, tx: Transaction, counted_at: dt.datetime) -> None:
        log.touch(tx, facts.LIMITS, [self.scope])
        (day, day_money), (in_run, run_money) = self.day, self.in_run
        sums = ScopeSums(counted_at, day, _texts(day_money), self.counted_run, in_run, _texts(run_money))
        stored.keep(tx, self.scope, sums)


def _counters(tx: Transaction, rule: str, target: str, run: str | None) -> list[_Counter]:
    """The rule's counter, then the target's.

    The target's is locked first. Its holder can then lock any rule, and no other worker can hold a rule's row and
    wait for the target's.
    """
    scopes = [of_rule(rule), of_target(target)]
    rows = stored.lock(tx, scopes)
    if len(rows) < len(scopes):
        log.touch(tx, facts.LIMITS, scopes)
        stored.create(tx, scopes)
        rows = stored.lock(tx, scopes)
    return [
        _counter(of_rule(rule), "rule", rule, run, rows[of_rule(rule)]),
        _counter(of_target(target), "target", target, run, rows[of_target(target)]),
    ]


def _counter(scope: str, kind: Kind, name: str, run: str | None, row: ScopeRow) -> _Counter:
    sums = row.sums
    day = (sums.day_records, _amounts(sums.day_money))
    in_run = (sums.run_records, _amounts(sums.run_money))
    return _Counter(scope, kind, name, run, row.stopped, sums.counted_at, day, sums.run, in_run)


def _not_counted(tx: Transaction, uses: Sequence[Use], run: str | None) -> tuple[list[Use], tuple[int, Money]]:
    """The plans to count, and their use in this run from a count over a day ago."""
    rows = stored.counted(tx, [use.plan for use in uses])
    counted = {row.plan for row in rows if row.at > tx.now - DAY}
    older_rows = (row for row in rows if row.plan not in counted and run is not None and row.run == run)
    return [use for use in uses if use.plan not in counted], _sum((r.records, _amounts(r.money)) for r in older_rows)


def _exceeded(used: tuple[int, Money], added: Money, caps: Caps) -> str | None:
    """Return the limit that this use exceeds: `records`, or a currency in which something is added."""
    records, money = used
    if caps.most is not None and records > caps.most:
        return "records"
    units = (unit for unit, amount in sorted(added.items()) if amount) if caps.money else ()
    return next((unit for unit in units if unit not in caps.money or money[unit] > caps.money[unit]), None)


def _total(use: tuple[int, Iterable[Texts]]) -> tuple[int, Money]:
    records, amounts = use
    return _sum([(records, {}), *((0, _amounts(texts)) for texts in amounts)])


def _sum(parts: Iterable[tuple[int, Money]]) -> tuple[int, Money]:
    records, total = 0, dict[str, Decimal]()
    for number, amounts in parts:
        records += number
        sums.add(total, amounts)
    return records, total


def _more(first: tuple[int, Money], second: tuple[int, Money]) -> tuple[int, Money]:
    return _sum((first, second))


def _less(minuend: tuple[int, Money], subtrahend: tuple[int, Money]) -> tuple[int, Money]:
    return _sum((minuend, (-subtrahend[0], {unit: amount.copy_negate() for unit, amount in subtrahend[1].items()})))


def _texts(money: Money) -> dict[str, str]:
    return {unit: str(amount) for unit, amount in sorted(money.items()) if amount}


def _amounts(texts: Mapping[str, str]) -> Money:
    return {unit: Decimal(amount) for unit, amount in texts.items()}
