"""Parquet, typed as it is stored. Nested columns are left out: rules cannot compare them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from connectors.base import DuckScan
from connectors.duck import identifier, literal, literals
from connectors.errors import ColumnMissing, ConnectorError, FileUnreadable

if TYPE_CHECKING:
    from connectors.base import Positions

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
KEPT = frozenset(("VARCHAR", "BOOLEAN", *WHOLE, "FLOAT", "DOUBLE", "DATE", "BLOB", "TIMESTAMP"))
NAIVE = frozenset(("TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S"))
AS_TEXT = ("UUID", "TIME", "INTERVAL", "ENUM", "BIT", "JSON")


@dataclass(frozen=True)
class ParquetFile:
    path: Path
    name: str

    @property
    def columns(self) -> pa.Schema:
        with _connection() as con:
            schema: pa.Schema = self._ask(con, self._select(con, None)).to_arrow_table().schema
            return schema

    @property
    def nested(self) -> tuple[str, ...]:
        with _connection() as con:
            return tuple(name for name, kind in self._types(con) if _converted(name, kind) is None)

    @property
    def local(self) -> tuple[str, ...]:
        """Columns of naive times, still to be placed in the dataset's zone."""
        with _connection() as con:
            return tuple(name for name, kind in self._types(con) if kind in NAIVE)

    def batches(self, columns: Sequence[str], nulls: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The columns in the order of the file; `nulls` are applied to text by the caller. Raises FileUnreadable."""
        del nulls
        with _connection() as con:
            try:
                sql = self._select(con, columns)
                yield from con.sql(sql).to_arrow_reader(rows)
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise self.failure(error) from None

    def place(self, record: int) -> str:
        return f"{self.name}, record {record + 1}"

    def failure(self, error: Exception) -> ConnectorError:
        kind = "it is not a Parquet file" if "magic" in str(error).lower() else "the Parquet file is cut or damaged"
        return FileUnreadable(self.name, kind, "fetch it again")

    def _ask(self, con: duckdb.DuckDBPyConnection, sql: str) -> Any:
        try:
            return con.sql(f"select * from ({sql}) limit 0")
        except duckdb.Error as error:
            raise self.failure(error) from None

    def _types(self, con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
        found = self._ask(con, f"select * from read_parquet({literal(str(self.path))})")
        return list(zip(found.columns, map(str, found.types), strict=True))

    def _select(self, con: duckdb.DuckDBPyConnection, columns: Sequence[str] | None) -> str:
        known = {name: _converted(name, kind) for name, kind in self._types(con)}
        wanted = [name for name, sql in known.items() if sql] if columns is None else list(columns)
        for one in wanted:
            if known.get(one) is None:
                raise ColumnMissing(self.name, one, [name for name, sql in known.items() if sql])
        parts = [f"{known[one]} as {identifier(one)}" for one in wanted]
        return f"select {', '.join(parts)} from read_parquet({literal(str(self.path))})"


def select(files: Sequence[ParquetFile], columns: Sequence[str], timezone: str) -> DuckScan | None:
    """One SELECT over all files; None where naive times need a zone that SQL does not place as we do."""
    first, parts = files[0], []
    with _connection() as con:
        known = dict(first._types(con))  # noqa: SLF001 - our own class, one file
    for one in columns:
        if one == "_file":
            sql = f"substr(filename, {len(str(first.path)) - len(first.name) + 1})"
        else:
            sql = _converted(one, known[one]) or ""
            if known[one] in NAIVE:
                if timezone != "UTC":
                    return None
                sql = f"timezone('UTC', {sql})"
        parts.append(f"{sql} as {identifier(one)}")
    chosen = f"select {', '.join(parts)} from read_parquet("
    return DuckScan(f"{chosen}{literals(str(f.path) for f in files)})", at=partial(_some, files, chosen))


def _some(files: Sequence[ParquetFile], chosen: str, _positions: Positions, of: int, table: str) -> str | None:
    """The reader skips what it does not look for; None where the files have changed since."""
    found, begin = [], 0
    with _connection() as con:
        for one in files:
            here = f"select position - {begin} from {table}"
            found.append(f"{chosen}{literal(str(one.path))}, file_row_number=true) where file_row_number in ({here})")
            [(records,)] = con.execute(
                f"select num_rows from parquet_file_metadata({literal(str(one.path))})"
            ).fetchall()
            begin += records
    return " union all ".join(found) if begin == of else None


def _converted(name: str, kind: str) -> str | None:
    column = identifier(name)
    if kind in KEPT or (kind.startswith("DECIMAL(") and not kind.endswith("]")):
        return column
    if kind in NAIVE:
        return f"{column}::timestamp"
    if kind in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMP_NS WITH TIME ZONE"):
        return f"{column}::timestamptz"
    if kind in ("HUGEINT", "UHUGEINT"):
        return f"{column}::decimal(38,0)"
    return f"{column}::varchar" if kind.startswith(AS_TEXT) and not kind.endswith("]") else None


def _connection() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": "2"})
    con.execute("set TimeZone = 'UTC'")
    return con
