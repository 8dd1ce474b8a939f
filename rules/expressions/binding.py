"""Types a tree against a dataset: every column exists, and every operation takes its operands."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from rules.expressions import comparing, computing
from rules.expressions.calls import CALLS
from rules.expressions.hints import column_advice
from rules.expressions.parser import ExpressionError
from rules.expressions.tree import (
    Among,
    Binary,
    Constant,
    DurationLiteral,
    FunctionCall,
    IsNull,
    Like,
    Logic,
    Name,
    Negated,
    Node,
)
from rules.expressions.typed import EVERYWHERE, CompileTarget, Typed, computed
from rules.functions import DIALECTS
from rules.models.calendar import Calendar
from rules.normalise import Exactness
from rules.values import Column, Schema, Type, Value, filled

_TIMES = (Type.DATE, Type.INSTANT)


class Binder:
    """Types one expression against one schema; times without an offset are in that time zone."""

    def __init__(self, text: str, schema: Schema, timezone: str, calendar: Calendar) -> None:
        self.text = text
        self.schema = schema
        self.zone = ZoneInfo(timezone)
        self.calendar = calendar

    def error(self, node: Node, problem: str, advice: str = "") -> ExpressionError:
        return ExpressionError(self.text, node.at, problem, advice)

    def bind(self, node: Node) -> Typed:
        """Return the typed node; raises ExpressionError where types do not fit."""
        match node:
            case Constant():
                return self.constant(node)
            case Name():
                return self.name(node)
            case Binary():
                return self.binary(node)
            case Negated() if node.operator == "-":
                return computing.opposite(self.number(node.operand, "-"))
            case FunctionCall():
                return self.call(node)
        return self.test(node)

    def test(self, node: Node) -> Typed:
        match node:
            case Logic():
                return comparing.logic(node.operator, [self.condition(o) for o in node.operands])
            case Negated():
                return comparing.negation(self.condition(node.operand))
            case Among():
                operand = self.bind(node.operand)
                return comparing.among([self.alike(node, operand, self.bind(i)) for i in node.items])
            case Like():
                self.must_not_be_empty(node, node.pattern)
                return comparing.like(self.text_value(node.operand, "like"), node.pattern)
            case IsNull():
                return comparing.is_null(self.bind(node.operand))
        raise self.error(node, "A duration needs a time", "add it to a time or subtract it, like slot() - 90d")

    def constant(self, node: Constant) -> Typed:
        self.must_not_be_empty(node, node.value)
        return _constant(node)

    def must_not_be_empty(self, node: Node, value: Value) -> None:
        if value != filled(value):
            raise self.error(node, "An empty text equals nothing", "write x is null, or x is not null")

    def name(self, node: Name) -> Typed:
        if node.name not in self.schema:
            advice = column_advice(node.name, self.schema.names, self.text, node.at)
            raise self.error(node, f"There is no column `{node.name}`", advice)
        return _column(self.schema[node.name])

    def condition(self, node: Node) -> Typed:
        typed = self.bind(node)
        if typed.type is not Type.BOOLEAN:
            raise self.error(
                node, f"Expected a condition but this is of type {typed.type.value}", "compare it with a value"
            )
        return typed

    def number(self, node: Node, operation: str) -> Typed:
        typed = self.bind(node)
        if not typed.type.is_number:
            raise self.error(
                node, f"`{operation}` takes numbers but this is of type {typed.type.value}", _declare(typed.type)
            )
        return typed

    def text_value(self, node: Node, operation: str) -> Typed:
        typed = self.bind(node)
        if typed.type is not Type.TEXT:
            raise self.error(node, f"`{operation}` takes text but this is of type {typed.type.value}")
        return typed

    def binary(self, node: Binary) -> Typed:
        if node.operator not in ("+", "-", "*", "/"):
            left, right = self.alike(node, self.bind(node.left), self.bind(node.right))
            if left.type in (Type.BOOLEAN, Type.BYTES) and node.operator not in ("=", "<>"):
                raise self.error(node, f"Values of type {left.type.value} have no order", "compare them with = or <>")
            return comparing.compare(node.operator, left, right)
        if isinstance(node.right, DurationLiteral):
            return self.moved(node, node.right.by)
        numbers = self.number(node.left, node.operator), self.number(node.right, node.operator)
        return computing.arithmetic(node.operator, *numbers)

    def moved(self, node: Binary, by: dt.timedelta) -> Typed:
        moment = self.bind(node.left)
        if moment.type not in _TIMES or node.operator not in ("+", "-"):
            raise self.error(
                node, f"A duration cannot be used with {moment.type.value}", "add it to a time or subtract it"
            )
        if moment.type is Type.DATE and by % dt.timedelta(days=1):
            raise self.error(node.right, "A date moves by whole days", "write days or weeks, like 90d")
        return computing.shifted(node.operator, moment, by)

    def alike(self, node: Node, left: Typed, right: Typed) -> tuple[Typed, Typed]:
        """Return both sides in comparable types: numbers with numbers, a text literal as a date or instant."""
        if left.type is right.type or (left.type.is_number and right.type.is_number):
            return left, right
        if left.type in _TIMES and right.constant:
            return left, self.as_time(node, right, left.type)
        if right.type in _TIMES and left.constant:
            return self.as_time(node, left, right.type), right
        advice = _quotes(left, right) if Type.TEXT in (left.type, right.type) else ""
        if {left.type, right.type} == set(_TIMES):
            advice = "compare columns of one of the two types"
        raise self.error(node, f"Cannot compare {left.type.value} with {right.type.value}", advice)

    def as_time(self, node: Node, part: Typed, kind: Type) -> Typed:
        """Return a constant as a time: parsed from ISO text, or an instant's day in the time zone."""
        if part.type is kind:
            return part
        if part.type is Type.INSTANT:
            return computed(Type.DATE, lambda row, slot: _day(part.run(row, slot), self.zone))
        if part.literal is None or (kind is Type.DATE and len(part.literal) > len("2026-01-31")):
            raise self.error(node, f"Cannot compare {kind.value} with {part.type.value}", _times(kind))
        try:
            value = _read_time(part.literal, kind, self.zone)
        except (ValueError, OverflowError) as error:
            raise self.error(node, f"This text is not of type {kind.value}", _times(kind)) from error
        return computed(kind, lambda _row, _slot: value)

    def call(self, node: FunctionCall) -> Typed:
        if node.function in CALLS:
            return CALLS[node.function](self, node)
        match node.function:
            case "abs":
                return computing.absolute(self.number(node.arguments[0], "abs"))
            case "round":
                return self.round(node)
            case "coalesce":
                return self.coalesce(node)
            case "if":
                return self.chosen(node)
        return computed(Type.INSTANT, lambda _row, slot: slot)

    def round(self, node: FunctionCall) -> Typed:
        number, *places = node.arguments
        count = places[0].value if places and isinstance(places[0], Constant) else 0
        return computing.round_to(self.number(number, "round"), int(count))

    def coalesce(self, node: FunctionCall) -> Typed:
        return computing.coalesce(*self.of_one_kind(node, node.arguments))

    def chosen(self, node: FunctionCall) -> Typed:
        condition, *values = node.arguments
        return computing.chosen(self.condition(condition), *self.of_one_kind(node, values))

    def of_one_kind(self, node: Node, arguments: Sequence[Node]) -> tuple[Type, list[Typed]]:
        """Bind values one of which becomes the result: its type, and the values in comparable types."""
        parts = [self.bind(a) for a in arguments]
        times = next((p for p in parts if p.type in _TIMES and not p.constant), parts[0])
        parts = [self.alike(node, times, p)[1] for p in parts]
        kinds = {p.type for p in parts}
        return parts[0].type if len(kinds) == 1 else Type.DECIMAL, parts


def _constant(node: Constant) -> Typed:
    value = node.value
    kinds: Sequence[tuple[type, Type]] = ((bool, Type.BOOLEAN), (int, Type.INTEGER), (Decimal, Type.DECIMAL))
    kind = next((k for python, k in kinds if isinstance(value, python)), Type.TEXT)
    return computed(kind, lambda _row, _slot: value, value if isinstance(value, str) else None)


def _column(column: Column) -> Typed:
    def run(row: Any, _slot: Any) -> Value:
        return row[column.name]  # type: ignore[no-any-return]

    def sql(target: CompileTarget) -> sa.ColumnElement[Any]:
        element = target.columns[column.name]
        as_number = column.type is Type.BOOLEAN and target.dialect in ("mysql", "mariadb", "sqlite")
        return element != sa.literal(0, sa.Integer()) if as_number else element

    exact: dict[str, Exactness] = {d: "always" for d in DIALECTS if d == "duckdb" or column.pushable}
    own = exact if not column.pushable else EVERYWHERE
    return Typed(column.type, run, sql, own, stays_ascii=column.stays_ascii, is_jsonb=column.is_jsonb)


def _read_time(text: str, kind: Type, zone: ZoneInfo) -> dt.date | dt.datetime:
    if kind is Type.DATE:
        return dt.date.fromisoformat(text)
    value = dt.datetime.fromisoformat(text)
    return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(dt.UTC)


def _day(value: Value, zone: ZoneInfo) -> dt.date | None:
    try:
        return value.astimezone(zone).date() if isinstance(value, dt.datetime) else None
    except OverflowError:
        return None


def _times(kind: Type) -> str:
    return "write '2026-01-31'" if kind is Type.DATE else "write '2026-01-31', or '2026-01-31T12:00:00+01:00'"


def _quotes(left: Typed, right: Typed) -> str:
    """Return how to compare a text with something else."""
    constant, column = (left, right) if left.constant else (right, left)
    if not constant.type.is_number:
        return "a number is written without quotes"
    is_column = column.type is Type.TEXT and not column.constant
    declare = "declare a column of numbers as decimal or integer under columns:; " if is_column else ""
    return f"{declare}a text is written in single quotes"


def _declare(kind: Type) -> str:
    return "declare the column's type under columns:" if kind is Type.TEXT else ""
