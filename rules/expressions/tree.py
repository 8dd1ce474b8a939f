"""The tree of an expression. `at` is the offset in the text."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Node:
    """A part of an expression."""

    at: int

    @property
    def children(self) -> tuple[Node, ...]:
        return ()


@dataclass(frozen=True)
class Constant(Node):
    """A number, a text, true or false."""

    value: int | Decimal | str | bool


@dataclass(frozen=True)
class DurationLiteral(Node):
    """A duration such as 90d."""

    by: dt.timedelta


@dataclass(frozen=True)
class Name(Node):
    """A column, or in a group expression `records`."""

    name: str


@dataclass(frozen=True)
class Negated(Node):
    """`not x`, or `-x`."""

    operator: str
    operand: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class Binary(Node):
    """A comparison or one step of arithmetic."""

    operator: str
    left: Node
    right: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class Logic(Node):
    """Operands joined by `and`, or by `or`."""

    operator: str
    operands: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.operands


@dataclass(frozen=True)
class Among(Node):
    """`x in (…)`."""

    operand: Node
    items: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand, *self.items)


@dataclass(frozen=True)
class Like(Node):
    """`x like '…'`."""

    operand: Node
    pattern: str

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class IsNull(Node):
    """`x is null`."""

    operand: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class FunctionCall(Node):
    """A function with its arguments."""

    function: str
    arguments: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.arguments


def walk(root: Node) -> Iterator[Node]:
    """Yield every node, without recursion."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))
