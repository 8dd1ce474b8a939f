"""Rows in memory for every engine: streamed and readable for DuckDB, and in tables of real databases."""

import datetime as dt
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from rules.engines.base import MoneyColumns, Pushed, Readable, Records, Relation, Stop, Streamed
from rules.groups.detection import Detection
from rules.kinds.base import DoesNotFit
from rules.kinds.duplicates import DuplicatesRule
from rules.kinds.duplicates.detection import FittedDuplicates
from rules.values import Column, Schema, Type, Value
from tests.support.servers import MARIADB, POSTGRES, scratch_database

ARROW = {
    Type.TEXT: pa.string(),
    Type.INTEGER: pa.int64(),
    Type.DECIMAL: pa.decimal128(38, 9),
    Type.FLOAT: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.INSTANT: pa.timestamp("us", "UTC"),
    Type.BYTES: pa.binary(),
}
_counter = itertools.count()


@pytest.fixture(scope="module")
def databases() -> Iterator[dict[str, sa.Engine]]:
    """An engine for each database; those of servers in databases of their own, dropped afterwards."""
    opened = [(name, scratch_database(url)) for name, url in (("postgresql", POSTGRES), ("mariadb", MARIADB))]
    engines = {name: sa.create_engine(next(scratch)) for name, scratch in opened}
    engines["sqlite"] = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    yield engines
    for engine in engines.values():
        engine.dispose()
    for _, scratch in opened:
        next(scratch, None)


@dataclass(frozen=True)
class Rows:
    """A small dataset: typed columns and rows as dictionaries."""

    types: Mapping[str, Type]
    rows: Sequence[Mapping[str, Value]]
    id: tuple[str, ...] = ("id",)
    where: str | None = None
    timezone: str = "UTC"
    derived: Mapping[str, str] = field(default_factory=dict)
    money: MoneyColumns | None = None

    def relation(self, *, unpushable: Sequence[Type] = ()) -> Relation:
        columns = tuple(Column(n, t, pushable=t not in unpushable) for n, t in self.types.items())
        return Relation("things", Schema(columns), self.id, self.timezone, self.where, dict(self.derived), self.money)

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        arrays = [pa.array([row.get(name) for row in self.rows], ARROW[self.types[name]]) for name in columns]
        return pa.Table.from_arrays(arrays, names=list(columns))

    def streamed(self) -> Streamed:
        return Streamed(lambda columns: self.arrow(columns).to_reader(max_chunksize=3))

    def readable(self, folder: Path) -> Readable:
        path = folder / f"rows-{next(_counter)}.parquet"
        pq.write_table(self.arrow(list(self.types)), path)

        def select(columns: tuple[str, ...]) -> str:
            names = ", ".join(f'"{name}"' for name in columns)
            return f"select {names} from read_parquet('{path}')"

        return Readable(select)


def _sql_type(kind: Type) -> sa.types.TypeEngine[Any]:
    instant = sa.DateTime(timezone=True).with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
    return {
        Type.TEXT: sa.Text(),
        Type.INTEGER: sa.BigInteger(),
        Type.DECIMAL: sa.Numeric(38, 9),
        Type.FLOAT: sa.Double(),
        Type.BOOLEAN: sa.Boolean(),
        Type.DATE: sa.Date(),
        Type.INSTANT: instant,
        Type.BYTES: sa.LargeBinary(),
    }[kind]


@contextmanager
def pushed(engine: sa.Engine, data: Rows, *, unique: bool = False) -> Iterator[Pushed]:
    """The rows in a new table of that database; every query in the block sees one transaction.

    `unique`: the database says that an index keeps the id unique and not null.
    """
    with pushed_together(engine, [data], unique=unique) as [records]:
        yield records


@contextmanager
def pushed_together(engine: sa.Engine, data: Sequence[Rows], *, unique: bool = False) -> Iterator[list[Pushed]]:
    """Several sets of rows, each in a new table; every query in the block sees one transaction."""
    tables = [_table_of(engine, rows) for rows in data]
    try:
        with engine.connect() as connection:
            yield [
                Pushed(
                    engine.dialect.name,
                    table,
                    lambda statement: _arrow(connection, statement),
                    lambda statement: _arrow(connection, statement).read_all(),
                    lambda _: unique,
                )
                for table in tables
            ]
    finally:
        for table in tables:
            table.drop(engine)


def _table_of(engine: sa.Engine, data: Rows) -> sa.Table:
    table = sa.Table(
        f"things_{next(_counter)}",
        sa.MetaData(),
        *(sa.Column(name, _sql_type(kind), nullable=True) for name, kind in data.types.items()),
    )
    with engine.begin() as connection:
        table.create(connection)
        if data.rows:
            connection.execute(table.insert(), [_stored(row, data.types, engine.dialect.name) for row in data.rows])
    return table


def _stored(row: Mapping[str, Value], types: Mapping[str, Type], dialect: str) -> dict[str, Value]:
    stored: dict[str, Value] = {}
    for name in types:
        value = row.get(name)
        if isinstance(value, dt.datetime) and dialect != "postgresql":
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        stored[name] = value
    return stored


def _arrow(connection: sa.Connection, statement: sa.Select[Any]) -> pa.RecordBatchReader:
    result = connection.execute(statement)
    kinds = [_kind(column.type) for column in statement.selected_columns]
    columns = list(zip(*result.all(), strict=True)) or [()] * len(kinds)
    arrays = [
        pa.array([_read(value, kind) for value in column], ARROW[kind])
        for column, kind in zip(columns, kinds, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=list(result.keys())).to_reader()


def _kind(type_engine: sa.types.TypeEngine[Any]) -> Type:
    for cls, kind in (
        (sa.Boolean, Type.BOOLEAN),
        (sa.Integer, Type.INTEGER),
        (sa.Float, Type.FLOAT),
        (sa.Numeric, Type.DECIMAL),
        (sa.DateTime, Type.INSTANT),
        (sa.Date, Type.DATE),
        (sa.LargeBinary, Type.BYTES),
    ):
        if isinstance(type_engine, cls):
            return kind
    return Type.TEXT


def _read(value: Any, kind: Type) -> Any:
    if value is None:
        return None
    if kind is Type.INSTANT:
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)
    if kind is Type.INTEGER:
        return int(value)
    if kind is Type.DECIMAL:
        return Decimal(value)
    if kind is Type.TEXT and isinstance(value, bytes):
        return value.decode()
    return value


# The kind `duplicates` asked about one dataset, for tests that need no source and no run.


def check(rule: DuplicatesRule, relation: Relation) -> list[str]:
    """What keeps the rule from running on this dataset."""
    try:
        FittedDuplicates.of(rule, relation)
    except DoesNotFit as misfit:
        return list(misfit.mistakes)
    return []


def detect(
    rule: DuplicatesRule,
    relation: Relation,
    records: Records,
    slot: dt.datetime,
    memory: str | None = None,
    temp: Path | None = None,
    stop: Stop | None = None,
) -> Detection:
    """The rule's groups in these records."""
    fitted = FittedDuplicates.of(rule, relation)
    return fitted.detect({relation.dataset: records}, slot, memory, temp, stop)


def explain(rule: DuplicatesRule, relation: Relation, records: Records | str, slot: dt.datetime) -> Sequence[str]:
    """The statements a detection would run; `records` may be just a dialect."""
    fitted = FittedDuplicates.of(rule, relation)
    if isinstance(records, str):
        table = fitted.bound.table_named(relation.dataset)
        records = Streamed(_never) if records == "duckdb" else Pushed(records, table, _never, _never)
    return fitted.explain({relation.dataset: records}, slot)


def guarded(rule: DuplicatesRule, relation: Relation, dialect: str) -> bool:
    return bool(FittedDuplicates.of(rule, relation).bound.uses.guard(dialect))


def needed_columns(rule: DuplicatesRule, relation: Relation) -> tuple[str, ...]:
    return FittedDuplicates.of(rule, relation).bound.needed


def pushdown_obstacle(rule: DuplicatesRule, relation: Relation, dialect: str) -> str | None:
    return FittedDuplicates.of(rule, relation).obstacle(dialect)


def _never(*_: Any) -> Any:
    raise AssertionError("an explanation reads nothing")
