"""People's judgements of two records: the same, or not the same. They are stored like those of a dismissed finding.

A judgement is one transaction with its audit entry. A repeated one says so and changes nothing. Every function raises a
Wrong or a Refused with a sentence to act on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reconcile.audit import facts, log
from reconcile.decisions.known_records import UNNAMED, KnownPair, listed_pair, typed_pair
from reconcile.decisions.refusals import (
    AnswerUnknown,
    JudgedInFinding,
    PairInHand,
    PairOfOneDataset,
    PairUnknown,
    PartnerTaken,
    RecordNotKnown,
    RuleTakesNoJudgement,
)
from reconcile.decisions.request import DecisionResult
from reconcile.findings.identity import agreeing, dataset_of, differing
from reconcile.findings.shown import Finding
from reconcile.findings.states import IN_HAND, LIVE, SETTLED, Event, State
from reconcile.journal import effects
from reconcile.store import Store, Transaction, pair_judgements, pair_records, watermarks
from reconcile.store import findings as stored_findings
from reconcile.store.pair_judgements import JudgedPair, StoredJudgement
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition
from rules.kinds.base import Rule

SAME, NOT_SAME, FORGET = "same", "not_the_same", "forget"
ANSWERS = (SAME, NOT_SAME, FORGET)
_EVENTS = {SAME: "pair.same", NOT_SAME: "pair.not_same", FORGET: "pair.forgotten"}
_SENTENCES = {
    SAME: "{0} are the same; the next run of `{1}` puts them together.",
    NOT_SAME: "{0} are not the same; the next run of `{1}` keeps them apart.",
    FORGET: "Your answer about {0} is taken back; the next run of `{1}` decides by their values.",
}


@dataclass(frozen=True)
class PairRequest:
    """An answer about two records of a rule: `same`, `not_the_same`, or `forget`, which takes an answer back.

    The records are ids as people see them, each in one text or several, or the pair is a listed one by its id.
    """

    rule: str
    answer: str
    records: tuple[Sequence[str], Sequence[str]] | None = None
    pair: str | None = None
    note: str | None = None


def judge(store: Store, rule: Rule, request: PairRequest, *, actor: str) -> DecisionResult:
    """Store the answer about the pair, which the next run of the rule follows.

    Raises RuleTakesNoJudgement, AnswerUnknown, PairUnknown, PairOfOneDataset, PartnerTaken, JudgedInFinding,
    PairInHand.
    """
    if request.answer not in ANSWERS:
        raise AnswerUnknown(request.answer, ANSWERS)
    if not rule.learns:
        raise RuleTakesNoJudgement(rule)
    with store.begin() as tx:
        pair = _known(tx, rule, request)
        if pair is None:
            return DecisionResult("These records were not judged; nothing was changed.", changed=False)
        holding = pair_records.holding(tx, rule.name, pair.records)
        effects.lock_findings(tx, holding)
        findings = [stored_findings.lock(tx, name) for name in holding]
        before = pair_judgements.find(tx, rule.name, pair.records)
        if _is_answered(tx, before, request.answer):
            return DecisionResult(f"{_answered(pair, request.answer)}; nothing was changed.", changed=False)
        if request.answer == SAME and rule.pairs_up:
            _require_partners(tx, rule, pair)
        if request.answer != FORGET and not all(pair.values):
            raise PairUnknown(rule.name)
        if in_hand := [finding for finding in findings if finding.state in IN_HAND]:
            raise PairInHand(in_hand[0].id)
        _store(tx, rule, pair, before, request, actor)
        if request.answer == NOT_SAME:
            for finding in findings:
                void_plan(tx, finding, reason=f"a pair was judged by {actor}", by=actor)
        return DecisionResult(_SENTENCES[request.answer].format(pair.name, rule.name))


def _known(tx: Transaction, rule: Rule, request: PairRequest) -> KnownPair | None:
    """Return the pair; None for an answer to be taken back about records of which the state holds nothing."""
    try:
        return listed_pair(tx, rule, request.pair) if request.pair else typed_pair(tx, rule, request.records or ())
    except RecordNotKnown:
        if request.answer != FORGET:
            raise
        return None


def _is_answered(tx: Transaction, before: StoredJudgement | None, answer: str) -> bool:
    """Return True if the pair is judged so already. Raises JudgedInFinding if a finding was decided otherwise.

    An undo is no answer, so it can be followed by one that its records are not the same.
    """
    if before is None:
        return answer == FORGET
    is_so = answer == (SAME if before.is_same or before.is_handled else NOT_SAME)
    if before.finding is None:
        return is_so
    finding = stored_findings.get(tx, before.finding)
    if not is_so and finding.state in SETTLED:
        raise JudgedInFinding(finding)
    return is_so and finding.state is not State.UNDONE


def _require_partners(tx: Transaction, rule: Rule, pair: KnownPair) -> None:
    """Raise PairOfOneDataset or PartnerTaken if a rule that pairs up records cannot make these two partners."""
    first, second = (dataset_of(record) or rule.dataset for record in pair.records)
    if first == second:
        raise PairOfOneDataset(rule.name, _inside(pair.name), first)
    if pair_judgements.has_other_partner(tx, rule.name, rule.kind, pair.records):
        raise PartnerTaken(rule.name, _inside(pair.name))


def _inside(name: str) -> str:
    """Return the name of a pair inside a sentence."""
    return UNNAMED.lower() if name == UNNAMED else name


def _store(
    tx: Transaction, rule: Rule, pair: KnownPair, before: StoredJudgement | None, request: PairRequest, actor: str
) -> None:
    watermarks.forget(tx, rule.name)  # the next run reads the records even if they did not change
    body = {"rule": rule.name} | ({"note": request.note} if request.note else {})
    if before is not None:
        log.touch(tx, facts.FINDING, [before.finding] if before.finding else [])
        log.touch(tx, facts.PAIR, [before.pair] if before.pair else [])
        body |= {"finding": before.finding} if before.finding else {"pair": before.pair or ""}
    if request.answer == FORGET:
        pair_judgements.forget(tx, rule.name, pair.records)
    else:
        is_same = request.answer == SAME
        compared = tuple(map(rule.as_compared, pair.values))
        values = differing(*compared) if is_same else agreeing(*compared)
        judged = JudgedPair(rule.name, rule.kind, rule.dataset, pair.records, values, is_same)
        body["pair"] = pair_judgements.judge(tx, judged, by=actor, note=request.note)
        log.touch(tx, facts.PAIR, [body["pair"]])
    log.append(tx, actor, _EVENTS[request.answer], f"rule:{rule.name}", body)


def _answered(pair: KnownPair, answer: str) -> str:
    words = {SAME: "were already judged the same", NOT_SAME: "were already judged not the same"}
    return f"{pair.name} {words.get(answer, 'were not judged')}"


def void_plan(tx: Transaction, finding: Finding, *, reason: str, by: str) -> None:
    """Withdraw the plan of a finding some of whose records are different; a run or a person plans it again."""
    if finding.state not in LIVE:
        return
    effects.void(tx, [finding.id], reason=reason, by=by)
    if finding.state in (State.AWAITING, State.APPROVED):
        progress.move(tx, [Transition(finding.id, Event.VOIDED, why=reason)], by=by)
