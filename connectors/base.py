"""The port every connector implements, and the settings every source and dataset has."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from connectors.errors import ConnectorError

if TYPE_CHECKING:  # a source that can begin early begins before these are loaded
    import pyarrow as pa
    import sqlalchemy as sa


class SourceSettings(BaseModel):
    """The settings of `sources: NAME:`. A connector adds its own fields; `type` picks the connector."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    type: str
    max_parallel: int | None = Field(
        default=None, ge=1, le=64, description="How many runs may read it at once, across all processes."
    )


class DatasetSettings(BaseModel):
    """The settings of a dataset that every connector understands. A connector adds its place in the source.

    `columns` declares types by word: `text integer decimal float boolean date instant`, the last two with an optional
    strptime format (`date %d.%m.%Y`). Columns that are not declared keep the source's type; in files and workbooks
    that is text (workbook cells: as typed in the cell).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    columns: dict[str, str] = Field(default_factory=dict)
    decimal: Literal[".", ","] | None = None
    null_values: tuple[str, ...] = ()
    timezone: str = "UTC"

    def at(self, slot: dt.datetime) -> DatasetSettings:  # noqa: ARG002 - for connectors whose datasets depend on it
        """The settings for a run at this due time."""
        return self


@dataclass(frozen=True)
class UnreadableCells:
    """Cells that could not be read as declared: their column, the reason, their number and the first place.

    `skipped`: their records were left out (an error cell); otherwise the value became null.
    """

    column: str
    reason: str
    records: int
    first: str
    skipped: bool = False


def unreadable_cells(
    read: Iterable[UnreadableCells], reread: Iterable[UnreadableCells] = ()
) -> tuple[UnreadableCells, ...]:
    """Add up the unreadable cells of several answers by column and reason.

    Cells of `reread` records may be among those of the others: only the larger of the two numbers counts.
    """
    total: dict[tuple[str, str], UnreadableCells] = {}
    again: dict[tuple[str, str], UnreadableCells] = {}
    for sums, problems in ((total, read), (again, reread)):
        for problem in problems:
            earlier = sums.get((problem.column, problem.reason))
            more = replace(earlier, records=earlier.records + problem.records) if earlier else problem
            sums[problem.column, problem.reason] = more
    for which, problem in again.items():
        if which not in total or total[which].records < problem.records:
            total[which] = problem
    return tuple(total.values())


@dataclass
class Scan:
    """One pass over a dataset: Arrow batches and, once they are read, the problems with single cells.

    Times are `timestamp[us, UTC]`, decimals decimal128, text utf8. Closing it early releases the source. `left_out` is
    the number of records that `Selective.select` did not read.
    """

    reader: pa.RecordBatchReader
    problems: Callable[[], tuple[UnreadableCells, ...]] = field(default=lambda: ())
    release: Callable[[], None] = field(default=lambda: None)
    left_out: int = 0

    def close(self) -> None:
        """Stop reading, at any point, and close connections and files. Safe to call twice."""
        self.reader.close()
        self.release()


@dataclass(frozen=True)
class DuckScan:
    """A SELECT with which DuckDB reads the dataset itself: same columns, types and rows as `scan`, and repeatable.

    `problems()` returns the unreadable cells; it raises duckdb.Error as the scan would. `confirm(read)` compares the
    number of records from DuckDB with a count made without it, and raises a ConnectorError if they differ.
    The files stay open as long as this object exists.
    """

    sql: str
    problems: Callable[[], tuple[UnreadableCells, ...]] = field(default=lambda: ())
    confirm: Callable[[int], None] = field(default=lambda _read: None)


@runtime_checkable
class Source(Protocol):
    """A place records come from. Reads never change it.

    A configuration calls the class with (name, settings, directory of the configuration file), or its classmethod
    `open` if it has one, which may return another class. Opening reads nothing.
    """

    Settings: ClassVar[type[SourceSettings]]
    Dataset: ClassVar[type[DatasetSettings]]
    name: str

    def datasets(self) -> Sequence[str]:
        """Names of possible datasets (tables, files, sheets), for `init`, `check` and near names."""

    def describe(self, dataset: Any) -> pa.Schema:
        """Columns, types, nullability; raises DatasetMissing or ColumnMissing with the nearest names.

        Field metadata `pushdown: exact` marks a column that the source compares exactly as we do, and `json: jsonb` one
        whose texts are PostgreSQL's jsonb, so that its functions find in them what is written there. `refused` has the
        reason why a scan refuses a column.
        """

    def scan(self, dataset: Any, columns: Sequence[str]) -> Scan:
        """Stream these columns, in this order, in bounded memory. Raises a ConnectorError, before or while reading."""

    def close(self) -> None:
        """Give back connections and temporary files. Safe to call twice."""


@runtime_checkable
class Forewarning(Protocol):
    """A source with warnings about a dataset as a whole, such as the encoding chosen for its text."""

    def warnings(self, dataset: Any, columns: Sequence[str] | None) -> tuple[UnreadableCells, ...]:
        """Warnings for readers of these columns, or of any; `column` is `*`. Raises a ConnectorError as a scan."""


@dataclass(frozen=True)
class ColumnComparison:
    """`column operator value` with one of `= < <= > >=`; `=` means equal to any of the values.

    A value is an int, Decimal, bool, text, date or aware datetime. Null, and a text of white space, is unknown.
    """

    column: str
    operator: str
    values: tuple[Any, ...]


@runtime_checkable
class Selective(Protocol):
    """A source that can leave out records without reading them."""

    def select(self, dataset: Any, columns: Sequence[str], comparisons: Sequence[ColumnComparison]) -> Scan:
        """Scan, but without some of the records for which a comparison is false; their number is `left_out`."""


@runtime_checkable
class DuckReadable(Protocol):
    """A source whose datasets DuckDB can read by itself."""

    def duck_scan(self, dataset: Any, columns: Sequence[str]) -> DuckScan | None:
        """The SELECT; None if only `scan` is faithful."""

    def failure(self, dataset: Any, error: Exception) -> ConnectorError:
        """Our error for one that DuckDB raised while it ran a SELECT of `duck_scan`."""


class Snapshot(Protocol):
    """One consistent, read-only view of a database."""

    def query(self, statement: sa.Select[Any]) -> pa.RecordBatchReader:
        """Stream the answer; Arrow types as in `Scan`. Raises a ConnectorError.

        The execution option `rereads` marks a statement whose records may be in other answers, too.
        """

    def whole(self, statement: sa.Select[Any]) -> pa.Table:
        """The whole answer at once, for few records: a database may compute it faster than a stream."""

    def unique(self, dataset: Any, columns: Sequence[str]) -> bool:
        """Return True if the database itself keeps these columns unique and not null; False if it does not say."""

    def problems(self) -> tuple[UnreadableCells, ...]:
        """Cells of the answers that could not be read as the dataset declares them; see `unreadable_cells`."""


@runtime_checkable
class Queryable(Protocol):
    """A source that can run our query itself (pushdown)."""

    dialect: str  # SQLAlchemy's name: postgresql, mysql (MariaDB too), sqlite, that of a warehouse; or spark

    def relation(self, dataset: Any) -> sa.FromClause:
        """The dataset as a named FROM clause whose columns carry SQLAlchemy types.

        Answers of a snapshot hold its columns as the dataset declares them, like `Scan`, for any statement.
        """

    def stand_in(self, relation: sa.FromClause, records: pa.Table) -> sa.FromClause:
        """These few records as a FROM clause with the columns of that relation, and without any table."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Every query inside sees the same state of the database."""


@runtime_checkable
class LimitedPushdown(Protocol):
    """A source that may be unable to run rules inside itself, for a reason of its own."""

    def no_pushdown(self, dataset: Any) -> str | None:
        """The reason, as a clause, why rules over this dataset do not run there; None if they can."""


@runtime_checkable
class Keeping(Protocol):
    """A Queryable whose snapshots copy what they read, so they have to know which columns that is."""

    def keep(self, snapshot: Any, dataset: Any, columns: Sequence[str]) -> None:
        """Announce the columns that the queries of a snapshot of this source read, before its first query."""


@runtime_checkable
class Answering(Protocol):
    """A connector's class whose sources run queries that a rule brings along."""

    @staticmethod
    def answer(settings: Any, dataset: Any, query: str) -> DatasetSettings:
        """The settings of a dataset that is the answer of the query: as `dataset`, but for its place in the source.

        Connects to nothing. Raises ValueError with a clause for a query that would not be sent.
        """


@runtime_checkable
class Stoppable(Protocol):
    """A source whose reads can be stopped from outside, if it is silent or slow or its answer is not needed."""

    def stop(self) -> None:
        """Stop every current read of this source, from any thread; they fail with a ConnectorError.

        Returns within a few seconds whatever the source does; the source can be used again afterwards.
        """


@runtime_checkable
class Watchable(Protocol):
    """A source that notices changes of a dataset without reading it, so that a change can start a job."""

    def state(self, dataset: Any) -> str | None:
        """A digest that changes with the dataset; None if the dataset does not exist yet.

        Cheap enough to call every few seconds. It validates nothing: a dataset that a run would refuse has a state too.
        Raises a ConnectorError if the state is unknown just now.
        """


@dataclass(frozen=True)
class Declaration:
    """How a dataset of a source is declared: settings of the connector, and the reasons for some of them by name."""

    settings: Mapping[str, Any]
    reasons: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class Suggesting(Protocol):
    """A source that proposes how its datasets are declared. A person reviews it; reading never guesses."""

    @staticmethod
    def of_file(path: Path) -> Mapping[str, Any] | None:
        """The settings of a source for a file or a folder of its kind; None for anything else."""

    def candidates(self) -> Sequence[str]:
        """Names of datasets to declare, each for `declaration`; several files of one kind are one dataset."""

    def declaration(self, candidate: str) -> Declaration:
        """Propose the settings of a candidate. Raises a ConnectorError."""

    def keys(self, dataset: Any) -> Sequence[tuple[str, ...]]:
        """Sets of columns that the source itself keeps unique and not null, the primary key first."""


@dataclass(frozen=True)
class Touched:
    """Records that changed since a mark, each at least once; `without_time` of them do not say when."""

    records: pa.Table
    without_time: int = 0


class Changes(Protocol):
    """A dataset in one consistent, read-only view, with marks that tell a later view what changed in between."""

    def obstacle(self, identity: Sequence[str], parts: Sequence[str], columns: Sequence[str]) -> str | None:
        """The reason, as a clause, why changed records are unknown or cannot be found fast; None if they can.

        `identity` are the columns of the dataset's id, `parts` columns that are each enough to look records up, and
        `columns` those whose changes matter.
        """

    def usable(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Those of these columns whose values it can look up."""

    def mark(self) -> Mapping[str, Any]:
        """This view, as JSON."""

    def refusal(self, mark: Mapping[str, Any]) -> str | None:
        """The reason, as a clause, why the changes since that mark are unknown; None if they are known."""

    def touched(
        self, mark: Mapping[str, Any], overlap: dt.timedelta, columns: Sequence[str], most: int
    ) -> Touched | None:
        """The records that changed since the mark less the overlap, or without such a time; None for more than `most`.

        It may hold records that did not change.
        """

    def matching(
        self, names: Sequence[str], values: Sequence[tuple[Any, ...]], columns: Sequence[str], most: int
    ) -> pa.Table | None:
        """The records whose columns of these names hold one of the tuples, none of them null; None for more than
        `most`. It may hold others."""

    def records(self) -> int:
        """The number of all records."""


@runtime_checkable
class Trackable(Protocol):
    """A source that can find the records of a dataset that changed."""

    def untracked(self, dataset: Any) -> str | None:
        """The reason, as a clause, why it cannot for this dataset; None if it can. Connects to nothing."""

    def changes(self, dataset: Any, by: str) -> AbstractContextManager[Changes]:
        """Open a view; the column `by` has the time of a record's last change. Raises a ConnectorError."""


@runtime_checkable
class RowSecured(Protocol):
    """A source whose database may hide records from its user."""

    def hides_rows(self, dataset: Any) -> str | None:
        """The reason, as a clause, why this user may not see all records of the dataset, whether it is a table, a view
        or a query; None if all are seen. Raises a ConnectorError."""


@runtime_checkable
class Versioned(Protocol):
    """A source whose datasets have versions that writers do not change: each dataset is read at one of them."""

    def version(self, dataset: Any) -> str:
        """The version that reads of the dataset see, for people. Raises a ConnectorError."""

    def renew(self) -> None:
        """Let the next read of each dataset see its newest version, and all reads after it the same one."""


@runtime_checkable
class Replicated(Protocol):
    """A source that may read from a replica of the database in which records are changed."""

    @property
    def replica(self) -> str | None:
        """The place of the replica, for people; None if it reads where records are changed."""

    def primary(self) -> Source:
        """The source that reads where records are changed; itself without a replica. It is closed with this one."""


@runtime_checkable
class ContentHashed(Protocol):
    """A source of files that can say whether a dataset is still the same, without reading its records."""

    def content(self, dataset: Any, progress: Callable[[int], None]) -> str:
        """A digest of the names and of every byte of the dataset's files, or its version. Raises a ConnectorError.

        `progress` is called with 0 while it reads. Two digests are equal only if a reader gets the same records.
        """
