"""Business days: weekends, public holidays, and days of one's own."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rules.models.calendar import Calendar, Holidays

D = dt.date
BAVARIA = Calendar.of(Holidays(country="DE", region="BY"))
DAYS = st.dates(D(2025, 1, 1), D(2026, 12, 31))


def counted(calendar: Calendar, first: dt.date, last: dt.date) -> int:
    """The days that are counted one by one."""
    after = (first + dt.timedelta(days=n) for n in range(1, (last - first).days + 1))
    return sum(day.weekday() not in calendar.weekend and day.toordinal() not in set(calendar.holidays) for day in after)


@given(DAYS, DAYS, st.lists(DAYS, max_size=5))
def test_business_days_are_those_that_counting_finds(first: dt.date, last: dt.date, off: list[dt.date]) -> None:
    calendar = Calendar.of(Holidays(dates=tuple(off)))
    expected = counted(calendar, first, last) if first <= last else -counted(calendar, last, first)

    assert calendar.between(first, last) == expected


@given(DAYS, st.integers(1, 60), st.lists(DAYS, max_size=5))
@pytest.mark.slow
def test_a_day_moves_to_the_business_day_that_many_away(first: dt.date, by: int, off: list[dt.date]) -> None:
    calendar = Calendar.of(Holidays(country="DE", dates=tuple(off)))

    later, earlier = calendar.moved(first, by), calendar.moved(first, -by)

    assert later is not None
    assert earlier is not None
    assert counted(calendar, first, later) == by == counted(calendar, first, later - dt.timedelta(days=1)) + 1
    before = first - dt.timedelta(days=1)
    assert counted(calendar, earlier, before) == by - 1
    assert counted(calendar, earlier - dt.timedelta(days=1), before) == by


def test_easter_is_four_days_without_business_in_germany() -> None:
    thursday, tuesday = D(2026, 4, 2), D(2026, 4, 7)

    assert BAVARIA.between(thursday, tuesday) == 1
    assert BAVARIA.moved(thursday, 1) == tuesday
    assert BAVARIA.moved(tuesday, -1) == thursday


def test_a_region_has_holidays_of_its_own() -> None:
    epiphany = D(2026, 1, 6)

    assert BAVARIA.between(D(2026, 1, 5), epiphany) == 0
    assert Calendar.of(Holidays(country="DE", region="NW")).between(D(2026, 1, 5), epiphany) == 1


def test_a_market_works_on_days_when_its_countries_do_not() -> None:
    unity = D(2025, 10, 3)

    assert Calendar.of(Holidays(market="XECB")).between(D(2025, 10, 2), unity) == 1
    assert BAVARIA.between(D(2025, 10, 2), unity) == 0


def test_a_country_has_its_own_weekend() -> None:
    friday, sunday = D(2026, 3, 6), D(2026, 3, 8)

    assert Calendar.of(Holidays(country="AE", region=None)).weekend == {5, 6}
    assert Calendar.of(Holidays(country="BD")).between(friday, sunday) == 1


@pytest.mark.parametrize(("day", "by"), [(dt.date.max, 1), (dt.date.min, -1), (D(2026, 1, 1), 10**12)])
def test_no_day_is_outside_the_calendar(day: dt.date, by: int) -> None:
    assert BAVARIA.moved(day, by) is None


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"country": "XX"}, "`XX` is not a country with known holidays; write its code, like DE"),
        (
            {"country": "DE", "region": "BX"},
            "`BX` is not a region of `DE` with its own holidays; known names: `Augsburg`",
        ),
        ({"market": "MOON"}, "`MOON` is not a market with known holidays"),
        ({"country": "DE", "market": "XECB"}, "write a country or a market, not both"),
        ({"region": "BY"}, "a region needs its country"),
        ({"dates": ("24.12.2026",)}, "a holiday is a date, like 2026-12-24"),
    ],
)
def test_a_wrong_name_is_told(setting: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValidationError) as told:
        Holidays.model_validate(setting)

    assert sentence in str(told.value)
