"""The port every connector implements, and the settings every source and dataset has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from connectors.errors import ConnectorError

if TYPE_CHECKING:  # a source that can begin early begins before these are loaded
    import numpy as np
    import pyarrow as pa
    import sqlalchemy as sa

    Positions = np.ndarray[tuple[int], np.dtype[np.int64]]


class SourceSettings(BaseModel):
    """What `sources: NAME:` may say. A connector adds its own fields; `type` picks the connector."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    type: str
    max_parallel: int | None = Field(
        default=None, ge=1, le=64, description="How many runs may read it at once, in all processes together."
    )


class DatasetSettings(BaseModel):
    """How a dataset is read: what every connector understands. A connector adds where in the source it is.

    `columns` declares types by word: `text integer decimal float boolean date instant`, the last two with an optional
    strptime format (`date %d.%m.%Y`). Columns that are not declared keep the source's type; in files and workbooks
    that is text (workbook cells: as typed in the cell).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    columns: dict[str, str] = Field(default_factory=dict)
    decimal: Literal[".", ","] | None = None
    null_values: tuple[str, ...] = ()
    timezone: str = "UTC"


@dataclass(frozen=True)
class Problem:
    """Cells that could not be read as declared: in which column, why, how many, and the first place to look.

    `skipped` says that their records were left out (an error cell); otherwise the value became null.
    """

    column: str
    reason: str
    records: int
    first: str
    skipped: bool = False


@dataclass
class Scan:
    """One pass over a dataset: Arrow batches, and once they are read, what was wrong with single cells.

    Times are `timestamp[us, UTC]`, decimals decimal128, text utf8. Closing it early releases the source.
    """

    reader: pa.RecordBatchReader
    problems: Callable[[], tuple[Problem, ...]] = field(default=lambda: ())
    release: Callable[[], None] = field(default=lambda: None)

    def close(self) -> None:
        """Stop reading and let go of connections and files, also half-way. Safe to call twice."""
        self.reader.close()
        self.release()


@dataclass(frozen=True)
class DuckScan:
    """A SELECT with which DuckDB reads the dataset itself: same columns, types and rows as `scan`, and repeatable.

    `problems()` asks which cells were unreadable; it raises duckdb.Error as the scan would. `confirm(read)` compares
    how many records DuckDB returned with a count made without it, and raises a ConnectorError where they differ.
    `at(positions, of, table)` is a SELECT of a few of them, where that takes less than reading all: those at these
    ascending positions, counted from 0 in the order of `sql`, among `of` records; `table` has them in DuckDB, in its
    column `position`. The files it reads are open as long as this is held.
    """

    sql: str
    problems: Callable[[], tuple[Problem, ...]] = field(default=lambda: ())
    confirm: Callable[[int], None] = field(default=lambda _read: None)
    at: Callable[[Positions, int, str], str | None] = field(default=lambda _positions, _of, _table: None)


@runtime_checkable
class Source(Protocol):
    """A place records come from. Reads never change it."""

    Settings: ClassVar[type[SourceSettings]]
    Dataset: ClassVar[type[DatasetSettings]]
    name: str

    def datasets(self) -> Sequence[str]:
        """Names of what could be a dataset here (tables, files, sheets), for `init`, `check` and near names."""

    def describe(self, dataset: Any) -> pa.Schema:
        """Columns, types, nullability; raises DatasetMissing or ColumnMissing with the nearest names.

        Field metadata `pushdown: exact` marks a column which the source compares exactly as we do.
        """

    def scan(self, dataset: Any, columns: Sequence[str]) -> Scan:
        """Stream these columns, in this order, in bounded memory. Raises a ConnectorError, before or while reading."""

    def close(self) -> None:
        """Give back connections and temporary files. Safe to call twice."""


@runtime_checkable
class Forewarning(Protocol):
    """A source that can tell what people should know of a dataset as a whole, such as how its text was taken."""

    def warnings(self, dataset: Any, columns: Sequence[str] | None) -> tuple[Problem, ...]:
        """What concerns whoever names these columns, or any; `column` is `*`. Raises a ConnectorError as a scan."""


@runtime_checkable
class DuckReadable(Protocol):
    """A source whose datasets DuckDB can read by itself."""

    def duck_scan(self, dataset: Any, columns: Sequence[str]) -> DuckScan | None:
        """None where only `scan` is faithful."""

    def failure(self, dataset: Any, error: Exception) -> ConnectorError:
        """The sentence for an error that DuckDB raised while it ran a SELECT of `duck_scan`."""


class Snapshot(Protocol):
    """One consistent, read-only view of a database."""

    def query(self, statement: sa.Select[Any]) -> pa.RecordBatchReader:
        """Stream the answer; Arrow types as in `Scan`. Raises a ConnectorError."""

    def whole(self, statement: sa.Select[Any]) -> pa.Table:
        """The same answer at once, for one of few records: a database may find it faster than one that streams."""

    def unique(self, dataset: Any, columns: Sequence[str]) -> bool:
        """Whether the database itself keeps these columns unique and not null; False where it does not say."""

    def problems(self) -> tuple[Problem, ...]:
        """Cells of the answers that could not be read as the dataset declares them."""


@runtime_checkable
class Queryable(Protocol):
    """A source that can run our query itself (pushdown)."""

    dialect: str  # SQLAlchemy's name: postgresql, mysql (MariaDB too), sqlite

    def relation(self, dataset: Any) -> sa.FromClause:
        """The dataset as a named FROM clause whose columns carry SQLAlchemy types.

        Answers of a snapshot hold its columns as the dataset declares them, like `Scan`, whatever the statement is.
        """

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Every query inside sees the same state of the database."""


@runtime_checkable
class Stoppable(Protocol):
    """A source whose reads can be ended from outside: of one that is silent, slow, or no longer wanted."""

    def stop(self) -> None:
        """End every read of this source under way, from any thread; they fail with a ConnectorError.

        Returns within a few seconds whatever the source does; the source can be used again afterwards.
        """


@runtime_checkable
class Watchable(Protocol):
    """A source whose datasets can be seen to change without reading them, so that a change starts a job."""

    def state(self, dataset: Any) -> str | None:
        """A digest that is another one after the dataset changed; None where nothing is there yet.

        Cheap enough to ask every few seconds. It judges nothing: what a run would refuse has a state too. Raises a
        ConnectorError where it cannot be told just now.
        """


Opener = Callable[[str, Any, Path], Source]
"""(name in the configuration, its settings, directory of the configuration file) → a source. Opening reads nothing."""
