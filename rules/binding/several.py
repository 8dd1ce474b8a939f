"""Several datasets whose records a rule compares: their columns under the names that the rule gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rules.binding.names import DATASET, Names
from rules.binding.side import Side, money_columns
from rules.engines.base import MoneyColumns, Relation
from rules.models import KeyPart
from rules.values import PLACE, Column, Schema, Type, Value

TIMES = {Type.DATE, Type.INSTANT}


@dataclass(frozen=True)
class RenamedSide(Side):
    """One of several datasets, with the rule in its own columns.

    `also` are columns of the rule that only groups need, and `displayed` those that any of the datasets displays.
    """

    names: Names = field(kw_only=True)
    also: tuple[str, ...] = field(default=(), kw_only=True)
    displayed: tuple[str, ...] = field(default=(), kw_only=True)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        return (*super().shown, *self._own(self.displayed))

    @property
    def used(self) -> tuple[str, ...]:
        return (*super().used, *self._own(self.also))

    def _own(self, columns: Iterable[str]) -> Iterator[str]:
        return (name for name in map(self.names.of, columns) if name is not None)

    @cached_property
    def relation_in_rule(self) -> Relation:
        """The dataset with its `money` in the rule's names of columns."""
        money = self.relation.money
        if money is None:
            return self.relation
        amount, *currency = self.names.in_rule(money_columns(self.relation))
        return replace(self.relation, money=MoneyColumns(amount, next(iter(currency), None), money.currency))

    def seen(self, record: Mapping[str, Value], columns: Iterable[str]) -> dict[str, Value]:
        """Return a record's values of these columns of the rule, null where the dataset has no such column."""
        own = ((column, self.names.of(column)) for column in columns)
        return {column: None if name is None else record[name] for column, name in own} | {
            DATASET: self.relation.dataset
        }


def every_column(relations: Mapping[str, Relation], names: Mapping[str, Names]) -> tuple[KeyPart, ...]:
    """Return the key `all`: every column of the datasets in `names` but their ids, file, row and derived columns."""
    columns: dict[str, None] = {}
    for dataset, names_of_dataset in names.items():
        relation = relations[dataset]
        excluded = {*relation.id, *PLACE}
        columns |= dict.fromkeys(names_of_dataset.in_rule(own for own in relation.schema.names if own not in excluded))
    return tuple(KeyPart(column=column) for column in columns)


def displayed(data: Iterable[tuple[Relation, Names]]) -> Iterator[str]:
    """Yield the columns that any dataset displays, under the rule's names."""
    for relation, names in data:
        yield from (column for column in names.in_rule(relation.display) if column != DATASET)


def common(sides: Sequence[RenamedSide]) -> tuple[str, ...]:
    """Return the columns that every dataset has, under the rule's names."""
    first, *others = (side.names for side in sides)
    return tuple(column for column in first.in_rule(first.own) if all(names.of(column) for names in others))


def united_schema(sides: Sequence[RenamedSide]) -> Schema:
    """Return all columns of the datasets under the rule's names, and the record's dataset."""
    types: dict[str, Type] = {}
    for side in sides:
        for column in side.names.in_rule(side.names.own):
            own = side.columns.schema[side.names.of(column) or column].type
            earlier = types.setdefault(column, own)
            if own is not earlier and own.is_number and earlier.is_number:
                types[column] = Type.DECIMAL
    return Schema(tuple(Column(name, type_) for name, type_ in (types | {DATASET: Type.TEXT}).items()))


def in_dataset(side: Side, sentence: str) -> str:
    """Return a sentence about a rule, which names the dataset that it is about."""
    dataset = f"`{side.relation.dataset}`"
    return sentence if dataset in sentence else f"Dataset {dataset}: {sentence}"


def unlike(setting: str, column: str, types: Sequence[tuple[RenamedSide, Type]]) -> Iterator[str]:
    """Yield a sentence if the values of a column cannot be equal in two datasets because of their types."""
    first, *others = types
    for side, type_ in others:
        if type_ is first[1] or (type_.is_number and first[1].is_number):
            continue
        clauses = (
            f"`{own_side.names.of(column)}` of dataset `{own_side.relation.dataset}` is of type {own_type.value}"
            for own_side, own_type in (first, (side, type_))
        )
        days = {type_, first[1]} == TIMES
        advice = "compare them by `day`" if days else "declare the same type under the dataset's `columns:`"
        yield f"`{setting}`: {', but '.join(clauses)}; {advice}."
        return


def hidden_money(side: RenamedSide) -> Iterator[str]:
    """Yield a sentence for each column of the dataset's `money` whose name the rule gives to another column."""
    for column in money_columns(side.relation):
        if not side.names.in_rule([column]):
            yield (
                f"`columns` gives the name `{column}` to `{side.names.of(column)}`, but the `money` of dataset "
                f"`{side.relation.dataset}` is in its own `{column}`; choose another name."
            )
