"""Examples with typed records and ids, and the mistakes that only the columns of a dataset can show."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from zoneinfo import ZoneInfo

from rules.document.mistakes import Mistake, Position, listed, short, suggestion
from rules.engines.base import Relation
from rules.examples.example import Cell, Example, ExpectedGroup, GivenRecord, WrittenId
from rules.values import PLACE, Column, Schema, Type, Value, canonical_json, filled, order_key

Texts = Mapping[str, Sequence[str | None]]
ReadColumns = Callable[[Texts], Mapping[str, Sequence[Value]]]
"""Reads texts of columns as the dataset does; None for a text that is empty or cannot be read."""

Reference = tuple[str, int]
"""A given record: its dataset, and its position there."""


@dataclass(frozen=True)
class SampledDataset:
    """A dataset as examples see it: `nulls` are its `null_values`; `reasons` say of a column what a misfit is not.

    A dataset without id gets one here, in the column `number`: the place of the record among those of its example.
    `is_compared` is False if no group holds its records.
    """

    relation: Relation
    read: ReadColumns
    reasons: Mapping[str, str]
    nulls: frozenset[str] = frozenset()
    number: str | None = None
    is_compared: bool = True

    def with_id(self) -> SampledDataset:
        """Return the dataset with an id, its own or the record's number."""
        relation = self.relation
        if relation.id:
            return self
        number = "record"
        while number in (*relation.schema.names, *relation.derived):
            number += "_"
        schema = Schema((*relation.schema, Column(number, Type.INTEGER, nullable=False, pushable=True)))
        return replace(self, relation=replace(relation, schema=schema, id=(number,)), number=number)

    @property
    def written(self) -> tuple[str, ...]:
        """The columns that an author may write."""
        return tuple(name for name in self.relation.schema.names if name != self.number)


@dataclass(frozen=True)
class GroupShape:
    """The records of a group by role, and its form; None where the author left it open."""

    records: Mapping[str, frozenset[Reference]]
    form: str | None = None


@dataclass(frozen=True)
class TypedRecords:
    """The records of one dataset in an example, with the canonical id of each and the id as written."""

    rows: tuple[Mapping[str, Value], ...] = ()
    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class TypedExample:
    """An example ready to run: its due time, its records by dataset, and the groups it expects."""

    example: Example
    slot: dt.datetime
    records: Mapping[str, TypedRecords]
    expect: tuple[GroupShape, ...] = ()

    def name(self, reference: Reference) -> str:
        dataset, position = reference
        return self.records[dataset].names[position]


def typed_examples(
    examples: Sequence[Example], datasets: Mapping[str, SampledDataset]
) -> tuple[list[TypedExample], list[Mistake]]:
    """Return the examples of a rule with typed records, and every mistake in them."""
    typing = _Typing(examples, datasets)
    return typing.examples(), typing.mistakes


@dataclass
class _Typing:
    written: Sequence[Example]
    datasets: Mapping[str, SampledDataset]
    mistakes: list[Mistake] = field(default_factory=list)

    @property
    def compared(self) -> Mapping[str, SampledDataset]:
        return {name: dataset for name, dataset in self.datasets.items() if dataset.is_compared}

    def tell(self, at: Position, sentence: str) -> None:
        self.mistakes.append(Mistake.at(at, sentence))

    def examples(self) -> list[TypedExample]:
        zone = next(iter(self.datasets.values())).relation.timezone
        by_dataset = {name: self._records(name) for name in self.datasets}
        typed = [
            TypedExample(example, slot, {name: records[number] for name, records in by_dataset.items()})
            for number, example in enumerate(self.written)
            if (slot := self._slot(example.slot, zone)) is not None
        ]
        return self._with_expectations(typed) if not self.mistakes else []

    def _slot(self, cell: Cell, zone: str) -> dt.datetime | None:
        try:
            slot = dt.datetime.fromisoformat(cell.text or "")
            return (slot if slot.tzinfo else slot.replace(tzinfo=ZoneInfo(zone))).astimezone(dt.UTC)
        except (ValueError, OverflowError):
            self.tell(cell.at, f"`at`: `{short(cell.text or '')}` is not a time; write it like 2026-01-01T06:00Z")
            return None

    def _records(self, name: str) -> list[TypedRecords]:
        """Return the records of one dataset in each example, read all at once."""
        dataset = self.datasets[name]
        given = [example.given.get(name, ()) for example in self.written]
        records = [record for group in given for record in group]
        for record in records:
            self._check_columns(record, dataset)
        columns = {name: [_cell(record, name) for record in records] for name in dataset.written}
        values = dataset.read({name: [cell.text for cell in cells] for name, cells in columns.items()})
        for column, cells in columns.items():
            self._check_values(column, cells, values[column], dataset)
        rows = iter([dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)])
        return [self._identified(dataset, group, [next(rows) for _ in group]) for group in given]

    def _check_columns(self, record: GivenRecord, dataset: SampledDataset) -> None:
        relation = dataset.relation
        for column, at in record.columns.items():
            if column in relation.derived:
                self.tell(at, f"`{short(column)}` is computed from other columns of `{relation.dataset}`; remove it")
            elif column not in dataset.written:
                hint = suggestion(column, dataset.written)
                self.tell(at, f"dataset `{relation.dataset}` has no column `{short(column)}`; {hint}")

    def _check_values(
        self, column: str, cells: Sequence[Cell], values: Sequence[Value], dataset: SampledDataset
    ) -> None:
        for cell, value in zip(cells, values, strict=True):
            if value is None and filled(cell.text) is not None and cell.text not in dataset.nulls:
                text = short(cell.text or "")
                self.tell(cell.at, f"`{column}`: `{text}` is {dataset.reasons[column]}; correct it")

    def _identified(
        self, dataset: SampledDataset, given: Sequence[GivenRecord], rows: list[dict[str, Value]]
    ) -> TypedRecords:
        for number, row in enumerate(rows, 1):
            _place(row, number, dataset.relation.schema)
        if dataset.number is not None:
            for row, number in zip(rows, _numbers(rows, dataset.written), strict=True):
                row[dataset.number] = number
            names = tuple(str(number) for number in range(1, len(rows) + 1))
        else:
            self._check_ids(dataset, given, rows)
            names = tuple(_name(record, dataset.relation.id) for record in given)
        return TypedRecords(tuple(rows), tuple(_canonical(row, dataset.relation.id) for row in rows), names)

    def _check_ids(
        self, dataset: SampledDataset, given: Sequence[GivenRecord], rows: Sequence[Mapping[str, Value]]
    ) -> None:
        relation = dataset.relation
        first: dict[str, GivenRecord] = {}
        for record, row in zip(given, rows, strict=True):
            empty = [column for column in relation.id if filled(row.get(column)) is None]
            if empty:
                computed = [column for column in empty if column in relation.derived]
                needs = (
                    f"needs its id {listed(empty)}; add it"
                    if not computed
                    else "has a computed id; that is not possible"
                )
                self.tell(record.at, f"a record of `{relation.dataset}` in an example {needs}")
                continue
            earlier = first.setdefault(_canonical(row, relation.id), record)
            if earlier is not record:
                at = _cell(record, relation.id[0]).at
                self.tell(at, f"this id is also the id of the record in line {earlier.at.line}; ids are unique")

    def _with_expectations(self, examples: Sequence[TypedExample]) -> list[TypedExample]:
        ids = [written for example in examples for written in _ids(example.example, self.compared)]
        canonical = {name: self._canonical_ids(dataset, ids) for name, dataset in self.compared.items()}
        return [replace(example, expect=tuple(self._shapes(example, canonical))) for example in examples]

    def _canonical_ids(self, dataset: SampledDataset, ids: Sequence[WrittenId]) -> Mapping[WrittenId, str]:
        """Return the canonical form of the ids that may be of this dataset."""
        columns = dataset.relation.id
        fitting = list(dict.fromkeys(written for written in ids if len(written.parts) == len(columns)))
        if dataset.number is not None:
            return {written: written.parts[0].text or "" for written in fitting}
        texts = {name: [written.parts[place].text for written in fitting] for place, name in enumerate(columns)}
        values = dataset.read(texts)
        rows = zip(*(values[name] for name in columns), strict=True)
        return {written: canonical_json(row) for written, row in zip(fitting, rows, strict=True) if None not in row}

    def _shapes(self, example: TypedExample, canonical: Mapping[str, Mapping[WrittenId, str]]) -> Iterator[GroupShape]:
        for group in example.example.expect:
            records = {
                role: frozenset(filter(None, (self._reference(example, written, canonical) for written in ids)))
                for role, ids in _grouped(group, self.compared).items()
            }
            yield GroupShape({role: references for role, references in records.items() if references}, group.form)

    def _reference(
        self, example: TypedExample, written: WrittenId, canonical: Mapping[str, Mapping[WrittenId, str]]
    ) -> Reference | None:
        matches = [
            (name, position)
            for name, records in example.records.items()
            if name in canonical and written.dataset in (None, name)
            for position, record in enumerate(records.names if self.datasets[name].number else records.ids)
            if canonical[name].get(written) == record
        ]
        if len(matches) == 1:
            return matches[0]
        shown = ", ".join(short(part.text or "") for part in written.parts)
        if matches:
            choices = listed((f"{{{name}: {shown}}}" for name, _ in matches), "or")
            self.tell(written.at, f"`{shown}` is the id of several records; write {choices}")
        else:
            what = "number" if all(dataset.number for dataset in self.compared.values()) else "id"
            self.tell(written.at, f"`{shown}` is not the {what} of a record of this example; correct it")
        return None


def _cell(record: GivenRecord, column: str) -> Cell:
    return record.cells.get(column) or Cell(None, record.at)


def _place(row: dict[str, Value], number: int, schema: Schema) -> None:
    """Give a record of a file the place that its author left out."""
    places: tuple[Value, ...] = ("example", "example", number)
    for column, value in zip(PLACE, places, strict=True):
        if column in schema and row[column] is None:
            row[column] = value


def _numbers(rows: Sequence[Mapping[str, Value]], columns: Sequence[str]) -> list[int]:
    """Return the place of each record among those without id: as written in files, by its values in databases."""
    if PLACE[-1] in columns:
        return list(range(1, len(rows) + 1))
    order = sorted(range(len(rows)), key=lambda place: [order_key(filled(rows[place][name])) for name in columns])
    return [order.index(place) + 1 for place in range(len(rows))]


def _canonical(row: Mapping[str, Value], columns: Sequence[str]) -> str:
    return canonical_json([row.get(name) for name in columns])


def _name(record: GivenRecord, columns: Sequence[str]) -> str:
    texts = [_cell(record, name).text or "" for name in columns]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _ids(example: Example, datasets: Mapping[str, SampledDataset]) -> Iterator[WrittenId]:
    for group in example.expect:
        for ids in _grouped(group, datasets).values():
            yield from ids


def _grouped(group: ExpectedGroup, datasets: Mapping[str, SampledDataset]) -> Mapping[str, Sequence[WrittenId]]:
    """Return the ids by role; values in a row are one id where the dataset's id has that many columns."""
    return {role: _joined(ids, datasets) for role, ids in group.records.items()}


def _joined(ids: Sequence[WrittenId], datasets: Mapping[str, SampledDataset]) -> Sequence[WrittenId]:
    widths = {len(dataset.relation.id) for name, dataset in datasets.items() if ids and ids[0].dataset in (None, name)}
    is_flat = len(ids) > 1 and not any(written.is_list for written in ids)
    if not is_flat or widths != {len(ids)}:
        return ids
    return (WrittenId(ids[0].at, tuple(part for written in ids for part in written.parts), ids[0].dataset),)
