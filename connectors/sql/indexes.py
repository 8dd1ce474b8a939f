"""The indexes of a table of PostgreSQL, and how many records share a value: can changed records be found fast?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from connectors.sql.columns import regclass

MOST_ALIKE = 1_000
"""Records with one value of a column, above which looking them up by that column is not worth it."""

_TABLE = sa.text(
    """
    select relkind, relkind <> 'p' and relhassubclass as inherited, reltuples as records,
        has_table_privilege(oid, 'SELECT') as readable, pg_is_in_recovery() as standby
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
class TableIndexes:
    """What the catalogue says of a table: its kind, the methods of indexes by their first column, and its statistics.

    `table` and `quoted` are names ready for SQL. `alike` is the mean number of records with one value, where known;
    `uuids` are columns of that type.
    """

    table: str
    quoted: Mapping[str, str]
    kind: str
    inherited: bool
    readable: bool
    standby: bool
    leading: Mapping[str, frozenset[str]]
    alike: Mapping[str, float]
    uuids: frozenset[str]

    def obstacle(self, by: str, identity: Sequence[str], parts: Sequence[str]) -> str | None:
        """See `connectors.base.Changes`."""
        return next(self._obstacles(by, identity, parts), None)

    def _obstacles(self, by: str, identity: Sequence[str], parts: Sequence[str]) -> Iterator[str]:
        if self.kind not in ("r", "p"):
            yield f"{self.table} is no table: a view does not say which of its records changed"
        if self.inherited:
            yield f"other tables inherit from {self.table}"
        if self.standby:
            yield "a standby does not say which transactions are open on its primary; read from that"
        if not self.readable:
            yield f"changes need the right to select from the whole table; grant select on {self.table}"
        if not self.leading.get(by, frozenset()) & _ORDERED:
            yield f"no index begins with `{by}`; {self._remedy(by)}"
        if not any(self._is_found_by(name) for name in identity):
            yield f"no index begins with `{identity[0]}`; {self._remedy(identity[0])}"
        selective = [name for name in parts if self.alike.get(name, 0) <= MOST_ALIKE]
        if not selective:
            name = min(parts, key=lambda part: self.alike[part])
            yield f"about {self.alike[name]:,.0f} records share a value of `{name}`, which is too many to look up"
        elif not any(map(self._is_found_by, selective)):
            name = min(selective, key=lambda part: self.alike.get(part, MOST_ALIKE))
            yield f"no index begins with a part of its key such as `{name}`; {self._remedy(name)}"

    def _is_found_by(self, name: str) -> bool:
        return bool(self.leading.get(name, frozenset()) & _EQUAL)

    def _remedy(self, name: str) -> str:
        return f"create index on {self.table} ({self.quoted[name]})"


def table_indexes(connection: sa.Connection, base: sa.TableClause) -> TableIndexes:
    """Read the catalogue. Database errors pass through."""
    parameters = {"name": regclass(base)}
    quote = connection.dialect.identifier_preparer.quote
    table = connection.execute(_TABLE, parameters).one()
    leading: dict[str, frozenset[str]] = {}
    for row in connection.execute(_LEADING, parameters):
        leading[row.column] = leading.get(row.column, frozenset()) | {row.method}
    columns = {row.column: row.kind for row in connection.execute(_COLUMNS, parameters)}
    alike = {
        row.column: _alike(float(row.different), float(table.records))
        for row in connection.execute(_DISTINCT, parameters)
        if row.different
    }
    return TableIndexes(
        table=".".join(quote(str(part)) for part in (base.schema, base.name) if part),
        quoted={name: quote(name) for name in columns},
        kind=table.relkind,
        inherited=table.inherited,
        readable=table.readable,
        standby=table.standby,
        leading=leading,
        alike=alike,
        uuids=frozenset(name for name, kind in columns.items() if kind == "uuid"),
    )


def _alike(different: float, records: float) -> float:
    """Return the mean number of records with one value; negative `different` is a share of the records."""
    return -1 / different if different < 0 else max(records, 0) / different
