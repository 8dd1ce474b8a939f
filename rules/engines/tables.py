"""Declared datasets as tables in DuckDB, for a SELECT of the user's own that can read nothing else."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import sqlalchemy as sa

from rules.engines.base import OutOfMemory, Readable, Relation, Skipped, Stop, Streamed
from rules.engines.compile import Columns, Compiler, column_type, unused
from rules.engines.select import Select, SelectRefused
from rules.engines.session import Session, is_overflow
from rules.expressions import BoundExpression, parse
from rules.functions import render
from rules.values import Schema, Type, Value, schema_from_arrow

_ARRIVING = "arriving"
_ANSWER = 'main."the answer"'
"""A name that no dataset can have, in the schema of the datasets: there a view looks for its tables first."""
_CLOSED = (
    "set enable_external_access = false",
    "set python_enable_replacements = false",
    "set autoload_known_extensions = false",
    "set allow_community_extensions = false",
    # Nothing can be set any more, so the plans that DuckDB 2.0 fails on are avoided; see `Session.fitting`. Rewriting
    # would compute constants while planning, where no limit of time or memory holds.
    "set disabled_optimizers = 'statistics_propagation,expression_rewriter'",
    "set lock_configuration = true",
)
_ARROW: Mapping[Type, pa.DataType] = {
    Type.TEXT: pa.string(),
    Type.INTEGER: pa.int64(),
    Type.DECIMAL: pa.decimal128(18, 4),  # the scale of the records is known when they are read
    Type.FLOAT: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.INSTANT: pa.timestamp("us", "UTC"),
    Type.BYTES: pa.binary(),
}
_PLAIN = ("VARCHAR", "BOOLEAN", "DOUBLE", "FLOAT", "BLOB", "HUGEINT", "BIGINT", "INTEGER", "SMALLINT", "TINYINT")
_NUMBERS = ("DOUBLE", "FLOAT", "HUGEINT", "BIGINT", "INTEGER", "SMALLINT", "TINYINT")
_UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_UNKNOWN = "the dataset's condition is unknown: a value in it is null"


@dataclass(frozen=True)
class QueryTable:
    """A dataset as a table: the columns that a query may read, derived ones included, of the records for its `where`.

    Empty values are null in it, as everywhere.
    """

    relation: Relation
    columns: Columns
    names: tuple[str, ...]

    @classmethod
    def of(cls, relation: Relation, columns: Columns, select: Select, always: Sequence[str] = ()) -> QueryTable:
        """Return the table with the columns that the query reads, those in `always`, and at least one."""
        read = select.columns
        names = [name for name in columns.schema.names if read is None or name.lower() in read or name in always]
        return cls(relation, columns, tuple(names or relation.id or columns.schema.names[:1]))

    @cached_property
    def where(self) -> BoundExpression | None:
        """The dataset's filter. Raises RuleError."""
        relation, text = self.relation, self.relation.where
        return (
            None if text is None else parse(text).condition(self.columns.schema, relation.timezone, relation.calendar)
        )

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The columns of the dataset itself that the table is made of."""
        names = [*self.names, *(self.where.expression.columns if self.where else ())]
        sources = set(self.columns.sources(names))
        return tuple(name for name in self.relation.schema.names if name in sources)

    def passes(self, record: Mapping[str, Value], slot: dt.datetime) -> bool:
        """Return True if a record, with its derived columns, is in the table."""
        return self.where is None or self.where.evaluate(record, slot) is True

    def compiled(self, slot: dt.datetime, prefix: str = "python") -> tuple[sa.Select[Any], Compiler]:
        """Return the SELECT over arriving records, with `passing` for the filter, and its compiler."""
        schema = self.relation.schema
        source = sa.table(_ARRIVING, *(sa.column(name, column_type(schema[name].type)) for name in self.needed))
        compiler = Compiler(self.columns, source, "duckdb", slot, self.relation.timezone, prefix=prefix)
        values = [compiler.column(name).label(name) for name in self.names]
        condition = sa.true() if self.where is None else compiler.condition(self.where)
        return sa.select(*values, condition.label(self.passing)), compiler

    @cached_property
    def passing(self) -> str:
        return unused(["passes"], self.names)["passes"]

    @property
    def empty(self) -> Streamed:
        """No records, with the types of the dataset's columns."""
        schema = self.relation.schema
        fields = [pa.field(name, _ARROW[schema[name].type]) for name in self.needed]
        return Streamed(lambda _columns: pa.RecordBatchReader.from_batches(pa.schema(fields), []))


@dataclass(frozen=True)
class TableCounts:
    """The records of a dataset that were read, those in the table, and those with an unknown `where`."""

    read: int
    scanned: int
    unknown: int

    def skipped(self, dataset: str) -> Iterator[Skipped]:
        if self.unknown:
            yield Skipped("where", _UNKNOWN, self.unknown, scanned=False, dataset=dataset)


class QuerySession(Session):
    """DuckDB over these datasets and nothing else, inside a `with`: no file, no network, no setting, no other table."""

    def __init__(
        self,
        tables: Sequence[QueryTable],
        records: Mapping[str, Streamed | Readable],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> None:
        super().__init__(memory, temp, stop)
        self._tables = tables
        self._records = records
        self._slot = slot

    def load(self) -> None:
        self.run("create schema reconcile")
        for number, table in enumerate(self._tables):
            self._fill(number, table, self._records[table.relation.dataset])
        for statement in _CLOSED:
            self.run(statement)

    def counts(self) -> Mapping[str, TableCounts]:
        """Return the counts of each dataset."""
        counts = {}
        for number, table in enumerate(self._tables):
            loaded = sa.table(f"loaded_{number}", sa.column(table.passing, sa.Boolean()), schema="reconcile")
            passes = loaded.c[table.passing]
            counted = sa.func.count()
            numbers: tuple[sa.ColumnElement[Any], ...] = (
                counted,
                counted.filter(passes),
                counted.filter(passes.is_(None)),
            )
            [row] = self.rows(sa.select(*numbers).select_from(loaded))
            counts[table.relation.dataset] = TableCounts(*map(int, row))
        return counts

    def prepare(self, select: Select) -> Schema:
        """Return the columns of the query's answer. Raises SelectRefused if it does not fit the tables."""
        try:
            self.run(f"create view {_ANSWER} as {select.at(self._slot)}")
            answer = self._db.sql(f"{self._answer()} limit 0").to_arrow_table()
        except duckdb.Error as error:
            if isinstance(error, duckdb.InterruptException):
                raise
            raise SelectRefused(_in_one_line(error)) from None
        return schema_from_arrow(answer.schema)

    def answer(self, most: int) -> pa.Table:
        """Return at most so many rows of the answer to the prepared query. Raises OutOfMemory, duckdb.Error."""
        try:
            table: pa.Table = self._db.sql(f"{self._answer()} limit {most}").to_arrow_table()
        except duckdb.OutOfMemoryException as error:
            raise OutOfMemory(self._memory) from error
        return table

    def strangers(self, table: QueryTable, ids: Sequence[str], others: Sequence[str]) -> int:
        """Return how many rows of the prepared query's answer have an id, or one with other values, of no record.

        Rows without an id do not count, nor do empty other values.
        """
        own = f"main.{_quoted(table.relation.dataset)}"
        described = (self._db.execute(f"describe {relation}").fetchall() for relation in (_ANSWER, own))
        answer, records = ({name: kind for name, kind, *_ in rows} for rows in described)

        def sides(name: str) -> tuple[str, str]:
            cast = "" if _is_number(answer[name]) and _is_number(records[name]) else "::varchar"
            return f"a.{_quoted(name)}{cast}", f"r.{_quoted(name)}{cast}"

        alike = [f"{ours} = {theirs}" for ours, theirs in map(sides, ids)]
        alike += [f"({ours} is null or {ours} = {theirs})" for ours, theirs in map(sides, others)]
        named = " and ".join(f"a.{_quoted(name)} is not null" for name in ids)
        has_record = f"exists (select 1 from {own} r where {' and '.join(alike)})"
        [(rows,)] = self._db.execute(f"select count(*) from {_ANSWER} a where {named} and not {has_record}").fetchall()
        return int(rows)

    def _fill(self, number: int, table: QueryTable, records: Streamed | Readable) -> None:
        select, compiler = table.compiled(self._slot, f"python_{number}")
        self.define(compiler.python)
        filling = f"create table reconcile.loaded_{number} as {render(select, self.dialect)}"
        if isinstance(records, Readable):
            self._fill_readable(filling, table, records)
        else:
            with self.shown(_ARRIVING, records.open(table.needed)):
                self._run_filling(filling)
        passes = sa.column(table.passing, sa.Boolean())
        loaded = sa.table(f"loaded_{number}", *map(sa.column, table.names), schema="reconcile")
        view = sa.select(*loaded.c).select_from(loaded).where(passes)
        self.run(f"create view main.{_quoted(table.relation.dataset)} as {render(view, self.dialect)}")

    def _fill_readable(self, filling: str, table: QueryTable, records: Readable) -> None:
        try:
            self.execute(f"create temp view {_ARRIVING} as {records.sql(table.needed)}")
            self._run_filling(filling)
            self.execute(f"drop view {_ARRIVING}")
        except duckdb.Error as error:
            if records.failure is None or is_overflow(error) or isinstance(error, duckdb.InterruptException):
                raise
            raise records.failure(error) from error

    def _run_filling(self, filling: str) -> None:
        try:
            self.run(filling)
        except duckdb.OutOfMemoryException as error:
            raise OutOfMemory(self._memory) from error

    def _answer(self) -> str:
        """Return the SELECT of the answer, with types that rules have."""
        described = self._db.execute(f"describe {_ANSWER}").fetchall()
        values = (f"{_value(_quoted(name), kind)} as {_quoted(name)}" for name, kind, *_ in described)
        return f"select {', '.join(values)} from {_ANSWER}"


def _is_number(kind: str) -> bool:
    return kind.startswith("DECIMAL(") or kind in _UNSIGNED or kind in _NUMBERS


def _value(column: str, kind: str) -> str:
    """Return a column of an answer as a type that rules have: times in UTC, and within the calendar; else as text."""
    if kind in _PLAIN or kind in _UNSIGNED or kind.startswith("DECIMAL("):
        return column
    if kind.startswith("TIMESTAMP") and kind != "TIMESTAMP WITH TIME ZONE":
        column, kind = f"timezone('UTC', {column}::timestamp)", "TIMESTAMP WITH TIME ZONE"
    if kind == "DATE":
        return f"case when {column} between date '0001-01-01' and date '9999-12-31' then {column} end"
    if kind == "TIMESTAMP WITH TIME ZONE":
        first, last = "0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"
        return f"case when {column} between timestamptz '{first}' and timestamptz '{last}' then {column} end"
    return f"{column}::varchar"


def _in_one_line(error: duckdb.Error) -> str:
    """Return DuckDB's own words about a query, which hold names and constants of the query, and no record."""
    message = str(error).split("\n\nLINE", maxsplit=1)[0]
    _, _, words = message.partition(": ")
    return " ".join((words or message).split()).rstrip(". ")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
