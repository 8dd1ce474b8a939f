"""The pairs of different records of a rule that are themselves the records of a dataset."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Protocol, Self, TypeVar

from rules.binding import fitting
from rules.binding.consulted import Consulted, Counts, Row
from rules.binding.excepting import ListedPairs, Named
from rules.binding.fitted import DoesNotFit
from rules.binding.side import columns_of
from rules.engines.base import Relation, Skipped
from rules.groups.detection import Detection
from rules.pairs.record import RecordName, written_id
from rules.values import PLACE, Type, filled


class ListingRule(Protocol):
    """A rule that can take its pairs of different records from a dataset."""

    @property
    def name(self) -> str: ...
    @property
    def dataset(self) -> str: ...
    @property
    def listed(self) -> ListedPairs | None: ...
    def named_record(self, record: Named) -> RecordName: ...
    def with_pairs(self, pairs: frozenset[frozenset[RecordName]]) -> Self: ...


P = TypeVar("P", bound=ListingRule)


@dataclass(frozen=True)
class ReadPairs:
    """The pairs of a dataset, the counts of its records, and those that are no pair, by reason."""

    dataset: str
    pairs: frozenset[frozenset[RecordName]]
    counts: Counts
    left_out: Mapping[tuple[str, str], int]

    def told(self, rule: P) -> P:
        return rule.with_pairs(self.pairs)

    def noted(self, detection: Detection) -> Detection:
        return replace(detection, listed={self.dataset: len(self.pairs)})

    def skipped(self) -> Iterator[Skipped]:
        for (column, reason), records in sorted(self.left_out.items()):
            yield Skipped(column, reason, records, dataset=self.dataset)


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
    obstacle: None = None

    @property
    def dataset(self) -> str:
        return self.listed.relation.dataset

    @classmethod
    def of(cls, rule: ListingRule, relations: Mapping[str, Relation]) -> PairReader:
        """Raises DoesNotFit with every mistake."""
        listed = rule.listed
        assert listed is not None  # noqa: S101 - only such rules are fitted with it
        relation = relations[listed.dataset]
        consulted = Consulted.of(rule.name, relation)
        first, second = (_id_columns(rule, relations, named) for named in _named(rule, listed, relation))
        reader = cls(consulted, (first, second))
        fitting.refuse(rule.name, reader._mistakes())
        return reader

    @cached_property
    def needed(self) -> tuple[str, ...]:
        return self.listed.needed(name for of_id in self.ids for name in of_id.columns)

    def read(self, rule: str, rows: Iterable[Row], slot: dt.datetime) -> ReadPairs:  # noqa: ARG002 - no record is refused
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
        return ReadPairs(self.dataset, frozenset(pairs), counts, left_out)

    @property
    def _same(self) -> tuple[str, str]:
        first, second = (" and ".join(of_id.columns) for of_id in self.ids)
        return second, f"the same id as {first}"

    def _mistakes(self) -> Iterator[str]:
        relation, schema = self.listed.relation, self.listed.columns.schema
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
                    f"`except`: `{name}` of dataset `{self.dataset}` is of type {own.value}, but `{id_name}` "
                    f"of dataset `{of_id.compared}` is of type {id_type.value}; declare the same type under the "
                    "dataset's `columns:`."
                )


def _named(rule: ListingRule, listed: ListedPairs, relation: Relation) -> tuple[RecordName, RecordName]:
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


def _id_columns(rule: ListingRule, relations: Mapping[str, Relation], named: RecordName) -> IdColumns:
    dataset, columns = named
    compared = relations[dataset or rule.dataset]
    schema = columns_of(rule.name, compared).schema
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
