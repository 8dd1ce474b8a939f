"""Values that `map` looks up in another dataset: `map: {dataset: numbers, from: sku, to: item}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rules.document.mistakes import suggestion
from rules.values import Type, Value

WORDS = ("dataset", "from", "to")
TYPES = (Type.TEXT, Type.INTEGER, Type.DECIMAL, Type.DATE)
"""The types of values that can be looked up: each of their values is written in one way only."""


@dataclass(frozen=True)
class Lookup:
    """The dataset, the column whose values are replaced, and the column with the values in their place."""

    dataset: str
    source: str
    target: str

    @property
    def words(self) -> str:
        """Return how a value is compared after it."""
        return f"as dataset {self.dataset} maps it ({self.source} to {self.target})"


def written(argument: Any) -> bool:
    """Return True if the argument of `map` is meant as a lookup: one or two words of an inline mapping may be ours."""
    return isinstance(argument, Mapping) and len(set(argument) & set(WORDS)) > 1


def mistake(argument: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a written lookup, as the end of a sentence that begins with `map`."""
    form = "like `map: {dataset: numbers, from: sku, to: item}`"
    if unknown := [word for word in argument if word not in WORDS]:
        return (
            f"looks values up in a dataset, {form}; `{unknown[0]}` is not known here; {suggestion(unknown[0], WORDS)}"
        )
    if missing := [word for word in WORDS if word not in argument]:
        return f"looks values up in a dataset, {form}; add `{missing[0]}`"
    if not all(isinstance(argument[word], str) and argument[word].strip() for word in WORDS):
        return f"takes a dataset and two of its columns, {form}"
    return None


def parsed(argument: Any) -> Any:
    """Return a correctly written lookup as Lookup, and any other argument as it is."""
    if not written(argument) or mistake(argument) is not None:
        return argument
    return Lookup(*(argument[word] for word in WORDS))


@dataclass(frozen=True)
class LookupTable:
    """A lookup with the types of its columns, and the values that the dataset lists, once they are read.

    A value that it does not list stays as it is. If `target` has another type than `source`, it becomes empty,
    because one column has values of one type.
    """

    lookup: Lookup
    source: Type
    target: Type
    values: Mapping[Value, Value] = field(default_factory=dict, repr=False, compare=False)

    @property
    def words(self) -> str:
        return self.lookup.words

    @property
    def types(self) -> Mapping[Type, Type]:
        """The types of values that it takes, each with the type of the result."""
        if self.source.is_number:
            return {kind: self._result(kind) for kind in TYPES if kind.is_number}
        return {self.source: self.target}

    def _result(self, kind: Type) -> Type:
        return Type.DECIMAL if Type.DECIMAL in (kind, self.target) and self.target.is_number else self.target

    def get(self, value: Value, unlisted: Value) -> Value:
        """Return the value in its place, or `unlisted` if there is none and it can stay."""
        return self.values.get(value, unlisted if self.keeps else None)

    @property
    def keeps(self) -> bool:
        """True if a value that the dataset does not list stays as it is."""
        return self.source is self.target or (self.source.is_number and self.target.is_number)
