"""In SQLite, temporary triggers log each changed row, and `total_changes` counts all changes.

A temporary trigger belongs to our connection alone, and also fires for changes by foreign keys and other triggers. The
total shows changes in tables without such a trigger. Neither includes rows that a REPLACE clause deletes, so our
statements use OR ABORT, which overrides such clauses of constraints and triggers. A DELETE has no OR ABORT: if triggers
fire, a row is deleted, and any REPLACE clause exists in the database, nothing is done.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from connectors.sql.cells import Fragment, TableShape, chunks, joined
from connectors.sql.cleaning.rows import CONDITIONS_AT_ONCE
from connectors.sql.witness.base import Counting
from connectors.target import Image, RowName, TargetRefused, Unplanned

_LOG = "reconcile_witness"
_MADE = f'CREATE TEMP TABLE "{_LOG}" (tab TEXT, row TEXT)'
_TABLES = """
    SELECT name, wr FROM pragma_table_list
    WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
"""
_LINKS = (
    "SELECT m.name, f.\"table\" FROM main.sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'"
)
_TOKENS = re.compile(r"--[^\n]*|/\*.*?(?:\*/|$)|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]|\w+", re.S)
MASTER = "SELECT type, name, sql FROM main.sqlite_master WHERE sql IS NOT NULL"
_EVENTS = (("insert", "NEW"), ("update", "OLD"), ("delete", "OLD"))
_REPLACE = (("CONFLICT", "REPLACE"), ("OR", "REPLACE"), ("REPLACE", "INTO"))
"""REPLACE as a conflict clause or a command, not as the function of that name."""
_DELETE = (("DELETE", "FROM"),)
_ROW_IDS = ("rowid", "_rowid_", "oid")


class SqliteWitness:
    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self._session = counting.session
        if counting.triggers and (where := self._replacing()):
            raise TargetRefused(
                f"Nothing was changed in source {self._session.place.source!r}: triggers fire, and {where} says "
                f"REPLACE. SQLite does not count the rows that REPLACE deletes; use another conflict clause there"
            )
        self._related = self._reached()
        self._rows_by_table = self._watch()
        self._planned = self._logged_as(
            change.row for change in counting.changes if not change.is_guard and change.before is not None
        )
        self._session.run(f'DELETE FROM temp."{_LOG}"')
        self._before = self._session.raw.total_changes

    def unplanned(self, images: Sequence[Image]) -> list[Unplanned]:
        total = self._session.raw.total_changes - self._before
        logged = self._session.run(f'SELECT tab, row FROM temp."{_LOG}"').rows
        planned = self._planned | self._logged_as(
            RowName(image.change.row.table, tuple((column, image.after[column]) for column, _ in image.change.row.key))
            for image in images
            if image.after is not None
        )
        beyond = Counter(table for table, row in {(table, row) for table, row in logged} - planned)
        differences = [Unplanned(table, rows, table in self._related) for table, rows in sorted(beyond.items())]
        unwatched = total - 2 * len(logged)  # the log's own rows count, too
        if unwatched:
            differences.append(Unplanned("", abs(unwatched), related=not self._counting.triggers))
        return differences

    def _replacing(self) -> str | None:
        """The table or trigger that may delete rows by REPLACE, if any: our statements override it, except a DELETE."""
        rows = self._session.run(MASTER).rows
        deletes = any(change.after is None for change in self._counting.changes)
        deletes = deletes or any(kind == "trigger" and _says(str(sql), _DELETE) for kind, _, sql in rows)
        return replacing(rows) if deletes else None

    def _reached(self) -> set[str]:
        """The tables of the plan and all that refer to them; SQLite compares their names without case."""
        children: dict[str, set[str]] = {}
        for child, parent in self._session.run(_LINKS).rows:
            children.setdefault(str(parent).lower(), set()).add(str(child))
        reached: set[str] = set()
        waiting = list(self._counting.related_tables)
        while waiting:
            table = waiting.pop()
            if table not in reached:
                reached.add(table)
                waiting += children.get(table.lower(), ())
        return reached

    def _watch(self) -> Mapping[str, str]:
        """Create the missing triggers; return the expression that names a row of each table."""
        existing = {str(row[0]) for row in self._session.run("SELECT name FROM sqlite_temp_master").rows}
        if _LOG not in existing:
            self._session.send(_MADE)
        expressions = {}
        for table, without_rowid in self._session.run(_TABLES).rows:
            if not self._counting.triggers and table not in self._related:
                continue
            shape = self._counting.tables.named(table)
            parts = _identity(shape, without_rowid=bool(without_rowid))
            expressions[table] = _row(parts)
            for event, side in _EVENTS:
                name = f"{_LOG} {event} {table} {' '.join(parts)}"
                if name not in existing:
                    self._session.send(_trigger(name, event, table, _row([f"{side}.{part}" for part in parts])))
        return expressions

    def _logged_as(self, rows: Iterable[RowName]) -> set[tuple[str, str]]:
        """The names in the log of those of these rows that exist."""
        by_table: dict[str, list[RowName]] = {}
        for row in rows:
            by_table.setdefault(row.table, []).append(row)
        logged = set()
        for table, names in by_table.items():
            shape = self._counting.tables.named(table)
            for batch in chunks(names, CONDITIONS_AT_ONCE):
                logged |= {(shape.table, str(row[0])) for row in self._session.run(*self._select(shape, batch)).rows}
        return logged

    def _select(self, shape: TableShape, rows: Sequence[RowName]) -> Fragment:
        conditions = []
        for row in rows:
            columns = self._counting.tables.columns(shape, [column for column, _ in row.key])
            cells = [cell for _, cell in row.key]
            conditions.append(joined(list(map(self._counting.dialect.is_exactly, columns, cells)), " AND "))
        where, bound = joined([(f"({sql})", values) for sql, values in conditions], " OR ")
        expression = self._rows_by_table.get(shape.table, "''")
        return f"SELECT {expression} FROM {self._counting.dialect.relation(shape)} WHERE {where}", bound


def _identity(shape: TableShape, *, without_rowid: bool) -> list[str]:
    """The quoted columns that identify a row of the table during the transaction."""
    names = {column.name.lower() for column in shape.columns}
    row_id = next((name for name in _ROW_IDS if name not in names), None)
    if not without_rowid and row_id is not None:
        return [row_id]
    return ['"' + name.replace('"', '""') + '"' for name in shape.key]


def _row(parts: Sequence[str]) -> str:
    """The expression that identifies a row by these columns."""
    return " || ' ' || ".join(f"quote({part})" for part in parts) or "''"


def _trigger(name: str, event: str, table: str, row: str) -> str:
    quoted, literal = table.replace('"', '""'), table.replace("'", "''")
    return (
        f'CREATE TEMP TRIGGER "{name.replace(chr(34), chr(34) * 2)}" AFTER {event} ON main."{quoted}" '
        f"BEGIN INSERT INTO \"{_LOG}\" VALUES ('{literal}', {row}); END"
    )


def replacing(rows: Iterable[Sequence[object]]) -> str | None:
    """The first table or trigger with a REPLACE clause among the rows of MASTER, if any."""
    return next((f"{kind} {name}" for kind, name, sql in rows if _says(str(sql), _REPLACE)), None)


def _says(sql: str, pairs: Collection[tuple[str, str]]) -> bool:
    """Return True if a statement has one of these pairs of words outside texts, quoted names and comments."""
    words = [match[0].upper() for match in _TOKENS.finditer(sql)]
    return any(pair in pairs for pair in pairwise(words))
