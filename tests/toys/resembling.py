"""A kind of another package: records of two datasets that are nearly the same, each pair with a score."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from difflib import SequenceMatcher
from itertools import product
from pathlib import Path
from typing import ClassVar, Literal

import duckdb
import pyarrow as pa
from pydantic import Field

from rules.binding import fitting
from rules.binding.fitted import FittedRule
from rules.binding.side import Side, columns_of
from rules.engines import answers
from rules.engines.base import Readable, Records, Relation, Stop, Streamed
from rules.groups.detection import Detection
from rules.groups.group import Group, Member, in_order
from rules.groups.ids import identified
from rules.groups.sample import Sample
from rules.kinds.base import DatasetFacts, Rows, Rule, SettingPath
from rules.pairs import links
from rules.pairs.evidence import Link
from rules.pairs.record import Record
from rules.values import Value


class ResemblingRule(Rule):
    """kind: resembling."""

    dataset_settings: ClassVar[tuple[str, ...]] = ("dataset", "right")

    kind: Literal["resembling"] = "resembling"
    dataset: str = Field(alias="left", description="The dataset on the left.")
    right: str = Field(description="The dataset on the right.")
    compare: tuple[str, ...] = Field(description="The columns of both datasets that are compared.")
    threshold: Decimal = Field(default=Decimal("0.8"), description="The least score of a pair.")

    @property
    def by_records(self) -> bool:
        return True

    def because(self, form: str) -> str:
        return f"They are nearly the same in {' and '.join(self.compare)}."


@dataclass(frozen=True)
class Resemblance(Group):
    """Records of two datasets that pairs with a score connect: a shape of groups that the product does not have."""

    left: tuple[Member, ...]
    right: tuple[Member, ...]
    form: str = field(default="resemblance", init=False)

    @property
    def roles(self) -> tuple[tuple[str, Member], ...]:
        return (*(("left", member) for member in self.left), *(("right", member) for member in self.right))


@dataclass(frozen=True)
class ResemblingSide(Side):
    """One of the two datasets."""

    compare: tuple[str, ...]

    @property
    def judged(self) -> tuple[str, ...]:
        return self.compare

    @property
    def compared(self) -> tuple[str, ...]:
        return self.compare


@dataclass(frozen=True)
class BoundResembling:
    """A rule of this kind with both datasets."""

    rule: ResemblingRule
    sides: tuple[ResemblingSide, ResemblingSide]


class Resembling:
    """Records of two datasets that are nearly the same."""

    Settings = ResemblingRule

    def barren(self, rule: Rule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
        if len(rule.datasets) < 2:
            yield ("right",), "a dataset resembles itself; name another one"

    def fit(self, rule: Rule, relations: Mapping[str, Relation]) -> FittedResembling:
        assert isinstance(rule, ResemblingRule)
        left, right = (
            ResemblingSide(relations[name], columns_of(rule.name, relations[name]), None, rule.compare)
            for name in (rule.dataset, rule.right)
        )
        for side in (left, right):
            compared = (("compare", column) for column in rule.compare)
            fitting.refuse(rule.name, fitting.missing(side.columns.schema, side.relation, compared))
        return FittedResembling(BoundResembling(rule, (left, right)))


class FittedResembling(FittedRule[BoundResembling]):
    """A rule of this kind that fits its datasets."""

    def obstacle(self, dialect: str) -> str | None:
        return f"records are compared pair by pair, not in {dialect}"

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        rule = self.bound.rule
        left, right = (_read(side, records[side.relation.dataset], slot) for side in self.bound.sides)
        right = [replace(record, dataset=rule.right) for record in right]
        alike = {(link.first, link.second): link for link in self._alike(left, right)}
        groups = in_order(self._groups([*left, *right], alike))
        read_of = {rule.dataset: len(left), rule.right: len(right)}
        read = sum(read_of.values())
        return Detection(rule.name, "embedded", read, read, (), groups, read_of=read_of)

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        return [f"-- compare every record of {self.bound.rule.dataset} with every one of {self.bound.rule.right}"]

    def describe(self) -> Mapping[str, Sequence[str]]:
        return {"compares": self.bound.rule.compare}

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        return []

    def _alike(self, left: Sequence[Record], right: Sequence[Record]) -> Iterator[Link]:
        """Yield a link for each pair of records, by their places, that has enough in common."""
        for (first, ours), (second, theirs) in product(enumerate(left), enumerate(right, len(left))):
            ratios = [_ratio(*values) for values in zip(ours.key, theirs.key, strict=True)]
            score = round(sum(ratios, Decimal(0)) / len(ratios), 2)
            if score >= self.bound.rule.threshold:
                words = (f"{_word(ratio)} {name}" for name, ratio in zip(self.bound.rule.compare, ratios, strict=True))
                yield Link(first, second, detail=", ".join(words), weight=score)

    def _groups(self, records: Sequence[Record], alike: Mapping[links.Pair, Link]) -> Iterator[Resemblance]:
        bridges = links.bridges(alike.keys())
        for part in links.parts(len(records), alike):
            places = {number: place for place, number in enumerate(part)}
            joined = tuple(
                replace(link, first=places[pair[0]], second=places[pair[1]], bridge=pair in bridges)
                for pair, link in alike.items()
                if pair[0] in places
            )
            left, right = ([records[n] for n in part if (records[n].dataset is None) is own] for own in (True, False))
            members = (tuple(Member.of(record, self.bound.rule.compare) for record in side) for side in (left, right))
            if joined:
                yield Resemblance({"like": left[0].key[0]}, *members, links=joined)


def _read(side: ResemblingSide, records: Records, slot: dt.datetime) -> list[Record]:
    """Return the records of a dataset that pass its filter, in order."""
    if isinstance(records, Streamed):
        table = records.open(side.needed).read_all()
    else:
        assert isinstance(records, Readable)
        with duckdb.connect() as database:
            table = pa.table(database.sql(records.sql(side.needed)).to_arrow_table())
    rows = (side.columns.complete(row, slot) for row in answers.rows(table))
    keyed = ((tuple(row[name] for name in side.compare), row) for row in rows if side.passes(row, slot))
    return sorted(identified(keyed, side.relation, side.content), key=lambda record: record.place)


def _ratio(first: Value, second: Value) -> Decimal:
    return Decimal(repr(SequenceMatcher(None, str(first), str(second)).ratio()))


def _word(ratio: Decimal) -> str:
    return "same" if ratio == 1 else "similar" if ratio > Decimal("0.6") else "different"
