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

from rules.engines import answers
from rules.engines.base import Records, Relation, Stop, Streamed
from rules.engines.compile import Columns
from rules.groups.detection import Detection
from rules.groups.group import Group, Member, in_order
from rules.groups.ids import identified
from rules.groups.sample import Sample
from rules.kinds.base import DatasetFacts, DoesNotFit, Rows, Rule, SettingPath
from rules.models import Keep
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


class Resembling:
    """Records of two datasets that are nearly the same."""

    Settings = ResemblingRule

    def barren(self, rule: Rule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
        if len(rule.datasets) < 2:
            yield ("right",), "a dataset resembles itself; name another one"

    def fit(self, rule: Rule, relations: Mapping[str, Relation]) -> FittedResembling:
        assert isinstance(rule, ResemblingRule)
        mistakes = [
            f"dataset `{relation.dataset}` has no column `{column}`."
            for relation in relations.values()
            for column in rule.compare
            if column not in relation.schema
        ]
        if mistakes:
            raise DoesNotFit(rule.name, mistakes)
        relation = relations[rule.dataset]
        return FittedResembling(
            rule,
            relation,
            relations[rule.right],
            Columns.of(relation.schema, relation.derived, relation.timezone),
        )


@dataclass(frozen=True)
class FittedResembling:
    rule: ResemblingRule
    relation: Relation
    right: Relation
    columns: Columns
    keep: tuple[Keep, ...] = ()

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        sides = (self.relation, self.right)
        return {side.dataset: tuple(dict.fromkeys((*side.id, *self.rule.compare))) for side in sides}

    @property
    def needed(self) -> Mapping[str, tuple[str, ...]]:
        return self.named

    @property
    def deciding(self) -> tuple[str, ...]:
        return self.rule.compare

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
        left, right = (self._read(side, records[side.dataset]) for side in (self.relation, self.right))
        alike = {(link.first, link.second): link for link in self._alike(left, right)}
        groups = in_order(self._groups([*left, *right], alike))
        read_of = {self.rule.dataset: len(left), self.rule.right: len(right)}
        read = sum(read_of.values())
        return Detection(self.rule.name, "embedded", read, read, (), groups, read_of=read_of)

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        return [f"-- compare every record of {self.rule.dataset} with every one of {self.rule.right}"]

    def describe(self) -> Mapping[str, Sequence[str]]:
        return {"compares": self.rule.compare}

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        return []

    def _read(self, side: Relation, records: Records) -> list[Record]:
        columns = self.needed[side.dataset]
        if isinstance(records, Streamed):
            table = records.open(columns).read_all()
        else:
            with duckdb.connect() as database:
                table = pa.table(database.sql(records.sql(columns)).to_arrow_table())
        keyed = ((tuple(row[name] for name in self.rule.compare), row) for row in answers.rows(table))
        dataset = None if side is self.relation else side.dataset
        in_place = sorted(identified(keyed, side, columns), key=lambda record: record.place)
        return [replace(record, dataset=dataset) for record in in_place]

    def _alike(self, left: Sequence[Record], right: Sequence[Record]) -> Iterator[Link]:
        """Yield a link for each pair of records, by their places, that has enough in common."""
        for (first, ours), (second, theirs) in product(enumerate(left), enumerate(right, len(left))):
            ratios = [_ratio(*values) for values in zip(ours.key, theirs.key, strict=True)]
            score = round(sum(ratios, Decimal(0)) / len(ratios), 2)
            if score >= self.rule.threshold:
                words = (f"{_word(ratio)} {name}" for name, ratio in zip(self.rule.compare, ratios, strict=True))
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
            members = (tuple(Member.of(record, self.rule.compare) for record in side) for side in (left, right))
            if joined:
                yield Resemblance({"like": left[0].key[0]}, *members, links=joined)


def _ratio(value: Value, two: Value) -> Decimal:
    return Decimal(repr(SequenceMatcher(None, str(value), str(two)).ratio()))


def _word(ratio: Decimal) -> str:
    return "same" if ratio == 1 else "similar" if ratio > Decimal("0.6") else "different"
