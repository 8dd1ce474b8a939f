"""Select the plans of a source that may run now: unchanged since approval, within limits, with free records.

It takes one transaction of the store, which also releases or ends the other plans, with the reason.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence

from reconcile import points
from reconcile.cleaning.execution.evidence import Evidence
from reconcile.cleaning.execution.outcomes import ASK_AGAIN, OutcomeWriter
from reconcile.cleaning.execution.terms import Terms
from reconcile.coordination import clock, pauses
from reconcile.findings.states import Event, PlanState
from reconcile.journal import approvals, breaker, effects, limits
from reconcile.journal.effects import ClaimedPlan
from reconcile.store import Transaction
from reconcile.store import plans as stored
from reconcile.store import runs as stored_runs
from rules.cleaning import Caps

CLAIM = dt.timedelta(seconds=60)
"""The lifetime of a claim; it is renewed before a transaction that could outlast it."""
STAND_BACK = dt.timedelta(minutes=5)
"""The delay for a plan that limits, or another plan with its records, hold back."""
UNREAD = "unread"
"""Stands for the catalogue of a file that is damaged for now: its plans wait until it can be read."""


class Admission:
    """Admits plans of one source. `digests` are the datasets' current catalogues; the caller keeps them up to date."""

    def __init__(
        self, terms: Terms, source: str, outcomes: OutcomeWriter, digests: Mapping[str, str], evidence: Evidence
    ) -> None:
        self.terms = terms
        self.source = source
        self.full: set[str] = set()
        """Rules at a limit; their plans wait until the next look."""
        self._outcomes = outcomes
        self._digests = digests
        self._evidence = evidence
        self._caps: dict[str, Caps] = {}

    def open(self, tx: Transaction, rules: Collection[str]) -> list[str]:
        """Return the rules that may run plans now."""
        return [rule for rule in sorted(rules) if rule not in self.full and not self._is_closed(tx, rule)]

    def sent(self, tx: Transaction, ids: Sequence[str]) -> list[ClaimedPlan]:
        """Claim and return the plans that may run; they are durably `sent` once the transaction commits."""
        claimed = self._within_retries(tx, self.claim(tx, ids))
        points.reach("store.claimed")
        fit = self._within_limits(tx, self._supported(tx, self._valid(tx, claimed)))
        held = effects.hold(tx, fit)
        self._wait(tx, held)
        points.reach("holds.taken")
        sent = effects.send(tx, held.taken)
        self._outcomes.follow(tx, sent.settled, Event.DRIFTED)
        self._outcomes.follow(tx, sent.conflicts, Event.STARTED, Event.QUARANTINED)
        return sent.sent

    def claim(self, tx: Transaction, ids: Sequence[str]) -> list[ClaimedPlan]:
        """Claim these plans, without damaged ones and those of paused jobs; the caller moves each of them on."""
        position = {name: n for n, name in enumerate(ids)}  # an undo may depend on the one before it
        intact = sorted(effects.claim(tx, ids, ttl=CLAIM, unwritten=True), key=lambda plan: position[plan.id])
        self._report_damaged(tx, set(ids) - {plan.id for plan in intact})
        return self._of_running_jobs(tx, intact)

    def _report_damaged(self, tx: Transaction, left_out: Collection[str]) -> None:
        """Report plans that were not claimed: findings of damaged plans follow them, other plans wait."""
        plans = [stored.get(tx, name) for name in sorted(left_out)]
        for plan in plans:
            if plan.state in (PlanState.APPROVED, PlanState.RETRY_WAIT) and plan.reason is not None:
                self._outcomes.tally.because(plan.reason, held_up=True)
        damaged = [(plan, plan.reason or "") for plan in plans if plan.state is PlanState.QUARANTINED]
        self._outcomes.follow(tx, damaged, Event.STARTED, Event.QUARANTINED)

    def _of_running_jobs(self, tx: Transaction, claimed: Sequence[ClaimedPlan]) -> list[ClaimedPlan]:
        """Hold back plans that a paused job proposed; undos requested by a person go on."""
        paused = {subject: pause.sentence for subject, pause in pauses.active(tx).items() if subject.startswith("job:")}
        runs = {plan.run for plan in claimed if plan.run is not None} if paused else set()
        of = {run: pauses.of_job(row.job) for run in runs if (row := stored_runs.get(tx, run)) is not None}
        paused_plans = [plan for plan in claimed if not plan.undoes and of.get(plan.run or "") in paused]
        for subject in sorted({of[plan.run or ""] for plan in paused_plans}):
            of_job = [plan for plan in paused_plans if of[plan.run or ""] == subject]
            effects.released(tx, of_job, paused[subject], next_at=tx.now + STAND_BACK)
            self._outcomes.tally.because(paused[subject])
        return [plan for plan in claimed if plan not in paused_plans]

    def _within_retries(self, tx: Transaction, claimed: Sequence[ClaimedPlan]) -> list[ClaimedPlan]:
        """Limit retries to a share of all requests.

        The plans of a batch are one request: a killed worker leaves a whole batch, which must not take a run for every
        three plans.
        """
        tried = [plan for plan in claimed if plan.sent_at is not None]
        fresh = [plan for plan in claimed if plan.sent_at is None]
        if not tried or breaker.retries_left(tx, self._outcomes.identity, calls=int(bool(fresh)), retries=1):
            return list(claimed)
        reason = "Too many retries in this minute; a later run does the rest."
        effects.released(tx, tried, reason, next_at=tx.now + ASK_AGAIN)
        self._outcomes.tally.because(reason, held_up=True)
        return fresh

    def _wait(self, tx: Transaction, held: effects.HoldResult) -> None:
        """Let plans wait for records that another plan holds; afterwards the rows show if the plan is still valid."""
        taken_ids = {plan.id for plan in held.taken}
        for plan, conflict in held.waiting:
            soon = tx.now if conflict.other in taken_ids else tx.now + STAND_BACK
            effects.released(tx, [plan], str(conflict), next_at=soon)
            self._outcomes.tally.because(str(conflict))

    def _is_closed(self, tx: Transaction, rule: str) -> bool:
        reason = self.terms.closed(tx, self.source, rule)
        if reason is not None:
            self._outcomes.tally.because(reason)
        return reason is not None

    def _valid(self, tx: Transaction, claimed: Sequence[ClaimedPlan]) -> list[ClaimedPlan]:
        """Return the plans that are still valid as approved; end the others as void."""
        fit: list[ClaimedPlan] = []
        void: list[tuple[ClaimedPlan, str]] = []
        for plan in claimed:
            reason = self._void(tx, plan)
            if reason is None:
                fit.append(plan)
            else:
                void.append((plan, f"The plan is void: {reason}"))
        if void:
            expired = [(plan, reason) for plan, reason in void if self._is_expired(tx, plan)]
            effects.skipped(tx, expired, news="expired")
            effects.skipped(tx, [pair for pair in void if pair not in expired], news="void")
            self._outcomes.follow(tx, void, Event.VOIDED)
            for _, reason in void:
                self._outcomes.tally.because(reason)
        return fit

    def _supported(self, tx: Transaction, claimed: Sequence[ClaimedPlan]) -> list[ClaimedPlan]:
        """Return the plans whose evidence still holds; end those that became stale, and let the others wait."""
        evidence = self._evidence
        stale = [(plan, reason) for plan in claimed if (reason := evidence.stale.get(plan.id)) is not None]
        if stale:
            self._outcomes.stale(tx, stale)
        for plan in claimed:
            if plan.id in evidence.unread:
                self._outcomes.unread(tx, plan, evidence.unread[plan.id])
            elif evidence.lacks(plan):  # it became due after the others were looked at
                effects.released(tx, [plan], "Its records are read first.", next_at=tx.now)
        decided = {*evidence.stale, *evidence.unread}
        return [plan for plan in claimed if plan.id not in decided and not evidence.lacks(plan)]

    def _is_expired(self, tx: Transaction, plan: ClaimedPlan) -> bool:
        return plan.expires_at is not None and plan.expires_at <= tx.now and clock.held(tx) is None

    def _void(self, tx: Transaction, plan: ClaimedPlan) -> str | None:
        if self._is_expired(tx, plan):
            return "it expired"
        if not plan.undoes and self._digests.get(plan.dataset) not in (plan.content.catalogue, UNREAD):
            return "its table, or a reference to it, changed since it was planned"
        if reason := self.terms.void(plan.current, self._outcomes.identity, plan.policy):
            return reason
        if not plan.undoes and (reason := self.terms.void_by_limits(plan)):
            return reason
        if plan.policy == "none" or approvals.satisfied(tx, plan):
            return None
        return approvals.why_lapsed(tx, plan) or "an approval is missing"

    def _within_limits(self, tx: Transaction, claimed: Sequence[ClaimedPlan]) -> list[ClaimedPlan]:
        """Return the plans that limits allow now, and count them; the others wait, still approved."""
        fit = [plan for plan in claimed if plan.undoes]
        groups: dict[tuple[str, str | None, bool], list[ClaimedPlan]] = {}
        for plan in claimed:
            if not plan.undoes:
                groups.setdefault((plan.rule, plan.run, plan.is_beyond_limits), []).append(plan)
        caps_of_source = self.terms.project.caps_of(self.source)
        for (rule, run, beyond), group in groups.items():
            uses = [limits.Use.of(plan.id, plan.content) for plan in group]
            if rule not in self._caps:
                self._caps[rule] = self.terms.caps(tx, rule)
            caps = self._caps[rule]
            try:
                applied_caps = None if beyond else limits.Both(caps, caps_of_source)
                limits.reserve(tx, uses, rule=rule, target=self._outcomes.identity, run=run, caps=applied_caps)
            except limits.OverLimit as error:
                why = str(error)
                if not isinstance(error, limits.CleaningStopped):
                    why = f"{error.reason}. Approved plans wait until they fit or expire."
                effects.released(tx, group, why, next_at=tx.now + STAND_BACK)
                self.full.add(rule)
                self._outcomes.tally.because(why, refused=True)
            else:
                fit += group
        points.reach("limits.reserved")
        return fit
