"""Approvals: people's decisions about plans. An approval is valid only for exactly the plan that was shown."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection

from reconcile.audit import facts, log
from reconcile.errors import Refused
from reconcile.findings.approval import NEEDED, GivenApprovals, person
from reconcile.findings.shown import Finding
from reconcile.findings.states import PlanState
from reconcile.people import users
from reconcile.people.makers import is_of_user, makers, named_in, told
from reconcile.store import Transaction, approvals
from reconcile.store import users as stored_users
from reconcile.store.approvals import Approval, Decision
from reconcile.store.plans import StoredPlan

KEEPER_CHOSEN = "finding.keeper_chosen"
VALUES_CHOSEN = "finding.values_chosen"
"""The event of a person's choice of the keeper."""
Holders = dict[str, set[str]]
"""For each person who approved a plan, everybody who held their credential at that moment."""


class PlanChanged(Refused):
    """The plan is not, or no longer, the plan that the person decided about; `is_void` if none can be approved now."""

    def __init__(self, finding: str, why: str, *, is_void: bool = False) -> None:
        look = f"`reconcile plan --finding {finding}`"
        advice = f"The next run plans it again (`reconcile run`). Then look at that plan ({look}), and decide"
        super().__init__(
            f"Nothing was decided about {finding}: {why}. "
            + (advice if is_void else f"Look at the current plan ({look}), then decide")
        )


class PlanOver(Refused):
    """The plan does not wait for this decision."""

    def __init__(self, plan: str, state: PlanState) -> None:
        super().__init__(f"Plan {plan} is {state.value.replace('_', ' ')}; it does not wait for an approval.")


class ApprovalExpired(Refused):
    """The time to approve the plan is over."""

    def __init__(self, plan: str, when: dt.datetime) -> None:
        super().__init__(f"Plan {plan} expired at {when:%d %b %Y %H:%M} UTC; the next run makes a new plan.")


class SamePerson(Refused):
    """Two other people must approve, and this person proposed the plan."""

    def __init__(self, plan: str, by: str) -> None:
        super().__init__(f"{by} proposed plan {plan}; two other people must approve it.")


def give(
    tx: Transaction,
    plan: StoredPlan,
    *,
    by: str,
    plan_hash: str,
    decision: Decision = "approved",
    note: str | None = None,
    system: str | None = None,
) -> bool:
    """Record a decision about the plan with that hash; return True if the plan has all the approvals it needs.

    `system`, the operating system's user behind the name `by`, is in the log's entry. A person's later decision
    replaces the earlier one. Raises a Refused.
    """
    if plan.state is not PlanState.AWAITING and not (plan.state is PlanState.APPROVED and decision == "rejected"):
        raise PlanOver(plan.id, plan.state)
    if plan_hash != plan.plan_hash:
        raise PlanChanged(plan.finding, "its plan changed since it was shown")
    if decision == "approved" and plan.expires_at is not None and plan.expires_at < tx.now:
        raise ApprovalExpired(plan.id, plan.expires_at)
    if decision == "approved" and plan.policy == "two_person" and person(by) == person(plan.proposed_by):
        raise SamePerson(plan.id, by)
    log.touch(tx, facts.PLAN, [plan.id])
    previous = next((approval.decision for approval in approvals.of(tx, plan.id) if approval.by == by), None)
    approvals.put(tx, plan.id, Approval(by, decision, plan_hash, tx.now, note))
    body: dict[str, str | None] = {
        "plan": plan.id,
        "finding": plan.finding,
        "by": by,
        "decision": decision,
        "plan_hash": plan_hash,
    }
    if note:
        body["note"] = note
    if system:
        body["system"] = system
    if plan.policy == "two_person":
        body |= told(tx, by, system)
    body["was"] = previous  # so `audit verify` can compare the state with earlier decisions
    log.append(tx, by, f"approval.{decision}", f"plan:{plan.id}", body)
    return satisfied(tx, plan, adding=_holding(tx, by, system))


def satisfied(tx: Transaction, plan: StoredPlan, *, adding: Holders | None = None) -> bool:
    """Return True if the plan has the approvals its policy needs, for its exact hash, and no rejection.

    `adding` holds who shares the credential of an approval of this transaction.
    """
    decisions = [approval for approval in approvals.of(tx, plan.id) if approval.plan_hash == plan.plan_hash]
    if any(approval.decision == "rejected" for approval in decisions):
        return False
    names = {approval.by for approval in decisions if approval.decision == "approved"}
    persons = {person(name) for name in names - lapsed(tx, plan.id, names).keys()}
    if plan.policy == "two_person":
        holders = _holders(tx, plan.id) | (adding or {})
        return len(_independent(holders, plan.proposed_by, persons)) >= NEEDED[plan.policy]
    return len(persons) >= NEEDED[plan.policy]


def lapsed(tx: Transaction, plan: str, names: Collection[str]) -> dict[str, str]:
    """Return those of these people whose approval of the plan does not count, with the reason as a clause.

    A user's approval counts only while the user may approve. At the command line, nobody needs to be a user.
    """
    if not names or not stored_users.exist(tx):
        return {}
    unable = {name: reason for name in sorted(names) if (reason := users.why_not_reviewing(tx, name))}
    if not unable:
        return {}
    entries = [entry.body or {} for entry in log.entries(tx, event="approval.approved", subject=f"plan:{plan}")]
    origins = {body.get("by"): body.get("system") for body in entries}
    return {name: reason for name, reason in unable.items() if is_of_user(name, origins.get(name))}


def why_lapsed(tx: Transaction, plan: StoredPlan) -> str | None:
    """Return whose approvals of a plan no longer count, and why, as a clause; None if all count."""
    given = [approval for approval in approvals.of(tx, plan.id) if approval.decision == "approved"]
    reasons = lapsed(tx, plan.id, {approval.by for approval in given if approval.plan_hash == plan.plan_hash})
    return "; ".join(f"the approval of {name} no longer counts: {why}" for name, why in reasons.items()) or None


def held_in_common(tx: Transaction, plan: StoredPlan, by: str, system: str | None) -> str | None:
    """Return why a plan's approvals by several people count as those of one person; None otherwise.

    The newest one is that of this transaction, `by` a person.
    """
    given = [approval for approval in approvals.of(tx, plan.id) if approval.decision == "approved"]
    names = {approval.by for approval in given if approval.plan_hash == plan.plan_hash}
    persons = {person(name) for name in names - lapsed(tx, plan.id, names).keys()}
    persons.discard(person(plan.proposed_by))
    if len(persons) < NEEDED[plan.policy]:
        return None
    holders_of = _holders(tx, plan.id) | _holding(tx, by, system)
    held = {name: holders for name, holders in holders_of.items() if name in persons and len(holders) > 1}
    parts = [f"{_listed(holders - {name})} made the password or token of {name}" for name, holders in held.items()]
    return f"This approval does not count as a second person's: {'; '.join(sorted(parts))}"


def may_approve_again(tx: Transaction, plan: StoredPlan, by: str, system: str | None) -> bool:
    """Return True if another person held the credential of an earlier approval, and nobody does now."""
    before = _holders(tx, plan.id).get(person(by), set())
    return plan.policy == "two_person" and len(before) > 1 and not makers(tx, by, system)


def has_chosen(tx: Transaction, finding: Finding, by: str, system: str | None) -> bool:
    """Return True if somebody who holds the credential of this approval also held one with which the keeper, or a field
    of it, was chosen."""
    if not finding.choosers:
        return False
    events = ((KEEPER_CHOSEN, (finding.kept_by,)), (VALUES_CHOSEN, finding.value_choosers))
    last = {
        (event, entry.actor): named_in(entry)
        for event, actors in events
        for entry in log.entries(tx, event=event, subject=finding.id)
        if entry.actor in actors
    }
    choosers = {person(name) for name in finding.choosers}.union(*(map(person, others) for others in last.values()))
    return not choosers.isdisjoint(_holding(tx, by, system)[person(by)])


def _independent(holders: Holders, proposed_by: str, persons: Collection[str]) -> list[str]:
    """Return those of these people, in the order of their names, who share no credential with each other or with who
    proposed the plan."""
    of = {name: holders.get(name, {name}) for name in sorted(persons)}
    able = [name for name in of if person(proposed_by) not in of[name]]
    pairs = ([a, b] for at, a in enumerate(able) for b in able[at + 1 :] if of[a].isdisjoint(of[b]))
    return next(pairs, able[:1])


def _holding(tx: Transaction, by: str, system: str | None) -> dict[str, set[str]]:
    """Return everybody who holds the credential that a person approves with now, by the person."""
    return {person(by): {person(by), *map(person, makers(tx, by, system))}}


def _holders(tx: Transaction, plan: str) -> Holders:
    """Return, for each person who approved a plan, everybody who held their credential at that moment."""
    holders: Holders = {}
    for entry in log.entries(tx, event="approval.approved", subject=f"plan:{plan}"):
        name = person((entry.body or {}).get("by", ""))
        holders[name] = {name, *map(person, named_in(entry))}
    return holders


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names))


def of_waiting(tx: Transaction, of_findings: Collection[str]) -> dict[str, GivenApprovals]:
    """Return the approvals of the plans that wait for several people, by finding; findings without one are missing."""
    policies = [policy for policy, needed in NEEDED.items() if needed > 1]
    people: dict[str, dict[str, str]] = {}
    needed, plans = {}, {}
    for row in approvals.of_waiting(tx, of_findings, policies) if of_findings else ():
        of_plan, needed[row.finding] = people.setdefault(row.finding, {}), NEEDED[row.policy]
        plans[row.finding] = row.plan, row.proposed_by
        if row.by is not None and person(row.by) != person(row.proposed_by):  # as `satisfied` counts
            of_plan.setdefault(person(row.by), row.by)
    unable = {user.name for user in stored_users.listed(tx) if not users.may_review(user)} if people else set()
    for finding, given in people.items():
        out = lapsed(tx, plans[finding][0], unable.intersection(given.values()))
        names = people[finding] = {name: by for name, by in given.items() if by not in out}
        if len(names) >= needed[finding]:  # it waits though: some of them share a credential
            independent = _independent(_holders(tx, plans[finding][0]), plans[finding][1], names)
            people[finding] = {name: by for name, by in names.items() if name in independent}
    return {finding: GivenApprovals(tuple(names.values()), needed[finding]) for finding, names in people.items()}


def systems(tx: Transaction, plan: str) -> set[str | None]:
    """The operating systems' users behind the valid approvals of a plan, from the log, without those this transaction
    adds; None for an unknown one."""
    names = {approval.by for approval in approvals.of(tx, plan) if approval.decision == "approved"}
    latest: dict[str, str | None] = {}
    for entry in log.entries(tx, event="approval.approved", subject=f"plan:{plan}"):
        body = entry.body or {}
        if body.get("by") in names:
            latest[body["by"]] = body.get("system")
    return set(latest.values())
