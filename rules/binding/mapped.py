"""The values of a `map` that are looked up in other datasets.

The rule itself runs as with a `map` that is written in it: it is fitted once with the types of the columns, and again
with the values, when they have been read.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from rules.binding import fitting
from rules.binding.consulted import Consulted, Counts, Row
from rules.binding.rule import Rule
from rules.engines.base import Relation, Skipped, Unanswerable
from rules.groups.detection import Detection
from rules.models import Step, with_steps
from rules.models.lookups import TYPES, Lookup, LookupTable
from rules.values import Type, Value, canonical

R = TypeVar("R", bound=Rule)
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


def mapping_readers(rule: Rule, relations: Mapping[str, Relation]) -> tuple[MappingReader, ...]:
    """Return the readers of the datasets in which `map` looks values up. Raises DoesNotFit."""
    readers = tuple(_reader(rule, relations[name]) for name in rule.mapping_datasets)
    fitting.refuse(rule.name, (mistake for reader in readers for mistake in reader.mistakes()))
    return readers


def with_tables(rule: R, tables: Mapping[Lookup, LookupTable]) -> R:
    """Return the rule with these tables in place of their lookups."""

    def with_table(step: Step) -> Step:
        if not isinstance(step.argument, Lookup) or step.argument not in tables:
            return step
        return step.model_copy(update={"argument": tables[step.argument]})

    return with_steps(rule, with_table) if tables else rule


@dataclass(frozen=True)
class ReadMapping:
    """The values of a dataset by lookup, the counts of its records, and those without a value, by column."""

    dataset: str
    tables: Mapping[Lookup, LookupTable]
    counts: Counts
    empty: Mapping[str, int]
    unusable: Mapping[str, int]

    def told(self, rule: R) -> R:
        return with_tables(rule, self.tables)

    def noted(self, detection: Detection) -> Detection:
        values = max(len(table.values) for table in self.tables.values())
        return replace(detection, mapped={**detection.mapped, self.dataset: values})

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

    consulted: Consulted
    lookups: Mapping[Lookup, str]

    @property
    def dataset(self) -> str:
        return self.consulted.relation.dataset

    @property
    def obstacle(self) -> str | None:
        return f"`map` looks values up in dataset `{self.dataset}`, which is read here"

    @cached_property
    def needed(self) -> tuple[str, ...]:
        return self.consulted.needed(name for lookup in self.lookups for name in (lookup.source, lookup.target))

    def mistakes(self) -> Iterator[str]:
        schema, relation = self.consulted.columns.schema, self.consulted.relation
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
        yield from self.consulted.mistakes()

    def table(self, lookup: Lookup) -> LookupTable:
        """Return the table without values."""
        schema = self.consulted.columns.schema
        return LookupTable(lookup, schema[lookup.source].type, schema[lookup.target].type)

    def read(self, rule: str, rows: Iterable[Row], slot: dt.datetime) -> ReadMapping:
        """Read all values. Raises ContradictoryMapping and MappingTooLarge."""
        counts, empty, unusable = Counts(), Counter[str](), Counter[str]()
        values: dict[Lookup, dict[Value, Value]] = {lookup: {} for lookup in self.lookups}
        contradictory: dict[Lookup, set[Value]] = {lookup: set() for lookup in self.lookups}
        for record in self.consulted.passing(rows, slot, counts):
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
        return ReadMapping(self.dataset, tables, counts, empty, unusable)
