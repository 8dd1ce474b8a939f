"""The layout of a CSV file as people export it: lines above the header and totals below the data.

Reading never guesses it: a dataset declares `skip`, `header` and `skip_footer`. This only proposes them.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from connectors.disk.opened_file import OpenedFile
from connectors.files.csv.dialect import DELIMITERS, SAMPLE
from connectors.files.csv.facts import facts
from connectors.files.csv.fields import DUCKDB_LINE, Malformed, RecordReader
from connectors.headers import TOTAL

MOST_ABOVE = 100
"""Lines above a header; a file with more is something else."""
MOST_BELOW = 5
_DATA = re.compile(r"[-+]?[\d.,' ]*\d[\d.,' ]*|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*|[^@\s]+@[^@\s]+\.\w+")


@dataclass(frozen=True)
class Layout:
    """The delimiter, the number of physical lines above the header, and of filled lines below the data."""

    delimiter: str
    skip: int = 0
    skip_footer: int = 0
    header: bool = True


@dataclass(frozen=True)
class _Line:
    """A record with the number of its first line, from 1."""

    number: int
    cells: Sequence[str]

    @property
    def filled(self) -> int:
        return sum(bool(cell.strip()) for cell in self.cells)


def proposed(file: OpenedFile, usual: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Propose settings of a dataset that differ from their defaults, with the reason for each.

    `usual` is the delimiter that the file's name promises. Raises FileUnreadable and FileRefused.
    """
    file_facts = facts(file, None, DUCKDB_LINE)
    with file.bytes() as content:
        data = content.read(SAMPLE)
    text = data.decode("utf-8-sig" if file_facts.encoding == "utf-8" else file_facts.encoding, errors="replace")
    proposal = layout(text, '"', is_whole=file_facts.size <= len(data)) or Layout(usual)
    settings: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    if file_facts.first_odd_line is not None:
        settings["encoding"] = file_facts.encoding
        reasons["encoding"] = f"line {file_facts.first_odd_line} is not UTF-8"
    if proposal.delimiter != usual:
        settings["delimiter"] = proposal.delimiter
    if proposal.skip:
        settings["skip"], reasons["skip"] = proposal.skip, "the header is the line after these"
    if not proposal.header:
        settings["header"], reasons["header"] = False, "the first line looks like data"
    if proposal.skip_footer:
        settings["skip_footer"], reasons["skip_footer"] = proposal.skip_footer, "the last lines are not data"
    return settings, reasons


def layout(text: str, quote: str, *, is_whole: bool) -> Layout | None:
    """Propose the layout of a file from its first characters; None for a file without a table of several columns.

    `is_whole`: the text is the whole file, so that its last lines are the file's.
    """
    lines = io.StringIO(text, newline="").readlines()
    records = {delimiter: _records(lines, delimiter, quote, is_whole=is_whole) for delimiter in DELIMITERS}
    widths = {delimiter: _width(rows) for delimiter, rows in records.items() if rows}
    wide = {delimiter: (share, width) for delimiter, (share, width) in widths.items() if width > 1}
    if not wide:
        return None
    delimiter = max(wide, key=lambda name: wide[name])
    return _layout(records[delimiter], lines, delimiter, wide[delimiter][1], is_whole=is_whole)


def _layout(records: Sequence[_Line], lines: Sequence[str], delimiter: str, width: int, *, is_whole: bool) -> Layout:
    usual = median(record.filled for record in records if len(record.cells) == width)
    first = next(
        (record for record in records if len(record.cells) == width and record.filled >= 0.8 * usual), records[0]
    )
    above = [line for line in lines[: first.number - 1] if line.strip()]
    skip = first.number - 1 if above and first.number <= MOST_ABOVE and not _is_separator(above) else 0
    header = not any(_DATA.fullmatch(cell.strip()) for cell in first.cells)
    footer = _footer(records, width, usual) if is_whole else 0
    return Layout(delimiter, skip, footer if footer <= MOST_BELOW else 0, header)


def _records(lines: Sequence[str], delimiter: str, quote: str, *, is_whole: bool) -> list[_Line]:
    records = [
        _Line(record.line, record.fields)
        for record in RecordReader(lines, delimiter, quote, SAMPLE)
        if not isinstance(record.fields, Malformed)
    ]
    return records if is_whole else records[:-1]


def _width(records: Sequence[_Line]) -> tuple[float, int]:
    """Return the most common number of fields, after its share of the records."""
    width, count = max(Counter(len(record.cells) for record in records).items(), key=lambda item: (item[1], item[0]))
    return count / len(records), width


def _footer(records: Sequence[_Line], width: int, usual: float) -> int:
    """Return the number of last records that are no data: of another width, or a total in a line with empty cells."""
    below = 0
    for record in reversed(records[1:]):
        is_total = record.filled < usual and any(map(TOTAL.match, record.cells))
        if len(record.cells) == width and not is_total:
            break
        below += 1
    return below


def _is_separator(above: Sequence[str]) -> bool:
    """Return True if only Excel's own line is above the header, which reading knows: sep=;"""
    return len(above) == 1 and above[0].strip().strip('"').lower().startswith("sep=")
