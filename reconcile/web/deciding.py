"""What a button does: each name is one decision of the services, with the same checks as everywhere."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reconcile.app import Application
from reconcile.errors import Wrong
from reconcile.people.roles import Person, Role
from reconcile.tracking import decide
from reconcile.views.decisions import undone_in_words


class DecisionUnknown(Wrong):
    """There is no decision of that name."""

    def __init__(self) -> None:
        super().__init__(f"This is not a decision; use {', '.join(DECISIONS)}")


class SnoozeRefused(Wrong):
    """The end of the snooze cannot be read."""

    def __init__(self) -> None:
        super().__init__("This is not the end of a snooze. Nothing was changed; choose one of the list")


@dataclass(frozen=True)
class Wish:
    """What a person decides about one finding, as they saw it: its `version`, and the hash of its plan."""

    finding: str
    note: str | None = None
    version: int | None = None
    plan: str | None = None
    until: dt.timedelta | None = None
    to: str | None = None


@dataclass(frozen=True)
class Answer:
    """A sentence, and True if something changed."""

    sentence: str
    changed: bool


Deciding = Callable[[Application, Person, Wish], Answer]


def _dismiss(application: Application, person: Person, wish: Wish) -> Answer:
    return _of(decide.dismiss(application.memory, wish.finding, actor=person.name, note=wish.note, seen=wish.version))


def _snooze(application: Application, person: Person, wish: Wish) -> Answer:
    with application.memory.read() as tx:
        until = None if wish.until is None else tx.now + wish.until
    done = decide.snooze(
        application.memory, wish.finding, actor=person.name, until=until, note=wish.note, seen=wish.version
    )
    return _of(done)


def _reopen(application: Application, person: Person, wish: Wish) -> Answer:
    return _of(decide.reopen(application.memory, wish.finding, actor=person.name, note=wish.note))


def _assign(application: Application, person: Person, wish: Wish) -> Answer:
    return _of(decide.assign(application.memory, wish.finding, actor=person.name, to=wish.to, note=wish.note))


def _approve(application: Application, person: Person, wish: Wish) -> Answer:
    decisions = application.decisions(person.name, person.origin)
    done = decisions.approve(wish.finding, plan_hash=wish.plan, note=wish.note, later=True)
    return Answer(done.sentence, done.ok)


def _reject(application: Application, person: Person, wish: Wish) -> Answer:
    decisions = application.decisions(person.name, person.origin)
    done = decisions.reject(wish.finding, plan_hash=wish.plan, note=wish.note)
    return Answer(done.sentence, done.ok)


def _undo(application: Application, person: Person, wish: Wish) -> Answer:
    undone = application.decisions(person.name, person.origin).undo(wish.finding, note=wish.note)
    return Answer(" ".join(undone_in_words(undone)), bool(undone.undone))


def _retry(application: Application, person: Person, wish: Wish) -> Answer:
    done = application.decisions(person.name, person.origin).retry(wish.finding, note=wish.note)
    return Answer(done.sentence, done.ok)


def _of(decision: decide.Decision) -> Answer:
    return Answer(decision.sentence, decision.changed)


DECISIONS: Mapping[str, tuple[Role, Deciding]] = {
    "approve": (Role.REVIEWER, _approve),
    "reject": (Role.REVIEWER, _reject),
    "dismiss": (Role.REVIEWER, _dismiss),
    "snooze": (Role.REVIEWER, _snooze),
    "reopen": (Role.REVIEWER, _reopen),
    "assign": (Role.REVIEWER, _assign),
    "undo": (Role.OPERATOR, _undo),
    "retry": (Role.OPERATOR, _retry),
}
"""Every decision about a finding with the role it needs."""


def decided(application: Application, person: Person, decision: str, wish: Wish) -> Answer:
    """Carry out one decision. Raises DecisionUnknown, NotAllowed, and the errors of the services."""
    if decision not in DECISIONS:
        raise DecisionUnknown
    role, act = DECISIONS[decision]
    person.require(role)
    return act(application, person, wish)
