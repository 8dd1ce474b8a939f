"""The states of a bundle and of an operation, and their transitions, as data. Pure."""

from __future__ import annotations

import enum
from collections.abc import Mapping


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
