"""The records of a table of PostgreSQL that changed since an earlier run.

The column `by` says when a record changed last, by the clock of whoever wrote it. Three things can make it older than
the run that could not see the record yet:

- A transaction that was open writes the time of its own start. The mark keeps the earliest start of the transactions
  that were open when the run began, as far as our user may see it.
- A transaction that was open had written rows with any time. The mark keeps the oldest transaction that held the table
  for writing: all rows of that and of later ones are read, in one pass over the table, which needs no privilege.
  (Visibility by `pg_visible_in_snapshot` would miss subtransactions, whose numbers a snapshot does not hold, and would
  need that pass in every run.)
- The clock of an application is behind. That is what the overlap is for.

So a run finds every change that was written before the previous run began, whatever time it carries, and later ones by
their time. Rows without a time are always read.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import sqlalchemy as sa

from connectors.base import Touched
from connectors.sql.columns import Base, SqlColumn, regclass
from connectors.sql.errors import ErrorContext
from connectors.sql.indexes import TableIndexes, table_indexes
from connectors.sql.reading import AsDeclared
from connectors.sql.settings import SqlDataset
from connectors.sql.snapshot import SqlSnapshot, opened
from connectors.sql.stop import read_of
from connectors.sql.stream import close_connection, translated_errors
from connectors.sql.values import Wall

HALF_OF_ALL = 2_000_000_000
"""Transactions after which PostgreSQL's numbers of 32 bits cannot be compared any more."""
_SHIFTED = dt.timedelta(hours=2)
"""The most that a zone's clock is put back at once: naive times repeat for so long."""

_MARK = sa.text(
    """
    with concerned as (
        select cast(to_regclass(:name) as oid) as relation
        union select cast(relid as oid) from pg_partition_tree(to_regclass(:name))
    ),
    writing as (
        select virtualtransaction from pg_locks l join concerned c on c.relation = l.relation
        where l.locktype = 'relation' and l.granted
        and l.database = (select oid from pg_database where datname = current_database())
        and l.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    )
    select clock_timestamp() as at,
        (
            select min(xact_start) from pg_stat_activity
            where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
        ) as began,
        cast(pg_snapshot_xmax(pg_current_snapshot()) as text) as next,
        (
            select cast(transactionid as text) from pg_locks
            where locktype = 'transactionid' and mode = 'ExclusiveLock' and granted
            and virtualtransaction in (select virtualtransaction from writing)
            order by age(transactionid) desc limit 1
        ) as open,
        concat_ws(
            '/', (select oid from pg_database where datname = current_database()),
            (select string_agg(concat_ws(':', relation, pg_relation_filenode(relation)), ',' order by relation)
            from concerned)
        ) as place,
        row_security_active(cast(to_regclass(:name) as oid)) as secured
    """
).columns(at=sa.DateTime(timezone=True), began=sa.DateTime(timezone=True))


def untracked(dialect: str, dataset: SqlDataset) -> str | None:
    """Return why a dataset's changes cannot be found, as a clause."""
    if dataset.table is None:
        return "it is a `query`, and only a `table` says which of its records changed"
    return None if dialect == "postgresql" else "only tables of PostgreSQL say which of their records changed"


@contextmanager
def changes(
    connect: Callable[[], sa.Connection],
    described: Callable[[sa.Connection, SqlDataset], tuple[Base, list[SqlColumn]]],
    declared: Callable[[SqlColumn], AsDeclared | None],
    dataset: SqlDataset,
    place: ErrorContext,
    seconds: float,
) -> Iterator[TableChanges]:
    """Open a view of a table's changes."""
    connection = connect()
    try:
        base, columns = described(connection, dataset)
        assert isinstance(base, sa.TableClause)  # noqa: S101 - untracked() refuses queries
        with translated_errors(place, read_of(connection)):
            indexes = table_indexes(connection, base)
            mark = _mark(connection, base)  # before the snapshot, which sees everything that had ended by then
            connection.rollback()
    except BaseException:
        close_connection(connection)
        raise
    kinds = {column.name: kind for column in columns if (kind := declared(column)) is not None}
    by_name = {column.name: column for column in columns}
    with opened(lambda: connection, lambda *_: base, place, seconds) as snapshot:
        yield TableChanges(snapshot, base, by_name, kinds, indexes, mark)


def _mark(connection: sa.Connection, base: sa.TableClause) -> Mapping[str, Any]:
    row = connection.execute(_MARK, {"name": regclass(base)}).one()
    began = row.at if row.began is None else min(row.began, row.at)
    return {
        "at": _text(row.at),
        "began": _text(began),
        "next": row.next,
        "open": row.open,
        "place": row.place,
        "secured": row.secured,
    }


class TableChanges:
    """See `connectors.base.Changes`."""

    def __init__(
        self,
        snapshot: SqlSnapshot,
        base: sa.TableClause,
        columns: Mapping[str, SqlColumn],
        declared: Mapping[str, AsDeclared],
        indexes: TableIndexes,
        mark: Mapping[str, Any],
    ) -> None:
        self._snapshot, self._mark = snapshot, mark
        self._columns, self._declared, self._indexes = columns, declared, indexes
        plain: list[sa.ColumnClause[Any]] = [
            sa.column(sa.sql.quoted_name(column.name, quote=True), sa.types.NULLTYPE if column.cast else column.kind)
            for column in columns.values()
        ]
        self._table = sa.table(base.name, *plain, schema=base.schema)

    def obstacle(self, by: str, identity: Sequence[str], parts: Sequence[str]) -> str | None:
        if self._mark["secured"]:
            return "row-level security decides which records it shows, and that can change without a change of them"
        if not isinstance(self._columns[by].kind, (sa.Date, sa.DateTime)):
            return f"the database keeps `{by}` neither as a date nor as a time"
        if unfit := [name for name in identity if not self._is_comparable(name)]:
            return f"the database cannot look up `{unfit[0]}` as it is read"
        if usable := self.usable(parts):
            return self._indexes.obstacle(by, identity, usable)
        return "the database can look up no part of its key as it is read"

    def usable(self, parts: Sequence[str]) -> tuple[str, ...]:
        """The columns whose values the database can look up as they are read."""
        return tuple(filter(self._is_comparable, parts))

    def _is_comparable(self, name: str) -> bool:
        column = self._columns[name]
        if isinstance(column.kind, Wall) and column.kind.zone != "UTC":
            return False  # when a clock is put back, one instant is two wall times
        return name not in self._declared and (not column.cast or name in self._indexes.uuids)

    def mark(self) -> Mapping[str, Any]:
        return self._mark

    def refusal(self, mark: Mapping[str, Any]) -> str | None:
        now = self._mark
        if mark.get("place") != now["place"]:
            return "the table or one of its partitions was added, replaced or emptied since"
        if int(now["next"]) < int(mark["next"]):
            return "the database was restored since"
        return "too many transactions ran since" if int(now["next"]) - int(mark["next"]) > HALF_OF_ALL else None

    def touched(
        self, mark: Mapping[str, Any], by: str, overlap: dt.timedelta, columns: Sequence[str], most: int
    ) -> Touched | None:
        column = self._table.c[by]
        since = dt.datetime.fromisoformat(mark["began"]) - overlap
        conditions = [column >= sa.literal(_as_stored(since, column.type), column.type), column.is_(None)]
        if mark["open"] is not None:
            oldest: sa.ColumnElement[Any] = sa.literal_column(f"'{int(mark['open'])}'::xid")
            conditions.append(sa.func.age(sa.literal_column("xmin")) <= sa.func.age(oldest))
        tables: list[pa.Table] = []
        for condition in conditions:
            table = self._read(columns, condition, most - sum(map(len, tables)))
            if table is None:
                return None
            tables.append(table)
        return Touched(pa.concat_tables(tables), len(tables[1]))

    def matching(
        self, names: Sequence[str], values: Sequence[tuple[Any, ...]], columns: Sequence[str], most: int
    ) -> pa.Table | None:
        arrays = [self._array(name, part) for name, part in zip(names, zip(*values, strict=True), strict=True)]
        condition: sa.ColumnElement[bool]
        if len(names) == 1:
            condition = self._table.c[names[0]] == sa.any_(arrays[0])
        else:
            rows = sa.func.unnest(*arrays).table_valued(*(f"part_{n}" for n in range(len(names)))).render_derived()
            parts = [self._table.c[name] == part for name, part in zip(names, rows.c, strict=True)]
            condition = sa.exists(sa.select(sa.literal_column("1")).select_from(rows).where(*parts))
        return self._read(columns, condition, most)

    def _read(self, columns: Sequence[str], condition: sa.ColumnElement[bool], most: int) -> pa.Table | None:
        statement = sa.select(*map(self._selected, columns)).where(condition).limit(most + 1)
        table = self._snapshot.whole(statement)
        return table if len(table) <= most else None

    def _selected(self, name: str) -> sa.ColumnElement[Any]:
        column, shown = self._columns[name], self._table.c[name]
        value: sa.ColumnElement[Any] = sa.cast(shown, column.kind) if column.cast else shown
        if name in self._declared:
            value = sa.type_coerce(value, self._declared[name])
        return shown if value is shown else value.label(sa.sql.quoted_name(name, quote=True))

    def _array(self, name: str, values: Sequence[Any]) -> sa.ColumnElement[Any]:
        column = self._columns[name]
        kind: sa.types.TypeEngine[Any] = sa.UUID(as_uuid=False) if column.cast else _unlimited(column.kind)
        return sa.literal([_as_stored(value, kind) for value in values], sa.ARRAY(kind))


def _unlimited(kind: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any]:
    """Return the type without a size: a value that does not fit the column any more equals none there."""
    if isinstance(kind, sa.Integer):
        return sa.BigInteger()
    return sa.Numeric() if isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float) else kind


def _as_stored(value: Any, kind: sa.types.TypeEngine[Any]) -> Any:
    """Return a value as the column holds it: instants in a column of days, or of naive times, are in its zone."""
    if isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float):
        return Decimal(value)
    if not isinstance(value, dt.datetime) or (isinstance(kind, sa.DateTime) and kind.timezone):
        return value
    if isinstance(kind, sa.Date):
        return (value - dt.timedelta(days=1)).date()
    if isinstance(kind, Wall) and kind.zone != "UTC":
        value = value.astimezone(ZoneInfo(kind.zone)) - _SHIFTED
    return value.replace(tzinfo=None)


def _text(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).isoformat()
