"""A rule that consults datasets which it does not compare, for `map` and for lists of `except`.

It is fitted once with what its settings alone say, and for each detection again with what the datasets say now.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from rules.binding.consulted import Counts, Row, rows
from rules.binding.fitted import Conditional, DoesNotFit, Fitted, Rows
from rules.binding.mapped import mapping_readers, with_tables
from rules.binding.rule import Rule
from rules.engines.base import Records, Relation, Skipped, Stop
from rules.engines.compile import Columns
from rules.groups.detection import Detection
from rules.groups.sample import Sample
from rules.models import Keep

R = TypeVar("R", bound=Rule)
Fitting = Callable[[R, Mapping[str, Relation]], Fitted]


class Reading(Protocol):
    """What a consulted dataset says, once it is read."""

    @property
    def counts(self) -> Counts: ...

    def told(self, rule: Any) -> Any:
        """Return the rule with what the dataset says."""

    def skipped(self) -> Iterator[Skipped]:
        """Yield the records that say nothing."""

    def noted(self, detection: Detection) -> Detection:
        """Return the detection with the number of what the dataset says."""


class Reader(Protocol):
    """Reads a consulted dataset."""

    @property
    def dataset(self) -> str: ...

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns to read."""

    @property
    def obstacle(self) -> str | None:
        """The reason why no database can answer the rule, as a clause, if the dataset is one."""

    def read(self, rule: str, rows: Iterable[Row], slot: dt.datetime) -> Reading:
        """Read all records. Raises Unanswerable if they contradict each other, or are too many."""


@dataclass(frozen=True)
class FittedConsulting(Generic[R]):
    """A rule with the datasets that it compares and those that it consults; see `rules.binding.fitted.Fitted`.

    `fit` fits it with what the consulted ones say. `latest` holds the rule of the latest detection, whose samples show
    what they said.
    """

    rule: R
    relations: Mapping[str, Relation]
    fit: Fitting[R]
    fitted: Fitted
    readers: Sequence[Reader]
    latest: list[Fitted] = field(default_factory=list, compare=False)

    @property
    def relation(self) -> Relation:
        return self.fitted.relation

    @property
    def columns(self) -> Columns:
        return self.fitted.columns

    @property
    def deciding(self) -> tuple[str, ...]:
        return self.fitted.deciding

    @property
    def keep(self) -> tuple[Keep, ...]:
        return self.fitted.keep

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        return self._and_consulted(self.fitted.named)

    @property
    def needed(self) -> Mapping[str, tuple[str, ...]]:
        return self._and_consulted(self.fitted.needed)

    @property
    def conditions(self) -> Mapping[str, tuple[str, ...]]:
        own = self.fitted.conditions if isinstance(self.fitted, Conditional) else {}
        return {**own, **dict.fromkeys((reader.dataset for reader in self.readers), ())}

    def obstacle(self, dialect: str) -> str | None:
        own = next((reader.obstacle for reader in self.readers if reader.obstacle is not None), None)
        return own or self.fitted.obstacle(dialect)

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        rule, readings = self.rule, []
        for reader in self.readers:
            reading = reader.read(self.rule.name, rows(records[reader.dataset], reader.needed), slot)
            readings.append((reader.dataset, reading))
            rule = reading.told(rule)
        fitted = self.fit(rule, self.relations)
        detection = fitted.detect(self._compared(records), slot, memory, temp, stop)
        self.latest[:] = [fitted]
        for name, reading in readings:
            counts = reading.counts
            detection = replace(
                reading.noted(detection),
                skipped=(*detection.skipped, *reading.skipped()),
                read_of={**detection.read_of, name: counts.read},
                scanned_of={**detection.scanned_of, name: counts.scanned},
            )
        return detection

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        return self.fitted.explain(self._compared(records), slot)

    def describe(self) -> Mapping[str, Sequence[str]]:
        return self.fitted.describe()

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        fitted = self.latest[0] if self.latest else self.fitted
        return fitted.sample(dataset, rows, slot) if dataset in fitted.needed else ()

    def _and_consulted(self, columns: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
        """Add the columns of the consulted datasets, which several settings may name, or the rule compare too."""
        columns = dict(columns)
        for reader in self.readers:
            own = columns.get(reader.dataset, ())
            columns[reader.dataset] = tuple(dict.fromkeys((*own, *reader.needed)))
        return columns

    def _compared(self, records: Mapping[str, Records]) -> Mapping[str, Records]:
        return {name: given for name, given in records.items() if name in self.fitted.needed}


def fitted(
    rule: R,
    relations: Mapping[str, Relation],
    fit: Fitting[R],
    read_list: Callable[[R, Mapping[str, Relation]], Reader] | None = None,
) -> Fitted:
    """Fit the rule with `fit`, and the datasets that it consults; `read_list` is for its list of `except`, if any.

    Raises DoesNotFit with every mistake.
    """
    mappings = mapping_readers(rule, relations)
    with_types = with_tables(rule, {lookup: reader.table(lookup) for reader in mappings for lookup in reader.lookups})
    if read_list is None and not mappings:
        return fit(rule, relations)
    mistakes: list[str] = []
    compared, lists = None, []
    try:
        compared = fit(with_types, relations)
    except DoesNotFit as misfit:
        mistakes += misfit.mistakes
    try:
        lists = [] if read_list is None else [read_list(rule, relations)]
    except DoesNotFit as misfit:
        mistakes += misfit.mistakes
    if mistakes or compared is None:
        raise DoesNotFit(rule.name, mistakes)
    return FittedConsulting(rule, relations, fit, compared, (*lists, *mappings))
