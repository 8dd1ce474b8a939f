"""Let one database settle most keys of both sides, so that only the other records are read and matched here.

A key is settled if it has exactly one left and one right record, both complete, that agree in all that the rule
compares. The database counts and sums up these records, and sends all others. Every condition is sufficient, not
necessary: where SQL could judge differently from Reconcile, a key stays unsettled.

The totals of each side are summed up on their own, over all its records, so the balance still proves the matching.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from rules.engines.base import IdentityProblem, Pushed, Streamed
from rules.engines.compile import Compiler, Uses
from rules.engines.pushdown import Pushdown
from rules.expressions.typed import constant_sql
from rules.functions import exact, filled, in_calendar, plain, render, utc_day
from rules.kinds.reconciliation.accounts import Sums
from rules.kinds.reconciliation.bound import BoundRule, BoundSide, Limits
from rules.kinds.reconciliation.days import local_day
from rules.kinds.reconciliation.outcomes import LEFT, RIGHT
from rules.kinds.reconciliation.stored import (
    EXCLUDED,
    EXCLUDED_UNKNOWN,
    LEFT_OUT,
    OUTSIDE,
    OUTSIDE_UNKNOWN,
    TAKES_PART,
    Element,
)
from rules.models import KeyPart
from rules.values import EXACT, Type

Select = sa.Select[Any]
Days = Mapping[str, tuple[dt.date, dt.date] | None]
_MYSQL = ("mysql", "mariadb")
_MOST_DAYS = 75_000
"""Days between the first and the last instant of a column; with more, too many changes of the offset are possible."""
_DAY = dt.timedelta(days=1)
_BILLION = 1_000_000_000


def obstacle(bound: BoundRule, dialect: str) -> str | None:
    """Return why a database of this dialect cannot settle keys exactly, as a clause; None if it can."""
    rule = bound.rule
    if rule.totals:
        return "sums of `totals` are compared in DuckDB"
    if rule.is_bundled:
        return f"bundles (`match: {rule.match}`) are added up in DuckDB"
    if not bound.pairs:
        return "without `key`, only amounts tell records apart, and they are compared in DuckDB"
    for side in bound.sides:
        reason = _uses(side).obstacle(dialect) or _inexact(side)
        if reason is not None:
            return reason
    return None


def _uses(side: BoundSide) -> Uses:
    """Return what the database computes. Every column must be exact: it alone sees those of settled records."""
    conditions = tuple(condition for condition in side.conditions if condition is not None)
    derived = tuple(part.column for part in side.values.values() if part.column in side.columns.derived)
    parts = (*side.key, *side.compare)
    return Uses(side.columns, conditions, parts, (*side.needed, *derived), side.relation.timezone)


def _inexact(side: BoundSide) -> str | None:
    for name, part in side.values.items():
        kind = side.held(name).type
        if kind is Type.FLOAT:
            return f"`{part.column}` is a floating-point number, which databases do not compare exactly"
        if kind is Type.BYTES and name.startswith("compare_"):
            return f"`{part.column}` is of type bytes, which is compared in DuckDB"
    return None


@dataclass(frozen=True)
class Settled:
    """The answer of the database about both sides.

    `states` count all records of each side, `totals` sum up those that pass the filters, and `sums` the records of the
    `keys` that are settled.
    """

    keys: int
    states: tuple[Mapping[int, int], Mapping[int, int]]
    totals: tuple[Sums, Sums]
    sums: tuple[Sums, Sums]
    identity: tuple[IdentityProblem, IdentityProblem]


@dataclass(frozen=True)
class SideQuery:
    """One side's records in the database. `days` are the first and last UTC day of each of its instants."""

    bound: BoundRule
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
        return _uses(self.side).guard(self.dialect)

    def value(self, name: str) -> Element:
        """Return a value of the rule, null where it is empty; texts are equal in full length if they are equal."""
        part = self.side.values[name]
        if not part.steps:
            return self._given(part)
        value = self.compiler.key(part)
        return exact(filled(value)) if self.side.held(name).type is Type.TEXT else value

    def _given(self, part: KeyPart) -> Element:
        element = self.compiler.whole(part.column)
        kind = self.side.type_of(part.column)
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
        for condition, unknown, outside in zip(
            self.side.conditions, (OUTSIDE_UNKNOWN, EXCLUDED_UNKNOWN), (OUTSIDE, EXCLUDED), strict=True
        ):
            if condition is not None:
                compiled = self.compiler.condition(condition)
                whens += [(compiled.is_(None), _number(unknown)), (sa.not_(compiled), _number(outside))]
        return sa.case(*whens, else_=_number(TAKES_PART)) if whens else _number(TAKES_PART)

    @cached_property
    def is_scanned(self) -> Element:
        """The condition that a record passes the filters of the dataset and of the rule."""
        wheres = [self.compiler.condition(condition) for condition in self.side.conditions if condition is not None]
        return sa.func.coalesce(sa.and_(*wheres), sa.false()) if wheres else sa.true()

    @cached_property
    def is_complete(self) -> Element:
        """The condition that a record passes the filters and has all values that matching needs."""
        required = [self.value(f"key_{n}") for n in range(len(self.side.key))]
        required += [self.value(name) for name in ("date", "amount") if name in self.side.values]
        return sa.and_(self.is_scanned, *(value.is_not(None) for value in required))

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
        """Values that are equal for equal keys. Two keys may share them: then neither is settled."""
        parts = {f"key_{n}": part for n, part in enumerate(self.side.key)}
        if self.dialect == "postgresql":
            hashes = [self.compiler.hashed(part, n) for n, part in enumerate(parts.values(), 1)]
            first, *more = [hashed for hashed in hashes if hashed is not None]
            for hashed in more:
                first = first.bitwise_xor(hashed)
            return {"mark": first}
        return {f"mark_{n}": self._mark(name) for n, name in enumerate(parts)}

    def _mark(self, name: str) -> Element:
        value, kind = self.value(name), self.side.held(name).type
        # MariaDB sorts and indexes only the beginning of a long value.
        return sa.func.md5(value, type_=sa.String(32)) if self.dialect in _MYSQL and kind is Type.TEXT else value

    def currency(self) -> Element:
        return plain(self.compiler.column(str(self.side.currency))) if self.side.currency else sa.null()

    def money(self) -> Element:
        return self.compiler.column(str(self.side.money)) if self.side.money else sa.null()

    def counts(self) -> Select:
        """Count the records by state and currency, with their money, and where needed days and texts."""
        columns = {"state": self.state, "currency": self.currency(), "money": self.money()}
        columns["other"] = sa.case((self.compiler.ascii_only(self.guarded), _number(0)), else_=_number(1))
        columns |= {f"day_{name}": utc_day(self.value(name)) for name in self.instants}
        each = sa.select(*(element.label(name) for name, element in columns.items())).subquery("each_record")
        answers: list[Element] = [
            each.c.state,
            sa.func.min(each.c.currency).label("currency"),
            sa.func.count().label("records"),
        ]
        answers += self.added("money", each.c.money)
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
            billion = _number(_BILLION)
            parts: dict[str, Element] = {label: money.op("/")(billion), f"{label}_low": money.op("%")(billion)}
        else:
            parts = {label: money}
        text = sa.CHAR() if self.dialect in _MYSQL else sa.Text()
        return [sa.cast(sa.func.sum(part), text).label(name) for name, part in parts.items()]

    @property
    def own_id(self) -> tuple[str, ...]:
        """The columns of the id, if all are the table's own."""
        names = self.side.relation.id
        return names if set(names).isdisjoint(self.side.relation.derived) else ()

    def ids(self) -> Select:
        """Select the ids of all records of the dataset."""
        columns = (self.compiler.whole(name).label(f"id_{n}") for n, name in enumerate(self.side.relation.id))
        dataset, _ = self.side.conditions
        every_id = sa.select(*columns)
        return every_id if dataset is None else every_id.where(self.compiler.condition(dataset))

    def single(self) -> sa.Subquery:
        """Select the values of complete records that no other one of their side shares its marks with."""
        columns = {f"key_{n}": self.value(f"key_{n}") for n in range(len(self.side.key))}
        columns |= {"day": self.day("date")} if self.bound.date else {}
        columns |= {"amount": self.value("amount")} if self.bound.limits else {}
        for n, pair in enumerate(self.bound.compared):
            name = f"compare_{n}"
            columns[name] = self.value(name) if pair.days is None else self.day(name)
        columns |= {"currency": self.currency(), "money": self.money()}
        columns["is_readable"] = sa.case((self.is_readable, _number(1)), else_=_number(0))
        each = sa.select(*(element.label(name) for name, element in {**self.marks, **columns}.items())).where(
            self.is_complete
        )
        records = each.subquery("complete")
        marks = [records.c[name] for name in self.marks]
        values = (_only(records.c[name]).label(name) for name in columns)
        chosen = sa.select(*marks, *values).group_by(*marks)
        alone = sa.and_(sa.func.count() == _number(1), sa.func.min(records.c.is_readable) == _number(1))
        return chosen.having(alone).subquery(self.side.name)

    def rest(self, settled: Select | None) -> Select:
        """Select the records that matching needs, those of settled keys left out."""
        needed = [self.table.c[name] for name in self.side.needed]
        if settled is None:
            return sa.select(*needed)
        left_out = settled.subquery("settled")
        agree = [element == left_out.c[name] for name, element in self.marks.items()]
        joined = self.table.outerjoin(left_out, sa.and_(self.is_complete, *agree))
        first = left_out.c[next(iter(self.marks))]
        wanted = sa.or_(self.is_scanned, sa.not_(self.is_readable))
        return sa.select(*needed).select_from(joined).where(first.is_(None), wanted)


def _number(value: int) -> Element:
    return sa.literal_column(str(value), sa.Integer())


def _only(value: Element) -> Element:
    """Return the value of a group of one record."""
    if isinstance(value.type, sa.Boolean):
        value = sa.case((value, _number(1)), (sa.not_(value), _number(0)))
    return sa.func.min(value)


def _every_day(ends: tuple[dt.date, dt.date] | None) -> list[dt.date]:
    if ends is None:
        return []
    first, last = ends
    return [first + n * _DAY for n in range((last - first).days + 1)]


@dataclass(frozen=True)
class Settling:
    """The statements over both sides."""

    bound: BoundRule
    sides: tuple[SideQuery, SideQuery]

    @classmethod
    def of(cls, bound: BoundRule, records: Mapping[str, Pushed], slot: dt.datetime, days: Sequence[Days]) -> Settling:
        left, right = (
            SideQuery(bound, side, source.table, source.dialect, slot, of_side)
            for side, of_side in zip(bound.sides, days, strict=True)
            for source in [records[side.relation.dataset]]
        )
        return cls(bound, (left, right))

    def streams(self, pushed: Sequence[Pushed], settled: Select | None) -> tuple[Streamed, Streamed]:
        """Return the records of both sides without those of settled keys, each with the columns in `needed`."""
        left, right = (
            Streamed(functools.partial(_stream, source, query.rest(settled)))
            for query, source in zip(self.sides, pushed, strict=True)
        )
        return left, right

    @property
    def dialect(self) -> str:
        return self.sides[LEFT].dialect

    @cached_property
    def both(self) -> Select:
        """Select the settled keys: their marks, and the money of both records."""
        left, right = (side.single() for side in self.sides)
        marks = self.sides[LEFT].marks
        same_marks = sa.and_(*(left.c[name] == right.c[name] for name in marks))
        columns = [left.c[name] for name in marks]
        for name in ("currency", "money"):
            columns += [each.c[name].label(f"{name}_{side}") for side, each in enumerate((left, right))]
        settled = sa.select(*columns).select_from(left.join(right, same_marks))
        return settled.where(*self._agree(left, right))

    def _agree(self, left: sa.Subquery, right: sa.Subquery) -> Iterator[Element]:
        """Yield the conditions that two records of one key agree, each without doubt."""
        for n in range(len(self.bound.pairs)):
            yield left.c[f"key_{n}"] == right.c[f"key_{n}"]
        if self.bound.date:
            later = self._days(left.c.day, right.c.day)
            yield later <= _number(self.bound.date.later)
            yield later >= _number(-self.bound.date.earlier)
        if self.bound.limits:
            yield self._within(left.c.amount, right.c.amount, self.bound.limits)
        for n, pair in enumerate(self.bound.compared):
            ours, theirs = left.c[f"compare_{n}"], right.c[f"compare_{n}"]
            equal = ours.is_not_distinct_from(theirs)
            if pair.days is not None:
                yield sa.or_(equal, sa.func.abs(self._days(ours, theirs)) <= _number(pair.days))
            elif pair.has_tolerance:
                yield sa.or_(equal, self._within(ours, theirs, Limits(pair.by, pair.percent)))
            else:
                yield equal

    def _days(self, first: Element, last: Element) -> Element:
        """Return the days between two days. Business days are never farther apart."""
        if self.dialect in _MYSQL:
            return sa.func.datediff(last, first, type_=sa.Integer())
        return sa.type_coerce(last, sa.Integer()) - sa.type_coerce(first, sa.Integer())

    def _within(self, left: Element, right: Element, limits: Limits) -> Element:
        """Return the condition that two numbers agree; a share of them is computed only where that is exact."""
        if (limits.by is None and limits.percent is None) or (limits.percent and self.dialect != "postgresql"):
            return left == right
        if self.dialect == "postgresql":
            left, right = (sa.cast(value, sa.Numeric()) for value in (left, right))
        elif self.dialect in _MYSQL:
            left, right = (
                sa.cast(value, sa.Numeric(38, 0)) if isinstance(value.type, sa.Integer) else value
                for value in (left, right)
            )
        distance: Element = sa.func.abs(left - right)
        conditions: list[Element] = []
        if limits.by is not None:
            by = Decimal(int(limits.by)) if self.dialect == "sqlite" else limits.by  # numbers there are integers
            conditions.append(distance <= constant_sql(by, Type.DECIMAL, self.dialect))
        if limits.percent is not None:
            larger = sa.func.greatest(sa.func.abs(left), sa.func.abs(right))
            share = constant_sql(limits.percent, Type.DECIMAL, self.dialect) * larger
            conditions.append(distance * _number(100) <= share)
        return sa.and_(*conditions)

    def sums(self) -> Select:
        """Count the settled keys by the currencies of their records, with the money of each side."""
        settled = self.both.subquery("settled")
        currencies = [settled.c[f"currency_{side}"] for side in (LEFT, RIGHT)]
        answers: list[Element] = [
            sa.func.min(currency).label(f"currency_{side}") for side, currency in enumerate(currencies)
        ]
        answers.append(sa.func.count().label("records"))
        for side, query in enumerate(self.sides):
            answers += query.added(f"money_{side}", settled.c[f"money_{side}"])
        return sa.select(*answers).group_by(*(exact(currency) for currency in currencies))

    def marks(self) -> Select:
        """Select the marks of the settled keys."""
        each = self.both.subquery("each_settled")
        return sa.select(*(each.c[name] for name in self.sides[LEFT].marks))


@dataclass(frozen=True)
class Pulled:
    """The records of each side that are matched here, and the answer about the others; None if none is settled."""

    records: tuple[Streamed, Streamed]
    settled: Settled | None


def pulled(bound: BoundRule, records: Mapping[str, Pushed], slot: dt.datetime) -> Pulled:
    """Let the database of both sides, in its one snapshot, settle what it can."""
    pushed = [records[side.relation.dataset] for side in bound.sides]
    if pushed[LEFT].dialect == "postgresql":
        pushed[LEFT].whole(_prepare())
    counts = [
        _Counts.of(query, source.whole(query.counts()))
        for query, source in zip(queries(bound, records, slot), pushed, strict=True)
    ]
    settling = Settling.of(bound, records, slot, [each.days for each in counts])
    if any(each.others or not each.is_bounded for each in counts):
        return Pulled(settling.streams(pushed, None), None)
    sums = (Sums(), Sums())
    keys = 0
    for row in pushed[LEFT].whole(settling.sums()).to_pylist():
        keys += row["records"]
        for side in (LEFT, RIGHT):
            sums[side].add([(row[f"currency_{side}"], row["records"], _amount(row, f"money_{side}"))])
    identity = tuple(
        Pushdown(source).identity_of(query.own_id, query.ids()) if query.side.relation.id else IdentityProblem()
        for query, source in zip(settling.sides, pushed, strict=True)
    )
    settled = Settled(
        keys,
        (counts[LEFT].states, counts[RIGHT].states),
        (counts[LEFT].total, counts[RIGHT].total),
        sums,
        (identity[LEFT], identity[RIGHT]),
    )
    return Pulled(settling.streams(pushed, settling.marks()), settled)


def queries(bound: BoundRule, records: Mapping[str, Pushed], slot: dt.datetime) -> tuple[SideQuery, SideQuery]:
    """Return both sides before the days of their instants are known."""
    return Settling.of(bound, records, slot, [{}, {}]).sides


def texts(bound: BoundRule, records: Mapping[str, Pushed], slot: dt.datetime) -> tuple[str, ...]:
    """Return the SQL for display, as if all instants had one offset from UTC."""
    settling = Settling.of(bound, records, slot, [{}, {}])
    shown = {f"all {query.side.name} records, by state and currency": query.counts() for query in settling.sides}
    shown["settled keys: one record of each side that agree"] = settling.sums()
    for query in settling.sides:
        shown[f"{query.side.name} records of other keys, matched here"] = query.rest(settling.marks())
    return tuple(f"-- {name}\n{render(statement, settling.dialect)}" for name, statement in shown.items())


def _stream(source: Pushed, statement: Select, columns: tuple[str, ...]) -> pa.RecordBatchReader:
    reader = source.query(statement)
    assert tuple(reader.schema.names) == columns  # noqa: S101 - the columns that the side needs
    return reader


def _prepare() -> Select:
    """Set, for this transaction only, how PostgreSQL joins and groups: it cannot estimate how many keys are settled."""
    settings = {"enable_nestloop": "off", "enable_hashagg": "off", "parallel_tuple_cost": "0.001"}
    columns: list[Element] = [
        sa.func.set_config(name, value, sa.true(), type_=sa.Text()).label(name) for name, value in settings.items()
    ]
    return sa.select(*columns)


@dataclass(frozen=True)
class _Counts:
    """The answer to `SideQuery.counts`. `others` are the records with a text that is not ASCII where that matters."""

    states: Mapping[int, int]
    total: Sums
    others: int
    days: Days

    @classmethod
    def of(cls, query: SideQuery, answer: pa.Table) -> _Counts:
        states: dict[int, int] = {}
        total = Sums()
        rows = answer.to_pylist()
        for row in rows:
            state = int(row["state"])
            states[state] = states.get(state, 0) + row["records"]
            if state not in LEFT_OUT:
                total.add([(row["currency"], row["records"], _amount(row, "money"))])
        ends = {name: [row[f"{end}_{name}"] for row in rows for end in ("first", "last")] for name in query.instants}
        present = {name: [day for day in days if day is not None] for name, days in ends.items()}
        days = {name: (min(of_name), max(of_name)) if of_name else None for name, of_name in present.items()}
        return cls(states, total, sum(int(row["others"]) for row in rows), days)

    @property
    def is_bounded(self) -> bool:
        return all(ends is None or (ends[1] - ends[0]).days <= _MOST_DAYS for ends in self.days.values())


def _amount(row: Mapping[str, Any], name: str) -> Decimal | None:
    if row.get(name) is None:
        return None
    high, low = Decimal(row[name]), row.get(f"{name}_low")
    return high if low is None else EXACT.add(EXACT.multiply(high, Decimal(_BILLION)), Decimal(low))
