"""A kind of another package: two datasets should have the same amount for each reference."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import duckdb
import pyarrow as pa
from pydantic import Field

from rules.engines import answers
from rules.engines.base import Records, Relation, Stop, Streamed
from rules.engines.compile import Columns
from rules.groups.detection import BalanceLine, Detection
from rules.groups.group import Difference, Discrepancy, Member
from rules.groups.sample import Sample
from rules.kinds.base import DatasetFacts, DoesNotFit, Rows, Rule, SettingPath
from rules.models import Keep, Strict
from rules.values import Value

CURRENCY = "EUR"
Row = Mapping[str, Value]


class Sides(Strict):
    """A column of each dataset."""

    left: str
    right: str


class MirroredRule(Rule):
    """kind: mirrored."""

    dataset_settings: ClassVar[tuple[str, ...]] = ("dataset", "right")

    kind: Literal["mirrored"] = "mirrored"
    dataset: str = Field(alias="left", description="The dataset on the left.")
    right: str = Field(description="The dataset that should mirror it.")
    reference: Sides = Field(description="The columns that are matched.")
    amount: Sides = Field(description="The columns that must agree.")

    @property
    def nouns(self) -> tuple[str, str]:
        return "discrepancy", "discrepancies"

    @property
    def by_records(self) -> bool:
        return True

    def shown_as(self, dataset: str, columns: Iterable[str]) -> Iterator[str]:
        names = {self.reference.right: self.reference.left} if dataset == self.right else {}
        return (names.get(column, column) for column in columns)


class Mirrored:
    """Records without a partner, and pairs whose amounts differ."""

    Settings = MirroredRule

    def barren(self, rule: Rule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
        if len(rule.datasets) < 2:
            yield ("right",), "a dataset mirrors itself; name another one"

    def fit(self, rule: Rule, relations: Mapping[str, Relation]) -> FittedMirrored:
        assert isinstance(rule, MirroredRule)
        left, right = relations[rule.dataset], relations[rule.right]
        sides = ((left, (rule.reference.left, rule.amount.left)), (right, (rule.reference.right, rule.amount.right)))
        mistakes = [
            f"dataset `{relation.dataset}` has no column `{name}`."
            for relation, names in sides
            for name in names
            if name not in relation.schema
        ]
        if mistakes:
            raise DoesNotFit(rule.name, mistakes)
        return FittedMirrored(rule, left, right)


@dataclass(frozen=True)
class FittedMirrored:
    rule: MirroredRule
    relation: Relation
    other: Relation
    keep: tuple[Keep, ...] = ()

    @cached_property
    def columns(self) -> Columns:
        return Columns.of(self.relation.schema, self.relation.derived, self.relation.timezone)

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        left = dict.fromkeys((*self.relation.id, self.rule.reference.left, self.rule.amount.left))
        right = dict.fromkeys((*self.other.id, self.rule.reference.right, self.rule.amount.right))
        return {self.rule.dataset: tuple(left), self.rule.right: tuple(right)}

    @property
    def needed(self) -> Mapping[str, tuple[str, ...]]:
        return self.named

    @property
    def deciding(self) -> tuple[str, ...]:
        return (self.rule.reference.left, self.rule.amount.left)

    def obstacle(self, dialect: str) -> str | None:
        return f"rules of kind mirrored are computed here, not in {dialect}"

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        rows = {name: list(_rows(records[name], columns)) for name, columns in self.needed.items()}
        left, right = rows[self.rule.dataset], rows[self.rule.right]
        groups = list(self._groups(left, right))
        return Detection(
            *(self.rule.name, "embedded", len(left) + len(right), len(left) + len(right), ()),
            groups,
            read_of={name: len(some) for name, some in rows.items()},
            balance=(self._balance(left, right),),
            matched=len({_text(row[self.rule.reference.left]) for row in left})
            - sum(bool(group.left) for group in groups),
        )

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        return [f"-- compare {self.rule.dataset} with {self.rule.right}"]

    def describe(self) -> Mapping[str, Sequence[str]]:
        return {}

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        return []

    def _groups(self, left: Iterable[Row], right: Iterable[Row]) -> Iterator[Discrepancy]:
        sides: dict[str, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
        for row in left:
            sides[_text(row[self.rule.reference.left])][0].append(row)
        for row in right:
            sides[_text(row[self.rule.reference.right])][1].append(row)
        for key, (lefts, rights) in sorted(sides.items()):
            yield from self._compared(key, lefts, rights)

    def _compared(self, key: str, lefts: Sequence[Row], rights: Sequence[Row]) -> Iterator[Discrepancy]:
        ours = (self._sum(lefts, self.rule.amount.left), self._sum(rights, self.rule.amount.right))
        members = (self._members(lefts, self.relation, None), self._members(rights, self.other, self.rule.right))
        named = {self.rule.reference.left: key}
        money = {CURRENCY: ours[0] - ours[1]}
        if not rights or not lefts:
            yield Discrepancy(named, "left_only" if lefts else "right_only", *members, money=money)
        elif ours[0] != ours[1]:
            names = (self.rule.amount.left, self.rule.amount.right)
            difference = Difference(" / ".join(dict.fromkeys(names)), *ours, *names)
            yield Discrepancy(named, "mismatch", *members, differences=(difference,), money=money)

    def _members(self, rows: Iterable[Row], relation: Relation, dataset: str | None) -> tuple[Member, ...]:
        shown = self.named[relation.dataset]
        members = [Member(tuple(row[n] for n in relation.id), {n: row[n] for n in shown}, dataset) for row in rows]
        return tuple(sorted(members, key=lambda member: str(member.id)))

    def _sum(self, rows: Iterable[Row], column: str) -> Decimal:
        return sum((Decimal(str(row[column])) for row in rows), Decimal(0))

    def _balance(self, left: Sequence[Row], right: Sequence[Row]) -> BalanceLine:
        sums = (self._sum(left, self.rule.amount.left), self._sum(right, self.rule.amount.right))
        return BalanceLine(CURRENCY, *sums, Decimal(0), sums[0] - sums[1], Decimal(0))


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _rows(records: Records, columns: tuple[str, ...]) -> Iterator[Row]:
    if isinstance(records, Streamed):
        yield from answers.rows(records.open(columns).read_all())
    else:
        with duckdb.connect() as database:
            yield from answers.rows(pa.table(database.sql(records.sql(columns)).to_arrow_table()))
