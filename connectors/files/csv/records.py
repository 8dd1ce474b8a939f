"""Parse a CSV file record by record with physical lines: to count, to locate mistakes, and to rewrite.

This is slower than DuckDB, so it never reads data; it only inspects suspicious files.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileUnreadable
from connectors.files.csv.dialect import CsvDialect
from connectors.files.csv.fields import Malformed, RawRecord, RecordReader
from connectors.files.left_out import MalformedRecords

NEAR = 5
"""The number of records after a bad one that are read for advice."""
QUOTE = "quote fields that hold the delimiter, or set `delimiter`"


class LocatedRecord(NamedTuple):
    """A record from its first to its last physical line, counted from 1."""

    record: RawRecord
    last: int


def records(file: OpenedFile, dialect: CsvDialect, max_line: int) -> Iterator[RawRecord]:
    """Every data record. Raises FileUnreadable for bytes outside the encoding."""
    encoding = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    with io.TextIOWrapper(file.bytes(), encoding, newline="") as text, _decoding(file.name, dialect.encoding):
        yield from (located.record for located in located_records(text, dialect, max_line))


def located_records(lines: Iterable[str], dialect: CsvDialect, max_line: int) -> Iterator[LocatedRecord]:
    """Every data record of these physical lines."""
    width = len(dialect.columns)
    below = itertools.islice(lines, dialect.before, None)
    reader = RecordReader(below, dialect.delimiter, dialect.quote, max_line, dialect.before, width == 1)
    walk = iter(reader)
    if dialect.header:
        next(walk, None)
    for record in walk:
        fields = record.fields
        is_fit = isinstance(fields, Malformed) or len(fields) == width
        yield LocatedRecord(record if is_fit else _of_width(record, fields, width), reader.number)  # type: ignore[arg-type] # a list


def _of_width(record: RawRecord, fields: list[str], width: int) -> RawRecord:
    if len(fields) > width and not any(fields[width:]):
        return RawRecord(record.line, fields[:width])
    reason = f"this record has {len(fields)} fields, the header has {width}"
    return RawRecord(record.line, Malformed(record.line, reason, QUOTE, len(fields)))


@contextmanager
def _decoding(name: str, encoding: str) -> Iterator[None]:
    try:
        yield
    except UnicodeError:
        reason = f"it is not {encoding} text"
        raise FileUnreadable(name, reason, "correct `encoding`") from None


def count(file: OpenedFile, dialect: CsvDialect, max_line: int) -> int:
    """The number of data records, including unreadable ones."""
    return sum(1 for _ in records(file, dialect, max_line))


def line_of(file: OpenedFile, dialect: CsvDialect, max_line: int, number: int) -> int:
    """The first physical line of data record `number`, counted from 0."""
    for position, record in enumerate(records(file, dialect, max_line)):
        if position == number:
            return record.line
    raise IndexError(number)


def diagnose(file: OpenedFile, dialect: CsvDialect, max_line: int) -> FileUnreadable | None:
    """The error for the first bad record, with its line; None if every record is readable."""
    try:
        walk = records(file, dialect, max_line)
        for number, record in enumerate(walk):
            if isinstance(record.fields, Malformed):
                return _unreadable(file.name, record.fields, number, walk)
    except FileUnreadable as error:
        return error
    return None


def malformed(file: OpenedFile, dialect: CsvDialect, max_line: int) -> MalformedRecords:
    numbers: list[int] = []
    first, count = Malformed(0, "", ""), 0
    for number, record in enumerate(records(file, dialect, max_line)):
        count = number + 1
        if isinstance(record.fields, Malformed):
            first = first if numbers else record.fields
            numbers.append(number)
    return MalformedRecords(tuple(numbers), count, first.reason, f"{file.name}:{first.line}")


def rewrite(file: OpenedFile, dialect: CsvDialect, max_line: int, target: BinaryIO, left_out: MalformedRecords) -> None:
    """Write the data records that are not left out with one kind of line end, in UTF-8 and all quoted.

    Raises FileUnreadable for any other unreadable record.
    """
    skipped = frozenset(left_out.numbers)
    with io.TextIOWrapper(target, "utf-8", newline="") as text:
        writer = csv.writer(
            text, delimiter=dialect.delimiter, quotechar=dialect.quote, lineterminator="\n", quoting=csv.QUOTE_ALL
        )
        walk = records(file, dialect, max_line)
        for number, record in enumerate(walk):
            if number in skipped:
                continue
            if isinstance(record.fields, Malformed):
                raise _unreadable(file.name, record.fields, number, walk)
            writer.writerow(record.fields)


def _unreadable(name: str, bad: Malformed, number: int, walk: Iterator[RawRecord]) -> FileUnreadable:
    """The error for a bad record, counted from 0; `walk` yields the records after it."""
    remedy = bad.remedy if bad.width is None else _advice(bad, number, list(itertools.islice(walk, NEAR)))
    return FileUnreadable(f"{name}:{bad.line}", bad.reason, remedy)


def _advice(bad: Malformed, number: int, behind: list[RawRecord]) -> str:
    """Advise on a record with a wrong number of fields: below a title, among totals, or between others."""
    if number == 0:
        records = [RawRecord(bad.line, bad), *behind]
        widths = [record.fields.width if isinstance(record.fields, Malformed) else None for record in records]
        agreed = next((i for i in range(len(widths) - 1) if len(set(widths[i:])) == 1), None)
        if agreed is not None and widths[agreed] is not None:
            line = records[agreed].line
            return f"set `skip: {line - 1}` if the header is on line {line}; otherwise {QUOTE}"
    elif len(behind) < NEAR:
        return (
            f"leave out totals at the end with `skip_footer`, or the record with `malformed: skip`; otherwise {QUOTE}"
        )
    return f"{QUOTE}; or leave the record out with `malformed: skip`"
