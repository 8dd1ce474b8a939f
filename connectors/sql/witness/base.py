"""The witness of a transaction compares the database's own count of changes with the rows our statements changed.

We trust no prediction of cascades, triggers or hidden rows: the count decides. Each database has a module beside this
one; `docs/guarantees.md` lists the changes that none of them sees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from connectors.sql.cleaning.dialect import Dialect
from connectors.sql.cleaning.rows import TableShapes
from connectors.sql.cleaning.session import TargetSession
from connectors.target import Change, Witness

Kind = Literal["insert", "update", "delete"]
Statements = Counter[tuple[str, Kind]]
"""The number of rows our own statements met, by the table's name in a RowName and the kind of statement."""


@dataclass(frozen=True)
class Counting:
    """The inputs of a witness. `statements` goes on counting while the changes are made.

    `related` are more tables in which nothing but these changes may happen. `triggers`: the plan knows of triggers.
    """

    session: TargetSession
    dialect: Dialect
    tables: TableShapes
    changes: Sequence[Change]
    statements: Statements
    related: Sequence[str]
    triggers: bool

    @property
    def changed_tables(self) -> list[str]:
        """The tables in which a row is changed, without those of guards."""
        return sorted({change.row.table for change in self.changes if not change.is_guard})

    @property
    def related_tables(self) -> list[str]:
        """The tables in which only the plan may change rows, except those known by foreign keys alone."""
        return sorted({change.row.table for change in self.changes} | set(self.related))


def begin_witness(counting: Counting) -> Witness:
    """Begin to count changes in this database. Raises the driver's errors, and a TargetError that is PAUSE."""
    if counting.dialect.name == "postgresql":
        from connectors.sql.witness.postgresql import PostgreSqlWitness  # noqa: PLC0415 - only one of them is needed

        return PostgreSqlWitness(counting)
    if counting.dialect.name == "mysql":
        from connectors.sql.witness.mysql import MySqlWitness  # noqa: PLC0415 - only one of them is needed

        return MySqlWitness(counting)
    from connectors.sql.witness.sqlite import SqliteWitness  # noqa: PLC0415 - only one of them is needed

    return SqliteWitness(counting)
