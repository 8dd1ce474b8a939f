"""The common form of each database's own catalogue, before it becomes a Catalogue of the port."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from connectors.target import ColumnFacts

OURS = ("reconcile_receipts", "reconcile_owner")


@dataclass(frozen=True, order=True)
class Ident:
    """A table: its schema (or database) and its name, as the catalogue spells them."""

    schema: str
    name: str


@dataclass(frozen=True)
class ForeignKey:
    """A foreign key. `also` holds all its other properties, for the digest."""

    name: str
    table: Ident
    columns: tuple[str, ...]
    to: Ident
    to_columns: tuple[str, ...]
    on_delete: str
    on_update: str
    deferrable: bool = False
    also: str = ""


@dataclass(frozen=True)
class UniqueKey:
    """A unique key. `plain`: its columns alone decide if two rows collide."""

    name: str
    columns: tuple[str, ...]
    primary: bool = False
    plain: bool = True


@dataclass(frozen=True)
class Described:
    """A table. `refused` finishes the sentence "Table x cannot be cleaned: ...". `also`: see Link."""

    columns: tuple[ColumnFacts, ...]
    keys: tuple[UniqueKey, ...]
    triggers: tuple[str, ...] = ()
    refused: str | None = None
    parts: frozenset[Ident] = frozenset()
    also: tuple[str, ...] = ()
    hides_rows: str = ""
    unchecked: tuple[str, ...] = ()


class Inspector(Protocol):
    """The catalogue of one database, read over one connection."""

    default: str | None
    """The schema of tables named without one."""

    def find(self, schema: str | None, name: str) -> Ident | None:
        """The table (view, ...) of this name; without a schema, the one that the bare name means."""

    def links(self) -> Sequence[ForeignKey]:
        """All foreign keys of the database that this user may see."""

    def described(self, tables: Collection[Ident]) -> Mapping[Ident, Described]:
        """The existing tables among these."""

    def warnings(self, tables: Collection[Ident], links: Collection[ForeignKey]) -> Sequence[str]:
        """Sentences for people about gaps in the catalogue of these tables."""
