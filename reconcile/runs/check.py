"""Check a rule: the steps that a run and a dry run share. Whatever is stored, their caller stores."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any, TypeVar

from connectors.base import Source
from connectors.errors import ConnectorError, SourceUnavailable
from connectors.target import Target
from reconcile.config.settings import JobConfig, Project
from reconcile.detection.bounded import TimeLimits, bounded, detected
from reconcile.detection.detect import (
    Budget,
    Detected,
    RuleDoesNotFit,
    RuleUnchecked,
    Share,
    definition_of,
    versions_of,
)
from reconcile.detection.increments import Earlier, Mode
from reconcile.detection.plausible import Unlikely
from reconcile.detection.subject import Subject
from reconcile.findings.identity import Existing, RuleIdentity, public
from reconcile.findings.results import FindingCounts, RuleFailure, RuleResult
from reconcile.masking.personal import Masking
from reconcile.telemetry import defects
from reconcile.tracking.remember import RuleOutcome
from rules.engines.base import Choice, Unanswerable
from rules.groups.detection import Detection
from rules.groups.forms import counted
from rules.groups.implausible import KeyTooCommon
from rules.groups.scope import Scope
from rules.kinds.base import Rule

ACTOR = "reconcile"
T = TypeVar("T")


@dataclass(frozen=True)
class RunOrder:
    """An order to run a job, or some of its rules, for one slot.

    `trigger` is what made it due: `manual`, `rules` (only some of them) or `slot` by hand; `schedule`, `after`,
    `file` or `request` under `serve`. `full`: all records are read, whatever the datasets say of incremental runs.
    """

    job: JobConfig
    slot: dt.datetime
    trigger: str = "manual"
    rules: tuple[str, ...] = ()
    actor: str = ACTOR
    full: bool = False

    @classmethod
    def to_read(cls, project: Project, rule: str, slot: dt.datetime) -> RunOrder:
        """Return an order to check one rule, within the time limits of the first job that runs it."""
        jobs = (job for job in project.jobs.values() if rule in job.rules)
        return cls(next(jobs, JobConfig("", (rule,))), slot, rules=(rule,))

    @property
    def chosen(self) -> tuple[str, ...]:
        return self.rules or self.job.rules


@dataclass(frozen=True, kw_only=True)
class Readers:
    """The resources of a run that only reads.

    `version` is that of Reconcile. `watch` gets (rule, records read so far) and may raise to stop the run; `stop` ends
    the reads of a dataset's source.
    """

    project: Project
    subject: Callable[[str], Subject]
    budget: Budget
    watch: Callable[[str, int], None] = lambda _rule, _read: None
    stop: Callable[[str], None] = lambda _dataset: None
    source: Callable[[str], Source]
    """Return the source of that name."""
    target: Callable[[str], Target] | None = None
    """Return the source of that name as a Target, whose records can be changed; None: nothing is cleaned."""
    version: str = ""


def check(
    rule: Rule,
    order: RunOrder,
    tools: Readers,
    judge: Callable[[Rule, RuleIdentity, Detected], T],
    *,
    fail: Callable[[RuleFailure, Exception], None] = lambda _failure, _error: None,
    alive: Callable[[], None] = lambda: None,
    earlier: Earlier | None = None,
    share: Share | None = None,
) -> T | RuleFailure:
    """Detect within the limits of the job, and `judge` the answer against the known findings.

    `earlier` is what the state holds of the rule's runs, if its dataset asks for incremental ones. `share` gives copies
    of datasets that other rules of the run read too.

    A rule that cannot be checked is a failure, so that it never looks like a clean result; `fail` stores it. So is a
    defect of ours, which may be in this rule alone: the others are still checked. The detection thread does not write
    to the store.
    """
    try:
        mark = None if earlier is None else _content(rule, order, tools, alive, earlier)
        if earlier is not None and mark is not None and earlier.why_full is None and mark == earlier.mark:
            unread = _unread(rule, order, tools, earlier, Mode("unchanged", "its files are the same", mark))
            return judge(rule, *unread)
        identity, answer = _detected(rule, order, tools, alive, earlier, share)
        if earlier is not None and mark is not None:
            is_same = _content(rule, order, tools, alive, earlier) == mark
            why = earlier.why_full or "its files changed"
            answer = replace(answer, mode=Mode("full", why, mark if is_same else None))
        return judge(rule, identity, answer)
    except Exception as error:
        is_defect = not isinstance(error, _UNCHECKED) and defects.is_defect(error)
        if not (is_defect or isinstance(error, _UNCHECKED)):
            raise
        tools.watch(rule.name, 0)  # raises after Ctrl-C, which can look like an error of the engine
        failure = RuleFailure(
            rule=rule.name,
            dataset=rule.dataset,
            severity=rule.severity.name,
            failed=defects.sentence(error, left=_LEFT) if is_defect else _sentence(rule, tools.project, error),
            subject=f"source {error.source}" if isinstance(error, SourceUnavailable) else f"rule {rule.name}",
            misfit=isinstance(error, RuleDoesNotFit),
            defect=is_defect,
            unlikely={error.dataset: astuple(error.counts)} if isinstance(error, Unlikely) else {},
        )
        fail(failure, error)
        return failure


_UNCHECKED = (ConnectorError, RuleUnchecked, Unanswerable)
_LEFT = "the findings of this rule are unchanged; the other rules are checked"


def _sentence(rule: Rule, project: Project, error: Exception) -> str:
    if isinstance(error, RuleDoesNotFit):
        return project.at_setting(rule.name, str(error), error.mistakes[0])
    if isinstance(error, KeyTooCommon):
        hidden = Masking.of(project, rule.dataset, rule.name)
        return error.with_largest(lambda column, value: hidden.of_key(column, public(value), rule.member_datasets))
    return str(error)


def _detected(
    rule: Rule,
    order: RunOrder,
    tools: Readers,
    alive: Callable[[], None],
    earlier: Earlier | None,
    share: Share | None,
) -> tuple[RuleIdentity, Detected]:
    alive()
    try:
        answer = detected(
            rule,
            order.job,
            order.slot,
            tools.budget,
            subject=tools.subject,
            stop=tools.stop,
            watch=tools.watch,
            alive=alive,
            earlier=earlier,
            share=share,
        )
    finally:
        alive()
    existing = Existing(order.job.existing)
    return RuleIdentity.of(rule, existing=existing, dataset_definition=answer.definition), answer


def _content(
    rule: Rule, order: RunOrder, tools: Readers, alive: Callable[[], None], earlier: Earlier
) -> Mapping[str, Any] | None:
    """Return digests of the files that the rule reads, within the limits of the job; None if it reads anything else."""
    contents = earlier.contents
    if contents is None:
        return None
    limits = TimeLimits(order.job.time_limit, order.job.stall, order.job.name)
    return bounded(
        contents.mark, rule.name, limits, stop=lambda: None, watch=partial(tools.watch, rule.name), alive=alive
    )


def _unread(rule: Rule, order: RunOrder, tools: Readers, earlier: Earlier, mode: Mode) -> tuple[RuleIdentity, Detected]:
    """Return the answer of a rule whose files are as they were: it looked at no key."""
    definition = definition_of(map(tools.project.datasets.__getitem__, rule.datasets))
    detection = Detection(rule=rule.name, engine="none", read=0, scanned=0, skipped=(), groups=(), scope=Scope(()))
    choice = Choice("none", "its files did not change since they were read")
    versions = versions_of(() if earlier.contents is None else earlier.contents.datasets)
    answer = Detected(detection, choice, {}, 0.0, definition, {}, None, mode, versions=versions)
    existing = Existing(order.job.existing)
    return RuleIdentity.of(rule, existing=existing, dataset_definition=definition), answer


def result_of(
    rule: Rule, answer: Detected, outcome: RuleOutcome, groups_before: tuple[int, ...] | None = None
) -> RuleResult:
    """Return one rule's part of the report, before cleaning."""
    detection = answer.detection
    return RuleResult(
        rule=rule.name,
        dataset=rule.dataset,
        severity=rule.severity.name,
        engine=answer.choice.engine,
        reason=answer.choice.reason,
        read=detection.read,
        scanned=detection.scanned,
        skipped=answer.left_out,
        groups=outcome.groups,
        findings=FindingCounts(
            new=outcome.new,
            known=outcome.known,
            grown=outcome.grown,
            resolved=outcome.resolved,
            reopened=outcome.reopened,
            merged=outcome.merged,
            settled=outcome.settled,
        ),
        money=outcome.money,
        first_run=outcome.first_run,
        edited=outcome.edited,
        seconds=round(answer.seconds, 3),
        groups_before=groups_before,
        datasets=rule.member_datasets if len(rule.member_datasets) > 1 else (),
        forms=outcome.forms,
        in_words=counted(outcome.forms, rule.form_words),
        differing=outcome.differing,
        balance=detection.balance,
        matched=detection.matched,
        not_yet_due=detection.not_yet_due,
        interchangeable=detection.interchangeable,
        read_of=detection.read_of,
        scanned_of=detection.scanned_of,
        mode="" if answer.mode is None else answer.mode.name,
        mode_reason="" if answer.mode is None else answer.mode.reason,
        missed=outcome.missed,
        versions=answer.versions,
    )
