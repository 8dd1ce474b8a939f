"""People's decisions about plans in the store: the latest of each person."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

import sqlalchemy as sa

from reconcile.findings.states import PlanState
from reconcile.store.bulk import insert_for, one_of
from reconcile.store.database import Transaction
from reconcile.store.plans import COLUMNS, StoredPlan, stored
from reconcile.store.tables import approvals, plans

Decision = Literal["approved", "rejected"]


@dataclass(frozen=True)
class Approval:
    """One person's decision about a plan."""

    by: str
    decision: Decision
    plan_hash: str
    at: dt.datetime
    note: str | None


class PlanToApprove(NamedTuple):
    """A plan that waits for approval, and a person who approved it; `by` is None if nobody did."""

    finding: str
    plan: str
    policy: str
    proposed_by: str
    by: str | None


def put(tx: Transaction, plan: str, approval: Approval) -> None:
    """Store a decision, in place of an earlier one of the same person."""
    insert = insert_for(tx, approvals)
    newer = {name: insert.excluded[name] for name in ("decision", "plan_hash", "at", "note")}
    row = {"plan": plan, **vars(approval)}
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["plan", "by"], set_=newer), row)


def of(tx: Transaction, plan: str) -> list[Approval]:
    """Return the decisions about a plan, in order of time."""
    columns = (approvals.c.by, approvals.c.decision, approvals.c.plan_hash, approvals.c.at, approvals.c.note)
    query = sa.select(*columns).where(approvals.c.plan == plan).order_by(approvals.c.at, approvals.c.by)
    return [Approval(*row) for row in tx.connection.execute(query)]


def given(tx: Transaction, ids: Collection[str]) -> dict[str, set[str]]:
    """Return the people who approved each of these plans in its current form; plans without an approval are left
    out."""
    query = (
        sa.select(approvals.c.plan, approvals.c.by)
        .join(plans, plans.c.id == approvals.c.plan)
        .where(approvals.c.plan.in_(list(ids)), approvals.c.decision == "approved")
        .where(approvals.c.plan_hash == plans.c.plan_hash)
    )
    people: dict[str, set[str]] = {}
    for name, by in tx.connection.execute(query):
        people.setdefault(name, set()).add(by)
    return people


def of_waiting(tx: Transaction, of_findings: Collection[str], policies: Collection[str]) -> list[PlanToApprove]:
    """Return each plan of these findings that waits for approval under one of the policies, once for each person who
    approved it in its current form, in order of time."""
    is_given = (approvals.c.decision == "approved", approvals.c.plan_hash == plans.c.plan_hash)
    columns = (plans.c.finding, plans.c.id, plans.c.policy, plans.c.proposed_by, approvals.c.by)
    state = plans.c.state.concat("")  # not the bare column: SQLite would read every waiting plan by its index
    query = (
        sa.select(*columns)
        .select_from(plans.outerjoin(approvals, sa.and_(approvals.c.plan == plans.c.id, *is_given)))
        .where(one_of(plans.c.finding, "the_findings"), state == PlanState.AWAITING.value)
        .where(plans.c.policy.in_(list(policies)))
    )
    query = query.order_by(plans.c.finding, approvals.c.at, approvals.c.by)
    return [PlanToApprove(*row) for row in tx.connection.execute(query, {"the_findings": sorted(of_findings)})]


def rejected(tx: Transaction, of_findings: Collection[str]) -> dict[str, list[StoredPlan]]:
    """Return the rejected plans of these findings, by finding."""
    of_the_plan = (approvals.c.plan == plans.c.id, approvals.c.plan_hash == plans.c.plan_hash)
    is_rejected = sa.exists().where(*of_the_plan, approvals.c.decision == "rejected")
    query = sa.select(*COLUMNS).where(one_of(plans.c.finding, "the_findings"), is_rejected)
    plans_of: dict[str, list[StoredPlan]] = {}
    for row in tx.connection.execute(query, {"the_findings": sorted(of_findings)}):
        plan = stored(tx, row)
        plans_of.setdefault(plan.finding, []).append(plan)
    return plans_of
