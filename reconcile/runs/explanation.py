"""Explain a rule: what it means, how it compares records, and what it leaves out of the current data. It only reads."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from connectors.errors import ConnectorError
from connectors.target import Target, TargetRefused
from reconcile.cleaning.in_words import cleaning_in_words
from reconcile.detection import increments
from reconcile.detection.bounded import detected
from reconcile.detection.detect import Detected
from reconcile.detection.subject import Subject, replicas_of
from reconcile.runs.check import Readers, RunOrder
from reconcile.runs.history import in_words
from rules.engines import answers
from rules.groups.sample import Sample
from rules.kinds.base import Fitted, Rule
from rules.values import Value, order_key

SAMPLES = 3
_SAMPLED = 1_000
"""Records of which the samples are chosen, the first that the source sends."""


@dataclass(frozen=True)
class Explanation:
    """A rule with its sentences below their headings, its answer over the current data, and samples by dataset.

    Nothing in `samples` is masked.
    """

    rule: Rule
    words: Mapping[str, Sequence[str]]
    answer: Detected
    samples: Mapping[str, Sequence[Sample]]
    increments: str | None = None
    """The records that incremental runs read of a dataset, as a sentence."""
    replicas: Mapping[str, str] = field(default_factory=dict)
    """The place of the replica that runs read, by source."""

    @property
    def outside(self) -> int:
        """The number of records that `where` excludes."""
        detection = self.answer.detection
        unknown = sum(entry.records for entry in detection.skipped if not entry.scanned)
        return detection.read - detection.scanned - unknown


def explain(rule: Rule, order: RunOrder, tools: Readers) -> Explanation:
    """Detect within the limits of the job, and describe the rule. Raises as `detected` does."""
    answer = detected(
        rule, order.job, order.slot, tools.budget, subject=tools.subject, stop=tools.stop, watch=tools.watch
    )
    unchangeable = [name for name, subject in answer.subjects.items() if not _is_changeable(subject)]
    words = {**answer.fitted.describe(), "cleans": list(cleaning_in_words(rule, unchangeable))}
    samples = {name: _samples(answer.fitted, name, subject, order.slot) for name, subject in answer.subjects.items()}
    return Explanation(rule, words, answer, samples, _increments(rule, answer), replicas_of(answer.subjects))


def _is_changeable(subject: Subject) -> bool:
    """Return False if the source says that the dataset's records can only be read."""
    if not isinstance(subject.source, Target):
        return False
    try:
        subject.source.table(subject.dataset.settings)
    except TargetRefused:
        return False
    except ConnectorError:  # reported by whoever cleans
        return True
    return True


def _increments(rule: Rule, answer: Detected) -> str | None:
    asking = next((subject for subject in answer.subjects.values() if subject.dataset.incremental is not None), None)
    if asking is None or asking.dataset.incremental is None:
        return None
    obstacle = increments.any_obstacle(rule, answer.fitted, answer.subjects)
    if obstacle is not None:
        return f"every run is full, because {obstacle}"
    return in_words(asking.dataset.incremental, asking.source)


def _samples(fitted: Fitted, name: str, subject: Subject, slot: dt.datetime) -> Sequence[Sample]:
    """Return a few of the first records, those that normalising changes first, then by id."""
    scan = subject.source.scan(subject.dataset.settings, fitted.needed[name])
    try:
        batches = itertools.chain.from_iterable(map(_rows, scan.reader))
        rows = list(itertools.islice(batches, _SAMPLED))
    finally:
        scan.close()
    samples = fitted.sample(name, rows, slot)
    return sorted(samples, key=lambda sample: (not _is_changed(sample), [*map(order_key, sample.id)]))[:SAMPLES]


def _rows(batch: pa.RecordBatch) -> list[dict[str, Value]]:
    return answers.rows(pa.Table.from_batches([batch.slice(0, _SAMPLED)]))


def _is_changed(sample: Sample) -> bool:
    return any(before != after for _, before, after in sample.compared)
