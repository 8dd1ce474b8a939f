"""MariaDB and MySQL count the rows that a transaction changed, cascades included, in one number for all tables.

The number is in `SHOW ENGINE INNODB STATUS`, which needs the PROCESS privilege. `information_schema.innodb_trx` has the
same number, but in a cache that is renewed only after a tenth of a second without reads. A random word in our own
statement identifies our transaction, since the report also quotes the statements of others.

The session's `Handler_%` counters also count the changes of triggers, but not those of cascades, which separates the
two. Without the privilege, and where triggers fire, we also read the rows that refer to changed ones by any visible
foreign key, before and after, under lock.

Decide from the text of triggers of MariaDB and MySQL that they change no table of a plan.

The servers' one count for all tables does not say where rows were changed. We trust a trigger to stay out of a plan's
tables only if we know every name in its text: plain tables without triggers or foreign keys to them, and built-in
functions. Any other name might lead back.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from connectors.sql.catalogue.mysql import sees_every_table
from connectors.sql.cells import TableColumn, TableLink, TableShape, chunks
from connectors.sql.cleaning.outcomes import failed
from connectors.sql.cleaning.rows import CONDITIONS_AT_ONCE
from connectors.sql.cleaning.session import TargetSession
from connectors.sql.witness.base import Counting, Statements
from connectors.target import Cell, Cells, Image, TargetRefused, TransactionOutcome, Unplanned

_TOKENS = re.compile(
    r"--\s[^\n]*|\#[^\n]*|/\*.*?(?:\*/|$)|'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"|`(?:[^`]|``)*`|[\w$@]+|[^\s]",
    re.S,
)
_TABLE_FOLLOWS = {"into", "update", "from", "join", "ignore", "low_priority", "delayed", "replace", "insert"}
_WORDS_BETWEEN = {"into", "ignore", "low_priority", "delayed", "quick", "from"}
_RUNS_OTHERS = {"call", "execute", "prepare", "handler", "load", "cursor"}
_FUNCTIONS = frozenset(
    """
    abs adddate addtime bin cast ceil ceiling char_length character_length coalesce concat concat_ws conv convert count
    crc32 curdate current_date current_time current_timestamp current_user curtime database date date_add date_format
    date_sub datediff day dayofmonth elt exists extract field floor format from_unixtime greatest group_concat hex hour
    if ifnull in insert_id interval json_array json_extract json_object json_quote json_value last_insert_id lcase least
    left length localtime localtimestamp lower lpad ltrim max md5 microsecond mid min minute mod month now nullif ord
    pow power quote rand regexp_replace repeat replace reverse right round rpad rtrim schema second session_user sha
    sha1 sha2 sign space str_to_date strcmp substr substring substring_index sum sysdate system_user time timestamp
    timestampdiff trim truncate ucase unhex unix_timestamp upper user utc_date utc_time utc_timestamp uuid values week
    year and or not on as when then else set key
    """.split()  # noqa: SIM905 - as a list it would be longer than the rest of the module
)
"""The names allowed before a parenthesis: functions of the server that change nothing, and keywords."""
_PLAIN = """
    SELECT count(*) FROM information_schema.tables t
    WHERE t.table_schema = %s AND t.table_name = %s AND t.table_type = 'BASE TABLE'
    AND NOT EXISTS (
        SELECT 1 FROM information_schema.triggers g
        WHERE g.event_object_schema = t.table_schema AND g.event_object_table = t.table_name
    )
    AND NOT EXISTS (
        SELECT 1 FROM information_schema.key_column_usage k
        WHERE k.referenced_table_schema = t.table_schema AND k.referenced_table_name = t.table_name
    )
"""


def stays_elsewhere(session: TargetSession, schema: str, body: str, plan: Collection[str]) -> bool:
    """Return True if a trigger of a table in `schema` certainly changes none of the tables `plan` (bare names)."""
    tokens = [token for token in map(_plain, _TOKENS.findall(body)) if token]
    words = [token.lower() for token in tokens]
    if _RUNS_OTHERS & set(words) or "/*!" in body or "/*M!" in body:  # such a comment is executed
        return False
    tables = _tables(tokens, words)
    if tables is None or not _knows_functions(words, tables.keys()):
        return False
    names = {name.lower() for name in plan}
    reached = set(tables.values())
    return all(
        name.lower() not in names and session.value(_PLAIN, (own_schema or schema, name))
        for own_schema, name in reached
    )


def _plain(token: str) -> str:
    """A token without comments and texts; a quoted name gets a mark, so that it is not a keyword."""
    if token.startswith(("--", "#", "/*", "'", '"')):
        return "" if token.startswith(("--", "#", "/*")) else "''"
    return "`" + token[1:-1].replace("``", "`") if token.startswith("`") else token


def _tables(tokens: Sequence[str], words: Sequence[str]) -> dict[int, tuple[str, str]] | None:
    """The (schema, table) names in the places of tables, by place; None if that is not certain."""
    by_place = {}
    for place, word in enumerate(words):
        if words[place - 1 : place] == ["key"] and word == "update":
            continue  # ON DUPLICATE KEY UPDATE
        if word not in _TABLE_FOLLOWS or (word in ("replace", "insert") and words[place + 1 : place + 2] == ["("]):
            continue
        at = place + 1
        while at < len(words) and words[at] in _WORDS_BETWEEN:
            at += 1
        if at >= len(words) or not re.fullmatch(r"`.+|[\w$]+", tokens[at]):
            return None  # a subquery or unknown syntax
        name, schema = tokens[at].lstrip("`"), ""
        if tokens[at + 1 : at + 2] == ["."] and at + 2 < len(tokens):
            at += 2
            schema, name = name, tokens[at].lstrip("`")
        by_place[at] = schema, name
        if tokens[at + 1 : at + 2] == [","] and word in ("from", "join", "update"):
            return None  # a list of tables
    return by_place


def _knows_functions(words: Sequence[str], tables: Collection[int]) -> bool:
    """Return True if each name before a parenthesis is a built-in function, a keyword, or a table in its place."""
    calls = [place for place, (word, after) in enumerate(pairwise(words)) if after == "(" and re.match(r"[`\w$]", word)]
    return all(place in tables or (words[place] in _FUNCTIONS and words[place - 1 : place] != ["."]) for place in calls)


_NO_RIGHT = "1227"
_ENTRIES = re.compile(r"undo log entries (\d+)")
_LINKS = """
    SELECT k.constraint_schema, k.constraint_name, k.table_schema, k.table_name, k.column_name,
           k.referenced_column_name, k.table_schema = database()
    FROM information_schema.key_column_usage k
    WHERE k.referenced_table_schema = %s AND k.referenced_table_name = %s
    ORDER BY k.constraint_schema, k.table_schema, k.table_name, k.constraint_name, k.ordinal_position
"""
_PRIMARY = """
    SELECT column_name FROM information_schema.statistics
    WHERE table_schema = %s AND table_name = %s AND index_name = 'PRIMARY'
"""
_INDEXED = """
    SELECT DISTINCT column_name FROM information_schema.statistics
    WHERE table_schema = %s AND table_name = %s AND column_name IS NOT NULL
"""
_HANDLED = """
    SHOW SESSION STATUS WHERE Variable_name IN ('Handler_write', 'Handler_update', 'Handler_delete')
"""
_VERSIONED = (
    "SELECT table_type = 'SYSTEM VERSIONED' FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
)
_BODIES = """
    SELECT action_statement FROM information_schema.triggers
    WHERE event_object_schema = %s AND event_object_table = %s
"""
_Rows = Counter[tuple[tuple[str, Cell], ...]]


@dataclass(frozen=True)
class _Referring:
    """The rows that referred to changed ones by one foreign key, as they were before."""

    link: TableLink
    to: Sequence[tuple[Cell, ...]]
    rows: _Rows


class MySqlWitness:
    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self._session = counting.session
        if counting.triggers and (table := self._unseen()):
            raise TargetRefused(
                f"Nothing was changed in source {self._session.place.source!r}: table {table} has triggers, and this "
                f"user cannot see what they do. Grant it the right TRIGGER on that database"
            )
        self._links = [link for table in counting.changed_tables for link in self._links_to(table)]
        self._entries = self._undo_entries()
        if self._entries is None and self._may_cascade() and not self._sees_every_table():
            raise TargetRefused(
                f"Nothing was changed in source {self._session.place.source!r}: this user lacks the right PROCESS "
                f"and cannot see every foreign key, so unplanned changes could go unnoticed. Grant it PROCESS ON *.*"
            )
        self._before, self._statements = self._handled(), counting.statements.copy()
        self._referring = [] if self._entries is not None and not counting.triggers else self._read_referring()

    def unplanned(self, images: Sequence[Image]) -> list[Unplanned]:
        differences = self._rows_that_differ(images)
        by_triggers = self._by_triggers() if self._counting.triggers else 0
        beyond = self._beyond(images, by_triggers) if self._entries is not None else 0
        if beyond and not differences:
            hints = tuple(sorted({link.table.name for link in self._links}))
            differences.append(Unplanned("", beyond, related=True, hints=hints))
        if by_triggers:
            differences.append(Unplanned("", by_triggers, self._may_be_ours()))
        return differences

    def _beyond(self, images: Sequence[Image], by_triggers: int) -> int:
        """The number of rows that InnoDB changed beyond, or short of, the plan and the triggers: changes by cascades.

        Changes of triggers in tables of other engines, or without effect on a row, leave no undo record.
        """
        entries = self._undo_entries()
        if entries is None:
            raise failed(
                self._session.place,
                "the server's report of its transactions was cut short",
                TransactionOutcome.NOT_DONE,
            )
        counted = entries - (self._entries or 0)
        least, most = self._expected(images)
        return max(counted - most - by_triggers, least - counted, 0)

    def _by_triggers(self) -> int:
        """The number of rows that triggers changed: calls to the storage engine beyond those of our own statements.

        These counters do not include cascades. A versioned table writes a history row for each update.
        """
        now, ours = self._handled(), self._counting.statements - self._statements
        return max(now - self._before - sum(ours.values()) - self._history(ours), 0)

    def _handled(self) -> int:
        return sum(int(row[1]) for row in self._session.run(_HANDLED).rows)

    def _history(self, ours: Statements) -> int:
        return sum(count for (table, kind), count in ours.items() if kind == "update" and self._is_versioned(table))

    def _undo_entries(self) -> int | None:
        """The number of undo records of our transaction: one per changed row. None if this user may not see it."""
        word = secrets.token_hex(16)
        try:
            rows = self._session.run(f"SHOW /* {word} */ ENGINE INNODB STATUS").rows
        except self._session.errors as error:
            if self._counting.dialect.code(error) != _NO_RIGHT:
                raise
            return None
        report = str(rows[0][2])
        end = report.find(word)
        start = report.rfind("---TRANSACTION", 0, end)
        if end < 0 or start < 0:  # a server with very many transactions cuts the report short
            return None
        entries = _ENTRIES.search(report, start, end)
        return int(entries[1]) if entries else 0

    def _may_cascade(self) -> bool:
        """Return True if an invisible foreign key could act: a row is deleted, or an indexed column changes."""
        for change in self._counting.changes:
            if change.after is None:
                return True
            if change.before is not None and change.after.keys() & self._indexed(change.row.table):
                return True
        return False

    def _indexed(self, table: str) -> set[str]:
        shape = self._counting.tables.named(table)
        return {str(row[0]) for row in self._session.run(_INDEXED, (shape.schema, shape.table)).rows}

    def _sees_every_table(self) -> bool:
        return sees_every_table(str(row[0]) for row in self._session.run("SHOW GRANTS").rows)

    def _expected(self, images: Sequence[Image]) -> tuple[int, int]:
        """The minimum and maximum number of undo records of these changes."""
        keys = {table: self._primary_key(table) for table in {image.change.row.table for image in images}}
        versioned = {table for table in keys if self._is_versioned(table)}
        bounds = [
            _records(image, keys[image.change.row.table], image.change.row.table in versioned) for image in images
        ]
        return sum(least for least, _ in bounds), sum(most for _, most in bounds)

    def _primary_key(self, table: str) -> frozenset[str]:
        shape = self._counting.tables.named(table)
        return frozenset(str(row[0]) for row in self._session.run(_PRIMARY, (shape.schema, shape.table)).rows)

    def _is_versioned(self, table: str) -> bool:
        shape = self._counting.tables.named(table)
        return bool(self._session.value(_VERSIONED, (shape.schema, shape.table)))

    def _links_to(self, table: str) -> list[TableLink]:
        """The foreign keys that refer to any key of a table."""
        parent = self._counting.tables.named(table)
        columns: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for row in self._session.run(_LINKS, (parent.schema, parent.table)).rows:
            child = str(row[3]) if row[6] else f"{row[2]}.{row[3]}"
            columns.setdefault((child, str(row[1])), []).append((str(row[4]), str(row[5])))
        links = []
        for (child, _), pairs in columns.items():
            shape = self._counting.tables.named(child)
            referring_columns = self._counting.tables.columns(shape, [pair[0] for pair in pairs])
            to = self._counting.tables.columns(parent, [pair[1] for pair in pairs])
            links.append(TableLink(shape, referring_columns, parent, to, soft=False))
        return links

    def _read_referring(self) -> list[_Referring]:
        return [
            _Referring(link, to, self._rows(link, to)) for link in self._links if (to := self._values_referred_to(link))
        ]

    def _values_referred_to(self, link: TableLink) -> list[tuple[Cell, ...]]:
        """The cells of the rows to change in the columns that this foreign key refers to."""
        cells = (
            tuple(change.before.get(column.name) for column in link.to_columns)
            for change in self._counting.changes
            if change.row.table == link.to_table.name and not change.is_guard and change.before is not None
        )
        return list(dict.fromkeys(value for value in cells if None not in value))

    def _rows(self, link: TableLink, to: Sequence[tuple[Cell, ...]]) -> _Rows:
        tables, dialect, rows = self._counting.tables, self._counting.dialect, _Rows()
        for batch in chunks(list(to), CONDITIONS_AT_ONCE):
            where, bound = dialect.refers(link, batch)
            sql = f"{tables.select(link.table)} WHERE {where}{dialect.for_update}"
            referring_rows = (tables.cells(link.table, row) for row in self._session.run(sql, bound).rows)
            rows |= Counter(tuple(cells.items()) for cells in referring_rows)
        return rows

    def _rows_that_differ(self, images: Sequence[Image]) -> list[Unplanned]:
        """The number of rows per table that referred to a changed row and changed or vanished without the plan."""
        planned = {(image.change.row.table, _key(image.before, image)) for image in images if image.before is not None}
        beyond: Counter[str] = Counter()
        for referring in self._referring:
            shape = referring.link.table
            rows = {row for row in referring.rows if (shape.name, _key_of(shape, dict(row))) not in planned}
            beyond[shape.name] += len(rows - self._still_there(shape, rows))
        return [Unplanned(table, rows, related=True) for table, rows in sorted(beyond.items()) if rows]

    def _still_there(
        self, shape: TableShape, rows: set[tuple[tuple[str, Cell], ...]]
    ) -> set[tuple[tuple[str, Cell], ...]]:
        tables, dialect = self._counting.tables, self._counting.dialect
        keyed: Sequence[TableColumn] = shape.keyed or shape.columns
        rows_there: set[tuple[tuple[str, Cell], ...]] = set()
        for batch in chunks(sorted(rows, key=str), CONDITIONS_AT_ONCE):
            row_conditions = [[dialect.is_exactly(column, dict(row)[column.name]) for column in keyed] for row in batch]
            where = " OR ".join("(" + " AND ".join(sql for sql, _ in conditions) + ")" for conditions in row_conditions)
            bound = [value for conditions in row_conditions for _, values in conditions for value in values]
            answer = self._session.run(f"{tables.select(shape)} WHERE {where}", bound)
            rows_there |= {tuple(tables.cells(shape, row).items()) for row in answer.rows}
        return rows_there

    def _may_be_ours(self) -> bool:
        """Return True if a trigger may have changed a table of the plan, or one that refers to it."""
        plan = {self._counting.tables.named(table).table for table in self._counting.related_tables}
        plan |= {link.table.table for link in self._links}
        return not all(
            stays_elsewhere(self._session, str(self._counting.tables.named(table).schema), body, plan)
            for table in self._counting.changed_tables
            for body in self._bodies(table)
        )

    def _bodies(self, table: str) -> list[str]:
        """The statements of a table's triggers; an empty text if this user may not see one."""
        shape = self._counting.tables.named(table)
        return [str(row[0] or "") for row in self._session.run(_BODIES, (shape.schema, shape.table)).rows]

    def _unseen(self) -> str | None:
        """A table with triggers whose text this user may not see."""
        return next((table for table in self._counting.changed_tables if not all(self._bodies(table))), None)


def _records(image: Image, primary_key: frozenset[str], versioned: bool) -> tuple[int, int]:  # noqa: FBT001
    """The minimum and maximum number of undo records of one change. A new primary key deletes and inserts the row."""
    if image.before is None or image.after is None:
        deleted = image.after is None
        return (2, 2) if versioned and deleted else (1, 1)
    changed = {name for name in image.before.keys() | image.after.keys() if _differs(image, name)}
    if not changed:
        return 0, 0
    moves = 1 if changed & primary_key else 0
    unsure = 1 if not primary_key and changed & {name for name, _ in image.change.row.key} else 0
    return 1 + moves, 1 + moves + unsure + (1 if versioned else 0)


def _differs(image: Image, name: str) -> bool:
    before, after = image.before or {}, image.after or {}
    return before.get(name) != after.get(name)


def _key(cells: Cells, image: Image) -> tuple[Cell, ...]:
    return tuple(cells.get(name) for name, _ in image.change.row.key)


def _key_of(shape: TableShape, cells: Mapping[str, Cell]) -> tuple[Cell, ...]:
    return tuple(cells[name] for name in shape.key)
