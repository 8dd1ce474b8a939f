"""Changing rows of PostgreSQL: every value is the text that PostgreSQL itself writes and reads."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import psycopg
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from connectors.sql.address import CONNECT_SECONDS, KEEPALIVES
from connectors.sql.cells import TEXT, Fragment, TableColumn, TableLink, TableShape
from connectors.sql.cleaning.dialect import NotCommitted, Unwritable, family, number_of, referring, uuid_of
from connectors.sql.cleaning.outcomes import GONE, failed
from connectors.sql.cleaning.session import TargetSession
from connectors.sql.columns import Kind
from connectors.sql.values import Wall, forgiving_dates
from connectors.target import Cell, NotATable, TargetRefused, TransactionOutcome

_TEXTS = (
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'postgres'",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL extra_float_digits = 3",
    "SET LOCAL lc_monetary = 'C'",
    "SET LOCAL xmloption = 'content'",
    "SET LOCAL array_nulls = on",
    "SET LOCAL row_security = off",
)
"""Under these settings PostgreSQL reads every type's text back as the same value, whatever the server's settings are.

With row_security off, a statement that would not see all rows of a table is an error.
"""
_DURABLE = "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
_ENDS_TRANSACTIONS = 170000
_SHAPE = """
    SELECT n.nspname, c.relname, c.relkind::text, n.nspname = current_schema(), t.typnotnull, k.keys,
           c.oid, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated::text,
           a.attidentity::text
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid
    CROSS JOIN LATERAL (
        SELECT array_agg(
            CASE WHEN i.indisprimary THEN 'p ' ELSE 'u ' END
            || array_to_string((i.indkey::int2[])[0:i.indnkeyatts - 1], ' ')
        ) AS keys
        FROM pg_index i
        WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indisready AND i.indislive
        AND i.indpred IS NULL AND i.indexprs IS NULL
        AND NOT EXISTS (
            SELECT FROM unnest(i.indclass::oid[]) one JOIN pg_opclass o ON o.oid = one WHERE NOT o.opcdefault
        )
    ) k
    WHERE c.oid = to_regclass(%s)
    ORDER BY a.attnum
"""
_SAME = """
    SELECT a.attrelid, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated::text,
           a.attidentity::text
    FROM pg_attribute a WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
"""
"""The last columns of _SHAPE, in a tenth of its time. They differ after any change of the table's columns."""
_IN_ARRAYS = {"smallint", "integer", "bigint", "text", "character varying", "uuid"}
"""Types for which PostgreSQL reads an untyped text as an array of the column's type."""
_PRECISION = re.compile(r"\([^)]*\)")
_ROUNDS = re.compile(r"(numeric\(|time(stamp)?\(|(?P<interval>interval\b)).*?(?P<array>(\[\])*)$")
"""Types with a precision, which a column may have got after its value was stored."""
_KINDS = {"v": "a view", "m": "a materialised view", "f": "a foreign table", "S": "a sequence"}
_NUMBER = "^[[:space:]]*[-+]?(0|[1-9][0-9]*)([.][0-9]*)?[[:space:]]*$"
_WHICH = "SELECT pg_walfile_name(pg_current_wal_lsn())"


class PostgreSqlDialect:
    """Parameters are sent as untyped texts, so that PostgreSQL reads each as its column's type."""

    name: ClassVar[str] = "postgresql"
    mark: ClassVar[str] = "%s"
    for_update: ClassVar[str] = " FOR UPDATE"
    insert_new: ClassVar[str] = " ON CONFLICT DO NOTHING RETURNING 1"
    or_abort: ClassVar[str] = ""
    lost: ClassVar[Collection[str]] = (GONE, "08003", "08006", "57P01", "57P02", "57P05", "25P03")
    no_rights: ClassVar[Collection[str]] = ("42501", "3F000")
    created_meanwhile: ClassVar[Collection[str]] = ("23505", "42P07")
    duplicate: ClassVar[str] = "23505"
    receipt_types: ClassVar[Mapping[str, str]] = {
        "key": 'text COLLATE "C" NOT NULL PRIMARY KEY',
        "word": "text NOT NULL",
        "number": "bigint NOT NULL",
        "time": "timestamptz NOT NULL DEFAULT now()",
        "end": "",
    }
    receipts_given: ClassVar[str] = (
        "json_to_recordset(%s) AS given"
        '("key" text, "fingerprint" text, "store" text, "epoch" bigint, "fence" bigint, "plan" text, "after" text)'
    )

    def engine(self, source: str, url: sa.URL, root: Path, seconds: float) -> sa.Engine:
        del source, root
        arguments = {
            **KEEPALIVES,
            "connect_timeout": CONNECT_SECONDS,
            "tcp_user_timeout": max(1000, round(seconds * 1000)),
            "client_encoding": "utf8",
        }
        engine = sa.create_engine(url, poolclass=NullPool, connect_args=arguments, hide_parameters=True)

        @sa.event.listens_for(engine, "connect")
        def prepare(connection: Any, _: object) -> None:
            forgiving_dates(connection)
            connection.autocommit = True  # we say BEGIN and COMMIT ourselves
            connection.prepare_threshold = None  # a pooler between us need not know of statements

        return engine

    def stamp(self, session: TargetSession) -> object:
        del session
        return None

    def begin(self, session: TargetSession, seconds: float) -> None:
        self._must_have_encoding(session)
        quarter = max(1, round(seconds * 250))
        limits = {
            "statement_timeout": quarter,
            "lock_timeout": max(1, round(quarter * 0.8)),
            "idle_in_transaction_session_timeout": quarter,
        }
        if session.raw.info.server_version >= _ENDS_TRANSACTIONS:
            limits["transaction_timeout"] = 4 * quarter
        settings = [f"SET LOCAL {name} = {value}" for name, value in limits.items()]
        session.send("; ".join(["BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", *settings, *_TEXTS, _DURABLE]))

    def begin_reading(self, session: TargetSession, seconds: float) -> None:
        self._must_have_encoding(session)
        limit = f"SET LOCAL statement_timeout = {max(1, round(seconds * 1000))}"
        session.send("; ".join(["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", limit, *_TEXTS]))

    def _must_have_encoding(self, session: TargetSession) -> None:
        if session.raw.info.parameter_status("server_encoding") == "SQL_ASCII":
            raise TargetRefused(
                f"Source {session.place.source!r} at {session.place.where} uses the encoding SQL_ASCII, so its texts "
                f"cannot be decoded. Nothing is cleaned there. Restore a dump of it into a UTF8 database"
            )

    def commit(self, session: TargetSession) -> None:
        cursor = session.raw.cursor()
        try:
            cursor.execute("COMMIT")
            if cursor.statusmessage != "COMMIT":  # a transaction that had failed is rolled back without an error
                raise NotCommitted
        finally:
            cursor.close()

    def default_schema(self, session: TargetSession) -> str | None:
        schema = session.value("SELECT current_schema()")
        return None if schema is None else str(schema)

    def shape(self, session: TargetSession, schema: str | None, table: str) -> TableShape | None:
        name = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, table) if part)
        remembered = session.remembered.get(name)
        if remembered is not None and remembered[0] == session.run(_SAME, (name,)).rows:
            return remembered[1]
        rows = session.run(_SHAPE, (name,)).rows
        if not rows:
            return None
        schema_name, table_name, kind, is_default, _, keys = rows[0][:6]
        if kind in _KINDS:
            raise NotATable(
                f"{table_name} of source {session.place.source!r} is {_KINDS[kind]}. Nothing is cleaned there. "
                f"Name the table that holds its records"
            )
        columns, numbers = [], {}
        for *_, is_domain_required, _, _, number, column, type_name, required, generated, identity in rows:
            numbers[number] = column
            nullable = not (required or is_domain_required)
            columns.append(
                TableColumn(column, type_name, nullable=nullable, generated=bool(generated), identity=bool(identity))
            )
        known_as = table_name if is_default else f"{schema_name}.{table_name}"
        shape = TableShape(known_as, schema_name, table_name, tuple(columns), _key(numbers, columns, keys or []))
        session.remembered[name] = ([row[6:] for row in rows], shape)
        return shape

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""').replace("%", "%%") + '"'

    def relation(self, shape: TableShape) -> str:
        return f"{self.quoted(str(shape.schema))}.{self.quoted(shape.table)}"

    def read(self, column: TableColumn) -> str:
        return f"{self.quoted(column.name)}::text"

    def cell(self, column: TableColumn, value: Any) -> Cell:
        del column
        return None if value is None else (TEXT, value)

    def written(self, column: TableColumn, cell: Cell) -> Fragment:
        del column
        if cell is not None and cell[0] != TEXT:
            raise Unwritable("a cell that PostgreSQL did not make")
        return "%s", (None if cell is None else cell[1],)

    def search_value(self, column: TableColumn, cell: Cell) -> Fragment:
        return self.written(column, cell)

    def is_exactly(self, column: TableColumn, cell: Cell) -> Fragment:
        name = self.quoted(column.name)
        if cell is None:
            return f"{name} IS NULL", ()
        mark, bound = self.written(column, cell)
        return f'({name} = {mark} AND {name}::text COLLATE "C" = {mark})', (*bound, *bound)

    def holds(self, column: TableColumn, cell: Cell) -> Fragment:
        name = self.quoted(column.name)
        if cell is None:
            return f"{name} IS NULL", ()
        mark, bound = self.written(column, cell)
        written = f"CAST({mark} AS {column.type.replace('%', '%%')})"
        same = f'{name}::text COLLATE "C" IS NOT DISTINCT FROM {written}::text COLLATE "C"'
        if (unrounded := _unrounded(column.type)) is None:
            return f"({same})", bound
        return f"({same} AND {name} = CAST({mark} AS {unrounded}))", (*bound, *bound)

    def is_any(self, column: TableColumn, cells: Sequence[Cell]) -> Fragment | None:
        if column.type.partition("(")[0] not in _IN_ARRAYS or column.type.endswith("[]") or None in cells:
            return None
        bound = [text for cell in cells for text in self.written(column, cell)[1]]
        name, array = self.quoted(column.name), "{" + ",".join(map(_element, bound)) + "}"
        return f'({name} = ANY (%s) AND {name}::text COLLATE "C" = ANY (%s))', (array, array)

    def refers(self, link: TableLink, to: Sequence[Sequence[Cell]]) -> Fragment:
        return referring(self._refers, link, to)

    def _refers(self, column: TableColumn, to: TableColumn, cell: Cell, soft: bool) -> Fragment:  # noqa: FBT001 - mapped over
        mark, bound = self.written(to, cell)
        name = self.quoted(column.name)
        if soft and (number := number_of(column, to, cell)) is not None:
            if family(column.type) == "number":
                return f"{name}::numeric = CAST(%s AS numeric)", (number,)
            as_number = f"{name}::text::numeric = CAST(%s AS numeric)"
            return f"CASE WHEN {name}::text ~ '{_NUMBER}' THEN {as_number} ELSE false END", (number,)
        if soft and (digits := uuid_of(column, to, cell)) is not None:
            return f"lower(regexp_replace({name}::text, '[-{{}}]', '', 'g')) = %s", (digits,)
        if soft and column.type != to.type:
            return f"{name}::text = {mark}", bound
        return f"{name} = CAST({mark} AS {to.type.replace('%', '%%')})", bound

    def wanted(self, column: TableColumn, kind: Kind, value: Any) -> Sequence[Fragment]:
        del column
        return [("%s", (text,)) for text in _texts(value, kind)]

    def transaction(self, session: TargetSession) -> str | None:
        transaction_id = session.value("SELECT pg_current_xact_id()::text")
        return f"{self._cluster(session)}/{self._timeline(session)}/{transaction_id}"

    def happened(self, session: TargetSession, transaction: str) -> bool | None:
        where, _, name = transaction.rpartition("/")
        if where != f"{self._cluster(session)}/{self._timeline(session)}":
            return None
        try:
            status = session.value("SELECT pg_xact_status(%s::xid8)", (name,))
        except psycopg.errors.InvalidParameterValue:  # its number is in the future: this is another history
            return None
        if status == "in progress":
            raise failed(session.place, "that transaction has not ended yet", TransactionOutcome.UNKNOWN)
        return None if status is None else status == "committed"

    def identity(self, session: TargetSession) -> str | None:
        return f"postgresql:{self._cluster(session)}:{session.value('SELECT current_database()')}"

    def place(self, session: TargetSession, schema: str) -> str | None:
        return f"{self.identity(session)}/{schema}"

    def _cluster(self, session: TargetSession) -> str:
        """The system identifier or, where the user may not read it, the database's number in its cluster."""
        if session.value("SELECT has_function_privilege('pg_control_system()', 'execute')"):
            return str(session.value("SELECT system_identifier FROM pg_control_system()"))
        return f"oid-{session.value('SELECT oid FROM pg_database WHERE datname = current_database()')}"

    def _timeline(self, session: TargetSession) -> str:
        if session.value("SELECT pg_is_in_recovery()"):
            return "standby"
        return str(session.value(_WHICH))[:8]

    def code(self, error: Exception) -> str:
        state = str(getattr(error, "sqlstate", None) or "")
        if state:
            return state
        lost = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError))
        return GONE if lost else "22021"  # the driver could not send the value


def _element(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _unrounded(type_name: str) -> str | None:
    """Return the type without its precision, for types whose columns round values to it; None for others."""
    kind = _ROUNDS.match(type_name)
    return None if kind is None else "interval" + kind["array"] if kind["interval"] else _PRECISION.sub("", type_name)


def _key(names: Mapping[int, str], columns: Sequence[TableColumn], keys: Sequence[str]) -> tuple[str, ...]:
    required = {column.name for column in columns if not column.nullable}
    candidates = []
    for index in keys:
        kind, *numbers = index.split(" ")
        key = tuple(names[int(number)] for number in numbers)
        if kind == "p":
            return key
        if required.issuperset(key):
            candidates.append(key)
    return min(candidates, key=lambda key: (len(key), key)) if candidates else ()


def _texts(value: Any, kind: Kind) -> list[Any]:
    """The value as a parameter; empty where PostgreSQL cannot hold it."""
    match value:
        case bool():
            return ["true" if value else "false"]
        case int():
            return [value] if -(2**63) <= value < 2**63 else []
        case Decimal():
            return [format(value, "f")]
        case bytes():
            return ["\\x" + value.hex()]
        case dt.datetime():
            if isinstance(kind, Wall):
                return [value.astimezone(ZoneInfo(kind.zone)).replace(tzinfo=None).isoformat()]
            return [value.isoformat()]
        case dt.date():
            return [value.isoformat()]
        case str():
            return [] if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value) else [value]
    return [str(value)]
