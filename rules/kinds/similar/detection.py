"""A rule of kind `similar` fitted to its datasets: the records it reads, and its groups."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from rules.binding.fitted import FittedRule, Rows
from rules.document.mistakes import RuleError
from rules.engines import embedded
from rules.engines.base import Readable, RecordCounts, Records, Relation, Skipped, Stop, Streamed
from rules.engines.embedded import Embedded
from rules.groups.detection import Detection
from rules.groups.ids import identified
from rules.groups.keyed import no_collections
from rules.groups.question import scanned, taking_part
from rules.groups.sample import Sample
from rules.groups.scope import Changed, KnownGroups
from rules.kinds.similar import description, incremental
from rules.kinds.similar.bound import BoundSimilar, bind
from rules.kinds.similar.grouping import SimilarGrouping
from rules.kinds.similar.implausible import watched
from rules.kinds.similar.question import question, skipped
from rules.kinds.similar.rule import SimilarRule
from rules.models import Keep
from rules.values.packed import Packed

_OBSTACLE = "records that are written differently are compared in this process"


class FittedSimilar(FittedRule[BoundSimilar]):
    """A rule of this kind with its datasets."""

    @classmethod
    def of(cls, rule: SimilarRule, relations: Mapping[str, Relation]) -> FittedSimilar:
        """Bind the rule to its datasets. Raises DoesNotFit with every mistake."""
        return cls(bind(rule, relations))

    @property
    def keep(self) -> tuple[Keep, ...]:
        return self.bound.keep

    def obstacle(self, dialect: str) -> str | None:  # noqa: ARG002 - no database can
        return _OBSTACLE

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        bound, tables, tallies = self.bound, [], {}
        for side in bound.sides:
            source = self._local(records[side.relation.dataset])
            with Embedded(side.table, source, memory, temp, stop) as engine:
                asked = question(side, engine.table, slot)
                tallies[side.relation.dataset] = engine.tally(asked)
                tables.append(engine.members(asked))
        most = sum(map(taking_part, tallies.values()))
        with no_collections():
            grouping = SimilarGrouping(bound, slot, tuple(tables))
            learnt = grouping.learnt()
            groups = Packed(watched(bound, most, () if learnt is not None else grouping.groups()))
            uncertain = () if learnt is not None else tuple(grouping.uncertain())
        is_one = len(bound.sides) == 1
        return Detection(
            rule=bound.rule.name,
            engine=Embedded.name,
            read=sum(sum(tally.states.values()) for tally in tallies.values()),
            scanned=sum(map(scanned, tallies.values())),
            skipped=(*self._skipped(tallies), *grouping.left_out()),
            groups=groups,
            identity=next(iter(tallies.values())).identity,
            uncertain=uncertain,
            statements=tuple(self.explain(records, slot)),
            read_of={} if is_one else {name: sum(tally.states.values()) for name, tally in tallies.items()},
            scanned_of={} if is_one else {name: scanned(tally) for name, tally in tallies.items()},
            identity_of={} if is_one else {name: tally.identity for name, tally in tallies.items()},
            learnt=learnt,
            remember=partial(incremental.remembered, grouping) if learnt is None and is_one else None,
        )

    def full_only(self) -> str | None:
        return incremental.obstacle(self.bound)

    def lookups(self) -> tuple[str, ...]:
        return tuple(self.bound.sides[0].relation.id)

    def detect_changed(
        self,
        changed: Changed,
        findings: KnownGroups,
        usable: Sequence[str],  # noqa: ARG002 - records are looked up by their ids
        slot: dt.datetime,
    ) -> Detection:
        return incremental.detect(self.bound, changed, findings, slot)

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        for source in records.values():
            self._local(source)
        return [
            text
            for side in self.bound.sides
            for text in embedded.statements(question(side, side.table, slot), side.table)
        ]

    def describe(self) -> Mapping[str, Sequence[str]]:
        return description.describe(self.bound)

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        side = next(side for side in self.bound.sides if side.relation.dataset == dataset)
        completed = (side.columns.complete(row, slot) for row in rows)
        kept = [((), row) for row in completed if side.passes(row, slot)]
        named = None if dataset == self.bound.rule.dataset else dataset
        own = side.own_columns
        return [
            Sample(
                record.id,
                {name: record.values[own_name] for name, own_name in own.items()},
                tuple((name, record.values[own_name], record.values[own_name]) for name, own_name in own.items()),
                named,
            )
            for record in identified(kept, side.relation, side.content)
            if any(record.values[own_name] is not None for own_name in own.values())
        ]

    def _skipped(self, tallies: Mapping[str, RecordCounts]) -> list[Skipped]:
        named = len(self.bound.sides) > 1
        return [
            dataclasses.replace(entry, dataset=side.relation.dataset) if named else entry
            for side in self.bound.sides
            for entry in skipped(side, tallies[side.relation.dataset])
        ]

    def _local(self, source: Records) -> Streamed | Readable:
        if not isinstance(source, Streamed | Readable):
            raise RuleError(
                f"Rule `{self.bound.rule.name}` cannot run inside the database: {_OBSTACLE}. "
                "Without `engine: pushdown` it runs here."
            )
        return source
