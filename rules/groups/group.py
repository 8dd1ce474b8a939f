"""The groups that a rule finds: records together, each in a role."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

from rules import values as sums
from rules.engines.base import MoneyColumns
from rules.groups.repetition import Repetition
from rules.pairs.evidence import Link
from rules.pairs.record import Record
from rules.values import RecordId, Value, order_key

FORM = "@form"
"""The name of the form among the values that a decision is about."""


@dataclass(frozen=True)
class Member:
    """One record of a group. `values` holds the raw values of the columns the finding shows.

    `dataset` is None for a record of the rule's first dataset.
    """

    id: RecordId
    values: Mapping[str, Value]
    dataset: str | None = None

    @classmethod
    def of(cls, record: Record, shown: Sequence[str]) -> Member:
        """Return a record with its values in the columns that a finding shows."""
        return cls(record.id, {name: record.values[name] for name in shown}, record.dataset)


@dataclass(frozen=True)
class Nearby(Member):
    """A record outside a window but near a record inside; `at` is its value in the window's column."""

    at: Value = field(kw_only=True)


@dataclass(frozen=True)
class Difference:
    """A field in which two records, or two bundles of records, differ.

    `column` is its name for people: the left column, or `left / right` if their names differ.
    """

    column: str
    left: Value
    right: Value
    left_column: str
    right_column: str


@dataclass(frozen=True)
class Group(ABC):
    """Records that a rule found together, each in a role.

    `key` maps key column to normalised value, or to a value as read if `compared_key` has the normalised ones: these
    decide about the identity of the finding. `money` is the amount at risk per currency, with its sign. `span` is the
    first and last instant (or number) of the rule's `gap`/`window` column. `form` says what is wrong with the records.
    `digest` is equal for equal groups of a rule, if it computes one; see `rules.groups.recognised`.

    A shape of groups is a subclass. What others read of a group is here, and empty where a shape has none of it.
    `keeper` is the record that stays, `surplus` the others in the order to handle them. `links` say what joins which
    records. `nearby` are the nearest of the `nearby_records` that are near a record of the
    group, but in another one. `repetition` is given by a rule that numbers equal records, and `missing` counts the
    numbers that a gap lacks. `excepted` is True if the rule lists two of the records as different, which others
    connect. `priced` names the columns of `money` in the records' values, by their dataset. `differences` are the
    fields in which its sides differ; `reason` explains the form, like "no key", and holds no value of a record.
    `beside` are records whose values the key shows under other names.
    """

    has_sides: ClassVar[bool] = False
    """True if its records are of two sides that should agree: a decision about it is about exactly these records."""
    can_worsen: ClassVar[bool] = False
    """True if it can become larger without another record, as an amount or a gap does."""

    key: Mapping[str, Value]
    _: KW_ONLY
    form: str
    compared_key: Mapping[str, Value] = field(default_factory=dict, compare=False, repr=False)
    keeper: Member | None = None
    surplus: tuple[Member, ...] = ()
    money: Mapping[str, Decimal] = field(default_factory=dict)
    span: tuple[Value, Value] | None = None
    digest: str | None = field(default=None, compare=False, repr=False)
    links: tuple[Link, ...] = ()
    nearby: tuple[Nearby, ...] = ()
    nearby_records: int = 0
    repetition: Repetition | None = None
    missing: int = 0
    excepted: bool = field(default=False, compare=False)
    priced: Mapping[str | None, MoneyColumns] = field(default_factory=dict, compare=False, repr=False)
    differences: tuple[Difference, ...] = ()
    reason: str | None = None
    beside: tuple[Member, ...] = field(default=(), compare=False)

    @property
    @abstractmethod
    def roles(self) -> tuple[tuple[str, Member], ...]:
        """Each record with its role, in the order in which the finding shows them; at least one."""

    @property
    def members(self) -> tuple[Member, ...]:
        return tuple(member for _, member in self.roles)

    @property
    def anchor(self) -> Member:
        """The first record."""
        return self.members[0]

    @property
    def identity_key(self) -> Mapping[str, Value]:
        """The key with its values as they are compared."""
        return self.compared_key or self.key

    @property
    def at_risk(self) -> dict[str, Decimal]:
        """The size of `money`, for messages and for ranking findings."""
        return sums.sizes(self.money)

    @property
    def decided_on(self) -> Mapping[str, Value]:
        """What a decision about the group is about besides its key: another value needs another decision."""
        return {}


@dataclass(frozen=True)
class DuplicateGroup(Group):
    """A group of records for the same thing: the keeper, then surplus in the order to handle it.

    A record that a query lists alone is a keeper without surplus. `money` is the sum over the surplus, if there is any.
    """

    keeper: Member = field()
    surplus: tuple[Member, ...] = field()
    form: str = field(default="duplicate", init=False)

    @property
    def roles(self) -> tuple[tuple[str, Member], ...]:
        return (("keeper", self.keeper), *(("surplus", member) for member in self.surplus))

    @property
    def members(self) -> tuple[Member, ...]:
        return (self.keeper, *self.surplus)

    @property
    def anchor(self) -> Member:
        return self.keeper


@dataclass(frozen=True)
class Discrepancy(Group):
    """Records of two datasets, or of one of them, that should agree with each other and do not.

    `form` is left_only, right_only, mismatch, duplicate_left, duplicate_right, unbalanced, ambiguous or near_miss.
    `money` is the unmatched amount or the difference. Without a match key, `key` holds the side and the record's id.
    """

    has_sides: ClassVar[bool] = True
    can_worsen: ClassVar[bool] = True
    form: str
    left: tuple[Member, ...] = ()
    right: tuple[Member, ...] = ()

    @property
    def roles(self) -> tuple[tuple[str, Member], ...]:
        return (*(("left", member) for member in self.left), *(("right", member) for member in self.right))

    @property
    def members(self) -> tuple[Member, ...]:
        return (*self.left, *self.right)

    @property
    def decided_on(self) -> Mapping[str, Value]:
        decided: dict[str, Value] = {FORM: self.form}
        decided |= {f"@at risk {name}": amount for name, amount in self.at_risk.items()}
        decided |= {f"@left {each.left_column}": each.left for each in self.differences}
        return decided | {f"@right {each.right_column}": each.right for each in self.differences}


@dataclass(frozen=True)
class Failure(Group):
    """A record that fails a check. `form` is condition, or gap for the record before one.

    `key` holds the values that fail, those of the previous record among them. `money` is the record's own.
    """

    can_worsen: ClassVar[bool] = True
    form: str
    record: Member

    @property
    def roles(self) -> tuple[tuple[str, Member], ...]:
        return (("record", self.record),)

    @property
    def members(self) -> tuple[Member, ...]:
        return (self.record,)


G = TypeVar("G", bound=Group)


def in_order(groups: Iterable[G]) -> tuple[G, ...]:
    """Sort groups by key, then by the start of the span, then by the first record."""
    return tuple(sorted(groups, key=_place))


def _place(group: Group) -> tuple[Any, ...]:
    begin = order_key(group.span[0]) if group.span else ()
    if group.repetition:
        begin = order_key(group.repetition.number)
    return place_of(group.key, group.anchor, begin)


def place_of(key: Mapping[str, Value], anchor: Member | Record, begin: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Return the sort key of a group with this key and first record."""
    return (
        tuple(order_key(value) for value in key.values()),
        begin,
        anchor.dataset or "",
        tuple(order_key(part) for part in anchor.id),
    )
