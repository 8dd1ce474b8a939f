"""The names of a dataset's records when their ids are read with other types. Pure."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from reconcile.findings.identity import decode, encode
from rules.values import Type, Value, canonical, canonical_instant, canonical_number
from rules.values.compact import encoder

_JSON = encoder()
_TAGS: Mapping[Type, str] = {
    Type.TEXT: "t",
    Type.INTEGER: "n",
    Type.DECIMAL: "n",
    Type.FLOAT: "n",
    Type.BOOLEAN: "b",
    Type.DATE: "d",
    Type.INSTANT: "i",
    Type.BYTES: "y",
}
"""The tag of each type in the canonical form of its values."""


@dataclass(frozen=True)
class RecordIds:
    """The columns of a dataset's id with their types: its records are named by them. No columns: by their content."""

    columns: tuple[str, ...]
    types: tuple[Type, ...]

    def names_like(self, other: RecordIds) -> bool:
        """Return True if a record has the same name with both."""
        return self.columns == other.columns and self._tags == other._tags

    def retyped(self, record: str) -> str | None:
        """Return the name of a record whose id has these types and the same text; None if that text is not canonical.

        `record` is named as in rules that read its dataset first.
        """
        parts = json.loads(record)
        if len(parts) != len(self.types):
            return None
        retyped = [_retyped(part, to) for part, to in zip(parts, self.types, strict=True)]
        return None if None in retyped else _JSON(retyped)

    @property
    def _tags(self) -> tuple[str, ...]:
        return tuple(_TAGS[kind] for kind in self.types)


def untyped(record: str) -> str:
    """Return a text that is equal for the names of records whose ids differ only in their types."""
    return _JSON([part and part[1] for part in json.loads(record)])


def retyped_values(stored: Sequence[Sequence[Any]], types: Mapping[str, Type]) -> list[list[Any]]:
    """Return stored values by column, those of these columns with their new types where the text is canonical."""
    return [
        [column, _retyped_value(value, types[column]) if column in types else value, *rest]
        for column, value, *rest in stored
    ]


def _retyped(part: list[str] | None, to: Type) -> list[str] | None:
    if part is None or part[0] == _TAGS[to]:  # only the name of an erased record has empty parts
        return part
    tag, text = part
    return [_TAGS[to], text] if tag != _TAGS[Type.BYTES] and _read(text, to) is not None else None


def _retyped_value(stored: Sequence[str] | None, to: Type) -> Sequence[str] | None:
    tagged = canonical(decode(stored))
    if tagged is None or tagged[0] in (_TAGS[to], _TAGS[Type.BYTES]):
        return stored
    value = _read(tagged[1], to)
    return stored if value is None else encode(value)


def _read(text: str, to: Type) -> Value:
    """Return the value of this type whose canonical form is the text; None without one."""
    try:
        match to:
            case Type.TEXT:
                return text
            case Type.INTEGER | Type.DECIMAL | Type.FLOAT:
                number = Decimal(text)
                is_canonical = number.is_finite() and canonical_number(number) == text
                if not is_canonical or (to is Type.INTEGER and "." in text):
                    return None
                return int(text) if to is Type.INTEGER else number
            case Type.BOOLEAN:
                return {"true": True, "false": False}.get(text)
            case Type.DATE:
                date = dt.date.fromisoformat(text)
                return date if date.isoformat() == text else None
            case Type.INSTANT:
                instant = dt.datetime.fromisoformat(text)
                return instant if instant.tzinfo is not None and canonical_instant(instant) == text else None
            case Type.BYTES:
                return None
    except (ValueError, InvalidOperation):  # it is no such value
        return None
