"""`move`: the surplus goes into a quarantine table that the user made."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from connectors.target import Cell, Change, RowName, TableFacts
from reconcile.cleaning.actions.base import ActionPlan, Effect, Members, NotPlannable, Place, Record
from rules.cleaning import Clean
from rules.document.mistakes import listed

FINDING = "reconcile_finding"
"""A column of the quarantine table, if it has it: which finding a record was moved for."""


class MoveSettings(Clean):
    """`clean: {action: move, to: customers_quarantine}`."""

    action: Literal["move"]
    to: str = Field(min_length=1, description="The quarantine table; `reconcile plan` prints how to make it.")


class Move:
    """Inserts the surplus into the quarantine table and deletes it from its own.

    Columns that may drift arrive as they are when it is done; see `images.as_locked`.
    """

    name: ClassVar[str] = "move"
    Settings: ClassVar[type[Clean]] = MoveSettings

    def check(self, settings: MoveSettings, place: Place) -> list[str]:
        to = place.other(settings.to)
        if settings.to == place.table.table:
            return [f"`to` is the table itself; name another one than `{settings.to}`"]
        if to is None:
            return [
                f"there is no table `{settings.to}` to move records to; make it: {definition(place.table, settings.to)}"
            ]
        return _differences(place.table, to)

    def changes(self, group: Members, settings: MoveSettings, place: Place) -> ActionPlan:
        to = place.other(settings.to)
        if to is None:
            raise NotPlannable(
                f"There is no table `{settings.to}` to move records to; `reconcile check` says how to make it."
            )
        changes = []
        for one in group.surplus:
            changes.append(_arrival(one, to, place))
            changes.append(Change(one.row.name, one.row.cells, None, "surplus"))
        return ActionPlan(
            changes=tuple(changes),
            effects=tuple(Effect(one.name, self.name, [to.table]) for one in group.surplus),
            leaving=frozenset(one.name for one in group.surplus),
            reads=frozenset(to.primary_key),
        )


def _arrival(one: Record, to: TableFacts, place: Place) -> Change:
    computed = {column.name for column in to.columns if column.generated}
    cells: dict[str, Cell] = {name: cell for name, cell in one.row.cells.items() if name not in computed}
    if any(column.name == FINDING for column in to.columns):
        cells[FINDING] = ("t", place.finding)
    key = tuple((name, cells[name]) for name in to.primary_key)
    return Change(RowName(to.table, key), None, cells, "moved")


def _differences(table: TableFacts, to: TableFacts) -> list[str]:
    """Why the other table cannot hold this one's rows so that they can come back."""
    if to.refused:
        return [f"`{to.table}`, which `to` names, cannot be used: {to.refused}"]
    wrong = []
    there = {column.name: column for column in to.columns}
    missing = [column.name for column in table.columns if column.name not in there]
    if missing:
        wrong.append(f"`{to.table}` has no {listed(missing)}; it needs every column of `{table.table}`")
    others = [c.name for c in table.columns if c.name in there and there[c.name].type != c.type]
    if others:
        wrong.append(f"{listed(others)} of `{to.table}` are of another type than in `{table.table}`; make them alike")
    if not to.primary_key or not set(to.primary_key) <= {column.name for column in table.columns}:
        wrong.append(
            f"`{to.table}` needs a primary key of columns of `{table.table}`, such as {listed(table.primary_key)}"
        )
    needed = [c.name for c in to.columns if not (c.nullable or c.default or c.generated or c.identity)]
    unfilled = [name for name in needed if name != FINDING and name not in {c.name for c in table.columns}]
    if unfilled:
        wrong.append(f"{listed(unfilled)} of `{to.table}` must have values, and a moved record has none; allow null")
    return wrong


def definition(table: TableFacts, to: str) -> str:
    """SQL that makes a quarantine table for this one; names are written as the database's own."""
    columns = [f"{_name(one.name)} {one.type}{'' if one.nullable else ' NOT NULL'}" for one in table.columns]
    key = ", ".join(map(_name, table.primary_key))
    return f"CREATE TABLE {to} ({', '.join(columns)}, {FINDING} varchar(64), PRIMARY KEY ({key}))"


def _name(column: str) -> str:
    return column if column.isidentifier() and column.islower() else f'"{column}"'
