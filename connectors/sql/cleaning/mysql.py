"""Changing rows of MariaDB and MySQL: with our own sql_mode, counting found rows, never trusting collations."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import pymysql
import sqlalchemy as sa
from pymysql.constants import CLIENT
from sqlalchemy.pool import NullPool

from connectors.sql.address import CONNECT_SECONDS
from connectors.sql.cells import BYTES, TEXT, Fragment, TableColumn, TableLink, TableShape
from connectors.sql.cleaning.dialect import RowRule, Unwritable, dangling, family, number_of, referring, uuid_of
from connectors.sql.cleaning.outcomes import GONE
from connectors.sql.cleaning.session import TargetSession
from connectors.sql.columns import Kind
from connectors.sql.values import Wall
from connectors.target import Cell, Change, NotATable, Violation

_MODE = "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES"
"""Strict, but able to write back any stored value: zeros in dates and identities, impossible days."""
_SESSION = (
    f"sql_mode = '{_MODE}'",
    "time_zone = '+00:00'",
    "autocommit = 0",
    "completion_type = 'NO_CHAIN'",
    "foreign_key_checks = 1",
    "unique_checks = 1",
    "sql_safe_updates = 0",
    "sql_auto_is_null = 0",
)
_TABLE = """
    SELECT t.table_schema, t.table_name, t.table_type, t.engine, e.transactions, t.table_schema = database()
    FROM information_schema.tables t LEFT JOIN information_schema.engines e ON e.engine = t.engine
    WHERE t.table_schema = coalesce(%s, database()) AND t.table_name = %s
"""
_COLUMNS = """
    SELECT column_name, data_type, column_type, is_nullable, character_set_name, generation_expression
    FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position
"""
_KEYS = """
    SELECT index_name, column_name, sub_part FROM information_schema.statistics
    WHERE table_schema = %s AND table_name = %s AND non_unique = 0 ORDER BY index_name, seq_in_index
"""
_FOREIGN_KEYS = """
    SELECT constraint_name, column_name, referenced_table_schema, referenced_table_name, referenced_column_name
    FROM information_schema.key_column_usage
    WHERE table_schema = %s AND table_name = %s AND referenced_table_name IS NOT NULL
    ORDER BY constraint_name, ordinal_position
"""
_CHECKS = """
    SELECT constraint_name, check_clause FROM information_schema.check_constraints
    WHERE constraint_schema = %s AND table_name = %s ORDER BY constraint_name
"""
_NUMBER = "^[[:space:]]*[-+]?(0|[1-9][0-9]*)([.][0-9]*)?[[:space:]]*$"
_NO_TABLE = ("1146", "1049", "1142")
_WHOLE = {"tinyint", "smallint", "mediumint", "int", "bigint"}
_TEXT = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "json"}
_BYTES = {
    *("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"),
    *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon"),
    *("geometrycollection", "geomcollection", "vector"),
}
_EXACT_CHARSETS = {"utf8mb4", "utf8mb3", "utf8", "ascii", "latin1"}
"""Charsets whose every text survives the way to utf8mb4 and back."""


class MySqlDialect:
    """Forms of columns: whole, decimal, float, double, bit, text, coded (text read as bytes), bytes, plain."""

    name: ClassVar[str] = "mysql"
    mark: ClassVar[str] = "%s"
    for_update: ClassVar[str] = " FOR UPDATE"
    receipts_given: ClassVar[str] = ""
    insert_new: ClassVar[str] = ""
    or_abort: ClassVar[str] = ""
    lost: ClassVar[Collection[str]] = (GONE, "2006", "2013", "2055", "1927", "4031")
    no_rights: ClassVar[Collection[str]] = ("1044", "1142", "1143", "1227", "1046")
    created_meanwhile: ClassVar[Collection[str]] = ("1050",)
    duplicate: ClassVar[str] = "1062"
    receipt_types: ClassVar[Mapping[str, str]] = {
        "key": "VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY",
        "word": "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
        "number": "BIGINT NOT NULL",
        "time": "TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)",
        "end": " ENGINE=InnoDB",
    }

    def engine(self, source: str, url: sa.URL, root: Path, seconds: float) -> sa.Engine:
        del source, root
        patience = max(2, round(seconds) + 2)
        arguments = {
            "charset": "utf8mb4",
            "connect_timeout": CONNECT_SECONDS,
            "read_timeout": patience,
            "write_timeout": patience,
            "client_flag": CLIENT.FOUND_ROWS,  # an update that changes nothing counts its row, too
            "autocommit": None,
        }
        engine = sa.create_engine(url, poolclass=NullPool, connect_args=arguments, hide_parameters=True)

        @sa.event.listens_for(engine, "connect")
        def prepare(connection: pymysql.Connection[Any], _: object) -> None:
            with connection.cursor() as cursor:
                cursor.execute("SET SESSION " + ", ".join(_SESSION))
                cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")

        return engine

    def stamp(self, session: TargetSession) -> object:
        del session
        return None

    def begin(self, session: TargetSession, seconds: float) -> None:
        quarter = seconds / 4
        whole_seconds = max(1, int(quarter))
        limits = {"innodb_lock_wait_timeout": max(1, int(quarter * 0.8))}
        if _is_mariadb(session):
            limits |= {"idle_transaction_timeout": whole_seconds, "idle_write_transaction_timeout": whole_seconds}
            timed = f"max_statement_time = {quarter}"
        else:
            limits["wait_timeout"] = whole_seconds
            timed = f"max_execution_time = {max(1, round(quarter * 1000))}"
        session.raw._read_timeout = session.raw._write_timeout = round(seconds) + 2  # noqa: SLF001 - no other way
        session.send_once("SET SESSION " + ", ".join([timed, *(f"{name} = {value}" for name, value in limits.items())]))
        session.send("START TRANSACTION READ WRITE")

    def begin_reading(self, session: TargetSession, seconds: float) -> None:
        limit = f"max_statement_time = {seconds}"
        if not _is_mariadb(session):
            limit = f"max_execution_time = {max(1, round(seconds * 1000))}"
        session.send_once(f"SET SESSION {limit}")
        session.send("START TRANSACTION READ ONLY")

    def commit(self, session: TargetSession) -> None:
        session.send("COMMIT")

    def default_schema(self, session: TargetSession) -> str | None:
        schema = session.value("SELECT database()")
        return None if schema is None else str(schema)

    def shape(self, session: TargetSession, schema: str | None, table: str) -> TableShape | None:
        name = ".".join(self.quoted(part) for part in (schema, table) if part)
        remembered, definition = session.remembered.get(name), self._definition(session, name)
        if definition is None:
            return None
        if remembered is not None and remembered[0] == definition:
            return remembered[1]
        rows = session.run(_TABLE, (schema, table)).rows
        if not rows:
            return None
        schema_name, table_name, kind, engine, transactions, is_default = rows[0]
        if kind not in ("BASE TABLE", "SYSTEM VERSIONED"):
            raise NotATable(
                f"{table_name} of source {session.place.source!r} is a {str(kind).lower()}. Nothing is cleaned there. "
                f"Name the table that holds its records"
            )
        columns = tuple(_column(row) for row in session.run(_COLUMNS, (schema_name, table_name)).rows)
        known_as = table_name if is_default else f"{schema_name}.{table_name}"
        read_only_because = None if transactions == "YES" else f"its engine {engine} has no transactions"
        key = _key(columns, session.run(_KEYS, (schema_name, table_name)).rows)
        shape = TableShape(known_as, schema_name, table_name, columns, key, read_only_because)
        session.remembered[name] = (definition, shape)
        return shape

    def _definition(self, session: TargetSession, name: str) -> str | None:
        """The CREATE TABLE statement, without its counter; None if the table does not exist or is not visible."""
        try:
            rows = session.run(f"SHOW CREATE TABLE {name}").rows
        except session.errors as error:
            if self.code(error) not in _NO_TABLE:
                raise
            return None
        return re.sub(r" AUTO_INCREMENT=\d+", "", str(rows[0][1]))

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``").replace("%", "%%") + "`"

    def relation(self, shape: TableShape) -> str:
        return f"{self.quoted(str(shape.schema))}.{self.quoted(shape.table)}"

    def read(self, column: TableColumn) -> str:
        name = self.quoted(column.name)
        match column.form:
            case "text" | "bytes":
                return name
            case "coded":
                return f"CAST({name} AS BINARY)"
            case "bit":
                return f"CAST({name} + 0 AS CHAR)"
            case "float":  # a text loses digits; a double has all of them
                return f"CAST(CAST({name} AS DOUBLE) AS CHAR)"
        return f"CAST({name} AS CHAR)"

    def cell(self, column: TableColumn, value: Any) -> Cell:
        del column
        if value is None:
            return None
        return (BYTES, value.hex()) if isinstance(value, bytes) else (TEXT, str(value))

    def written(self, column: TableColumn, cell: Cell) -> Fragment:
        return "%s", (_value(column, cell),)

    def is_any(self, column: TableColumn, cells: Sequence[Cell]) -> Fragment | None:
        del column, cells
        return None

    def search_value(self, column: TableColumn, cell: Cell) -> Fragment:
        return self.written(column, cell)

    def is_exactly(self, column: TableColumn, cell: Cell) -> Fragment:
        name = self.quoted(column.name)
        if cell is None:
            return f"{name} IS NULL", ()
        mark, bound = self.written(column, cell)
        if column.form == "coded":
            return f"({name} = {mark} AND CAST({name} AS BINARY) = {mark})", (*bound, *bound)
        if column.form == "text":
            same = f"CAST(CONVERT({name} USING utf8mb4) AS BINARY) = CAST({mark} AS BINARY)"
            return f"({name} = {mark} AND {same})", (*bound, *bound)
        return f"{name} = {mark}", bound

    def holds(self, column: TableColumn, cell: Cell) -> Fragment:
        name = self.quoted(column.name)
        if cell is None:
            return f"{name} IS NULL", ()
        mark, bound = self.written(column, cell)
        kind = column.type.partition("(")[0].lower()
        if kind in ("enum", "set"):  # accepted in any case, stored as declared
            return f"{name} <=> {mark}", bound
        if column.form == "float":
            return f"ABS({name} - {mark}) <= ABS({mark}) * 1e-6", (*bound, *bound)
        if kind == "binary":  # padded with zeros
            return f"{name} <=> CAST({mark} AS {column.type})", bound
        if column.form in ("text", "coded"):
            texts = f"CONVERT({name} USING utf8mb4)", f"CONVERT({mark} USING utf8mb4)"
            trimmed = [f"TRIM(TRAILING ' ' FROM {text})" for text in texts] if kind == "char" else texts
            return " <=> ".join(f"CAST({text} AS BINARY)" for text in trimmed), bound
        return f"{name} <=> {mark}", bound

    def refers(self, link: TableLink, to: Sequence[Sequence[Cell]]) -> Fragment:
        return referring(self._refers, link, to)

    def _refers(self, column: TableColumn, to: TableColumn, cell: Cell, soft: bool) -> Fragment:  # noqa: FBT001 - mapped over
        name = self.quoted(column.name)
        if soft and (number := number_of(column, to, cell)) is not None:
            as_number = f"CAST({name} AS DECIMAL(65,30)) = CAST(%s AS DECIMAL(65,30))"
            if family(column.type) == "number":
                return as_number, (number,)
            return f"IF({name} REGEXP '{_NUMBER}', {as_number}, FALSE)", (number,)
        if soft and (digits := uuid_of(column, to, cell)) is not None:
            return f"LOWER(REPLACE(CAST({name} AS CHAR), '-', '')) = %s", (digits,)
        if soft and column.form != to.form and cell is not None and cell[0] == TEXT:
            return f"CAST({name} AS CHAR) = %s", (cell[1],)
        mark, bound = self.written(to, cell)
        return f"{name} = {mark}", bound

    def wanted(self, column: TableColumn, kind: Kind, value: Any) -> Sequence[Fragment]:
        return [("%s", (form,)) for form in _forms(value, kind, column)]

    def row_rules(self, session: TargetSession, shape: TableShape) -> Sequence[RowRule]:
        """Foreign keys and checks, which any session may switch off, and values that an ENUM refused.

        MySQL has no switch for checks.
        """
        place = (shape.schema, shape.table)
        rules = [self._foreign_key(session, shape, parts) for parts in _by_name(session.run(_FOREIGN_KEYS, place).rows)]
        for name, clause in session.run(_CHECKS, place).rows if _is_mariadb(session) else ():
            columns = tuple(column.name for column in shape.columns if _backticked(column.name) in clause)
            rules.append(RowRule(name, columns, f"NOT ({clause.replace('%', '%%')})"))
        enums = (column for column in shape.columns if column.type.lower().startswith("enum("))
        return [*rules, *(RowRule(each.name, (each.name,), f"{self.quoted(each.name)} + 0 = 0") for each in enums)]

    def _foreign_key(self, session: TargetSession, shape: TableShape, parts: Sequence[Sequence[Any]]) -> RowRule:
        name, _, schema, table, _ = parts[0]
        columns, keys = tuple(part[1] for part in parts), [part[4] for part in parts]
        parent = f"{self.quoted(schema)}.{self.quoted(table)}"
        try:
            session.run(f"SELECT {', '.join(map(self.quoted, keys))} FROM {parent} LIMIT 0")
        except session.errors as error:
            if self.code(error) not in self.no_rights:
                raise
            return RowRule(name, columns, "")
        return RowRule(name, columns, dangling(self, shape, columns, parent, keys))

    def refused_copies(
        self, session: TargetSession, shape: TableShape, changes: Sequence[Change]
    ) -> Sequence[Violation]:
        del session, shape, changes
        return ()

    def transaction(self, session: TargetSession) -> str | None:
        del session
        return None

    def happened(self, session: TargetSession, transaction: str) -> bool | None:
        del session, transaction
        return None

    def identity(self, session: TargetSession) -> str | None:
        return self.place(session, str(self.default_schema(session)))

    def place(self, session: TargetSession, schema: str) -> str | None:
        statement = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid')"
        rows = session.run(statement).rows
        return f"mysql:{rows[0][1]}:{schema}" if rows and rows[0][1] else None

    def code(self, error: Exception) -> str:
        number = error.args[0] if error.args else 0
        return str(number) if isinstance(number, int) and number else GONE


def _by_name(rows: Sequence[Sequence[Any]]) -> list[list[Sequence[Any]]]:
    return [list(parts) for _, parts in groupby(rows, key=lambda row: row[0])]


def _backticked(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _is_mariadb(session: TargetSession) -> bool:
    return "mariadb" in str(session.raw.get_server_info()).lower()


def _column(row: Sequence[Any]) -> TableColumn:
    name, kind, declared_type, nullable, charset, generated = row
    kind = str(kind).lower()
    form = "plain"
    if kind in _WHOLE:
        form = "whole"
    elif kind in ("decimal", "float", "double", "bit"):
        form = kind
    elif kind in _BYTES:
        form = "bytes"
    elif kind in _TEXT:
        form = "text" if charset is None or charset in _EXACT_CHARSETS else "coded"
    return TableColumn(name, str(declared_type), form, nullable=nullable == "YES", generated=bool(generated))


def _key(columns: Sequence[TableColumn], parts: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    required = {column.name for column in columns if not column.nullable}
    keys: dict[str, list[tuple[str | None, Any]]] = {}
    for index, name, prefix in parts:
        keys.setdefault(index, []).append((name, prefix))
    whole_keys = {
        index: tuple(str(name) for name, _ in parts)
        for index, parts in keys.items()
        if all(name is not None and prefix is None for name, prefix in parts)
    }
    if "PRIMARY" in whole_keys:
        return whole_keys["PRIMARY"]
    candidates = [key for key in whole_keys.values() if required.issuperset(key)]
    return min(candidates, key=lambda key: (len(key), key)) if candidates else ()


def _value(column: TableColumn, cell: Cell) -> Any:
    """The parameter for PyMySQL: a number for a number column, which compares differently from text."""
    if cell is None:
        return None
    tag, text = cell
    if tag == BYTES:
        return bytes.fromhex(text)
    if tag != TEXT:
        raise Unwritable("a cell that MariaDB did not make")
    try:
        if column.form in ("whole", "bit"):
            return int(text)
        if column.form == "decimal":
            return Decimal(text)
        if column.form in ("float", "double"):
            return float(text)
    except (ValueError, InvalidOperation):
        return text  # text that a person typed: the database accepts or rejects it
    return text


def _forms(value: Any, kind: Kind, column: TableColumn) -> list[Any]:
    match value:
        case bool():
            return [int(value)]
        case int() | Decimal() | float():
            return [value]
        case bytes():
            return [int.from_bytes(value)] if column.form == "bit" else [value]
        case dt.datetime():
            zone = ZoneInfo(kind.zone) if isinstance(kind, Wall) else dt.UTC
            return [value.astimezone(zone).replace(tzinfo=None).isoformat(" ")]
        case dt.date():
            return [value.isoformat()]
        case str():
            return [] if any("\ud800" <= character <= "\udfff" for character in value) else [value]
    return [str(value)]
