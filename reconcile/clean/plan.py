"""From findings to plans: what would become of every row, read anew, and nothing written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from connectors.target import Catalogue, Reference, Target
from reconcile.clean.actions.base import NotPlannable, Place
from reconcile.config.settings import DatasetConfig
from reconcile.findings.bundle import Bundle
from reconcile.findings.shown import Finding
from rules.engines.base import Relation
from rules.kinds.duplicates import DuplicatesRule

CHUNK = 500
"""How many findings are read together."""


class Stale(NotPlannable):
    """The records changed since they were found: gone, no longer alike, or another one is to be kept."""


class NothingToDo(NotPlannable):
    """Every record of it is as the action would leave it."""


class AsksPerson(NotPlannable):
    """Only a person can decide what becomes of it."""


@dataclass(frozen=True)
class Tools:
    """What planning needs of a rule with `clean`: its target, and the dataset as rules and as its database see it.

    `slot` is what `slot()` of its conditions means.
    """

    target: Target
    dataset: DatasetConfig
    relation: Relation
    rule: DuplicatesRule
    catalogue: Catalogue
    slot: dt.datetime

    @classmethod
    def of(
        cls, target: Target, dataset: DatasetConfig, relation: Relation, rule: DuplicatesRule, slot: dt.datetime
    ) -> Tools:
        """With the catalogue as it is now. Raises TargetRefused, ConnectorError."""
        return cls(target, dataset, relation, rule, target.catalogue(dataset.settings, soft_links(dataset)), slot)


def soft_links(dataset: DatasetConfig) -> tuple[Reference, ...]:
    """The links that the dataset declares."""
    raise NotImplementedError


def place(target: Target, dataset: DatasetConfig, relation: Relation, catalogue: Catalogue, finding: str = "") -> Place:
    """Where an action acts; what `Action.check` is asked with."""
    raise NotImplementedError


def make(finding: Finding, tools: Tools) -> Bundle:
    """The plan for one finding. Raises Stale, NothingToDo, AsksPerson or another NotPlannable; ConnectorError."""
    for _, planned in make_many([finding], tools):
        if isinstance(planned, Bundle):
            return planned
        raise planned
    raise AssertionError("one finding has one plan")


def make_many(findings: Iterable[Finding], tools: Tools) -> Iterator[tuple[str, Bundle | NotPlannable]]:
    """The plan for each finding, in their order, or why there is none; rows are read for a chunk of them at a time."""
    raise NotImplementedError
