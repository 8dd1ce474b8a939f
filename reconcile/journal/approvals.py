"""Approvals: people's decisions about plans. An approval is valid only for exactly the plan that was shown."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from reconcile.audit import facts, log
from reconcile.errors import Refused
from reconcile.findings.states import BundleState
from reconcile.store import Transaction
from reconcile.store import bundles as plans
from reconcile.store.bulk import one_of
from reconcile.store.bundles import Stored
from reconcile.store.finding_memory import insert_for
from reconcile.store.tables import approvals, bundles

Decision = Literal["approved", "rejected"]

_NEEDED = {"none": 0, "required": 1, "two_person": 2}


class PlanChanged(Refused):
    """The decision is about another plan than the current one."""

    def __init__(self, bundle: str) -> None:
        super().__init__(f"Bundle {bundle} changed since it was shown: review it again before you decide.")


class PlanOver(Refused):
    """The plan does not wait for this decision."""

    def __init__(self, bundle: str, state: BundleState) -> None:
        super().__init__(f"Bundle {bundle} is {state.value.replace('_', ' ')}; it does not wait for an approval.")


class ApprovalExpired(Refused):
    """The time to approve the plan is over."""

    def __init__(self, bundle: str, when: dt.datetime) -> None:
        super().__init__(f"Bundle {bundle} expired at {when:%d %b %Y %H:%M} UTC; the next run makes a new plan.")


class SamePerson(Refused):
    """Two other people must approve, and this person proposed the plan."""

    def __init__(self, bundle: str, by: str) -> None:
        super().__init__(f"{by} proposed bundle {bundle}; two other people must approve it.")


@dataclass(frozen=True)
class Approval:
    """One person's decision about a plan."""

    by: str
    decision: Decision
    plan_hash: str
    at: dt.datetime
    note: str | None


def give(
    tx: Transaction,
    plan: Stored,
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
    if plan.state is not BundleState.AWAITING and not (plan.state is BundleState.APPROVED and decision == "rejected"):
        raise PlanOver(plan.id, plan.state)
    if plan_hash != plan.plan_hash:
        raise PlanChanged(plan.id)
    if decision == "approved" and plan.expires_at is not None and plan.expires_at < tx.now:
        raise ApprovalExpired(plan.id, plan.expires_at)
    if decision == "approved" and plan.policy == "two_person" and person(by) == person(plan.proposed_by):
        raise SamePerson(plan.id, by)
    log.touch(tx, facts.PLAN, [plan.id])
    previous = next((approval.decision for approval in of(tx, plan.id) if approval.by == by), None)
    insert = insert_for(tx, approvals)
    newer = {name: insert.excluded[name] for name in ("decision", "plan_hash", "at", "note")}
    row = {"bundle": plan.id, "by": by, "decision": decision, "plan_hash": plan_hash, "at": tx.now, "note": note}
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["bundle", "by"], set_=newer), row)
    body: dict[str, str | None] = {
        "bundle": plan.id,
        "finding": plan.finding,
        "by": by,
        "decision": decision,
        "plan_hash": plan_hash,
    }
    if note:
        body["note"] = note
    if system:
        body["system"] = system
    body["was"] = previous  # so `audit verify` can compare the state with earlier decisions
    log.append(tx, by, f"approval.{decision}", f"bundle:{plan.id}", body)
    return satisfied(tx, plan)


def person(name: str) -> str:
    """A person's name in one form: names that differ only in case, blanks or width of letters are the same person."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def satisfied(tx: Transaction, plan: Stored) -> bool:
    """Return True if the plan has the approvals its policy needs, for its exact hash, and no rejection."""
    decisions = [approval for approval in of(tx, plan.id) if approval.plan_hash == plan.plan_hash]
    if any(approval.decision == "rejected" for approval in decisions):
        return False
    persons = {person(approval.by) for approval in decisions if approval.decision == "approved"}
    if plan.policy == "two_person":
        persons.discard(person(plan.proposed_by))
    return len(persons) >= _NEEDED[plan.policy]


def of(tx: Transaction, bundle: str) -> list[Approval]:
    """The decisions about a plan, in order of time."""
    columns = (approvals.c.by, approvals.c.decision, approvals.c.plan_hash, approvals.c.at, approvals.c.note)
    query = sa.select(*columns).where(approvals.c.bundle == bundle).order_by(approvals.c.at, approvals.c.by)
    return [Approval(*row) for row in tx.connection.execute(query)]


def systems(tx: Transaction, bundle: str) -> set[str | None]:
    """The operating systems' users behind the valid approvals of a plan, from the log, without those this transaction
    adds; None for an unknown one."""
    names = {approval.by for approval in of(tx, bundle) if approval.decision == "approved"}
    latest: dict[str, str | None] = {}
    for entry in log.entries(tx, event="approval.approved", subject=f"bundle:{bundle}"):
        body = entry.body or {}
        if body.get("by") in names:
            latest[body["by"]] = body.get("system")
    return set(latest.values())


def given(tx: Transaction, ids: Collection[str]) -> dict[str, set[str]]:
    """The people who approved each of these plans in its current form; plans without an approval are left out."""
    query = (
        sa.select(approvals.c.bundle, approvals.c.by)
        .join(bundles, bundles.c.id == approvals.c.bundle)
        .where(approvals.c.bundle.in_(list(ids)), approvals.c.decision == "approved")
        .where(approvals.c.plan_hash == bundles.c.plan_hash)
    )
    people: dict[str, set[str]] = {}
    for name, by in tx.connection.execute(query):
        people.setdefault(name, set()).add(by)
    return people


def rejected(tx: Transaction, of_findings: Collection[str]) -> dict[str, list[Stored]]:
    """The rejected plans of these findings, by finding."""
    of_the_plan = (approvals.c.bundle == bundles.c.id, approvals.c.plan_hash == bundles.c.plan_hash)
    is_rejected = sa.exists().where(*of_the_plan, approvals.c.decision == "rejected")
    query = sa.select(*plans.COLUMNS).where(one_of(bundles.c.finding, "the_findings"), is_rejected)
    plans_of: dict[str, list[Stored]] = {}
    for row in tx.connection.execute(query, {"the_findings": sorted(of_findings)}):
        plan = plans.stored(tx, row)
        plans_of.setdefault(plan.finding, []).append(plan)
    return plans_of
