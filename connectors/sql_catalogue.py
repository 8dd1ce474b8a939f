"""A table as its database describes it, with everything that refers to it: to be known before a row is touched.

All foreign keys are followed, from table to child to grandchild, whatever their action: a cascade deletes rows that
nobody planned, and the row count stays 1. A table of the default schema is named plainly, any other `schema.table`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from connectors.sql_catalogue_facts import Asked, Described, Ident, Link
from connectors.sql_catalogue_mysql import MySql
from connectors.sql_catalogue_postgresql import PostgreSql
from connectors.sql_catalogue_sqlite import Sqlite
from connectors.target import Catalogue, Reference, TableFacts, TargetRefused

_ASKED: Mapping[str, Callable[[sa.Connection], Asked]] = {"postgresql": PostgreSql, "mysql": MySql, "sqlite": Sqlite}


def catalogue(connection: sa.Connection, table: sa.TableClause | str, soft: Sequence[Reference] = ()) -> Catalogue:
    """The table and all that refers to it, directly or not; `soft` are declared links, their names as `table` is.

    A soft link's `to_table` may be empty: it is this table then. Raises TargetRefused where the table, or one that a
    soft link names, or a column of such a link, is not there. Errors of the database pass through.
    """
    asked = asked_of(connection)
    start = _ident(asked, table)
    links, declared = asked.links(), _declared(asked, start, soft)
    reached, found = _closure(start, [*links, *declared])
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
    )


def asked_of(connection: sa.Connection) -> Asked:
    return _ASKED[connection.dialect.name](connection)


def clause(connection: sa.Connection, name: str) -> sa.TableClause:
    """The table of a name as a Catalogue writes it, without columns. Raises TargetRefused where there is none."""
    asked = asked_of(connection)
    return _clause(asked, _ident(asked, name))


def referring(
    connection: sa.Connection,
    reference: Reference,
    tables: Mapping[str, TableFacts],
    to: Sequence[Sequence[sa.ColumnElement[Any]]],
    *,
    lock: bool,
) -> sa.Select[Any]:
    """The select of all columns of the rows that refer to any of these, in the order of their key.

    `to` are expressions of the values of `to_columns`, of these columns' types. Rows refer as the database itself
    decides it: collations and affinities are the key's. Soft links whose columns are of other types are compared as
    text. Take other columns with `with_only_columns`, over those of `selected_columns`. Raises TargetRefused where a
    row of the referring table has no key to be named by, or may not be read.
    """
    facts, parent = tables[reference.table], tables[reference.to_table]
    if not facts.primary_key:
        raise TargetRefused(
            f"Rows of {reference.table} refer to {reference.to_table} and cannot be told apart: it has no primary key. "
            f"Give it one, or clean without touching what it refers to."
        )
    asked = asked_of(connection)
    child = _with_columns(_clause(asked, _ident(asked, reference.table)), facts)
    columns = [child.c[name] for name in reference.columns]
    statement = sa.select(*child.c)
    if reference.soft:
        loose = _of_other_types(facts, parent, reference)
        pairs = [_as_text(columns, loose), *(_as_text(values, loose) for values in to)]
        statement = statement.where(_any_of(pairs[0], pairs[1:]))
    elif connection.dialect.name == "sqlite":
        key = _with_columns(_clause(asked, _ident(asked, reference.to_table)), parent).alias("referred")
        keys = [key.c[name] for name in reference.to_columns]
        same = [one == other for one, other in zip(keys, columns, strict=True)]
        statement = statement.select_from(key.join(child, sa.and_(*same))).where(_any_of(keys, to))
    else:
        statement = statement.where(_any_of(columns, to))
    statement = statement.order_by(*(child.c[name] for name in facts.primary_key))
    return statement.with_for_update() if lock else statement


def _any_of(
    columns: Sequence[sa.ColumnElement[Any]], to: Iterable[Sequence[sa.ColumnElement[Any]]]
) -> sa.ColumnElement[bool]:
    each = (sa.and_(*(one == value for one, value in zip(columns, values, strict=True))) for values in to)
    return sa.or_(sa.false(), *each)


def _of_other_types(facts: TableFacts, parent: TableFacts, reference: Reference) -> list[bool]:
    ours, theirs = ({one.name: one.type for one in table.columns} for table in (facts, parent))
    pairs = zip(reference.columns, reference.to_columns, strict=True)
    return [ours[one].casefold() != theirs[other].casefold() for one, other in pairs]


def _as_text(values: Sequence[sa.ColumnElement[Any]], loose: Sequence[bool]) -> list[sa.ColumnElement[Any]]:
    pairs = zip(values, loose, strict=True)
    return [sa.cast(one, sa.Text().with_variant(sa.CHAR(), "mysql")) if cast else one for one, cast in pairs]


def _with_columns(table: sa.TableClause, facts: TableFacts) -> sa.TableClause:
    columns: list[sa.ColumnClause[Any]] = [sa.column(quoted_name(one.name, quote=True)) for one in facts.columns]
    return sa.table(table.name, *columns, schema=table.schema)


def _clause(asked: Asked, ident: Ident) -> sa.TableClause:
    schema = None if ident.schema == asked.default else quoted_name(ident.schema, quote=True)
    return sa.table(quoted_name(ident.name, quote=True), schema=schema)


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


def _declared(asked: Asked, start: Ident, soft: Sequence[Reference]) -> list[Link]:
    made = []
    for one in soft:
        to = _ident(asked, one.to_table) if one.to_table else start
        table = _ident(asked, one.table)
        made.append(Link(one.name, table, one.columns, to, one.to_columns, one.on_delete, one.on_update))
    return made


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
    return TableFacts(name, one.columns, primary, tuple(uniques), one.triggers, sentence, unclear)


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
