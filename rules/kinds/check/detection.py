"""A check fitted to its dataset: the engine that can run it, its statements, and its findings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from rules.binding.fitted import FittedRule, Rows
from rules.document.mistakes import listed
from rules.engines import embedded, pushdown
from rules.engines.base import Pushed, RecordCounts, Records, Relation, Stop, Unanswerable
from rules.engines.embedded import Embedded
from rules.groups.detection import Detection
from rules.groups.ids import identified
from rules.groups.implausible import FEW
from rules.groups.sample import Sample
from rules.kinds.check import words
from rules.kinds.check.bound import BoundCheck, bind
from rules.kinds.check.failures import Failures
from rules.kinds.check.model import CheckRule
from rules.kinds.check.question import question, scanned, skipped


class TooManyFail(Unanswerable):
    """More than `max_share` of the records fail."""

    def __init__(self, rule: CheckRule, failing: int, judged: int) -> None:
        setting = "where" if rule.gaps is None else "gaps"
        super().__init__(
            f"Rule {rule.name!r} was stopped: {failing:,} of {judged:,} records fail it, more than `max_share` allows. "
            f"Its findings are unchanged. Correct `{setting}`, or raise `max_share` if all of them are wrong"
        )


class FittedCheck(FittedRule[BoundCheck]):
    """A rule of this kind with its dataset."""

    @classmethod
    def of(cls, rule: CheckRule, relation: Relation) -> FittedCheck:
        """Bind the rule to its dataset. Raises DoesNotFit with every mistake."""
        return cls(bind(rule, relation))

    def obstacle(self, dialect: str) -> str | None:
        if self.bound.rule.is_ordered:
            return "records in an order are compared in DuckDB"
        obstacle = self.bound.uses.obstacle(dialect)
        if obstacle is None and (guarded := self.bound.uses.guard(dialect)):
            return f"the texts of {listed(guarded)} compare exactly there only if all are ASCII"
        return obstacle

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        bound, source = self.bound, records[self.relation.dataset]
        if not isinstance(source, Pushed):
            return embedded.statements(question(bound, bound.table, "duckdb", slot), bound.table)
        self.refuse_obstacle(source.dialect)
        return pushdown.statements(question(bound, source.table, source.dialect, slot), None, source.dialect)

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
            engine, tally, answer, statements = self._ask(source, slot)
        else:
            with Embedded(bound.table, source, memory, temp, stop) as session:
                asked = question(bound, session.table, session.dialect, slot)
                tally = session.tally(asked)
                self._refuse_most(tally)
                engine, answer = session.name, session.members(asked)
                statements = embedded.statements(asked, session.table)
        return Detection(
            rule=bound.rule.name,
            engine=engine,
            read=sum(tally.states.values()),
            scanned=scanned(tally),
            skipped=skipped(bound, tally),
            groups=Failures(bound, slot).of(answer),
            identity=tally.identity,
            statements=statements,
        )

    def describe(self) -> Mapping[str, Sequence[str]]:
        return words.describe(self.bound)

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:  # noqa: ARG002 - it has only one
        bound = self.bound
        completed = (bound.columns.complete(row, slot) for row in rows)
        kept = (((), row) for row in completed if bound.passes(row, slot))
        compared = (*bound.rule.order, *(part.column for _, part in bound.rule.key_parts()))
        names = compared if bound.rule.condition is None else (*bound.rule.condition.columns, *compared)
        return [
            Sample(
                record.id,
                {name: record.values[name] for name in bound.shown},
                tuple((name, record.values[name], record.values[name]) for name in dict.fromkeys(names)),
            )
            for record in identified(kept, bound.relation, bound.content)
        ]

    def _ask(self, records: Pushed, slot: dt.datetime) -> tuple[str, RecordCounts, pa.Table, tuple[str, ...]]:
        """Return the engine's name, its counts, the records that fail, and the statements."""
        bound = self.bound
        self.refuse_obstacle(records.dialect)
        source = pushdown.Pushdown(bound.pushed(records))
        asked = question(bound, source.table, source.dialect, slot)
        tally = RecordCounts(source.states(asked), source.identity(asked))
        self._refuse_most(tally)
        return source.name, tally, source.members(asked), pushdown.statements(asked, None, source.dialect)

    def _refuse_most(self, tally: RecordCounts) -> None:
        """Raise TooManyFail before the records that fail are read."""
        failing, judged, rule = tally.states.get(0, 0), scanned(tally), self.bound.rule
        if failing > max(FEW, int(rule.max_share * judged)):
            raise TooManyFail(rule, failing, judged)
