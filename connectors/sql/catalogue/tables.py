"""A table as its database describes it, with everything that refers to it: to be known before a row is touched.

All foreign keys are followed, from table to child to grandchild, whatever their action: a cascade deletes rows that
nobody planned, and the row count stays 1. A table of the default schema is named plainly, any other `schema.table`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from connectors.sql.catalogue.facts import Asked, Described, Ident, Link
from connectors.sql.catalogue.mysql import MySql
from connectors.sql.catalogue.postgresql import PostgreSql
from connectors.sql.catalogue.sqlite import Sqlite
from connectors.sql.catalogue.stamp import Run, stamps
from connectors.target import Catalogue, Reference, TableFacts, TargetRefused

_ASKED: Mapping[str, Callable[[sa.Connection], Asked]] = {"postgresql": PostgreSql, "mysql": MySql, "sqlite": Sqlite}


def catalogue(connection: sa.Connection, table: sa.TableClause | str, soft: Sequence[Reference] = ()) -> Catalogue:
    """The table and all that refers to it, directly or not; `soft` are declared links, their names as `table` is.

    A soft link's `to_table` may be empty: it is this table then. Raises TargetRefused where the table, or one that a
    soft link names, or a column of such a link, is not there. Errors of the database pass through.
    """
    asked = _ASKED[connection.dialect.name](connection)
    start = _ident(asked, table)
    links = asked.links()
    declared = _declared(asked, start, soft, links)
    reached, found = _closure(start, [*links, *declared])
    before = stamps(_runner(connection), connection.dialect.name, {_name(asked, one): one for one in reached})
    described = asked.described(reached)
    if start not in described:
        raise TargetRefused(f"There is no table {_name(asked, start)} any more.")
    _must_have_columns(asked, described, declared)
    parts = {part: ident for ident, one in described.items() for part in one.parts}
    astray = {parts[link.to]: link for link in links if link.to in parts}
    tables = {}
    for ident, one in described.items():
        link = astray.get(ident)
        refused = one.refused or (_referred_part(link) if link else None) or _ambiguous(asked, ident)
        tables[_name(asked, ident)] = _facts(_name(asked, ident), one, refused)
    references = tuple(_reference(asked, one, soft=one in declared) for one in found)
    return Catalogue(
        _name(asked, start),
        tables,
        references,
        _digest(tables, references, described, found),
        tuple(asked.told(described.keys(), [one for one in found if one not in declared])),
        before,
        start.schema,
    )


def _runner(connection: sa.Connection) -> Run:
    return lambda sql, bound: [tuple(row) for row in connection.exec_driver_sql(sql, tuple(bound)).all()]


def _ident(asked: Asked, table: sa.TableClause | str) -> Ident:
    if isinstance(table, sa.TableClause):
        tried = [(table.schema, table.name)]
        told = ".".join(part for part in (table.schema, table.name) if part)
    else:
        schema, _, rest = table.rpartition(".")
        tried = [(None, table), *([(schema, rest)] if schema else [])]
        told = table
    for schema_or_none, name in tried:
        found = asked.find(schema_or_none and str(schema_or_none), str(name))
        if found:
            return found
    raise TargetRefused(f"There is no table {told}.")


def _name(asked: Asked, ident: Ident) -> str:
    return ident.name if ident.schema == asked.default else f"{ident.schema}.{ident.name}"


def _ambiguous(asked: Asked, ident: Ident) -> str | None:
    """A name with a dot may mean two tables; then neither is for us."""
    name = _name(asked, ident)
    alone = "." not in name or _ident(asked, name) == ident
    return None if alone else "there is another table that the same name means; rename one"


def _declared(asked: Asked, start: Ident, soft: Sequence[Reference], links: Sequence[Link]) -> list[Link]:
    """Each once, and none that the database knows by itself."""
    known = {_pairs(one) for one in links}
    made: dict[tuple[Any, ...], Link] = {}
    for one in soft:
        to = _ident(asked, one.to_table) if one.to_table else start
        table = _ident(asked, one.table)
        link = Link(one.name, table, one.columns, to, one.to_columns, one.on_delete, one.on_update)
        if _pairs(link) not in known:
            made.setdefault(_pairs(link), link)
    return list(made.values())


def _pairs(link: Link) -> tuple[Any, ...]:
    """Which columns refer to which, in any order; all of them, where there are more on one side."""
    return (
        link.table,
        link.to,
        frozenset(zip(link.columns, link.to_columns, strict=False)),
        len(link.columns),
        len(link.to_columns),
    )


def _closure(start: Ident, links: Sequence[Link]) -> tuple[set[Ident], list[Link]]:
    """All tables that refer to this one through any number of others, and the links between all of them."""
    by_parent: dict[Ident, list[Link]] = {}
    for link in links:
        by_parent.setdefault(link.to, []).append(link)
    reached, waiting = {start}, [start]
    while waiting:
        for link in by_parent.get(waiting.pop(), ()):
            if link.table not in reached:
                reached.add(link.table)
                waiting.append(link.table)
    found = [link for ident in reached for link in by_parent.get(ident, ())]
    return reached, sorted(found, key=lambda one: (one.to, one.table, one.columns, one.name))


def _must_have_columns(asked: Asked, described: Mapping[Ident, Described], declared: Sequence[Link]) -> None:
    for link in declared:
        for ident, columns in ((link.table, link.columns), (link.to, link.to_columns)):
            known = {one.name for one in described[ident].columns} if ident in described else set(columns)
            for column in columns:
                if column not in known:
                    raise TargetRefused(
                        f"The declared reference {link.name} names column {column!r}, which table "
                        f"{_name(asked, ident)} does not have."
                    )
        if len(link.columns) != len(link.to_columns):
            raise TargetRefused(f"The declared reference {link.name} names more columns on one side than on the other.")


def _referred_part(link: Link) -> str:
    return f"a foreign key of {link.table.name} refers to its partition {link.to.name} alone"


def _facts(name: str, one: Described, refused: str | None) -> TableFacts:
    required = {column.name for column in one.columns if not column.nullable}
    primary = next((key.columns for key in one.keys if key.primary), ())
    others = [key for key in one.keys if not key.primary]
    naming = [key.columns for key in others if key.plain and required.issuperset(key.columns)]
    if not primary and naming:
        primary = min(naming, key=lambda columns: (len(columns), columns))
    if not primary and not refused:
        refused = "it has neither a primary key nor a unique key without nulls to name its rows by"
    sentence = f"Nothing can be cleaned in table {name}: {refused}." if refused else None
    uniques = sorted({key.columns for key in others if key.plain and key.columns != primary})
    unclear = tuple(sorted(key.name for key in others if not key.plain))
    return TableFacts(
        name, one.columns, primary, tuple(uniques), one.triggers, sentence, unclear, one.hides_rows, one.unchecked
    )


def _reference(asked: Asked, link: Link, *, soft: bool) -> Reference:
    return Reference(
        link.name,
        _name(asked, link.table),
        link.columns,
        _name(asked, link.to),
        link.to_columns,
        link.on_delete,
        link.on_update,
        soft,
        link.deferrable,
    )


def _digest(
    tables: Mapping[str, TableFacts],
    references: Collection[Reference],
    described: Mapping[Ident, Described],
    links: Collection[Link],
) -> str:
    facts = [dataclasses.asdict(tables[name]) for name in sorted(tables)]
    named = [dataclasses.asdict(one) for one in references]
    also = sorted([ident.schema, ident.name, list(one.also)] for ident, one in described.items())
    said: list[Any] = [facts, named, also, [one.also for one in links]]
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
