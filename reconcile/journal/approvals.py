"""Approvals: who said what about which plan. A yes holds for exactly the plan that was shown, and for nothing else."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from connectors.errors import Reaction
from reconcile.audit import facts, log
from reconcile.findings.operations import BundleState
from reconcile.store import Transaction
from reconcile.store import bundles as plans
from reconcile.store.bulk import one_of
from reconcile.store.bundles import Stored
from reconcile.store.finding_memory import insert_for
from reconcile.store.tables import approvals, bundles

Decision = Literal["approved", "rejected"]

_NEEDED = {"none": 0, "required": 1, "two_person": 2}


class ApprovalRefused(Exception):
    """A decision that cannot be given (any more); nothing was changed. The message is one sentence for people."""

    reaction = Reaction.STOP


class PlanChanged(ApprovalRefused):
    """Somebody decided about a plan that is not the one that stands."""

    def __init__(self, bundle: str) -> None:
        super().__init__(f"Bundle {bundle} is not the one that was shown: look at it again, and decide then.")


class PlanOver(ApprovalRefused):
    """Nothing waits for that decision."""

    def __init__(self, bundle: str, state: BundleState) -> None:
        super().__init__(f"Bundle {bundle} is {state.value.replace('_', ' ')}; it does not wait for an approval.")


class ApprovalExpired(ApprovalRefused):
    """Its time to be approved is over."""

    def __init__(self, bundle: str, when: dt.datetime) -> None:
        super().__init__(
            f"Bundle {bundle} could be approved until {when:%d %b %Y %H:%M} UTC; the next run plans it anew."
        )


class SamePerson(ApprovalRefused):
    """Two persons have to approve, and this one proposed it."""

    def __init__(self, bundle: str, by: str) -> None:
        super().__init__(f"{by} proposed bundle {bundle}, which two others have to approve.")


@dataclass(frozen=True)
class Approval:
    """One person's word on a plan."""

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
    """Write down a decision about the plan with that hash; True when it has all the approvals it needs.

    `system`, the operating system's user who gave the name `by`, is in the log's entry.

    The same person's later word replaces the earlier one. Raises an ApprovalRefused.
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
    was = next((one.decision for one in of(tx, plan.id) if one.by == by), None)
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
    body["was"] = was  # so that `audit verify` can tell what stands from what was said
    log.append(tx, by, f"approval.{decision}", f"bundle:{plan.id}", body)
    return satisfied(tx, plan)


def person(name: str) -> str:
    """Whose name it is: one that is written otherwise (case, blanks, width of letters) is no other person's."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def satisfied(tx: Transaction, plan: Stored) -> bool:
    """Whether the plan has the approvals its policy asks for, of its very hash, and no no."""
    said = [one for one in of(tx, plan.id) if one.plan_hash == plan.plan_hash]
    if any(one.decision == "rejected" for one in said):
        return False
    persons = {person(one.by) for one in said if one.decision == "approved"}
    if plan.policy == "two_person":
        persons.discard(person(plan.proposed_by))
    return len(persons) >= _NEEDED[plan.policy]


def of(tx: Transaction, bundle: str) -> list[Approval]:
    """What people said about a plan, in the order they said it."""
    columns = (approvals.c.by, approvals.c.decision, approvals.c.plan_hash, approvals.c.at, approvals.c.note)
    query = sa.select(*columns).where(approvals.c.bundle == bundle).order_by(approvals.c.at, approvals.c.by)
    return [Approval(*row) for row in tx.connection.execute(query)]


def systems(tx: Transaction, bundle: str) -> set[str | None]:
    """The operating systems' users who gave the approvals of a plan that stand, as the log has them, and those that
    this transaction adds left out; None for one of whom that is not known."""
    names = {one.by for one in of(tx, bundle) if one.decision == "approved"}
    latest: dict[str, str | None] = {}
    for entry in log.entries(tx, event="approval.approved", subject=f"bundle:{bundle}"):
        body = entry.body or {}
        if body.get("by") in names:
            latest[body["by"]] = body.get("system")
    return set(latest.values())


def given(tx: Transaction, ids: Collection[str]) -> dict[str, set[str]]:
    """Who approved each of these plans as it stands; those whom nobody did are left out."""
    query = (
        sa.select(approvals.c.bundle, approvals.c.by)
        .join(bundles, bundles.c.id == approvals.c.bundle)
        .where(approvals.c.bundle.in_(list(ids)), approvals.c.decision == "approved")
        .where(approvals.c.plan_hash == bundles.c.plan_hash)
    )
    found: dict[str, set[str]] = {}
    for name, by in tx.connection.execute(query):
        found.setdefault(name, set()).add(by)
    return found


def rejected(tx: Transaction, of_findings: Collection[str]) -> dict[str, list[Stored]]:
    """The plans of these findings that somebody rejected, by finding."""
    mine = (approvals.c.bundle == bundles.c.id, approvals.c.plan_hash == bundles.c.plan_hash)
    said_no = sa.exists().where(*mine, approvals.c.decision == "rejected")
    query = sa.select(*plans.COLUMNS).where(one_of(bundles.c.finding, "the_findings"), said_no)
    found: dict[str, list[Stored]] = {}
    for row in tx.connection.execute(query, {"the_findings": sorted(of_findings)}):
        one = plans.stored(tx, row)
        found.setdefault(one.finding, []).append(one)
    return found
