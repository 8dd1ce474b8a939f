"""A rule that joins records with equal keys, bound to one dataset."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from rules.binding.side import Side, money_columns, place_columns
from rules.engines.base import Relation
from rules.engines.compile import Uses, part_exactness, unused
from rules.expressions import BoundGroup, parse_group
from rules.groups import splitting, survivorship
from rules.groups.criteria import Criteria
from rules.groups.settings import KeyedRule
from rules.models import KeyPart
from rules.pairs.record import Record
from rules.values import PLACE, Schema, Type, Value


@dataclass(frozen=True)
class KeyedSide(Side, Criteria):
    """A rule with the dataset it reads, and everything that follows from both."""

    @property
    def sides(self) -> tuple[KeyedSide]:
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


class WithHaving(Protocol):
    """A rule that may have a condition over a group."""

    @property
    def having(self) -> str | None: ...


def of_group(rule: WithHaving) -> tuple[str, ...]:
    """Return the columns that a condition over a group needs."""
    return parse_group(rule.having).columns if rule.having else ()


def bound_having(rule: WithHaving, schema: Schema, relation: Relation) -> BoundGroup | None:
    """Return the condition over a group, bound to these columns, in the dataset's time zone."""
    if rule.having is None:
        return None
    return parse_group(rule.having).bind(schema, relation.timezone, relation.calendar)


def shown_columns(rule: KeyedRule, key: Iterable[KeyPart]) -> tuple[str, ...]:
    """Return the columns of the rule's own settings that a finding shows."""
    names = [*(part.column for part in key), *(rule.span.columns if rule.span else ())]
    names += [rule.repeats or "", rule.distinct or "", *(line.column or "" for line in rule.keep)]
    return tuple(filter(None, names))
