"""Decisions by name: each is one call of the services, with the same checks from every door."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from notifications.wording import words
from reconcile.app import Application
from reconcile.cleaning import keeping
from reconcile.cleaning.decisions import DecisionResult
from reconcile.cleaning.undo import Undone
from reconcile.errors import Refused, Wrong
from reconcile.findings.shown import Finding
from reconcile.findings.states import PlanState
from reconcile.people.roles import Person, Role
from reconcile.store.findings import get
from reconcile.store.plans import standing
from reconcile.tracking import decide
from reconcile.views.decisions import undone_in_words


class DecisionUnknown(Wrong):
    """There is no decision of that name."""

    def __init__(self) -> None:
        super().__init__(f"This is not a decision; use {', '.join(DECISIONS)}")


class PlanNotShown(Refused):
    """Without the hash of a plan, nobody has seen what they approve."""

    def __init__(self, finding: Finding, *, waits: bool) -> None:
        reason = "its plan was not named" if waits else f"it is {words.state(finding.state.value)} without a plan"
        super().__init__(
            f"{finding.id} was not approved: {reason}. Nothing was changed; "
            f"`reconcile plan --finding {finding.id}` shows what would be done"
        )


@dataclass(frozen=True)
class Wish:
    """What a person decides about one finding, as they saw it: its `version`, and the hash of its plan.

    `until` ends a snooze, None when the finding grows; `to` is whom it is assigned to, None for nobody. `keeper` is the
    id of the record to keep, in parts or as one text, or its handle; `values` are those of the records that give fields
    of it, by column, empty for the rule's choice. `later` leaves the execution of an approved plan
    to `serve` or the next run.
    """

    finding: str
    note: str | None = None
    version: int | None = None
    plan: str | None = None
    until: dt.datetime | None = None
    to: str | None = None
    keeper: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    later: bool = True


class NotDone(Refused):
    """The service could not carry out the decision, and says why and what happens next."""


@dataclass(frozen=True)
class Answer:
    """A sentence, and True if something changed. `became` is what the finding is now, like "dismissed"."""

    sentence: str
    changed: bool
    became: str = "decided"

    @classmethod
    def of(cls, result: DecisionResult, became: str = "decided") -> Answer:
        """Return the answer of a service; what is recorded and waits for its database is decided. Raises NotDone."""
        if not result.ok and not result.held_up:
            raise NotDone(result.sentence)
        return cls(result.sentence, result.changed, f"{became}, and waiting" if result.held_up else became)

    @classmethod
    def of_undo(cls, undone: Undone) -> Answer:
        """Return the answer of an undo; one that is recorded and waits for its database is decided. Raises NotDone."""
        sentence = " ".join(undone_in_words(undone))
        if undone.only_waits:
            return cls(sentence, changed=True, became="to be undone, and waiting")
        if undone.failed:
            raise NotDone(sentence)
        return cls(sentence, bool(undone.undone), "undone")


Deciding = Callable[[Application, Person, Wish], Answer]


def _dismiss(application: Application, person: Person, wish: Wish) -> Answer:
    done = decide.dismiss(application.memory, wish.finding, actor=person.name, note=wish.note, seen=wish.version)
    return _of(done, "dismissed")


def _handle(application: Application, person: Person, wish: Wish) -> Answer:
    done = decide.handle(application.memory, wish.finding, actor=person.name, note=wish.note, seen=wish.version)
    return _of(done, "handled")


def _snooze(application: Application, person: Person, wish: Wish) -> Answer:
    done = decide.snooze(
        application.memory,
        wish.finding,
        actor=person.name,
        until=wish.until,
        note=wish.note,
        seen=wish.version,
        timezone=application.project.timezone,
    )
    return _of(done, "snoozed")


def _reopen(application: Application, person: Person, wish: Wish) -> Answer:
    done = decide.reopen(application.memory, wish.finding, actor=person.name, note=wish.note, seen=wish.version)
    return _of(done, "reopened")


def _assign(application: Application, person: Person, wish: Wish) -> Answer:
    done = decide.assign(
        application.memory, wish.finding, actor=person.name, to=wish.to, note=wish.note, seen=wish.version
    )
    return _of(done, f"assigned to {wish.to or 'nobody'}")


def _approve(application: Application, person: Person, wish: Wish) -> Answer:
    decisions = application.decisions(person.name, person.origin)
    check_shown(application, wish)
    result = decisions.approve(wish.finding, plan_hash=wish.plan, note=wish.note, later=wish.later)
    is_first = result.state is PlanState.AWAITING
    return Answer.of(result, "approved by the first of two people" if is_first else "approved")


def _reject(application: Application, person: Person, wish: Wish) -> Answer:
    decisions = application.decisions(person.name, person.origin)
    return Answer.of(decisions.reject(wish.finding, plan_hash=wish.plan, note=wish.note), "with a rejected plan")


def _keep(application: Application, person: Person, wish: Wish) -> Answer:
    decisions = application.decisions(person.name, person.origin)
    sees_personal = person.sees_personal
    result = keeping.keep(
        decisions,
        wish.finding,
        wish.keeper,
        wish.values,
        seen=wish.version,
        note=wish.note,
        sees_personal=sees_personal,
    )
    return Answer.of(result, "with another keeper" if wish.keeper else "with other values")


def _undo(application: Application, person: Person, wish: Wish) -> Answer:
    return Answer.of_undo(application.decisions(person.name, person.origin).undo(wish.finding, note=wish.note))


def _retry(application: Application, person: Person, wish: Wish) -> Answer:
    return Answer.of(application.decisions(person.name, person.origin).retry(wish.finding, note=wish.note), "retried")


def _of(decision: decide.Decision, became: str) -> Answer:
    return Answer(decision.sentence, decision.changed, became)


DECISIONS: Mapping[str, tuple[Role, Deciding]] = {
    "approve": (Role.REVIEWER, _approve),
    "reject": (Role.REVIEWER, _reject),
    "dismiss": (Role.REVIEWER, _dismiss),
    "handle": (Role.REVIEWER, _handle),
    "snooze": (Role.REVIEWER, _snooze),
    "reopen": (Role.REVIEWER, _reopen),
    "assign": (Role.REVIEWER, _assign),
    "keep": (Role.REVIEWER, _keep),
    "undo": (Role.OPERATOR, _undo),
    "retry": (Role.OPERATOR, _retry),
}
"""Every decision about a finding with the role it needs."""


def check_shown(application: Application, wish: Wish, *, names_it: bool = True) -> None:
    """Raise PlanNotShown for an approval that names no plan, or, without `names_it`, for a finding without a plan."""
    if wish.plan is not None:
        return
    with application.memory.read() as tx:
        finding = get(tx, wish.finding)
        plan = standing(tx, finding.id)
    waits = plan is not None and plan.undoes is None
    if names_it or not waits:
        raise PlanNotShown(finding, waits=waits)


def decided(application: Application, person: Person, decision: str, wish: Wish) -> Answer:
    """Carry out one decision. Raises DecisionUnknown, NotAllowed, and the errors of the services."""
    if decision not in DECISIONS:
        raise DecisionUnknown
    role, act = DECISIONS[decision]
    person.require(role)
    if wish.version is not None:  # where the state does not check it again, the hash of the plan does
        with application.memory.read() as tx:
            decide.check_seen(get(tx, wish.finding), wish.version)
    return act(application, person, wish)
