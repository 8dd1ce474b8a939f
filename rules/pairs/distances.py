"""How far apart two values are: exactly, in time or in numbers. Pure.

Whatever lies between two near values is near both, also by a percentage, which is of the larger of two numbers.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from rules.models import Distance, Percent
from rules.values import EXACT, Value


def is_near(first: Value, second: Value, by: Distance) -> bool:
    """Return True if two dates, instants or numbers are at most that far apart."""
    distance = apart(first, second)
    if not isinstance(by, Percent):
        return bool(distance <= by)
    larger = max(number(value).copy_abs() for value in (first, second))
    return bool(EXACT.multiply(distance, Decimal(100)) <= EXACT.multiply(by.percent, larger))


def apart(first: Value, second: Value) -> Any:
    """Return how far two dates, instants or numbers are apart: a timedelta or a decimal."""
    if isinstance(first, dt.date) and isinstance(second, dt.date):
        return abs(first - second)
    return EXACT.abs(EXACT.subtract(number(first), number(second)))


def number(value: Value) -> Decimal:
    """Return a number as the decimal it is written as; raises TypeError for anything else."""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    raise TypeError(f"a {type(value).__name__} is not a number")
