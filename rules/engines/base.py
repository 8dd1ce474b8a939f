"""Input and output of engines."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from rules import values as sums
from rules.calendar import ONLY_WEEKENDS, Calendar
from rules.engines.scope import Scope
from rules.repetition import Repetition
from rules.values import RecordId, Schema, Value

if TYPE_CHECKING:  # findings are shown without the engines
    import numpy as np
    import pyarrow as pa
    import sqlalchemy as sa

Positions: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"


@dataclass(frozen=True)
class Relation:
    """A dataset as a rule sees it: typed columns and the names of its records.

    `id` is empty for a dataset without one; its records are then named by (content hash, number of equal ones before).
    `derived` are columns given by an expression (`gross: {is: net + fee}`); `where` is the dataset's own filter.
    `money` is (amount column, currency column) or (amount column, literal currency) as `MoneyColumns`. `display` are
    columns that findings only show: groups hold their values, and nothing depends on them.
    """

    dataset: str
    schema: Schema
    id: tuple[str, ...] = ()
    timezone: str = "UTC"
    where: str | None = None
    derived: Mapping[str, str] = field(default_factory=dict)
    money: MoneyColumns | None = None
    calendar: Calendar = ONLY_WEEKENDS
    display: tuple[str, ...] = ()


@dataclass(frozen=True)
class MoneyColumns:
    """The column of the amount, and the currency: a column or a literal code, never both."""

    amount: str
    currency_column: str | None = None
    currency: str | None = None


@dataclass(frozen=True)
class Streamed:
    """Records that arrive once, as Arrow batches of the requested columns."""

    open: Callable[[tuple[str, ...]], pa.RecordBatchReader]


@dataclass(frozen=True)
class Readable:
    """Records DuckDB can read itself, repeatedly: `sql(columns)` is a SELECT of just those columns.

    `failure` returns the source's error for one of DuckDB's; a kind with several datasets knows which of them failed.
    """

    sql: Callable[[tuple[str, ...]], str]
    failure: Callable[[Exception], Exception] | None = None


@dataclass(frozen=True)
class Pushed:
    """Records inside a database that runs our query: every query of one detection sees the same snapshot.

    `query` streams an answer in bounded memory; `whole` returns a small answer at once, on PostgreSQL by several
    processors. `unique` returns True if the database itself keeps these columns of the table unique and not null.
    """

    dialect: str
    table: sa.FromClause
    query: Callable[[sa.Select[Any]], pa.RecordBatchReader]
    whole: Callable[[sa.Select[Any]], pa.Table]
    unique: Callable[[tuple[str, ...]], bool] = lambda _: False


Records = Streamed | Readable | Pushed


ADDS_NOTHING = "adds nothing to the balance"
"""The reason of records that take part, but have no amount or no currency in that column."""


@dataclass(frozen=True)
class Skipped:
    """Records that a rule skipped: the reason and the number; nothing is dropped silently.

    `scanned` is False if their `where` is unknown: they are not among the detection's `scanned` records. `whole` is
    False if only their value in the column was left out, and they were compared by other keys. `dataset` is given by a
    rule over several.
    """

    column: str
    reason: str
    records: int
    scanned: bool = field(default=True, compare=False)
    whole: bool = field(default=True, compare=False)
    dataset: str | None = None


@dataclass(frozen=True)
class Member:
    """One record of a group. `values` holds the raw values of the columns the finding shows.

    `dataset` is None for a record of the rule's first dataset.
    """

    id: RecordId
    values: Mapping[str, Value]
    dataset: str | None = None


@dataclass(frozen=True)
class Nearby(Member):
    """A record outside a window but near a record inside; `at` is its value in the window's column."""

    at: Value = field(kw_only=True)


@dataclass(frozen=True)
class Group(ABC):
    """Records that a rule found together, each in a role.

    `key` maps key column to normalised value. `money` is the amount at risk per currency, with its sign. `span` is the
    first and last instant (or number) of the rule's `gap`/`window` column. `form` says what is wrong with the records.
    `digest` is equal for equal groups of a rule, if it computes one; see `rules.recognised`.
    """

    key: Mapping[str, Value]
    form: str = field(kw_only=True)
    money: Mapping[str, Decimal] = field(default_factory=dict, kw_only=True)
    span: tuple[Value, Value] | None = field(default=None, kw_only=True)
    digest: str | None = field(default=None, kw_only=True, compare=False, repr=False)

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
    def at_risk(self) -> dict[str, Decimal]:
        """The size of `money`, for messages and for ranking findings."""
        return sums.sizes(self.money)


@dataclass(frozen=True)
class Link:
    """Two records, by their positions in `members`, that agree by these keys, by their positions in `key: {any: …}`.

    Without a `bridge` the group would fall apart.
    """

    first: int
    second: int
    keys: tuple[int, ...]
    bridge: bool = False


@dataclass(frozen=True)
class DuplicateGroup(Group):
    """A group of records for the same thing: the keeper, then surplus in the order to handle it.

    A record that a query lists alone is a keeper without surplus. `money` is the sum over the surplus, if there is any.
    `nearby` are the nearest of the `nearby_records` with the same key that are in another window but near a record of
    the group. `links` say which pairs agree by which keys. `excepted` is True if the rule lists two of the records as
    different, which others connect. `repetition` is given by a rule that numbers equal records. `priced` names the
    columns of `money` in the records' values, by their dataset.
    """

    keeper: Member
    surplus: tuple[Member, ...]
    nearby: tuple[Nearby, ...] = ()
    nearby_records: int = 0
    links: tuple[Link, ...] = ()
    excepted: bool = field(default=False, compare=False)
    repetition: Repetition | None = None
    priced: Mapping[str | None, MoneyColumns] = field(default_factory=dict, compare=False, repr=False)
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
class Discrepancy(Group):
    """Records of two datasets, or of one of them, that should agree with each other and do not.

    `form` is left_only, right_only, mismatch, duplicate_left, duplicate_right, unbalanced, ambiguous or near_miss.
    `money` is the unmatched amount or the difference. `reason` explains the form, like "no key"; it holds no value of a
    record. Without a match key, `key` holds the side and the record's id.
    """

    form: str
    left: tuple[Member, ...] = ()
    right: tuple[Member, ...] = ()
    differences: tuple[Difference, ...] = ()
    reason: str | None = None

    @property
    def roles(self) -> tuple[tuple[str, Member], ...]:
        return (*(("left", member) for member in self.left), *(("right", member) for member in self.right))

    @property
    def members(self) -> tuple[Member, ...]:
        return (*self.left, *self.right)


@dataclass(frozen=True)
class Failure(Group):
    """A record that fails a check. `form` is condition, or gap for the record before one.

    `key` holds the values that fail, those of the previous record among them. `missing` counts the numbers that a gap
    lacks. `money` is the record's own. `beside` are the records whose values the key shows under other names.
    """

    form: str
    record: Member
    missing: int = 0
    beside: tuple[Member, ...] = field(default=(), compare=False)

    @property
    def roles(self) -> tuple[tuple[str, Member], ...]:
        return (("record", self.record),)

    @property
    def members(self) -> tuple[Member, ...]:
        return (self.record,)


@dataclass(frozen=True)
class BalanceLine:
    """The balance of two datasets in one currency: `left` - `right` is what the other amounts explain, exactly.

    `matched` is the difference of the money of matched records: what the tolerance allows, or more if the rule compares
    other amounts. `explained` is that of the findings, also `by_form` where it is not zero, `not_reported` that of
    forms which the rule does not report, and `not_yet_due` that of records that may still find their partner.
    """

    currency: str
    left: Decimal
    right: Decimal
    matched: Decimal
    explained: Decimal
    not_yet_due: Decimal
    by_form: Mapping[str, Decimal] = field(default_factory=dict)
    not_reported: Decimal = Decimal(0)


@dataclass(frozen=True)
class IdentityProblem:
    """The reason a dataset's `id` does not identify its records: findings are valid, cleaning is off."""

    nulls: int = 0
    repeated: int = 0

    def __bool__(self) -> bool:
        return bool(self.nulls or self.repeated)


@dataclass(frozen=True)
class Detection:
    """One rule's answer. `scanned` counts records after `where`, `read` before it; `scanned_of`, `read_of` and
    `identity_of` are those of each of several datasets.

    A comparison of two datasets also gives its `balance`, the number of `matched` pairs, the records `not_yet_due`,
    and the pairs that are `interchangeable` with others. `listed` are the pairs known to be different, by the dataset
    that lists them, and `mapped` the values that `map` looks up, by the dataset that has them.

    `unread_of` are the records of each dataset that were not read, because their `where` is certain to be false; they
    are counted in `read`. An incremental detection gives its `scope`: it read only records of these keys, and counts
    only what it read.
    """

    rule: str
    engine: str
    read: int
    scanned: int
    skipped: tuple[Skipped, ...]
    groups: Sequence[Group]
    identity: IdentityProblem = IdentityProblem()
    statements: tuple[str, ...] = ()
    read_of: Mapping[str, int] = field(default_factory=dict)
    scanned_of: Mapping[str, int] = field(default_factory=dict)
    identity_of: Mapping[str, IdentityProblem] = field(default_factory=dict)
    balance: tuple[BalanceLine, ...] = ()
    matched: int | None = None
    not_yet_due: int = 0
    interchangeable: int = 0
    listed: Mapping[str, int] = field(default_factory=dict)
    mapped: Mapping[str, int] = field(default_factory=dict)
    scope: Scope | None = None
    unread_of: Mapping[str, int] = field(default_factory=dict)

    @property
    def unread(self) -> int:
        return sum(self.unread_of.values())

    def of(self, dataset: str) -> Detection:
        """Return what was counted in one of the rule's datasets, with all groups; what is not told apart stays."""
        unread = {dataset: self.unread_of.get(dataset, 0)}
        counted = replace(self, read=self.read_of.get(dataset, self.read), unread_of=unread)
        of_dataset = dataset if dataset in self.scanned_of else None
        skipped = tuple(entry for entry in self.skipped if entry.dataset == of_dataset)
        identity = self.identity_of.get(dataset, self.identity)
        return replace(counted, scanned=self.scanned_of.get(dataset, self.scanned), skipped=skipped, identity=identity)


@dataclass(frozen=True)
class Choice:
    """The engine for a rule and the reason, as a sentence; `statements` is the SQL it would run."""

    engine: str
    reason: str
    statements: tuple[str, ...] = ()


@dataclass(frozen=True)
class Near:
    """Restricts an answer to records with a near neighbour: `at` orders, `within(earlier, later)` compares.

    `within` may be true too often, never too rarely. With `until`, a record is a period from `at` to there, without
    end for null, and `earlier` is the latest end.
    """

    at: sa.ColumnElement[Any]
    within: Callable[[sa.ColumnElement[Any], sa.ColumnElement[Any]], sa.ColumnElement[bool]]
    until: sa.ColumnElement[Any] | None = None


@dataclass(frozen=True)
class Key:
    """One of several keys: its values, the condition that they are complete, and the answer's column for it.

    In the answer that column is 1 where the key may repeat, otherwise 0.
    """

    parts: tuple[sa.ColumnElement[Any], ...]
    is_complete: sa.ColumnElement[bool]
    column: str


@dataclass(frozen=True)
class Repeats:
    """A kind's question to an engine: which records have a key that at least `minimum` records share?

    It is compiled once, over `keyed`: one row for every record, with the columns read and the values computed from
    them. The answer may hold too many records, never too few, and of each key all or none: the kind groups them
    exactly, in Python, for every engine. So a hash, a prefix of a long text or a double is a good enough key.

    `id` are the columns of the dataset's id, by name, without derived ones none; `ids` selects the ids of all records.

    `keys` replaces `key` where records may share any of several keys. Values that more than `most` records share are
    left out of the answer; without `most`, the kind leaves them out.

    `plain` are columns used unchanged in the key. `over` compiles the same question over fewer records.

    `state` is 0 for a record that takes part; any other number is for the kind to explain. `outside` are the states
    of records that the dataset's own filter leaves out. `python` are the functions DuckDB calls
    back, by name, with their number of arguments: texts (or None) in, a text (or None) out.
    """

    keyed: sa.FromClause
    columns: tuple[str, ...]
    key: tuple[sa.ColumnElement[Any], ...]
    takes_part: sa.ColumnElement[bool]
    state: sa.ColumnElement[int]
    minimum: int
    id: tuple[str, ...] = ()
    ids: sa.Select[Any] | None = None
    outside: tuple[int, ...] = ()
    near: Near | None = None
    differ: sa.ColumnElement[Any] | None = None
    keys: tuple[Key, ...] = ()
    most: int | None = None
    plain: tuple[str, ...] = ()
    over: Callable[[sa.FromClause], Repeats] | None = None
    python: Mapping[str, tuple[Callable[..., str | None], int]] = field(default_factory=dict)

    @property
    def is_of_every_record(self) -> bool:
        """True if every record that takes part is in the answer, whatever its key."""
        return self.minimum == 1 and not self.keys and self.near is None and self.differ is None

    @property
    def handle(self) -> tuple[str, ...]:
        """Unchanged columns that find a record again without computing its key: few records share their values."""
        return self.id or self.plain


@dataclass(frozen=True)
class RecordCounts:
    """The number of records in each state, the problems of the dataset's id, and, for each of several keys, the number
    of records whose value the engine left out because more than `most` share it.
    """

    states: Mapping[int, int]
    identity: IdentityProblem = IdentityProblem()
    crowded: tuple[int, ...] = ()

    def __add__(self, other: RecordCounts) -> RecordCounts:
        states = {s: self.states.get(s, 0) + other.states.get(s, 0) for s in {*self.states, *other.states}}
        identity = IdentityProblem(
            self.identity.nulls + other.identity.nulls, self.identity.repeated + other.identity.repeated
        )
        return RecordCounts(states, identity)


class Engine(Protocol):
    """Answers questions about the records it was opened on."""

    @property
    def table(self) -> sa.FromClause:
        """The records, to compile questions over."""

    def tally(self, question: Repeats) -> RecordCounts:
        """Count all records by state."""

    def members(self, question: Repeats) -> pa.Table:
        """Return the columns of the records whose key repeats."""


class Stop:
    """Interrupts engines when called from another thread; the detection then fails with the engine's error.

    It reaches only statements running at that moment: call it again until the detection has ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reached: list[Callable[[], object]] = []

    def __call__(self) -> None:
        with self._lock:
            for interrupt in self._reached:
                interrupt()

    @contextmanager
    def reaches(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """Register `interrupt`, which must return at once, for the duration of the block."""
        with self._lock:
            self._reached.append(interrupt)
        try:
            yield
        finally:
            with self._lock:
                self._reached.remove(interrupt)


class Unanswerable(Exception):
    """An engine cannot answer the rule over these records; nothing was changed. `exit_code`: see docs/cli.md."""

    exit_code: ClassVar[int] = 3


class TooManyDigits(Unanswerable):
    """DuckDB computes with 38 digits, and stops rather than give a wrong answer."""

    def __init__(self) -> None:
        super().__init__(
            "For some record, a sum, a difference or a product in the rule has more than 38 digits, the most that "
            "DuckDB can compute. Nothing was changed. Correct that value, or compare the column without computing."
        )


class OutOfMemory(Unanswerable):
    """The rule needs more memory than it may use, on every execution path."""

    def __init__(self, memory: str) -> None:
        super().__init__(
            f"The records did not fit into {memory} of memory, even in the smallest steps. Nothing was changed. "
            "Allow more with `memory:`, or run the rule inside the database with `engine: pushdown`."
        )
