"""A sql rule fitted to its dataset and to the answer of its query: its groups, however the rows arrive."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from rules.binding import fitting
from rules.binding.fitted import Rows
from rules.binding.side import columns_of
from rules.document.mistakes import listed
from rules.engines import answers
from rules.engines.base import MoneyColumns, Records, Relation, Skipped, Stop, Streamed, Unanswerable
from rules.engines.compile import Columns
from rules.groups import survivorship
from rules.groups.detection import Detection
from rules.groups.group import DuplicateGroup, Group, Member, in_order
from rules.groups.ids import identified
from rules.groups.keeper import kept_in_words
from rules.groups.money import money_at_risk
from rules.groups.sample import Sample
from rules.kinds.custom_sql.model import GROUP_KEY, SqlRule
from rules.models import Keep
from rules.pairs.record import Record, by_key, once
from rules.values import Schema, Type, Value, filled

_Row = Mapping[str, Value]


class TooManyRows(Unanswerable):
    """The query returned more rows than the rule's limit."""

    def __init__(self, rule: str, limit: int) -> None:
        super().__init__(
            f"The query of rule {rule!r} returned more than {limit:,} rows. Nothing was changed. Narrow the query, or "
            "raise `limit`"
        )


@dataclass(frozen=True)
class FittedSql:
    """A rule of this kind with its dataset and its answer; see `rules.binding.fitted.Fitted`."""

    rule: SqlRule
    relation: Relation
    columns: Columns
    answer: Relation

    @classmethod
    def of(cls, rule: SqlRule, relations: Mapping[str, Relation]) -> FittedSql:
        """Raises DoesNotFit with every mistake."""
        relation, answer = relations[rule.dataset], relations[rule.answer]
        columns = columns_of(rule.name, relation)
        fitting.refuse(rule.name, misfits(rule, columns.schema, relation, answer.schema))
        return cls(rule, relation, columns, answer)

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        return self.needed

    @property
    def needed(self) -> Mapping[str, tuple[str, ...]]:
        ids = self.relation.id or self.relation.schema.names[:1]
        return {self.relation.dataset: ids, self.answer.dataset: self.answer.schema.names}

    @property
    def deciding(self) -> tuple[str, ...]:
        """Any column may: the query says which, and only the database reads it."""
        return self.relation.schema.names

    @property
    def keep(self) -> tuple[Keep, ...]:
        return self.rule.keep

    def obstacle(self, dialect: str) -> str | None:  # noqa: ARG002 - any database
        return "the database runs its query; Reconcile builds the groups"

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,  # noqa: ARG002 - the answer is of that slot
        memory: str | None = None,  # noqa: ARG002 - `limit` bounds it
        temp: Path | None = None,  # noqa: ARG002 - see above
        stop: Stop | None = None,  # noqa: ARG002 - reads end at their source
    ) -> Detection:
        rows = self._read(records[self.answer.dataset])
        missing = Counter(reason for row in rows if (reason := self._missing(row)) is not None)
        skipped = tuple(Skipped(column, "null", missing[column]) for column in sorted(missing))
        groups = self._groups(row for row in rows if self._missing(row) is None)
        return Detection(
            rule=self.rule.name,
            engine="embedded",
            read=len(rows),
            scanned=len(rows),
            skipped=skipped,
            groups=groups,
            read_of={self.relation.dataset: 0, self.answer.dataset: len(rows)},
        )

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:  # noqa: ARG002 - as it is written
        return (f"-- query, at most {self.rule.limit:,} rows\n{self.rule.query.strip()}",)

    def describe(self) -> Mapping[str, Sequence[str]]:
        sentences = [f"what its query {self._over}returns, one group for each group_key"]
        if self.rule.minimum > 1:
            sentences.append(f"only groups of at least {self.rule.minimum:,} records")
        sentences.append(f"at most {self.rule.limit:,} rows; with more, the rule fails")
        return {"finds": sentences, "keeps": [kept_in_words(self.rule.keep, self.answer.schema, self.relation.id)]}

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:  # noqa: ARG002 - nothing is normalised
        if dataset != self.answer.dataset:
            return ()
        records = self._records(row for row in rows if self._missing(row) is None)
        return [Sample(record.id, self._shown(record.values), ()) for record in records]

    @property
    def _over(self) -> str:
        """The datasets that the query reads, in words, if they are known."""
        return ""

    def _read(self, records: Records) -> list[_Row]:
        assert isinstance(records, Streamed)  # noqa: S101 - a database streams what it does not group itself
        rows: list[_Row] = []
        reader = records.open(self.answer.schema.names)
        for batch in reader:
            rows += answers.rows(pa.Table.from_batches([batch]))
            if len(rows) > self.rule.limit:
                raise TooManyRows(self.rule.name, self.rule.limit)
        return rows

    def _missing(self, row: _Row) -> str | None:
        """Return the first column without which a row takes no part."""
        required = (GROUP_KEY, *self.relation.id)
        return next((column for column in required if filled(row[column]) is None), None)

    def _records(self, rows: Iterable[_Row]) -> list[Record]:
        keyed = (((row[GROUP_KEY],), row) for row in rows)
        return identified(keyed, self.relation, self.answer.schema.names)

    def _groups(self, rows: Iterable[_Row]) -> tuple[Group, ...]:
        alike = (once(records) for records in by_key(self._records(rows)))
        return in_order(self._group(records) for records in alike if len(records) >= self.rule.minimum)

    def _group(self, records: list[Record]) -> Group:
        keeper, *surplus = self._ordered(records)
        return DuplicateGroup(
            key={GROUP_KEY: records[0].key[0]},
            keeper=self._member(keeper),
            surplus=tuple(map(self._member, surplus)),
            money=self._at_risk(surplus or records),
            priced=self._priced,
        )

    def _member(self, record: Record) -> Member:
        return Member(record.id, self._shown(record.values))

    def _ordered(self, records: Sequence[Record]) -> Sequence[Record]:
        return survivorship.in_order(records, self.rule.keep, self._considered, lambda record: record.place)

    @cached_property
    def _considered(self) -> tuple[str, ...]:
        return tuple(name for name in self.answer.schema.names if name != GROUP_KEY)

    def _shown(self, row: _Row) -> _Row:
        return {name: row[name] for name in self._considered}

    def _at_risk(self, records: Sequence[Record]) -> dict[str, Decimal]:
        """Return the sum of the records' amounts, if the query returns the columns of `money`."""
        return money_at_risk(records, self.relation) if self._priced else {}

    @cached_property
    def _priced(self) -> Mapping[str | None, MoneyColumns]:
        money = self.relation.money
        columns = {money.amount, money.currency_column or money.amount} if money else set()
        return {None: money} if money is not None and columns <= set(self._considered) else {}


def misfits(rule: SqlRule, own: Schema, relation: Relation, answer: Schema) -> Iterator[str]:
    """Yield a sentence for each reason why the answer of the query does not fit the dataset and the rule."""
    yield from fitting.missing(own, relation, [("id", name) for name in relation.id])
    lacking = [name for name in (GROUP_KEY, *relation.id) if name not in answer]
    if lacking:
        yield f"Its query does not return {listed(lacking)}; select {'it' if len(lacking) == 1 else 'them'}."
    for name in relation.id:
        if name in answer and name in own and not _comparable(answer[name].type, own[name].type):
            kinds = f"{answer[name].type.value}, but in the dataset of type {own[name].type.value}"
            yield f"Its query returns `{name}` as {kinds}; select the column itself."
    yield from fitting.money(own, relation)
    yield from fitting.failing([("keep", lambda: survivorship.check_keep(rule.keep, answer))])


def _comparable(first: Type, second: Type) -> bool:
    return first is second or (first.is_number and second.is_number)
