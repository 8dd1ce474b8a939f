"""Read only the records that changed since an earlier run, where that finds the same as reading all of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from connectors.base import Changes, ContentHashed, Touched, Trackable
from connectors.errors import QueryRefused, ValueDoesNotFit
from notifications.wording.words import plural
from reconcile.config.settings import DatasetConfig, IncrementalEntry
from reconcile.detection import contents
from reconcile.detection.contents import CONTENT, Contents
from reconcile.detection.subject import Subject, Subjects
from rules.document.mistakes import suggestion
from rules.groups.detection import Detection
from rules.groups.scope import Changed, KnownGroups, Scope, Unscoped
from rules.kinds import BY_KEY, BY_LIKENESS
from rules.kinds.base import Fitted, Incremental, Rule
from rules.values import RecordId, Type, Value

MOST = 200_000
"""Records of one look-up, above which reading all records is faster."""


@dataclass(frozen=True)
class Earlier:
    """A rule's earlier runs, as the state holds them.

    `watermark` is the run that last kept one, which this run replaces. `mark` is what the findings are up to date with.
    `why_full`: the reason, as a clause, why this run reads all
    records; if the mark still holds then, it `compares` with what incremental runs had found.
    """

    findings: KnownGroups
    watermark: str | None = None
    mark: Mapping[str, Any] | None = None
    why_full: str | None = None
    compares: bool = False
    remembered: Callable[[], Mapping[str, bytes]] = dict
    """Return what the rule remembers of the records at that mark; see `Detection.remember`."""
    contents: Contents | None = None
    """The files that the rule reads, if they are to be read only after a change."""


@dataclass(frozen=True)
class Mode:
    """How a run read the dataset: `full`, `incremental` or `unchanged`, with the reason or what was read, as a clause.

    `mark` is what the findings are then up to date with, None if nothing can tell. `expected` is the scope that an
    incremental run would have had.
    """

    name: str
    reason: str
    mark: Mapping[str, Any] | None = None
    expected: Scope | None = None


def entry_of(rule: Rule, datasets: Mapping[str, DatasetConfig]) -> IncrementalEntry | None:
    """Return the first `incremental` of the rule's datasets."""
    return next((entry for name in rule.datasets if (entry := datasets[name].incremental) is not None), None)


def mistakes(subject: Subject) -> Iterator[str]:
    """Yield what is wrong with the dataset's `incremental`."""
    entry, schema = subject.dataset.incremental, subject.relation.schema
    if entry is None or (isinstance(subject.source, ContentHashed) and entry.by == CONTENT):
        return
    if entry.by not in schema:
        near = suggestion(entry.by, schema.names)
        yield f"`incremental.by` names `{entry.by}`, but dataset `{subject.dataset.name}` has no such column; {near}"
    elif schema[entry.by].type not in (Type.INSTANT, Type.DATE):
        yield f"`incremental.by` names `{entry.by}`, which holds no times; name the column with a record's last change"


def obstacle(rule: Rule, fitted: Fitted, subjects: Subjects) -> str | None:
    """Return the reason, as a clause, why every run of the rule is full, as far as its settings say; None if none."""
    if len(subjects) > 1:
        return "it reads several datasets"
    if not isinstance(fitted, Incremental):
        kinds = f"`{BY_KEY}` and `{BY_LIKENESS}`"
        return f"only rules of kinds {kinds} find groups that changed, not of kind `{rule.kind}`"
    if rule.engine == "embedded":
        return "it sets `engine: embedded`, which reads all records"
    [subject] = subjects.values()
    if isinstance(subject.source, ContentHashed):
        return "files are compared as a whole; write `by: content`"
    if not isinstance(subject.source, Trackable):
        return f"source {subject.source.name!r} does not report which records changed"
    return fitted.full_only() or subject.source.untracked(subject.dataset.settings)


def obstacle_there(fitted: Fitted, subject: Subject, changes: Changes) -> str | None:
    """Return the reason, as a clause, why changes are unknown or cannot be found fast in the source."""
    assert isinstance(fitted, Incremental)  # noqa: S101 - obstacle() checked it
    return changes.obstacle(subject.relation.id, fitted.lookups(), fitted.needed[subject.dataset.name])


def any_obstacle(rule: Rule, fitted: Fitted, subjects: Subjects) -> str | None:
    """Return the reason, as a clause, why every run of the rule is full; asks the source. Raises a ConnectorError."""
    datasets = [subject.dataset for subject in subjects.values()]
    if contents.contents_of(
        datasets, {subject.source.name: subject.source for subject in subjects.values()}.__getitem__
    ):
        return contents.obstacle(rule, datasets)
    settings = obstacle(rule, fitted, subjects)
    if settings is not None:
        return settings
    [subject] = subjects.values()
    assert isinstance(subject.source, Trackable)  # noqa: S101 - obstacle() checked it
    assert subject.dataset.incremental is not None  # noqa: S101 - the caller checked it
    with subject.source.changes(subject.dataset.settings, subject.dataset.incremental.by) as changes:
        return obstacle_there(fitted, subject, changes)


@dataclass(frozen=True)
class Increment:
    """A run of a rule whose dataset asks for incremental runs."""

    rule: Rule
    fitted: Fitted
    subjects: Subjects
    slot: dt.datetime
    earlier: Earlier
    progress: Callable[[int], None]

    def detect(self) -> tuple[Detection | None, Mode]:
        """Return the groups that may have changed; None if all records must be read, for the reason in the mode.

        The mark is taken before anything is read. Raises a ConnectorError.
        """
        settings = obstacle(self.rule, self.fitted, self.subjects)
        if settings is not None:
            return None, Mode("full", settings)
        try:
            return self._detect()
        except QueryRefused:  # a database that only speaks like one of ours
            return None, Mode("full", "its database refused the query for changed records")

    def _detect(self) -> tuple[Detection | None, Mode]:
        with self._changes() as changes:
            in_source = obstacle_there(self.fitted, self._subject, changes)
            if in_source is not None:
                return None, Mode("full", in_source)
            mark, since = changes.mark(), self.earlier.mark
            why = self.earlier.why_full
            if why is None and since is not None:
                try:
                    detection, read = self._changed(changes, since)
                    return detection, Mode("incremental", read, mark)
                except Unscoped as unscoped:
                    why = str(unscoped)
                except ValueDoesNotFit as misfit:
                    why = f"column `{misfit.column}` holds a value that the database compares differently"
            return None, Mode("full", why or "it is the first", mark)

    def expected(self) -> Scope | None:
        """Return the keys or records that may have changed since the earlier run; None if that is not known.

        Call it after all records were read: then it has every key that changed before.
        """
        if not self.earlier.compares or self.earlier.mark is None:
            return None
        with self._changes() as changes:
            try:
                detection, _ = self._changed(changes, self.earlier.mark)
            except (Unscoped, ValueDoesNotFit, QueryRefused):
                return None
            return detection.scope

    def _changed(self, changes: Changes, since: Mapping[str, Any]) -> tuple[Detection, str]:
        refusal = changes.refusal(since)
        if refusal is not None:
            raise Unscoped(refusal)
        entry, columns = self._entry, self._incremental_columns
        touched = changes.touched(since, entry.overlap, columns, MOST)
        if touched is None:
            raise Unscoped(f"more than {MOST:,} records changed")
        self.progress(0)

        def matching(names: tuple[str, ...], values: Sequence[tuple[Value, ...]]) -> pa.Table:
            table = changes.matching(names, values, columns, MOST)
            self.progress(0)
            if table is None:
                raise Unscoped(f"more than {MOST:,} records share their values with those that changed")
            return table

        identity = tuple(self._subject.relation.id)

        def present(ids: Sequence[RecordId]) -> pa.Table:
            table = changes.matching(identity, ids, identity, len(ids))
            self.progress(0)
            if table is None:
                raise Unscoped("several records have one id")
            return table

        changed = Changed(touched.records, matching, present, self.earlier.remembered)
        usable = changes.usable(self._incremental.lookups())
        detection = self._incremental.detect_changed(changed, self.earlier.findings, usable, self.slot)
        return detection, _in_words(touched, entry.by)

    def _changes(self) -> AbstractContextManager[Changes]:
        return self._source.changes(self._subject.dataset.settings, self._entry.by)

    @property
    def _subject(self) -> Subject:
        [subject] = self.subjects.values()
        return subject

    @property
    def _source(self) -> Trackable:
        source = self._subject.source
        assert isinstance(source, Trackable)  # noqa: S101 - obstacle() checked it
        return source

    @property
    def _incremental(self) -> Incremental:
        assert isinstance(self.fitted, Incremental)  # noqa: S101 - obstacle() checked it
        return self.fitted

    @property
    def _incremental_columns(self) -> tuple[str, ...]:
        return self.fitted.needed[self._subject.dataset.name]

    @property
    def _entry(self) -> IncrementalEntry:
        entry = self._subject.dataset.incremental
        assert entry is not None  # noqa: S101 - the caller checked it
        return entry


def _in_words(touched: Touched, by: str) -> str:
    changed = plural(len(touched.records), "record", "records")
    if not touched.without_time:
        return f"{changed} touched since the last run"
    return f"{changed} touched since the last run, {touched.without_time:,} of them without `{by}`"
