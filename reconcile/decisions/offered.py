"""Which decisions there are, who may make them, and which a door offers for a finding."""

from __future__ import annotations

from collections.abc import Mapping

from reconcile.errors import Wrong
from reconcile.findings.keeper import CHOOSABLE
from reconcile.findings.states import SETTLED, TRANSITIONS, Event, State
from reconcile.people.roles import Person, Role

ROLES: Mapping[str, Role] = {
    **dict.fromkeys(
        ("approve", "reject", "dismiss", "split", "handle", "snooze", "reopen", "assign", "keep"), Role.REVIEWER
    ),
    **dict.fromkeys(("undo", "retry"), Role.OPERATOR),
}
"""Every decision about a finding with the role it needs."""
JUDGES = Role.REVIEWER
"""The role that a judgement of a pair needs."""
_BY_EVENT = {
    "dismiss": Event.DISMISSED,
    "handle": Event.HANDLED,
    "snooze": Event.SNOOZED,
    "reopen": Event.DECISION_UNDONE,
}
_PENDING = ("approved", "claimed", "sent", "retry_wait", "unknown", "quarantined")
"""States of an undo that is not over."""


class DecisionUnknown(Wrong):
    """There is no decision of that name."""

    def __init__(self) -> None:
        super().__init__(f"This is not a decision; use {', '.join(ROLES)}")


def require(person: Person, decision: str) -> None:
    """Raise DecisionUnknown, or NotAllowed for a person without the role it needs."""
    if decision not in ROLES:
        raise DecisionUnknown
    person.require(ROLES[decision])


def possible(
    state: str, *, has_plan: bool, undo: str | None, can_take_back: bool = False, can_split: bool = False
) -> frozenset[str]:
    """Return the decisions that make sense for a finding in this state; `undo` is the state of its last undo.

    `can_take_back`: decisions cover some records of the finding although it is open, and `reopen` takes them back.
    `can_split`: a record can be split off.

    It chooses what a door offers; the service decides.
    """
    now = State(state)
    names = {name for name, event in _BY_EVENT.items() if (now, event) in TRANSITIONS}
    names |= {"approve", "reject"} if now is State.AWAITING and has_plan else set()
    names |= {"undo"} if now in (State.CLEANED, State.PARTLY) and undo not in _PENDING else set()
    names |= {"reject", "retry"} if undo in ("approved", "retry_wait") else set()
    names |= {"retry"} if now is State.FAILED else set()
    names |= {"reopen"} if can_take_back else set()
    names |= {"keep"} if now in CHOOSABLE else set()
    names |= {"split"} if can_split and now in CHOOSABLE else set()
    names |= {"assign"} if now is not State.MERGED else set()
    return frozenset(names)


def states_for(decision: str) -> tuple[State, ...]:
    """Return the states of findings that a filter selects: those in which the decision changes something."""
    left_out = {"snooze": (State.SNOOZED,), "assign": (*SETTLED, State.RESOLVED, State.CLEANED)}.get(decision, ())
    fitting = (state for state in State if decision in possible(state.value, has_plan=True, undo=None))
    return tuple(state for state in fitting if state not in left_out)
