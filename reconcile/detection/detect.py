"""Step 1: pick the engine for a rule, give it the records, and get its answer."""

from __future__ import annotations

import datetime as dt
import functools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import duckdb
import pyarrow as pa

import rules.engines.embedded
import rules.engines.pushdown  # noqa: F401 - else they are loaded when a source that began early has ended
from connectors.base import DuckReadable, DuckScan, Forewarning, Problem, Queryable, Scan, Source
from connectors.errors import ConnectorError, ValueDoesNotFit
from reconcile.config.settings import DatasetConfig
from reconcile.plugins import kind_of
from rules import grouping
from rules.document.mistakes import listed, suggestion
from rules.engines.base import Choice, Detection, Pushed, Readable, Records, Relation, Stop, Streamed
from rules.kinds.base import DoesNotFit, Fitted, Rule
from rules.values import Value, schema_from_arrow

A = TypeVar("A")
T = TypeVar("T")
SLOW_GROUPERS = {"mysql": "MariaDB and MySQL are read faster than they group"}
"""Measured (docs/engines.md): dialects on which pulling wins, with the words for it."""
MOST_UNNAMED = 2_000
"""Columns of a dataset without `id`. Measured: with 9,000 of them a run takes a minute and 740 MB of memory."""


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."


class RuleDoesNotFit(Exception):
    """A rule cannot be checked on its datasets as they are now; the message holds every mistake, one sentence each."""

    def __init__(self, rule: Rule, mistakes: Sequence[str]) -> None:
        datasets = listed([repr(name) for name in rule.datasets])
        super().__init__(f"Rule {rule.name!r} does not fit dataset {datasets}: {' '.join(map(_ended, mistakes))}")
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True)
class Budget:
    """What one detection may use: `memory` as DuckDB writes it (`2GB`), and a folder for what does not fit."""

    memory: str
    folder: Path | None = None


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


Subjects = Mapping[str, Subject]
"""The datasets of a rule by name, ready to be checked."""


def subjects_of(rule: Rule, subject: Callable[[str], Subject]) -> Subjects:
    """The rule's datasets. Raises what opening and describing their sources raises."""
    return {name: subject(name) for name in rule.datasets}


@dataclass(frozen=True)
class Detected:
    """A rule's answer, which engine gave it and why, what could not be read in single cells, and how long it took."""

    detection: Detection
    choice: Choice
    problems: tuple[Problem, ...]
    seconds: float
    definition: str
    """What the datasets let through and derive, as text: an edit of it is an edit of what the rule matches."""
    subjects: Subjects
    fitted: Fitted


def fit(rule: Rule, subjects: Subjects) -> Fitted:
    """Fit the rule to its datasets. Raises RuleDoesNotFit with every mistake in both."""
    mistakes: list[str] = []
    fitted: Fitted | None = None
    try:
        fitted = kind_of(rule).fit(rule, {name: subject.relation for name, subject in subjects.items()})
    except DoesNotFit as misfit:
        mistakes += misfit.mistakes
    for subject in subjects.values():
        mistakes += [*_hides_nothing(subject), *_too_wide(subject)]
    if mistakes or fitted is None:
        raise RuleDoesNotFit(rule, mistakes)
    return fitted


def choose(rule: Rule, fitted: Fitted, subjects: Subjects) -> Choice:
    """Which engine runs the rule, and why. Raises RuleDoesNotFit where `engine: pushdown` cannot give the answer."""
    forced = rule.engine == "pushdown"
    sources = {subject.source.name: subject.source for subject in subjects.values()}
    for name, source in sources.items():
        if not isinstance(source, Queryable):
            if forced:
                reason = f"Source {name!r} cannot run queries; use `engine: embedded` or leave it out."
                raise RuleDoesNotFit(rule, [reason])
            return Choice("embedded", f"source {name!r} is read here: it cannot run queries itself")
    if rule.engine == "embedded":
        return Choice("embedded", "the rule says `engine: embedded`")
    source, *others = sources.values()
    assert isinstance(source, Queryable)  # noqa: S101 - just seen
    obstacle = "its datasets are in several sources" if others else fitted.obstacle(source.dialect)
    if obstacle and forced:
        raise RuleDoesNotFit(rule, [f"It says `engine: pushdown`, but {obstacle}."])
    if obstacle:
        return Choice("embedded", obstacle)
    if forced:
        return Choice("pushdown", "the rule says `engine: pushdown`, and the answer is the same there")
    if source.dialect in SLOW_GROUPERS:
        return Choice("embedded", f"{SLOW_GROUPERS[source.dialect]}; `engine: pushdown` forces it")
    return Choice("pushdown", f"source {source.name!r} compares these columns exactly as we do")


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
    rule: Rule,
    subjects: Subjects,
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
    fitted = fit(rule, subjects)
    choice = choose(rule, fitted, subjects)
    work = _Work(fitted, subjects, slot, budget, progress, stop)
    try:
        detection, problems = work.detect(choice.engine)
    except ValueDoesNotFit as misfit:
        if choice.engine != "pushdown" or rule.engine == "pushdown":
            raise
        choice = Choice("embedded", f"column `{misfit.column}` holds a value that the database compares otherwise")
        detection, problems = work.detect(choice.engine)
    seconds = time.monotonic() - begin
    return Detected(detection, choice, tuple(problems), seconds, _definition(subjects), subjects, fitted)


def _definition(subjects: Subjects) -> str:
    each = {name: [one.dataset.where, dict(one.dataset.derived)] for name, one in subjects.items()}
    return json.dumps(next(iter(each.values())) if len(each) == 1 else each, sort_keys=True)


def explain(rule: Rule, subjects: Subjects, slot: dt.datetime) -> Choice:
    """The choice with the statements that would run."""
    fitted = fit(rule, subjects)
    choice = choose(rule, fitted, subjects)
    work = _Work(fitted, subjects, slot, Budget(""), lambda _: None, None)
    with work.records(choice.engine, [], {}) as records:
        return Choice(choice.engine, choice.reason, tuple(fitted.explain(records, slot)))


def read_again(subject: Subject) -> Iterator[Mapping[str, Value]]:
    """All records of a dataset as they are now, in bounded memory. Raises the source's ConnectorError."""
    scan = subject.source.scan(subject.dataset.settings, tuple(subject.relation.schema.names))
    try:
        for batch in scan.reader:
            yield from grouping.rows(pa.Table.from_batches([batch]))
    finally:
        scan.close()


@dataclass(frozen=True)
class _Work:
    """What a detection works with."""

    fitted: Fitted
    subjects: Subjects
    slot: dt.datetime
    budget: Budget
    progress: Callable[[int], None]
    stop: Stop | None

    def detect(self, engine: str) -> tuple[Detection, list[Problem]]:
        problems: list[Problem] = []
        for name, subject in self.subjects.items():
            problems += subject.warnings(self.fitted.named[name])
        confirm: dict[str, Callable[[int], None]] = {}
        with self.records(engine, problems, confirm) as records:
            budget = self.budget
            detection = self.fitted.detect(records, self.slot, budget.memory, budget.folder, self.stop)
            for name, told in confirm.items():
                told(detection.read_of.get(name, detection.read))
        return detection, problems

    @contextmanager
    def records(
        self, engine: str, problems: list[Problem], confirm: dict[str, Callable[[int], None]]
    ) -> Iterator[dict[str, Records]]:
        """The records of each dataset; see `_records`."""
        with ExitStack() as stack:
            yield {
                name: stack.enter_context(
                    _records(name, engine, subject, self.fitted.needed[name], problems, self.progress, confirm)
                )
                for name, subject in self.subjects.items()
            }


@contextmanager
def _records(
    name: str,
    engine: str,
    subject: Subject,
    needed: tuple[str, ...],
    problems: list[Problem],
    progress: Callable[[int], None],
    confirm: dict[str, Callable[[int], None]],
) -> Iterator[Records]:
    """The records in the form the engine takes; after the block `problems` holds what was wrong with cells.

    The block calls what `confirm` holds for the dataset with the number of records read. A stream confirms by itself.
    """
    source, reading = subject.source, subject.dataset.settings
    failed: list[ConnectorError] = []
    if engine == "pushdown":
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
    scan = scans(needed)
    if scan is not None:
        assert isinstance(source, DuckReadable)  # noqa: S101 - _duck_scan() looked
        confirm[name] = scan.confirm
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
