"""Count the records that lack a value in the columns a rule reads: a column that is suddenly empty decides wrongly.

The count is of all records, before any condition; for a run, in the snapshot that the rule's answer is from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from connectors.base import Keeping, Queryable
from reconcile.detection.subject import Subject
from rules.engines.base import Pushed, Readable, Records, Stop
from rules.engines.embedded import Embedded
from rules.engines.missing import question, shares
from rules.kinds.base import Rule
from rules.values import Type

Shares = Mapping[str, float]
"""By column, the share of all records without a value in it; a text without characters is none."""


def watched(rule: Rule, subject: Subject, needed: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a dataset that a rule reads, or whose values its cleaning takes for the keeper."""
    takes = rule.clean is not None and rule.clean.needs_keeper and rule.clean.removes
    named = named_by_cleaning(rule) if takes and subject.dataset.name == rule.cleaned else set()
    more = [name for name in subject.relation.schema.names if name in named and name not in needed]
    return (*needed, *more)


class Streaming:
    """Counts in batches as they pass."""

    def __init__(self) -> None:
        self._records = 0
        self._missing: Counter[str] = Counter()

    def add(self, batch: pa.RecordBatch) -> None:
        import pyarrow.compute as pc  # noqa: PLC0415 - few rules clean what arrives in batches

        self._records += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            missing = column.null_count
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                missing += pc.sum(pc.equal(column, "")).as_py() or 0
            self._missing[name] += missing

    @property
    def shares(self) -> Shares:
        if not self._records:
            return {}
        return {name: missing / self._records for name, missing in self._missing.items()}


def of_records(
    subject: Subject,
    records: Records,
    columns: Sequence[str],
    memory: str | None = None,
    temp: Path | None = None,
    stop: Stop | None = None,
) -> Shares:
    """Return the shares in records that can be asked again, empty if they arrived once.

    Raises the source's errors and OutOfMemory.
    """
    if not columns:
        return {}
    texts = _texts_of(subject)
    if isinstance(records, Pushed):
        return shares(records.whole(question(records.table, columns, texts, records.dialect)), columns)
    if isinstance(records, Readable):
        table = sa.table("records", *(sa.column(name) for name in columns))
        with Embedded(table, records, memory, temp, stop) as engine:
            return shares(engine.query(question(engine.table, columns, texts, engine.dialect)), columns)
    return {}


def of_source(subject: Subject, columns: Sequence[str]) -> Shares:
    """Return the shares in a dataset whose database can be asked; empty for another one. Raises a ConnectorError."""
    source, settings = subject.source, subject.dataset.settings
    if not isinstance(source, Queryable) or not columns:
        return {}
    with source.snapshot() as snapshot:
        if isinstance(source, Keeping):
            source.keep(snapshot, settings, columns)
        table = source.relation(settings)
        return shares(snapshot.whole(question(table, columns, _texts_of(subject), source.dialect)), columns)


def _texts_of(subject: Subject) -> set[str]:
    return {column.name for column in subject.relation.schema if column.type is Type.TEXT}


def named_by_cleaning(rule: Rule) -> set[str]:
    """Return every text in the settings of `clean`, including the names of its columns."""
    return set() if rule.clean is None else set(_texts(rule.clean.model_dump(mode="json")))


def _texts(settings: Any) -> Iterator[str]:
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, Mapping):
        for key, value in settings.items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(settings, Sequence):
        for item in settings:
            yield from _texts(item)
