"""Records that several rules of a run read here: each dataset is read once, into a copy that all of them see.

Only rules over one dataset share: a rule over two compares them as they are at one time, and a copy would be older than
the other dataset. Files that DuckDB reads itself are not copied, nor are datasets with `incremental`: what such a run
remembers of the source must not be newer than its records.
"""

from __future__ import annotations

import datetime as dt
import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from connectors.base import ColumnComparison
from connectors.errors import ConnectorError, SourceUnavailable
from reconcile.config.settings import Project
from reconcile.detection.copied import CopiedSource
from reconcile.detection.detect import RuleUnchecked, choose, duck_scan, fit
from reconcile.detection.selection import common, selection
from reconcile.detection.subject import Subject, Subjects, subjects_of
from reconcile.runs.check import Readers, RunOrder
from reconcile.runs.copies import Place
from rules.kinds.base import Fitted, Rule


@dataclass
class SharedReads:
    """The copies of a run over these rules, removed at the end of the block."""

    project: Project
    rules: Sequence[str]
    subject: Callable[[str], Subject]
    slot: dt.datetime
    folder: Path | None = None
    _copies: list[tuple[Place, CopiedSource | None]] = field(default_factory=list)
    _scratch: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def of(cls, order: RunOrder, tools: Readers, rules: Sequence[str] | None = None) -> SharedReads:
        """Return the copies of a run of these rules, or of all that it checks."""
        return cls(
            tools.project, order.chosen if rules is None else rules, tools.subject, order.slot, tools.budget.folder
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._scratch is not None:
            self._scratch.cleanup()

    def __call__(
        self, rule: Rule, fitted: Fitted, subjects: Subjects, progress: Callable[[int], None]
    ) -> CopiedSource | None:
        """Return a copy from which the rule reads what it would read from its source; None if it is to read the source.

        The first rule that reads a dataset makes the copy for those after it. Raises SourceUnavailable.
        """
        if len(self.rules) == 1 or not self._may_share(rule, fitted, subjects):
            return None
        [(name, subject)] = subjects.items()
        place, needed = Place.of(self.project, name), fitted.needed[name]
        if not any(place == read for read, _ in self._copies):
            others = list(self._needed_by_others(rule, place))
            columns = tuple(dict.fromkeys(itertools.chain(needed, *(columns for columns, _ in others))))
            chosen = common([selection(fitted, subjects, self.slot).get(name, ()), *(chosen for _, chosen in others)])
            self._copies.append((place, self._copied(subject, columns, chosen, progress) if others else None))
        copy = next(copy for read, copy in self._copies if place == read)
        is_same = copy is not None and set(needed) <= set(copy.columns) and not copy.skips_by_any_but(needed)
        return copy if is_same else None

    def _may_share(self, rule: Rule, fitted: Fitted, subjects: Subjects) -> bool:
        if len(rule.datasets) != 1 or len(subjects) != 1:  # inside a database nothing is streamed
            return False
        [(name, subject)] = subjects.items()
        return (
            subject.dataset.incremental is None
            and choose(rule, fitted, subjects).engine == "embedded"
            and duck_scan(subject.source, subject.dataset.settings, fitted.needed[name]) is None
        )

    def _needed_by_others(self, rule: Rule, place: Place) -> Iterator[tuple[Sequence[str], Sequence[ColumnComparison]]]:
        """Yield, for each of the run's other rules, the columns that it reads from that place, and the records."""
        for name in self.rules:
            reader = self.project.rules[name]
            if name == rule.name or place not in (Place.of(self.project, dataset) for dataset in reader.datasets):
                continue
            try:
                subjects = subjects_of(reader, self.subject, self.slot)
                fitted = fit(reader, subjects)
                if self._may_share(reader, fitted, subjects):
                    chosen = selection(fitted, subjects, self.slot)
                    yield fitted.needed[reader.dataset], chosen.get(reader.dataset, ())
            except (ConnectorError, RuleUnchecked):
                continue  # its own check reports this

    def _copied(
        self,
        subject: Subject,
        columns: Sequence[str],
        chosen: Sequence[ColumnComparison],
        progress: Callable[[int], None],
    ) -> CopiedSource | None:
        """Return the copy; None if the rules do better alone: a column of another rule cannot be read, or the disk is
        full."""
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="reconcile-", dir=self.folder)
        path = Path(self._scratch.name) / f"{len(self._copies)}.arrow"
        try:
            return CopiedSource(subject.source, subject.dataset.settings, columns, path, progress, chosen)
        except SourceUnavailable:
            raise
        except (ConnectorError, OSError):
            path.unlink(missing_ok=True)
            return None
