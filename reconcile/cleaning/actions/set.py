"""`set`: the surplus stays and is marked: soft delete, a status, a tag, a pointer to the keeper."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from connectors.target import Change
from reconcile.cleaning.actions import values
from reconcile.cleaning.actions.base import ActionPlan, Effect, Members, Place
from reconcile.cleaning.actions.values import Values
from rules.cleaning import Clean


class SetSettings(Clean):
    """`clean: {action: set, values: {status: duplicate, merged_into: "{{ keeper.id }}"}}`."""

    action: Literal["set"]
    values: Values = Field(description="Columns of the surplus and what they are set to.")


class Set:
    """Sets columns of the surplus; a record that has these values already is left alone."""

    name: ClassVar[str] = "set"
    Settings: ClassVar[type[Clean]] = SetSettings

    def check(self, settings: SetSettings, place: Place) -> list[str]:
        wrong = list(values.mistakes(settings.values, place, "values"))
        if settings.references == "capture":
            wrong.append("`references: capture` deletes rows with the surplus, and `set` deletes nothing; leave it out")
        return wrong

    def changes(self, group: Members, settings: SetSettings, place: Place) -> ActionPlan:
        changes, effects = [], []
        effect = f"{self.name}:{','.join(sorted(settings.values))}"
        for one in group.surplus:
            wanted = values.cells(settings.values, one, group.keeper, place)
            news = values.news(wanted, one)
            effects.append(Effect(one.name, effect, sorted(wanted.items()), idle=not news))
            if news:
                changes.append(Change(one.row.name, one.row.cells, news, "surplus"))
        leaving = group.surplus if settings.references == "repoint" else ()
        return ActionPlan(
            tuple(changes),
            tuple(effects),
            frozenset(one.name for one in leaving),
            reads=frozenset(values.columns_of(settings.values)),
        )
