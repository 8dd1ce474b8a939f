"""`set`: mark the surplus, for example by a soft delete, a status, a tag or a pointer to the keeper."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from connectors.target import Change
from reconcile.cleaning.actions import values
from reconcile.cleaning.actions.base import ActionPlan, ActionTable, Effect, GroupMembers
from reconcile.cleaning.actions.values import Values
from rules.cleaning import Clean, Verb
from rules.document.mistakes import listed


class SetSettings(Clean):
    """`clean: {action: set, values: {status: duplicate, merged_into: "{{ keeper.id }}"}}`."""

    needs_keeper: ClassVar[bool] = False
    removes: ClassVar[bool] = False
    verb: ClassVar[Verb] = Verb("mark", "marked")

    action: Literal["set"]
    values: Values = Field(description="Columns of the surplus and their new values.")

    @model_validator(mode="after")
    def _reads_a_keeper(self) -> SetSettings:
        if self.forms and (names := values.keeper_columns(self.values)):
            raise ValueError(
                f"`{{{{ keeper.{names[0]} }}}}` needs a keeper, which discrepancies do not have; remove it"
            )
        return self

    @property
    def writes(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def in_words(self) -> str:
        return f"sets {listed(self.values)} of {self.records_in_words}"


class Set:
    """Sets columns of the surplus; a record that already has these values stays unchanged."""

    name: ClassVar[str] = "set"
    Settings: ClassVar[type[Clean]] = SetSettings

    def check(self, settings: SetSettings, place: ActionTable) -> list[str]:
        wrong = list(values.mistakes(settings.values, place, "values"))
        if settings.references == "capture":
            wrong.append("`references: capture` deletes rows with the surplus, but `set` deletes nothing; remove it")
        return wrong

    def changes(self, group: GroupMembers, settings: SetSettings, place: ActionTable) -> ActionPlan:
        changes, effects = [], []
        effect = f"{self.name}:{','.join(sorted(settings.values))}"
        for record in group.surplus:
            new_values = values.cells(settings.values, record, group.keeper, place)
            news = values.news(new_values, record)
            effects.append(Effect(record.name, effect, sorted(new_values.items()), idle=not news))
            if news:
                changes.append(Change(record.row.name, record.row.cells, news, "surplus"))
        leaving = group.surplus if settings.references == "repoint" else ()
        return ActionPlan(
            tuple(changes),
            tuple(effects),
            frozenset(record.name for record in leaving),
            reads=frozenset(values.columns_of(settings.values)),
        )
