"""The port every channel implements, and the notice it tells."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar, Protocol

from pydantic import BaseModel, ConfigDict


class ChannelSettings(BaseModel):
    """What `channels: NAME:` may say. A channel adds its own fields; `type` picks the channel.

    `show` lists the columns marked `pii` that this channel may show in clear.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    type: str
    show: tuple[str, ...] = ()


@dataclass(frozen=True)
class GroupNotice:
    """One finding as people see it. `key` holds the raw values of the key's columns, masked where they must be.

    `keeper` and `surplus` are record ids as text. `seconds_apart` are the gaps between neighbours in time, if known.
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


@dataclass(frozen=True)
class RuleNotice:
    """What one rule has to tell: counts of findings by what happened to them, and the largest groups."""

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


@dataclass(frozen=True)
class FailureNotice:
    """Something that could not be checked: it must never look like "clean"."""

    subject: str
    sentence: str
    since: dt.datetime | None = None
    ended: bool = False


@dataclass(frozen=True)
class Notice:
    """One message about one run to one channel. `id` is stable over retries: it is the message's idempotency key."""

    id: str
    job: str
    run: str
    slot: dt.datetime
    rules: tuple[RuleNotice, ...] = ()
    failures: tuple[FailureNotice, ...] = ()
    link: str | None = None
    test: bool = False


@dataclass(frozen=True)
class Receipt:
    """What the channel says of a delivered message (Slack: channel and ts). Plain text, for the audit log."""

    where: str
    details: Mapping[str, str] = field(default_factory=dict)


class Channel(Protocol):
    """A place notices go to."""

    Settings: ClassVar[type[ChannelSettings]]
    name: str

    def send(self, notice: Notice) -> Receipt:
        """Deliver once. Raises a ChannelError whose reaction says whether it is known not to have happened."""

    def find(self, notice: Notice) -> Receipt | None:
        """The receipt of this notice if it is there already; raises CannotBeAsked where the channel cannot look."""

    def preview(self, notice: Notice) -> str:
        """The message as the channel would show it, as text for a terminal."""
