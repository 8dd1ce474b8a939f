"""What each database's own catalogue is turned into before it becomes a Catalogue of the port."""

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
class Link:
    """A foreign key. `also` is whatever else there is to it: it changes the digest."""

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
class Key:
    """A unique key. `plain`: its columns say by themselves whether two rows collide."""

    name: str
    columns: tuple[str, ...]
    primary: bool = False
    plain: bool = True


@dataclass(frozen=True)
class Described:
    """A table. `refused` finishes the sentence "Nothing can be cleaned in table x: ...". `also`: see Link."""

    columns: tuple[ColumnFacts, ...]
    keys: tuple[Key, ...]
    triggers: tuple[str, ...] = ()
    refused: str | None = None
    parts: frozenset[Ident] = frozenset()
    also: tuple[str, ...] = ()
    hides_rows: str = ""
    unchecked: tuple[str, ...] = ()


class Asked(Protocol):
    """The catalogue of one database, asked over one connection."""

    default: str | None
    """The schema of tables that are named without one."""

    def find(self, schema: str | None, name: str) -> Ident | None:
        """The table (view, ...) of that name; without a schema: the one that such a name means."""

    def links(self) -> Sequence[Link]:
        """Every foreign key of the database that this user may see."""

    def described(self, tables: Collection[Ident]) -> Mapping[Ident, Described]:
        """These tables; those that are gone are left out."""

    def told(self, tables: Collection[Ident], links: Collection[Link]) -> Sequence[str]:
        """What a person should know of what the catalogue of these cannot say. Each a sentence."""
