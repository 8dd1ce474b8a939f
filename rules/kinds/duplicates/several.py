"""A rule fitted to several datasets: DuckDB reads them as one table, and a group may hold records of each."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rules.binding import question
from rules.binding.fitted import FittedRule, Rows
from rules.binding.grouping import SeveralGrouping
from rules.document.mistakes import RuleError
from rules.engines import embedded
from rules.engines.base import Readable, RecordCounts, Records, Relation, Skipped, Stop, Streamed
from rules.engines.embedded import Embedded
from rules.groups.dataset import DatasetGrouping
from rules.groups.detection import Detection
from rules.groups.joining import grouped
from rules.groups.question import scanned, skipped, taking_part
from rules.groups.sample import Sample
from rules.groups.share import ShareLimit
from rules.kinds.duplicates import words
from rules.kinds.duplicates.model import DuplicatesRule
from rules.kinds.duplicates.sides import SeveralBound, bind_several
from rules.models import Keep

_OBSTACLE = "a rule over several datasets compares their records in DuckDB"


class FittedSeveral(FittedRule[SeveralBound]):
    """A rule of this kind with several datasets."""

    @classmethod
    def of(cls, rule: DuplicatesRule, relations: Mapping[str, Relation]) -> FittedSeveral:
        """Bind the rule to its datasets. Raises DoesNotFit with every mistake."""
        return cls(bind_several(rule, relations))

    @property
    def deciding(self) -> tuple[str, ...]:
        first = self.bound.sides[0]
        own = (first.names.of(column) for column in self.bound.of_group)
        return (*first.judged, *(name for name in own if name is not None))

    @property
    def keep(self) -> tuple[Keep, ...]:
        return self.bound.keep

    def obstacle(self, dialect: str) -> str | None:  # noqa: ARG002 - no database can, so far
        return _OBSTACLE

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        bound = self.bound
        loaded = bound.united.loaded(self._local(records))
        with Embedded(bound.united.table, loaded, memory, temp, stop) as engine:
            repeats = question.question(bound, engine.table, slot)
            tally, members = engine.tally(repeats), engine.members(repeats)
            identity = {
                side.relation.dataset: engine.identity(ids)
                for number, side in enumerate(bound.sides if tally.identity else ())
                for ids in bound.united.ids_of(number, engine.table, slot)
            }
        counts = {
            side.relation.dataset: question.tally_of(bound, number, tally) for number, side in enumerate(bound.sides)
        }
        limit = ShareLimit(bound, sum(map(taking_part, counts.values())), ids_differ=not tally.identity)
        groups, left_out = grouped(SeveralGrouping(bound, slot), members, None, tally, limit)
        return Detection(
            rule=bound.rule.name,
            engine=engine.name,
            read=sum(tally.states.values()),
            scanned=sum(map(scanned, counts.values())),
            skipped=(*self._skipped(counts), *left_out),
            groups=groups,
            identity=tally.identity,
            statements=embedded.statements(repeats, bound.united.table, loaded),
            read_of={name: sum(counted.states.values()) for name, counted in counts.items()},
            scanned_of={name: scanned(counted) for name, counted in counts.items()},
            identity_of=identity,
        )

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        bound, table = self.bound, self.bound.united.table
        loaded = bound.united.loaded(self._local(records))
        return embedded.statements(question.question(bound, table, slot), table, loaded)

    def describe(self) -> Mapping[str, Sequence[str]]:
        return words.describe_several(self.bound)

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        [side] = (side for side in self.bound.sides if side.relation.dataset == dataset)
        samples = DatasetGrouping(side, slot).samples(row for row in rows if side.takes_part(row, slot))
        named = None if dataset == self.bound.rule.dataset else dataset
        return [dataclasses.replace(sample, dataset=named) for sample in samples]

    def _skipped(self, counts: Mapping[str, RecordCounts]) -> Iterator[Skipped]:
        for side in self.bound.sides:
            dataset = side.relation.dataset
            for entry in skipped(side, counts[dataset]):
                yield dataclasses.replace(entry, dataset=dataset)

    def _local(self, records: Mapping[str, Records]) -> Mapping[str, Streamed | Readable]:
        local = {name: source for name, source in records.items() if isinstance(source, Streamed | Readable)}
        if len(local) < len(records):
            raise RuleError(f"Rule `{self.bound.rule.name}` cannot run inside the database: {_OBSTACLE}.")
        return local
