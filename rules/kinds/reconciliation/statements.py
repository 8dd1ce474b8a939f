"""The statements of a reconciliation in DuckDB, over the tables of both sides.

Most records agree, so DuckDB counts them by key first. Only records whose key is not surely in order become arrays, a
part of the keys at a time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from rules.expressions.typed import constant_sql
from rules.functions import render
from rules.kinds.reconciliation import units
from rules.kinds.reconciliation.alike import alike, places
from rules.kinds.reconciliation.bound import BoundReconciliation
from rules.kinds.reconciliation.days import local_day
from rules.kinds.reconciliation.stored import Element, SideTable
from rules.values import Type

UNSETTLED = "unsettled"
PICKED = sa.table("picked", sa.column("row", sa.BigInteger()))
KEYS = "picked_keys"
Both = tuple[Element, Element]
Select = sa.Select[Any]


@dataclass(frozen=True)
class Statements:
    """The statements over both tables, whose Arrow types are in `schemas`.

    `utc_days` are the UTC days of instants, by side and value: they decide the offset of the local day.
    """

    bound: BoundReconciliation
    tables: Sequence[SideTable]
    schemas: Sequence[pa.Schema]
    utc_days: dict[tuple[int, str], Sequence[dt.date]] = field(default_factory=dict)

    @cached_property
    def keys(self) -> tuple[Both, ...]:
        equal = self.bound.equal_values
        return tuple(self.alike(name) if name in equal else self._texts(name) for name in self.bound.key_values)

    def _texts(self, name: str) -> Both:
        left, right = (sa.cast(table.value(name), sa.Text()) for table in self.tables)
        return left, right

    @cached_property
    def compared(self) -> tuple[Both, ...]:
        names = zip(self.bound.compare_values, (pair.days for pair in self.bound.compared), strict=True)
        return tuple(self.alike(name) if days is None else self.local_days(name) for name, days in names)

    @cached_property
    def differ(self) -> tuple[Both, ...]:
        return tuple(self.alike(f"differ_{n}") for n in range(len(self.bound.rule.differ)))

    @cached_property
    def prefer(self) -> tuple[Both, ...]:
        return tuple(self.alike(f"prefer_{n}") for n in range(len(self.bound.rule.prefer)))

    @cached_property
    def amounts(self) -> Both | None:
        return self.alike("amount") if self.bound.limits else None

    @cached_property
    def days(self) -> Both | None:
        return self.local_days("date") if self.bound.date else None

    def compile_all(self) -> None:
        """Compile all values, so that the functions they call are known."""
        for each in self.by_each_key:
            _ = each.keys, each.compared, each.differ, each.prefer, each.amounts, each.days

    def alike(self, name: str) -> Both:
        return alike(name, self.tables, self.schemas)

    def local_days(self, name: str) -> Both:
        left, right = (self._local_day(side, name) for side in range(2))
        return left, right

    def _local_day(self, side: int, name: str) -> Element:
        table = self.tables[side]
        held, value = table.held(name), table.value(name)
        if held.is_text:
            value = sa.cast(value, sa.DateTime(timezone=True) if held.type is Type.INSTANT else sa.Date())
        if held.type is Type.DATE:
            return value
        return local_day(value, table.compiler.timezone, self.utc_days.get((side, name), ()))

    def instants(self) -> list[tuple[int, str]]:
        """Return the values whose local day is compared."""
        names = ["date"] if self.bound.date else []
        names += [f"compare_{n}" for n, pair in enumerate(self.bound.every_compared) if pair.days is not None]
        return [
            (side, name)
            for side, table in enumerate(self.tables)
            for name in names
            if table.held(name).type is Type.INSTANT
        ]

    def days_of(self, side: int, name: str) -> Select:
        """Select the UTC days of an instant."""
        value = self.tables[side].value(name)
        if self.tables[side].held(name).is_text:
            value = sa.cast(value, sa.DateTime(timezone=True))
        day = sa.cast(sa.func.timezone("UTC", value), sa.Date())
        return sa.select(day.label("day")).where(value.is_not(None)).distinct()

    def part(self, side: int, number: int, parts: int) -> Element:
        """Return the condition that a record takes part, and that its key is in that part of the keys."""
        return self.tables[side].in_part(number, parts)

    @cached_property
    def screened(self) -> tuple[Both, ...]:
        """The values that are equal in records without any difference; or those of the key, if it decides alone."""
        if self.bound.rule.totals:
            return (*self.keys, self._own_side)
        if not self.bound.rule.is_assigned:
            return self.keys
        optional = (values for values in (self.days, self.amounts) if values is not None)
        return (*self.keys, *optional, *self.compared, *self.prefer)

    @property
    def _own_side(self) -> Both:
        """The side of a record whose key is not complete, so that it shares its key with no record of the other."""
        left, right = (
            sa.case(
                (sa.or_(*(key[side].is_(None) for key in self.keys)), sa.literal_column(str(side))),
                else_=sa.literal_column("2"),
            )
            for side in range(2)
        )
        return left, right

    @property
    def can_screen(self) -> bool:
        rule = self.bound.rule
        return not (rule.bundle or rule.differ or rule.group) and self.bound.contained is None

    def unsettled(self, number: int, parts: int) -> Select:
        """Select the `screened` values of records that may not agree."""
        carried = self._carried()
        sides = [self._carrying(side, number, parts, carried) for side in range(2)]
        both = sa.union_all(*sides).subquery("both_sides")
        values = [both.c[f"c{n}"] for n in range(len(self.screened))]
        left, right = _counts(both)
        marks = (sa.true().label("marked"), sa.and_(left > 0, right > 0).label("has_equals"))
        return sa.select(*values, *marks).group_by(*values).having(sa.not_(self._settled(both)))

    def _carried(self) -> dict[str, Both]:
        """The values besides the key that decide whether a key is settled."""
        if self.bound.rule.is_assigned:
            return {}
        carried = {f"d{n}": values for n, values in enumerate(self.compared)}
        carried |= {"day": self.days} if self.days else {}
        return carried | ({"amount": self.amounts} if self.amounts else {})

    def _carrying(self, side: int, number: int, parts: int, carried: dict[str, Both]) -> Select:
        columns = [values[side].label(f"c{n}") for n, values in enumerate(self.screened)]
        columns += [values[side].label(name) for name, values in carried.items()]
        columns.append(sa.literal_column(str(side)).label("side"))
        return sa.select(*columns).where(self.part(side, number, parts))

    def _settled(self, both: sa.Subquery) -> Element:
        left, right = _counts(both)
        if self.bound.rule.is_assigned:
            return left == right
        conditions: list[Element] = []
        for count, many in zip((left, right), self.bound.rule.has_many, strict=True):
            conditions.append(count >= sa.literal_column("1") if many else count == sa.literal_column("1"))
        for n in range(len(self.compared)):
            value = both.c[f"d{n}"]
            is_same = sa.func.min(value).is_not_distinct_from(sa.func.max(value))
            conditions += [is_same, sa.or_(sa.func.count(value) == 0, sa.func.count(value) == sa.func.count())]
        return sa.and_(*conditions, *self._balanced(both), *self._near(both))

    def _balanced(self, both: sa.Subquery) -> list[Element]:
        """Return the condition that sums surely agree: exactly, if the limit is a share."""
        limits = self.bound.limits
        if limits is None:
            return []
        if not self.adds_exactly:
            return [sa.false()]
        left, right = (self._sum(both, side) for side in range(2))
        if limits.by is None or limits.percent is not None:
            return [left == right]
        unit = Decimal(1).scaleb(-places("amount", self.tables, self.schemas))
        by = limits.by // unit * unit  # DuckDB would round a limit with more decimals than the sums
        return [sa.func.abs(left - right) <= constant_sql(by, Type.DECIMAL, "duckdb")]

    @property
    def adds_exactly(self) -> bool:
        """True if DuckDB adds up the amounts exactly: they are neither floats nor texts."""
        is_float = any(table.held("amount").type is Type.FLOAT for table in self.tables)
        return not is_float and all(isinstance(each.type, (sa.Integer, sa.Numeric)) for each in self.amounts or ())

    def _sum(self, both: sa.Subquery, side: int) -> Element:
        return sa.func.coalesce(
            sa.func.sum(both.c.amount).filter(both.c.side == sa.literal_column(str(side))), sa.literal_column("0")
        )

    def _near(self, both: sa.Subquery) -> list[Element]:
        """Return the condition that all days are within the window; business days are never farther apart."""
        date = self.bound.date
        if date is None:
            return []
        ends = [
            (
                sa.func.min(both.c.day).filter(both.c.side == sa.literal_column(str(side))),
                sa.func.max(both.c.day).filter(both.c.side == sa.literal_column(str(side))),
            )
            for side in range(2)
        ]
        (first_left, last_left), (first_right, last_right) = ends
        return [_days(first_left, last_right) <= date.later, _days(first_right, last_left) <= date.earlier]

    def settled(self, side: int, number: int, parts: int) -> Select:
        """Select the sums of the records that agree."""
        marked, agree = self.marked(side)
        joined = self.tables[side].table.outerjoin(marked, agree)
        condition = sa.and_(self.part(side, number, parts), marked.c.marked.is_(None))
        return self.tables[side].sums(condition).select_from(joined)

    def settled_bundles(self, number: int, parts: int) -> Select:
        """Count the keys that agree."""
        marked, agree = self.marked(0)
        joined = self.tables[0].table.outerjoin(marked, agree)
        condition = sa.and_(self.part(0, number, parts), marked.c.marked.is_(None))
        keys = (key[0].label(f"key_{n}") for n, key in enumerate(self.keys))
        bundles = sa.select(*keys).where(condition).select_from(joined).distinct().subquery("bundles")
        return sa.select(sa.func.count()).select_from(bundles)

    def left_over(self, side: int, number: int, parts: int, *, screened: bool) -> Select:
        """Select the records, or those that may not agree, in an order that does not depend on how they were read."""
        table = self.tables[side]
        marked, agree = self.marked(side)
        has_equals = marked.c.has_equals if screened else sa.true()
        columns = [*self._columns(side), has_equals.label("has_equals")]
        select = sa.select(*columns).where(self.part(side, number, parts)).order_by(*table.order())
        return select.select_from(table.table.join(marked, agree)) if screened else select

    def marked(self, side: int) -> tuple[sa.TableClause, Element]:
        """Return the table of `unsettled`, and the condition that joins the records of a side to it."""
        names = [f"c{n}" for n in range(len(self.screened))]
        columns: list[sa.ColumnClause[Any]] = [sa.column(name) for name in names]
        columns += [sa.column(name, sa.Boolean()) for name in ("marked", "has_equals")]
        marked = sa.table(UNSETTLED, *columns, sa.column("number", sa.BigInteger()))
        pairs = zip(names, self.screened, strict=True)
        agree = [values[side].is_not_distinct_from(marked.c[name]) for name, values in pairs]
        return marked, sa.and_(sa.true(), *agree)

    def _columns(self, side: int) -> list[Element]:
        table = self.tables[side]
        columns: list[Element] = [table.row.label("row"), table.due().label("due")]
        columns += [key[side].label(f"key_{n}") for n, key in enumerate(self.keys)]
        columns += [self.days[side].label("date")] if self.days else []
        columns += [table.value("amount").label("amount")] if self.bound.limits else []
        columns += [values[side].label(f"compare_{n}") for n, values in enumerate(self.compared)]
        columns += [values[side].label(f"differ_{n}") for n, values in enumerate(self.differ)]
        columns += [values[side].label(f"prefer_{n}") for n, values in enumerate(self.prefer)]
        for n, (name, pair) in enumerate(zip(self.bound.compare_values, self.bound.compared, strict=True)):
            if pair.days is not None:
                columns.append(self.compared[n][side].label(f"value_{n}"))
            elif pair.has_tolerance:
                columns.append(table.value(name).label(f"value_{n}"))
        return columns

    @cached_property
    def by_each_key(self) -> Sequence[Statements]:
        """These statements, which match by the first key, and those that match by the others."""
        return [self, *(replace(self, bound=bound) for bound in self.bound.by_each_key[1:])]

    def picked(self, side: int) -> Select:
        """Select the records of PICKED that have the whole key, with their money, in the order of `left_over`."""
        table = self.tables[side]
        columns = [*self._columns(side), sa.true().label("has_equals")]
        columns += [table.value(name).label(name) for name in ("money", "currency") if name in table.parts]
        joined = table.table.join(PICKED, table.row == PICKED.c.row)
        return sa.select(*columns).select_from(joined).where(table.has_key(self.bound)).order_by(*table.order())

    def single(self, side: int) -> Select:
        """Select the places of KEYS whose key only one record of a side has, among those that can match."""
        table, names = self.tables[side], [f"key_{n}" for n in range(len(self.keys))]
        keys = sa.table(KEYS, sa.column("place", sa.BigInteger()), *map(sa.column, names))
        is_same = sa.and_(
            *(key[side].is_not_distinct_from(keys.c[name]) for key, name in zip(self.keys, names, strict=True))
        )
        select = sa.select(keys.c.place).select_from(table.table.join(keys, is_same)).where(table.can_match)
        return select.group_by(keys.c.place).having(sa.func.count() == sa.literal_column("1"))

    def complete(self, side: int) -> Select:
        """Select the records that can match and have the whole key."""
        table = self.tables[side]
        columns = [key[side].label(f"key_{n}") for n, key in enumerate(self.keys)]
        return sa.select(*columns).where(table.can_match, table.has_key(self.bound))

    def unmatched(self, side: int) -> Select:
        """Select the records that take part but that the first key cannot match, with the state that says why."""
        table = self.tables[side]
        columns = (table.row.label("row"), table.due().label("due"), table.state.label("state"))
        return sa.select(*columns).where(table.is_unmatched).order_by(*table.order())


def _counts(both: sa.Subquery) -> Both:
    """Return the number of left and of right records."""
    left, right = (sa.func.count().filter(both.c.side == sa.literal_column(str(side))) for side in range(2))
    return left, right


def _days(first: Element, last: Element) -> Element:
    return sa.func.date_diff("day", first, last, type_=sa.BigInteger())


def texts(bound: BoundReconciliation, tables: Sequence[SideTable]) -> tuple[str, ...]:
    """Return the SQL for display, as if the numbers of both sides had the same types."""
    fillings = {table.name: table.filled.select for table in tables}
    tables = units.tables(bound, tables)
    for table in tables:
        fillings |= table.selects() if isinstance(table, units.UnitTable) else {}
    empty = [pa.schema([(column.name, pa.decimal128(18, 2)) for column in table.table.c]) for table in tables]
    statements = Statements(bound, tables, empty)
    shown = {name: f"create temp table {name} as\n{_text(select)}" for name, select in fillings.items()}
    if not bound.rule.totals and statements.can_screen:
        shown["keys that may not agree"] = f"create temp table {UNSETTLED} as\n{_text(statements.unsettled(0, 1))}"
    if not bound.rule.totals:
        for side, table in enumerate(tables):
            shown[f"{table.side.name} records that may not agree"] = _text(
                statements.left_over(side, 0, 1, screened=statements.can_screen)
            )
    for number, by_key in enumerate(statements.by_each_key[1:], 2):
        for side, table in enumerate(tables):
            shown[f"{table.side.name} records without a partner, by key {number}"] = _text(by_key.picked(side))
    return tuple(f"-- {name}\n{text}" for name, text in shown.items())


def _text(statement: Select) -> str:
    return render(statement, "duckdb")
