"""A rule over several datasets, bound to each of them, and the check that their columns can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rules.binding import fitting, several
from rules.binding.keyed import bound_having, of_group, shown_columns
from rules.binding.names import DATASET, Names
from rules.binding.several import RenamedSide
from rules.binding.side import columns_of, money_columns, place_columns
from rules.binding.united import United
from rules.document.mistakes import suggestion
from rules.engines.base import Relation
from rules.expressions import BoundGroup
from rules.groups.criteria import Criteria
from rules.kinds.duplicates import datasets
from rules.kinds.duplicates.bound import BoundDuplicates, filter_of, misfits
from rules.kinds.duplicates.model import DuplicatesRule
from rules.models import KeyPart
from rules.normalise import chain_type
from rules.values import Schema, Type


@dataclass(frozen=True)
class SideInRule(RenamedSide, BoundDuplicates):
    """One of several datasets, with the rule in its own columns."""


@dataclass(frozen=True)
class SeveralBound(Criteria):
    """A rule with all its datasets. `key` and `schema` hold their columns under the rule's names."""

    rule: DuplicatesRule
    sides: tuple[SideInRule, ...]
    key: tuple[KeyPart, ...]
    schema: Schema

    @cached_property
    def united(self) -> United:
        """The table of all records."""
        return United(self.sides)

    @property
    def parts(self) -> tuple[KeyPart, ...]:
        return self.key

    @cached_property
    def shown(self) -> tuple[str, ...]:
        data = [(side.relation, side.names) for side in self.sides]
        return tuple(dict.fromkeys((*_shown(self.rule, self.key, data), *several.displayed(data))))

    @cached_property
    def considered(self) -> tuple[str, ...]:
        return several.common(self.sides)

    @property
    def shared_columns(self) -> tuple[str, ...]:
        return tuple(f"shared_{n}" for n in range(len(self.keys)))

    @property
    def of_group(self) -> tuple[str, ...]:
        """The columns that the condition over a group needs."""
        return of_group(self.rule)

    @cached_property
    def seen(self) -> tuple[str, ...]:
        """The columns of a record that decide about its group or are shown."""
        counted = self.considered if any(line.how == "most_complete" for line in self.rule.keep) else ()
        columns = dict.fromkeys((*self.shown, *self.of_group, *counted))
        return tuple(column for column in columns if column != DATASET)

    @cached_property
    def having(self) -> BoundGroup | None:
        return bound_having(self.rule, self.schema, self.sides[0].relation)

    def typed(self, column: str) -> list[tuple[SideInRule, Type]]:
        """Return each dataset that has this column of the rule, with its type there."""
        own = ((side, side.names.of(column)) for side in self.sides)
        return [(side, side.columns.schema[name].type) for side, name in own if name is not None]


def bind_several(rule: DuplicatesRule, relations: Mapping[str, Relation]) -> SeveralBound:
    """Bind the rule to its datasets. Raises DoesNotFit with every mistake."""
    columns = {name: columns_of(rule.name, relations[name]) for name in rule.member_datasets}
    names = {name: Names(columns[name].schema.names, rule.columns.get(name, {})) for name in rule.member_datasets}
    key = several.every_column(relations, names) if rule.key == "all" else tuple(part for _, part in rule.key_parts())
    fitting.refuse(rule.name, [*_unknown(rule, names), *_lacking(rule, key, names)])
    data = [(relations[name], names[name]) for name in rule.member_datasets]
    for_groups = {"also": (*_shown(rule, key, data), *of_group(rule)), "displayed": tuple(several.displayed(data))}
    of_datasets = {name: datasets.of_dataset(rule, name, n.of, key) for name, n in names.items()}
    sides = tuple(
        SideInRule(own, relations[name], columns[name], filter_of(own), names=names[name], **for_groups)
        for name, own in of_datasets.items()
    )
    misfits_of_sides = ((side, sentence) for side in sides for sentence in misfits(side, among_several=True))
    fitting.refuse(rule.name, (several.in_dataset(side, sentence) for side, sentence in misfits_of_sides))
    bound = SeveralBound(rule, sides, key, several.united_schema(sides))
    fitting.refuse(rule.name, _mistakes(bound))
    return bound


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


def _of_span(rule: DuplicatesRule) -> list[tuple[str, str]]:
    """Return `gap`, `window` or `overlap` with each of its columns."""
    return [(rule.span_setting, column) for column in rule.span.columns] if rule.span else []


def _of_repeats(rule: DuplicatesRule) -> list[tuple[str, str]]:
    return [("repeats", rule.repeats)] if rule.repeats not in (None, DATASET) else []


def _of_members(rule: DuplicatesRule) -> Iterator[tuple[str, str]]:
    """Yield each setting over the records of a group with a column it names, which not every dataset needs to have."""
    columns = [("keep", line.column) for line in rule.keep]
    columns += [("distinct", rule.distinct), *(("having", column) for column in of_group(rule))]
    yield from ((setting, column) for setting, column in columns if column and column != DATASET)


def _shown(rule: DuplicatesRule, key: Iterable[KeyPart], data: Sequence[tuple[Relation, Names]]) -> tuple[str, ...]:
    """Return the columns that a finding shows, under the rule's names."""
    columns = [*shown_columns(rule, key)]
    for relation, names in data:
        columns += names.in_rule((*money_columns(relation), *place_columns(relation)))
    return tuple(name for name in dict.fromkeys(columns) if name != DATASET)


def _mistakes(bound: SeveralBound) -> Iterator[str]:
    rule = bound.rule
    for part in bound.key:
        yield from several.unlike(
            "key", part.column, [(side, chain_type(t, part.steps)) for side, t in bound.typed(part.column)]
        )
    for setting, column in dict.fromkeys((*_of_span(rule), *_of_repeats(rule), *_of_members(rule))):
        yield from several.unlike(setting, column, bound.typed(column))
    yield from fitting.failing([("having", lambda: bound.having)])
    zones = dict.fromkeys(side.relation.timezone for side in bound.sides)
    if len(zones) > 1 and any(bound.schema[c].type in several.TIMES for c in of_group(rule) if c in bound.schema):
        yield (
            f"`having` names a time, but the datasets have different time zones: {', '.join(zones)}; use the same one."
        )
    for side in bound.sides:
        yield from several.hidden_money(side)
        yield from fitting.excepted(side.relation, list(_named_in_except(rule, side.relation.dataset)))


def _named_in_except(rule: DuplicatesRule, dataset: str) -> Iterator[tuple[str, ...]]:
    for record in (record for pair in rule.except_pairs for record in pair):
        if isinstance(record, tuple):
            if dataset == rule.dataset:
                yield record
        elif record.dataset == dataset:
            yield record.id
