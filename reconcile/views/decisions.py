"""People's decisions as every door shows them: the result of one, what was undone, and what is in quarantine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from notifications.wording.words import plural
from reconcile.documents import JsonObject
from reconcile.findings.keeper import CHOOSABLE
from reconcile.findings.states import TRANSITIONS, Event, State
from reconcile.store.plans import StoredPlan

if TYPE_CHECKING:
    from reconcile.cleaning.undo import Undone

_NAMED = 5
"""The most findings named in a sentence."""


_BY_EVENT = {
    "dismiss": Event.DISMISSED,
    "handle": Event.HANDLED,
    "snooze": Event.SNOOZED,
    "reopen": Event.DECISION_UNDONE,
}


def possible(state: str, *, has_plan: bool, undo: str | None, can_take_back: bool = False) -> frozenset[str]:
    """Return the decisions that make sense for a finding in this state; `undo` is the state of its last undo.

    `can_take_back`: decisions cover some records of the finding although it is open, and `reopen` takes them back.

    It chooses what a door offers; the services decide.
    """
    now = State(state)
    names = {name for name, event in _BY_EVENT.items() if (now, event) in TRANSITIONS}
    names |= {"approve", "reject"} if now is State.AWAITING and has_plan else set()
    names |= {"undo"} if now in (State.CLEANED, State.PARTLY) and undo not in _PENDING else set()
    names |= {"reject", "retry"} if undo in ("approved", "retry_wait") else set()
    names |= {"retry"} if now is State.FAILED else set()
    names |= {"reopen"} if can_take_back else set()
    names |= {"keep"} if now in CHOOSABLE else set()
    names |= {"assign"} if now is not State.MERGED else set()
    return frozenset(names)


_PENDING = ("approved", "claimed", "sent", "retry_wait", "unknown", "quarantined")
"""States of an undo that is not over."""


def undone_to_json(undone: Undone) -> JsonObject:
    """Return an undo as public JSON."""
    return {
        "undone": list(undone.undone),
        "failed": [{"finding": finding, "why": why} for finding, why in undone.failed],
        "conflicts": [
            {"finding": finding, "table": conflict.row.table, "columns": list(conflict.columns), "why": conflict.why}
            for finding, conflict in undone.conflicts
        ],
        "not_restored": [{"finding": finding, "why": why} for finding, why in undone.not_restored],
    }


def undone_in_words(undone: Undone) -> Iterator[str]:
    """Yield a sentence about the undone cleanings, and one for each that could not be undone."""
    if undone.undone:
        yield f"Undone: {plural(len(undone.undone), 'cleaning', 'cleanings')} ({_some(undone.undone)})."
    for finding, why in undone.not_restored:
        yield f"{finding}: {why}"
    if undone.undone_before:
        cleanings = "The cleaning" if len(undone.undone_before) == 1 else "The cleanings"
        verb = "is" if len(undone.undone_before) == 1 else "are"
        yield f"{cleanings} of {_some(undone.undone_before)} {verb} already undone; nothing was changed."
    if undone.unchanged:
        yield f"{plural(undone.unchanged, 'cleaning was', 'cleanings were')} already undone."
    for finding, conflict in undone.conflicts:
        yield f"unchanged: {finding}: {conflict}"
    for finding, why in undone.failed:
        yield f"not undone: {finding}: {why}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED:,} more" if len(names) > _NAMED else shown


def quarantined_to_json(plan: StoredPlan) -> JsonObject:
    """Return a plan with an unknown outcome as public JSON."""
    names = ("finding", "rule", "source", "action", "reason")
    return {"plan": plan.id} | {name: getattr(plan, name) for name in names}
