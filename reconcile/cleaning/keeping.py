"""Keep another record of a finding than the rule says: store the choice, and propose the plan that follows from it.

The records are read and planned before the transaction that stores the choice, withdraws the plan that waited and
proposes the new one: so either all of that happens, or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from notifications.base import MASK
from reconcile.cleaning.actions.base import NotPlannable, Stale
from reconcile.cleaning.decisions import DecisionResult, Decisions, PlanRejected
from reconcile.cleaning.planning.planner import RulePlanner
from reconcile.errors import Refused, Wrong
from reconcile.findings.keeper import handle_of, is_same, keeping, named
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding, FindingMember
from reconcile.findings.states import Event, State
from reconcile.journal import effects
from reconcile.messages.personal import Hidden
from reconcile.store import Transaction
from reconcile.store import findings as stored_findings
from reconcile.store.plans import StoredPlan
from reconcile.tracking import keeper, progress
from reconcile.tracking.progress import Transition
from rules.cleaning import Policy, stricter
from rules.document.mistakes import listed
from rules.kinds.base import Rule

_MOST_NAMED = 20
_PLANNED_BY_RUNS = (State.OPEN, State.STALE, State.AWAITING)


class NoKeeper(Refused):
    """The records of the finding have no keeper."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"The records of {finding.id} have no keeper, so none can be chosen. Nothing was changed")


class RecordUnknown(Wrong):
    """The finding has no such record, or several that are called so."""

    def __init__(self, finding: Finding, names: Sequence[str], problem: str) -> None:
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        hint = ""
        if any(MASK in name for name in names):
            hint = f"; `reconcile show {finding.id} --show` shows their ids"
        super().__init__(f"{problem} Its records are {listed(names[:_MOST_NAMED])}{more}{hint}. Nothing was changed")


class RecordsChanged(Refused):
    """The records are no longer those that the person saw."""

    def __init__(self, finding: Finding, reason: Stale) -> None:
        super().__init__(
            f"The keeper of {finding.id} was not changed. {reason} Run its job, look at the finding again "
            f"(`reconcile show {finding.id}`), then choose"
        )


def keep(
    decisions: Decisions,
    identifier: str,
    record: Sequence[str],
    *,
    seen: int | None = None,
    note: str | None = None,
    sees_personal: bool = True,
) -> DecisionResult:
    """Keep this record of a finding, as this person chooses; the rule's own keeper takes a choice back.

    `record` is its id as people see it, in one text or several, or its handle; `seen` is the version that was shown.
    A person who does not see personal data names a masked id as it is shown: the answer would confirm a guess.
    Raises a FindingError, RecordUnknown; RuleDoesNotClean, NoKeeper, KeeperFixed, FindingChanged, RecordsChanged,
    OwnershipRefused; ConnectorError, StoreError.
    """
    with decisions.store.read() as tx:
        finding = stored_findings.get(tx, identifier)
    rule = decisions.cleaning_rule(finding)
    if finding.form != DUPLICATE or finding.keeper is None:
        raise NoKeeper(finding)
    keeper.check(finding, seen)
    member = _member(decisions, finding, record, sees_personal=sees_personal)
    choice = _Choice(decisions, finding, rule, member, note)
    with decisions.logging_refusal("keep", finding.id):
        return choice.unchanged() if choice.is_made else choice.make()


def _member(decisions: Decisions, finding: Finding, record: Sequence[str], *, sees_personal: bool) -> FindingMember:
    """Return the member that the person names, with their name if the rule would keep another one."""
    members = named(finding, record, decisions.store.key) if sees_personal else _as_shown(decisions, finding, record)
    if len(members) != 1:
        problem = f"Several records of {finding.id} have that id." if members else f"{finding.id} has no such record."
        names = _names(decisions, finding, finding.members)
        raise RecordUnknown(finding, names, problem if record else f"Name the record of {finding.id} to keep.")
    by_rule = finding.rule_keeper or finding.keeper
    is_by_rule = by_rule is not None and is_same(members[0], by_rule) and not finding.handled_pairs
    return replace(members[0], chosen_by=None if is_by_rule else decisions.actor)


def _as_shown(decisions: Decisions, finding: Finding, record: Sequence[str]) -> list[FindingMember]:
    """Return the members with this handle, or with this id as it is shown masked: `2 / •••`."""
    key, hidden = decisions.store.key, Hidden.of(decisions.terms.project, finding.dataset, finding.rule)
    handles = [handle_of(key, finding.id, member) for member in finding.members]
    if len(record) == 1 and record[0] in handles:
        return [finding.members[handles.index(record[0])]]
    masked = [replace(member, id=tuple(hidden.side(member.dataset).record(member.id))) for member in finding.members]
    fitting = named(replace(finding, members=tuple(masked)), record, key)
    return [member for member, shown in zip(finding.members, masked, strict=True) if any(shown is f for f in fitting)]


def _names(decisions: Decisions, finding: Finding, members: Sequence[FindingMember]) -> list[str]:
    return Hidden.of(decisions.terms.project, finding.dataset, finding.rule).names(members, finding.datasets)


@dataclass(frozen=True)
class _Choice:
    """The choice of a member of a finding as its keeper."""

    decisions: Decisions
    finding: Finding
    rule: Rule
    member: FindingMember
    note: str | None

    @property
    def name(self) -> str:
        return _names(self.decisions, self.finding, [self.member])[0]

    @property
    def is_made(self) -> bool:
        """True if it is as it is already."""
        kept = self.finding.keeper
        is_kept = kept is not None and is_same(kept, self.member)
        return is_kept and (self.finding.kept_by is None) == (self.member.chosen_by is None)

    def unchanged(self) -> DecisionResult:
        by = f"the choice of {self.finding.kept_by}" if self.finding.kept_by else "the rule's own choice"
        sentence = f"{self.finding.id} already keeps record {self.name}, {by}; nothing was changed."
        return DecisionResult(sentence, self.finding.id, changed=False)

    def make(self) -> DecisionResult:
        planner = self.decisions.planner.of(self.rule)
        [(_, planned)] = planner.plans([keeping(self.finding, self.member)])
        if isinstance(planned, Stale):
            raise RecordsChanged(self.finding, planned)
        if isinstance(planned, Plan):
            self.decisions.must_be_ours(planned.source, planned.table)
        with self.decisions.store.begin() as tx:
            effects.lock_findings(tx, [self.finding.id])
            by, system = self.decisions.actor, self.decisions.system
            chosen, waiting = keeper.choose(tx, self.finding, self.member, by=by, note=self.note, system=system)
            plan, remark = self._proposed(tx, chosen, waiting, planned, planner)
        whose = f"the choice of {chosen.kept_by}" if chosen.kept_by else "the rule's own choice"
        return DecisionResult(f"{chosen.id} now keeps record {self.name}, {whose}. {remark}", chosen.id, plan)

    def _proposed(
        self,
        tx: Transaction,
        chosen: Finding,
        waiting: StoredPlan | None,
        planned: Plan | NotPlannable,
        planner: RulePlanner,
    ) -> tuple[str | None, str]:
        """Replace the plan that waits; return the new one's id, and what happens next."""
        if isinstance(planned, Plan) and waiting is not None and waiting.is_for(planned):
            return waiting.id, f"Its plan stays the same: {_approving(chosen.id, waiting.plan_hash)}"
        effects.void(tx, [chosen.id], reason=f"{self.decisions.actor} chose another keeper", by=self.decisions.actor)
        if not isinstance(planned, Plan):
            return None, self._without_plan(tx, chosen, str(planned))
        if rejections := self.decisions.rejections(tx, planned):
            reason = str(PlanRejected(chosen.id, rejections[-1])).partition(": ")[2]
            return None, self._without_plan(tx, chosen, reason)
        policy = self._policy(tx, chosen, waiting, planned, planner)
        if policy == "none":
            return None, "The next run cleans it without approval."
        plan = self.decisions.propose(tx, planned, self.rule, policy)
        if chosen.state is not State.AWAITING:
            progress.move(tx, [Transition(chosen.id, Event.PROPOSED, plan)], by=self.decisions.actor)
        return plan, f"Its new plan waits for approval: {_approving(chosen.id, planned.plan_hash)}"

    def _without_plan(self, tx: Transaction, chosen: Finding, reason: str) -> str:
        """Open the finding again if its plan waited, and say why there is no new one."""
        why = f"no plan keeps the chosen record: {reason}"
        progress.move(tx, [Transition(chosen.id, Event.VOIDED, why=why)], by=self.decisions.actor)
        return f"There is no plan now: {reason}"

    def _policy(
        self, tx: Transaction, chosen: Finding, waiting: StoredPlan | None, plan: Plan, planner: RulePlanner
    ) -> Policy:
        """Return the stricter policy of the plan that waited and of the new one."""
        terms, name = self.decisions.terms, self.rule.name
        decided = bool(terms.decided(tx, [chosen]))
        group = terms.caps(tx, name).group
        policy = terms.policy(tx, chosen, plan, group, was_decided=decided, knows=planner.knows)
        if chosen.state not in _PLANNED_BY_RUNS:
            policy = stricter(policy, "required")
        return policy if waiting is None else terms.at_least(policy, waiting.policy)


def _approving(finding: str, plan_hash: str) -> str:
    return f"`reconcile approve {finding} --plan-hash {plan_hash[:12]}`"
