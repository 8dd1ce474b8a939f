"""Random databases with everything that changes rows by itself, and random rules: as data that can be made smaller.

A case holds tables, the columns by which they refer to each other, triggers, rows and a rule.
`random_cases` makes cases, `ddl` writes them for each database, and `smaller` gives
simpler ones.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Server = Literal["postgresql", "mariadb", "sqlite"]
Value = str | None

MAIN = "people"
HOMES = "homes"
GONE = "gone"
TRAIL = "trail"
STAMP = "stamp"


@dataclass(frozen=True)
class Column:
    """`type` is one of the names in `ddl.TYPES`; `on_conflict` is SQLite's, of NOT NULL."""

    name: str
    type: str = "word"
    nullable: bool = True
    on_conflict: str = ""


@dataclass(frozen=True)
class Key:
    """An index over columns. `on_conflict` is SQLite's; with `inline` it is written at the column, not the table."""

    columns: tuple[str, ...]
    unique: bool = True
    on_conflict: str = ""
    inline: bool = False


@dataclass(frozen=True)
class ForeignKey:
    columns: tuple[str, ...]
    to: str
    to_columns: tuple[str, ...]
    on_delete: str
    on_update: str
    deferrable: bool = False


@dataclass(frozen=True)
class Table:
    """`hidden`: ids of rows that row-level security hides from the product's role.

    `pk_conflict` and `without_rowid` are SQLite's.
    """

    name: str
    columns: tuple[Column, ...]
    keys: tuple[Key, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ()
    hidden: tuple[str, ...] | None = None
    pk_conflict: str = ""
    without_rowid: bool = False

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def at(self, name: str) -> int:
        return [column.name for column in self.columns].index(name)


@dataclass(frozen=True)
class Trigger:
    """`kind` is one of `KINDS`; `other` and `other_id` name the row that it writes to, `column` what it reverts.

    `deferred`: PostgreSQL fires it at COMMIT. A trigger on the trail fires for what another one writes there.
    """

    name: str
    table: str
    event: str
    kind: str
    other: str = TRAIL
    other_id: str = ""
    column: str = STAMP
    deferred: bool = False


@dataclass(frozen=True)
class SoftLink:
    """A declared reference: a column that names rows of the main table by `to` without a foreign key."""

    table: str
    column: str
    to: str


@dataclass(frozen=True)
class Case:
    """A database and a rule. `limited`: the product's user owns nothing and is no superuser."""

    server: Server
    seed: int
    tables: tuple[Table, ...]
    clean: Mapping[str, Any]
    keep: tuple[Mapping[str, str], ...] = ()
    triggers: tuple[Trigger, ...] = ()
    links: tuple[SoftLink, ...] = ()
    limited: bool = False

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)


KINDS = (
    *("log", "log", "touch", "touch_unless", "veto", "keep_old", "revert"),
    *("delete_other", "delete_other", "change_other", "reinsert"),
)
ELSEWHERE = ("log", "delete_other", "change_other", "reinsert")
"""Triggers that write rows which the statement did not name."""
TOUCHES = ("touch", "touch_unless")


# Smaller cases


def smaller(case: Case) -> Iterator[Case]:
    """Cases with one thing less, the largest things first."""
    yield from (replace(case, triggers=_without(case.triggers, at)) for at in range(len(case.triggers)))
    yield from (replace(case, links=_without(case.links, at)) for at in range(len(case.links)))
    for at, table in enumerate(case.tables):
        if at and not _is_needed(case, table.name):
            yield replace(case, tables=_without(case.tables, at))
    if case.limited and not any(table.hidden for table in case.tables):
        yield replace(case, limited=False)
    if case.keep:
        yield replace(case, keep=())
    yield from (replace(case, clean=clean) for clean in _smaller_clean(case.clean))
    for at, table in enumerate(case.tables):
        for less in _smaller_tables(case, table):
            yield replace(case, tables=(*case.tables[:at], less, *case.tables[at + 1 :]))


def _smaller_tables(case: Case, table: Table) -> Iterator[Table]:
    yield from (replace(table, rows=_without(table.rows, at)) for at in range(len(table.rows)))
    yield from (replace(table, foreign_keys=_without(table.foreign_keys, at)) for at in range(len(table.foreign_keys)))
    yield from (replace(table, keys=_without(table.keys, at)) for at in range(len(table.keys)))
    for at, key in enumerate(table.keys):
        if key.on_conflict:
            yield replace(table, keys=(*table.keys[:at], replace(key, on_conflict=""), *table.keys[at + 1 :]))
    for at, link in enumerate(table.foreign_keys):
        calm = [replace(link, on_delete="NO ACTION"), replace(link, on_update="NO ACTION")]
        calm.append(replace(link, deferrable=False))
        for less in calm:
            if less != link:
                links = (*table.foreign_keys[:at], less, *table.foreign_keys[at + 1 :])
                yield replace(table, foreign_keys=links)
    if table.hidden:
        yield replace(table, hidden=None)
    if table.pk_conflict:
        yield replace(table, pk_conflict="")
    if table.without_rowid:
        yield replace(table, without_rowid=False)
    if table.name == MAIN:
        yield from _without_column(case, table)


def _without_column(case: Case, table: Table) -> Iterator[Table]:
    used = {column for key in table.keys for column in key.columns} | {trigger.column for trigger in case.triggers}
    used |= {column for each in case.tables for link in each.foreign_keys for column in link.to_columns + link.columns}
    output = str(case.clean) + str(case.keep)
    if any(each.name == GONE for each in case.tables):
        return
    for at, column in enumerate(table.columns):
        if column.name not in used | {"id", "mail"} and column.name not in output:
            rows = tuple(_without(row, at) for row in table.rows)
            yield replace(table, columns=_without(table.columns, at), rows=rows)


def _smaller_clean(clean: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if "ignore_drift" in clean:
        yield {name: value for name, value in clean.items() if name != "ignore_drift"}
    for part in ("values", "fields"):
        named = clean.get(part, {})
        if len(named) > (part == "values"):
            for name in named:
                yield {**clean, part: {second: way for second, way in named.items() if second != name}}


def _is_needed(case: Case, name: str) -> bool:
    referred = any(link.to == name for table in case.tables for link in table.foreign_keys)
    told = any(name in (trigger.table, trigger.other) for trigger in case.triggers)
    declared = any(link.table == name for link in case.links)
    return referred or told or declared or case.clean.get("to") == name


def _without(items: tuple[Any, ...], at: int) -> tuple[Any, ...]:
    return items[:at] + items[at + 1 :]
