"""Arithmetic on exact decimals, time plus duration, `coalesce`, and the functions of a number."""

from __future__ import annotations

import datetime as dt
import decimal
import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from rules.expressions.typed import EVERYWHERE, FLOATS, NOWHERE, SERVERS, CompileTarget, Typed, derived, no_sql
from rules.functions import plain
from rules.normalise import Exactness
from rules.normalise.numbers import as_decimal, rounded
from rules.values import Type, Value

# Sums, differences and products are exact; a quotient has 38 significant digits, half away from zero.
EXACT = decimal.Context(prec=20_000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
QUOTIENT = decimal.Context(prec=38, rounding=decimal.ROUND_HALF_UP, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_STEPS: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_IN_DECIMALS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
}
_NUMERIC: Mapping[str, Exactness] = {"postgresql": "always", "duckdb": "always"}
_POSTGRES: Mapping[str, Exactness] = {"postgresql": "always"}


def arithmetic(sign: str, left: Typed, right: Typed) -> Typed:
    """Two numbers added, subtracted, multiplied or divided; division by zero and results that are not finite are null.

    On DuckDB a result of more than 38 digits ends the rule (TooManyDigits), instead of giving a wrong answer.
    """
    if sign == "/":
        return derived(Type.DECIMAL, (left, right), _divided(left, right), no_sql, NOWHERE)
    is_whole = left.type is Type.INTEGER and right.type is Type.INTEGER
    kind = Type.INTEGER if is_whole else Type.DECIMAL
    step = _STEPS[sign]

    def run(row: Any, slot: Any) -> Value:
        a, b = left.run(row, slot), right.run(row, slot)
        if a is None or b is None:
            return None
        return step(a, b) if is_whole else _finite(_IN_DECIMALS[sign], a, b)

    def sql(target: CompileTarget) -> sa.ColumnElement[Any]:
        return step(wide(left, target), wide(right, target))  # type: ignore[no-any-return]

    return derived(kind, (left, right), run, sql, _where(sign, left, right))


def _where(sign: str, left: Typed, right: Typed) -> Mapping[str, Exactness]:
    if Type.FLOAT in (left.type, right.type):
        return NOWHERE
    if sign == "*" and not any(t.constant or t.type is Type.INTEGER for t in (left, right)):
        return _POSTGRES  # DuckDB adds up the decimals of both sides and soon runs out of digits
    return _NUMERIC


def wide(part: Typed, target: CompileTarget) -> sa.ColumnElement[Any]:
    """Return a number as a decimal, which arithmetic overflows later than its own type."""
    element = part.sql(target)
    if part.type is not Type.INTEGER:
        return element
    return sa.cast(element, sa.Numeric() if target.dialect == "postgresql" else sa.Numeric(38, 0))


def _finite(step: Callable[[Decimal, Decimal], Decimal], a: Any, b: Any) -> Value:
    left, right = as_decimal(a), as_decimal(b)
    if left is None or right is None or not left.is_finite() or not right.is_finite():
        return None
    return step(left, right)


def _divided(left: Typed, right: Typed) -> Callable[[Any, Any], Value]:
    def run(row: Any, slot: Any) -> Value:
        a, b = left.run(row, slot), right.run(row, slot)
        return None if a is None or b is None or b == 0 else _finite(QUOTIENT.divide, a, b)

    return run


def opposite(operand: Typed) -> Typed:
    """`-operand`."""
    zero = derived(Type.INTEGER, (), lambda _row, _slot: 0, no_sql)
    return arithmetic("-", zero, operand)


def shifted(sign: str, moment: Typed, by: dt.timedelta) -> Typed:
    """A time plus or minus a duration: a day is 24 hours; a date moves by whole days. Null outside the calendar."""
    move = by if sign == "+" else -by

    def run(row: Any, slot: Any) -> Value:
        value = moment.run(row, slot)
        try:
            return value + move if isinstance(value, dt.date) else None
        except OverflowError:
            return None

    return derived(moment.type, (moment,), run, no_sql, NOWHERE)


def coalesce(kind: Type, parts: Sequence[Typed]) -> Typed:
    """The first part that is not null."""

    def run(row: Any, slot: Any) -> Value:
        for part in parts:
            value = part.run(row, slot)
            if value is not None:
                return value
        return None

    def sql(target: CompileTarget) -> sa.ColumnElement[Any]:
        elements = [plain(p.sql(target)) if kind is Type.TEXT else p.sql(target) for p in parts]
        return sa.func.coalesce(*elements)

    return derived(kind, parts, run, sql, _where_either({p.type for p in parts}))


def chosen(condition: Typed, kind: Type, parts: Sequence[Typed]) -> Typed:
    """The first part if the condition is true, otherwise the second, or null without one."""
    first, *second = parts

    def run(row: Any, slot: Any) -> Value:
        if condition.run(row, slot) is True:
            return first.run(row, slot)
        return second[0].run(row, slot) if second else None

    def sql(target: CompileTarget) -> sa.ColumnElement[Any]:
        elements = [plain(p.sql(target)) if kind is Type.TEXT else p.sql(target) for p in parts]
        return sa.case((condition.sql(target), elements[0]), else_=elements[1] if second else sa.null())

    return derived(kind, (condition, *parts), run, sql, _where_either({p.type for p in parts}))


def _where_either(kinds: set[Type]) -> Mapping[str, Exactness]:
    if kinds in ({Type.TEXT}, {Type.INTEGER}):
        return EVERYWHERE
    if kinds <= {Type.INTEGER, Type.DECIMAL}:
        # DuckDB and MariaDB give the parts one type, and silently cut decimals when it cannot hold both.
        return _POSTGRES
    if kinds & {Type.FLOAT, Type.BYTES}:
        return FLOATS if kinds == {Type.FLOAT} else NOWHERE
    return SERVERS


def absolute(operand: Typed) -> Typed:
    """The number without its sign."""

    def run(row: Any, slot: Any) -> Value:
        value = operand.run(row, slot)
        return value.copy_abs() if isinstance(value, Decimal) else None if value is None else abs(value)  # type: ignore[arg-type]

    own = FLOATS if operand.type is Type.FLOAT else SERVERS
    return derived(operand.type, (operand,), run, lambda t: sa.func.abs(wide(operand, t)), own)


def round_to(operand: Typed, places: int) -> Typed:
    """Rounded to that many decimals, half away from zero."""

    def run(row: Any, slot: Any) -> Value:
        value = operand.run(row, slot)
        return None if value is None else rounded(value, places)  # type: ignore[arg-type]

    kind = Type.INTEGER if operand.type is Type.INTEGER else Type.DECIMAL
    own = SERVERS if operand.type is Type.DECIMAL else NOWHERE
    return derived(kind, (operand,), run, lambda t: sa.func.round(operand.sql(t), places), own)
