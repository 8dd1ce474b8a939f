"""Profile one dataset: read it once into a copy, count its values, and suggest settings and rules."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from connectors.base import Declaration, Queryable, Source, Suggesting
from reconcile.config.settings import DatasetConfig
from reconcile.detection import epochs, unseen
from reconcile.detection.blocks import written_once
from reconcile.detection.copied import CopiedSource
from reconcile.detection.detect import Budget
from reconcile.detection.proposals import forms_of
from reconcile.detection.subject import Subject
from reconcile.detection.subtotals import noticed
from reconcile.profiling import keys, likeness, settings, trials
from reconcile.profiling.columns import ProfiledColumn, personal
from reconcile.profiling.headers import words_of
from reconcile.profiling.ids import Id, choose_id
from reconcile.profiling.suggestion import Setting, SuggestedDataset, SuggestedLikeness, SuggestedRule
from rules.engines.base import Stop, Streamed
from rules.engines.profile import Profile
from rules.values import PLACE, Schema, Type

SAMPLE = 1_000
MOST_COLUMNS = 200
"""Columns that are profiled, the first ones."""


@dataclass(frozen=True)
class ProfilingOrder:
    """A dataset to profile: its name, how it is declared, and the settings that the configuration already has."""

    name: str
    declaration: Declaration
    existing: DatasetConfig | None = None
    written: Mapping[str, Any] | None = None

    def config(self, source: Source) -> DatasetConfig:
        if self.existing is not None:
            return self.existing
        return DatasetConfig(self.name, source.name, source.Dataset.model_validate(dict(self.declaration.settings)))


@dataclass(frozen=True)
class Profiler:
    """Profiles datasets of one source. `taken` are names of rules that exist already."""

    source: Source
    budget: Budget
    folder: Path
    taken: frozenset[str] = frozenset()
    slot: dt.datetime = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)

    def profile(self, order: ProfilingOrder, progress: Callable[[int], None], stop: Stop) -> SuggestedDataset:
        """Suggest settings and rules for a dataset. Raises a ConnectorError, and Unanswerable."""
        config, read = self._typed(order)
        subject = Subject(config, self.source)
        names = subject.relation.schema.names
        copy = CopiedSource(self.source, config.settings, names, self.folder / "profiled.arrow", progress)
        try:
            return self._suggest(order, config, copy, read, progress, stop)
        finally:
            copy.close()

    def _typed(self, order: ProfilingOrder) -> tuple[DatasetConfig, _Read]:
        """Return the dataset with types, decimal mark and null values that read its first records."""
        config = order.config(self.source)
        if isinstance(self.source, Queryable):  # a database has its own types
            return self._with_types(config, epochs.of_integers(Subject(config, self.source)))
        if repeated := written_once(Subject(config, self.source)):
            config = replace(config, settings=config.settings.model_copy(update={"fill": repeated}))
        forms = forms_of(Subject(config, self.source), config.pii)
        personal_texts = personal(config.name, [_of_texts(name, counts) for name, counts in forms.cells.items()])
        types = list(settings.types(forms))
        certain = {each.name: each.value for each in types if not each.is_open}
        notation = list(settings.notation(forms, [*certain], personal_texts))
        values = config.settings.model_dump(exclude_unset=True)
        if repeated:
            notation.append(Setting("fill", list(repeated), "written once per block, as in merged cells"))
        values |= {each.name: each.value for each in notation if not each.is_open}
        values["columns"] = {**values.get("columns", {}), **certain}
        typed = replace(config, settings=self.source.Dataset.model_validate(values))
        if (totals := noticed(Subject(typed, self.source), self.slot)) and totals.where:
            notation.append(Setting("where", totals.where, totals.reason))
            typed = replace(typed, where=totals.where)
        return typed, _Read(types, notation, settings.with_offset(forms))

    def _with_types(self, config: DatasetConfig, words: Mapping[str, str]) -> tuple[DatasetConfig, _Read]:
        if not words:
            return config, _Read()
        values = config.settings.model_dump(exclude_unset=True)
        values["columns"] = {**values.get("columns", {}), **words}
        types = [Setting(name, word, "times since 1970") for name, word in words.items()]
        return replace(config, settings=self.source.Dataset.model_validate(values)), _Read(types, zoned=words)

    def _suggest(
        self,
        order: ProfilingOrder,
        config: DatasetConfig,
        copy: CopiedSource,
        read: _Read,
        progress: Callable[[int], None],
        stop: Stop,
    ) -> SuggestedDataset:
        with self._counting(config, copy, stop) as counts:
            columns = list(_columns(config, copy, counts))
            identifier = None if config.id else self._id(config, columns, counts, copy.records)
            people = personal(config.name, columns)
            ids = config.id or (identifier.columns if identifier and not identifier.is_open else ())
            named = replace(config, id=ids)
            trial = trials.Trials(named, copy, counts, self.budget, self.slot, progress, stop)
            tried = trials.choose(keys.candidates(columns, people, ids), trial)
            alike = self._alike(config.name, likeness.compared(config.name, columns, people, ids), trial, tried.chosen)
        suggested = [
            Setting("source", self.source.name),
            *(
                Setting(name, value, order.declaration.reasons.get(name, ""))
                for name, value in _first(order)
                if name not in {each.name for each in read.notation}
            ),
            *read.notation,
            *settings.of_id(identifier, config, copy.records),
            *settings.of_money(columns, config),
            *settings.of_pii(people, config),
            *settings.of_zone(columns, read.zoned, config),
        ]
        types = [*(Setting(name, word) for name, word in _written_columns(order)), *read.types]
        texts = {column.name: Counter(column.samples) for column in columns if column.type is Type.TEXT}
        remarks = [*settings.unreadable(copy.problems), *settings.of_prices(columns), *unseen.sentences(texts)]
        rules = [self._rule(config.name, choice) for choice in tried.chosen]
        idle = None if tried.idle is None else self._rule(config.name, tried.idle)
        return SuggestedDataset(config.name, copy.records, suggested, types, rules, tried.common, remarks, idle, alike)

    def _counting(self, config: DatasetConfig, copy: CopiedSource, stop: Stop) -> Profile:
        schema = Subject(config, copy).relation.schema
        profiled = Schema(tuple(column for column in schema if column.name != "_row")[:MOST_COLUMNS])
        records = Streamed(lambda names: copy.scan(config.settings, names).reader)
        return Profile(profiled, records, self.budget.memory or None, self.budget.folder, stop)

    def _id(self, config: DatasetConfig, columns: Sequence[ProfiledColumn], counts: Profile, records: int) -> Id | None:
        declared = self.source.keys(config.settings) if isinstance(self.source, Suggesting) else ()
        is_table = "table" in type(config.settings).model_fields
        return choose_id(columns, declared, lambda names: counts.repeats(names).groups == 0, records, is_table=is_table)

    def _alike(
        self, dataset: str, compare: Mapping[str, str], trial: trials.Trials, chosen: Sequence[trials.KeyChoice]
    ) -> SuggestedLikeness | None:
        """Suggest a rule for records written differently, if it finds some that no other rule finds."""
        twins = trial.count_alike(compare, likeness.SAMPLE) if compare else None
        if twins is None:
            return None
        tried = likeness.Likeness(compare, twins, min(trial.copy.records, likeness.SAMPLE))
        if not tried.is_plausible or not twins.has_more_than(chosen):
            return None
        return SuggestedLikeness(free(slug(f"similar-{dataset}"), self.taken), tried)

    def _rule(self, dataset: str, choice: trials.KeyChoice) -> SuggestedRule:
        parts = [column.name for column in choice.candidate.columns] or ["all"]
        return SuggestedRule(free(slug(f"{dataset}-by-{'-'.join(parts)}"), self.taken), choice)


@dataclass(frozen=True)
class _Read:
    """How the texts of a dataset are read: types of columns, notation, and columns of times with an offset."""

    types: Sequence[Setting] = ()
    notation: Sequence[Setting] = ()
    zoned: Collection[str] = ()


def free(name: str, taken: Collection[str]) -> str:
    """Return the name, with a number if it is taken."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)


def slug(text: str) -> str:
    """Return a name for a dataset or a rule: letters, digits and hyphens."""
    return re.sub(r"\W+", "-", words_of(text)).strip("-") or "dataset"


def _first(order: ProfilingOrder) -> Iterator[tuple[str, Any]]:
    """Yield the settings that the dataset has already, or those of its declaration."""
    settings = order.declaration.settings if order.written is None else order.written
    yield from ((name, value) for name, value in settings.items() if name not in ("columns", "source"))


def _written_columns(order: ProfilingOrder) -> Iterator[tuple[str, Any]]:
    yield from ((order.written or {}).get("columns") or {}).items()


def _columns(config: DatasetConfig, copy: CopiedSource, counts: Profile) -> Iterator[ProfiledColumn]:
    """Yield the profiled columns; one of the place of a record only if it differs."""
    samples = _samples(copy, config)
    for column in counts.schema:
        count = counts.column(column.name)
        if column.name not in PLACE or count.different > 1:
            texts = samples.get(column.name, ())
            yield ProfiledColumn(column.name, column.type, copy.records, count.empty, count.different, texts)


def _of_texts(name: str, counts: Mapping[str, int]) -> ProfiledColumn:
    records = sum(counts.values())
    return ProfiledColumn(name, Type.TEXT, records, 0, len(counts), tuple(counts))


def _samples(copy: CopiedSource, config: DatasetConfig) -> dict[str, tuple[str, ...]]:
    scan = copy.scan(config.settings, copy.columns)
    try:
        batch = next(iter(scan.reader), None)
    finally:
        scan.close()
    cells = {} if batch is None else pa.Table.from_batches([batch.slice(0, SAMPLE)]).to_pydict()
    return {name: tuple(str(value) for value in values if value is not None) for name, values in cells.items()}
