"""Split a record off a finding: "one of these is somebody else". Its pairs with the others are judged different."""

from __future__ import annotations

from collections.abc import Sequence

from reconcile.audit import facts, log
from reconcile.decisions import decide
from reconcile.decisions.keeper_choice import member_of
from reconcile.decisions.pairs import void_plan
from reconcile.decisions.proposing import Proposing
from reconcile.decisions.refusals import NothingToSplit, WrongState
from reconcile.decisions.request import DecisionResult
from reconcile.findings.identity import member_name
from reconcile.findings.keeper import CHOOSABLE, handle_of
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.shown import Finding, FindingMember
from reconcile.journal import effects
from reconcile.store import Transaction, judgements, watermarks
from reconcile.store import findings as stored_findings


def split(
    decisions: Proposing,
    identifier: str,
    record: Sequence[str],
    *,
    seen: int | None = None,
    note: str | None = None,
    sees_personal: bool = True,
) -> DecisionResult:
    """Judge a record of a finding to be different from each other one, which stay together; a finding of two is
    dismissed.

    The next run takes the record out. Raises a FindingError, RecordUnknown, NothingToSplit, WrongState, FindingChanged.
    """
    with decisions.store.read() as tx:
        finding = stored_findings.get(tx, identifier)
    member = member_of(decisions, finding, record, sees_personal=sees_personal, purpose="that is another one")
    rule = decisions.terms.project.rules.get(finding.rule)
    if rule is None or not rule.joins or finding.form != DUPLICATE:
        raise NothingToSplit(finding)
    if finding.records == 2:
        return decide.dismiss(decisions.store, finding.id, actor=decisions.actor, note=note, seen=seen)
    with decisions.store.begin() as tx:
        effects.lock_findings(tx, [finding.id])
        now = stored_findings.lock(tx, finding.id)
        decide.check_seen(now, finding.version if seen is None else seen)
        if now.state not in CHOOSABLE:
            raise WrongState(now, "split")
        return _split(tx, now, member, by=decisions.actor, note=note)


def _split(tx: Transaction, finding: Finding, member: FindingMember, *, by: str, note: str | None) -> DecisionResult:
    name = member_name(member)
    others = [member_name(each) for each in finding.members if member_name(each) != name]
    is_before = all({name, each} in _judged(finding) for each in others)
    if is_before:
        return DecisionResult(
            f"That record was already split off {finding.id}; nothing was changed.", finding.id, changed=False
        )
    judged = judgements.judged_among(tx, [name, *others])
    log.touch(tx, facts.FINDING, [finding.id, *judged.findings])
    log.touch(tx, facts.PAIR, judged.pairs)
    pairs = judgements.judge(tx, [finding.id], by=by, note=note, members={finding.id: [name, *others]}, apart=[name])
    watermarks.forget(tx, finding.rule)  # the next run reads the records even if they did not change
    void_plan(tx, finding, reason=f"a record was split off by {by}", by=by)
    body = {"finding": finding.id, "rule": finding.rule, "records": finding.records, "version": finding.version}
    body |= {"record": handle_of(tx.store.key, finding.id, member), "pairs": pairs} | ({"note": note} if note else {})
    log.append(tx, by, "finding.split", finding.id, body)
    return DecisionResult(
        f"That record is split off {finding.id}; the next run takes it out and keeps it apart.", finding.id
    )


def _judged(finding: Finding) -> list[set[str]]:
    return [{member_name(first), member_name(second)} for first, second in finding.settled_pairs]
