"""What became of plans that were carried out is written down: the plan, its finding, and how its target stands."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from reconcile.cleaning.execution import images
from reconcile.cleaning.execution.execute import How, Result
from reconcile.cleaning.execution.terms import Terms
from reconcile.findings.operations import BundleState
from reconcile.findings.states import Event
from reconcile.journal import breaker, effects
from reconcile.journal.effects import Claimed
from reconcile.store import Transaction
from reconcile.store import bundles as stored
from reconcile.tracking import progress
from reconcile.tracking.progress import Move

ACTOR = "reconcile"
ASK_AGAIN = dt.timedelta(seconds=30)
"""When a target that could not say what became of a plan is asked again."""
AS_IT_STANDS = "A constraint of the target forbids it"
"""How the reason begins of a plan that is made anew because of a constraint; the second time people are asked."""


@dataclass
class Tally:
    """What carrying out came to: how many plans ended how, and sentences on what stands in the way."""

    counts: Counter[How] = field(default_factory=Counter)
    reasons: list[str] = field(default_factory=list)
    """Why something was not carried out now: each once."""
    refused: bool = False
    """Something was not done for safety: a limit, another owner."""
    held_up: bool = False
    """The target is away, full, or lets nobody in: what was to be done waits for it."""

    def because(self, why: str, *, refused: bool = False, held_up: bool = False) -> None:
        self.refused = self.refused or refused
        self.held_up = self.held_up or held_up
        if why not in self.reasons:
            self.reasons.append(why)

    def add(self, other: Tally) -> None:
        self.counts.update(other.counts)
        for why in other.reasons:
            self.because(why)
        self.refused = self.refused or other.refused
        self.held_up = self.held_up or other.held_up


@dataclass
class Carried:
    """Writes down what became of plans of one source. `identity` is its target, `probe` what may close its breaker.

    `run` is the run that carries out, where one does; the log names it with each finding it cleaned.
    """

    terms: Terms
    tally: Tally
    identity: str = ""
    probe: breaker.Probe | None = None
    run: str | None = None

    def write(self, tx: Transaction, ended: Sequence[tuple[Claimed, Result]]) -> None:
        """Each plan, its finding and its target's breaker, in the caller's transaction; raises ClaimLost."""
        by_how: dict[How, list[tuple[Claimed, Result]]] = {}
        for one, result in ended:
            by_how.setdefault(result.how, []).append((one, result))
            self.tally.counts[result.how] += 1
        for how, some in by_how.items():
            _WRITE[how](self, tx, some)

    def done(self, tx: Transaction, some: Sequence[tuple[Claimed, Result]]) -> None:
        effects.succeeded(
            tx,
            [(one, None if r.images is None else images.to_json(r.images)) for one, r in some],
            beside=[result.beside for _, result in some],
        )
        moves = [
            Move(
                one.finding, Event.TAKEN_BACK if one.undoes else Event.CLEANED, one.id, " ".join(result.beside) or None
            )
            for one, result in some
        ]
        progress.move(tx, sorted(moves, key=lambda move: move.event is Event.TAKEN_BACK), by=ACTOR, run=self.run)
        self.worked(tx)

    def undone_before(self, tx: Transaction, some: Sequence[tuple[Claimed, Result]]) -> None:
        """It was done and taken back, of which a restored backup did not know: the finding ends as undone."""
        self.done(tx, some)
        plans = effects.found_undone(tx, [one.id for one, _ in some])
        progress.move(tx, [Move(plan.finding, Event.TAKEN_BACK, plan.id) for plan in plans], by=ACTOR)

    def worked(self, tx: Transaction) -> None:
        """The target answered, whatever it said."""
        breaker.worked(tx, self.identity, self.probe)
        self.probe = None

    def drifted(self, tx: Transaction, some: Sequence[tuple[Claimed, Result]]) -> None:
        self.worked(tx)
        self.stale(tx, [(one, result.why) for one, result in some])

    def stale(self, tx: Transaction, some: Sequence[tuple[Claimed, str]]) -> None:
        """Proven not done: planned anew at the next run."""
        if some:
            effects.skipped(tx, some)
            self.follow(tx, some, Event.DRIFTED)

    def conflict(self, tx: Transaction, some: Sequence[tuple[Claimed, Result]]) -> None:
        """A constraint forbids it: planned anew once, then a person."""
        self.worked(tx)
        again: list[tuple[Claimed, str]] = []
        over: list[tuple[Claimed, str]] = []
        for one, result in some:
            tried = any(
                before.reason is not None and before.reason.startswith(AS_IT_STANDS)
                for before in stored.of_finding(tx, one.finding)
            )
            (over if tried or one.undoes else again).append((one, f"{AS_IT_STANDS}: {result.why}"))
        self.stale(tx, again)
        self._failed(tx, over)

    def refused(self, tx: Transaction, some: Sequence[tuple[Claimed, Result]]) -> None:
        self.worked(tx)
        self._failed(tx, [(one, result.why) for one, result in some])

    def _failed(self, tx: Transaction, some: Sequence[tuple[Claimed, str]]) -> None:
        if some:
            effects.failed(tx, some)
            self.follow(tx, some, Event.FAILED)

    def quarantined(self, tx: Transaction, some: Sequence[tuple[Claimed, Result]]) -> None:
        doubtful = [(one, result.why) for one, result in some]
        effects.quarantined(tx, doubtful)
        self.follow(tx, doubtful, Event.QUARANTINED)

    def follow(self, tx: Transaction, some: Sequence[tuple[stored.Stored, str]], *events: Event) -> None:
        """The findings of plans that ended otherwise than planned, each with why: they go where these events lead.

        One whose undo ended so stays as it is, and people are told that what they asked for was not done.
        """
        for event in events:
            moves = [Move(one.finding, event, one.id, why) for one, why in some if not one.undoes]
            progress.move(tx, moves, by=ACTOR)
        undos = [(one, why) for one, why in some if one.undoes]
        progress.move(tx, [Move(one.finding, Event.NOT_UNDONE, one.id, why) for one, why in undos], by=ACTOR)
        for _, why in undos:
            self.tally.because(f"Not taken back: {why}", refused=True)

    def again(self, tx: Transaction, some: Sequence[tuple[Claimed, Result]]) -> None:
        """Proven not done, and the target's own fault: tried again as the rule's template says."""
        asked = [pair for pair in some if pair[0].state is BundleState.AMBIGUOUS]
        failed = [pair for pair in some if pair[0].state is not BundleState.AMBIGUOUS]
        if asked:
            self.worked(tx)
            self._retry(tx, asked, kind="asked")
        if failed:
            why = failed[0][1].why
            breaker.broke(tx, self.identity, why, probe=self.probe)
            self._retry(tx, failed, kind="not_done")
            self.tally.because(why, held_up=True)

    def paused(self, tx: Transaction, some: Sequence[tuple[Claimed, Result]]) -> None:
        """It will not work before a person changed something: nothing is sent until then, and no attempt is spent."""
        why = some[0][1].why
        breaker.opened_for_person(tx, self.identity, why)
        self._retry(tx, some, kind="paused", burn=False)
        self.tally.because(why, held_up=True)

    def _retry(self, tx: Transaction, some: Sequence[tuple[Claimed, Result]], *, kind: str, burn: bool = True) -> None:
        by_rule: dict[str, list[tuple[Claimed, Result]]] = {}
        for one, result in some:
            by_rule.setdefault(one.rule, []).append((one, result))
        for rule, mine in by_rule.items():
            why = mine[0][1].why
            made = effects.retry(
                tx, [one for one, _ in mine], self.terms.retries(rule), kind=kind, reason=why, burn=burn
            )
            self.follow(tx, [(one, why) for one in made.given_up], Event.FAILED)

    def in_doubt(self, tx: Transaction, some: Sequence[tuple[Claimed, Result]]) -> None:
        """Asked about when the batch is over; where the target could not even be asked, later."""
        fresh = [one for one, _ in some if one.state is not BundleState.AMBIGUOUS]
        asked = [one for one, _ in some if one.state is BundleState.AMBIGUOUS]
        why = some[0][1].why
        doubtful = effects.ambiguous(tx, fresh, why)
        effects.put_off(tx, doubtful, tx.now)
        effects.put_off(tx, asked, tx.now + ASK_AGAIN)
        self.tally.because(why, held_up=True)


_WRITE: dict[How, Callable[[Carried, Transaction, Sequence[tuple[Claimed, Result]]], None]] = {
    How.DONE: Carried.done,
    How.DONE_BEFORE: Carried.done,
    How.UNDONE_BEFORE: Carried.undone_before,
    How.DRIFTED: Carried.drifted,
    How.CONFLICT: Carried.conflict,
    How.REFUSED: Carried.refused,
    How.KEY_CONFLICT: Carried.quarantined,
    How.UNKNOWN: Carried.quarantined,
    How.NOT_DONE: Carried.again,
    How.PAUSED: Carried.paused,
    How.IN_DOUBT: Carried.in_doubt,
}
"""What follows from what became of a plan."""
