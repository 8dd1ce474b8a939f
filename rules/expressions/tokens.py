"""Splits text into tokens with positions, and defines the error for a mistake at a position."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rules.document.mistakes import short
from rules.errors import RuleError

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
_ADVICE = {
    "'": "close the text with a quote; write a quote inside it twice",
    '"': "close the column name with a double quote",
    **dict.fromkeys("‘’‚“”„«»", "write texts in straight single quotes"),
    "!": "write <> for not equal",
    ";": "remove the semicolon",
    "`": 'write a column name with spaces in double quotes, like "Order No"',
}


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
    return ExpressionError(text, at, f"Cannot read `{text[at]!s}`".replace("\x00", "NUL"), _ADVICE.get(text[at], ""))
