"""One side's records inside a database: what is computed of them, and the statements that count and select them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from rules.engines.compile import Compiler, Uses
from rules.engines.pushdown import mark
from rules.functions import exact, filled, in_calendar, plain, utc_day
from rules.kinds.reconciliation.bound import BoundReconciliation, BoundSide
from rules.kinds.reconciliation.days import local_day
from rules.kinds.reconciliation.stored import (
    EXCLUDED,
    EXCLUDED_UNKNOWN,
    NO_ID,
    OUTSIDE,
    OUTSIDE_UNKNOWN,
    TAKES_PART,
    Element,
)
from rules.models import KeyPart
from rules.values import Column, Type

Select = sa.Select[Any]
Days = Mapping[str, tuple[dt.date, dt.date] | None]
MYSQL = ("mysql", "mariadb")
BILLION = 1_000_000_000
_DAY = dt.timedelta(days=1)


def uses(side: BoundSide) -> Uses:
    """Return what the database computes. Every column must be exact: it alone sees those of settled records."""
    derived = tuple(part.column for part in side.values.values() if part.column in side.columns.derived)
    parts = (*side.key, *side.compare)
    return Uses(side.columns, tuple(side.filters.values()), parts, (*side.needed, *derived), side.relation.timezone)


@dataclass(frozen=True)
class SideQuery:
    """One side's records in the database. `days` are the first and last UTC day of each of its instants."""

    bound: BoundReconciliation
    side: BoundSide
    table: sa.FromClause
    dialect: str
    slot: dt.datetime
    days: Days

    @cached_property
    def compiler(self) -> Compiler:
        return Compiler(self.side.columns, self.table, self.dialect, self.slot, self.side.relation.timezone)

    @cached_property
    def guarded(self) -> tuple[str, ...]:
        """The text columns that must be ASCII."""
        return uses(self.side).guard(self.dialect)

    def value(self, name: str) -> Element:
        """Return a value of the rule, null where it is empty; texts are equal in full length if they are equal."""
        part = self.side.values[name]
        if not part.steps:
            return self._given(part)
        value = self.compiler.key(part)
        return exact(filled(value)) if self.side.held(name).type is Type.TEXT else value

    def _given(self, part: KeyPart) -> Element:
        element = self.compiler.whole(part.column)
        kind = self.side.columns.schema[part.column].type
        if kind is Type.INSTANT and self.dialect == "postgresql" and not getattr(element.type, "timezone", True):
            element = sa.func.timezone("UTC", element, type_=sa.DateTime(timezone=True))
        return in_calendar(element, self.dialect) if kind in (Type.DATE, Type.INSTANT) else element

    def day(self, name: str) -> Element:
        """Return the local day of a date or an instant."""
        value = self.value(name)
        if self.side.held(name).type is Type.DATE:
            return value
        return local_day(value, self.side.relation.timezone, _every_day(self.days.get(name)), self.dialect)

    @property
    def instants(self) -> list[str]:
        """The instants whose local day is compared."""
        names = ["date"] if self.bound.date else []
        names += [f"compare_{n}" for n, pair in enumerate(self.bound.compared) if pair.days is not None]
        return [name for name in names if self.side.held(name).type is Type.INSTANT]

    @cached_property
    def state(self) -> Element:
        """The state of a record, or TAKES_PART even if it lacks a value that matching needs."""
        whens: list[tuple[Element, Element]] = []
        states = {"in_dataset": (OUTSIDE_UNKNOWN, OUTSIDE), "in_rule": (EXCLUDED_UNKNOWN, EXCLUDED)}
        for name, condition in self.side.filters.items():
            unknown, outside = states[name]
            compiled = self.compiler.condition(condition)
            whens += [(compiled.is_(None), number(unknown)), (sa.not_(compiled), number(outside))]
        whens += [(sa.not_(has_id), number(NO_ID)) for has_id in self._has_id]
        return sa.case(*whens, else_=number(TAKES_PART)) if whens else number(TAKES_PART)

    @cached_property
    def is_scanned(self) -> Element:
        """The condition that a record passes the filters of the dataset and of the rule."""
        wheres = [self.compiler.condition(condition) for condition in self.side.filters.values()]
        wheres += self._has_id
        return sa.func.coalesce(sa.and_(*wheres), sa.false()) if wheres else sa.true()

    @property
    def _has_id(self) -> list[Element]:
        """The condition that each part of the id is there, where the database does not ensure it."""
        schema = self.side.relation.schema
        may_be_empty = (name for name in self.side.relation.id if name not in schema or _may_be_empty(schema[name]))
        return [self.compiler.column(name).is_not(None) for name in may_be_empty]

    @cached_property
    def is_complete(self) -> Element:
        """The condition that a record passes the filters, and has all values that matching needs and can be read."""
        if self.dialect == "postgresql":
            return self.marks["mark"] >= number(0)
        keys = [self.value(f"key_{n}") for n in range(len(self.side.key))]
        return sa.and_(self._can_match, *(value.is_not(None) for value in keys))

    @cached_property
    def _can_match(self) -> Element:
        required = [self.value(name) for name in ("date", "amount") if name in self.side.values]
        return sa.and_(self.is_scanned, self.is_readable, *(value.is_not(None) for value in required))

    @cached_property
    def is_readable(self) -> Element:
        """The condition that Reconcile can hold the values of the columns it reads: no infinity, no NaN."""
        conditions: list[Element] = []
        for name in self.side.needed:
            column, kind = self.table.c[name], self.side.relation.schema[name].type
            if kind in (Type.DATE, Type.INSTANT) and self.dialect != "sqlite":
                conditions.append(sa.or_(column.is_(None), in_calendar(column, self.dialect).is_not(None)))
            elif kind is Type.DECIMAL and self.dialect == "postgresql":
                not_a_number: Element = sa.literal_column("CAST('NaN' AS NUMERIC)")
                conditions.append(sa.or_(column.is_(None), column != not_a_number))
        return sa.and_(sa.true(), *conditions)

    @cached_property
    def marks(self) -> dict[str, Element]:
        """Values that are equal for equal keys. Two keys may share them: then neither is settled.

        PostgreSQL has one, which is negative for an incomplete record.
        """
        parts = {f"key_{n}": part for n, part in enumerate(self.side.key)}
        if self.dialect == "postgresql":
            hashes = [self.compiler.hashed(part, n) for n, part in enumerate(parts.values(), 1)]
            exact = [hashed for hashed in hashes if hashed is not None]  # floats have none, but they are an obstacle
            return {"mark": mark(self._can_match, exact, sa.false(), number(0))}
        return {f"mark_{n}": self._mark(name) for n, name in enumerate(parts)}

    def _mark(self, name: str) -> Element:
        value, kind = self.value(name), self.side.held(name).type
        # MariaDB sorts and indexes only the beginning of a long value.
        return sa.func.md5(value, type_=sa.String(32)) if self.dialect in MYSQL and kind is Type.TEXT else value

    def currency(self) -> Element:
        return plain(self.compiler.column(str(self.side.currency))) if self.side.currency else sa.null()

    def money(self) -> Element:
        return self.compiler.column(str(self.side.money)) if self.side.money else sa.null()

    def counts(self) -> Select:
        """Count the records by state and currency, with their money, and where needed days and texts."""
        columns = {"state": self.state, "currency": self.currency(), "money": self.money()}
        columns["other"] = sa.case((self.compiler.ascii_only(self.guarded), number(0)), else_=number(1))
        columns |= {f"day_{name}": utc_day(self.value(name)) for name in self.instants}
        labelled = (element.label(name) for name, element in columns.items())
        each = sa.select(*labelled).select_from(self.table).subquery("each_record")
        answers: list[Element] = [
            each.c.state,
            sa.func.min(each.c.currency).label("currency"),
            sa.func.count().label("records"),
        ]
        answers += self.added("money", each.c.money)
        if self.side.money is not None:
            no_currency = sa.and_(each.c.money.is_not(None), each.c.currency.is_(None))
            for name, condition in (("no_amount", each.c.money.is_(None)), ("no_currency", no_currency)):
                answers.append(sa.func.sum(sa.case((condition, number(1)), else_=number(0))).label(name))
        answers.append(sa.func.sum(each.c.other).label("others"))
        for name in self.instants:
            day = each.c[f"day_{name}"]
            answers += [sa.func.min(day).label(f"first_{name}"), sa.func.max(day).label(f"last_{name}")]
        return sa.select(*answers).group_by(each.c.state, exact(each.c.currency))

    def added(self, label: str, money: Element) -> list[Element]:
        """Return the sum of amounts as text; on SQLite, which adds in 64 bits, in two parts."""
        if self.side.money is None:
            return []
        if self.dialect == "sqlite":
            billion = number(BILLION)
            parts: dict[str, Element] = {label: money.op("/")(billion), f"{label}_low": money.op("%")(billion)}
        else:
            parts = {label: money}
        text = sa.CHAR() if self.dialect in MYSQL else sa.Text()
        return [sa.cast(sa.func.sum(part), text).label(name) for name, part in parts.items()]

    @property
    def own_id(self) -> tuple[str, ...]:
        """The columns of the id, if all are the table's own."""
        names = self.side.relation.id
        return names if set(names).isdisjoint(self.side.relation.derived) else ()

    def ids(self) -> Select:
        """Select the ids of all records of the dataset."""
        return self.side.ids(self.compiler)

    def by_mark(self) -> sa.Subquery:
        """Select the complete records by their marks: how many there are, and the values of one that is alone."""
        columns = {f"key_{n}": self.value(f"key_{n}") for n in range(len(self.side.key))}
        columns |= {"day": self.day("date")} if self.bound.date else {}
        columns |= {"amount": self.value("amount")} if self.bound.limits else {}
        for n, pair in enumerate(self.bound.compared):
            name = f"compare_{n}"
            columns[name] = self.value(name) if pair.days is None else self.day(name)
        columns |= {"currency": self.currency(), "money": self.money()}
        each = sa.select(*(element.label(name) for name, element in {**self.marks, **columns}.items()))
        each = each.where(self.is_complete)
        records = each.subquery("complete")
        marks = [records.c[name] for name in self.marks]
        values = (_only(records.c[name]).label(name) for name in columns)
        chosen = sa.select(*marks, *values, sa.func.count().label("records")).group_by(*marks)
        return chosen.subquery(self.side.name)

    def rest(self, settled: Select | None) -> Select:
        """Select the records that matching needs, those of settled keys left out."""
        needed = [self.table.c[name] for name in self.side.needed]
        if settled is None:
            return sa.select(*needed)
        left_out = settled.subquery("settled")
        agree = [element == left_out.c[name] for name, element in self.marks.items()]
        joined = self.table.outerjoin(left_out, sa.and_(self.is_complete, *agree))
        first = left_out.c[next(iter(self.marks))]
        return sa.select(*needed).select_from(joined).where(first.is_(None), self._is_wanted)

    def with_marks(self, marks: Element) -> Select:
        """Select the records that matching needs, of all those with these marks. On PostgreSQL."""
        needed = [self.table.c[name] for name in self.side.needed]
        return sa.select(*needed).where(self.marks["mark"] == sa.any_(marks), self._is_wanted)

    @property
    def _is_wanted(self) -> Element:
        """The condition that a record passes the filters, or that reading it must fail."""
        return sa.or_(self.is_scanned, sa.not_(self.is_readable))


def _may_be_empty(column: Column) -> bool:
    return column.nullable or column.type is Type.TEXT


def number(value: int) -> Element:
    return sa.literal_column(str(value), sa.Integer())


def _only(value: Element) -> Element:
    """Return the value of a group of one record."""
    if isinstance(value.type, sa.Boolean):
        value = sa.case((value, number(1)), (sa.not_(value), number(0)))
    return sa.func.min(value)


def _every_day(ends: tuple[dt.date, dt.date] | None) -> list[dt.date]:
    if ends is None:
        return []
    first, last = ends
    return [first + n * _DAY for n in range((last - first).days + 1)]
