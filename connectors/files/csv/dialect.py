"""The dialect of a CSV file: encoding, delimiter, header. Detected once, shown by `check`; settings have priority."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileUnreadable
from connectors.files.csv.facts import Facts
from connectors.files.csv.fields import ENDS, NO_DELIMITER, Malformed, RecordReader
from connectors.headers import repeated, stable_names

DELIMITERS = ",;\t|"
SAMPLE = 1 << 18
ENOUGH = 200


@dataclass(frozen=True)
class CsvOptions:
    """The configured parts of the dialect; None leaves one to the file.

    `skip_footer` lines at the end are left out, and with `skip_malformed` unreadable records.
    """

    delimiter: str | None = None
    quote: str = '"'
    skip: int = 0
    header: bool | tuple[str, ...] = True
    skip_footer: int = 0
    skip_malformed: bool = False


@dataclass(frozen=True)
class CsvDialect:
    """The dialect of one file. `before` is the number of physical lines before the header, or before the data.

    Names are stable: an empty header becomes column_7, a repeated one amount_2; `repeated` lists those. `folded`: a
    cell of the first record holds a line end.
    """

    encoding: str
    delimiter: str
    quote: str
    before: int
    header: bool
    columns: tuple[str, ...]
    repeated: tuple[tuple[str, ...], ...] = ()
    folded: bool = False

    @property
    def above(self) -> int:
        """The rows that a spreadsheet shows above the first record."""
        return self.before + int(self.header)

    def __str__(self) -> str:
        apart = {"\t": "tabs", NO_DELIMITER: "nothing (one column)"}.get(self.delimiter, repr(self.delimiter))
        return (
            f"{self.encoding}, fields separated by {apart}, quoted by {self.quote}, "
            f"{'a header' if self.header else 'no header'} after {self.before} lines, {len(self.columns)} columns"
        )


def decide(file: OpenedFile, facts: Facts, options: CsvOptions) -> CsvDialect:
    """The dialect of a file, from its first lines. Raises FileUnreadable when it has no header."""
    name = file.name
    text, is_whole = _sample(file, facts)
    lines = io.StringIO(text, newline="").readlines()
    before, delimiter = options.skip, options.delimiter
    if before < len(lines) and (separator := _sep_line(lines[before])) is not None:
        before, delimiter = before + 1, delimiter or separator
    while before < len(lines) and not lines[before].strip("\r\n"):
        before += 1
    lines_left = lines[before:]
    if not lines_left:
        where = f"after skipping {options.skip} lines, " if options.skip else ""
        raise FileUnreadable(name, f"{where}the file is empty and has no header", "remove it, or send it again")
    delimiter = delimiter or _delimiter(lines_left, options.quote, is_whole=is_whole)
    first = _records(lines_left, delimiter, options.quote, 1)
    if not first or (
        delimiter == NO_DELIMITER and not all(_records(lines_left, d, options.quote, 1) for d in DELIMITERS)
    ):
        raise FileUnreadable(
            f"{name}:{before + 1}", "a quote opened in the header is not closed", "repair the header, or set `quote`"
        )
    header = _header(name, first[0], options)
    names, headed = stable_names(header), options.header is True
    folded = any(set(ENDS) & set(cell) for cell in first[0])
    return CsvDialect(facts.encoding, delimiter, options.quote, before, headed, names, repeated(header, names), folded)


def _sample(file: OpenedFile, facts: Facts) -> tuple[str, bool]:
    with file.bytes() as content:
        data = content.read(SAMPLE)
    text = data.decode("utf-8-sig" if facts.encoding == "utf-8" else facts.encoding, errors="replace")
    return text, facts.size <= len(data)


def _sep_line(line: str) -> str | None:
    """Excel's own first line, sep=;"""
    bare = line.strip("\r\n").strip('"')
    return bare[4] if len(bare) == 5 and bare.lower().startswith("sep=") else None


def _records(lines: Sequence[str], delimiter: str, quote: str, limit: int) -> list[list[str]]:
    """The first readable records, up to the first unreadable one."""
    return _readable(lines, delimiter, quote, limit)[0]


def _readable(lines: Sequence[str], delimiter: str, quote: str, limit: int) -> tuple[list[list[str]], bool]:
    """The first records up to an unreadable one, and whether there was none."""
    records: list[list[str]] = []
    for record in RecordReader(lines, delimiter, quote, SAMPLE):
        if isinstance(record.fields, Malformed):
            return records, False  # the pass that reads the data reports the mistake with its line
        records.append(record.fields)
        if len(records) >= limit:
            break
    return records, True


def _delimiter(lines: Sequence[str], quote: str, *, is_whole: bool) -> str:
    """The candidate that splits the header and most records into the same number of fields.

    Ties: fewer quotes in the header's fields, which a wrong delimiter leaves there (`a;"b,c"`); then no malformed
    record, which it leaves below a line end in a quoted header; then more fields.
    """
    best, rank = NO_DELIMITER, (0.0, 0, False, 0)
    for candidate in DELIMITERS:
        rows, is_readable = _readable(lines, candidate, quote, ENOUGH)
        if not is_whole and len(rows) > 1 and len(rows) < ENOUGH:
            rows = rows[:-1]
        if not rows or len(rows[0]) < 2:
            continue
        fields = len(rows[0])
        like = sum(1 for row in rows if len(row) == fields or (len(row) > fields and not any(row[fields:])))
        quotes = sum(cell.count(quote) for cell in rows[0])
        if (like / len(rows), -quotes, is_readable, fields) > rank:
            best, rank = candidate, (like / len(rows), -quotes, is_readable, fields)
    return best


def _header(name: str, first: Sequence[str], options: CsvOptions) -> Sequence[str]:
    header = options.header
    if isinstance(header, tuple):
        if len(header) != len(first):
            raise FileUnreadable(
                name, f"`header` names {len(header)} columns, but the first record has {len(first)}", "name each column"
            )
        return header
    return first if header else [""] * len(first)
