"""A circuit breaker per target, in the store: shared by all workers, and the same after a restart.

Consecutive infrastructure failures open it; then nothing is sent, which costs no plan an attempt, until a cool-down is
over and one worker, by compare-and-set, sends one probe. A failure that only a person can fix opens it until a person
closes it. Retries are limited to a tenth of the requests of a minute (at least three), so they never cause overload. A
request is a batch of plans.
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

_RECONCILE = "reconcile"
_FOR_A_PERSON = "fix the problem, then run `reconcile retry` for a waiting finding"


@dataclass(frozen=True)
class Probe:
    """The right to send one request to a target that did not answer; `fence` names it."""

    target: str
    fence: int


def allow(tx: Transaction, target: str) -> bool | Probe:
    """Return True if requests may be sent, else False or one probe that is ours alone until its cool-down ends."""
    row = breakers.get(tx, target)
    if row is None or row.state == CLOSED:
        return True
    if row.probe_at is None or row.probe_at > tx.now:
        return False
    fence = breakers.take_probe(tx, target, row.fence, tx.now + cool_down(row.failures))
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
    failures, fence = max(failures, FAILURES), row.fence + 1
    probe_at = tx.now + cool_down(failures)
    opened = {"state": OPEN, "failures": failures, "reason": reason, "opened_at": tx.now, "probe_at": probe_at}
    breakers.set_values(tx, target, **opened, fence=fence)
    _log(tx, target, "opened", reason, _RECONCILE)
    return True


def opened_for_person(tx: Transaction, target: str, reason: str) -> None:
    """Open the breaker until a person closes it, because only a person can fix the failure."""
    row = breakers.locked(tx, target)
    if row.state == OPEN and row.probe_at is None:
        return
    opened = {"state": OPEN, "reason": reason, "opened_at": tx.now, "probe_at": None}
    breakers.set_values(tx, target, **opened, fence=row.fence + 1)
    _log(tx, target, "opened_for_person", reason, _RECONCILE)


def close(tx: Transaction, target: str, by: str) -> bool:
    """Close the breaker for a person; return False if it was not open."""
    row = breakers.locked(tx, target)
    if row.state == CLOSED:
        return False
    closed = {"state": CLOSED, "failures": 0, "reason": None, "opened_at": None, "probe_at": None}
    breakers.set_values(tx, target, **closed, fence=row.fence + 1)
    _log(tx, target, "closed", "A person closed it.", by)
    return True


def reason(tx: Transaction, target: str) -> str | None:
    """The reason, as a sentence, that nothing is sent there; None if requests may be sent."""
    breaker = breakers.get(tx, target)
    if breaker is None or breaker.state == CLOSED:
        return None
    next_step = _FOR_A_PERSON if breaker.probe_at is None else f"the next try is at {breaker.probe_at:%H:%M:%S} UTC"
    return f"{(breaker.reason or 'It did not answer').rstrip('.')}; {next_step}."


def lasting(breaker: BreakerRow) -> str | None:
    """The sentence for notifying people: the breaker waits for a person, or several probes failed; else None."""
    problem = (breaker.reason or "It did not answer").rstrip(".")
    if breaker.probe_at is None:
        return f"{problem}; {_FOR_A_PERSON}."
    if breaker.failures < FAILURES + PROBES:
        return None
    return f"{problem}. It is retried automatically, at least every {LONGEST_COOL_DOWN.seconds // 60} minutes."


def sources(tx: Transaction, broken: Iterable[BreakerRow]) -> dict[str, str]:
    """The source of each known target and of these breakers' targets; a target that no plan names is left out."""
    source_of = breakers.sources(tx)
    for target in {breaker.target for breaker in broken} - source_of.keys():
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
