"""A kind of another package: a dataset has more records with a reference than another dataset allows."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import duckdb
import pyarrow as pa
from pydantic import Field

from rules.engines import answers
from rules.engines.base import Records, Relation, Stop, Streamed
from rules.engines.compile import Columns
from rules.groups.detection import Detection
from rules.groups.group import DuplicateGroup, Member
from rules.groups.ids import identified
from rules.groups.sample import Sample
from rules.kinds.base import DatasetFacts, DoesNotFit, Rows, Rule, SettingPath
from rules.models import Keep
from rules.pairs.record import by_key
from rules.values import Value


class OvercountedRule(Rule):
    """kind: overcounted."""

    dataset_settings: ClassVar[tuple[str, ...]] = ("dataset", "against")

    kind: Literal["overcounted"] = "overcounted"
    against: str = Field(description="The dataset that says how often a reference may be there.")
    reference: str = Field(description="The column of both datasets that is compared.")

    @property
    def member_datasets(self) -> tuple[str, ...]:
        return (self.dataset,)


class Overcounted:
    """More payments than invoices: the first ones stay, as many as there are invoices, but at least one."""

    Settings = OvercountedRule

    def barren(self, rule: Rule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
        if len(rule.datasets) < 2:
            yield ("against",), "a dataset has as many records as itself; name another one"

    def fit(self, rule: Rule, relations: Mapping[str, Relation]) -> FittedOvercounted:
        assert isinstance(rule, OvercountedRule)
        mistakes = [
            f"`reference` names `{rule.reference}`, but dataset `{name}` has no such column."
            for name, relation in relations.items()
            if rule.reference not in relation.schema
        ]
        if mistakes:
            raise DoesNotFit(rule.name, mistakes)
        relation = relations[rule.dataset]
        return FittedOvercounted(rule, relation, Columns.of(relation.schema, relation.derived, relation.timezone))


@dataclass(frozen=True)
class FittedOvercounted:
    rule: OvercountedRule
    relation: Relation
    columns: Columns
    keep: tuple[Keep, ...] = ()

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        own = tuple(dict.fromkeys((*self.relation.id, self.rule.reference)))
        return {self.rule.dataset: own, self.rule.against: (self.rule.reference,)}

    @property
    def needed(self) -> Mapping[str, tuple[str, ...]]:
        return self.named

    @property
    def deciding(self) -> tuple[str, ...]:
        return (self.rule.reference,)

    def obstacle(self, dialect: str) -> str | None:
        return f"rules of kind overcounted are computed here, not in {dialect}"

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        rows = {name: list(_rows(records[name], columns)) for name, columns in self.needed.items()}
        own = rows[self.rule.dataset]
        groups = self._groups(own, self._allowed(rows[self.rule.against]))
        read_of = {name: len(some) for name, some in rows.items()}
        return Detection(self.rule.name, "embedded", sum(read_of.values()), len(own), (), groups, read_of=read_of)

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        return [f"-- compare {self.rule.reference} of {self.rule.dataset} and {self.rule.against}"]

    def describe(self) -> Mapping[str, Sequence[str]]:
        return {"counts": [f"records by {self.rule.reference}, against {self.rule.against}"]}

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        if dataset != self.rule.dataset:
            return []
        column = self.rule.reference
        records = identified((((row[column],), row) for row in rows), self.relation, self.needed[dataset])
        return [Sample(record.id, record.values, ((column, record.key[0], record.key[0]),)) for record in records]

    def _allowed(self, rows: Iterable[Mapping[str, Value]]) -> Counter[Value]:
        return Counter(row[self.rule.reference] for row in rows)

    def _groups(self, rows: Iterable[Mapping[str, Value]], allowed: Mapping[Value, int]) -> list[DuplicateGroup]:
        keyed = (((row[self.rule.reference],), row) for row in rows)
        records = identified(keyed, self.relation, self.needed[self.rule.dataset])
        keys = by_key(records)
        return [self._group(alike, allowed) for alike in keys if len(alike) > max(1, allowed[alike[0].key[0]])]

    def _group(self, alike: Sequence[Any], allowed: Mapping[Value, int]) -> DuplicateGroup:
        alike = sorted(alike, key=lambda record: record.place)
        first = max(1, allowed[alike[0].key[0]])
        members = [Member.of(record, self.needed[self.rule.dataset]) for record in (alike[0], *alike[first:])]
        return DuplicateGroup({self.rule.reference: alike[0].key[0]}, members[0], tuple(members[1:]))


def _rows(records: Records, columns: tuple[str, ...]) -> Iterator[Mapping[str, Value]]:
    if isinstance(records, Streamed):
        yield from answers.rows(records.open(columns).read_all())
    else:
        with duckdb.connect() as database:
            yield from answers.rows(pa.table(database.sql(records.sql(columns)).to_arrow_table()))
