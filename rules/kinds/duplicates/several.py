"""A rule fitted to several datasets: DuckDB reads them as one table, and a group may hold records of each."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from rules import values as sums
from rules.binding.fitted import FittedRule, Rows
from rules.binding.united import PART, column_name
from rules.document.mistakes import RuleError
from rules.engines import embedded
from rules.engines.base import MoneyColumns, Readable, RecordCounts, Records, Relation, Skipped, Stop, Streamed
from rules.engines.embedded import Embedded
from rules.groups.dataset import DatasetGrouping
from rules.groups.detection import Detection
from rules.groups.ids import Keyed
from rules.groups.joining import grouped
from rules.groups.keyed import Grouping, Key
from rules.groups.money import money_at_risk
from rules.groups.sample import Sample
from rules.groups.share import ShareLimit
from rules.kinds.duplicates import united, words
from rules.kinds.duplicates.model import DuplicatesRule
from rules.kinds.duplicates.question import scanned, skipped, taking_part
from rules.kinds.duplicates.sides import SeveralBound, bind_several
from rules.models import Keep
from rules.pairs.record import Record
from rules.values import Value

_OBSTACLE = "a rule over several datasets compares their records in DuckDB"
_Row = Mapping[str, Value]
_NUMBER = "\0dataset"
"""The number of the dataset in a completed row, beside its own columns: none has this name."""


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
            repeats = united.question(bound, engine.table, slot)
            tally, members = engine.tally(repeats), engine.members(repeats)
            identity = {
                side.relation.dataset: engine.identity(ids)
                for number, side in enumerate(bound.sides if tally.identity else ())
                for ids in bound.united.ids_of(number, engine.table, slot)
            }
        counts = {
            side.relation.dataset: united.tally_of(bound, number, tally) for number, side in enumerate(bound.sides)
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
        return embedded.statements(united.question(bound, table, slot), table, loaded)

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


@dataclass(frozen=True)
class SeveralGrouping(Grouping):
    """Build groups of the records of several datasets, each with its own id, time zone and money.

    A row is one of the united table.
    """

    bound: SeveralBound

    @cached_property
    def of_sides(self) -> tuple[DatasetGrouping, ...]:
        return tuple(DatasetGrouping(side, self.slot) for side in self.bound.sides)

    def sources(self, parts: Iterable[int]) -> Sequence[str]:
        wanted = list(parts)
        own = ((n, name) for n, side in enumerate(self.of_sides) for name in side.sources(wanted))
        return [PART, *(column_name(n, name) for n, name in own)]

    def completed(self, row: _Row) -> dict[str, Value]:
        number = int(str(row[PART]))
        own = {name: row[column] for column, name in self._columns[number] if column in row}
        return {_NUMBER: number} | self.of_sides[number].completed(own)

    def values(self, completed: _Row, parts: Iterable[int]) -> Key:
        return self.of_sides[int(str(completed[_NUMBER]))].values(completed, parts)

    def identified(self, keyed: Iterable[Keyed]) -> list[Record]:
        of_side: dict[int, list[Keyed]] = defaultdict(list)
        for key, completed in keyed:
            of_side[int(str(completed[_NUMBER]))].append((key, completed))
        return [
            self._seen(number, record)
            for number in sorted(of_side)
            for record in self.of_sides[number].identified(of_side[number])
        ]

    def values_of(self, record: Record, parts: Iterable[int]) -> Key:
        normal = self.of_sides[self._number(record)].normal
        return tuple(normal[n](record.values[self.bound.parts[n].column]) for n in parts)

    def money(self, surplus: Sequence[Record]) -> dict[str, Decimal]:
        amounts = (
            money_at_risk((record for record in surplus if self._number(record) == number), side.relation_in_rule)
            for number, side in enumerate(self.bound.sides)
        )
        return dict(sorted(sums.of(amounts).items()))

    @cached_property
    def priced(self) -> Mapping[str | None, MoneyColumns]:
        relations = [side.relation_in_rule for side in self.bound.sides]
        named = ((each.dataset if number else None, each.money) for number, each in enumerate(relations))
        return {dataset: money for dataset, money in named if money is not None}

    @cached_property
    def _columns(self) -> Sequence[Sequence[tuple[str, str]]]:
        """The columns of each dataset in the united table, each with its own name."""
        sides = enumerate(self.bound.sides)
        return [[(column_name(n, name), name) for name in side.needed] for n, side in sides]

    def _number(self, record: Record) -> int:
        return self.bound.rule.several.index(record.dataset) if record.dataset else 0

    def _seen(self, number: int, record: Record) -> Record:
        """Return the record with the values that the rule sees."""
        side = self.bound.sides[number]
        return dataclasses.replace(
            record,
            values=side.seen(record.values, self.bound.seen),
            order=(number, *record.order),
            dataset=side.relation.dataset if number else None,
        )
