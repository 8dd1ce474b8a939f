"""When a message may be sent: throttle, digest and quiet hours of its channel. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from notifications.base import Notice
from notifications.wording.headline import severity
from reconcile.config.channel_entries import ChannelEntry, DigestEntry
from reconcile.schedule.maintenance import DAYS, MINUTES, minute
from rules.models import Severity

_DAY = dt.timedelta(days=1)
_AHEAD = 9
"""Days in which a digest of one day a week comes due."""


@dataclass(frozen=True)
class Hold:
    """The time until which a message waits, and the setting that makes it wait."""

    until: dt.datetime
    why: str


def severity_of(notice: Notice) -> Severity | None:
    """Return the gravest severity of a message; trouble and failed checks count as high."""
    name = severity(notice)
    of_findings = Severity[name] if name is not None and name in Severity.__members__ else None
    fails = any(not failure.ended for failure in notice.failures)
    if fails or (notice.trouble is not None and not notice.trouble.ended):
        return max(of_findings or Severity.high, Severity.high)
    return of_findings


def hold(entry: ChannelEntry, timezone: str, now: dt.datetime, notice: Notice, last: dt.datetime | None) -> Hold | None:
    """Return until when a message of a job waits; None if it is sent now. `last` is when the channel got one before."""
    gravest = severity_of(notice)
    held: Hold | None = None
    throttle, digest = entry.throttle, entry.digest
    if throttle is not None and last is not None and not throttle.lets_pass(gravest):
        held = _later(held, now, last + throttle.every, "throttle")
    if digest is not None and not digest.lets_pass(gravest):
        held = _later(held, now, _next_digest(digest, timezone, held.until if held else now), "digest")
    return _until_awake(entry, timezone, now, gravest, held)


def quiet(entry: ChannelEntry, timezone: str, now: dt.datetime, notice: Notice) -> Hold | None:
    """Return the same for a message that neither throttle nor digest hold: trouble and escalations."""
    return _until_awake(entry, timezone, now, severity_of(notice), None)


def _until_awake(
    entry: ChannelEntry, timezone: str, now: dt.datetime, gravest: Severity | None, held: Hold | None
) -> Hold | None:
    if entry.quiet_hours is None or entry.quiet_hours.lets_pass(gravest):
        return held
    until = entry.quiet_hours.window(timezone).until(held.until if held else now)
    return held if until is None else Hold(until, "quiet_hours")


def _later(held: Hold | None, now: dt.datetime, until: dt.datetime, why: str) -> Hold | None:
    return Hold(until, why) if until > (held.until if held else now) else held


def _next_digest(digest: DigestEntry, timezone: str, now: dt.datetime) -> dt.datetime:
    """Return the first digest at that time or later. At a clock change a time that does not exist is the next one."""
    zone, at = ZoneInfo(timezone), minute(digest.at)
    return min(instant for instant in _digests(digest, zone, now, at) if instant >= now)


def _digests(digest: DigestEntry, zone: ZoneInfo, now: dt.datetime, at: int) -> Iterator[dt.datetime]:
    today = now.astimezone(zone).date()
    for ahead in range(-1, _AHEAD):
        day = today + _DAY * ahead
        if DAYS[day.weekday()] in digest.days:
            wall = dt.datetime.combine(day + _DAY * (at // MINUTES), dt.time(*divmod(at % MINUTES, 60)), zone)
            yield wall.astimezone(dt.UTC)
