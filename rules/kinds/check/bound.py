"""A check bound to the dataset it reads: the columns it names, its compiled condition, and the check that it fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rules.binding import fitting
from rules.binding.rule import DatasetFacts
from rules.binding.side import Side, columns_of, money_columns, place_columns
from rules.document.mistakes import RuleError
from rules.engines.base import Relation
from rules.engines.compile import Columns, Uses
from rules.expressions import BoundExpression, parse
from rules.expressions.previous import previous_of
from rules.kinds.check import barren
from rules.kinds.check.model import CheckRule
from rules.models import KeyPart
from rules.values import Column, Schema, Type

FOLLOWING = "the following number"
"""The name of the answer's column for the number after a gap."""


@dataclass(frozen=True)
class BoundCheck(Side):
    """A rule with the dataset it reads, and everything that follows from both."""

    rule: CheckRule

    @property
    def sides(self) -> tuple[BoundCheck]:
        return (self,)

    @property
    def gaps(self) -> KeyPart | None:
        return self.rule.gaps

    @cached_property
    def previous(self) -> Mapping[str, BoundExpression]:
        """The values of the previous record that the condition names, and for people its id, by their names."""
        condition = self.rule.condition
        if condition is None or not condition.previous:
            return {}
        values = dict(condition.previous) | {previous_of(name): parse(_quoted(name)) for name in self.relation.id}
        schema, relation = self.columns.schema, self.relation
        return {name: value.bind(schema, relation.timezone, relation.calendar) for name, value in values.items()}

    @cached_property
    def following_id(self) -> Mapping[str, str]:
        """The columns of the id, by the names of the answer's columns for the record after a gap."""
        return {} if self.gaps is None else {f"the following {name}": name for name in self.relation.id}

    @cached_property
    def ordered_columns(self) -> Columns:
        """The columns that the condition can name: those of a record, and the values of the previous one."""
        own = (column for column in self.columns.schema if column.name not in self.previous)
        previous = (
            Column(name, value.type, pushable=True, stays_ascii=value.typed.stays_ascii)
            for name, value in self.previous.items()
        )
        return Columns(Schema((*own, *previous)), self.columns.derived)

    @cached_property
    def condition(self) -> BoundExpression | None:
        """The condition that no record may meet."""
        if self.rule.condition is None:
            return None
        schema = self.ordered_columns.schema
        return self.rule.condition.expression.condition(schema, self.relation.timezone, self.relation.calendar)

    @cached_property
    def judged(self) -> tuple[str, ...]:
        """The columns that decide whether a record fails."""
        names = [*self.rule.order, *(part.column for part in self.rule.by)]
        names += [] if self.gaps is None else [self.gaps.column]
        names += [] if self.rule.condition is None else self.rule.condition.columns
        names += [name for value in self.previous.values() for name in value.expression.columns]
        return tuple(dict.fromkeys((*names, *self.filtering)))

    @cached_property
    def compared(self) -> tuple[str, ...]:
        """The columns of the rule that a finding shows."""
        condition = () if self.rule.condition is None else self.rule.condition.columns
        names = (name for name in self.judged if name in condition or name not in self.filtering)
        return tuple(dict.fromkeys((*names, *money_columns(self.relation), *place_columns(self.relation))))

    @cached_property
    def uses(self) -> Uses:
        conditions = (*self.filters.values(), *([] if self.condition is None else [self.condition]))
        return Uses(self.columns, conditions, (), self.relation.id, self.relation.timezone)

    @property
    def is_of_texts(self) -> bool:
        """True if the numbers that may not be left out are inside texts."""
        return self.gaps is not None and self.type_of(self.gaps) is Type.TEXT


def bind(rule: CheckRule, relation: Relation) -> BoundCheck:
    """Bind the rule to the dataset it reads. Raises DoesNotFit with every mistake."""
    bound = BoundCheck(relation, columns_of(rule.name, relation), None, rule)
    fitting.refuse(rule.name, _misfits(bound))
    return bound


def _misfits(bound: BoundCheck) -> Iterator[str]:
    """Yield a sentence for each setting that does not fit the dataset."""
    rule, relation, schema = bound.rule, bound.relation, bound.columns.schema
    yield from fitting.missing(schema, relation, fitting.named(relation, _named(rule)))
    for _, part in rule.key_parts():
        yield from fitting.key_part(schema, part)
    yield from fitting.money(schema, relation)
    yield from _unordered(bound)
    for name in (FOLLOWING, *bound.following_id, *(rule.condition.previous if rule.condition else ())):
        if name in schema:
            yield f"Dataset `{relation.dataset}` has a column `{name}`, a name that a check needs; rename it in a view."
    facts = DatasetFacts(relation.id, relation.where, relation.derived)
    yield from (f"`{path[0]}`: {sentence}." for path, sentence in barren.reasons(rule, facts))
    yield from fitting.failing(
        (
            ("The dataset's where", lambda: bound.filters),
            ("where", lambda: bound.condition if all(name in schema for name in relation.id) else None),
        )
    )


def _named(rule: CheckRule) -> Iterator[tuple[str, str]]:
    yield from (("order", name) for name in rule.order)
    yield from ((str(path[0]), part.column) for path, part in rule.key_parts())


def _unordered(bound: BoundCheck) -> Iterator[str]:
    """Yield a sentence for each column that gives records no order."""
    rule, relation, schema = bound.rule, bound.relation, bound.columns.schema
    if rule.order and not relation.id:
        yield (
            f"`order` needs an `id` to order equal values, but dataset `{relation.dataset}` has none; give it an `id`."
        )
    for name in rule.order:
        if name in schema and schema[name].type in (Type.BOOLEAN, Type.BYTES):
            kind = schema[name].type.value
            yield f"`order` orders by times, numbers or texts, but `{name}` is of type {kind}; name another column."
    part = rule.gaps
    if part is None or part.column not in schema:
        return
    try:
        own = schema[part.column].type
        kind = (own if own is Type.FLOAT else bound.type_of(part)).value  # no normaliser makes a float exact
    except RuleError:
        return  # told with its normalisers
    if kind not in ("text", "integer", "decimal"):
        advice = f"declare `{part.column}` as text or integer under columns:"
        yield f"`gaps` needs whole numbers, or texts with a number, but `{part.column}` is of type {kind}; {advice}."


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
