"""Checks calls as they are written, before any dataset is read: the function's name and the form of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rules.expressions.hints import function_advice
from rules.expressions.parser import ExpressionError
from rules.expressions.tree import Constant, FunctionCall, Node, walk
from rules.normalise import NORMALISERS
from rules.normalise.text import MOST_CHARACTERS

Shape = Callable[[str, FunctionCall], None]
"""Raises ExpressionError with the place in the text of the expression."""


def check_calls(text: str, root: Node, functions: Iterable[str]) -> None:
    """Raise ExpressionError for a function that is not among these, or for arguments that do not fit it."""
    for node in walk(root):
        if not isinstance(node, FunctionCall):
            continue
        if node.function not in functions:
            advice = function_advice(node.function, functions, NORMALISERS)
            raise ExpressionError(text, node.at, f"There is no function `{node.function}`", advice)
        _SHAPES.get(node.function, _takes_one)(text, node)


def _takes_one(text: str, call: FunctionCall) -> None:
    if len(call.arguments) != 1:
        raise ExpressionError(text, call.at, f"`{call.function}` takes one value, not {len(call.arguments)}")


def _add_business_days(text: str, call: FunctionCall) -> None:
    _takes(text, call, 2, "a date and a number of days, like add_business_days(booked, 3)")


def _business_days(text: str, call: FunctionCall) -> None:
    _takes(text, call, 2, "two dates, like business_days(booked, paid)")


def _coalesce(text: str, call: FunctionCall) -> None:
    if not call.arguments:
        raise ExpressionError(text, call.at, "`coalesce` takes at least one value")


def _concat(text: str, call: FunctionCall) -> None:
    if len(call.arguments) < 2:
        raise ExpressionError(text, call.at, "`concat` takes two or more texts", "write concat(first, ' ', last)")
    if all(_is_blank(argument) for argument in call.arguments):
        raise ExpressionError(text, call.at, "`concat` takes at least one text that is not empty")


def _is_blank(argument: Node) -> bool:
    return isinstance(argument, Constant) and isinstance(argument.value, str) and not argument.value.strip()


def _cut(text: str, call: FunctionCall) -> None:
    _takes(text, call, 2, f"a text and a number of characters, like {call.function}(iban, 4)")
    _must_count(text, call, call.arguments[1], "number of characters")


def _if(text: str, call: FunctionCall) -> None:
    if len(call.arguments) not in (2, 3):
        problem = f"`if` takes a condition and two values, not {len(call.arguments)} parts"
        raise ExpressionError(text, call.at, problem, "write if(side = 'S', -amount, amount)")


def _json(text: str, call: FunctionCall) -> None:
    _takes(text, call, 2, "a text and a path, like json(payload, 'customer.id')")
    path = call.arguments[1]
    _must_be_filled(text, call, path)
    if isinstance(path, Constant) and "" in str(path.value).split("."):
        raise ExpressionError(text, path.at, "`json` takes names joined by single points", "write 'items.0.sku'")


def _replace(text: str, call: FunctionCall) -> None:
    _takes(text, call, 3, "a text, the part to replace and its replacement, like replace(iban, ' ', '')")
    _must_be_filled(text, call, call.arguments[1])
    _must_be_text(text, call, call.arguments[2])


def _round(text: str, call: FunctionCall) -> None:
    if len(call.arguments) not in (1, 2):
        problem = "`round` takes a number and a number of decimals"
        raise ExpressionError(text, call.at, problem, "write round(amount, 2)")
    places = call.arguments[-1] if len(call.arguments) == 2 else Constant(call.at, 0)
    if not isinstance(places, Constant) or type(places.value) is not int or not -18 <= places.value <= 18:
        raise ExpressionError(text, places.at, "`round` takes a whole number of decimals from -18 to 18")


def _slot(text: str, call: FunctionCall) -> None:
    if call.arguments:
        raise ExpressionError(text, call.at, "`slot` takes no value", "write slot() - 90d")


def _split_part(text: str, call: FunctionCall) -> None:
    _takes(text, call, 3, "a text, a separator and the number of the part, like split_part(reference, '/', 2)")
    _must_be_filled(text, call, call.arguments[1])
    _must_count(text, call, call.arguments[2], "number of the part")


def _takes(text: str, call: FunctionCall, count: int, expected: str) -> None:
    if len(call.arguments) != count:
        raise ExpressionError(text, call.at, f"`{call.function}` takes {expected}")


def _must_count(text: str, call: FunctionCall, node: Node, counted: str) -> None:
    value = node.value if isinstance(node, Constant) else None
    if type(value) is not int or not 1 <= value <= MOST_CHARACTERS:
        problem = f"`{call.function}` takes the {counted} as a whole number from 1 to {MOST_CHARACTERS}"
        raise ExpressionError(text, node.at, problem)


def _must_be_text(text: str, call: FunctionCall, node: Node) -> None:
    if not isinstance(node, Constant) or not isinstance(node.value, str):
        raise ExpressionError(text, node.at, f"`{call.function}` takes a text in single quotes here")


def _must_be_filled(text: str, call: FunctionCall, node: Node) -> None:
    _must_be_text(text, call, node)
    if isinstance(node, Constant) and node.value == "":
        raise ExpressionError(text, node.at, f"`{call.function}` takes a text of at least one character here")


_SHAPES: Mapping[str, Shape] = {
    "add_business_days": _add_business_days,
    "business_days": _business_days,
    "coalesce": _coalesce,
    "concat": _concat,
    "if": _if,
    "json": _json,
    "prefix": _cut,
    "replace": _replace,
    "round": _round,
    "slot": _slot,
    "split_part": _split_part,
    "suffix": _cut,
}
_OF_TEXT = ("date", "instant", "length", "lower", "number", "trim", "upper")
_OF_ONE_VALUE = (*_OF_TEXT, "abs", "day", "hour", "month", "quarter", "weekday", "year")
FUNCTIONS = tuple(sorted((*_SHAPES, *_OF_ONE_VALUE)))
AGGREGATES = ("count_distinct", "max", "min", "sum")
