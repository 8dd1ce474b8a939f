"""The facade for decisions: approve, reject, retry, judge and undo.

The command line, the console and chats call it. Each answer is a sentence: what was done, and what to do next.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from connectors.errors import ConnectorError
from connectors.target import Target
from reconcile.audit import log
from reconcile.cleaning import cleaning, undo
from reconcile.cleaning.execution import executor
from reconcile.cleaning.execution.execute import may_answer_later
from reconcile.cleaning.execution.outcomes import ExecutionResult
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.planning import shape
from reconcile.cleaning.planning.planner import Planner
from reconcile.coordination import releases
from reconcile.errors import Refused, Wrong
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding
from reconcile.findings.states import Event, PlanState, State
from reconcile.journal import breaker, effects, limits, ownership
from reconcile.plugins import verb_of
from reconcile.store import Store, Transaction, approvals, breakers
from reconcile.store import findings as stored_findings
from reconcile.store import plans as stored
from reconcile.store import runs as stored_runs
from reconcile.store.approvals import Approval
from reconcile.store.plans import StoredPlan
from reconcile.tracking import decide, progress
from reconcile.tracking.progress import Transition
from rules.cleaning import Policy
from rules.kinds.base import Rule

_TO_PLAN = (State.OPEN, State.STALE, State.SNOOZED, State.FAILED)
_TO_TRY = (PlanState.RETRY_WAIT, PlanState.UNKNOWN, PlanState.APPROVED)
JUDGEMENTS: Mapping[str, Event] = {"done": Event.CLEANED, "not_done": Event.RETURNED, "abandon": Event.FAILED}
"""Verdicts on a cleaning with an unknown outcome."""


class NothingToRetry(Refused):
    """The plan neither failed nor waits."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.id} is {finding.state.value.replace('_', ' ')}; there is nothing to retry")


class BeyondLimits(Refused):
    """The plan exceeds limits; a person can approve it anyway."""

    def __init__(self, finding: str, error: limits.OverLimit) -> None:
        next_step = f"{error.reason}. `reconcile approve {finding} --over-limit` approves it anyway"
        message = str(error).removesuffix(".") if isinstance(error, limits.CleaningStopped) else next_step
        super().__init__(f"{finding} was not cleaned: {message}")


class PlanRejected(Refused):
    """A person already rejected this exact plan; nothing was proposed."""

    def __init__(self, finding: str, rejection: Approval) -> None:
        super().__init__(
            f"{finding} was not approved: {rejection.by} rejected this plan on {_time(rejection.at)}. "
            f"Nothing was changed. To approve it anyway: `reconcile approve {finding} --overrule`"
        )


class AnotherWentBeyond(Refused):
    """The first of two approvers allowed the plan to exceed limits; the second has to allow it too."""

    def __init__(self, finding: str, rule: str) -> None:
        super().__init__(
            f"{finding} was not approved: the first person let it exceed the limits of rule `{rule}`. To allow that "
            f"too: `reconcile approve {finding} --over-limit`"
        )


class RunUnknown(Wrong):
    """No run has this id."""

    def __init__(self, identifier: str) -> None:
        super().__init__(
            f"Unknown run `{identifier}`; `reconcile runs` lists the runs. The log keeps the entry of an old run that "
            f"changed nothing: `reconcile audit --run {identifier}`"
        )


class RuleDoesNotClean(Refused):
    """The rule of the finding has no `clean:`."""

    def __init__(self, finding: Finding) -> None:
        if_it_may_stay = "If these are not duplicates" if finding.form == DUPLICATE else "If it may stay as it is"
        super().__init__(
            f"Rule {finding.rule!r} of {finding.id} has no `clean`, so it has no plan. "
            f"{if_it_may_stay}: `reconcile dismiss {finding.id}`. If you dealt with it yourself: "
            f"`reconcile handle {finding.id}`. To decide later: `reconcile snooze {finding.id}`"
        )


@dataclass(frozen=True)
class DecisionResult:
    """The result of a decision. `ok` is False if it was refused or is not done yet; `state` is the plan's.

    `changed` is False if it was decided before. `held_up`: it is recorded, and is executed later.
    """

    sentence: str
    finding: str | None = None
    plan: str | None = None
    state: PlanState | None = None
    ok: bool = True
    changed: bool = True
    held_up: bool = False

    def to_json(self) -> dict[str, Any]:
        state = None if self.state is None else self.state.value
        return {"sentence": self.sentence, "finding": self.finding, "plan": self.plan, "state": state}


@dataclass(frozen=True)
class Decisions:
    """Decisions of one person, with everything execution needs."""

    store: Store
    terms: Terms
    target: Callable[[str], Target]
    planner: Planner
    actor: str
    sleep: Callable[[float], None] = lambda _: None
    patience: dt.timedelta = dt.timedelta(seconds=5)
    system: str | None = None
    """The operating system's user who says that `actor` is their name."""

    # Decide

    def approve(
        self,
        identifier: str,
        *,
        plan_hash: str | None = None,
        note: str | None = None,
        later: bool = False,
        over_limit: bool = False,
        overrule: bool = False,
    ) -> DecisionResult:
        """Approve the plan of a finding and execute it; make the plan first if there is none.

        `plan_hash`: the hash that the person saw, or its first characters. `over_limit`: even if it exceeds limits.
        `overrule`: even if a person rejected the same plan.
        If another state cleans that table, nothing is approved and the answer says so. If the database cannot be asked
        now, the approval is recorded, and everything is checked before the plan is executed later.
        Raises a Wrong, a Refused, ConnectorError, StoreError.
        """
        finding, plan_record = self._look(identifier)
        try:
            with self.logging_refusal("approve", finding.id):
                if plan_record is not None and plan_record.state is PlanState.AWAITING:
                    self._must_be_ours_if_asked(plan_record.source, plan_record.summary["table"])
                elif plan_record is None and finding.state in _TO_PLAN:
                    rule = self.cleaning_rule(finding)
                    if plan_hash is None:
                        self._plan(finding, rule, overrule=overrule)
        except ownership.OwnershipRefused as error:
            return DecisionResult(f"{finding.id} was not approved: {error}", finding.id, ok=False)
        decision = decide.approve(
            self.store,
            finding.id,
            actor=self.actor,
            system=self.system,
            plan_hash=plan_hash,
            note=note,
            void=self._void,
            reserve=lambda tx, record: self._reserve(tx, record, over_limit=over_limit),
        )
        _, plan_record = self._look(finding.id)
        if not decision.ready or later or plan_record is None:
            next_step = " `reconcile run` or `serve` executes it." if decision.ready and later else ""
            name, state = (None, None) if plan_record is None else (plan_record.id, plan_record.state)
            sentence = decision.sentence + next_step + decision.remark
            return DecisionResult(sentence, finding.id, name, state, changed=decision.changed)
        answer = self._executed(plan_record.id, executor.execute_plans(self._tools(), ids=[plan_record.id]))
        return replace(answer, sentence=answer.sentence + decision.remark)

    def reject(self, identifier: str, *, plan_hash: str | None = None, note: str | None = None) -> DecisionResult:
        """Reject a plan: it is neither executed nor proposed again unchanged. A waiting undo is withdrawn."""
        finding, plan_record = self._look(identifier)
        if plan_record is None and finding.state in _TO_PLAN:
            self.cleaning_rule(finding)
        decision = decide.reject(
            self.store, finding.id, actor=self.actor, system=self.system, plan_hash=plan_hash, note=note
        )
        return DecisionResult(decision.sentence, decision.finding.id, changed=decision.changed)

    def allow(self, rule: str) -> DecisionResult:
        """Let a rule go on after a safety check stopped its cleaning, or refused to judge its findings."""
        rule_config = self.terms.rule(rule)
        with self.store.begin() as tx:
            judged = stored_runs.accept_unlikely(tx, rule)
            if judged:
                log.append(tx, self.actor, "counts.accepted", rule, {"rule": rule})
            allowed = limits.allow(tx, limits.of_rule(rule), self.actor)
            if rule_config is not None:
                shapes = [shape.allow(tx, dataset, rule) for dataset in rule_config.configured_datasets]
                allowed = allowed or any(shapes)
        ways = [*(["judges its findings"] if judged else ()), *(["cleans"] if allowed else ())]
        outcome = f"{' and '.join(ways)} again, starting with its next run"
        return DecisionResult(
            f"Rule {rule!r} {outcome if ways else 'was not stopped; nothing was changed'}.", ok=bool(ways)
        )

    # Try again

    def retry(self, identifier: str, *, note: str | None = None) -> DecisionResult:
        """Retry now a plan that waits for its next attempt or its target; plan a failed finding again."""
        finding, plan_record = self._look(identifier)
        if plan_record is None and finding.state is State.FAILED:
            return self.approve(finding.id, note=note)
        if plan_record is None or plan_record.state not in _TO_TRY:
            raise NothingToRetry(finding)
        with self.store.begin() as tx:
            effects.try_now(tx, [plan_record.id], by=self.actor)
            for name in (plan_record.target, breaker.of_source(plan_record.source)):
                breaker.close(tx, name, by=self.actor)
        return self._executed(plan_record.id, executor.execute_plans(self._tools(), ids=[plan_record.id]))

    # Quarantine

    def quarantined(self) -> list[StoredPlan]:
        """Return the plans with an unknown outcome, oldest first."""
        with self.store.read() as tx:
            return list(stored.find(tx, stored.PlanFilter(states=(PlanState.QUARANTINED,))))

    def judge(self, identifier: str, verdict: effects.Verdict, *, note: str | None = None) -> DecisionResult:
        """Record what a person found in the target: `done`, `not_done` (retried at once), or `abandon`."""
        plan = self._quarantined(identifier)
        with self.store.begin() as tx:
            effects.judged(tx, plan.id, verdict, by=self.actor, reason=note or f"{self.actor} says so.")
            if plan.undoes is None:
                progress.move(tx, [Transition(plan.finding, JUDGEMENTS[verdict], plan.id, note)], by=self.actor)
            elif verdict == "done":
                progress.move(tx, [Transition(plan.finding, Event.UNDONE, plan.id, note)], by=self.actor)
        if verdict == "not_done":
            return self._executed(plan.id, executor.execute_plans(self._tools(), ids=[plan.id]))
        outcome = "was done" if verdict == "done" else "was abandoned; its records stay as they are now"
        operation = "undo" if plan.undoes else "cleaning"
        return DecisionResult(
            f"The {operation} of {plan.finding} {outcome}, as {self.actor} says.", plan.finding, plan.id
        )

    def _quarantined(self, identifier: str) -> StoredPlan:
        for plan in self.quarantined():
            if identifier in (plan.id, plan.finding) or identifier.upper() == plan.finding:
                return plan
        with self.store.read() as tx:
            try:
                stored.get(tx, identifier)
            except stored.PlanUnknown:
                stored_findings.name_of(tx, identifier)
        raise effects.NotInQuarantine(identifier)

    # Undo

    def undo(
        self,
        identifier: str | None = None,
        *,
        run: str | None = None,
        plan: str | None = None,
        partial: bool = False,
        with_later: bool = False,
        note: str | None = None,
    ) -> undo.Undone:
        """Undo the cleanings of a finding, a whole run or one plan, newest first.

        A repeated request changes nothing and says so.
        Raises a Wrong or a Refused (nothing was changed then), ConnectorError, StoreError.
        """
        with self.store.read() as tx:
            finding = None if identifier is None else stored_findings.name_of(tx, identifier)
            if run is not None and stored_runs.get(tx, run) is None:
                raise RunUnknown(run)
            selection = stored.PlanFilter(finding=finding, run=run)
            if plan is not None:
                selection = stored.PlanFilter(finding=stored.get(tx, plan).finding)
            names = undo.chosen(tx, selection, only=plan, with_later=with_later)
            if not names and (findings := undo.undone_before(tx, selection, only=plan)):
                return undo.Undone((), undone_before=findings)
        scope = finding or (f"run {run}" if run else f"plan {plan}")
        with self.logging_refusal("undo", scope):
            return undo.undo_plans(self._tools(), names, by=self.actor, scope=scope, partial=partial, note=note)

    # Parts

    @contextmanager
    def logging_refusal(self, decision: str, scope: str) -> Iterator[None]:
        """Record in the audit log that a database did not let a person decide; the error goes on to them.

        `scope` is what the decision is about: a finding, or "run …" or "plan …" for an undo.
        """
        try:
            yield
        except (ConnectorError, ownership.OwnershipRefused) as error:
            with self.store.begin() as tx:
                body = {"decision": decision, "finding": scope, "why": str(error)}
                log.append(tx, self.actor, "decision.refused", scope, body)
            raise

    def _look(self, identifier: str) -> tuple[Finding, StoredPlan | None]:
        with self.store.read() as tx:
            finding = stored_findings.get(tx, identifier)
            return finding, stored.standing(tx, finding.id)

    def _tools(self) -> executor.ExecutionContext:
        return executor.ExecutionContext(
            *(self.store, self.terms, self.target, self.planner.subject), sleep=self.sleep, patience=self.patience
        )

    def cleaning_rule(self, finding: Finding) -> Rule:
        """Return the finding's rule, which has `clean`. Raises RuleDoesNotClean."""
        rule = self.terms.rule(finding.rule)
        if rule is None:
            raise RuleDoesNotClean(finding)
        return rule

    def _plan(self, finding: Finding, rule: Rule, *, overrule: bool) -> None:
        """Make and propose a plan for a finding that has none. Raises PlanRejected, FindingChanged."""
        plan = self.planner.of(rule).plan(finding)
        self.must_be_ours(plan.source, plan.table)
        policy = self.terms.asks(plan)
        with self.store.begin() as tx:
            effects.lock_findings(tx, [finding.id])
            decide.check_seen(stored_findings.lock(tx, finding.id), finding.version)
            if rejections := self.rejections(tx, plan):
                if not overrule:
                    raise PlanRejected(finding.id, rejections[-1])
                by = sorted({rejection.by for rejection in rejections})
                body = {"finding": finding.id, "plan_hash": plan.plan_hash, "rejected_by": by}
                log.append(tx, self.actor, "rejection.overruled", finding.id, body)
            name = self.propose(tx, plan, rule, "required" if policy == "none" else policy)
            progress.move(tx, [Transition(finding.id, Event.PROPOSED, name)], by=self.actor)

    def propose(self, tx: Transaction, plan: Plan, rule: Rule, policy: Policy) -> str:
        """Store a plan that waits for approval, and return its id; the finding keeps its state."""
        releases.keep(tx, self.terms.project)  # the configuration may have changed since the last run
        release, expires = self.terms.project.release, tx.now + rule.approval_expires
        [name] = effects.propose(
            tx, [plan], run=None, release=release, policy=policy, by=cleaning.ACTOR, expires=expires
        )
        return name

    def must_be_ours(self, source: str, table: str) -> None:
        """Raise an OwnershipRefused unless this state may clean the table."""
        ownership.must_be_ours(self.store, self.target(source), table)

    def _must_be_ours_if_asked(self, source: str, table: str) -> None:
        """Raise an OwnershipRefused for another state's table; a database that does not answer is asked later."""
        try:
            self.must_be_ours(source, table)
        except ConnectorError as error:
            if not may_answer_later(error):
                raise

    def rejections(self, tx: Transaction, plan: Plan) -> list[Approval]:
        """Return the rejections of this plan, oldest first; columns that may drift don't count as a difference."""
        plans = approvals.rejected(tx, [plan.finding]).get(plan.finding, ())
        recorded = [
            approval for rejected in plans if rejected.is_for(plan) for approval in approvals.of(tx, rejected.id)
        ]
        return sorted(
            (approval for approval in recorded if approval.decision == "rejected"), key=lambda approval: approval.at
        )

    def _void(self, plan: Plan, policy: str) -> str | None:
        """Return why the plan is void; which database it is for is asked later if that does not answer now."""
        try:
            identity = self.target(plan.source).identity()
        except ConnectorError as error:
            if not may_answer_later(error):
                raise
            identity = plan.target
        return self.terms.void(plan, identity, policy)

    def _reserve(self, tx: Transaction, plan: StoredPlan, *, over_limit: bool) -> None:
        caps = limits.Both(self.terms.caps(tx, plan.rule), self.terms.project.caps_of(plan.source))
        use = limits.Use.of(plan.id, plan.content)
        if plan.is_beyond_limits and not over_limit:
            raise AnotherWentBeyond(plan.finding, plan.rule)
        applied_caps = None if over_limit else caps
        try:
            limits.reserve(tx, [use], rule=plan.rule, target=plan.target, run=plan.run, caps=applied_caps)
        except limits.OverLimit as error:
            raise BeyondLimits(plan.finding, error) from error
        if plan.undoes is None and plan.rule in self.terms.project.rules:
            effects.approved_within(tx, plan.id, self.terms.limits_in_force(plan.rule, plan.source))
        if over_limit:
            effects.beyond_limits(tx, plan.id, use.records, by=self.actor)

    def _executed(self, name: str, tally: ExecutionResult) -> DecisionResult:
        with self.store.read() as tx:
            plan = stored.get(tx, name)
            target = breakers.get(tx, plan.target)
        for_a_person = target is not None and breaker.is_for_person(target)
        sentence, ok = _in_words(plan, tally, for_a_person=for_a_person)
        return DecisionResult(sentence, plan.finding, plan.id, plan.state, ok, held_up=plan.state in _TO_TRY)


def _in_words(plan: StoredPlan, tally: ExecutionResult, *, for_a_person: bool) -> tuple[str, bool]:
    reason = plan.reason or "; ".join(tally.reasons)
    becomes = "undone" if plan.undoes else "cleaned"
    match plan.state:
        case PlanState.SUCCEEDED:
            done = "restored" if plan.undoes else verb_of(plan.action).past
            sentence = f"{plan.finding} is {becomes}: {_records(plan.records)} {done}{_changed(plan.rows)}."
            undo_hint = "" if plan.reversible == "no" else f" Undo it: `reconcile undo {plan.finding}`"
            return sentence + undo_hint, True
        case PlanState.SKIPPED:
            sentence = f"{plan.finding} was skipped: {reason.rstrip('.')}."
            if plan.undoes:
                return f"{sentence} `reconcile undo {plan.finding}` plans it again", False
            sentence += " The next run plans it again"
            return f"{sentence}; `reconcile plan --finding {plan.finding}` shows that plan now", False
        case PlanState.RETRY_WAIT:
            next_step = f"Then run `reconcile retry {plan.finding}`"
            if not for_a_person:
                next_step = f"The next attempt is at {_time(plan.next_at)}"
            return f"{plan.finding} could not be {becomes} now: {reason.rstrip('.')}. {next_step}", False
        case PlanState.FAILED:
            return f"{plan.finding} could not be {becomes}; nothing was changed: {reason}", False
        case PlanState.QUARANTINED | PlanState.UNKNOWN:
            sentence = f"It is unknown whether {plan.finding} was {becomes}: {reason}"
            return f"{sentence}. `reconcile quarantine` shows details", False
    if plan.undoes:
        reason = reason or "another process is working on it"
        return f"The undo of {plan.finding} waits: {reason.rstrip('.')}. {undo.withdrawing(plan.finding)}", False
    if not reason and plan.state in (PlanState.CLAIMED, PlanState.SENT):
        return f"{plan.finding} is approved, and another process is cleaning it", True
    return _waiting_in_words(plan, reason, for_a_person=for_a_person), False


def _waiting_in_words(plan: StoredPlan, reason: str, *, for_a_person: bool) -> str:
    sentence = f"{plan.finding} is approved and waits: {(reason or 'another process is working on it').rstrip('.')}"
    has_next = plan.attempts > 0 and not for_a_person
    return f"{sentence}. The next attempt is at {_time(plan.next_at)}" if has_next else sentence


def _records(number: int) -> str:
    return f"{number:,} {'record' if number == 1 else 'records'}"


def _changed(rows: int) -> str:
    """Return the end of a sentence about changed rows; empty for a plan that changes none but makes a call."""
    return f", {rows:,} {'row' if rows == 1 else 'rows'} changed" if rows else ""


def _time(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
