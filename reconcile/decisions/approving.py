"""Approve or reject the plan of a finding: one transaction with its audit entry."""

from __future__ import annotations

from collections.abc import Callable

from reconcile import points
from reconcile.audit import facts, log
from reconcile.decisions.refusals import (
    SHORTEST_PLAN,
    ChoseKeeper,
    NothingProposed,
    NotYours,
    PlanChanged,
    PlanNotNamed,
    UndoInHand,
    plan_state,
    utc_minute,
)
from reconcile.decisions.request import DecisionResult
from reconcile.findings.approval import person
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding
from reconcile.findings.states import Event, PlanState, State
from reconcile.journal import approvals, effects
from reconcile.store import Store, Transaction, finding_states
from reconcile.store import approvals as stored_approvals
from reconcile.store import plans as stored_plans
from reconcile.store.findings import lock
from reconcile.store.plans import StoredPlan
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition

Void = Callable[[Plan, str], str | None]
"""A function that returns why a plan proposed under a policy is no longer valid, or None if it is."""


def approve(
    store: Store,
    name: str,
    *,
    actor: str,
    system: str | None,
    plan_hash: str | None,
    note: str | None,
    void: Void,
    reserve: Callable[[Transaction, StoredPlan], None],
) -> tuple[DecisionResult, str]:
    """Approve the plan of the finding `name` exactly as it is; its `state` is then APPROVED if it may be executed.

    `plan_hash` is its hash or the start of it, if the person saw one. `reserve` counts the plan against the limits and
    raises if they do not allow it. `system` is the operating system's user behind the name `actor`. Return also a
    remark for the end of the answer. Raises NothingProposed, PlanChanged, NotYours, ChoseKeeper, PlanNotNamed.
    """
    with store.begin() as tx:
        plan = _locked_plan(tx, name)
        finding = lock(tx, name)
        if plan is None or plan.undoes is not None:
            if plan is None and plan_hash is not None and _was_executed(tx, finding, plan_hash):
                sentence = f"The plan for {name} was approved and executed before; nothing was changed."
                return DecisionResult(sentence, name, changed=False), ""
            raise NothingProposed(finding)
        _check_plan(finding, plan, plan_hash)
        if plan.state is not PlanState.AWAITING:
            by = f" (decided by {finding.decided_by})" if finding.decided_by else ""
            sentence = f"The plan for {name} is already {plan_state(plan)}{by}; nothing was changed."
            return DecisionResult(sentence, name, plan.id, plan.state, changed=False), ""
        _check_valid(tx, finding, plan, void)
        approvals_given = stored_approvals.given(tx, [plan.id]).get(plan.id, ())
        is_given = person(actor) in map(person, approvals_given)
        if is_given and not approvals.may_approve_again(tx, plan, actor, system):
            raise NotYours(finding, actor)
        if finding.choosers:
            is_own_choice = {person(chooser) for chooser in finding.choosers} == {person(actor)}
            if plan.policy == "two_person" and approvals.has_chosen(tx, finding, actor, system):
                raise ChoseKeeper(finding, actor)
            if plan_hash is None and not is_own_choice:
                raise PlanNotNamed(finding, plan)
        reserve(tx, plan)
        if not approvals.give(tx, plan, by=actor, plan_hash=plan.plan_hash, note=note, system=system):
            return DecisionResult(_one_more(tx, plan, actor, system), name, plan.id, plan.state), ""
        effects.approved(tx, [plan.id], by=actor)
        progress.move(tx, [Transition(name, Event.APPROVED, plan.id)], by=actor)
        _decided(tx, finding, actor, note)
        is_of_one_system = system is not None and approvals.systems(tx, plan.id) == {system}
    points.reach("approve.committed")
    remark = f" All approvals came from {system}, under different names, so the names do not prove that people differ."
    result = DecisionResult(f"The plan for {name} is approved.", name, plan.id, PlanState.APPROVED)
    return result, remark if approvals_given and is_of_one_system else ""


def _one_more(tx: Transaction, plan: StoredPlan, actor: str, system: str | None) -> str:
    """Return why the plan still waits after this person's approval, as sentences."""
    sentence = f"{actor} approves the plan for {plan.finding}; one more person must approve it."
    if shared := approvals.held_in_common(tx, plan, actor, system):
        advice = "Its owner changes the password in the console, or a third person approves."
        sentence = f"{sentence} {shared}. {advice}"
    if reason := approvals.why_lapsed(tx, plan):
        sentence = f"{sentence} {reason[0].upper()}{reason[1:]}."
    return sentence


def reject(
    store: Store, name: str, *, actor: str, system: str | None, plan_hash: str | None, note: str | None
) -> DecisionResult:
    """Reject the plan of the finding `name`: it is not executed, nor proposed again unchanged; the finding stays open.

    If the finding waits for an undo instead, the undo is withdrawn and the finding keeps its state; the undo can be
    requested again. Raises NothingProposed, PlanChanged, UndoInHand.
    """
    with store.begin() as tx:
        plan = _locked_plan(tx, name)
        finding = lock(tx, name)
        if plan is None:
            raise NothingProposed(finding)
        _check_plan(finding, plan, plan_hash)
        if plan.undoes is not None:
            if not effects.withdraw(tx, [plan.id], f"Withdrawn by {actor}.", actor):
                raise UndoInHand(finding, plan)
            _decided(tx, finding, actor, note)
            if note:
                log.append(tx, actor, "finding.noted", name, {"finding": name, "rule": finding.rule, "note": note})
            return DecisionResult(f"The undo of {name} is withdrawn; its records stay cleaned.", name)
        if plan.state not in (PlanState.AWAITING, PlanState.APPROVED):
            raise PlanChanged(name, f"its plan is already {plan_state(plan)}")
        approvals.give(tx, plan, by=actor, plan_hash=plan.plan_hash, decision="rejected", note=note, system=system)
        effects.void(tx, [name], reason=f"rejected by {actor}", by=actor)
        progress.move(tx, [Transition(name, Event.REJECTED, plan.id)], by=actor)
        _decided(tx, finding, actor, note)
        return DecisionResult(f"The plan for {name} is rejected; its records stay unchanged.", name)


def _locked_plan(tx: Transaction, name: str) -> StoredPlan | None:
    """Lock the finding's current plan, before the finding as everywhere. If a new plan replaced it meanwhile, lock that
    one."""
    return stored_plans.standing(tx, name, lock=True) or stored_plans.standing(tx, name, lock=True)


def _was_executed(tx: Transaction, finding: Finding, plan_hash: str) -> bool:
    """Return True if this plan cleaned the finding: a request that is sent again has nothing left to approve."""
    executed = (plan for plan in stored_plans.of_finding(tx, finding.id) if plan.state is PlanState.SUCCEEDED)
    return finding.state is State.CLEANED and any(_is_named(plan, plan_hash) for plan in executed)


def _is_named(plan: StoredPlan, plan_hash: str) -> bool:
    return len(plan_hash) >= SHORTEST_PLAN and plan.plan_hash.startswith(plan_hash.lower())


def _check_plan(finding: Finding, plan: StoredPlan, plan_hash: str | None) -> None:
    if plan_hash is not None and not _is_named(plan, plan_hash):
        raise PlanChanged(finding.id, f"its plan is {plan.plan_hash[:SHORTEST_PLAN]}, not `{plan_hash[:16]}`")


def _check_valid(tx: Transaction, finding: Finding, plan: StoredPlan, void: Void) -> None:
    if plan.expires_at is not None and plan.expires_at <= tx.now:
        expired = f"its plan waited for approval until {utc_minute(plan.expires_at)}"
        raise PlanChanged(finding.id, expired, is_void=True)
    if why := void(plan.current, plan.policy):
        raise PlanChanged(finding.id, why, is_void=True)


def _decided(tx: Transaction, finding: Finding, actor: str, note: str | None) -> None:
    log.touch(tx, facts.FINDING, [finding.id])
    finding_states.name_decider(tx, finding.id, by=actor, note=note)
