"""A rule bound to the dataset it reads: the columns it names, its compiled conditions, and the check that it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import sqlalchemy as sa

from rules import fitting, survivorship
from rules.engines.base import Relation
from rules.engines.compile import Columns, Uses, column_type, part_exactness
from rules.errors import RuleError
from rules.expressions import BoundExpression, BoundGroup, parse, parse_group
from rules.kinds.base import DatasetFacts, DoesNotFit
from rules.kinds.duplicates import barren, splitting
from rules.kinds.duplicates.model import DuplicatesRule
from rules.models import Keep, KeyPart
from rules.normalise import chain_type
from rules.values import PLACE, Type


@dataclass(frozen=True)
class BoundRule:
    """A rule with the dataset it reads, and everything that follows from both."""

    rule: DuplicatesRule
    relation: Relation
    columns: Columns

    @cached_property
    def parts(self) -> tuple[KeyPart, ...]:
        """The parts of the key, or of all keys. `all` is every column except the id, the file and the row."""
        if self.rule.key != "all":
            return tuple(part for parts in self.rule.keys for part in parts)
        excluded = {*self.relation.id, *PLACE}
        return tuple(KeyPart(column=name) for name in self.relation.schema.names if name not in excluded)

    @cached_property
    def keys(self) -> tuple[range, ...]:
        """The positions of each key's parts in `parts`; records are joined if one key agrees."""
        lengths = [len(parts) for parts in self.rule.keys] or [len(self.parts)]
        return tuple(range(end - length, end) for length, end in zip(lengths, accumulate(lengths), strict=True))

    @property
    def joins(self) -> bool:
        """True if several keys join records."""
        return len(self.keys) > 1

    def matches_null(self, part: KeyPart) -> bool:
        return self.rule.key == "all" or part.column in self.rule.nulls

    @cached_property
    def conditions(self) -> tuple[BoundExpression, ...]:
        """The filters of the dataset and of the rule, if any."""
        return tuple(self.condition(text) for text in (self.relation.where, self.rule.where) if text is not None)

    def condition(self, text: str) -> BoundExpression:
        return parse(text).condition(self.columns.schema, self.relation.timezone, self.relation.calendar)

    @cached_property
    def judged(self) -> tuple[str, ...]:
        """The columns that decide which records belong together."""
        names = [part.column for part in self.parts]
        names += [name for condition in self.conditions for name in condition.expression.columns]
        return (*names, *self.span_columns, *([self.rule.distinct] if self.rule.distinct else []))

    @property
    def span_column(self) -> str | None:
        return self.rule.span.column if self.rule.span else None

    @property
    def span_columns(self) -> tuple[str, ...]:
        """The columns of `gap`, `window` or `overlap`; the first orders."""
        return self.rule.span.columns if self.rule.span else ()

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The columns that a finding shows, each once."""
        money = self.relation.money
        names = [part.column for part in self.parts]
        names += [*self.span_columns, self.rule.distinct or "", *(line.column or "" for line in self.rule.keep)]
        names += [money.amount, money.currency_column or ""] if money else []
        names += [name for name in PLACE if name in self.relation.schema and not self.relation.id]
        return tuple(name for name in dict.fromkeys(names) if name)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The dataset's columns that the rule or the dataset names; for a derived column, its source columns."""
        names = [*self.relation.id, *self.judged, *self.shown]
        names += parse_group(self.rule.having).columns if self.rule.having else ()
        sources = set(self.columns.sources(names))
        return tuple(name for name in self.relation.schema.names if name in sources)

    @cached_property
    def needed(self) -> tuple[str, ...]:
        if not self.relation.id or any(line.how == "most_complete" for line in self.rule.keep):
            return self.relation.schema.names
        return self.named

    @cached_property
    def content(self) -> tuple[str, ...]:
        """The columns that identify a record without id: all, but file and row only if the rule uses them."""
        judged = set(self.columns.sources(self.judged))
        return tuple(name for name in self.needed if name not in PLACE or name in judged)

    @cached_property
    def uses(self) -> Uses:
        plain = tuple(n for n in (*self.span_columns, self.rule.distinct, *self.relation.id) if n)
        return Uses(self.columns, self.conditions, self.parts, plain, self.relation.timezone)

    @cached_property
    def keep(self) -> tuple[Keep, ...]:
        """The criteria that choose the keeper; with a span and no `keep`, the first record stays."""
        if self.rule.keep or self.span_column is None:
            return self.rule.keep
        return (Keep(how="first", column=self.span_column),)

    @cached_property
    def considered(self) -> tuple[str, ...]:
        """The columns whose values `most_complete` counts."""
        return survivorship.columns_of(self.rule.keep, self.relation.schema)

    @cached_property
    def having(self) -> BoundGroup | None:
        if self.rule.having is None:
            return None
        relation = self.relation
        return parse_group(self.rule.having).bind(self.columns.schema, relation.timezone, relation.calendar)

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The column names of the key; a column that it holds twice also names its normalisers."""
        names: list[str] = []
        for part in self.parts:
            steps = ", ".join(step.name for step in part.steps) or "as it is"
            names.append(f"{part.column} ({steps})" if part.column in names else part.column)
        return tuple(names)

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """The unnormalised columns of a key in which another part is normalised or derived.

        Floats are left out, since equal floats can be written differently; so are parts whose nulls match, since
        blank texts match there too.
        """
        parts = self.parts
        if self.joins or not any(part.steps or part.column in self.columns.derived for part in parts):
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
        """The positions of key parts whose values DuckDB and a database write the same way."""
        schema, zone = self.columns.schema, self.relation.timezone
        types = [chain_type(schema[part.column].type, part.steps) for part in self.parts]
        return tuple(
            index
            for index, (part, type_) in enumerate(zip(self.parts, types, strict=True))
            if type_ is Type.TEXT
            or (
                type_ in (Type.INTEGER, Type.DECIMAL) and part_exactness(self.columns, part, "duckdb", zone) == "always"
            )
        )

    @cached_property
    def table(self) -> sa.TableClause:
        """The table of records in DuckDB."""
        return self.table_named("records")

    def table_named(self, name: str) -> sa.TableClause:
        schema = self.relation.schema
        return sa.table(name, *(sa.column(name, column_type(schema[name].type)) for name in self.needed))


def bind(rule: DuplicatesRule, relation: Relation) -> BoundRule:
    """Bind the rule to the dataset it reads. Raises DoesNotFit with every mistake."""
    try:
        columns = Columns.of(relation.schema, relation.derived, relation.timezone, relation.calendar)
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
    for _, part in rule.key_parts():
        yield from fitting.key_part(schema, part)
    yield from splitting.misfits(rule, schema)
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
    misfits = [record for pair in rule.except_ for record in pair if len(record) != len(relation.id)]
    if rule.except_ and not relation.id:
        yield f"`except` names records by their id, but dataset `{relation.dataset}` has none; give it an `id`."
    elif misfits:
        parts = len(misfits[0])
        yield f"`except` has an id of {parts} parts, but the id of `{relation.dataset}` has {len(relation.id)}."


def _named(rule: DuplicatesRule, relation: Relation) -> Iterator[tuple[str, str]]:
    yield from (("id", name) for name in relation.id)
    yield from (("key", part.column) for _, part in rule.key_parts())
    if rule.span:
        yield from ((rule.span_setting, column) for column in rule.span.columns)
    if rule.distinct:
        yield "distinct", rule.distinct
    yield from (("keep", line.column) for line in rule.keep if line.column)
    if relation.money:
        yield "money", relation.money.amount
        if relation.money.currency_column:
            yield "money", relation.money.currency_column
