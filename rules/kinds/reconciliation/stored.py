"""The records of one side in DuckDB: what is read, what is computed once for each record, and who takes part."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from rules.engines.base import Skipped
from rules.engines.compile import Compiler, column_type, unused
from rules.functions import micros_between
from rules.kinds.reconciliation.bound import BoundReconciliation, BoundSide, Held
from rules.models import KeyPart
from rules.values import Type

(
    TAKES_PART,
    OUTSIDE,
    OUTSIDE_UNKNOWN,
    EXCLUDED,
    EXCLUDED_UNKNOWN,
    NO_KEY,
    NO_DATE,
    NO_AMOUNT,
    NO_ID,
    LATER_KEY,
    TOO_SHORT,
) = range(11)
"""The states of a record. Those without key, date or amount match nothing, and so are findings. One with an empty part
in its id takes no part, because no finding could name it. One without the first of several keys waits for a later."""
LEFT_OUT = (OUTSIDE, OUTSIDE_UNKNOWN, EXCLUDED, EXCLUDED_UNKNOWN, NO_ID)
REASONS = {NO_KEY: "no key", TOO_SHORT: "key too short", NO_DATE: "no date", NO_AMOUNT: "no amount"}
PARTS = 256
"""Parts of the first key: a record's part is the hash of its key, modulo this number."""
_DAY = dt.timedelta(days=1)

Element = sa.ColumnElement[Any]
Functions = Mapping[str, tuple[Callable[..., str | None], int]]


@dataclass(frozen=True)
class Filling:
    """The SELECT that fills a table, and the functions that DuckDB calls back meanwhile."""

    select: sa.Select[Any]
    functions: Functions


@dataclass
class SideTable:
    """A table with the columns read and the values computed from them; `rowid` is the number of a record."""

    bound: BoundReconciliation
    side: BoundSide
    slot: dt.datetime
    has_unique_ids: bool = False

    @cached_property
    def source(self) -> sa.TableClause:
        """The records as they are read."""
        schema = self.side.relation.schema
        columns = (sa.column(name, column_type(schema[name].type)) for name in self.side.needed)
        return sa.table(f"{self.side.name}_source", *columns)

    @cached_property
    def compiler(self) -> Compiler:
        zone, prefix = self.side.relation.timezone, f"python_{self.side.name}"
        return Compiler(self.side.columns, self.source, "duckdb", self.slot, zone, prefix=prefix)

    @property
    def parts(self) -> Mapping[str, KeyPart]:
        """The values that the rule uses, by the name they have here."""
        return self.side.values

    def held(self, name: str) -> Held:
        return self.side.held(name)

    @cached_property
    def computed(self) -> tuple[str, ...]:
        """The values that differ from a column that is read."""
        return tuple(name for name, part in self.parts.items() if part.steps or part.column not in self.source.c)

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Names that no column of the dataset has."""
        names = ("state", "part", "in_dataset", "in_rule", "place", "before")
        return unused((*self.computed, *names), self.source.c.keys())

    @cached_property
    def table(self) -> sa.TableClause:
        computed = [sa.column(self.labels[name], self.type_of(name)) for name in self.computed]
        read = [sa.column(column.name, column.type) for column in self.source.c]
        numbers = [sa.column(self.labels[name], sa.SmallInteger()) for name in ("state", "part")]
        row = sa.column("rowid", sa.BigInteger())
        return sa.table(self.name, *read, *computed, *numbers, row)

    @property
    def name(self) -> str:
        return f"{self.side.name}_records"

    @property
    def reasons(self) -> Mapping[int, str]:
        """The states of records that no key can match, each with the reason."""
        return REASONS

    def type_of(self, name: str) -> sa.types.TypeEngine[Any]:
        held = self.held(name)
        return column_type(Type.TEXT if held.is_text else held.type)

    @cached_property
    def filled(self) -> Filling:
        """Return how the table is filled. Values are computed first, so that no SQL is written twice."""
        compiler, labels = self.compiler, self.labels
        given = [self.source.c[name] for name in self.side.needed]
        values = [self._computed(name).label(labels[name]) for name in self.computed]
        for name, condition in self.side.filters.items():
            values.append(compiler.condition(condition).label(labels[name]))
        inner = sa.select(*given, *values).subquery("computed")
        comparable = {name: compiler.comparable(self.parts[name], inner.c[labels[name]]) for name in self.computed}
        columns = [inner.c[name] for name in self.side.needed]
        columns += [element.label(labels[name]) for name, element in comparable.items()]
        values_of = {name: self._value_of(name, inner, comparable) for name in self.parts}
        numbers = {"state": self._state(inner, values_of), "part": self._part(values_of)}
        columns += [sa.cast(number, sa.SmallInteger()).label(labels[name]) for name, number in numbers.items()]
        return Filling(sa.select(*columns), dict(compiler.python))

    def _computed(self, name: str) -> Element:
        part = self.parts[name]
        return self.compiler.key(part) if part.steps else self.compiler.column(part.column)

    def _value_of(self, name: str, inner: sa.Subquery, comparable: Mapping[str, Element]) -> Element:
        column = self.parts[name].column
        return comparable[name] if name in comparable else self.compiler.given(column, inner.c[column])

    def _part(self, values: Mapping[str, Element]) -> Element:
        """The part of the key, the same for equal values of both sides whatever their types."""
        keys = [self._hashable(name, values[name]) for name in self.bound.equal_values]
        parts: Element = sa.literal_column(str(PARTS))
        return sa.func.hash(*keys) % parts if keys else sa.literal_column("0")

    def _hashable(self, name: str, value: Element) -> Element:
        held = [SideTable(self.bound, side, self.slot).held(name) for side in self.bound.sides]
        if all(each.type is Type.INTEGER and not each.is_text for each in held):
            return sa.cast(value, sa.Numeric(38, 0))
        if any(each.is_text or each.type.is_number for each in held):
            return self.canonical(name, value)
        return value

    def canonical(self, name: str, value: Element) -> Element:
        """Return a value as its canonical text, equal for equal values of any type of number."""
        held = self.held(name)
        if held.is_text or held.type is Type.TEXT:
            return value
        if held.type in (Type.INTEGER, Type.DECIMAL):
            text = sa.cast(value, sa.Text())
            trimmed = sa.func.rtrim(sa.func.rtrim(text, "0"), ".")
            return sa.case((sa.func.contains(text, "."), trimmed), else_=text)
        return self.compiler.canonical_text(value, held.type)

    def _state(self, inner: sa.Subquery, values: Mapping[str, Element]) -> Element:
        whens: list[tuple[Element, int]] = []
        for name, unknown, outside in (
            ("in_dataset", OUTSIDE_UNKNOWN, OUTSIDE),
            ("in_rule", EXCLUDED_UNKNOWN, EXCLUDED),
        ):
            if self.labels[name] in inner.c:
                condition = inner.c[self.labels[name]]
                whens += [(condition.is_(None), unknown), (sa.not_(condition), outside)]
        whens += [(values[name].is_(None), NO_ID) for name in self.parts if name.startswith("id_")]
        if not self.bound.rule.totals:
            keys = self.bound.by_each_key
            has_values = [self._has_values(bound, values) for bound in keys]
            has_key = [self._has_key(bound, values) for bound in keys]
            whens.append((sa.not_(sa.or_(*has_values)), NO_KEY))
            if self.bound.rule.contains:
                whens.append((sa.not_(sa.or_(*has_key)), TOO_SHORT))
            for name, state in (("date", NO_DATE), ("amount", NO_AMOUNT)):
                if name in self.parts:
                    whens.append((is_missing(values[name], self.held(name)), state))
            if len(has_key) > 1:
                whens.append((sa.not_(has_key[0]), LATER_KEY))
        cases: list[tuple[Element, Element]] = [(when, sa.literal_column(str(state))) for when, state in whens]
        takes_part: Element = sa.literal_column(str(TAKES_PART))
        return sa.case(*cases, else_=takes_part) if cases else takes_part

    def has_key(self, bound: BoundReconciliation) -> Element:
        """Return the condition that a record of the filled table has the whole key of `bound`."""
        return self._has_key(bound, {name: self.value(name) for name in bound.key_values})

    def _has_key(self, bound: BoundReconciliation, values: Mapping[str, Element]) -> Element:
        has_values, part = self._has_values(bound, values), bound.contained
        if part is None or bound.pairs[part].contained != self.side.name:
            return has_values
        value = sa.cast(values[bound.key_values[part]], sa.Text())
        bare = sa.func.regexp_replace(value, r"[^\p{L}\p{N}]", "", "g")
        return sa.and_(has_values, sa.func.length(bare) >= sa.literal_column(str(bound.pairs[part].least)))

    def _has_values(self, bound: BoundReconciliation, values: Mapping[str, Element]) -> Element:
        """Return that condition whatever the length; a part whose empty values match each other is not needed."""
        names = [name for n, name in enumerate(bound.key_values) if not bound.matches_null(n)]
        return sa.and_(sa.true(), *(sa.not_(is_missing(values[name], self.held(name))) for name in names))

    def given(self, column: str) -> Element:
        """Return a column that was read, null where it is empty."""
        return self.compiler.given(column, self.table.c[column])

    def value(self, name: str) -> Element:
        """Return a value of the filled table, null where it is empty."""
        if name in self.computed:
            return self.table.c[self.labels[name]]
        return self.given(self.parts[name].column)

    @property
    def state(self) -> Element:
        return self.table.c[self.labels["state"]]

    def in_part(self, number: int, parts: int) -> Element:
        """Return the condition that a record takes part, and that its key is in that part of the keys."""
        if parts == 1:
            return self.takes_part
        first, last = PARTS * number // parts, PARTS * (number + 1) // parts - 1
        part = self.table.c[self.labels["part"]]
        return sa.and_(self.takes_part, part.between(sa.literal_column(str(first)), sa.literal_column(str(last))))

    @property
    def row(self) -> Element:
        return self.table.c["rowid"]

    @property
    def takes_part(self) -> Element:
        return self.state == TAKES_PART

    def due(self) -> Element:
        """Return the condition that the record's grace has ended; a record without a time has none."""
        if self.side.grace is None:
            return sa.true()
        moment, by = self.value("grace"), self.side.grace.by
        if self.held("grace").type is Type.DATE:
            zone = self.compiler.timezone
            last = self.slot.astimezone(ZoneInfo(zone)).date() - by // _DAY * _DAY
            return sa.func.coalesce(moment <= sa.cast(sa.literal(last.isoformat()), sa.Date()), sa.true())
        slot = sa.cast(sa.literal(self.slot.isoformat(" ")), sa.DateTime(timezone=True))
        waited = micros_between(moment, slot)
        return sa.func.coalesce(waited >= by // dt.timedelta(microseconds=1), sa.true())

    @property
    def is_unmatched(self) -> Element:
        """The condition that a record takes part but lacks a value that matching by the first key needs."""
        return self.state.in_([sa.literal_column(str(state)) for state in (LATER_KEY, *self.reasons)])

    @property
    def can_match(self) -> Element:
        """The condition that a record has all that matching needs, by one of the keys."""
        return self.state.in_([sa.literal_column(str(state)) for state in (TAKES_PART, LATER_KEY)])

    @property
    def is_scanned(self) -> Element:
        """The condition that a record passes the filters of the dataset and of the rule."""
        return self.state.not_in([sa.literal_column(str(state)) for state in LEFT_OUT])

    def ids(self) -> list[Element]:
        return [self.value(f"id_{n}") for n in range(len(self.side.relation.id))]

    def order(self) -> list[Element]:
        """Return what sorts records, independent of the order in which they are read."""
        content = () if self.ids() and self.has_unique_ids else self.side.content
        values = (*self.ids(), *(self.given(name) for name in content))
        return [value.asc().nulls_last() for value in values]

    def states(self) -> sa.Select[Any]:
        """Count the records in each state."""
        counted: list[Element] = [self.state, sa.func.count()]
        return sa.select(*counted).group_by(self.state)

    @property
    def is_named(self) -> Element:
        """The condition that a record of the dataset has an id without empty parts."""
        outside: list[Element] = [sa.literal_column(str(state)) for state in (OUTSIDE, OUTSIDE_UNKNOWN)]
        return sa.and_(self.state.not_in(outside), *(value.is_not(None) for value in self.ids()))

    def id_hashes(self, number: int, slices: int) -> sa.Select[Any]:
        """Select the hashes of the ids, or one of as many slices of them."""
        hashed: Element = sa.func.hash(*self.ids())
        select = sa.select(hashed.label("hashed")).where(self.is_named)
        if slices == 1:
            return select
        return select.where(hashed % sa.literal_column(str(slices)) == sa.literal_column(str(number)))

    def different_ids(self) -> sa.Select[Any]:
        """Count the different ids."""
        names = sa.select(*(value.label(f"n{n}") for n, value in enumerate(self.ids()))).where(self.is_named)
        return sa.select(sa.func.count()).select_from(names.distinct().subquery("names"))

    def sums(self, condition: Element, *groups: Element) -> sa.Select[Any]:
        """Select by group and currency: the number of records, and the sum of their money.

        Floats do not add exactly: their different values are selected instead, each with its number of records.
        """
        null = sa.null()
        currency = self.value("currency") if "currency" in self.parts else null
        columns = [*groups, currency.label("currency"), sa.func.count().label("records")]
        if "money" not in self.parts:
            return sa.select(*columns, null.label("money")).where(condition).group_by(*groups)
        money = self.value("money")
        if self.held("money").type is Type.FLOAT:
            return sa.select(*columns, money.label("money")).where(condition).group_by(*groups, currency, money)
        return sa.select(*columns, sa.func.sum(money).label("money")).where(condition).group_by(*groups, currency)

    def unpriced(self) -> sa.Select[Any]:
        """Count the records that pass the filters without an amount, and those with one but without a currency."""
        if "money" not in self.parts:
            nothing: list[Element] = [sa.literal_column("0"), sa.literal_column("0")]
            return sa.select(*nothing)
        no_amount = is_missing(self.value("money"), self.held("money"))
        no_currency = sa.and_(sa.not_(no_amount), self.value("currency").is_(None))
        counts: list[Element] = [sa.func.count().filter(condition) for condition in (no_amount, no_currency)]
        return sa.select(*counts).where(self.is_scanned)

    def skipped(self, states: Mapping[int, int]) -> list[Skipped]:
        """Return the records whose condition is unknown."""
        dataset = None if self.bound.is_of_one_dataset else self.side.relation.dataset
        reasons = {
            OUTSIDE_UNKNOWN: "the condition of the dataset is unknown: a value in it is null",
            EXCLUDED_UNKNOWN: f"the condition on the {self.side.name} side is unknown: a value in it is null",
        }
        return [
            Skipped("where", why, states[state], scanned=False, dataset=dataset)
            for state, why in reasons.items()
            if states.get(state)
        ]


def is_missing(value: Element, held: Held) -> Element:
    """Return the condition that a value is empty; for floats also that it is not a number."""
    if held.type is Type.FLOAT and not held.is_text:
        return sa.func.coalesce(value - value != 0, sa.true())
    return value.is_(None)
