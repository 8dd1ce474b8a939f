"""The formats of an export: CSV, xlsx and Parquet. Each writes a row as it comes, in bounded memory."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol

from notifications.wording.cells import escaped, plain
from notifications.wording.words import local
from reconcile.errors import Wrong
from reconcile.sheets.rows import CHOICES, OF_RECORDS, Cell, SheetColumn

MOST_ROWS = 1_048_575
"""Rows of a sheet of a workbook below its header."""
_BATCH = 1_000
_PLACES = 9
"""Decimal places of an amount in Parquet."""
_DIGITS = 15
"""Digits of a number that a workbook keeps."""
_WHEN = "%Y-%m-%d %H:%M:%S"

Records = Iterable[Mapping[str, str]]


class SheetTooLarge(Wrong):
    """A sheet of a workbook cannot hold so many rows."""

    def __init__(self, sheet: str) -> None:
        super().__init__(
            f"The sheet `{sheet}` would have more than {MOST_ROWS:,} rows, the most of a workbook. "
            "No file was written; choose fewer findings, or export to .csv or .parquet"
        )


class PackageMissing(Wrong):
    """The package that writes workbooks is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "The package for workbooks is missing: pip install 'reconcile-runner[workbook]'. No file was written"
        )


class Format(Protocol):
    """A file of findings. `records` are read only by a format that has a sheet for them."""

    def add(self, row: Sequence[Cell], records: Records) -> None: ...

    def finish(self) -> None:
        """Write what is left; the file stays open."""


class RecordRows:
    """Rows for records, whose columns are known only at the end; until then they wait in a file of `scratch`."""

    def __init__(self, scratch: Path) -> None:
        self._file: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8", dir=scratch)  # noqa: SIM115 - until `rows`
        self._fields = dict.fromkeys(OF_RECORDS)

    def add(self, records: Records) -> None:
        for record in records:
            self._fields |= dict.fromkeys(record)
            self._file.write(json.dumps(record) + "\n")

    @property
    def names(self) -> list[str]:
        """The columns of all records so far."""
        return list(self._fields)

    def rows(self) -> Iterator[list[str | None]]:
        """Yield the rows, with a cell for each of `names`, and drop the file."""
        self._file.seek(0)
        with self._file:
            for line in self._file:
                record = json.loads(line)
                yield [record.get(name) for name in self._fields]


class CsvFormat:
    """UTF-8 with a mark at the beginning, without which Excel reads another encoding."""

    def __init__(self, out: BinaryIO, columns: Sequence[SheetColumn], timezone: str, scratch: Path) -> None:  # noqa: ARG002 - as all formats
        self._timezone = timezone
        self._text = io.TextIOWrapper(out, "utf-8-sig", "backslashreplace", newline="")
        self._writer = csv.writer(self._text)
        self._writer.writerow([escaped(column.name) for column in columns])

    def add(self, row: Sequence[Cell], records: Records) -> None:  # noqa: ARG002 - it has one sheet
        self._writer.writerow(list(map(self._cell, row)))

    def _cell(self, cell: Cell) -> str:
        if cell is None or isinstance(cell, str):
            return escaped(cell or "")
        if isinstance(cell, Decimal):
            return _digits(cell)
        return str(cell) if isinstance(cell, int) else local(cell, self._timezone).strftime(_WHEN)

    def finish(self) -> None:
        self._text.flush()
        self._text.detach()


class XlsxFormat:
    """A workbook with the sheets `findings` and `records`. Texts are written as texts: none becomes a formula."""

    def __init__(self, out: BinaryIO, columns: Sequence[SheetColumn], timezone: str, scratch: Path) -> None:
        try:
            import xlsxwriter  # noqa: PLC0415 - an extra, only for workbooks
        except ImportError:
            raise PackageMissing from None
        self._columns, self._timezone = columns, timezone
        self._book = xlsxwriter.Workbook(out, {"constant_memory": True, "tmpdir": str(scratch)})
        self._bold = self._book.add_format({"bold": True})
        kinds = {"amount": "#,##0.00", "instant": "yyyy-mm-dd hh:mm:ss", "share": "0.0%"}
        self._formats = {kind: self._book.add_format({"num_format": form}) for kind, form in kinds.items()}
        self._sheet = self._book.add_worksheet("findings")
        self._rows = 0
        _head(self._sheet, [column.name for column in columns], self._bold)
        for number, column in enumerate(columns):
            self._sheet.set_column(number, number, column.width)
        self._records = RecordRows(scratch)

    def add(self, row: Sequence[Cell], records: Records) -> None:
        self._rows = _next(self._rows, "findings")
        for number, (column, cell) in enumerate(zip(self._columns, row, strict=True)):
            self._write(number, column, cell)
        self._records.add(records)

    def _write(self, number: int, column: SheetColumn, cell: Cell) -> None:
        at = (self._rows, number)
        if cell is None or cell == "":
            return
        if isinstance(cell, int):
            self._sheet.write_number(*at, cell)
        elif isinstance(cell, Decimal):
            if _is_exact(cell):
                self._sheet.write_number(*at, float(cell), self._formats[column.kind])
            else:
                self._sheet.write_string(*at, _digits(cell))
        elif isinstance(cell, str):
            self._sheet.write_string(*at, plain(cell))
        else:
            when = local(cell, self._timezone).replace(tzinfo=None)
            self._sheet.write_datetime(*at, when, self._formats[column.kind])

    def finish(self) -> None:
        from xlsxwriter.exceptions import FileCreateError  # noqa: PLC0415 - see above

        names = [column.name for column in self._columns]
        _filter(self._sheet, self._rows, len(names))
        place = names.index("decision")
        choices = {"validate": "list", "source": list(CHOICES), "error_title": "Decision"}
        self._sheet.data_validation(1, place, max(self._rows, 1), place, choices)
        self._write_records()
        try:
            self._book.close()
        except FileCreateError as error:  # it hides the error of the disk
            raise OSError(*getattr(error.args[0], "args", error.args)) from error

    def _write_records(self) -> None:
        sheet, names, row = self._book.add_worksheet("records"), self._records.names, 0
        _head(sheet, names, self._bold)
        sheet.set_column(0, len(names) - 1, 18)
        for cells in self._records.rows():
            row = _next(row, "records")
            for number, text in enumerate(cells):
                if text:
                    sheet.write_string(row, number, plain(text))
        _filter(sheet, row, len(names))


def _next(rows: int, sheet: str) -> int:
    if rows == MOST_ROWS:
        raise SheetTooLarge(sheet)
    return rows + 1


def _head(sheet: Any, names: Sequence[str], bold: Any) -> None:
    for number, name in enumerate(names):
        sheet.write_string(0, number, plain(name), bold)
    sheet.freeze_panes(1, 0)


def _filter(sheet: Any, rows: int, columns: int) -> None:
    sheet.autofilter(0, 0, rows, columns - 1)


def _digits(amount: Decimal) -> str:
    """Return the amount without zeros at its end; `normalize` would round a long one."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _is_exact(amount: Decimal) -> bool:
    """Return True if a workbook, whose numbers are floating point, keeps the amount."""
    return amount.is_finite() and len(_digits(amount.copy_abs()).replace(".", "").lstrip("0")) <= _DIGITS


class ParquetFormat:
    """Texts as they are, amounts as decimals, instants in UTC. An amount that does not fit exactly is null."""

    def __init__(self, out: BinaryIO, columns: Sequence[SheetColumn], timezone: str, scratch: Path) -> None:  # noqa: ARG002 - as all formats
        import pyarrow as pa  # noqa: PLC0415 - slow to load
        import pyarrow.parquet as pq  # noqa: PLC0415 - see above

        amount = pa.decimal128(38, _PLACES)
        kinds = {"text": pa.string(), "integer": pa.int64(), "amount": amount, "instant": pa.timestamp("us", "UTC")}
        kinds["share"] = pa.float64()
        self._schema = pa.schema([(column.name, kinds[column.kind]) for column in columns])
        self._columns, self._waiting = columns, list[Sequence[Cell]]()
        self._writer = pq.ParquetWriter(out, self._schema)

    def add(self, row: Sequence[Cell], records: Records) -> None:  # noqa: ARG002 - it has one sheet
        self._waiting.append(row)
        if len(self._waiting) == _BATCH:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa  # noqa: PLC0415 - see above

        cells = zip(*self._waiting, strict=True)
        arrays = [
            pa.array([_cell(cell, column) for cell in of_column], field.type)
            for column, field, of_column in zip(self._columns, self._schema, cells, strict=True)
        ]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._waiting.clear()

    def finish(self) -> None:
        if self._waiting:
            self._write()
        self._writer.close()


def _cell(cell: Cell, column: SheetColumn) -> Cell | float:
    if column.kind == "share":
        return float(cell) if isinstance(cell, Decimal) else None
    return _amount(cell) if column.kind == "amount" else cell


def _amount(cell: Cell) -> Decimal | None:
    if not isinstance(cell, Decimal) or not cell.is_finite():
        return None
    whole, _, places = _digits(cell.copy_abs()).partition(".")
    return cell if len(places) <= _PLACES and len(whole) <= 38 - _PLACES else None


FORMATS: Mapping[str, Callable[[BinaryIO, Sequence[SheetColumn], str, Path], Format]] = {
    ".csv": CsvFormat,
    ".xlsx": XlsxFormat,
    ".parquet": ParquetFormat,
}
"""The formats by the suffix of a file."""


class RecordsFormat:
    """A row for each record instead of each finding, in a format that has one sheet."""

    def __init__(self, out: BinaryIO, suffix: str, timezone: str, scratch: Path) -> None:
        self._records = RecordRows(scratch)
        self._out, self._suffix, self._timezone, self._scratch = out, suffix, timezone, scratch

    def add(self, row: Sequence[Cell], records: Records) -> None:  # noqa: ARG002 - as all formats
        self._records.add(records)

    def finish(self) -> None:
        columns = [SheetColumn(name) for name in self._records.names]
        file = FORMATS[self._suffix](self._out, columns, self._timezone, self._scratch)
        for row in self._records.rows():
            file.add(row, ())
        file.finish()
