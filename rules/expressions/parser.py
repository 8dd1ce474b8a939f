"""Parses tokens into a tree by recursive descent. Depth and size are bounded: hostile text cannot exhaust the stack.

Splits text into tokens with positions, and defines the error for a mistake at a position.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeVar

from rules.document.mistakes import RuleError, short
from rules.expressions.hints import sign_advice, word_advice
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
from rules.models import parse_duration

MAX_LENGTH = 10_000
_KEYWORDS = frozenset(["and", "or", "not", "in", "between", "like", "is", "null", "true", "false"])

Kind = Literal["number", "duration", "text", "name", "quoted", "keyword", "sign", "end"]

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<duration>\d+(?:\.\d+)?(?:us|ms|s|m|h|d|w)\b)
      | (?P<number>\d+(?:\.\d+)?(?![\w.]))
      | (?P<text>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")+")
      | (?P<name>[^\W\d]\w*)
      | (?P<sign><>|<=|>=|[=<>+\-*/(),])""",
    re.VERBOSE,
)


class ExpressionError(RuleError):
    """An expression that cannot be used as written. `at` is the offset of the mistake, counted from 0."""

    def __init__(self, text: str, at: int, problem: str, advice: str = "") -> None:
        self.text = text
        self.at = at
        ending = f"; {advice}" if advice else ""
        stop = "" if ending.endswith("?") else "."
        super().__init__(f"{problem} at column {at + 1} of `{short(text, 120)}`{ending}{stop}")


@dataclass(frozen=True)
class Token:
    """One word of an expression: keywords in lower case, texts and quoted names without their quotes."""

    kind: Kind
    text: str
    at: int


def tokens(text: str) -> list[Token]:
    """Return the tokens of an expression, the last of kind `end`; raises ExpressionError for unreadable text."""
    if len(text) > MAX_LENGTH:
        raise RuleError(f"An expression may have up to {MAX_LENGTH:,} characters; this one has {len(text):,}.")
    result, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or "\x00" in match[0]:
            raise _unreadable(text, at)
        if match.lastgroup != "space":
            result.append(_token(match))
        at = match.end()
    return [*result, Token("end", "the end", len(text))]


def _token(match: re.Match[str]) -> Token:
    word, at = match[0], match.start()
    match match.lastgroup:
        case "text":
            return Token("text", word[1:-1].replace("''", "'"), at)
        case "quoted":
            return Token("quoted", word[1:-1].replace('""', '"'), at)
        case "name" if word.lower() in _KEYWORDS:
            return Token("keyword", word.lower(), at)
        case "number":
            return Token("number", word, at)
        case "duration":
            return Token("duration", word, at)
        case "name":
            return Token("name", word, at)
    return Token("sign", word, at)


def _unreadable(text: str, at: int) -> ExpressionError:
    if text[at].isdigit():
        return ExpressionError(text, at, "Cannot read the number", "write it with digits and one point, like 1250.50")
    return ExpressionError(text, at, f"Cannot read `{text[at]!s}`".replace("\x00", "NUL"), sign_advice(text, at))


MAX_DEPTH = 40
MAX_OPERANDS = 500
MAX_DIGITS = 38
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_BIGGEST = "split it into derived columns"
_NOT_SQL = {"null": "write x is null; nothing equals null", "=": "use = for equal and <> for not equal"}

_AnyNode = TypeVar("_AnyNode", bound=Node)


def tree(text: str) -> Node:
    """Parse an expression into a tree; raises ExpressionError with the column of the mistake."""
    return _Parser(text).expression()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.index = 0
        self.nesting = 0
        self.depths: dict[int, int] = {}

    @property
    def next(self) -> Token:
        return self.tokens[self.index]

    def take(self, *words: str) -> Token | None:
        """Consume and return the next token if it is one of these keywords or signs."""
        token = self.next
        if token.kind in ("keyword", "sign") and token.text in words:
            self.index += 1
            return token
        return None

    def expect(self, word: str, advice: str = "") -> Token:
        token = self.take(word)
        if token is None:
            raise self.error(f"Expected `{word}` but found {_shown(self.next)}", advice or self.word_advice())
        return token

    def error(self, problem: str, advice: str = "", at: int | None = None) -> ExpressionError:
        return ExpressionError(self.text, self.next.at if at is None else at, problem, advice)

    def bounded(self, node: _AnyNode) -> _AnyNode:
        """Return the node, unless it is too deep for recursive walks of the tree."""
        depth = 1 + max((self.depths[id(child)] for child in node.children), default=0)
        if depth > MAX_DEPTH:
            raise self.error("Nested too deeply", _BIGGEST, node.at)
        self.depths[id(node)] = depth
        return node

    def nested(self, read: Callable[[], Node]) -> Node:
        self.nesting += 1
        if self.nesting > MAX_DEPTH:
            raise self.error("Nested too deeply", _BIGGEST)
        node = read()
        self.nesting -= 1
        return node

    def expression(self) -> Node:
        node = self.either()
        if self.next.kind != "end":
            advice = "to compare twice, write a < b and b < c" if self.next.text in _COMPARISONS else ""
            raise self.error(f"Unexpected {_shown(self.next)}", advice or self.word_advice())
        return node

    def word_advice(self) -> str:
        before = self.tokens[self.index - 1] if self.index else self.next
        return word_advice(self.next.text, before.text if before.kind == "name" else "")

    def either(self) -> Node:
        return self.joined("or", lambda: self.joined("and", self.condition))

    def joined(self, word: str, read: Callable[[], Node]) -> Node:
        operands = [read()]
        while token := self.take(word):
            operands.append(read())
            if len(operands) > MAX_OPERANDS:
                raise self.error(f"More than {MAX_OPERANDS} conditions joined by `{word}`", at=token.at)
        return operands[0] if len(operands) == 1 else self.bounded(Logic(operands[0].at, word, tuple(operands)))

    def condition(self) -> Node:
        token = self.take("not")
        if token is None:
            return self.comparison()
        return self.bounded(Negated(token.at, "not", self.nested(self.condition)))

    def comparison(self) -> Node:
        left = self.sum()
        if token := self.take(*_COMPARISONS):
            return self.bounded(Binary(token.at, token.text, left, self.sum()))
        if token := self.take("is"):
            negated = self.take("not") is not None
            self.expect("null", "`is` works only with null; compare with = or <>")
            return self.turned(self.bounded(IsNull(token.at, left)), negated=negated)
        negation = self.take("not")
        if token := self.take("in", "between", "like"):
            read = {"in": self.among, "between": self.between, "like": self.like}[token.text]
            return self.turned(read(left, token), negated=negation is not None)
        if negation is not None:
            raise self.error(f"Expected `in`, `between` or `like` but found {_shown(self.next)}")
        return left

    def turned(self, node: Node, *, negated: bool) -> Node:
        return self.bounded(Negated(node.at, "not", node)) if negated else node

    def among(self, left: Node, token: Token) -> Node:
        self.expect("(", "write the values in brackets, like status in ('paid', 'open')")
        return self.bounded(Among(token.at, left, self.listed(self.sum)))

    def between(self, left: Node, token: Token) -> Node:
        low = self.sum()
        self.expect("and", "write x between 1 and 5")
        high = self.sum()
        bounds = self.bounded(Binary(token.at, ">=", left, low)), self.bounded(Binary(token.at, "<=", left, high))
        return self.bounded(Logic(token.at, "and", bounds))

    def like(self, left: Node, token: Token) -> Node:
        if self.next.kind != "text":
            raise self.error(f"Expected a pattern but found {_shown(self.next)}", "write it in quotes, like 'INV-%'")
        pattern = self.next.text
        self.index += 1
        return self.bounded(Like(token.at, left, pattern))

    def listed(self, read: Callable[[], Node]) -> tuple[Node, ...]:
        """Read a list up to the closing bracket, separated by commas; at least one item."""
        items = [read()]
        while token := self.take(","):
            items.append(read())
            if len(items) > MAX_OPERANDS:
                raise self.error(f"More than {MAX_OPERANDS} values in one list", at=token.at)
        self.expect(")")
        return tuple(items)

    def sum(self) -> Node:
        return self.chain(("+", "-"), self.product)

    def product(self) -> Node:
        return self.chain(("*", "/"), self.signed)

    def chain(self, operators: tuple[str, str], read: Callable[[], Node]) -> Node:
        node = read()
        while token := self.take(*operators):
            node = self.bounded(Binary(token.at, token.text, node, read()))
        return node

    def signed(self) -> Node:
        token = self.take("-")
        if token is None:
            return self.value()
        operand = self.nested(self.signed)
        if isinstance(operand, Constant) and not isinstance(operand.value, str | bool):
            return self.bounded(Constant(token.at, -operand.value))
        return self.bounded(Negated(token.at, "-", operand))

    def value(self) -> Node:
        if self.take("("):
            node = self.nested(self.either)
            self.expect(")")
            return node
        token = self.next
        self.index += 1
        match token.kind:
            case "number":
                return self.bounded(Constant(token.at, self.number(token)))
            case "text":
                return self.bounded(Constant(token.at, token.text))
            case "duration":
                return self.bounded(DurationLiteral(token.at, self.duration(token)))
            case "quoted":
                return self.bounded(Name(token.at, token.text))
            case "name":
                return self.call(token) if self.take("(") else self.bounded(Name(token.at, token.text))
            case "keyword" if token.text in ("true", "false"):
                return self.bounded(Constant(token.at, token.text == "true"))
        advice = _NOT_SQL.get(token.text, "") if token.kind in ("keyword", "sign") else ""
        if token.text == ">":
            advice = sign_advice(self.text, token.at - 1)
        raise self.error(f"Expected a value but found {_shown(token)}", advice, token.at)

    def call(self, name: Token) -> Node:
        if self.next.text == "*" and self.next.kind == "sign":
            advice = "`having` counts the records of a group with `records`, like records > 2"
            raise self.error(f"Cannot read `{name.text}(*)`", advice, name.at)
        arguments = () if self.take(")") else self.nested_arguments()
        return self.bounded(FunctionCall(name.at, name.text.lower(), arguments))

    def nested_arguments(self) -> tuple[Node, ...]:
        self.nesting += 1
        if self.nesting > MAX_DEPTH:
            raise self.error("Nested too deeply", _BIGGEST)
        arguments = self.listed(self.either)
        self.nesting -= 1
        return arguments

    def number(self, token: Token) -> int | Decimal:
        if len(token.text.replace(".", "")) > MAX_DIGITS:
            raise self.error(f"A number with more than {MAX_DIGITS} digits", at=token.at)
        return Decimal(token.text) if "." in token.text else int(token.text)

    def duration(self, token: Token) -> dt.timedelta:
        try:
            by: dt.timedelta = parse_duration(token.text)
        except ValueError as error:
            raise self.error("A duration longer than a hundred years", at=token.at) from error
        return by


def _shown(token: Token) -> str:
    if token.kind == "end":
        return "the end"
    return "a text" if token.kind == "text" else f"`{token.text}`"
