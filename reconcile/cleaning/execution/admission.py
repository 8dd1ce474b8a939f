"""Which plans of a source may go now: those still as they were approved, within limits, whose records nobody holds.

All of it in one transaction of the store; what may not go is released or ended there, with the reason.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence

from reconcile import points
from reconcile.cleaning.execution.carried import ASK_AGAIN, Carried
from reconcile.cleaning.execution.terms import Terms
from reconcile.coordination import clock, pauses
from reconcile.findings.operations import BundleState
from reconcile.findings.states import Event
from reconcile.journal import approvals, breaker, effects, limits
from reconcile.journal.effects import Claimed
from reconcile.store import Transaction
from reconcile.store import bundles as stored
from reconcile.store import runs as stored_runs
from rules.cleaning import Caps

CLAIM = dt.timedelta(seconds=60)
"""How long a claim lasts; it is renewed before a transaction that could take longer than what is left of it."""
STAND_BACK = dt.timedelta(minutes=5)
"""When a plan is looked at again that limits, or another plan with its records, do not let through."""


class Admission:
    """`digests` are the catalogues of the datasets as they are now: the caller keeps them up to date."""

    def __init__(self, terms: Terms, source: str, carried: Carried, digests: Mapping[str, str]) -> None:
        self.terms = terms
        self.source = source
        self.full: set[str] = set()
        """Rules that a limit lets nothing more through of, until they are looked at anew."""
        self._carried = carried
        self._digests = digests
        self._caps: dict[str, Caps] = {}

    def open(self, tx: Transaction, rules: Collection[str]) -> list[str]:
        """Those of these rules of which something may go at all."""
        return [rule for rule in sorted(rules) if rule not in self.full and not self._is_closed(tx, rule)]

    def sent(self, tx: Transaction, ids: Sequence[str]) -> list[Claimed]:
        """Those of these plans that go, durably `sent` once the transaction is kept."""
        place = {name: n for n, name in enumerate(ids)}  # an undo may be planned on what the one before it leaves
        whole = sorted(effects.claim(tx, ids, ttl=CLAIM, unwritten=True), key=lambda one: place[one.id])
        self._tell_damaged(tx, set(ids) - {one.id for one in whole})
        claimed = self._within_retries(tx, self._of_jobs_that_go_on(tx, whole))
        points.reach("store.claimed")
        fit = self._within_limits(tx, self._fitting(tx, claimed))
        held = effects.hold(tx, fit)
        self._wait(tx, held)
        points.reach("holds.taken")
        sent = effects.send(tx, held.taken)
        self._carried.follow(tx, sent.settled, Event.DRIFTED)
        self._carried.follow(tx, sent.conflicts, Event.STARTED, Event.QUARANTINED)
        return sent.sent

    def _tell_damaged(self, tx: Transaction, left_out: Collection[str]) -> None:
        """Their findings follow the plans that were not claimed because they are not what was planned; others wait."""
        found = [stored.get(tx, name) for name in sorted(left_out)]
        for one in found:
            if one.state in (BundleState.APPROVED, BundleState.RETRY_WAIT) and one.reason is not None:
                self._carried.tally.because(one.reason, held_up=True)
        damaged = [(one, one.reason or "") for one in found if one.state is BundleState.QUARANTINED]
        self._carried.follow(tx, damaged, Event.STARTED, Event.QUARANTINED)

    def _of_jobs_that_go_on(self, tx: Transaction, claimed: Sequence[Claimed]) -> list[Claimed]:
        """What a job's run proposed waits while the job is paused; what a person asked to be undone does not."""
        paused = {subject: one.sentence for subject, one in pauses.active(tx).items() if subject.startswith("job:")}
        runs = {one.run for one in claimed if one.run is not None} if paused else set()
        of = {run: pauses.of_job(row.job) for run in runs if (row := stored_runs.get(tx, run)) is not None}
        waiting = [one for one in claimed if not one.undoes and of.get(one.run or "") in paused]
        for subject in sorted({of[one.run or ""] for one in waiting}):
            mine = [one for one in waiting if of[one.run or ""] == subject]
            effects.released(tx, mine, paused[subject], next_at=tx.now + STAND_BACK)
            self._carried.tally.because(paused[subject])
        return [one for one in claimed if one not in waiting]

    def _within_retries(self, tx: Transaction, claimed: Sequence[Claimed]) -> list[Claimed]:
        """Of what was tried before no more than a share of all that is sent."""
        again = [one for one in claimed if one.sent_at is not None]
        if not again:
            return list(claimed)
        allowed = breaker.retries_left(tx, self._carried.identity, calls=len(claimed) - len(again), retries=len(again))
        late = again[allowed:]
        effects.released(tx, late, "Enough was tried again in this minute.", next_at=tx.now + ASK_AGAIN)
        return [one for one in claimed if one not in late]

    def _wait(self, tx: Transaction, held: effects.Held) -> None:
        """Records that another plan has in hand are waited for; then the rows show whether the plan still holds."""
        ours = {one.id for one in held.taken}
        for one, conflict in held.waiting:
            soon = tx.now if conflict.other in ours else tx.now + STAND_BACK
            effects.released(tx, [one], str(conflict), next_at=soon)
            self._carried.tally.because(str(conflict))

    def _is_closed(self, tx: Transaction, rule: str) -> bool:
        why = self.terms.closed(tx, self.source, rule)
        if why is not None:
            self._carried.tally.because(why)
        return why is not None

    def _fitting(self, tx: Transaction, claimed: Sequence[Claimed]) -> list[Claimed]:
        """Those that may still be carried out as they were approved; the others are void."""
        fit: list[Claimed] = []
        void: list[tuple[Claimed, str]] = []
        for one in claimed:
            why = self._void(tx, one)
            if why is None:
                fit.append(one)
            else:
                void.append((one, f"The plan is void: {why}"))
        if void:
            effects.skipped(tx, void)
            self._carried.follow(tx, void, Event.VOIDED)
            for _, why in void:
                self._carried.tally.because(why)
        return fit

    def _void(self, tx: Transaction, one: Claimed) -> str | None:
        if one.expires_at is not None and one.expires_at <= tx.now and clock.held(tx) is None:
            return "its time to be approved and carried out is over"
        if not one.undoes and self._digests.get(one.dataset) != one.bundle.catalogue:
            return "its table, or what refers to it, changed since it was planned"
        if why := self.terms.void(one.bundle, self._carried.identity, one.policy):
            return why
        asked = one.policy != "none"
        return "it is not approved by everybody who has to" if asked and not approvals.satisfied(tx, one) else None

    def _within_limits(self, tx: Transaction, claimed: Sequence[Claimed]) -> list[Claimed]:
        """Those that limits allow now, counted; the others wait, approved as they are."""
        fit = [one for one in claimed if one.undoes]
        groups: dict[tuple[str, str | None, bool], list[Claimed]] = {}
        for one in claimed:
            if not one.undoes:
                groups.setdefault((one.rule, one.run, one.is_beyond_limits), []).append(one)
        caps_of_source = self.terms.project.caps_of(self.source)
        for (rule, run, beyond), some in groups.items():
            uses = [limits.Use.of(one.id, one.bundle) for one in some]
            if rule not in self._caps:
                self._caps[rule] = self.terms.caps(tx, rule)
            caps = self._caps[rule]
            try:
                both = None if beyond else limits.Both(caps, caps_of_source)
                limits.reserve_many(tx, uses, rule=rule, target=self._carried.identity, run=run, caps=both)
            except limits.OverLimit as error:
                effects.released(tx, some, str(error), next_at=tx.now + STAND_BACK)
                self.full.add(rule)
                self._carried.tally.because(str(error), refused=True)
            else:
                fit += some
        points.reach("limits.reserved")
        return fit
