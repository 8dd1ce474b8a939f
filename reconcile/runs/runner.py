"""One run, readable top to bottom: claim the slot, check each rule, clean, queue messages, end. Every step is one
transaction.

Job and slot identify a run. A second trigger finds it running or done, or continues from the last checkpoint of a dead
worker. The job's lease protects all writes.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from notifications.base import Channel
from reconcile.audit import facts, log
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.planning import shape
from reconcile.cleaning.planning.binding import binding_of
from reconcile.coordination import clock, lease, pauses, releases
from reconcile.detection import plausible
from reconcile.detection.detect import Detected, Share
from reconcile.documents import JsonObject
from reconcile.findings import results
from reconcile.findings.identity import RuleIdentity
from reconcile.findings.results import CleaningResult, Outcome, RuleFailure, RuleResult, RunSummary
from reconcile.findings.shown import Finding
from reconcile.findings.states import WAITING, Event, PlanState, State
from reconcile.journal import effects, limits
from reconcile.messages import datasets, delivery, escalation, watchdog
from reconcile.messages.run_news import EndedRun, tell
from reconcile.runs import history, ranks, recognition, renaming
from reconcile.runs.check import ACTOR, Readers, RunOrder, check, result_of
from reconcile.runs.listing import Lists
from reconcile.runs.report import RunReport
from reconcile.runs.shared import SharedReads
from reconcile.schedule import retry, slots
from reconcile.store import (
    Store,
    Transaction,
    finding_memory,
    plans,
    remembered,
    uncertain_pairs,
    unchanged_runs,
)
from reconcile.store import findings as stored_findings
from reconcile.store import runs as stored
from reconcile.store import slots as stored_slots
from reconcile.telemetry import defects, traces
from reconcile.tracking import judged_pairs, progress, remember, uncertain
from reconcile.tracking.renaming import Renamed
from rules.groups.implausible import KeyTooCommon
from rules.kinds.base import Rule
from rules.models import Severity
from rules.values.packed import Packed

LEASE = dt.timedelta(seconds=60)
LATER = dt.timedelta(minutes=1)
"""How much longer the lease tolerates silence than a rule's `stall`, so that only the rule ends, not the run."""


@dataclass(frozen=True, kw_only=True)
class Equipment(Readers):
    """The resources of a run.

    `sleep` waits seconds. Without `delivers` another process empties the outbox; `lists` says which findings the report
    lists.
    """

    store: Store
    channels: Mapping[str, Channel]
    sleep: Callable[[float], None] = time.sleep
    delivers: bool = True
    lists: Lists = Lists.ALL
    spans: traces.Spans = traces.NOWHERE


def run(order: RunOrder, tools: Equipment) -> RunReport:
    """Run the job for the slot and deliver its messages, unless it ran already or runs in another process.

    Raises a StoreError, LeaseLost or Paused; then the next run continues from here.
    """
    run_id = slots.run_id(order.job.name, order.slot)
    job_lease = lease.acquire(tools.store, f"job:{order.job.name}", LEASE)
    if isinstance(job_lease, lease.LeaseHeld):
        return RunReport.under_way(order.job.name, order.slot, run_id, str(job_lease.by))
    with lease.Heartbeat(tools.store, job_lease, stall=order.job.stall + LATER) as heart:
        current_run = _Run(order, tools, run_id, job_lease, heart)
        try:
            report = current_run.ended_before() or current_run.traced()
        finally:
            lease.give_back(tools.store, job_lease)
    if not tools.delivers:
        return report
    return report.delivered(delivery.deliver_all(tools.store, tools.project, tools.channels, sleep=tools.sleep))


@dataclass
class _Run:
    """One run in progress."""

    order: RunOrder
    tools: Equipment
    id: str
    held: lease.Lease
    heart: lease.Heartbeat
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    renamed: dict[str, list[str]] = field(default_factory=dict)
    """Sentences on records that this run renamed, by the rule that it checked then."""

    @property
    def job(self) -> str:
        return self.order.job.name

    def ended_before(self) -> RunReport | None:
        """Return the report of a run that succeeded before: a second trigger of a slot ends here."""
        with self.tools.store.read() as tx:
            row = stored.get(tx, self.id) or unchanged_runs.of_slot(tx, self.id, self.job, self.order.slot)
            if row is None or row.status != "succeeded":
                return None
            summary = results.summary_of(row.summary)
            findings = _seen_by(tx, row, summary, self.tools.lists)
            waiting = replace(_of_ended(row, summary), states=tuple(WAITING))
            worst_open = stored_findings.worst(tx, waiting) if summary.checked else None
            return RunReport.of(summary, findings, worst_open, repeated=True)

    def traced(self) -> RunReport:
        order = self.order
        attributes = {"job": self.job, "run": self.id, "slot": slots.slot_text(order.slot), "trigger": order.trigger}
        with self.tools.spans.span("reconcile.run", **attributes) as span:
            report = self.run_steps()
            span.tell(status=report.status)
            if report.status == "failed":
                span.failed()
            return report

    def run_steps(self) -> RunReport:
        attempt = self.begin()
        unchecked = [name for name in self.order.chosen if name not in self.outcomes]
        with SharedReads.of(self.order, self.tools, unchecked) as share:
            for name in unchecked:
                self.check_paused()
                self.outcomes[name] = self.traced_check(self.tools.project.rules[name], share)
        self.clean()
        report = self.end(attempt)
        watchdog.targets(self.tools.store, self.tools.project)  # plans that waited for a target may be over
        return report

    def clean(self) -> None:
        """Clean after all checks: highest severity first, then in the job's order. Each rule has its own checkpoint."""
        chosen = self.order.chosen
        rules = [rule for name in chosen if (rule := self.tools.project.rules[name]).clean is not None]
        for rule in sorted(rules, key=lambda rule: (-rule.severity, chosen.index(rule.name))):
            result = self.outcomes[rule.name]
            if isinstance(result, RuleResult) and not result.cleaning.is_done:
                self.check_paused()
                cleaned = replace(result, cleaning=self._cleaning_or_defect(rule, result))
                self.outcomes[rule.name] = cleaned
                if _has_failed(cleaned):
                    continue  # another attempt of this run goes on with its cleaning
                with self.owned() as tx:
                    stored.checkpoint(tx, self.id, rule.name, "done", results.to_json(cleaned))

    def _cleaning_or_defect(self, rule: Rule, result: RuleResult) -> CleaningResult:
        """Clean; a defect of ours ends the cleaning of this rule alone. Its plans are resolved like those of a kill."""
        try:
            return self.traced_cleaning(rule, result)
        except Exception as error:
            if not defects.is_defect(error):
                raise
            with self.owned() as tx:
                done = plans.counts(tx, rule.name, run=self.id).get(PlanState.SUCCEEDED, 0)
                body = {"run": self.id, "rule": rule.name, "error": type(error).__name__}
                log.append(tx, ACTOR, "rule.failed", rule.name, body)
            stopped = defects.sentence(error, left="the cleaning of this rule ended there, and other rules are cleaned")
            return replace(result.cleaning, cleaned=done, stopped=stopped, defect=True)

    def traced_cleaning(self, rule: Rule, result: RuleResult) -> CleaningResult:
        from reconcile.cleaning import cleaning  # noqa: PLC0415 - most runs clean nothing

        assert self.tools.target is not None  # noqa: S101 - a project with rules that clean has targets
        tools = cleaning.Cleaner(
            self.tools.store,
            Terms(self.tools.project),
            self.tools.target,
            self.tools.subject,
            self.owned,
            self.id,
            self.order.slot,
            alive=lambda: self.alive(rule),
            sleep=self.tools.sleep,
        )
        with self.tools.spans.span("reconcile.clean", job=self.job, rule=rule.name, dataset=rule.dataset) as span:
            cleaned = cleaning.clean(rule, result, tools)
            span.tell(cleaned=cleaned.cleaned or 0, proposed=cleaned.proposed or 0)
            return cleaned

    @contextmanager
    def owned(self) -> Iterator[Transaction]:
        """Begin a transaction that commits only if this process still owns the run."""
        with self.tools.store.begin() as tx:
            lease.check(tx, self.held)
            yield tx

    def alive(self, rule: Rule) -> None:
        self.heart.progress()
        self.tools.watch(rule.name, 0)

    def check_paused(self) -> None:
        """Raise Paused if a person paused the job meanwhile; its checks are kept until it is resumed."""
        with self.tools.store.read() as tx:
            pauses.refuse(tx, self.job)

    def begin(self) -> int:
        """Store the run's row, and load what an earlier attempt finished."""
        project = self.tools.project
        with self.tools.store.begin() as tx:
            lease.check(tx, self.held)
            pauses.refuse(tx, self.job)
            clock.shorten_waits(tx, project.longest_retry)
            releases.refuse_another(tx, project)
            releases.keep(tx, project)
            uncertain_pairs.keep_only(tx, [name for name, rule in project.rules.items() if rule.learns])
            for run in stored.interrupt_others(tx, self.job, self.id):
                log.append(tx, ACTOR, "run.interrupted", run.id, _beginning(run) | {"found_by": self.id})
            order, earlier = self.order, stored.get(tx, self.id)
            attempt = stored.start(tx, self.id, self.job, order.slot, project.release, order.trigger, self.held.fence)
            if attempt > 1:  # the entry of its end tells that a run began
                self._log(tx, "run.resumed", {})
            self.outcomes = self._finished_before(tx, earlier)
            return attempt

    def _log(self, tx: Transaction, event: str, body: Mapping[str, Any]) -> None:
        """Write an entry about this run that also tells how it began."""
        row = stored.get(tx, self.id)
        assert row is not None  # noqa: S101 - stored by `begin`
        log.append(tx, self.order.actor, event, self.id, _beginning(row) | {"rules": list(self.order.chosen), **body})

    def _finished_before(self, tx: Transaction, earlier: stored.RunRow | None) -> dict[str, Outcome]:
        """Return the checkpoints if they were made with the same configuration; after an edit all is checked again."""
        if earlier is None or earlier.release != self.tools.project.release:
            return {}
        checkpoints = stored.checkpoints(tx, self.id).items()
        return {name: results.outcome_of(outcome) for name, outcome in checkpoints if name in self.order.chosen}

    def traced_check(self, rule: Rule, share: Share) -> Outcome:
        with self.tools.spans.span("reconcile.rule", job=self.job, rule=rule.name, dataset=rule.dataset) as span:
            outcome = self.check(rule, share)
            if isinstance(outcome, RuleFailure):
                span.failed()
            else:
                span.tell(engine=outcome.engine, records=outcome.scanned, groups=outcome.groups)
            return outcome

    def check(self, rule: Rule, share: Share) -> Outcome:
        """Check a rule; once more if records of its datasets had other names in the state than it read."""
        while isinstance(outcome := self._check(rule, share), Renamed):
            self.heart.progress()
        return outcome

    def _check(self, rule: Rule, share: Share) -> Outcome | Renamed:
        """Detect, then update the rule's findings and store the checkpoint in one transaction."""
        start = time.monotonic()
        tools = self.tools
        order = self.order
        earlier = history.earlier(tools.store, tools.project, rule, order.slot, self.id, tools.source, full=order.full)

        def judge(rule: Rule, identity: RuleIdentity, answer: Detected) -> RuleResult | Renamed:
            if (renamed := self._rename_records(rule, answer)).records:
                return renamed
            with self.owned() as tx:
                if renaming.outdated(tx, rule, answer, shared=True):
                    raise renaming.IdsUnsteady(rule.name)
                if answer.detection.scope is None:
                    plausible.refuse(rule, identity, answer, tx, self.id)
                self._void_obsolete(tx, rule)
                begun = start if answer.begun is None else min(start, answer.begun)
                read_at = tx.now - dt.timedelta(seconds=time.monotonic() - begun)
                result = self._remember(tx, rule, identity, answer, read_at)
                scope = answer.detection.scope
                if rule.learns and (scope is None or scope.records is not None):
                    uncertain.keep(tx, rule, answer.detection.uncertain, scope)
                if earlier is not None:
                    history.keep(tx, self.tools.project, rule, answer, earlier, self.order.slot, self.id, result.missed)
                else:
                    remembered.forget(tx, rule.name)
                reason = None if rule.clean is None else self._shape_reason(tx, rule, answer)
                if reason is not None:
                    stop = limits.stop(tx, limits.of_rule(rule.name), reason)
                    result = replace(result, cleaning=CleaningResult(stopped=stop, refused=True))
                stored.checkpoint(tx, self.id, rule.name, "done", results.to_json(result))
                return result

        with self.tools.store.read() as tx:
            rule_with_pairs = judged_pairs.with_judged(tx, rule)
            tools = self.tools
            prepared = recognition.recognising(tx, tools.project, rule_with_pairs, self.order.slot, tools.version)
        alive = self.heart.progress
        fail, order = self._keep_failure, self.order
        return check(prepared, order, self.tools, judge, fail=fail, alive=alive, earlier=earlier, share=share)

    def _rename_records(self, rule: Rule, answer: Detected) -> Renamed:
        """Rename records of the rule's datasets that have other names in the state than in the answer."""
        with self.tools.store.read() as tx:
            datasets = renaming.outdated(tx, rule, answer)
        if datasets and rule.name in self.renamed:
            raise renaming.IdsUnsteady(rule.name)
        if not datasets:
            return Renamed()
        wanted = [renaming.renaming_of(named, self.order, self.tools, rule, self.heart.progress) for named in datasets]
        total, sentences = Renamed(), list[str]()
        with self.owned() as tx:
            for named, new_names in zip(datasets, wanted, strict=True):
                renamed, sentence = renaming.apply(tx, named, new_names, self.id)
                total = Renamed(total.records + renamed.records, total.findings + renamed.findings)
                sentences += [sentence] if sentence else []
        self.renamed[rule.name] = sentences
        return total

    def _shape_reason(self, tx: Transaction, rule: Rule, answer: Detected) -> str | None:
        binding = binding_of(self.tools.project, rule)
        return shape.refuse(tx, rule, answer, self.id, binding)

    def _void_obsolete(self, tx: Transaction, rule: Rule) -> None:
        """Void the plans of a rule that no longer cleans, or whose records are in another source now."""
        source = self.tools.project.datasets[rule.cleaned].source
        if rule.clean is None:
            void = effects.homeless(tx, rule.name, None, f"Rule {rule.name!r} no longer cleans.")
        else:
            void = effects.homeless(tx, rule.name, source, f"The records of {rule.cleaned!r} are now in {source!r}.")
        moves = [progress.Transition(plan.finding, Event.VOIDED, plan.id, plan.reason) for plan in void]
        progress.move(tx, moves, by=ACTOR, run=self.id)

    def _remember(
        self, tx: Transaction, rule: Rule, identity: RuleIdentity, answer: Detected, read_at: dt.datetime
    ) -> RuleResult:
        detection = answer.detection
        expected = None if answer.mode is None else answer.mode.expected
        identity = replace(identity, hides_amounts=ranks.hides_amounts(self.tools.project, rule))
        outcome = remember.record(
            tx, self.id, identity, detection.groups, read_at=read_at, scope=detection.scope, expected=expected
        )
        before = stored.seen_before(tx, rule.dataset, rule.name, self.id)
        if detection.scope is None:
            for dataset in rule.datasets:
                stored.keep_seen(tx, self.id, dataset, rule.name, plausible.counts_of(answer, dataset))
        elif before and len(rule.datasets) == 1:  # the next full run compares its number of groups with these
            stored.keep_seen(tx, self.id, rule.dataset, rule.name, replace(before[0], groups=outcome.groups))
        result = result_of(rule, answer, outcome, tuple(counts.groups for counts in before))
        return replace(result, renamed=tuple(self.renamed.get(rule.name, ())))

    def _keep_failure(self, failure: RuleFailure, error: Exception) -> None:
        with self.owned() as tx:
            stored.checkpoint(tx, self.id, failure.rule, "failed", results.to_json(failure))
            body = {"run": self.id, "rule": failure.rule, "error": type(error).__name__}
            body["why"] = str(error) if isinstance(error, KeyTooCommon) else failure.failed  # no values of records
            log.append(tx, ACTOR, "rule.failed", failure.rule, body)

    def end(self, attempt: int) -> RunReport:
        """Queue messages, record failures that began or ended, and end the run, in one transaction."""
        project = self.tools.project
        failed = [name for name, outcome in self.outcomes.items() if _has_failed(outcome)]
        with self.tools.store.begin() as tx:
            lease.check(tx, self.held)
            stored.take_turns(tx, self.order.chosen)
            self._add_killed_runs(tx)
            again = self._next_attempt(tx) if failed else None
            outcomes = tuple(self.outcomes.values())
            ended = EndedRun(self.order.job, self.id, self.order.slot, attempt, self.order.chosen, outcomes, again)
            messages = [*tell(tx, project, ended), *escalation.tell(tx, project, self.order.chosen)]
            datasets.tell(tx, project, ended)
            summary = RunSummary(
                run=self.id,
                job=self.job,
                slot=self.order.slot,
                release=project.release,
                status="failed" if failed else "succeeded",
                attempt=attempt,
                rules=tuple(self.outcomes[name] for name in self.order.chosen),
                messages=tuple(messages),
                checked=self.order.chosen,
                unchanged=attempt == 1 and not messages and all(map(results.changed_nothing, outcomes)),
            )
            stored.finish(tx, self.id, summary.status, results.to_json(summary))
            bindings = self._bindings()
            log.touch(tx, facts.RULE, bindings)
            finding_memory.ended(tx, self.id, bindings)
            self._log(tx, "run.finished", {"status": summary.status, "failed": failed})
            return RunReport.of(summary, self._findings(tx, self.order.chosen), self._worst_open(tx, self.order.chosen))

    def _bindings(self) -> dict[str, str | None]:
        """Return the binding of each rule's plans, None for a rule without `clean`; unknown ones are left out."""
        idle = {name: None for name in self.outcomes if self.tools.project.rules[name].clean is None}
        planned = {name: outcome.cleaning.binding for name, outcome in self.outcomes.items()}
        return idle | {name: binding for name, binding in planned.items() if binding is not None}

    def _add_killed_runs(self, tx: Transaction) -> None:
        """Add the cleanings of killed runs, which could not report them."""
        for run in stored.never_ended(tx, self.job):
            for name, outcome in self.outcomes.items():
                if cleaned := plans.counts(tx, name, run=run).get(PlanState.SUCCEEDED):
                    of_killed = {**outcome.cleaning.of_killed, run: cleaned}
                    self.outcomes[name] = replace(outcome, cleaning=replace(outcome.cleaning, of_killed=of_killed))

    def _next_attempt(self, tx: Transaction) -> dt.datetime | None:
        """Return when `serve` repeats this failed run; None if it does not."""
        row = stored_slots.get(tx, self.job, self.order.slot)
        if row is None or row.status != "running":
            return None
        delay = retry.of_run(row.job, row.slot, row.attempts, tx.now - row.created_at)
        return None if delay is None else tx.now + delay

    def _findings(self, tx: Transaction, rules: Sequence[str]) -> Sequence[Finding]:
        """Return the run's findings, without those that an earlier attempt found and this one resolved."""
        if self.tools.lists is Lists.NONE:
            return ()
        changed_in = self.id if self.tools.lists is Lists.CHANGED else None
        criteria = stored_findings.FindingFilter(rules=tuple(rules), run=self.id, changed_in=changed_in)
        findings = stored_findings.each(tx, criteria)
        return _listed(finding for finding in findings if finding.state not in (State.RESOLVED, State.MERGED))

    def _worst_open(self, tx: Transaction, rules: Sequence[str]) -> Severity | None:
        """Return the gravest severity of the run's findings that wait for a decision now."""
        criteria = stored_findings.FindingFilter(rules=tuple(rules), states=tuple(WAITING), run=self.id)
        return stored_findings.worst(tx, criteria) if rules else None


def _beginning(run: stored.RunRow) -> JsonObject:
    """Return what the log tells of a run's beginning. The entry of its end tells it, so most runs have one entry."""
    times = {"slot": slots.slot_text(run.slot), "started": slots.slot_text(run.started)}
    body = {"run": run.id, "job": run.job, "attempt": run.attempt, "release": run.release, "trigger": run.trigger}
    return body | times


def _has_failed(outcome: Outcome) -> bool:
    """Return True if a rule was not checked, or its cleaning did not end: it waits for its target, or is a defect."""
    return isinstance(outcome, RuleFailure) or outcome.cleaning.defect or outcome.cleaning.held_up


def _seen_by(tx: Transaction, run: stored.RunRow, summary: RunSummary, lists: Lists) -> Sequence[Finding]:
    """Return the current state of the findings of a run that ended."""
    if lists is Lists.NONE:
        return ()
    changed_in = run.id if lists is Lists.CHANGED else None
    return _listed(stored_findings.each(tx, replace(_of_ended(run, summary), changed_in=changed_in)))


def _of_ended(run: stored.RunRow, summary: RunSummary) -> stored_findings.FindingFilter:
    """Return the filter of a run's findings: known by its end, and seen by it or by a later run."""
    known_by = run.finished or run.started
    return stored_findings.FindingFilter(rules=summary.checked, known_by=known_by, seen_since=run.started)


def _listed(findings: Iterable[Finding]) -> Packed[Finding]:
    return Packed(finding for finding in findings if finding.members)
