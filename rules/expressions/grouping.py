"""Expressions over a group of records: `records`, `count_distinct(c)`, `sum(c)`, `min(c)`, `max(c)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from rules.document.mistakes import suggestion
from rules.expressions.binding import Binder
from rules.expressions.computing import EXACT
from rules.expressions.shapes import AGGREGATES
from rules.expressions.tree import FunctionCall, Name
from rules.expressions.typed import NOWHERE, Typed, no_sql
from rules.normalise.numbers import as_decimal
from rules.values import Column, Type, Value, canonical, order_key


class GroupBinder(Binder):
    """Types an expression over the rows of a group; columns are allowed only inside an aggregate."""

    def name(self, node: Name) -> Typed:
        if node.name == "records":
            return _over_rows(Type.INTEGER, len)
        if node.name in self.schema:
            raise self.error(
                node, f"A group has many values of `{node.name}`", f"write max({node.name}) or sum({node.name})"
            )
        raise self.error(node, f"A group has no `{node.name}`", "use records, count_distinct, sum, min or max")

    def call(self, node: FunctionCall) -> Typed:
        if node.function in AGGREGATES:
            return self.aggregate(node)
        return super().call(node)

    def aggregate(self, node: FunctionCall) -> Typed:
        [argument] = node.arguments
        if not isinstance(argument, Name):
            raise self.error(argument, f"`{node.function}` takes a column", "put the calculation into a derived column")
        column = self._column_of(argument)
        if node.function == "sum":
            if not column.type.is_number:
                raise self.error(argument, f"`sum` takes numbers but `{column.name}` is of type {column.type.value}")
            return _over_rows(_sum_type(column), lambda rows: _sum(_values(rows, column)))
        if node.function == "count_distinct":
            return _over_rows(Type.INTEGER, lambda rows: len({str(canonical(v)) for v in _values(rows, column)}))
        best: Callable[..., Any] = min if node.function == "min" else max
        return _over_rows(column.type, lambda rows: best(_values(rows, column), key=order_key, default=None))

    def _column_of(self, node: Name) -> Column:
        if node.name not in self.schema:
            raise self.error(node, f"There is no column `{node.name}`", suggestion(node.name, self.schema.names))
        return self.schema[node.name]


def _over_rows(kind: Type, run: Callable[[Any], Value]) -> Typed:
    return Typed(kind, lambda rows, _slot: run(rows), no_sql, NOWHERE)


def _values(rows: Sequence[Any], column: Column) -> list[Value]:
    return [value for row in rows if (value := row[column.name]) is not None]


def _sum_type(column: Column) -> Type:
    return Type.INTEGER if column.type is Type.INTEGER else Type.DECIMAL


def _sum(values: list[Any]) -> int | Decimal | None:
    """Return the exact sum; null without values, or if a value is not finite."""
    if not values or all(isinstance(v, int) for v in values):
        return sum(values) if values else None
    total = Decimal(0)
    for value in values:
        number = as_decimal(value)
        if number is None or not number.is_finite():
            return None
        total = EXACT.add(total, number)
    return total
