"""The states of a finding, of its plan and of an operation, and their transitions, as data. Pure."""

from __future__ import annotations

import enum
from collections.abc import Mapping


class State(enum.Enum):
    """The state of a finding."""

    OPEN = "open"
    AWAITING = "awaiting_approval"  # a plan waits for people
    APPROVED = "approved"  # a plan may be executed
    CLEANING = "cleaning"  # a plan is in progress, or is retried
    CLEANED = "cleaned"
    PARTLY = "partly_cleaned"  # some steps are done, others wait
    STALE = "stale"  # the records changed since they were found
    FAILED = "failed"  # proven not done, without a retry
    QUARANTINED = "quarantined"  # a person must decide what happened
    UNDONE = "undone"
    SNOOZED = "snoozed"
    DISMISSED = "dismissed"
    HANDLED = "handled"  # real, and dealt with outside Reconcile
    RESOLVED = "resolved"
    MERGED = "merged_into"


LIVE = (State.OPEN, State.SNOOZED, State.AWAITING, State.APPROVED, State.STALE, State.FAILED)
"""States that end automatically when the records no longer match."""
IN_HAND = (State.CLEANING, State.PARTLY, State.QUARANTINED)
"""States in which a cleaning has the records: runs meanwhile change nothing."""
SETTLED = (State.DISMISSED, State.HANDLED, State.UNDONE)
"""States in which a decision covers the records: runs report nothing as long as it holds, and a person may reopen."""

WAITING = (State.AWAITING, State.OPEN, State.STALE, State.FAILED, State.QUARANTINED)
"""States in which a finding waits for a decision of a person."""


class Event(enum.Enum):
    """An event of a finding. The values are the audit log's names."""

    OPENED = "finding.opened"
    GREW = "finding.grown"
    SHRANK = "finding.shrunk"
    CAME_BACK = "finding.reopened"
    WOKE = "finding.woken"
    VANISHED = "finding.resolved"
    ABSORBED = "finding.merged"
    DISMISSED = "finding.dismissed"
    HANDLED = "finding.handled"
    SNOOZED = "finding.snoozed"
    DECISION_UNDONE = "finding.decision_undone"
    PROPOSED = "finding.proposed"
    APPROVED = "finding.approved"
    REJECTED = "finding.rejected"  # the plan, not the finding
    VOIDED = "finding.plan_void"
    STARTED = "finding.cleaning"
    CLEANED = "finding.cleaned"
    PARTLY = "finding.partly_cleaned"
    DRIFTED = "finding.stale"
    FAILED = "finding.failed"
    QUARANTINED = "finding.quarantined"
    RETURNED = "finding.not_done"  # proven not done, to be retried
    UNDONE = "finding.undone"
    HANDLED_AGAIN = "finding.handled_again"  # its records parted from the finding that took it in
    DISMISSED_AGAIN = "finding.dismissed_again"
    UNDONE_AGAIN = "finding.undone_again"
    NOT_UNDONE = "finding.not_undone"  # a requested undo was not done, or has an unknown outcome


_PLANNED = (State.AWAITING, State.APPROVED)
_LEFT = (State.STALE, State.FAILED)

TRANSITIONS: Mapping[tuple[State | None, Event], State] = {
    (None, Event.OPENED): State.OPEN,
    (State.OPEN, Event.GREW): State.OPEN,
    (State.OPEN, Event.SHRANK): State.OPEN,
    (State.OPEN, Event.VANISHED): State.RESOLVED,
    (State.OPEN, Event.ABSORBED): State.MERGED,
    (State.OPEN, Event.SNOOZED): State.SNOOZED,
    (State.SNOOZED, Event.GREW): State.OPEN,
    (State.SNOOZED, Event.SHRANK): State.SNOOZED,
    (State.SNOOZED, Event.WOKE): State.OPEN,
    (State.SNOOZED, Event.VANISHED): State.RESOLVED,
    (State.SNOOZED, Event.ABSORBED): State.MERGED,
    (State.SNOOZED, Event.SNOOZED): State.SNOOZED,
    (State.SNOOZED, Event.DECISION_UNDONE): State.OPEN,
    (State.RESOLVED, Event.CAME_BACK): State.OPEN,
    **{(state, event): State.OPEN for state in _PLANNED for event in (Event.GREW, Event.SHRANK, Event.VOIDED)},
    **{(state, Event.VANISHED): State.RESOLVED for state in (*_PLANNED, *_LEFT)},
    **{(state, Event.ABSORBED): State.MERGED for state in (*_PLANNED, *_LEFT, *SETTLED, State.CLEANED)},
    **{(state, Event.DISMISSED): State.DISMISSED for state in LIVE},
    **{(state, Event.HANDLED): State.HANDLED for state in LIVE},
    **{(state, event): State.OPEN for state in SETTLED for event in (Event.CAME_BACK, Event.DECISION_UNDONE)},
    **{(state, Event.SNOOZED): State.SNOOZED for state in (*_PLANNED, *_LEFT)},
    **{(state, Event.GREW): State.OPEN for state in _LEFT},
    **{(state, Event.SHRANK): state for state in _LEFT},
    **{(state, Event.PROPOSED): State.AWAITING for state in (State.OPEN, State.SNOOZED, State.AWAITING, *_LEFT)},
    **{(state, Event.APPROVED): State.APPROVED for state in (State.OPEN, State.SNOOZED, State.AWAITING, *_LEFT)},
    (State.AWAITING, Event.REJECTED): State.OPEN,
    (State.APPROVED, Event.REJECTED): State.OPEN,
    (State.APPROVED, Event.STARTED): State.CLEANING,
    (State.CLEANING, Event.STARTED): State.CLEANING,
    (State.CLEANING, Event.CLEANED): State.CLEANED,
    (State.CLEANING, Event.PARTLY): State.PARTLY,
    (State.CLEANING, Event.DRIFTED): State.STALE,
    (State.APPROVED, Event.DRIFTED): State.STALE,
    (State.APPROVED, Event.FAILED): State.FAILED,
    (State.AWAITING, Event.DRIFTED): State.STALE,
    (State.CLEANING, Event.FAILED): State.FAILED,
    (State.CLEANING, Event.QUARANTINED): State.QUARANTINED,
    (State.CLEANING, Event.RETURNED): State.CLEANING,
    (State.CLEANING, Event.VOIDED): State.OPEN,
    (State.PARTLY, Event.CLEANED): State.CLEANED,
    (State.PARTLY, Event.QUARANTINED): State.QUARANTINED,
    (State.QUARANTINED, Event.CLEANED): State.CLEANED,
    (State.QUARANTINED, Event.RETURNED): State.CLEANING,
    (State.QUARANTINED, Event.FAILED): State.FAILED,
    (State.CLEANED, Event.CAME_BACK): State.OPEN,
    (State.CLEANED, Event.UNDONE): State.UNDONE,
    (State.MERGED, Event.HANDLED_AGAIN): State.HANDLED,
    (State.MERGED, Event.DISMISSED_AGAIN): State.DISMISSED,
    (State.MERGED, Event.UNDONE_AGAIN): State.UNDONE,
    **{(state, Event.NOT_UNDONE): state for state in State if state is not State.MERGED},
}
"""All transitions; any other is refused. A merged finding without a decision is final."""


class TransitionRefused(Exception):
    """The event is not allowed in this state; nothing was changed."""


def after(state: State | None, event: Event) -> State:
    """Return the next state; raises TransitionRefused for an event that is not allowed."""
    if (state, event) not in TRANSITIONS:
        current = state.value if state else "unknown"
        raise TransitionRefused(f"{event.value} cannot happen to a finding that is {current}; nothing was changed.")
    return TRANSITIONS[state, event]


class PlanState(enum.Enum):
    """The state of the plan for one group."""

    AWAITING = "awaiting_approval"
    APPROVED = "approved"  # by people, or by a policy without approval: it may be claimed
    CLAIMED = "claimed"  # a worker has it; nothing was sent yet
    SENT = "sent"  # committed before the first byte is sent
    RETRY_WAIT = "retry_wait"  # proven not done; the next attempt is scheduled
    UNKNOWN = "unknown"  # the target must be asked
    QUARANTINED = "quarantined"  # a person must decide what happened
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # proven not done, without a retry
    SKIPPED = "skipped"  # proven not done: stale, expired, rejected, superseded
    COMPENSATING = "compensating"  # its undo is in progress
    COMPENSATED = "compensated"


OVER = (PlanState.SUCCEEDED, PlanState.FAILED, PlanState.SKIPPED, PlanState.COMPENSATED)
"""Final states, except for an undo."""
WITHDRAWABLE = (PlanState.AWAITING, PlanState.APPROVED, PlanState.RETRY_WAIT)
"""States of an unclaimed plan that is proven not done."""
HOLDING = (
    PlanState.CLAIMED,
    PlanState.SENT,
    PlanState.RETRY_WAIT,
    PlanState.UNKNOWN,
    PlanState.QUARANTINED,
)
"""States in which the plan keeps its holds."""

NEXT: Mapping[PlanState, tuple[PlanState, ...]] = {
    PlanState.AWAITING: (PlanState.APPROVED, PlanState.SKIPPED),
    PlanState.APPROVED: (PlanState.CLAIMED, PlanState.SKIPPED),
    PlanState.CLAIMED: (
        PlanState.SENT,
        PlanState.APPROVED,
        PlanState.SKIPPED,
        PlanState.RETRY_WAIT,
        PlanState.FAILED,  # its attempts ended before anything was sent, and none is left
        PlanState.QUARANTINED,  # its key was used for something else
    ),
    PlanState.SENT: (
        PlanState.SUCCEEDED,
        PlanState.RETRY_WAIT,
        PlanState.FAILED,
        PlanState.SKIPPED,
        PlanState.UNKNOWN,
        PlanState.QUARANTINED,
    ),
    PlanState.RETRY_WAIT: (
        PlanState.CLAIMED,
        PlanState.FAILED,
        PlanState.SKIPPED,
        PlanState.QUARANTINED,
    ),
    PlanState.UNKNOWN: (PlanState.SUCCEEDED, PlanState.RETRY_WAIT, PlanState.QUARANTINED),
    PlanState.QUARANTINED: (
        PlanState.SUCCEEDED,
        PlanState.RETRY_WAIT,
        PlanState.FAILED,
        PlanState.COMPENSATING,  # its undo is retried
        PlanState.COMPENSATED,  # its undo was done
    ),
    PlanState.SUCCEEDED: (PlanState.COMPENSATING,),
    PlanState.FAILED: (),
    PlanState.SKIPPED: (),
    PlanState.COMPENSATING: (PlanState.COMPENSATED, PlanState.SUCCEEDED, PlanState.QUARANTINED),
    PlanState.COMPENSATED: (),
}
"""All transitions; any other is refused."""


class MoveRefused(Exception):
    """The transition is not allowed; nothing was changed."""

    def __init__(self, state: PlanState, to: PlanState) -> None:
        super().__init__(f"A cleaning that is {state.value} cannot become {to.value}; nothing was changed.")


def moved(state: PlanState, to: PlanState) -> PlanState:
    """Return the new state; raises MoveRefused for a transition that is not allowed."""
    if to not in NEXT[state]:
        raise MoveRefused(state, to)
    return to
