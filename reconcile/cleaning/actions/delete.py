"""`delete`: delete the surplus. Its values are kept for undo."""

from __future__ import annotations

from typing import ClassVar, Literal

from connectors.target import Change
from reconcile.cleaning.actions.base import ActionPlan, ActionTable, Effect, GroupMembers
from rules.cleaning import Clean, Verb


class DeleteSettings(Clean):
    """`clean: {action: delete}`. It has no settings of its own."""

    needs_keeper: ClassVar[bool] = False
    verb: ClassVar[Verb] = Verb("delete", "deleted")

    action: Literal["delete"]

    @property
    def in_words(self) -> str:
        return f"deletes {self.records_in_words}"


class Delete:
    """Deletes the rows of the surplus."""

    name: ClassVar[str] = "delete"
    Settings: ClassVar[type[Clean]] = DeleteSettings

    def check(self, settings: DeleteSettings, place: ActionTable) -> list[str]:  # noqa: ARG002 - the port's
        return [place.table.undeletable] if place.table.undeletable else []

    def changes(self, group: GroupMembers, settings: DeleteSettings, place: ActionTable) -> ActionPlan:  # noqa: ARG002 - the port's
        return ActionPlan(
            changes=tuple(Change(record.row.name, record.row.cells, None, "surplus") for record in group.surplus),
            effects=tuple(Effect(record.name, self.name) for record in group.surplus),
            leaving=frozenset(record.name for record in group.surplus),
            reads=frozenset(),
        )
