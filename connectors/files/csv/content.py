"""One version of a CSV file as bytes, with the place of each record, so that single fields can be replaced.

Everything that is not replaced keeps its bytes: line ends, quotes, byte order mark, lines that reading leaves out.
"""

from __future__ import annotations

import codecs
import dataclasses
import itertools
import re
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from connectors.declared import Declared, Notation, declared
from connectors.disk.opened_file import copy_of, open_beneath
from connectors.errors import FileUnreadable
from connectors.files.connector import FilesDataset
from connectors.files.csv.cells import CellForm
from connectors.files.csv.facts import MARKS, UNIT
from connectors.files.csv.fields import ENDS, Malformed, field_spans
from connectors.files.csv.reader import CsvFile
from connectors.files.csv.records import located_records
from connectors.files.left_out import skipped
from connectors.files.opening import Opening
from connectors.target import Cell, TargetRefused

MOST_BYTES = 32_000_000
"""A larger file is not cleaned: a transaction reads it several times, and may take 20 seconds."""
_LINE = re.compile("[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LINE_OF_BYTES = re.compile(b"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BATCH = 65_536


@dataclass(frozen=True)
class CsvContent:
    """A version of a file. `texts` are the fields of its records, `""` where empty; `left_out` records are not there.

    `starts` are the offsets of its lines in `data`, and at last that of the end of the data, where a footer begins. A
    record has the lines from its one of `firsts` to before its one of `ends`, counted from 0.
    """

    name: str
    data: bytes
    csv: CsvFile
    codec: str
    lines: Sequence[str]
    starts: Sequence[int]
    firsts: Sequence[int]
    ends: Sequence[int]
    texts: pa.Table
    numbers: Sequence[int]
    """The number of each record among all of its file, from 0."""
    first_line: int
    """The first line below the header."""
    dataset: FilesDataset

    @property
    def columns(self) -> tuple[str, ...]:
        return self.csv.dialect.columns

    @cached_property
    def kinds(self) -> Mapping[str, Declared]:
        """The declared types of columns."""
        return {name: declared(name, word) for name, word in self.dataset.columns.items()}

    @property
    def notation(self) -> Notation:
        return Notation(self.dataset.decimal, self.dataset.null_values, self.dataset.timezone)

    @property
    def form(self) -> CellForm:
        return CellForm(self.csv.dialect.delimiter, self.csv.dialect.quote)

    def text(self, number: int) -> str:
        """The lines of a record."""
        return "".join(self.lines[self.firsts[number] : self.ends[number]])

    def cells(self, number: int) -> dict[str, Cell]:
        """The cells of a record."""
        text, form = self.text(number), self.form
        spans = field_spans(text, form.delimiter, form.quote)
        return {name: form.read(text[span.begin : span.end]) for name, span in zip(self.columns, spans, strict=False)}

    def tail(self, number: int) -> str:
        """What follows the last field of a record: delimiters without a column, and the line end."""
        text, form = self.text(number), self.form
        return text[field_spans(text, form.delimiter, form.quote)[len(self.columns) - 1].end :]

    def line_end(self, line: int) -> str:
        """The line end to write near this line."""
        near = (self.lines[at] for at in (line - 1, line, 0) if 0 <= at < len(self.lines))
        return next((text[len(text.rstrip(ENDS)) :] for text in near if text[-1:] in ENDS and text), "\n")

    def encoded(self, text: str) -> bytes:
        """Raises UnicodeEncodeError for a text that the encoding cannot hold."""
        return text.encode(self.codec)


def read(root: Path, name: str, dataset: FilesDataset, data: bytes) -> CsvContent:
    """Read a version of the file of that name with the settings of its dataset, as every reader does.

    Raises TargetRefused, FileRefused, FileUnreadable.
    """
    if len(data) > MOST_BYTES:
        reason = f"the file has more than {MOST_BYTES:,} bytes; clean them in a database"
        raise TargetRefused(f"Records of {name} cannot be cleaned: {reason}")
    copy, target = copy_of(open_beneath(root, name))
    with target:
        target.write(data)
    csv = Opening(name, None).opened(copy, Path(name), dataset)
    assert isinstance(csv, CsvFile)  # noqa: S101 - other formats were refused before
    skipped([csv.left_out])
    with csv.text.bytes() as body:
        in_utf8 = body.read()
    codec, mark = _codec(data, csv.dialect.encoding)
    lines, starts = _lines(name, data, codec, mark, in_utf8)
    firsts, ends, texts, numbers = _records(csv, lines)
    walked = csv.walked
    first_line = walked.before
    if walked.header:
        with_header = located_records(iter(lines), dataclasses.replace(walked, header=False), csv.max_line)
        first_line = next(with_header).last
    return CsvContent(name, data, csv, codec, lines, starts, firsts, ends, texts, numbers, first_line, dataset)


def _codec(data: bytes, encoding: str) -> tuple[str, int]:
    """The codec for a part of the file, and the size of its byte order mark."""
    for mark, family in MARKS:
        if data.startswith(mark):
            ends = {codecs.BOM_UTF16_LE: "-le", codecs.BOM_UTF16_BE: "-be"}
            ends |= {codecs.BOM_UTF32_LE: "-le", codecs.BOM_UTF32_BE: "-be"}
            return family + ends.get(mark, ""), len(mark)
    codec = codecs.lookup(encoding).name
    if codec in UNIT:
        return f"{codec}-{'le' if sys.byteorder == 'little' else 'be'}", 0
    codec = "utf-8" if codec == "utf-8-sig" else codec
    try:
        mark = "\ufeff".encode(codec)
    except UnicodeEncodeError:
        return codec, 0
    return codec, len(mark) if data.startswith(mark) else 0


def _lines(name: str, data: bytes, codec: str, mark: int, in_utf8: bytes) -> tuple[list[str], array[int]]:
    """The lines of the data without mark and footer, and where they are in the file."""
    text = in_utf8.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    lines = _LINE.findall(text)
    if codec.startswith(("utf-16", "utf-32")):
        written = [line.encode(codec) for line in lines]
    else:
        written = _LINE_OF_BYTES.findall(data[mark:])[: len(lines)]
    starts = array("q", [mark])
    if data.isascii() and data.startswith(text.encode(), mark):  # other texts have only such bytes in UTF-16 and UTF-7
        starts.extend(itertools.islice(itertools.accumulate(map(len, lines), initial=mark), 1, None))
    else:
        for line, its_bytes in zip(lines, written, strict=False):
            if its_bytes.decode(codec, errors="replace") != line:
                break
            starts.append(starts[-1] + len(its_bytes))
    if len(starts) != len(lines) + 1 or not data.startswith(b"".join(written), mark):
        reason = f"its lines cannot be told apart in {codec}, so they could not be kept byte for byte"
        raise FileUnreadable(name, reason, "save it as UTF-8")
    return lines, starts


def _records(csv: CsvFile, lines: Sequence[str]) -> tuple[array[int], array[int], pa.Table, array[int]]:
    schema = csv.columns
    batches: list[pa.RecordBatch] = []
    firsts, ends, numbers = array("q"), array("q"), array("q")
    rows: list[list[str]] = []
    skipped_numbers = frozenset(csv.left_out.numbers)
    for number, (record, last) in enumerate(located_records(iter(lines), csv.walked, csv.max_line)):
        if isinstance(record.fields, Malformed):
            if number not in skipped_numbers:
                raise FileUnreadable(f"{csv.name}:{record.fields.line}", record.fields.reason, record.fields.remedy)
            continue
        firsts.append(record.line - 1)
        ends.append(last)
        numbers.append(number)
        rows.append(record.fields)
        if len(rows) == _BATCH:
            batches.append(_batch(rows, schema))
            rows = []
    if rows:
        batches.append(_batch(rows, schema))
    return firsts, ends, pa.Table.from_batches(batches, schema=schema), numbers


def _batch(rows: Sequence[Sequence[str]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(column, pa.string()) for column in zip(*rows, strict=True)], schema=schema
    )


def as_read(content: CsvContent) -> Iterator[pa.RecordBatch]:
    """The texts as a scan reads them, by DuckDB, without any null value but the empty text."""
    return content.csv.batches(list(content.columns), (), _BATCH)
