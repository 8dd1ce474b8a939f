"""Expressions over a record and the one before it: `number - previous(number) > 1`.

`previous(x)` becomes a column of its own, which whoever orders the records fills.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from rules.expressions.expression import Expression
from rules.expressions.parser import ExpressionError, tree
from rules.expressions.shapes import FUNCTIONS, check_calls
from rules.expressions.tree import FunctionCall, Name, Node, walk
from rules.expressions.words import node_in_words

PREVIOUS = "previous"


@dataclass(frozen=True)
class OrderedExpression:
    """An expression as written that may use `previous(x)`."""

    text: str
    root: Node

    @cached_property
    def previous(self) -> Mapping[str, Expression]:
        """Each value of the previous record by its name, like `previous(number)`, in the order they appear."""
        calls = (node for node in walk(self.root) if isinstance(node, FunctionCall) and node.function == PREVIOUS)
        return {node_in_words(call): Expression(self.text, call.arguments[0]) for call in calls}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the record itself, each once, in the order they appear."""
        return tuple(name for name in self.expression.columns if name not in self.previous)

    @cached_property
    def expression(self) -> Expression:
        """The expression in which each `previous(x)` is a column."""
        return Expression(self.text, _with_columns(self.root))

    @property
    def in_words(self) -> str:
        return node_in_words(self.root)


def previous_of(column: str) -> str:
    """Return the name of a column's value in the previous record."""
    return node_in_words(FunctionCall(0, PREVIOUS, (Name(0, column),)))


def parse_ordered(text: str) -> OrderedExpression:
    """Parse an expression that may use `previous(x)`; raises ExpressionError with the column of the mistake."""
    root = tree(text)
    check_calls(text, root, (*FUNCTIONS, PREVIOUS))
    for node in walk(root):
        if isinstance(node, FunctionCall) and node.function == PREVIOUS:
            _check_previous(text, node)
    return OrderedExpression(text, root)


def _check_previous(text: str, call: FunctionCall) -> None:
    for node in walk(call.arguments[0]):
        if isinstance(node, FunctionCall) and node.function == PREVIOUS:
            raise ExpressionError(text, node.at, "`previous` cannot be inside `previous`")
    if not any(isinstance(node, Name) for node in walk(call.arguments[0])):
        raise ExpressionError(text, call.at, "`previous` takes a value of the record", "name a column in it")


def _with_columns(node: Any) -> Any:
    """Return a part of a tree in which each `previous(x)` is a column."""
    if isinstance(node, tuple):
        return tuple(map(_with_columns, node))
    if not isinstance(node, Node):
        return node
    if isinstance(node, FunctionCall) and node.function == PREVIOUS:
        return Name(node.at, node_in_words(node))
    return replace(node, **{each.name: _with_columns(getattr(node, each.name)) for each in fields(node)})
