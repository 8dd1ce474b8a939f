"""A sql rule whose datasets no database queries: DuckDB runs its query over them here."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from rules.binding import fitting
from rules.binding.fitted import DoesNotFit, Rows
from rules.binding.side import columns_of, money_columns
from rules.document.mistakes import RuleError, listed
from rules.engines import answers
from rules.engines.base import Readable, Records, Relation, Skipped, Stop, Streamed, Unanswerable
from rules.engines.select import Select, SelectRefused, parse_select
from rules.engines.session import is_overflow
from rules.engines.tables import QuerySession, QueryTable
from rules.functions import render
from rules.groups.detection import Detection
from rules.groups.ids import identified
from rules.groups.sample import Sample
from rules.kinds.custom_sql.detection import FittedSql, TooManyRows, misfits
from rules.kinds.custom_sql.model import SqlRule
from rules.values import Schema, Value

_ANY_TIME = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_REASONS = {
    duckdb.ConversionException: "a value cannot be converted to the type that the query asks for",
    duckdb.OutOfRangeException: "a number or a time is out of range",
}


class QueryFailed(Unanswerable):
    """DuckDB stopped the query. The message has none of DuckDB's words, which may hold values of records."""

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(
            f"The query of rule {rule!r} failed: {reason}. Nothing was changed. Correct the query; `try_cast` returns "
            "null for values that cannot be converted"
        )


class NoRowUsable(Unanswerable):
    """The query returned rows, but none with a group_key and an id."""

    def __init__(self, rule: str, missing: Mapping[str, int]) -> None:
        reasons = "; ".join(f"{column} is null in {rows:,} rows" for column, rows in sorted(missing.items()))
        super().__init__(
            f"Rule {rule!r} compared no records: {reasons} of its query. Its findings are unchanged. Correct the query"
        )


class NotItsRecords(Unanswerable):
    """Rows of the query have an id or an amount that no record of the dataset has: they would be shown unmasked."""

    def __init__(self, rule: SqlRule, rows: int, names: Sequence[str]) -> None:
        super().__init__(
            f"The query of rule {rule.name!r} returned values of {listed(names)} that no record of dataset "
            f"{rule.dataset!r} has (rows: {rows:,}). Nothing was changed. Return the records' own values under these "
            "names, and computed values under other names"
        )


@dataclass(frozen=True)
class FittedEmbedded(FittedSql):
    """A rule of this kind with its datasets and its query; see `rules.binding.fitted.Fitted`."""

    select: Select
    tables: tuple[QueryTable, ...]
    """The datasets that the query reads, that of the rule first."""

    @classmethod
    def of(cls, rule: SqlRule, relations: Mapping[str, Relation]) -> FittedEmbedded:
        """Raises DoesNotFit with every mistake."""
        select = parse_select(rule.query)
        tables = tuple(_table(rule, relations[name], select) for name in rule.datasets)
        relation, columns = tables[0].relation, tables[0].columns
        answer = _answer(rule, select, tables)
        fitting.refuse(rule.name, misfits(rule, columns.schema, relation, answer))
        return cls(rule, relation, columns, Relation(rule.answer, answer), select, tables)

    @property
    def needed(self) -> Mapping[str, tuple[str, ...]]:
        return {table.relation.dataset: table.needed for table in self.tables}

    @property
    def conditions(self) -> Mapping[str, tuple[str, ...]]:
        """See `rules.binding.fitted.Conditional`."""
        wheres = {table.relation.dataset: table.relation.where for table in self.tables}
        return {name: () if where is None else (where,) for name, where in wheres.items()}

    def obstacle(self, dialect: str) -> str | None:  # noqa: ARG002 - any database
        return "its query runs in DuckDB"

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        local = {name: each for name, each in records.items() if isinstance(each, Streamed | Readable)}
        with QuerySession(self.tables, local, slot, memory, temp, stop) as session:
            counts = session.counts()
            rows = self._rows(session)
        missing = Counter(column for row in rows if (column := self._missing(row)) is not None)
        if rows and missing.total() == len(rows):
            raise NoRowUsable(self.rule.name, missing)
        # Rows of the answer are no records that were scanned.
        skipped = [
            Skipped(column, "null", missing[column], scanned=False, dataset=self.rule.dataset)
            for column in sorted(missing)
        ]
        for name, counted in counts.items():
            skipped += counted.skipped(name)
        return Detection(
            rule=self.rule.name,
            engine=session.name,
            read=sum(counted.read for counted in counts.values()),
            scanned=sum(counted.scanned for counted in counts.values()),
            skipped=tuple(skipped),
            groups=self._groups(row for row in rows if self._missing(row) is None),
            read_of={name: counted.read for name, counted in counts.items()},
            scanned_of={name: counted.scanned for name, counted in counts.items()},
        )

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        loaded = [
            f"-- table {table.relation.dataset}, of its records that pass\n"
            + render(table.compiled(slot)[0], QuerySession.dialect)
            for table in self.tables
        ]
        return (*loaded, *super().explain(records, slot))

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        """The records of the rule's own dataset, as its query sees them."""
        [table] = (table for table in self.tables if table.relation.dataset == dataset)
        if dataset != self.rule.dataset:
            return ()
        completed = (self.columns.complete(row, slot) for row in rows)
        seen = (((), row) for row in completed if table.passes(row, slot))
        records = identified(seen, self.relation, table.names)
        return [Sample(record.id, {name: record.values[name] for name in table.names}, ()) for record in records]

    @property
    def _over(self) -> str:
        return f"over {listed(self.rule.datasets)} "

    def _refuse_strangers(self, session: QuerySession, answer: Schema) -> None:
        """Raise NotItsRecords: what is shown unmasked must be what the dataset itself has."""
        ids = self.relation.id
        money = [name for name in money_columns(self.relation) if name in answer]
        if ids and (strangers := session.strangers(self.tables[0], ids, money)):
            raise NotItsRecords(self.rule, strangers, [*ids, *money])

    def _rows(self, session: QuerySession) -> list[dict[str, Value]]:
        try:
            answer = session.prepare(self.select)
            rows = answers.rows(session.answer(self.rule.limit + 1))
            if rows and len(rows) <= self.rule.limit:
                self._refuse_strangers(session, answer)
        except SelectRefused as refused:
            raise QueryFailed(self.rule.name, str(refused)) from None
        except duckdb.Error as error:
            if is_overflow(error) or isinstance(error, duckdb.InterruptException):
                raise
            reason = next((text for kind, text in _REASONS.items() if isinstance(error, kind)), "DuckDB stopped it")
            raise QueryFailed(self.rule.name, reason) from None
        if len(rows) > self.rule.limit:
            raise TooManyRows(self.rule.name, self.rule.limit)
        return rows


def _own_names(relation: Relation) -> tuple[str, ...]:
    """Return the columns whose values are those of a record: its id and its money."""
    return (*relation.id, *money_columns(relation))


def _table(rule: SqlRule, relation: Relation, select: Select) -> QueryTable:
    """Raises DoesNotFit."""
    always = _own_names(relation) if relation.dataset == rule.dataset else ()
    table = QueryTable.of(relation, columns_of(rule.name, relation), select, always)
    try:
        _ = table.where
    except RuleError as error:
        raise DoesNotFit(rule.name, [f"The where of dataset `{relation.dataset}`: {error}"]) from error
    return table


def _answer(rule: SqlRule, select: Select, tables: Sequence[QueryTable]) -> Schema:
    """Return the columns of the query's answer, from the columns of the datasets alone. Raises DoesNotFit."""
    try:
        with QuerySession(tables, {table.relation.dataset: table.empty for table in tables}, _ANY_TIME) as session:
            return session.prepare(select)
    except SelectRefused as refused:
        raise DoesNotFit(rule.name, [f"`query` does not fit: {refused}."]) from None
