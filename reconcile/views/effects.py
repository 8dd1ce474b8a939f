"""What cleaning does right now: plans by state, unknown outcomes, circuit breakers and pauses."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconcile.coordination import pauses
from reconcile.coordination.pauses import Pause
from reconcile.findings.states import PlanState
from reconcile.store import breakers, plans
from reconcile.store.breakers import BreakerRow
from reconcile.store.plans import PlanFilter, StoredPlan

if TYPE_CHECKING:
    from reconcile.app import Application

LISTED = 50
"""Plans of each kind that are listed; the numbers are of all."""
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
    """A circuit breaker that is not closed. `source` is empty for a target that is no longer known."""

    source: str
    state: str
    reason: str
    since: dt.datetime | None
    probe_at: dt.datetime | None

    @classmethod
    def of(cls, row: BreakerRow, source: str) -> BreakerView:
        state = "half open" if row.state == breakers.HALF_OPEN else row.state
        return cls(source, state, row.reason or "", row.opened_at, row.probe_at)


@dataclass(frozen=True)
class Effects:
    """The numbers of plans in words, those in flight and in quarantine, breakers that are not closed, and pauses."""

    numbers: Sequence[tuple[str, int]]
    in_flight: Sequence[StoredPlan]
    quarantined: Sequence[StoredPlan]
    breakers: Sequence[BreakerView]
    pauses: Sequence[Pause]


def effects(application: Application) -> Effects:
    """Return what cleaning does now. Raises StoreError."""
    with application.memory.read() as tx:
        counted = plans.counts(tx)
        sources = breakers.sources(tx)
        in_flight = list(plans.find(tx, PlanFilter(states=_IN_FLIGHT, limit=LISTED)))
        quarantined = list(plans.find(tx, PlanFilter(states=(PlanState.QUARANTINED,), limit=LISTED)))
        tripped = [BreakerView.of(row, sources.get(row.target, "")) for row in breakers.not_closed(tx)]
        active = sorted(pauses.active(tx).values(), key=lambda pause: pause.subject)
    numbers = [(words, counted[state]) for state, words in _WORDS.items() if counted.get(state)]
    return Effects(numbers, in_flight, quarantined, tripped, active)
