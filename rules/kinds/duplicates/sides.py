"""A rule over several datasets, bound to each of them, and the check that their columns can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rules.document.mistakes import RuleError, suggestion
from rules.engines.base import MoneyColumns, Relation
from rules.expressions import BoundGroup, parse_group
from rules.kinds.base import DoesNotFit
from rules.kinds.duplicates import datasets
from rules.kinds.duplicates.bound import BoundRule, Criteria, bound_columns, excepted, misfits
from rules.kinds.duplicates.datasets import DATASET
from rules.kinds.duplicates.model import DuplicatesRule
from rules.models import KeyPart
from rules.normalise import chain_type
from rules.values import PLACE, Column, Schema, Type, Value

_TIMES = {Type.DATE, Type.INSTANT}


@dataclass(frozen=True)
class Names:
    """A dataset's columns under the names that the rule gives them; without one, a column has its own name."""

    own: tuple[str, ...]
    given: Mapping[str, str]

    def of(self, column: str) -> str | None:
        """Return the dataset's own name of a column of the rule; None if it has no such column."""
        name = self.given.get(column, column)
        return name if name in self.own else None

    def in_rule(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the rule's names of these columns, without a column whose name the rule gives to another one."""
        return tuple(datasets.in_rule(self.given, names))


@dataclass(frozen=True)
class Side(BoundRule):
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
        amount, *currency = self.names.in_rule(name for name in (money.amount, money.currency_column) if name)
        return replace(self.relation, money=MoneyColumns(amount, next(iter(currency), None), money.currency))

    def seen(self, record: Mapping[str, Value], columns: Iterable[str]) -> dict[str, Value]:
        """Return a record's values of these columns of the rule, null where the dataset has no such column."""
        own = ((column, self.names.of(column)) for column in columns)
        return {column: None if name is None else record[name] for column, name in own} | {
            DATASET: self.relation.dataset
        }


@dataclass(frozen=True)
class SeveralBound(Criteria):
    """A rule with all its datasets. `key` and `schema` hold their columns under the rule's names."""

    sides: tuple[Side, ...]
    key: tuple[KeyPart, ...]
    schema: Schema

    @property
    def parts(self) -> tuple[KeyPart, ...]:
        return self.key

    @cached_property
    def shown(self) -> tuple[str, ...]:
        data = [(side.relation, side.names) for side in self.sides]
        return tuple(dict.fromkeys((*_shown(self.rule, self.key, data), *_displayed(data))))

    @cached_property
    def considered(self) -> tuple[str, ...]:
        return _common(self.sides)

    @property
    def shared_columns(self) -> tuple[str, ...]:
        return tuple(f"shared_{n}" for n in range(len(self.keys)))

    @property
    def of_group(self) -> tuple[str, ...]:
        """The columns that the condition over a group needs."""
        return _of_group(self.rule)

    @cached_property
    def seen(self) -> tuple[str, ...]:
        """The columns of a record that decide about its group or are shown."""
        counted = self.considered if any(line.how == "most_complete" for line in self.rule.keep) else ()
        columns = dict.fromkeys((*self.shown, *self.of_group, *counted))
        return tuple(column for column in columns if column != DATASET)

    @cached_property
    def having(self) -> BoundGroup | None:
        if self.rule.having is None:
            return None
        relation = self.sides[0].relation
        return parse_group(self.rule.having).bind(self.schema, relation.timezone, relation.calendar)

    def typed(self, column: str) -> list[tuple[Side, Type]]:
        """Return each dataset that has this column of the rule, with its type there."""
        own = ((side, side.names.of(column)) for side in self.sides)
        return [(side, side.columns.schema[name].type) for side, name in own if name is not None]


def bind_several(rule: DuplicatesRule, relations: Mapping[str, Relation]) -> SeveralBound:
    """Bind the rule to its datasets. Raises DoesNotFit with every mistake."""
    columns = {name: bound_columns(rule, relations[name]) for name in rule.member_datasets}
    names = {name: Names(columns[name].schema.names, rule.columns.get(name, {})) for name in rule.member_datasets}
    key = _every_column(relations, names) if rule.key == "all" else tuple(part for _, part in rule.key_parts())
    _refuse(rule, [*_unknown(rule, names), *_lacking(rule, key, names)])
    data = [(relations[name], names[name]) for name in rule.member_datasets]
    for_groups = {"also": (*_shown(rule, key, data), *_of_group(rule)), "displayed": tuple(_displayed(data))}
    sides = tuple(
        Side(datasets.of_dataset(rule, name, n.of, key), relations[name], columns[name], names=n, **for_groups)
        for name, n in names.items()
    )
    _refuse(rule, [_told(side, sentence) for side in sides for sentence in misfits(side, among_several=True)])
    bound = SeveralBound(rule, sides, key, _schema(sides))
    _refuse(rule, _mistakes(bound))
    return bound


def _refuse(rule: DuplicatesRule, mistakes: Iterable[str]) -> None:
    if sentences := list(dict.fromkeys(mistakes)):
        raise DoesNotFit(rule.name, sentences)


def _told(side: Side, sentence: str) -> str:
    dataset = f"`{side.relation.dataset}`"
    return sentence if dataset in sentence else f"Dataset {dataset}: {sentence}"


def _every_column(relations: Mapping[str, Relation], names: Mapping[str, Names]) -> tuple[KeyPart, ...]:
    """Return the key `all`: every column of any dataset but its id, the file, the row and derived columns."""
    columns: dict[str, None] = {}
    for name, relation in relations.items():
        excluded = {*relation.id, *PLACE}
        columns |= dict.fromkeys(names[name].in_rule(own for own in relation.schema.names if own not in excluded))
    return tuple(KeyPart(column=column) for column in columns)


def _unknown(rule: DuplicatesRule, names: Mapping[str, Names]) -> Iterator[str]:
    """Yield a sentence for each column of `columns` that its dataset lacks, and of the rule that all of them lack."""
    for dataset, given in rule.columns.items():
        for column, own in given.items():
            if own not in names[dataset].own:
                hint = suggestion(own, names[dataset].own)
                yield f"`columns` names `{own}` for `{column}`, but dataset `{dataset}` has no such column; {hint}"
    every_name = {column for of_dataset in names.values() for column in of_dataset.in_rule(of_dataset.own)}
    for setting, column in _of_members(rule):
        if not any(of_dataset.of(column) for of_dataset in names.values()):
            yield f"`{setting}` names `{column}`, which no dataset of the rule has; {suggestion(column, every_name)}"


def _lacking(rule: DuplicatesRule, key: Iterable[KeyPart], names: Mapping[str, Names]) -> Iterator[str]:
    """Yield a sentence for each column that decides which records belong together and that a dataset lacks."""
    deciding = [*(("key", part.column) for part in key), *_of_span(rule), *_of_repeats(rule)]
    for dataset, of_dataset in names.items():
        for setting, column in deciding:
            if column not in rule.columns.get(dataset, {}) and of_dataset.of(column) is None:
                near = _ended(suggestion(column, of_dataset.own))
                yield (
                    f"`{setting}` needs `{column}`, but dataset `{dataset}` has no such column; {near} "
                    f"If it has another name, write `columns: {{{dataset}: {{{column}: its name}}}}`."
                )


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith("?") else f"{sentence}."


def _of_group(rule: DuplicatesRule) -> tuple[str, ...]:
    """Return the columns that a condition over a group needs."""
    return parse_group(rule.having).columns if rule.having else ()


def _of_span(rule: DuplicatesRule) -> list[tuple[str, str]]:
    """Return `gap`, `window` or `overlap` with each of its columns."""
    return [(rule.span_setting, column) for column in rule.span.columns] if rule.span else []


def _of_repeats(rule: DuplicatesRule) -> list[tuple[str, str]]:
    return [("repeats", rule.repeats)] if rule.repeats not in (None, DATASET) else []


def _of_members(rule: DuplicatesRule) -> Iterator[tuple[str, str]]:
    """Yield each setting over the records of a group with a column it names, which not every dataset needs to have."""
    columns = [("keep", line.column) for line in rule.keep]
    columns += [("distinct", rule.distinct), *(("having", column) for column in _of_group(rule))]
    yield from ((setting, column) for setting, column in columns if column and column != DATASET)


def _shown(rule: DuplicatesRule, key: Iterable[KeyPart], data: Sequence[tuple[Relation, Names]]) -> tuple[str, ...]:
    """Return the columns that a finding shows, under the rule's names."""
    columns = [part.column for part in key]
    columns += [column for _, column in _of_span(rule)]
    columns += [name for name in (rule.repeats, rule.distinct, *(line.column for line in rule.keep)) if name]
    for relation, names in data:
        money = relation.money
        columns += names.in_rule(name for name in (money.amount, money.currency_column) if name) if money else ()
        columns += names.in_rule(name for name in PLACE if name in relation.schema and not relation.id)
    return tuple(name for name in dict.fromkeys(columns) if name != DATASET)


def _displayed(data: Sequence[tuple[Relation, Names]]) -> Iterator[str]:
    """Yield the columns that any dataset displays, under the rule's names."""
    for relation, names in data:
        yield from (column for column in names.in_rule(relation.display) if column != DATASET)


def _common(sides: Sequence[Side]) -> tuple[str, ...]:
    """Return the columns that every dataset has, under the rule's names."""
    first, *others = (side.names for side in sides)
    return tuple(column for column in first.in_rule(first.own) if all(names.of(column) for names in others))


def _schema(sides: Sequence[Side]) -> Schema:
    """Return all columns of the datasets under the rule's names, and the record's dataset."""
    types: dict[str, Type] = {}
    for side in sides:
        for column in side.names.in_rule(side.names.own):
            own = side.columns.schema[side.names.of(column) or column].type
            earlier = types.setdefault(column, own)
            if own is not earlier and own.is_number and earlier.is_number:
                types[column] = Type.DECIMAL
    return Schema(tuple(Column(name, type_) for name, type_ in (types | {DATASET: Type.TEXT}).items()))


def _mistakes(bound: SeveralBound) -> Iterator[str]:
    rule = bound.rule
    for part in bound.key:
        yield from _unlike(
            "key", part.column, [(side, chain_type(t, part.steps)) for side, t in bound.typed(part.column)]
        )
    for setting, column in dict.fromkeys((*_of_span(rule), *_of_repeats(rule), *_of_members(rule))):
        yield from _unlike(setting, column, bound.typed(column))
    try:
        _ = bound.having
    except RuleError as error:
        yield f"having: {error}"
    zones = dict.fromkeys(side.relation.timezone for side in bound.sides)
    if len(zones) > 1 and any(bound.schema[c].type in _TIMES for c in _of_group(rule) if c in bound.schema):
        yield (
            f"`having` names a time, but the datasets have different time zones: {', '.join(zones)}; use the same one."
        )
    for side in bound.sides:
        yield from _hidden_money(side)
        yield from excepted(side.relation, list(_named_in_except(rule, side.relation.dataset)))


def _unlike(setting: str, column: str, types: Sequence[tuple[Side, Type]]) -> Iterator[str]:
    """Yield a sentence if the values of a column cannot be equal in two datasets because of their types."""
    first, *others = types
    for side, type_ in others:
        if type_ is first[1] or (type_.is_number and first[1].is_number):
            continue
        told = (
            f"`{own_side.names.of(column)}` of dataset `{own_side.relation.dataset}` is of type {own_type.value}"
            for own_side, own_type in (first, (side, type_))
        )
        days = {type_, first[1]} == _TIMES
        advice = "compare them by `day`" if days else "declare the same type under the dataset's `columns:`"
        yield f"`{setting}`: {', but '.join(told)}; {advice}."
        return


def _hidden_money(side: Side) -> Iterator[str]:
    """Yield a sentence for each column of the dataset's `money` whose name the rule gives to another column."""
    money = side.relation.money
    for column in (money.amount, money.currency_column) if money else ():
        if column and not side.names.in_rule([column]):
            yield (
                f"`columns` gives the name `{column}` to `{side.names.of(column)}`, but the `money` of dataset "
                f"`{side.relation.dataset}` is in its own `{column}`; choose another name."
            )


def _named_in_except(rule: DuplicatesRule, dataset: str) -> Iterator[tuple[str, ...]]:
    for record in (record for pair in rule.except_pairs for record in pair):
        if isinstance(record, tuple):
            if dataset == rule.dataset:
                yield record
        elif record.dataset == dataset:
            yield record.id
