"""Source `duckdb`: the tables, views and read-only queries of one DuckDB database file.

The embedded engine reads a table where it is, without a copy; views and queries are streamed. DuckDB's lock keeps
writers out while the file is open, but an engine of this process that closes the file releases it (POSIX gives one lock
to a process). So every read also compares the file's stamp before with the one after.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import duckdb
import pyarrow as pa
from pydantic import field_validator

from connectors.base import DatasetSettings, Declaration, DuckScan, Scan, SourceSettings, UnreadableCells
from connectors.coerce import Coercion
from connectors.declared import Declared
from connectors.disk.paths import looking, state
from connectors.duck import NAIVE, PLACED, exact, identifier, literal
from connectors.errors import (
    AccessDenied,
    ConnectorError,
    DatasetMissing,
    NotReadOnly,
    QueryRefused,
    ReadStopped,
    RecordsLost,
    SourceBusy,
    SourceChanged,
    SourceMissing,
)
from connectors.sql.declaring import without_ours
from connectors.sql.generic.source import without_values
from connectors.sql.settings import SqlDataset
from connectors.underway import Read, Underway

SUFFIXES = (".duckdb", ".ddb")
ROWS = 32_768
CALENDAR = frozenset(("DATE", *NAIVE, *PLACED))
"""Types whose values may be infinite, which becomes null as in PostgreSQL."""
_GLOB = frozenset("*?[")
_SESSION: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "1GB",
    "temp_directory": "",  # which is a folder beside the user's file otherwise
    "threads": "2",
}
_RELATIONS = (
    "select schema_name, table_name, false from duckdb_tables() "
    "where database_name = 'source' and not internal union all "
    "select schema_name, view_name, true from duckdb_views() "
    "where database_name = 'source' and not internal order by all"
)
_KEYS = (
    "select constraint_type, constraint_column_names from duckdb_constraints() "
    "where database_name = 'source' and schema_name = $1 and table_name = $2 "
    "and constraint_type in ('PRIMARY KEY', 'UNIQUE', 'NOT NULL')"
)


class DuckDbSettings(SourceSettings):
    """`path` is a DuckDB database file, relative to the configuration file."""

    type: Literal["duckdb"]
    path: str

    @field_validator("path")
    @classmethod
    def _is_file(cls, path: str) -> str:
        if path.lower().startswith(("md:", "motherduck:")):
            raise ValueError("MotherDuck is not supported; `path` is a DuckDB file on this machine")
        return path


@dataclass(frozen=True)
class _Relation:
    """A table, view or query of an open file: its FROM clause, and its columns with DuckDB's types."""

    sql: str
    kinds: Mapping[str, str]
    table: tuple[str, str] | None = None
    """Schema and name of a table; None for views and queries."""

    def value(self, column: str) -> str:
        """The expression that reads a column."""
        name, kind = identifier(column), self.kinds[column]
        return exact(f"case when isfinite({name}) then {name} end" if kind in CALENDAR else name, kind)


class DuckDbSource:
    """One DuckDB file, opened read-only and only while it is read."""

    Settings: ClassVar[type[SourceSettings]] = DuckDbSettings
    Dataset: ClassVar[type[DatasetSettings]] = SqlDataset

    def __init__(self, name: str, settings: DuckDbSettings, directory: Path) -> None:
        self.name = name
        self.path = directory / settings.path
        self._where = settings.path
        self._underway = Underway()

    def datasets(self) -> Sequence[str]:
        """Tables and views; those outside the schema `main` as `schema.table`."""
        with self._reading() as con:
            return list(_relations(con))

    @staticmethod
    def of_file(path: Path) -> Mapping[str, Any] | None:
        is_database = path.suffix.lower() in SUFFIXES and path.is_file()
        return {"type": "duckdb", "path": str(path)} if is_database else None

    def candidates(self) -> Sequence[str]:
        return without_ours(self.datasets())

    def declaration(self, candidate: str) -> Declaration:
        return Declaration({"table": candidate})

    def keys(self, dataset: SqlDataset) -> Sequence[tuple[str, ...]]:
        with self._reading() as con:
            relation = self._relation(con, dataset)
            constraints = con.execute(_KEYS, relation.table).fetchall() if relation.table else []
        filled = {columns[0] for kind, columns in constraints if kind == "NOT NULL"}
        keys = [(kind, tuple(columns)) for kind, columns in constraints if kind != "NOT NULL"]
        return [columns for kind, columns in sorted(keys) if kind == "PRIMARY KEY" or filled.issuperset(columns)]

    def describe(self, dataset: SqlDataset) -> pa.Schema:
        with self._reading() as con:
            relation = self._relation(con, dataset)
            return self._coercion(con, relation, dataset, tuple(relation.kinds)).schema

    def scan(self, dataset: SqlDataset, columns: Sequence[str]) -> Scan:
        before = self._stamp()
        con, read = self._opened()
        try:
            with self._translated(dataset, read):
                relation = self._relation(con, dataset, columns)
                coercion = self._coercion(con, relation, dataset, columns)
                infinite = _infinite(con, relation, dataset, columns)
                answer = con.sql(_select(relation, columns)).to_arrow_reader(ROWS)
        except BaseException:
            _close(con, read)
            raise
        batches = self._batches(answer, coercion, dataset, read, before)

        def release() -> None:
            answer.close()
            coercion.close()
            _close(con, read)

        reader = pa.RecordBatchReader.from_batches(coercion.schema, batches)
        return Scan(reader, lambda: (*infinite, *coercion.problems()), release)

    def duck_scan(self, dataset: SqlDataset, columns: Sequence[str]) -> DuckScan | None:
        """None for views and queries, for values to convert, and for a path that DuckDB could read as a pattern."""
        path = str(self.path.resolve())
        if dataset.table is None or dataset.null_values or set(columns) & set(dataset.columns) or _GLOB & set(path):
            return None
        before = self._stamp()
        con, read = self._opened()
        try:
            with self._translated(dataset, read):
                relation = self._relation(con, dataset, columns)
                naive = [name for name in columns if relation.kinds[name] in NAIVE]
                if relation.table is None or not columns or (naive and dataset.timezone != "UTC"):
                    _close(con, read)
                    return None
                [(records,)] = con.execute(f"select count(*) from {relation.sql}").fetchall()
                infinite = _infinite(con, relation, dataset, columns)
        except BaseException:
            _close(con, read)
            raise
        locked = _Locked(con, read)

        def confirm(returned: int) -> None:
            self._must_be_same(before)
            if returned != records:
                raise RecordsLost(f"table {dataset.table}", records, returned)
            locked.close()

        return DuckScan(_attached(path, relation, columns, naive), lambda: infinite, confirm)

    def failure(self, dataset: SqlDataset, error: Exception) -> ConnectorError:
        """Our error for one that DuckDB raised while it ran a SELECT of `duck_scan`."""
        return QueryRefused(self.name, without_values(_first_line(error), str(dataset.table)))

    def state(self, dataset: SqlDataset) -> str | None:  # noqa: ARG002 - the port's signature
        """The state of the whole file."""
        return state(self.name, self.path.parent, [self.path.name])

    def stop(self) -> None:
        self._underway.stop()

    def close(self) -> None:
        """Nothing is kept between reads."""

    def _opened(self) -> tuple[duckdb.DuckDBPyConnection, Read]:
        with looking(self.name, self.path):
            if not self.path.is_file():
                reason = "it is not a file" if self.path.exists() else "file not found"
                raise SourceMissing(self.name, self._where, reason)
        # Not connect(path): it waits for ever for an earlier reader of the file in this process that was not closed.
        con = duckdb.connect(config=_SESSION)
        con.execute("set TimeZone = 'UTC'")
        try:
            con.execute(f"attach {literal(str(self.path.resolve()))} as source (type duckdb, read_only)")
            con.execute("use source")
            con.execute("set enable_external_access = false")  # a query reads this file and no other
        except duckdb.Error as error:
            con.close()
            raise self._not_opened(error) from None
        return con, self._underway.begin(con.interrupt)

    def _stamp(self) -> tuple[object, ...]:
        """A value that every commit changes, from the database file and the log beside it."""
        with looking(self.name, self.path):
            files = [path.stat() for path in (self.path, Path(f"{self.path}.wal")) if path.exists()]
        return tuple((file.st_ino, file.st_size, file.st_mtime_ns) for file in files)

    def _must_be_same(self, before: tuple[object, ...]) -> None:
        if self._stamp() != before:
            raise SourceChanged(self.name, self._where)

    def _not_opened(self, error: Exception) -> ConnectorError:
        reason = _first_line(error)
        if "set lock" in reason:
            return SourceBusy(self.name, self._where)
        if "ermission denied" in reason:
            return AccessDenied(self.name, self._where, "permission denied")
        if "not a valid DuckDB database" in reason:
            reason = "it is not a DuckDB database"
        return SourceMissing(self.name, self._where, reason.replace(str(self.path), self._where))

    @contextmanager
    def _reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        con, read = self._opened()
        try:
            with self._translated(None, read):
                yield con
        finally:
            _close(con, read)

    @contextmanager
    def _translated(self, dataset: SqlDataset | None, read: Read) -> Iterator[None]:
        try:
            yield
        except (duckdb.Error, pa.ArrowException) as error:
            if read.ended:
                raise ReadStopped(self.name) from None
            sent = (dataset.query or str(dataset.table)) if dataset else ""
            raise QueryRefused(self.name, without_values(_first_line(error), sent)) from None

    def _relation(self, con: duckdb.DuckDBPyConnection, dataset: SqlDataset, columns: Sequence[str] = ()) -> _Relation:
        """Raises DatasetMissing, ColumnMissing, NotReadOnly, QueryRefused."""
        table = None
        if dataset.query is not None:
            sql = f"({self._query(con, dataset)}) as query"
        else:
            relations = _relations(con)
            if dataset.table not in relations:
                raise DatasetMissing(self.name, f"table {dataset.table}", [f"table {name}" for name in relations])
            schema, name, is_view = relations[dataset.table]
            sql = f"{identifier(schema)}.{identifier(name)}"
            table = None if is_view else (schema, name)
        try:
            described = con.sql(f"describe select * from {sql}").fetchall()
        except duckdb.Error as error:
            sent = dataset.query or str(dataset.table)
            raise QueryRefused(self.name, without_values(_first_line(error), sent)) from None
        relation = _Relation(sql, {name: kind for name, kind, *_ in described}, table)
        dataset.must_have(self.name, (*dataset.columns, *columns), relation.kinds)
        return relation

    def _query(self, con: duckdb.DuckDBPyConnection, dataset: SqlDataset) -> str:
        """The query, which DuckDB itself takes for one SELECT. Raises NotReadOnly, QueryRefused."""
        query = dataset.statement(self.name, "")
        try:
            statements = con.extract_statements(query)
        except duckdb.Error as error:
            raise QueryRefused(self.name, without_values(_first_line(error), query)) from None
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise NotReadOnly(self.name, "DuckDB does not accept it as a single select")
        return query

    def _coercion(
        self, con: duckdb.DuckDBPyConnection, relation: _Relation, dataset: SqlDataset, columns: Sequence[str]
    ) -> Coercion:
        raw: pa.Schema = con.sql(f"{_select(relation, columns)} limit 0").to_arrow_table().schema
        local = {name: Declared("instant") for name in columns if relation.kinds[name] in NAIVE}
        kinds = {name: kind for name in columns if (kind := dataset.declared(name)) is not None}
        return Coercion(raw, {**local, **kinds}, dataset.notation)

    def _batches(
        self,
        answer: pa.RecordBatchReader,
        coercion: Coercion,
        dataset: SqlDataset,
        read: Read,
        before: tuple[object, ...],
    ) -> Iterator[pa.RecordBatch]:
        while True:
            with self._translated(dataset, read):
                batch = next(answer, None)
            if batch is None:
                self._must_be_same(before)
                return
            yield coercion.batch(batch)


class _Locked:
    """An open file, closed with this object at the latest."""

    def __init__(self, con: duckdb.DuckDBPyConnection, read: Read) -> None:
        self._close = weakref.finalize(self, _close, con, read)

    def close(self) -> None:
        self._close()


def _close(con: duckdb.DuckDBPyConnection, read: Read) -> None:
    con.close()
    read.over()


def _relations(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, str, bool]]:
    """Schema, name and whether it is a view, of each table and view by the name that a dataset gives it."""
    rows = con.execute(_RELATIONS).fetchall()
    return {name if schema == "main" else f"{schema}.{name}": (schema, name, is_view) for schema, name, is_view in rows}


def _select(relation: _Relation, columns: Sequence[str]) -> str:
    parts = [f"{relation.value(name)} as {identifier(name)}" for name in columns]
    return f"select {', '.join(parts)} from {relation.sql}"


def _attached(path: str, relation: _Relation, columns: Sequence[str], naive: Sequence[str]) -> str:
    """The SELECT with which another DuckDB reads the table in its file."""
    assert relation.table is not None  # noqa: S101 - asked for tables only
    schema, table = map(literal, relation.table)
    values = {name: relation.value(name) for name in columns}
    values |= {name: f"timezone('UTC', {values[name]})" for name in naive}
    parts = [f"{value} as {identifier(name)}" for name, value in values.items()]
    return f"select {', '.join(parts)} from read_duckdb({literal(path)}, schema_name={schema}, table_name={table})"


def _infinite(
    con: duckdb.DuckDBPyConnection, relation: _Relation, dataset: SqlDataset, columns: Sequence[str]
) -> tuple[UnreadableCells, ...]:
    """The infinite dates and times of these columns, which become null."""
    names = [name for name in columns if relation.kinds[name] in CALENDAR]
    if not names:
        return ()
    counts = ", ".join(f"count(*) filter (not isfinite({identifier(name)}))" for name in names)
    [answer] = con.execute(f"select {counts} from {relation.sql}").fetchall()
    place = f"table {dataset.table}" if dataset.table else "the query"
    return tuple(
        UnreadableCells(name, Declared("date" if relation.kinds[name] == "DATE" else "instant").reason, count, place)
        for name, count in zip(names, answer, strict=True)
        if count
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[0].rstrip(". ")
