"""One run, readable top to bottom: claim the slot, check each rule, clean, tell people, end. Every step is one
transaction.

A run is known by its job and slot. Whoever triggers it again finds it: under way, done, or left by a dead worker and
then gone on with from its last checkpoint. All writes stand under the job's lease.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from connectors.errors import ConnectorError, is_of_the_source
from connectors.target import Target
from notifications.base import Channel
from reconcile.audit import facts, log
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.planning import shape
from reconcile.cleaning.planning.binding import binding_of
from reconcile.config.settings import JobConfig, Project
from reconcile.coordination import clock, lease, pauses, releases
from reconcile.detection.bounded import RuleEnded, detected
from reconcile.detection.detect import Budget, Detected, RuleDoesNotFit, Subject
from reconcile.findings.identity import Existing, RuleIdentity
from reconcile.findings.operations import BundleState
from reconcile.findings.shown import Finding, to_json
from reconcile.findings.states import Event, State
from reconcile.journal import effects, limits
from reconcile.messages import delivery, failing, notify, outbox
from reconcile.runs import plausible
from reconcile.runs.report import RunReport, outcome_json
from reconcile.schedule import slots
from reconcile.store import Store, Transaction, bundles, finding_memory
from reconcile.store import findings as stored_findings
from reconcile.store import runs as stored
from reconcile.telemetry import traces
from reconcile.tracking import progress, remember
from rules.engines.base import Unanswerable
from rules.kinds.base import Rule
from rules.packed import Packed

LEASE = dt.timedelta(seconds=60)
LATER = dt.timedelta(minutes=1)
"""How much longer the lease bears silence than a rule may be silent: so the rule is ended, and not the run."""
ACTOR = "reconcile"


@dataclass(frozen=True)
class Order:
    """What is to be run: a job, or some of its rules, for one slot.

    `trigger` is what made it due: `manual`, `rules` (some of them only) or `slot` by hand; `schedule`, `after`,
    `file` or `request` under `serve`.
    """

    job: JobConfig
    slot: dt.datetime
    trigger: str = "manual"
    rules: tuple[str, ...] = ()
    actor: str = ACTOR

    @property
    def chosen(self) -> tuple[str, ...]:
        return self.rules or self.job.rules


@dataclass(frozen=True)
class Equipment:
    """What a run works with. `watch` is told what is happening: (rule, records read so far), and may
    raise to stop the run; `stop` ends the reads of a dataset's source; `sleep` waits seconds; without `delivers`
    somebody else empties the outbox, and without `lists` nobody looks at the report's list of findings."""

    project: Project
    store: Store
    subject: Callable[[str], Subject]
    channels: Mapping[str, Channel]
    budget: Budget
    watch: Callable[[str, int], None] = lambda _rule, _read: None
    sleep: Callable[[float], None] = time.sleep
    delivers: bool = True
    lists: bool = True
    stop: Callable[[str], None] = lambda _dataset: None
    spans: traces.Spans = traces.NOWHERE
    target: Callable[[str], Target] | None = None
    """The source of that name as one whose records can be changed; None: nothing is cleaned."""


def run(order: Order, tools: Equipment) -> RunReport:
    """Run the job for the slot, or find that it ran, or that somebody else is at it. Delivers what people are told.

    Raises a StoreError, LeaseLost or Paused; then the next run goes on from here.
    """
    run_id = slots.run_id(order.job.name, order.slot)
    held = lease.acquire(tools.store, f"job:{order.job.name}", LEASE)
    if isinstance(held, lease.LeaseHeld):
        return RunReport.under_way(order.job.name, order.slot, run_id, str(held.by))
    with lease.Heartbeat(tools.store, held, stall=order.job.stall + LATER) as heart:
        work = _Run(order, tools, run_id, held, heart)
        try:
            report = work.ended_before() or work.traced()
        finally:
            lease.give_back(tools.store, held)
    return report.told(_deliver(tools)) if tools.delivers else report


def _deliver(tools: Equipment) -> delivery.Report:
    """To every configured channel: messages that earlier runs could not deliver are tried again by any job."""
    configured = tools.project.channels
    ask = [name for name, channel in configured.items() if channel.settings.on_unknown == "person"]
    channels = {name: tools.channels[name] for name in configured}
    return delivery.deliver(tools.store, channels, ask_a_person=ask, sleep=tools.sleep)


@dataclass
class _Run:
    """One run while it lasts."""

    order: Order
    tools: Equipment
    id: str
    held: lease.Lease
    heart: lease.Heartbeat
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def job(self) -> str:
        return self.order.job.name

    def ended_before(self) -> RunReport | None:
        """The report of a run that ended well already: a second trigger of a slot finds it and stops."""
        with self.tools.store.read() as tx:
            known = stored.get(tx, self.id)
            if known is None or known.status != "succeeded":
                return None
            return RunReport.again(known.summary, _seen_by(tx, known) if self.tools.lists else ())

    def traced(self) -> RunReport:
        order = self.order
        said = {"job": self.job, "run": self.id, "slot": slots.slot_text(order.slot), "trigger": order.trigger}
        with self.tools.spans.span("reconcile.run", **said) as span:
            report = self.through()
            span.tell(status=report.status)
            if report.status == "failed":
                span.failed()
            return report

    def through(self) -> RunReport:
        attempt = self.begin()
        for name in self.order.chosen:
            if name not in self.outcomes:
                self.go_on()
                rule = self.tools.project.rules[name]
                self.outcomes[name] = self.traced_check(rule)
        self.clean()
        return self.end(attempt)

    def clean(self) -> None:
        """After all rules have looked, the worst first, then in the job's order; what is done is its own checkpoint."""
        chosen = self.order.chosen
        rules = [rule for name in chosen if (rule := self.tools.project.rules[name]).clean is not None]
        rules = [rule for rule in rules if "failed" not in self.outcomes[rule.name]]
        for rule in sorted(rules, key=lambda rule: (-rule.severity, chosen.index(rule.name))):
            outcome = self.outcomes[rule.name]
            if "cleaned" not in outcome.get("cleaning", {}):
                self.go_on()
                outcome["cleaning"] = outcome.get("cleaning", {}) | self.traced_cleaning(rule, outcome)
                with self.begun() as tx:
                    stored.checkpoint(tx, self.id, rule.name, "done", outcome)

    def traced_cleaning(self, rule: Rule, outcome: Mapping[str, Any]) -> dict[str, Any]:
        from reconcile.cleaning import cleaning  # noqa: PLC0415 - most runs clean nothing

        assert self.tools.target is not None  # noqa: S101 - whoever has rules that clean has targets
        tools = cleaning.Cleaner(
            self.tools.store,
            Terms(self.tools.project),
            self.tools.target,
            self.tools.subject,
            self.begun,
            self.id,
            self.order.slot,
            alive=lambda: self.alive(rule),
            sleep=self.tools.sleep,
        )
        with self.tools.spans.span("reconcile.clean", job=self.job, rule=rule.name, dataset=rule.dataset) as span:
            said = cleaning.clean(rule, outcome, tools).to_json()
            span.tell(cleaned=said["cleaned"], proposed=said["proposed"])
            return said

    @contextmanager
    def begun(self) -> Iterator[Transaction]:
        """A transaction that is kept only while the run is ours."""
        with self.tools.store.begin() as tx:
            lease.check(tx, self.held)
            yield tx

    def alive(self, rule: Rule) -> None:
        self.heart.progress()
        self.tools.watch(rule.name, 0)

    def go_on(self) -> None:
        """Raises Paused when a person stopped the job meanwhile; what was checked is kept for when it is resumed."""
        with self.tools.store.read() as tx:
            pauses.refuse(tx, self.job)

    def begin(self) -> int:
        """The run's row, and what an earlier attempt finished already."""
        project = self.tools.project
        with self.tools.store.begin() as tx:
            lease.check(tx, self.held)
            pauses.refuse(tx, self.job)
            clock.shorten_waits(tx, project.longest_retry)
            releases.refuse_another(tx, project)
            releases.keep(tx, project)
            for left in stored.interrupt_others(tx, self.job, self.id):
                log.append(tx, ACTOR, "run.interrupted", left, {"run": left, "job": self.job, "found_by": self.id})
            order, left_by = self.order, stored.get(tx, self.id)
            attempt = stored.start(tx, self.id, self.job, order.slot, project.release, order.trigger, self.held.fence)
            body = {"run": self.id, "job": self.job, "slot": slots.slot_text(order.slot), "attempt": attempt}
            body |= {"release": project.release, "trigger": order.trigger, "rules": list(order.chosen)}
            log.append(tx, order.actor, "run.started" if attempt == 1 else "run.resumed", self.id, body)
            self.outcomes = self._finished_before(tx, left_by)
            return attempt

    def _finished_before(self, tx: Transaction, left_by: stored.RunRow | None) -> dict[str, dict[str, Any]]:
        """Checkpoints count as long as the configuration is the one they were made with; after an edit all is new."""
        if left_by is None or left_by.release != self.tools.project.release:
            return {}
        return {name: o for name, o in stored.checkpoints(tx, self.id).items() if name in self.order.chosen}

    def traced_check(self, rule: Rule) -> dict[str, Any]:
        with self.tools.spans.span("reconcile.rule", job=self.job, rule=rule.name, dataset=rule.dataset) as span:
            outcome = self.check(rule)
            if "failed" in outcome:
                span.failed()
            else:
                span.tell(engine=outcome["engine"], records=outcome["scanned"], groups=outcome["groups"])
            return outcome

    def check(self, rule: Rule) -> dict[str, Any]:
        """One rule: detect, then bring its findings up to date and set the checkpoint, together."""
        begun = time.monotonic()
        try:
            found = self._detect(rule)
            with self.tools.store.begin() as tx:
                lease.check(tx, self.held)
                plausible.refuse(rule, found, tx, self.id)
                self._void_homeless(tx, rule)
                outcome = self._remember(tx, rule, found, tx.now - dt.timedelta(seconds=time.monotonic() - begun))
                why = None if rule.clean is None else self._misshapen(tx, rule, found)
                if why is not None:
                    stop = limits.stop(tx, limits.of_rule(rule.name), why)
                    outcome["cleaning"] = {"stopped": stop, "refused": True}
                stored.checkpoint(tx, self.id, rule.name, "done", outcome)
                return outcome
        except (ConnectorError, RuleDoesNotFit, RuleEnded, Unanswerable, plausible.Implausible) as error:
            return self._failed(rule, error)

    def _misshapen(self, tx: Transaction, rule: Rule, found: Detected) -> str | None:
        binding = binding_of(self.tools.project, rule)
        return shape.refuse(tx, rule, found.fitted, found.detection, self.id, binding)

    def _void_homeless(self, tx: Transaction, rule: Rule) -> None:
        """Plans of a rule that cleans no more, or whose records are in another source now, wait for nothing."""
        source = self.tools.project.datasets[rule.dataset].source
        if rule.clean is None:
            void = effects.homeless(tx, rule.name, None, f"Rule {rule.name!r} does not clean any more.")
        else:
            void = effects.homeless(tx, rule.name, source, f"The records of {rule.dataset!r} are in {source!r} now.")
        moves = [progress.Move(one.finding, Event.VOIDED, one.id, one.reason) for one in void]
        progress.move(tx, moves, by=ACTOR, run=self.id)

    def _detect(self, rule: Rule) -> Detected:
        """The rule's answer, within the limits of the job; what is remembered of it is not for that thread."""
        tools = self.tools
        self.heart.progress()
        try:
            return detected(
                rule,
                self.order.job,
                self.order.slot,
                tools.budget,
                subject=tools.subject,
                stop=tools.stop,
                watch=tools.watch,
                alive=self.heart.progress,
            )
        finally:
            self.heart.progress()

    def _remember(self, tx: Transaction, rule: Rule, found: Detected, read_at: dt.datetime) -> dict[str, Any]:
        detection = found.detection
        existing = Existing(self.order.job.existing)
        identity = RuleIdentity.of(rule, existing=existing, dataset_definition=found.definition)
        outcome = remember.record(tx, self.id, identity, detection.groups, read_at=read_at)
        before = stored.seen_before(tx, rule.dataset, rule.name, self.id)
        seen = stored.Seen(detection.read, detection.scanned, len(detection.groups))
        stored.keep_seen(tx, self.id, rule.dataset, rule.name, seen)
        return outcome_json(rule, found, outcome) | {"groups_before": [one.groups for one in before]}

    def _failed(self, rule: Rule, error: Exception) -> dict[str, Any]:
        """A rule that could not be checked: said so, kept, and never taken for a clean result."""
        self.tools.watch(rule.name, 0)  # Ctrl-C can come out of an engine as the engine's error: it is not the rule's
        source = self.tools.project.datasets[rule.dataset].source
        whole_source = isinstance(error, ConnectorError) and is_of_the_source(error)
        outcome = {
            "rule": rule.name,
            "dataset": rule.dataset,
            "severity": rule.severity.name,
            "failed": str(error),
            "subject": f"source {source}" if whole_source else f"rule {rule.name}",
        }
        with self.tools.store.begin() as tx:
            lease.check(tx, self.held)
            stored.checkpoint(tx, self.id, rule.name, "failed", outcome)
            body = {"run": self.id, "rule": rule.name, "error": type(error).__name__, "why": str(error)}
            log.append(tx, ACTOR, "rule.failed", rule.name, body)
        return outcome

    def end(self, attempt: int) -> RunReport:
        """Messages, failures that began or ended, and the run's end: one transaction."""
        project = self.tools.project
        failed = [outcome for outcome in self.outcomes.values() if "failed" in outcome]
        with self.tools.store.begin() as tx:
            lease.check(tx, self.held)
            stored.take_turns(tx, self.order.chosen)
            self._add_what_killed_runs_did(tx)
            news = failing.news(tx, project, self.job, self.id, self.outcomes.values())
            messages = [
                message
                for channel in self.order.job.notify
                if (message := self._tell(tx, channel, attempt, news)) is not None
            ]
            summary = {
                "run": self.id,
                "job": self.job,
                "slot": slots.slot_text(self.order.slot),
                "release": project.release,
                "status": "failed" if failed else "succeeded",
                "attempt": attempt,
                "rules": [self.outcomes[name] for name in self.order.chosen],
                "messages": messages,
                "checked": list(self.order.chosen),
            }
            stored.finish(tx, self.id, "failed" if failed else "succeeded", summary)
            bindings = self._bindings()
            log.touch(tx, facts.RULE, bindings)
            finding_memory.ended(tx, self.id, bindings)
            body = {"run": self.id, "job": self.job, "status": summary["status"], "failed": [o["rule"] for o in failed]}
            log.append(tx, ACTOR, "run.finished", self.id, body)
            return RunReport.of(summary, self._findings(tx, self.order.chosen) if self.tools.lists else ())

    def _bindings(self) -> dict[str, str | None]:
        """By rule, what its findings were planned with; without the rules of which that could not be said."""
        idle = {name: None for name in self.outcomes if self.tools.project.rules[name].clean is None}
        planned = {name: one.get("cleaning", {}).get("binding") for name, one in self.outcomes.items()}
        return idle | {name: binding for name, binding in planned.items() if binding is not None}

    def _add_what_killed_runs_did(self, tx: Transaction) -> None:
        """What they cleaned before they could tell of it."""
        for run in stored.never_ended(tx, self.job):
            for name, outcome in self.outcomes.items():
                if done := bundles.counts(tx, name, run=run).get(BundleState.SUCCEEDED):
                    outcome.setdefault("cleaning", {}).setdefault("of_killed", {})[run] = done

    def _tell(self, tx: Transaction, channel: str, attempt: int, news: Sequence[notify.FailureNews]) -> str | None:
        """Queue this run's message for a channel, and remember what it tells; None where there is nothing to tell."""
        settings = self.tools.project.channels[channel].settings
        project, rules = self.tools.project, self.order.chosen
        outcomes = list(self.outcomes.values())
        checked = [outcome["rule"] for outcome in outcomes if "failed" not in outcome]
        untold = notify.News.of(project, stored_findings.untold(tx, channel, checked))
        asking = notify.News.of(project, stored_findings.untold(tx, channel, rules, states=stored_findings.ASKING))
        not_undone = notify.News.of(project, stored_findings.not_undone(tx, rules, channel))
        told = {**untold.versions, **asking.versions, **not_undone.versions}
        before = stored.outcomes_before(tx, self.job, self.order.slot)
        news = (*news, *failing.unheard(tx, self.tools.project, self.job, channel, {one.subject for one in news}))
        if not told and not news and not notify.says_something(outcomes, before) and settings.quiet:
            return None
        letter = notify.Letter(
            project=project,
            job=self.job,
            run=self.id,
            slot=self.order.slot,
            message=notify.message_id(self.id, channel, attempt),
            since=stored.slot_before(tx, self.job, self.order.slot),
            created=tx.now,
            show=settings.show,
            plans=bundles.waiting_plans(tx, asking.shown),
        )
        notice = notify.digest(letter, outcomes, untold, news, asking, not_undone)
        outbox.enqueue(tx, channel, notice)
        stored_findings.mark_told(tx, channel, notice.id, told)
        return notice.id

    def _findings(self, tx: Transaction, rules: Sequence[str]) -> Packed[dict[str, Any]]:
        """What the run found; what an earlier attempt of it found and this one did not is over."""
        found = stored_findings.each(tx, stored_findings.Filter(rules=tuple(rules), run=self.id))
        return _shown(one for one in found if one.state not in (State.RESOLVED, State.MERGED))


def _seen_by(tx: Transaction, run: stored.RunRow) -> Packed[dict[str, Any]]:
    """What the run found, as it is now: known by its end, and seen by it or later."""
    ended = run.finished or run.started
    found = stored_findings.each(tx, stored_findings.Filter(rules=tuple(run.summary["checked"])))
    return _shown(one for one in found if one.first_seen <= ended and one.last_seen >= run.started)


def _shown(found: Iterable[Finding]) -> Packed[dict[str, Any]]:
    return Packed(to_json(one) for one in found if one.keeper is not None)
