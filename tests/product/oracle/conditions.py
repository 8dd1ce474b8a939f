"""Random expressions for the oracle: conditions of records and of groups, and derived columns."""

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from tests.product.oracle import expressions as o
from tests.product.oracle.case import Column
from tests.product.oracle.expressions import Expression
from tests.product.oracle.values import Kind

CONSTANTS: Mapping[Kind, tuple[Any, ...]] = {
    "text": (
        "A1",
        "a1",
        "ok",
        "void",
        "B-007",
        "EUR",
        "é",
        "it's",
        "20",
        "M",
        "ann@example.com",
        "A",
        "1",
        "\U0001f600",
    ),
    "integer": (Decimal(0), Decimal(1), Decimal(7), Decimal("2.5"), Decimal(20)),
    "decimal": (Decimal(0), Decimal("3.25"), Decimal("10.5"), Decimal(20), Decimal("0.05")),
    "float": (Decimal(0), Decimal("0.25"), Decimal("2.5"), Decimal(10)),
    "date": (dt.date(2026, 3, 1), dt.date(2026, 3, 2)),
    "instant": (
        dt.datetime(2026, 3, 1, 10, 10),  # noqa: DTZ001 - a time in the dataset's zone
        dt.datetime(2026, 3, 1, 10, 15, tzinfo=dt.UTC),
        dt.datetime(2026, 10, 25, 2, 30),  # noqa: DTZ001
    ),
}
DURATIONS: Mapping[Kind, tuple[tuple[str, dt.timedelta], ...]] = {
    "instant": (("15m", dt.timedelta(minutes=15)), ("6h", dt.timedelta(hours=6)), ("90d", dt.timedelta(days=90))),
    "date": (("1d", dt.timedelta(days=1)), ("2w", dt.timedelta(weeks=2))),
}
PATTERNS = ("A%", "%1", "_1", "%A%", "o_", "%\u0308%", "B-00_", "a\\%", "%", "20%", "__")
SIGNS = tuple(o.COMPARISONS)


def condition(draw: random.Random, kinds: Mapping[str, Kind], zone: str, depth: int = 2) -> Expression:
    """A condition over these columns."""
    if depth and draw.random() < 0.45:
        left, right = (condition(draw, kinds, zone, depth - 1) for _ in range(2))
        return draw.choice((o.both(left, right), o.either(left, right), o.negation(left)))
    name = draw.choice(list(kinds))
    part = _value(draw, o.column(name, kinds[name]), zone)
    alike = [second for second, kind in kinds.items() if _family(kind) == _family(part.kind) != "boolean"]
    if alike and draw.random() < 0.12:
        choice = draw.choice(alike)
        return o.compare(part, draw.choice(SIGNS), o.column(choice, kinds[choice]))
    return _about(draw, part, zone)


def _family(kind: Kind) -> Kind:
    return "decimal" if kind in o.NUMBERS else kind


def _value(draw: random.Random, part: Expression, zone: str) -> Expression:
    """The column itself, or something computed of it."""
    if draw.random() < 0.6 or part.kind == "boolean":
        return part
    if part.kind == "text":
        return draw.choice((_text(draw, part), o.coalesce(part, _constant(draw, part)), o.length(part)))
    if part.kind in DURATIONS and draw.random() < 0.6:
        days = o.business_days(part, o.constant("date", draw.choice(CONSTANTS["date"])), zone)
        fields = [o.field(name, part, zone) for name in ("year", "quarter", "month", "day", "weekday")]
        fields += [o.field("hour", part, zone)] if part.kind == "instant" else []
        return draw.choice((days, *fields))
    if part.kind in DURATIONS:
        return o.moved(part, draw.choice("+-"), *draw.choice(DURATIONS[part.kind]))
    return _number(draw, part)


SEPARATORS = ("/", "-", " ", "1", "A", "\u0308", "\U0001f600", "aa", "l")


def _text(draw: random.Random, part: Expression, depth: int = 1) -> Expression:
    """A function of a text, or of such a function."""
    if depth and draw.random() < 0.3:
        part = _text(draw, part, depth - 1)
    separator, number = draw.choice(SEPARATORS), draw.choice((1, 1, 2, 3))
    return draw.choice(
        (
            *(o.text_function(name, part) for name in ("lower", "trim", "upper")),
            *(o.cut(name, part, number) for name in ("prefix", "suffix")),
            o.replace(part, separator, draw.choice(("", " ", "A", "é", "\U0001f600"))),
            o.split_part(part, separator, number),
            o.concat(part, draw.choice(("", " ", "-", "é", "1")), part),
        )
    )


def _number(draw: random.Random, part: Expression) -> Expression:
    figure = o.constant("decimal", draw.choice((Decimal(0), Decimal(2), Decimal(4), Decimal("2.5"), Decimal(-5))))
    computed = [
        o.absolute(part),
        o.coalesce(part, figure),
        o.chosen(o.compare(part, draw.choice(SIGNS), figure), part, figure),
        o.arithmetic(part, draw.choice("+-*/"), figure),
        o.arithmetic(part, draw.choice("+-*"), part),
    ]
    if part.kind != "float":
        computed += [o.round_to(part, draw.choice((0, 1, -1)))]
    return draw.choice(computed)


def _constant(draw: random.Random, part: Expression, zone: str = "UTC") -> Expression:
    return o.constant(_family(part.kind), draw.choice(CONSTANTS[part.kind]), zone)


def _about(draw: random.Random, part: Expression, zone: str) -> Expression:
    if part.kind == "boolean":
        truth = o.compare(part, draw.choice(("=", "<>")), o.constant("boolean", draw.random() < 0.5))
        return draw.choice((part, o.negation(part), truth, o.is_empty(part), o.is_empty(part, negated=True)))
    negated = draw.random() < 0.4
    first, second = _constant(draw, part, zone), _constant(draw, part, zone)
    about = [
        *[o.compare(part, draw.choice(SIGNS), first)] * 3,
        o.is_empty(part, negated=negated),
        o.among(part, [first, second], negated=negated),
        o.between(part, first, second, negated=negated),
    ]
    if part.kind == "text":
        about += [o.like(part, draw.choice(PATTERNS), negated=negated)] * 2
    if part.kind == "instant":
        about += [o.compare(part, draw.choice(SIGNS), o.moved(o.slot(), "-", *draw.choice(DURATIONS["instant"])))]
    return draw.choice(about)


def derived(draw: random.Random, columns: Sequence[Column]) -> Expression:
    """A derived column of a text or a number."""
    usable = [column for column in columns if column.kind in ("text", "integer", "decimal")]
    chosen = draw.choice(usable)
    part = o.column(chosen.name, chosen.kind)
    if chosen.kind != "text":
        return _number(draw, part)
    choice = draw.choice([column.name for column in usable if column.kind == "text"])
    computed = (
        _text(draw, part),
        _text(draw, part),
        o.length(part),
        o.concat(part, draw.choice((" ", "-", "")), o.column(choice, "text")),
        o.coalesce(part, o.column(choice, "text")),
        o.chosen(o.compare(part, "<", o.column(choice, "text")), part, o.column(choice, "text")),
        o.coalesce(o.text_function("trim", o.column(choice, "text")), o.constant("text", "A1")),
    )
    return draw.choice(computed)


def having(draw: random.Random, kinds: Mapping[str, Kind], zone: str, depth: int = 1) -> Expression:
    """A condition over a group, which some group of two or more records can meet."""
    if depth and draw.random() < 0.4:
        left, right = (having(draw, kinds, zone, depth - 1) for _ in range(2))
        return draw.choice((o.both(left, right), o.either(left, right), o.negation(left)))
    ordered = {name: kind for name, kind in kinds.items() if kind != "boolean"}
    name = draw.choice(list(ordered))
    kind = ordered[name]
    function = draw.choice(("min", "max", "sum", "count_distinct", "records"))
    if function == "records":
        return o.compare(o.column("records", "integer"), ">=", o.constant("decimal", Decimal(draw.choice((2, 3)))))
    if function == "count_distinct":
        limit = o.constant("decimal", Decimal(draw.choice((1, 2))))
        return o.compare(o.figure(f'count_distinct("{name}")', "integer"), draw.choice((">=", "<=", "=")), limit)
    if function == "sum" and kind in o.NUMBERS:
        total = o.figure(f'sum("{name}")', "decimal")
        mean = o.arithmetic(total, "/", o.column("records", "integer"))
        left = draw.choice((total, total, o.absolute(total), o.round_to(mean, 1)))
        return o.compare(left, draw.choice(SIGNS), _constant(draw, o.column(name, kind)))
    part = o.figure(f'{draw.choice(("min", "max"))}("{name}")', kind)
    if draw.random() < 0.2:
        return o.is_empty(part, negated=draw.random() < 0.7)
    if draw.random() < 0.2:
        return o.compare(o.figure(f'min("{name}")', kind), draw.choice(SIGNS), o.figure(f'max("{name}")', kind))
    return o.compare(part, draw.choice(SIGNS), _constant(draw, part, zone))
