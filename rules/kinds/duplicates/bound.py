"""A rule beside the dataset it reads: what of it is named, what that means there, and whether it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import sqlalchemy as sa

from rules import fitting, survivorship
from rules.engines.base import Relation
from rules.engines.compile import Columns, Uses, column_type, part_exactness
from rules.errors import RuleError
from rules.expressions import Bound, BoundGroup, parse, parse_group
from rules.kinds.base import DatasetFacts, DoesNotFit
from rules.kinds.duplicates import barren
from rules.kinds.duplicates.model import DuplicatesRule
from rules.models import Keep, KeyPart
from rules.normalise import chain_type
from rules.values import PLACE, Type


@dataclass(frozen=True)
class BoundRule:
    """A rule beside the dataset it reads: what of it is named, and what it means there."""

    rule: DuplicatesRule
    relation: Relation
    columns: Columns

    @cached_property
    def parts(self) -> tuple[KeyPart, ...]:
        """The key. `all` is every column but those that only say which record it is, or where it was."""
        if self.rule.key != "all":
            return self.rule.key
        aside = {*self.relation.id, *PLACE}
        return tuple(KeyPart(column=name) for name in self.relation.schema.names if name not in aside)

    def matches_null(self, part: KeyPart) -> bool:
        return self.rule.key == "all" or part.column in self.rule.nulls

    @cached_property
    def conditions(self) -> tuple[Bound, ...]:
        """The dataset's filter and the rule's, where there are any."""
        return tuple(self.condition(text) for text in (self.relation.where, self.rule.where) if text is not None)

    def condition(self, text: str) -> Bound:
        return parse(text).condition(self.columns.schema, self.relation.timezone)

    @cached_property
    def judged(self) -> tuple[str, ...]:
        """Columns that decide what belongs together."""
        found = [part.column for part in self.parts]
        found += [name for one in self.conditions for name in one.expression.columns]
        return (*found, *(name for name in (self.span_column, self.rule.distinct) if name))

    @property
    def span_column(self) -> str | None:
        return self.rule.span.column if self.rule.span else None

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """Columns a finding shows, each once."""
        money = self.relation.money
        names = [part.column for part in self.parts]
        names += [self.span_column or "", self.rule.distinct or "", *(line.column or "" for line in self.rule.keep)]
        names += [money.amount, money.currency_column or ""] if money else []
        names += [name for name in PLACE if name in self.relation.schema and not self.relation.id]
        return tuple(name for name in dict.fromkeys(names) if name)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The dataset's columns that the rule, or the dataset for it, names: for a derived one those behind it."""
        names = [*self.relation.id, *self.judged, *self.shown]
        names += parse_group(self.rule.having).columns if self.rule.having else ()
        behind = set(self.columns.sources(names))
        return tuple(name for name in self.relation.schema.names if name in behind)

    @cached_property
    def needed(self) -> tuple[str, ...]:
        if not self.relation.id or any(line.how == "most_complete" for line in self.rule.keep):
            return self.relation.schema.names
        return self.named

    @cached_property
    def content(self) -> tuple[str, ...]:
        """What a record without id is known by: all it says, and where it was only if the rule asks where."""
        asked = set(self.columns.sources(self.judged))
        return tuple(name for name in self.needed if name not in PLACE or name in asked)

    @cached_property
    def uses(self) -> Uses:
        plain = tuple(n for n in (self.span_column, self.rule.distinct, *self.relation.id) if n)
        return Uses(self.columns, self.conditions, self.parts, plain, self.relation.timezone)

    @cached_property
    def keep(self) -> tuple[Keep, ...]:
        """How the keeper is chosen; of records near each other in time it is the first, unless the rule says else."""
        if self.rule.keep or self.span_column is None:
            return self.rule.keep
        return (Keep(how="first", column=self.span_column),)

    @cached_property
    def considered(self) -> tuple[str, ...]:
        """Columns whose values `most_complete` counts."""
        return survivorship.columns_of(self.rule.keep, self.relation.schema)

    @cached_property
    def having(self) -> BoundGroup | None:
        if self.rule.having is None:
            return None
        return parse_group(self.rule.having).bind(self.columns.schema, self.relation.timezone)

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """Column names; a column that is there twice, normalised otherwise, says how."""
        names: list[str] = []
        for part in self.parts:
            steps = ", ".join(step.name for step in part.steps) or "as it is"
            names.append(f"{part.column} ({steps})" if part.column in names else part.column)
        return tuple(names)

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """Columns that are in the key as they are, where another part is normalised. Floats equal others than they
        look like, and where nulls match, so do blank texts."""
        parts = self.parts
        if not any(part.steps or part.column in self.columns.derived for part in parts):
            return ()
        schema = self.columns.schema
        return tuple(
            part.column
            for part in parts
            if not part.steps
            and part.column not in self.columns.derived
            and not self.matches_null(part)
            and schema[part.column].type is not Type.FLOAT
        )

    @cached_property
    def lookups(self) -> tuple[int, ...]:
        """Parts of the key, by position, whose values DuckDB and a database write alike."""
        schema, zone = self.columns.schema, self.relation.timezone
        kinds = [chain_type(schema[part.column].type, part.steps) for part in self.parts]
        return tuple(
            n
            for n, (part, kind) in enumerate(zip(self.parts, kinds, strict=True))
            if kind is Type.TEXT
            or (kind in (Type.INTEGER, Type.DECIMAL) and part_exactness(self.columns, part, "duckdb", zone) == "always")
        )

    @cached_property
    def table(self) -> sa.TableClause:
        """The records as DuckDB holds them."""
        return self.table_named("records")

    def table_named(self, name: str) -> sa.TableClause:
        schema = self.relation.schema
        return sa.table(name, *(sa.column(name, column_type(schema[name].type)) for name in self.needed))


def bind(rule: DuplicatesRule, relation: Relation) -> BoundRule:
    """Bind the rule to the dataset it reads. Raises DoesNotFit with every mistake."""
    try:
        columns = Columns.of(relation.schema, relation.derived, relation.timezone)
    except RuleError as error:
        mistake = f"A derived column of dataset `{relation.dataset}` cannot be computed: {error}"
        raise DoesNotFit(rule.name, [mistake]) from error
    bound = BoundRule(rule, relation, columns)
    if mistakes := list(dict.fromkeys(_misfits(bound))):
        raise DoesNotFit(rule.name, mistakes)
    return bound


def _misfits(bound: BoundRule) -> Iterator[str]:
    rule, relation, schema = bound.rule, bound.relation, bound.columns.schema
    yield from fitting.missing(schema, relation, _named(rule, relation))
    if rule.key != "all":
        for part in rule.key:
            yield from fitting.key_part(schema, part)
    if rule.span:
        yield from fitting.span(schema, "gap" if rule.gap else "window", rule.span.column, rule.span.by)
    yield from fitting.money(schema, relation)
    if rule.key == "all" and not bound.parts:
        yield f"`key: all` compares nothing: every column of dataset `{relation.dataset}` is in its id."
    facts = DatasetFacts(relation.id, relation.where, relation.derived)
    yield from (f"`{path[0]}`: {sentence}." for path, sentence in barren.reasons(rule, facts))
    tests: tuple[tuple[str, Callable[[], object]], ...] = (
        ("The dataset's where", lambda: relation.where and bound.condition(relation.where)),
        ("where", lambda: rule.where and bound.condition(rule.where)),
        ("having", lambda: bound.having),
        ("keep", lambda: survivorship.check_keep([k for k in rule.keep if k.column in schema], schema)),
    )
    for setting, test in tests:
        try:
            test()
        except RuleError as error:
            yield f"{setting}: {error}"
    wrong = [one for pair in rule.except_ for one in pair if len(one) != len(relation.id)]
    if rule.except_ and not relation.id:
        yield f"`except` names records by their id, but dataset `{relation.dataset}` has none; give it an `id`."
    elif wrong:
        yield f"`except` has an id of {len(wrong[0])} parts, but the id of `{relation.dataset}` has {len(relation.id)}."


def _named(rule: DuplicatesRule, relation: Relation) -> Iterator[tuple[str, str]]:
    yield from (("id", name) for name in relation.id)
    if rule.key != "all":
        yield from (("key", part.column) for part in rule.key)
    if rule.span:
        yield ("gap" if rule.gap else "window"), rule.span.column
    if rule.distinct:
        yield "distinct", rule.distinct
    yield from (("keep", line.column) for line in rule.keep if line.column)
    if relation.money:
        yield "money", relation.money.amount
        if relation.money.currency_column:
            yield "money", relation.money.currency_column
