"""Maintenance windows: times of the week in which nothing is cleaned in a source. Pure: no clock, no store."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MINUTES = 24 * 60

_TIME = re.compile(r"(\d\d):(\d\d)", re.ASCII)
_DAY = dt.timedelta(days=1)


def minute(text: str) -> int:
    """`22:00` as minutes after midnight, up to `24:00`; raises ValueError."""
    match = _TIME.fullmatch(text.strip())
    minutes = int(match[1]) * 60 + int(match[2]) if match and int(match[2]) < 60 else MINUTES + 1
    if minutes > MINUTES:
        raise ValueError(f"`{text}` is not a time of day; write it in quotes like '22:00'")
    return minutes


@dataclass(frozen=True)
class MaintenanceWindow:
    """A window on these days (0 is Monday), from minute to minute after midnight in local time of the zone.

    A window that ends at or before its begin lasts until the next day.
    """

    source: str
    begins: int
    ends: int
    days: tuple[int, ...]
    timezone: str

    def until(self, now: dt.datetime) -> dt.datetime | None:
        """The end, in UTC, of the window that contains `now`; None if there is none.

        If a clock change makes its times ambiguous, the longer window counts.
        """
        today = now.astimezone(ZoneInfo(self.timezone)).date()
        open_now = [
            ends
            for day in (today - _DAY, today, today + _DAY)
            if day.weekday() in self.days
            for begins, ends in [self._of(day)]
            if begins <= now < ends
        ]
        return max(open_now, default=None)

    def _of(self, day: dt.date) -> tuple[dt.datetime, dt.datetime]:
        over_midnight = MINUTES if self.ends <= self.begins else 0
        return min(self._instants(day, self.begins)), max(self._instants(day, self.ends + over_midnight))

    def _instants(self, day: dt.date, minutes: int) -> list[dt.datetime]:
        """The instants of a wall time: two at a clock change, else the same twice."""
        wall = dt.datetime.combine(day + _DAY * (minutes // MINUTES), dt.time(*divmod(minutes % MINUTES, 60)))
        zone = ZoneInfo(self.timezone)
        return [wall.replace(tzinfo=zone, fold=fold).astimezone(dt.UTC) for fold in (0, 1)]


def closed(windows: Iterable[MaintenanceWindow], source: str, now: dt.datetime) -> str | None:
    """The reason, as a sentence, that a source is in maintenance now; None if it is not."""
    here = (window for window in windows if window.source == source)
    open_windows = [(until, window) for window in here if (until := window.until(now)) is not None]
    if not open_windows:
        return None
    until, window = max(open_windows, key=lambda pair: pair[0])
    local_end = until.astimezone(ZoneInfo(window.timezone))
    return f"Source {source!r} is in maintenance until {local_end:%d %b %Y %H:%M} ({window.timezone})"
