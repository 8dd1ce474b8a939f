"""Cases as tables of each database, and an exact copy of all of them, read by plain SQL.

The copy goes over a connection of an administrator, never through our own code: PostgreSQL's text of a value, MariaDB's
bytes in hex, SQLite's storage class and literal.
"""

import itertools
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa

from tests.reconcile.cleaning.any_schema.case import TRAIL, Case, Column, ForeignKey, Key, Server, Table, Trigger, Value

Row = dict[str, Value]
Copy = dict[str, list[Row]]
OURS = ("reconcile_receipts", "reconcile_owner")
TYPES: Mapping[Server, Mapping[str, str]] = {
    "postgresql": {
        "int": "integer",
        "bigint": "bigint",
        "uuid": "uuid",
        "word": "varchar(60)",
        "nocase": "varchar(60) collate extras.nocase",
        "citext": "extras.citext",
        "number": "numeric",
        "money": "numeric(12,2)",
    },
    "mariadb": {
        "int": "int",
        "bigint": "bigint",
        "word": "varchar(60) collate utf8mb4_general_ci",
        "nocase": "varchar(60) collate utf8mb4_unicode_ci",
        "binary_word": "varchar(60) collate utf8mb4_bin",
        "money": "decimal(12,2)",
        "clock": "timestamp null default null on update current_timestamp",
    },
    "sqlite": {
        "int": "integer",
        "bigint": "bigint",
        "word": "varchar(60)",
        "word_id": "varchar(60)",
        "nocase": "varchar(60) collate nocase",
        "rtrim": "varchar(60) collate rtrim",
        "any": "",
        "money": "decimal(12,2)",
    },
}
NUMBERS = ("int", "bigint", "number", "money", "any")


class Unmakeable(Exception):
    """The database does not take such tables."""


class Database(Protocol):
    """A database for one case after another."""

    def make(self, case: Case) -> str:
        """Make the tables, rows and triggers of this case and nothing else; the product's URL. Raises Unmakeable."""

    def copy(self) -> Copy:
        """All rows of all tables, every value exactly, sorted; without the two tables of the product."""

    def cell(self, column: Column, tag: str, text: str) -> str:
        """What the copy says of a cell of a plan once it stands in this column."""

    def close(self) -> None:
        """Drop what is not in the database itself: roles, users, connections."""


def literal(column: Column, value: Value) -> str:
    if value is None:
        return "null"
    return value if column.type in NUMBERS else f"'{value}'"


def inserts(table: Table) -> Iterator[str]:
    names = ", ".join(column.name for column in table.columns)
    for row in table.rows:
        values = ", ".join(map(literal, table.columns, row))
        yield f"insert into {table.name} ({names}) values ({values})"


def order(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: [(name, value is None, value or "") for name, value in row.items()])


def sql_of_table(case: Case, table: Table) -> list[str]:
    """CREATE TABLE, and its indexes where they are statements of their own."""
    parts = [_column(case, table, column) for column in table.columns]
    if not any(column.name == "id" and case.server == "sqlite" for column in table.columns):
        parts.append("primary key (id)")
    indexes = []
    for number, key in enumerate(table.keys):
        columns = ", ".join(key.columns)
        if key.unique and not _is_inline(key):
            parts.append(f"unique ({columns}){_conflict(key.on_conflict)}")
        elif not key.unique:
            indexes.append(f"create index {table.name}_{number} on {table.name} ({columns})")
    if case.server == "mariadb":
        parts += [f"index ({', '.join(key.columns)})" for key in table.keys if not key.unique]
        indexes = []
    parts += [_foreign_key(case, link) for link in table.foreign_keys]
    rowless = " without rowid" if table.without_rowid else ""
    return [f"create table {table.name} ({', '.join(parts)}){rowless}", *indexes]


def tables_in_order(case: Case) -> list[Table]:
    """Each after those it refers to."""
    tables: list[Table] = []
    waiting = list(case.tables)
    while waiting:
        names = {table.name for table in tables}
        ready = [
            table for table in waiting if all(link.to in names or link.to == table.name for link in table.foreign_keys)
        ]
        tables += ready
        waiting = [table for table in waiting if table not in ready]
    return tables


def _is_inline(key: Key) -> bool:
    return key.inline and len(key.columns) == 1


def _conflict(word: str) -> str:
    return f" on conflict {word.lower()}" if word else ""


def _column(case: Case, table: Table, column: Column) -> str:
    answer = f"{column.name} {TYPES[case.server][column.type]}".rstrip()
    if column.name == "id" and case.server == "sqlite":
        return f"{answer} primary key{_conflict(table.pk_conflict)} not null"
    answer += _default(case, table, column)
    if not column.nullable:
        answer += " not null" + _conflict(column.on_conflict)
    key = next((key for key in table.keys if key.unique and _is_inline(key) and key.columns == (column.name,)), None)
    return answer if key is None else f"{answer} unique{_conflict(key.on_conflict)}"


def _default(case: Case, table: Table, column: Column) -> str:
    """Where ON DELETE SET DEFAULT or NOT NULL ON CONFLICT REPLACE needs one: a value of the first referred row."""
    if column.on_conflict:
        return f" default {literal(column, '7')}"
    for link in table.foreign_keys:
        if column.name in link.columns and "SET DEFAULT" in (link.on_delete, link.on_update):
            parent = case.table(link.to)
            value = parent.rows[0][parent.at(link.to_columns[link.columns.index(column.name)])] if parent.rows else None
            return f" default {literal(column, value)}"
    return ""


def _foreign_key(case: Case, link: ForeignKey) -> str:
    later = " deferrable initially deferred" if link.deferrable and case.server == "postgresql" else ""
    columns, to_columns = ", ".join(link.columns), ", ".join(link.to_columns)
    actions = f"on delete {link.on_delete} on update {link.on_update}"
    return f"foreign key ({columns}) references {link.to} ({to_columns}) {actions}{later}"


class Postgres:
    """A database on the server, with a role that owns nothing; schema `public` is made anew for each case."""

    def __init__(self, url: str) -> None:
        self._url = sa.make_url(url)
        options = {"prepare_threshold": None}  # the same statement reads other columns in the next case
        self._engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", connect_args=options)
        self._role = f"anyschema_{uuid.uuid4().hex[:12]}"
        with self._engine.connect() as connection:
            for statement in (
                f"create role {self._role} login",
                "create schema extras",
                "create extension citext schema extras",
                "create collation extras.nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
                f"grant usage on schema extras to {self._role}",
                f"alter database {self._url.database} set search_path = public, extras",
            ):
                connection.exec_driver_sql(statement)
        self._engine.dispose()

    def close(self) -> None:
        with self._engine.connect() as connection:
            for statement in (
                "drop schema public cascade",
                f"drop owned by {self._role}",
                f"drop role {self._role}",
            ):
                connection.exec_driver_sql(statement)
        self._engine.dispose()

    def make(self, case: Case) -> str:
        with self._engine.connect() as connection:
            for statement in ("drop schema if exists public cascade", "create schema public"):
                connection.exec_driver_sql(statement)
            try:
                for table in tables_in_order(case):
                    for statement in sql_of_table(case, table):
                        connection.exec_driver_sql(statement)
                connection.exec_driver_sql(f"create table {TRAIL} (what text)")
            except sa.exc.DBAPIError as error:
                raise Unmakeable(str(error.orig)) from error
            for table in tables_in_order(case):
                for statement in inserts(table):
                    with suppress(sa.exc.IntegrityError):
                        connection.exec_driver_sql(statement)
                if table.hidden is not None:
                    hidden = ", ".join([*table.hidden, "-1"])
                    connection.exec_driver_sql(f"alter table {table.name} enable row level security")
                    seen = f"create policy seen on {table.name} to {self._role} using (id not in ({hidden}))"
                    connection.exec_driver_sql(seen)
            for statement in itertools.chain(*(_postgres_trigger(case, trigger) for trigger in case.triggers)):
                connection.exec_driver_sql(statement)
            if not case.limited:
                return self._url.render_as_string(hide_password=False)
            connection.exec_driver_sql(f"grant all on schema public to {self._role}")
            connection.exec_driver_sql(f"grant all on all tables in schema public to {self._role}")
        return self._url.set(username=self._role).render_as_string(hide_password=False)

    def copy(self) -> Copy:
        with self._engine.connect() as connection:
            names = [row[0] for row in connection.exec_driver_sql(_POSTGRES_TABLES)]
            rows_by_table: Copy = {}
            for name in names:
                columns = [row[0] for row in connection.exec_driver_sql(_POSTGRES_COLUMNS, (name,))]
                texts = ", ".join(f'"{column}"::text' for column in columns)
                rows = connection.exec_driver_sql(f"select {texts} from {name}")
                rows_by_table[name] = order([dict(zip(columns, row, strict=True)) for row in rows])
        return rows_by_table

    def cell(self, column: Column, tag: str, text: str) -> str:
        assert tag == "t"
        return _converted(column, text)


_POSTGRES_TABLES = """
    select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
    and relname not in ('reconcile_receipts', 'reconcile_owner') order by relname
"""
_POSTGRES_COLUMNS = """
    select attname::text from pg_attribute where attrelid = %s::regclass and attnum > 0 and not attisdropped
    order by attnum
"""


def _converted(column: Column, text: str) -> str:
    """What a column of a server makes of a text that is written into it."""
    match column.type:
        case "int" | "bigint":
            return str(int(Decimal(text)))
        case "money":
            return str(Decimal(text).quantize(Decimal("0.01")))
        case "uuid":
            return text.lower()
    return text


def _postgres_trigger(case: Case, trigger: Trigger) -> Iterator[str]:
    table, name = trigger.table, trigger.name
    row = "new" if trigger.event == "INSERT" else "old"
    timing, body = _BODIES[trigger.kind], ""
    match trigger.kind:
        case "log":
            body = f"insert into public.{TRAIL} values ('{trigger.event} {table} ' || {row}.id); return null;"
        case "touch":
            body = f"new.{trigger.column} := 'touched'; return new;"
        case "touch_unless":
            same = f"new.{trigger.column} is not distinct from old.{trigger.column}"
            body = (
                f"if {same} then new.{trigger.column} := coalesce(old.{trigger.column}, '') || '+'; end if; return new;"
            )
        case "veto":
            body = "return null;"
        case "keep_old":
            body = "return old;"
        case "revert":
            body = f"new.{trigger.column} := old.{trigger.column}; return new;"
        case "delete_other" | "change_other":
            body = f"{_other(case, trigger)}; return null;"
        case "reinsert":
            copied = ", ".join(f"old.{column.name}" for column in case.table(table).columns)
            body = f"insert into public.{table} values ({copied}); return null;"
    constraint, later = ("constraint ", " deferrable initially deferred") if trigger.deferred else ("", "")
    yield f"create function {name}() returns trigger language plpgsql as $$ begin {body} end $$"
    when = f"{timing} {trigger.event} on {table}{later}"
    yield f"create {constraint}trigger {name} {when} for each row execute function {name}()"


_BODIES = {
    **dict.fromkeys(("touch", "touch_unless", "veto", "keep_old", "revert"), "before"),
    **dict.fromkeys(("log", "delete_other", "change_other", "reinsert"), "after"),
}


def _other(case: Case, trigger: Trigger) -> str:
    """What it does to a row that nobody named."""
    table = case.table(trigger.other)
    where = f"where id = {literal(table.column('id'), trigger.other_id or None)}"
    if trigger.kind == "delete_other":
        return f"delete from {trigger.other} {where}"
    column = "status" if any(column.name == "status" for column in table.columns) else "word"
    return f"update {trigger.other} set {column} = 'other' {where}"


class MariaDb:
    """A database on the server, and a user who has all rights in it and none beyond."""

    def __init__(self, url: str) -> None:
        self._url = sa.make_url(url)
        self._engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
        self._user = f"any_{uuid.uuid4().hex[:12]}"
        rights = f"grant all on {self._url.database}.* to {self._user}"
        self._do(f"create user {self._user}", rights, f"grant select on *.* to {self._user}")  # all, but not PROCESS

    def _do(self, *statements: str) -> None:
        with self._engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement.replace("%", "%%"))

    def close(self) -> None:
        self._do(f"drop user {self._user}")
        self._engine.dispose()

    def make(self, case: Case) -> str:
        with self._engine.connect() as connection:
            names = [row[0] for row in connection.exec_driver_sql("show tables")]
            if names:
                with _unchecked(connection):
                    connection.exec_driver_sql(f"drop table {', '.join(names)}")
            try:
                for table in tables_in_order(case):
                    for statement in sql_of_table(case, table):
                        connection.exec_driver_sql(statement)
                connection.exec_driver_sql(f"create table {TRAIL} (what varchar(60))")
            except sa.exc.DBAPIError as error:
                raise Unmakeable(str(error.orig)) from error
            for table in tables_in_order(case):
                for statement in inserts(table):
                    with suppress(sa.exc.IntegrityError):
                        connection.exec_driver_sql(statement)
            for trigger in case.triggers:
                if created := _maria_trigger(case, trigger):
                    connection.exec_driver_sql(created)
        url = self._url.set(username=self._user) if case.limited else self._url
        return url.render_as_string(hide_password=False)

    def copy(self) -> Copy:
        rows_by_table: Copy = {}
        with self._engine.connect() as connection:
            for (name,) in connection.exec_driver_sql("show tables").all():
                if name in OURS:
                    continue
                columns = [row[0] for row in connection.exec_driver_sql(f"show columns from {name}")]
                texts = ", ".join(f"hex(cast({column} as binary))" for column in columns)
                rows = connection.exec_driver_sql(f"select {texts} from {name}")
                rows_by_table[name] = order([dict(zip(columns, row, strict=True)) for row in rows])
        return rows_by_table

    def cell(self, column: Column, tag: str, text: str) -> str:
        return text.upper() if tag == "b" else _converted(column, text).encode().hex().upper()


@contextmanager
def _unchecked(connection: sa.Connection) -> Iterator[None]:
    connection.exec_driver_sql("set foreign_key_checks = 0")
    yield
    connection.exec_driver_sql("set foreign_key_checks = 1")


def _maria_trigger(case: Case, trigger: Trigger) -> str | None:
    row = "new" if trigger.event == "INSERT" else "old"
    column = trigger.column
    match trigger.kind:
        case "log":
            body = f"insert into {TRAIL} values (concat('{trigger.event} {trigger.table} ', {row}.id))"
        case "touch":
            body = f"set new.{column} = 'touched'"
        case "touch_unless":
            touched = f"concat(coalesce(old.{column}, ''), '+')"
            body = f"set new.{column} = if(new.{column} <=> old.{column}, {touched}, new.{column})"
        case "veto":
            body = "signal sqlstate '45000' set message_text = 'not here'"
        case "keep_old" | "revert":
            body = f"set new.{column} = old.{column}"
        case "delete_other" | "change_other":
            body = _other(case, trigger)
        case _:
            return None
    when = f"{_BODIES[trigger.kind]} {trigger.event}"
    return f"create trigger {trigger.name} {when} on {trigger.table} for each row {body}"


class Sqlite:
    """One file, made anew for each case."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "shop.db"
        self._memory = sqlite3.connect(":memory:")

    def close(self) -> None:
        self._memory.close()

    def make(self, case: Case) -> str:
        for path in self._path.parent.glob("shop.db*"):
            path.unlink()
        with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute("pragma synchronous = off")
            connection.execute("pragma foreign_keys = on")
            try:
                for table in tables_in_order(case):
                    for statement in sql_of_table(case, table):
                        connection.execute(statement)
                connection.execute(f"create table {TRAIL} (what text)")
                for table in tables_in_order(case):
                    for statement in inserts(table):
                        with suppress(sqlite3.IntegrityError):
                            connection.execute(statement)
            except sqlite3.OperationalError as error:
                raise Unmakeable(str(error)) from error
            for trigger in case.triggers:
                connection.execute(_sqlite_trigger(case, trigger))
        return f"sqlite:///{self._path}"

    def copy(self) -> Copy:
        rows_by_table: Copy = {}
        with closing(sqlite3.connect(self._path)) as connection:
            listed = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
            for (name,) in connection.execute(listed).fetchall():
                if name in OURS:
                    continue
                columns = [row[1] for row in connection.execute(f"pragma table_info({name})")]
                exact = ", ".join(
                    f"case when {column} is not null then typeof({column}) || ' ' || quote({column}) end"
                    for column in columns
                )
                rows = connection.execute(f"select {exact} from {name}")
                rows_by_table[name] = order([dict(zip(columns, row, strict=True)) for row in rows])
        return rows_by_table

    def cell(self, column: Column, tag: str, text: str) -> str:
        values: Mapping[str, Any] = {"i": int, "r": float, "b": bytes.fromhex}
        value = values.get(tag, str)(text)
        self._memory.execute("drop table if exists cell")
        self._memory.execute(f"create table cell (held {TYPES['sqlite'][column.type]})")
        self._memory.execute("insert into cell values (?)", (value,))
        return str(self._memory.execute("select typeof(held) || ' ' || quote(held) from cell").fetchone()[0])


def _sqlite_trigger(case: Case, trigger: Trigger) -> str:
    table, column = trigger.table, trigger.column
    row = "new" if trigger.event == "INSERT" else "old"
    timing, when = "after", ""
    match trigger.kind:
        case "log":
            body = f"insert into {TRAIL} values ('{trigger.event} {table} ' || {row}.id)"
        case "touch":
            body = f"update {table} set {column} = 'touched' where id = new.id"
        case "touch_unless":
            when = f"when new.{column} is old.{column}"
            body = f"update {table} set {column} = coalesce({column}, '') || '+' where id = new.id"
        case "veto":
            timing, body = "before", "select raise(ignore)"
        case "keep_old" | "revert":
            body = f"update {table} set {column} = old.{column} where id = new.id"
        case "delete_other" | "change_other":
            body = _other(case, trigger)
        case _:
            copied = ", ".join(f"old.{each.name}" for each in case.table(table).columns)
            body = f"insert into {table} values ({copied})"
    return f"create trigger {trigger.name} {timing} {trigger.event} on {table} {when} begin {body}; end"


def ddl_of(case: Case) -> list[str]:
    """Everything that makes the case, to be read by a person."""
    tables = [statement for table in tables_in_order(case) for statement in sql_of_table(case, table)]
    for trigger in case.triggers:
        if case.server == "postgresql":
            tables += _postgres_trigger(case, trigger)
        else:
            tables.append((_maria_trigger if case.server == "mariadb" else _sqlite_trigger)(case, trigger) or "")
    for table in tables_in_order(case):
        tables += inserts(table)
        if table.hidden is not None:
            tables.append(f"-- row-level security on {table.name} hides id in ({', '.join(table.hidden)})")
    return tables
