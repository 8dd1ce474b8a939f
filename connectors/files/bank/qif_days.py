"""Days of QIF: each program writes them in the order of its country, which the dataset declares."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable

ORDERS = ("dmy", "mdy", "ymd")
_THREE = re.compile(r"(?P<a>\d{1,4})\s*[/.\- ]\s*(?P<b>\d{1,2})\s*(?P<mark>[/.\-' ])\s*(?P<c>\d{1,4})")
_WHOLE = re.compile(r"(?:19|20)\d{6}")
_NAMED = re.compile(r"(?P<day>\d{1,2})[-/. ](?P<month>[A-Za-z]{3})[a-z]*[-/., ]\s*(?P<year>\d{4}|\d{2})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_THIS_CENTURY = 69
"""Years of two digits below it are of 2000 to 2068, as everywhere else in Python."""


def needs_order(text: str) -> bool:
    """Return True if the day depends on the order of its parts."""
    match = _THREE.fullmatch(text.strip())
    return match is not None and len(match["a"]) < 4


def day_of(text: str, order: str | None) -> dt.date | None:
    """Return the day; None for a text that is none, or that needs an order and has none."""
    text = text.strip()
    if _WHOLE.fullmatch(text):
        return _date(int(text[:4]), int(text[4:6]), int(text[6:]))
    if named := _NAMED.fullmatch(text):
        month = named["month"].lower()
        return _date(_year(named["year"]), _MONTHS.index(month) + 1, int(named["day"])) if month in _MONTHS else None
    match = _THREE.fullmatch(text)
    if match is None:
        return None
    parts = match["a"], match["b"], match["c"]
    if len(parts[0]) == 4:
        order = "ymd"
    if order is None:
        return None
    year, month, day = (parts[order.index(part)] for part in "ymd")
    if len(year) not in (1, 2, 4) or len(day) > 2 or len(month) > 2:
        return None
    # The apostrophe says that the year is one of this century: `1/ 6' 6` is in 2006.
    return _date(2000 + int(year) if match["mark"] == "'" and len(year) < 3 else _year(year), int(month), int(day))


def orders_of(texts: Iterable[str]) -> list[str]:
    """Return the orders that read every text."""
    texts = set(texts)
    return [order for order in ORDERS if all(day_of(text, order) for text in texts)]


def _year(digits: str) -> int:
    if len(digits) == 4:
        return int(digits)
    return int(digits) + (2000 if int(digits) < _THIS_CENTURY else 1900)


def _date(year: int, month: int, day: int) -> dt.date | None:
    try:
        return dt.date(year, month, day)
    except ValueError:
        return None
