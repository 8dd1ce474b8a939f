"""A person's choice of the keeper of a finding, stored with its audit entry."""

from __future__ import annotations

from collections.abc import Mapping

from reconcile.audit import facts, log
from reconcile.errors import Refused
from reconcile.findings.identity import member_name
from reconcile.findings.keeper import CHOOSABLE, handle_of
from reconcile.findings.shown import Finding, FindingMember
from reconcile.findings.states import PlanState, State
from reconcile.journal import approvals
from reconcile.people.makers import told
from reconcile.store import Transaction, finding_states
from reconcile.store import findings as stored_findings
from reconcile.store import plans as stored_plans
from reconcile.store.plans import StoredPlan
from reconcile.tracking.decide import FindingChanged, check_seen

_FIXED: Mapping[State, str] = {
    State.APPROVED: "its plan is approved; `reconcile reject {0}` withdraws the plan",
    State.CLEANING: "its cleaning is in progress",
    State.PARTLY: "its cleaning is in progress",
    State.QUARANTINED: "the outcome of its cleaning is unknown; `reconcile quarantine` shows details",
    State.CLEANED: "it is cleaned; `reconcile undo {0}` undoes that, then `reconcile reopen {0}`",
    State.UNDONE: "its cleaning was undone; `reconcile reopen {0}` opens it again",
    State.HANDLED: "it was handled; `reconcile reopen {0}` opens it again",
    State.DISMISSED: "it is dismissed; `reconcile reopen {0}` opens it again",
    State.RESOLVED: "it is resolved",
    State.MERGED: "its records are part of another finding",
}


class KeeperFixed(Refused):
    """The state of the finding, or of its plan, allows no other keeper."""

    def __init__(self, finding: Finding, state: State) -> None:
        super().__init__(
            f"{finding.id} cannot be given another keeper: {_FIXED[state].format(finding.id)}. Nothing was changed"
        )


def check(finding: Finding, seen: int | None = None) -> None:
    """Raise KeeperFixed, or FindingChanged if a person saw another version."""
    if finding.state not in CHOOSABLE:
        raise KeeperFixed(finding, finding.state)
    check_seen(finding, seen)


def choose(
    tx: Transaction, before: Finding, member: FindingMember, *, by: str, note: str | None, system: str | None = None
) -> tuple[Finding, StoredPlan | None]:
    """Store the choice of this member, or of the rule's keeper, which takes a choice back.

    `before` is the finding that the choice was checked and planned with; its plan and itself are locked in `tx`. Return
    the finding after the choice, and its plan that waits. `system` is as in `decide.approve`. Raises KeeperFixed,
    FindingChanged.
    """
    plan = stored_plans.standing(tx, before.id, lock=True)
    now = stored_findings.lock(tx, before.id)
    check(now, before.version)
    if plan is not None and plan.state is not PlanState.AWAITING:
        raise KeeperFixed(now, State.CLEANING)
    if _records(now) != _records(before):
        raise FindingChanged(now)
    log.touch(tx, facts.FINDING, [now.id, *finding_states.chosen_with(tx, now.id)])
    version, is_by_rule = now.version + 1, member.chosen_by is None
    record = None if is_by_rule else member_name(member)
    finding_states.choose_keeper(tx, now.id, record, by=by, version=version, note=note)
    stored_findings.keep_notified(tx, now.id, version=version)
    body = {"finding": now.id, "rule": now.rule, "records": now.records, "version": version}
    body |= {"record": handle_of(tx.store.key, now.id, member)} | ({"note": note} if note else {})
    body |= told(tx, by, system)
    log.append(tx, by, "finding.keeper_by_rule" if is_by_rule else approvals.KEEPER_CHOSEN, now.id, body)
    return stored_findings.lock(tx, now.id), plan


def _records(finding: Finding) -> list[tuple[str, str]]:
    return [(member.role, member_name(member)) for member in finding.members]
