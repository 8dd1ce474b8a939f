"""Every time zone's clock changes from 2024 to 2030, under a dozen forms of cron text, against another way to count.

The model here knows nothing of schedules: it walks over real minutes, looks at what a wall clock shows in each, and
applies the rules as a person would say them. Zones whose clocks show the same in these years are walked once; all
zones of the data are in one of the groups. Each change is walked from a day before to two days after. Of the changes by
an hour, the short tier walks a sample; `make chaos` walks all of them.
"""

import calendar
import datetime as dt
import itertools
import zoneinfo
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import pytest

from reconcile.schedule.schedules import Schedule, Slot
from reconcile.schedule.slots import run_id
from tests.support.chance import spread

pytestmark = pytest.mark.slow

MINUTE = dt.timedelta(minutes=1)
DAY = dt.timedelta(days=1)
FIRST = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
LAST = dt.datetime(2031, 1, 1, tzinfo=dt.UTC)
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

Walls = list[dt.datetime]
Change = tuple[dt.datetime, dt.timedelta]


@dataclass(frozen=True)
class Form:
    """A cron text, and in other words what it says."""

    cron: str
    minutes: Collection[int]
    hours: Collection[int]
    day: Callable[[dt.date], bool] = lambda _: True
    fixed: bool = True
    """It names times of the day, so a wall time that happens twice is meant once."""

    def names(self, wall: dt.datetime) -> bool:
        return wall.minute in self.minutes and wall.hour in self.hours and self.day(wall.date())


EVERY_HOUR = range(24)


def forms(low: dt.datetime, length: dt.timedelta) -> list[Form]:
    """Forms whose times lie in the wall times from `low` on that the clock skips or repeats, and ones around it."""
    inside, later = low + length // 2, low + length // 3 * 2
    end = low + length
    h, m, day, month = inside.hour, inside.minute, inside.day, inside.month
    both = sorted({inside.minute, later.minute})
    hours = sorted({low.hour, end.hour})
    span = range(max(h - 1, 0), min(h + 1, 23) + 1)
    weekday = inside.weekday()
    name = WEEKDAYS[weekday]
    next_day = (inside + DAY).day
    return [
        Form(f"{m} {h} * * *", {m}, {h}),
        Form(f"{low.minute} {low.hour} * * *", {low.minute}, {low.hour}),
        Form(f"{end.minute} {end.hour} * * *", {end.minute}, {end.hour}),
        Form(f"{both[0]},{both[-1]} {hours[0]},{hours[-1]} * * *", both, hours),
        Form(f"0-59/7 {h} * * *", range(0, 60, 7), {h}),
        Form("0 * * * *", {0}, EVERY_HOUR, fixed=False),
        Form("45 * * * *", {45}, EVERY_HOUR, fixed=False),
        Form("*/15 * * * *", range(0, 60, 15), EVERY_HOUR, fixed=False),
        Form(f"*/30 {h} * * *", {0, 30}, {h}, fixed=False),
        Form("10 */2 * * *", {10}, range(0, 24, 2), fixed=False),
        Form(f"20 {span[0]}-{span[-1]} * * *", {20}, span),
        Form(f"{m} 0-23 * * *", {m}, EVERY_HOUR),
        Form(f"{m} {h} {next_day} * {name}", {m}, {h}, lambda d: d.day == next_day or d.weekday() == weekday),
        Form(f"{m} {h} */2 * {name}", {m}, {h}, lambda d: d.day % 2 == 1 and d.weekday() == weekday),
        Form(f"{m} {h} {day} * *", {m}, {h}, lambda d: d.day == day),
        Form(f"*/20 {h} {day} {month} *", {0, 20, 40}, {h}, lambda d: (d.month, d.day) == (month, day), fixed=False),
        Form(f"{m} {h} L * *", {m}, {h}, lambda d: d.day == calendar.monthrange(d.year, d.month)[1]),
    ]


@dataclass(frozen=True)
class Shown:
    """What a clock on the wall shows in one real minute."""

    at: dt.datetime
    wall: dt.datetime
    skipped: Walls
    """The wall times it did not show before."""
    again: bool
    """It showed the same before."""


def minutes(zone: zoneinfo.ZoneInfo, start: dt.datetime, end: dt.datetime) -> Iterator[Shown]:
    """The real minutes after start, up to end."""
    before = start.astimezone(zone).replace(tzinfo=None)
    seen = {before}
    for n in range(1, (end - start) // MINUTE + 1):
        at = start + n * MINUTE
        wall = at.astimezone(zone).replace(tzinfo=None, fold=0)
        yield Shown(at, wall, _between(before, wall), wall in seen)
        seen.add(wall)
        before = wall


def expected(form: Form, shown: Sequence[Shown]) -> list[Slot]:
    """The slots in these minutes."""
    every_hour = set(form.hours) == set(EVERY_HOUR) and not form.fixed
    collected = []
    for item in shown:
        if item.wall.minute not in form.minutes and not item.skipped:
            continue
        named = [wall for wall in (*([] if every_hour else item.skipped), item.wall) if form.names(wall)]
        if named and not (item.again and form.fixed):
            collected.append(Slot(item.at, named[0].isoformat(timespec="minutes"), int(item.again)))
    return collected


def _between(before: dt.datetime, wall: dt.datetime) -> Walls:
    """The wall times no clock showed between two minutes that follow each other."""
    return [before + n * MINUTE for n in range(1, (wall - before) // MINUTE)]


def changes(zone: zoneinfo.ZoneInfo) -> Iterator[Change]:
    """The instants at which the clock is set, and by how much; no zone sets it twice within a day."""
    before = _offset(FIRST, zone)
    for n in range((LAST - FIRST) // DAY):
        day = FIRST + n * DAY
        after = _offset(day + DAY, zone)
        if after != before:
            yield (
                next(at for at in (day + m * MINUTE for m in range(1441)) if _offset(at, zone) != before),
                after - before,
            )
        before = after


def _offset(at: dt.datetime, zone: zoneinfo.ZoneInfo) -> dt.timedelta:
    return at.astimezone(zone).utcoffset() or dt.timedelta(0)


def check(name: str, at: dt.datetime, low: dt.datetime, length: dt.timedelta) -> int:
    """Compares the slots of every form around that instant with the model's; how many there were."""
    start, end = at - DAY, at + 2 * DAY
    shown = list(minutes(zoneinfo.ZoneInfo(name), start, end))
    count = 0
    for form in forms(low, length):
        schedule = Schedule(form.cron, name)
        slots = list(schedule.due(start, end))
        where = f"{form.cron} in {name} from {start}"
        assert slots == expected(form, shown), where
        assert_one_run_each(slots, where)
        near = [slot for slot in slots if abs(slot.at - at) <= length + 10 * MINUTE][:6]
        assert [schedule.following(slot.at - MINUTE / 60) for slot in near] == near, where
        assert [schedule.before(slot.at + MINUTE / 60) for slot in near] == near, where
        count += len(slots)
    return count


def assert_one_run_each(slots: Sequence[Slot], where: str) -> None:
    assert all(item.at < second.at for item, second in itertools.pairwise(slots)), where
    assert len({(slot.nominal, slot.fold) for slot in slots}) == len(slots), where
    assert len({run_id("nightly", slot.at) for slot in slots}) == len(slots), where


def groups() -> dict[tuple[object, ...], list[str]]:
    """All zones of the data, together where their clocks show the same in these years."""
    zones_by_changes: dict[tuple[object, ...], list[str]] = {}
    for name in sorted(zoneinfo.available_timezones()):
        zone = zoneinfo.ZoneInfo(name)
        zones_by_changes.setdefault((_offset(FIRST, zone), *changes(zone)), []).append(name)
    return zones_by_changes


@pytest.mark.chaos
def test_every_clock_change_of_every_zone_is_as_a_person_would_count() -> None:
    result = groups()
    all_changes = {(names[0], *change) for (_, *rest), names in result.items() for change in rest}
    quiet = [names[0] for (_, *rest), names in result.items() if not rest]

    slots = 0
    by_an_hour = sorted(change for change in all_changes if abs(change[2]) == dt.timedelta(hours=1))
    others = sorted(all_changes.difference(by_an_hour))
    for name, at, by in (*spread(by_an_hour, 40), *others):
        low = (at - MINUTE).astimezone(zoneinfo.ZoneInfo(name)).replace(tzinfo=None) + MINUTE
        slots += check(name, at, min(low, low + by), abs(by))
    for name in quiet:
        slots += check(name, FIRST, FIRST.replace(tzinfo=None), dt.timedelta(hours=1))

    print(f"{len(result)} groups, {len(all_changes)} changes, {slots} slots")
    assert sorted(itertools.chain.from_iterable(result.values())) == sorted(zoneinfo.available_timezones())
    sizes = {by // MINUTE for _, _, by in all_changes}
    assert {60, -60, 30, -30, 120, -120} <= sizes, "an hour, Lord Howe's half of one and Troll's two are among them"
    assert len({at.month for name, at, _ in all_changes if name == "Africa/Casablanca"}) > 2, "Ramadan moves"


@pytest.mark.parametrize(
    ("name", "at", "by"),
    [
        ("Pacific/Apia", "2011-12-30T10:00", 24 * 60),
        ("Pacific/Fakaofo", "2011-12-30T11:00", 24 * 60),
        ("Pacific/Kwajalein", "1993-08-21T12:00", 24 * 60),
        ("Asia/Pyongyang", "2018-05-04T15:00", 30),
        ("America/Caracas", "2007-12-09T07:00", -30),
        ("Antarctica/Casey", "2010-03-04T15:00", -180),
    ],
)
def test_changes_of_other_years_that_no_zone_plans_now_are_too(name: str, at: str, by: int) -> None:
    moment = dt.datetime.fromisoformat(at).replace(tzinfo=dt.UTC)
    zone = zoneinfo.ZoneInfo(name)
    low = (moment - MINUTE).astimezone(zone).replace(tzinfo=None) + MINUTE
    length = dt.timedelta(minutes=by)

    assert moment.astimezone(zone).replace(tzinfo=None) == low + length
    assert check(name, moment, min(low, low + length), abs(length)) > 0
