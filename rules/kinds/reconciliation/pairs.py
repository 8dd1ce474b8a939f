"""Columns of two datasets that are compared: `status`, `{name: [trim]}` or `{left: [name, trim], right: title}`."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from rules.models import PART_SCHEMA, STEP_SCHEMA, KeyPart, Strict, as_list, parse_part, parse_step

SIDES = ("left", "right")
_FORM = "a column, as {column: [normaliser, …]}, or as {left: [column, normaliser, …], right: [column, …]}"


def _amount(value: Any) -> Any:
    """Return `0.01`, or the number of `2%`; raises ValueError unless it is a number of at least zero."""
    text = str(value).strip().removesuffix("%")
    try:
        number = Decimal(text)
    except ArithmeticError:
        number = Decimal("NaN")
    if not number.is_finite() or number < 0:
        raise ValueError(f"`{value}` is not a tolerance; write a number of at least 0")
    return number


_NUMBER_SCHEMA = {"type": ["number", "string"], "minimum": 0}
By = Annotated[Decimal, BeforeValidator(_amount), WithJsonSchema(_NUMBER_SCHEMA)]


def _below_a_hundred(percent: Decimal) -> Decimal:
    if percent >= 100:
        raise ValueError(f"`{percent}` per cent allows any difference; write less than 100")
    return percent


Percent = Annotated[By, AfterValidator(_below_a_hundred)]


class Pair(Strict):
    """A column of the left dataset and one of the right, each with its normalisers."""

    left: KeyPart
    right: KeyPart

    def side(self, name: str) -> KeyPart:
        return self.left if name == "left" else self.right

    @property
    def name(self) -> str:
        """Its name for people."""
        left, right = self.left.column, self.right.column
        return left if left == right else f"{left} / {right}"


class ComparedPair(Pair):
    """Columns that must agree in matched records, exactly or within a tolerance."""

    by: By | None = Field(default=None, description="The largest difference of two numbers.")
    percent: Percent | None = Field(default=None, description="The same in per cent of the larger number.")
    days: int | None = Field(default=None, ge=0, description="The largest difference of two dates, in calendar days.")

    @property
    def has_tolerance(self) -> bool:
        return self.by is not None or self.percent is not None or self.days is not None


def parse_pair(value: Any) -> Any:
    """Return a part of a key as the fields of Pair; raises ValueError."""
    if isinstance(value, Pair):
        return value
    if isinstance(value, dict) and not set(value).isdisjoint(SIDES):
        if not set(value) >= set(SIDES):
            raise ValueError(f"needs both `left` and `right`; write {_FORM}")
        return value | {side: _side(value[side]) for side in SIDES}
    try:
        part = parse_part(value)
    except ValueError as error:
        raise ValueError(f"write {_FORM}") from error
    return {"left": part, "right": part}


def _side(value: Any) -> Any:
    if isinstance(value, (KeyPart, str)):
        return {"column": value} if isinstance(value, str) else value
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], str):
        return {"column": value[0], "steps": [parse_step(step) for step in value[1:]]}
    raise ValueError("write a side as its column, or as a list of its column and normalisers: [reference, trim]")


_SIDE_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": STEP_SCHEMA, "minItems": 1}]}
_SIDES_SCHEMA = dict.fromkeys(SIDES, _SIDE_SCHEMA)


def _schema(extra: dict[str, Any]) -> dict[str, Any]:
    both = {
        "type": "object",
        "required": list(SIDES),
        "additionalProperties": False,
        "properties": _SIDES_SCHEMA | extra,
    }
    pair = {"anyOf": [*PART_SCHEMA["anyOf"], both]}
    return {"anyOf": [pair, {"type": "array", "items": pair, "minItems": 1}]}


Pairs = Annotated[
    tuple[Annotated[Pair, BeforeValidator(parse_pair)], ...],
    BeforeValidator(as_list),
    WithJsonSchema(_schema({})),
]
ComparedPairs = Annotated[
    tuple[Annotated[ComparedPair, BeforeValidator(parse_pair)], ...],
    BeforeValidator(as_list),
    WithJsonSchema(_schema({"by": _NUMBER_SCHEMA, "percent": _NUMBER_SCHEMA, "days": {"type": "integer"}})),
]
