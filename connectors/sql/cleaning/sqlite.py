"""Changing rows of SQLite: one writer at a time, enforced foreign keys, a storage class for every cell."""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from connectors.sql.address import sqlite_file
from connectors.sql.cells import (
    BAD_TEXT,
    BYTES,
    INTEGER,
    REAL,
    TEXT,
    Fragment,
    TableColumn,
    TableLink,
    TableShape,
    joined,
)
from connectors.sql.cleaning.dialect import RowRule, Unwritable, any_of, dangling, number_of, uuid_of
from connectors.sql.cleaning.session import TargetSession
from connectors.sql.columns import Kind
from connectors.sql.values import NotUtf8, Wall, decoded
from connectors.target import Cell, Change, NotATable, TargetRefused, Violation

_INTEGERS = range(-(2**63), 2**63)
_READ: Mapping[str, Callable[[str], Any]] = {
    TEXT: str,
    INTEGER: int,
    REAL: float,
    BYTES: bytes.fromhex,
    BAD_TEXT: bytes.fromhex,
}
_TABLE = "SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE"
_GENERATED = (2, 3)
_HIDDEN = 1


class SqliteDialect:
    """A lock covers the whole file: BEGIN IMMEDIATE waits until there is no other writer."""

    name: ClassVar[str] = "sqlite"
    mark: ClassVar[str] = "?"
    for_update: ClassVar[str] = ""
    receipts_given: ClassVar[str] = ""
    insert_new: ClassVar[str] = " ON CONFLICT DO NOTHING RETURNING 1"
    or_abort: ClassVar[str] = " OR ABORT"
    lost: ClassVar[Collection[str]] = ()
    no_rights: ClassVar[Collection[str]] = ()
    created_meanwhile: ClassVar[Collection[str]] = ()
    duplicate: ClassVar[str] = "SQLITE_CONSTRAINT_PRIMARYKEY"
    receipt_types: ClassVar[Mapping[str, str]] = {
        "key": "TEXT NOT NULL PRIMARY KEY",
        "word": "TEXT NOT NULL",
        "number": "INTEGER NOT NULL",
        "time": "TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP",
        "end": "",
    }

    def engine(self, source: str, url: sa.URL, root: Path, seconds: float) -> sa.Engine:
        path = sqlite_file(source, url, root)
        query = {**url.query, "mode": "rw", "uri": "true"}
        quoted = re.sub(r"[%?#]", lambda match: f"%{ord(match[0]):02x}", str(path.resolve()))
        del seconds
        engine = sa.create_engine(
            url.set(database=f"file:{quoted}", query=query), poolclass=NullPool, hide_parameters=True
        )

        @sa.event.listens_for(engine, "connect")
        def prepare(connection: sqlite3.Connection, _: object) -> None:
            connection.isolation_level = None
            connection.text_factory = decoded
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")

        return engine

    def stamp(self, session: TargetSession) -> object:
        stamp = session.stamp  # a connection keeps its file, even if another file takes its name
        path = stamp[0] if isinstance(stamp, tuple) else self._file(session)
        try:
            status = path.stat()
        except OSError:
            return None
        return path, status.st_dev, status.st_ino

    def begin(self, session: TargetSession, seconds: float) -> None:
        self._must_be_utf8(session)
        session.send_once(f"PRAGMA busy_timeout = {max(1, round(seconds * 250))}")
        session.send("BEGIN IMMEDIATE")

    def begin_reading(self, session: TargetSession, seconds: float) -> None:
        del seconds
        self._must_be_utf8(session)
        session.send("PRAGMA query_only = ON")
        session.send("BEGIN DEFERRED")

    def _must_be_utf8(self, session: TargetSession) -> None:
        if session.value("PRAGMA encoding") != "UTF-8":
            raise TargetRefused(
                f"Source {session.place.source!r} at {session.place.where} keeps its text in UTF-16, so its cells "
                f"cannot be read back byte for byte. Nothing is cleaned there. Make a UTF-8 copy with .dump"
            )

    def commit(self, session: TargetSession) -> None:
        session.send("COMMIT")

    def default_schema(self, session: TargetSession) -> str | None:
        del session
        return None

    def shape(self, session: TargetSession, schema: str | None, table: str) -> TableShape | None:
        if schema not in (None, "main"):
            return None
        version = session.value("PRAGMA schema_version")
        remembered = session.remembered.get(table)
        if remembered is not None and remembered[0] == version:
            return remembered[1]
        tables = session.run(_TABLE, (table,)).rows
        if not tables:
            return None
        name, kind, sql = tables[0]
        if kind != "table" or str(sql).upper().startswith("CREATE VIRTUAL"):
            raise NotATable(
                f"{name} of source {session.place.source!r} is a {'view' if kind == 'view' else 'virtual table'}. "
                f"Nothing is cleaned there. Name the table that holds its records"
            )
        rows = session.run(f"PRAGMA table_xinfo({self.quoted(name)})").rows
        columns = tuple(
            TableColumn(str(row[1]), str(row[2] or ""), nullable=not row[3], generated=row[6] in _GENERATED)
            for row in rows
            if row[6] != _HIDDEN
        )
        key = tuple(str(row[1]) for row in sorted(rows, key=lambda row: row[5]) if row[5])
        shape = TableShape(name, None, name, columns, key or self._unique(session, name, columns))
        session.remembered[table] = (version, shape)
        return shape

    def _unique(self, session: TargetSession, table: str, columns: Sequence[TableColumn]) -> tuple[str, ...]:
        required = {column.name for column in columns if not column.nullable}
        candidates = []
        for row in session.run(f"PRAGMA index_list({self.quoted(table)})").rows:
            if row[2] and not row[4]:
                names = tuple(part[2] for part in session.run(f"PRAGMA index_info({self.quoted(row[1])})").rows)
                if required.issuperset(names):
                    candidates.append(names)
        return min(candidates, key=lambda key: (len(key), key)) if candidates else ()

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def read(self, column: TableColumn) -> str:
        return self.quoted(column.name)

    def cell(self, column: TableColumn, value: Any) -> Cell:
        del column
        match value:
            case None:
                return None
            case NotUtf8():
                return BAD_TEXT, value.hex()
            case bytes():
                return BYTES, value.hex()
            case int():
                return INTEGER, str(value)
            case float():
                return REAL, repr(value)
        return TEXT, str(value)

    def written(self, column: TableColumn, cell: Cell) -> Fragment:
        del column
        return ("CAST(? AS TEXT)" if cell and cell[0] == BAD_TEXT else "?"), (_value(cell),)

    def is_exactly(self, column: TableColumn, cell: Cell) -> Fragment:
        name = self.quoted(column.name)
        if cell is None:
            return f"{name} IS NULL", ()
        mark, bound = self.written(column, cell)
        stored = {TEXT: "text", BAD_TEXT: "text", INTEGER: "integer", REAL: "real", BYTES: "blob"}[cell[0]]
        alike, same = f"{name} = {mark}", f"+{name} = {mark} COLLATE BINARY"
        return f"({alike} AND {same} AND typeof({name}) = '{stored}')", (*bound, *bound)

    def holds(self, column: TableColumn, cell: Cell) -> Fragment:
        name = self.quoted(column.name)
        if cell is None:
            return f"{name} IS NULL", ()
        mark, bound = self.written(column, cell)
        return f"{name} IS {mark} COLLATE BINARY", bound

    def is_any(self, column: TableColumn, cells: Sequence[Cell]) -> Fragment | None:
        del column, cells
        return None

    def search_value(self, column: TableColumn, cell: Cell) -> Fragment:
        return self.written(column, cell)

    def refers(self, link: TableLink, to: Sequence[Sequence[Cell]]) -> Fragment:
        if link.soft:
            conditions = [joined(list(map(self._names, link.columns, link.to_columns, cells)), " AND ") for cells in to]
            return joined([(f"({sql})", bound) for sql, bound in conditions], " OR ")
        # A foreign key compares by the collation and the affinity of the key that it refers to.
        child, names = self.relation(link.table), _names(link.table, self.quoted)
        pairs = zip(link.to_columns, link.columns, strict=True)
        same = " AND ".join(
            f"referred.{self.quoted(key.name)} = {child}.{self.quoted(column.name)}" for key, column in pairs
        )
        where, bound = any_of(self, link.to_columns, to, "referred.")
        keys = ", ".join(f"{child}.{name}" for name in names)
        subquery = f"SELECT {keys} FROM {self.relation(link.to_table)} AS referred JOIN {child} ON {same} WHERE {where}"
        return f"({', '.join(names)}) IN ({subquery})", bound

    def _names(self, column: TableColumn, to: TableColumn, cell: Cell) -> Fragment:
        """The condition that a column of a declared link refers to this cell."""
        name = self.quoted(column.name)
        if (number := number_of(column, to, cell)) is not None:
            looks = f"trim({name}) NOT GLOB '*[^0-9.+-]*' AND trim({name}) NOT GLOB '?*[+-]*' "
            looks += f"AND ltrim(trim({name}), '+-') NOT GLOB '0[0-9]*'"
            return f"({looks} AND CAST(trim({name}) AS NUMERIC) = CAST(? AS NUMERIC))", (number,)
        if (digits := uuid_of(column, to, cell)) is not None:
            return f"lower(replace(replace(replace({name}, '-', ''), '{{', ''), '}}', '')) = ?", (digits,)
        mark, bound = self.search_value(column, cell)
        return f"{name} = {mark}", bound

    def relation(self, shape: TableShape) -> str:
        return self.quoted(shape.table)

    def wanted(self, column: TableColumn, kind: Kind, value: Any) -> Sequence[Fragment]:
        del column
        return [("?", (form,)) for form in _stored(value, kind)]

    def row_rules(self, session: TargetSession, shape: TableShape) -> Sequence[RowRule]:
        """Foreign keys, which SQLite checks only for programs that ask it to."""
        rows = session.run("SELECT * FROM pragma_foreign_key_list(?) ORDER BY id, seq", (shape.table,)).rows
        keys = [list(parts) for _, parts in groupby(rows, key=lambda row: row[0])]
        rules = []
        for parts in keys:
            table, columns = parts[0][2], tuple(part[3] for part in parts)
            primary = "SELECT name FROM pragma_table_info(?) WHERE pk ORDER BY pk"
            to = [part[4] for part in parts if part[4]] or [row[0] for row in session.run(primary, (table,)).rows]
            if len(to) == len(columns):  # else SQLite refuses every change of the table
                broken = dangling(self, shape, columns, self.quoted(table), to)
                rules.append(RowRule(", ".join(columns), columns, broken))
        return rules

    def refused_copies(
        self, session: TargetSession, shape: TableShape, changes: Sequence[Change]
    ) -> Sequence[Violation]:
        """Checks, which have no entry in a catalogue, so that an empty copy of the table in memory judges the rows."""
        definition = str(session.value("SELECT sql FROM main.sqlite_master WHERE name = ?", (shape.table,)))
        if "CHECK" not in definition.upper():
            return []
        memory = sqlite3.connect(":memory:", isolation_level=None)
        try:
            memory.execute(definition)
            refusals = ((change.row, self._refusal(memory, shape, change)) for change in changes)
            return [Violation(row, rule) for row, rule in refusals if rule]
        except sqlite3.Error:  # such as a function that only another program has
            return [Violation(change.row, "CHECK", is_certain=False) for change in changes]
        finally:
            memory.close()

    def _refusal(self, memory: sqlite3.Connection, shape: TableShape, change: Change) -> str | None:
        """Return the rule that refuses to restore the row of a change; None if none does."""
        before, table = change.before or {}, self.quoted(shape.table)
        columns = [column for column in shape.columns if not column.generated and column.name in before]
        cells = {**before, **(change.after or {})}
        values = [self.written(column, cells[column.name]) for column in columns]
        marks, bound = joined(values, ", ")
        insert = f"INSERT OR ABORT INTO {table} ({', '.join(self.quoted(c.name) for c in columns)}) VALUES ({marks})"
        memory.execute(f"PRAGMA ignore_check_constraints = {'ON' if change.after else 'OFF'}")
        try:
            memory.execute(insert, bound)
            if change.after:
                memory.execute("PRAGMA ignore_check_constraints = OFF")
                changed = [column for column in columns if column.name in change.after]
                parts = [(self.quoted(each.name), *self.written(each, before[each.name])) for each in changed]
                sets, restored = joined([(f"{name} = {mark}", value) for name, mark, value in parts], ", ")
                memory.execute(f"UPDATE OR ABORT {table} SET {sets}", restored)
        except sqlite3.IntegrityError as error:
            return str(error).partition(": ")[2] or "CHECK"
        finally:
            memory.execute(f"DELETE FROM {table}")
        return None

    def transaction(self, session: TargetSession) -> str | None:
        del session
        return None

    def happened(self, session: TargetSession, transaction: str) -> bool | None:
        del session, transaction
        return None

    def identity(self, session: TargetSession) -> str | None:
        path = self._file(session)
        status = path.stat()
        return f"sqlite:{status.st_dev}:{status.st_ino}:{path}"

    def place(self, session: TargetSession, schema: str) -> str | None:
        del schema
        return self.identity(session)

    def _file(self, session: TargetSession) -> Path:
        return Path(str(session.value("SELECT file FROM pragma_database_list WHERE name = 'main'")))

    def code(self, error: Exception) -> str:
        return str(getattr(error, "sqlite_errorname", "") or type(error).__name__)


def _names(shape: TableShape, quoted: Callable[[str], str]) -> list[str]:
    """The columns that identify a row in SQL: the key, or the rowid if the key may be null: null matches no list."""
    if not any(column.nullable for column in shape.keyed):
        return [quoted(name) for name in shape.key]
    names = {column.name.lower() for column in shape.columns}
    return [next(alias for alias in ("rowid", "_rowid_", "oid") if alias not in names)]


def _value(cell: Cell) -> Any:
    if cell is None:
        return None
    tag, text = cell
    try:
        return _READ[tag](text)
    except (KeyError, ValueError):
        raise Unwritable("a cell that SQLite did not make") from None


def _stored(value: Any, kind: Kind) -> list[Any]:
    """The stored forms for which a scan returns this value."""
    match value:
        case bool():
            return [int(value)]
        case int():
            return [value] if value in _INTEGERS else []
        case float():
            return [value]
        case Decimal():
            number = int(value)
            whole = [number] if number == value and number in _INTEGERS else []
            return [float(value), *whole, format(value, "f")]
        case dt.datetime():
            return _moments(value, kind)
        case dt.date():
            return [value.isoformat()]
        case str():
            return _texts(value)
    return [value]


def _moments(value: dt.datetime, kind: Kind) -> list[Any]:
    zone = ZoneInfo(kind.zone) if isinstance(kind, Wall) else dt.UTC
    naive = value.astimezone(zone).replace(tzinfo=None)
    texts = [naive.isoformat(mark, step) for mark in " T" for step in ("auto", "seconds", "milliseconds")]
    return [*dict.fromkeys(texts), round(value.timestamp())]


def _texts(text: str) -> list[Any]:
    try:
        forms: list[Any] = [text, text.encode()]
    except UnicodeEncodeError:
        return []
    if re.fullmatch(r"-?(0|[1-9][0-9]{0,18})", text) and int(text) in _INTEGERS:
        forms.append(int(text))
    elif re.fullmatch(r"-?[0-9.]+(e[+-][0-9]+)?", text) and text.count(".") <= 1 and text.strip("-.e"):
        forms.append(float(text))
    return forms
