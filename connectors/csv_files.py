"""CSV and TSV, read by DuckDB in its strict mode: one definition of reading, whoever runs the SELECT."""

from __future__ import annotations

import codecs
import dataclasses
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa

from connectors import coerce, csv_records
from connectors.base import DuckScan, Problem
from connectors.csv_dialect import CsvDialect, CsvWish, decide
from connectors.csv_facts import CHUNK, facts
from connectors.csv_lines import Lines
from connectors.declared import Declared, Notation
from connectors.duck import identifier, literal, literals, struct
from connectors.errors import ConnectorError, FileUnreadable
from connectors.file_paths import open_bytes
from connectors.headers import confusable

if TYPE_CHECKING:
    from connectors.base import Positions

FEW = 50
"""One record in so many is the most that is found line by line sooner than by reading the file again."""
DUCKDB_LINE = 2_000_000
"""What DuckDB takes for a line without being asked; asking for more makes it read in larger, slower pieces."""


@dataclass(frozen=True)
class CsvFile:
    """One file: `read` is the original, or a copy in UTF-8 with one kind of line end; `dialect` is the original's."""

    path: Path
    name: str
    dialect: CsvDialect
    read: Path
    before: int
    max_line: int
    odd_line: int | None
    lines: Lines | None = None

    @property
    def records(self) -> int | None:
        """How many there are if each is one line, which what was read must confirm; None where nothing tells."""
        return None if self.lines is None else self.lines.count - self._first

    @property
    def _first(self) -> int:
        return self.before + int(self.dialect.header)

    def some(self, numbers: Positions, scratch: Path) -> CsvFile | None:
        """A file of just these records, counted from 0; None where this one has changed since it was prepared."""
        target = _new(scratch)
        with target.open("wb") as copy:
            if self.lines is None or not self.lines.copy(self.read, numbers + self._first, copy):
                return None
        dialect = dataclasses.replace(self.dialect, header=False)
        return dataclasses.replace(self, dialect=dialect, read=target, before=0, lines=None)

    @property
    def columns(self) -> pa.Schema:
        return pa.schema([pa.field(one, pa.string()) for one in self.dialect.columns])

    def batches(self, columns: Sequence[str], nulls: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Text of the columns, in the order of the file. Raises FileUnreadable with the line."""
        slots = [self.dialect.columns.index(one) for one in columns]
        named = ", ".join(f"c{slot} as v{i}" for i, slot in enumerate(slots))
        schema = pa.schema([pa.field(one, pa.string()) for one in columns])
        with duckdb.connect(config={"threads": "2"}) as con:
            try:
                for batch in con.sql(f"select {named} from {reader([self], nulls)}").to_arrow_reader(rows):
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise self.failure(error) from None

    def place(self, record: int) -> str:
        line = csv_records.line_of(self.path, self.name, self.dialect, self.max_line, record)
        return f"{self.name}:{line}"

    def warnings(self, columns: Sequence[str] | None) -> Iterator[Problem]:
        """What was decided for the file and concerns a reader of these columns, or of any."""
        if self.odd_line is not None:
            reason = "the file is not UTF-8 and was read as Windows-1252; set `encoding` to what it is"
            yield Problem("*", reason, 0, f"{self.name}:{self.odd_line}")
        if told := confusable(self.dialect.repeated, columns):
            reason = f"{told}; rename them in the file, or leave its header out with `skip` and name all in `header`"
            yield Problem("*", reason, 0, f"{self.name}:{self.dialect.before + 1}")

    def failure(self, error: Exception) -> ConnectorError:
        """What DuckDB stumbled over, in our words and without the data its own message quotes."""
        found = csv_records.diagnose(self.path, self.name, self.dialect, self.max_line)
        if found is None and "aximum line size" in str(error):
            found = FileUnreadable(self.name, f"a record is longer than {self.max_line:,} bytes", "raise `max_line`")
        reason = f"it changed while it was read, or cannot be read ({type(error).__name__})"
        return found or FileUnreadable(self.name, reason, "read it again")


def prepared(path: Path, name: str, wish: CsvWish, *, encoding: str | None, max_line: int, scratch: Path) -> CsvFile:
    """Decide how the file is read, and make the copy DuckDB needs where the file is not UTF-8 or mixes line ends."""
    found = facts(path, name, encoding, max_line)
    dialect = decide(path, name, found, wish)
    read, plain, lines = path, found.plain, found.lines
    if codecs.lookup(dialect.encoding).name not in ("utf-8", "ascii"):
        read = _transcoded(path, name, dialect.encoding, scratch)
        again = facts(read, name, "utf-8", max_line)
        plain, lines = again.plain, again.lines
    file = CsvFile(path, name, dialect, read, dialect.before, max_line, found.first_odd_line, lines)
    if plain or _reads(file):
        return file
    return dataclasses.replace(file, read=_mended(file, scratch), before=0, lines=None)


def _reads(file: CsvFile) -> bool:
    """Whether DuckDB gets through a file that mixes line ends; strict mode refuses what it could misread."""
    with duckdb.connect(config={"threads": "2"}) as con:
        try:
            con.sql(f"select count(*) from {reader([file], ())}").fetchall()
        except duckdb.Error:
            return False
    return True


def _mended(file: CsvFile, scratch: Path) -> Path:
    target = _new(scratch)
    csv_records.rewrite(file.path, file.name, file.dialect, file.max_line, target)
    return target


def _transcoded(path: Path, name: str, encoding: str, scratch: Path) -> Path:
    target, decoder, lines = _new(scratch), codecs.getincrementaldecoder(encoding)(), 1
    with open_bytes(path) as source, target.open("wb") as copy:
        try:
            while chunk := source.read(CHUNK):
                text = decoder.decode(chunk)
                lines += text.count("\n")
                copy.write(text.removeprefix("\ufeff").encode("utf-8"))
            copy.write(decoder.decode(b"", final=True).encode("utf-8"))
        except UnicodeError as error:
            place = f"{name}, after line {lines}"
            raise FileUnreadable(place, f"it is not written in {encoding}", "set `encoding` to what it is") from error
    return target


def _new(scratch: Path) -> Path:
    with tempfile.NamedTemporaryFile(dir=scratch, suffix=".csv", delete=False) as file:
        return Path(file.name)


def reader(files: Sequence[CsvFile], nulls: Sequence[str]) -> str:
    """DuckDB's read_csv with nothing left to guess; columns are c0, c1, … all text. The files share one dialect."""
    one = files[0]
    columns = struct({f"c{i}": "VARCHAR" for i in range(len(one.dialect.columns))})
    limit = f", max_line_size={one.max_line}" if one.max_line > DUCKDB_LINE else ""
    return (
        f"read_csv({literals(str(f.read) for f in files)}, auto_detect=false, strict_mode=true, "
        f"delim={literal(one.dialect.delimiter)}, quote={literal(one.dialect.quote)}, "
        f"escape={literal(one.dialect.quote)}, header={str(one.dialect.header).lower()}, skip={one.before}, "
        f"columns={columns}, nullstr={literals(('', *nulls))}{limit})"
    )


def select(
    files: Sequence[CsvFile], columns: Sequence[str], declared: Mapping[str, Declared], notation: Notation
) -> DuckScan | None:
    """One SELECT over all files; None where their instants need a zone that SQL does not place as we do."""
    parts, bad = [], []
    for group in _alike(files):
        chosen, wrong = _select_one(group, columns, declared, notation)
        if chosen is None:
            return None
        parts.append(chosen)
        bad += wrong
    together = " union all ".join(bad)
    problems = (
        f'select "column", reason, sum(records)::bigint as records, arg_min("first", turn) as "first" '
        f"from ({together}) group by all having sum(records) > 0"
    )
    return DuckScan(" union all ".join(parts), problems if bad else None)


def some(
    files: Sequence[CsvFile],
    columns: Sequence[str],
    declared: Mapping[str, Declared],
    notation: Notation,
    positions: Positions,
    scratch: Path,
) -> str | None:
    """The SELECT of just the records at these ascending positions in `select`; None where it has to be run again.

    Lines are records where there are as many: a line end inside a field, or an empty line, makes them more.
    """
    found, begin = [], 0
    for file in (one for group in _alike(files) for one in group):
        end = begin + (file.records or 0)
        here = positions[np.searchsorted(positions, begin) : np.searchsorted(positions, end)]
        few = file.some(here - begin, scratch) if len(here) else None
        if len(here) and few is None:
            return None
        found += [few] if few else []
        begin = end
    chosen = [_select_one([one], columns, declared, notation)[0] for one in found]
    return " union all ".join(one for one in chosen if one) or None


def records(files: Sequence[CsvFile]) -> int | None:
    """How many records they have if each is one line; None where nothing tells."""
    counts = [one.records for one in files]
    return None if None in counts else sum(one or 0 for one in counts)


def _alike(files: Sequence[CsvFile]) -> list[list[CsvFile]]:
    groups: dict[tuple[object, ...], list[CsvFile]] = {}
    for one in files:
        key = (one.dialect.delimiter, one.dialect.quote, one.dialect.header, one.dialect.columns, one.before)
        groups.setdefault((*key, one.read if one.read != one.path else None), []).append(one)
    return list(groups.values())


def _select_one(
    files: Sequence[CsvFile], columns: Sequence[str], declared: Mapping[str, Declared], notation: Notation
) -> tuple[str | None, list[str]]:
    names, bad, parts = files[0].dialect.columns, [], []
    for one in columns:
        if one == "_file":
            shown = literal(files[0].name)
            if len(files) > 1:
                shown = f"substr(filename, {len(str(files[0].path)) - len(files[0].name) + 1})"
            parts.append(f"{shown} as {identifier(one)}")
            continue
        slot = f"c{names.index(one)}"
        if one in declared:
            found = coerce.expression(declared[one], slot, notation)
            if found.local is not None:
                return None, []
            bad += [_problems(file, one, declared[one], found.value, notation.null_values) for file in files]
            parts.append(f"{found.value} as {identifier(one)}")
        else:
            parts.append(f"{slot} as {identifier(one)}")
    return f"select {', '.join(parts)} from {reader(files, notation.null_values)}", bad


def _problems(file: CsvFile, column: str, kind: Declared, value: str, nulls: Sequence[str]) -> str:
    """Count unreadable values and say on which line the first stands: records before it plus line ends inside them."""
    slot = f"c{file.dialect.columns.index(column)}"
    text = f"concat_ws('', {', '.join(f'c{i}' for i in range(len(file.dialect.columns)))})"
    ends = f"(len({text}) - len(replace({text}, chr(10), '')))"
    header = file.dialect.before + int(file.dialect.header)
    earlier = "over (rows between unbounded preceding and 1 preceding)"
    lines = (
        f"select row_number() over () as n, coalesce(sum({ends}) {earlier}, 0) as inside, "
        f"({coerce.unreadable(slot, value)}) as wrong from {reader([file], nulls)}"
    )
    place = f"{literal(file.name + ':')} || (min({header} + n + inside) filter (where wrong))::bigint"
    return (
        f'select {literal(column)} as "column", {literal(kind.reason)} as reason, '
        f'count(*) filter (where wrong) as records, {place} as "first", '
        f"case when bool_or(wrong) then {literal(file.name)} end as turn from ({lines})"
    )
