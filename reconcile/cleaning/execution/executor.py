"""Execute plans: claim them and mark them `sent` in the store, change the target, and record the outcome.

A batch takes one transaction of the target and one of the store, which records a batch together with the claim of the
next. `sent` is durable before anything reaches the target, and no store transaction waits for a network.
"""

from __future__ import annotations

import datetime as dt
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from connectors.calls import CallTarget
from connectors.errors import ConnectorError, FileUnreadable, Reaction
from connectors.target import NotATable, Target, TargetError, TargetRefused
from reconcile import points
from reconcile.cleaning.execution import calling
from reconcile.cleaning.execution.admission import CLAIM, UNREAD, Admission
from reconcile.cleaning.execution.evidence import AT_ONCE, Evidence
from reconcile.cleaning.execution.execute import (
    How,
    Result,
    SentPlan,
    TransactionLimits,
    before_sent,
    overtaken,
    perform,
)
from reconcile.cleaning.execution.leaving import TableCatalogues
from reconcile.cleaning.execution.outcomes import ACTOR, ASK_AGAIN, ExecutionResult, OutcomeWriter
from reconcile.cleaning.execution.resolve import ask
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.execution.undone import find_undone
from reconcile.cleaning.planning.plan import soft_links
from reconcile.coordination import lease
from reconcile.detection.subject import Subject
from reconcile.findings.states import Event
from reconcile.journal import breaker, effects, ownership
from reconcile.journal.effects import ClaimedPlan, ClaimLost
from reconcile.messages import watchdog
from reconcile.store import Store, Transaction, breakers, plan_states
from reconcile.store import plans as stored
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition

DEADLINE = 20.0
"""Seconds after which the target itself ends a transaction of ours."""
MARGIN = 5.0
"""Seconds between the target's time limit and the end of the claim."""
BATCH = 250
"""Plans executed together, at most. Calls are made one by one: a process that dies leaves one with an unknown outcome.
"""
_IN_A_FILE = 1_000
"""As BATCH, for a target that writes a whole file anew for them."""


@dataclass(frozen=True)
class ExecutionContext:
    """The tools of execution. `alive` is called after every batch and may raise to stop; `sleep` waits.

    `patience` is how long to wait for plans that are retried soon. Without `together`, each plan of a batch has its
    own transaction of the target. `subject` opens a dataset that plans rely on.
    """

    store: Store
    terms: Terms
    target: Callable[[str], Target]
    subject: Callable[[str], Subject]
    alive: Callable[[], None] = lambda: None
    sleep: Callable[[float], None] = time.sleep
    patience: dt.timedelta = dt.timedelta(0)
    entered: set[str] = field(default_factory=set)
    """Places in targets known to belong to this state; checked once a run."""
    together: bool = True
    run: str | None = None
    """The executing run, if any."""
    slot: dt.datetime | None = None
    """That run's slot."""


@dataclass(frozen=True)
class ExecutionFilter:
    """A filter of plans; None does not filter."""

    source: str | None = None
    ids: Collection[str] | None = None
    rules: Collection[str] | None = None


def execute_plans(
    tools: ExecutionContext,
    *,
    source: str | None = None,
    ids: Collection[str] | None = None,
    rules: Collection[str] | None = None,
) -> ExecutionResult:
    """Execute approved plans and due retries: all, or those of a source, these ids, or these rules.

    First take over plans of dead workers, and ask the target about plans with an unknown outcome. Errors of a target
    are in the tally. Raises a StoreError, and whatever `alive` raises; the next call settles the plans in progress.
    """
    tally = ExecutionResult()
    patience = tools.patience.total_seconds()
    selection = ExecutionFilter(source, ids, rules)
    while True:
        ended, done, begun = tally.counts.total(), tally.counts[How.DONE], time.monotonic()
        for name in _sources(tools) if source is None else dict.fromkeys([source, *_removed_sources(tools)]):
            tally.add(_Execution(tools, name, selection).run_plans())
        if tally.counts[How.DONE] == done:  # a target that is locked can hold each attempt for seconds
            patience -= time.monotonic() - begun
        wait = _seconds_to_next(tools.store, selection)
        if wait is None or wait > patience or (wait == 0 and tally.counts.total() == ended):
            watchdog.targets(tools.store, tools.terms.project)
            return tally  # the remaining due plans are held up for longer
        pause = math.ceil(wait)  # plans of a batch are due within moments of each other, and make one request again
        tools.sleep(pause)
        patience -= pause


def anything_due(store: Store) -> bool:
    """Return True if any plan is due, has an unknown outcome or was abandoned by a dead worker."""
    with store.read() as tx:
        return bool(stored.sources_due(tx) or effects.abandoned(tx) or plan_states.targets_with_unknown_outcomes(tx))


def _sources(tools: ExecutionContext) -> list[str]:
    with tools.store.read() as tx:
        return sorted({*stored.sources_due(tx), *plan_states.sources_unsettled(tx)})


def _removed_sources(tools: ExecutionContext) -> list[str]:
    """Return sources that left the configuration but have plans with an unknown outcome."""
    with tools.store.read() as tx:
        return [source for source in plan_states.sources_unsettled(tx) if source not in tools.terms.project.sources]


def _seconds_to_next(store: Store, selection: ExecutionFilter) -> float | None:
    with store.read() as tx:
        soonest = stored.next_attempt(tx, ids=selection.ids, rules=selection.rules)
        return None if soonest is None else max((soonest - tx.now).total_seconds(), 0.0)


class _Execution:
    """Executes the plans of one source."""

    def __init__(self, tools: ExecutionContext, source: str, selection: ExecutionFilter) -> None:
        self.tools = tools
        self.source = source
        self.selection = selection
        self.tally = ExecutionResult()
        self._outcomes = OutcomeWriter(tools.terms, self.tally, run=tools.run)
        self._remembers: dict[str, bool] = {}
        """By owned table: True if it can keep receipts."""
        self._not_tables: dict[str, str] = {}
        """By name: why it keeps no rows that could be changed."""
        self._until = 0.0
        self._in_hand: dict[str, ClaimedPlan] = {}
        self._digests: dict[str, str] = {}
        self._stamps: dict[str, str] = {}
        self._rules: set[str] = set()
        self._due_rules: set[str] = set()
        self._targets: set[str] = set()
        self._unknown: set[str] = set()
        self._sends = False
        self._was_refused = False
        self._at_once = BATCH
        self._probes: dict[str, breaker.Probe] = {}
        self._evidence = Evidence(tools.store, tools.terms, tools.target, tools.subject, tools.slot, tools.run)
        self._admission = Admission(tools.terms, source, self._outcomes, self._digests, self._evidence)

    def run_plans(self) -> ExecutionResult:
        try:
            if self._has_work():
                self._take_over()
                if self.source not in self.tools.terms.project.sources:
                    self._settle(self._source_removed)
                target = self.tools.target(self.source)
                self._enter(target)
                self._resolve_unknown(target)
                self._end_probe()
                while self._read_due(target) and self._work(target):
                    pass
        except (TargetRefused, ownership.OwnershipRefused) as error:
            self.tally.because(str(error), subject=breaker.of_source(self.source), refused=True)
            with self.tools.store.begin() as tx:
                breaker.refused(tx, self.source, str(error))
                plan_states.put_off_unknown(tx, self.source, tx.now + ASK_AGAIN)
        except ClaimLost as error:
            self.tally.because(str(error))
        except ConnectorError as error:
            self._record_unreachable(error)
        return self.tally

    def _has_work(self) -> bool:
        """Return True if any plan can be sent or asked about now.

        Nothing is sent to an unreachable target. It is still asked about unknown outcomes, which counts as a probe if
        one is due: without it, nothing would show how long the target has been unreachable.
        """
        with self.tools.store.read() as tx:
            due = [(rule, target) for rule, _, target in stored.due_of(tx, self.source) if self._wants(rule)]
            if due and self._is_refusing(tx):
                return False
            self._targets = {target for _, target in due}
            rules = self._admission.open(tx, {rule for rule, _ in due})
            reachable = [target for target in self._targets if not self._is_away(tx, target)]
            abandoned = {plan.target for plan in effects.abandoned(tx, self.source)}
            self._unknown = abandoned | plan_states.targets_with_unknown_outcomes(tx, self.source)
            asleep = {status.target for status in breakers.not_closed(tx)}
        self._due_rules = {rule for rule, _ in due}
        self._sends = bool(rules and reachable)
        if probed := asleep & (self._unknown.union(reachable) if rules else self._unknown):
            self._take_probes(probed)
        return bool(self._unknown) or bool(rules and {*reachable} - {*asleep} | self._probes.keys())

    def _is_refusing(self, tx: Transaction) -> bool:
        """Return True if the source refused cleaning, and is not asked again yet."""
        entry = breakers.get(tx, breaker.of_source(self.source))
        if entry is None or entry.state == breakers.CLOSED:
            return False
        self._was_refused = True
        if not breaker.is_asleep(entry, tx.now):
            return False
        self.tally.because(breaker.reason(tx, entry.target) or "", subject=entry.target, refused=True)
        return True

    def _take_probes(self, targets: Iterable[str]) -> None:
        """Take due probes: a connection counts as one, so only one worker at a time connects."""
        with self.tools.store.begin() as tx:
            allowed = ((target, breaker.allow(tx, target)) for target in sorted(targets))
            self._probes = {target: probe for target, probe in allowed if isinstance(probe, breaker.Probe)}

    def _is_away(self, tx: Transaction, target: str) -> bool:
        if not breaker.is_asleep(breakers.get(tx, target), tx.now):
            return False
        reason = f"Nothing is sent to source {self.source!r} for now: {breaker.reason(tx, target)}"
        self.tally.because(reason, subject=target, held_up=True)
        return True

    def _enter(self, target: Target) -> None:
        self._outcomes.identity = target.identity()
        if isinstance(target, CallTarget):
            self._at_once = 1
        else:
            self._at_once = _IN_A_FILE if target.promises.writes_all else BATCH
        self._outcomes.probe = self._probes.get(self._outcomes.identity)
        self._enter_tables(target)
        if self._was_refused:
            with self.tools.store.begin() as tx:
                breaker.accepted(tx, self.source)

    def _enter_tables(self, target: Target) -> None:
        """Make sure that this state owns the table of every due or claimed plan."""
        with self.tools.store.read() as tx:
            tables = stored.tables_in_hand(tx, self.source)
        for table in sorted(tables - self._remembers.keys()):
            try:
                ownership.enter(self.tools.store, target, table, self.tools.entered)
            except NotATable as error:
                self._not_tables[table] = str(error)  # it is now a view: other plans go on
                continue
            self._remembers[table] = target.remembers(table)

    def _record_unreachable(self, error: ConnectorError) -> None:
        """Record that the target failed before anything was sent: an attempt of each plan that would have been."""
        self.tally.because(str(error), held_up=True)
        asked = {self._outcomes.identity} if self._outcomes.identity else self._targets | self._unknown
        probes = {target: self._outcomes.probe or self._probes.get(target) for target in asked}
        with self.tools.store.begin() as tx:
            attempted = self._attempted(tx, asked, has_probe=any(probes.values()))
            for target in sorted(asked):
                self._outcomes.identity, self._outcomes.probe = target, probes[target]
                if of_target := [plan for plan in attempted if plan.target == target]:
                    self._outcomes.write(tx, [(plan, before_sent(self._job(plan), error)) for plan in of_target])
                else:
                    breaker.broke(tx, target, str(error), probe=probes[target])
            plan_states.put_off_unknown(tx, self.source, tx.now + ASK_AGAIN)

    def _attempted(self, tx: Transaction, targets: Collection[str], *, has_probe: bool) -> list[ClaimedPlan]:
        """Claim the plans of the attempt that failed: a batch, or the one that a probe is for."""
        rules = self._admission.open(tx, self._due_rules) if self._sends else []
        limit = 1 if has_probe else BATCH
        ids = stored.due_ids(tx, self.source, limit, ids=self.selection.ids, rules=rules, targets=targets, lock=True)
        return self._admission.claim(tx, ids)

    # Plans of other workers

    def _take_over(self) -> None:
        """Take over plans of dead workers: unsent ones are approved again, the outcome of sent ones is unknown."""
        with self.tools.store.read() as tx:
            abandoned = effects.abandoned(tx, self.source)
        for plan in abandoned:
            lease.end(plan.owner)
        if abandoned:
            with self.tools.store.begin() as tx:
                effects.take_over(tx, [plan.id for plan in abandoned])

    def _resolve_unknown(self, target: Target) -> None:
        """Ask the target about every plan with an unknown outcome."""
        self._settle(lambda plan: self._ask_target(target, plan))

    def _end_probe(self) -> None:
        """End the probe: the target answered, no outcome is unknown, and nothing else would be sent."""
        if self._outcomes.probe is not None and not self._sends:
            with self.tools.store.begin() as tx:
                if self.source not in plan_states.sources_unsettled(tx):
                    self._outcomes.worked(tx)

    def _settle(self, answer: Callable[[ClaimedPlan], Result]) -> None:
        while True:
            with self.tools.store.begin() as tx:
                damaged = effects.set_damaged_aside(tx, self.source)
                self._outcomes.follow(tx, damaged, Event.QUARANTINED)
                self._set_claimed(effects.claim_unknown(tx, self.source, BATCH, ttl=CLAIM))
            if not self._in_hand:
                return
            points.reach("resolve.begun")
            unknown = list(self._in_hand.values())
            answers = self._mark_undone([answer(plan) for plan in unknown])
            with self.tools.store.begin() as tx:
                self._record(tx, answers)
            points.reach("resolve.committed")
            self.tools.alive()

    def _ask_target(self, target: Target, plan: ClaimedPlan) -> Result:
        """Ask about a plan only in the target it was sent to: no other knows about it."""
        if plan.target != self._outcomes.identity:
            reason = f"source {self.source!r} now leads to a different target; the one it was sent to cannot be asked"
            return Result(self._job(plan), How.UNKNOWN, reason)
        return ask(target, self._job(plan), self._seconds(), plan.transaction)

    def _source_removed(self, plan: ClaimedPlan) -> Result:
        reason = f"it was sent to source {self.source!r}, which is no longer in the configuration and cannot be asked"
        return Result(self._job(plan), How.UNKNOWN, reason)

    # Batches

    def _read_due(self, target: Target) -> bool:
        """Read the due plans and the catalogues of their tables; return True if there are any."""
        self._enter_tables(target)
        with self.tools.store.read() as tx:
            due = [(rule, of) for rule, of, _ in stored.due_of(tx, self.source) if self._wants(rule)]
        datasets = self.tools.terms.project.datasets
        for _, name in due:
            if name not in self._digests and name in datasets:
                try:
                    catalogue = target.catalogue(datasets[name].settings, soft_links(datasets[name]))
                except TargetError:
                    raise
                except ConnectorError as error:
                    if error.reaction is not Reaction.STOP:
                        raise
                    # the table is missing or changed, or its file is damaged for now: other plans go on
                    self._digests[name] = UNREAD if isinstance(error, FileUnreadable) else ""
                    continue
                self._digests[name] = catalogue.digest
                self._stamps = {**catalogue.stamps, **self._stamps}
        self._rules = {rule for rule, _ in due}
        self._admission.full.clear()
        return bool(due)

    def _wants(self, rule: str) -> bool:
        """Return True for selected rules, and for removed or renamed ones, which no run selects."""
        return self.selection.rules is None or rule in self.selection.rules or self.tools.terms.rule(rule) is None

    def _work(self, target: Target) -> bool:
        """Execute the due plans batch by batch; return True if there may be more."""
        results: list[Result] = []
        worked = False
        while True:
            stop = self._stop_request() if results or self._evidence.is_shared else None
            if stop is None and (rules := list(filter(self._evidence.is_of, self._rules))):
                results = self._read_evidence(rules, results)
            with self.tools.store.begin() as tx:
                self._record(tx, results)
                jobs, has_more = ([], False) if stop is not None else self._claim(tx)
                if results:
                    points.reach("store.done.before_commit")
                if jobs:
                    points.reach("store.sent.before_commit")
            if results:
                points.reach("store.done.committed")
            if jobs:
                points.reach("store.sent.committed")
            if stop is not None:
                raise stop
            results = []
            if jobs:
                worked = True
                results = self._perform(target, jobs)
            elif not has_more:
                break
        self._resolve_unknown(target)
        return worked

    def _perform(self, target: Target, jobs: Sequence[SentPlan]) -> list[Result]:
        leaving = TableCatalogues(target, self.tools.terms.project.datasets)
        ended = {job.id: result for job in jobs if (result := overtaken(job, leaving)) is not None}
        unchecked = {job.id: job for job in jobs if job.plan.table not in self._remembers}
        ended |= {
            name: Result(job, How.NOT_DONE, self._why_unchecked(job.plan.table)) for name, job in unchecked.items()
        }
        remaining = [job for job in jobs if job.id not in ended]
        limits = TransactionLimits(self._seconds, self._store_transaction, {**leaving.stamps, **self._stamps})
        of_rows = [job for job in remaining if not job.plan.calls]
        results: list[Result] = []
        for dataset, group in self._together(target, of_rows):
            if target.promises.writes_all and dataset in self.tools.terms.project.datasets:
                target.table(self.tools.terms.project.datasets[dataset].settings)  # a file is written as it says
            results += perform(target, group, limits)
        results += [calling.perform(target, job, self._seconds) for job in remaining if job.plan.calls]
        return [*ended.values(), *self._mark_undone(results)]

    def _together(self, target: Target, jobs: Sequence[SentPlan]) -> Iterator[tuple[str, list[SentPlan]]]:
        """Yield the plans that share a transaction; of a file, those of one dataset, which says how it is written.

        An undo puts records where other plans take them from, so no order of files fits both.
        """
        if not (self.tools.together and target.promises.all_or_nothing):
            yield from ((job.plan.dataset, [job]) for job in jobs)
        elif target.promises.writes_all:
            by_dataset: dict[tuple[str, bool], list[SentPlan]] = {}
            for job in jobs:
                by_dataset.setdefault((job.plan.dataset, job.plan.undoes is not None), []).append(job)
            yield from ((dataset, group) for (dataset, _), group in by_dataset.items())
        elif jobs:
            yield "", list(jobs)

    def _why_unchecked(self, table: str) -> str:
        return self._not_tables.get(table, "its table was not checked yet")

    def _mark_undone(self, results: Sequence[Result]) -> list[Result]:
        """Mark earlier cleanings that were undone since: a restored backup knows of neither."""
        done_before = {
            result.job.id: result.job.plan
            for result in results
            if result.how is How.DONE_BEFORE and result.job.receipts and not result.job.plan.undoes
        }
        if not done_before:
            return list(results)
        undone = find_undone(self.tools.store, self.tools.target(self.source), done_before)
        return [replace(result, how=How.UNDONE_BEFORE) if result.job.id in undone else result for result in results]

    def _read_evidence(self, rules: Collection[str], results: Sequence[Result]) -> list[Result]:
        """Read again what the next plans of these rules rely on; this may take long, so first record the results.

        Return those that are not recorded yet: none, unless the evidence was read a moment ago.
        """
        with self.tools.store.read() as tx:
            due = stored.due_ids(tx, self.source, AT_ONCE, ids=self.selection.ids, rules=rules)
        if self._evidence.holds(due, self._at_once):
            return list(results)
        if results:
            with self.tools.store.begin() as tx:
                self._record(tx, results)
                points.reach("store.done.before_commit")
            points.reach("store.done.committed")
        with self.tools.store.read() as tx:
            plans = stored.some(tx, self._evidence.next(due, self._at_once))
        self._evidence.look(plans)
        return []

    def _stop_request(self) -> BaseException | None:
        """Return the exception that stops the run, to be raised once all outcomes are recorded."""
        try:
            self.tools.alive()
        except BaseException as stop:  # noqa: BLE001 - raised again by the caller
            return stop
        return None

    def _claim(self, tx: Transaction) -> tuple[list[SentPlan], bool]:
        """Claim the next batch, durably `sent` once the transaction commits; the flag tells if there may be more."""
        rules = self._admission.open(tx, self._rules)
        if not rules:
            return [], False
        identity = self._outcomes.identity
        allowed = self._probes.pop(identity, None) or breaker.allow(tx, identity)
        if not allowed:
            self.tally.because(
                f"Nothing is sent to source {self.source!r} for now: {breaker.reason(tx, self._outcomes.identity)}"
            )
            return [], False
        self._outcomes.probe = allowed if isinstance(allowed, breaker.Probe) else None
        limit = 1 if self._outcomes.probe else self._at_once
        wanted, is_shared = self.selection.ids, self._evidence.is_shared
        if is_shared:
            due = stored.due_ids(tx, self.source, AT_ONCE, ids=wanted, rules=rules)
            wanted = self._evidence.prefer(due, limit)
        ids = stored.due_ids(tx, self.source, limit, ids=wanted, rules=rules, lock=True)
        self._evidence.claims(ids)
        if not ids:
            return [], is_shared and bool(due)  # other processes have just locked those
        sent = self._admission.sent(tx, ids)
        progress.move(
            tx, [Transition(plan.finding, Event.STARTED, plan.id) for plan in sent if not plan.undoes], by=ACTOR
        )
        if not sent and self._outcomes.probe is not None:
            # The target answered: the plan was compared with its records, and is not to be sent.
            self._outcomes.worked(tx)
        self._set_claimed(sent)
        return [self._job(plan) for plan in sent], True

    def _record(self, tx: Transaction, results: Sequence[Result]) -> None:
        """Record the outcomes of a batch; a lost claim raises ClaimLost, and nothing is kept."""
        effects.lock_plans(tx, [result.job.id for result in results])
        self._outcomes.write(tx, [(self._in_hand.pop(result.job.id), result) for result in results])

    # Time and names

    def _set_claimed(self, claimed: Sequence[ClaimedPlan]) -> None:
        self._in_hand = {plan.id: plan for plan in claimed}
        self._until = _boot_seconds() + CLAIM.total_seconds()

    def _seconds(self) -> float:
        """Return the seconds that the next transaction of the target may take; renew the claims if they would expire.

        Raises ClaimLost if another worker took over while this process was stopped or asleep; nothing was begun.
        """
        if self._until - _boot_seconds() < DEADLINE + MARGIN:
            with self.tools.store.begin() as tx:
                renewed = effects.renew(tx, list(self._in_hand.values()), CLAIM)
            self._set_claimed(renewed)
        return DEADLINE

    def _store_transaction(self, jobs: Sequence[SentPlan], name: str) -> None:
        with self.tools.store.begin() as tx:
            renewed = effects.transaction_is(tx, [self._in_hand[job.id] for job in jobs], name)
        self._in_hand |= {plan.id: plan for plan in renewed}

    def _job(self, plan: ClaimedPlan) -> SentPlan:
        receipts = effects.receipts_of(self.tools.store, plan) if self._remembers.get(plan.content.table) else ()
        return SentPlan(plan.id, plan.content, receipts, plan.keys if plan.content.calls else ())


def _boot_seconds() -> float:
    return lease.boot_time() / 1e9
