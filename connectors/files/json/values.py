"""Values of JSON: numbers keep their written digits, nested values are JSON text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any


class Digits(str):
    """A number as it is written."""

    __slots__ = ()
    __repr__ = str.__str__  # so that the text of a whole record tells the number 1 from the text "1"


class NotJson(ValueError):
    """A value that no reader of JSON is sure about: NaN, an infinity, or an object with the same key twice."""

    def __init__(self, reason: str, remedy: str, token: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.remedy, self.token = reason, remedy, token


def _refuse(word: str) -> Any:
    raise NotJson(f"{word} is not JSON", "write null instead", word)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for number, key in enumerate(keys) if key in keys[:number])
        raise NotJson(f"an object has the key {repeated!r} twice", "rename one of them")
    return record


DECODER = json.JSONDecoder(parse_float=Digits, parse_int=Digits, parse_constant=_refuse, object_pairs_hook=_object)
TOO_DEEP = ("it is nested too deeply", "write it with fewer levels")
_INDEX = re.compile("0|[1-9][0-9]{0,8}")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|(-?[A-Za-z]+)')


def position_of(text: str, token: str, start: int) -> int:
    """The position of a word outside of strings; `start` if it is nowhere."""
    return next((match.start() for match in _TOKEN.finditer(text, start) if match[1] == token), start)


def at(record: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return the value at a path; None where it does not lead to one."""
    value: Any = record
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def cell(value: Any, nulls: frozenset[str]) -> str | None:
    """The text of a value. Raises UnicodeEncodeError for half of a character."""
    if value is None:
        return None
    text = str(value) if isinstance(value, str) else json_text(value)
    if not text.isascii():
        text.encode("utf-8")
    return None if text in nulls else text


def json_text(value: Any) -> str:
    """The value as JSON; numbers with their digits."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{json_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    return str(value) if isinstance(value, Digits) else json.dumps(value, ensure_ascii=False)
