"""A rule fitted to its datasets: it answers what needs their columns, and finds its groups."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, runtime_checkable

from rules.document.mistakes import RuleError

if TYPE_CHECKING:  # a configuration is read without the engines
    from rules.binding.rule import Rule
    from rules.binding.side import Side
    from rules.engines.base import Records, Relation, Stop
    from rules.engines.compile import Columns
    from rules.groups.detection import Detection
    from rules.groups.group import Group
    from rules.groups.sample import Sample
    from rules.groups.scope import Changed, KnownGroups
    from rules.models import Keep
    from rules.values import Value


class DoesNotFit(RuleError):
    """The rule cannot run on its datasets; `mistakes` holds one sentence for each reason."""

    def __init__(self, rule: str, mistakes: Sequence[str]) -> None:
        super().__init__(f"Rule `{rule}`: {' '.join(mistakes)}")
        self.mistakes = tuple(mistakes)


Rows = Sequence[Mapping[str, "Value"]]
"""Records as a source gives them: all columns of the dataset except derived ones."""


class Fitted(Protocol):
    """A rule with its datasets; all its settings fit them."""

    @property
    def relation(self) -> Relation:
        """The dataset whose records `clean` changes, `Rule.cleaned`; its records are in groups."""

    @property
    def columns(self) -> Columns:
        """The columns of that dataset, derived ones included."""

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """The columns that the rule names, for each dataset and in its order."""

    @property
    def needed(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of each dataset to read: the named ones, or all of a dataset without id."""

    @property
    def deciding(self) -> tuple[str, ...]:
        """The columns of the `relation` that decide which records belong together."""

    @property
    def keep(self) -> tuple[Keep, ...]:
        """The criteria that choose the record that stays, most important first."""

    def obstacle(self, dialect: str) -> str | None:
        """The reason why a database of this dialect cannot give the exact answer, as a clause; None if it can."""

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        """Find the rule's groups in the records of its datasets. All engines find the same groups.

        `memory` limits DuckDB (`2GB` when None), `temp` is its spill folder, and `stop` interrupts it. Raises
        RuleError for pushed records with an obstacle, and Unanswerable.
        """

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        """The statements that `detect` would run, each below a comment with its name."""

    def describe(self) -> Mapping[str, Sequence[str]]:
        """The rule in words: sentences below headings, such as `compares` and `keeps`, in the order to read them.

        They hold names and values of the configuration, and no value of a record.
        """

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        """Return how records of one of the rule's datasets are compared, without those that take no part.

        The rows have at least the columns in `needed`.
        """


@runtime_checkable
class Conditional(Protocol):
    """A fitted rule that skips records by conditions: one for which any of them is false is only counted."""

    @property
    def conditions(self) -> Mapping[str, tuple[str, ...]]:
        """The conditions of the datasets and of the rule, by dataset and in its own columns."""


@runtime_checkable
class Neighbouring(Fitted, Protocol):
    """A fitted rule over one dataset in which only records with equal values in some columns decide about a group."""

    def neighbours(self) -> tuple[str, ...]:
        """Columns of the dataset in which those records have equal values, none of them null; empty if not known."""

    def regroup(self, records: Rows, slot: dt.datetime) -> Sequence[Group]:
        """Return the groups that a detection over only these records would find."""


@runtime_checkable
class Incremental(Protocol):
    """A fitted rule over one dataset that can find the groups that changed without reading all records."""

    def full_only(self) -> str | None:
        """The reason why only a full run is exact, as a clause; None if an incremental run is."""

    def lookups(self) -> tuple[str, ...]:
        """The columns in which records of one group have equal values."""

    def detect_changed(
        self, changed: Changed, findings: KnownGroups, usable: Sequence[str], slot: dt.datetime
    ) -> Detection:
        """Find the groups that may have changed, as `Fitted.detect` would, with their scope.

        `usable` are those of `lookups` that the source can look up. Raises Unscoped.
        """


class Bound(Protocol):
    """A rule bound to the datasets that it compares."""

    @property
    def rule(self) -> Rule: ...
    @property
    def sides(self) -> Sequence[Side]:
        """The datasets, that of `Rule.dataset` first; two sides may read one dataset."""


B = TypeVar("B", bound=Bound)


@dataclass(frozen=True)
class FittedRule(ABC, Generic[B]):
    """A rule that compares the records of its sides; see `Fitted`. Its kind detects, explains and describes."""

    bound: B

    @abstractmethod
    def obstacle(self, dialect: str) -> str | None: ...

    @property
    def relation(self) -> Relation:
        return self._cleaned.relation

    @property
    def columns(self) -> Columns:
        return self._cleaned.columns

    @property
    def deciding(self) -> tuple[str, ...]:
        return self._cleaned.deciding

    @property
    def keep(self) -> tuple[Keep, ...]:
        return ()

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        return {name: _united([side.named for side in sides], sides[0]) for name, sides in self._readers.items()}

    @property
    def needed(self) -> Mapping[str, tuple[str, ...]]:
        return {name: _united([side.needed for side in sides], sides[0]) for name, sides in self._readers.items()}

    @property
    def conditions(self) -> Mapping[str, tuple[str, ...]]:
        """The filters by dataset; none for one that several sides read, because each needs other records of it."""
        only = {name: sides[0] for name, sides in self._readers.items() if len(sides) == 1}
        return {name: tuple(side.filter_texts.values()) for name, side in only.items()}

    @property
    def _cleaned(self) -> Side:
        return next(
            (side for side in self.bound.sides if side.relation.dataset == self.bound.rule.cleaned), self.bound.sides[0]
        )

    @property
    def _readers(self) -> Mapping[str, Sequence[Side]]:
        """The sides that read each dataset."""
        readers: dict[str, list[Side]] = defaultdict(list)
        for side in self.bound.sides:
            readers[side.relation.dataset].append(side)
        return readers

    def refuse_obstacle(self, dialect: str) -> None:
        """Raise RuleError if a database of this dialect cannot give the exact answer."""
        if (obstacle := self.obstacle(dialect)) is not None:
            raise RuleError(
                f"Rule `{self.bound.rule.name}` cannot run inside the database: {obstacle}. "
                "Without `engine: pushdown` it runs in DuckDB."
            )


def _united(columns: Sequence[tuple[str, ...]], side: Side) -> tuple[str, ...]:
    """Return the columns of any of these lists, those of several in the order of the dataset."""
    if len(columns) == 1:
        return columns[0]
    every = {name for names in columns for name in names}
    return tuple(name for name in side.relation.schema.names if name in every)
