"""The setting `group` of a reconciliation rule: the records of a side that are one partner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from rules.binding.rule import SettingPath
from rules.kinds.reconciliation.pairs import SIDES, ComparedPair
from rules.models import PART_SCHEMA, KeyPart, Strict, as_list, one_or_list, parse_part

_Parts = Annotated[
    tuple[Annotated[KeyPart, BeforeValidator(parse_part)], ...],
    BeforeValidator(as_list),
    WithJsonSchema(one_or_list(PART_SCHEMA)),
]


class GroupOfSides(Strict):
    """The columns, with normalisers, by which records of each side are gathered; empty where each stands alone."""

    left: _Parts = Field(default=(), description="The columns that are equal in the left records of one partner.")
    right: _Parts = Field(default=(), description="The columns that are equal in the right records of one partner.")

    @field_validator("left", "right", mode="after")
    @classmethod
    def _names_each_once(cls, parts: tuple[KeyPart, ...]) -> tuple[KeyPart, ...]:
        if not parts:
            raise ValueError("needs at least one column")
        if len(set(map(repr, parts))) < len(parts):
            raise ValueError("names the same column twice; remove one")
        return parts

    @model_validator(mode="after")
    def _has_a_side(self) -> GroupOfSides:
        if not (self.left or self.right):
            raise ValueError("needs the column of a document on one side; write {right: document}")
        return self

    def of(self, side: str) -> tuple[KeyPart, ...]:
        return self.left if side == "left" else self.right

    def parts(self) -> Iterator[tuple[SettingPath, KeyPart]]:
        """Yield the path of each column, and the column."""
        for side in SIDES:
            for index, part in enumerate(self.of(side)):
                yield ("group", side, index), part


def mistake(compared: tuple[ComparedPair, ...], *, is_bundled: bool) -> str | None:
    """Return why the rest of a rule cannot have a `group`, as a sentence."""
    if is_bundled:
        return "`group` makes records one partner, which only `match: one_to_one` pairs; remove `group` or `match`"
    if limited := [pair for pair in compared if pair.has_tolerance]:
        limits = f"`compare` has a limit for `{limited[0].name}`"
        return f"{limits}, which the values of a `group` cannot have; remove the limit, or write a `tolerance`"
    return None
