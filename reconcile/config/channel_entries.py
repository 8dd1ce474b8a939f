"""Settings of every channel beside its own: which findings it gets, when, and what happens if nobody reacts."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from reconcile.config.cleaning import Days, TimeOfDay
from reconcile.config.values import Names, parse_limit
from reconcile.documents import JsonObject
from reconcile.schedule.maintenance import DAYS, MaintenanceWindow, minute
from rules.document.mistakes import short
from rules.models import Duration, Severity, SeverityField, Strict

Longer = Annotated[Duration, AfterValidator(parse_limit)]
_DURATION = {"type": "string", "examples": ["30m", "4h"]}


class RouteEntry(Strict):
    """The findings that a channel gets; each condition that is set must hold."""

    rule: Names = Field(default=(), description="Rules.")
    owner: Names = Field(default=(), description="Owners of rules.")
    severity: SeverityField | None = Field(default=None, description="This severity or worse.")
    amount: dict[str, Decimal] = Field(
        default_factory=dict, description="At least this much at risk, by currency, like {EUR: 1000}."
    )

    @model_validator(mode="after")
    def _has_a_condition(self) -> RouteEntry:
        if not (self.rule or self.owner or self.severity or self.amount):
            raise ValueError("`route` needs a condition: rule, owner, severity or amount")
        return self


class _Passing(Strict):
    passing: SeverityField | None = Field(
        default=None, alias="except", description="A message this severe, or worse, is sent at once."
    )

    def lets_pass(self, severity: Severity | None) -> bool:
        return self.passing is not None and severity is not None and severity >= self.passing


class ThrottleEntry(_Passing):
    """The shortest time between two messages of jobs."""

    every: Longer = Field(description="The shortest time between two messages.")


class QuietHoursEntry(_Passing):
    """Times of the week in which nothing is sent."""

    begins: TimeOfDay = Field(alias="from", description="The beginning, like 22:00.")
    ends: TimeOfDay = Field(alias="to", description="The end, like 07:00; on the next day if it is earlier.")
    days: Days = Field(default=DAYS, description="The days on which it begins; default: every day.")

    @model_validator(mode="after")
    def _takes_time(self) -> QuietHoursEntry:
        if minute(self.begins) == minute(self.ends):
            raise ValueError("`from` and `to` cannot be the same; for a whole day write 00:00 and 24:00")
        return self

    def window(self, timezone: str) -> MaintenanceWindow:
        return MaintenanceWindow(
            "", minute(self.begins), minute(self.ends), tuple(map(DAYS.index, self.days)), timezone
        )


class DigestEntry(_Passing):
    """One message a day for everything since the last one."""

    at: TimeOfDay = Field(default="08:00", description="The time of day.")
    days: Days = Field(default=DAYS, description="The days; default: every day.")


class EscalationEntry(Strict):
    """The escalation of findings that stay undecided after the channel got them."""

    after: Longer = Field(description="How long the channel has to decide.")
    to: str = Field(description="The channel to notify then.")
    severity: SeverityField | None = Field(default=None, description="Only findings this severe, or worse.")


def _throttle(value: Any) -> Any:
    return {"every": value} if isinstance(value, str) else value


def _digest(value: Any) -> Any:
    if isinstance(value, str) and value != "daily":
        raise ValueError(f"`{short(value)}` is not a digest; write daily, or like {{at: 07:30, days: [mon, fri]}}")
    return {} if value == "daily" else value


def _schema(short: JsonObject, model: type[Strict]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [short, model.model_json_schema(by_alias=True)]})


class ChannelEntry(Strict):
    """The settings of every channel beside those of its type."""

    route: RouteEntry | None = Field(default=None, description="The findings that this channel gets; default: all.")
    throttle: Annotated[ThrottleEntry, BeforeValidator(_throttle), _schema(_DURATION, ThrottleEntry)] | None = Field(
        default=None, description="The shortest time between two messages, like 1h; later news waits and is combined."
    )
    quiet_hours: QuietHoursEntry | None = Field(
        default=None, description="When nothing is sent, in the project's time zone: {from: 22:00, to: 07:00}."
    )
    digest: Annotated[DigestEntry, BeforeValidator(_digest), _schema({"const": "daily"}, DigestEntry)] | None = Field(
        default=None, description="One message a day: daily (at 08:00), or {at: 07:30, days: [mon, fri]}."
    )
    escalate: EscalationEntry | None = Field(
        default=None, description="If nobody decides: {after: 4h, to: on-call, severity: high}."
    )
    fallback: str | None = Field(default=None, description="The channel for messages that cannot be delivered.")
