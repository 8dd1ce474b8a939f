"""`move`: move the surplus into a quarantine table that the user created."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from connectors.target import Cell, Change, RowName, TableFacts
from reconcile.cleaning.actions.base import ActionPlan, ActionTable, CurrentRecord, Effect, GroupMembers, NotPlannable
from reconcile.cleaning.actions.constants import unfit
from rules.cleaning import Clean, Verb
from rules.document.mistakes import listed

FINDING = "reconcile_finding"
"""An optional column of the quarantine table: the finding that a record was moved for."""
_SAMPLE = "F-FY0QP7"
"""A finding's id of the usual length."""


class MoveSettings(Clean):
    """`clean: {action: move, to: customers_quarantine}`."""

    needs_keeper: ClassVar[bool] = False
    verb: ClassVar[Verb] = Verb("move", "moved", "away")

    action: Literal["move"]
    to: str = Field(min_length=1, description="The quarantine table; `reconcile plan` shows how to create it.")

    @property
    def in_words(self) -> str:
        return f"moves {self.records_in_words} to table {self.to}"


class Move:
    """Inserts the surplus into the quarantine table and deletes it from its own.

    Columns that may drift are moved with their values at execution; see `images.as_locked`.
    """

    name: ClassVar[str] = "move"
    Settings: ClassVar[type[Clean]] = MoveSettings

    def check(self, settings: MoveSettings, place: ActionTable) -> list[str]:
        if place.table.undeletable:
            return [place.table.undeletable]
        to = place.other(settings.to)
        if settings.to == place.table.table:
            return [f"`to` is the dataset's own table; name a different one than `{settings.to}`"]
        if to is None:
            how = definition(place.table, settings.to)
            return [f"{place.table.kind} `{settings.to}` (`to`) does not exist; create it: {how}"]
        return _differences(place.table, to)

    def changes(self, group: GroupMembers, settings: MoveSettings, place: ActionTable) -> ActionPlan:
        to = place.other(settings.to)
        if to is None:
            raise NotPlannable(
                f"There is no {place.table.kind} `{settings.to}` (`to`); `reconcile check` shows how to create it."
            )
        changes = []
        for record in group.surplus:
            changes.append(_arrival(record, to, place))
            changes.append(Change(record.row.name, record.row.cells, None, "surplus"))
        return ActionPlan(
            changes=tuple(changes),
            effects=tuple(Effect(record.name, self.name, [to.table]) for record in group.surplus),
            leaving=frozenset(record.name for record in group.surplus),
            reads=frozenset(to.primary_key),
        )


def _arrival(record: CurrentRecord, to: TableFacts, place: ActionTable) -> Change:
    computed = {column.name for column in to.columns if column.generated}
    cells: dict[str, Cell] = {name: cell for name, cell in record.row.cells.items() if name not in computed}
    if any(column.name == FINDING for column in to.columns):
        cells[FINDING] = ("t", place.finding)
    key = tuple((name, cells[name]) for name in to.primary_key)
    return Change(RowName(to.table, key), None, cells, "moved")


def _differences(table: TableFacts, to: TableFacts) -> list[str]:
    """Return why the other table cannot hold this one's rows for a later undo."""
    if to.refused:
        return [f"`to` names `{to.table}`, which cannot be used: {to.refused}"]
    wrong = []
    columns_by_name = {column.name: column for column in to.columns}
    missing = [column.name for column in table.columns if column.name not in columns_by_name]
    if missing:
        wrong.append(f"`{to.table}` has no {listed(missing)}; it needs every column of `{table.table}`")
    different = [c.name for c in table.columns if c.name in columns_by_name and columns_by_name[c.name].type != c.type]
    if different:
        wrong.append(f"{listed(different)} of `{to.table}` have other types than in `{table.table}`; make them equal")
    if not to.primary_key or not set(to.primary_key) <= {column.name for column in table.columns}:
        wrong.append(
            f"`{to.table}` needs a primary key of columns of `{table.table}`, such as {listed(table.primary_key)}"
        )
    needed = [c.name for c in to.columns if not (c.nullable or c.default or c.generated or c.identity)]
    unfilled = [name for name in needed if name != FINDING and name not in {c.name for c in table.columns}]
    marks = columns_by_name.get(FINDING)
    if marks is not None and (reason := unfit(_SAMPLE, marks)):
        wrong.append(f"`to` sets `{FINDING}` of `{to.table}` {reason}")
    if unfilled:
        wrong.append(f"{listed(unfilled)} of `{to.table}` must have values, but moved records have none; allow null")
    return wrong


def definition(table: TableFacts, to: str) -> str:
    """Return how to create a quarantine table for this one: for a database SQL, with names as it writes them."""
    if table.kind == "sheet":
        return f"add a sheet with that name, whose first row holds {_header(table)}"
    if table.kind == "file":
        return f"add a file with that name to the same source, whose first line holds {_header(table)}"
    columns = [f"{_name(c.name)} {c.type}{'' if c.nullable else ' NOT NULL'}" for c in table.columns]
    key = ", ".join(map(_name, table.primary_key))
    return f"CREATE TABLE {to} ({', '.join(columns)}, {FINDING} varchar(64), PRIMARY KEY ({key}))"


def _header(table: TableFacts) -> str:
    return listed([*(column.name for column in table.columns), FINDING])


def _name(column: str) -> str:
    return column if column.isidentifier() and column.islower() else f'"{column}"'
