"""A person's decision as every door asks for it, and its result."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from reconcile.decisions.undone import undone_in_words, undone_to_json
from reconcile.errors import Refused
from reconcile.findings.states import PlanState

if TYPE_CHECKING:
    from reconcile.cleaning.undo import Undone


@dataclass(frozen=True)
class DecisionRequest:
    """A person's decision about one finding, as they saw it: its `version`, and the hash of its plan.

    `until` ends a snooze, None when the finding grows; `to` is whom it is assigned to, None for nobody. `keeper` is the
    id of the record to keep, in parts or as one text, or its handle; `values` are those of the records that give fields
    of it, by column, empty for the rule's choice.

    An approval: `later` leaves the execution of the plan to `serve` or the next run. `without_plan` is what an approval
    does that names no plan. `over_limit` and `overrule` as in `Decisions.approve`. An undo may be of a `run`, or of the
    plan `undoes`, instead of a finding; `partial` and `with_later` as in `Decisions.undo`.
    """

    decision: str
    finding: str | None
    note: str | None = None
    version: int | None = None
    plan: str | None = None
    until: dt.datetime | None = None
    to: str | None = None
    keeper: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    later: bool = True
    without_plan: Literal["refuse", "approve waiting", "make one"] = "refuse"
    over_limit: bool = False
    overrule: bool = False
    run: str | None = None
    undoes: str | None = None
    partial: bool = False
    with_later: bool = False
    timezone: str | None = None
    """The one in which the answer names a time; None for the project's."""
    may_repeat: bool = False
    """A decision that was made before is told so, even if the finding changed by it."""

    @property
    def about(self) -> str:
        """The finding's id."""
        assert self.finding is not None  # noqa: S101 - only an undo is about something else
        return self.finding


class NotDone(Refused):
    """The service could not carry out the decision, and says why and what happens next."""


@dataclass(frozen=True)
class DecisionResult:
    """The result of a decision: a sentence, and what it is about. `state` is the plan's.

    `ok` is False if it was refused or is not done yet; `held_up`: it is recorded, and is executed later. `changed` is
    False if it was decided before. `became` is what the finding is now, like "dismissed"; `undone` is all that an undo
    did.
    """

    sentence: str
    finding: str | None = None
    plan: str | None = None
    state: PlanState | None = None
    ok: bool = True
    changed: bool = True
    held_up: bool = False
    became: str = "decided"
    undone: Undone | None = None

    @property
    def is_decided(self) -> bool:
        """True if it is done, or recorded and only waits for its database."""
        return self.ok or self.held_up

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentence, or those of an undo."""
        return (self.sentence,) if self.undone is None else tuple(undone_in_words(self.undone))

    @property
    def status(self) -> str:
        """`decided`, `unchanged` or `not_done`."""
        return "not_done" if not self.is_decided else "decided" if self.changed else "unchanged"

    def checked(self) -> DecisionResult:
        """Return the result of what is decided; raises NotDone otherwise."""
        if not self.is_decided:
            raise NotDone(self.sentence)
        return self

    def to_json(self) -> dict[str, Any]:
        """Return public JSON."""
        if self.undone is not None:
            return undone_to_json(self.undone)
        state = None if self.state is None else self.state.value
        return {"sentence": self.sentence, "finding": self.finding, "plan": self.plan, "state": state}
