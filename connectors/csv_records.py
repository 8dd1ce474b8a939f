"""Walking a CSV file record by record with physical lines: to say where something is wrong, and to mend line ends.

Slower than DuckDB, so never the way data is read; it only looks at files about which there is something to say.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from connectors.csv_dialect import NO_DELIMITER, CsvDialect
from connectors.errors import FileUnreadable
from connectors.file_paths import open_bytes

ROOM_FOR_QUOTES = 2


class _Lines:
    """The lines of a file, remembering those of the record being read."""

    def __init__(self, file: io.TextIOWrapper, max_line: int) -> None:
        self._file = file
        self._limit = max_line
        self.current: list[str] = []

    def __iter__(self) -> Iterator[str]:
        while line := self._file.readline(self._limit):
            self.current.append(line)
            yield line


def records(path: Path, name: str, dialect: CsvDialect, max_line: int) -> Iterator[tuple[int, list[str]]]:
    """(physical line where it starts, fields) of every record, the header included.

    Raises FileUnreadable with the line for a quote that is never closed or that text follows.
    """
    csv.field_size_limit(max(csv.field_size_limit(), max_line))
    encoding = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    with io.TextIOWrapper(open_bytes(path), encoding, newline="") as file:
        for _ in range(dialect.before):
            file.readline(max_line)
        lines = _Lines(file, max_line)
        reader = csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=True)
        start = dialect.before + 1
        try:
            for row in reader:
                if row or dialect.delimiter == NO_DELIMITER:
                    yield start, row or [""]
                start = dialect.before + reader.line_num + 1
                lines.current.clear()
        except csv.Error as error:
            raise _quoting(name, start, lines.current, dialect, str(error)) from None


def _quoting(name: str, start: int, lines: list[str], dialect: CsvDialect, said: str) -> FileUnreadable:
    opened = start + _opened("".join(lines), dialect)
    if "expected after" in said:
        line = start + len(lines) - 1
        return FileUnreadable(f"{name}:{line}", "text follows a closing quote", "double the quotes inside the field")
    return FileUnreadable(
        f"{name}:{opened}",
        "a quote opened on this line is never closed, so the file is cut or a quote inside a field is not doubled",
        "fetch the file again or repair the line; nothing of it was used",
    )


def _opened(text: str, dialect: CsvDialect) -> int:
    """How many lines into the text the last quoted field opens."""
    quoted, fresh, line, opened, at = False, True, 0, 0, 0
    while at < len(text):
        char = text[at]
        if char == dialect.quote and quoted and text[at + 1 : at + 2] == dialect.quote:
            at += ROOM_FOR_QUOTES
            continue
        if char == dialect.quote and (quoted or fresh):
            quoted = not quoted
            opened = line if quoted else opened
        line += char == "\n"
        fresh = not quoted and char in (dialect.delimiter, "\n", "\r")
        at += 1
    return opened


def line_of(path: Path, name: str, dialect: CsvDialect, max_line: int, record: int) -> int:
    """The physical line on which data record `record`, counted from 0, starts."""
    wanted = record + int(dialect.header)
    for position, (line, _) in enumerate(records(path, name, dialect, max_line)):
        if position == wanted:
            return line
    raise IndexError(record)


def diagnose(path: Path, name: str, dialect: CsvDialect, max_line: int) -> FileUnreadable | None:
    """What is wrong with the first bad record, with its line; None when every record can be read."""
    width = len(dialect.columns)
    try:
        for line, row in records(path, name, dialect, max_line):
            if len(row) < width or any(row[width:]):
                return FileUnreadable(
                    f"{name}:{line}",
                    f"this record has {len(row)} fields, the header has {width}",
                    "quote fields that hold the delimiter, or set `delimiter`",
                )
    except FileUnreadable as error:
        return error
    except UnicodeDecodeError:
        return FileUnreadable(name, f"it is not written in {dialect.encoding}", "set `encoding` to what it is")
    return None


def rewrite(path: Path, name: str, dialect: CsvDialect, max_line: int, target: Path) -> None:
    """Write the records, the header included, to `target` with one kind of line end, in UTF-8 and all quoted."""
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(
            file, delimiter=dialect.delimiter, quotechar=dialect.quote, lineterminator="\n", quoting=csv.QUOTE_ALL
        )
        writer.writerows(row for _, row in records(path, name, dialect, max_line))
