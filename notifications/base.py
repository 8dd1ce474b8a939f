"""The port every channel implements, and the notice it delivers.

A notice as plain JSON: what the outbox stores and what the webhook sends. Version 1 only ever gains fields.
"""

from __future__ import annotations

import datetime as dt
import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from pydantic import TypeAdapter


MASK = "•••"
"""Replaces a value of a `pii` column that the channel may not show."""
NOT_UNDONE = "not_undone"
"""The state of a group whose undo was not done; `history` is why."""

T = TypeVar("T")
OURS = "holds no data of records"
Ours = Annotated[T, OURS]
"""A field with our own words or the configuration's. Erasure masks personal data in every other text of a notice."""


class ChannelSettings(BaseModel):
    """The settings of `channels: NAME:`. A channel adds its own fields; `type` picks the channel.

    The notice is built with `show` and `quiet`, the outbox reads `on_unknown`; the channel reads the rest.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    type: str = Field(description="The type of channel, like slack or email.")
    show: tuple[str, ...] = Field(default=(), description="The `pii` columns that this channel may show unmasked.")
    quiet: bool = Field(default=True, description="Send nothing when nothing is new; false sends a short all-clear.")
    on_unknown: Literal["again", "person"] = Field(
        default="again",
        description="If delivery is unknown and the channel cannot be checked: send again, or ask a person.",
    )
    template: Path | None = Field(
        default=None, description="Your own Jinja2 template for the message, relative to the configuration file."
    )

    @property
    def most_groups(self) -> int:
        """The number of findings of a rule that a notice for this channel lists; it counts the others."""
        return 40

    @property
    def has_buttons(self) -> bool:
        """True if people can decide in the channel itself."""
        return False


@dataclass(frozen=True)
class DifferenceNotice:
    """A field that differs, with its value on both sides as text, and how far apart they are in words."""

    column: Ours[str]
    left: str
    right: str
    apart: Ours[str | None] = None


@dataclass(frozen=True)
class RecordNotice:
    """A record with the values that its dataset displays, as text; masked and empty ones are left out."""

    record: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class BalanceNotice:
    """The balance of two datasets in a currency: `left` - `right` is the sum of the other amounts.

    `by_form` divides `explained` by the form of the findings, in words; `not_reported` is of forms that the rule leaves
    out.
    """

    currency: str
    left: Decimal
    right: Decimal
    matched: Decimal
    explained: Decimal
    not_yet_due: Decimal
    by_form: Ours[Mapping[str, Decimal]] = field(default_factory=dict)
    not_reported: Decimal = Decimal(0)


@dataclass(frozen=True)
class GroupNotice:
    """One finding as people see it. `key` holds the raw values of the key's columns, masked where they must be.

    `keeper` and `surplus` are record ids as text. `nearby` are the nearest of the `nearby_records` with the same key
    that a window left out though they are near one inside. `seconds_apart` are the gaps between neighbours in time, if
    known.

    A discrepancy has records on the `left` and `right` side instead, named with their dataset, and the `differences`
    between them. A finding about a single record has that `record` alone. `form` is what is wrong with them, also
    `in_words`, and `form_reason` explains it.

    `joined` are the records of a grown finding that the channel's last message about it did not have, and `added` their
    money. `version` counts what was reported of the finding. With a `proof` the message may have buttons: a press
    carries it back. `outcome` is what became of the finding since the message was written, for one that is updated, and
    `link` its page in the console. `kept_by` is who chose the keeper, if a person did. `display` are the first records
    of each side, or keeper and surplus, if their datasets say which columns people see. `approvals` says who approved a
    plan that waits for another person. `evidence` says of pairs of records by what they are alike, if the rule does.
    """

    finding: Ours[str]
    state: Ours[str]  # new | grown | reopened
    key: Mapping[str, str]
    keeper: str
    surplus: tuple[str, ...]
    records: int
    money: Ours[Mapping[str, Decimal]] = field(default_factory=dict)
    first: Ours[dt.datetime | None] = None
    last: Ours[dt.datetime | None] = None
    seconds_apart: tuple[float, ...] = ()
    nearby: tuple[str, ...] = ()
    nearby_records: int = 0
    repetition: Ours[str | None] = None  # which of its equal records each one is, like "the 2nd of 2 in its _file"
    history: str | None = None  # what was decided before, for one that came back; why its cleaning or undo failed
    plan_hash: str | None = None  # the hash of the plan that waits for approval
    plan_does: Ours[str | None] = None  # what that plan does
    plan_expires: Ours[dt.datetime | None] = None  # when it is proposed anew
    form: Ours[str] = "duplicate"
    in_words: Ours[str] = "duplicate"
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    differences: tuple[DifferenceNotice, ...] = ()
    form_reason: str | None = None
    joined: tuple[str, ...] = ()
    added: Ours[Mapping[str, Decimal]] = field(default_factory=dict)
    version: Ours[int] = 0
    proof: Ours[str | None] = None
    outcome: Ours[str | None] = None
    link: Ours[str | None] = None
    kept_by: Ours[str | None] = None
    display: tuple[RecordNotice, ...] = ()
    approvals: Ours[str | None] = None
    record: str = ""
    evidence: Annotated[tuple[str, ...], Field(exclude_if=operator.not_)] = ()


@dataclass(frozen=True)
class RuleNotice:
    """The report of one rule: counts of findings by change, and the largest groups.

    `largest` begins with the largest group. A message shows three, its thread further ones, and the rest as a count,
    so forty are enough; all of them do no harm. `money` is that of the surplus records counted in `records`.

    `datasets` are all that the rule reads, if they are several, and `nouns` its findings, one and many. `forms` counts
    discrepancies by form, also `in_words`, and `balance` is that of the two datasets. `first_run` marks a summary of
    what existed before: of the rule's first run, or of the first after an edit (`edited`). With `first_message` it is
    one for a channel that was told nothing of an earlier run. `undecided` counts findings of an escalation.
    """

    rule: Ours[str]
    severity: Ours[str]
    dataset: Ours[str]
    new: int
    grown: int
    reopened: int
    known: int
    resolved: int
    records: int  # surplus records over new, grown and reopened findings
    money: Ours[Mapping[str, Decimal]] = field(default_factory=dict)
    first_run: bool = False
    edited: bool = False
    owner: Ours[str | None] = None
    runbook: Ours[str | None] = None
    why: str | None = None
    trend: str | None = None
    largest: tuple[GroupNotice, ...] = ()
    skipped: tuple[str, ...] = ()
    kind: Ours[str] = "duplicates"
    datasets: Ours[tuple[str, ...]] = ()
    nouns: Ours[tuple[str, str]] = ("finding", "findings")
    forms: Ours[Mapping[str, int]] = field(default_factory=dict)
    in_words: Ours[tuple[str, ...]] = ()
    balance: Ours[tuple[BalanceNotice, ...]] = ()
    undecided: int = 0
    first_message: bool = False

    @property
    def news(self) -> int:
        """The number of findings this message reports; known ones are not reported again."""
        return self.new + self.grown + self.reopened + self.undecided

    @property
    def open(self) -> int:
        """The number of open findings after this run."""
        return self.news + self.known


@dataclass(frozen=True)
class PlanNotice:
    """A plan that ended, or waits without a person: its finding, what became of it, what it does, and why it was not
    done."""

    finding: Ours[str]
    what: Ours[str]  # cleaned | undone | waiting | undo waiting | skipped | expired | void | withdrawn
    does: Ours[str]
    why: str | None = None


@dataclass(frozen=True)
class CleaningNotice:
    """Reconcile's cleanings and proposals for a rule, as counts of findings.

    `awaiting`, `quarantined`, `failed` and `not_undone` (an undo did not complete) wait for a person and are reported
    now; `findings` are some of those. The others are in one message only, and count what happened since the last:
    `cleaned` and `undone`; `waiting` and `undos_waiting`, released without a question and not executed yet; and those
    that ended without a change: `stale` (the records changed), `expired`, `void` (the configuration changed) and
    `withdrawn` by a person; `plans` are the first of those. `waits_for` is why those that wait do, if operators read
    the message. `stopped` is why automatic cleaning stopped, `doubt` what people should look at before they approve.
    `undo` are the commands that undo what was cleaned, separated by "; ". `next_run` is a sentence on work that only
    the next run does by itself.
    """

    rule: Ours[str]
    severity: Ours[str]
    dataset: Ours[str]
    awaiting: int = 0
    quarantined: int = 0
    failed: int = 0
    cleaned: int = 0
    stale: int = 0
    waiting: int = 0
    money: Ours[Mapping[str, Decimal]] = field(default_factory=dict)
    stopped: str | None = None
    undo: Ours[str | None] = None
    findings: tuple[GroupNotice, ...] = ()
    owner: Ours[str | None] = None
    not_undone: int = 0
    next_run: str | None = None
    runbook: Ours[str | None] = None
    undone: int = 0
    undos_waiting: int = 0
    expired: int = 0
    void: int = 0
    withdrawn: int = 0
    waits_for: str | None = None
    doubt: str | None = None
    plans: tuple[PlanNotice, ...] = ()

    @property
    def asks(self) -> int:
        """The number of findings that wait for a person."""
        return self.awaiting + self.quarantined + self.failed + self.not_undone

    @property
    def needs_people(self) -> bool:
        return bool(self.asks or self.stopped or self.doubt)

    @property
    def is_told(self) -> bool:
        return bool(self.needs_people or self.results or self.next_run)

    @property
    def results(self) -> int:
        """The number of cleanings and undos that ended, or wait without a person."""
        return self.cleaned + self.undone + self.waiting + self.undos_waiting + self.not_done

    @property
    def not_done(self) -> int:
        """The number of cleanings and undos that ended without a change, and need no person."""
        return self.stale + self.expired + self.void + self.withdrawn


@dataclass(frozen=True)
class FailureNotice:
    """A failed check: it must never look like "clean".

    `sentence` is why, and what an operator can do; empty for readers, if operators have channels of their own. `again`
    is when the check is repeated, if that is known.
    """

    subject: Ours[str]
    sentence: str
    since: Ours[dt.datetime | None] = None
    ended: bool = False
    again: Ours[dt.datetime | None] = None


@dataclass(frozen=True)
class TroubleNotice:
    """A problem with Reconcile itself, or its end; it belongs to no run.

    The first sentence of `sentence` is the headline; `end` says how the problem ended.
    """

    subject: Ours[str]
    sentence: str
    since: Ours[dt.datetime]
    ended: bool = False
    end: str | None = None


@dataclass(frozen=True)
class EscalationNotice:
    """Nobody decided about findings that `channel` was told so many `seconds` ago, or longer."""

    channel: Ours[str]
    seconds: Ours[float]


@dataclass(frozen=True)
class Notice:
    """One message to one channel, about one run. `id` is stable over retries: it is the message's idempotency key.

    `since` is the slot of the run before, `created` when the notice was written (a catch-up run is later than its
    slot), `timezone` the zone its times are shown in. All times know their zone. `project` is the project's `name`.

    With a `job` but no `run` it tells what became of cleanings between runs. With an `escalation` it is about findings
    of several runs, and has no `run` and no `job`. With `fallback_of` it could not be delivered to that channel.

    With `trouble` it is about Reconcile itself: there is no `run`, `job` is the job in trouble if it is one job's, and
    `slot` is when the trouble began or ended.
    """

    id: Ours[str]
    job: Ours[str | None]
    run: Ours[str | None]
    slot: Ours[dt.datetime]
    rules: tuple[RuleNotice, ...] = ()
    failures: tuple[FailureNotice, ...] = ()
    link: Ours[str | None] = None
    test: bool = False
    since: Ours[dt.datetime | None] = None
    created: Ours[dt.datetime | None] = None
    timezone: Ours[str] = "UTC"
    trouble: TroubleNotice | None = None
    cleaning: tuple[CleaningNotice, ...] = ()
    project: Ours[str | None] = None
    escalation: EscalationNotice | None = None
    fallback_of: Ours[str | None] = None


@dataclass(frozen=True)
class DeliveryReceipt:
    """The channel's proof of delivery (Slack: channel and ts). Plain text, for the audit log."""

    where: str
    details: Mapping[str, str] = field(default_factory=dict)


class Channel(Protocol):
    """A place notices go to.

    A channel may say `looks`, seconds before each look for a message that may have arrived: (0.0,) where one look is
    the truth. Without it there are three looks over ten seconds.
    """

    Settings: ClassVar[type[ChannelSettings]]
    name: str

    def send(self, notice: Notice) -> DeliveryReceipt:
        """Deliver once. Raises a ChannelError whose reaction says whether it is known not to have happened."""

    def find(self, notice: Notice) -> DeliveryReceipt | None:
        """Return the receipt of this notice if it already arrived; raises CannotBeAsked if the channel cannot check.

        Completes a message whose last part was cut off, and never sends twice. Raises DeliveryUnknown if it could not
        check just now: nothing may be sent again before a later `find` returns None.
        """

    def preview(self, notice: Notice) -> str:
        """The message as the channel would show it, as text for a terminal."""


@runtime_checkable
class Resumable(Protocol):
    """A channel whose messages have parts; its `send` raises PartlySent where the first one arrived."""

    def finish(self, notice: Notice, begun: DeliveryReceipt) -> DeliveryReceipt:
        """Send the parts of a message that are missing after `begun`. Raises PartlySent."""


@runtime_checkable
class Updatable(Protocol):
    """A channel whose messages can be changed after they were sent."""

    def update(self, notice: Notice, receipt: DeliveryReceipt) -> None:
        """Show this notice in the message of the receipt. Safe to repeat; raises a ChannelError.

        Raises ChannelRefused for a message that is gone or too old.
        """


@dataclass(frozen=True)
class Press:
    """A press of a button in a message: what it asks for, the value that we gave the button, by whom, and where.

    `id` is the same however often the chat delivers the press.
    """

    id: str
    action: str
    value: str
    user: str
    place: Mapping[str, str]


@runtime_checkable
class Interactive(Protocol):
    """A channel whose messages have buttons."""

    def reply(self, press: Press, text: str) -> None:
        """Tell the person who pressed, and nobody else. Raises a ChannelError."""


@runtime_checkable
class Drawable(Protocol):
    """A channel that shows a message as more than lines of text."""

    def html(self, notice: Notice) -> str:
        """The message as an HTML fragment, for a preview."""


@runtime_checkable
class Checkable(Protocol):
    """A channel that can test delivery without sending a message."""

    def check(self) -> None:
        """Raise the ChannelError that sending a message would raise now. Sends and writes nothing."""


VERSION = 1


@functools.cache
def _adapter() -> TypeAdapter[Notice]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - built once, and only where a notice is stored or sent

    return TypeAdapter(Notice)


def to_json(notice: Notice) -> dict[str, Any]:
    """The notice as values JSON knows: amounts as text, times as ISO 8601."""
    return {"version": VERSION, **_adapter().dump_python(notice, mode="json")}


def from_json(stored: Mapping[str, Any]) -> Notice:
    """The notice that `to_json` wrote. Raises ValueError when it is none."""
    return _adapter().validate_python({name: value for name, value in stored.items() if name != "version"})
