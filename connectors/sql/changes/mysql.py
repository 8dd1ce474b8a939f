"""The records of a table of MariaDB or MySQL that changed since an earlier run.

Neither tells a plain user which transactions are open: see `connectors.sql.changes.overlapping`. Both compare texts by
a collation, which finds more records than are equal, never fewer.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from pymysql.constants.ER import SPECIFIC_ACCESS_DENIED_ERROR

from connectors.sql.changes.indexes import TableIndexes
from connectors.sql.changes.overlapping import OverlappingChanges
from connectors.sql.changes.view import ChangingTable, Condition, TableChanges, stored_value
from connectors.sql.snapshot import SqlSnapshot

_NOW = sa.text("select utc_timestamp(6)")
_TABLE = sa.text(
    """
    select table_schema as place, table_name as name, table_type as kind, engine, create_time as created,
        coalesce(table_rows, 0) as records
    from information_schema.tables
    where table_schema = coalesce(:place, database()) and table_name = :name
    order by binary table_name = :name desc limit 1
    """
)
_INDEXES = sa.text(
    """
    select * from information_schema.statistics
    where table_schema = :place and table_name = :name and seq_in_index = 1
    """
)
_COLUMNS = sa.text(
    """
    select column_name as name, data_type in ('tinytext', 'text', 'mediumtext', 'longtext', 'tinyblob', 'blob',
        'mediumblob', 'longblob') as is_long
    from information_schema.columns where table_schema = :place and table_name = :name
    """
)
_CASCADES = sa.text(
    """
    select distinct k.column_name from information_schema.key_column_usage k
    join information_schema.referential_constraints r on r.constraint_schema = k.constraint_schema
        and r.constraint_name = k.constraint_name and r.table_name = k.table_name
    where k.table_schema = :place and k.table_name = :name and k.referenced_table_name is not null
    and (r.update_rule not in ('RESTRICT', 'NO ACTION') or r.delete_rule in ('SET NULL', 'SET DEFAULT'))
    """
)
_PARTITIONED = sa.text(
    """
    select count(partition_name) from information_schema.partitions where table_schema = :place and table_name = :name
    """
)
_TABLES = ("BASE TABLE", "SYSTEM VERSIONED")
_PREFIX = 64
"""Characters of a long text in an index; it must have some limit."""


@dataclass(frozen=True)
class _Facts:
    """The table in the catalogue. `cascades` are columns that a foreign key changes.

    `hides_partitions`: the table has some, and the user may not see when another takes the place of one of them.
    """

    kind: str
    engine: str | None
    cascades: frozenset[str]
    hides_partitions: bool


def moment(connection: sa.Connection, base: sa.TableClause) -> dt.datetime:  # noqa: ARG001 - of any table
    """Return the time."""
    now: Any = connection.execute(_NOW).scalar()
    return now.replace(tzinfo=dt.UTC)  # type: ignore[no-any-return]


def prepared(
    connection: sa.Connection, table: ChangingTable, moment: dt.datetime
) -> Callable[[SqlSnapshot], TableChanges]:
    """Read the catalogue, before the snapshot."""
    is_mariadb = getattr(connection.dialect, "is_mariadb", False)
    if not is_mariadb:
        connection.exec_driver_sql("set session information_schema_stats_expiry = 0")  # it caches times of creation
    base = table.base
    of_table = connection.execute(_TABLE, {"place": base.schema, "name": str(base.name)}).one()
    parameters = {"place": of_table.place, "name": of_table.name}
    is_partitioned = bool(connection.execute(_PARTITIONED, parameters).scalar())
    ids = _partitions(connection, of_table.place, of_table.name, is_mariadb=is_mariadb) if is_partitioned else ""
    cascades = frozenset(connection.execute(_CASCADES, parameters).scalars())
    facts = _Facts(of_table.kind, of_table.engine, cascades, hides_partitions=ids is None)
    indexes = _indexes(connection, base, parameters, of_table.records)
    place = f"{of_table.place}.{of_table.name}/{of_table.created}/{ids}"
    return lambda snapshot: MysqlChanges(snapshot, table, indexes, moment, place, facts)


def _partitions(connection: sa.Connection, place: str, name: str, *, is_mariadb: bool) -> str | None:
    """Return the numbers of the partitions, which an exchanged one does not keep; None if the user may not see them."""
    view = "innodb_sys_tables" if is_mariadb else "innodb_tables"
    if not re.fullmatch(r"\w+", place + name, re.ASCII):  # files have other names then
        return None
    query = sa.text(f"select name, table_id from information_schema.{view} where name like :pattern order by name")
    pattern = f"{place}/{name}#".replace("_", r"\_")
    try:
        rows = connection.execute(query, {"pattern": f"{pattern}%"}).all()
    except sa.exc.OperationalError as error:
        if error.orig is not None and error.orig.args[0] == SPECIFIC_ACCESS_DENIED_ERROR:
            return None
        raise
    return ",".join(f"{row.name}:{row.table_id}" for row in rows)


def _indexes(
    connection: sa.Connection, base: sa.TableClause, parameters: Mapping[str, Any], records: int
) -> TableIndexes:
    quote = connection.dialect.identifier_preparer.quote
    name = ".".join(quote(str(part)) for part in (base.schema, base.name) if part)
    rows = connection.execute(_INDEXES, parameters)
    remedies = {}
    for column in connection.execute(_COLUMNS, parameters):
        length = f"({_PREFIX})" if column.is_long else ""
        index = quote(f"{base.name}_{column.name}_idx")
        remedies[column.name] = f"create index {index} on {name} ({quote(column.name)}{length})"
    leading = [{str(key).lower(): value for key, value in row.items()} for row in rows.mappings()]
    used = [row for row in leading if row.get("ignored", "NO") == "NO" and row.get("is_visible", "YES") == "YES"]
    return TableIndexes(
        remedies,
        ranged=frozenset(
            row["column_name"] for row in used if row["index_type"] == "BTREE" and row["sub_part"] is None
        ),
        equal=frozenset(row["column_name"] for row in used if row["index_type"] in ("BTREE", "HASH")),
        alike={row["column_name"]: records / row["cardinality"] for row in used if row["cardinality"]},
    )


class MysqlChanges(OverlappingChanges):
    """See `connectors.base.Changes`."""

    at_once = 200
    """MariaDB and MySQL read the whole table for very many values."""

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

    def _impediments(self, columns: Sequence[str]) -> Iterator[str]:
        facts, name = self._facts, self._table.base.name
        if facts.kind not in _TABLES:
            yield f"{name} is not a table: a view does not report which records changed"
        if facts.engine != "InnoDB":
            yield f"{name} has the engine {facts.engine}, which has no snapshots; use InnoDB"
        if facts.hides_partitions:
            yield f"{name} is partitioned, and a user without the right `process` does not see an exchanged partition"
        if changed := sorted(facts.cascades.intersection(columns)):
            yield f"a foreign key changes `{changed[0]}` without `{self._table.by}`; only `restrict` does not"
        if not isinstance(self._table.time.type, (sa.Date, sa.DateTime)):
            yield f"`{self._table.by}` is neither a date nor a time in the database"

    def _is_comparable(self, name: str) -> bool:
        column = self._table.columns[name]
        return name not in self._table.declared and not column.cast and column.pushable

    def _is_since(self, moment: dt.datetime) -> Condition:
        time = self._table.time
        return time >= sa.literal(stored_value(moment, time.type), time.type)

    def _is_until(self, moment: dt.datetime) -> Condition:
        time = self._table.time
        return time <= sa.literal(stored_value(moment, time.type), time.type)
