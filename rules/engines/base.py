"""What goes into an engine and what comes out of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from rules import sums
from rules.values import RecordId, Schema, Value

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True)
class Relation:
    """A dataset as a rule sees it: typed columns and how its records are named.

    `id` is empty for a dataset without one; its records are then named by (content hash, how many before it).
    `derived` are columns given by an expression (`gross: {is: net + fee}`); `where` is the dataset's own filter.
    `money` is (amount column, currency column) or (amount column, literal currency) as `MoneyColumns`.
    """

    dataset: str
    schema: Schema
    id: tuple[str, ...] = ()
    timezone: str = "UTC"
    where: str | None = None
    derived: Mapping[str, str] = field(default_factory=dict)
    money: MoneyColumns | None = None


@dataclass(frozen=True)
class MoneyColumns:
    """Which column holds the amount; the currency is a column or a literal code, never both."""

    amount: str
    currency_column: str | None = None
    currency: str | None = None


@dataclass(frozen=True)
class Streamed:
    """Records that arrive once, as Arrow batches of the columns asked for."""

    open: Callable[[tuple[str, ...]], pa.RecordBatchReader]


@dataclass(frozen=True)
class Readable:
    """Records DuckDB can read by itself as often as it likes: `sql(columns)` is a SELECT of just those columns.

    `at(columns, positions, of, table)` is a SELECT of just the records at these ascending positions, counted from 0
    in the order of `sql`, among `of` records; `table` has them too, in its column `position`. None where reading all
    takes no longer. What it finds is compared with what was asked for.
    """

    sql: Callable[[tuple[str, ...]], str]
    at: Callable[[tuple[str, ...], Positions, int, str], str | None] = lambda *_: None


@dataclass(frozen=True)
class Pushed:
    """Records inside a database that runs our query: every query of one detection sees the same snapshot.

    `query` streams an answer in bounded memory; `whole` brings one of few records, for which PostgreSQL uses several
    processors. `unique` says whether the database itself keeps these columns of the table unique and not null.
    """

    dialect: str
    table: sa.FromClause
    query: Callable[[sa.Select[Any]], pa.RecordBatchReader]
    whole: Callable[[sa.Select[Any]], pa.Table]
    unique: Callable[[tuple[str, ...]], bool] = lambda _: False


Records = Streamed | Readable | Pushed


@dataclass(frozen=True)
class Skipped:
    """Records that took no part in a rule, why, and how many: nothing is dropped in silence.

    `scanned` is False for those whose `where` is unknown: they are not among the detection's `scanned` records.
    """

    column: str
    reason: str
    records: int
    scanned: bool = field(default=True, compare=False)


@dataclass(frozen=True)
class Member:
    """One record of a group. `values` holds the raw values of the columns the finding shows."""

    id: RecordId
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Nearby(Member):
    """A record that a window leaves out though it is near one inside; `at` is its value in the window's column."""

    at: Value


@dataclass(frozen=True)
class Group:
    """The records a rule found together, keeper first, surplus (at least one) in the order they would be handled.

    `key` maps key column to normalised value. `span` is the first and last instant (or number) of the rule's
    `gap`/`window` column. `money` is the sum over the surplus per currency. `nearby` are the nearest of the
    `nearby_records` with the same key that are in another window and yet near a record of the group.
    """

    key: Mapping[str, Value]
    keeper: Member
    surplus: tuple[Member, ...]
    money: Mapping[str, Decimal] = field(default_factory=dict)
    span: tuple[Value, Value] | None = None
    nearby: tuple[Nearby, ...] = ()
    nearby_records: int = 0

    @property
    def members(self) -> tuple[Member, ...]:
        return (self.keeper, *self.surplus)

    @property
    def at_risk(self) -> dict[str, Decimal]:
        """The size of `money`, as people are told of it and findings are ranked by it."""
        return sums.sizes(self.money)


@dataclass(frozen=True)
class IdentityProblem:
    """Why a dataset's `id` does not name its records: findings still stand, cleaning is off."""

    nulls: int = 0
    repeated: int = 0

    def __bool__(self) -> bool:
        return bool(self.nulls or self.repeated)


@dataclass(frozen=True)
class Detection:
    """One rule's answer. `scanned` counts records after `where`; `read` before it, and `read_of` each of several
    datasets.
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


@dataclass(frozen=True)
class Choice:
    """Which engine runs a rule and why, in words a user can read; `statements` is the SQL it would run."""

    engine: str
    reason: str
    statements: tuple[str, ...] = ()


@dataclass(frozen=True)
class Near:
    """Only records with a neighbour near enough matter: `at` orders, `within(earlier, later)` judges.

    `within` may say yes too often, never too seldom.
    """

    at: sa.ColumnElement[Any]
    within: Callable[[sa.ColumnElement[Any], sa.ColumnElement[Any]], sa.ColumnElement[bool]]


@dataclass(frozen=True)
class Repeats:
    """The question a kind asks of an engine: which records have a key that enough others have as well?

    It is compiled once, over `keyed`: one row for every record, with the columns read and what was computed from
    them. The answer may hold too many records, never too few, and of each key all or none: the kind groups them
    exactly, in Python, on every engine alike. So a hash, a prefix of a long text or a double is a good enough key.

    `id` are the columns of the dataset's id, by name, and `ids` selects just these for all its records.

    `plain` are columns that stand in the key as they are. `over` compiles the same question over fewer records.

    `state` is 0 for a record that takes part; any other number is for the kind to explain. `outside` are the states
    of records that the dataset's own filter leaves out. `python` are the functions DuckDB calls
    back, by name: so many texts (or None) in, a text (or None) out.
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
    plain: tuple[str, ...] = ()
    over: Callable[[sa.FromClause], Repeats] | None = None
    python: Mapping[str, tuple[Callable[..., str | None], int]] = field(default_factory=dict)

    @property
    def handle(self) -> tuple[str, ...]:
        """Columns as they are by which a record is found again without computing its key: few records share them."""
        return self.id or self.plain


@dataclass(frozen=True)
class Tally:
    """How many records are in which state, and whether the dataset's id names them."""

    states: Mapping[int, int]
    identity: IdentityProblem = IdentityProblem()

    def __add__(self, other: Tally) -> Tally:
        states = {s: self.states.get(s, 0) + other.states.get(s, 0) for s in {*self.states, *other.states}}
        identity = IdentityProblem(
            self.identity.nulls + other.identity.nulls, self.identity.repeated + other.identity.repeated
        )
        return Tally(states, identity)


class Engine(Protocol):
    """A place that answers questions about the records it was opened on."""

    @property
    def table(self) -> sa.FromClause:
        """The records, to compile questions over."""

    def tally(self, question: Repeats) -> Tally:
        """Counts over all records."""

    def members(self, question: Repeats) -> pa.Table:
        """The columns of the records whose key repeats."""


class Stop:
    """Called from another thread, it interrupts what engines are at; the detection then fails with whatever they say.

    It reaches only what is running at that moment: call it again until the detection has ended.
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
        """Inside the block the call interrupts by this, which returns at once; after the block never again."""
        with self._lock:
            self._reached.append(interrupt)
        try:
            yield
        finally:
            with self._lock:
                self._reached.remove(interrupt)


class Unanswerable(Exception):
    """An engine cannot answer the rule over these records; nothing was changed."""


class TooManyDigits(Unanswerable):
    """DuckDB computes with 38 digits, and stops rather than give a wrong answer."""

    def __init__(self) -> None:
        super().__init__(
            "For some record, a sum, a difference or a product in the rule has more than 38 digits, and that is as far "
            "as DuckDB computes. Nothing was changed. Correct that value, or compare the column without computing."
        )


class OutOfMemory(Unanswerable):
    """Every way to answer needed more memory than the rule may use."""

    def __init__(self, memory: str) -> None:
        super().__init__(
            f"The records did not fit into {memory} of memory, even in the smallest steps. Nothing was changed. "
            "Allow more with `memory:`, or run the rule inside the database with `engine: pushdown`."
        )
