"""The settings of a check rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from rules.binding.rule import Rule, SettingPath
from rules.cleaning import Share
from rules.document.mistakes import RuleError
from rules.expressions.previous import OrderedExpression, parse_ordered, previous_of
from rules.groups.forms import FormWords
from rules.models import PART_SCHEMA, KeyPart, as_list, one_or_list, parse_part

CONDITION, GAP = "condition", "gap"
_LONGEST_PHRASE = 80

Columns = Annotated[tuple[str, ...], BeforeValidator(as_list), WithJsonSchema(one_or_list({"type": "string"}))]
Parts = Annotated[
    tuple[Annotated[KeyPart, BeforeValidator(parse_part)], ...],
    BeforeValidator(as_list),
    WithJsonSchema(one_or_list(PART_SCHEMA)),
]


class CheckRule(Rule):
    """The settings of kind `check`, described in docs/rules.md."""

    not_matching: ClassVar[frozenset[str]] = Rule.not_matching | {"max_share"}
    expressions: ClassVar[Mapping[str, Callable[[str], object]]] = {"where": parse_ordered}
    roles: ClassVar[Mapping[str, str]] = {"record": "record"}

    kind: Literal["check"] = "check"
    where: str | None = Field(
        default=None, description="The condition that no record may meet, e.g. amount <= 0 or at < previous(at)."
    )
    gaps: Annotated[KeyPart, BeforeValidator(parse_part), WithJsonSchema(PART_SCHEMA)] | None = Field(
        default=None, description="A column of numbers that may not leave any out, e.g. invoice_no."
    )
    order: Columns = Field(default=(), description="The columns that order the records for `previous(x)`.")
    by: Parts = Field(default=(), description="Columns, with normalisers: each of their values has its own order.")
    max_share: Share = Field(
        default=Decimal("0.5"),
        json_schema_extra={"default": "50%"},
        description="The largest share of all records that may be findings; with more, the rule fails.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> CheckRule:
        if self.where is not None and self.gaps is not None:
            raise ValueError("write `where` or `gaps`, not both; two rules can read one dataset")
        if self.where is None and self.gaps is None:
            raise ValueError(
                "a check needs `where`, the condition that no record may meet, or `gaps`, a column of numbers"
            )
        if self.gaps is not None and self.order:
            raise ValueError("gaps orders the records by their numbers; remove order")
        if self.where is None:
            return self
        try:
            condition = parse_ordered(self.where)
        except RuleError:
            return self  # told with its place where expressions are read
        if condition.previous and not self.order:
            raise ValueError("`previous` needs `order`, the columns that order the records, like order: [booked]")
        for setting in ("order", "by") if not condition.previous else ():
            if getattr(self, setting):
                raise ValueError(f"{setting} has an effect only with previous(…) in where, or gaps; remove it")
        return self

    @property
    def condition(self) -> OrderedExpression | None:
        """The condition of `where`. Raises ExpressionError."""
        return None if self.where is None else parse_ordered(self.where)

    @property
    def is_ordered(self) -> bool:
        """True if a record is compared with the one before or after it."""
        return self.gaps is not None or bool(self.condition and self.condition.previous)

    @property
    def nouns(self) -> tuple[str, str]:
        return ("gap", "gaps") if self.gaps is not None else ("failing record", "failing records")

    @property
    def by_records(self) -> bool:
        """True: a finding is known again by its record, whatever its values."""
        return True

    @property
    def timeless(self) -> bool:
        return True

    def key_parts(self) -> Iterator[tuple[SettingPath, KeyPart]]:
        if self.gaps is not None:
            yield ("gaps",), self.gaps
        yield from super().key_parts()

    @property
    def possible_forms(self) -> tuple[str, ...]:
        return (GAP,) if self.gaps is not None else (CONDITION,)

    def form_words(self, form: str) -> FormWords:
        if form == GAP:
            return FormWords("numbers missing", *self.nouns)
        return FormWords(self._phrase, *self.nouns)

    @property
    def _phrase(self) -> str:
        words = "" if self.condition is None else self.condition.in_words
        return words if 0 < len(words) <= _LONGEST_PHRASE else f"fails {self.name}"

    def because(self, form: str) -> str:
        if self.gaps is not None and form == GAP:
            return f"{self.dataset} must not leave out any number of {self.gaps.column}."
        if self.condition is None:
            return super().because(form)
        return f"{self.dataset} must have no record where {self.condition.in_words}."

    def shown_as(self, dataset: str, columns: Iterable[str]) -> Iterator[str]:  # noqa: ARG002 - it has only one
        previous = {} if self.condition is None else self.condition.previous
        for column in columns:
            yield column
            yield previous_of(column)
            yield from (name for name, value in previous.items() if column in value.columns)
            yield from (part_name(part) for part in self.by if part.column == column)
            if self.gaps is not None and self.gaps.column == column:
                yield gap_name(self.gaps)

    def not_cleanable(self) -> Iterator[tuple[SettingPath, str]]:
        yield ("clean",), "a rule of kind check only reports; remove it"


def part_name(part: KeyPart) -> str:
    """Return the name of a part of `by` in the key of a finding."""
    return f"{part.column} ({', '.join(step.name for step in part.steps)})" if part.steps else part.column


def gap_name(part: KeyPart) -> str:
    """Return the name of the missing numbers in the key of a finding."""
    return f"gap in {part.column}"
