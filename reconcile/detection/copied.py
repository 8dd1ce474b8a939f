"""A dataset read once: all later reads of the copy see the same records, whatever happens to the source."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from connectors.base import (
    ColumnComparison,
    DatasetSettings,
    Forewarning,
    Scan,
    Source,
    SourceSettings,
    UnreadableCells,
)
from reconcile.detection.selection import scan_selected


class CopiedSource:
    """The records of one dataset of a source, in a file of this process. Rules run here, never in the source.

    It has the columns it was made with; `describe` tells the schema of the whole dataset.
    """

    Settings: ClassVar[type[SourceSettings]] = SourceSettings
    Dataset: ClassVar[type[DatasetSettings]] = DatasetSettings

    def __init__(
        self,
        source: Source,
        settings: Any,
        columns: Sequence[str],
        path: Path,
        progress: Callable[[int], None] = lambda _read: None,
        chosen: Sequence[ColumnComparison] = (),
    ) -> None:
        """Read the columns into the new file `path`, perhaps without records for which a comparison is false.

        `progress` gets the number of records read so far.

        Raises a ConnectorError like a scan.
        """
        self.name = source.name
        self.begun = time.monotonic()
        """When the reading began, as the clock of this process tells."""
        self._schema = source.describe(settings)
        self._warnings = _warnings(source, settings, columns)
        self._path = path
        self.columns = tuple(columns)
        self._most: int | None = None
        scan = scan_selected(source, settings, columns, chosen)
        try:
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, scan.reader.schema, options=_PACKED) as out:
                self.records = 0
                for batch in scan.reader:
                    out.write_batch(batch)
                    self.records += batch.num_rows
                    progress(self.records)
            self._problems, self._left_out = scan.problems(), scan.left_out
        finally:
            scan.close()

    @property
    def problems(self) -> tuple[UnreadableCells, ...]:
        """Cells of the copied columns that could not be read as declared."""
        return self._problems

    def datasets(self) -> Sequence[str]:
        return ()

    def describe(self, dataset: Any) -> pa.Schema:  # noqa: ARG002 - the port's
        return self._schema

    def scan(self, dataset: Any, columns: Sequence[str]) -> Scan:  # noqa: ARG002 - the port's
        with pa.OSFile(str(self._path)) as file:
            stored = pa.ipc.open_file(file).schema
        schema = pa.schema([stored.field(name) for name in columns])
        reader = pa.RecordBatchReader.from_batches(schema, self._batches(stored, columns))
        problems = tuple(problem for problem in self._problems if problem.skipped or problem.column in (*columns, "*"))
        return Scan(reader, lambda: problems, left_out=self._left_out)

    def warnings(self, dataset: Any, columns: Sequence[str] | None) -> tuple[UnreadableCells, ...]:  # noqa: ARG002 - the port's
        return self._warnings

    def skips_by_any_but(self, columns: Sequence[str]) -> bool:
        """Return True if a record is missing for a cell in none of these columns: a reader of only these has it."""
        return any(problem.skipped and problem.column not in (*columns, "*") for problem in self._problems)

    def beginning(self, records: int) -> CopiedSource:
        """Return the same copy with no more than so many records, the first ones."""
        shorter = copy.copy(self)
        shorter.records = min(records, self.records)
        shorter._most = records  # noqa: SLF001 - our own class
        return shorter

    def close(self) -> None:
        self._path.unlink(missing_ok=True)

    def _batches(self, stored: pa.Schema, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        options = pa.ipc.IpcReadOptions(included_fields=[stored.names.index(name) for name in columns])
        with pa.OSFile(str(self._path)) as file:
            reader = pa.ipc.open_file(file, options=options)
            left = self.records if self._most is None else self._most
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number).slice(0, left)
                left -= batch.num_rows
                if batch.num_rows:
                    yield batch.select(list(columns))


_PACKED = pa.ipc.IpcWriteOptions(compression="lz4")


def _warnings(source: Source, settings: Any, columns: Sequence[str]) -> tuple[UnreadableCells, ...]:
    return source.warnings(settings, columns) if isinstance(source, Forewarning) else ()
