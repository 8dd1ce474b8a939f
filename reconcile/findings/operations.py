"""The states of a bundle and of an operation, and what may follow what, as data. Pure."""

from __future__ import annotations

import enum
from collections.abc import Mapping


class BundleState(enum.Enum):
    """Where the plan for one group stands."""

    AWAITING = "awaiting_approval"
    APPROVED = "approved"  # by people, or by a policy that asks nobody: it may be claimed
    CLAIMED = "claimed"  # a worker has it; nothing left yet
    SENT = "sent"  # durable before the first byte leaves
    RETRY_WAIT = "retry_wait"  # proven not done; the next attempt has its time
    AMBIGUOUS = "ambiguous"  # the target has to be asked
    QUARANTINED = "quarantined"  # a person says what happened
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # proven not done, and not tried again
    SKIPPED = "skipped"  # proven not done: stale, expired, rejected, superseded
    COMPENSATING = "compensating"  # its undo is under way
    COMPENSATED = "compensated"


OVER = (BundleState.SUCCEEDED, BundleState.FAILED, BundleState.SKIPPED, BundleState.COMPENSATED)
"""Nothing happens by itself any more."""
WITHDRAWABLE = (BundleState.AWAITING, BundleState.APPROVED, BundleState.RETRY_WAIT)
"""Nobody has it in hand, and it is proven that nothing of it was done."""
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
        BundleState.COMPENSATING,  # its undo is tried again
        BundleState.COMPENSATED,  # its undo was done
    ),
    BundleState.SUCCEEDED: (BundleState.COMPENSATING,),
    BundleState.FAILED: (),
    BundleState.SKIPPED: (),
    BundleState.COMPENSATING: (BundleState.COMPENSATED, BundleState.SUCCEEDED, BundleState.QUARANTINED),
    BundleState.COMPENSATED: (),
}
"""Every transition there is; a pair that is not here cannot happen."""


class MoveRefused(Exception):
    """That cannot happen to a bundle in this state; nothing was changed."""

    def __init__(self, state: BundleState, to: BundleState) -> None:
        super().__init__(f"A cleaning that is {state.value} cannot become {to.value}; nothing was changed.")


def moved(state: BundleState, to: BundleState) -> BundleState:
    """The state to go to; raises MoveRefused for what the table does not allow."""
    if to not in NEXT[state]:
        raise MoveRefused(state, to)
    return to
