"""Building blocks of rule settings. Unknown keys are errors at every level."""

from __future__ import annotations

import datetime as dt
import enum
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, WithJsonSchema

from rules.document.mistakes import short, suggestion
from rules.models import lookups

T = TypeVar("T", bound=BaseModel)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d|w)")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,8})")
_UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}
_UNITS |= {"d": 24 * _UNITS["h"], "w": 7 * 24 * _UNITS["h"]}
_LONGEST = 36_500
"""Days; a moment that far from any in this century still has a date."""


class Severity(enum.IntEnum):
    """Severity of a finding; written by name, compared by order."""

    info = 1
    low = 2
    medium = 3
    high = 4
    critical = 5


def parse_severity(value: Any) -> Any:
    """Parse a severity by name; raises ValueError naming the allowed ones."""
    if isinstance(value, str) and value in Severity.__members__:
        return Severity[value]
    if isinstance(value, Severity):
        return value
    raise ValueError(f"`{value}` is not a severity; {suggestion(str(value), Severity.__members__)}")


def parse_duration(value: Any) -> Any:
    """Parse `30s 15m 6h 3d 2w` (also `ms`, `us`) as a timedelta, exact to the microsecond; raises ValueError."""
    if isinstance(value, dt.timedelta):
        return value
    match = _DURATION.fullmatch(str(value).strip())
    if not match:
        raise ValueError(f"`{short(str(value))}` is not a duration; write it like 30s, 15m, 6h, 3d or 2w")
    microseconds = float(match[1]) * _UNITS[match[2]]
    if microseconds > _LONGEST * _UNITS["d"]:
        raise ValueError(f"`{short(str(value))}` is longer than a hundred years; give it at most {_LONGEST}d")
    return dt.timedelta(microseconds=round(microseconds))


SeverityField = Annotated[
    Severity, BeforeValidator(parse_severity), WithJsonSchema({"type": "string", "enum": list(Severity.__members__)})
]
Duration = Annotated[
    dt.timedelta,
    BeforeValidator(parse_duration),
    WithJsonSchema({"type": "string", "examples": ["30s", "15m", "6h", "3d", "2w"]}),
]


class Strict(BaseModel):
    """A YAML mapping with no unknown keys, immutable once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _argument(value: Any, info: ValidationInfo) -> Any:
    """Parse a normaliser's argument: a lookup of `map`, or a whole number, because the YAML reader gives only texts."""
    if info.data.get("name") == "map":
        return lookups.parsed(value)
    return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value


class Step(Strict):
    """One normaliser with its argument: `trim` or `{round: 2}`."""

    name: str
    argument: Annotated[Any, BeforeValidator(_argument)] = None


def with_steps(settings: T, change: Callable[[Step], Step]) -> T:
    """Return settings in which each step, however deep inside, is replaced."""
    return cast("T", _changed(settings, change))


def _changed(value: Any, change: Callable[[Step], Step]) -> Any:
    if isinstance(value, Step):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_changed(item, change) for item in value)
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: _changed(getattr(value, name), change) for name in _fields(value)})
    return value


def _fields(settings: BaseModel) -> Iterator[str]:
    return iter(type(settings).model_fields)


class KeyPart(Strict):
    """One column of a key with its chain of normalisers: `amount` or `{email: [mailbox]}`."""

    column: str
    steps: tuple[Step, ...] = ()


def as_list(value: Any) -> Any:
    """Return the value as a list, unless it is one."""
    return value if isinstance(value, (list, tuple)) else [value]


def parse_step(value: Any) -> Any:
    """Return a normaliser, `trim` or `{round: 2}`, as the fields of Step; raises ValueError."""
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict) and len(value) == 1:
        [(name, argument)] = value.items()
        return {"name": name, "argument": argument}
    raise ValueError("write a normaliser as its name, like trim, or as {name: argument}, like {round: 2}")


def parse_part(value: Any) -> Any:
    """Return a part of a key, `amount` or `{email: [mailbox]}`, as the fields of KeyPart; raises ValueError."""
    if isinstance(value, KeyPart):
        return value
    if isinstance(value, str):
        return {"column": value}
    if isinstance(value, dict) and len(value) == 1:
        [(column, steps)] = value.items()
        return {"column": column, "steps": [parse_step(step) for step in as_list(steps)]}
    raise ValueError("write a part of a key as a column, or as {column: [normaliser, …]}")


STEP_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "object", "minProperties": 1, "maxProperties": 1}]}
PART_SCHEMA = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": {"anyOf": [STEP_SCHEMA, {"type": "array", "items": STEP_SCHEMA}]},
        },
    ]
}


class Percent(Strict):
    """A distance between two numbers, in per cent of the larger of their sizes; less than 100."""

    percent: Decimal


Distance = dt.timedelta | Decimal | Percent


class Keep(Strict):
    """One line of `keep:`: how the keeper is chosen, before the id breaks the last tie."""

    how: Literal["first", "last", "most_complete", "max", "min", "prefer"]
    column: str | None = None
    prefer: tuple[str, ...] = ()


def parse_keep(value: Any) -> Any:
    """Return a line of `keep:`, `most_complete` or `{first: charged_at}`, as the fields of Keep; raises ValueError."""
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


def one_or_list(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a value that may be a list of such values."""
    return {"anyOf": [schema, {"type": "array", "items": schema, "minItems": 1}]}


KEEP_SCHEMA = one_or_list(
    {
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
)
KeepLines = Annotated[
    tuple[Annotated[Keep, BeforeValidator(parse_keep)], ...], BeforeValidator(as_list), WithJsonSchema(KEEP_SCHEMA)
]
