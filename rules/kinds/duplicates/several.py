"""A rule fitted to several datasets: DuckDB reads them as one table, and a group may hold records of each."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from rules import grouping
from rules import values as sums
from rules.engines import embedded
from rules.engines.base import (
    Detection,
    Group,
    Readable,
    Records,
    Relation,
    Stop,
    Streamed,
)
from rules.engines.compile import Columns
from rules.engines.embedded import Embedded
from rules.errors import RuleError
from rules.kinds.base import ReadDataset, Rows, Sample
from rules.kinds.duplicates import united, words
from rules.kinds.duplicates.groups import DatasetGrouping, Grouping, Key
from rules.kinds.duplicates.model import DuplicatesRule
from rules.kinds.duplicates.question import scanned, skipped
from rules.kinds.duplicates.sides import SeveralBound, bind_several
from rules.models import Keep
from rules.values import Value, sameness

_OBSTACLE = "a rule over several datasets compares their records in DuckDB"
_Row = Mapping[str, Value]


@dataclass(frozen=True)
class FittedSeveral:
    """A rule of this kind with several datasets; see `rules.kinds.base.Fitted`."""

    bound: SeveralBound

    @classmethod
    def of(cls, rule: DuplicatesRule, relations: Mapping[str, Relation]) -> FittedSeveral:
        """Bind the rule to its datasets. Raises DoesNotFit with every mistake."""
        return cls(bind_several(rule, relations))

    @property
    def relation(self) -> Relation:
        return self.bound.sides[0].relation

    @property
    def columns(self) -> Columns:
        return self.bound.sides[0].columns

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        return {side.relation.dataset: side.named for side in self.bound.sides}

    @property
    def needed(self) -> Mapping[str, tuple[str, ...]]:
        return {side.relation.dataset: side.needed for side in self.bound.sides}

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
        loaded = united.loaded(bound, self._local(records))
        with Embedded(united.table(bound), loaded, memory, temp, stop) as engine:
            repeats = united.question(bound, engine.table, slot)
            tally, members = engine.tally(repeats), engine.members(repeats)
            identity = {
                side.relation.dataset: engine.identity(ids)
                for number, side in enumerate(bound.sides if tally.identity else ())
                for ids in united.ids_of(bound, number, engine.table, slot)
            }
        groups = SeveralGrouping(bound, slot).groups(members)
        counts = {
            side.relation.dataset: united.tally_of(bound, number, tally) for number, side in enumerate(bound.sides)
        }
        return Detection(
            rule=bound.rule.name,
            engine=engine.name,
            read=sum(tally.states.values()),
            scanned=sum(map(scanned, counts.values())),
            skipped=tuple(
                dataclasses.replace(entry, dataset=side.relation.dataset)
                for side in bound.sides
                for entry in skipped(side, counts[side.relation.dataset])
            ),
            groups=groups,
            identity=tally.identity,
            statements=embedded.statements(repeats, united.table(bound), loaded),
            read_of={name: sum(counted.states.values()) for name, counted in counts.items()},
            scanned_of={name: scanned(counted) for name, counted in counts.items()},
            identity_of=identity,
        )

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        bound, table = self.bound, united.table(self.bound)
        loaded = united.loaded(bound, self._local(records))
        return embedded.statements(united.question(bound, table, slot), table, loaded)

    def describe(self) -> Mapping[str, Sequence[str]]:
        return words.describe_several(self.bound)

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        [side] = (side for side in self.bound.sides if side.relation.dataset == dataset)
        samples = DatasetGrouping(side, slot).samples(row for row in rows if side.takes_part(row, slot))
        named = None if dataset == self.bound.rule.dataset else dataset
        return [dataclasses.replace(sample, dataset=named) for sample in samples]

    def regroup(self, candidates: Sequence[Rows], slot: dt.datetime, read: ReadDataset) -> Sequence[tuple[Group, ...]]:
        groups = SeveralGrouping(self.bound, slot)
        of_first = [groups.of_side(0, rows) for rows in candidates]
        wanted = {sameness(record.key) for records in of_first for record in records}
        others: dict[Hashable, list[grouping.Record]] = defaultdict(list)
        for number, side in enumerate(self.bound.sides[1:], 1):
            for record in groups.of_side(number, groups.with_keys(number, read(side.relation.dataset), wanted)):
                others[sameness(record.key)].append(record)

        def same_keys(records: Iterable[grouping.Record]) -> Iterator[grouping.Record]:
            return (other for key in {sameness(record.key) for record in records} for other in others[key])

        return [groups.of_records([*records, *same_keys(records)]) for records in of_first]

    def is_excepted(self, group: Group) -> bool:
        return self.bound.is_excepted(group)

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

    @property
    def key_columns(self) -> Sequence[str]:
        own = ((n, name) for n, side in enumerate(self.of_sides) for name in side.key_columns)
        return [united.PART, *(united.column_name(n, name) for n, name in own)]

    def keys(self, rows: Iterable[_Row]) -> Iterator[Key | None]:
        numbered = [(int(str(row[united.PART])), row) for row in rows]
        keys = [self.of_sides[n].keys(own) for n, own in enumerate(self._own(numbered))]
        return (next(keys[number]) for number, _ in numbered)

    def records(self, rows: Iterable[_Row]) -> list[grouping.Record]:
        own = self._own([(int(str(row[united.PART])), row) for row in rows])
        return [record for number, rows_of in enumerate(own) for record in self._seen(number, rows_of)]

    def of_side(self, number: int, rows: Iterable[_Row]) -> list[grouping.Record]:
        """Return the records of one dataset that take part, from rows of its own columns."""
        side = self.bound.sides[number]
        return self._seen(number, [row for row in rows if side.takes_part(row, self.slot)])

    def with_keys(self, number: int, rows: Iterable[_Row], keys: set[Hashable]) -> Iterator[_Row]:
        """Yield the rows of one dataset with one of these keys."""
        for row in rows:
            [key] = self.of_sides[number].keys((row,))
            if key is not None and sameness(key) in keys:
                yield row

    def money(self, surplus: Sequence[grouping.Record]) -> dict[str, Decimal]:
        first = self.bound.rule.dataset
        amounts = (
            grouping.money_at_risk(
                (record for record in surplus if (record.dataset or first) == side.relation.dataset),
                side.relation_in_rule,
            )
            for side in self.bound.sides
        )
        return dict(sorted(sums.of(amounts).items()))

    def _own(self, rows: Iterable[tuple[int, _Row]]) -> list[list[_Row]]:
        """Return the rows of each dataset, with its own columns."""
        own_names = [
            [(united.column_name(n, name), name) for name in side.needed] for n, side in enumerate(self.bound.sides)
        ]
        own: list[list[_Row]] = [[] for _ in own_names]
        for number, row in rows:
            own[number].append({name: row[column] for column, name in own_names[number] if column in row})
        return own

    def _seen(self, number: int, rows: Iterable[_Row]) -> list[grouping.Record]:
        """Return the records of these rows of one dataset, with the values that the rule sees."""
        side = self.bound.sides[number]
        dataset = side.relation.dataset if number else None
        return [
            dataclasses.replace(
                record,
                values=side.seen(record.values, self.bound.seen),
                order=(number, *record.order),
                dataset=dataset,
            )
            for record in self.of_sides[number].records(rows)
        ]
