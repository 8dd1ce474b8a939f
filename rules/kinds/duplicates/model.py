"""The settings of a duplicates rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from rules.document.mistakes import suggestion
from rules.expressions import parse_group
from rules.kinds.base import JudgedPairs, Rule, SettingPath
from rules.kinds.duplicates.anykey import AnyKey, KeySetting, check_parts, keys_of
from rules.kinds.duplicates.spans import SPAN_SCHEMA, MaximumDistance, Overlap, Span, parse_span
from rules.models import Keep, KeyPart, as_list


def _keep(value: Any) -> Any:
    if isinstance(value, Keep):
        return value
    if value == "most_complete":
        return {"how": "most_complete"}
    if isinstance(value, dict) and len(value) == 1:
        [(how, argument)] = value.items()
        if how == "prefer" and isinstance(argument, dict) and len(argument) == 1:
            [(column, order)] = argument.items()
            return {"how": how, "column": column, "prefer": as_list(order)}
        if how in ("first", "last", "max", "min") and isinstance(argument, str):
            return {"how": how, "column": argument}
    raise ValueError(
        "write a line of keep as most_complete, {first: column}, {last: column}, {max: column}, {min: column} "
        "or {prefer: {column: [best, next]}}"
    )


def _pair(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and len(value) == 2:
        ids = tuple(tuple(record) if isinstance(record, (list, tuple)) else (record,) for record in value)
        if ids[0] != ids[1] and all(isinstance(part, str) for record in ids for part in record):
            return ids
    raise ValueError("write a line of except as two different ids: [id, id]; an id of two columns is itself a list")


_KEEP_SCHEMA = {
    "anyOf": [
        {"const": "most_complete"},
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
            "properties": {how: {"type": "string"} for how in ("first", "last", "max", "min")}
            | {"prefer": {"type": "object", "minProperties": 1, "maxProperties": 1}},
        },
    ]
}
_PAIR_SCHEMA = {"type": "array", "minItems": 2, "maxItems": 2}


def _one_or_list(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "array", "items": schema, "minItems": 1}]}


class DuplicatesRule(Rule):
    """The settings of kind `duplicates`, described in docs/rules.md.

    `except_` holds pairs of record ids; each id is a tuple with one text per column of the dataset's `id`.
    """

    not_matching: ClassVar[frozenset[str]] = Rule.not_matching | {"keep"}
    expressions: ClassVar[Mapping[str, Callable[[str], object]]] = {**Rule.expressions, "having": parse_group}

    kind: Literal["duplicates"] = "duplicates"
    key: KeySetting = Field(
        description="The columns, with normalisers, that are equal in duplicates; all; or any of several."
    )
    max_shared: int = Field(
        default=50, ge=2, description="With any of several keys, the most records that one value joins."
    )
    nulls: dict[str, Literal["match"]] = Field(
        default_factory=dict, description="Columns of the key whose empty values match each other."
    )
    except_: tuple[
        Annotated[tuple[tuple[str, ...], tuple[str, ...]], BeforeValidator(_pair), WithJsonSchema(_PAIR_SCHEMA)],
        ...,
    ] = Field(default=(), alias="except", description="Pairs of record ids known to be different.")
    gap: Annotated[MaximumDistance, BeforeValidator(parse_span), WithJsonSchema(SPAN_SCHEMA)] | None = Field(
        default=None, description="The largest distance between two neighbours of a group, which is a chain."
    )
    window: Annotated[MaximumDistance, BeforeValidator(parse_span), WithJsonSchema(SPAN_SCHEMA)] | None = Field(
        default=None, description="The largest distance from the earliest record of a group."
    )
    overlap: Overlap | None = Field(
        default=None, description="The columns of a period: {from: start, to: end}; records whose periods overlap."
    )
    distinct: str | None = Field(default=None, description="A column that must differ inside a group.")
    having: str | None = Field(default=None, description="A condition over the group, e.g. sum(amount) > 100.")
    minimum: int = Field(default=2, ge=2, description="The fewest records of a group.")
    keep: Annotated[
        tuple[Annotated[Keep, BeforeValidator(_keep)], ...],
        BeforeValidator(as_list),
        WithJsonSchema(_one_or_list(_KEEP_SCHEMA)),
    ] = Field(default=(), description="The criteria that choose the record to keep, most important first.")

    _judged: JudgedPairs = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _fits_together(self) -> DuplicatesRule:
        spans = [name for name in ("gap", "window", "overlap") if getattr(self, name)]
        if len(spans) > 1:
            raise ValueError(f"{' and '.join(spans)} cannot be combined; keep one of them")
        if self.key == "all":
            if self.nulls:
                raise ValueError("nulls has no effect with key: all, where empty values match each other; remove it")
            return self
        if not isinstance(self.key, AnyKey):
            check_parts(self.key)
        columns = {part.column for parts in self.keys for part in parts}
        for column in sorted(self.nulls.keys() - columns):
            raise ValueError(f"nulls names `{column}`, which is not in the key; {suggestion(column, columns)}")
        return self

    @field_validator("gap", "window", "overlap")
    @classmethod
    def _has_one_key(cls, span: Span | None, info: ValidationInfo) -> Span | None:
        if span is not None and isinstance(info.data.get("key"), AnyKey):
            raise ValueError("cannot be combined with `any`, whose groups have no common key to order by; remove it")
        return span

    @field_validator("max_shared")
    @classmethod
    def _has_several_keys(cls, most: int, info: ValidationInfo) -> int:
        if "key" in info.data and not isinstance(info.data["key"], AnyKey):
            raise ValueError("has an effect only with `key: {any: …}`; remove it")
        return most

    @property
    def keys(self) -> tuple[tuple[KeyPart, ...], ...]:
        """The keys one of which records share: several with `any`; none if the key is `all`."""
        return tuple(parts for _, parts in keys_of(self.key))

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Several keys in words, by their columns; `Link.keys` are positions in it."""
        return tuple(" and ".join(part.column for part in parts) for parts in self.keys) if self.joins else ()

    def key_parts(self) -> Iterator[tuple[SettingPath, KeyPart]]:
        for path, parts in keys_of(self.key):
            yield from (((*path, index), part) for index, part in enumerate(parts))

    @property
    def span(self) -> Span | None:
        return self.gap or self.window or self.overlap

    @property
    def span_setting(self) -> str:
        """The name of the setting that `span` is."""
        return "gap" if self.gap else "window" if self.window else "overlap"

    @property
    def ordered_by(self) -> str | None:
        return self.span.column if self.span else None

    @property
    def by_records(self) -> bool:
        return self.ordered_by is not None or self.joins

    @property
    def joins(self) -> bool:
        return isinstance(self.key, AnyKey)

    def keeping_apart(self, pairs: JudgedPairs) -> Self:
        if not self.joins:
            return self
        rule = self.model_copy()
        rule._judged = pairs  # noqa: SLF001 - its own
        return rule

    @property
    def judged(self) -> JudgedPairs:
        """The pairs that people judged to be different; see `keeping_apart`."""
        return self._judged

    @property
    def kept_by(self) -> tuple[str, ...]:
        return tuple(line.column for line in self.keep if line.column is not None)

    def not_cleanable(self) -> Iterator[tuple[str, str]]:
        if self.minimum != 2:
            yield "minimum", "a rule with `clean` must also find pairs, or it misses what a cleaning leaves; remove it"
