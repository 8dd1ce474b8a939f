"""The datasets of a rule, ready to be checked."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from copy import copy as _copy
from dataclasses import dataclass, field, replace

import pyarrow as pa

from connectors.base import Forewarning, Replicated, Source, UnreadableCells
from reconcile.config.settings import DatasetConfig
from rules.engines.base import Relation
from rules.kinds.base import Rule
from rules.models.calendar import Calendar
from rules.values import schema_from_arrow


@dataclass
class Subject:
    """A dataset ready to be checked: its settings, its source, its columns, and its relation for rules."""

    dataset: DatasetConfig
    source: Source
    columns: pa.Schema = field(init=False)
    relation: Relation = field(init=False)

    def __post_init__(self) -> None:
        self.columns = self.source.describe(self.dataset.settings)
        self.relation = relation_of(self.dataset, self.columns)

    def at(self, slot: dt.datetime) -> Subject:
        """Return the dataset as it is read for that slot."""
        settings = self.dataset.settings.at(slot)
        if settings is self.dataset.settings:
            return self
        subject = _copy(self)
        subject.dataset = replace(self.dataset, settings=settings)
        return subject

    def reading(self, copy: Source) -> Subject:
        """Return the dataset as it is read from a copy with the same columns."""
        subject = _copy(self)
        subject.source = copy
        return subject

    def at_primary(self) -> Subject:
        """Return the dataset as it is read where records are changed, not from a replica."""
        return self.reading(self.source.primary()) if isinstance(self.source, Replicated) else self

    def warnings(self, columns: Sequence[str] | None = None) -> tuple[UnreadableCells, ...]:
        """Warnings about the whole dataset for a read of these columns, or of any."""
        source = self.source
        return source.warnings(self.dataset.settings, columns) if isinstance(source, Forewarning) else ()


def undisplayed(subject: Subject) -> Subject:
    """Return the dataset without the columns that it only displays: they decide about no plan."""
    plain = _copy(subject)
    plain.relation = replace(subject.relation, display=())
    return plain


def relation_of(dataset: DatasetConfig, columns: pa.Schema) -> Relation:
    """Return a dataset with these columns as rules see it."""
    schema = schema_from_arrow(columns)
    return Relation(
        dataset=dataset.name,
        schema=schema,
        id=dataset.id,
        timezone=dataset.timezone,
        where=dataset.where,
        derived=dataset.derived,
        money=dataset.money.columns((*schema.names, *dataset.derived)) if dataset.money else None,
        calendar=Calendar.of(dataset.holidays),
        display=tuple(name for name in dataset.displayed if name in schema or name in dataset.derived),
    )


Subjects = Mapping[str, Subject]
"""The datasets of a rule by name, ready to be checked."""


def replicas_of(subjects: Subjects) -> Mapping[str, str]:
    """Return the place of the replica by source, for sources that are read there."""
    sources = [subject.source for subject in subjects.values()]
    return {source.name: source.replica for source in sources if isinstance(source, Replicated) and source.replica}


def subjects_of(rule: Rule, subject: Callable[[str], Subject], slot: dt.datetime | None = None) -> Subjects:
    """Open the rule's datasets, to be read for that slot. Raises the errors of opening and describing their sources."""
    subjects = {name: subject(name) for name in rule.datasets}
    return subjects if slot is None else {name: subject.at(slot) for name, subject in subjects.items()}
