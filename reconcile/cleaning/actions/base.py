"""The port of an action: a pure function from a group's records, as they are now, to what becomes of their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from connectors.target import Change, ColumnFacts, Row, TableFacts
from rules.cleaning import Clean

if TYPE_CHECKING:
    from rules.values import Schema, Value


class NotPlannable(Exception):
    """Nothing is done about this group by itself; the message is one sentence for people, without values of records."""


class Stale(NotPlannable):
    """The records changed since they were found: gone, no longer alike, or another one is to be kept."""


class NothingToDo(NotPlannable):
    """Every record of it is as the action would leave it."""


class AsksPerson(NotPlannable):
    """Only a person can decide what becomes of it."""


class TooManyRows(AsksPerson):
    """More rows would change for one group than a bundle may have."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"More than {most:,} rows would change for one group, and `bundle_rows` allows no more; look at it, and "
            "raise that if it is right."
        )


@dataclass(frozen=True)
class Record:
    """A record of a group as it is in the target now.

    `name` is the store's name of it; `values` are what rules see, derived columns included.
    """

    name: str
    row: Row
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Members:
    """A group to act on: `keeper` stays, `surplus` goes, in the order of `keep`.

    `settled` are records that a decision covers already: they only stand by.
    """

    keeper: Record
    surplus: tuple[Record, ...]
    settled: tuple[Record, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where an action acts: the table as its database describes it, and as rules see it.

    `id` names a record. `other` are the facts of another table of the same target, by name; None where there is none.
    `finding` is the finding's id.
    """

    table: TableFacts
    schema: Schema
    id: tuple[str, ...]
    other: Callable[[str], TableFacts | None] = field(default=lambda _: None)
    finding: str = ""

    def column(self, name: str) -> ColumnFacts | None:
        """The column of the table, None where it has none of that name."""
        return next((one for one in self.table.columns if one.name == name), None)


@dataclass(frozen=True)
class Effect:
    """What is done to one surplus record: `effect` is part of its idempotency key, `payload` is fingerprinted.

    `idle`: nothing of its own changes; it counts only where references to it are moved.
    """

    record: str
    effect: str
    payload: Sequence[Any] = ()
    idle: bool = False


@dataclass(frozen=True)
class ActionPlan:
    """What an action does to a group, guards and references aside: those are the planner's.

    `changes` come in any order. `leaving`: names of the records that no reference may go on pointing at. `origins`
    says, for each surviving value of the keeper, which record it is of; several, one a line, where it is put together.
    `reads` names the columns of the group that values were computed from: `ignore_drift` does not cover them. None, for
    an action that does not say it: all of them.
    """

    changes: tuple[Change, ...]
    effects: tuple[Effect, ...]
    leaving: frozenset[str] = frozenset()
    origins: Mapping[str, str] = field(default_factory=dict)
    reads: frozenset[str] | None = None


class Action(Protocol):
    """One kind of cleaning."""

    name: ClassVar[str]
    Settings: ClassVar[type[Clean]]
    """Its settings, with `action` narrowed to the name; `can_undo` and `version` are theirs to say."""

    def check(self, settings: Any, place: Place) -> list[str]:
        """What keeps these settings from working there, one sentence each; empty when nothing does."""

    def changes(self, group: Members, settings: Any, place: Place) -> ActionPlan:
        """What becomes of the group's rows; raises NotPlannable. The same for the same group, in every process."""
