"""The records of a table of SQLite that changed since an earlier run.

Writers of SQLite take turns, but nothing tells a reader which of them is writing: see
`connectors.sql.changes.overlapping`.

Any cell may hold anything. Times are texts such as `2026-11-02 06:00:00`, with a `T`, a fraction or an offset, or in a
column declared `instant` numbers of seconds; the database compares them as texts and numbers. The order of texts is
that of their days, so all records of the days around a time are looked at, and the few that are in the usual form
compared more closely. What begins with no day is visited: from one day to the next through the index.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import NULLTYPE

from connectors.sql.changes.indexes import TableIndexes
from connectors.sql.changes.overlapping import OverlappingChanges
from connectors.sql.changes.view import ChangingTable, Condition, TableChanges, any_of, stored_value
from connectors.sql.columns import SqlColumn
from connectors.sql.snapshot import SqlSnapshot
from connectors.sql.values import Wall, without_zeros

_TABLES = sa.text("select type, wr from pragma_table_list where schema = 'main' and name = :name collate nocase")
_COLUMNS = sa.text("select name, type, pk from pragma_table_xinfo(:name, 'main')")
_INDEXES = sa.text(
    """
    select l.name as name, l.origin as origin, x.name as first
    from pragma_index_list(:name, 'main') l join pragma_index_xinfo(l.name, 'main') x on x.seqno = 0
    where not l.partial and x.name is not null
    """
)
_FILE = sa.text("select file from pragma_database_list where name = 'main'")
_DEFINITION = sa.text(
    "select rootpage, sql from main.sqlite_master where type = 'table' and name = :name collate nocase"
)
_HAS_MEANS = sa.text("select count(*) from pragma_table_list where name = 'sqlite_stat1'")
_MEANS = sa.text("select idx, stat from sqlite_stat1 where tbl = :name collate nocase and idx is not null")
_NO_AFFINITY = ("", "ANY")
"""Declared types of columns that keep whatever is stored, so that a number is not found by its text."""
_FIRST_YEAR, _AFTER_YEARS = "1000-", ":"
"""Texts before the one, and from the other on, are no times that a run can read. Neither looks like a number, for which
the database would take it."""
_DAY = "[1-9][0-9][0-9][0-9]-[0-1][0-9]-[0-3][0-9]"
_USUAL = f"{_DAY}[ T][0-2][0-9]:[0-5][0-9]:[0-5][0-9]*"
_DAY_LENGTH, _SECOND_LENGTH = 10, 19
_ONE_DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class _Facts:
    """The table in the catalogue; `types` are the declared types of its columns, in upper case."""

    kind: str
    types: Mapping[str, str]


def moment(connection: sa.Connection, base: sa.TableClause) -> dt.datetime:  # noqa: ARG001 - of any table
    """Return the time."""
    return dt.datetime.now(dt.UTC)


def prepared(
    connection: sa.Connection, table: ChangingTable, moment: dt.datetime
) -> Callable[[SqlSnapshot], TableChanges]:
    """Read the catalogue, before the snapshot."""
    parameters = {"name": str(table.base.name)}
    columns = connection.execute(_COLUMNS, parameters).all()
    of_table = connection.execute(_TABLES, parameters).one()
    facts = _Facts(of_table.type, {column.name: str(column.type).upper() for column in columns})
    indexes = _indexes(connection, parameters, columns, is_by_key=bool(of_table.wr))
    place = _place(connection, parameters)
    return lambda snapshot: SqliteChanges(snapshot, table, indexes, moment, place, facts)


def _place(connection: sa.Connection, parameters: Mapping[str, str]) -> str:
    """Return a text that differs if the file or the table was replaced, or the table altered."""
    [file] = connection.execute(_FILE).scalars()
    definition = connection.execute(_DEFINITION, parameters).one_or_none()
    return f"{Path(file).stat().st_ino}/{definition}"


def _indexes(
    connection: sa.Connection, parameters: Mapping[str, str], columns: Sequence[Any], *, is_by_key: bool
) -> TableIndexes:
    quote = connection.dialect.identifier_preparer.quote_identifier
    table = f"main.{quote(parameters['name'])}"
    rows = connection.execute(_INDEXES, parameters).all()
    first = {row.name: row.first for row in rows}
    indexed = {row.first for row in rows if _searches(connection, table, quote(row.name), quote(row.first))}
    if is_by_key or all(row.origin != "pk" for row in rows):  # the table is in the order of its key, or of an integer
        indexed.update(column.name for column in columns if column.pk == 1)
    means = connection.execute(_MEANS, parameters).all() if connection.execute(_HAS_MEANS).scalar() else []
    short = connection.dialect.identifier_preparer.quote
    return TableIndexes(
        remedies={column.name: _remedy(parameters["name"], column.name, short) for column in columns},
        ranged=frozenset(indexed),
        equal=frozenset(indexed),
        alike={first[row.idx]: float(row.stat.split()[1]) for row in means if row.idx in first and " " in row.stat},
    )


def _remedy(table: str, column: str, quote: Callable[[str], str]) -> str:
    return f"create index {quote(f'{table}_{column}_idx')} on {quote(table)} ({quote(column)})"


def _searches(connection: sa.Connection, table: str, index: str, column: str) -> bool:
    """Return True if the index finds a value of its first column: not with another collation than the column's."""
    plan = f"explain query plan select 1 from {table} indexed by {index} where {column} = ?"
    return any(str(row[3]).startswith("SEARCH") for row in connection.exec_driver_sql(plan, ("",)))


class SqliteChanges(OverlappingChanges):
    """See `connectors.base.Changes`."""

    def __init__(
        self,
        snapshot: SqlSnapshot,
        table: ChangingTable,
        indexes: TableIndexes,
        now: dt.datetime,
        place: str,
        facts: _Facts,
    ) -> None:
        super().__init__(snapshot, table, indexes, now, place)
        self._facts = facts

    def _impediments(self, columns: Sequence[str]) -> Iterator[str]:  # noqa: ARG002 - its triggers fire for every change
        by, name = self._table.by, self._table.base.name
        if self._facts.kind != "table":
            yield f"{name} is not a table: a view does not report which records changed"
        elif self._kind is None:
            yield f"`{by}` holds times in a form that the database does not compare as times"
        elif self._kind is not sa.Integer and by in self._indexes.ranged and self._begins_with_no_day():
            yield f"`{by}` holds texts that the database does not compare as times"

    @property
    def _kind(self) -> type[sa.Date | sa.DateTime | sa.Integer] | None:
        """How times are stored: as days, as times, or as seconds since 1970; None for anything else."""
        column = self._table.columns[self._table.by]
        as_declared = self._table.declared.get(column.name)
        declared = as_declared.declared if as_declared is not None else None
        if declared is not None and declared.formats:
            return None
        if isinstance(column.kind, sa.Integer):
            return sa.Integer if declared is None or declared.epoch in (None, "s") else None
        if declared is not None and declared.epoch:
            return None
        word = declared.word if declared is not None else ""
        return sa.Date if word == "date" or isinstance(column.kind, sa.Date) else sa.DateTime

    def _begins_with_no_day(self) -> bool:
        """Return True if some text that begins with a digit begins with no day: one look-up for each day."""
        heads = sa.select(self._first_head(_FIRST_YEAR).label("head")).cte("heads", recursive=True)
        day = sa.type_coerce(heads.c.head, sa.Text)
        last = sa.func.unicode(sa.func.substr(day, _DAY_LENGTH, 1))
        after = sa.func.substr(day, 1, _DAY_LENGTH - 1, type_=sa.Text).concat(sa.func.char(last + 1))
        heads = heads.union_all(sa.select(self._first_head(after)).where(_like(day, _DAY)))
        odd = sa.select(heads.c.head).where(sa.not_(_like(heads.c.head, _DAY))).limit(1)
        return len(self._whole(odd)) > 0

    def _first_head(self, since: Any) -> sa.ScalarSelect[Any]:
        """Return how the first text begins that is not before another; null if there is none."""
        first = sa.func.substr(sa.func.min(self._stored, type_=sa.Text), 1, _DAY_LENGTH, type_=sa.Text)
        return sa.select(first).where(self._stored >= since, self._stored < _AFTER_YEARS).scalar_subquery()

    def _is_comparable(self, name: str) -> bool:
        column = self._table.columns[name]
        if name in self._table.declared or self._facts.types.get(name, "") in _NO_AFFINITY:
            return False
        kinds = (sa.Integer, sa.Boolean, sa.Text, sa.LargeBinary)
        return isinstance(column.kind, kinds) or _is_decimal(column)

    def _one_of(self, name: str, values: Sequence[Any]) -> Condition:
        column = self._table.columns[name]
        if _is_decimal(column):  # as text without a fraction of zeros, it becomes a number there without a loss
            values = [format(without_zeros(value), "f") for value in values]
        elif not isinstance(column.kind, sa.Text):
            return super()._one_of(name, values)
        texts = list(values)
        if isinstance(column.kind, sa.Text):  # a blob is read as the text that it spells
            texts += [value.encode() for value in values]
        return sa.type_coerce(self._table.plain.c[name], NULLTYPE).in_(any_of(texts, NULLTYPE))

    def _is_before_all(self) -> Condition:
        """Return a condition also for numbers, which are before all texts; other texts are after any time."""
        return sa.false() if self._kind is sa.Integer else self._stored < _FIRST_YEAR

    def _is_since(self, moment: dt.datetime) -> Condition:
        if self._kind is sa.Integer:
            return self._table.time >= int(moment.timestamp())
        is_near = self._stored >= _written(moment - _ONE_DAY)[:_DAY_LENGTH]
        if self._kind is sa.Date:
            return is_near
        is_later = sa.func.replace(self._stored, "T", " ") >= min(self._written(moment))
        return sa.and_(is_near, sa.or_(is_later, sa.not_(_like(self._stored, _USUAL)), self._has_offset))

    def _is_until(self, moment: dt.datetime) -> Condition:
        if self._kind is sa.Integer:
            return self._table.time <= int(moment.timestamp())
        return self._stored.between(_FIRST_YEAR, max(self._written(moment)).replace(" ", "T"))

    @property
    def _stored(self) -> sa.ColumnElement[Any]:
        """The column with the time of a change, compared as a text."""
        return sa.type_coerce(self._table.time, sa.Text)

    @property
    def _has_offset(self) -> Condition:
        tail = sa.func.substr(self._stored, _SECOND_LENGTH + 1)
        return sa.and_(_like(tail, "*[-+]*"), sa.not_(_like(tail, "*+00:00")))

    def _written(self, moment: dt.datetime) -> tuple[str, str]:
        """Return an instant in UTC, and as a naive time of the dataset's zone."""
        as_declared, kind = self._table.declared.get(self._table.by), self._table.time.type
        zone = as_declared.notation.timezone if as_declared else kind.zone if isinstance(kind, Wall) else "UTC"
        return _written(moment), _written(stored_value(moment, Wall(zone)))


def _is_decimal(column: SqlColumn) -> bool:
    return isinstance(column.kind, sa.Numeric) and not isinstance(column.kind, sa.Float)


def _like(text: Any, pattern: str) -> Condition:
    matches: Condition = text.op("glob", is_comparison=True)(pattern)
    return matches


def _written(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S")
