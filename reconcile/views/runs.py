"""Runs as every door shows them: a list, and one with its rules, the run before, and what happened in it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from notifications.wording.words import plural
from reconcile.audit import log
from reconcile.coordination.releases import shortened
from reconcile.decisions.refusals import RunUnknown
from reconcile.documents import JsonObject
from reconcile.findings.results import CleaningResult, Outcome, RuleFailure, RuleResult, RunSummary, summary_of
from reconcile.findings.states import State
from reconcile.masking.personal import Masking
from reconcile.masking.public import outcome_json
from reconcile.schedule.slots import slot_text
from reconcile.store import runs as stored
from reconcile.store import unchanged_runs
from reconcile.store.finding_pages import numbers
from reconcile.store.findings import FindingFilter
from reconcile.store.runs import RunRow
from reconcile.store.unchanged_runs import UnchangedRuns
from reconcile.views.audit import EntryView

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.config.settings import Project

EVENTS = 200
"""Events of one run that are shown; the audit log has all of them."""


@dataclass(frozen=True)
class RunView:
    """A run. `summary` is its result, None until it has ended."""

    row: RunRow
    summary: RunSummary | None

    @classmethod
    def of(cls, row: RunRow) -> RunView:
        return cls(row, summary_of(row.summary) if row.summary else None)

    @property
    def release(self) -> str:
        return shortened(self.row.release)

    @property
    def seconds(self) -> float | None:
        """How long the last attempt took; None while it runs."""
        return None if self.row.finished is None else (self.row.finished - self.row.started).total_seconds()

    @property
    def checked(self) -> list[RuleResult]:
        return [rule for rule in self.summary.rules if isinstance(rule, RuleResult)] if self.summary else []

    @property
    def failures(self) -> Mapping[str, Sequence[str]]:
        """The reasons why rules could not be checked, each with its rules."""
        reasons: dict[str, list[str]] = defaultdict(list)
        for rule in self.summary.rules if self.summary else ():
            if isinstance(rule, RuleFailure):
                reasons[rule.failed].append(rule.rule)
        return reasons

    @property
    def new(self) -> int:
        return sum(rule.findings.new for rule in self.checked)

    @property
    def resolved(self) -> int:
        return sum(rule.findings.resolved for rule in self.checked)

    def to_json(self) -> JsonObject:
        return {
            "run": self.row.id,
            "job": self.row.job,
            "slot": slot_text(self.row.slot),
            "status": self.row.status,
        }


@dataclass(frozen=True)
class RuleLine:
    """A rule in a run. `before` is the number of groups of the run before; None if there was none."""

    result: RuleResult
    before: int | None
    at_risk: str
    remarks: Sequence[str]

    @classmethod
    def of(cls, project: Project, result: RuleResult) -> RuleLine:
        hidden = Masking.of(project, result.dataset, result.rule)
        before = next(iter(result.groups_before or ()), None)
        return cls(result, before, hidden.at_risk(result.money), list(_remarks(result)))


@dataclass(frozen=True)
class RunDetail:
    """A run with its rules and events. `has_more` is True if the audit log has more events of it.

    `waiting` counts the plans of its rules that wait for approval now.
    """

    view: RunView
    rules: Sequence[RuleLine]
    events: Sequence[EntryView]
    has_more: bool
    waiting: int


def listed(application: Application, job: str | None, limit: int) -> list[RunView]:
    """Return the latest runs, newest first. Raises StoreError."""
    with application.memory.read() as tx:
        return list(map(RunView.of, stored.listed(tx, job, limit)))


def unchanged(application: Application, job: str | None, limit: int) -> list[UnchangedRuns]:
    """Return the latest days of old runs that changed nothing, newest first. Raises StoreError."""
    with application.memory.read() as tx:
        return unchanged_runs.listed(tx, job, limit)


def detail(application: Application, run: str) -> RunDetail:
    """Return a run. Raises RunUnknown, StoreError."""
    with application.memory.read() as tx:
        row = stored.get(tx, run)
        if row is None:
            raise RunUnknown(run)
        entries = itertools.islice(log.entries(tx, run=run), EVENTS + 1)
        events = list(map(EntryView.of, entries))
    view = RunView.of(row)
    rules = [RuleLine.of(application.project, result) for result in view.checked]
    waiting = plans_waiting(application, [line.result.rule for line in rules])
    return RunDetail(view, rules, events[:EVENTS], len(events) > EVENTS, waiting)


def plans_waiting(application: Application, rules: Sequence[str]) -> int:
    """Return the number of plans of these rules that wait for approval. Raises StoreError."""
    if not rules:
        return 0
    with application.memory.read() as tx:
        return numbers(tx, FindingFilter(tuple(rules))).get(State.AWAITING, 0)


def detail_to_json(application: Application, view: RunView) -> JsonObject:
    """Return a run with the results of its rules as public JSON."""
    row, outcomes = view.row, view.summary.rules if view.summary else ()
    times = {"started": row.started.isoformat(), "finished": row.finished and row.finished.isoformat()}
    rules = [outcome_json(outcome, _hidden(application.project, outcome)) for outcome in outcomes]
    return view.to_json() | times | {"release": row.release, "rules": rules}


def _hidden(project: Project, outcome: Outcome) -> Masking:
    return Masking.of(project, outcome.dataset, outcome.rule) if isinstance(outcome, RuleResult) else Masking()


def cleaning_counts(cleaning: CleaningResult) -> str:
    """Return the counts of a cleaning in words; empty if it did nothing."""
    counts = {
        "cleaned": cleaning.cleaned,
        "proposed": cleaning.proposed,
        "skipped, and planned again": cleaning.stale,
        "would be cleaned": cleaning.would_clean,
        "would be proposed": cleaning.would_propose,
        "waiting": cleaning.waiting,
        "failed": cleaning.failed,
        "in quarantine": cleaning.quarantined,
    }
    return ", ".join(f"{number:,} {word}" for word, number in counts.items() if number)


def _remarks(result: RuleResult) -> Iterator[str]:
    """Yield what a reader should know about the numbers of a rule."""
    cleaning = result.cleaning
    yield from filter(None, (result.mode_sentence, *result.renamed, cleaning_counts(cleaning)))
    for sentence, number in cleaning.not_planned.items():
        yield f"{plural(number, 'finding', 'findings')} not planned: {sentence}"
    sentences = (cleaning.stopped, cleaning.uncounted, cleaning.doubt, cleaning.next_run, cleaning.asked_before)
    yield from filter(None, (*sentences, *cleaning.reasons))
    yield from (entry.sentence for entry in result.skipped)
