"""The records of a table of PostgreSQL that changed since an earlier run.

The column `by` says when a record changed last, by the clock of its writer. Three things can make it older than
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from connectors.sql.changes.indexes import TableIndexes
from connectors.sql.changes.view import ChangingTable, Condition, TableChanges, since, stored_value, written
from connectors.sql.columns import regclass
from connectors.sql.snapshot import SqlSnapshot
from connectors.sql.values import Wall

HALF_OF_ALL = 2_000_000_000
"""Transactions after which PostgreSQL's numbers of 32 bits cannot be compared any more."""

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
            (
                select string_agg(
                    concat_ws(
                        ':', relation, pg_relation_filenode(relation),
                        (select string_agg(cast(xmin as text), '+') from pg_inherits where inhrelid = relation)
                    ), ',' order by relation
                ) from concerned
            )
        ) as place,
        (
            select encode(sha256(convert_to(string_agg(cast(json_build_array(
                a.attnum, a.attname, cast(a.atttypid as text), a.atttypmod, cast(a.attcollation as text),
                cast(a.attmissingval as text), case when a.attgenerated <> '' then pg_get_expr(d.adbin, d.adrelid) end,
                (
                    with recursive made_of as (
                        select t.oid, t.typbasetype, t.typelem
                        union select b.oid, b.typbasetype, b.typelem from made_of m
                        join pg_type b on b.oid in (m.typbasetype, m.typelem)
                    )
                    select array_agg(e.enumlabel order by e.enumtypid, e.enumsortorder) from pg_enum e
                    where e.enumtypid in (select oid from made_of)
                )
            ) as text), ',' order by a.attnum), 'UTF8')), 'hex')
            from pg_attribute a
            join pg_type t on t.oid = a.atttypid
            left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
            where a.attrelid = to_regclass(:name) and a.attnum > 0
        ) as columns,
        pg_is_in_recovery() as standby
    """
).columns(at=sa.DateTime(timezone=True), began=sa.DateTime(timezone=True))
_TABLE = sa.text(
    """
    select relkind as kind, relkind <> 'p' and relhassubclass as inherited, reltuples as records,
        has_table_privilege(oid, 'SELECT') as readable, row_security_active(oid) as secured
    from pg_class where oid = to_regclass(:name)
    """
)
_LEADING = sa.text(
    """
    select a.attname as column, m.amname as method from pg_index i
    join pg_class c on c.oid = i.indexrelid
    join pg_am m on m.oid = c.relam
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = to_regclass(:name) and i.indpred is null
    and i.indisvalid and i.indisready and i.indislive
    """
)
_DISTINCT = sa.text(
    """
    select s.attname as column, max(s.n_distinct) as different from pg_stats s
    join pg_class c on c.relname = s.tablename
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = s.schemaname
    where c.oid = to_regclass(:name) group by s.attname
    """
)
_COLUMNS = sa.text(
    """
    select attname as column, cast(cast(atttypid as regtype) as text) as kind from pg_attribute
    where attrelid = to_regclass(:name) and attnum > 0 and not attisdropped
    """
)
_ORDERED, _EQUAL = {"btree", "brin"}, {"btree", "hash"}


@dataclass(frozen=True)
class _Facts:
    """Facts of PostgreSQL about the table: the `moment` of this run, and the columns of type uuid."""

    table: sa.Row[Any]
    moment: sa.Row[Any]
    uuids: frozenset[str]


def moment(connection: sa.Connection, base: sa.TableClause) -> sa.Row[Any]:
    """Return the time, the transactions that are open, and the state of the table, as its primary tells them."""
    return connection.execute(_MARK, {"name": regclass(base)}).one()


def prepared(
    connection: sa.Connection, table: ChangingTable, moment: sa.Row[Any]
) -> Callable[[SqlSnapshot], TableChanges]:
    """Read the catalogue, before the snapshot."""
    parameters = {"name": regclass(table.base)}
    columns = {row.column: row.kind for row in connection.execute(_COLUMNS, parameters)}
    of_table = connection.execute(_TABLE, parameters).one()
    indexes = _indexes(connection, table.base, columns, float(of_table.records))
    uuids = frozenset(name for name, kind in columns.items() if kind == "uuid")
    facts = _Facts(of_table, moment, uuids)
    return lambda snapshot: PostgresChanges(snapshot, table, indexes, facts)


def _mark(row: sa.Row[Any]) -> Mapping[str, Any]:
    began = row.at if row.began is None else min(row.began, row.at)
    names = ("next", "open", "place", "columns")
    return {"at": written(row.at), "began": written(began)} | {name: getattr(row, name) for name in names}


def _indexes(connection: sa.Connection, base: sa.TableClause, columns: Iterable[str], records: float) -> TableIndexes:
    parameters = {"name": regclass(base)}
    leading: dict[str, set[str]] = {}
    for row in connection.execute(_LEADING, parameters):
        leading.setdefault(row.column, set()).add(row.method)
    quote = connection.dialect.identifier_preparer.quote
    name = ".".join(quote(str(part)) for part in (base.schema, base.name) if part)
    return TableIndexes(
        remedies={column: f"create index on {name} ({quote(column)})" for column in columns},
        ranged=frozenset(column for column, methods in leading.items() if methods & _ORDERED),
        equal=frozenset(column for column, methods in leading.items() if methods & _EQUAL),
        alike={
            row.column: _alike(float(row.different), records)
            for row in connection.execute(_DISTINCT, parameters)
            if row.different
        },
    )


def _alike(different: float, records: float) -> float:
    """Return the mean number of records with one value; a negative `different` means a share of the records."""
    return -1 / different if different < 0 else max(records, 0) / different


class PostgresChanges(TableChanges):
    """See `connectors.base.Changes`."""

    def __init__(self, snapshot: SqlSnapshot, table: ChangingTable, indexes: TableIndexes, facts: _Facts) -> None:
        super().__init__(snapshot, table, indexes)
        self._facts = facts

    def mark(self) -> Mapping[str, Any]:
        return _mark(self._facts.moment)

    def refusal(self, mark: Mapping[str, Any]) -> str | None:
        now = self.mark()
        if mark.get("place") != now["place"]:
            return "the table or one of its partitions was added, replaced or emptied since"
        if mark.get("columns") != now["columns"]:  # PostgreSQL alters most without writing a row
            return "a column of the table, or the labels of its type, was altered since"
        if int(now["next"]) < int(mark["next"]):
            return "the database was restored since"
        return "too many transactions ran since" if int(now["next"]) - int(mark["next"]) > HALF_OF_ALL else None

    def _impediments(self, columns: Sequence[str]) -> Iterator[str]:  # noqa: ARG002 - its triggers fire for every change
        facts, name = self._facts, self._table.base.name
        if facts.table.secured:
            yield (
                "row-level security decides which records are visible, and that can change without a change of "
                "the records"
            )
        if facts.table.kind not in ("r", "p"):
            yield f"{name} is not a table: a view does not report which records changed"
        if facts.table.inherited:
            yield f"other tables inherit from {name}"
        if facts.moment.standby:
            yield "a standby does not report open transactions; name its primary as `url`, and the standby as `replica`"
        if not facts.table.readable:
            yield f"incremental reads need SELECT on the whole table; grant select on {name}"
        if not isinstance(self._table.time.type, (sa.Date, sa.DateTime)):
            yield f"`{self._table.by}` is neither a date nor a time in the database"

    def _is_comparable(self, name: str) -> bool:
        column = self._table.columns[name]
        if isinstance(column.kind, Wall) and column.kind.zone != "UTC":
            return False  # when a clock is put back, one instant is two wall times
        return name not in self._table.declared and (not column.cast or name in self._facts.uuids)

    def _changed_since(self, mark: Mapping[str, Any], overlap: dt.timedelta) -> Iterator[Condition]:
        time = self._table.time
        yield time >= sa.literal(stored_value(since(mark["began"], overlap), time.type), time.type)
        if mark["open"] is not None:
            oldest: sa.ColumnElement[Any] = sa.literal_column(f"'{int(mark['open'])}'::xid")
            yield sa.func.age(sa.literal_column("xmin")) <= sa.func.age(oldest)

    def _having(self, names: Sequence[str], values: Sequence[tuple[Any, ...]]) -> Iterator[Condition]:
        """Yield one condition: an array holds any number of values, and the statement stays as short."""
        plain = self._table.plain.c
        arrays = [self._array(name, part) for name, part in zip(names, zip(*values, strict=True), strict=True)]
        if len(names) == 1:
            yield plain[names[0]] == sa.any_(arrays[0])
        elif arrays:
            rows = sa.func.unnest(*arrays).table_valued(*(f"part_{n}" for n in range(len(names)))).render_derived()
            parts = [plain[name] == part for name, part in zip(names, rows.c, strict=True)]
            yield sa.exists(sa.select(sa.literal_column("1")).select_from(rows).where(*parts))

    def _array(self, name: str, values: Sequence[Any]) -> sa.ColumnElement[Any]:
        column = self._table.columns[name]
        kind: sa.types.TypeEngine[Any] = sa.UUID(as_uuid=False) if column.cast else _unlimited(column.kind)
        return sa.literal([stored_value(value, kind) for value in values], sa.ARRAY(kind))


def _unlimited(kind: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any]:
    """Return the type without a size: a value that does not fit the column any more equals none there."""
    if isinstance(kind, sa.Integer):
        return sa.BigInteger()
    return sa.Numeric() if isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float) else kind
