"""The port of an action: a pure function from a group's current records to changes of their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from connectors.calls import Call
from connectors.target import Change, ColumnFacts, Row, TableFacts
from reconcile.errors import Refused
from rules.cleaning import Clean

if TYPE_CHECKING:
    from rules.values import Schema, Value


class NotPlannable(Refused):
    """The group has no automatic plan; the message is one sentence for people, without values of records.

    `reason` is the sentence without numbers of this group: groups are counted by it.
    """

    def __init__(self, sentence: str, reason: str | None = None) -> None:
        super().__init__(sentence)
        self.reason = reason or sentence


class Stale(NotPlannable):
    """The records changed since they were found: deleted, no longer alike, or with a different keeper."""


class NothingToDo(NotPlannable):
    """No record needs a change."""


class AsksPerson(NotPlannable):
    """Only a person can decide about the group."""


class ValueChanged(AsksPerson):
    """A value that a person chose to take is no longer there, or can no longer be taken."""

    def __init__(self, finding: str, column: str, problem: str) -> None:
        super().__init__(
            f"A person chose the record for `{column}`, but {problem}. Choose again with `reconcile keep {finding} "
            f"--field {column}=RECORD`, or leave the choice to the rule with `--field {column}=`."
        )


class PlanTooLarge(AsksPerson):
    """One group would change more rows than a plan may have."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"More than {limit:,} rows would change for one group, which exceeds `plan_rows`. Check the group, "
            "and raise the limit if it is right."
        )


@dataclass(frozen=True)
class CurrentRecord:
    """A record of a group with its current row in the target.

    `name` is its name in the store; `values` are those that rules see, derived columns included.
    """

    name: str
    row: Row
    values: Mapping[str, Value]


@dataclass(frozen=True)
class GroupMembers:
    """A group to clean: the `keeper` stays; `surplus` is in the order of `keep`.

    A discrepancy has no keeper; its records to clean are `surplus`. Only actions without `needs_keeper` get one.
    `settled` are records with an earlier decision: they must not change. `evidence`: see `Plan`. `given` names the
    record that a person chose to take each of these fields from, by column.
    """

    keeper: CurrentRecord | None
    surplus: tuple[CurrentRecord, ...]
    settled: tuple[CurrentRecord, ...] = ()
    evidence: str = ""
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def staying(self) -> tuple[CurrentRecord, ...]:
        """The records that must stay as they are: the keeper, and those with an earlier decision."""
        return (*((self.keeper,) if self.keeper else ()), *self.settled)


@dataclass(frozen=True)
class ActionTable:
    """The table an action works on, as its target describes it and as rules see it.

    `id` names the columns of a record's id. `other` returns the facts of another table of the same target by name, None
    if it does not exist. `finding` is the finding's id.
    """

    table: TableFacts
    schema: Schema
    id: tuple[str, ...]
    other: Callable[[str], TableFacts | None] = field(default=lambda _: None)
    finding: str = ""

    def column(self, name: str) -> ColumnFacts | None:
        """Return the column of that name; None if there is none."""
        return next((column for column in self.table.columns if column.name == name), None)


@dataclass(frozen=True)
class Effect:
    """The effect on one surplus record: `effect` is part of its idempotency key, `payload` of its fingerprint.

    `idle`: its own row does not change; it counts only if references to it are moved.
    """

    record: str
    effect: str
    payload: Sequence[Any] = ()
    idle: bool = False


@dataclass(frozen=True)
class ActionPlan:
    """The changes of an action to a group, without guards and references, which the planner adds.

    `changes` are in any order. `calls` are those of an action whose settings say that it calls, one for each of
    `effects`; it changes no rows. `leaving` names the records that no reference may keep pointing at. `origins` maps
    each surviving field of the keeper to its record; a combined value has several, one per line. `reads` names the
    columns that values were computed from, which `ignore_drift` does not cover; None means all.
    """

    changes: tuple[Change, ...]
    effects: tuple[Effect, ...]
    leaving: frozenset[str] = frozenset()
    origins: Mapping[str, str] = field(default_factory=dict)
    reads: frozenset[str] | None = None
    calls: tuple[Call, ...] = ()

    def __post_init__(self) -> None:
        needed = sum(not effect.idle for effect in self.effects)
        if self.calls and (self.changes or len(self.calls) != needed):
            raise ValueError("an action changes rows, or makes one call for each of its effects")


class Action(Protocol):
    """One kind of cleaning."""

    name: ClassVar[str]
    Settings: ClassVar[type[Clean]]
    """The settings, with `action` narrowed to the name; they define `can_undo` and `version`."""

    def check(self, settings: Any, place: ActionTable) -> list[str]:
        """Return why these settings cannot work there, one sentence each; empty if they can."""

    def changes(self, group: GroupMembers, settings: Any, place: ActionTable) -> ActionPlan:
        """Return the changes of the group's rows, the same in every process; raises NotPlannable."""
