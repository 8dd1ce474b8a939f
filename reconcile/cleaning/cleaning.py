"""Cleaning as a part of a run: after all rules have looked, what each found is planned, proposed, and carried out.

Whatever asks nobody goes as far as its limits reach; where it does not fit in whole, people are asked about all of it.
Nothing is counted in memory: a run that is taken up again finds what stands in the store, and goes on.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from connectors.errors import ConnectorError
from connectors.target import Target, TargetRefused
from reconcile import points
from reconcile.cleaning.chunks import in_chunks
from reconcile.cleaning.execution import carrier
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.next_run import NextRun
from reconcile.cleaning.planning.plan import NothingToDo, Stale, Tools, make_many
from reconcile.config.settings import DatasetConfig
from reconcile.coordination import clock
from reconcile.detection.detect import Subject, subjects_of
from reconcile.findings.bundle import Bundle
from reconcile.findings.identity import record_of
from reconcile.findings.operations import BundleState
from reconcile.findings.shown import Finding
from reconcile.findings.states import Event, State
from reconcile.journal import approvals, effects, keys, limits
from reconcile.store import Store, Transaction, finding_memory
from reconcile.store import bundles as stored
from reconcile.store import findings as stored_findings
from reconcile.tracking import progress
from reconcile.tracking.progress import Move
from rules.cleaning import Policy
from rules.kinds.base import Rule

ACTOR = "reconcile"
CHUNK = 250
"""So many plans are proposed in one transaction of the store."""
_PLANNED = (State.OPEN, State.STALE, State.AWAITING)
"""Findings in these states are planned, those that wait for approval anew: what they wait with may be stale."""
_MOST_REASONS = 5


@dataclass(frozen=True)
class Cleaner:
    """What cleaning works with. `begin` opens a transaction of the store that is kept only while the run is ours."""

    store: Store
    terms: Terms
    target: Callable[[str], Target]
    subject: Callable[[str], Subject]
    begin: Callable[[], AbstractContextManager[Transaction]]
    run: str
    slot: dt.datetime
    alive: Callable[[], None] = lambda: None
    sleep: Callable[[float], None] = lambda _: None
    patience: dt.timedelta = dt.timedelta(seconds=10)
    entered: set[str] = field(default_factory=set)

    def carrying(self) -> carrier.Tools:
        return carrier.Tools(
            self.store, self.terms, self.target, self.alive, self.sleep, self.patience, self.entered, run=self.run
        )


@dataclass
class Outcome:
    """What became of a rule's findings in a run: counts of findings, and sentences for people.

    `stopped`: why nothing more was done by itself; `refused`: that was for safety; `held_up`: the target did not take
    it, and what is approved waits. `not_planned` counts, by sentence, the findings nothing is proposed for.
    `of_before`: so many plans of earlier runs were carried out by this one, as when people said yes in between.
    `binding` is what the plans were made with (`Tools.bound`), if any could be made; `next_run` says what only the next
    run does about them, because no run told yet what it finds with this binding. `uncounted`: of which findings money
    cannot be counted although it is limited, so that people are asked.
    """

    counts: Counter[str] = field(default_factory=Counter)
    stopped: str | None = None
    refused: bool = False
    held_up: bool = False
    reasons: tuple[str, ...] = ()
    not_planned: Counter[str] = field(default_factory=Counter)
    of_before: int = 0
    binding: str | None = None
    next_run: str | None = None
    uncounted: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, for the run's checkpoint and its report."""
        names = ("cleaned", "proposed", "stale", "waiting", "failed", "quarantined")
        said: dict[str, Any] = {name: self.counts[name] for name in names}
        optional = {
            "stopped": self.stopped,
            "refused": self.refused or None,
            "held_up": self.held_up or None,
            "reasons": list(self.reasons) or None,
            "not_planned": dict(self.not_planned.most_common(_MOST_REASONS)) or None,
            "of_before": self.of_before or None,
            "binding": self.binding,
            "next_run": self.next_run,
            "uncounted": self.uncounted,
        }
        return said | {name: value for name, value in optional.items() if value is not None}


def clean(rule: Rule, detected: Mapping[str, Any], tools: Cleaner) -> Outcome:
    """Plan, propose and carry out what the run found by a rule; `detected` is that rule's part of the run's report.

    Safe to call again for the same run. What goes wrong with the target is in the outcome; raises a StoreError, and
    what `begin` and `alive` raise.
    """
    outcome = Outcome(stopped=detected.get("stopped"), refused="stopped" in detected)
    dataset = tools.terms.project.datasets[rule.dataset]
    if wrong := _wrong_ids(detected):
        outcome.stopped = wrong
    if outcome.stopped is None:
        try:
            _Proposing(rule, dataset, detected, tools, outcome).through()
        except (TargetRefused, ConnectorError) as error:
            outcome.stopped = str(error)
    with tools.store.read() as tx:
        before = _of_others(tx, tools.run, rule.name)
    tally = carrier.carry_out(tools.carrying(), source=dataset.source, rules=(rule.name,))
    outcome.reasons, outcome.refused = tuple(tally.reasons), outcome.refused or tally.refused
    with tools.store.read() as tx:
        outcome.counts = _counts(tx, tools.run, rule.name)
        outcome.of_before = max(0, _of_others(tx, tools.run, rule.name) - before)
        outcome.held_up = tally.held_up and _counts(tx, None, rule.name)["waiting"] > 0
    return outcome


def _wrong_ids(detected: Mapping[str, Any]) -> str | None:
    """Nothing is cleaned where an id does not name one record."""
    wrong = [one for one in detected["skipped"] if one["column"] == "id"]
    if not wrong:
        return None
    records, reason = wrong[0]["records"], wrong[0]["reason"]
    return f"Nothing is cleaned: the id of {records:,} records of {detected['dataset']!r} is {reason}."


def _of_others(tx: Transaction, run: str, rule: str) -> int:
    """How many plans of a rule are done that this run did not make."""
    return _counts(tx, None, rule)["cleaned"] - _counts(tx, run, rule)["cleaned"]


def _counts(tx: Transaction, run: str | None, rule: str) -> Counter[str]:
    named = {
        BundleState.SUCCEEDED: "cleaned",
        BundleState.AWAITING: "proposed",
        BundleState.SKIPPED: "stale",
        BundleState.RETRY_WAIT: "waiting",
        BundleState.APPROVED: "waiting",
        BundleState.AMBIGUOUS: "waiting",
        BundleState.SENT: "waiting",
        BundleState.FAILED: "failed",
        BundleState.QUARANTINED: "quarantined",
    }
    counts: Counter[str] = Counter()
    for state, number in stored.counts(tx, rule, run=run).items():
        if state in named:
            counts[named[state]] += number
    return counts


def planning(tools: PlanningTools, rule: Rule, slot: dt.datetime) -> Tools:
    """What plans of a rule are made with, the journal's word on each record's life included."""
    dataset = tools.terms.project.datasets[rule.dataset]
    subjects = subjects_of(rule, tools.subject)
    binding = tools.terms.binding(rule.name) or ""
    made = Tools.of(tools.target(dataset.source), subjects, rule, slot, binding=binding)
    return replace(made, generations=Lives(tools.store, made.identity, made.catalogue.table))


@dataclass
class Lives:
    """The journal's word on records: which generation an effect on one would be of. Call `look` before many."""

    store: Store
    target: str
    table: str
    _looked: frozenset[str] = frozenset()
    _known: frozenset[str] = frozenset()

    def look(self, findings: Iterable[Finding]) -> None:
        """Ask for all records of these at once: most of them the journal never heard of."""
        names = [keys.name_of(self.table, record_of(one.id)) for finding in findings for one in finding.members]
        with self.store.read() as tx:
            self._known = frozenset(effects.known(tx, self.target, names))
        self._looked = frozenset(names)

    def __contains__(self, name: str) -> bool:
        """Whether the journal heard of this record, as far as was looked."""
        return name in self._known or name not in self._looked

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
        names = {name for _, name in pairs}
        if names <= self._looked and names.isdisjoint(self._known):
            return dict.fromkeys(pairs, 1)
        with self.store.read() as tx:
            return effects.generations(tx, self.target, pairs)


class PlanningTools(Protocol):
    """What planning needs of whoever plans."""

    @property
    def store(self) -> Store: ...
    @property
    def terms(self) -> Terms: ...
    @property
    def target(self) -> Callable[[str], Target]: ...
    @property
    def subject(self) -> Callable[[str], Subject]: ...


class _Proposing:
    """The plans of one rule in one run: made from what its target holds now, and put before whoever decides."""

    def __init__(
        self,
        rule: Rule,
        dataset: DatasetConfig,
        detected: Mapping[str, Any],
        tools: Cleaner,
        outcome: Outcome,
    ) -> None:
        self.rule = rule
        self.dataset = dataset
        self.tools = tools
        self.outcome = outcome
        self.only_tells = True
        self.caps = rule.limits.caps(detected["scanned"])
        self.target_caps = tools.terms.project.caps_of(dataset.source)
        self.over: str | None = None
        self.automatic: list[str] = []
        self.lives: Lives | None = None
        self.next_run = NextRun()

    def through(self) -> None:
        tools = self.tools
        self._expire()
        made = planning(tools, self.rule, tools.slot)
        self.outcome.binding = made.bound
        with tools.store.read() as tx:
            self.only_tells = finding_memory.told_binding(tx, self.rule.name) != made.bound
        for some in in_chunks(self._findings(made), CHUNK):
            self._propose(some)
            tools.alive()
        self.outcome.next_run = self.next_run.sentence((self.caps, self.target_caps))
        if self.over:
            self.outcome.stopped, self.outcome.refused = self.over, True
        for ids in in_chunks(self.automatic, CHUNK):
            self._decide(ids, approve=self.outcome.stopped is None)

    def _expire(self) -> None:
        """What waited too long is void, and planned anew by this run; not while the clock cannot be believed."""
        with self.tools.begin() as tx:
            if clock.held(tx) is None:
                over = effects.expire(tx)
                moves = [Move(one.finding, Event.VOIDED, one.id, one.reason) for one in over if not one.undoes]
                progress.move(tx, moves, by=ACTOR, run=self.tools.run)

    def _findings(self, made: Tools) -> Iterator[tuple[Finding, Bundle]]:
        """What can be planned of the findings this run saw, a few at a time."""
        with self.tools.store.read() as tx:
            names = stored_findings.names(
                tx, stored_findings.Filter(rules=(self.rule.name,), states=_PLANNED, run=self.tools.run)
            )
        for some in in_chunks(names, CHUNK):
            with self.tools.store.read() as tx:
                found = {one.id: one for one in stored_findings.some(tx, some)}
            if isinstance(made.generations, Lives):
                self.lives = made.generations
                self.lives.look(found.values())
            for name, planned in make_many(found.values(), made):
                if isinstance(planned, Bundle):
                    yield found[name], planned
                elif not isinstance(planned, (Stale, NothingToDo)):
                    self.outcome.not_planned[str(planned)] += 1

    def _propose(self, planned: Sequence[tuple[Finding, Bundle]]) -> None:
        by_policy: dict[tuple[Policy, bool], list[tuple[Finding, Bundle]]] = {}
        with self.tools.begin() as tx:
            effects.lock_findings(tx, [finding.id for finding, _ in planned])  # nobody rejects a plan meanwhile
            for finding, bundle in planned:
                kind = self._policy(tx, finding, bundle), bool(bundle.uncounted)
                by_policy.setdefault(kind, []).append((finding, bundle))
            for (policy, _), some in by_policy.items():
                if policy == "none" and self.only_tells:
                    for _, bundle in some:  # whoever wants to see the plans has `reconcile plan`
                        self.next_run.add(bundle)
                    continue
                self._stand(tx, policy, self._unrejected(tx, some))
        points.reach("plan.proposed")

    def _stand(self, tx: Transaction, policy: Policy, planned: Sequence[tuple[Finding, Bundle]]) -> None:
        """The plans stand in the store, within the limits or beyond them, and people are asked who have to be."""
        if not planned:
            return
        rule, run = self.rule, self.tools.run
        ids = effects.propose_many(
            tx,
            [bundle for _, bundle in planned],
            run=run,
            release=self.tools.terms.project.release,
            policy=policy,
            by=ACTOR,
            expires=tx.now + rule.approval_expires,
        )
        stands = stored.in_state(tx, ids, BundleState.AWAITING)  # else one in somebody's hand is in its way
        waiting = [(one, bundle, name) for (one, bundle), name in zip(planned, ids, strict=True) if name in stands]
        uses = [limits.Use.of(name, bundle) for _, bundle, name in waiting]
        try:
            both = limits.Both(self.caps, self.target_caps)
            limits.reserve_many(tx, uses, rule=rule.name, target=planned[0][1].target, run=run, caps=both)
        except limits.OverLimit as error:
            if policy == "none" or isinstance(error, limits.CleaningStopped):
                self.over = self.over or str(error)
            elif error.cap == limits.UNCOUNTED and any(self._is_held_back(one, bundle) for one, bundle, _ in waiting):
                self.outcome.uncounted, self.outcome.refused = str(error), True
        points.reach("limits.reserved")
        if policy == "none":
            self.automatic += [name for _, _, name in waiting]
        else:
            moves = [
                Move(finding.id, Event.PROPOSED, name)
                for finding, _, name in waiting
                if finding.state is not State.AWAITING
            ]
            progress.move(tx, moves, by=ACTOR, run=run)

    def _policy(self, tx: Transaction, finding: Finding, bundle: Bundle) -> Policy:
        """Who is asked: what the rule says, and people wherever something is unusual, or they were asked before."""
        asked = self.tools.terms.asks(bundle)
        if asked != "none":
            return asked
        unusual = (
            self.caps.group is not None and finding.records > self.caps.group,
            bool(bundle.triggers) and self.rule.clean is not None and self.rule.clean.triggers != "known",
            bundle.reversible == "no",
            self.tools.terms.cannot_count(bundle),
            bool(finding.settled_pairs),
            finding.state is State.AWAITING,
            effects.restored(tx, bundle),
            self._knows(bundle) and effects.stays_marked(tx, bundle),
        )
        return "required" if any(unusual) else "none"

    def _is_held_back(self, finding: Finding, bundle: Bundle) -> bool:
        """Return True if the rule itself asks nobody about this plan, and people are asked now for the first time."""
        return finding.state is not State.AWAITING and self.tools.terms.asks(bundle) == "none"

    def _knows(self, bundle: Bundle) -> bool:
        """Whether the journal ever heard of the record that is to stay: of most it never did."""
        lives = self.lives
        return lives is None or keys.name_of(bundle.table, bundle.keeper) in lives

    def _unrejected(self, tx: Transaction, planned: Sequence[tuple[Finding, Bundle]]) -> list[tuple[Finding, Bundle]]:
        """Without the plans that a person rejected as they are, but for what may drift."""
        rejected = approvals.rejected(tx, [finding.id for finding, _ in planned])
        return [
            (finding, bundle)
            for finding, bundle in planned
            if not any(one.is_for(bundle) for one in rejected.get(finding.id, ()))
        ]

    def _decide(self, ids: Sequence[str], *, approve: bool) -> None:
        """Plans that ask nobody may be carried out; where limits stopped that, all of them ask people."""
        with self.tools.begin() as tx:
            decided = effects.approved(tx, ids, by=ACTOR) if approve else effects.to_people(tx, ids)
            event = Event.APPROVED if approve else Event.PROPOSED
            why = None if approve else self.outcome.stopped
            moves = [Move(one.finding, event, one.id, why) for one in decided]
            progress.move(tx, moves, by=ACTOR, run=self.tools.run)
