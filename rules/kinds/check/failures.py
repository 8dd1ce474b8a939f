"""Build findings from the records that fail."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from rules.engines import answers
from rules.expressions.previous import previous_of
from rules.groups.group import Failure, Member, in_order
from rules.groups.ids import identified
from rules.groups.money import money_at_risk
from rules.kinds.check import numbers
from rules.kinds.check.bound import FOLLOWING, BoundCheck
from rules.kinds.check.model import CONDITION, GAP, gap_name, part_name
from rules.models import KeyPart
from rules.normalise import chain_function
from rules.pairs.record import Record, once
from rules.values import Value
from rules.values.packed import Packed

AT_ONCE = 5_000
"""Records that are Python objects at the same time; without an id they are all, since equal ones are counted."""


@dataclass(frozen=True)
class Failures:
    """Builds the findings of a check, each of one record."""

    bound: BoundCheck
    slot: dt.datetime

    def of(self, answer: pa.Table) -> Sequence[Failure]:
        """Return the findings for an engine's answer, in the order of their ids."""
        names = [name for name in self.bound.relation.id if name in answer.column_names]
        if len(answer) <= AT_ONCE or not names:
            return in_order(self._of_rows(answers.rows(answer)))
        ordered = answer.sort_by([(name, "ascending") for name in names])
        parts = (ordered.slice(begin, AT_ONCE) for begin in range(0, len(ordered), AT_ONCE))
        return Packed(failure for part in parts for failure in self._of_rows(answers.rows(part)))

    def _of_rows(self, rows: Iterable[Mapping[str, Value]]) -> Iterator[Failure]:
        """Yield the findings; of records that share an id, one."""
        completed = (((), self.bound.columns.complete(row, self.slot)) for row in rows)
        records = identified(completed, self.bound.relation, self.bound.content)
        for record in once(sorted(records, key=lambda record: record.place)):
            member = Member.of(record, self.bound.shown)
            gaps = self.bound.gaps
            if gaps is not None:
                yield self._gap(record, member, gaps)
            else:
                money = money_at_risk([record], self.bound.relation)
                yield Failure(self._key(record), CONDITION, member, beside=self._previous(record), money=money)

    def _key(self, record: Record) -> Mapping[str, Value]:
        """Return the id, and the values that fail: those of the record, then those of the previous one."""
        condition = self.bound.rule.condition
        names = (*(condition.columns if condition else ()), *self.bound.previous)
        own = {name: record.values[name] for name in self.bound.relation.id}
        return {**own, **self._run_of(record), **{name: record.values[name] for name in names}}

    def _previous(self, record: Record) -> tuple[Member, ...]:
        """Return the previous record with its values of columns, if there is one."""
        names = {previous_of(name): name for name in (*self.bound.relation.id, *self.bound.relation.schema.names)}
        values = {column: record.values[name] for name, column in names.items() if name in self.bound.previous}
        name = tuple(values.get(column) for column in self.bound.relation.id)
        return () if None in name or not name else (Member(name, values),)

    def _gap(self, record: Record, member: Member, gaps: KeyPart) -> Failure:
        value = self._value(record, gaps)
        first, following = numbers.numbered(value), record.values[FOLLOWING]
        last = numbers.numbered(following)
        assert first is not None  # noqa: S101 - it has a place in the order of the numbers
        assert last is not None  # noqa: S101 - see above
        key = {**self._run_of(record), gap_name(gaps): numbers.in_words(first, value, following)}
        next_id = tuple(record.values[name] for name in self.bound.following_id)
        beside = (member, Member(next_id, {gaps.column: following})) if next_id else (member,)
        return Failure(key, GAP, member, missing=last.number - first.number - 1, beside=beside)

    def _run_of(self, record: Record) -> dict[str, Value]:
        """Return the values of `by`."""
        return {part_name(part): self._value(record, part) for part in self.bound.rule.by}

    def _value(self, record: Record, part: KeyPart) -> Value:
        return chain_function(part.steps, self.bound.relation.timezone)(record.values[part.column])
