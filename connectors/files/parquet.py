"""Parquet, typed as it is stored. Types without a plain type in DuckDB, also nested columns, become text that differs
for any two values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from connectors.base import DuckScan, UnreadableCells
from connectors.batches import gathered
from connectors.disk.opened_file import OpenedFile, unpacks_to_too_much
from connectors.duck import NAIVE, exact, file_name, identifier, literal, literals
from connectors.errors import ColumnMissing, ConnectorError, FileUnreadable
from connectors.files.left_out import confirm_count
from connectors.headers import confusable, repeated, stable_names

if TYPE_CHECKING:
    pass

DIGITS = 38
"""Digits of a decimal that DuckDB keeps exactly; it reads longer ones as floating point."""
VECTOR = 2_048
"""The minimum number of rows DuckDB returns."""
OURS = frozenset(("filename", "file_row_number"))
"""Columns that DuckDB's reader adds, unless the file has one of the same name."""


@dataclass(frozen=True)
class ParquetColumn:
    """A column by our name and by DuckDB's, which differs if names differ only in case."""

    name: str
    duck: str
    kind: str

    @property
    def sql(self) -> str:
        """The expression that reads it."""
        return exact(identifier(self.duck), self.kind)


@dataclass(frozen=True)
class ParquetFile:
    file: OpenedFile

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def reader(self) -> str:
        return _reader(literal(self.file.path))

    def weigh(self, limit: int) -> None:
        """Raise FileRefused for a file whose pages unpack to more bytes than that, at least one byte per cell.

        Repeated values take no room in a file, so its size says nothing about its records.
        """
        path = literal(self.file.path)
        pages = f"select sum(total_uncompressed_size)::double from parquet_metadata({path})"
        cells = (
            f"select num_rows::double * (select count(*) from parquet_schema({path}) where type is not null) "
            f"from parquet_file_metadata({path})"
        )
        [(unpacked,)] = self._ask(f"select greatest(({pages}), ({cells}))")
        if unpacked is not None and unpacked > limit:
            raise unpacks_to_too_much(self.file, limit)

    @property
    def columns(self) -> pa.Schema:
        names = [column.name for column in self.all_columns]
        if not names:
            raise FileUnreadable(self.name, "it has no columns", "write it with the columns that rules compare")
        self._refuse_long_decimals()
        with _connection() as con:
            try:
                schema: pa.Schema = con.sql(f"{self._select(names)} limit 0").to_arrow_table().schema
            except duckdb.Error as error:
                raise self._unreadable(error) from None
        return pa.schema([field.with_name(name) for name, field in zip(names, schema, strict=True)])

    def _refuse_long_decimals(self) -> None:
        long = f"from parquet_schema({literal(self.file.path)}) where precision > {DIGITS} limit 1"
        for name, precision in self._ask(f"select name, precision {long}"):
            reason = f"column {name!r} has decimals of {precision} digits, which cannot be compared exactly"
            raise FileUnreadable(self.name, reason, f"write it with {DIGITS} digits at most, or as text")

    @property
    def local(self) -> tuple[str, ...]:
        """Columns of naive times, which belong to the dataset's zone."""
        return tuple(column.name for column in self.all_columns if column.kind in NAIVE)

    @cached_property
    def all_columns(self) -> list[ParquetColumn]:
        described = self._ask(f"describe select * from {self.reader}")
        names = stable_names(self._header)
        return [ParquetColumn(name, duck, kind) for name, (duck, kind, *_) in zip(names, described, strict=True)]

    @property
    def records(self) -> int:
        """The number of records in the file's metadata."""
        [(count,)] = self._ask(f"select num_rows from parquet_file_metadata({literal(self.file.path)})")
        return int(count)

    def warnings(self, columns: Sequence[str] | None) -> Iterator[UnreadableCells]:
        """Warnings for readers of these columns, or of any."""
        if warning := confusable(repeated(self._header, [column.name for column in self.all_columns]), columns):
            yield UnreadableCells("*", f"{warning}; rename them in the program that writes the file", 0, self.name)

    def batches(self, columns: Sequence[str], nulls: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The columns in the order of the file; the caller applies `nulls` to text. Raises FileUnreadable."""
        del nulls
        yield from gathered(self._vectors(columns), rows)

    def _vectors(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The columns as DuckDB returns them, under our names."""
        with _connection() as con:
            try:
                for batch in con.sql(self._select(columns)).to_arrow_reader(VECTOR):
                    yield pa.RecordBatch.from_arrays(batch.columns, names=list(columns))
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise self.failure(error) from None

    def place(self, record: int) -> str:
        return f"{self.name}, record {record + 1}"

    def confirm(self, returned: int) -> None:
        """Raise RecordsLost if its metadata counts another number of records."""
        confirm_count(self.name, self.records, returned)

    def failure(self, error: Exception) -> ConnectorError:
        """Our error for one while records were read."""
        if "utf8" in str(error).lower() and (column := self._not_utf8()):
            reason = f"column {column!r} holds text that is not UTF-8"
            return FileUnreadable(self.name, reason, "write it as UTF-8, or as a binary column")
        return self._unreadable(error)

    def _unreadable(self, error: Exception) -> ConnectorError:
        with self.file.bytes() as content:
            magic = content.read(4)
        if magic == b"PARE" or "encrypted" in f"{error} {self._complaint('*')}":
            return FileUnreadable(self.name, "it is encrypted", "write it without encryption")
        if magic != b"PAR1":
            reason = "it is not a Parquet file" if magic else "it is empty"
            return FileUnreadable(self.name, reason, "fetch it again, or set `format`")
        return FileUnreadable(self.name, "the Parquet file is truncated or damaged", "fetch it again")

    def _not_utf8(self) -> str | None:
        texts = (column for column in self.all_columns if column.kind == "VARCHAR")
        return next((column.name for column in texts if self._complaint(f"max({identifier(column.duck)})")), None)

    def _complaint(self, expression: str) -> str:
        """DuckDB's error about reading that; empty if there is none."""
        with _connection() as con:
            try:
                con.execute(f"select {expression} from {self.reader}").fetchone()
            except duckdb.Error as error:
                return str(error)
        return ""

    def _ask(self, sql: str) -> list[Any]:
        with _connection() as con:
            try:
                return con.sql(sql).fetchall()
            except duckdb.Error as error:
                raise self._unreadable(error) from None

    @cached_property
    def _header(self) -> list[str]:
        """The file's names of the top-level columns."""
        inside, names = 0, []
        schema = self._ask(f"select name, num_children from parquet_schema({literal(self.file.path)})")
        for name, children in schema[1:]:
            if inside == 0:
                names.append(name)
            inside += (children or 0) - (inside > 0)
        return names

    def _select(self, columns: Sequence[str]) -> str:
        expressions = {column.name: column.sql for column in self.all_columns}
        for name in columns:
            if name not in expressions:
                raise ColumnMissing(self.name, name, list(expressions))
        parts = [f"{expressions[name]} as c{place}" for place, name in enumerate(columns)]
        return f"select {', '.join(parts)} from {self.reader}"


def select(files: Sequence[ParquetFile], columns: Sequence[str], timezone: str) -> DuckScan | None:
    """One SELECT over all files; None if SQL would place naive times differently from us, or if a name that DuckDB
    changed or reserves could mean another column.
    """
    by_name = {column.name: column for column in files[0].all_columns}
    if any(
        column.duck.lower() in OURS or (len(files) > 1 and column.duck != column.name) for column in by_name.values()
    ):
        return None
    parts, names = [], file_name({file.file.path: file.name for file in files})
    for name in columns:
        sql = names if name == "_file" else by_name[name].sql
        if name in by_name and by_name[name].kind in NAIVE:
            if timezone != "UTC":
                return None
            sql = f"timezone('UTC', {sql})"
        parts.append(f"{sql} as {identifier(name)}")
    chosen = f"select {', '.join(parts)} from "
    reader = _reader(literals(file.file.path for file in files))
    return DuckScan(f"{chosen}{reader}", confirm=partial(_confirm, files))


def _confirm(files: Sequence[ParquetFile], returned: int) -> None:
    confirm_count(files[0].name, sum(file.records for file in files), returned)


def _reader(paths: str, *options: str) -> str:
    """The files as a table, without the columns that DuckDB reads from folders like a=5."""
    return f"read_parquet({', '.join((paths, 'hive_partitioning=false', *options))})"


def _connection() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": "2"})
    con.execute("set TimeZone = 'UTC'")
    return con
