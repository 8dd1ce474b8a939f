"""Columns of two datasets that are compared: `status`, `{name: [trim]}` or `{left: [name, trim], right: title}`."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from rules.models import PART_SCHEMA, STEP_SCHEMA, KeyPart, Strict, as_list, parse_part, parse_step

SIDES = ("left", "right")
BY_WORDS = ("alnum", "docno")
"""Normalisers that apply to each run of words of a text, if they are its last."""
SHORTEST = 4
"""Letters and digits of a value that is looked for in texts: shorter ones are in many texts by chance."""
_MIXES_WORDS = {
    *BY_WORDS,
    "digits",
    "letters",
    "words",
    "email",
    "mailbox",
    "phone",
    "name",
    "nickname",
    "company",
    "address",
}
_FORM = "a column, as {column: [normaliser, …]}, or as {left: [column, normaliser, …], right: [column, …]}"


def _amount(value: Any) -> Any:
    """Return the number that is written as `0.01`; raises ValueError unless it is a number of at least zero."""
    try:
        number = Decimal(str(value).strip())
    except ArithmeticError:
        number = Decimal("NaN")
    if not number.is_finite() or number < 0:
        raise ValueError(f"`{value}` is not a tolerance; write a number of at least 0, or a percentage like 1%")
    return number


def _is_percentage(value: Any) -> bool:
    return isinstance(value, str) and value.strip().endswith("%")


def _share(value: Any) -> Any:
    """Return the number of `1%`, which may also be written as 1."""
    return _amount(value.strip().removesuffix("%") if _is_percentage(value) else value)


_NUMBER_SCHEMA = {"type": ["number", "string"], "minimum": 0}
By = Annotated[Decimal, BeforeValidator(_amount), WithJsonSchema(_NUMBER_SCHEMA)]


def _below_a_hundred(percent: Decimal) -> Decimal:
    if percent >= 100:
        raise ValueError(f"`{percent}` per cent allows any difference; write less than 100")
    return percent


Percent = Annotated[Decimal, BeforeValidator(_share), AfterValidator(_below_a_hundred), WithJsonSchema(_NUMBER_SCHEMA)]


class Apart(Strict):
    """The largest difference of two numbers, as an amount, as a percentage of the larger one, or as both."""

    by: By | None = Field(
        default=None, description="The largest difference of two numbers; `1%` is 1 % of the larger number."
    )
    percent: Percent | None = Field(default=None, description="A percentage in addition to an amount in `by`.")
    hold: Literal["both", "either"] = Field(default="both", description="Whether both limits must hold, or either.")

    @model_validator(mode="before")
    @classmethod
    def _reads_a_percentage(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not _is_percentage(value.get("by")):
            return value
        if value.get("percent") is not None:
            raise ValueError("`by` and `percent` are both percentages; remove one of them")
        return {name: setting for name, setting in value.items() if name != "by"} | {"percent": value["by"]}

    @model_validator(mode="after")
    def _holds_two(self) -> Any:
        if self.hold == "either" and (self.by is None or self.percent is None):
            raise ValueError("`hold: either` chooses between two limits; write `by` and `percent`, or remove it")
        return self


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


class KeyPair(Pair):
    """A part of a key: equal columns, or a value of one side that is `contained` in a text of the other.

    `shortest` is the least number of letters and digits of such a value, by default SHORTEST.
    """

    contained: Literal["left", "right"] | None = Field(
        default=None, description="The side whose value occurs in the text of the other, as whole words."
    )
    shortest: int | None = Field(default=None, ge=1, description="The fewest letters and digits of a contained value.")

    @model_validator(mode="after")
    def _keeps_words(self) -> KeyPair:
        if self.contained is None:
            if self.shortest is not None:
                raise ValueError("`shortest` is for a value that is contained in a text; add `contained`")
            return self
        for step in self.value(self.text_side).steps:
            if step.name in _MIXES_WORDS:
                last = "; write it last" if step.name in BY_WORDS else "; remove it"
                raise ValueError(f"`{step.name}` does not keep the words of the text apart{last}")
        return self

    @property
    def name(self) -> str:
        """Its name for people."""
        if self.contained is None:
            return super().name
        return f"{self.side(self.contained).column} in {self.side(self.text_side).column}"

    @property
    def text_side(self) -> str:
        """The side of the text in which values are looked for."""
        return "left" if self.contained == "right" else "right"

    @property
    def least(self) -> int:
        """The fewest letters and digits of a contained value."""
        return SHORTEST if self.shortest is None else self.shortest

    @property
    def by_words(self) -> str | None:
        """The last normaliser of the text if it applies to each run of words, so that they stay apart."""
        steps = self.side(self.text_side).steps
        return steps[-1].name if self.contained and steps and steps[-1].name in BY_WORDS else None

    def value(self, name: str) -> KeyPart:
        """Return the side as its value is computed for each record: without a normaliser of runs of words."""
        part = self.side(name)
        if self.by_words is None or name != self.text_side:
            return part
        return part.model_copy(update={"steps": part.steps[:-1]})


class ComparedPair(Pair, Apart):
    """Columns that must agree in matched records, exactly or within a tolerance."""

    days: int | None = Field(default=None, ge=0, description="The largest difference of two dates, in calendar days.")

    @property
    def has_tolerance(self) -> bool:
        return self.by is not None or self.percent is not None or self.days is not None


class AllColumns(Strict):
    """`all`: every column that both datasets have, but keys, ids, and columns with a tolerance of their own."""

    without: tuple[str, ...] = Field(default=(), alias="except")


def _parse_compared(value: Any) -> Any:
    """Return `all`, alone or with `except`, as AllColumns, and anything else as the fields of a pair."""
    if value == "all":
        return AllColumns()
    if isinstance(value, dict) and isinstance(value.get("all"), dict) and len(value) == 1:
        names = value["all"].get("except")
        if set(value["all"]) != {"except"} or not all(isinstance(name, str) for name in as_list(names)):
            raise ValueError("write columns to leave out as {all: {except: [column, …]}}")
        return AllColumns(**{"except": tuple(as_list(names))})
    return parse_pair(value)


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


_ALL_SCHEMA = {
    "type": "object",
    "required": ["all"],
    "additionalProperties": False,
    "properties": {
        "all": {
            "type": "object",
            "required": ["except"],
            "additionalProperties": False,
            "properties": {"except": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}},
        }
    },
}


def _schema(extra: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    both = {
        "type": "object",
        "required": list(SIDES),
        "additionalProperties": False,
        "properties": _SIDES_SCHEMA | extra,
    }
    pair = {"anyOf": [*PART_SCHEMA["anyOf"], both, *others]}
    return {"anyOf": [pair, {"type": "array", "items": pair, "minItems": 1}]}


Pairs = Annotated[
    tuple[Annotated[Pair, BeforeValidator(parse_pair)], ...],
    BeforeValidator(as_list),
    WithJsonSchema(_schema({})),
]


_CONTAINED_SCHEMA = {"contained": {"enum": list(SIDES)}, "shortest": {"type": "integer", "minimum": 1}}
_KeyColumns = Annotated[
    tuple[Annotated[KeyPair, BeforeValidator(parse_pair)], ...],
    BeforeValidator(as_list),
    WithJsonSchema(_schema(_CONTAINED_SCHEMA)),
]


class AnyPairs(Strict):
    """`key: {any: [[reference], [memo]]}`: keys in order of preference, each for records that are still alone."""

    any: tuple[_KeyColumns, ...]

    @field_validator("any", mode="before")
    @classmethod
    def _are_several(cls, keys: Any) -> Any:
        if not isinstance(keys, (list, tuple)) or len(keys) < 2:
            raise ValueError("needs two or more keys, like [[reference], [memo]]; write a single key without it")
        return keys

    @field_validator("any")
    @classmethod
    def _differ(cls, keys: tuple[tuple[KeyPair, ...], ...]) -> tuple[tuple[KeyPair, ...], ...]:
        if not all(keys):
            raise ValueError("a key needs at least one column")
        if len({frozenset(map(repr, pairs)) for pairs in keys}) < len(keys):
            raise ValueError("holds the same key twice; remove one")
        return keys


def _form(key: Any) -> str:
    return "any" if isinstance(key, AnyPairs) or (isinstance(key, dict) and set(key) == {"any"}) else "columns"


_PAIRS_SCHEMA = _schema(_CONTAINED_SCHEMA)
KeyPairs = Annotated[
    Annotated[AnyPairs, Tag("any")] | Annotated[_KeyColumns, Tag("columns"), Field()],
    Discriminator(_form),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "object",
                    "required": ["any"],
                    "additionalProperties": False,
                    "properties": {"any": {"type": "array", "items": _PAIRS_SCHEMA, "minItems": 2}},
                },
                *_PAIRS_SCHEMA["anyOf"],
            ]
        }
    ),
]
ComparedPairs = Annotated[
    tuple[Annotated[ComparedPair | AllColumns, BeforeValidator(_parse_compared)], ...],
    BeforeValidator(as_list),
    WithJsonSchema(
        _schema(
            {
                "by": _NUMBER_SCHEMA,
                "percent": _NUMBER_SCHEMA,
                "hold": {"enum": ["both", "either"]},
                "days": {"type": "integer"},
            },
            _ALL_SCHEMA,
        )
    ),
]
