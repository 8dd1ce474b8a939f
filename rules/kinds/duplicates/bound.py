"""A rule bound to the dataset it reads: the columns it names, its compiled conditions, and the check that it fits."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import accumulate

from rules.binding import fitting
from rules.binding.rule import DatasetFacts
from rules.binding.side import Side, columns_of, money_columns, place_columns
from rules.engines.base import Relation
from rules.engines.compile import Uses, part_exactness, unused
from rules.expressions import BoundGroup, parse_group
from rules.groups import splitting, survivorship
from rules.groups.recognised import Recognition
from rules.groups.spans import Consecutive, MaximumDistance, Overlap
from rules.kinds.duplicates import barren
from rules.kinds.duplicates.model import DuplicatesRule
from rules.models import Keep, KeyPart
from rules.pairs.evidence import JudgedPairs
from rules.pairs.record import DifferentPairs, Record
from rules.values import PLACE, Schema, Type, Value, canonical


@dataclass(frozen=True)
class Criteria(ABC):
    """How a rule makes groups of records with known keys, and what it shows of them: `rules.groups.settings`."""

    rule: DuplicatesRule

    @property
    @abstractmethod
    def parts(self) -> tuple[KeyPart, ...]:
        """The parts of the key, or of all keys, also for `key: all`."""

    @property
    @abstractmethod
    def shown(self) -> tuple[str, ...]:
        """The columns that a finding shows, each once."""

    @property
    @abstractmethod
    def considered(self) -> tuple[str, ...]:
        """The columns whose values `most_complete` counts."""

    @property
    @abstractmethod
    def having(self) -> BoundGroup | None:
        """The condition over a group, if any."""

    @property
    @abstractmethod
    def shared_columns(self) -> tuple[str, ...]:
        """The name of the answer's column for each of several keys."""

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
    def open_parts(self) -> tuple[int, ...]:
        """The positions of the parts whose empty values agree with every value."""
        return tuple(n for n, part in enumerate(self.parts) if part.column in self.rule.open_columns)

    @cached_property
    def equal_parts(self) -> tuple[int, ...]:
        """The positions of the other parts of a single key: all records of a group are equal in them."""
        return tuple(n for n in self.keys[0] if n not in self.open_parts)

    @property
    def name(self) -> str:
        return self.rule.name

    @property
    def identifier(self) -> str:
        return " or ".join(" and ".join(self.parts[n].column for n in key) for key in self.keys)

    @property
    def minimum(self) -> int:
        return self.rule.minimum

    @property
    def max_share(self) -> Decimal:
        return self.rule.max_share

    @property
    def max_shared(self) -> int:
        return self.rule.max_shared

    @property
    def keeps_all(self) -> bool:
        rule = self.rule
        splits = (rule.span, rule.repeats, rule.open_columns, rule.distinct, rule.having, self.excepted, rule.judged)
        return not any(splits)

    @property
    def by_records(self) -> bool:
        return self.rule.by_records

    @property
    def repeats(self) -> str | None:
        return self.rule.repeats

    @property
    def gap(self) -> MaximumDistance | None:
        return self.rule.gap

    @property
    def window(self) -> MaximumDistance | None:
        return self.rule.window

    @property
    def overlap(self) -> Overlap | None:
        return self.rule.overlap

    @property
    def consecutive(self) -> Consecutive | None:
        return self.rule.consecutive

    @property
    def differing(self) -> str | None:
        return self.rule.differing

    @property
    def place_reasons(self) -> tuple[tuple[str, str], ...]:
        return self.rule.place_reasons

    @property
    def recognition(self) -> Recognition | None:
        return self.rule.recognition

    @property
    def judged_pairs(self) -> JudgedPairs:
        return self.rule.judged

    def split(self, alike: list[Record]) -> list[list[Record]]:
        """Split records of one key, at least one, that take part; without a span they stay together."""
        rule = self.rule
        if rule.overlap:
            return splitting.by_period(rule.overlap, alike)
        if rule.gap:
            return splitting.chains(rule.gap, alike)
        if rule.window:
            return splitting.windows(rule.window, alike)
        return [sorted(alike, key=lambda record: record.place)]

    def meets_conditions(self, records: Sequence[Record], slot: dt.datetime) -> bool:
        if self.rule.distinct:
            values = (record.values[self.rule.distinct] for record in records)
            if len({str(canonical(value)) for value in values if value is not None}) < 2:
                return False
        return self.having is None or self.having.evaluate([record.values for record in records], slot) is True

    @cached_property
    def excepted(self) -> DifferentPairs:
        """The pairs of records that are known to be different."""
        return DifferentPairs(self.rule.excepted)

    @property
    def span_column(self) -> str | None:
        return self.rule.span.column if self.rule.span else None

    @property
    def span_columns(self) -> tuple[str, ...]:
        """The columns of `gap`, `window`, `overlap` or `consecutive`; the first orders."""
        return self.rule.span.columns if self.rule.span else ()

    @cached_property
    def keep(self) -> tuple[Keep, ...]:
        """The criteria that choose the keeper; with a span and no `keep`, the first record stays."""
        if self.rule.keep or self.span_column is None:
            return self.rule.keep
        return (Keep(how="first", column=self.span_column),)

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The column names of the key; a column that it holds twice also names its normalisers."""
        names: list[str] = []
        for part in self.parts:
            steps = ", ".join(step.name for step in part.steps) or "as it is"
            names.append(f"{part.column} ({steps})" if part.column in names else part.column)
        return tuple(names)


@dataclass(frozen=True)
class BoundRule(Side, Criteria):
    """A rule with the dataset it reads, and everything that follows from both."""

    @property
    def sides(self) -> tuple[BoundRule]:
        return (self,)

    @cached_property
    def parts(self) -> tuple[KeyPart, ...]:
        """The parts of the key, or of all keys. `all` is every column except the id, the file and the row."""
        if self.rule.key != "all":
            return tuple(part for parts in self.rule.keys for part in parts)
        excluded = {*self.relation.id, *PLACE}
        return tuple(KeyPart(column=name) for name in self.relation.schema.names if name not in excluded)

    def takes_part(self, row: Mapping[str, Value], slot: dt.datetime) -> bool:
        """Return True if a record meets the conditions and has a place in the order; its key may still be empty."""
        if not self.filters and self.rule.span is None and self.rule.repeats is None:
            return True
        record = self.columns.complete(row, slot)
        has_place = self.rule.span is None or self.rule.span.admits(record)
        has_place = has_place and (self.rule.repeats is None or record[self.rule.repeats] is not None)
        return has_place and self.passes(record, slot)

    @cached_property
    def judged(self) -> tuple[str, ...]:
        names = (*(part.column for part in self.parts), *self.filtering, *self.span_columns)
        return (*names, *(name for name in (self.rule.repeats, self.rule.distinct) if name))

    @cached_property
    def deciding(self) -> tuple[str, ...]:
        return (*self.judged, *of_group(self.rule))

    @cached_property
    def compared(self) -> tuple[str, ...]:
        names = shown_columns(self.rule, self.parts)
        return tuple(dict.fromkeys((*names, *money_columns(self.relation), *place_columns(self.relation))))

    @property
    def used(self) -> tuple[str, ...]:
        return (*super().used, *of_group(self.rule))

    @property
    def reads_all(self) -> bool:
        return super().reads_all or any(line.how == "most_complete" for line in self.rule.keep)

    @cached_property
    def shared_columns(self) -> tuple[str, ...]:
        return tuple(unused((f"shared_{n}" for n in range(len(self.keys))), self.needed).values())

    @cached_property
    def position(self) -> str:
        """The name of the answer's column for positions in the order of `consecutive`."""
        return unused(("position",), (*self.needed, *self.columns.schema.names))["position"]

    def split(self, alike: list[Record]) -> list[list[Record]]:
        setting = self.rule.consecutive
        return super().split(alike) if setting is None else splitting.runs(setting, self.position, alike)

    @cached_property
    def uses(self) -> Uses:
        plain = tuple(n for n in (*self.span_columns, self.rule.repeats, self.rule.distinct, *self.relation.id) if n)
        return Uses(self.columns, tuple(self.filters.values()), self.parts, plain, self.relation.timezone)

    @cached_property
    def considered(self) -> tuple[str, ...]:
        return survivorship.columns_of(self.rule.keep, self.relation.schema)

    @cached_property
    def having(self) -> BoundGroup | None:
        return bound_having(self.rule, self.columns.schema, self.relation)

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
        """The positions, among `equal_parts`, of those whose values DuckDB and a database write the same way."""
        equal = [(part, self.type_of(part)) for part in (self.parts[n] for n in self.equal_parts)]
        return tuple(
            index
            for index, (part, type_) in enumerate(equal)
            if type_ is Type.TEXT
            or (
                type_ in (Type.INTEGER, Type.DECIMAL)
                and part_exactness(self.columns, part, "duckdb", self.relation.timezone) == "always"
            )
        )


def of_group(rule: DuplicatesRule) -> tuple[str, ...]:
    """Return the columns that a condition over a group needs."""
    return parse_group(rule.having).columns if rule.having else ()


def bound_having(rule: DuplicatesRule, schema: Schema, relation: Relation) -> BoundGroup | None:
    """Return the condition over a group, bound to these columns, in the dataset's time zone."""
    if rule.having is None:
        return None
    return parse_group(rule.having).bind(schema, relation.timezone, relation.calendar)


def shown_columns(rule: DuplicatesRule, key: Iterable[KeyPart]) -> tuple[str, ...]:
    """Return the columns of the rule's own settings that a finding shows."""
    names = [*(part.column for part in key), *(rule.span.columns if rule.span else ())]
    names += [rule.repeats or "", rule.distinct or "", *(line.column or "" for line in rule.keep)]
    return tuple(filter(None, names))


def filter_of(rule: DuplicatesRule) -> str | None:
    """Return the filter of a rule over one dataset."""
    return rule.where if isinstance(rule.where, str) else None


def bind(rule: DuplicatesRule, relation: Relation) -> BoundRule:
    """Bind the rule to the dataset it reads. Raises DoesNotFit with every mistake."""
    bound = BoundRule(rule, relation, columns_of(rule.name, relation), filter_of(rule))
    fitting.refuse(rule.name, misfits(bound))
    return bound


def misfits(bound: BoundRule, *, among_several: bool = False) -> Iterator[str]:
    """Yield a sentence for each mistake in the rule's settings for this dataset, one of several or the only one."""
    rule, relation, schema = bound.rule, bound.relation, bound.columns.schema
    yield from fitting.missing(schema, relation, fitting.named(relation, _named(rule)))
    for _, part in rule.key_parts():
        yield from fitting.key_part(schema, part)
    yield from _span_misfits(rule, schema)
    yield from fitting.money(schema, relation)
    if rule.key == "all" and not bound.parts:
        yield f"`key: all` compares nothing: every column of dataset `{relation.dataset}` is in its id."
    facts = DatasetFacts(relation.id, relation.where, relation.derived)
    yield from (
        f"`{path[0]}`: {sentence}." for path, sentence in barren.reasons(rule, facts, among_several=among_several)
    )
    yield from fitting.failing(
        (
            ("The dataset's where", lambda: relation.where and bound.bind_condition(relation.where)),
            ("where", lambda: bound.where and bound.bind_condition(bound.where)),
            ("having", lambda: bound.having),
            ("keep", lambda: survivorship.check_keep([k for k in rule.keep if k.column in schema], schema)),
        )
    )
    yield from excepted(
        relation, [record for pair in rule.except_pairs for record in pair if isinstance(record, tuple)]
    )


def excepted(relation: Relation, records: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield a sentence if `except` names records of this dataset by ids of another form."""
    other_form = next((record for record in records if len(record) != len(relation.id)), None)
    if records and not relation.id:
        yield f"`except` names records by their id, but dataset `{relation.dataset}` has none; give it an `id`."
    elif other_form is not None:
        parts = len(other_form)
        yield f"`except` has an id of {parts} parts, but the id of `{relation.dataset}` has {len(relation.id)}."


def _named(rule: DuplicatesRule) -> Iterator[tuple[str, str]]:
    yield from (("key", part.column) for _, part in rule.key_parts())
    if rule.span:
        yield from ((rule.span_setting, column) for column in rule.span.columns)
    yield from ((name, column) for name in ("repeats", "distinct") if (column := getattr(rule, name)) is not None)
    yield from (("keep", line.column) for line in rule.keep if line.column)


def _span_misfits(rule: DuplicatesRule, schema: Schema) -> Iterator[str]:
    """Yield a sentence for each column whose type does not fit."""
    if rule.overlap:
        yield from fitting.period(schema, rule.overlap.begin, rule.overlap.end)
        return
    if rule.consecutive:
        yield from fitting.order(schema, "consecutive", rule.consecutive.by)
        return
    span = rule.gap or rule.window
    while span is not None:
        yield from fitting.span(schema, rule.span_setting, span.column, span.by)
        span = span.also
