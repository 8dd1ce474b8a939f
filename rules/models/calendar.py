"""Business days: every day that is neither in a weekend nor a holiday. Pure.

Public holidays come from the package `holidays` (an extra), for the years it knows; other years have weekends only.
"""

from __future__ import annotations

import datetime as dt
import functools
import importlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from rules.document.mistakes import suggestion
from rules.models import Strict

WEEKEND = frozenset((5, 6))
"""Saturday and Sunday, as `date.weekday()` numbers them."""
_LAST = dt.date.max.toordinal()


def _date(value: Any) -> Any:
    if isinstance(value, dt.date):
        return value
    try:
        return dt.date.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise ValueError("a holiday is a date, like 2026-12-24") from error


class Holidays(Strict):
    """The days off besides weekends. Reading it checks the names with the package `holidays`."""

    country: str | None = Field(default=None, description="A country's public holidays, by its code, e.g. DE.")
    region: str | None = Field(default=None, description="A region of the country, e.g. BY.")
    market: str | None = Field(default=None, description="A market's holidays, e.g. XECB for euro payments.")
    dates: tuple[Annotated[dt.date, BeforeValidator(_date)], ...] = Field(
        default=(), description="Other days off, like 2026-12-24."
    )

    @model_validator(mode="after")
    def _is_known(self) -> Holidays:
        if self.country and self.market:
            raise ValueError("write a country or a market, not both")
        if self.region and not self.country:
            raise ValueError("a region needs its country: {country: DE, region: BY}")
        if self.country or self.market:
            _check_names(_package(), self.country, self.region, self.market)
        return self


def _check_names(package: ModuleType, country: str | None, region: str | None, market: str | None) -> None:
    supported = package.list_supported_countries() if country else package.list_supported_financial()
    name, what, example = (country, "country", "DE") if country else (market, "market", "XECB")
    if name not in supported:
        raise ValueError(f"`{name}` is not a {what} with known holidays; write its code, like {example}")
    if region is not None and region not in supported[name]:
        regions = supported[name]
        advice = suggestion(region, regions) if regions else "remove it"
        raise ValueError(f"`{region}` is not a region of `{name}` with its own holidays; {advice}")


def parse_holidays(value: Any) -> Any:
    """Return `holidays:` as the fields of Holidays: it is a mapping, a country's code, or a list of dates."""
    if isinstance(value, str):
        return {"country": value}
    return {"dates": value} if isinstance(value, (list, tuple)) else value


HolidaysField = Annotated[
    Holidays,
    BeforeValidator(parse_holidays),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "examples": ["DE"]},
                {"type": "array", "items": {"type": "string", "format": "date"}},
                Holidays.model_json_schema(),
            ]
        }
    ),
]


@dataclass(frozen=True)
class Calendar:
    """Business days of one place: weekends, as numbers of `date.weekday()`, and holidays on other days, in order."""

    weekend: frozenset[int] = WEEKEND
    holidays: Sequence[int] = ()

    @classmethod
    def of(cls, holidays: Holidays | None) -> Calendar:
        """Return the calendar of a setting; without one every day from Monday to Friday is a business day."""
        return ONLY_WEEKENDS if holidays is None else _calendar(holidays)

    def between(self, first: dt.date, last: dt.date) -> int:
        """Count the business days after `first`, up to and with `last`; negative where `last` is earlier."""
        return self._until(last.toordinal()) - self._until(first.toordinal())

    def rank(self, day: dt.date) -> int:
        """Return the number of business days before the day: a day off counts as the next business day.

        So from Friday to Monday is one business day, and from Saturday to Monday none.
        """
        return self._until(day.toordinal() - 1)

    def moved(self, day: dt.date, by: int) -> dt.date | None:
        """Return the business day that many after the day, or before it; None outside the years 1 to 9999."""
        first = day.toordinal()
        ordinal = first + by  # never too far: no step passes more business days than days
        while 1 <= ordinal <= _LAST:
            passed = self._until(ordinal) - self._until(first)
            if by < 0:
                passed = self._until(ordinal - 1) - self._until(first - 1)
            if passed == by:
                return dt.date.fromordinal(ordinal)
            ordinal += by - passed
        return None

    def _until(self, ordinal: int) -> int:
        """Count the business days of the years from 1, up to and with that day."""
        weeks, days = divmod(ordinal, 7)  # day 1 is a Monday
        workdays = weeks * (7 - len(self.weekend)) + sum(day not in self.weekend for day in range(days))
        return workdays - bisect_right(self.holidays, ordinal)


ONLY_WEEKENDS = Calendar()


@functools.lru_cache(maxsize=64)
def _calendar(holidays: Holidays) -> Calendar:
    weekend, days = WEEKEND, set(holidays.dates)
    if holidays.country or holidays.market:
        days_off = _days_off(holidays)
        weekend = frozenset(days_off.weekend)
        days |= set(days_off)
    return Calendar(weekend, tuple(sorted(day.toordinal() for day in days if day.weekday() not in weekend)))


def _days_off(holidays: Holidays) -> Any:
    package = _package()
    if holidays.market:
        days_off = package.financial_holidays(holidays.market)
    else:
        days_off = package.country_holidays(holidays.country, subdiv=holidays.region)
    return days_off.__class__(subdiv=days_off.subdiv, years=range(days_off.start_year, days_off.end_year + 1))


@functools.cache
def _package() -> ModuleType:
    try:
        return importlib.import_module("holidays")
    except ModuleNotFoundError as error:
        advice = "install it with: pip install 'reconcile-runner[holidays]'"
        raise ValueError(f"a country or a market needs the package holidays; {advice}") from error
