"""Normalisers of numbers: exact decimals, never through floats."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from typing import Any

from rules.normalise.normaliser import Normaliser, built_in, no_argument
from rules.values import Type

_EXACT = decimal.Context(prec=1_000, rounding=decimal.ROUND_HALF_UP, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def as_decimal(value: int | float | Decimal) -> Decimal | None:
    """Return the number as a decimal; a float by its shortest form, None when it is not finite."""
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) else None
    return Decimal(value)


def rounded(value: int | float | Decimal, places: int) -> int | Decimal | None:
    """Round to that many decimals, half away from zero; negative places round to tens, hundreds."""
    number = as_decimal(value)
    if number is None or not number.is_finite():
        return None
    result = number if places >= -_exponent(number) else _EXACT.quantize(number, Decimal(1).scaleb(-places))
    return int(result) if isinstance(value, int) else result


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _check_places(argument: Any) -> None:
    if not isinstance(argument, int) or isinstance(argument, bool) or not -18 <= argument <= 18:
        raise ValueError("takes a whole number of decimals from -18 to 18, like `round: 2`")


def _round_pushes(_argument: Any, kind: Type, _timezone: str) -> bool:
    return kind is Type.DECIMAL


def _abs_pushes(_argument: Any, kind: Type, _timezone: str) -> bool:
    return kind is not Type.FLOAT


NUMBERS = (
    Normaliser(
        "round",
        lambda value, argument, _timezone: rounded(value, argument),
        {Type.DECIMAL: Type.DECIMAL, Type.INTEGER: Type.INTEGER, Type.FLOAT: Type.DECIMAL},
        _check_places,
        built_in("round"),
        {"duckdb": "always", "postgresql": "always", "mysql": "always"},
        _round_pushes,
        words="rounded to {} decimals",
    ),
    Normaliser(
        "abs",
        lambda value, _argument, _timezone: value.copy_abs() if isinstance(value, Decimal) else abs(value),
        {kind: kind for kind in (Type.DECIMAL, Type.INTEGER, Type.FLOAT)},
        no_argument,
        built_in("abs"),
        {"duckdb": "always", "postgresql": "always", "mysql": "always"},
        _abs_pushes,
        words="without its sign",
    ),
)
