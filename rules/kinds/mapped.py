"""A rule whose `map` looks values up in other datasets, which every use reads again.

The rule itself runs as with a `map` that is written in it: it is fitted once with the types of the columns, and again
with the values, when they have been read.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from rules import fitting
from rules.engines.base import Records, Relation, Skipped, Stop, Unanswerable
from rules.engines.compile import Columns
from rules.groups.detection import Detection
from rules.groups.sample import Sample
from rules.kinds.base import Conditional, DoesNotFit, Fitted, Rows, Rule
from rules.kinds.consulted import Consulted, Counts, Row, rows
from rules.models import Keep, Step, with_steps
from rules.models.lookups import TYPES, Lookup, LookupTable
from rules.values import Type, Value, canonical

R = TypeVar("R", bound=Rule)
Fitting = Callable[[R, Mapping[str, Relation]], Fitted]
MOST = 1_000_000
"""Values of a dataset that `map` holds in memory; a million take about 0.2 GB."""


class ContradictoryMapping(Unanswerable):
    """A dataset maps one value to several."""

    def __init__(self, rule: str, lookup: Lookup, values: int) -> None:
        of_values = "1 value of `{}` has" if values == 1 else f"{values:,} values of `{{}}` have"
        super().__init__(
            f"Rule {rule!r} was not checked: in dataset {lookup.dataset!r}, {of_values.format(lookup.source)} more "
            f"than one `{lookup.target}`. Its findings are unchanged. Correct the dataset, or select its rows with "
            "`where`."
        )


class MappingTooLarge(Unanswerable):
    """A dataset maps more values than fit into memory."""

    def __init__(self, rule: str, lookup: Lookup) -> None:
        super().__init__(
            f"Rule {rule!r} was not checked: dataset {lookup.dataset!r} has more than {MOST:,} values of "
            f"`{lookup.source}`, the limit of `map`. Its findings are unchanged. Select its rows with "
            "`where`, or join the two tables in a `query`."
        )


def fitted(rule: R, relations: Mapping[str, Relation], fit: Fitting[R]) -> Fitted:
    """Fit the rule with `fit`, and the datasets in which its `map` looks values up. Raises DoesNotFit."""
    if not rule.lookups:
        return fit(rule, relations)
    readers = {name: _reader(rule, relations[name]) for name in rule.mapping_datasets}
    if mistakes := [mistake for reader in readers.values() for mistake in reader.mistakes()]:
        raise DoesNotFit(rule.name, list(dict.fromkeys(mistakes)))
    tables = {lookup: reader.table(lookup) for reader in readers.values() for lookup in reader.lookups}

    def with_tables(tables: Mapping[Lookup, LookupTable]) -> Fitted:
        return fit(with_steps(rule, lambda step: _with_table(step, tables)), relations)

    return FittedMapped(rule.name, with_tables(tables), with_tables, readers)


def _with_table(step: Step, tables: Mapping[Lookup, LookupTable]) -> Step:
    if not isinstance(step.argument, Lookup):
        return step
    return step.model_copy(update={"argument": tables[step.argument]})


@dataclass(frozen=True)
class FittedMapped:
    """A rule with its datasets and those that map values; see `rules.kinds.base.Fitted`.

    `with_tables` fits it with other tables. `latest` holds the rule of the latest detection, whose samples show mapped
    values.
    """

    rule: str
    fitted: Fitted
    with_tables: Callable[[Mapping[Lookup, LookupTable]], Fitted]
    readers: Mapping[str, MappingReader]
    latest: list[Fitted] = field(default_factory=list, compare=False)

    @property
    def relation(self) -> Relation:
        return self.fitted.relation

    @property
    def columns(self) -> Columns:
        return self.fitted.columns

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        return self._and_mappings(self.fitted.named)

    @property
    def needed(self) -> Mapping[str, tuple[str, ...]]:
        return self._and_mappings(self.fitted.needed)

    def _and_mappings(self, columns: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
        """Add the columns of the mappings, of which `except` may read others too."""
        names = {
            name: tuple(dict.fromkeys((*columns.get(name, ()), *reader.needed)))
            for name, reader in self.readers.items()
        }
        return {**columns, **names}

    @property
    def conditions(self) -> Mapping[str, tuple[str, ...]]:
        own = self.fitted.conditions if isinstance(self.fitted, Conditional) else {}
        return {**own, **dict.fromkeys(self.readers, ())}

    @property
    def deciding(self) -> tuple[str, ...]:
        return self.fitted.deciding

    @property
    def keep(self) -> tuple[Keep, ...]:
        return self.fitted.keep

    def obstacle(self, dialect: str) -> str | None:  # noqa: ARG002 - no database looks the values up
        return f"`map` looks values up in dataset `{next(iter(self.readers))}`, which is read here"

    def detect(
        self,
        records: Mapping[str, Records],
        slot: dt.datetime,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> Detection:
        mappings = {name: self._read(reader, records[name], slot) for name, reader in self.readers.items()}
        tables = {lookup: table for mapping in mappings.values() for lookup, table in mapping.tables.items()}
        fitted = self.with_tables(tables)
        detection = fitted.detect(self._compared(records), slot, memory, temp, stop)
        self.latest[:] = [fitted]
        return replace(
            detection,
            skipped=(*detection.skipped, *(entry for mapping in mappings.values() for entry in mapping.skipped())),
            read_of={**detection.read_of, **{name: mapping.counts.read for name, mapping in mappings.items()}},
            scanned_of={**detection.scanned_of, **{name: mapping.counts.scanned for name, mapping in mappings.items()}},
            mapped={name: max(map(len, mapping.values)) for name, mapping in mappings.items()},
        )

    def explain(self, records: Mapping[str, Records], slot: dt.datetime) -> Sequence[str]:
        return self.fitted.explain(self._compared(records), slot)

    def describe(self) -> Mapping[str, Sequence[str]]:
        return self.fitted.describe()

    def sample(self, dataset: str, rows: Rows, slot: dt.datetime) -> Sequence[Sample]:
        fitted = self.latest[0] if self.latest else self.fitted
        return fitted.sample(dataset, rows, slot) if dataset in fitted.needed else ()

    def _read(self, reader: MappingReader, records: Records, slot: dt.datetime) -> ReadMapping:
        return reader.read(self.rule, rows(records, reader.needed), slot)

    def _compared(self, records: Mapping[str, Records]) -> Mapping[str, Records]:
        return {name: given for name, given in records.items() if name in self.fitted.needed}


@dataclass(frozen=True)
class ReadMapping:
    """The values of a dataset by lookup, the counts of its records, and those without a value, by column."""

    dataset: str
    tables: Mapping[Lookup, LookupTable]
    counts: Counts
    empty: Mapping[str, int]
    unusable: Mapping[str, int]

    @property
    def values(self) -> Iterator[Mapping[Value, Value]]:
        return (table.values for table in self.tables.values())

    def skipped(self) -> Iterator[Skipped]:
        """Yield the records that map nothing, and those that map a value to nothing."""
        for column, records in sorted(self.unusable.items()):
            yield Skipped(column, "null", records, dataset=self.dataset)
        for column, records in sorted(self.empty.items()):
            yield Skipped(column, "null", records, whole=False, dataset=self.dataset)


def _reader(rule: Rule, relation: Relation) -> MappingReader:
    lookups = {
        lookup: str(path[0])
        for path, part in rule.key_parts()
        for lookup in (step.argument for step in part.steps)
        if isinstance(lookup, Lookup) and lookup.dataset == relation.dataset
    }
    return MappingReader(Consulted.of(rule.name, relation), lookups)


@dataclass(frozen=True)
class MappingReader:
    """Reads the values of lookups from the records of a dataset. `lookups` holds the setting that has each of them."""

    dataset: Consulted
    lookups: Mapping[Lookup, str]

    @cached_property
    def needed(self) -> tuple[str, ...]:
        return self.dataset.needed(name for lookup in self.lookups for name in (lookup.source, lookup.target))

    def mistakes(self) -> Iterator[str]:
        schema, relation = self.dataset.columns.schema, self.dataset.relation
        named = [(setting, name) for lookup, setting in self.lookups.items() for name in (lookup.source, lookup.target)]
        yield from fitting.missing(schema, relation, named)
        for lookup, setting in self.lookups.items():
            if lookup.source in schema and schema[lookup.source].type not in TYPES:
                kind, allowed = schema[lookup.source].type.value, " or ".join(each.value for each in TYPES)
                yield (
                    f"`{setting}` looks values up in `{lookup.source}` of dataset `{relation.dataset}`, which is of "
                    f"type {kind}; declare it as {allowed} under `columns:`"
                )
            if lookup.target in schema and schema[lookup.target].type is Type.BYTES:
                yield f"`{setting}` maps values to `{lookup.target}` of dataset `{relation.dataset}`, which is binary"
        yield from self.dataset.mistakes()

    def table(self, lookup: Lookup) -> LookupTable:
        """Return the table without values."""
        schema = self.dataset.columns.schema
        return LookupTable(lookup, schema[lookup.source].type, schema[lookup.target].type)

    def read(self, rule: str, rows: Iterable[Row], slot: dt.datetime) -> ReadMapping:
        """Read all values. Raises ContradictoryMapping and MappingTooLarge."""
        counts, empty, unusable = Counts(), Counter[str](), Counter[str]()
        values: dict[Lookup, dict[Value, Value]] = {lookup: {} for lookup in self.lookups}
        contradictory: dict[Lookup, set[Value]] = {lookup: set() for lookup in self.lookups}
        for record in self.dataset.passing(rows, slot, counts):
            unusable.update({lookup.source for lookup in self.lookups if record[lookup.source] is None})
            empty.update({lookup.target for lookup in self.lookups if record[lookup.target] is None})
            for lookup, of_lookup in values.items():
                source, target = record[lookup.source], record[lookup.target]
                if source is None:
                    continue
                if source not in of_lookup:
                    of_lookup[source] = target
                elif canonical(of_lookup[source]) != canonical(target):
                    contradictory[lookup].add(source)
                if len(of_lookup) > MOST:
                    raise MappingTooLarge(rule, lookup)
        for lookup, repeated in contradictory.items():
            if repeated:
                raise ContradictoryMapping(rule, lookup, len(repeated))
        tables = {lookup: replace(self.table(lookup), values=of_lookup) for lookup, of_lookup in values.items()}
        return ReadMapping(self.dataset.relation.dataset, tables, counts, empty, unusable)
