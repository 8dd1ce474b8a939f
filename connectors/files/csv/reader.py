"""CSV and TSV, read by DuckDB in its strict mode: one definition of reading for every user of the SELECT."""

from __future__ import annotations

import codecs
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from connectors import coerce
from connectors.base import DuckScan, UnreadableCells
from connectors.currencies import Currencies
from connectors.declared import Declared, Notation
from connectors.disk.opened_file import OpenedFile, copy_of
from connectors.duck import file_name, identifier, literal, literals, struct
from connectors.errors import ConnectorError, FileUnreadable
from connectors.files.csv import records as csv_records
from connectors.files.csv.dialect import CsvDialect, CsvOptions, decide
from connectors.files.csv.facts import CHUNK, facts
from connectors.files.csv.fields import DUCKDB_LINE
from connectors.files.left_out import NONE, MalformedRecords, confirm_count, numbered, without_footer
from connectors.headers import confusable

if TYPE_CHECKING:
    pass

_LINE = re.compile(r"CSV Error on Line: (\d+)")


@dataclass(frozen=True)
class CsvFile:
    """One file. `text` is the original, or a copy in UTF-8 and without its footer; DuckDB reads `read`.

    That is `text`, or a copy of some of its records without header, unchanged or rewritten to end in LF. `dialect` is
    the original's. `left_out` are malformed records that are skipped on request.
    """

    file: OpenedFile
    dialect: CsvDialect
    text: OpenedFile
    read: OpenedFile
    max_line: int
    odd_line: int | None = None
    line_count: int | None = None
    left_out: MalformedRecords = NONE
    is_mended: bool = False

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def is_rewritten(self) -> bool:
        return self.read is not self.text

    @property
    def before(self) -> int:
        """The number of lines before the header in `read`."""
        return 0 if self.is_rewritten else self.dialect.before

    @property
    def header(self) -> bool:
        """Return True if `read` has a header."""
        return self.dialect.header and not self.is_rewritten

    @property
    def records(self) -> int | None:
        """The number of records if each is one line, to be confirmed by a read; None if unknown."""
        return None if self.line_count is None else self.line_count - self.before - int(self.header)

    def count(self) -> int:
        """The number of records, counted without DuckDB."""
        return csv_records.count(self.text, self.walked, self.max_line) - len(self.left_out.numbers)

    def confirm(self, returned: int) -> None:
        """Raise RecordsLost if it holds another number of records."""
        confirm([self], returned)

    def returned(self) -> int:
        with duckdb.connect(config={"threads": "2"}) as con:
            [(count,)] = con.execute(f"select count(*) from {reader([self], ())}").fetchall()
        return int(count)

    @property
    def columns(self) -> pa.Schema:
        return pa.schema([pa.field(name, pa.string()) for name in self.dialect.columns])

    def batches(self, columns: Sequence[str], nulls: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Text of the columns, in the order of the file. Raises FileUnreadable with the line."""
        slots = [self.dialect.columns.index(name) for name in columns]
        chosen = ", ".join(f"c{slot} as v{i}" for i, slot in enumerate(slots))
        schema = pa.schema([pa.field(name, pa.string()) for name in columns])
        with duckdb.connect(config={"threads": "2"}) as con:
            try:
                for batch in con.sql(f"select {chosen} from {reader([self], nulls)}").to_arrow_reader(rows):
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise self.failure(error) from None

    def place(self, record: int) -> str:
        number = int(numbered(self.left_out.numbers, record, record + 1)[0])
        return f"{self.name}:{csv_records.line_of(self.text, self.walked, self.max_line, number)}"

    def warnings(self, columns: Sequence[str] | None) -> Iterator[UnreadableCells]:
        """Warnings for readers of these columns, or of any."""
        if self.odd_line is not None:
            reason = "the file is not UTF-8 and was read as Windows-1252; set `encoding` to the right one"
            yield UnreadableCells("*", reason, 0, f"{self.name}:{self.odd_line}")
        if warning := confusable(self.dialect.repeated, columns):
            reason = f"{warning}; rename them in the file, or leave its header out with `skip` and name all in `header`"
            yield UnreadableCells("*", reason, 0, f"{self.name}:{self.dialect.before + 1}")

    def failure(self, error: Exception) -> ConnectorError:
        """Our error for one of DuckDB, without the data that DuckDB's message quotes."""
        mistake = csv_records.diagnose(self.text, self.walked, self.max_line)
        if mistake is None and "aximum line size" in str(error):
            mistake = FileUnreadable(self.name, f"a record is longer than {self.max_line:,} bytes", "raise `max_line`")
        line = _LINE.search(str(error))
        place = f"{self.name}:{line[1]}" if line and not self.is_rewritten else self.name
        reason = f"the file changed while it was read, or this cannot be read ({type(error).__name__})"
        return mistake or FileUnreadable(
            place, reason, "read it again; if that does not help, quote this record's fields"
        )

    @property
    def walked(self) -> CsvDialect:
        """The dialect of `text`."""
        is_copy = self.text is not self.file
        return dataclasses.replace(self.dialect, encoding="utf-8") if is_copy else self.dialect


def prepared(file: OpenedFile, options: CsvOptions, *, encoding: str | None, max_line: int) -> CsvFile:
    """Detect the dialect of the file, and make the copies that DuckDB needs to read it right.

    It needs one if the file is not UTF-8, mixes line ends, or has a line end in its header, blanks beside quotes, a
    footer, or malformed records to leave out. Of such files DuckDB loses or changes records.
    """
    text_facts = file_facts = facts(file, encoding, max_line, options.quote)
    text = file
    if not _is_utf8(file, file_facts.encoding):
        text = _transcoded(file, file_facts.encoding)
    if options.skip_footer:
        text = without_footer(text, options.skip_footer)
    if text is not file:
        text_facts = facts(text, "utf-8", max_line, options.quote)
    dialect = dataclasses.replace(decide(text, text_facts, options), encoding=file_facts.encoding)
    csv = CsvFile(file, dialect, text, text, max_line, file_facts.first_odd_line, text_facts.count)
    if options.skip_malformed:
        csv = dataclasses.replace(csv, left_out=csv_records.malformed(text, csv.walked, max_line))
    if text_facts.plain and not dialect.folded and not csv.left_out.numbers:
        return csv
    return dataclasses.replace(csv, read=_mended(csv), line_count=None, is_mended=True)


def _is_utf8(file: OpenedFile, encoding: str) -> bool:
    try:
        " ".encode(encoding)  # fails for codecs like rot13, which do not encode text
        return codecs.lookup(encoding).name in ("utf-8", "ascii")
    except LookupError as error:
        raise FileUnreadable(file.name, f"encoding {encoding!r} is unknown", "use a name like cp1252") from error


def _mended(csv: CsvFile) -> OpenedFile:
    copy, target = copy_of(csv.file)
    csv_records.rewrite(csv.text, csv.walked, csv.max_line, target, csv.left_out)
    return copy


def _transcoded(file: OpenedFile, encoding: str) -> OpenedFile:
    copy, target = copy_of(file)
    decoder, lines = codecs.getincrementaldecoder(encoding)(), 1
    with file.bytes() as source, target:
        try:
            while chunk := source.read(CHUNK):
                text = decoder.decode(chunk)
                if target.tell() == 0:
                    text = text.removeprefix("\ufeff")
                lines += text.count("\n")
                target.write(text.encode("utf-8"))
            target.write(decoder.decode(b"", final=True).encode("utf-8"))
        except UnicodeError as error:
            place = f"{file.name}, after line {lines}"
            raise FileUnreadable(place, f"it is not {encoding} text", "correct `encoding`") from error
    return copy


def reader(files: Sequence[CsvFile], nulls: Sequence[str]) -> str:
    """DuckDB's read_csv without any detection; columns are c0, c1, … all text. The files share one dialect."""
    first = files[0]
    columns = struct({f"c{i}": "VARCHAR" for i in range(len(first.dialect.columns))})
    packed = "gzip" if first.read.is_compressed else "none"
    limit = f", max_line_size={first.max_line}" if first.max_line > DUCKDB_LINE else ""
    ends = ", new_line='\\n'" if first.is_mended else ""
    return (
        f"read_csv({literals(f.read.path for f in files)}, auto_detect=false, strict_mode=true, "
        f"delim={literal(first.dialect.delimiter)}, quote={literal(first.dialect.quote)}, "
        f"escape={literal(first.dialect.quote)}, header={str(first.header).lower()}, skip={first.before}, "
        f"columns={columns}, nullstr={literals(('', *nulls))}, compression='{packed}'{limit}{ends})"
    )


def select(
    files: Sequence[CsvFile], columns: Sequence[str], declared: Mapping[str, Declared], notation: Notation
) -> DuckScan | None:
    """One SELECT over all files; None if SQL would place their instants in the zone differently from us."""
    parts = [_select_one(group, columns, declared, notation) for group in _alike(files)]
    if None in parts:
        return None
    typed = {column: declared[column] for column in columns if column in declared}
    return DuckScan(
        " union all ".join(part for part in parts if part),
        partial(_problems, files, typed, notation),
        confirm=partial(confirm, files),
    )


def records(files: Sequence[CsvFile]) -> int | None:
    """The number of their records if each is one line; None if unknown."""
    counts = [file.records for file in files]
    return None if None in counts else sum(number or 0 for number in counts)


def confirm(files: Sequence[CsvFile], returned: int) -> None:
    """Raise RecordsLost if the files hold another number of records, counted without DuckDB.

    The number of lines is enough if each record is one line; otherwise the records are parsed.
    """
    if returned != records(files) and returned != sum(file.count() for file in files):
        for file in files:
            if wrong := csv_records.diagnose(file.text, file.walked, file.max_line):
                raise wrong
            confirm_count(file.name, file.count(), file.returned())
        confirm_count(files[0].name, sum(file.count() for file in files), returned)


def _alike(files: Sequence[CsvFile]) -> list[list[CsvFile]]:
    groups: dict[tuple[object, ...], list[CsvFile]] = {}
    for file in files:
        key = (file.dialect.delimiter, file.dialect.quote, file.header, file.dialect.columns, file.before)
        groups.setdefault((*key, file.read.is_compressed, file.is_mended), []).append(file)
    return list(groups.values())


def _select_one(
    files: Sequence[CsvFile], columns: Sequence[str], declared: Mapping[str, Declared], notation: Notation
) -> str | None:
    names, parts = files[0].dialect.columns, []
    for column in columns:
        if column == "_file":
            parts.append(f"{file_name({file.read.path: file.name for file in files})} as {identifier(column)}")
            continue
        value = f"c{names.index(column)}"
        if column in declared:
            converted = coerce.expression(declared[column], value, notation)
            if converted.local is not None:
                return None
            value = converted.value
        parts.append(f"{value} as {identifier(column)}")
    return f"select {', '.join(parts)} from {reader(files, notation.null_values)}"


def _problems(
    files: Sequence[CsvFile], typed: Mapping[str, Declared], notation: Notation
) -> tuple[UnreadableCells, ...]:
    """The unreadable values, one Problem per column, and amounts in several currencies.

    Raises duckdb.Error as the scan would.
    """
    wrong: dict[str, tuple[int, str]] = {}
    currencies = {column: Currencies(column) for column in typed}
    with duckdb.connect(config={"threads": "2"}) as con:
        for file in files if typed else ():
            answer = con.execute(_unreadable(file, typed, notation)).fetchall()[0]
            for column, count, number, written in zip(typed, *(answer[i::3] for i in range(3)), strict=True):
                if count:
                    before, first = wrong.get(column) or (0, file.place(number))
                    wrong[column] = before + count, first
                currencies[column].merge(written or {}, file.name)
    unreadable = [UnreadableCells(name, typed[name].reason, *wrong[name]) for name in typed if name in wrong]
    return (*unreadable, *(problem for each in currencies.values() if (problem := each.problem) is not None))


def _unreadable(file: CsvFile, typed: Mapping[str, Declared], notation: Notation) -> str:
    """For each column the number of unreadable values, the number of the first such record, from 0, and currencies."""
    checks, counts = [], []
    for i, (column, kind) in enumerate(typed.items()):
        slot = f"c{file.dialect.columns.index(column)}"
        value = coerce.expression(kind, slot, notation).value
        checks.append(f"({coerce.unreadable(slot, value)}) as w{i}, {coerce.currency(kind, slot)} as m{i}")
        counts.append(
            f"count(*) filter (where w{i}), min(n) filter (where w{i}), histogram(m{i}) filter (where not w{i})"
        )
    numbered = f"select row_number() over () - 1 as n, {', '.join(checks)} from {reader([file], notation.null_values)}"
    return f"select {', '.join(counts)} from ({numbered})"
