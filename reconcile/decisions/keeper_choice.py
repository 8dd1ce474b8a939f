"""Keep another record of a finding than the rule says, or take a field of it from another one: store the choice, and
propose the plan that follows from it.

The records are read and planned before the transaction that stores the choice, withdraws the plan that waited and
proposes the new one: so either all of that happens, or nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from reconcile.cleaning.actions.base import NotPlannable, Stale
from reconcile.cleaning.planning.planner import RulePlanner
from reconcile.decisions import keeper
from reconcile.decisions.proposing import Proposing
from reconcile.decisions.refusals import (
    FieldNotChosen,
    FieldsTogether,
    NoKeeper,
    PlanRejected,
    RecordsChanged,
    RecordUnknown,
)
from reconcile.decisions.request import DecisionResult
from reconcile.findings.chosen_values import GivenValue, chosen_values, proof_of, with_values
from reconcile.findings.identity import record_of
from reconcile.findings.keeper import handle_of, is_same, keeping, named
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding, FindingMember
from reconcile.findings.states import Event, State
from reconcile.journal import effects
from reconcile.masking.personal import Masking
from reconcile.store import Transaction
from reconcile.store import findings as stored_findings
from reconcile.store.plans import StoredPlan
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition
from rules.cleaning import Clean, Policy, stricter
from rules.document.mistakes import listed
from rules.kinds.base import Rule

_PLANNED_BY_RUNS = (State.OPEN, State.STALE, State.AWAITING)


def keep(
    decisions: Proposing,
    identifier: str,
    record: Sequence[str] = (),
    values: Mapping[str, Sequence[str]] | None = None,
    *,
    seen: int | None = None,
    note: str | None = None,
    sees_personal: bool = True,
) -> DecisionResult:
    """Keep this record of a finding, and take these fields from these records, as this person chooses.

    The rule's own keeper takes a choice back, and so does a field without a record. Without `record`, the keeper stays.
    A record is its id as people see it, in one text or several, or its handle; `seen` is the version that was shown.
    A person who does not see personal data names a masked id as it is shown: the answer would confirm a guess.
    Raises a FindingError, RecordUnknown, FieldNotChosen, FieldsTogether; RuleDoesNotClean, NoKeeper, KeeperFixed,
    FindingChanged, RecordsChanged, OwnershipRefused; ConnectorError, StoreError.
    """
    with decisions.store.read() as tx:
        finding, now = stored_findings.get(tx, identifier), tx.now
    rule = decisions.cleaning_rule(finding)
    if finding.form != DUPLICATE or finding.keeper is None:
        raise NoKeeper(finding)
    keeper.check(finding, seen)
    member = partial(member_of, decisions, finding, sees_personal=sees_personal)
    kept = _by(decisions, finding, member(record)) if record or not values else None
    givers = {
        column: member(giver) if any(giver) else None for column, giver in _whole(rule, finding, values or {}).items()
    }
    choice = _Choice(decisions, finding, rule, kept, givers, now, note)
    with decisions.logging_refusal("keep", finding.id):
        return choice.unchanged() if choice.is_made else choice.make()


def _whole(rule: Rule, finding: Finding, values: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the records by column, also of the fields that come from one record with a named one."""
    whole: dict[str, Sequence[str]] = {}
    for column, record in values.items():
        together = _cleaning(rule).together(column)
        if not together and (any(record) or column not in chosen_values(finding)):
            raise FieldNotChosen(rule, column)
        if any(list(values.get(each, record)) != list(record) for each in together):
            raise FieldsTogether(rule, together)
        whole |= dict.fromkeys(together or (column,), record)
    return whole


def _cleaning(rule: Rule) -> Clean:
    assert rule.clean is not None  # noqa: S101 - the caller looked
    return rule.clean


def _by(decisions: Proposing, finding: Finding, member: FindingMember) -> FindingMember:
    """Return the member with the name of the person, if the rule would keep another one."""
    by_rule = finding.rule_keeper or finding.keeper
    is_by_rule = by_rule is not None and is_same(member, by_rule) and not finding.handled_pairs
    return replace(member, chosen_by=None if is_by_rule else decisions.actor)


def member_of(
    decisions: Proposing, finding: Finding, record: Sequence[str], *, sees_personal: bool, purpose: str = "to keep"
) -> FindingMember:
    """Return the member that the person names. Raises RecordUnknown."""
    members = named(finding, record, decisions.store.key) if sees_personal else _as_shown(decisions, finding, record)
    if len(members) != 1:
        problem = f"Several records of {finding.id} have that id." if members else f"{finding.id} has no such record."
        names = _names(decisions, finding, finding.members)
        raise RecordUnknown(finding, names, problem if record else f"Name the record of {finding.id} {purpose}.")
    return members[0]


def _as_shown(decisions: Proposing, finding: Finding, record: Sequence[str]) -> list[FindingMember]:
    """Return the members with this handle, or with this id as it is shown masked: `2 / •••`."""
    key, hidden = decisions.store.key, Masking.of(decisions.terms.project, finding.dataset, finding.rule)
    handles = [handle_of(key, finding.id, member) for member in finding.members]
    if len(record) == 1 and record[0] in handles:
        return [finding.members[handles.index(record[0])]]
    masked = [replace(member, id=tuple(hidden.side(member.dataset).record(member.id))) for member in finding.members]
    fitting = named(replace(finding, members=tuple(masked)), record, key)
    return [member for member, shown in zip(finding.members, masked, strict=True) if any(shown is f for f in fitting)]


def _names(decisions: Proposing, finding: Finding, members: Sequence[FindingMember]) -> list[str]:
    return Masking.of(decisions.terms.project, finding.dataset, finding.rule).names(members, finding.datasets)


@dataclass(frozen=True)
class _Choice:
    """The choice of a member of a finding as its keeper, None for the present one, and of records that give fields."""

    decisions: Proposing
    finding: Finding
    rule: Rule
    member: FindingMember | None
    givers: Mapping[str, FindingMember | None]
    now: dt.datetime
    note: str | None

    @cached_property
    def values(self) -> dict[str, tuple[FindingMember, GivenValue] | None]:
        """Return the fields that are chosen otherwise than before, each with its giver and the proof of its value."""
        earlier, key = chosen_values(self.finding), self.decisions.store.key
        cells = self.planner.cells(self.finding) if any(self.givers.values()) else {}
        values: dict[str, tuple[FindingMember, GivenValue] | None] = {}
        for column, giver in self.givers.items():
            before = earlier.get(column)
            if giver is None:
                values |= {column: None} if before else {}
                continue
            name = record_of(giver.id)
            proof = proof_of(key, name, column, cells.get(name, {}).get(column))
            if before is None or not is_same(before[0], giver) or before[1].proof != proof:
                values[column] = giver, GivenValue(self.decisions.actor, self.now, proof)
        return values

    @cached_property
    def planner(self) -> RulePlanner:
        return self.decisions.planner.of(self.rule)

    @property
    def is_made(self) -> bool:
        """True if it is as it is already."""
        return self.keeper is None and not self.values

    @property
    def keeper(self) -> FindingMember | None:
        """The keeper that is chosen otherwise than before, if one is."""
        kept, member = self.finding.keeper, self.member
        if member is None or kept is None or not is_same(kept, member):
            return member
        return member if (kept.chosen_by is None) != (member.chosen_by is None) else None

    def unchanged(self) -> DecisionResult:
        sentence = f"{self._in_words(self.finding, 'already')}; nothing was changed."
        return DecisionResult(sentence, self.finding.id, changed=False)

    def make(self) -> DecisionResult:
        wanted = self.finding if self.keeper is None else keeping(self.finding, self.keeper)
        [(_, planned)] = self.planner.plans([with_values(wanted, self.values)])
        if isinstance(planned, Stale):
            raise RecordsChanged(self.finding, planned)
        if isinstance(planned, Plan):
            self.decisions.must_be_ours(planned.source, planned.table)
        with self.decisions.store.begin() as tx:
            effects.lock_findings(tx, [self.finding.id])
            by, system = self.decisions.actor, self.decisions.system
            choice = keeper.KeeperChoice(self.keeper, self.values)
            chosen, waiting = keeper.choose(tx, self.finding, choice, by=by, note=self.note, system=system)
            plan, remark = self._proposed(tx, chosen, waiting, planned)
        return DecisionResult(f"{self._in_words(chosen, 'now')}. {remark}", chosen.id, plan)

    def _in_words(self, finding: Finding, when: str) -> str:
        """Return what is kept and taken now, or already, as a clause."""
        taken = f"takes {self._values_in_words()}" if self.givers else ""
        if self.member is None:
            return f"{finding.id} {when} {taken}"
        whose = f"the choice of {finding.kept_by}" if finding.kept_by else "the rule's own choice"
        [name] = _names(self.decisions, finding, [self.member])
        return f"{finding.id} {when} keeps record {name}, {whose}{taken and f', and {taken}'}"

    def _values_in_words(self) -> str:
        """Return the fields with the record that each comes from, for people."""
        columns_of: dict[str, list[str]] = {}
        for column, giver in self.givers.items():
            name = None if giver is None else _names(self.decisions, self.finding, [giver])[0]
            columns_of.setdefault("as its rule says" if name is None else f"from record {name}", []).append(column)
        return ", ".join(f"{listed(columns)} {where}" for where, columns in columns_of.items())

    @property
    def _what(self) -> str:
        return "another keeper" if self.keeper is not None else "other values"

    def _proposed(
        self, tx: Transaction, chosen: Finding, waiting: StoredPlan | None, planned: Plan | NotPlannable
    ) -> tuple[str | None, str]:
        """Replace the plan that waits; return the new one's id, and what happens next."""
        if isinstance(planned, Plan) and waiting is not None and waiting.is_for(planned):
            return waiting.id, f"Its plan stays the same: {_approving(chosen.id, waiting.plan_hash)}"
        effects.void(tx, [chosen.id], reason=f"{self.decisions.actor} chose {self._what}", by=self.decisions.actor)
        if not isinstance(planned, Plan):
            return None, self._without_plan(tx, chosen, str(planned))
        if rejections := self.decisions.rejections(tx, planned):
            reason = str(PlanRejected(chosen.id, rejections[-1])).partition(": ")[2]
            return None, self._without_plan(tx, chosen, reason)
        policy = self._policy(tx, chosen, waiting, planned)
        if policy == "none":
            return None, "The next run cleans it without approval."
        plan = self.decisions.propose(tx, planned, self.rule, policy)
        if chosen.state is not State.AWAITING:
            progress.move(tx, [Transition(chosen.id, Event.PROPOSED, plan)], by=self.decisions.actor)
        return plan, f"Its new plan waits for approval: {_approving(chosen.id, planned.plan_hash)}"

    def _without_plan(self, tx: Transaction, chosen: Finding, reason: str) -> str:
        """Open the finding again if its plan waited, and say why there is no new one."""
        why = f"no plan follows the choice of {self._what}: {reason}"
        progress.move(tx, [Transition(chosen.id, Event.VOIDED, why=why)], by=self.decisions.actor)
        return f"There is no plan now: {reason}"

    def _policy(self, tx: Transaction, chosen: Finding, waiting: StoredPlan | None, plan: Plan) -> Policy:
        """Return the stricter policy of the plan that waited and of the new one."""
        terms, name = self.decisions.terms, self.rule.name
        decided = bool(terms.decided(tx, [chosen]))
        group = terms.caps(tx, name).group
        policy = terms.policy(tx, chosen, plan, group, was_decided=decided, knows=self.planner.knows)
        if chosen.state not in _PLANNED_BY_RUNS:
            policy = stricter(policy, "required")
        return policy if waiting is None else terms.at_least(policy, waiting.policy)


def _approving(finding: str, plan_hash: str) -> str:
    return f"`reconcile approve {finding} --plan-hash {plan_hash[:12]}`"
