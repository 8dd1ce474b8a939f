"""`json(document, 'customer.id')`: a value inside a JSON text."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from rules.expressions.typed import NOWHERE, CompileTarget, Typed, derived
from rules.functions import not_blank
from rules.normalise import Exactness
from rules.values import Type, Value, filled

_POSTGRES: Mapping[str, Exactness] = {"postgresql": "always"}
_SIGNED = re.compile(r"\s*[+-]\s*[0-9]+\s*|\s+[0-9]+\s*|[0-9]+\s+|0[0-9]+|[0-9]{10,}")
"""Names that PostgreSQL takes for places in a list, and we do not."""
_INDEX = re.compile("0|[1-9][0-9]{0,8}")


class _Digits(str):
    """A number as it is written."""

    __slots__ = ()


def value_at(document: Typed, path: str) -> Typed:
    """The value at a path as text: a text, a number as it is written, true or false; null for anything else.

    Databases differ in numbers, repeated keys and texts that are not JSON, so Python reads each document, except jsonb,
    where numbers and keys are as its texts have them.
    """
    keys = tuple(path.split("."))
    quoted = (key.replace("\\", "\\\\").replace('"', '\\"') for key in keys)
    written = "{" + ",".join(f'"{key}"' for key in quoted) + "}"
    own = _POSTGRES if document.is_jsonb and not any(_SIGNED.fullmatch(key) for key in keys) else NOWHERE

    def run(row: Any, slot: Any) -> Value:
        text = document.run(row, slot)
        return filled(_at(text, keys)) if isinstance(text, str) else None

    def sql(target: CompileTarget) -> sa.ColumnElement[Any]:
        place = sa.cast(sa.literal(written, sa.String()), sa.ARRAY(sa.Text()))
        whole = sa.cast(document.sql(target), JSONB())
        is_nested = sa.func.jsonb_typeof(whole.op("#>")(place)).in_(("object", "array"))
        text = sa.case((is_nested, sa.null()), else_=whole.op("#>>", return_type=sa.Text())(place))
        return not_blank(text, target.dialect)

    return derived(Type.TEXT, (document,), run, sql, own)


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
