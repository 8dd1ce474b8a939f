"""A circuit breaker per target, in the store: shared by all workers, and the same after a restart.

Consecutive infrastructure failures open it; then nothing is sent, which costs no plan an attempt, until a cool-down is
over and one worker, by compare-and-set, sends one probe. A failure that only a person can fix opens it until a person
closes it. Retries are limited to a tenth of the requests of a minute (at least three), so they never cause overload.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.audit import log
from reconcile.store import Transaction
from reconcile.store.finding_memory import insert_for
from reconcile.store.tables import breakers, bundles, targets

FAILURES = 5
"""Consecutive failures that open the breaker."""
COOL_DOWN = dt.timedelta(seconds=30)
LONGEST_COOL_DOWN = dt.timedelta(minutes=15)
PROBES = 3
"""Failed probes after which people are notified, about four minutes."""
LEAST_RETRIES = 3
SHARE_OF_RETRIES = 10
"""One in this many requests may be a retry."""

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half_open"
_RECONCILE = "reconcile"
_FOR_A_PERSON = "fix the problem, then run `reconcile retry` for a waiting finding"


@dataclass(frozen=True)
class Probe:
    """The right to send one request to a target that did not answer; `fence` names it."""

    target: str
    fence: int


@dataclass(frozen=True)
class Breaker:
    """The state of a breaker. `probe_at`: the time of the next probe; None while open: a person must close it."""

    target: str
    state: str
    failures: int
    opened_at: dt.datetime | None
    probe_at: dt.datetime | None
    reason: str | None


def allow(tx: Transaction, target: str) -> bool | Probe:
    """Return True if requests may be sent, else False or one probe that is ours alone until its cool-down ends."""
    row = tx.connection.execute(_STATE, {"which": target}).one_or_none()
    if row is None or row.state == CLOSED:
        return True
    if row.probe_at is None or row.probe_at > tx.now:
        return False
    probe_values = {"which": target, "seen": row.fence, "now": tx.now, "next": tx.now + cool_down(row.failures)}
    fence = tx.connection.execute(_PROBE, probe_values).scalar_one_or_none()
    if fence is None:
        return False
    log.append(tx, _RECONCILE, "target.probed", f"target:{target}", {"target": target, "probe": fence})
    return Probe(target, fence)


def retries_left(tx: Transaction, target: str, *, calls: int, retries: int) -> int:
    """The number of these retries that may be sent now, besides the first attempts `calls`; both are counted."""
    row = _locked(tx, target)
    minute = int(tx.now.timestamp()) // 60
    counts = row.requests if row.requests and row.requests[0] == minute else [minute, 0, 0]
    total = counts[1] + calls
    room = max(LEAST_RETRIES, (total + counts[2]) // SHARE_OF_RETRIES) - counts[2]
    granted = max(0, min(retries, room))
    _set(tx, target, requests=[minute, total, counts[2] + granted])
    return granted


def worked(tx: Transaction, target: str, probe: Probe | None = None) -> None:
    """Note that the target answered. Only a probe closes an open breaker: earlier requests do not count."""
    if probe is None:
        tx.connection.execute(_FORGET_FAILURES, {"which": target})
        return
    if tx.connection.execute(_CLOSE, {"which": target, "seen": probe.fence}).rowcount:
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
    row = _locked(tx, target)
    if row.state != CLOSED and (probe is None or probe.fence != row.fence):
        return False
    failures = row.failures + 1
    if row.state == CLOSED and failures < FAILURES:
        _set(tx, target, failures=failures)
        return False
    values: dict[str, Any] = {"state": OPEN, "failures": max(failures, FAILURES), "reason": reason}
    values |= {"opened_at": tx.now, "probe_at": tx.now + cool_down(max(failures, FAILURES))}
    _set(tx, target, **values, fence=row.fence + 1)
    _log(tx, target, "opened", reason, _RECONCILE)
    return True


def opened_for_person(tx: Transaction, target: str, reason: str) -> None:
    """Open the breaker until a person closes it, because only a person can fix the failure."""
    row = _locked(tx, target)
    if row.state == OPEN and row.probe_at is None:
        return
    _set(tx, target, state=OPEN, reason=reason, opened_at=tx.now, probe_at=None, fence=row.fence + 1)
    _log(tx, target, "opened_for_person", reason, _RECONCILE)


def close(tx: Transaction, target: str, by: str) -> bool:
    """Close the breaker for a person; return False if it was not open."""
    row = _locked(tx, target)
    if row.state == CLOSED:
        return False
    _set(tx, target, state=CLOSED, failures=0, reason=None, opened_at=None, probe_at=None, fence=row.fence + 1)
    _log(tx, target, "closed", "A person closed it.", by)
    return True


def reason(tx: Transaction, target: str) -> str | None:
    """The reason, as a sentence, that nothing is sent there; None if requests may be sent."""
    breaker = status(tx, target)
    if breaker is None or breaker.state == CLOSED:
        return None
    next_step = _FOR_A_PERSON if breaker.probe_at is None else f"the next try is at {breaker.probe_at:%H:%M:%S} UTC"
    return f"{(breaker.reason or 'It did not answer').rstrip('.')}; {next_step}."


def lasting(breaker: Breaker) -> str | None:
    """The sentence for notifying people: the breaker waits for a person, or several probes failed; else None."""
    problem = (breaker.reason or "It did not answer").rstrip(".")
    if breaker.probe_at is None:
        return f"{problem}; {_FOR_A_PERSON}."
    if breaker.failures < FAILURES + PROBES:
        return None
    return f"{problem}. It is retried automatically, at least every {LONGEST_COOL_DOWN.seconds // 60} minutes."


def status(tx: Transaction, target: str) -> Breaker | None:
    """The breaker of a target; None if nothing ever failed there."""
    row = tx.connection.execute(sa.select(*_SHOWN).where(breakers.c.target == target)).one_or_none()
    return None if row is None else Breaker(*row)


def all_open(tx: Transaction) -> list[Breaker]:
    """All breakers that are not closed."""
    query = sa.select(*_SHOWN).where(breakers.c.state != CLOSED).order_by(breakers.c.target)
    return [Breaker(*row) for row in tx.connection.execute(query)]


def sources(tx: Transaction, broken: Iterable[Breaker]) -> dict[str, str]:
    """The source of each known target and of these breakers' targets; a target that no plan names is left out."""
    source_of = {row.identity: row.source for row in tx.connection.execute(_SOURCES)}
    for target in {breaker.target for breaker in broken} - source_of.keys():
        planned = tx.connection.execute(_PLANNED_IN, {"the_target": target}).scalar_one_or_none()
        if planned is not None:
            source_of[target] = planned
    return source_of


def cool_down(failures: int) -> dt.timedelta:
    """The time without requests after this many consecutive failures: doubled by each failed probe."""
    doublings: int = min(max(failures - FAILURES, 0), 16)
    return min(COOL_DOWN * (1 << doublings), LONGEST_COOL_DOWN)


def _locked(tx: Transaction, target: str) -> Any:
    row = tx.connection.execute(_LOCKED, {"which": target}).one_or_none()
    if row is None:
        new_row = {"target": target, "state": CLOSED, "failures": 0, "requests": [], "fence": 0}
        insert = insert_for(tx, breakers).on_conflict_do_nothing(index_elements=["target"])
        tx.connection.execute(insert, new_row)
        row = tx.connection.execute(_LOCKED, {"which": target}).one()
    return row


def _set(tx: Transaction, target: str, **values: Any) -> None:
    tx.connection.execute(sa.update(breakers).where(breakers.c.target == target).values(values))


def _log(tx: Transaction, target: str, event: str, text: str, by: str) -> None:
    log.append(tx, by, f"target.{event}", f"target:{target}", {"target": target, "reason": text})


_SOURCES = sa.select(targets.c.identity, targets.c.source)
_PLANNED_IN = (
    sa.select(bundles.c.source)
    .where(bundles.c.target == sa.bindparam("the_target"))
    .order_by(bundles.c.created_at.desc(), bundles.c.id)
    .limit(1)
)
_OF_TARGET = breakers.c.target == sa.bindparam("which")
_SHOWN = tuple(breakers.c[name] for name in ("target", "state", "failures", "opened_at", "probe_at", "reason"))
_STATE = sa.select(breakers.c.state, breakers.c.failures, breakers.c.probe_at, breakers.c.fence).where(_OF_TARGET)
_LOCKED = sa.select(breakers).where(_OF_TARGET).with_for_update()
_PROBE = (
    sa.update(breakers)
    .where(
        _OF_TARGET,
        breakers.c.fence == sa.bindparam("seen"),
        breakers.c.state != CLOSED,
        breakers.c.probe_at <= sa.bindparam("now", type_=breakers.c.probe_at.type),
    )
    .values(state=HALF_OPEN, fence=breakers.c.fence + 1, probe_at=sa.bindparam("next", type_=breakers.c.probe_at.type))
    .returning(breakers.c.fence)
)
_CLOSE = (
    sa.update(breakers)
    .where(_OF_TARGET, breakers.c.fence == sa.bindparam("seen"), breakers.c.state == HALF_OPEN)
    .values(state=CLOSED, failures=0, reason=None, opened_at=None, probe_at=None)
)
_FORGET_FAILURES = (
    sa.update(breakers).where(_OF_TARGET, breakers.c.state == CLOSED, breakers.c.failures > 0).values(failures=0)
)
