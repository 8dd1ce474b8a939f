"""Expressions as trees that know how they are written and, from docs/rules.md alone, what they are of one record."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any
from zoneinfo import ZoneInfo

from tests.product.oracle.values import WHITE, Kind, Value, in_utc, is_blank, lower, rounded, seen, upper

Values = Mapping[str, Value]
EXACT = Context(prec=120)
QUOTIENT = Context(prec=38)
NUMBERS = ("integer", "decimal", "float")
SLOT = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Expression:
    """A part of a condition: its kind, its text, and its value. `parts` are what it is made of."""

    kind: Kind
    written: str
    value: Callable[[Values], Value]
    parts: tuple[Expression, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """The columns it reads."""
        below = frozenset(name for part in self.parts for name in part.columns)
        own = re.fullmatch(r'(?:\w+\()?"([^"]+)"\)?', self.written)
        return below if self.parts or own is None else frozenset([own[1]])

    @property
    def smaller(self) -> tuple[Expression, ...]:
        """Its parts of the same kind, which can take its place."""
        return tuple(part for part in self.parts if part.kind == self.kind)


def column(name: str, kind: Kind) -> Expression:
    """A column, or a figure of a group, by its name."""
    return Expression(kind, f'"{name}"', lambda values: values[name])


def figure(written: str, kind: Kind) -> Expression:
    """A figure of a group, such as `sum(amount)`."""
    return Expression(kind, written, lambda values: values[written])


def constant(kind: Kind, value: Value, zone: str = "UTC") -> Expression:
    """A constant; one of a time is written in quotes, without an offset where the zone is given."""
    if isinstance(value, str):
        return Expression(kind, "'" + value.replace("'", "''") + "'", lambda _: value)
    if isinstance(value, bool):
        return Expression(kind, str(value).lower(), lambda _: value)
    if isinstance(value, dt.datetime):
        instant = in_utc(value, zone)
        return Expression(kind, f"'{value.isoformat()}'", lambda _: instant)
    return Expression(kind, f"'{value}'" if isinstance(value, dt.date) else str(value), lambda _: value)


def slot() -> Expression:
    """The time the run is for."""
    return Expression("instant", "slot()", lambda _: SLOT)


def _of(kind: Kind, written: str, function: Callable[..., Value], *parts: Expression) -> Expression:
    """An expression that is null as soon as any part is."""

    def value(values: Values) -> Value:
        arguments = [part.value(values) for part in parts]
        return None if None in arguments else function(*arguments)

    return Expression(kind, written, value, parts)


COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: bool(left == right),
    "<>": lambda left, right: bool(left != right),
    "<": lambda left, right: bool(left < right),
    "<=": lambda left, right: bool(left <= right),
    ">": lambda left, right: bool(left > right),
    ">=": lambda left, right: bool(left >= right),
}


def compare(left: Expression, sign: str, right: Expression) -> Expression:
    """A comparison; text is compared by code point, as Python does."""
    return _of("boolean", f"{left.written} {sign} {right.written}", COMPARISONS[sign], left, right)


def negation(part: Expression) -> Expression:
    """`not`, with and without parentheses; the negation of null is null."""
    plain = re.fullmatch(r'"[^"]+"', part.written)
    return _of(
        "boolean", f"not {part.written}" if plain else f"not ({part.written})", lambda operand: not operand, part
    )


def both(left: Expression, right: Expression) -> Expression:
    """`and`: false as soon as one part is, else null as soon as one part is."""
    return Expression(
        "boolean",
        f"({left.written} and {right.written})",
        lambda values: _logic(values, left, right, end=False),
        (left, right),
    )


def either(left: Expression, right: Expression) -> Expression:
    """`or`: true as soon as one part is, else null as soon as one part is."""
    return Expression(
        "boolean",
        f"({left.written} or {right.written})",
        lambda values: _logic(values, left, right, end=True),
        (left, right),
    )


def _logic(values: Values, left: Expression, right: Expression, *, end: bool) -> bool | None:
    answers = (left.value(values), right.value(values))
    if end in answers:
        return end
    return None if None in answers else not end


def among(part: Expression, constants: Sequence[Expression], *, negated: bool = False) -> Expression:
    """`in`, or `not in`."""
    listed = ", ".join(item.written for item in constants)
    word = "not in" if negated else "in"
    return _of(
        "boolean",
        f"{part.written} {word} ({listed})",
        lambda operand, *rest: (operand in rest) != negated,
        part,
        *constants,
    )


def between(part: Expression, low: Expression, high: Expression, *, negated: bool = False) -> Expression:
    """`between`, both ends included; `x >= low and x <= high`, and the negation of that."""
    inside = both(compare(part, ">=", low), compare(part, "<=", high))
    word = "not between" if negated else "between"
    value = negation(inside).value if negated else inside.value
    return Expression("boolean", f"{part.written} {word} {low.written} and {high.written}", value, (part, low, high))


def like(part: Expression, pattern: str, *, negated: bool = False) -> Expression:
    """`like`: `%` is any characters, `_` one, everything else itself."""
    signs = {"%": ".*", "_": "."}
    regex = re.compile("".join(signs.get(sign, re.escape(sign)) for sign in pattern), re.DOTALL)
    word = "not like" if negated else "like"
    written = f"{part.written} {word} '" + pattern.replace("'", "''") + "'"
    return _of("boolean", written, lambda text: (regex.fullmatch(text) is not None) != negated, part)


def is_empty(part: Expression, *, negated: bool = False) -> Expression:
    """`is null`, or `is not null`."""
    word = "is not null" if negated else "is null"
    return Expression(
        "boolean", f"{part.written} {word}", lambda values: (part.value(values) is None) != negated, (part,)
    )


def arithmetic(left: Expression, sign: str, right: Expression) -> Expression:
    """An exact sum, difference, product or quotient."""

    def value(first: Decimal, second: Decimal) -> Value:
        if sign == "/":
            return QUOTIENT.divide(first, second) if second else None
        return {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}[sign](first, second)

    return _of("decimal", f"({left.written} {sign} {right.written})", value, left, right)


def moved(time: Expression, sign: str, duration: str, delta: dt.timedelta) -> Expression:
    """A date or instant with a duration added to it or taken from it."""
    factor = 1 if sign == "+" else -1

    def value(operand: Any) -> Value:
        try:
            shifted: Value = operand + factor * delta
        except OverflowError:
            return None
        return shifted

    return _of(time.kind, f"{time.written} {sign} {duration}", value, time)


def coalesce(*parts: Expression) -> Expression:
    """The first part that is not empty."""
    written = f"coalesce({', '.join(part.written for part in parts)})"

    def value(values: Values) -> Value:
        return next((candidate for part in parts if (candidate := part.value(values)) is not None), None)

    kind: Kind = parts[0].kind if len({part.kind for part in parts}) == 1 else "decimal"
    return Expression(kind, written, value, parts)


def chosen(condition: Expression, first: Expression, second: Expression) -> Expression:
    """`if`: the first part where the condition is true, else the second."""
    written = f"if({condition.written}, {first.written}, {second.written})"

    def value(values: Values) -> Value:
        return (first if condition.value(values) is True else second).value(values)

    kind: Kind = first.kind if first.kind == second.kind else "decimal"
    return Expression(kind, written, value, (condition, first, second))


def absolute(part: Expression) -> Expression:
    return _of(part.kind, f"abs({part.written})", abs, part)


def round_to(part: Expression, places: int) -> Expression:
    """`round`, with its places left out where they are none."""
    written = f"round({part.written}, {places})" if places else f"round({part.written})"
    return _of("decimal", written, lambda number: rounded(number, places), part)


def text_function(name: str, part: Expression) -> Expression:
    """`lower`, `upper` or `trim`; of a text that is blank afterwards nothing is left."""
    function = {"lower": lower, "upper": upper, "trim": lambda text: seen(text).strip(WHITE)}[name]
    return _of("text", f"{name}({part.written})", lambda text: _text(function(text)), part)


def _text(text: str) -> Value:
    return None if is_blank(text) else text


def length(part: Expression) -> Expression:
    """The number of code points."""
    return _of("integer", f"length({part.written})", lambda text: Decimal(len(text)), part)


def cut(name: str, part: Expression, number: int) -> Expression:
    """`prefix` or `suffix`: so many characters at the start or the end."""

    def value(text: str) -> Value:
        return _text(text[:number] if name == "prefix" else text[max(0, len(text) - number) :])

    return _of("text", f"{name}({part.written}, {number})", value, part)


def replace(part: Expression, old: str, new: str) -> Expression:
    """Every part of a text replaced."""
    return _of(
        "text", f"replace({part.written}, {_quoted(old)}, {_quoted(new)})", lambda text: _replaced(text, old, new), part
    )


def _replaced(text: str, old: str, new: str) -> Value:
    rest, result = text, ""
    while old in rest:
        before, _, rest = rest.partition(old)
        result += before + new
    return _text(result + rest)


def split_part(part: Expression, separator: str, number: int) -> Expression:
    """The part of that number; null where a text has fewer, or an empty one there."""

    def value(text: str) -> Value:
        for _ in range(number - 1):
            if separator not in text:
                return None
            _, _, text = text.partition(separator)
        return _text(text.partition(separator)[0])

    return _of("text", f"split_part({part.written}, {_quoted(separator)}, {number})", value, part)


def concat(*parts: Expression | str) -> Expression:
    """Texts joined; null if one is. A `str` is a constant that may be blank."""
    operands = [part for part in parts if isinstance(part, Expression)]
    written = ", ".join(part.written if isinstance(part, Expression) else _quoted(part) for part in parts)

    def value(*values: Any) -> Value:
        texts = iter(values)
        return "".join(next(texts) if isinstance(part, Expression) else part for part in parts)

    return _of("text", f"concat({written})", value, *operands)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def field(name: str, part: Expression, zone: str) -> Expression:
    """A field of a date, or of an instant in the dataset's zone."""

    def value(time: dt.date) -> Value:
        local = time.astimezone(ZoneInfo(zone)) if isinstance(time, dt.datetime) else time
        fields = {"year": local.year, "month": local.month, "quarter": -(-local.month // 3), "day": local.day}
        if isinstance(local, dt.datetime):
            fields["hour"] = local.hour
        return Decimal(fields.get(name, local.weekday() + 1))

    return _of("integer", f"{name}({part.written})", value, part)


def business_days(part: Expression, until: Expression, zone: str) -> Expression:
    """The days from Monday to Friday after one day, up to and with the other."""

    def value(first: dt.date, last: dt.date) -> Value:
        begin, end = (
            (time.astimezone(ZoneInfo(zone)) if isinstance(time, dt.datetime) else time).toordinal()
            for time in (first, last)
        )
        return Decimal(_workdays(begin, end) if begin <= end else -_workdays(end, begin))

    return _of("integer", f"business_days({part.written}, {until.written})", value, part, until)


def _workdays(begin: int, end: int) -> int:
    """Day 1 of the calendar was a Monday, so of each seven days in a row five are workdays."""
    weeks, rest = divmod(end - begin, 7)
    return 5 * weeks + sum((end - day) % 7 not in (6, 0) for day in range(rest))
