"""Schedules: the instants of a cron text in a time zone. Pure: no clock, no store.

cronsim parses the text and lists its wall times, but never gets a time zone: its own steps through a clock change lose
slots (`45 * * * *` in Lord Howe) or a whole day (`*/30 2 * * *` in spring). So this module handles clock changes.
Set back: a schedule of fixed times, where neither minute nor hour begins with a star, is due once; any other at each
real minute, as in Debian's cron. Set forward: the skipped wall times become one slot, at the first instant after; only
a schedule with a star that is due in every hour loses nothing and skips them.
"""

from __future__ import annotations

import base64
import datetime as dt
import functools
import hashlib
import importlib
import itertools
import re
import zoneinfo
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cronsim import CronSim, CronSimError

from rules.document.mistakes import nearest, short, suggestion
from rules.values import canonical_json

CATCH_UP = ("latest", "skip", "all")

_SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS = (
    ("minute", 60, "0-59, such as `0`, `0,30` or `*/15`"),
    ("hour", 24, "0-23, such as `6`, `8-18` or `*/2`"),
    ("day-of-month", 31, "1-31 or `L` for the last, such as `1`, `1,15` or `*`"),
    ("month", 12, "1-12 or jan-dec, such as `*` or `1,4,7,10`"),
    (
        "day-of-week",
        7,
        "0-7 (0 and 7 are Sunday) or sun-sat, such as `mon-fri`, `sat,sun` or `1#1` for the first Monday",
    ),
)
_STEP = re.compile(r"(.*)/(\d+)")
_LONGEST_ZONE = 64
_LONGEST = 1000
_ANY_DAY = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - a wall time; the 50 years after it hold every kind of year
_SECOND = dt.timedelta(seconds=1)
_HORIZON = dt.timedelta(days=3653)


class ScheduleRefused(ValueError):
    """A setting of a schedule is invalid."""

    def __init__(self, setting: str, value: object, why: str) -> None:
        super().__init__(f"{setting} `{short(str(value))}` {why}")


@dataclass(frozen=True)
class Slot:
    """One due time.

    `at` is the instant, in UTC, whole seconds. `nominal` is the wall time the cron text names, in the schedule's zone:
    of those a clock change skips, the first. `fold` is 1 for the second of two equal wall times.
    """

    at: dt.datetime
    nominal: str
    fold: int = 0


@dataclass(frozen=True)
class Schedule:
    """The due times of a job, and the handling of missed slots. Raises ScheduleRefused."""

    cron: str
    timezone: str
    jitter: dt.timedelta = dt.timedelta(0)
    catch_up: str = "latest"
    max: int = 10

    def __post_init__(self) -> None:
        _cron(self.cron)
        _zone(self.timezone)
        if self.jitter < dt.timedelta(0):
            raise ScheduleRefused("jitter", self.jitter, "is negative; write a length such as `2m`")
        if self.catch_up not in CATCH_UP:
            raise ScheduleRefused("catch_up", self.catch_up, f"is unknown; {suggestion(self.catch_up, CATCH_UP)}")
        if self.max < 1:
            raise ScheduleRefused(
                "max", self.max, "leaves nothing to catch up on; write 1 or more, or `catch_up: skip`"
            )

    def due(self, after: dt.datetime, until: dt.datetime) -> Iterator[Slot]:
        """The slots with after < at <= until, strictly increasing, computed lazily."""
        _require_aware(after, until)
        later = itertools.dropwhile(lambda slot: slot.at <= after, self._slots(after))
        return itertools.takewhile(lambda slot: slot.at <= until, later)

    def following(self, after: dt.datetime) -> Slot | None:
        """The first slot after this instant; None if there is none within ten years."""
        return next(self.ahead(after), None)

    def ahead(self, after: dt.datetime) -> Iterator[Slot]:
        """The slots of the ten years after this instant, in order, computed lazily."""
        return self.due(after, after + _HORIZON)

    def before(self, at: dt.datetime) -> Slot | None:
        """The latest slot at or before this instant; None if there is none within fifty years."""
        _require_aware(at)
        cron, zone = _cron(self.cron), _zone(self.timezone)
        for wall in CronSim(cron.text, _local(at, zone) + _SECOND, reverse=True):
            first, _ = cron.moments(wall, zone)
            if first is not None and first <= at:
                # After the clock is set back, later wall times than the current one may already be over.
                return deque(self.due(first - _SECOND, at), maxlen=1)[0]
        return None

    @property
    def revision(self) -> str:
        """A name of the due times: it changes with the cron text or zone, not with their spelling."""
        text = canonical_json([_cron(self.cron).text, self.timezone])
        digest = hashlib.sha256(b"reconcile/schedule/1\0" + text.encode()).digest()
        return "sched1_" + base64.b32encode(digest[:10]).decode().lower()

    def in_words(self) -> str:
        """For people: `at 06:15 on Monday through Friday, Europe/Berlin`."""
        words = CronSim(_cron(self.cron).text, _ANY_DAY).explain()
        ordinals = {"1th": "1st", "2th": "2nd", "3th": "3rd"}
        words = re.sub(r"(?<=[2-5])[123]th\b", lambda match: ordinals[match[0]], words)
        return f"{words[0].lower()}{words[1:]}, {self.timezone}"

    def _slots(self, after: dt.datetime) -> Iterator[Slot]:
        """Every slot after this instant, and perhaps a few before it, in order, endlessly."""
        cron, zone = _cron(self.cron), _zone(self.timezone)
        local = _local(after, zone)
        second_passes: deque[Slot] = deque()
        last = None
        for wall in CronSim(cron.text, local - _overlap(local, zone)):
            first, second = cron.moments(wall, zone)
            if first is None or first == last:
                continue
            while second_passes and second_passes[0].at < first:
                yield second_passes.popleft()
            last = first
            nominal = wall.isoformat(timespec="minutes")
            yield Slot(first, nominal)
            if second is not None:
                second_passes.append(Slot(second, nominal, 1))


def start_delay(job: str, slot: dt.datetime, jitter: dt.timedelta) -> dt.timedelta:
    """The delay of this run after its slot: uniform from zero up to `jitter`, the same on every host."""
    digest = hashlib.sha256(b"reconcile/jitter/1\0" + canonical_json([job, slot]).encode()).digest()
    share = int.from_bytes(digest[:8], "big")
    return dt.timedelta(microseconds=(jitter // dt.timedelta(microseconds=1)) * share >> 64)


def tzdata_version() -> str:
    """The time zone data of this process: `system 2025b` or, without system data, `tzdata 2026f`."""
    return _version_in(zoneinfo.TZPATH)


@functools.cache
def _version_in(path: tuple[str, ...]) -> str:
    for folder in map(Path, path):
        if (folder / "Etc" / "UTC").is_file():
            listing = folder / "tzdata.zi"
            line = ""
            if listing.is_file():
                with listing.open(encoding="ascii") as file:
                    line = file.readline()
            return f"system {line.removeprefix('# version').strip() or 'of unknown version'}"
    return f"tzdata {importlib.import_module('tzdata').IANA_VERSION}"


@dataclass(frozen=True)
class _Cron:
    text: str
    """Five fields in capitals, one space between them."""
    once: bool
    """Wall times that happen twice are due once."""
    skips: bool
    """Wall times that never happen are not due."""

    def moments(self, wall: dt.datetime, zone: zoneinfo.ZoneInfo) -> tuple[dt.datetime | None, dt.datetime | None]:
        """The instant this wall time is due, and the second one; a later wall time has no earlier first instant."""
        early, late = _instant(wall, zone, 0), _instant(wall, zone, 1)
        if early == late:
            return early, None
        if early < late:
            return early, None if self.once else late
        return None if self.skips else _first_after_gap(wall, zone, late, early), None


@functools.lru_cache(maxsize=4096)
def _cron(written: str) -> _Cron:
    text = _five_fields(written)
    fields = text.split()
    for (name, size, hint), field in zip(_FIELDS, fields, strict=True):
        _check_field(written, name, size, hint, field)
    try:
        parsed = CronSim(text, _ANY_DAY)
        never = next(parsed, None) is None
    except CronSimError:
        never = True
    if never:
        raise ScheduleRefused("cron", written, "is never due: no month it names has such a day; write another day")
    once = not fields[0].startswith("*") and not fields[1].startswith("*")
    return _Cron(text, once, skips=not once and len(parsed.hours) == 24)


def _five_fields(written: str) -> str:
    text = " ".join(written.split())
    if not text:
        raise ScheduleRefused("cron", written, "is empty; write five fields, such as `15 6 * * mon-fri`, or `@daily`")
    if not text.isascii() or len(text) > _LONGEST:
        raise ScheduleRefused("cron", written, "is not a cron text; write five fields, such as `15 6 * * mon-fri`")
    if text.lower() == "@reboot":
        raise ScheduleRefused(
            "cron", written, "names no time; write when the job is due, such as `@daily` or `15 6 * * *`"
        )
    if text.startswith("@"):
        if text.lower() not in _SHORTHANDS:
            raise ScheduleRefused("cron", written, f"is not a shorthand; {suggestion(text.lower(), _SHORTHANDS)}")
        text = _SHORTHANDS[text.lower()]
    count = len(text.split())
    if count != len(_FIELDS):
        names = " ".join(name for name, _, _ in _FIELDS)
        raise ScheduleRefused("cron", written, f"has {count} field{'s' * (count > 1)}; write five: {names}")
    return text.upper()


def _check_field(written: str, name: str, size: int, hint: str, field: str) -> None:
    label = f"{name} `{short(field.lower())}`"
    alone = " ".join(field if other_name == name else "*" for other_name, _, _ in _FIELDS)
    try:
        CronSim(alone, _ANY_DAY)
    except CronSimError:
        upwards = "; a range goes upwards" if "-" in field else ""
        raise ScheduleRefused("cron", written, f"has a wrong {label}; write {hint}{upwards}") from None
    for start, step in (step_match.groups() for step_match in map(_STEP.fullmatch, field.split(",")) if step_match):
        if start.startswith("L"):
            raise ScheduleRefused("cron", written, f"has a step in {label} without a range; write {hint}")
        if int(step) > size:
            why = f"has a step in {label} that is longer than the field; steps restart in every field"
            raise ScheduleRefused("cron", written, f"{why}; write {hint}")


def _zone(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zone_named(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleRefused("timezone", name, f"is not a time zone; {zone_meant(name)}") from None


def zone_named(name: str) -> zoneinfo.ZoneInfo:
    """The time zone of that name. Raises ZoneInfoNotFoundError, ValueError or OSError, as `ZoneInfo` does.

    Python imports a package for every `/` of a name that it does not know, and thousands end in a RecursionError.
    """
    if len(name) > _LONGEST_ZONE:
        raise ValueError("no time zone has such a long name")
    return zoneinfo.ZoneInfo(name)


def zone_meant(name: str) -> str:
    """The end of a sentence about an unknown time zone. Abbreviations are left out: they resemble many other names."""
    near = nearest(name, (zone for zone in zoneinfo.available_timezones() if "/" in zone or zone == "UTC"))
    return f"did you mean `{near}`?" if near else "write an IANA name like Europe/Berlin or UTC"


def _require_aware(*times: dt.datetime) -> None:
    if any(time.utcoffset() is None for time in times):
        raise ValueError("a schedule needs instants, not times without a time zone")


def _local(at: dt.datetime, zone: zoneinfo.ZoneInfo) -> dt.datetime:
    return at.astimezone(zone).replace(tzinfo=None, microsecond=0, fold=0)


def _instant(wall: dt.datetime, zone: zoneinfo.ZoneInfo, fold: int) -> dt.datetime:
    return wall.replace(tzinfo=zone, fold=fold).astimezone(dt.UTC)


def _overlap(wall: dt.datetime, zone: zoneinfo.ZoneInfo) -> dt.timedelta:
    """The time after which this wall time happens again; zero if it does not."""
    return max(_instant(wall, zone, 1) - _instant(wall, zone, 0), dt.timedelta(0))


def _first_after_gap(wall: dt.datetime, zone: zoneinfo.ZoneInfo, low: dt.datetime, high: dt.datetime) -> dt.datetime:
    """The instant the clock is set forward over this wall time, which lies after `low` and not after `high`."""
    while high - low > _SECOND:
        middle = low + (high - low) // (2 * _SECOND) * _SECOND
        if _local(middle, zone) > wall:
            high = middle
        else:
            low = middle
    return high
