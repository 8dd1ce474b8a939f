"""A rule of kind `similar` bound to the datasets it reads, and the check that it fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rules.binding import fitting, several
from rules.binding.keyed import bound_having, of_group
from rules.binding.names import DATASET, Names
from rules.binding.several import RenamedSide
from rules.binding.side import columns_of, money_columns, place_columns
from rules.document.mistakes import suggestion
from rules.engines.base import Relation
from rules.expressions import BoundGroup
from rules.groups import survivorship
from rules.groups.criteria import GroupCriteria
from rules.kinds.similar.rule import SimilarRule
from rules.kinds.similar.types import SemanticType
from rules.models import Keep
from rules.values import Schema, Type

_MEASURED = {
    SemanticType.DATE: (Type.DATE, Type.INSTANT, Type.TEXT),
    SemanticType.NUMBER: (Type.INTEGER, Type.DECIMAL, Type.FLOAT, Type.TEXT),
    SemanticType.AMOUNT: (Type.INTEGER, Type.DECIMAL, Type.FLOAT, Type.TEXT),
}
"""The types of columns whose values these semantic types can measure; the others compare any value as text."""


@dataclass(frozen=True)
class SimilarSide(RenamedSide):
    """A dataset with the rule in its own columns."""

    rule: SimilarRule

    @cached_property
    def own_columns(self) -> Mapping[str, str]:
        """The dataset's own name of each compared column."""
        return {column: self.names.of(column) or column for column in self.rule.compare}

    @property
    def judged(self) -> tuple[str, ...]:
        return (*self.own_columns.values(), *self.filtering)

    @property
    def compared(self) -> tuple[str, ...]:
        chosen = (*(line.column for line in self.rule.keep), self.rule.distinct)
        columns = (*self.own_columns.values(), *self._own(name for name in chosen if name))
        return tuple(dict.fromkeys((*columns, *money_columns(self.relation), *place_columns(self.relation))))

    @cached_property
    def considered(self) -> tuple[str, ...]:
        return survivorship.columns_of(self.rule.keep, self.relation.schema)

    @property
    def reads_all(self) -> bool:
        return super().reads_all or any(line.how == "most_complete" for line in self.rule.keep)


@dataclass(frozen=True)
class BoundSimilar(GroupCriteria):
    """A rule with all its datasets; `schema` holds their columns under the rule's names."""

    rule: SimilarRule
    sides: tuple[SimilarSide, ...]

    @cached_property
    def schema(self) -> Schema:
        return several.united_schema(self.sides) if self.has_several else self.sides[0].columns.schema

    @property
    def has_several(self) -> bool:
        """Return True if the rule compares several datasets; only then, `dataset` stands for the record's dataset."""
        return len(self.sides) > 1

    @property
    def identifier(self) -> str:
        return " and ".join(self.rule.compare)

    @property
    def keeps_all(self) -> bool:
        return False

    @property
    def keep(self) -> tuple[Keep, ...]:
        return self.rule.keep

    @cached_property
    def considered(self) -> Sequence[str]:
        return several.common(self.sides) if self.has_several else self.sides[0].considered

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The columns that a finding shows, under the rule's names."""
        names = [*self.rule.compare, *(line.column for line in self.rule.keep), self.rule.distinct]
        for side in self.sides:
            names += side.names.in_rule((*money_columns(side.relation), *place_columns(side.relation)))
        names += several.displayed([(side.relation, side.names) for side in self.sides])
        return tuple(dict.fromkeys(name for name in names if name and self.is_column(name)))

    @property
    def span_column(self) -> None:
        return None

    @cached_property
    def seen(self) -> tuple[str, ...]:
        """The columns of a record that decide about its group or are shown."""
        counted = self.considered if any(line.how == "most_complete" for line in self.rule.keep) else ()
        columns = dict.fromkeys((*self.shown, *of_group(self.rule), *counted))
        return tuple(column for column in columns if self.is_column(column))

    def is_column(self, name: str | None) -> bool:
        """Return False for `dataset` if it stands for the record's dataset."""
        return name != DATASET or not self.has_several

    @cached_property
    def having(self) -> BoundGroup | None:
        """The condition over a group."""
        return bound_having(self.rule, self.schema, self.sides[0].relation)


def bind(rule: SimilarRule, relations: Mapping[str, Relation]) -> BoundSimilar:
    """Bind the rule to its datasets. Raises DoesNotFit with every mistake."""
    columns = {name: columns_of(rule.name, relations[name]) for name in rule.member_datasets}
    names = {name: Names(columns[name].schema.names, rule.columns.get(name, {})) for name in rule.member_datasets}
    data = [(relations[name], names[name]) for name in rule.member_datasets]
    fitting.refuse(rule.name, _unknown(rule, names))
    sides = tuple(
        SimilarSide(
            relations[name],
            columns[name],
            _filter(rule.of_dataset(name, names[name].of)),
            rule,
            names=names[name],
            also=of_group(rule),
            displayed=tuple(several.displayed(data)),
        )
        for name in rule.member_datasets
    )
    bound = BoundSimilar(rule, sides)
    fitting.refuse(rule.name, _misfits(bound))
    return bound


def _filter(rule: SimilarRule) -> str | None:
    """Return the filter of a rule over one dataset."""
    return rule.where if isinstance(rule.where, str) else None


def _unknown(rule: SimilarRule, names: Mapping[str, Names]) -> Iterator[str]:
    """Yield a sentence for each compared column that a dataset lacks, and for each other one that all of them lack."""
    for dataset, given in rule.columns.items():
        for column, own in given.items():
            if own not in names[dataset].own:
                hint = suggestion(own, names[dataset].own)
                yield f"`columns` names `{own}` for `{column}`, but dataset `{dataset}` has no such column; {hint}"
    for column in rule.compare:
        for dataset, of_dataset in names.items():
            if column not in rule.columns.get(dataset, {}) and of_dataset.of(column) is None:
                hint = suggestion(column, of_dataset.own)
                yield f"`compare` names `{column}`, but dataset `{dataset}` has no such column; {hint}"
    every_name = {column for of_dataset in names.values() for column in of_dataset.in_rule(of_dataset.own)}
    if len(names) > 1:
        every_name.add(DATASET)
    others = [("keep", line.column) for line in rule.keep] + [("distinct", rule.distinct)]
    others += [("having", name) for name in of_group(rule)]
    for setting, name in others:
        if name and name not in every_name:
            yield f"`{setting}` names `{name}`, which no dataset of the rule has; {suggestion(name, every_name)}"


def _misfits(bound: BoundSimilar) -> Iterator[str]:
    """Yield a sentence for each setting that does not fit the types of columns."""
    rule = bound.rule
    for side in bound.sides:
        relation, schema = side.relation, side.columns.schema
        yield from fitting.missing(schema, relation, fitting.named(relation, ()))
        yield from fitting.money(schema, relation)
        yield from several.hidden_money(side)
        for column, own in side.own_columns.items():
            type_, meaning = schema[own].type, rule.compare[column]
            if type_ is Type.BYTES or type_ not in _MEASURED.get(meaning, (type_,)):
                allowed = [each.value for each in _MEASURED.get(meaning, (Type.TEXT,))]
                yield (
                    f"`compare`: `{own}` of dataset `{relation.dataset}` is of type {type_.value}, which cannot be "
                    f"compared as {meaning.value}; declare it as {' or '.join(allowed)} under columns:, or compare it "
                    "as another type"
                )
        tests = [
            ("The dataset's where", lambda side=side: side.relation.where and side.bind_condition(side.relation.where)),
            ("where", lambda side=side: side.where and side.bind_condition(side.where)),
        ]
        yield from fitting.failing(tests)
        yield from fitting.excepted(relation, list(_named_in_except(rule, relation.dataset)))
    kept = [line for line in rule.keep if line.column in bound.schema and bound.is_column(line.column)]
    yield from fitting.failing(
        [("having", lambda: bound.having), ("keep", lambda: survivorship.check_keep(kept, bound.schema))]
    )


def _named_in_except(rule: SimilarRule, dataset: str) -> Iterator[tuple[str, ...]]:
    for record in (record for pair in rule.except_pairs for record in pair):
        if isinstance(record, tuple):
            if dataset == rule.dataset:
                yield record
        elif record.dataset == dataset:
            yield record.id
