"""Detects conditions that no record can meet, from comparisons of one value with constants. Pure.

Answers err on one side: "impossible" is certain; anything not analysed here counts as possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil, floor
from typing import Any

from rules.expressions.tree import Among, Binary, Constant, FunctionCall, IsNull, Like, Logic, Name, Negated, Node, walk

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_TURNED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_MOST_CHOICES = 8
Term = str
"""A column, `records`, or an aggregate over a column, like `min(amount)`."""
_Bound = tuple[Any, bool]


@dataclass(frozen=True)
class Range:
    """The values that are still possible. A bound is a constant and True if the value can equal it."""

    low: _Bound | None = None
    high: _Bound | None = None
    among: frozenset[Any] | None = None
    excluded: frozenset[Any] = frozenset()
    is_null: bool | None = None
    is_whole: bool = False

    @property
    def is_fixed(self) -> bool:
        """Return True if only one value is left, or only null."""
        is_one = self.among is not None and len(self.among) == 1
        return bool(self.is_null) or is_one or (self.low is not None and self.low == self.high)

    @property
    def is_empty(self) -> bool:
        """Return True if no value is left."""
        if self.among is not None:
            return not any(self._holds(value) for value in self.among)
        if self.low is None or self.high is None:
            return False
        (low, with_low), (high, with_high) = self.low, self.high
        if self.is_whole:
            low, with_low = (ceil(low) if with_low else floor(low) + 1), True
            high, with_high = (floor(high) if with_high else ceil(high) - 1), True
        return bool(low > high or (low == high and not (with_low and with_high and low not in self.excluded)))

    def _holds(self, value: Any) -> bool:
        above = self.low is None or value > self.low[0] or (value == self.low[0] and self.low[1])
        below = self.high is None or value < self.high[0] or (value == self.high[0] and self.high[1])
        is_whole = not self.is_whole or value == floor(value)
        return bool(above and below and is_whole and value not in self.excluded)

    def compared(self, operator: str, value: Any) -> Range:
        """Return the range narrowed by `operator value`."""
        match operator:
            case "=":
                return replace(self, among=frozenset({value}) & (self.among or {value}))
            case "<>":
                return replace(self, excluded=self.excluded | {value})
            case "<" | "<=":
                high = (value, operator == "<=")
                return self if self.high and self.high < high else replace(self, high=high)
        low = (value, operator == ">=")
        is_higher = self.low is not None and (self.low[0], not self.low[1]) > (value, not low[1])
        return self if is_higher else replace(self, low=low)


Ranges = Mapping[Term, Range]


def narrowed(conditions: Iterable[Node], ranges: Ranges) -> Ranges | None:
    """Return the range of each term if all conditions hold; None if they cannot. An `or` narrows nothing."""
    waiting = [(node, True) for node in conditions]
    choices = sum(isinstance(node, Logic) for root, _ in waiting for node in walk(root))
    return _narrowed(waiting, dict(ranges), follow=choices <= _MOST_CHOICES)


def _narrowed(waiting: list[tuple[Node, bool]], ranges: dict[Term, Range], *, follow: bool) -> Ranges | None:
    choices: list[list[tuple[Node, bool]]] = []
    while waiting:
        node, expected = waiting.pop()
        if isinstance(node, Negated) and node.operator == "not":
            waiting.append((node.operand, not expected))
        elif isinstance(node, Logic) and (node.operator == "and") == expected:
            waiting += [(operand, expected) for operand in node.operands]
        elif isinstance(node, Logic):
            choices.append([(operand, expected) for operand in node.operands])
        elif not _narrow(node, ranges, expected=expected):
            return None
    if follow and choices:
        first, others = choices[0], [condition for choice in choices[1:] for condition in _joined(choice)]
        if all(_narrowed([condition, *others], dict(ranges), follow=True) is None for condition in first):
            return None
    return ranges


def _joined(choice: list[tuple[Node, bool]]) -> list[tuple[Node, bool]]:
    """Join the choice into one condition again."""
    [(operand, expected), *_] = choice
    return [(Logic(operand.at, "or" if expected else "and", tuple(node for node, _ in choice)), expected)]


def _narrow(node: Node, ranges: dict[Term, Range], *, expected: bool) -> bool:
    """Narrow the term of one comparison; return False if it cannot have the expected truth value."""
    match node:
        case Constant(value=bool() as value):
            return value is expected
        case IsNull(operand=operand):
            return _can_be(operand, ranges, null=expected)
        case Name():
            return _compared(node, "=", expected, ranges)
        case Like(operand=operand):
            return _can_be(operand, ranges, null=False)
        case Among(operand=operand, items=items):
            values = [_constant(item) for item in items]
            return _among(operand, values, ranges) if expected else _none_of(operand, values, ranges)
        case Binary(operator=operator, left=left, right=right) if operator in _OPPOSITE:
            return _sides(left, operator if expected else _OPPOSITE[operator], right, ranges)
    return True


def _sides(left: Node, sign: str, right: Node, ranges: dict[Term, Range]) -> bool:
    first, second = _constant(left), _constant(right)
    if first is not None and second is not None:
        is_known = _kind(first) is not None and _kind(first) == _kind(second)
        return not is_known or not Range().compared("=", first).compared(sign, second).is_empty
    if second is not None:
        return _compared(left, sign, second, ranges)
    if first is not None:
        return _compared(right, _TURNED[sign], first, ranges)
    filled = [_can_be(side, ranges, null=False) for side in (left, right)]
    return all(filled) and _ends(left, sign, right, ranges)


def _ends(left: Node, sign: str, right: Node, ranges: Ranges) -> bool:
    """Return False for an impossible comparison of `min(c)` with `max(c)` of one column."""
    terms = [str(_term(left)), str(_term(right))]
    if terms[0].startswith("max("):
        terms, sign = terms[::-1], _TURNED[sign]
    column = terms[0].removeprefix("min")
    if terms != [f"min{column}", f"max{column}"]:
        return True
    count = ranges.get(f"count_distinct{column}", Range()).high
    is_one = count is not None and count[0] <= 1
    return sign != ">" and not (is_one and sign in ("<", "<>"))


def _compared(node: Node, sign: str, value: Any, ranges: dict[Term, Range]) -> bool:
    term = _term(node)
    if term is None:
        return True
    is_filled = _can_be(node, ranges, null=False)
    if is_filled and _kind(value) is not None and all(_kind(end) == _kind(value) for end in _values(ranges[term])):
        ranges[term] = ranges[term].compared(sign, value)
    return is_filled and not ranges[term].is_empty


def _among(operand: Node, values: list[Any], ranges: dict[Term, Range]) -> bool:
    term, kinds = _term(operand), {_kind(value) for value in values}
    if term is None:
        return True
    is_filled = _can_be(operand, ranges, null=False)
    previous = ranges[term]
    if len(kinds) == 1 and None not in kinds and all(_kind(constant) in kinds for constant in _values(previous)):
        among = frozenset(values) if previous.among is None else previous.among & {*values}
        ranges[term] = replace(previous, among=among)
    return is_filled and not ranges[term].is_empty


def _none_of(operand: Node, values: list[Any], ranges: dict[Term, Range]) -> bool:
    return all(_compared(operand, "<>", value, ranges) for value in values)


def _can_be(node: Node, ranges: dict[Term, Range], *, null: bool) -> bool:
    """Return True if the term can be null, or not null, as `null` says."""
    term = _term(node)
    if term is None:
        return True
    previous = ranges.get(term, Range())
    ranges[term] = replace(previous, is_null=null)
    return previous.is_null in (None, null)


def _values(range_: Range) -> list[Any]:
    ends = [end[0] for end in (range_.low, range_.high) if end is not None]
    return [*ends, *(range_.among or ()), *range_.excluded]


def _term(node: Node) -> Term | None:
    match node:
        case Name(name=name):
            return name
        case FunctionCall(function=function, arguments=(Name(name=name),)) if function in (
            "count_distinct",
            "min",
            "max",
            "sum",
        ):
            return f"{function}({name})"
    return None


def _constant(node: Node) -> Any:
    match node:
        case Constant(value=value):
            return value
        case Negated(operator="-", operand=Constant(value=int() | Decimal() as value)):
            return -value
    return None


def _kind(value: Any) -> str | None:
    """Return the kind of a comparable constant; None for others, such as texts that may be dates or empty."""
    match value:
        case bool():
            return "boolean"
        case int() | Decimal():
            return "number"
        case str() if value.strip() and not value.lstrip()[0].isdigit():
            return "text"
    return None
