"""The numbers that spreadsheet programs show and compare: of 15 significant digits.

A cell stores the result of =1.1+2.2 as 3.3000000000000003, and programs write that, but all of them show 3.3 and say
that it equals 3.3. The shortest text of the stored number is rounded, half away from zero. Numbers from 10**15 are
unchanged.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

DIGITS = 15
ROUNDED = 10**DIGITS
"""The least number whose digits a spreadsheet program does not keep; Excel makes the 16th and all after it 0."""
_SHORT = DIGITS + 1
"""The length of text that has no more than 15 digits: it has a decimal point."""
_EXACT_POWERS = pa.array([float(f"1e{power}") for power in range(23)], pa.float64())
_CONTEXT = Context(prec=DIGITS, rounding=ROUND_HALF_UP)


def shown(number: float | Decimal) -> Decimal:
    """Return a finite number as it is shown."""
    exact = number if isinstance(number, Decimal) else Decimal(repr(number))
    return exact if abs(exact) >= ROUNDED else _CONTEXT.plus(exact)


def all_shown(numbers: pa.Array[Any], texts: pa.Array[Any]) -> pa.Array[Any]:
    """Return 64-bit floats as they are shown; the same array if all are. `texts` are their shortest texts.

    A number of fewer digits is the nearest float, whose shortest text has these digits.
    """
    if (pc.max(pc.binary_length(texts)).as_py() or 0) <= _SHORT:
        return numbers
    places = _places(numbers)
    scaled = pc.multiply(numbers, _EXACT_POWERS.take(places))
    whole = pc.round(scaled, round_mode="half_towards_infinity")
    rounded: pa.Array[Any] = pc.if_else(
        pc.less(pc.abs(numbers), float(ROUNDED)), pc.divide(whole, _EXACT_POWERS.take(places)), numbers
    )
    return _corrected(rounded, numbers, _doubtful(pc.abs(scaled), pc.abs(numbers)))


def _places(numbers: pa.Array[Any]) -> pa.Array[Any]:
    """Return the decimal places that 15 digits leave to each number, between 0 and 22."""
    size = pc.abs(numbers)
    usual = pc.if_else(pc.and_(pc.greater(size, 0.0), pc.is_finite(size)), size, 1.0)
    places = pc.subtract(float(DIGITS - 1), pc.floor(pc.log10(usual)))
    limited: pa.Array[Any] = pc.min_element_wise(pc.max_element_wise(places, 0.0), float(len(_EXACT_POWERS) - 1))
    return limited.cast(pa.int8())


def _doubtful(scaled: pa.Array[Any], size: pa.Array[Any]) -> pa.Array[Any]:
    """Mark numbers whose rounding in floats may differ: close to a half, or without 15 digits before the point."""
    from_half = pc.abs(pc.subtract(pc.subtract(scaled, pc.floor(scaled)), 0.5))
    is_close = pc.less_equal(from_half, pc.multiply(scaled, 2.0**-51))
    is_outside = pc.or_(pc.less(scaled, float(ROUNDED // 10)), pc.greater_equal(scaled, float(ROUNDED)))
    is_some = pc.and_(pc.greater(size, 0.0), pc.less(size, float(ROUNDED)))
    marks: pa.Array[Any] = pc.and_(pc.or_(is_close, is_outside), is_some)
    return marks


def _corrected(rounded: pa.Array[Any], numbers: pa.Array[Any], doubtful: pa.Array[Any]) -> pa.Array[Any]:
    """Replace the marked numbers by those that `shown` returns."""
    if not pc.any(doubtful).as_py():
        return rounded
    correct = pa.array([float(shown(number)) for number in numbers.filter(doubtful).to_pylist()], pa.float64())
    corrected: pa.Array[Any] = pc.replace_with_mask(rounded, pc.fill_null(doubtful, fill_value=False), correct)
    return corrected
