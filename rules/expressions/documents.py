"""`json(document, 'customer.id')`: a value inside a JSON text."""

from __future__ import annotations

import functools
import json
import re
from typing import Any

from rules.expressions.typed import NOWHERE, Typed, derived, no_sql
from rules.values import Type, Value, filled

_INDEX = re.compile("0|[1-9][0-9]{0,8}")


class _Digits(str):
    """A number as it is written."""

    __slots__ = ()


def value_at(document: Typed, path: str) -> Typed:
    """The value at a path as text: a text, a number as it is written, true or false; null for anything else.

    Databases differ in numbers, repeated keys and texts that are not JSON, so Python reads each document.
    """
    keys = tuple(path.split("."))

    def run(row: Any, slot: Any) -> Value:
        text = document.run(row, slot)
        return filled(_at(text, keys)) if isinstance(text, str) else None

    return derived(Type.TEXT, (document,), run, no_sql, NOWHERE)


def _at(text: str, keys: tuple[str, ...]) -> str | None:
    value = _read(text)
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str) and _is_text(value) else None


def _is_text(value: str) -> bool:
    """Return False for half a character, which JSON can write and no database holds."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


@functools.lru_cache(maxsize=8)  # several values of one document follow one another
def _read(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


_DECODER = json.JSONDecoder(parse_float=_Digits, parse_int=_Digits, parse_constant=_refuse)
