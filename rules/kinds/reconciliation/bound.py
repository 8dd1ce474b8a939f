"""A rule fitted to its two datasets: what each side compares, by which columns, and which columns it reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property

from rules.binding.rule import DatasetFacts
from rules.binding.side import Side, place_columns
from rules.engines.base import Relation
from rules.engines.compile import Columns, part_exactness, unused
from rules.expressions import parse
from rules.expressions.tree import Name
from rules.kinds.reconciliation.model import DateTolerance, Grace, ReconciliationRule
from rules.kinds.reconciliation.pairs import SIDES, Apart, ComparedPair, KeyPair, Pair
from rules.models import KeyPart
from rules.models.calendar import Calendar
from rules.values import Type


@dataclass(frozen=True)
class AmountLimits:
    """The largest difference of two numbers: an amount, per cent of the larger one, or both; zero if neither.

    Of two limits both must hold, or `either`.
    """

    by: Decimal | None = None
    percent: Decimal | None = None
    either: bool = False

    @classmethod
    def of(cls, apart: Apart) -> AmountLimits:
        return cls(apart.by, apart.percent, apart.hold == "either")


@dataclass(frozen=True)
class Held:
    """A value as DuckDB holds it: its type, and whether it is written as canonical text because SQL is not exact."""

    type: Type
    is_text: bool = False


@dataclass(frozen=True)
class BoundSide(Side):
    """One side of a rule.

    `keys` are in order of preference: a record that finds no partner by the first is matched by the next.
    `group` are the values that are equal in the records of one partner; without any, each record is one.
    `amount` is the column of the amounts that the rule compares, `money` and `currency` those of the dataset's money.
    `made` are columns that the rule adds for these: an expression, or a currency that is the same for all records.
    """

    name: str
    keys: tuple[tuple[KeyPart, ...], ...]
    compare: tuple[KeyPart, ...]
    differ: tuple[KeyPart, ...]
    prefer: tuple[KeyPart, ...]
    group: tuple[KeyPart, ...]
    date: str | None
    amount: str | None
    money: str | None
    currency: str | None
    grace: Grace | None
    made: frozenset[str] = field(default=frozenset())

    @property
    def key(self) -> tuple[KeyPart, ...]:
        """The first key."""
        return self.keys[0]

    @cached_property
    def key_parts(self) -> tuple[KeyPart, ...]:
        """The parts of all keys."""
        return tuple(part for key in self.keys for part in key)

    @property
    def parts(self) -> tuple[KeyPart, ...]:
        """The parts of all settings that name a column with its normalisers."""
        return (*self.key_parts, *self.compare, *self.differ, *self.prefer, *self.group)

    @cached_property
    def values(self) -> Mapping[str, KeyPart]:
        """The values that the rule uses, by the name they have in its statements."""
        values = {f"key_{n}": part for n, part in enumerate(self.key_parts)}
        values |= {f"compare_{n}": part for n, part in enumerate(self.compare)}
        values |= {f"differ_{n}": part for n, part in enumerate(self.differ)}
        values |= {f"prefer_{n}": part for n, part in enumerate(self.prefer)}
        values |= {f"group_{n}": part for n, part in enumerate(self.group)}
        columns = {"date": self.date, "amount": self.amount, "money": self.money, "currency": self.currency}
        columns["grace"] = self.grace.column if self.grace else None
        columns |= {f"id_{n}": column for n, column in enumerate(self.relation.id)}
        return values | {name: KeyPart(column=column) for name, column in columns.items() if column is not None}

    def is_added(self, part: KeyPart) -> bool:
        """Return True if the values of a column are amounts, which are added up in a group."""
        return not part.steps and part.column in (self.amount, self.money)

    def held(self, name: str) -> Held:
        part = self.values[name]
        kind = self.type_of(part)
        exactness = part_exactness(self.columns, part, "duckdb", self.relation.timezone)
        return Held(kind, is_text=bool(part.steps) and exactness == "never" and kind is not Type.TEXT)

    @cached_property
    def deciding(self) -> tuple[str, ...]:
        """The columns that decide which records belong together, and whether they agree."""
        names = (*(part.column for part in self.parts), *self.filtering)
        return tuple(dict.fromkeys(filter(None, (*names, *self._measured))))

    @property
    def _measured(self) -> tuple[str | None, ...]:
        grace = self.grace.column if self.grace else None
        return (self.date, self.amount, grace, self.money, self.currency)

    @property
    def judged(self) -> tuple[str, ...]:
        return (*self.relation.id, *self.deciding)

    @cached_property
    def compared(self) -> tuple[str, ...]:
        """The columns of the rule that a finding shows; for a column that the rule adds, its sources."""
        date, amount, grace, *money = self._measured
        names = (*(part.column for part in self.parts), date, grace, amount, *money, *place_columns(self.relation))
        shown = (self.origins(name) for name in names if name)
        return tuple(dict.fromkeys(name for origins in shown for name in origins))

    def origins(self, column: str) -> tuple[str, ...]:
        """Return the column; for one that the rule adds, the dataset's columns that it is computed from."""
        return self.columns.derived[column].expression.columns if column in self.made else (column,)

    @property
    def used(self) -> tuple[str, ...]:
        return self.judged


@dataclass(frozen=True)
class BoundReconciliation:
    """A rule with its two sides.

    `keys` are in order of preference, and `by` is the number of the one by which records are matched now.
    `every_compared` are the columns that must agree in records that some key matches, money included; `of_all` are the
    numbers of those that `compare: all` adds.
    `limits` are those of the amounts, or None if the rule compares none.
    """

    rule: ReconciliationRule
    left: BoundSide
    right: BoundSide
    keys: tuple[tuple[KeyPair, ...], ...]
    every_compared: tuple[ComparedPair, ...]
    of_all: frozenset[int]
    limits: AmountLimits | None
    by: int = 0

    @property
    def sides(self) -> tuple[BoundSide, BoundSide]:
        return self.left, self.right

    @property
    def pairs(self) -> tuple[KeyPair, ...]:
        """The parts of the key by which records are matched now."""
        return self.keys[self.by]

    @property
    def key_values(self) -> tuple[str, ...]:
        """The names that the values of this key have in statements."""
        before = sum(map(len, self.keys[: self.by]))
        return tuple(f"key_{before + n}" for n in range(len(self.pairs)))

    @property
    def contained(self) -> int | None:
        """The number of the part of this key whose value is contained in a text; None if all parts are equal."""
        return next((n for n, pair in enumerate(self.pairs) if pair.contained is not None), None)

    @property
    def equal_values(self) -> tuple[str, ...]:
        """The names of the values of this key that are equal in a pair."""
        return tuple(name for n, name in enumerate(self.key_values) if n != self.contained)

    @cached_property
    def _compared(self) -> tuple[int, ...]:
        """The numbers of the columns that must agree now: of those that `all` adds, not the ones in this key."""
        in_key = {part.column for pair in self.pairs for part in (pair.left, pair.right)}
        pairs = enumerate(self.every_compared)
        return tuple(n for n, pair in pairs if n not in self.of_all or pair.left.column not in in_key)

    @property
    def compared(self) -> tuple[ComparedPair, ...]:
        """The columns that must agree in records that this key matches."""
        return tuple(self.every_compared[n] for n in self._compared)

    @property
    def compare_values(self) -> tuple[str, ...]:
        """The names that the values of these columns have in statements."""
        return tuple(f"compare_{n}" for n in self._compared)

    @property
    def by_each_key(self) -> tuple[BoundReconciliation, ...]:
        """This rule with each of its keys as the one by which records are matched."""
        return tuple(replace(self, by=number) for number in range(len(self.keys)))

    def matches_null(self, part: int) -> bool:
        """Return True if empty values of that part of the key match each other."""
        return self.pairs[part].left.column in self.rule.nulls

    @property
    def date(self) -> DateTolerance | None:
        return self.rule.tolerance.date

    def rank(self, day: dt.date) -> int:
        """Return the number of a day, as the date tolerance counts days."""
        return self.calendar.rank(day) if self.calendar else day.toordinal()

    @property
    def calendar(self) -> Calendar | None:
        """The business days that the date tolerance counts; None if it counts all days."""
        date = self.date
        if date is None or date.business_days is None:
            return None
        return Calendar.of(date.holidays) if date.holidays else self.left.relation.calendar

    @property
    def is_of_one_dataset(self) -> bool:
        return self.left.relation.dataset == self.right.relation.dataset


def bind(rule: ReconciliationRule, relations: Mapping[str, Relation]) -> BoundReconciliation:
    """Bind the rule to its datasets. Raises RuleError where a derived column or an amount cannot be computed."""
    both = (relations[rule.dataset], relations[rule.right])
    amounts = _amounts(rule, both)
    drafts = [_Draft.of(relation, amounts[number] if amounts else None) for number, relation in enumerate(both)]
    keys = _keys(rule, drafts[0], drafts[1])
    in_every_key = [pair for pair in keys[0] if all(pair in key for key in keys)]
    of_all = _every_pair(rule, drafts[0], drafts[1])
    compared = (*rule.compared, *of_all)
    numbers = frozenset(range(len(rule.compared), len(compared)))
    compared = (*compared, *_money_pairs(rule, drafts[0], drafts[1], (*in_every_key, *compared)))
    left, right = (
        draft.side(rule, name, keys, tuple(pair.side(name) for pair in compared))
        for draft, name in zip(drafts, SIDES, strict=True)
    )
    amount = rule.tolerance.amount
    limits = AmountLimits.of(amount) if amount else AmountLimits()
    return BoundReconciliation(rule, left, right, keys, compared, numbers, limits if amounts else None)


def _keys(rule: ReconciliationRule, left: _Draft, right: _Draft) -> tuple[tuple[KeyPair, ...], ...]:
    """Return the keys. Where amounts are added up, the currency of the money is part of the only one."""
    by = rule.totals.by if rule.totals else ()
    pairs, *others = [tuple(KeyPair(left=pair.left, right=pair.right) for pair in by)] if by else rule.keys
    adds_money = left.adds_money and right.adds_money and (rule.totals or rule.bundle)
    if not adds_money or not _may_differ(left, right):
        return (pairs, *others)
    currency = KeyPair(left=KeyPart(column=str(left.currency)), right=KeyPart(column=str(right.currency)))
    is_in_key = any((pair.left.column, pair.right.column) == (left.currency, right.currency) for pair in pairs)
    return (pairs,) if is_in_key else ((*pairs, currency),)


def _every_pair(rule: ReconciliationRule, left: _Draft, right: _Draft) -> tuple[ComparedPair, ...]:
    """Return the columns of the same name to compare, if the rule compares all that it does not use otherwise."""
    shared = rule.every_column(left.facts, right.facts)
    return tuple(ComparedPair(left=KeyPart(column=name), right=KeyPart(column=name)) for name in shared)


def _may_differ(left: _Draft, right: _Draft) -> bool:
    """Return True if the money of both sides can be in different currencies."""
    ours, theirs = left.relation.money, right.relation.money
    if ours is None or theirs is None:
        return False
    return ours.currency is None or ours.currency != theirs.currency


def _amounts(rule: ReconciliationRule, both: tuple[Relation, Relation]) -> tuple[str, str] | None:
    """Return the expressions of the amounts of both sides; None if the rule compares none."""
    amount = rule.tolerance.amount
    sums = rule.totals.sum if rule.totals else rule.sum
    if sums is not None:
        return sums.left, sums.right
    if amount is not None and amount.left is not None and amount.right is not None:
        return _quoted(amount.left), _quoted(amount.right)
    left, right = (relation.money for relation in both)
    return (_quoted(left.amount), _quoted(right.amount)) if rule.is_bundled and left and right else None


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


@dataclass(frozen=True)
class _Draft:
    """The columns of one side, before it is known which of them are compared.

    `adds_money` is True if the amounts that the rule compares are computed from those of the dataset's money.
    """

    relation: Relation
    derived: Mapping[str, str]
    amount: str | None
    currency: str | None
    adds_money: bool

    @classmethod
    def of(cls, relation: Relation, amount: str | None) -> _Draft:
        derived, money = dict(relation.derived), relation.money
        taken = (*relation.schema.names, *derived)
        column = _column(amount) if amount is not None else None
        if amount is not None and column is None:
            column = unused([amount], taken)[amount]
            derived[column] = amount
        currency = money.currency_column if money else None
        if money and money.currency:
            currency = unused(["currency"], taken)["currency"]
            derived[currency] = f"'{money.currency}'"
        adds_money = money is not None and amount is not None and money.amount in parse(amount).columns
        return cls(relation, derived, column, currency, adds_money)

    @property
    def facts(self) -> DatasetFacts:
        relation = self.relation
        return DatasetFacts(relation.id, relation.where, relation.derived, relation.schema.names)

    def side(
        self,
        rule: ReconciliationRule,
        name: str,
        keys: tuple[tuple[KeyPair, ...], ...],
        compare: tuple[KeyPart, ...],
    ) -> BoundSide:
        relation, date = self.relation, rule.tolerance.date
        return BoundSide(
            relation,
            Columns.of(relation.schema, self.derived, relation.timezone, relation.calendar),
            getattr(rule.where, name) if rule.where else None,
            name,
            tuple(tuple(pair.value(name) for pair in key) for key in keys),
            compare,
            tuple(pair.side(name) for pair in rule.differ),
            tuple(pair.side(name) for pair in rule.prefer),
            rule.group.of(name) if rule.group else (),
            getattr(date, name) if date else None,
            self.amount,
            relation.money.amount if relation.money else None,
            self.currency,
            getattr(rule.grace, name),
            frozenset(self.derived.keys() - relation.derived.keys()),
        )


def _column(expression: str) -> str | None:
    """Return the column if the expression is just that."""
    root = parse(expression).root
    return root.name if isinstance(root, Name) else None


def _money_pairs(
    rule: ReconciliationRule, left: _Draft, right: _Draft, taken: Iterable[Pair]
) -> tuple[ComparedPair, ...]:
    """Return the money to compare although the rule does not name it.

    Amounts are compared unless the rule says how far they may differ. Different currencies never agree.
    """
    ours, theirs = left.relation.money, right.relation.money
    if not ours or not theirs or rule.totals:
        return ()
    columns = []
    if rule.tolerance.amount is None and not rule.is_bundled:
        columns.append((ours.amount, theirs.amount))
    if _may_differ(left, right):
        columns.append((str(left.currency), str(right.currency)))
    compared = {(pair.left.column, pair.right.column) for pair in taken}
    return tuple(
        ComparedPair(left=KeyPart(column=ours_), right=KeyPart(column=theirs_))
        for ours_, theirs_ in columns
        if (ours_, theirs_) not in compared
    )
