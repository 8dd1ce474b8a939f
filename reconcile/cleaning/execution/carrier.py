"""Plans are carried out: claimed and said to be under way in the store, done on the target, and written down.

A batch takes one transaction of the target and one of the store: what became of a batch is kept together with the
claim of the next. `sent` is durable before anything reaches the target, and nothing waits for a network inside of a
transaction of the store.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from connectors.errors import ConnectorError, Reaction
from connectors.target import NotATable, Target, TargetError, TargetRefused
from reconcile import points
from reconcile.cleaning.execution import stale_worker
from reconcile.cleaning.execution.admission import CLAIM, Admission
from reconcile.cleaning.execution.carried import ACTOR, ASK_AGAIN, Carried, Tally
from reconcile.cleaning.execution.execute import How, Job, Limits, Result, overtaken, perform
from reconcile.cleaning.execution.leaving import Leaving
from reconcile.cleaning.execution.resolve import ask
from reconcile.cleaning.execution.taken_back import taken_back
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.planning.plan import soft_links
from reconcile.coordination import lease
from reconcile.findings.operations import BundleState
from reconcile.findings.states import Event
from reconcile.journal import breaker, effects, ownership
from reconcile.journal.effects import Claimed, ClaimLost
from reconcile.messages import watchdog
from reconcile.store import Store, Transaction
from reconcile.store import bundles as stored
from reconcile.tracking import progress
from reconcile.tracking.progress import Move

DEADLINE = 20.0
"""Seconds after which the target itself ends a transaction of ours."""
MARGIN = 5.0
"""Seconds by which the target's limit ends before the claim does."""
BATCH = 250
"""Plans that are carried out together, where there are so many."""


@dataclass(frozen=True)
class Tools:
    """What carrying out works with. `alive` is told after every batch and may raise to stop it; `sleep` waits.

    `patience` is how long what is to be tried again soon is waited for. Not `together`: each plan of a batch has a
    transaction of the target of its own.
    """

    store: Store
    terms: Terms
    target: Callable[[str], Target]
    alive: Callable[[], None] = lambda: None
    sleep: Callable[[float], None] = time.sleep
    patience: dt.timedelta = dt.timedelta(0)
    entered: set[str] = field(default_factory=set)
    """Places in targets that were found to be ours since this was made: asked once a run."""
    together: bool = True
    run: str | None = None
    """The run that carries out, where one does."""


@dataclass(frozen=True)
class Which:
    """Which plans: what is None does not filter."""

    source: str | None = None
    ids: Collection[str] | None = None
    rules: Collection[str] | None = None


def carry_out(
    tools: Tools,
    *,
    source: str | None = None,
    ids: Collection[str] | None = None,
    rules: Collection[str] | None = None,
) -> Tally:
    """Carry out what is approved and what is due to be tried again: all of it, of a source, these plans, of rules.

    First what dead workers left behind is taken over, and where it is unknown whether it was done, the target is asked.
    What goes wrong with a target is in the tally. Raises a StoreError, and what `alive` raises; whatever was under way
    then is found and settled by the next call.
    """
    tally = Tally()
    left = tools.patience.total_seconds()
    which = Which(source, ids, rules)
    while True:
        ended = tally.counts.total()
        for name in _sources(tools) if source is None else dict.fromkeys([source, *_adrift(tools)]):
            tally.add(_Carrier(tools, name, which).through())
        wait = _seconds_to_next(tools.store, which)
        if wait is None or wait > left or (wait == 0 and tally.counts.total() == ended):
            watchdog.targets(tools.store, tools.terms.project)
            return tally  # what is due and was not carried out is held up by something that lasts
        tools.sleep(wait)
        left -= wait


def anything_due(store: Store) -> bool:
    """Whether carrying out would find a plan that may be claimed, or one that somebody left."""
    with store.read() as tx:
        return bool(stored.sources_due(tx) or effects.abandoned(tx) or effects.doubtful(tx))


def _sources(tools: Tools) -> list[str]:
    with tools.store.read() as tx:
        return sorted({*stored.sources_due(tx), *effects.sources_unsettled(tx)})


def _adrift(tools: Tools) -> list[str]:
    """Sources that are not in the configuration any more, with plans of which nobody knows whether they were done."""
    with tools.store.read() as tx:
        return [one for one in effects.sources_unsettled(tx) if one not in tools.terms.project.sources]


def _seconds_to_next(store: Store, which: Which) -> float | None:
    with store.read() as tx:
        soonest = stored.next_due(tx, ids=which.ids, rules=which.rules, states=(BundleState.RETRY_WAIT,))
        return None if soonest is None else max((soonest - tx.now).total_seconds(), 0.0)


class _Carrier:
    """One source while its plans are carried out."""

    def __init__(self, tools: Tools, source: str, which: Which) -> None:
        self.tools = tools
        self.source = source
        self.which = which
        self.tally = Tally()
        self._carried = Carried(tools.terms, self.tally, run=tools.run)
        self._remembers: dict[str, bool] = {}
        """By the tables that are ours, whether receipts can be kept for them."""
        self._until = 0.0
        self._in_hand: dict[str, Claimed] = {}
        self._digests: dict[str, str] = {}
        self._stamps: dict[str, str] = {}
        self._rules: set[str] = set()
        self._targets: set[str] = set()
        self._doubted: set[str] = set()
        self._sends = False
        self._probes: dict[str, breaker.Probe] = {}
        self._admission = Admission(tools.terms, source, self._carried, self._digests)

    def through(self) -> Tally:
        try:
            if self._has_work():
                self._take_over()
                if self.source not in self.tools.terms.project.sources:
                    self._settle(self._adrift)
                target = self.tools.target(self.source)
                self._enter(target)
                self._settle_doubt(target)
                self._answered()
                while self._look(target) and self._work(target):
                    pass
        except (TargetRefused, ownership.OwnershipRefused) as error:
            self.tally.because(str(error), refused=True)
            with self.tools.store.begin() as tx:
                effects.ask_later(tx, self.source, tx.now + ASK_AGAIN)
        except ClaimLost as error:
            self.tally.because(str(error))
        except ConnectorError as error:
            self._broke(error)
        return self.tally

    def _has_work(self) -> bool:
        """Whether there is anything to do that nothing stands in the way of.

        Nothing is sent to a target that is away. What is in doubt is asked about all the same, and counts as a probe
        where one is due: if only that is left, nothing else would show for how long the target is away.
        """
        with self.tools.store.read() as tx:
            due = [(rule, target) for rule, _, target in stored.due_of(tx, self.source) if self._wants(rule)]
            self._targets = {target for _, target in due}
            rules = self._admission.open(tx, {rule for rule, _ in due})
            there = [target for target in self._targets if not self._is_away(tx, target)]
            left = {one.target for one in effects.abandoned(tx, self.source)}
            self._doubted = left | effects.doubtful(tx, self.source)
            asleep = {one.target for one in breaker.all_open(tx)}
        self._sends = bool(rules and there)
        if probed := asleep & (self._doubted.union(there) if rules else self._doubted):
            self._take_probes(probed)
        return bool(self._doubted) or bool(rules and {*there} - {*asleep} | self._probes.keys())

    def _take_probes(self, targets: Iterable[str]) -> None:
        """To connect is a probe already: one worker at a time does, and where that fails it counts as one."""
        with self.tools.store.begin() as tx:
            allowed = ((target, breaker.allow(tx, target)) for target in sorted(targets))
            self._probes = {target: one for target, one in allowed if isinstance(one, breaker.Probe)}

    def _is_away(self, tx: Transaction, target: str) -> bool:
        found = breaker.status(tx, target)
        if found is None or found.state == breaker.CLOSED or (found.probe_at is not None and found.probe_at <= tx.now):
            return False
        why = f"Nothing is sent to source {self.source!r} for now: {breaker.reason(tx, target)}"
        self.tally.because(why, held_up=True)
        return True

    def _enter(self, target: Target) -> None:
        self._carried.identity = target.identity()
        self._carried.probe = self._probes.get(self._carried.identity)
        self._enter_tables(target)

    def _enter_tables(self, target: Target) -> None:
        """Every table that a plan in hand, or one that is due, is about has to be ours."""
        with self.tools.store.read() as tx:
            tables = stored.tables_in_hand(tx, self.source)
        for table in sorted(tables - self._remembers.keys()):
            try:
                ownership.enter(self.tools.store, target, table, self.tools.entered)
            except NotATable:
                continue  # it is a view by now: its plans are not carried out, and those of others go on
            self._remembers[table] = target.remembers(table)

    def _broke(self, error: ConnectorError) -> None:
        """The target does not answer, and nothing was begun: the plans wait as they are."""
        self.tally.because(str(error), held_up=True)
        with self.tools.store.begin() as tx:
            for target in {self._carried.identity} if self._carried.identity else self._targets | self._doubted:
                breaker.broke(tx, target, str(error), probe=self._carried.probe or self._probes.get(target))
            effects.ask_later(tx, self.source, tx.now + ASK_AGAIN)

    # What others left

    def _take_over(self) -> None:
        """Plans of dead workers: what was not sent is approved again, what was sent is in doubt."""
        with self.tools.store.read() as tx:
            left = effects.abandoned(tx, self.source)
        for one in left:
            stale_worker.end(one.owner)
        if left:
            with self.tools.store.begin() as tx:
                effects.take_over(tx, [one.id for one in left])

    def _settle_doubt(self, target: Target) -> None:
        """Ask the target about every plan of which it is unknown whether it was done."""
        self._settle(lambda one: self._asked(target, one))

    def _answered(self) -> None:
        """Nothing is left in doubt, and nothing may be sent that would try it: that it answered ends the probe."""
        if self._carried.probe is not None and not self._sends:
            with self.tools.store.begin() as tx:
                if self.source not in effects.sources_unsettled(tx):
                    self._carried.worked(tx)

    def _settle(self, answer: Callable[[Claimed], Result]) -> None:
        while True:
            with self.tools.store.begin() as tx:
                damaged = effects.set_damaged_aside(tx, self.source)
                self._carried.follow(tx, damaged, Event.QUARANTINED)
                self._take(effects.claim_doubtful(tx, self.source, BATCH, ttl=CLAIM))
            if not self._in_hand:
                return
            points.reach("resolve.begun")
            doubtful = list(self._in_hand.values())
            answers = self._or_undone([answer(one) for one in doubtful])
            with self.tools.store.begin() as tx:
                self._record(tx, answers)
            points.reach("resolve.committed")
            self.tools.alive()

    def _asked(self, target: Target, one: Claimed) -> Result:
        """Only the database that it was sent to can tell: any other has no receipt of it, whatever was done."""
        if one.target != self._carried.identity:
            why = f"source {self.source!r} is another database now than the one it was sent to, which cannot be asked"
            return Result(self._job(one), How.UNKNOWN, why)
        return ask(target, self._job(one), self._seconds(), one.transaction)

    def _adrift(self, one: Claimed) -> Result:
        why = f"source {self.source!r}, which it was sent to, is not in the configuration any more and cannot be asked"
        return Result(self._job(one), How.UNKNOWN, why)

    # Batches

    def _look(self, target: Target) -> bool:
        """What there is to do, and how the tables are that it is about: whether there is anything."""
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
                    self._digests[name] = ""  # the table is gone, or not what it was: the plans of others go on
                    continue
                self._digests[name] = catalogue.digest
                self._stamps = {**catalogue.stamps, **self._stamps}
        self._rules = {rule for rule, _ in due}
        self._admission.full.clear()
        return bool(due)

    def _wants(self, rule: str) -> bool:
        """Plans of rules that are gone, or have another name, are for whoever comes: no run is of these rules."""
        return self.which.rules is None or rule in self.which.rules or self.tools.terms.rule(rule) is None

    def _work(self, target: Target) -> bool:
        """Batch after batch of what was looked at; whether to look again."""
        results: list[Result] = []
        done = False
        while True:
            stop = self._is_told_to_stop() if results else None
            with self.tools.store.begin() as tx:
                self._record(tx, results)
                jobs, more = ([], False) if stop is not None else self._claim(tx)
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
                done = True
                results = self._perform(target, jobs)
            elif not more:
                break
        self._settle_doubt(target)
        return done

    def _perform(self, target: Target, jobs: Sequence[Job]) -> list[Result]:
        leaving = Leaving(target, self.tools.terms.project.datasets)
        ended = {job.id: result for job in jobs if (result := overtaken(job, leaving)) is not None}
        unseen = "whose table it is about was not looked at yet"
        ended |= {job.id: Result(job, How.NOT_DONE, unseen) for job in jobs if job.bundle.table not in self._remembers}
        rest = [job for job in jobs if job.id not in ended]
        limits = Limits(self._seconds, self._named, {**leaving.stamps, **self._stamps})
        together = [rest] if self.tools.together else [[job] for job in rest]
        results = [result for some in together if some for result in perform(target, some, limits)]
        return [*ended.values(), *self._or_undone(results)]

    def _or_undone(self, results: Sequence[Result]) -> list[Result]:
        """What was done before was perhaps undone since: a restored backup knows of neither."""
        done = {
            one.job.id: one.job.bundle
            for one in results
            if one.how is How.DONE_BEFORE and one.job.receipts and not one.job.bundle.undoes
        }
        if not done:
            return list(results)
        undone = taken_back(self.tools.store, self.tools.target(self.source), done)
        return [replace(one, how=How.UNDONE_BEFORE) if one.job.id in undone else one for one in results]

    def _is_told_to_stop(self) -> BaseException | None:
        """What says so, to be raised once what was done is written down."""
        try:
            self.tools.alive()
        except BaseException as stop:  # noqa: BLE001 - raised again by the caller
            return stop
        return None

    def _claim(self, tx: Transaction) -> tuple[list[Job], bool]:
        """The next batch, durably `sent` once the transaction is kept; and whether there may be another one."""
        rules = self._admission.open(tx, self._rules)
        if not rules:
            return [], False
        identity = self._carried.identity
        allowed = self._probes.pop(identity, None) or breaker.allow(tx, identity)
        if not allowed:
            self.tally.because(
                f"Nothing is sent to source {self.source!r} for now: {breaker.reason(tx, self._carried.identity)}"
            )
            return [], False
        self._carried.probe = allowed if isinstance(allowed, breaker.Probe) else None
        most = 1 if self._carried.probe else BATCH
        ids = stored.due_ids(tx, self.source, most, ids=self.which.ids, rules=rules, lock=True)
        if not ids:
            return [], False
        sent = self._admission.sent(tx, ids)
        progress.move(tx, [Move(one.finding, Event.STARTED, one.id) for one in sent if not one.undoes], by=ACTOR)
        self._take(sent)
        return [self._job(one) for one in sent], True

    def _record(self, tx: Transaction, results: Sequence[Result]) -> None:
        """Write down what became of a batch; what is no longer ours raises ClaimLost, and nothing is kept."""
        effects.lock_plans(tx, [result.job.id for result in results])
        self._carried.write(tx, [(self._in_hand.pop(result.job.id), result) for result in results])

    # Time and names

    def _take(self, claimed: Sequence[Claimed]) -> None:
        self._in_hand = {one.id: one for one in claimed}
        self._until = _boot_seconds() + CLAIM.total_seconds()

    def _seconds(self) -> float:
        """How long the next transaction of the target may take; renews the claims where that is longer than they last.

        Raises ClaimLost where somebody took over meanwhile: this process was stopped, or slept, and nothing is begun.
        """
        if self._until - _boot_seconds() < DEADLINE + MARGIN:
            with self.tools.store.begin() as tx:
                renewed = effects.renew(tx, list(self._in_hand.values()), CLAIM)
            self._take(renewed)
        return DEADLINE

    def _named(self, jobs: Sequence[Job], name: str) -> None:
        with self.tools.store.begin() as tx:
            named = effects.transaction_is(tx, [self._in_hand[job.id] for job in jobs], name)
        self._in_hand |= {one.id: one for one in named}

    def _job(self, one: Claimed) -> Job:
        receipts = effects.receipts_of(self.tools.store, one) if self._remembers.get(one.bundle.table) else ()
        return Job(one.id, one.bundle, receipts)


def _boot_seconds() -> float:
    return lease.boot_time() / 1e9
