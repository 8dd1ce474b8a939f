"""Notice rows of totals among the records of a sheet or a CSV file, and propose a `where` that leaves them out.

A row counts as a total for what it shows: a word like Total beside empty cells that other rows fill, or a number that
is the sum of the rows above it. Runs never guess it.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from connectors.disk.paths import format_of
from connectors.headers import OURS, SUBTOTAL, TOTAL_AFTER
from reconcile.detection.subject import Subject
from rules.binding.consulted import Consulted, Counts
from rules.document.mistakes import RuleError
from rules.engines import answers
from rules.expressions import parse
from rules.values import Value

SAMPLE = 2_000
"""Rows that are looked at, the first ones."""
MOST_COLUMNS = 200
"""Columns that are looked at, the first ones."""
MOSTLY = 0.95
"""The share of rows without a word for a total above which a column counts as always filled."""
LEAST_ROWS = 2
"""A number that equals a single row above it is no sum."""
MOST_WORDS = 5
"""The most words for a total that a proposed `where` names."""
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_UNQUOTED = re.compile(r"[A-Za-z](?:[^:#\n]|:(?! )|(?<! )#)*", re.ASCII)

Row = Mapping[str, Value]
Label = tuple[str, str]
"""A column, and the pattern of `like` for the word in it."""


@dataclass(frozen=True)
class Subtotals:
    """The number of total rows among the first `of` rows, the place of the first, and a `where` without them, if any.

    `is_all`: these are all the rows of the dataset.
    """

    rows: int
    of: int
    first: str
    where: str | None
    is_all: bool

    @property
    def reason(self) -> str:
        """The rows in words, and the place of the first."""
        of = f"{self.rows:,}" if self.is_all else f"{self.rows:,} of the first {self.of:,}"
        is_one = self.rows == 1 and self.is_all
        return f"{of} {'row looks like a total' if is_one else 'rows look like totals'}, the first is {self.first}"

    @property
    def sentence(self) -> str:
        """The sentence of `check`, with the setting."""
        if self.where is None:
            return f"{self.reason}; exclude such rows with `where`"
        return f"{self.reason}; `where: {_yaml(self.where)}` leaves {'it' if self.rows == 1 else 'them'} out"


def noticed(subject: Subject, slot: dt.datetime) -> Subtotals | None:
    """Look at the first records that pass the dataset's `where`. Raises a ConnectorError like a scan."""
    if not _is_table(subject.dataset.settings):
        return None
    try:
        consulted = Consulted.of("check", subject.relation)
        read = _rows(subject, subject.dataset.settings)
        typed = list(consulted.passing(read.rows, slot, Counts()))
    except RuleError:
        return None  # reported with the rules
    plain: Any = subject.dataset.settings.model_copy(update={"columns": {}, "null_values": (), "fill": ()})
    cells_by_place = {_place(row): row for row in _rows(subject, plain).rows}
    both = [(row, cells_by_place[_place(row)]) for row in typed if _place(row) in cells_by_place]
    rows = _Rows([row for row, _ in both], [cells for _, cells in both])
    totals = rows.totals()
    if not totals or 2 * len(totals) > len(both):
        return None
    where = _where(consulted, rows, totals, slot)
    return Subtotals(len(totals), len(both), _in_words(rows.typed[totals[0]]), where, read.is_all)


def _is_table(settings: Any) -> bool:
    fields = type(settings).model_fields
    if "header_row" in fields:
        return True
    return "skip" in fields and (settings.format or format_of(Path(settings.path))) in ("csv", "tsv")


@dataclass(frozen=True)
class _Read:
    rows: Sequence[Row]
    is_all: bool


def _rows(subject: Subject, settings: Any) -> _Read:
    """The first rows, and whether they are all."""
    names = subject.source.describe(settings).names
    place = [name for name in names if name in OURS]
    scan = subject.source.scan(settings, [*[name for name in names if name not in OURS][:MOST_COLUMNS], *place])
    parts: list[pa.RecordBatch] = []
    try:
        for batch in scan.reader:
            parts.append(batch)
            if sum(map(len, parts)) > SAMPLE:
                break
    finally:
        scan.close()
    rows = answers.rows(pa.Table.from_batches(parts, scan.reader.schema))
    return _Read(rows[:SAMPLE], is_all=len(rows) <= SAMPLE)


def _place(row: Row) -> tuple[Value, ...]:
    return tuple(row.get(name) for name in OURS)


def _in_words(row: Row) -> str:
    sheet = f", sheet {row['_sheet']!s}" if "_sheet" in row else ""
    return f"{row['_file']!s}{sheet}, row {row['_row']!s}"


@dataclass(frozen=True)
class _Rows:
    """The same rows with declared types, and with all cells as they are written."""

    typed: Sequence[Row]
    cells: Sequence[Row]

    def totals(self) -> list[int]:
        """The positions of rows that look like totals."""
        labelled = {position for position, cells in enumerate(self.cells) if any(_labels(cells))}
        others = [cells for position, cells in enumerate(self.cells) if position not in labelled]
        filled = Counter(name for cells in others for name, cell in cells.items() if not _is_empty(cell))
        usual = [name for name, count in filled.items() if count >= MOSTLY * len(others)]
        common = [name for name, count in filled.items() if 2 * count >= len(others)]
        totals = []
        for _, rows in itertools.groupby(enumerate(self.typed), lambda row: _place(row[1])[:2]):
            block, sheet = _Sum(), _Sum()
            for position, row in rows:
                is_labelled = position in labelled
                may_be_sum = is_labelled or self._lacks(position, common)
                if (is_labelled and self._lacks(position, usual)) or (
                    may_be_sum and (block.is_in(row) or sheet.is_in(row))
                ):
                    totals.append(position)
                    block = _Sum()
                else:
                    block.add(row)
                    sheet.add(row)
        if 2 * len(labelled.intersection(totals)) < len(labelled):  # the word is a name, like Total Energies
            totals = [position for position in totals if self._lacks(position, usual)]
        return totals if len(totals) > 1 or not labelled.isdisjoint(totals) else []

    def _lacks(self, position: int, names: Sequence[str]) -> bool:
        return any(_is_empty(self.cells[position][name]) for name in names)


class _Sum:
    """The sums of the numbers of some rows."""

    def __init__(self) -> None:
        self._by_column: dict[str, Decimal] = {}
        self._rows = 0

    def add(self, row: Row) -> None:
        self._rows += 1
        for name, number in _numbers(row):
            self._by_column[name] = self._by_column.get(name, Decimal()) + number

    def is_in(self, row: Row) -> bool:
        """Return True if a number of the row is the sum of its column, over at least two rows."""
        return self._rows >= LEAST_ROWS and any(
            number != 0 and self._by_column.get(name) == number for name, number in _numbers(row)
        )


def _numbers(row: Row) -> Iterator[tuple[str, Decimal]]:
    for name, value in row.items():
        if isinstance(value, (int, Decimal)) and not isinstance(value, bool) and name not in OURS:
            yield name, Decimal(value)


def _is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _labels(cells: Row) -> Iterator[Label]:
    """The words for a total at the beginning or the end of a cell."""
    for name, cell in cells.items():
        text = cell.strip() if isinstance(cell, str) and name not in OURS else ""
        if word := SUBTOTAL.match(text):
            yield name, text[: word.end()] + "%"
        elif word := TOTAL_AFTER.search(text):
            yield name, "%" + text[word.start() :]


def _where(consulted: Consulted, rows: _Rows, totals: Sequence[int], slot: dt.datetime) -> str | None:
    """An expression that is true for all rows but the totals, as it is evaluated in a run; None if there is none."""
    existing = consulted.relation.where
    for proposed in _proposals(consulted, rows, totals):
        try:
            condition = parse(proposed).condition(
                consulted.columns.schema, consulted.relation.timezone, consulted.relation.calendar
            )
            left_out = [number for number, row in enumerate(rows.typed) if condition.evaluate(row, slot) is not True]
        except RuleError:
            continue  # the columns have types that this proposal does not compare
        if left_out == list(totals):
            return proposed if existing is None else f"({existing}) and ({proposed})"
    return None


def _proposals(consulted: Consulted, rows: _Rows, totals: Sequence[int]) -> Iterator[str]:
    """Conditions to try, from the safest on: a row stays if a column is filled that every record fills."""
    are_totals = set(totals)
    records = [row for number, row in enumerate(rows.typed) if number not in are_totals]
    labels = sorted({label for number in totals for label in _labels(rows.cells[number])})
    names = [name for name in rows.typed[0] if name not in OURS and '"' not in name]
    filled = [
        name
        for name in sorted(names, key=lambda name: name not in consulted.relation.id)
        if not any(_is_empty(row[name]) for row in records)
        and all(_is_empty(rows.typed[number][name]) for number in totals)
    ]
    for chosen in [labels, *([label] for label in labels)] if len(labels) <= MOST_WORDS else []:
        unlike = [f"{_compared(name, rows)} not like '{pattern}'" for name, pattern in chosen]
        if not unlike:
            continue
        both = " and ".join(unlike)
        for name in filled:
            if name not in {column for column, _ in chosen}:
                yield f"{_name(name)} is not null or {both if len(unlike) == 1 else f'({both})'}"
        yield both
        yield " and ".join(
            f"({_name(name)} is null or {condition})" if len(chosen) > 1 else f"{_name(name)} is null or {condition}"
            for (name, _), condition in zip(chosen, unlike, strict=True)
        )
    yield from (f"{_name(name)} is not null" for name in filled)


def _name(column: str) -> str:
    return column if _PLAIN.fullmatch(column) else f'"{column}"'


def _compared(column: str, rows: _Rows) -> str:
    """The column, without white space at its ends if a text of it has some."""
    texts = (row.get(column) for row in rows.typed)
    is_spaced = any(isinstance(text, str) and text != text.strip() for text in texts)
    return f"trim({_name(column)})" if is_spaced else _name(column)


def _yaml(text: str) -> str:
    return text if _UNQUOTED.fullmatch(text) else json.dumps(text, ensure_ascii=False)
