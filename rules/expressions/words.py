"""Expressions in words, for people who do not write them: `status = 'open'` becomes "status is 'open'"."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

from rules.expressions.expression import parse, parse_group
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
    walk,
)

_Words = Callable[[Node], str]
_DUE = "the run's due time"
_PLAIN = re.compile(r"[^\W\d]\w*")
_LONGEST_LIST = 8
_COMPARISONS = {
    "=": "is",
    "<>": "is not",
    "<": "is less than",
    "<=": "is at most",
    ">": "is more than",
    ">=": "is at least",
}
_OF_TIMES = _COMPARISONS | {"<": "is before", "<=": "is at or before", ">": "is after", ">=": "is at or after"}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DATE = re.compile(r"\d{4}-\d\d-\d\d.*")
_OPPOSITES = {"=": "<>", "<>": "="}
_AGGREGATES = {
    "sum": "the sum of {}",
    "min": "the smallest {}",
    "max": "the largest {}",
    "count_distinct": "the number of different values of {}",
}
_UNITS = ((86_400_000_000, "day"), (3_600_000_000, "hour"), (60_000_000, "minute"), (1_000_000, "second"))


def condition_in_words(text: str) -> str:
    """Return a condition on a record in words. Raises ExpressionError if it cannot be parsed."""
    return _words(parse(text).root)


def group_in_words(text: str) -> str:
    """Return a condition on a group in words: `records` is the number of its records."""
    return _words(parse_group(text).root, of_group=True)


def node_in_words(node: Node) -> str:
    """Return a part of an expression on a record in words."""
    return _words(node)


def duration_in_words(length: dt.timedelta) -> str:
    """Return a duration in its largest whole unit: "15 minutes"."""
    micros = length // dt.timedelta(microseconds=1)
    size, unit = next(((size, unit) for size, unit in _UNITS if micros and micros % size == 0), (1, "microsecond"))
    number = micros // size
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"


def name_in_words(column: str) -> str:
    """Return a column's name, in quotes if it has blanks or signs."""
    return column if _PLAIN.fullmatch(column) else f'"{column}"'


def _words(node: Node, *, of_group: bool = False) -> str:
    def words(part: Node) -> str:
        return _words(part, of_group=of_group)

    match node:
        case Name(name=name):
            return "the number of records" if of_group and name == "records" else name_in_words(name)
        case Constant() | DurationLiteral():
            return _constant(node)
        case FunctionCall():
            return _call(node, [words(argument) for argument in node.arguments])
        case Negated(operator="-", operand=operand):
            return f"-{_inside(operand, words(operand))}"
        case Negated(operand=operand):
            return _negated(operand, words)
        case Logic(operator=operator, operands=operands):
            return f" {operator} ".join(_inside(operand, words(operand)) for operand in operands)
        case Binary():
            return _binary(node, words)
    return _judged(node, words, "is")


def _constant(node: Constant | DurationLiteral) -> str:
    if isinstance(node, DurationLiteral):
        return duration_in_words(node.by)
    if isinstance(node.value, str):
        return f"'{node.value}'"
    return str(node.value).lower()


def _judged(node: Node, words: _Words, verb: str) -> str:
    """Return a condition with a verb: `is` or `is not`."""
    match node:
        case Among(operand=operand, items=items):
            listed = [words(item) for item in items[:_LONGEST_LIST]]
            if len(items) > _LONGEST_LIST:
                listed.append(f"{len(items) - _LONGEST_LIST:,} more values")
            return f"{words(operand)} {verb} {_any_of(listed)}"
        case Like(operand=operand, pattern=pattern):
            return f"{words(operand)} {_like(pattern, is_negated=verb != 'is')}"
        case IsNull(operand=operand):
            return f"{words(operand)} {verb} empty"
    raise TypeError(f"an expression has no {type(node).__name__}")


def _negated(operand: Node, words: _Words) -> str:
    match operand:
        case Among() | Like() | IsNull():
            return _judged(operand, words, "is not")
        case Binary(operator=operator) if operator in _OPPOSITES:
            return _binary(operand, words, _OPPOSITES[operator])
    return f"not ({words(operand)})"


def _binary(node: Binary, words: _Words, operator: str | None = None) -> str:
    sign = operator or node.operator
    if sign not in _COMPARISONS:
        if isinstance(node.right, DurationLiteral):
            return f"{words(node.right)} {'before' if sign == '-' else 'after'} {words(node.left)}"
        return f"{_inside(node.left, words(node.left))} {sign} {_inside(node.right, words(node.right))}"
    verbs = _COMPARISONS
    match node.right:
        case Binary(operator="-", right=DurationLiteral()):  # a > b - 15m: a is less than 15 minutes before b
            sign = _TURNED.get(sign, sign)
        case Binary(operator="+", right=DurationLiteral()):
            pass
        case _ if any(_is_time(part) for part in (*walk(node.left), *walk(node.right))):
            verbs = _OF_TIMES
    return f"{words(node.left)} {verbs[sign]} {words(node.right)}"


def _is_time(node: Node) -> bool:
    match node:
        case DurationLiteral() | FunctionCall(function="slot"):
            return True
        case Constant(value=str(text)):
            return _DATE.fullmatch(text) is not None
    return False


def _inside(node: Node, text: str) -> str:
    """Return the text of an operand, in brackets where it could be read otherwise."""
    is_sum = isinstance(node, Binary) and node.operator in ("+", "-") and not isinstance(node.right, DurationLiteral)
    return f"({text})" if isinstance(node, Logic) or is_sum else text


def _call(node: FunctionCall, arguments: list[str]) -> str:
    if node.function == "slot":
        return _DUE
    if node.function in _AGGREGATES:
        return _AGGREGATES[node.function].format(*arguments)
    return f"{node.function}({', '.join(arguments)})"


def _any_of(listed: list[str]) -> str:
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"


def _like(pattern: str, *, is_negated: bool) -> str:
    verbs = ("does not begin", "does not end", "does not contain") if is_negated else ("begins", "ends", "contains")
    bare = pattern.strip("%")
    if "_" not in pattern and "%" not in bare and bare:
        if pattern == f"{bare}%":
            return f"{verbs[0]} with '{bare}'"
        if pattern == f"%{bare}":
            return f"{verbs[1]} with '{bare}'"
        if pattern == f"%{bare}%":
            return f"{verbs[2]} '{bare}'"
    return f"{'does not match' if is_negated else 'matches'} the pattern '{pattern}'"
