"""The catalogue of MariaDB and MySQL: it shows only what the user has rights to; warnings name the gaps."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from connectors.sql.catalogue import limits
from connectors.sql.catalogue.facts import OURS, Described, ForeignKey, Ident, UniqueKey
from connectors.target import ColumnFacts

_SYSTEM = ("information_schema", "mysql", "performance_schema", "sys")
_FIND = sa.text(
    """
    select table_schema as db, table_name as tab from information_schema.tables
    where table_schema = :schema and table_name = :name
    """
)
_LINKS = sa.text(
    """
    select k.constraint_name as name, k.table_schema as db, k.table_name as tab, k.column_name as own,
           k.referenced_table_schema as to_db, k.referenced_table_name as to_tab, k.referenced_column_name as other,
           coalesce(r.delete_rule, 'UNKNOWN') as on_delete, coalesce(r.update_rule, 'UNKNOWN') as on_update
    from information_schema.key_column_usage k
    left join information_schema.referential_constraints r
      on r.constraint_schema = k.constraint_schema and r.constraint_name = k.constraint_name
      and r.table_name = k.table_name
    where k.referenced_table_name is not null
    order by k.table_schema, k.table_name, k.constraint_name, k.ordinal_position
    """
)
_TABLE = sa.text(
    """
    select table_type as kind, engine, table_collation as collated from information_schema.tables
    where table_schema = :schema and table_name = :name
    """
)
_COLUMNS = sa.text(
    """
    select column_name as name, column_type as type, is_nullable as nullable, extra, column_default as preset,
           generation_expression as expression, collation_name as collated
    from information_schema.columns where table_schema = :schema and table_name = :name order by ordinal_position
    """
)
_KEYS = sa.text(
    """
    select index_name as name, column_name as own, sub_part as part
    from information_schema.statistics
    where table_schema = :schema and table_name = :name and non_unique = 0
    order by index_name, seq_in_index
    """
)
_TRIGGERS = sa.text(
    """
    select trigger_name as name, action_timing as at, event_manipulation as event, action_statement as body
    from information_schema.triggers
    where event_object_schema = :schema and event_object_table = :name
    order by trigger_name
    """
)
UNSEEN = "(unseen: this user lacks the right TRIGGER)"


class MySqlCatalogue:
    """Tables of all databases of the server that this user may see. Only InnoDB has transactions.

    `names_triggers`: the server shows the names of triggers whose text a user may not see, as MariaDB since 10.11.
    """

    def __init__(self, connection: sa.Connection, *, names_triggers: bool | None = None) -> None:
        version = connection.dialect.server_version_info or ()
        self._names_triggers = names_triggers
        if names_triggers is None:
            self._names_triggers = bool(getattr(connection.dialect, "is_mariadb", False)) and version >= (10, 11)
        self._connection = connection
        self.default: str | None = connection.exec_driver_sql("select database()").scalar()
        self._folds = bool(int(connection.exec_driver_sql("select @@lower_case_table_names").scalar() or 0))
        self._rights = [_right(row[0]) for row in connection.exec_driver_sql("show grants").all()]

    def find(self, schema: str | None, name: str) -> Ident | None:
        schema = schema or self.default
        if schema is None:
            return None
        for row in self._all(_FIND, Ident(schema, name)):
            same = (row.db, row.tab) == (schema, name)
            if same or (self._folds and (row.db.lower(), row.tab.lower()) == (schema.lower(), name.lower())):
                return Ident(row.db, row.tab)
        return None

    def links(self) -> Sequence[ForeignKey]:
        keys: dict[tuple[str, str, str], list[Any]] = {}
        for row in self._connection.execute(_LINKS):
            keys.setdefault((row.db, row.tab, row.name), []).append(row)
        return [_link(parts) for parts in keys.values()]

    def described(self, tables: Collection[Ident]) -> Mapping[Ident, Described]:
        entries = {ident: self._described(ident) for ident in sorted(tables)}
        return {ident: entry for ident, entry in entries.items() if entry is not None}

    def _described(self, ident: Ident) -> Described | None:
        listed = self._all(_TABLE, ident)
        if not listed:
            return None
        columns, triggers = self._all(_COLUMNS, ident), self._all(_TRIGGERS, ident)
        names = [row.name for row in triggers]
        if not names and not self._sees_triggers(ident):
            names = [UNSEEN]
        return Described(
            tuple(_column(row) for row in columns),
            self._keys(ident, str(listed[0].kind)),
            tuple(names),
            _refused(ident, listed[0]),
            also=(
                f"{listed[0].engine} {listed[0].collated}",
                *(f"{row.name}: {row.extra} {row.preset} {row.expression} {row.collated}" for row in columns),
                *(f"{row.name}: {row.at} {row.event} {row.body}" for row in triggers),
            ),
        )

    def _keys(self, ident: Ident, kind: str) -> tuple[UniqueKey, ...]:
        parts: dict[str, list[Any]] = {}
        for row in self._all(_KEYS, ident):
            parts.setdefault(row.name, []).append(row)
        overlapping = self._overlapping(ident) if parts and "VIEW" not in kind else set()
        return tuple(
            UniqueKey(
                name,
                tuple(str(row.own) for row in rows if row.own is not None),
                primary=name == "PRIMARY",
                plain=name not in overlapping and all(row.own is not None and row.part is None for row in rows),
            )
            for name, rows in parts.items()
        )

    def _overlapping(self, ident: Ident) -> set[str]:
        """Keys of periods (WITHOUT OVERLAPS), which only the table's CREATE statement shows."""
        quote = self._connection.dialect.identifier_preparer.quote_identifier
        row = self._connection.exec_driver_sql(f"show create table {quote(ident.schema)}.{quote(ident.name)}").first()
        definition = str(row[1]) if row else ""
        matches = re.findall(r"(PRIMARY|UNIQUE) KEY (?:`((?:[^`]|``)*)` )?\([^\n]*WITHOUT OVERLAPS", definition)
        return {"PRIMARY" if kind == "PRIMARY" else name.replace("``", "`") for kind, name in matches}

    def _sees_triggers(self, ident: Ident) -> bool:
        return bool(self._names_triggers) or self._may_read_triggers(ident)

    def _may_read_triggers(self, ident: Ident) -> bool:
        return any(
            rights & {"TRIGGER", "ALL PRIVILEGES"} and re.fullmatch(place, f"{ident.schema}.{ident.name}")
            for rights, place, _ in self._rights
        )

    def warnings(self, tables: Collection[Ident], links: Collection[ForeignKey]) -> Sequence[str]:
        del links
        warnings = []
        sees_all = any(everywhere and rights - {"USAGE", "PROXY", "PROCESS"} for rights, _, everywhere in self._rights)
        if not sees_all:
            warnings.append(
                "This user cannot see every database of the server, so foreign keys of tables that it cannot read "
                "are unknown."
            )
        if not any(everywhere and rights & {"PROCESS", "ALL PRIVILEGES"} for rights, _, everywhere in self._rights):
            instead = (
                "the rows that refer to changed ones are compared instead" if sees_all else "no row can be deleted"
            )
            warnings.append(
                "This user lacks the right PROCESS, so the server does not report how many rows a transaction changed: "
                f"{instead}. Run: GRANT PROCESS ON *.* TO this user."
            )
        unseen = sorted(ident.name for ident in tables if not self._sees_triggers(ident))
        if unseen:
            warnings.append(f"This user lacks the right TRIGGER, so triggers are not seen on {', '.join(unseen)}.")
        blind = sorted(
            ident.name for ident in tables if not self._may_read_triggers(ident) and self._all(_TRIGGERS, ident)
        )
        if blind and not unseen:
            warnings.append(
                f"This user lacks the right TRIGGER, so nothing can be cleaned where triggers fire: {', '.join(blind)}."
            )
        renewed = [
            f"{ident.name}.{row.name}"
            for ident in sorted(tables)
            for row in self._all(_COLUMNS, ident)
            if "ON UPDATE" in row.extra.upper()
        ]
        if renewed:
            listed = ", ".join(renewed)
            warnings.append(f"The server itself sets {listed} (ON UPDATE) in each row that a plan updates.")
        if not self._connection.exec_driver_sql("select @@global.foreign_key_checks").scalar():
            warnings.append("The server does not check foreign keys, so rows may refer to missing rows.")
        return warnings

    def _all(self, statement: sa.TextClause, ident: Ident) -> Sequence[Any]:
        return self._connection.execute(statement, {"schema": ident.schema, "name": ident.name}).all()


def _link(parts: Sequence[Any]) -> ForeignKey:
    first = parts[0]
    return ForeignKey(
        first.name,
        Ident(first.db, first.tab),
        tuple(row.own for row in parts),
        Ident(first.to_db, first.to_tab),
        tuple(row.other for row in parts),
        first.on_delete,
        first.on_update,
    )


def _column(row: Any) -> ColumnFacts:
    generated = bool(row.expression) or bool(re.search(r"(VIRTUAL|STORED|PERSISTENT) GENERATED", row.extra.upper()))
    return ColumnFacts(
        row.name,
        row.type,
        nullable=row.nullable == "YES",
        generated=generated,
        identity="AUTO_INCREMENT" in row.extra.upper(),
        default=row.preset not in (None, "NULL") and not generated,
        limits=limits.of_mysql(row.type),
    )


def _refused(ident: Ident, listed: Any) -> str | None:
    if ident.schema.lower() in _SYSTEM:
        return "it belongs to the database itself"
    if ident.name in OURS:
        return "it belongs to Reconcile"
    if listed.kind == "VIEW":
        return "it is a view; clean the table behind it"
    if listed.kind not in ("BASE TABLE", "SYSTEM VERSIONED"):
        return f"it is a {str(listed.kind).lower()}"
    if str(listed.engine).lower() != "innodb":
        return f"its storage engine {listed.engine} has no transactions; InnoDB has"
    return None


def sees_every_table(grants: Iterable[str]) -> bool:
    """Return True if these lines of SHOW GRANTS let a user see every table of the server, and so every foreign key."""
    rights = (_right(grant) for grant in grants)
    return any(everywhere and privileges - {"USAGE", "PROXY", "PROCESS"} for privileges, _, everywhere in rights)


def _right(grant: str) -> tuple[set[str], str, bool]:
    """Parse a line of SHOW GRANTS: the rights, a pattern of their `database.table`s, and True if those are all."""
    match = re.match(r"GRANT (.+?) ON (?:TABLE )?(\*|`(?:[^`]|``)*`)\.(\*|`(?:[^`]|``)*`) TO ", grant)
    if not match:
        return set(), "(?!)", False
    rights = {right.strip().upper() for right in re.sub(r"\([^)]*\)", "", match[1]).split(",")}
    places = [_place(match[2], wild=True), _place(match[3], wild=False)]
    return rights, r"\.".join(places), match[2] == "*"


def _place(text: str, *, wild: bool) -> str:
    """A name of a grant as a pattern; in databases `_` and `%` are wildcards unless escaped by a backslash."""
    if text == "*":
        return ".*"
    bare = text[1:-1].replace("``", "`")
    if not wild:
        return re.escape(bare)
    parts = re.findall(r"\\[_%]|.", bare, re.DOTALL)
    return "".join({"_": ".", "%": ".*"}.get(part, re.escape(part[-1])) for part in parts)
