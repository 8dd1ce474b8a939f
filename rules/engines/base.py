"""What goes into an engine and what comes out of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

import pyarrow as pa
import sqlalchemy as sa

from rules.models import Rule
from rules.values import RecordId, Schema, Value


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
    """Records DuckDB can read by itself as often as it likes: `sql(columns)` is a SELECT of just those columns."""

    sql: Callable[[tuple[str, ...]], str]


@dataclass(frozen=True)
class Pushed:
    """Records inside a database that runs our query: every `query` of one detection sees the same snapshot."""

    dialect: str
    table: sa.FromClause
    query: Callable[[sa.Select[Any]], pa.RecordBatchReader]


Records = Streamed | Readable | Pushed


@dataclass(frozen=True)
class Skipped:
    """Records that took no part in a rule, why, and how many: nothing is dropped in silence."""

    column: str
    reason: str
    records: int


@dataclass(frozen=True)
class Member:
    """One record of a group. `values` holds the raw values of the columns the finding shows."""

    id: RecordId
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Group:
    """The records a rule found together, keeper first, surplus in the order they would be handled.

    `key` maps key column to normalised value. `span` is the first and last instant (or number) of the rule's
    `gap`/`window` column. `money` is the sum over the surplus per currency.
    """

    key: Mapping[str, Value]
    keeper: Member
    surplus: tuple[Member, ...]
    money: Mapping[str, Decimal] = field(default_factory=dict)
    span: tuple[Value, Value] | None = None

    @property
    def members(self) -> tuple[Member, ...]:
        return (self.keeper, *self.surplus)


@dataclass(frozen=True)
class IdentityProblem:
    """Why a dataset's `id` does not name its records: findings still stand, cleaning is off."""

    nulls: int = 0
    repeated: int = 0

    def __bool__(self) -> bool:
        return bool(self.nulls or self.repeated)


@dataclass(frozen=True)
class Detection:
    """One rule's answer over one dataset. `scanned` counts records after `where`; `read` before it."""

    rule: str
    engine: str
    read: int
    scanned: int
    skipped: tuple[Skipped, ...]
    groups: tuple[Group, ...]
    identity: IdentityProblem = IdentityProblem()
    statements: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """Which engine runs a rule and why, in words a user can read; `statements` is the SQL it would run."""

    engine: str
    reason: str
    statements: tuple[str, ...] = ()


class Engine(Protocol):
    """A place detection executes."""

    def detect(self, rule: Rule, relation: Relation, records: Records, slot: dt.datetime) -> Detection:
        """The rule's groups. Raises RuleError when the rule does not fit the relation."""

    def explain(self, rule: Rule, relation: Relation, records: Records) -> Iterable[str]:
        """The statements it would run, in order."""
