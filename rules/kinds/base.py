"""The seam between rule kinds and whoever runs them: a rule's settings, a kind, and a rule fitted to its datasets.

`Kind` and `Fitted` are all that `reconcile` knows of a kind. What the settings alone answer is asked of `Rule`; what
needs a dataset's columns is asked of `Fitted`, which `Kind.fit` makes once and which loads the engines.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Protocol

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, WithJsonSchema

from rules.cleaning import APPROVAL_SCHEMA, Approval, Clean, Limits, parse_approval, parse_expiry
from rules.errors import RuleError
from rules.models import Duration, Keep, KeyPart, Severity, SeverityField, Strict, parse_duration

if TYPE_CHECKING:  # a configuration is read without the engines
    from rules.engines.base import Detection, Group, Records, Relation, Stop
    from rules.engines.compile import Columns
    from rules.values import Value

SettingPath = tuple[str | int, ...]
"""Where a setting is in a rule: its key, then keys and positions inside."""


class Rule(Strict):
    """The settings every kind of rule shares. `name` is the key in the `rules:` mapping, not a setting.

    `dataset` is the one whose records the rule's groups hold, and the only one it may clean. `clean` is a model of its
    action's own, made by the loader; without it nothing is ever changed.
    """

    not_matching: ClassVar[frozenset[str]] = frozenset(
        ("severity", "owner", "runbook", "was", "engine", "approval", "approval_expires", "limits", "retry", "clean")
    )
    """Settings that say nothing of what the rule matches: an edit of them does not make it another rule."""
    dataset_settings: ClassVar[tuple[str, ...]] = ("dataset",)
    """Settings that each name a dataset the rule reads; the first is `dataset`."""

    name: str = Field(exclude=True)
    kind: str = Field(description="What the rule looks for.")
    dataset: str = Field(description="The dataset whose records it reads.")
    where: str | None = Field(default=None, description="Which records take part, e.g. status = 'succeeded'.")
    severity: SeverityField = Field(default=Severity.medium, description="How bad a finding is.")
    owner: str | None = Field(default=None, description="Who is asked to act, e.g. @finance.")
    runbook: str | None = Field(default=None, description="Where it is written what to do about a finding.")
    was: str | None = Field(default=None, description="The rule's former name: its findings stay known.")
    engine: Literal["auto", "embedded", "pushdown"] = Field(
        default="auto", description="Where it runs: chosen by the planner, here in DuckDB, or inside the database."
    )
    clean: SerializeAsAny[Clean] | None = Field(
        default=None, description="What becomes of the surplus; without it, nothing does."
    )
    approval: Annotated[Approval, BeforeValidator(parse_approval), WithJsonSchema(APPROVAL_SCHEMA)] = Field(
        default=Approval(),
        json_schema_extra={"default": "required"},
        description="Who is asked before anything is changed: none, required, two_person, or {when: …, else: …}.",
    )
    approval_expires: Annotated[Duration, AfterValidator(parse_expiry)] = Field(
        default=parse_duration("7d"),
        json_schema_extra={"default": "7d"},
        description="How long a plan waits for approval, and an approval to be carried out.",
    )
    limits: Limits = Field(
        default=Limits(),
        json_schema_extra={"default": {"records": 100, "share": "1%", "group": 5}},
        description="What the rule may change in one run, and in any 24 hours; over it, people are asked.",
    )
    retry: str = Field(
        default="patient", description="How it is tried again: patient, quick, never, or one of `retry:`."
    )

    @property
    def datasets(self) -> tuple[str, ...]:
        """Every dataset the rule reads, once; the first is `dataset`."""
        return tuple(dict.fromkeys(getattr(self, setting) for setting in self.dataset_settings))

    @property
    def ordered_by(self) -> str | None:
        """The column that orders records of one key, where that key can have several groups."""
        return None

    @property
    def kept_by(self) -> tuple[str, ...]:
        """The columns that choose which record of a group stays."""
        return ()

    def key_parts(self) -> Iterator[tuple[SettingPath, KeyPart]]:
        """Each column with its normalisers, and where it is set."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            for index, part in enumerate(value if isinstance(value, tuple) else ()):
                if isinstance(part, KeyPart):
                    yield (name, index), part

    def not_cleanable(self) -> Iterator[tuple[str, str]]:
        """Settings that do not go together with `clean`, each with a sentence about it."""
        yield from ()


@dataclass(frozen=True)
class DatasetFacts:
    """What a dataset's settings say of its columns."""

    id: tuple[str, ...] = ()
    where: str | None = None
    derived: Mapping[str, str] = field(default_factory=dict)


class DoesNotFit(RuleError):
    """The rule cannot run on its datasets; `mistakes` holds one sentence for each reason."""

    def __init__(self, rule: str, mistakes: Sequence[str]) -> None:
        super().__init__(f"Rule `{rule}`: {' '.join(mistakes)}")
        self.mistakes = tuple(mistakes)


Rows = Sequence[Mapping[str, "Value"]]
"""Records as a source gives them: all columns of the dataset but derived ones."""
ReadDataset = Callable[[str], Iterable[Mapping[str, "Value"]]]
"""Read all records of another dataset of the rule, as they are now."""


class Fitted(Protocol):
    """A rule beside the datasets it reads, all of whose settings fit them."""

    @property
    def relation(self) -> Relation:
        """The dataset whose records its groups hold."""

    @property
    def columns(self) -> Columns:
        """The columns of that dataset, derived ones included."""

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of each dataset that the rule names, in the dataset's order."""

    @property
    def needed(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of each dataset to read: the named ones, or all of a dataset without id."""

    @property
    def deciding(self) -> tuple[str, ...]:
        """Columns of the groups' dataset that decide what belongs together."""

    @property
    def keep(self) -> tuple[Keep, ...]:
        """How the record that stays is chosen, best line first."""

    def obstacle(self, dialect: str) -> str | None:
        """Why a database of this dialect cannot give the exact answer, as a clause; None if it can."""

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        """Find the rule's groups in the records of its datasets: the same groups on every engine.

        `memory` bounds DuckDB (`2GB` when None); `temp` is where it may spill; `stop` interrupts it. Raises RuleError
        for pushed records with an obstacle, and Unanswerable.
        """

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        """The statements `detect` would run, each under a comment with its name."""

    def regroup(self, candidates: Sequence[Rows], slot: dt.datetime, read: ReadDataset) -> Sequence[tuple[Group, ...]]:
        """For each few records of the groups' dataset, read again: the groups a detection over just these would find.

        Planning and re-verification rely on it, so it never looks at older data: a kind with several datasets asks
        `read` for the others.
        """

    def is_excepted(self, group: Group) -> bool:
        """Return True if the rule names two records of the group as known to be different."""


class Kind(Protocol):
    """A kind of rule, registered in `rules.kinds.KINDS` or by an entry point in `reconcile.rules`."""

    @property
    def Settings(self) -> type[Rule]:  # noqa: N802 - a class, named as those of connectors, channels and actions
        """The model of its settings in YAML."""

    def barren(self, rule: Rule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
        """Why the rule can never find anything, as far as settings tell: a setting, and a sentence about it."""

    def fit(self, rule: Rule, relations: Mapping[str, Relation]) -> Fitted:
        """Fit a rule to its datasets, by name. Raises DoesNotFit with every mistake."""
