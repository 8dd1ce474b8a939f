"""A person's choice of the keeper of a finding, and of its values, stored with its audit entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconcile.audit import facts, log
from reconcile.decisions.decide import check_seen
from reconcile.decisions.refusals import FindingChanged, KeeperFixed
from reconcile.documents import JsonObject
from reconcile.findings.chosen_values import GivenValue
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


def check(finding: Finding, seen: int | None = None) -> None:
    """Raise KeeperFixed, or FindingChanged if a person saw another version."""
    if finding.state not in CHOOSABLE:
        raise KeeperFixed(finding, finding.state)
    check_seen(finding, seen)


@dataclass(frozen=True)
class KeeperChoice:
    """A person's choice: the keeper, which takes a choice back if it is the rule's; None leaves it as it is.

    `values` are the records that give fields of the keeper, by column; None takes the choice of a field back.
    """

    keeper: FindingMember | None = None
    values: Mapping[str, tuple[FindingMember, GivenValue] | None] = field(default_factory=dict)


def choose(
    tx: Transaction, before: Finding, choice: KeeperChoice, *, by: str, note: str | None, system: str | None = None
) -> tuple[Finding, StoredPlan | None]:
    """Store a choice.

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
    version = now.version + 1
    body = {"finding": now.id, "rule": now.rule, "records": now.records, "version": version}
    body |= ({"note": note} if note else {}) | told(tx, by, system)
    events: list[tuple[str, JsonObject]] = []
    if choice.keeper is not None:
        is_by_rule = choice.keeper.chosen_by is None
        finding_states.choose_keeper(tx, now.id, None if is_by_rule else member_name(choice.keeper), by=by)
        event = "finding.keeper_by_rule" if is_by_rule else approvals.KEEPER_CHOSEN
        events.append((event, {"record": handle_of(tx.store.key, now.id, choice.keeper)}))
    if choice.values:
        named = {column: pair and (member_name(pair[0]), pair[1]) for column, pair in choice.values.items()}
        finding_states.choose_values(tx, now.id, named)
        giving = {column: pair and handle_of(tx.store.key, now.id, pair[0]) for column, pair in choice.values.items()}
        events.append((approvals.VALUES_CHOSEN, {"values": giving}))
    finding_states.mark_chosen(tx, now.id, version=version, note=note)
    stored_findings.keep_notified(tx, now.id, version=version)
    for event, chosen in events:
        log.append(tx, by, event, now.id, body | chosen)
    return stored_findings.lock(tx, now.id), plan


def _records(finding: Finding) -> list[tuple[str, str]]:
    return [(member.role, member_name(member)) for member in finding.members]
