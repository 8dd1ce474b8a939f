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
    found = _TIME.fullmatch(text.strip())
    at = int(found[1]) * 60 + int(found[2]) if found and int(found[2]) < 60 else MINUTES + 1
    if at > MINUTES:
        raise ValueError(f"`{text}` is not a time of day; write it in quotes like '22:00'")
    return at


@dataclass(frozen=True)
class Window:
    """On these days (0 is Monday) from minute to minute after midnight, as the clocks of the zone show them.

    One that ends before it begins, or as it does, goes on until the next day.
    """

    source: str
    begins: int
    ends: int
    days: tuple[int, ...]
    timezone: str

    def until(self, now: dt.datetime) -> dt.datetime | None:
        """When the window ends that `now` lies in, in UTC; None when it lies in none.

        Where clocks are set back or forward inside it, it is the longer one of what its times may mean.
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
        """What a wall time may mean: two instants where clocks are set, else twice the same."""
        wall = dt.datetime.combine(day + _DAY * (minutes // MINUTES), dt.time(*divmod(minutes % MINUTES, 60)))
        zone = ZoneInfo(self.timezone)
        return [wall.replace(tzinfo=zone, fold=fold).astimezone(dt.UTC) for fold in (0, 1)]


def closed(windows: Iterable[Window], source: str, now: dt.datetime) -> str | None:
    """Why nothing is cleaned in a source now, as a sentence; None when none of the windows says so."""
    found = [(until, one) for one in windows if one.source == source and (until := one.until(now)) is not None]
    if not found:
        return None
    until, window = max(found, key=lambda pair: pair[0])
    there = until.astimezone(ZoneInfo(window.timezone))
    return f"Source {source!r} is in maintenance until {there:%d %b %Y %H:%M} ({window.timezone})"
