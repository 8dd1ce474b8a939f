"""What people do about cleanings, whole: decide, carry out, take back, try again, and say what happened.

Every door (command line, console, chat) calls these; each answers with a sentence that says what was done and what can
be done next.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from connectors.errors import Reaction
from connectors.target import Target
from reconcile.audit import log
from reconcile.cleaning import cleaning, undo
from reconcile.cleaning.execution import carrier
from reconcile.cleaning.execution.carried import Tally
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.planning import shape
from reconcile.cleaning.planning.plan import make
from reconcile.coordination import releases
from reconcile.detection.detect import Subject
from reconcile.findings.bundle import Bundle
from reconcile.findings.operations import BundleState
from reconcile.findings.shown import Finding
from reconcile.findings.states import Event, State
from reconcile.journal import approvals, breaker, effects, limits, ownership
from reconcile.journal.approvals import Approval
from reconcile.store import Store, Transaction
from reconcile.store import bundles as stored
from reconcile.store import findings as stored_findings
from reconcile.store import runs as stored_runs
from reconcile.store.bundles import Stored
from reconcile.store.findings import FindingError
from reconcile.tracking import decide, progress
from reconcile.tracking.progress import Move
from rules.kinds.base import Rule

_TO_PLAN = (State.OPEN, State.STALE, State.SNOOZED, State.FAILED)
_TO_TRY = (BundleState.RETRY_WAIT, BundleState.AMBIGUOUS, BundleState.APPROVED)
JUDGEMENTS: Mapping[str, Event] = {"done": Event.CLEANED, "not_done": Event.RETURNED, "abandon": Event.FAILED}
"""What a person can say of a cleaning of which nobody knows whether it was done."""


class NotInQuarantine(FindingError):
    """Nobody has to say anything about it."""

    def __init__(self, asked: str) -> None:
        super().__init__(f"`{asked}` is not in quarantine; `reconcile quarantine` lists what is")


class NothingToRetry(FindingError):
    """It did not fail and does not wait."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.id} is {finding.state.value.replace('_', ' ')}; there is nothing to try again")


class BeyondLimits(FindingError):
    """The limits do not allow it; a person can say that it is done all the same."""

    reaction = Reaction.ASK

    def __init__(self, finding: str, error: limits.OverLimit) -> None:
        said = str(error).removesuffix(" People decide about all of them.").rstrip(".")
        if not isinstance(error, limits.CleaningStopped):  # which says itself what to do
            said += f". `reconcile approve {finding} --over-limit` does it all the same"
        super().__init__(f"{finding} was not cleaned: {said}")


class PlanRejected(FindingError):
    """Somebody rejected the very plan that would be made; nothing was proposed."""

    reaction = Reaction.ASK

    def __init__(self, finding: str, no: Approval) -> None:
        super().__init__(
            f"{finding} was not approved: {no.by} rejected this plan on {_time(no.at)}. Nothing was changed. To "
            f"approve it anyway: `reconcile approve {finding} --overrule`"
        )


class AnotherWentBeyond(FindingError):
    """Whoever approved it before let it go beyond limits; of two people each has to say that."""

    reaction = Reaction.ASK

    def __init__(self, finding: str, rule: str) -> None:
        super().__init__(
            f"{finding} was not approved: the first person let it go beyond the limits of rule `{rule}`. If you do, "
            f"too, say `reconcile approve {finding} --over-limit`"
        )


class RunUnknown(FindingError):
    """No run is called that."""

    def __init__(self, asked: str) -> None:
        super().__init__(f"No run is called `{asked}`; `reconcile runs` lists them")


class RuleDoesNotClean(FindingError):
    """The rule of the finding has no `clean:`."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(
            f"Rule {finding.rule!r} of {finding.id} has no `clean`, so there is no plan to decide about. "
            f"`reconcile dismiss {finding.id}` says that these are no duplicates, `reconcile snooze {finding.id}` "
            "puts it off"
        )


@dataclass(frozen=True)
class Answer:
    """What was done: `ok` is False where it was refused or is not done yet; `state` is the plan's state now."""

    sentence: str
    finding: str | None = None
    bundle: str | None = None
    state: BundleState | None = None
    ok: bool = True

    def to_json(self) -> dict[str, Any]:
        state = None if self.state is None else self.state.value
        return {"sentence": self.sentence, "finding": self.finding, "bundle": self.bundle, "state": state}


@dataclass(frozen=True)
class Desk:
    """One person at work, with what carrying out needs."""

    store: Store
    terms: Terms
    target: Callable[[str], Target]
    subject: Callable[[str], Subject]
    actor: str
    sleep: Callable[[float], None] = lambda _: None
    patience: dt.timedelta = dt.timedelta(seconds=5)
    system: str | None = None
    """The operating system's user who says that `actor` is their name."""

    # Decide

    def approve(
        self,
        asked: str,
        *,
        plan: str | None = None,
        note: str | None = None,
        later: bool = False,
        over_limit: bool = False,
        overrule: bool = False,
    ) -> Answer:
        """Approve the plan of a finding, and carry it out; where there is none, make it first.

        `plan`: its hash, or how that begins, where the person saw it. `over_limit`: even beyond what limits allow.
        `overrule`: even if somebody rejected the plan that is made.
        Where another state cleans that table, nothing is approved and the answer says so.
        Raises a FindingError, NotPlannable, OverLimit, ConnectorError, StoreError.
        """
        finding, standing = self._look(asked)
        try:
            if standing is not None and standing.state is BundleState.AWAITING:
                self._must_be_ours(standing.source, standing.summary["table"])
            elif standing is None and finding.state in _TO_PLAN:
                rule = self._cleaning(finding)
                if plan is None:
                    self._plan(finding, rule, overrule=overrule)
        except ownership.OwnershipRefused as error:
            return Answer(f"{finding.id} was not approved: {error}", finding.id, ok=False)
        decision = decide.approve(
            self.store,
            finding.id,
            actor=self.actor,
            system=self.system,
            plan=plan,
            note=note,
            void=self._void,
            reserve=lambda tx, bundle: self._reserve(tx, bundle, over_limit=over_limit),
        )
        _, standing = self._look(finding.id)
        if not decision.ready or later or standing is None:
            how = " `reconcile run` or `serve` carries it out." if decision.ready and later else ""
            name, state = (None, None) if standing is None else (standing.id, standing.state)
            return Answer(decision.sentence + how + decision.remark, finding.id, name, state)
        answer = self._carried(standing.id, carrier.carry_out(self._tools(), ids=[standing.id]))
        return replace(answer, sentence=answer.sentence + decision.remark)

    def reject(self, asked: str, *, plan: str | None = None, note: str | None = None) -> Answer:
        """The plan is not carried out, nor proposed again as it is; an undo that waits is withdrawn."""
        finding, standing = self._look(asked)
        if standing is None and finding.state in _TO_PLAN:
            self._cleaning(finding)
        decision = decide.reject(self.store, finding.id, actor=self.actor, system=self.system, plan=plan, note=note)
        return Answer(decision.sentence, decision.finding.id)

    def allow(self, rule: str) -> Answer:
        """A cleaning that stopped because something looked wrong may go on."""
        found = self.terms.rule(rule)
        with self.store.begin() as tx:
            allowed = limits.allow(tx, limits.of_rule(rule), self.actor)
            if found is not None:
                allowed = shape.allow(tx, found.dataset, rule) or allowed
        said = "cleans again from its next run on" if allowed else "was not stopped; nothing was changed"
        return Answer(f"Rule {rule!r} {said}.", ok=allowed)

    # Try again

    def retry(self, asked: str, *, note: str | None = None) -> Answer:
        """Try now what waits for its next attempt, or for its target; plan and do anew what failed."""
        finding, standing = self._look(asked)
        if standing is None and finding.state is State.FAILED:
            return self.approve(finding.id, note=note)
        if standing is None or standing.state not in _TO_TRY:
            raise NothingToRetry(finding)
        with self.store.begin() as tx:
            effects.try_now(tx, [standing.id], by=self.actor)
            breaker.close(tx, standing.target, by=self.actor)
        return self._carried(standing.id, carrier.carry_out(self._tools(), ids=[standing.id]))

    # Quarantine

    def quarantined(self) -> list[Stored]:
        """What a person has to say something about, the oldest first."""
        with self.store.read() as tx:
            return list(stored.find(tx, stored.Filter(states=(BundleState.QUARANTINED,))))

    def judge(self, asked: str, how: effects.Verdict, *, note: str | None = None) -> Answer:
        """A person looked at the target and says: `done`, `not_done` (then it is tried again), or `abandon`."""
        one = self._quarantined(asked)
        with self.store.begin() as tx:
            effects.judged(tx, one.id, how, by=self.actor, reason=note or f"{self.actor} says so.")
            if one.undoes is None:
                progress.move(tx, [Move(one.finding, JUDGEMENTS[how], one.id, note)], by=self.actor)
            elif how == "done":
                progress.move(tx, [Move(one.finding, Event.TAKEN_BACK, one.id, note)], by=self.actor)
        if how == "not_done":
            return self._carried(one.id, carrier.carry_out(self._tools(), ids=[one.id]))
        said = "was done" if how == "done" else "is given up; its records stay as they are now"
        what = "undo" if one.undoes else "cleaning"
        return Answer(f"The {what} of {one.finding} {said}, as {self.actor} says.", one.finding, one.id)

    def _quarantined(self, asked: str) -> Stored:
        for one in self.quarantined():
            if asked in (one.id, one.finding) or asked.upper() == one.finding:
                return one
        raise NotInQuarantine(asked)

    # Undo

    def undo(
        self,
        asked: str | None = None,
        *,
        run: str | None = None,
        bundle: str | None = None,
        partial: bool = False,
        with_later: bool = False,
        note: str | None = None,
    ) -> undo.Undone:
        """Take back what was done for a finding, in a whole run, or by one bundle; newest first.

        Raises UndoRefused, and then nothing was changed; a FindingError, ConnectorError, StoreError.
        """
        with self.store.read() as tx:
            finding = None if asked is None else stored_findings.name_of(tx, asked)
            if run is not None and stored_runs.get(tx, run) is None:
                raise RunUnknown(run)
            wanted = stored.Filter(finding=finding, run=run)
            if bundle is not None:
                wanted = stored.Filter(finding=stored.get(tx, bundle).finding)
            names = undo.chosen(tx, wanted, only=bundle, with_later=with_later)
        what = finding or (f"run {run}" if run else f"bundle {bundle}")
        return undo.take_back(self._tools(), names, by=self.actor, what=what, partial=partial, note=note)

    # Parts

    def _look(self, asked: str) -> tuple[Finding, Stored | None]:
        with self.store.read() as tx:
            finding = stored_findings.get(tx, asked)
            return finding, stored.standing(tx, finding.id)

    def _tools(self) -> carrier.Tools:
        return carrier.Tools(self.store, self.terms, self.target, sleep=self.sleep, patience=self.patience)

    def _cleaning(self, finding: Finding) -> Rule:
        """The rule of a finding, which cleans. Raises RuleDoesNotClean."""
        rule = self.terms.rule(finding.rule)
        if rule is None:
            raise RuleDoesNotClean(finding)
        return rule

    def _plan(self, finding: Finding, rule: Rule, *, overrule: bool) -> None:
        """The plan of a finding that has none, put before whoever decides. Raises PlanRejected, an OwnershipRefused."""
        with self.store.read() as tx:
            now = tx.now
        bundle = make(finding, cleaning.planning(self, rule, now))
        self._must_be_ours(bundle.source, bundle.table)
        asked = self.terms.asks(bundle)
        with self.store.begin() as tx:
            releases.keep(tx, self.terms.project)  # no run had to begin since the configuration was edited
            effects.lock_findings(tx, [finding.id])
            if rejections := self._rejections(tx, bundle):
                if not overrule:
                    raise PlanRejected(finding.id, rejections[-1])
                by = sorted({rejection.by for rejection in rejections})
                body = {"finding": finding.id, "plan_hash": bundle.plan_hash, "rejected_by": by}
                log.append(tx, self.actor, "rejection.overruled", finding.id, body)
            [name] = effects.propose_many(
                tx,
                [bundle],
                run=None,
                release=self.terms.project.release,
                policy="required" if asked == "none" else asked,
                by=cleaning.ACTOR,
                expires=tx.now + rule.approval_expires,
            )
            progress.move(tx, [Move(finding.id, Event.PROPOSED, name)], by=self.actor)

    def _must_be_ours(self, source: str, table: str) -> None:
        """Raises an OwnershipRefused unless this state may clean there."""
        ownership.must_be_ours(self.store, self.target(source), table)

    def _rejections(self, tx: Transaction, bundle: Bundle) -> list[Approval]:
        """Who rejected this plan as it is, but for what may drift; the last one last."""
        plans = approvals.rejected(tx, [bundle.finding]).get(bundle.finding, ())
        words = [word for plan in plans if plan.is_for(bundle) for word in approvals.of(tx, plan.id)]
        return sorted((word for word in words if word.decision == "rejected"), key=lambda word: word.at)

    def _void(self, bundle: Bundle, policy: str) -> str | None:
        return self.terms.void(bundle, self.target(bundle.source).identity(), policy)

    def _reserve(self, tx: Transaction, one: Stored, *, over_limit: bool) -> None:
        caps = limits.Both(self.terms.caps(tx, one.rule), self.terms.project.caps_of(one.source))
        use = limits.Use.of(one.id, one.bundle)
        if one.is_beyond_limits and not over_limit:
            raise AnotherWentBeyond(one.finding, one.rule)
        both = None if over_limit else caps
        try:
            limits.reserve_many(tx, [use], rule=one.rule, target=one.target, run=one.run, caps=both)
        except limits.OverLimit as error:
            raise BeyondLimits(one.finding, error) from error
        if over_limit:
            effects.beyond_limits(tx, one.id, use.records, by=self.actor)

    def _carried(self, name: str, tally: Tally) -> Answer:
        with self.store.read() as tx:
            one = stored.get(tx, name)
            target = breaker.status(tx, one.target)
        for_a_person = target is not None and target.state != breaker.CLOSED and target.probe_at is None
        sentence, ok = _in_words(one, tally, for_a_person=for_a_person)
        return Answer(sentence, one.finding, one.id, one.state, ok)


def _in_words(one: Stored, tally: Tally, *, for_a_person: bool) -> tuple[str, bool]:
    why = one.reason or "; ".join(tally.reasons)
    becomes = "taken back" if one.undoes else "cleaned"
    match one.state:
        case BundleState.SUCCEEDED:
            done = f"{one.finding} is {becomes}: {one.action} of {_records(one.records)}, {_rows(one.rows)} changed."
            back = "" if one.reversible == "no" else f" Take it back: `reconcile undo {one.finding}`"
            return done + back, True
        case BundleState.SKIPPED:
            left = f"{one.finding} was left as it is: {why.rstrip('.')}."
            if one.undoes:
                return f"{left} `reconcile undo {one.finding}` plans it anew", False
            left += " The next run plans it anew"
            return f"{left}; `reconcile plan --finding {one.finding}` shows that plan now", False
        case BundleState.RETRY_WAIT:
            then = f"Then say `reconcile retry {one.finding}`"
            if not for_a_person:
                then = f"It is tried again at {_time(one.next_at)}"
            return f"{one.finding} could not be {becomes} now: {why.rstrip('.')}. {then}", False
        case BundleState.FAILED:
            return f"{one.finding} could not be {becomes}, and nothing of it was done: {why}", False
        case BundleState.QUARANTINED | BundleState.AMBIGUOUS:
            doubt = f"Nobody knows yet whether {one.finding} was {becomes}: {why}"
            return f"{doubt}. `reconcile quarantine` has more", False
    why = why or "somebody else is at it"
    if one.undoes:
        return f"The undo of {one.finding} waits: {why.rstrip('.')}. {undo.withdrawing(one.finding)}", False
    return f"{one.finding} is approved and waits: {why}", False


def _records(number: int) -> str:
    return f"{number:,} {'record' if number == 1 else 'records'}"


def _rows(number: int) -> str:
    return f"{number:,} {'row' if number == 1 else 'rows'}"


def _time(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
