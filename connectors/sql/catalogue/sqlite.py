"""SQLite's catalogue: its pragmas as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from connectors.sql.catalogue import limits
from connectors.sql.catalogue.facts import OURS, Described, ForeignKey, Ident, UniqueKey
from connectors.sql.witness.sqlite import MASTER, replacing
from connectors.target import ColumnFacts

_FOREIGN_KEYS = sa.text(
    """
    select m.name as child, f.id, f.seq, f."table" as parent, f."from" as column, f."to" as target,
           f.on_delete, f.on_update, m.sql
    from sqlite_master m, pragma_foreign_key_list(m.name) f
    where m.type = 'table'
    order by m.name, f.id, f.seq
    """
)
_LISTED = sa.text("select schema, name, type, wr from pragma_table_list where name = :name collate nocase")
_MASTER = "select type, name, sql from {schema}.sqlite_master where tbl_name = ? collate nocase order by type, name"
_COLUMNS = sa.text("select * from pragma_table_xinfo(:name, :schema) order by cid")
_INDEXES = sa.text(
    'select name, "unique" as is_unique, origin, partial from pragma_index_list(:name, :schema) order by name'
)
_INDEXED = sa.text("select cid, name from pragma_index_xinfo(:name, :schema) where key order by seqno")
_TRIGGERED = sa.text("select tbl_name from sqlite_master where type = 'trigger'")
_GENERATED = (2, 3)
_HIDDEN = 1


class SqliteCatalogue:
    """The database file itself (`main`); a temporary table belongs to one connection and is refused."""

    default: str | None = "main"

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def find(self, schema: str | None, name: str) -> Ident | None:
        rows = self._all(_LISTED, name=name)
        matches = [row for row in rows if schema is None or row.schema == schema.lower()]
        matches.sort(key=lambda row: row.schema != "temp")  # a temporary table hides the other
        return Ident(matches[0].schema, matches[0].name) if matches else None

    def links(self) -> Sequence[ForeignKey]:
        rows = self._all(_FOREIGN_KEYS)
        keys: dict[tuple[str, int], list[Any]] = {}
        for row in rows:
            keys.setdefault((row.child, row.id), []).append(row)
        return [link for parts in keys.values() if (link := self._link(parts)) is not None]

    def _link(self, parts: Sequence[Any]) -> ForeignKey | None:
        first = parts[0]
        parent = self.find("main", first.parent)
        if parent is None:  # it refers to a table that is not there: nothing of ours
            return None
        names = {row.name.lower(): row.name for row in self._all(_COLUMNS, name=parent.name, schema="main")}
        to = [names.get(str(part.target).lower(), str(part.target)) for part in parts if part.target is not None]
        if not to:
            to = list(self._primary(parent.name))
        own_names = {row.name.lower(): row.name for row in self._all(_COLUMNS, name=first.child, schema="main")}
        columns = tuple(own_names.get(part.column.lower(), part.column) for part in parts)
        to = to if len(to) == len(columns) else [*to, *columns[len(to) :]]
        deferrable = "DEFERRABLE" in str(first.sql).upper()
        name = f"{first.child}({', '.join(columns)})"
        table = Ident("main", first.child)
        return ForeignKey(name, table, columns, parent, tuple(to), first.on_delete, first.on_update, deferrable)

    def _primary(self, name: str) -> tuple[str, ...]:
        keyed = [row for row in self._all(_COLUMNS, name=name, schema="main") if row.pk]
        return tuple(row.name for row in sorted(keyed, key=lambda row: row.pk))

    def described(self, tables: Collection[Ident]) -> Mapping[Ident, Described]:
        links = self.links()
        entries = {ident: self._described(ident, links) for ident in sorted(tables)}
        return {ident: entry for ident, entry in entries.items() if entry is not None}

    def _described(self, ident: Ident, links: Sequence[ForeignKey]) -> Described | None:
        listed = [row for row in self._all(_LISTED, name=ident.name) if row.schema == ident.schema]
        if not listed:
            return None
        quote = self._connection.dialect.identifier_preparer.quote_identifier
        master = self._connection.exec_driver_sql(_MASTER.format(schema=quote(ident.schema)), (ident.name,)).all()
        keys, alias = self._keys(ident, without_rowid=bool(listed[0].wr))
        columns = self._columns(ident, alias, without_rowid=bool(listed[0].wr))
        triggers = tuple(entry.name for entry in master if entry.type == "trigger")
        also = tuple(f"{entry.type} {entry.name}: {entry.sql}" for entry in master)
        refused = _refused(ident, str(listed[0].type)) or _mismatch(ident, keys, links)
        return Described(columns, keys, triggers, refused, also=also)

    def _columns(self, ident: Ident, alias: str | None, *, without_rowid: bool) -> tuple[ColumnFacts, ...]:
        rows = self._all(_COLUMNS, name=ident.name, schema=ident.schema)
        return tuple(
            ColumnFacts(
                row.name,
                str(row.type or ""),
                nullable=not (row.notnull or row.name == alias or (without_rowid and row.pk)),
                generated=row.hidden in _GENERATED,
                identity=row.name == alias,
                default=row.dflt_value is not None,
                limits=limits.of_sqlite(str(row.type or "")),
            )
            for row in rows
            if row.hidden != _HIDDEN
        )

    def _keys(self, ident: Ident, *, without_rowid: bool) -> tuple[tuple[UniqueKey, ...], str | None]:
        """The unique keys, and the column that is another name of the rowid."""
        columns = self._all(_COLUMNS, name=ident.name, schema=ident.schema)
        primary = [row for row in sorted(columns, key=lambda row: row.pk) if row.pk]
        indexes = [row for row in self._all(_INDEXES, name=ident.name, schema=ident.schema) if row.is_unique]
        indexed = any(row.origin == "pk" for row in indexes)
        alias = None
        if len(primary) == 1 and not indexed and not without_rowid and str(primary[0].type).upper() == "INTEGER":
            alias = str(primary[0].name)
        keys = [UniqueKey("primary key", tuple(row.name for row in primary), primary=True)] if primary else []
        for index in indexes:
            if index.origin == "pk":
                continue
            parts = self._all(_INDEXED, name=index.name, schema=ident.schema)
            plain = not index.partial and all(row.name is not None for row in parts)
            keys.append(UniqueKey(index.name, tuple(str(row.name) for row in parts if row.name), plain=plain))
        return tuple(keys), alias

    def warnings(self, tables: Collection[Ident], links: Collection[ForeignKey]) -> Sequence[str]:
        warnings = []
        if children := sorted({link.table.name for link in links}):
            why = "SQLite checks foreign keys only for programs that ask it to"
            warnings.append(f"{why}: rows of {', '.join(children)} may refer to missing rows.")
        rows = self._connection.exec_driver_sql(MASTER).all()
        names = {ident.name for ident in tables}
        fires = self._all(_TRIGGERED)
        if names & {row.tbl_name for row in fires} and (where := replacing(rows)):
            warnings.append(
                f"Triggers fire, and {where} says REPLACE: no row can be deleted here, because SQLite does not count "
                "the rows that REPLACE deletes."
            )
        return warnings

    def _all(self, statement: sa.TextClause, **parameters: str) -> Sequence[Any]:
        return self._connection.execute(statement, parameters).all()


def _refused(ident: Ident, kind: str) -> str | None:
    if ident.schema == "temp":
        return "it is a temporary table"
    if ident.name.lower().startswith("sqlite_") or ident.name in OURS:
        return "it belongs to the database itself or to Reconcile"
    kinds = {
        "view": "it is a view; clean the table behind it",
        "virtual": "it is a virtual table, whose storage SQLite does not control",
        "shadow": "it stores the content of a virtual table",
    }
    return kinds.get(kind)


def _mismatch(ident: Ident, keys: Sequence[UniqueKey], links: Sequence[ForeignKey]) -> str | None:
    """SQLite refuses every change of a table that a foreign key refers to by columns that are not unique."""
    unique = [frozenset(key.columns) for key in keys if key.plain]
    for link in links:
        if link.to == ident and frozenset(link.to_columns) not in unique:
            return f"a foreign key of {link.table.name} refers to columns that are not unique, which SQLite refuses"
    return None
