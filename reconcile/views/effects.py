"""The present work of cleaning: operations in flight, unknown outcomes, circuit breakers, and how long it takes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconcile.coordination import pauses
from reconcile.coordination.pauses import Pause
from reconcile.documents import JsonObject
from reconcile.findings.states import PlanState
from reconcile.journal import breaker
from reconcile.store import Transaction, breakers, plans
from reconcile.store import effects as stored
from reconcile.store.breakers import BreakerRow
from reconcile.store.operation_times import OperationTimes, operation_times
from reconcile.store.plans import PlanFilter, StoredPlan
from rules.values import canonical_instant

if TYPE_CHECKING:
    from reconcile.app import Application

LISTED = 50
"""Plans of each kind that are listed; the numbers are of all."""
WINDOWS: Mapping[str, dt.timedelta] = {"24 hours": dt.timedelta(hours=24), "7 days": dt.timedelta(days=7)}
"""How far back operations are measured."""
_WORDS = {
    PlanState.AWAITING: "waiting for an approval",
    PlanState.APPROVED: "approved",
    PlanState.CLAIMED: "taken by a worker",
    PlanState.SENT: "being carried out",
    PlanState.RETRY_WAIT: "to be tried again",
    PlanState.UNKNOWN: "with an unknown outcome: the target is asked",
    PlanState.QUARANTINED: "in quarantine",
    PlanState.COMPENSATING: "being undone",
    PlanState.SUCCEEDED: "done",
    PlanState.FAILED: "failed",
    PlanState.SKIPPED: "no longer needed",
    PlanState.COMPENSATED: "undone",
}
_IN_FLIGHT = (PlanState.CLAIMED, PlanState.SENT, PlanState.RETRY_WAIT, PlanState.UNKNOWN, PlanState.COMPENSATING)


@dataclass(frozen=True)
class BreakerView:
    """A circuit breaker. `source` is empty for a target that is no longer known; `failures` are those in a row."""

    source: str
    state: str
    failures: int
    reason: str
    since: dt.datetime | None
    probe_at: dt.datetime | None

    @classmethod
    def of(cls, row: BreakerRow, source: str) -> BreakerView:
        state = "half open" if row.state == breakers.HALF_OPEN else row.state
        return cls(source, state, row.failures, row.reason or "", row.opened_at, row.probe_at)

    @property
    def is_closed(self) -> bool:
        return self.state == breakers.CLOSED

    def to_json(self) -> JsonObject:
        times = {"since": _instant(self.since), "probe_at": _instant(self.probe_at)}
        state = {"state": self.state.replace(" ", "_"), "failures": self.failures, "reason": self.reason or None}
        return {"source": self.source or None, **state, **times}


@dataclass(frozen=True)
class PlanUnderWay:
    """A plan that is in flight or in quarantine. `keys` are its operations that were sent."""

    plan: StoredPlan
    keys: int

    def to_json(self) -> JsonObject:
        plan = self.plan
        of_plan: JsonObject = {"plan": plan.id, "finding": plan.finding, "rule": plan.rule, "source": plan.source}
        of_plan |= {"action": plan.action, "undoes": plan.undoes, "state": plan.state.value, "keys": self.keys}
        of_plan |= {"attempts": plan.attempts, "reason": plan.reason, "sent_at": _instant(plan.sent_at)}
        return of_plan | {"next_at": _instant(self.next_at)}

    @property
    def next_at(self) -> dt.datetime | None:
        """When it is tried again; None unless it waits for that."""
        return self.plan.next_at if self.plan.state in (PlanState.APPROVED, PlanState.RETRY_WAIT) else None


@dataclass(frozen=True)
class Effects:
    """The plans by state, those in flight and in quarantine, the breakers, the pauses, and times of operations.

    Approved plans with a failed attempt are in flight: they are tried again.

    `keys_in_flight` and `keys_quarantined` count the operations of all plans, not only of those listed.
    """

    counts: Mapping[PlanState, int]
    keys_in_flight: int
    keys_quarantined: int
    in_flight: Sequence[PlanUnderWay]
    quarantined: Sequence[PlanUnderWay]
    breakers: Sequence[BreakerView]
    pauses: Sequence[Pause]
    times: Sequence[OperationTimes]

    @property
    def numbers(self) -> Iterator[tuple[str, int]]:
        """The number of plans in each state that has any, in words."""
        return ((words, self.counts[state]) for state, words in _WORDS.items() if self.counts.get(state))

    @property
    def not_closed(self) -> list[BreakerView]:
        return [breaker for breaker in self.breakers if not breaker.is_closed]

    def to_json(self) -> JsonObject:
        return {
            "plans": {state.value: self.counts[state] for state in PlanState if state in self.counts},
            "keys": {"in_flight": self.keys_in_flight, "quarantined": self.keys_quarantined},
            "in_flight": [view.to_json() for view in self.in_flight],
            "quarantined": [view.to_json() for view in self.quarantined],
            "breakers": [view.to_json() for view in self.breakers],
            "pauses": [_pause_json(pause) for pause in self.pauses],
            "operations": [times._asdict() for times in self.times],
        }


def effects(application: Application) -> Effects:
    """Return what cleaning does now. Raises StoreError."""
    with application.memory.read() as tx:
        circuits = breakers.listed(tx)
        sources = breaker.sources(tx, circuits)
        in_flight, keys_in_flight = _listed(tx, _IN_FLIGHT, tried=True)
        quarantined, keys_quarantined = _listed(tx, (PlanState.QUARANTINED,))
        return Effects(
            counts=plans.counts(tx),
            keys_in_flight=keys_in_flight,
            keys_quarantined=keys_quarantined,
            in_flight=in_flight,
            quarantined=quarantined,
            breakers=[BreakerView.of(row, sources.get(row.target, "")) for row in circuits],
            pauses=sorted(pauses.active(tx).values(), key=lambda pause: pause.subject),
            times=operation_times(tx, {name: tx.now - length for name, length in WINDOWS.items()}),
        )


def _listed(tx: Transaction, states: tuple[PlanState, ...], *, tried: bool = False) -> tuple[list[PlanUnderWay], int]:
    """Return the oldest plans in these states, and the number of operations of all of them.

    `tried` adds the plans that are tried again.
    """
    keys = stored.numbers(tx, states)
    listed = plans.find(tx, PlanFilter(states=states, or_tried=tried, limit=LISTED))
    return [PlanUnderWay(plan, keys.get(plan.id, 0)) for plan in listed], sum(keys.values())


def _instant(at: dt.datetime | None) -> str | None:
    return None if at is None else canonical_instant(at)


def _pause_json(pause: Pause) -> JsonObject:
    shown = {"subject": pause.subject, "reason": pause.reason, "by": pause.by}
    return shown | {"since": _instant(pause.since), "until": _instant(pause.until)}
