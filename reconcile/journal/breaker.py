"""A circuit breaker per target, in the store: shared by all workers, and the same after a restart.

Failures of the infrastructure in a row open it; then nothing is sent, which costs nobody an attempt, until a cool-down
is over and one worker, by compare-and-set, sends one probe. What only a person can mend opens it for a person. Besides,
retries are at most a tenth of the requests of a minute (three at least), so that they never become the load.
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
"""So many in a row open it."""
COOL_DOWN = dt.timedelta(seconds=30)
LONGEST_COOL_DOWN = dt.timedelta(minutes=15)
PROBES = 3
"""After so many that failed, some four minutes, people hear of it."""
LEAST_RETRIES = 3
SHARE_OF_RETRIES = 10
"""Of so many requests one may be a retry."""

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half_open"
_RECONCILE = "reconcile"
_FOR_A_PERSON = "a person has to see to it and then say `reconcile retry` of a finding that waits"


@dataclass(frozen=True)
class Probe:
    """The right to send one request to a target that did not answer; `fence` names it."""

    target: str
    fence: int


@dataclass(frozen=True)
class Breaker:
    """How it stands. `probe_at`: when the next probe may be sent; None while open: a person has to close it."""

    target: str
    state: str
    failures: int
    opened_at: dt.datetime | None
    probe_at: dt.datetime | None
    reason: str | None


def allow(tx: Transaction, target: str) -> bool | Probe:
    """Whether something may be sent there: yes, no, or one probe, which is ours alone until its cool-down is over."""
    row = tx.connection.execute(_STATE, {"which": target}).one_or_none()
    if row is None or row.state == CLOSED:
        return True
    if row.probe_at is None or row.probe_at > tx.now:
        return False
    taken = {"which": target, "seen": row.fence, "now": tx.now, "next": tx.now + cool_down(row.failures)}
    fence = tx.connection.execute(_PROBE, taken).scalar_one_or_none()
    if fence is None:
        return False
    log.append(tx, _RECONCILE, "target.probed", f"target:{target}", {"target": target, "probe": fence})
    return Probe(target, fence)


def retries_left(tx: Transaction, target: str, *, calls: int, retries: int) -> int:
    """How many of these retries may be sent now, beside so many first attempts; both are counted."""
    row = _locked(tx, target)
    minute = int(tx.now.timestamp()) // 60
    counted = row.requests if row.requests and row.requests[0] == minute else [minute, 0, 0]
    total = counted[1] + calls
    room = max(LEAST_RETRIES, (total + counted[2]) // SHARE_OF_RETRIES) - counted[2]
    granted = max(0, min(retries, room))
    _set(tx, target, requests=[minute, total, counted[2] + granted])
    return granted


def worked(tx: Transaction, target: str, probe: Probe | None = None) -> None:
    """The target answered. Only a probe closes an open breaker: what was sent before it opened says nothing new."""
    if probe is None:
        tx.connection.execute(_FORGET_FAILURES, {"which": target})
        return
    if tx.connection.execute(_CLOSE, {"which": target, "seen": probe.fence}).rowcount:
        _tell(tx, target, "closed", "A probe was answered.", _RECONCILE)


def broke(
    tx: Transaction, target: str, reason: str, *, infrastructure: bool = True, probe: Probe | None = None
) -> bool:
    """A request failed; True when that opened the breaker.

    A failure that is not of the infrastructure (a constraint, a wrong statement) is an answer too.
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
    _tell(tx, target, "opened", reason, _RECONCILE)
    return True


def opened_for_person(tx: Transaction, target: str, reason: str) -> None:
    """It will not work before a person changed something: nothing is sent until one closes it."""
    row = _locked(tx, target)
    if row.state == OPEN and row.probe_at is None:
        return
    _set(tx, target, state=OPEN, reason=reason, opened_at=tx.now, probe_at=None, fence=row.fence + 1)
    _tell(tx, target, "opened_for_person", reason, _RECONCILE)


def close(tx: Transaction, target: str, by: str) -> bool:
    """A person says that it works again; False where it was not open."""
    row = _locked(tx, target)
    if row.state == CLOSED:
        return False
    _set(tx, target, state=CLOSED, failures=0, reason=None, opened_at=None, probe_at=None, fence=row.fence + 1)
    _tell(tx, target, "closed", "A person closed it.", by)
    return True


def reason(tx: Transaction, target: str) -> str | None:
    """The sentence that says why nothing is sent there; None where it may be."""
    found = status(tx, target)
    if found is None or found.state == CLOSED:
        return None
    then = _FOR_A_PERSON if found.probe_at is None else f"it is tried again at {found.probe_at:%H:%M:%S} UTC"
    return f"{(found.reason or 'It did not answer').rstrip('.')}; {then}."


def lasting(one: Breaker) -> str | None:
    """The sentence for people who are to hear of it: it waits for one of them, or probe after probe failed."""
    why = (one.reason or "It did not answer").rstrip(".")
    if one.probe_at is None:
        return f"{why}; {_FOR_A_PERSON}."
    if one.failures < FAILURES + PROBES:
        return None
    return f"{why}. It is tried again by itself, every {LONGEST_COOL_DOWN.seconds // 60} minutes at least."


def status(tx: Transaction, target: str) -> Breaker | None:
    """How the breaker of a target stands; None where nothing ever failed."""
    row = tx.connection.execute(sa.select(*_SHOWN).where(breakers.c.target == target)).one_or_none()
    return None if row is None else Breaker(*row)


def all_open(tx: Transaction) -> list[Breaker]:
    """Those that are not closed."""
    query = sa.select(*_SHOWN).where(breakers.c.state != CLOSED).order_by(breakers.c.target)
    return [Breaker(*row) for row in tx.connection.execute(query)]


def sources(tx: Transaction, broken: Iterable[Breaker]) -> dict[str, str]:
    """The source of each target that something was sent to, and of these; a target that no plan names has none."""
    named = {row.identity: row.source for row in tx.connection.execute(_SOURCES)}
    for target in {breaker.target for breaker in broken} - named.keys():
        planned = tx.connection.execute(_PLANNED_IN, {"the_target": target}).scalar_one_or_none()
        if planned is not None:
            named[target] = planned
    return named


def cool_down(failures: int) -> dt.timedelta:
    """How long after so many failures in a row nothing is sent: twice as long after each probe that failed too."""
    doublings: int = min(max(failures - FAILURES, 0), 16)
    return min(COOL_DOWN * (1 << doublings), LONGEST_COOL_DOWN)


def _locked(tx: Transaction, target: str) -> Any:
    row = tx.connection.execute(_LOCKED, {"which": target}).one_or_none()
    if row is None:
        fresh = {"target": target, "state": CLOSED, "failures": 0, "requests": [], "fence": 0}
        insert = insert_for(tx, breakers).on_conflict_do_nothing(index_elements=["target"])
        tx.connection.execute(insert, fresh)
        row = tx.connection.execute(_LOCKED, {"which": target}).one()
    return row


def _set(tx: Transaction, target: str, **values: Any) -> None:
    tx.connection.execute(sa.update(breakers).where(breakers.c.target == target).values(values))


def _tell(tx: Transaction, target: str, what: str, why: str, by: str) -> None:
    log.append(tx, by, f"target.{what}", f"target:{target}", {"target": target, "reason": why})


_SOURCES = sa.select(targets.c.identity, targets.c.source)
_PLANNED_IN = (
    sa.select(bundles.c.source)
    .where(bundles.c.target == sa.bindparam("the_target"))
    .order_by(bundles.c.created_at.desc(), bundles.c.id)
    .limit(1)
)
_MINE = breakers.c.target == sa.bindparam("which")
_SHOWN = tuple(breakers.c[name] for name in ("target", "state", "failures", "opened_at", "probe_at", "reason"))
_STATE = sa.select(breakers.c.state, breakers.c.failures, breakers.c.probe_at, breakers.c.fence).where(_MINE)
_LOCKED = sa.select(breakers).where(_MINE).with_for_update()
_PROBE = (
    sa.update(breakers)
    .where(
        _MINE,
        breakers.c.fence == sa.bindparam("seen"),
        breakers.c.state != CLOSED,
        breakers.c.probe_at <= sa.bindparam("now", type_=breakers.c.probe_at.type),
    )
    .values(state=HALF_OPEN, fence=breakers.c.fence + 1, probe_at=sa.bindparam("next", type_=breakers.c.probe_at.type))
    .returning(breakers.c.fence)
)
_CLOSE = (
    sa.update(breakers)
    .where(_MINE, breakers.c.fence == sa.bindparam("seen"), breakers.c.state == HALF_OPEN)
    .values(state=CLOSED, failures=0, reason=None, opened_at=None, probe_at=None)
)
_FORGET_FAILURES = (
    sa.update(breakers).where(_MINE, breakers.c.state == CLOSED, breakers.c.failures > 0).values(failures=0)
)
