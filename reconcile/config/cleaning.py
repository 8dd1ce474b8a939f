"""Settings of cleaning outside rules: retry templates, maintenance windows, links between tables."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from reconcile.config.values import NAMES_SCHEMA, Names, Zone, listed
from reconcile.schedule.maintenance import DAYS, MaintenanceWindow, minute
from rules.document.mistakes import short, suggestion
from rules.models import Duration, Strict, parse_duration

OWN_RETRIES = ("patient", "quick", "never")
"""The built-in templates."""


def _positive(value: dt.timedelta) -> dt.timedelta:
    if value < dt.timedelta(milliseconds=50):
        raise ValueError("is too short; give it 50ms or more")
    return value


class RetryTemplate(Strict):
    """A retry template: a delay of `base`, then twice as long each time up to `cap`, all with full jitter."""

    base: Annotated[Duration, AfterValidator(_positive)] = Field(
        default=parse_duration("1s"), json_schema_extra={"default": "1s"}, description="The longest first delay."
    )
    cap: Annotated[Duration, AfterValidator(_positive)] = Field(
        default=parse_duration("15m"), json_schema_extra={"default": "15m"}, description="The longest delay."
    )
    attempts: int = Field(default=8, ge=1, le=1000, description="How many attempts are made.")
    budget: Annotated[Duration, AfterValidator(_positive)] = Field(
        default=parse_duration("20h"), json_schema_extra={"default": "20h"}, description="How long attempts continue."
    )

    @model_validator(mode="after")
    def _rises(self) -> RetryTemplate:
        if self.cap < self.base:
            raise ValueError("`cap` cannot be shorter than `base`")
        return self


def _time(value: Any) -> Any:
    minute(str(value))
    return value


def _day(value: Any) -> Any:
    if value not in DAYS:
        raise ValueError(f"`{short(str(value))}` is not a day; {suggestion(str(value), DAYS)}")
    return value


_TIME_SCHEMA = {"type": "string", "pattern": r"^([01][0-9]|2[0-4]):[0-5][0-9]$"}
_DAYS_SCHEMA = {
    "anyOf": [
        {"type": "string", "enum": list(DAYS)},
        {"type": "array", "items": {"type": "string", "enum": list(DAYS)}},
    ]
}
TimeOfDay = Annotated[str, BeforeValidator(_time), WithJsonSchema(_TIME_SCHEMA)]
Days = Annotated[
    tuple[Annotated[str, BeforeValidator(_day)], ...], BeforeValidator(listed), WithJsonSchema(_DAYS_SCHEMA)
]


class MaintenanceEntry(Strict):
    """Times of the week when a source is not cleaned."""

    source: str = Field(description="The source.")
    begins: TimeOfDay = Field(alias="from", description="The beginning, like 22:00.")
    ends: TimeOfDay = Field(alias="to", description="The end, like 02:00; on the next day if it is earlier.")
    days: Days = Field(default=DAYS, description="The days on which it begins; default: every day.")
    timezone: Zone | None = Field(default=None, description="The time zone; default: the project's.")

    @model_validator(mode="after")
    def _takes_time(self) -> MaintenanceEntry:
        if minute(self.begins) == minute(self.ends) or minute(self.begins) == minute("24:00"):
            raise ValueError("has zero length; for a whole day write from '00:00' to '24:00'")
        if not self.days:
            raise ValueError("`days` is empty; leave it out for every day")
        return self

    def window(self, timezone: str) -> MaintenanceWindow:
        """Return the window; `timezone` is the project's."""
        days = tuple(sorted({DAYS.index(day) for day in self.days}))
        return MaintenanceWindow(self.source, minute(self.begins), minute(self.ends), days, self.timezone or timezone)


class LinkEntry(Strict):
    """Rows of another table that refer to records of this dataset without a foreign key."""

    table: str = Field(min_length=1, description="The table with these rows, of the same source.")
    columns: Annotated[tuple[str, ...], BeforeValidator(listed), WithJsonSchema(NAMES_SCHEMA)] = Field(
        min_length=1, description="The columns there that refer to a record."
    )
    to: Names = Field(default=(), description="The columns here that they refer to; default: the dataset's id.")
    id: Names = Field(default=(), description="The columns there that identify a row, for sheets of a workbook.")
