"""Record the outcomes of executed plans: on the plan, its finding and its target's breaker."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from reconcile.cleaning.execution.execute import How, Result
from reconcile.cleaning.execution.terms import Terms
from reconcile.findings.states import Event, PlanState
from reconcile.journal import breaker, effects
from reconcile.journal.effects import ClaimedPlan
from reconcile.store import Transaction
from reconcile.store import plans as stored
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition

ACTOR = "reconcile"
ASK_AGAIN = dt.timedelta(seconds=30)
"""The delay before a target that could not tell a plan's outcome is asked again."""


@dataclass
class ExecutionResult:
    """The result of an execution: counts of plans by outcome, and sentences on what blocks the others."""

    counts: Counter[How] = field(default_factory=Counter)
    reasons: list[str] = field(default_factory=list)
    """Why plans were not executed now; each sentence once."""
    refused: bool = False
    """Something was refused for safety: a limit, another owner."""
    held_up: bool = False
    """The target is unreachable, full or denies access: plans wait for it."""
    waits: set[str] = field(default_factory=set)
    """The reason why plans wait. It stays equal while its sentence names other times of the next attempt."""

    def because(self, reason: str, *, subject: str | None = None, refused: bool = False, held_up: bool = False) -> None:
        """Note why plans were not executed; `subject` names what they wait for if the sentence changes meanwhile."""
        self.waits.add(subject or reason)
        self.refused = self.refused or refused
        self.held_up = self.held_up or held_up
        if reason not in self.reasons:
            self.reasons.append(reason)

    def add(self, other: ExecutionResult) -> None:
        self.counts.update(other.counts)
        self.reasons += [reason for reason in other.reasons if reason not in self.reasons]
        self.waits |= other.waits
        self.refused = self.refused or other.refused
        self.held_up = self.held_up or other.held_up


@dataclass
class OutcomeWriter:
    """Records the outcomes of plans of one source. `identity` is its target; `probe` may close its breaker.

    `run` is the executing run, if any; the log names it with each finding it cleaned.
    """

    terms: Terms
    tally: ExecutionResult
    identity: str = ""
    probe: breaker.Probe | None = None
    run: str | None = None

    def write(self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, Result]]) -> None:
        """Record each plan, its finding and its target's breaker in the caller's transaction; raises ClaimLost."""
        by_how: dict[How, list[tuple[ClaimedPlan, Result]]] = {}
        for plan, result in ended:
            by_how.setdefault(result.how, []).append((plan, result))
            self.tally.counts[result.how] += 1
        for outcome, group in by_how.items():
            _WRITE[outcome](self, tx, group)

    def done(self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, Result]]) -> None:
        effects.succeeded(
            tx,
            [(plan, result.outcome) for plan, result in ended],
            beside=[result.beside for _, result in ended],
            run=self.run,
        )
        moves = [
            Transition(
                done.finding, Event.UNDONE if done.undoes else Event.CLEANED, done.id, " ".join(r.beside) or None
            )
            for done, r in ended
        ]
        progress.move(tx, sorted(moves, key=lambda move: move.event is Event.UNDONE), by=ACTOR, run=self.run)
        self.worked(tx)

    def undone_before(self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, Result]]) -> None:
        """Record a cleaning that was done and undone before a backup was restored: the finding ends as undone."""
        self.done(tx, ended)
        plans = effects.found_undone(tx, [plan.id for plan, _ in ended])
        progress.move(tx, [Transition(plan.finding, Event.UNDONE, plan.id) for plan in plans], by=ACTOR)

    def worked(self, tx: Transaction) -> None:
        """Record that the target answered."""
        breaker.worked(tx, self.identity, self.probe)
        self.probe = None

    def drifted(self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, Result]]) -> None:
        self.worked(tx)
        self.stale(tx, [(plan, result.why) for plan, result in ended])

    def stale(self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, str]]) -> None:
        """Record plans proven not done; the next run plans them again."""
        if ended:
            effects.skipped(tx, ended)
            self.follow(tx, ended, Event.DRIFTED)

    def conflict(self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, Result]]) -> None:
        """Record a constraint's refusal: plan again once, then ask a person."""
        self.worked(tx)
        to_replan: list[tuple[ClaimedPlan, str]] = []
        to_fail: list[tuple[ClaimedPlan, str]] = []
        tried = {
            plan.finding
            for plan, _ in ended
            if any(before.was_forbidden for before in stored.of_finding(tx, plan.finding))
        }
        for plan, (_, result) in zip(effects.forbidden(tx, [plan for plan, _ in ended]), ended, strict=True):
            reason = f"A constraint of the target forbids it: {result.why}"
            (to_fail if plan.finding in tried or plan.undoes else to_replan).append((plan, reason))
        self.stale(tx, to_replan)
        self._failed(tx, to_fail)

    def refused(self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, Result]]) -> None:
        self.worked(tx)
        self._failed(tx, [(plan, result.why) for plan, result in ended])

    def _failed(self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, str]]) -> None:
        if ended:
            effects.failed(tx, ended)
            self.follow(tx, ended, Event.FAILED)

    def quarantined(self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, Result]]) -> None:
        unknown = [(plan, result.why) for plan, result in ended]
        effects.quarantined(tx, unknown)
        self.follow(tx, unknown, Event.QUARANTINED)

    def follow(self, tx: Transaction, ended: Sequence[tuple[stored.StoredPlan, str]], *events: Event) -> None:
        """Apply these events to the findings of plans that ended differently than planned, with the reasons.

        A finding whose undo failed stays as it is, and people are told.
        """
        for event in events:
            moves = [Transition(plan.finding, event, plan.id, reason) for plan, reason in ended if not plan.undoes]
            progress.move(tx, moves, by=ACTOR)
        undos = [(plan, reason) for plan, reason in ended if plan.undoes]
        progress.move(
            tx, [Transition(plan.finding, Event.NOT_UNDONE, plan.id, reason) for plan, reason in undos], by=ACTOR
        )
        for _, reason in undos:
            self.tally.because(f"Not undone: {reason}", refused=True)

    def again(self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, Result]]) -> None:
        """Retry plans that the target failed and proved not done, as the rule's `retry` says.

        A probe that ended before anything was sent costs the plan it was for no attempt: only the target was asked.
        """
        unknown_before = [pair for pair in ended if pair[0].state is PlanState.UNKNOWN]
        failed = [pair for pair in ended if pair[0].state is not PlanState.UNKNOWN]
        if unknown_before:
            self.worked(tx)
            self._retry(tx, unknown_before, kind="asked")
        if failed:
            reason = failed[0][1].why
            breaker.broke(tx, self.identity, reason, probe=self.probe)
            is_unsent = all(plan.state is PlanState.CLAIMED for plan, _ in failed)
            self._retry(tx, failed, kind="not_done", burn=self.probe is None or not is_unsent)
            self.tally.because(reason, held_up=True)

    def paused(self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, Result]]) -> None:
        """Wait for a person to fix the target: nothing is sent until then, and no attempt is counted."""
        reason = ended[0][1].why
        breaker.opened_for_person(tx, self.identity, reason)
        self._retry(tx, ended, kind="paused", burn=False)
        self.tally.because(reason, held_up=True)

    def unread(self, tx: Transaction, plan: ClaimedPlan, reason: str) -> None:
        """Retry a plan whose evidence in another dataset could not be read; its own target did not fail."""
        self._retry_by(tx, [plan], reason, kind="unread")
        self.tally.because(reason, held_up=True)

    def _retry(
        self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, Result]], *, kind: str, burn: bool = True
    ) -> None:
        by_rule: dict[str, list[tuple[ClaimedPlan, Result]]] = {}
        for plan, result in ended:
            by_rule.setdefault(plan.rule, []).append((plan, result))
        for of_rule in by_rule.values():
            self._retry_by(tx, [plan for plan, _ in of_rule], of_rule[0][1].why, kind=kind, burn=burn)

    def _retry_by(
        self, tx: Transaction, plans: Sequence[ClaimedPlan], reason: str, *, kind: str, burn: bool = True
    ) -> None:
        """Retry plans of one rule as its `retry` says."""
        policy = self.terms.retries(plans[0].rule)
        outcome = effects.retry(tx, plans, policy, kind=kind, reason=reason, burn=burn)
        self.follow(tx, [(plan, reason) for plan in outcome.given_up], Event.FAILED)

    def outcome_unknown(self, tx: Transaction, ended: Sequence[tuple[ClaimedPlan, Result]]) -> None:
        """Ask about these plans after the batch, or later if the target could not be asked."""
        fresh = [plan for plan, _ in ended if plan.state is not PlanState.UNKNOWN]
        unknown_before = [plan for plan, _ in ended if plan.state is PlanState.UNKNOWN]
        reason = ended[0][1].why
        unknown = effects.outcome_unknown(tx, fresh, reason)
        effects.put_off(tx, unknown, tx.now)
        effects.put_off(tx, unknown_before, tx.now + ASK_AGAIN)
        self.tally.because(reason, held_up=True)


_WRITE: dict[How, Callable[[OutcomeWriter, Transaction, Sequence[tuple[ClaimedPlan, Result]]], None]] = {
    How.DONE: OutcomeWriter.done,
    How.DONE_BEFORE: OutcomeWriter.done,
    How.UNDONE_BEFORE: OutcomeWriter.undone_before,
    How.DRIFTED: OutcomeWriter.drifted,
    How.CONFLICT: OutcomeWriter.conflict,
    How.REFUSED: OutcomeWriter.refused,
    How.KEY_CONFLICT: OutcomeWriter.quarantined,
    How.UNKNOWN: OutcomeWriter.quarantined,
    How.NOT_DONE: OutcomeWriter.again,
    How.PAUSED: OutcomeWriter.paused,
    How.COMMIT_UNKNOWN: OutcomeWriter.outcome_unknown,
}
"""How each outcome is recorded."""
