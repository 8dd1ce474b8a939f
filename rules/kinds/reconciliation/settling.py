"""Let one database settle most keys of both sides, so that only the other records are read and matched here.

A key is settled if it has exactly one left and one right record, both complete, that agree in all that the rule
compares. Every condition is sufficient, not necessary: where SQL could judge differently from Reconcile, a key stays
unsettled. docs/decisions/0030 says why.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import sqlalchemy as sa

from rules.engines.base import Pushed
from rules.engines.compile import DATABASES
from rules.engines.pushdown import MOST
from rules.expressions.typed import constant_sql
from rules.functions import WAREHOUSES, exact
from rules.kinds.reconciliation.bound import AmountLimits, BoundReconciliation, BoundSide
from rules.kinds.reconciliation.inside import MYSQL, Days, Select, SideQuery, number, uses
from rules.kinds.reconciliation.outcomes import LEFT, RIGHT
from rules.kinds.reconciliation.stored import (
    Element,
)
from rules.values import Type


def obstacle(bound: BoundReconciliation, dialect: str) -> str | None:
    """Return why a database of this dialect cannot settle keys exactly, as a clause; None if it can."""
    rule = bound.rule
    if dialect == "spark" or dialect in WAREHOUSES:
        return f"reconciliations of datasets in {DATABASES[dialect]} are matched in DuckDB"
    if rule.totals:
        return "sums of `totals` are compared in DuckDB"
    if rule.is_bundled:
        return f"bundles (`match: {rule.match}`) are added up in DuckDB"
    if rule.group:
        return "records of a `group` are gathered in DuckDB"
    if rule.nulls:
        return "empty values of `nulls` are matched in DuckDB"
    if rule.differ:
        return "values that must `differ` are compared in DuckDB"
    if (reason := _of_keys(bound)) is not None:
        return reason
    for side in bound.sides:
        reason = uses(side).obstacle(dialect) or _inexact(side)
        if reason is not None:
            return reason
    return None


def _of_keys(bound: BoundReconciliation) -> str | None:
    if len(bound.keys) > 1:
        return "several keys are tried in turn in DuckDB"
    if bound.contained is not None:
        return "values that are `contained` in texts are looked for by Reconcile itself"
    if not bound.pairs:
        return "without `key`, only amounts distinguish records, and they are compared in DuckDB"
    return None


def _inexact(side: BoundSide) -> str | None:
    for name, part in side.values.items():
        if name.startswith("prefer_"):
            continue  # chooses between partners, and a settled record has only one
        kind = side.held(name).type
        if kind is Type.FLOAT:
            return f"`{part.column}` is a floating-point number, which databases do not compare exactly"
        if kind is Type.BYTES and name.startswith("compare_"):
            return f"`{part.column}` is of type bytes, which is compared in DuckDB"
    return None


@dataclass(frozen=True)
class Settling:
    """The statements over both sides."""

    bound: BoundReconciliation
    sides: tuple[SideQuery, SideQuery]

    @classmethod
    def of(
        cls, bound: BoundReconciliation, records: Mapping[str, Pushed], slot: dt.datetime, days: Sequence[Days]
    ) -> Settling:
        left, right = (
            SideQuery(bound, side, source.table, source.dialect, slot, of_side)
            for side, of_side in zip(bound.sides, days, strict=True)
            for source in [records[side.relation.dataset]]
        )
        return cls(bound, (left, right))

    @property
    def dialect(self) -> str:
        return self.sides[LEFT].dialect

    def both(self) -> Select:
        """Select the settled keys: their marks, and the money of both records."""
        left, right = (side.by_mark() for side in self.sides)
        columns = [left.c[name] for name in self.sides[LEFT].marks]
        settled = sa.select(*columns, *self._money(left, right)).select_from(left.join(right, self._share(left, right)))
        return settled.where(*self._agree(left, right))

    def _share(self, left: sa.Subquery, right: sa.Subquery) -> Element:
        return sa.and_(*(left.c[name] == right.c[name] for name in self.sides[LEFT].marks))

    def _money(self, left: sa.Subquery, right: sa.Subquery) -> Iterator[Element]:
        for name in ("currency", "money"):
            yield from (each.c[name].label(f"{name}_{side}") for side, each in enumerate((left, right)))

    def at_once(self) -> Select:
        """Select the sums of the settled keys, then the marks of others; one more than MOST if there are too many.

        PostgreSQL compares the keys once for both.
        """
        left, right = (side.by_mark() for side in self.sides)
        settled = sa.case((sa.and_(*self._agree(left, right)), number(1)), else_=number(0))
        columns = [sa.func.coalesce(left.c.mark, right.c.mark).label("mark"), settled.label("settled")]
        joined = left.join(right, self._share(left, right), full=True)
        each = sa.select(*columns, *self._money(left, right)).select_from(joined).cte("each_key")
        sums = self._sums(each, sa.cast(sa.null(), sa.BigInteger()).label("mark")).where(each.c.settled == number(1))
        unsettled = sa.select(each.c.mark).where(each.c.settled == number(0)).limit(number(MOST + 1))
        nothing = (sa.null() for _ in sums.selected_columns[1:])
        others = sa.select(unsettled.subquery("other").c.mark, *nothing)
        answer: Select = sa.select(*sums.union_all(others).subquery("answer").c)
        return answer

    def _agree(self, left: sa.Subquery, right: sa.Subquery) -> Iterator[Element]:
        """Yield the conditions that two keys with equal marks are one, with a record on each side, and these agree.

        Each is true without doubt, or null or false.
        """
        for each in (left, right):
            yield each.c.records == number(1)
        for n in range(len(self.bound.pairs)):
            yield left.c[f"key_{n}"] == right.c[f"key_{n}"]
        if self.bound.date:
            later = self._days(left.c.day, right.c.day)
            yield later <= number(self.bound.date.later)
            yield later >= number(-self.bound.date.earlier)
        if self.bound.limits:
            yield self._within(left.c.amount, right.c.amount, self.bound.limits)
        for n, pair in enumerate(self.bound.compared):
            ours, theirs = left.c[f"compare_{n}"], right.c[f"compare_{n}"]
            equal = ours.is_not_distinct_from(theirs)
            if pair.days is not None:
                yield sa.or_(equal, sa.func.abs(self._days(ours, theirs)) <= number(pair.days))
            elif pair.has_tolerance:
                yield sa.or_(equal, self._within(ours, theirs, AmountLimits.of(pair)))
            else:
                yield equal

    def _days(self, first: Element, last: Element) -> Element:
        """Return the days between two days. Business days are never farther apart."""
        if self.dialect in MYSQL:
            return sa.func.datediff(last, first, type_=sa.Integer())
        return sa.type_coerce(last, sa.Integer()) - sa.type_coerce(first, sa.Integer())

    def _within(self, left: Element, right: Element, limits: AmountLimits) -> Element:
        """Return the condition that two numbers agree; a share of them is computed only where that is exact."""
        if (limits.by is None and limits.percent is None) or (limits.percent and self.dialect != "postgresql"):
            return left == right
        if self.dialect == "postgresql":
            left, right = (sa.cast(value, sa.Numeric()) for value in (left, right))
        elif self.dialect in MYSQL:
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
            conditions.append(distance * number(100) <= share)
        return sa.or_(*conditions) if limits.either else sa.and_(*conditions)

    def sums(self) -> Select:
        """Count the settled keys by the currencies of their records, with the money of each side."""
        return self._sums(self.both().subquery("settled"))

    def _sums(self, settled: sa.FromClause, *columns: Element) -> Select:
        currencies = [settled.c[f"currency_{side}"] for side in (LEFT, RIGHT)]
        answers = list(columns)
        answers += [sa.func.min(each).label(f"currency_{side}") for side, each in enumerate(currencies)]
        answers.append(sa.func.count().label("records"))
        for side, query in enumerate(self.sides):
            answers += query.added(f"money_{side}", settled.c[f"money_{side}"])
        return sa.select(*answers).group_by(*(exact(currency) for currency in currencies))

    def marks(self) -> Select:
        """Select the marks of the settled keys."""
        each = self.both().subquery("each_settled")
        return sa.select(*(each.c[name] for name in self.sides[LEFT].marks))
