"""The setting `key` of a duplicates rule: a list of columns, `all`, or any of several such lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, field_validator

from rules.models import PART_SCHEMA, KeyPart, Strict, parse_part


def _key(value: Any) -> Any:
    return value if value is None or isinstance(value, (list, tuple)) else [value]


Parts = Annotated[tuple[Annotated[KeyPart, BeforeValidator(parse_part)], ...], BeforeValidator(_key)]


class AnyKey(Strict):
    """`key: {any: [[email], [phone], [name, birth_date]]}`: records are joined if one of these keys agrees."""

    any: tuple[Parts, ...]

    @field_validator("any", mode="before")
    @classmethod
    def _are_several(cls, keys: Any) -> Any:
        if not isinstance(keys, (list, tuple)) or len(keys) < 2:
            raise ValueError("needs two or more keys, like [[email], [phone]]; write a single key without it")
        return keys

    @field_validator("any")
    @classmethod
    def _differ(cls, keys: tuple[tuple[KeyPart, ...], ...]) -> tuple[tuple[KeyPart, ...], ...]:
        for parts in keys:
            check_parts(parts)
        if len({frozenset(map(repr, parts)) for parts in keys}) < len(keys):
            raise ValueError("has the same key twice; remove one")
        return keys


def check_parts(parts: tuple[KeyPart, ...]) -> None:
    """Raise ValueError for a key without columns, or with the same part twice."""
    if not parts:
        raise ValueError("a key needs at least one column")
    if len(set(map(repr, parts))) < len(parts):
        raise ValueError("the key names a column twice with the same normalisers; remove one")


def _form(key: Any) -> str:
    if key == "all":
        return "all"
    return "any" if isinstance(key, AnyKey) or (isinstance(key, dict) and set(key) == {"any"}) else "columns"


_PARTS_SCHEMA = [PART_SCHEMA, {"type": "array", "items": PART_SCHEMA, "minItems": 1}]
_ANY_SCHEMA = {
    "type": "object",
    "required": ["any"],
    "additionalProperties": False,
    "properties": {"any": {"type": "array", "items": {"anyOf": _PARTS_SCHEMA}, "minItems": 2}},
}
KeySetting = Annotated[
    Annotated[Literal["all"], Tag("all")] | Annotated[AnyKey, Tag("any")] | Annotated[Parts, Tag("columns"), Field()],
    Discriminator(_form),
    WithJsonSchema({"anyOf": [_ANY_SCHEMA, *_PARTS_SCHEMA]}),
]


def keys_of(
    key: Literal["all"] | AnyKey | tuple[KeyPart, ...],
) -> Iterator[tuple[tuple[str | int, ...], tuple[KeyPart, ...]]]:
    """Yield the path of each key in the rule, and its parts; none for `all`."""
    if isinstance(key, AnyKey):
        yield from ((("key", "any", number), parts) for number, parts in enumerate(key.any))
    elif key != "all":
        yield ("key",), key
