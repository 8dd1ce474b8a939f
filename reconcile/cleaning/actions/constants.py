"""Constants that a rule writes: refuse what the type of the column cannot hold, before anything is found."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from connectors.target import ColumnFacts, ColumnLimits
from rules.document.mistakes import short, suggestion

_BOOLEANS = frozenset({"true", "t", "yes", "y", "on", "1", "false", "f", "no", "n", "off", "0"})
_INTEGER = re.compile(r"[+-]?[0-9]+")
_TIMES_IN_WORDS = frozenset({"now", "today", "tomorrow", "yesterday", "epoch", "infinity", "-infinity"})
"""Words that PostgreSQL reads as times."""


def unfit(text: str, facts: ColumnFacts, *, is_whole: bool = True) -> str | None:
    """Return why a column cannot hold a text, as the end of a sentence; None if it can, or if that is unknown.

    `is_whole`: False for a text to which values of records are added.
    """
    limits = facts.limits
    if limits is None or (not is_whole and limits.kind != "text"):
        return None
    stripped = text.rstrip(" ") if limits.kind in ("text", "label") else text.strip()
    return _CHECKS[limits.kind](stripped, facts.type, limits)


def _integer(text: str, type_: str, limits: ColumnLimits) -> str | None:
    if not _INTEGER.fullmatch(text):
        return f"to {_kind(text)}, but its type `{type_}` holds whole numbers; write one, or choose another column"
    number = int(text)
    if (limits.least is not None and number < limits.least) or (
        limits.greatest is not None and number > limits.greatest
    ):
        span = f"{limits.least} to {limits.greatest}"
        return f"to {_kind(text)}, but its type `{type_}` holds {span}; write such a number, or widen the column"
    return None


def _number(text: str, type_: str, limits: ColumnLimits) -> str | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return f"to {_kind(text)}, but its type `{type_}` holds numbers; write one, or choose another column"
    if limits.least is not None and number < limits.least:
        return f"to {_kind(text)}, but its type `{type_}` holds none below {limits.least}; write a larger one"
    if limits.digits is not None and number.is_finite() and number.adjusted() < limits.digits[0]:
        whole, scale = limits.digits[0] - limits.digits[1], limits.digits[1]
        rounded = abs(number).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP) if number else number
        if rounded < Decimal(1).scaleb(whole):
            return None
    elif limits.digits is None or not number.is_finite():
        return None
    return f"to {_kind(text)}, but its type `{type_}` has too few digits; write a smaller one, or widen the column"


def _boolean(text: str, type_: str, _: ColumnLimits) -> str | None:
    if text.lower() in _BOOLEANS:
        return None
    return f"to {_kind(text)}, but its type `{type_}` holds true and false; write one of them"


def _length(text: str, type_: str, limits: ColumnLimits) -> str | None:
    if limits.length is None or len(text) <= limits.length:
        return None
    size = f"to a text of {len(text):,} characters, but its type `{type_}` holds {limits.length:,}"
    return f"{size}; shorten it, or widen the column"


def _label(text: str, type_: str, limits: ColumnLimits) -> str | None:
    is_mysql = type_.startswith("enum(")  # it ignores case, and takes the number of a label
    number = int(text) if is_mysql and text.isdecimal() else 0
    is_alike = is_mysql and text.casefold() in map(str.casefold, limits.labels)
    if text in limits.labels or is_alike or 0 < number <= len(limits.labels):
        return None
    name = "its enum" if is_mysql else f"its type `{type_}`"
    return f"to the text `{short(text)}`, but {name} has no such label; {suggestion(text, limits.labels)}"


def _time(text: str, type_: str, _: ColumnLimits) -> str | None:
    if text.lower() in _TIMES_IN_WORDS or any(character.isdigit() for character in text):
        return None
    return f"to {_kind(text)}, but its type `{type_}` holds times; write one like 2026-03-01"


def _uuid(text: str, type_: str, _: ColumnLimits) -> str | None:
    try:
        uuid.UUID(text)
    except ValueError:
        return f"to {_kind(text)}, but its type `{type_}` holds UUIDs; write one, or choose another column"
    return None


def _json(text: str, type_: str, _: ColumnLimits) -> str | None:
    try:
        json.loads(text)
    except ValueError:
        return f'to {_kind(text)}, but its type `{type_}` holds JSON; write it like \'{{"status": "duplicate"}}\''
    return None


def _kind(text: str) -> str:
    """Return the kind of a value with the value itself."""
    try:
        Decimal(text)
    except InvalidOperation:
        return f"the text `{short(text)}`"
    return f"the number {short(text)}"


_CHECKS: Mapping[str, Callable[[str, str, ColumnLimits], str | None]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "text": _length,
    "label": _label,
    "time": _time,
    "uuid": _uuid,
    "json": _json,
}
