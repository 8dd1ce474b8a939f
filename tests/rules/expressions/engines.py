"""Runs one SQL expression over a column of values on a real engine: what an exactness claim is tested with."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from rules.functions import render
from rules.values import Type

Expression = Callable[..., Any]
ARROW = {
    Type.TEXT: pa.string(),
    Type.INTEGER: pa.int64(),
    Type.DECIMAL: pa.decimal128(20, 4),
    Type.FLOAT: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.INSTANT: pa.timestamp("us", tz="UTC"),
}
SQL: dict[Type, sa.types.TypeEngine[Any]] = {
    Type.TEXT: sa.Text(),
    Type.INTEGER: sa.BigInteger(),
    Type.DECIMAL: sa.Numeric(20, 4),
    Type.FLOAT: sa.Double(),
    Type.BOOLEAN: sa.Boolean(),
    Type.DATE: sa.Date(),
    Type.INSTANT: sa.DateTime(timezone=True).with_variant(mysql.DATETIME(fsp=6), "mysql"),
}


def _query(table: sa.TableClause, expressions: Sequence[sa.ColumnElement[Any]]) -> sa.Select[Any]:
    return sa.select(*(e.label(f"x{i}") for i, e in enumerate(expressions))).select_from(table).order_by(table.c.n)


class DuckRun:
    """DuckDB through its own API, the values handed over as Arrow, the statement as rendered text."""

    dialect = "duckdb"

    def __init__(self) -> None:
        self.connection = duckdb.connect()

    def __call__(self, types: Sequence[Type], rows: Sequence[Sequence[Any]], expression: Expression) -> list[Any]:
        """The expression's value for each row, in order; its arguments are the columns."""
        return self.many(types, rows, [expression])[0]

    def many(
        self, types: Sequence[Type], rows: Sequence[Sequence[Any]], expressions: Sequence[Expression]
    ) -> list[list[Any]]:
        """Each expression's values, in one statement."""
        names = [f"c{i}" for i in range(len(types))]
        columns = {
            n: pa.array([r[i] for r in rows], ARROW[t]) for i, (n, t) in enumerate(zip(names, types, strict=True))
        }
        self.connection.register("t", pa.table({"n": pa.array(range(len(rows)), pa.int64()), **columns}))
        table = sa.table("t", sa.column("n"), *(sa.column(n, SQL[t]) for n, t in zip(names, types, strict=True)))
        query = _query(table, [e(*(table.c[n] for n in names)) for e in expressions])
        result = self.connection.sql(render(query, "duckdb")).to_arrow_table()
        self.connection.unregister("t")
        return [column.to_pylist() for column in result.columns]


class ServerRun:
    """A database through SQLAlchemy with bound parameters; the text columns have the server's default collation."""

    def __init__(self, url: str) -> None:
        self.engine = sa.create_engine(url)
        self.dialect = self.engine.dialect.name
        self.connection = self.engine.connect()
        self.tables: dict[tuple[Type, ...], sa.Table] = {}

    def __call__(self, types: Sequence[Type], rows: Sequence[Sequence[Any]], expression: Expression) -> list[Any]:
        """The expression's value for each row, in order; its arguments are the columns."""
        return self.many(types, rows, [expression])[0]

    def many(
        self, types: Sequence[Type], rows: Sequence[Sequence[Any]], expressions: Sequence[Expression]
    ) -> list[list[Any]]:
        """Each expression's values, in one statement."""
        table = self._table(tuple(types))
        names = [f"c{i}" for i in range(len(types))]
        self.connection.execute(table.delete())
        values = [{"n": i, **dict(zip(names, row, strict=True))} for i, row in enumerate(rows)]
        self.connection.execute(table.insert(), values)
        query = _query(table, [e(*(table.c[n] for n in names)) for e in expressions])
        result = self.connection.execute(query).all()
        return [[row[i] for row in result] for i in range(len(expressions))]

    def _table(self, types: tuple[Type, ...]) -> sa.Table:
        if types not in self.tables:
            columns = [sa.Column(f"c{i}", SQL[t]) for i, t in enumerate(types)]
            table = sa.Table(
                f"t{len(self.tables)}",
                sa.MetaData(),
                sa.Column("n", sa.Integer, primary_key=True, autoincrement=False),
                *columns,
            )
            table.create(self.connection)
            self.tables[types] = table
        return self.tables[types]

    def close(self) -> None:
        self.connection.rollback()
        self.connection.close()
        self.engine.dispose()


Run = DuckRun | ServerRun


ENGINES = [
    "duckdb",
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mariadb", marks=pytest.mark.server),
]


@contextmanager
def opened(request: pytest.FixtureRequest) -> Iterator[Run]:
    """The engine a fixture's parameter names, closed afterwards so that its database can be dropped."""
    if request.param == "duckdb":
        yield DuckRun()
        return
    urls = {"postgresql": "postgres_url", "mariadb": "mariadb_url"}
    run = ServerRun(request.getfixturevalue(urls[request.param]) if request.param in urls else "sqlite://")
    try:
        yield run
    finally:
        run.close()
