"""A circuit breaker per target, in the store: shared by all workers, and the same after a restart.

Consecutive infrastructure failures open it; then nothing is sent, which costs no plan an attempt, until a cool-down is
over and one worker, by compare-and-set, sends one probe. A failure that only a person can fix opens it at once and is
reported at once; it is probed seldom, so that cleaning continues by itself once the cause is gone, and a person may
close it. A source that refuses cleaning, such as one that another state cleans, has a breaker of its own: it is asked
again after longer and longer waits, and is reported at once. Retries are limited to a tenth of the requests of a
minute (at least three), so they never cause overload. A request is a batch of plans.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from reconcile.audit import log
from reconcile.store import Transaction, breakers
from reconcile.store.breakers import CLOSED, OPEN, BreakerRow

FAILURES = 5
"""Consecutive failures that open the breaker."""
COOL_DOWN = dt.timedelta(seconds=30)
LONGEST_COOL_DOWN = dt.timedelta(minutes=15)
PROBES = 3
"""Failed probes after which people are notified, about four minutes."""
LEAST_RETRIES = 3
SHARE_OF_RETRIES = 10
"""One in this many requests may be a retry."""

REFUSING = "source:"
"""The name of a refusing source's breaker begins so; other breakers are named after their target."""

_RECONCILE = "reconcile"
_CLOSED = {"state": CLOSED, "failures": 0, "reason": None, "opened_at": None, "probe_at": None}
_FOR_A_PERSON = "fix the problem, then run `reconcile retry` for a waiting finding"


@dataclass(frozen=True)
class Probe:
    """The right to send one request to a target that did not answer; `fence` names it."""

    target: str
    fence: int


def is_for_person(breaker: BreakerRow) -> bool:
    """Return True if only a person can fix the failure; such a breaker counts no failures, whatever its probes do."""
    return breaker.state != CLOSED and breaker.failures == 0


def is_asleep(breaker: BreakerRow | None, now: dt.datetime) -> bool:
    """Return True if nothing may be sent, not even a probe."""
    if breaker is None or breaker.state == CLOSED:
        return False
    return breaker.probe_at is not None and breaker.probe_at > now


def allow(tx: Transaction, target: str) -> bool | Probe:
    """Return True if requests may be sent, else False or one probe that is ours alone until its cool-down ends."""
    row = breakers.get(tx, target)
    if row is None or row.state == CLOSED:
        return True
    if is_asleep(row, tx.now):
        return False
    wait = LONGEST_COOL_DOWN if is_for_person(row) else cool_down(row.failures)
    fence = breakers.take_probe(tx, target, row.fence, tx.now + wait)
    if fence is None:
        return False
    log.append(tx, _RECONCILE, "target.probed", f"target:{target}", {"target": target, "probe": fence})
    return Probe(target, fence)


def retries_left(tx: Transaction, target: str, *, calls: int, retries: int) -> int:
    """The number of these retries that may be sent now, besides the first attempts `calls`; both are counted."""
    row = breakers.locked(tx, target)
    minute = int(tx.now.timestamp()) // 60
    counts = row.requests if row.requests and row.requests[0] == minute else [minute, 0, 0]
    total = counts[1] + calls
    room = max(LEAST_RETRIES, (total + counts[2]) // SHARE_OF_RETRIES) - counts[2]
    granted = max(0, min(retries, room))
    breakers.set_values(tx, target, requests=[minute, total, counts[2] + granted])
    return granted


def worked(tx: Transaction, target: str, probe: Probe | None = None) -> None:
    """Note that the target answered. Only a probe closes an open breaker: earlier requests do not count."""
    if probe is None:
        breakers.forget_failures(tx, target)
        return
    if breakers.close_after(tx, target, probe.fence):
        _log(tx, target, "closed", "A probe was answered.", _RECONCILE)


def broke(
    tx: Transaction, target: str, reason: str, *, infrastructure: bool = True, probe: Probe | None = None
) -> bool:
    """Note that a request failed; return True if that opened the breaker.

    A failure outside the infrastructure (a constraint, a wrong statement) counts as an answer.
    """
    if not infrastructure:
        worked(tx, target, probe)
        return False
    row = breakers.locked(tx, target)
    if row.state != CLOSED and (probe is None or probe.fence != row.fence):
        return False
    failures = row.failures + 1
    if row.state == CLOSED and failures < FAILURES:
        breakers.set_values(tx, target, failures=failures)
        return False
    least = FAILURES + PROBES if is_for_person(row) else FAILURES  # trouble that people know lasts longer
    failures, fence = max(failures, least), row.fence + 1
    probe_at = tx.now + cool_down(failures)
    opened = {"state": OPEN, "failures": failures, "reason": reason, "opened_at": tx.now, "probe_at": probe_at}
    breakers.set_values(tx, target, **opened, fence=fence)
    _log(tx, target, "opened", reason, _RECONCILE)
    return True


def opened_for_person(tx: Transaction, target: str, reason: str) -> None:
    """Open the breaker because only a person can fix the failure; it is logged once, however many probes fail."""
    row = breakers.locked(tx, target)
    is_repeated = is_for_person(row)
    if is_repeated and row.state == OPEN and is_asleep(row, tx.now):
        return
    opened_at = row.opened_at if is_repeated else tx.now
    opened = {"state": OPEN, "failures": 0, "reason": reason, "opened_at": opened_at}
    breakers.set_values(tx, target, **opened, probe_at=tx.now + LONGEST_COOL_DOWN, fence=row.fence + 1)
    if not is_repeated or reason != row.reason:
        _log(tx, target, "opened_for_person", reason, _RECONCILE)


def of_source(source: str) -> str:
    """The name of the breaker of a source that refuses cleaning."""
    return f"{REFUSING}{source}"


def refused(tx: Transaction, source: str, reason: str) -> None:
    """Note that a source refused cleaning; it is logged once, however often the source refuses after that."""
    target = of_source(source)
    row = breakers.locked(tx, target)
    if row.state == OPEN and is_asleep(row, tx.now):
        return
    failures = max(row.failures + 1, FAILURES)
    opened = {"state": OPEN, "failures": failures, "reason": reason, "probe_at": tx.now + cool_down(failures)}
    breakers.set_values(tx, target, **opened, opened_at=row.opened_at or tx.now, fence=row.fence + 1)
    if row.state == CLOSED:
        _log(tx, target, "opened", reason, _RECONCILE)


def accepted(tx: Transaction, source: str) -> None:
    """Note that a source accepts cleaning again."""
    target = of_source(source)
    if (row := breakers.get(tx, target)) is not None and row.state != CLOSED:
        breakers.set_values(tx, target, **_CLOSED, fence=row.fence + 1)
        _log(tx, target, "closed", "The source accepts cleaning.", _RECONCILE)


def close(tx: Transaction, target: str, by: str) -> bool:
    """Close the breaker for a person; return False if it was not open."""
    row = breakers.locked(tx, target)
    if row.state == CLOSED:
        return False
    breakers.set_values(tx, target, **_CLOSED, fence=row.fence + 1)
    _log(tx, target, "closed", "A person closed it.", by)
    return True


def reason(tx: Transaction, target: str) -> str | None:
    """The reason, as a sentence, that nothing is sent there; None if requests may be sent."""
    breaker = breakers.get(tx, target)
    if breaker is None or breaker.state == CLOSED:
        return None
    is_due = breaker.probe_at is None or breaker.probe_at <= tx.now
    next_try = "the next try is due" if is_due else f"the next try is at {breaker.probe_at:%H:%M:%S} UTC"
    next_step = f"{_FOR_A_PERSON}, or wait: {next_try}" if is_for_person(breaker) else next_try
    return f"{(breaker.reason or 'It did not answer').rstrip('.')}; {next_step}."


def lasting(breaker: BreakerRow) -> str | None:
    """The sentence for notifying people: a source refuses, a person has to fix the cause, or several probes failed."""
    problem = (breaker.reason or "It did not answer").rstrip(".")
    if breaker.target.startswith(REFUSING):
        return f"{problem}. It is asked again at least every {LONGEST_COOL_DOWN.seconds // 60} minutes."
    retried = f"retried automatically, at least every {LONGEST_COOL_DOWN.seconds // 60} minutes."
    if is_for_person(breaker):
        return f"{problem}; {_FOR_A_PERSON}. Otherwise it is {retried}"
    return f"{problem}. It is {retried}" if breaker.failures >= FAILURES + PROBES else None


def idle(tx: Transaction, broken: Iterable[BreakerRow]) -> set[str]:
    """Return the targets of these breakers that no plan waits for: nothing would ever probe them."""
    awaited = {name for target, source in breakers.awaited(tx) for name in (target, of_source(source))}
    return {breaker.target for breaker in broken} - awaited


def sources(tx: Transaction, broken: Iterable[BreakerRow]) -> dict[str, str]:
    """The source of each known target and of these breakers' targets; a target that no plan names is left out."""
    source_of = breakers.sources(tx)
    for target in {breaker.target for breaker in broken} - source_of.keys():
        if target.startswith(REFUSING):
            source_of[target] = target.removeprefix(REFUSING)
            continue
        planned = breakers.planned_in(tx, target)
        if planned is not None:
            source_of[target] = planned
    return source_of


def cool_down(failures: int) -> dt.timedelta:
    """The time without requests after this many consecutive failures: doubled by each failed probe."""
    doublings: int = min(max(failures - FAILURES, 0), 16)
    return min(COOL_DOWN * (1 << doublings), LONGEST_COOL_DOWN)


def _log(tx: Transaction, target: str, event: str, text: str, by: str) -> None:
    log.append(tx, by, f"target.{event}", f"target:{target}", {"target": target, "reason": text})
