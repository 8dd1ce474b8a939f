"""The rule as its file says it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from rules.document.mistakes import suggestion
from rules.kinds.base import Rule
from rules.models import Keep, KeyPart, Strict, parse_duration


class Span(Strict):
    """`gap:` or `window:`: the column that orders, and how far apart (inclusive): a duration, or a number."""

    column: str
    by: dt.timedelta | Decimal


def _listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


def _step(value: Any) -> Any:
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict) and len(value) == 1:
        [(name, argument)] = value.items()
        return {"name": name, "argument": argument}
    raise ValueError("a normaliser is its name, like trim, or {name: argument}, like {round: 2}")


def _key_part(value: Any) -> Any:
    if isinstance(value, KeyPart):
        return value
    if isinstance(value, str):
        return {"column": value}
    if isinstance(value, dict) and len(value) == 1:
        [(column, steps)] = value.items()
        return {"column": column, "steps": [_step(s) for s in _listed(steps)]}
    raise ValueError("a part of a key is a column, or {column: [normaliser, …]}")


def _key(value: Any) -> Any:
    return value if value is None or isinstance(value, (list, tuple)) else [value]


def _keep(value: Any) -> Any:
    if isinstance(value, Keep):
        return value
    if value == "most_complete":
        return {"how": "most_complete"}
    if isinstance(value, dict) and len(value) == 1:
        [(how, what)] = value.items()
        if how == "prefer" and isinstance(what, dict) and len(what) == 1:
            [(column, order)] = what.items()
            return {"how": how, "column": column, "prefer": _listed(order)}
        if how in ("first", "last", "max", "min") and isinstance(what, str):
            return {"how": how, "column": what}
    raise ValueError(
        "a line of keep is most_complete, {first: column}, {last: column}, {max: column}, {min: column} "
        "or {prefer: {column: [best, next]}}"
    )


def _span(value: Any) -> Any:
    if isinstance(value, Span):
        return value
    if isinstance(value, dict) and len(value) == 1:
        [(column, by)] = value.items()
        return {"column": column, "by": by if isinstance(by, dt.timedelta) else _distance(by)}
    raise ValueError("write one column and how far: {charged_at: 15m}, or {position: 3} for a numeric column")


def _distance(by: Any) -> dt.timedelta | Decimal:
    try:
        number = Decimal(str(by))
    except ArithmeticError:
        duration: dt.timedelta = parse_duration(by)
        return duration
    if not number.is_finite() or number < 0:
        raise ValueError(f"`{by}` is not a distance; write a duration like 15m, or a number that is not negative")
    return number


def _pair(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and len(value) == 2:
        ids = tuple(tuple(one) if isinstance(one, (list, tuple)) else (one,) for one in value)
        if ids[0] != ids[1] and all(isinstance(part, str) for one in ids for part in one):
            return ids
    raise ValueError("a line of except is two different record ids: [id, id]; an id of two columns is itself a list")


_STEP_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "object", "minProperties": 1, "maxProperties": 1}]}
_CHAIN_SCHEMA = {"anyOf": [_STEP_SCHEMA, {"type": "array", "items": _STEP_SCHEMA}]}
_PART_SCHEMA = {
    "anyOf": [
        {"type": "string"},
        {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": _CHAIN_SCHEMA},
    ]
}
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
_SPAN_SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": {"type": ["string", "number"]},
}
_PAIR_SCHEMA = {"type": "array", "minItems": 2, "maxItems": 2}


def _one_or_list(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "array", "items": schema, "minItems": 1}]}


class DuplicatesRule(Rule):
    """kind: duplicates. See docs/rules.md for what each setting means.

    `except_` holds pairs of record ids, each id a tuple with one text for every column of the dataset's `id`.
    """

    not_matching: ClassVar[frozenset[str]] = Rule.not_matching | {"keep"}

    kind: Literal["duplicates"] = "duplicates"
    key: Annotated[
        Annotated[Literal["all"], Tag("all")]
        | Annotated[
            tuple[Annotated[KeyPart, BeforeValidator(_key_part)], ...], BeforeValidator(_key), Tag("columns"), Field()
        ],
        Discriminator(lambda value: "all" if value == "all" else "columns"),
        WithJsonSchema(_one_or_list(_PART_SCHEMA)),
    ] = Field(description="What makes two records the same thing: columns with normalisers, or all.")
    nulls: dict[str, Literal["match"]] = Field(
        default_factory=dict, description="Columns of the key whose empty values equal each other."
    )
    except_: tuple[
        Annotated[tuple[tuple[str, ...], tuple[str, ...]], BeforeValidator(_pair), WithJsonSchema(_PAIR_SCHEMA)],
        ...,
    ] = Field(default=(), alias="except", description="Pairs of record ids known to be different.")
    gap: Annotated[Span, BeforeValidator(_span), WithJsonSchema(_SPAN_SCHEMA)] | None = Field(
        default=None, description="Neighbours this far apart at most are one group: a chain."
    )
    window: Annotated[Span, BeforeValidator(_span), WithJsonSchema(_SPAN_SCHEMA)] | None = Field(
        default=None, description="Records this far from the earliest at most are one group."
    )
    distinct: str | None = Field(default=None, description="A column that must differ inside a group.")
    having: str | None = Field(default=None, description="A condition over the group, e.g. sum(amount) > 100.")
    minimum: int = Field(default=2, ge=2, description="How many records make a group.")
    keep: Annotated[
        tuple[Annotated[Keep, BeforeValidator(_keep)], ...],
        BeforeValidator(_listed),
        WithJsonSchema(_one_or_list(_KEEP_SCHEMA)),
    ] = Field(default=(), description="Which record stays, best first; ties end at the id.")

    @model_validator(mode="after")
    def _fits_together(self) -> DuplicatesRule:
        if self.gap and self.window:
            raise ValueError("gap and window exclude each other; keep one of them")
        if self.key == "all":
            if self.nulls:
                raise ValueError("nulls has no use beside key: all, where empty values equal each other; remove it")
            return self
        if not self.key:
            raise ValueError("a key needs at least one column")
        if len(set(map(repr, self.key))) < len(self.key):
            raise ValueError("the key names one column twice with the same normalisers; keep one")
        columns = {part.column for part in self.key}
        for column in sorted(self.nulls.keys() - columns):
            raise ValueError(f"nulls names `{column}`, which is not in the key; {suggestion(column, columns)}")
        return self

    @property
    def span(self) -> Span | None:
        return self.gap or self.window

    @property
    def ordered_by(self) -> str | None:
        return self.span.column if self.span else None

    @property
    def kept_by(self) -> tuple[str, ...]:
        return tuple(line.column for line in self.keep if line.column is not None)

    def not_cleanable(self) -> Iterator[tuple[str, str]]:
        if self.minimum != 2:
            yield "minimum", "a rule that cleans looks at pairs too, or it would never find what it leaves; remove it"
