"""The states of a finding and their transitions, as data. Pure.

The states of a bundle and of an operation, and their transitions, as data. Pure.
"""

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
    RESOLVED = "resolved"
    MERGED = "merged_into"


LIVE = (State.OPEN, State.SNOOZED, State.AWAITING, State.APPROVED, State.STALE, State.FAILED)
"""States that end automatically when the records no longer match."""
IN_HAND = (State.CLEANING, State.PARTLY, State.QUARANTINED)
"""States in which a cleaning has the records: runs meanwhile change nothing."""


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
    SNOOZED = "finding.snoozed"
    UNDONE = "finding.decision_undone"
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
    TAKEN_BACK = "finding.undone"
    NOT_UNDONE = "finding.not_undone"  # a requested undo was not done, or has an unknown outcome


_PLANNED = (State.AWAITING, State.APPROVED)
_LEFT = (State.STALE, State.FAILED)

TRANSITIONS: Mapping[tuple[State | None, Event], State] = {
    (None, Event.OPENED): State.OPEN,
    (State.OPEN, Event.GREW): State.OPEN,
    (State.OPEN, Event.SHRANK): State.OPEN,
    (State.OPEN, Event.VANISHED): State.RESOLVED,
    (State.OPEN, Event.ABSORBED): State.MERGED,
    (State.OPEN, Event.DISMISSED): State.DISMISSED,
    (State.OPEN, Event.SNOOZED): State.SNOOZED,
    (State.SNOOZED, Event.GREW): State.OPEN,
    (State.SNOOZED, Event.SHRANK): State.SNOOZED,
    (State.SNOOZED, Event.WOKE): State.OPEN,
    (State.SNOOZED, Event.VANISHED): State.RESOLVED,
    (State.SNOOZED, Event.ABSORBED): State.MERGED,
    (State.SNOOZED, Event.DISMISSED): State.DISMISSED,
    (State.SNOOZED, Event.SNOOZED): State.SNOOZED,
    (State.SNOOZED, Event.UNDONE): State.OPEN,
    (State.DISMISSED, Event.CAME_BACK): State.OPEN,
    (State.DISMISSED, Event.ABSORBED): State.MERGED,
    (State.DISMISSED, Event.UNDONE): State.OPEN,
    (State.RESOLVED, Event.CAME_BACK): State.OPEN,
    **{(state, event): State.OPEN for state in _PLANNED for event in (Event.GREW, Event.SHRANK, Event.VOIDED)},
    **{(state, Event.VANISHED): State.RESOLVED for state in (*_PLANNED, *_LEFT)},
    **{(state, Event.ABSORBED): State.MERGED for state in (*_PLANNED, *_LEFT, State.CLEANED, State.UNDONE)},
    **{(state, Event.DISMISSED): State.DISMISSED for state in (*_PLANNED, *_LEFT)},
    **{(state, Event.SNOOZED): State.SNOOZED for state in (*_PLANNED, *_LEFT)},
    **{(state, Event.GREW): State.OPEN for state in _LEFT},
    **{(state, Event.SHRANK): state for state in _LEFT},
    **{(state, Event.PROPOSED): State.AWAITING for state in (State.OPEN, State.SNOOZED, *_LEFT)},
    **{(state, Event.APPROVED): State.APPROVED for state in (State.OPEN, State.SNOOZED, State.AWAITING, *_LEFT)},
    (State.AWAITING, Event.REJECTED): State.OPEN,
    (State.APPROVED, Event.REJECTED): State.OPEN,
    (State.APPROVED, Event.STARTED): State.CLEANING,
    (State.CLEANING, Event.STARTED): State.CLEANING,
    (State.CLEANING, Event.CLEANED): State.CLEANED,
    (State.CLEANING, Event.PARTLY): State.PARTLY,
    (State.CLEANING, Event.DRIFTED): State.STALE,
    (State.APPROVED, Event.DRIFTED): State.STALE,
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
    (State.CLEANED, Event.TAKEN_BACK): State.UNDONE,
    (State.UNDONE, Event.CAME_BACK): State.OPEN,
    (State.UNDONE, Event.UNDONE): State.OPEN,
    **{(state, Event.NOT_UNDONE): state for state in State if state is not State.MERGED},
}
"""All transitions; any other is refused. A merged finding is final."""


class TransitionRefused(Exception):
    """The event is not allowed in this state; nothing was changed."""


def after(state: State | None, event: Event) -> State:
    """Return the next state; raises TransitionRefused for an event that is not allowed."""
    if (state, event) not in TRANSITIONS:
        current = state.value if state else "unknown"
        raise TransitionRefused(f"{event.value} cannot happen to a finding that is {current}; nothing was changed.")
    return TRANSITIONS[state, event]


class BundleState(enum.Enum):
    """The state of the plan for one group."""

    AWAITING = "awaiting_approval"
    APPROVED = "approved"  # by people, or by a policy without approval: it may be claimed
    CLAIMED = "claimed"  # a worker has it; nothing was sent yet
    SENT = "sent"  # committed before the first byte is sent
    RETRY_WAIT = "retry_wait"  # proven not done; the next attempt is scheduled
    AMBIGUOUS = "ambiguous"  # the target must be asked
    QUARANTINED = "quarantined"  # a person must decide what happened
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # proven not done, without a retry
    SKIPPED = "skipped"  # proven not done: stale, expired, rejected, superseded
    COMPENSATING = "compensating"  # its undo is in progress
    COMPENSATED = "compensated"


OVER = (BundleState.SUCCEEDED, BundleState.FAILED, BundleState.SKIPPED, BundleState.COMPENSATED)
"""Final states, except for an undo."""
WITHDRAWABLE = (BundleState.AWAITING, BundleState.APPROVED, BundleState.RETRY_WAIT)
"""States of an unclaimed plan that is proven not done."""
HOLDING = (
    BundleState.CLAIMED,
    BundleState.SENT,
    BundleState.RETRY_WAIT,
    BundleState.AMBIGUOUS,
    BundleState.QUARANTINED,
)
"""States in which the bundle keeps its holds."""

NEXT: Mapping[BundleState, tuple[BundleState, ...]] = {
    BundleState.AWAITING: (BundleState.APPROVED, BundleState.SKIPPED),
    BundleState.APPROVED: (BundleState.CLAIMED, BundleState.SKIPPED),
    BundleState.CLAIMED: (
        BundleState.SENT,
        BundleState.APPROVED,
        BundleState.SKIPPED,
        BundleState.RETRY_WAIT,
        BundleState.QUARANTINED,  # its key was used for something else
    ),
    BundleState.SENT: (
        BundleState.SUCCEEDED,
        BundleState.RETRY_WAIT,
        BundleState.FAILED,
        BundleState.SKIPPED,
        BundleState.AMBIGUOUS,
        BundleState.QUARANTINED,
    ),
    BundleState.RETRY_WAIT: (
        BundleState.CLAIMED,
        BundleState.FAILED,
        BundleState.SKIPPED,
        BundleState.QUARANTINED,
    ),
    BundleState.AMBIGUOUS: (BundleState.SUCCEEDED, BundleState.RETRY_WAIT, BundleState.QUARANTINED),
    BundleState.QUARANTINED: (
        BundleState.SUCCEEDED,
        BundleState.RETRY_WAIT,
        BundleState.FAILED,
        BundleState.COMPENSATING,  # its undo is retried
        BundleState.COMPENSATED,  # its undo was done
    ),
    BundleState.SUCCEEDED: (BundleState.COMPENSATING,),
    BundleState.FAILED: (),
    BundleState.SKIPPED: (),
    BundleState.COMPENSATING: (BundleState.COMPENSATED, BundleState.SUCCEEDED, BundleState.QUARANTINED),
    BundleState.COMPENSATED: (),
}
"""All transitions; any other is refused."""


class MoveRefused(Exception):
    """The transition is not allowed; nothing was changed."""

    def __init__(self, state: BundleState, to: BundleState) -> None:
        super().__init__(f"A cleaning that is {state.value} cannot become {to.value}; nothing was changed.")


def moved(state: BundleState, to: BundleState) -> BundleState:
    """Return the new state; raises MoveRefused for a transition that is not allowed."""
    if to not in NEXT[state]:
        raise MoveRefused(state, to)
    return to
