"""Writes many rows with one constant statement, compiled and prepared once for any number of rows.

A list, of values or of rows, is one parameter: JSON text. PostgreSQL unpacks it; so does SQLite for lists of
values. For rows, the SQLite driver runs one statement per row faster than it parses JSON. PostgreSQL inserts many rows
fastest by COPY.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeDecorator

from reconcile.store.columns import json_text
from reconcile.store.database import Transaction
from reconcile.store.engine import enlarge_cache

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

Row = Mapping[str, Any]
Names = tuple[str, ...]
Item = TypeVar("Item")


class Words(TypeDecorator[Sequence[str]]):
    """A list of texts as one parameter."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> str:  # noqa: ARG002 - SQLAlchemy's signature
        return json_text(list(value or ()))


class _IsOneOf(sa.sql.functions.GenericFunction[Any]):
    """True if a column holds one of a list."""

    inherit_cache = True
    name = "reconcile_is_one_of"
    type = sa.types.NULLTYPE  # with a Boolean, SQLAlchemy adds `= 1` on SQLite, which then reads every row


@compiles(_IsOneOf, "postgresql")
def _is_any(element: _IsOneOf, compiler: SQLCompiler, **options: Any) -> str:
    column, listed = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({column} = ANY (ARRAY(SELECT json_array_elements_text(CAST({listed} AS json)))))"


@compiles(_IsOneOf, "sqlite")
def _is_in(element: _IsOneOf, compiler: SQLCompiler, **options: Any) -> str:
    column, listed = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({column} IN (SELECT value FROM json_each({listed})))"


def one_of(column: sa.ColumnElement[str], name: str) -> sa.ColumnElement[bool]:
    """Return the condition that the column holds one of the texts bound under that name."""
    return _IsOneOf(column, sa.bindparam(name, type_=Words()))


def is_one_of(column: sa.ColumnElement[str], texts: Sequence[str]) -> sa.ColumnElement[bool]:
    """Return the condition that the column holds one of these texts, which are one parameter however many they are."""
    return _IsOneOf(column, sa.literal(texts, Words()))


class _IsNoneOf(sa.sql.functions.GenericFunction[Any]):
    """True if a column holds none of a list."""

    inherit_cache = True
    name = "reconcile_is_none_of"
    type = sa.types.NULLTYPE


@compiles(_IsNoneOf, "postgresql")
def _is_not_any(element: _IsNoneOf, compiler: SQLCompiler, **options: Any) -> str:
    """Unlike with `ALL`, a list of many is hashed."""
    column, listed = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({column} NOT IN (SELECT json_array_elements_text(CAST({listed} AS json))))"


@compiles(_IsNoneOf, "sqlite")
def _is_not_in(element: _IsNoneOf, compiler: SQLCompiler, **options: Any) -> str:
    column, listed = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({column} NOT IN (SELECT value FROM json_each({listed})))"


def none_of(column: sa.ColumnElement[str], name: str) -> sa.ColumnElement[bool]:
    """Return the condition that the column holds none of the texts bound under that name."""
    return _IsNoneOf(column, sa.bindparam(name, type_=Words()))


def insert_for(tx: Transaction, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
    """Return an INSERT that supports ON CONFLICT, in the store's dialect."""
    if not tx.store.is_shared:
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - loads all drivers for it

    return postgresql.insert(table)


def insert(tx: Transaction, table: sa.TableClause, rows: Sequence[Row], *, ignore: bool = False) -> int:
    """Insert rows with the same columns and return their number. `ignore` skips rows whose primary key exists."""
    if not rows:
        return 0
    names = tuple(rows[0])
    if not ignore and (len(rows) >= _COPIED or not tx.store.is_shared):
        insert_stored(tx, table, as_stored(tx, table, rows))
        return len(rows)
    if not tx.store.is_shared:
        return _run_each(tx, _insert_each(table, ignore=ignore), rows)
    return _run_listed(tx, _insert_listed(table, names, ignore=ignore), {name: table.c[name] for name in names}, rows)


@dataclass(frozen=True)
class StoredRows:
    """Rows of a table in the form in which they are stored: its columns, and the values of each row in their order."""

    names: Names
    rows: Sequence[tuple[Any, ...]]


def as_stored(tx: Transaction, table: sa.TableClause, rows: Sequence[Row]) -> StoredRows:
    """Convert rows with the same columns to their stored form, column by column."""
    names = tuple(column.name for column in table.c if rows and column.name in rows[0])
    columns: list[Iterable[Any]] = []
    for name in names:
        form = table.c[name].type.dialect_impl(tx.connection.dialect).bind_processor(tx.connection.dialect)
        values = map(operator.itemgetter(name), rows)
        columns.append(values if form is None else map(form, values))
    return StoredRows(names, list(zip(*columns, strict=True)))


def insert_stored(tx: Transaction, table: sa.TableClause, stored: StoredRows) -> None:
    """Insert rows that are in their stored form."""
    if not stored.rows:
        return
    if tx.store.is_shared:
        _copy(tx, table, stored)
        return
    if len(stored.rows) >= _MANY:
        enlarge_cache(tx.connection)
    sql, _ = _positional(_insert_each(table, ignore=False), stored.names, tx.connection.dialect)
    for chunk in _chunks(stored.rows):
        tx.connection.exec_driver_sql(sql, list(chunk))


def update(
    tx: Transaction,
    table: sa.Table,
    which: Sequence[Row],
    values: Sequence[Row],
    common: Row | None = None,
) -> int:
    """Update rows and return their number: each row matching `which[i]` gets `values[i]` and `common`.

    All of `which` have the same columns, and so do all `values`.
    """
    if not which:
        return 0
    common = common or {}
    names = tuple(which[0]), tuple(values[0]), tuple(sorted(common))
    rows = [
        {_OLD + name: value for name, value in old.items()} | {_NEW + name: value for name, value in new.items()}
        for old, new in zip(which, values, strict=True)
    ]
    if not tx.store.is_shared:
        return _run_each(tx, _update_each(table, *names), [{**common, **row} for row in rows])
    if len(rows) == 1:  # planned in half the time of a list of length one
        return tx.connection.execute(_update_each(table, *names), {**common, **rows[0]}).rowcount
    columns = {_OLD + name: table.c[name] for name in names[0]} | {_NEW + name: table.c[name] for name in names[1]}
    return _run_listed(tx, _update_listed(table, *names), columns, rows, common)


_AT_ONCE = 2_000
"""Rows: a driver copies all rows of a call."""
_MANY = 1_000
"""Rows that take SQLite a larger cache."""
_COPIED = 50
"""Rows that PostgreSQL inserts faster by COPY than from a list."""
_ROWS, _OLD, _NEW = "the_rows", "old_", "new_"


def _chunks(rows: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (rows[at : at + _AT_ONCE] for at in range(0, len(rows), _AT_ONCE))


def _run_each(tx: Transaction, statement: sa.Insert | sa.Update, rows: Sequence[Row]) -> int:
    """Pass tuples to the driver directly: converting dictionaries in SQLAlchemy takes longer than running in SQLite."""
    run = tx.connection.exec_driver_sql
    sql, forms = _positional(statement, tuple(rows[0]), tx.connection.dialect)
    return sum(run(sql, [_tuple(row, forms) for row in chunk]).rowcount for chunk in _chunks(rows))


Form = Callable[[Any], Any] | None
"""Converts our value to the driver's; None where it is the same."""


@functools.lru_cache(maxsize=256)
def _positional(
    statement: sa.Insert | sa.Update, names: Names, dialect: Dialect
) -> tuple[str, tuple[tuple[str, Form], ...]]:
    keys = list(names) if isinstance(statement, sa.Insert) else None
    compiled: Any = statement.compile(dialect=dialect, column_keys=keys)
    types = {name: compiled.binds[name].type.dialect_impl(dialect) for name in compiled.positiontup}
    return str(compiled), tuple((name, type_.bind_processor(dialect)) for name, type_ in types.items())


def _tuple(row: Row, forms: Sequence[tuple[str, Form]]) -> tuple[Any, ...]:
    return tuple([row[name] if form is None else form(row[name]) for name, form in forms])


@functools.cache
def _insert_each(table: sa.TableClause, *, ignore: bool) -> sa.Insert:
    statement = sqlite.insert(table)
    return statement.on_conflict_do_nothing(index_elements=list(_key(table))) if ignore else statement


def _key(table: sa.TableClause) -> Iterable[sa.ColumnClause[Any]]:
    return (column for column in table.c if column.primary_key)


@functools.cache
def _update_each(table: sa.Table, which: Names, values: Names, common: Names) -> sa.Update:
    old = [table.c[name] == sa.bindparam(_OLD + name, type_=table.c[name].type) for name in which]
    new = {name: sa.bindparam(_NEW + name, type_=table.c[name].type) for name in values}
    return sa.update(table).where(*old).values(new | bound(table, common))


def bound(table: sa.Table, names: Names) -> dict[str, Any]:
    """Return assignments of each column to the parameter of its name."""
    return {name: sa.bindparam(name, type_=table.c[name].type) for name in names}


# On PostgreSQL


def _copy(tx: Transaction, table: sa.TableClause, stored: StoredRows) -> None:
    """Insert by COPY, in this transaction; errors are those of any statement."""
    dialect = tx.connection.dialect
    preparer = dialect.identifier_preparer
    columns = ", ".join(map(preparer.quote, stored.names))
    statement = f"COPY {preparer.quote(table.name)} ({columns}) FROM STDIN"
    driver: Any = tx.connection.connection.driver_connection
    failure: Any = dialect.loaded_dbapi.Error
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in stored.rows:
                copy.write_row(row)
    except failure as error:
        raise sa.exc.DBAPIError.instance(
            statement, None, error, failure, hide_parameters=True, dialect=dialect
        ) from error


def _run_listed(
    tx: Transaction,
    statement: sa.Insert | sa.Update,
    columns: Mapping[str, sa.ColumnClause[Any]],
    rows: Sequence[Row],
    common: Row | None = None,
) -> int:
    run = tx.connection.execute
    return sum(run(statement, {**(common or {}), **_listed(tx, columns, chunk)}).rowcount for chunk in _chunks(rows))


def _listed(tx: Transaction, columns: Mapping[str, sa.ColumnClause[Any]], rows: Sequence[Row]) -> dict[str, str]:
    """Return the rows as one parameter, each value in the form its column would bind."""
    encoded = [dict(row) for row in rows]
    dialect = tx.connection.dialect
    for name, column in columns.items():
        form = column.type.dialect_impl(dialect).bind_processor(dialect)
        if form is not None:
            for row in encoded:
                row[name] = form(row[name])
    return {_ROWS: json.dumps(encoded, separators=(",", ":"))}


@functools.cache
def _insert_listed(table: sa.TableClause, names: Names, *, ignore: bool) -> sa.Insert:
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - loads all drivers for it

    rows = _unfolded({name: table.c[name] for name in names})
    statement = postgresql.insert(table).from_select(names, sa.select(*(rows.c[name] for name in names)))
    statement = statement.execution_options(preserve_rowcount=True)
    return statement.on_conflict_do_nothing(index_elements=list(_key(table))) if ignore else statement


@functools.cache
def _update_listed(table: sa.Table, which: Names, values: Names, common: Names) -> sa.Update:
    columns = {_OLD + name: table.c[name] for name in which} | {_NEW + name: table.c[name] for name in values}
    rows = _unfolded(columns)
    old = [table.c[name] == rows.c[_OLD + name] for name in which]
    return sa.update(table).where(*old).values({n: rows.c[_NEW + n] for n in values} | bound(table, common))


def _unfolded(columns: Mapping[str, sa.ColumnClause[Any]]) -> sa.TableValuedAlias:
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - see above

    listed = sa.cast(sa.bindparam(_ROWS, type_=sa.Text()), postgresql.JSON)
    parts = [sa.column(name, _plain(column)) for name, column in columns.items()]
    return sa.func.json_to_recordset(listed).table_valued(*parts, name="listed").render_derived(with_types=True)


def _plain(column: sa.ColumnClause[Any]) -> sa.types.TypeEngine[Any]:
    """Return the type inside the JSON: text, except for numbers and booleans."""
    if isinstance(column.type, sa.Boolean | sa.Double):
        return column.type
    return sa.BigInteger() if isinstance(column.type, sa.Integer) else sa.Text()
