"""Step 1: pick the engine for a rule, give it the records, and get its answer."""

from __future__ import annotations

import datetime as dt
import functools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import duckdb
import pyarrow as pa

import rules.kinds.duplicates.detection  # noqa: F401 - else it is loaded when a source that began early has ended
from connectors.base import DuckReadable, DuckScan, Forewarning, Problem, Queryable, Scan, Source
from connectors.errors import ConnectorError, ValueDoesNotFit
from reconcile.config.settings import DatasetConfig
from rules.document.mistakes import suggestion
from rules.engines.base import Choice, Detection, Pushed, Readable, Records, Relation, Stop, Streamed
from rules.kinds import duplicates
from rules.kinds.duplicates import DuplicatesRule
from rules.values import schema_from_arrow

A = TypeVar("A")
T = TypeVar("T")
SLOW_GROUPERS = {"mysql": "MariaDB and MySQL are read faster than they group"}
"""Measured (docs/engines.md): dialects on which pulling wins, with the words for it."""
MOST_UNNAMED = 2_000
"""Columns of a dataset without `id`. Measured: with 9,000 of them a run takes a minute and 740 MB of memory."""


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."


class RuleDoesNotFit(Exception):
    """A rule cannot be checked on its dataset as it is now; the message holds every mistake, one sentence each."""

    def __init__(self, rule: str, dataset: str, mistakes: list[str]) -> None:
        super().__init__(f"Rule {rule!r} does not fit dataset {dataset!r}: {' '.join(map(_ended, mistakes))}")
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True)
class Budget:
    """What one detection may use: `memory` as DuckDB writes it (`2GB`), and a folder for what does not fit."""

    memory: str
    folder: Path | None = None


@dataclass(frozen=True)
class Detected:
    """A rule's answer, which engine gave it and why, what could not be read in single cells, and how long it took."""

    detection: Detection
    choice: Choice
    problems: tuple[Problem, ...]
    seconds: float
    definition: str
    """What the dataset lets through and derives, as text: an edit of it is an edit of what the rule matches."""
    relation: Relation | None = None
    """The dataset as the rule saw it."""


@dataclass
class Subject:
    """A dataset ready to be checked: its source, and how rules see it."""

    dataset: DatasetConfig
    source: Source
    relation: Relation = field(init=False)

    def __post_init__(self) -> None:
        money = self.dataset.money
        schema = schema_from_arrow(self.source.describe(self.dataset.settings))
        self.relation = Relation(
            dataset=self.dataset.name,
            schema=schema,
            id=self.dataset.id,
            timezone=self.dataset.timezone,
            where=self.dataset.where,
            derived=self.dataset.derived,
            money=money.columns((*schema.names, *self.dataset.derived)) if money else None,
        )

    def warnings(self, columns: Sequence[str] | None = None) -> tuple[Problem, ...]:
        """What people should know of the dataset as a whole who read these columns, or any."""
        source = self.source
        return source.warnings(self.dataset.settings, columns) if isinstance(source, Forewarning) else ()


def choose(rule: DuplicatesRule, subject: Subject) -> Choice:
    """Which engine runs the rule, and why. Raises RuleDoesNotFit where `engine: pushdown` cannot give the answer."""
    if not isinstance(subject.source, Queryable):
        if rule.engine == "pushdown":
            reason = f"Source {subject.source.name!r} cannot run queries; use `engine: embedded` or leave it out."
            raise RuleDoesNotFit(rule.name, subject.dataset.name, [reason])
        return Choice("embedded", f"source {subject.source.name!r} is read here: it cannot run queries itself")
    dialect = subject.source.dialect
    obstacle = duplicates.pushdown_obstacle(rule, subject.relation, dialect)
    if rule.engine == "embedded":
        return Choice("embedded", "the rule says `engine: embedded`")
    if obstacle and rule.engine == "pushdown":
        raise RuleDoesNotFit(rule.name, subject.dataset.name, [f"It says `engine: pushdown`, but {obstacle}."])
    if obstacle:
        return Choice("embedded", obstacle)
    if rule.engine == "pushdown":
        return Choice("pushdown", "the rule says `engine: pushdown`, and the answer is the same there")
    if dialect in SLOW_GROUPERS:
        return Choice("embedded", f"{SLOW_GROUPERS[dialect]}; `engine: pushdown` forces it")
    return Choice("pushdown", f"source {subject.source.name!r} compares these columns exactly as we do")


def check(rule: DuplicatesRule, subject: Subject) -> None:
    """Raises RuleDoesNotFit with every column, type and expression of the rule that the dataset cannot serve."""
    mistakes = [*map(str, duplicates.check(rule, subject.relation)), *_hides_nothing(subject), *_too_wide(subject)]
    if mistakes:
        raise RuleDoesNotFit(rule.name, subject.dataset.name, mistakes)


def _too_wide(subject: Subject) -> Iterator[str]:
    """Without an `id` a record is named by all of its columns, which takes memory and time beyond any use of it."""
    name, columns = subject.dataset.name, len(subject.relation.schema.names)
    if not subject.relation.id and columns > MOST_UNNAMED:
        yield f"Dataset `{name}` has {columns:,} columns; with more than {MOST_UNNAMED:,} it needs an `id`"


def _hides_nothing(subject: Subject) -> Iterator[str]:
    """A misspelt column of `pii` would stand in clear in the first message; nothing else looks for it."""
    known = (*subject.relation.schema.names, *subject.relation.derived)
    for column in subject.dataset.pii:
        if column not in known:
            near = suggestion(column, known)
            yield f"`pii` names `{column}`, but dataset `{subject.dataset.name}` has no such column; {near}"


def detect(
    rule: DuplicatesRule,
    subject: Subject,
    slot: dt.datetime,
    budget: Budget,
    progress: Callable[[int], None] = lambda _: None,
    stop: Stop | None = None,
) -> Detected:
    """Run the rule. `progress` is told of every batch and answer: how many records were read so far, where they stream
    through us, else 0. `stop` interrupts what is computed here; reads are ended at their source.

    Raises RuleDoesNotFit, or the source's ConnectorError; nothing is half found.
    """
    begin = time.monotonic()
    check(rule, subject)
    choice = choose(rule, subject)
    try:
        found, problems = _detected(rule, choice, subject, slot, budget, progress, stop)
    except ValueDoesNotFit as misfit:
        if choice.engine != "pushdown" or rule.engine == "pushdown":
            raise
        choice = Choice("embedded", f"column `{misfit.column}` holds a value that the database compares otherwise")
        found, problems = _detected(rule, choice, subject, slot, budget, progress, stop)
    definition = json.dumps([subject.dataset.where, dict(subject.dataset.derived)], sort_keys=True)
    return Detected(found, choice, tuple(problems), time.monotonic() - begin, definition, subject.relation)


def _detected(
    rule: DuplicatesRule,
    choice: Choice,
    subject: Subject,
    slot: dt.datetime,
    budget: Budget,
    progress: Callable[[int], None],
    stop: Stop | None,
) -> tuple[Detection, list[Problem]]:
    problems = list(subject.warnings(duplicates.named_columns(rule, subject.relation)))
    confirm: list[Callable[[int], None]] = []
    with _records(rule, choice, subject, problems, progress, confirm) as records:
        found = duplicates.detect(rule, subject.relation, records, slot, budget.memory, budget.folder, stop)
        for one in confirm:
            one(found.read)
    return found, problems


def explain(rule: DuplicatesRule, subject: Subject, slot: dt.datetime) -> Choice:
    """The choice with the statements that would run."""
    check(rule, subject)
    choice = choose(rule, subject)
    with _records(rule, choice, subject, [], lambda _: None, []) as records:
        return Choice(choice.engine, choice.reason, tuple(duplicates.explain(rule, subject.relation, records, slot)))


@contextmanager
def _records(
    rule: DuplicatesRule,
    choice: Choice,
    subject: Subject,
    problems: list[Problem],
    progress: Callable[[int], None],
    confirm: list[Callable[[int], None]],
) -> Iterator[Records]:
    """The records in the form the chosen engine takes; after the block `problems` holds what was wrong with cells.

    What is in `confirm` inside the block is to be told how many records were read. A stream confirms that by itself.
    """
    source, reading = subject.source, subject.dataset.settings
    failed: list[ConnectorError] = []
    if choice.engine == "pushdown":
        assert isinstance(source, Queryable)  # noqa: S101 - choose() looked
        with source.snapshot() as snapshot, _as_it_failed(failed):
            yield Pushed(
                source.dialect,
                source.relation(reading),
                _telling(lambda asked: _counting(snapshot.query(asked), lambda _: progress(0), failed), progress),
                _telling(snapshot.whole, progress),
                _telling(lambda columns: snapshot.unique(reading, columns), progress),
            )
            problems += snapshot.problems()
        return
    scans = functools.cache(functools.partial(_duck_scan, source, reading))
    scan = scans(duplicates.needed_columns(rule, subject.relation))
    if scan is not None:
        assert isinstance(source, DuckReadable)  # noqa: S101 - _duck_scan() looked
        confirm.append(scan.confirm)
        try:
            yield Readable(
                lambda columns: _read(scans, columns).sql, lambda columns, *few: _read(scans, columns).at(*few)
            )
            problems += scan.problems()
        except duckdb.Error as error:
            raise source.failure(reading, error) from error
        return
    opened: list[Scan] = []

    def stream(columns: tuple[str, ...]) -> pa.RecordBatchReader:
        opened.append(source.scan(reading, columns))
        return _counting(opened[-1].reader, progress, failed)

    try:
        with _as_it_failed(failed):
            yield Streamed(stream)
    finally:
        for one in opened:
            one.close()
    for one in opened:
        problems += one.problems()


@contextmanager
def _as_it_failed(failed: list[ConnectorError]) -> Iterator[None]:
    """DuckDB hands an error of a stream on as one of its own, with a traceback for a message."""
    try:
        yield
    except Exception:
        if failed:
            raise failed[0] from None
        raise


def _telling(ask: Callable[[A], T], progress: Callable[[int], None]) -> Callable[[A], T]:
    """The same question; `progress` hears that it is asked, and that it was answered."""

    def asked(what: A) -> T:
        progress(0)
        answer = ask(what)
        progress(0)
        return answer

    return asked


def _duck_scan(source: Source, reading: object, columns: tuple[str, ...]) -> DuckScan | None:
    return source.duck_scan(reading, columns) if isinstance(source, DuckReadable) else None


def _read(scans: Callable[[tuple[str, ...]], DuckScan | None], columns: tuple[str, ...]) -> DuckScan:
    scan = scans(columns)
    assert scan is not None  # noqa: S101 - a source that can read all needed columns so can read some of them so
    return scan


def _counting(
    reader: pa.RecordBatchReader, progress: Callable[[int], None], failed: list[ConnectorError]
) -> pa.RecordBatchReader:
    """The same batches, `progress` told of each, and what stopped them kept in `failed`."""

    def batches() -> Iterator[pa.RecordBatch]:
        read = 0
        try:
            for batch in reader:
                read += batch.num_rows
                progress(read)
                yield batch
        except ConnectorError as error:
            failed.append(error)
            raise

    return pa.RecordBatchReader.from_batches(reader.schema, batches())
