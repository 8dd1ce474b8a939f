"""Let the database count changes: a trigger on each watched table records every changed row.

The count is independent of our code, and rolled-back changes are not counted. Each event has a number, in the order of
the changes; the rows before and after are texts as the database prints them.

    witness = Witness(engine)
    witness.watch("customers", "notes")
    …
    assert Counter((event.what, event.table) for event in witness.events()) == {("delete", "customers"): 3}

Cascading foreign keys fire triggers on SQLite, but not on MariaDB.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

What = Literal["insert", "update", "delete"]
TABLE = "reconcile_witness"
_MOMENTS: Mapping[str, tuple[str | None, str | None]] = {
    "insert": (None, "NEW"),
    "update": ("OLD", "NEW"),
    "delete": ("OLD", None),
}
_TABLE = {
    "postgresql": f"CREATE TABLE IF NOT EXISTS {TABLE} (seq bigserial PRIMARY KEY, tab text NOT NULL, "
    "what text NOT NULL, old text, new text)",
    "sqlite": f"CREATE TABLE IF NOT EXISTS {TABLE} (seq integer PRIMARY KEY AUTOINCREMENT, tab text NOT NULL, "
    "what text NOT NULL, old text, new text)",
    "mysql": f"CREATE TABLE IF NOT EXISTS {TABLE} (seq bigint AUTO_INCREMENT PRIMARY KEY, tab varchar(200) NOT NULL, "
    "what varchar(10) NOT NULL, old longtext, new longtext) ENGINE=InnoDB",
}


@dataclass(frozen=True)
class Event:
    """One changed row, by any program. `old` and `new` are its columns as texts, None for NULL."""

    seq: int
    table: str
    what: What
    old: Mapping[str, str | None] | None
    new: Mapping[str, str | None] | None

    @property
    def row(self) -> Mapping[str, str | None]:
        """The old row, or the new one of an insert."""
        row = self.old if self.old is not None else self.new
        if row is None:
            raise ValueError(f"event {self.seq} has no row")
        return row


class Witness:
    """The triggers of one database. The engine's user must have the right to create a table and triggers there."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._kind = engine.dialect.name if engine.dialect.name != "mariadb" else "mysql"
        if self._kind not in _TABLE:
            raise ValueError(f"there are no triggers for {self._kind} here")
        self._quote = engine.dialect.identifier_preparer.quote

    def watch(self, *tables: str) -> None:
        """Record every changed row of these tables from now on. Their columns must not change meanwhile."""
        with self._engine.begin() as connection:
            connection.exec_driver_sql(_TABLE[self._kind])
            for table in tables:
                columns = [column["name"] for column in sa.inspect(connection).get_columns(table)]
                for what, (old, new) in _MOMENTS.items():
                    for statement in self._trigger(table, what, self._packed(old, columns), self._packed(new, columns)):
                        connection.execute(sa.text(statement.replace(":", "\\:")))

    def events(self, after: int = 0) -> list[Event]:
        """Every change of a row with a number above `after`, in order."""
        query = sa.text(f"SELECT seq, tab, what, old, new FROM {TABLE} WHERE seq > :after ORDER BY seq")
        with self._engine.connect() as connection:
            return [
                Event(seq, table, what, _read(old), _read(new))
                for seq, table, what, old, new in connection.execute(query, {"after": after})
            ]

    def last(self) -> int:
        """The number of the last change; 0 before the first."""
        with self._engine.connect() as connection:
            return int(connection.execute(sa.text(f"SELECT coalesce(max(seq), 0) FROM {TABLE}")).scalar_one())

    def _packed(self, row: str | None, columns: Sequence[str]) -> str:
        """A JSON object of the columns of OLD or NEW, every value a text or null."""
        if row is None:
            return "NULL"
        make = {"postgresql": "json_build_object", "sqlite": "json_object", "mysql": "json_object"}[self._kind]
        cast = {"postgresql": "text", "sqlite": "text", "mysql": "char"}[self._kind]
        pairs = (f"'{column}', CAST({row}.{self._quote(column)} AS {cast})" for column in columns)
        text = f"{make}({', '.join(pairs)})"
        return f"{text}::text" if self._kind == "postgresql" else text

    def _trigger(self, table: str, what: str, old: str, new: str) -> Iterator[str]:
        name, of = f"witness_{what}_{table}", self._quote(table)
        insert = f"INSERT INTO {TABLE} (tab, what, old, new) VALUES ('{table}', '{what}', {old}, {new})"
        when = f"AFTER {what.upper()} ON {of} FOR EACH ROW"
        if self._kind == "sqlite":
            yield f"CREATE TRIGGER {self._quote(name)} {when} BEGIN {insert}; END"
        elif self._kind == "mysql":
            yield f"CREATE TRIGGER {self._quote(name)} {when} {insert}"
        else:
            body = f"BEGIN {insert}; RETURN NULL; END"
            yield f"CREATE FUNCTION {self._quote(name)}() RETURNS trigger LANGUAGE plpgsql AS $witness${body}$witness$"
            yield f"CREATE TRIGGER {self._quote(name)} {when} EXECUTE FUNCTION {self._quote(name)}()"


def replayed(rows: Iterable[Mapping[str, str | None]], events: Iterable[Event], key: str) -> dict[str, dict[str, Any]]:
    """The rows of one table after these events, by key; raises ValueError if an event does not fit them.

    If the table holds other rows, a change was not recorded.
    """
    by_key = {str(row[key]): dict(row) for row in rows}
    for event in events:
        if event.old is not None:
            old_row = by_key.pop(str(event.old[key]), None)
            if old_row != event.old:
                raise ValueError(f"event {event.seq} changes a row that differs from its record")
        if event.new is not None:
            if str(event.new[key]) in by_key:
                raise ValueError(f"event {event.seq} inserts a row that already exists")
            by_key[str(event.new[key])] = dict(event.new)
    return by_key


def _read(text: str | None) -> dict[str, str | None] | None:
    return None if text is None else json.loads(text)
