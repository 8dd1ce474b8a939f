"""The service for decisions: every door calls it. Each answer is a sentence: what was done, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from connectors.errors import ConnectorError
from reconcile.audit import log
from reconcile.cleaning import undo
from reconcile.cleaning.execution import executor
from reconcile.cleaning.execution.execute import may_answer_later
from reconcile.cleaning.execution.outcomes import ExecutionResult
from reconcile.cleaning.planning import shape
from reconcile.decisions import approving, decide, in_words, keeper_choice, pairs, splitting
from reconcile.decisions.offered import JUDGES, require
from reconcile.decisions.pairs import PairRequest
from reconcile.decisions.proposing import Proposing
from reconcile.decisions.refusals import (
    AnotherWentBeyond,
    BeyondLimits,
    NothingToRetry,
    PlanNotShown,
    RuleUnknown,
    RunUnknown,
)
from reconcile.decisions.request import DecisionRequest, DecisionResult
from reconcile.decisions.undone import undone_in_words
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding
from reconcile.findings.states import Event, PlanState, State
from reconcile.journal import breaker, effects, limits, ownership
from reconcile.people.roles import Person
from reconcile.store import Transaction, breakers
from reconcile.store import findings as stored_findings
from reconcile.store import plans as stored
from reconcile.store import runs as stored_runs
from reconcile.store.plans import StoredPlan
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition

_TO_PLAN = (State.OPEN, State.STALE, State.SNOOZED, State.FAILED)
_TO_TRY = (PlanState.RETRY_WAIT, PlanState.UNKNOWN, PlanState.APPROVED)
Verdict = effects.Verdict
JUDGEMENTS: Mapping[str, Event] = {"done": Event.CLEANED, "not_done": Event.RETURNED, "abandon": Event.FAILED}
"""Verdicts on a cleaning with an unknown outcome."""


class Decisions(Proposing):
    """The decisions of one person, whatever the door."""

    def decide(self, request: DecisionRequest) -> DecisionResult:
        """Carry out one decision.

        Raises DecisionUnknown, NotAllowed, and a Wrong, a Refused, ConnectorError, StoreError of the decision.
        """
        require(Person(self.actor, self.role, self.sees_personal, self.system or ""), request.decision)
        if request.version is not None and request.decision != "approve" and not request.may_repeat:
            with self.store.read() as tx:  # where the state does not check it again, the hash of the plan does
                decide.check_seen(stored_findings.get(tx, request.about), request.version)
        result = self._decided(request)
        return replace(result, became=in_words.became(request, result))

    def _decided(self, request: DecisionRequest) -> DecisionResult:
        note = request.note
        match request.decision:
            case "approve":
                return self.approve(
                    request.about,
                    plan_hash=request.plan,
                    note=note,
                    later=request.later,
                    over_limit=request.over_limit,
                    overrule=request.overrule,
                    check=partial(_check_shown, request),
                )
            case "reject":
                return self.reject(request.about, plan_hash=request.plan, note=note)
            case "retry":
                return self.retry(request.about, note=note)
            case "undo":
                return self._undone(request)
            case "split":
                return splitting.split(
                    self,
                    request.about,
                    request.keeper,
                    seen=request.version,
                    note=note,
                    sees_personal=self.sees_personal,
                )
            case "keep":
                named = (request.about, request.keeper, request.values)
                return keeper_choice.keep(
                    self, *named, seen=request.version, note=note, sees_personal=self.sees_personal
                )
            case decision:
                change, fields = _CHANGES[decision]
                own = {name: getattr(request, name) for name in fields}
                if "timezone" in own:
                    own["timezone"] = request.timezone or self.terms.project.timezone
                return change(self.store, request.about, actor=self.actor, note=note, seen=request.version, **own)

    def _undone(self, request: DecisionRequest) -> DecisionResult:
        extent = {"partial": request.partial, "with_later": request.with_later}
        undone = self.undo(request.finding, run=request.run, plan=request.undoes, note=request.note, **extent)
        waits, sentence = undone.only_waits, " ".join(undone_in_words(undone))
        changed = waits or bool(undone.undone)
        return DecisionResult(
            sentence, request.finding, ok=not undone.failed, changed=changed, held_up=waits, undone=undone
        )

    def approve(
        self,
        identifier: str,
        *,
        plan_hash: str | None = None,
        note: str | None = None,
        later: bool = False,
        over_limit: bool = False,
        overrule: bool = False,
        check: Callable[[Finding, StoredPlan | None], None] = lambda _finding, _plan: None,
    ) -> DecisionResult:
        """Approve the plan of a finding and execute it; make the plan first if there is none.

        `plan_hash`: the hash that the person saw, or its first characters. `over_limit`: even if it exceeds limits.
        `overrule`: even if a person rejected the same plan. `check` raises if the person saw another finding.
        If another state cleans that table, nothing is approved and the answer says so. If the database cannot be asked
        now, the approval is recorded, and everything is checked before the plan is executed later.
        Raises a Wrong, a Refused, ConnectorError, StoreError.
        """
        finding, plan = self._look(identifier)
        check(finding, plan)
        try:
            with self.logging_refusal("approve", finding.id):
                if plan is not None and plan.state is PlanState.AWAITING:
                    self.must_be_ours_if_asked(plan.source, plan.summary["table"])
                elif plan is None and finding.state in _TO_PLAN:
                    rule = self.cleaning_rule(finding)
                    if plan_hash is None:
                        self.plan(finding, rule, overrule=overrule)
        except ownership.OwnershipRefused as error:
            return DecisionResult(f"{finding.id} was not approved: {error}", finding.id, ok=False)
        result, remark = approving.approve(
            self.store,
            finding.id,
            actor=self.actor,
            system=self.system,
            plan_hash=plan_hash,
            note=note,
            void=self._void,
            reserve=lambda tx, record: self._reserve(tx, record, over_limit=over_limit),
        )
        if result.plan is None or result.state is not PlanState.APPROVED or later:
            next_step = " `reconcile run` or `serve` executes it." if result.state is PlanState.APPROVED else ""
            return replace(result, sentence=result.sentence + next_step + remark)
        executed = self._execute(result.plan)
        return replace(executed, sentence=executed.sentence + remark)

    def reject(self, identifier: str, *, plan_hash: str | None = None, note: str | None = None) -> DecisionResult:
        """Reject a plan: it is neither executed nor proposed again unchanged. A waiting undo is withdrawn."""
        finding, plan = self._look(identifier)
        if plan is None and finding.state in _TO_PLAN:
            self.cleaning_rule(finding)
        return approving.reject(
            self.store, finding.id, actor=self.actor, system=self.system, plan_hash=plan_hash, note=note
        )

    def retry(self, identifier: str, *, note: str | None = None) -> DecisionResult:
        """Retry now a plan that waits for its next attempt or its target; plan a failed finding again."""
        finding, plan = self._look(identifier)
        if plan is None and finding.state is State.FAILED:
            return self.approve(finding.id, note=note)
        if plan is None or plan.state not in _TO_TRY:
            raise NothingToRetry(finding)
        with self.store.begin() as tx:
            effects.try_now(tx, [plan.id], by=self.actor)
            for name in (plan.target, breaker.of_source(plan.source)):
                breaker.close(tx, name, by=self.actor)
        return self._execute(plan.id)

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
            return undo.undo_plans(self._context(), names, by=self.actor, scope=scope, partial=partial, note=note)

    # Rules, and unknown outcomes

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

    def quarantined(self) -> list[StoredPlan]:
        """Return the plans with an unknown outcome, oldest first."""
        with self.store.read() as tx:
            return list(stored.find(tx, stored.PlanFilter(states=(PlanState.QUARANTINED,))))

    def judge_pair(self, request: PairRequest) -> DecisionResult:
        """Record that two records are the same, or not, or take that back; the next run of the rule follows it.

        Raises NotAllowed, RuleUnknown, and the errors of `pairs.judge`.
        """
        Person(self.actor, self.role, self.sees_personal, self.system or "").require(JUDGES)
        rule = self.terms.project.rules.get(request.rule)
        if rule is None:
            raise RuleUnknown(request.rule, tuple(self.terms.project.rules))
        return pairs.judge(self.store, rule, request, actor=self.actor)

    def judge(self, identifier: str, verdict: Verdict, *, note: str | None = None) -> DecisionResult:
        """Record what a person found in the target: `done`, `not_done` (retried at once), or `abandon`."""
        plan = self._quarantined(identifier)
        with self.store.begin() as tx:
            effects.judged(tx, plan.id, verdict, by=self.actor, reason=note or f"{self.actor} says so.")
            if plan.undoes is None:
                progress.move(tx, [Transition(plan.finding, JUDGEMENTS[verdict], plan.id, note)], by=self.actor)
            elif verdict == "done":
                progress.move(tx, [Transition(plan.finding, Event.UNDONE, plan.id, note)], by=self.actor)
        if verdict == "not_done":
            return self._execute(plan.id)
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

    # Parts

    def _look(self, identifier: str) -> tuple[Finding, StoredPlan | None]:
        with self.store.read() as tx:
            finding = stored_findings.get(tx, identifier)
            return finding, stored.standing(tx, finding.id)

    def _context(self) -> executor.ExecutionContext:
        return executor.ExecutionContext(
            *(self.store, self.terms, self.target, self.planner.subject), sleep=self.sleep, patience=self.patience
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

    def executes_together(self, findings: Sequence[str]) -> bool:
        """Return True if plans of these findings are better executed together: each writes a whole file anew."""
        with self.store.read() as tx:
            rules = {finding.rule for finding in stored_findings.some(tx, findings)}
        datasets = [rule.cleaned for name in rules if (rule := self.terms.rule(name)) is not None]
        sources = {self.terms.project.datasets[name].source for name in datasets}
        return len(findings) > 1 and any(self.target(source).promises.writes_all for source in sources)

    def execute(self, plans: Sequence[str]) -> list[DecisionResult]:
        """Execute approved plans together; return what became of each, in this order."""
        tally = executor.execute_plans(self._context(), ids=plans)
        return [replace(result, became=in_words.approved(result)) for result in self._outcomes(plans, tally)]

    def _execute(self, name: str) -> DecisionResult:
        [result] = self._outcomes([name], executor.execute_plans(self._context(), ids=[name]))
        return result

    def _outcomes(self, plans: Sequence[str], tally: ExecutionResult) -> list[DecisionResult]:
        results = []
        for name in plans:
            with self.store.read() as tx:
                plan = stored.get(tx, name)
                target = breakers.get(tx, plan.target)
            for_a_person = target is not None and breaker.is_for_person(target)
            sentence, ok = in_words.executed(plan, tally, for_a_person=for_a_person)
            held_up = plan.state in _TO_TRY
            results.append(DecisionResult(sentence, plan.finding, plan.id, plan.state, ok, held_up=held_up))
        return results


def _check_shown(request: DecisionRequest, finding: Finding, plan: StoredPlan | None) -> None:
    """Raise FindingChanged, or PlanNotShown for an approval that names no plan although it has to."""
    decide.check_seen(finding, request.version)
    waits = plan is not None and plan.undoes is None
    may_be_unseen = request.without_plan == "make one" or (request.without_plan == "approve waiting" and waits)
    if request.plan is None and not may_be_unseen:
        raise PlanNotShown(finding, waits=waits)


_CHANGES: Mapping[str, tuple[Callable[..., DecisionResult], tuple[str, ...]]] = {
    "dismiss": (decide.dismiss, ()),
    "handle": (decide.handle, ()),
    "snooze": (decide.snooze, ("until", "timezone")),
    "reopen": (decide.reopen, ()),
    "assign": (decide.assign, ("to",)),
}
"""Decisions that only change the finding's state, and the fields of the request that they take."""
