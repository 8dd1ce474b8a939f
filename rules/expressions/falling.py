"""Conditions over a group that can only stop to hold when a record leaves it. Pure."""

from __future__ import annotations

import enum

from rules.expressions.tree import Binary, Constant, DurationLiteral, FunctionCall, Logic, Name, Node

_LARGER = {">": ("left", "right"), ">=": ("left", "right"), "<": ("right", "left"), "<=": ("right", "left")}
"""Comparisons, with the operand that must be the larger one first."""


class Direction(enum.Flag):
    """The directions in which a value cannot go when a record leaves; it may become null."""

    NEITHER = 0
    NEVER_UP = enum.auto()
    NEVER_DOWN = enum.auto()
    STEADY = NEVER_UP | NEVER_DOWN


def falls(condition: Node) -> bool:
    """Return True if the condition never becomes true because a record leaves the group."""
    if isinstance(condition, Logic):
        return all(map(falls, condition.operands))
    if not isinstance(condition, Binary) or condition.operator not in _LARGER:
        return False
    larger, smaller = (getattr(condition, side) for side in _LARGER[condition.operator])
    return Direction.NEVER_UP in _direction(larger) and Direction.NEVER_DOWN in _direction(smaller)


def _direction(node: Node) -> Direction:
    match node:
        case Constant() | DurationLiteral():
            return Direction.STEADY
        case Name(name="records") | FunctionCall(function="count_distinct" | "max"):
            return Direction.NEVER_UP
        case FunctionCall(function="min"):
            return Direction.NEVER_DOWN
        case Binary(operator="-"):
            return _direction(node.left) & _turned(_direction(node.right))
    return Direction.NEITHER


def _turned(direction: Direction) -> Direction:
    turned = Direction.NEITHER
    turned |= Direction.NEVER_DOWN if Direction.NEVER_UP in direction else Direction.NEITHER
    return turned | (Direction.NEVER_UP if Direction.NEVER_DOWN in direction else Direction.NEITHER)
