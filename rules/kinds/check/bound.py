"""A check bound to the dataset it reads: the columns it names, its compiled condition, and the check that it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import sqlalchemy as sa

from rules import fitting
from rules.document.mistakes import RuleError
from rules.engines.base import Relation
from rules.engines.compile import Columns, Uses, column_type
from rules.expressions import BoundExpression, parse
from rules.expressions.previous import previous_of
from rules.kinds.base import DatasetFacts, DoesNotFit
from rules.kinds.check import barren
from rules.kinds.check.model import CheckRule
from rules.models import KeyPart
from rules.normalise import chain_type
from rules.values import PLACE, Column, Schema, Type

FOLLOWING = "the following number"
"""The name of the answer's column for the number after a gap."""


@dataclass(frozen=True)
class BoundCheck:
    """A rule with the dataset it reads, and everything that follows from both."""

    rule: CheckRule
    relation: Relation
    columns: Columns

    @property
    def gaps(self) -> KeyPart | None:
        return self.rule.gaps

    @cached_property
    def dataset_condition(self) -> BoundExpression | None:
        """The dataset's filter."""
        text = self.relation.where
        return None if text is None else self._bind(text)

    def _bind(self, text: str) -> BoundExpression:
        return parse(text).condition(self.columns.schema, self.relation.timezone, self.relation.calendar)

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
        names += [] if self.dataset_condition is None else self.dataset_condition.expression.columns
        return tuple(dict.fromkeys(names))

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The columns that a finding shows, each once."""
        return tuple(dict.fromkeys((*self.compared, *self.relation.display)))

    @cached_property
    def compared(self) -> tuple[str, ...]:
        """The columns of the rule that a finding shows."""
        money = self.relation.money
        filtering = () if self.dataset_condition is None else self.dataset_condition.expression.columns
        condition = () if self.rule.condition is None else self.rule.condition.columns
        names = [name for name in self.judged if name in condition or name not in filtering]
        names += [money.amount, money.currency_column or ""] if money else []
        names += [name for name in PLACE if name in self.relation.schema and not self.relation.id]
        return tuple(name for name in dict.fromkeys(names) if name)

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that are more than displayed."""
        return (*self.relation.id, *self.judged, *self.compared)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The dataset's columns that the rule or the dataset names; for a derived column, its source columns."""
        sources = set(self.columns.sources((*self.used, *self.shown)))
        return tuple(name for name in self.relation.schema.names if name in sources)

    @property
    def needed(self) -> tuple[str, ...]:
        return self.named if self.relation.id else self.relation.schema.names

    @cached_property
    def content(self) -> tuple[str, ...]:
        """The columns that identify a record without id, or order those that share one, displayed ones last."""
        judged, used = (set(self.columns.sources(names)) for names in (self.judged, self.used))
        read = [name for name in self.needed if name not in PLACE or name in judged]
        return tuple(sorted(read, key=lambda name: name not in used) if self.relation.id else read)

    @cached_property
    def uses(self) -> Uses:
        conditions = tuple(bound for bound in (self.dataset_condition, self.condition) if bound is not None)
        return Uses(self.columns, conditions, (), self.relation.id, self.relation.timezone)

    @cached_property
    def table(self) -> sa.TableClause:
        """The table of records in DuckDB."""
        schema = self.relation.schema
        return sa.table("records", *(sa.column(name, column_type(schema[name].type)) for name in self.needed))

    @property
    def is_of_texts(self) -> bool:
        """True if the numbers that may not be left out are inside texts."""
        return self.gaps is not None and self.type_of(self.gaps) is Type.TEXT

    def type_of(self, part: KeyPart) -> Type:
        """Return the type of a column after its normalisers."""
        return chain_type(self.columns.schema[part.column].type, part.steps)


def bind(rule: CheckRule, relation: Relation) -> BoundCheck:
    """Bind the rule to the dataset it reads. Raises DoesNotFit with every mistake."""
    try:
        columns = Columns.of(relation.schema, relation.derived, relation.timezone, relation.calendar)
    except RuleError as error:
        mistake = f"A derived column of dataset `{relation.dataset}` cannot be computed: {error}"
        raise DoesNotFit(rule.name, [mistake]) from error
    bound = BoundCheck(rule, relation, columns)
    if mistakes := list(dict.fromkeys(_misfits(bound))):
        raise DoesNotFit(rule.name, mistakes)
    return bound


def _misfits(bound: BoundCheck) -> Iterator[str]:
    """Yield a sentence for each setting that does not fit the dataset."""
    rule, relation, schema = bound.rule, bound.relation, bound.columns.schema
    yield from fitting.missing(schema, relation, _named(rule, relation))
    for _, part in rule.key_parts():
        yield from fitting.key_part(schema, part)
    yield from fitting.money(schema, relation)
    yield from _unordered(bound)
    for name in (FOLLOWING, *bound.following_id, *(rule.condition.previous if rule.condition else ())):
        if name in schema:
            yield f"Dataset `{relation.dataset}` has a column `{name}`, a name that a check needs; rename it in a view."
    facts = DatasetFacts(relation.id, relation.where, relation.derived)
    yield from (f"`{path[0]}`: {sentence}." for path, sentence in barren.reasons(rule, facts))
    tests: tuple[tuple[str, Callable[[], object]], ...] = (
        ("The dataset's where", lambda: bound.dataset_condition),
        ("where", lambda: bound.condition if all(name in schema for name in relation.id) else None),
    )
    for setting, test in tests:
        try:
            test()
        except RuleError as error:
            yield f"{setting}: {error}"


def _named(rule: CheckRule, relation: Relation) -> Iterator[tuple[str, str]]:
    yield from (("id", name) for name in relation.id)
    yield from (("order", name) for name in rule.order)
    yield from ((str(path[0]), part.column) for path, part in rule.key_parts())
    if relation.money:
        yield "money", relation.money.amount
        if relation.money.currency_column:
            yield "money", relation.money.currency_column


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
