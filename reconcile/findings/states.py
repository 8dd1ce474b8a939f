"""The states of a finding and what may follow what, as data. Pure."""

from __future__ import annotations

import enum
from collections.abc import Mapping


class State(enum.Enum):
    """Where a finding stands. The states of approval and cleaning join here with their rows below."""

    OPEN = "open"
    SNOOZED = "snoozed"
    DISMISSED = "dismissed"
    RESOLVED = "resolved"
    MERGED = "merged_into"


LIVE = (State.OPEN, State.SNOOZED)
"""States that end by themselves when the records no longer match."""


class Event(enum.Enum):
    """What happens to a finding. The values are the audit log's names."""

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
}
"""Every transition there is; a pair that is not here cannot happen. A merged finding is at its end."""


class TransitionRefused(Exception):
    """That cannot happen to a finding in this state; nothing was changed."""


def after(state: State | None, event: Event) -> State:
    """The state that follows; raises TransitionRefused for what the table does not allow."""
    if (state, event) not in TRANSITIONS:
        was = state.value if state else "unknown"
        raise TransitionRefused(f"{event.value} cannot happen to a finding that is {was}; nothing was changed.")
    return TRANSITIONS[state, event]
