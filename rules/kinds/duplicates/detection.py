"""A rule fitted to its dataset: the engine that can run it, its statements, and its groups."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import sqlalchemy as sa

from rules.binding.fitted import FittedRule, Rows
from rules.document.mistakes import listed
from rules.engines import embedded, pushdown
from rules.engines.base import Pushed, RecordCounts, Records, Relation, Stop, Streamed
from rules.engines.compile import Compiler
from rules.engines.embedded import Embedded
from rules.groups import consecutive
from rules.groups.dataset import DatasetGrouping
from rules.groups.detection import Detection
from rules.groups.group import Group
from rules.groups.incremental import detect as detect_changed
from rules.groups.joining import Joining, grouped
from rules.groups.question import marked, marked_keys, question, scanned, skipped, taking_part
from rules.groups.sample import Sample
from rules.groups.scope import Changed, KnownGroups
from rules.groups.share import ShareLimit
from rules.kinds.duplicates import incremental, words
from rules.kinds.duplicates.bound import BoundDuplicates, bind
from rules.kinds.duplicates.model import DuplicatesRule
from rules.models import Keep


class FittedDuplicates(FittedRule[BoundDuplicates]):
    """A rule of this kind with its dataset."""

    @classmethod
    def of(cls, rule: DuplicatesRule, relation: Relation) -> FittedDuplicates:
        """Bind the rule to its dataset. Raises DoesNotFit with every mistake."""
        return cls(bind(rule, relation))

    @property
    def keep(self) -> tuple[Keep, ...]:
        return self.bound.keep

    def obstacle(self, dialect: str) -> str | None:
        return _obstacle(self.bound, dialect)

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        bound, source = self.bound, records[self.relation.dataset]
        if not isinstance(source, Pushed):
            return embedded.statements(question(bound, bound.table, "duckdb", slot), bound.table)
        dialect, table = source.dialect, source.table
        self.refuse_obstacle(dialect)
        guard = bound.uses.guard(dialect)
        if guard:
            return _guard(bound, table, dialect, slot, guard).statements(dialect)
        everything, marks = question(bound, table, dialect, slot), marked_keys(bound, table, dialect, slot)
        return pushdown.statements(everything, marked(bound, table, dialect, slot, guard), dialect, marks)

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        bound, source = self.bound, records[self.relation.dataset]
        if isinstance(source, Pushed):
            self.refuse_obstacle(source.dialect)
            answer = _ask_source(bound, source, slot, memory, temp, stop)
        else:
            with Embedded(bound.table, source, memory, temp, stop) as engine:
                repeats = question(bound, engine.table, engine.dialect, slot)
                answer = _Answer(
                    engine.name,
                    engine.tally(repeats),
                    engine.members(repeats),
                    None,
                    embedded.statements(repeats, engine.table),
                )
        limit = ShareLimit(bound, taking_part(answer.tally), ids_differ=not answer.tally.identity)
        by_key = DatasetGrouping(bound, slot)
        groups, left_out = grouped(by_key, answer.members, answer.instead_of, answer.tally, limit)
        return Detection(
            rule=bound.rule.name,
            engine=answer.engine,
            read=sum(answer.tally.states.values()),
            scanned=scanned(answer.tally),
            skipped=(*skipped(bound, answer.tally), *left_out),
            groups=groups,
            identity=answer.tally.identity,
            statements=answer.statements,
        )

    def full_only(self) -> str | None:
        return incremental.obstacle(self.bound)

    def lookups(self) -> tuple[str, ...]:
        return incremental.parts(self.bound)

    def detect_changed(
        self, changed: Changed, findings: KnownGroups, usable: Sequence[str], slot: dt.datetime
    ) -> Detection:
        return detect_changed(self.bound, changed, findings, usable, slot)

    def describe(self) -> Mapping[str, Sequence[str]]:
        return words.describe(self.bound)

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:  # noqa: ARG002 - it has only one
        return DatasetGrouping(self.bound, slot).samples(row for row in rows if self.bound.takes_part(row, slot))

    def neighbours(self) -> tuple[str, ...]:
        return () if self.bound.rule.joins else incremental.parts(self.bound)

    def regroup(self, records: Rows, slot: dt.datetime) -> Sequence[Group]:
        by_key = DatasetGrouping(self.bound, slot)
        rows = [row for row in records if self.bound.takes_part(row, slot)]
        if (setting := self.bound.rule.consecutive) is not None:
            return by_key.of_records(consecutive.numbered(self.bound, setting, by_key.records(rows)))
        return (Joining(by_key) if self.bound.joins else by_key).of_rows(rows)


@dataclass(frozen=True)
class _Answer:
    """An engine's answer; a key in `members` replaces the same key in `instead_of`."""

    engine: str
    tally: RecordCounts
    members: pa.Table
    instead_of: pa.Table | None
    statements: tuple[str, ...]


def _ask_source(
    bound: BoundDuplicates, records: Pushed, slot: dt.datetime, memory: str | None, temp: Path | None, stop: Stop | None
) -> _Answer:
    source = pushdown.Pushdown(bound.pushed(records))
    everything = question(bound, source.table, source.dialect, slot)
    guard_columns = bound.uses.guard(source.dialect)
    if bound.joins:
        keys = marked_keys(bound, source.table, source.dialect, slot)
        answer = source.ask_any(everything, keys)
        texts = pushdown.statements(everything, None, source.dialect, keys)
        counts = RecordCounts(answer.states, source.identity(everything), answer.crowded)
        return _Answer(source.name, counts, answer.members, None, texts)
    if not guard_columns:
        marks = marked(bound, source.table, source.dialect, slot, guard_columns)
        answer = source.ask(everything, marks)
        texts = pushdown.statements(everything, marks, source.dialect)
        counts = RecordCounts(answer.states, source.identity(everything))
        return _Answer(source.name, counts, answer.members, None, texts)
    guard = _guard(bound, source.table, source.dialect, slot, guard_columns)
    texts = guard.statements(source.dialect)
    answer = source.ask(guard.source, guard.marked)
    if answer.others == 0:
        return _Answer(
            source.name, RecordCounts(answer.states, source.identity(everything)), answer.members, None, texts
        )
    with Embedded(bound.table, Streamed(lambda _: source.stream(guard.others())), memory, temp, stop) as engine:
        tally, members = pushdown.guarded(source, engine, guard, answer)
    return _Answer(source.name, tally, members, answer.members, texts)


def _obstacle(bound: BoundDuplicates, dialect: str) -> str | None:
    if bound.rule.consecutive is not None:
        return "with `consecutive`, the positions of all records are counted in DuckDB"
    obstacle = bound.uses.obstacle(dialect)
    if obstacle is None and bound.joins and (guarded := bound.uses.guard(dialect)):
        return f"with several keys, the texts of {listed(guarded)} compare exactly there only if all are ASCII"
    return obstacle


def _guard(
    bound: BoundDuplicates, table: sa.FromClause, dialect: str, slot: dt.datetime, columns: tuple[str, ...]
) -> pushdown.Guard:
    compiler = Compiler(bound.columns, table, dialect, slot, bound.relation.timezone)
    return pushdown.Guard(
        ascii=compiler.ascii_only(columns),
        columns=tuple(table.c[name] for name in bound.needed),
        source=question(bound, table, dialect, slot, columns),
        everything=question(bound, table, dialect, slot),
        here=lambda local: question(bound, local, "duckdb", slot),
        lookups=bound.lookups,
        marked=marked(bound, table, dialect, slot, columns),
    )
