"""Near misses: two records without a partner that agree in all but one thing, as one discrepancy.

They are looked for in a fixed order, and each time a pair counts only if neither record has another such partner among
the records that are still open. So the answer depends on the open records alone, not on their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from rules.kinds.reconciliation import matching
from rules.kinds.reconciliation.bound import BoundReconciliation
from rules.kinds.reconciliation.links import Links, linked
from rules.kinds.reconciliation.outcomes import LEFT, RIGHT, Outcomes
from rules.kinds.reconciliation.ranges import Ranges, Records, Window, exact, linked_ranges, ranges, slices
from rules.kinds.reconciliation.sides import MatchedSide, MatchedSides, Within
from rules.kinds.reconciliation.statements import KEYS, Statements
from rules.kinds.reconciliation.workspace import Workspace
from rules.pairs import numbers
from rules.pairs.numbers import Amounts, Flags, Integers, Scaled
from rules.values import Type

_FAR = Window(31, 31)
"""Days by which the dates of a near miss may differ, if it is these that differ."""
_TENTH = Within(None, (10, 100))
"""How far amounts may differ, if it is these that differ: 10 % of the larger one."""
_EQUAL = Within(0, None)
MOST = 1_000_000
"""Possible pairs of one key, or of what it leaves: among more, nobody is the only one."""
_AT_ONCE = 2_000_000
_ENOUGH = 2
"""Things in which two records must agree if their keys differ in a part that has no measure."""

Codes = tuple[Integers, Integers]


@dataclass(frozen=True)
class _Days:
    """Days of both sides, and how far apart those of a pair may be."""

    values: tuple[Integers, Integers]
    window: Window


@dataclass(frozen=True)
class _Amounts:
    """Amounts of both sides, which records have one, and how far apart those of a pair may be."""

    values: tuple[Amounts, Amounts]
    present: tuple[Flags, Flags]
    within: Within


def joined(workspace: Workspace, statements: Statements, bound: BoundReconciliation, outcomes: Outcomes) -> Outcomes:
    """Return the outcomes, with near misses in the place of records without a partner; by each key in turn."""
    if "near_miss" in bound.rule.report and "near_miss" in bound.rule.possible_forms:
        for by_key in statements.by_each_key:
            outcomes = _joined(workspace, by_key, outcomes)
    return outcomes


def _joined(workspace: Workspace, statements: Statements, outcomes: Outcomes) -> Outcomes:
    alone = [outcomes.alone(side, without=statements.tables[side].reasons.values()) for side in (LEFT, RIGHT)]
    if not all(len(rows) for _, rows in alone):
        return outcomes
    tables = [matching.picked(workspace, statements, side, rows) for side, (_, rows) in enumerate(alone)]
    search = _Search.of(workspace, statements, statements.bound, (tables[LEFT], tables[RIGHT]))
    left, right = search.pairs()
    numbers_of = [dict(zip(rows.tolist(), of_side.tolist(), strict=True)) for of_side, rows in alone]
    chosen = []
    for side, places in ((LEFT, left), (RIGHT, right)):
        rows = search.sides[side].row[places]
        chosen.append((np.array([numbers_of[side][row] for row in rows.tolist()], np.int64), rows))
    return outcomes.join_near_misses(chosen[LEFT], chosen[RIGHT])


@dataclass(frozen=True)
class _Search:
    """Both sides' open records as arrays; the parts of the key and the currency as codes."""

    workspace: Workspace
    statements: Statements
    bound: BoundReconciliation
    tables: tuple[pa.Table, pa.Table]
    records: MatchedSides
    parts: Sequence[Codes]
    currency: Codes | None
    days: _Days | None
    amounts: _Amounts | None
    is_open: tuple[Flags, Flags]
    taken: list[Codes] = field(default_factory=list)

    @classmethod
    def of(
        cls, workspace: Workspace, statements: Statements, bound: BoundReconciliation, tables: tuple[pa.Table, pa.Table]
    ) -> _Search:
        left, right = tables
        records = MatchedSides.of(bound, left, right)
        parts = [numbers.codes(left[f"key_{n}"], right[f"key_{n}"]) for n in range(len(bound.pairs))]
        has_money = all("currency" in table.column_names for table in tables)
        currency = numbers.codes(left["currency"], right["currency"]) if has_money else None
        days = None
        if bound.date is not None and records.left.rank is not None and records.right.rank is not None:
            window = Window(bound.date.earlier, bound.date.later)
            days = _Days((records.left.rank, records.right.rank), window)
        amounts = _amounts(records, tables, has_money=has_money)
        is_open = (np.ones(len(left), np.bool_), np.ones(len(right), np.bool_))
        return cls(workspace, statements, bound, tables, records, parts, currency, days, amounts, is_open)

    @property
    def sides(self) -> tuple[MatchedSide, MatchedSide]:
        return self.records.left, self.records.right

    def pairs(self) -> Codes:
        """Return the places of the left and the right records of all near misses."""
        rule = self.bound.rule
        if rule.is_assigned or rule.bundle is not None:
            self._only_ones_of_a_key()
            self._days_apart()
            self._amounts_apart()
        for part in range(len(self.parts)):
            self._part_differs(part)
        lefts, rights = ([pairs[side] for pairs in self.taken] for side in (LEFT, RIGHT))
        nothing = np.empty(0, np.int64)
        return np.concatenate([nothing, *lefts]), np.concatenate([nothing, *rights])

    def _only_ones_of_a_key(self) -> None:
        """Pair the records of a key that no other record has, whatever keeps them apart."""
        if not self.parts:
            return
        left, right = self._only_pairs(range(len(self.parts)), None, None)
        is_only = self._has_no_other(left, right) if self.records.links else self._is_only_one(left)
        self._take(left[is_only], right[is_only])

    def _is_only_one(self, left: Integers) -> Flags:
        """Return True for each of these left records if its key has no other record, also not one with a partner."""
        names = [f"key_{n}" for n in range(len(self.parts))]
        keys = self.tables[LEFT].select(names).take(left).append_column("place", pa.array(np.arange(len(left))))
        is_only = np.ones(len(left), np.bool_)
        with self.workspace.shown(KEYS, keys):
            for side in (LEFT, RIGHT):
                places = self.workspace.query(self.statements.single(side))["place"].to_numpy()
                is_only &= np.isin(np.arange(len(left)), places)
        return is_only

    def _has_no_other(self, left: Integers, right: Integers) -> Flags:
        """Return True for each linked pair if neither record is linked with another, also not with one with a partner.

        All records are compared, so those of the pair itself are counted as well.
        """
        is_only = np.ones(len(left), np.bool_)
        for side, places in ((LEFT, left), (RIGHT, right)) if len(left) else ():
            tables = [self.workspace.query(self.statements.complete(each)) for each in (LEFT, RIGHT)]
            tables[side] = self.tables[side].select(tables[side].column_names).take(places)
            names = [name for n, name in enumerate(tables[side].column_names) if n != self.bound.contained]
            codes = [numbers.codes(tables[LEFT][name], tables[RIGHT][name]) for name in names]
            equal = numbers.combined(codes, (len(tables[LEFT]), len(tables[RIGHT])))
            links = linked(self.bound, tables[LEFT], tables[RIGHT], equal)
            is_only &= links is not None and links.partners[side] == 1
        return is_only

    def _days_apart(self) -> None:
        """Pair records of a key whose amounts agree, if they have some, and whose dates do not."""
        left, right = self.records.left.day, self.records.right.day
        if self.days is not None and left is not None and right is not None:
            self._find(range(len(self.parts)), _Days((left, right), _FAR), self.amounts)

    def _amounts_apart(self) -> None:
        """Pair records of a key whose dates agree, if they have some, and whose amounts do not."""
        if self.amounts is not None and self.bound.limits is not None:
            self._find(range(len(self.parts)), self.days, replace(self.amounts, within=_TENTH))

    def _part_differs(self, part: int) -> None:
        """Pair records that agree in everything but a part of the key, if that is enough to be no chance.

        The currency of money is none of the things that are counted: it is the same for most records.
        """
        others = [n for n in range(len(self.parts)) if n != part]
        counted = [n for n in others if not self._is_currency(n)]
        agreeing = len(counted) + (self.days is not None) + (self.amounts is not None)
        if agreeing >= _ENOUGH:
            self._find(others, self.days, self.amounts, with_currency=not self._is_currency(part))
        elif agreeing:
            self._measured(part, others)

    def _is_currency(self, part: int) -> bool:
        pair = self.bound.pairs[part]
        return (pair.left.column, pair.right.column) == (self.bound.left.currency, self.bound.right.currency)

    def _measured(self, part: int, others: Sequence[int]) -> None:
        """Pair records whose dates or numbers in that part of the key are near."""
        pair, columns = self.bound.pairs[part], [table[f"key_{part}"] for table in self.tables]
        kinds = {side.type_of(each) for side, each in zip(self.bound.sides, (pair.left, pair.right), strict=True)}
        if kinds == {Type.DATE} and self.days is None:
            left, right = (numbers.days(column.cast(pa.date32())) for column in columns)  # they may be written as text
            self._find(others, _Days((left, right), _FAR), self.amounts)
        elif kinds & {Type.DECIMAL, Type.FLOAT} and self.amounts is None and all(each.is_number for each in kinds):
            left, right, _ = numbers.aligned(Scaled.of(columns[LEFT]), Scaled.of(columns[RIGHT]))
            present = tuple(np.ones(len(values), np.bool_) for values in (left, right))
            self._find(others, self.days, _Amounts((left, right), (present[LEFT], present[RIGHT]), _TENTH))

    def _find(
        self, parts: Sequence[int], days: _Days | None, amounts: _Amounts | None, *, with_currency: bool = True
    ) -> None:
        """Pair open records that agree in these parts, their currency, days and amounts."""
        self._take(*self._only_pairs(parts, days, amounts, with_currency=with_currency))

    def _keys(self, parts: Sequence[int], *, with_currency: bool = False) -> Codes:
        """Return a code for each record, equal for those that agree in these parts of the key."""
        codes = [self.parts[part] for part in parts]
        codes += [self.currency] if with_currency and self.currency is not None else []
        sizes = len(self.is_open[LEFT]), len(self.is_open[RIGHT])
        return numbers.combined(codes, sizes)

    def _only_pairs(
        self, parts: Sequence[int], days: _Days | None, amounts: _Amounts | None, *, with_currency: bool = False
    ) -> Codes:
        """Return the pairs of open records that are each other's only possible partner. One of them must be due."""
        keys = self._keys([part for part in parts if part != self.bound.contained], with_currency=with_currency)
        links = self._links(keys) if self.bound.contained in parts else None
        is_free = [
            self.is_open[side] if amounts is None else self.is_open[side] & amounts.present[side]
            for side in (LEFT, RIGHT)
        ]
        free, given = [], []
        for side in (LEFT, RIGHT):
            free.append(np.flatnonzero(is_free[side]) if links is None else np.arange(len(is_free[side])))
            day = None if days is None else days.values[side][free[side]]
            amount = None if amounts is None else amounts.values[side][free[side]]
            given.append(Records(keys[side][free[side]], day, amount))
        window, within = None if days is None else days.window, None if amounts is None else amounts.within
        left, right = given
        pairs = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        near = ranges(left, right, window, within) if links is None else linked_ranges(links)
        for ours, theirs in _possible(near, left.key if links is None else links.keys[LEFT]):
            lefts, rights = free[LEFT][ours], free[RIGHT][theirs]
            agree = (self.records.left.due[lefts] | self.records.right.due[rights]) & self.records.may_pair(
                lefts, rights
            )
            agree &= is_free[LEFT][lefts] & is_free[RIGHT][rights]
            agree &= exact(left[ours], right[theirs], window, within)
            pairs.append(_only(lefts[agree], rights[agree]))
        return np.concatenate([ours for ours, _ in pairs]), np.concatenate([theirs for _, theirs in pairs])

    def _links(self, keys: Codes) -> Links | None:
        """Return the links of records with the same code in `keys`, that of other parts of the key."""
        return None if self.records.links is None else self.records.links.occurrences.links(keys)

    def _take(self, left: Integers, right: Integers) -> None:
        self.is_open[LEFT][left] = self.is_open[RIGHT][right] = False
        self.taken.append((left, right))


def _amounts(records: MatchedSides, tables: tuple[pa.Table, pa.Table], *, has_money: bool) -> _Amounts | None:
    """Return the amounts that the rule compares; else the money of both datasets, which must be equal."""
    left, right = records.left.amount, records.right.amount
    if records.within is not None and left is not None and right is not None:
        every = (np.ones(len(left), np.bool_), np.ones(len(right), np.bool_))
        return _Amounts((left, right), every, records.within)
    if not has_money:
        return None
    money = [table["money"] for table in tables]
    left, right, _ = numbers.aligned(Scaled.of(money[LEFT]), Scaled.of(money[RIGHT]))
    present = [~numbers.is_null(column) for column in money]
    return _Amounts((left, right), (present[LEFT], present[RIGHT]), _EQUAL)


def _possible(near: Ranges, keys: Integers) -> Iterator[Codes]:
    """Yield possible pairs, all those of a key together; none of a key with more than MOST."""
    distinct, at = np.unique(keys[near.left], return_inverse=True)
    by_key = np.zeros(len(distinct), np.int64)
    np.add.at(by_key, at, near.sizes)
    few = np.flatnonzero(by_key[at] <= MOST)
    of_few = Ranges(near.left[few], near.begin[few], near.end[few], near.order)
    of_lookups = keys[of_few.left]
    for of_slice, _ in slices(of_lookups, of_few.sizes, _AT_ONCE):
        lookups = np.flatnonzero(np.isin(of_lookups, of_slice))
        chosen = Ranges(of_few.left[lookups], of_few.begin[lookups], of_few.end[lookups], of_few.order)
        yield chosen.pairs(0, len(lookups))


def _only(left: Integers, right: Integers) -> Codes:
    """Return the pairs whose records are in no other pair."""
    times = [np.bincount(of_side, minlength=1) for of_side in (left, right)]
    is_only = (times[LEFT][left] == 1) & (times[RIGHT][right] == 1)
    return left[is_only], right[is_only]
