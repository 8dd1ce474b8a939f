"""Input and output of engines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from rules.models.calendar import ONLY_WEEKENDS, Calendar
from rules.values import Schema

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
class IdentityProblem:
    """The reason a dataset's `id` does not identify its records: findings are valid, cleaning is off."""

    nulls: int = 0
    repeated: int = 0

    def __bool__(self) -> bool:
        return bool(self.nulls or self.repeated)


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
