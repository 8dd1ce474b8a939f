"""The cleaning step of a run: after detection, plan the findings of each rule, propose the plans and execute them.

Plans that need no approval run up to the rule's limits; if they don't all fit, people are asked about all of them.
All counts are in the store, so a resumed run continues where it stopped.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from connectors.errors import ConnectorError
from connectors.target import Target, TargetRefused
from reconcile import points
from reconcile.audit import log
from reconcile.cleaning.chunks import in_chunks
from reconcile.cleaning.execution import executor
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.next_run import NextRun, asked_before
from reconcile.cleaning.planning.asking import RuleRefuses, unnamed
from reconcile.cleaning.planning.plan import NothingToDo, Stale
from reconcile.cleaning.planning.planner import Planner, RulePlanner
from reconcile.config.settings import DatasetConfig
from reconcile.coordination import clock
from reconcile.detection.subject import Subject
from reconcile.findings.plan import Plan
from reconcile.findings.results import CleaningResult, RuleResult, most_common_reasons
from reconcile.findings.shown import Finding
from reconcile.findings.states import Event, PlanState, State
from reconcile.journal import approvals as given_approvals
from reconcile.journal import effects, limits
from reconcile.store import Store, Transaction, approvals, finding_memory
from reconcile.store import findings as stored_findings
from reconcile.store import plans as stored
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition
from rules.cleaning import Policy
from rules.kinds.base import Rule

ACTOR = "reconcile"
CHUNK = 250
"""Plans proposed in one transaction of the store."""
_PLANNED = (State.OPEN, State.STALE, State.AWAITING)
"""Findings in these states are planned. Those that await approval are planned again: their plan may be stale."""


@dataclass(frozen=True)
class Cleaner:
    """The tools of the cleaning step. `begin` opens a store transaction that is kept only while the run is ours."""

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

    def carrying(self) -> executor.ExecutionContext:
        return executor.ExecutionContext(
            *(self.store, self.terms, self.target, self.subject, self.alive, self.sleep, self.patience, self.entered),
            run=self.run,
            slot=self.slot,
        )


@dataclass
class _Proposals:
    """The result of proposing a rule's plans; the fields mean the same as in CleaningResult."""

    stopped: str | None = None
    refused: bool = False
    held_up: bool = False
    not_planned: Counter[str] = field(default_factory=Counter)
    binding: str | None = None
    next_run: str | None = None
    uncounted: str | None = None
    doubt: str | None = None


def clean(rule: Rule, detected: RuleResult, tools: Cleaner) -> CleaningResult:
    """Plan, propose and execute the cleanings of one rule; `detected` is the rule's part of the run's report.

    Safe to call again for the same run. The result holds errors of the target. Raises a StoreError, and whatever
    `begin` and `alive` raise.
    """
    proposals = _Proposals(stopped=_wrong_ids(detected))
    dataset = tools.terms.project.datasets[rule.cleaned]
    if proposals.stopped is None:
        try:
            _Proposer(rule, dataset, detected.scanned_of.get(dataset.name, detected.scanned), tools, proposals).run()
        except TargetRefused as error:
            proposals.stopped, proposals.refused = str(error), True
        except ConnectorError as error:
            proposals.stopped, proposals.held_up = str(error), True
            with tools.begin() as tx:
                body = {"run": tools.run, "rule": rule.name, "why": str(error)}
                log.append(tx, ACTOR, "cleaning.not_planned", rule.name, body)
    with tools.store.read() as tx:
        before = _of_others(tx, tools.run, rule.name)
    tally = executor.execute_plans(tools.carrying(), source=dataset.source, rules=(rule.name,))
    with tools.store.read() as tx:
        counts = _counts(tx, tools.run, rule.name)
        return CleaningResult(
            cleaned=counts["cleaned"],
            proposed=counts["proposed"],
            stale=counts["stale"],
            waiting=counts["waiting"],
            failed=counts["failed"],
            quarantined=counts["quarantined"],
            stopped=proposals.stopped or detected.cleaning.stopped,
            refused=proposals.refused or tally.refused or detected.cleaning.refused,
            held_up=proposals.held_up or (tally.held_up and _is_held_up(tx, rule.name, failed=counts["failed"])),
            reasons=tuple(tally.reasons),
            not_planned=most_common_reasons(proposals.not_planned),
            of_before=max(0, _of_others(tx, tools.run, rule.name) - before),
            binding=proposals.binding,
            next_run=proposals.next_run,
            uncounted=proposals.uncounted,
            doubt=proposals.doubt,
            asked_before=_asked_before(tx, rule, tools.run) if proposals.stopped is None else None,
        )


def _asked_before(tx: Transaction, rule: Rule, run: str) -> str | None:
    """Return a sentence about plans of earlier runs that wait for people although the rule needs no approval now."""
    if not rule.approval.is_automatic:
        return None
    waiting = _counts(tx, None, rule.name)["proposed"] - _counts(tx, run, rule.name)["proposed"]
    return asked_before(rule.name, waiting) if waiting else None


def _wrong_ids(detected: RuleResult) -> str | None:
    """Return why nothing is cleaned if an id does not name exactly one record."""
    reason = unnamed(detected.skipped, detected.dataset)
    return None if reason is None else f"Nothing is cleaned: {reason}."


def _is_held_up(tx: Transaction, rule: str, *, failed: int) -> bool:
    """Return True if plans of the rule wait, or failed in this run: an attempt that a later one made good is over."""
    return failed > 0 or _counts(tx, None, rule)["waiting"] > 0


def _of_others(tx: Transaction, run: str, rule: str) -> int:
    """Count the rule's finished plans that this run did not make."""
    return _counts(tx, None, rule)["cleaned"] - _counts(tx, run, rule)["cleaned"]


def _counts(tx: Transaction, run: str | None, rule: str) -> Counter[str]:
    count_names = {
        PlanState.SUCCEEDED: "cleaned",
        PlanState.AWAITING: "proposed",
        PlanState.SKIPPED: "stale",
        PlanState.RETRY_WAIT: "waiting",
        PlanState.APPROVED: "waiting",
        PlanState.UNKNOWN: "waiting",
        PlanState.SENT: "waiting",
        PlanState.FAILED: "failed",
        PlanState.QUARANTINED: "quarantined",
    }
    counts: Counter[str] = Counter()
    for state, number in stored.counts(tx, rule, run=run).items():
        if state in count_names:
            counts[count_names[state]] += number
    return counts


def _unchanged(tx: Transaction, planned: Sequence[tuple[Finding, Plan]]) -> list[tuple[Finding, Plan]]:
    """Drop plans of findings that changed since they were planned: a person may have chosen another keeper."""
    versions = {each.id: each.version for each in stored_findings.standing(tx, [finding.id for finding, _ in planned])}
    return [(finding, plan) for finding, plan in planned if versions.get(finding.id) == finding.version]


class _Proposer:
    """Makes the plans of one rule in one run from the target's current rows, and proposes them."""

    def __init__(
        self,
        rule: Rule,
        dataset: DatasetConfig,
        scanned: int,
        tools: Cleaner,
        proposals: _Proposals,
    ) -> None:
        self.rule = rule
        self.dataset = dataset
        self.tools = tools
        self.proposals = proposals
        self.only_reports = True
        self.caps = tools.terms.caps_of(rule, scanned)
        self.target_caps = tools.terms.project.caps_of(dataset.source)
        self.over_limit: str | None = None
        self.asks: str | None = None
        self.automatic: list[str] = []
        self.knows: Callable[[Plan], bool] = lambda _: True
        self.next_run = NextRun()

    def run(self) -> None:
        tools = self.tools
        self._expire()
        planner = Planner(tools.terms.project, tools.subject, tools.target, tools.store).of(
            self.rule, tools.slot, tools.run
        )
        self.knows = planner.knows
        self.proposals.binding = planner.bound
        with tools.store.read() as tx:
            self.only_reports = finding_memory.told_binding(tx, self.rule.name) != planner.bound
        for chunk in in_chunks(self._findings(planner), CHUNK):
            self._propose(chunk)
            tools.alive()
        self.proposals.next_run = self.next_run.sentence((self.caps, self.target_caps))
        if self.over_limit:
            self.proposals.stopped, self.proposals.refused = self.over_limit, True
        for ids in in_chunks(self.automatic, CHUNK):
            self._decide(ids, approve=self.proposals.stopped is None)

    def _expire(self) -> None:
        """Expire plans that waited too long, so that this run plans them again; skipped while the clock is held."""
        with self.tools.begin() as tx:
            if clock.held(tx) is None:
                expired = effects.expire(tx)
                moves = [
                    Transition(plan.finding, Event.VOIDED, plan.id, plan.reason) for plan in expired if not plan.undoes
                ]
                progress.move(tx, moves, by=ACTOR, run=self.tools.run)

    def _findings(self, planner: RulePlanner) -> Iterator[tuple[Finding, Plan]]:
        """Yield the findings of this run that can be planned, with their plans, in chunks."""
        with self.tools.store.read() as tx:
            names = stored_findings.names(
                tx, stored_findings.FindingFilter(rules=(self.rule.name,), states=_PLANNED, run=self.tools.run)
            )
        for chunk in in_chunks(names, CHUNK):
            with self.tools.store.read() as tx:
                findings = stored_findings.some(tx, chunk)
            for finding, planned in planner.plans(findings):
                if isinstance(planned, Plan):
                    self.asks = planner.asks
                    yield finding, planned
                elif isinstance(planned, RuleRefuses):
                    self.proposals.stopped, self.proposals.refused = str(planned), True
                elif not isinstance(planned, (Stale, NothingToDo)):
                    self.proposals.not_planned[planned.reason] += 1

    def _propose(self, planned: Sequence[tuple[Finding, Plan]]) -> None:
        by_policy: dict[tuple[Policy, bool], list[tuple[Finding, Plan]]] = {}
        earlier = len(self.automatic)
        with self.tools.begin() as tx:
            effects.lock_findings(tx, [finding.id for finding, _ in planned])  # nobody rejects a plan in between
            decided = self.tools.terms.decided(tx, [finding for finding, _ in planned])
            for finding, plan in _unchanged(tx, planned):
                policy = self.tools.terms.policy(
                    tx, finding, plan, self.caps.group, was_decided=finding.id in decided, knows=self.knows
                )
                kind = policy, bool(plan.uncounted)
                by_policy.setdefault(kind, []).append((finding, plan))
            for (policy, _), group in by_policy.items():
                if policy == "none" and self.only_reports:
                    for _, plan in group:  # `reconcile plan` shows these plans
                        self.next_run.add(plan)
                    continue
                self._store_plans(tx, policy, self._unrejected(tx, group))
            if len(planned) < CHUNK and self.over_limit is None:  # the last chunk: no limit can stop these any more
                self._approve(tx, self.automatic[earlier:], in_one_entry=False)
                del self.automatic[earlier:]
        points.reach("plan.proposed")

    def _store_plans(self, tx: Transaction, policy: Policy, planned: Sequence[tuple[Finding, Plan]]) -> None:
        """Store the plans and reserve limits for them; ask people where the policy or a limit requires it."""
        if not planned:
            return
        rule, run = self.rule, self.tools.run
        names = [finding.id for finding, _ in planned]
        approved_before = {name for name, given in given_approvals.of_waiting(tx, names).items() if given.by}
        ids = effects.propose(
            tx,
            [plan for _, plan in planned],
            run=run,
            release=self.tools.terms.project.release,
            policy=policy,
            by=ACTOR,
            expires=tx.now + rule.approval_expires,
        )
        open_ids = stored.in_state(tx, ids, PlanState.AWAITING)  # the others are blocked by a plan in progress
        waiting = [
            (finding, plan, name) for (finding, plan), name in zip(planned, ids, strict=True) if name in open_ids
        ]
        uses = [limits.Use.of(name, plan) for _, plan, name in waiting]
        try:
            caps = limits.Both(self.caps, self.target_caps)
            limits.reserve(tx, uses, rule=rule.name, target=planned[0][1].target, run=run, caps=caps)
        except limits.OverLimit as error:
            if policy == "none" or isinstance(error, limits.CleaningStopped):
                self.over_limit = self.over_limit or str(error)
            elif error.cap == limits.UNCOUNTED and any(self._is_held_back(each, plan) for each, plan, _ in waiting):
                self.proposals.uncounted, self.proposals.refused = str(error), True
        points.reach("limits.reserved")
        if policy == "none":
            if self.asks is not None:
                self.over_limit = self.over_limit or f"Approval is needed, because {self.asks}"
            self.automatic += [name for _, _, name in waiting]
        else:
            if waiting and self.asks is not None:
                self.proposals.doubt = f"Look at the records before you approve: {self.asks}"
                effects.doubted(tx, [name for _, _, name in waiting], self.proposals.doubt, run)
            approved_now = {name for name, given in given_approvals.of_waiting(tx, names).items() if given.by}
            moves = [
                Transition(finding.id, Event.PROPOSED, name)
                for finding, _, name in waiting
                if finding.state is not State.AWAITING or finding.id in approved_before - approved_now
            ]
            progress.move(tx, moves, by=ACTOR, run=run)

    def _is_held_back(self, finding: Finding, plan: Plan) -> bool:
        """Return True if the rule needs no approval for this plan, and people are asked now for the first time."""
        return finding.state is not State.AWAITING and self.tools.terms.asks(plan) == "none"

    def _unrejected(self, tx: Transaction, planned: Sequence[tuple[Finding, Plan]]) -> list[tuple[Finding, Plan]]:
        """Drop plans that a person rejected; columns that may drift don't count as a difference."""
        rejected = approvals.rejected(tx, [finding.id for finding, _ in planned])
        return [
            (finding, plan)
            for finding, plan in planned
            if not any(rejection.is_for(plan) for rejection in rejected.get(finding.id, ()))
        ]

    def _decide(self, ids: Sequence[str], *, approve: bool) -> None:
        """Approve plans that need no approval; if limits stopped them, ask people about all of them."""
        with self.tools.begin() as tx:
            if approve:
                self._approve(tx, ids, in_one_entry=True)
                return
            plans = effects.to_people(tx, ids)
            moves = [Transition(plan.finding, Event.PROPOSED, plan.id, self.proposals.stopped) for plan in plans]
            progress.move(tx, moves, by=ACTOR, run=self.tools.run)

    def _approve(self, tx: Transaction, ids: Sequence[str], *, in_one_entry: bool) -> None:
        plans = effects.approved(tx, ids, by=ACTOR, in_one_entry=in_one_entry)
        moves = [Transition(plan.finding, Event.APPROVED, plan.id) for plan in plans]
        progress.move(tx, moves, by=ACTOR, run=self.tools.run)
