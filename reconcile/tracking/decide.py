"""People's decisions about findings: one function each, used by every interface.

A decision is one transaction with its audit entry. A repeated decision says so and changes nothing. Every function
raises a Wrong or a Refused (FindingUnknown, FindingAmbiguous, SnoozeInThePast; WrongState, FindingChanged) with a
sentence to act on. `seen` is the version that was shown to the person: a decision about records they did not see is
refused.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from notifications.wording import words
from reconcile import points
from reconcile.audit import facts, log
from reconcile.errors import Refused, Wrong
from reconcile.findings.approval import person
from reconcile.findings.identity import member_name
from reconcile.findings.judgement import FindingChange
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding
from reconcile.findings.states import SETTLED, TRANSITIONS, Event, PlanState, State, after
from reconcile.journal import approvals, effects
from reconcile.store import Store, Transaction, finding_memory, finding_states, judgements, users
from reconcile.store import approvals as stored_approvals
from reconcile.store import plans as stored_plans
from reconcile.store.findings import lock, name_of
from reconcile.store.plans import StoredPlan
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition
from rules.document.mistakes import nearest, short

SHORTEST_PLAN = 8
"""The fewest characters of a plan's hash that identify it."""

_INSTEAD = {
    **dict.fromkeys(SETTLED, ("reopen", "opens it again")),
    State.CLEANED: ("undo", "undoes that"),
}
"""The command to suggest if a finding has no plan to decide about, and its effect."""


class WrongState(Refused):
    """The finding's state does not allow the decision."""

    def __init__(self, finding: Finding, wish: str) -> None:
        super().__init__(f"{finding.id} cannot be {wish}: {_state_text(finding)}. Nothing was changed.")


class FindingChanged(Refused):
    """The finding changed after it was shown to the person."""

    def __init__(self, finding: Finding) -> None:
        why = finding.reason or ("a record joined" if finding.change is FindingChange.GROWN else None)
        reason = f": {why}" if why else ""
        super().__init__(
            f"{finding.id} changed since it was shown{reason}. Nothing was changed. "
            f"Look at it again (`reconcile show {finding.id}`), then decide."
        )


class SnoozeInThePast(Wrong):
    """The end of the snooze is not in the future."""

    def __init__(self, until: dt.datetime, now: dt.datetime) -> None:
        super().__init__(
            f"A snooze until {_time(until)} is in the past: it is {_time(now)}. Give a time in the future, or none "
            "to snooze until the finding grows."
        )


class AssigneeUnknown(Wrong):
    """The project has users, and none has this name; nothing was changed."""

    def __init__(self, finding: str, name: str, names: Sequence[str]) -> None:
        closest = nearest(name, names)
        hint = f"did you mean `{closest}`?" if closest else "`reconcile users` lists all users"
        super().__init__(f"{finding} was not assigned: there is no user `{short(name)}`; {hint}")


class NothingProposed(Refused):
    """The finding has no plan to approve or reject."""

    def __init__(self, finding: Finding) -> None:
        command, effect = _INSTEAD.get(finding.state, ("plan --finding", "shows what could be done"))
        super().__init__(
            f"There is no plan for {finding.id} ({_state_text(finding)}), so there is nothing to decide. "
            f"`reconcile {command} {finding.id}` {effect}"
        )


class UndoInHand(Refused):
    """The undo is running, or its outcome is unknown: it cannot be withdrawn."""

    def __init__(self, finding: Finding, undo: StoredPlan) -> None:
        super().__init__(
            f"The undo of {finding.id} is {_plan_state(undo)}, so it cannot be withdrawn. Nothing was changed; "
            f"`reconcile show {finding.id}` shows its result"
        )


class NotYours(Refused):
    """The rule needs two people, and this person has approved already."""

    def __init__(self, finding: Finding, actor: str) -> None:
        super().__init__(
            f"{actor} has already approved {finding.id}, and its rule needs two people: a second person must approve "
            "it too. Nothing was changed"
        )


class ChoseKeeper(Refused):
    """The rule needs two people, and this person chose the keeper or a value: the plan is their proposal."""

    def __init__(self, finding: Finding, actor: str) -> None:
        choice = "the keeper" if finding.kept_by else "values"
        super().__init__(
            f"{actor} chose {choice} of {finding.id}, and its rule needs two people: two other people must approve "
            "the plan. Nothing was changed"
        )


class PlanNotNamed(Refused):
    """Somebody else chose the keeper or a value, and the approval does not name the plan of that choice."""

    def __init__(self, finding: Finding, plan: StoredPlan) -> None:
        start = plan.plan_hash[: 2 * SHORTEST_PLAN]
        choice = "another keeper than its rule" if finding.kept_by else "values of the keeper"
        super().__init__(
            f"{finding.id} was not approved: {words.listed(finding.choosers)} chose {choice}. Nothing was "
            f"changed. Look at its plan (`reconcile show {finding.id}`), then approve exactly that one: "
            f"`reconcile approve {finding.id} --plan-hash {start}`"
        )


@dataclass(frozen=True)
class Decision:
    """The finding after the decision, a flag if it changed, and a sentence about it."""

    finding: Finding
    changed: bool
    sentence: str
    ready: bool = False
    """Its plan may be executed now."""
    remark: str = ""
    """A further remark at the end of the answer."""


def dismiss(store: Store, finding_id: str, *, actor: str, note: str | None = None, seen: int | None = None) -> Decision:
    """Settle the finding as no duplicate: all its records, and "not the same" for every pair of them in this rule.

    A discrepancy is settled as it is: it comes back when its form or its amounts change.
    """
    return _settle(store, finding_id, Event.DISMISSED, actor, note, seen)


def handle(store: Store, finding_id: str, *, actor: str, note: str | None = None, seen: int | None = None) -> Decision:
    """Settle the finding as real, and dealt with outside Reconcile: nothing is reported or cleaned of its records.

    It comes back as a dismissed one does. Its pairs are still the same: they keep no record out of a group.
    """
    return _settle(store, finding_id, Event.HANDLED, actor, note, seen)


def snooze(
    store: Store,
    finding_id: str,
    *,
    actor: str,
    until: dt.datetime | None = None,
    note: str | None = None,
    seen: int | None = None,
    timezone: str = "UTC",
) -> Decision:
    """Snooze the finding until that time (aware) or until it grows; without a time only until it grows.

    `timezone` is the one in which the answer names the time.
    """
    with store.begin() as tx:
        finding = _locked(tx, finding_id)
        if until is not None and until <= tx.now:
            raise SnoozeInThePast(until, tx.now)
        if finding.state is State.SNOOZED and finding.snoozed_until == until:
            return _unchanged(finding)
        _check(finding, Event.SNOOZED, "snoozed", seen)
        effects.void(tx, [finding.id], reason=f"snoozed by {actor}", by=actor)
        details = {"until": None if until is None else _time(until)}
        _move(tx, finding, Event.SNOOZED, actor, note, snoozed_until=until, details=details)
        when = f"until {words.to_the_minute(until, timezone)}, or until it grows" if until else "until it grows"
        return _done(tx, finding, f"{finding.id} is snoozed {when}.")


def reopen(store: Store, finding_id: str, *, actor: str, note: str | None = None, seen: int | None = None) -> Decision:
    """Open the finding and its records again after a dismissal, a snooze or an undo, or if it was handled."""
    with store.begin() as tx:
        finding = _locked(tx, finding_id)
        if can_take_back(tx, finding):
            return _taken_back(tx, finding, actor, note, seen)
        if finding.state is State.OPEN:
            return Decision(finding, changed=False, sentence=f"{finding.id} is already open; nothing was changed.")
        _check(finding, Event.DECISION_UNDONE, "reopened", seen)
        details = {"pairs": _forget_decisions(tx, finding)} if finding.state in SETTLED else {}
        _move(tx, finding, Event.DECISION_UNDONE, actor, note, details=details)
        return _done(tx, finding, f"{finding.id} is open again.")


_UNDECIDED = (State.OPEN, State.AWAITING, State.STALE, State.FAILED)


def can_take_back(tx: Transaction, finding: Finding) -> bool:
    """Return True if the finding is open and a decision, made in it or in one that it took in, covers its records."""
    if finding.state not in _UNDECIDED:
        return False
    if finding.settled_pairs or finding.handled_pairs or finding_states.decided_findings(tx, [finding.id]):
        return True
    return bool(finding_memory.decided_within(tx, finding.id, map(member_name, finding.members)))


def _taken_back(tx: Transaction, finding: Finding, actor: str, note: str | None, seen: int | None) -> Decision:
    """Take back the decisions about records of a finding that is open, as others joined them; its plan ends."""
    check_seen(finding, seen)
    effects.void(tx, [finding.id], reason=f"reopened by {actor}", by=actor)
    if finding.state is State.AWAITING:
        progress.move(tx, [Transition(finding.id, Event.VOIDED, why=f"reopened by {actor}")], by=actor)
    pairs = _forget_decisions(tx, finding)
    log.touch(tx, facts.FINDING, [finding.id])
    finding_states.name_decider(tx, finding.id, by=actor, note=note)
    body = {"from": finding.state.value, "to": State.OPEN.value, "records": finding.records}
    _tell(tx, finding, Event.DECISION_UNDONE.value, actor=actor, body=body | {"note": note or None, "pairs": pairs})
    return _done(tx, finding, f"{finding.id} is open; no decision covers any of its records now.")


def _forget_decisions(tx: Transaction, finding: Finding) -> int:
    """Forget what people decided about the finding's records, also in findings that it took in; return the pairs."""
    records = judgements.present(tx, finding.id)
    taken_in = finding_memory.decided_within(tx, finding.id, records)
    log.touch(tx, facts.FINDING, [*judgements.judged_among(tx, records), finding.id, *taken_in])
    for name in (finding.id, *taken_in):
        finding_memory.settle(tx, name, None)
        finding_states.forget_decision(tx, name)
    return judgements.forget_judgements(tx, finding.id, finding.rule, records)


def assign(
    store: Store, finding_id: str, *, actor: str, to: str | None, note: str | None = None, seen: int | None = None
) -> Decision:
    """Assign the finding to a person; None for nobody. Possible in every state but merged.

    Where there are users, the person is one of them. Raises AssigneeUnknown.
    """
    with store.begin() as tx:
        finding = lock(tx, name_of(tx, finding_id))
        whom = f"assigned to {to}" if to else "assigned to nobody"
        if finding.state is State.MERGED:
            raise WrongState(finding, whom)
        check_seen(finding, seen)
        if finding.assigned_to == to:
            return Decision(finding, changed=False, sentence=f"{finding.id} is already {whom}; nothing was changed.")
        if to is not None:
            _check_assignee(tx, finding, to)
        log.touch(tx, facts.FINDING, [finding.id])
        finding_states.assign(tx, finding.id, to, note=note)
        _tell(tx, finding, "finding.assigned", actor=actor, body={"whom": to, "note": note})
        return _done(tx, finding, f"{finding.id} is {whom}.")


def _check_assignee(tx: Transaction, finding: Finding, name: str) -> None:
    names = [user.name for user in users.listed(tx)]
    if names and name not in names:
        raise AssigneeUnknown(finding.id, name, names)


Void = Callable[[Plan, str], str | None]
"""A function that returns why a plan proposed under a policy is no longer valid, or None if it is."""


def approve(
    store: Store,
    finding_id: str,
    *,
    actor: str,
    system: str | None = None,
    plan_hash: str | None = None,
    note: str | None = None,
    void: Void = lambda _plan, _policy: None,
    reserve: Callable[[Transaction, StoredPlan], None] = lambda _tx, _plan: None,
) -> Decision:
    """Approve the finding's plan exactly as it is; see `Decision.ready`.

    `plan_hash` is its hash or the start of it, if the person saw one. `reserve` counts the plan against the limits and
    raises if they do not allow it. `system` is the operating system's user behind the name `actor`. Raises
    NothingProposed, PlanChanged, NotYours, ChoseKeeper, PlanNotNamed.
    """
    with store.begin() as tx:
        name = name_of(tx, finding_id)
        plan = _locked_plan(tx, name)
        finding = lock(tx, name)
        if plan is None or plan.undoes is not None:
            if plan is None and plan_hash is not None and _was_executed(tx, finding, plan_hash):
                sentence = f"The plan for {finding.id} was approved and executed before; nothing was changed."
                return Decision(finding, changed=False, sentence=sentence)
            raise NothingProposed(finding)
        _check_plan(finding, plan, plan_hash)
        if plan.state is not PlanState.AWAITING:
            by = f" (decided by {finding.decided_by})" if finding.decided_by else ""
            sentence = f"The plan for {finding.id} is already {_plan_state(plan)}{by}; nothing was changed."
            return Decision(finding, changed=False, sentence=sentence, ready=plan.state is PlanState.APPROVED)
        _check_valid(tx, finding, plan, void)
        approvals_given = stored_approvals.given(tx, [plan.id]).get(plan.id, ())
        is_given = person(actor) in map(person, approvals_given)
        if is_given and not approvals.may_approve_again(tx, plan, actor, system):
            raise NotYours(finding, actor)
        if finding.choosers:
            is_own_choice = all(_is_same(actor, name) for name in finding.choosers)
            if plan.policy == "two_person" and approvals.has_chosen(tx, finding, actor, system):
                raise ChoseKeeper(finding, actor)
            if plan_hash is None and not is_own_choice:
                raise PlanNotNamed(finding, plan)
        reserve(tx, plan)
        if not approvals.give(tx, plan, by=actor, plan_hash=plan.plan_hash, note=note, system=system):
            sentence = f"{actor} approves the plan for {finding.id}; one more person must approve it."
            shared = approvals.held_in_common(tx, plan, actor, system)
            advice = f" {shared}. Its owner changes the password in the console" if shared else ""
            return _done(tx, finding, sentence + (f"{advice}, or a third person approves." if advice else ""))
        effects.approved(tx, [plan.id], by=actor)
        progress.move(tx, [Transition(finding.id, Event.APPROVED, plan.id)], by=actor)
        _decided(tx, finding, actor, note)
        done = replace(_done(tx, finding, f"The plan for {finding.id} is approved."), ready=True)
        if approvals_given and system is not None and approvals.systems(tx, plan.id) == {system}:
            remark = (
                f" All approvals came from {system}, under different names, so the names do not prove that people "
                "differ."
            )
            done = replace(done, remark=remark)
    points.reach("approve.committed")
    return done


def reject(
    store: Store,
    finding_id: str,
    *,
    actor: str,
    system: str | None = None,
    plan_hash: str | None = None,
    note: str | None = None,
) -> Decision:
    """Reject the finding's plan: it is not executed, nor proposed again unchanged; the finding stays open.

    If the finding waits for an undo instead, the undo is withdrawn and the finding keeps its state; the undo can be
    requested again. Raises NothingProposed, PlanChanged, UndoInHand.
    """
    with store.begin() as tx:
        name = name_of(tx, finding_id)
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
                _tell(tx, finding, "finding.noted", actor=actor, body={"note": note})
            sentence = f"The undo of {finding.id} is withdrawn; its records stay cleaned."
            return _done(tx, finding, sentence)
        if plan.state not in (PlanState.AWAITING, PlanState.APPROVED):
            raise approvals.PlanChanged(finding.id, f"its plan is already {_plan_state(plan)}")
        approvals.give(tx, plan, by=actor, plan_hash=plan.plan_hash, decision="rejected", note=note, system=system)
        effects.void(tx, [finding.id], reason=f"rejected by {actor}", by=actor)
        progress.move(tx, [Transition(finding.id, Event.REJECTED, plan.id)], by=actor)
        _decided(tx, finding, actor, note)
        return _done(tx, finding, f"The plan for {finding.id} is rejected; its records stay unchanged.")


def _settle(store: Store, finding_id: str, event: Event, actor: str, note: str | None, seen: int | None) -> Decision:
    """Settle the records of the finding: its plan ends, and its pairs are judged."""
    state = after(State.OPEN, event)
    with store.begin() as tx:
        finding = _locked(tx, finding_id)
        if finding.state is state:
            return _unchanged(finding)
        _check(finding, event, state.value, seen)
        effects.void(tx, [finding.id], reason=f"{state.value} by {actor}", by=actor)
        log.touch(tx, facts.FINDING, judgements.judged_before(tx, [finding.id]))
        pairs = judgements.judge(tx, [finding.id], by=actor, note=note, are_handled=state is State.HANDLED)
        finding_memory.settle(tx, finding.id, tx.now)
        finding_states.settle_values(tx, finding.id, state)
        _move(tx, finding, event, actor, note, details={"pairs": pairs})
        return _done(tx, finding, f"{finding.id} is {state.value}: {_settled_text(finding, state)}.")


def _settled_text(finding: Finding, state: State) -> str:
    if state is State.HANDLED:
        return "it is real, and was dealt with outside Reconcile"
    if finding.form != DUPLICATE:
        return "its records are accepted as they are"
    return f"its {finding.records} records are not the same"


def _locked(tx: Transaction, finding_id: str) -> Finding:
    """Lock the finding, but its plan first, in the order that execution uses."""
    name = name_of(tx, finding_id)
    stored_plans.standing(tx, name, lock=True)
    return lock(tx, name)


def _locked_plan(tx: Transaction, name: str) -> StoredPlan | None:
    """Lock the finding's current plan, before the finding as everywhere. If a new plan replaced it meanwhile, lock that
    one."""
    return stored_plans.standing(tx, name, lock=True) or stored_plans.standing(tx, name, lock=True)


def _is_same(actor: str, name: str) -> bool:
    return person(actor) == person(name)


def _was_executed(tx: Transaction, finding: Finding, plan_hash: str) -> bool:
    """Return True if this plan cleaned the finding: a request that is sent again has nothing left to approve."""
    executed = (plan for plan in stored_plans.of_finding(tx, finding.id) if plan.state is PlanState.SUCCEEDED)
    return finding.state is State.CLEANED and any(_is_named(plan, plan_hash) for plan in executed)


def _is_named(plan: StoredPlan, plan_hash: str) -> bool:
    return len(plan_hash) >= SHORTEST_PLAN and plan.plan_hash.startswith(plan_hash.lower())


def _check_plan(finding: Finding, plan: StoredPlan, plan_hash: str | None) -> None:
    if plan_hash is not None and not _is_named(plan, plan_hash):
        raise approvals.PlanChanged(finding.id, f"its plan is {plan.plan_hash[:SHORTEST_PLAN]}, not `{plan_hash[:16]}`")


def _check_valid(tx: Transaction, finding: Finding, plan: StoredPlan, void: Void) -> None:
    if plan.expires_at is not None and plan.expires_at <= tx.now:
        expired = f"its plan waited for approval until {_time(plan.expires_at)}"
        raise approvals.PlanChanged(finding.id, expired, is_void=True)
    if why := void(plan.current, plan.policy):
        raise approvals.PlanChanged(finding.id, why, is_void=True)


def _plan_state(plan: StoredPlan) -> str:
    return plan.state.value.replace("_", " ")


def _decided(tx: Transaction, finding: Finding, actor: str, note: str | None) -> None:
    log.touch(tx, facts.FINDING, [finding.id])
    finding_states.name_decider(tx, finding.id, by=actor, note=note)


def _check(finding: Finding, event: Event, wish: str, seen: int | None = None) -> None:
    if (finding.state, event) not in TRANSITIONS:
        raise WrongState(finding, wish)
    check_seen(finding, seen)


def check_seen(finding: Finding, seen: int | None) -> None:
    """Raise FindingChanged if a person saw another version."""
    if seen is not None and seen != finding.version:
        raise FindingChanged(finding)


def _unchanged(finding: Finding) -> Decision:
    return Decision(finding, changed=False, sentence=f"{finding.id}: {_state_text(finding)}; nothing was changed.")


def _state_text(finding: Finding) -> str:
    by = f" by {finding.decided_by}" if finding.decided_by else ""
    since = f"since {_time(finding.state_since)}"
    match finding.state:
        case State.MERGED:
            return f"its records are part of {finding.merged_into} {since}; decide about that finding"
        case State.RESOLVED:
            return f"it has been resolved {since}: {finding.reason or 'its records no longer match'}"
        case State.SNOOZED:
            end = f"until {_time(finding.snoozed_until)}" if finding.snoozed_until else "until it grows"
            return f"it is already snoozed{by} {end}"
        case State.DISMISSED | State.HANDLED:
            return f"it was already {finding.state.value}{by} on {_time(finding.state_since)}"
    return f"it has been {finding.state.value} {since}"


def _time(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")


def _move(
    tx: Transaction,
    finding: Finding,
    event: Event,
    actor: str,
    note: str | None,
    *,
    snoozed_until: dt.datetime | None = None,
    details: Mapping[str, Any],
) -> None:
    """Make the transition from the table of states, and write its audit entry."""
    state = after(finding.state, event)
    log.touch(tx, facts.FINDING, [finding.id])
    finding_states.decide(tx, finding.id, state, by=actor, snoozed_until=snoozed_until, note=note)
    body = {"from": finding.state.value, "to": state.value, "records": finding.records, "version": finding.version}
    _tell(tx, finding, event.value, actor=actor, body=body | {"note": note or None} | dict(details))


def _tell(tx: Transaction, finding: Finding, event: str, *, actor: str, body: Mapping[str, Any]) -> None:
    details = {"finding": finding.id, "rule": finding.rule, **body}
    log.append(tx, actor, event, finding.id, {name: value for name, value in details.items() if value is not None})


def _done(tx: Transaction, finding: Finding, sentence: str) -> Decision:
    return Decision(lock(tx, finding.id), changed=True, sentence=sentence)
