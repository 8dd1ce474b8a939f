"""The comparisons of a condition with constants, of which one that is false makes the condition false."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import NamedTuple

from rules.expressions.binding import Binder
from rules.expressions.parser import tree
from rules.expressions.tree import Among, Binary, FunctionCall, Logic, Name, Node, walk
from rules.models.calendar import ONLY_WEEKENDS
from rules.values import Schema, Type, Value

_TURNED = {"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Comparison(NamedTuple):
    """`column operator value`; `=` means equal to any of several values."""

    column: str
    operator: str
    values: tuple[Value, ...]


def comparisons(text: str, schema: Schema, timezone: str, slot: dt.datetime) -> Iterator[Comparison]:
    """Yield the comparisons of columns of the schema that a condition joins by `and`; none with floats.

    Other parts of the condition may be anything that was bound before, also derived columns.
    """
    binder, waiting = Binder(text, schema, timezone, ONLY_WEEKENDS), [tree(text)]
    while waiting:
        node = waiting.pop(0)
        match node:
            case Logic(operator="and", operands=operands):
                waiting = [*operands, *waiting]
            case Among(operand=Name() as name, items=items):
                yield from _comparison(binder, node, name, "=", items, slot)
            case Binary(operator=operator, left=Name() as name, right=value) if operator in _TURNED:
                yield from _comparison(binder, node, name, operator, (value,), slot)
            case Binary(operator=operator, left=value, right=Name() as name) if operator in _TURNED:
                yield from _comparison(binder, node, name, _TURNED[operator], (value,), slot)


def _comparison(
    binder: Binder, node: Node, name: Name, operator: str, items: tuple[Node, ...], slot: dt.datetime
) -> Iterator[Comparison]:
    parts = [part for item in items for part in walk(item)]
    if name.name not in binder.schema or any(
        isinstance(part, Name) or (isinstance(part, FunctionCall) and part.function != "slot") for part in parts
    ):
        return
    pairs = [binder.alike(node, binder.bind(name), binder.bind(item)) for item in items]
    values = tuple(value.run({}, slot) for _, value in pairs)
    is_exact = all(column.type is not Type.FLOAT and value.type is not Type.FLOAT for column, value in pairs)
    if is_exact and None not in values:
        yield Comparison(name.name, operator, values)
