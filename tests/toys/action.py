"""An action of another package: the surplus gets a stamp in one column."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from connectors.target import Change
from reconcile.cleaning.actions.base import ActionPlan, ActionTable, Effect, GroupMembers
from rules.cleaning import Clean, Verb


class StampSettings(Clean):
    verb: ClassVar[Verb] = Verb("stamp", "stamped")
    action: Literal["stamp"]
    into: str = Field(description="The column that gets the stamp.")


class Stamp:
    """Action `stamp`."""

    name: ClassVar[str] = "stamp"
    Settings: ClassVar[type[Clean]] = StampSettings

    def check(self, settings: Any, place: ActionTable) -> list[str]:
        return [] if place.column(settings.into) else [f"`into` names `{settings.into}`, which is no column"]

    def changes(self, group: GroupMembers, settings: Any, place: ActionTable) -> ActionPlan:
        stamp = {settings.into: ("t", f"twin of {group.keeper.values['id']}")}
        changes = tuple(Change(member.row.name, member.row.cells, stamp, "surplus") for member in group.surplus)
        effects = tuple(
            Effect(member.name, f"stamp:{settings.into}", [stamp[settings.into][1]]) for member in group.surplus
        )
        return ActionPlan(changes, effects, reads=frozenset())
