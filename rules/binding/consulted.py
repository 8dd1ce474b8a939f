"""A dataset that a rule consults and does not compare: its records are read one by one, here, for every use."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from rules.binding.side import columns_of
from rules.document.mistakes import RuleError
from rules.engines import answers
from rules.engines.base import Records, Relation, Streamed
from rules.engines.compile import Columns
from rules.expressions import BoundExpression, parse
from rules.values import Value

Row = Mapping[str, Value]


@dataclass
class Counts:
    """The records read so far: before the dataset's `where`, and after it."""

    read: int = 0
    scanned: int = 0


@dataclass(frozen=True)
class Consulted:
    """The dataset with its columns, derived ones included."""

    relation: Relation
    columns: Columns

    @classmethod
    def of(cls, rule: str, relation: Relation) -> Consulted:
        """Raises DoesNotFit if a derived column cannot be computed."""
        return cls(relation, columns_of(rule, relation))

    @cached_property
    def where(self) -> BoundExpression | None:
        """The dataset's filter."""
        relation, text = self.relation, self.relation.where
        if text is None:
            return None
        return parse(text).condition(self.columns.schema, relation.timezone, relation.calendar)

    def mistakes(self) -> Iterator[str]:
        """Yield what is wrong with the dataset's filter."""
        try:
            _ = self.where
        except RuleError as error:
            yield f"The where of dataset `{self.relation.dataset}`: {error}"

    def needed(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the columns to read for these columns and the filter."""
        sources = set(self.columns.sources((*names, *(self.where.expression.columns if self.where else ()))))
        return tuple(name for name in self.relation.schema.names if name in sources)

    def passing(self, rows: Iterable[Row], slot: dt.datetime, counts: Counts) -> Iterator[Row]:
        """Yield the records that pass the filter, with their derived columns; empty values are None."""
        for row in rows:
            counts.read += 1
            record = self.columns.complete(row, slot)
            if self.where is None or self.where.evaluate(record, slot) is True:
                counts.scanned += 1
                yield record


def rows(records: Records, columns: tuple[str, ...]) -> Iterator[Row]:
    """Read the records one by one."""
    assert isinstance(records, Streamed)  # noqa: S101 - what a rule does not compare is streamed
    for batch in records.open(columns):
        yield from answers.rows(pa.Table.from_batches([batch]))
