"""A rule whose pairs of different records are themselves the records of a dataset, which every use reads again."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path

from rules import fitting
from rules.engines.base import Records, Relation, Skipped, Stop
from rules.engines.compile import Columns
from rules.groups.detection import Detection
from rules.groups.sample import Sample
from rules.kinds.base import DoesNotFit, Rows
from rules.kinds.consulted import Consulted, Counts, Row, rows
from rules.kinds.duplicates.bound import bound_columns
from rules.kinds.duplicates.detection import FittedDuplicates
from rules.kinds.duplicates.excepting import ListedPairs
from rules.kinds.duplicates.model import DuplicatesRule
from rules.kinds.duplicates.several import FittedSeveral
from rules.models import Keep
from rules.pairs.record import RecordName, written_id
from rules.values import PLACE, Type, filled

Fitting = Callable[[DuplicatesRule, Mapping[str, Relation]], FittedDuplicates | FittedSeveral]


@dataclass(frozen=True)
class FittedListed:
    """A rule of this kind with its datasets and the one that lists its pairs; see `rules.kinds.base.Fitted`."""

    fitted: FittedDuplicates | FittedSeveral
    pairs: PairReader

    @classmethod
    def of(cls, rule: DuplicatesRule, relations: Mapping[str, Relation], fit: Fitting) -> FittedListed:
        """Fit the rule with `fit`, and its pairs. Raises DoesNotFit with every mistake in both."""
        mistakes: list[str] = []
        fitted, pairs = None, None
        try:
            fitted = fit(rule, relations)
        except DoesNotFit as misfit:
            mistakes += misfit.mistakes
        try:
            pairs = PairReader.of(rule, relations)
        except DoesNotFit as misfit:
            mistakes += misfit.mistakes
        if fitted is None or pairs is None:
            raise DoesNotFit(rule.name, mistakes)
        return cls(fitted, pairs)

    @property
    def relation(self) -> Relation:
        return self.fitted.relation

    @property
    def columns(self) -> Columns:
        return self.fitted.columns

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        return {**self.fitted.named, self.pairs.relation.dataset: self.pairs.needed}

    @property
    def needed(self) -> Mapping[str, tuple[str, ...]]:
        return {**self.fitted.needed, self.pairs.relation.dataset: self.pairs.needed}

    @property
    def conditions(self) -> Mapping[str, tuple[str, ...]]:
        return {**self.fitted.conditions, self.pairs.relation.dataset: ()}

    @property
    def deciding(self) -> tuple[str, ...]:
        return self.fitted.deciding

    @property
    def keep(self) -> tuple[Keep, ...]:
        return self.fitted.keep

    def obstacle(self, dialect: str) -> str | None:
        return self.fitted.obstacle(dialect)

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        dataset = self.pairs.relation.dataset
        read = self.pairs.read(rows(records[dataset], self.pairs.needed), slot)
        detection = self._with(read).detect(self._compared(records), slot, memory, temp, stop)
        return replace(
            detection,
            skipped=(*detection.skipped, *read.skipped(dataset)),
            read_of={**detection.read_of, dataset: read.counts.read},
            scanned_of={**detection.scanned_of, dataset: read.counts.scanned},
            listed={dataset: len(read.pairs)},
        )

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        return self.fitted.explain(self._compared(records), slot)

    def describe(self) -> Mapping[str, Sequence[str]]:
        return self.fitted.describe()

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        return () if dataset == self.pairs.relation.dataset else self.fitted.sample(dataset, rows, slot)

    def _with(self, read: ReadPairs) -> FittedDuplicates | FittedSeveral:
        """Return the fitted rule with these pairs."""
        fitted = self.fitted
        if isinstance(fitted, FittedDuplicates):
            return replace(fitted, bound=replace(fitted.bound, rule=fitted.bound.rule.with_pairs(read.pairs)))
        return replace(fitted, bound=replace(fitted.bound, rule=fitted.bound.rule.with_pairs(read.pairs)))

    def _compared(self, records: Mapping[str, Records]) -> Mapping[str, Records]:
        return {name: given for name, given in records.items() if name != self.pairs.relation.dataset}


@dataclass(frozen=True)
class ReadPairs:
    """The pairs of a dataset, the counts of its records, and those that are no pair, by reason."""

    pairs: frozenset[frozenset[RecordName]]
    counts: Counts
    left_out: Mapping[tuple[str, str], int]

    def skipped(self, dataset: str) -> Iterator[Skipped]:
        for (column, reason), records in sorted(self.left_out.items()):
            yield Skipped(column, reason, records, dataset=dataset)


@dataclass(frozen=True)
class IdColumns:
    """The columns of a list with one of the two ids, with the types of that id; `dataset` is as in `Member`."""

    columns: tuple[str, ...]
    id: tuple[str, ...]
    id_types: tuple[Type, ...]
    compared: str
    dataset: str | None


@dataclass(frozen=True)
class PairReader:
    """Reads pairs of ids from the records of a dataset."""

    listed: Consulted
    ids: tuple[IdColumns, IdColumns]

    @property
    def relation(self) -> Relation:
        return self.listed.relation

    @classmethod
    def of(cls, rule: DuplicatesRule, relations: Mapping[str, Relation]) -> PairReader:
        """Raises DoesNotFit with every mistake."""
        listed = rule.listed
        assert listed is not None  # noqa: S101 - only such rules are fitted with it
        relation = relations[listed.dataset]
        consulted = Consulted.of(rule.name, relation)
        first, second = (_id_columns(rule, relations, named) for named in _named(rule, listed, relation))
        reader = cls(consulted, (first, second))
        if mistakes := list(dict.fromkeys(reader._mistakes())):
            raise DoesNotFit(rule.name, mistakes)
        return reader

    @cached_property
    def needed(self) -> tuple[str, ...]:
        return self.listed.needed(name for of_id in self.ids for name in of_id.columns)

    def read(self, rows: Iterable[Row], slot: dt.datetime) -> ReadPairs:
        pairs: set[frozenset[RecordName]] = set()
        left_out: Counter[tuple[str, str]] = Counter()
        counts = Counts()
        for record in self.listed.passing(rows, slot, counts):
            reason = next((reason for of_id in self.ids for reason in _unusable(of_id, record)), None)
            pair = frozenset(_name(of_id, record) for of_id in self.ids) if reason is None else frozenset()
            if len(pair) == 2:
                pairs.add(pair)
            else:
                left_out[reason or self._same] += 1
        return ReadPairs(frozenset(pairs), counts, left_out)

    @property
    def _same(self) -> tuple[str, str]:
        first, second = (" and ".join(of_id.columns) for of_id in self.ids)
        return second, f"the same id as {first}"

    def _mistakes(self) -> Iterator[str]:
        relation, schema = self.relation, self.listed.columns.schema
        yield from fitting.missing(schema, relation, (("except", name) for of_id in self.ids for name in of_id.columns))
        for of_id in self.ids:
            if not of_id.id:
                yield f"`except` names records by their id, but dataset `{of_id.compared}` has none; give it an `id`."
            elif len(of_id.columns) != len(of_id.id):
                yield (
                    f"`except` has {len(of_id.columns)} columns for an id of `{of_id.compared}`, which has "
                    f"{len(of_id.id)}."
                )
            else:
                yield from self._unlike(of_id)
        yield from self.listed.mistakes()

    def _unlike(self, of_id: IdColumns) -> Iterator[str]:
        """Yield a sentence for each column that cannot hold an id because of its type. Texts are read as ids."""
        for name, id_name, id_type in zip(of_id.columns, of_id.id, of_id.id_types, strict=True):
            schema = self.listed.columns.schema
            own = schema[name].type if name in schema else Type.TEXT
            if own not in (id_type, Type.TEXT) and not (own.is_number and id_type.is_number):
                yield (
                    f"`except`: `{name}` of dataset `{self.relation.dataset}` is of type {own.value}, but `{id_name}` "
                    f"of dataset `{of_id.compared}` is of type {id_type.value}; declare the same type under the "
                    "dataset's `columns:`."
                )


def _named(
    rule: DuplicatesRule, listed: ListedPairs, relation: Relation
) -> tuple[tuple[str | None, tuple[str, ...]], tuple[str | None, tuple[str, ...]]]:
    """Return the dataset (None for the rule's first) and the columns of each of the two ids. Raises DoesNotFit."""
    if listed.columns is not None:
        first, second = map(rule.named_record, listed.columns)
        return first, second
    columns = [name for name in (*relation.schema.names, *relation.derived) if name not in PLACE]
    if len(columns) != 2:
        columns = [name for name in columns if name not in relation.id]
    if len(columns) != 2:
        number = f"{len(columns)} column{'' if len(columns) == 1 else 's'}"
        mistake = (
            f"`except` needs two columns of ids, but dataset `{relation.dataset}` has {number} besides its id; "
            f"write `except: {{dataset: {relation.dataset}, columns: [first_id, second_id]}}` with their names."
        )
        raise DoesNotFit(rule.name, [mistake])
    return (None, (columns[0],)), (None, (columns[1],))


def _id_columns(
    rule: DuplicatesRule, relations: Mapping[str, Relation], named: tuple[str | None, tuple[str, ...]]
) -> IdColumns:
    dataset, columns = named
    compared = relations[dataset or rule.dataset]
    schema = bound_columns(rule, compared).schema
    types = tuple(schema[name].type if name in schema else Type.TEXT for name in compared.id)
    return IdColumns(columns, compared.id, types, compared.dataset, dataset)


def _unusable(of_id: IdColumns, record: Row) -> Iterator[tuple[str, str]]:
    """Yield a column and the reason why it holds no id."""
    for name, type_ in zip(of_id.columns, of_id.id_types, strict=True):
        value = filled(record[name])
        if value is None:
            yield name, "null"
        elif type_.is_number and isinstance(value, str) and _number(value) is None:
            yield name, "not a number, as the id is"


def _name(of_id: IdColumns, record: Row) -> RecordName:
    values = ((record[name], type_) for name, type_ in zip(of_id.columns, of_id.id_types, strict=True))
    typed = (_number(value) if type_.is_number and isinstance(value, str) else value for value, type_ in values)
    return of_id.dataset, written_id(tuple(typed))


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
