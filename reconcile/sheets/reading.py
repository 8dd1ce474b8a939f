"""Read the rows of a returned file: CSV as any spreadsheet saves it, a workbook, or Parquet."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from connectors.disk.opened_file import OpenedFile, open_beneath, unpacked_limit
from connectors.errors import ConnectorError, FileRefused, FileUnreadable
from connectors.files.csv.dialect import CsvOptions, decide
from connectors.files.csv.facts import facts
from connectors.files.csv.fields import DUCKDB_LINE, Malformed, RecordReader
from connectors.files.parquet import ParquetFile
from connectors.headers import OURS
from connectors.workbook.cells import number as digits
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from reconcile.errors import Wrong

SHEET = "findings"
_ROWS = 1_000

Row = tuple[int, Sequence[str]]
"""Its number in the file, and its cells as texts without blanks around them."""


class FileNotReturned(Wrong):
    """The file cannot be read."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file}: {reason}. Nothing was decided")


@dataclass(frozen=True)
class ReturnedFile:
    """A file with its columns in their order. `unit` is what counts its rows: `line 3`, `row 3`.

    `rows` returns the rows with the cells of these columns, by their place. After that, `problems` are the rows that
    could not be read, with the reason.
    """

    name: str
    unit: str
    columns: Sequence[str]
    rows: Callable[[Sequence[int]], Iterator[Row]]
    problems: list[str] = field(default_factory=list)

    def place(self, number: int) -> str:
        return f"{self.name}, {self.unit} {number:,}"


@contextlib.contextmanager
def opened(path: Path, timezone: str, shown: str | None = None) -> Iterator[ReturnedFile]:
    """Open a returned file; `shown` is its name for people. Raises FileNotReturned, also while it is read."""
    name = shown or str(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise FileNotReturned(name, f"its name has no known ending; use {', '.join(_READERS)}")
    try:
        real = path.resolve(strict=True)
        with reader(real, name, timezone) as file:
            yield file
    except (FileRefused, FileUnreadable) as error:
        place = error.place.replace(real.name, name, 1)
        raise FileNotReturned(place, error.reason) from error
    except ConnectorError as error:
        raise FileNotReturned(name, str(error)) from error
    except OSError as error:
        raise FileNotReturned(name, f"it cannot be read: {error.strerror or type(error).__name__}") from error


def _beneath(path: Path) -> OpenedFile:
    return open_beneath(path.parent, path.name)


@contextlib.contextmanager
def _csv(path: Path, name: str, timezone: str) -> Iterator[ReturnedFile]:  # noqa: ARG001 - its cells are texts
    """Open a text file; its encoding and delimiter are found as for a source."""
    file = _beneath(path)
    text_facts = facts(file, None, DUCKDB_LINE)
    dialect = decide(file, text_facts, CsvOptions())
    encoding = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    with io.TextIOWrapper(file.bytes(), encoding, "replace", newline="") as lines:
        below = itertools.islice(lines, dialect.before, None)
        records = iter(RecordReader(below, dialect.delimiter, dialect.quote, DUCKDB_LINE, dialect.before))
        next(records)

        def rows(places: Sequence[int]) -> Iterator[Row]:
            for number, cells in records:
                if isinstance(cells, Malformed):
                    returned.problems.append(f"{returned.place(cells.line)}: {cells.reason}")
                elif any(cell.strip() for cell in cells[len(dialect.columns) :]):
                    returned.problems.append(f"{returned.place(number)}: it has more cells than the header")
                elif any(cells):
                    yield number, [cells[at].strip() if at < len(cells) else "" for at in places]

        returned = ReturnedFile(name, "line", dialect.columns, rows)
        yield returned


@contextlib.contextmanager
def _workbook(path: Path, name: str, timezone: str) -> Iterator[ReturnedFile]:
    source = WorkbookSource(name, WorkbookSettings(type="workbook", path=path.name), path.parent)
    try:
        dataset = WorkbookDataset(sheet=_sheet(source, name), timezone=timezone)
        columns = [column for column in source.describe(dataset).names if column not in OURS]

        def rows(places: Sequence[int]) -> Iterator[Row]:
            scan = source.scan(dataset, ["_row", *(columns[place] for place in places)])
            for batch in scan.reader:
                numbers, *cells = batch.columns
                texts = [list(map(_text, column.to_pylist())) for column in cells]
                yield from zip(numbers.to_pylist(), zip(*texts, strict=True), strict=True)
            problems = (problem for problem in scan.problems() if problem.skipped)
            returned.problems.extend(
                f"{name}, {problem.first.rpartition(', ')[2]}, column `{problem.column}`: {problem.reason}"
                for problem in problems
            )

        returned = ReturnedFile(name, "row", columns, rows)
        yield returned
    finally:
        source.close()


def _sheet(source: WorkbookSource, name: str) -> str:
    sheets = source.datasets()
    named = [sheet for sheet in sheets if sheet.strip().lower() == SHEET] or (sheets if len(sheets) == 1 else [])
    if not named:
        raise FileNotReturned(name, f"it has no sheet `{SHEET}`")
    return named[0]


@contextlib.contextmanager
def _parquet(path: Path, name: str, timezone: str) -> Iterator[ReturnedFile]:  # noqa: ARG001 - its instants have one
    file = ParquetFile(_beneath(path))
    file.weigh(unpacked_limit(file.file.size))
    columns = file.columns.names

    def rows(places: Sequence[int]) -> Iterator[Row]:
        number = itertools.count(1)
        for batch in file.batches([columns[place] for place in places], (), _ROWS):
            texts = [list(map(_text, column.to_pylist())) for column in batch.columns]
            yield from ((at, cells) for cells, at in zip(zip(*texts, strict=True), number, strict=False))

    yield ReturnedFile(name, "row", columns, rows)


def _text(cell: Any) -> str:
    """Return the cell of a typed column as text."""
    if cell is None:
        return ""
    if isinstance(cell, dt.date):  # also an instant
        return cell.isoformat()
    if isinstance(cell, Decimal | float):
        return digits(cell)
    return str(cell).strip()


_READERS: Mapping[str, Callable[[Path, str, str], contextlib.AbstractContextManager[ReturnedFile]]] = {
    ".csv": _csv,
    ".xlsx": _workbook,
    ".parquet": _parquet,
}
