"""Choose the engine for a rule, pass it the records, and get its answer."""

from __future__ import annotations

import datetime as dt
import functools
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import duckdb
import pyarrow as pa

import rules.engines.embedded
import rules.engines.pushdown  # noqa: F401 - loaded here, while a source that began early still works
from connectors.base import (
    DuckReadable,
    DuckScan,
    Keeping,
    LimitedPushdown,
    Queryable,
    Scan,
    Source,
    UnreadableCells,
    Versioned,
)
from connectors.errors import ConnectorError, ValueDoesNotFit
from reconcile.config.link import columns_of
from reconcile.config.masked import shown_in_clear
from reconcile.config.settings import DatasetConfig
from reconcile.detection import increments, missing
from reconcile.detection.copied import CopiedSource
from reconcile.detection.increments import Earlier, Increment, Mode
from reconcile.detection.missing import Shares, Streaming
from reconcile.detection.selection import Selection, counted, scan_selected, selection
from reconcile.detection.subject import Subject, Subjects
from reconcile.errors import Wrong
from reconcile.findings.results import LeftOut
from reconcile.plugins import kind_of
from rules.document.mistakes import listed, suggestion
from rules.engines.base import Choice, IdentityProblem, Pushed, Readable, Records, Stop, Streamed
from rules.groups.detection import Detection
from rules.kinds.base import DoesNotFit, Fitted, Rule

A = TypeVar("A")
T = TypeVar("T")
SLOW_GROUPERS = {"mysql": "reading from MariaDB and MySQL is faster than grouping there"}
"""Dialects on which pulling is faster, measured in docs/engines.md, with the reason in words."""
MOST_UNNAMED = 2_000
"""Columns of a dataset without `id`. Measured: with 9,000 of them a run takes a minute and 740 MB of memory."""


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."


class RuleUnchecked(Exception):
    """A rule could not be checked; a run reports it as failed and goes on with the next one."""


class RuleDoesNotFit(RuleUnchecked, Wrong):
    """The rule does not fit its current datasets; the message has one sentence for each mistake."""

    def __init__(self, rule: Rule, mistakes: Sequence[str]) -> None:
        datasets = listed(rule.datasets)
        super().__init__(f"Rule {rule.name!r} does not fit dataset {datasets}: {' '.join(map(_ended, mistakes))}")
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True)
class Budget:
    """The resources of one detection: `memory` as DuckDB writes it (`2GB`), and a folder to spill to."""

    memory: str
    folder: Path | None = None


@dataclass(frozen=True)
class Detected:
    """A rule's answer with its engine and the reason for it, the unreadable cells, and the seconds it took."""

    detection: Detection
    choice: Choice
    problems: Mapping[str, Sequence[UnreadableCells]]
    """The unreadable cells of each dataset."""
    seconds: float
    definition: str
    """The filters and derived columns of the datasets as text: an edit of it changes what the rule matches."""
    subjects: Subjects
    fitting: Fitted | None
    """The rule with its datasets; None if nothing was read."""
    mode: Mode | None = None
    """How the dataset was read, if it asks for incremental runs."""
    begun: float | None = None
    """When the reading began, as `time.monotonic` tells; None if nothing was read."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The version of each dataset that has versions."""
    lacking: Mapping[str, Shares] = field(default_factory=dict)
    """For a rule that cleans, by dataset, the share of records without a value in each column that it reads."""
    remembered: Mapping[str, bytes] = field(default_factory=dict)
    """What the next run must remember, if this one has a mark: see `Detection.remember`."""

    @property
    def fitted(self) -> Fitted:
        assert self.fitting is not None  # noqa: S101 - asked for only after the rule's datasets were read
        return self.fitting

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The records and cells that were not compared, by column and reason."""
        detection = self.detection
        records = (
            LeftOut(
                column=skipped.column,
                reason=skipped.reason,
                records=skipped.records,
                read_as="" if skipped.whole else None,
                dataset=skipped.dataset,
            )
            for skipped in detection.skipped
        )
        of_datasets: Iterable[tuple[str | None, IdentityProblem]] = detection.identity_of.items()
        ids = (
            LeftOut(column="id", reason=reason, records=number, dataset=dataset)
            for dataset, problem in of_datasets or ((None, detection.identity),)
            for reason, number in (("null", problem.nulls), ("not unique", problem.repeated))
            if number
        )
        return (*records, *self.unreadable, *ids)

    @property
    def unreadable(self) -> tuple[LeftOut, ...]:
        return tuple(
            LeftOut(
                column=problem.column,
                reason=problem.reason,
                records=problem.records,
                first=problem.first,
                read_as="" if problem.skipped else None,
                dataset=dataset if len(self.problems) > 1 else None,
                unreadable=problem.column != "*",  # that column stands for warnings about files and `malformed: skip`
            )
            for dataset, problems in self.problems.items()
            for problem in problems
        )

    def of(self, dataset: str) -> Detected:
        """Return what one of the rule's datasets contributed, with all groups."""
        return replace(self, detection=self.detection.of(dataset), problems={dataset: self.problems[dataset]})


Share = Callable[[Rule, Fitted, "Subjects", Callable[[int], None]], CopiedSource | None]
"""Returns a copy of a rule's only dataset, which several rules read; None if the rule is to read the source."""


def fit(rule: Rule, subjects: Subjects) -> Fitted:
    """Fit the rule to its datasets. Raises RuleDoesNotFit with every mistake in both."""
    mistakes: list[str] = []
    fitted: Fitted | None = None
    try:
        fitted = kind_of(rule).fit(rule, {name: subject.relation for name, subject in subjects.items()})
    except DoesNotFit as misfit:
        mistakes += misfit.mistakes
    for subject in subjects.values():
        mistakes += [*_unknown_columns(subject), *_too_wide(subject), *increments.mistakes(subject)]
    configured = {name: subject.dataset for name, subject in subjects.items()}
    columns = {name: subject.relation.schema.names for name, subject in subjects.items()}
    mistakes += [sentence for _, sentence in shown_in_clear(rule, configured, columns)]
    if mistakes or fitted is None:
        raise RuleDoesNotFit(rule, mistakes)
    return fitted


def choose(rule: Rule, fitted: Fitted, subjects: Subjects) -> Choice:
    """Choose the engine that runs the rule. Raises RuleDoesNotFit if it cannot give the answer."""
    choice = _chosen(rule, fitted, subjects)
    comes_here = choice.engine == "embedded" or len(rule.member_datasets) > 1
    if comes_here and (mistakes := list(_one_name(fitted))):
        raise RuleDoesNotFit(rule, mistakes)
    return choice


def _one_name(fitted: Fitted) -> Iterator[str]:
    """Yield a sentence for each two columns that DuckDB, in which the rule runs, takes for one."""
    for dataset, names in fitted.needed.items():
        first: dict[str, str] = {}
        for name in names:
            former = first.setdefault(name.lower(), name)
            if former != name:
                yield (
                    f"Columns `{former}` and `{name}` of dataset `{dataset}` differ only in upper and lower case, "
                    "which DuckDB does not distinguish; rename one of them in a view"
                )


def _chosen(rule: Rule, fitted: Fitted, subjects: Subjects) -> Choice:
    is_forced = rule.engine in ("pushdown", "spark")
    compared = [subjects[name] for name in rule.member_datasets]
    sources = {subject.source.name: subject.source for subject in compared}
    for subject in compared:
        if not isinstance(subject.source, Queryable):
            reason = _runs_no_queries(rule, subject)
            if is_forced:
                advice = "use `engine: embedded` or remove the setting."
                raise RuleDoesNotFit(rule, [f"{reason[0].upper()}{reason[1:]}; {advice}"])
            return Choice("embedded", reason)
    if rule.engine == "embedded":
        return Choice("embedded", "the rule sets `engine: embedded`")
    source, *other_sources = sources.values()
    assert isinstance(source, Queryable)  # noqa: S101 - checked above
    if rule.engine == "spark" and source.dialect != "spark":
        raise RuleDoesNotFit(
            rule, [f"It sets `engine: spark`, but source {source.name!r} is not of type `spark`; remove the setting."]
        )
    obstacle = "its datasets are in several sources" if other_sources else _obstacle(fitted, source.dialect, compared)
    if obstacle and is_forced:
        raise RuleDoesNotFit(rule, [f"It sets `engine: {rule.engine}`, but {obstacle}."])
    if obstacle:
        return Choice("embedded", obstacle)
    inside = "spark" if source.dialect == "spark" else "pushdown"
    if is_forced:
        return Choice(inside, f"the rule sets `engine: {rule.engine}`, and the answer is the same")
    if source.dialect in SLOW_GROUPERS:
        return Choice("embedded", f"{SLOW_GROUPERS[source.dialect]}; `engine: pushdown` forces it")
    return Choice(inside, f"source {source.name!r} compares these columns exactly as DuckDB does")


def _obstacle(fitted: Fitted, dialect: str, compared: Sequence[Subject]) -> str | None:
    """Return the reason, of the source or of the rule, why a source that runs queries does not run the rule."""
    return next(filter(None, map(_no_pushdown, compared)), None) or fitted.obstacle(dialect)


def _runs_no_queries(rule: Rule, subject: Subject) -> str:
    """Return the reason why a source that is not Queryable does not run the rule."""
    if rule.engine == "spark":
        return f"source {subject.source.name!r} is not of type `spark`"
    return _no_pushdown(subject) or f"source {subject.source.name!r} cannot run queries"


def _no_pushdown(subject: Subject) -> str | None:
    """Return the reason of the source itself, if it has one, why the dataset is not compared inside it."""
    source = subject.source
    return source.no_pushdown(subject.dataset.settings) if isinstance(source, LimitedPushdown) else None


def _too_wide(subject: Subject) -> Iterator[str]:
    """Refuse very wide datasets without `id`: all columns identify a record there, which takes memory and time."""
    name, columns = subject.dataset.name, len(subject.relation.schema.names)
    if not subject.relation.id and columns > MOST_UNNAMED:
        yield f"Dataset `{name}` has {columns:,} columns; with more than {MOST_UNNAMED:,} it needs an `id`"


def _unknown_columns(subject: Subject) -> Iterator[str]:
    """Refuse unknown columns in what people see: a misspelt one in `pii` would appear unmasked in the first message."""
    dataset, columns = subject.dataset, (*subject.relation.schema.names, *subject.relation.derived)
    settings = {"pii": dataset.pii, "display": dataset.display, "link": columns_of(dataset.link or "")}
    for setting, names in settings.items():
        for column in names:
            if column not in columns:
                near = suggestion(column, columns)
                yield f"`{setting}` names `{column}`, but dataset `{dataset.name}` has no such column; {near}"


def detect(
    rule: Rule,
    subjects: Subjects,
    slot: dt.datetime,
    budget: Budget,
    progress: Callable[[int], None] = lambda _: None,
    stop: Stop | None = None,
    earlier: Earlier | None = None,
    share: Share | None = None,
) -> Detected:
    """Run the rule. `progress` is called for every batch and answer with the number of records streamed so far, or 0
    if they do not stream through this process. `stop` interrupts computations here; reads end at their source. With
    `earlier`, only records that changed are read if that finds the same. `share` may give a copy to read instead of the
    source.

    Raises RuleDoesNotFit, or the source's ConnectorError; there are no partial answers.
    """
    begin = time.monotonic()
    fitted = fit(rule, subjects)
    choice = choose(rule, fitted, subjects)
    increment = (
        None if earlier is None or earlier.contents else Increment(rule, fitted, subjects, slot, earlier, progress)
    )
    changed, mode = (None, None) if increment is None else increment.detect()
    definition = definition_of(subject.dataset for subject in subjects.values())
    if changed is not None:
        choice = Choice("pushdown", "only records that may have changed are read")
        unread = dict.fromkeys(subjects, ())
        lacking = {
            name: missing.of_source(subject, missing.watched(rule, subject, fitted.needed[name]))
            for name, subject in _watched(rule, subjects)
        }
        seconds = time.monotonic() - begin
        changed, remembered = _remembered(changed, mode)
        return Detected(
            changed,
            choice,
            unread,
            seconds,
            definition,
            subjects,
            fitted,
            mode,
            begin,
            lacking=lacking,
            remembered=remembered,
        )
    chosen = selection(fitted, subjects, slot)
    work = _DetectionWork(rule, fitted, subjects, slot, budget, progress, stop, share, chosen)
    try:
        detection, problems = work.detect(choice.engine)
    except ValueDoesNotFit as misfit:
        if choice.engine == "embedded" or rule.engine in ("pushdown", "spark"):
            raise
        choice = Choice("embedded", f"column `{misfit.column}` holds a value that the database compares differently")
        detection, problems = work.detect(choice.engine)
    if increment is not None and mode is not None and mode.mark is not None:
        mode = replace(mode, expected=increment.expected())
    detection, remembered = _remembered(detection, mode)
    seconds = time.monotonic() - begin
    begun = min([begin, *(copy.begun for copy in work.copies)])
    versions = versions_of((subject.dataset, subject.source) for subject in subjects.values())
    of_time = (seconds, definition, subjects, fitted, mode, begun, versions)
    return Detected(detection, choice, problems, *of_time, lacking=work.lacking, remembered=remembered)


def _remembered(detection: Detection, mode: Mode | None) -> tuple[Detection, Mapping[str, bytes]]:
    """Return the detection without what it holds to be remembered, and that, if a later run can use it."""
    is_useful = detection.remember is not None and mode is not None and mode.mark is not None
    remembered = detection.remember() if is_useful and detection.remember is not None else {}
    return replace(detection, remember=None), remembered


def _watched(rule: Rule, subjects: Subjects) -> Iterator[tuple[str, Subject]]:
    """Yield the datasets in which columns without values matter: those of rules that clean, but no query's answer."""
    yield from subjects.items() if rule.clean is not None and rule.question is None else ()


def versions_of(datasets: Iterable[tuple[DatasetConfig, object]]) -> Mapping[str, str]:
    """Return the version of each dataset whose source, beside it, has versions."""
    return {
        dataset.name: source.version(dataset.settings) for dataset, source in datasets if isinstance(source, Versioned)
    }


def definition_of(datasets: Iterable[DatasetConfig]) -> str:
    """Return the filters and derived columns of a rule's datasets as text; see `Detected.definition`."""
    definitions = {dataset.name: _dataset_definition(dataset) for dataset in datasets}
    return json.dumps(next(iter(definitions.values())) if len(definitions) == 1 else definitions, sort_keys=True)


def _dataset_definition(dataset: DatasetConfig) -> list[object]:
    definition: list[object] = [dataset.where, dict(dataset.derived)]
    return definition if dataset.holidays is None else [*definition, dataset.holidays.model_dump(mode="json")]


def explain(rule: Rule, subjects: Subjects, slot: dt.datetime) -> Choice:
    """Return the choice of the engine with the statements that would run."""
    fitted = fit(rule, subjects)
    choice = choose(rule, fitted, subjects)
    work = _DetectionWork(rule, fitted, subjects, slot, Budget(""), lambda _: None, None)
    with work.records(choice.engine, {name: [] for name in subjects}, {}, {}) as records:
        return Choice(choice.engine, choice.reason, tuple(fitted.explain(records, slot)))


@dataclass(frozen=True)
class _DetectionWork:
    """A detection with its inputs."""

    rule: Rule
    fitted: Fitted
    subjects: Subjects
    slot: dt.datetime
    budget: Budget
    progress: Callable[[int], None]
    stop: Stop | None
    share: Share | None = None
    chosen: Selection = field(default_factory=dict)
    passed: dict[str, Streaming] = field(default_factory=lambda: defaultdict(Streaming))
    copies: list[CopiedSource] = field(default_factory=list)
    """The copies that were read instead of sources."""
    lacking: dict[str, Shares] = field(default_factory=dict)
    """The share of records without a value, by dataset and column."""

    def detect(self, engine: str) -> tuple[Detection, Mapping[str, Sequence[UnreadableCells]]]:
        problems = {name: list(subject.warnings(self.fitted.named[name])) for name, subject in self.subjects.items()}
        confirm: dict[str, Callable[[int], None]] = {}
        unread: dict[str, int] = {}
        with self.records(engine, problems, confirm, unread) as records:
            budget = self.budget
            detection = self.fitted.detect(records, self.slot, budget.memory, budget.folder, self.stop)
            for name, confirm_read in confirm.items():
                confirm_read(detection.read_of.get(name, detection.read))
            for name, subject in _watched(self.rule, self.subjects):
                limits = (budget.memory, budget.folder, self.stop)
                columns = self._watched_columns(name, subject)
                shares = missing.of_records(subject, records[name], columns, *limits) or self.passed[name].shares
                rest = [column for column in columns if column not in shares] if shares else []
                self.lacking[name] = {**shares, **missing.of_source(subject, rest)}
        return counted(detection, unread), problems

    @contextmanager
    def records(
        self,
        engine: str,
        problems: Mapping[str, list[UnreadableCells]],
        confirm: dict[str, Callable[[int], None]],
        unread: dict[str, int],
    ) -> Iterator[dict[str, Records]]:
        """Provide the records of each dataset; see `_records`. A database shows all that it compares in one snapshot.

        Datasets that are not compared are only streamed.
        """
        compared = self.rule.member_datasets
        watched = dict(_watched(self.rule, self.subjects))
        with ExitStack() as stack:
            streamed = self.subjects
            records: dict[str, Records] = {}
            if engine != "embedded":
                inside = {name: subject for name, subject in self.subjects.items() if name in compared}
                records |= stack.enter_context(_pushed(inside, self.fitted.needed, problems, self.progress))
                streamed = {name: subject for name, subject in self.subjects.items() if name not in compared}
            streamed = self._copied(streamed)
            yield records | {
                name: stack.enter_context(
                    _records(
                        name,
                        subject,
                        self.fitted.needed[name],
                        self._watched_columns(name, subject),
                        problems[name],
                        self.progress,
                        confirm,
                        functools.partial(self._scan, name, subject, unread),
                        self.passed[name].add if name in watched else lambda _: None,
                        may_scan=name in compared,
                    )
                )
                for name, subject in streamed.items()
            }

    def _watched_columns(self, name: str, subject: Subject) -> tuple[str, ...]:
        """Return the needed columns of a dataset, and those of which its cleaning needs the share without a value."""
        needed = self.fitted.needed[name]
        is_watched = name in dict(_watched(self.rule, self.subjects))
        return missing.watched(self.rule, subject, needed) if is_watched else needed

    def _scan(self, name: str, subject: Subject, unread: dict[str, int], columns: tuple[str, ...]) -> Scan:
        opened = scan_selected(subject.source, subject.dataset.settings, columns, self.chosen.get(name, ()))
        unread[name] = opened.left_out
        return opened

    def _copied(self, subjects: Subjects) -> Subjects:
        copy = None if self.share is None else self.share(self.rule, self.fitted, subjects, self.progress)
        if copy is None:
            return subjects
        self.copies.append(copy)
        return {name: subject.reading(copy) for name, subject in subjects.items()}


@contextmanager
def _pushed(
    subjects: Subjects,
    needed: Mapping[str, tuple[str, ...]],
    problems: Mapping[str, list[UnreadableCells]],
    progress: Callable[[int], None],
) -> Iterator[Mapping[str, Pushed]]:
    """Provide the records of all datasets inside their database, in one snapshot.

    After the block `problems` holds the unreadable cells: those of the first dataset, for a rule over several reads
    only columns in which each cell can be read.
    """
    first, source = next((name, subject.source) for name, subject in subjects.items())
    assert isinstance(source, Queryable)  # noqa: S101 - choose() checked it, and that no other source has datasets
    failed: list[ConnectorError] = []
    with source.snapshot() as snapshot, _as_it_failed(failed):
        for name, subject in subjects.items():
            if isinstance(source, Keeping):
                source.keep(snapshot, subject.dataset.settings, needed[name])
        yield {
            name: Pushed(
                source.dialect,
                source.relation(subject.dataset.settings),
                _reporting(lambda query: _counting(snapshot.query(query), lambda _: progress(0), failed), progress),
                _reporting(snapshot.whole, progress),
                _reporting(functools.partial(snapshot.unique, subject.dataset.settings), progress),
            )
            for name, subject in subjects.items()
        }
        problems[first].extend(snapshot.problems())


@contextmanager
def _records(
    name: str,
    subject: Subject,
    needed: tuple[str, ...],
    watched: tuple[str, ...],
    problems: list[UnreadableCells],
    progress: Callable[[int], None],
    confirm: dict[str, Callable[[int], None]],
    scan_stream: Callable[[tuple[str, ...]], Scan],
    look: Callable[[pa.RecordBatch], None],
    *,
    may_scan: bool,
) -> Iterator[Records]:
    """Provide the records as they are read here; after the block `problems` holds the unreadable cells. Without
    `may_scan`, or if DuckDB cannot read a `watched` column, they are a stream.

    The block calls the dataset's function in `confirm` with the number of records read. A stream confirms by itself.
    """
    source, reading = subject.source, subject.dataset.settings
    failed: list[ConnectorError] = []
    scans = functools.cache(functools.partial(duck_scan, source, reading))
    scan = scans(needed) if may_scan and scans(watched) is not None else None
    if scan is not None:
        assert isinstance(source, DuckReadable)  # noqa: S101 - duck_scan() checked it
        confirm[name] = scan.confirm
        try:
            failure = functools.partial(source.failure, reading)
            yield Readable(lambda columns: _read(scans, columns).sql, failure)
            problems += scan.problems()
        except duckdb.Error as error:
            raise source.failure(reading, error) from error
        return
    opened: list[Scan] = []

    def stream(columns: tuple[str, ...]) -> pa.RecordBatchReader:
        opened.append(scan_stream(columns))
        return _counting(opened[-1].reader, progress, failed, look)

    try:
        with _as_it_failed(failed):
            yield Streamed(stream)
    finally:
        for opened_scan in opened:
            opened_scan.close()
    for opened_scan in opened:
        problems += opened_scan.problems()


@contextmanager
def _as_it_failed(failed: list[ConnectorError]) -> Iterator[None]:
    """Raise the original error of a stream: DuckDB raises its own instead, with a traceback as its message."""
    try:
        yield
    except Exception:
        if failed:
            raise failed[0] from None
        raise


def _reporting(ask: Callable[[A], T], progress: Callable[[int], None]) -> Callable[[A], T]:
    """Wrap a query so that it reports `progress` before and after."""

    def reporting(query: A) -> T:
        progress(0)
        answer = ask(query)
        progress(0)
        return answer

    return reporting


def duck_scan(source: Source, reading: object, columns: tuple[str, ...]) -> DuckScan | None:
    """Return how DuckDB reads these columns by itself; None if they are to be streamed."""
    return source.duck_scan(reading, columns) if isinstance(source, DuckReadable) else None


def _read(scans: Callable[[tuple[str, ...]], DuckScan | None], columns: tuple[str, ...]) -> DuckScan:
    scan = scans(columns)
    assert scan is not None  # noqa: S101 - DuckDB can read some of the columns if it can read all of them
    return scan


def _counting(
    reader: pa.RecordBatchReader,
    progress: Callable[[int], None],
    failed: list[ConnectorError],
    look: Callable[[pa.RecordBatch], None] = lambda _: None,
) -> pa.RecordBatchReader:
    """Pass on the batches, report `progress` for each, let `look` see it, and keep the error that stops them."""

    def batches() -> Iterator[pa.RecordBatch]:
        read = 0
        try:
            for batch in reader:
                read += batch.num_rows
                progress(read)
                look(batch)
                yield batch
        except ConnectorError as error:
            failed.append(error)
            raise

    return pa.RecordBatchReader.from_batches(reader.schema, batches())
