"""Comparisons, `in`, `like`, `is null`, `and`, `or`, `not`: SQL's three-valued logic, text by code point."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from rules.expressions.typed import EVERYWHERE, FLOATS, NOWHERE, TYPED, CompileTarget, Typed, decimal_shape, derived
from rules.functions import exact, plain
from rules.normalise import Exactness
from rules.normalise.numbers import as_decimal
from rules.values import Type, Value, canonical_number

# Redshift matches patterns by the collation of a column, and BigQuery's LIKE has no ESCAPE.
_LIKE: Mapping[str, Exactness] = {d: claim for d, claim in EVERYWHERE.items() if d not in ("redshift", "bigquery")}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MOST_PLACES, _MOST_DIGITS = 10, 28  # of a literal to which a column can always be widened


def compare(sign: str, left: Typed, right: Typed) -> Typed:
    """`left sign right`, for types that agree; null when either side is null."""
    judge, sided = _OPERATORS[sign], _comparable(left, right)

    def run(row: Any, slot: Any) -> Value:
        a, b = left.run(row, slot), right.run(row, slot)
        return None if a is None or b is None else bool(judge(sided(a), sided(b)))

    def sql(target: CompileTarget) -> sa.ColumnElement[Any]:
        return judge(*_sides(left, right, target))  # type: ignore[no-any-return]

    return derived(Type.BOOLEAN, (left, right), run, sql, _where(left, right))


def _comparable(left: Typed, right: Typed) -> Callable[[Any], Any]:
    """Return the preparation of a value after which Python's operators compare as ours."""
    kinds = {left.type, right.type}
    if Type.FLOAT not in kinds:
        return lambda value: value
    if kinds == {Type.FLOAT}:
        return lambda value: (value != value, 0 if value != value else value)  # noqa: PLR0124  NaN
    return _ordered


def _ordered(value: int | float | Decimal) -> tuple[bool, Any]:
    """Any number by its exact decimal value, NaN last; a float is its shortest form."""
    number = as_decimal(value)
    if number is None:
        number = Decimal(str(value))
    return number.is_nan(), 0 if number.is_nan() else number


def _sides(left: Typed, right: Typed, target: CompileTarget) -> tuple[sa.ColumnElement[Any], sa.ColumnElement[Any]]:
    a, b = left.sql(target), right.sql(target)
    if left.type is Type.TEXT:
        return exact(a), exact(b)
    if Type.FLOAT in (left.type, right.type):
        return tuple(sa.cast(x, sa.Double()) if t.constant else x for x, t in ((a, left), (b, right)))  # type: ignore[return-value]
    return a, b


def _where(left: Typed, right: Typed) -> dict[str, Exactness]:
    kinds = {left.type, right.type}
    if Type.BYTES in kinds:
        return dict(NOWHERE)
    if Type.FLOAT in kinds:
        return dict(FLOATS if kinds == {Type.FLOAT} or any(_is_float(t) for t in (left, right)) else NOWHERE)
    if kinds <= {Type.TEXT, Type.INTEGER, Type.BOOLEAN}:
        return dict(EVERYWHERE)
    # PostgreSQL's decimals have no greatest number of digits.
    return dict(TYPED) if all(_fits(t) for t in (left, right)) else {"postgresql": "always"}


def _fixed(part: Typed) -> Decimal | None:
    """Return the number of a literal; None for anything else."""
    if not part.constant or not part.type.is_number:
        return None
    value = part.run({}, _NO_SLOT)
    return Decimal(value) if isinstance(value, int | Decimal) else None


_NO_SLOT: Any = None  # numbers do not depend on the slot


def _is_float(part: Typed) -> bool:
    """Return True if a literal is exactly a float, by its shortest form: comparing floats then compares decimals."""
    value = _fixed(part)
    return value is not None and canonical_number(float(value)) == canonical_number(value)


def _fits(part: Typed) -> bool:
    value = _fixed(part)
    if value is None:
        return True
    digits, places = decimal_shape(value)
    return digits <= _MOST_DIGITS and places <= _MOST_PLACES


def among(pairs: Sequence[tuple[Typed, Typed]]) -> Typed:
    """`operand in (items)`: each pair is the operand and an item, in comparable types."""
    return logic("or", [compare("=", operand, item) for operand, item in pairs])


def is_null(operand: Typed) -> Typed:
    """`operand is null`: never null itself."""
    return derived(
        Type.BOOLEAN,
        (operand,),
        lambda row, slot: operand.run(row, slot) is None,
        lambda target: operand.sql(target).is_(None),
    )


def logic(word: str, operands: Sequence[Typed]) -> Typed:
    """Kleene's `and` and `or`: a false decides an `and`, a true an `or`; otherwise a null makes the result null."""
    decisive = word == "or"
    runs = [o.run for o in operands]

    def run(row: Any, slot: Any) -> Value:
        all_known = True
        for evaluate in runs:
            value = evaluate(row, slot)
            if value is decisive:
                return decisive
            all_known = all_known and value is not None
        return (not decisive) if all_known else None

    def sql(target: CompileTarget) -> sa.ColumnElement[Any]:
        parts = [o.sql(target) for o in operands]
        return sa.or_(*parts) if decisive else sa.and_(*parts)

    return derived(Type.BOOLEAN, operands, run, sql)


def negation(operand: Typed) -> Typed:
    """`not operand`: null stays null."""

    def run(row: Any, slot: Any) -> Value:
        value = operand.run(row, slot)
        return None if value is None else not value

    # In parentheses: SQLAlchemy writes none around a negated column, and NOT binds less tightly than IS NULL.
    return derived(Type.BOOLEAN, (operand,), run, lambda target: sa.Grouping(sa.not_(operand.sql(target))))


def like(operand: Typed, pattern: str) -> Typed:
    """`operand like pattern`: % is any text, _ one character, no escapes, case-sensitive."""
    matches = _matcher(pattern)

    def run(row: Any, slot: Any) -> Value:
        value = operand.run(row, slot)
        return matches(value) if isinstance(value, str) else None

    def sql(target: CompileTarget) -> sa.ColumnElement[Any]:
        text = plain(operand.sql(target))
        if target.dialect == "sqlite":
            # LIKE of SQLite ignores case; GLOB does not.
            return text.op("GLOB", is_comparison=True, return_type=sa.Boolean())(sa.literal(_glob(pattern)))
        return text.like(pattern.replace("|", "||"), escape="|")

    return derived(Type.BOOLEAN, (operand,), run, sql, _LIKE)


def _glob(pattern: str) -> str:
    return "".join({"%": "*", "_": "?"}.get(c, f"[{c}]" if c in "*?[" else c) for c in pattern)


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Return a matcher that takes time proportional to pattern times text: no backtracking over several %."""
    pieces = [re.compile("".join("." if c == "_" else re.escape(c) for c in p), re.DOTALL) for p in pattern.split("%")]
    lengths = [len(p) for p in pattern.split("%")]
    if len(pieces) == 1:
        return lambda text: pieces[0].fullmatch(text) is not None

    def matches(text: str) -> bool:
        end = len(text) - lengths[-1]
        at = lengths[0]
        if end < at or not pieces[0].match(text) or not pieces[-1].match(text, end):
            return False
        for piece, length in zip(pieces[1:-1], lengths[1:-1], strict=True):
            match = piece.search(text, at, end)
            if match is None:
                return False
            at = match.start() + length
        return True

    return matches
