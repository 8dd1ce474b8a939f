"""A table as its database describes it, with everything that refers to it, read before a row is changed.

All foreign keys are followed, from table to child to grandchild, whatever their action: a cascade deletes unplanned
rows, and the row count stays 1. A table of the default schema has a plain name, any other `schema.table`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from connectors.sql.catalogue.facts import Described, ForeignKey, Ident, Inspector
from connectors.sql.catalogue.mysql import MySqlCatalogue
from connectors.sql.catalogue.postgresql import PostgreSqlCatalogue
from connectors.sql.catalogue.sqlite import SqliteCatalogue
from connectors.sql.catalogue.stamp import Run, stamps
from connectors.target import Catalogue, Reference, TableFacts, TargetRefused

_INSPECTORS: Mapping[str, Callable[[sa.Connection], Inspector]]
_INSPECTORS = {"postgresql": PostgreSqlCatalogue, "mysql": MySqlCatalogue, "sqlite": SqliteCatalogue}


def catalogue(connection: sa.Connection, table: sa.TableClause | str, soft: Sequence[Reference] = ()) -> Catalogue:
    """The table and all that refers to it, directly or not; `soft` are declared links, named like `table`.

    An empty `to_table` of a soft link means this table. Raises TargetRefused if the table, or a table or column of a
    soft link, does not exist. Errors of the database pass through.
    """
    inspector = _INSPECTORS[connection.dialect.name](connection)
    start = _ident(inspector, table)
    links = inspector.links()
    declared = _declared(inspector, start, soft, links)
    reached, all_links = _closure(start, [*links, *declared])
    before = stamps(_runner(connection), connection.dialect.name, {_name(inspector, ident): ident for ident in reached})
    described = inspector.described(reached)
    if start not in described:
        raise TargetRefused(f"Table {_name(inspector, start)} no longer exists.")
    _must_have_columns(inspector, described, declared)
    parts = {part: ident for ident, entry in described.items() for part in entry.parts}
    astray = {parts[link.to]: link for link in links if link.to in parts}
    tables = {}
    for ident, entry in described.items():
        link = astray.get(ident)
        refused = entry.refused or (_referred_part(link) if link else None) or _ambiguous(inspector, ident)
        tables[_name(inspector, ident)] = _facts(_name(inspector, ident), entry, refused)
    references = tuple(_reference(inspector, link, soft=link in declared) for link in all_links)
    return Catalogue(
        _name(inspector, start),
        tables,
        references,
        _digest(tables, references, described, all_links),
        tuple(inspector.warnings(described.keys(), [link for link in all_links if link not in declared])),
        before,
        start.schema,
    )


def _runner(connection: sa.Connection) -> Run:
    return lambda sql, bound: [tuple(row) for row in connection.exec_driver_sql(sql, tuple(bound)).all()]


def _ident(inspector: Inspector, table: sa.TableClause | str) -> Ident:
    if isinstance(table, sa.TableClause):
        tried = [(table.schema, table.name)]
        full_name = ".".join(part for part in (table.schema, table.name) if part)
    else:
        schema, _, bare_name = table.rpartition(".")
        tried = [(None, table), *([(schema, bare_name)] if schema else [])]
        full_name = table
    for schema_or_none, name in tried:
        ident = inspector.find(schema_or_none and str(schema_or_none), str(name))
        if ident:
            return ident
    raise TargetRefused(f"There is no table {full_name}.")


def _name(inspector: Inspector, ident: Ident) -> str:
    return ident.name if ident.schema == inspector.default else f"{ident.schema}.{ident.name}"


def _ambiguous(inspector: Inspector, ident: Ident) -> str | None:
    """The reason to refuse a name with a dot that may mean two tables."""
    name = _name(inspector, ident)
    alone = "." not in name or _ident(inspector, name) == ident
    return None if alone else "another table has the same name; rename one of them"


def _declared(
    inspector: Inspector, start: Ident, soft: Sequence[Reference], links: Sequence[ForeignKey]
) -> list[ForeignKey]:
    """The declared links without duplicates and without those that the database knows."""
    known_pairs = {_pairs(link) for link in links}
    by_pairs: dict[tuple[Any, ...], ForeignKey] = {}
    for reference in soft:
        to = _ident(inspector, reference.to_table) if reference.to_table else start
        table = _ident(inspector, reference.table)
        actions = reference.on_delete, reference.on_update
        link = ForeignKey(reference.name, table, reference.columns, to, reference.to_columns, *actions)
        if _pairs(link) not in known_pairs:
            by_pairs.setdefault(_pairs(link), link)
    return list(by_pairs.values())


def _pairs(link: ForeignKey) -> tuple[Any, ...]:
    """The pairs of columns in any order, and the number of columns on each side."""
    return (
        link.table,
        link.to,
        frozenset(zip(link.columns, link.to_columns, strict=False)),
        len(link.columns),
        len(link.to_columns),
    )


def _closure(start: Ident, links: Sequence[ForeignKey]) -> tuple[set[Ident], list[ForeignKey]]:
    """All tables that refer to this one, directly or through others, and the links between them."""
    by_parent: dict[Ident, list[ForeignKey]] = {}
    for link in links:
        by_parent.setdefault(link.to, []).append(link)
    reached, waiting = {start}, [start]
    while waiting:
        for link in by_parent.get(waiting.pop(), ()):
            if link.table not in reached:
                reached.add(link.table)
                waiting.append(link.table)
    all_links = [link for ident in reached for link in by_parent.get(ident, ())]
    return reached, sorted(all_links, key=lambda link: (link.to, link.table, link.columns, link.name))


def _must_have_columns(
    inspector: Inspector, described: Mapping[Ident, Described], declared: Sequence[ForeignKey]
) -> None:
    for link in declared:
        for ident, columns in ((link.table, link.columns), (link.to, link.to_columns)):
            names = {column.name for column in described[ident].columns} if ident in described else set(columns)
            for column in columns:
                if column not in names:
                    raise TargetRefused(
                        f"The declared reference {link.name} names column {column!r}, which table "
                        f"{_name(inspector, ident)} does not have."
                    )
        if len(link.columns) != len(link.to_columns):
            raise TargetRefused(f"The declared reference {link.name} names more columns on one side than on the other.")


def _referred_part(link: ForeignKey) -> str:
    return f"a foreign key of {link.table.name} refers to its partition {link.to.name} alone"


def _facts(name: str, entry: Described, refused: str | None) -> TableFacts:
    required = {column.name for column in entry.columns if not column.nullable}
    primary = next((key.columns for key in entry.keys if key.primary), ())
    other_keys = [key for key in entry.keys if not key.primary]
    naming = [key.columns for key in other_keys if key.plain and required.issuperset(key.columns)]
    if not primary and naming:
        primary = min(naming, key=lambda columns: (len(columns), columns))
    if not primary and not refused:
        refused = "it has no primary key and no unique key without nulls, so its rows cannot be identified"
    sentence = f"Table {name} cannot be cleaned: {refused}." if refused else None
    uniques = tuple(sorted({key.columns for key in other_keys if key.plain and key.columns != primary}))
    unclear = tuple(sorted(key.name for key in other_keys if not key.plain))
    return TableFacts(
        name, entry.columns, primary, uniques, entry.triggers, sentence, unclear, entry.hides_rows, entry.unchecked
    )


def _reference(inspector: Inspector, link: ForeignKey, *, soft: bool) -> Reference:
    return Reference(
        link.name,
        _name(inspector, link.table),
        link.columns,
        _name(inspector, link.to),
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
    links: Collection[ForeignKey],
) -> str:
    facts = [dataclasses.asdict(tables[name]) for name in sorted(tables)]
    for column in (column for table in facts for column in table["columns"]):
        del column["limits"]  # they follow from the type; a new label of an enum makes no plan stale
    reference_facts = [dataclasses.asdict(reference) for reference in references]
    also = sorted([ident.schema, ident.name, list(entry.also)] for ident, entry in described.items())
    content: list[Any] = [facts, reference_facts, also, [link.also for link in links]]
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
