"""The port every channel implements, and the notice it tells."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

MASK = "•••"
"""What stands in a notice for a value of a `pii` column that its channel may not show."""
NOT_UNDONE = "not_undone"
"""The state of a group in a notice of cleaning that says of an undo that it was not done; `history` is why."""


class ChannelSettings(BaseModel):
    """What `channels: NAME:` may say. A channel adds its own fields; `type` picks the channel.

    Whoever makes the notice reads `show` and `quiet`, the outbox reads `on_unknown`; the channel reads the rest.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    type: str = Field(description="The type of channel: slack, webhook or file.")
    show: tuple[str, ...] = Field(default=(), description="The `pii` columns that this channel may show unmasked.")
    quiet: bool = Field(default=True, description="Send nothing when nothing is new; false sends a short all-clear.")
    on_unknown: Literal["again", "person"] = Field(
        default="again",
        description="If delivery is unknown and the channel cannot be checked: send again, or ask a person.",
    )
    template: Path | None = Field(
        default=None, description="Your own Jinja2 template for the message, relative to the configuration file."
    )


@dataclass(frozen=True)
class GroupNotice:
    """One finding as people see it. `key` holds the raw values of the key's columns, masked where they must be.

    `keeper` and `surplus` are record ids as text. `nearby` are the nearest of the `nearby_records` with the same key
    that a window left out though they are near one inside. `seconds_apart` are the gaps between neighbours in time, if
    known.
    """

    finding: str
    state: str  # new | grown | reopened
    key: Mapping[str, str]
    keeper: str
    surplus: tuple[str, ...]
    records: int
    money: Mapping[str, Decimal] = field(default_factory=dict)
    first: dt.datetime | None = None
    last: dt.datetime | None = None
    seconds_apart: tuple[float, ...] = ()
    nearby: tuple[str, ...] = ()
    nearby_records: int = 0
    history: str | None = None  # what was decided before, for one that came back; why its cleaning or undo failed
    plan: str | None = None  # the hash of the plan that waits for approval


@dataclass(frozen=True)
class RuleNotice:
    """What one rule has to tell: counts of findings by what happened to them, and the largest groups.

    `largest` begins with the largest group. A message shows three, its thread further ones, and the rest as a count,
    so forty are enough; all of them do no harm. `money` is that of the surplus records counted in `records`.
    """

    rule: str
    severity: str
    dataset: str
    new: int
    grown: int
    reopened: int
    known: int
    resolved: int
    records: int  # surplus records over new, grown and reopened findings
    money: Mapping[str, Decimal] = field(default_factory=dict)
    first_run: bool = False
    owner: str | None = None
    runbook: str | None = None
    why: str | None = None
    trend: str | None = None
    largest: tuple[GroupNotice, ...] = ()
    skipped: tuple[str, ...] = ()
    kind: str = "duplicates"

    @property
    def news(self) -> int:
        """How many findings this message tells: known ones are not told again."""
        return self.new + self.grown + self.reopened

    @property
    def open(self) -> int:
        """How many findings are open after this run."""
        return self.news + self.known


@dataclass(frozen=True)
class CleaningNotice:
    """What Reconcile did about a rule's findings, or proposes: counts of findings.

    `awaiting`, `quarantined`, `failed` and `not_undone` (an undo did not end as it should) wait for a
    person and are told now; `findings` are some of those. `cleaned`,
    `stale` (the records changed, so nothing was done) and `waiting` (tried again later) are this run's. `stopped` is
    why nothing more was done by itself. `undo` is the command that takes back what was done. `next_run` is a sentence
    on what only the next run does by itself.
    """

    rule: str
    severity: str
    dataset: str
    awaiting: int = 0
    quarantined: int = 0
    failed: int = 0
    cleaned: int = 0
    stale: int = 0
    waiting: int = 0
    money: Mapping[str, Decimal] = field(default_factory=dict)
    stopped: str | None = None
    undo: str | None = None
    findings: tuple[GroupNotice, ...] = ()
    owner: str | None = None
    not_undone: int = 0
    next_run: str | None = None

    @property
    def asks(self) -> int:
        """How many findings wait for a person."""
        return self.awaiting + self.quarantined + self.failed + self.not_undone

    @property
    def is_told(self) -> bool:
        return bool(self.asks or self.cleaned or self.stale or self.stopped or self.next_run)


@dataclass(frozen=True)
class FailureNotice:
    """Something that could not be checked: it must never look like "clean"."""

    subject: str
    sentence: str
    since: dt.datetime | None = None
    ended: bool = False


@dataclass(frozen=True)
class TroubleNotice:
    """Something wrong with Reconcile itself, or that it is over; it is about no run.

    `sentence` says what, its first sentence alone is the headline; `end` says how it ended, once it has.
    """

    subject: str
    sentence: str
    since: dt.datetime
    ended: bool = False
    end: str | None = None


@dataclass(frozen=True)
class Notice:
    """One message to one channel, about one run. `id` is stable over retries: it is the message's idempotency key.

    `since` is the slot of the run before, `created` when the notice was written (a catch-up run is later than its
    slot), `timezone` the zone its times are shown in. All times know their zone.

    With `trouble` it is about Reconcile itself: there is no `run`, `job` is the job in trouble if it is one job's, and
    `slot` is when the trouble began or ended.
    """

    id: str
    job: str | None
    run: str | None
    slot: dt.datetime
    rules: tuple[RuleNotice, ...] = ()
    failures: tuple[FailureNotice, ...] = ()
    link: str | None = None
    test: bool = False
    since: dt.datetime | None = None
    created: dt.datetime | None = None
    timezone: str = "UTC"
    trouble: TroubleNotice | None = None
    cleaning: tuple[CleaningNotice, ...] = ()


@dataclass(frozen=True)
class Receipt:
    """What the channel says of a delivered message (Slack: channel and ts). Plain text, for the audit log."""

    where: str
    details: Mapping[str, str] = field(default_factory=dict)


class Channel(Protocol):
    """A place notices go to.

    A channel may say `looks`, seconds before each look for a message that may have arrived: (0.0,) where one look is
    the truth. Without it there are three looks over ten seconds.
    """

    Settings: ClassVar[type[ChannelSettings]]
    name: str

    def send(self, notice: Notice) -> Receipt:
        """Deliver once. Raises a ChannelError whose reaction says whether it is known not to have happened."""

    def find(self, notice: Notice) -> Receipt | None:
        """The receipt of this notice if it is there already; raises CannotBeAsked where the channel cannot look.

        A message whose last part was cut off is completed by this, never sent twice. Raises DeliveryUnknown where it
        could not look just now: nothing may be sent again before a later `find` said None.
        """

    def preview(self, notice: Notice) -> str:
        """The message as the channel would show it, as text for a terminal."""


@runtime_checkable
class Resumable(Protocol):
    """A channel whose messages have parts; its `send` raises PartlySent where the first one arrived."""

    def finish(self, notice: Notice, begun: Receipt) -> Receipt:
        """Send the parts of a message that are missing after `begun`. Raises PartlySent."""


@runtime_checkable
class Checkable(Protocol):
    """A channel that can say, without a message, whether one would be taken."""

    def check(self) -> None:
        """Raises the ChannelError that a message would meet now. Sends and writes nothing."""


Opener = Callable[[str, Any, Path], Channel]
"""(name in the configuration, its settings, directory of the configuration file) → a channel. Opening sends nothing."""
