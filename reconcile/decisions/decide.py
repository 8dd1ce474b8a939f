"""People's decisions about the state of a finding: one function each.

A decision is one transaction with its audit entry. A repeated decision says so and changes nothing. Every function
raises a Wrong or a Refused (FindingUnknown, FindingAmbiguous, SnoozeInThePast; WrongState, FindingChanged) with a
sentence to act on. `seen` is the version that was shown to the person: a decision about records they did not see is
refused.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from notifications.wording import words
from reconcile.audit import facts, log
from reconcile.decisions.refusals import (
    AssigneeUnknown,
    FindingChanged,
    SnoozeInThePast,
    WrongState,
    state_in_words,
    utc_minute,
)
from reconcile.decisions.request import DecisionResult
from reconcile.findings.identity import member_name
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.shown import Finding
from reconcile.findings.states import SETTLED, TRANSITIONS, Event, State, after
from reconcile.journal import effects
from reconcile.store import Store, Transaction, finding_memory, finding_states, judgements, users
from reconcile.store import plans as stored_plans
from reconcile.store.findings import lock, name_of
from reconcile.tracking import progress
from reconcile.tracking.progress import Transition


def dismiss(
    store: Store, finding_id: str, *, actor: str, note: str | None = None, seen: int | None = None
) -> DecisionResult:
    """Settle the finding as no duplicate: all its records, and "not the same" for every pair of them in this rule.

    A discrepancy is settled as it is: it comes back when its form or its amounts change.
    """
    return _settle(store, finding_id, Event.DISMISSED, actor, note, seen)


def handle(
    store: Store, finding_id: str, *, actor: str, note: str | None = None, seen: int | None = None
) -> DecisionResult:
    """Settle the finding as real, and dealt with outside Reconcile: nothing is reported or cleaned of its records.

    It comes back as a dismissed one does. Its pairs are still the same: they keep no record out of a group.
    """
    return _settle(store, finding_id, Event.HANDLED, actor, note, seen)


def snooze(
    store: Store,
    finding_id: str,
    *,
    actor: str,
    until: dt.datetime | None = None,
    note: str | None = None,
    seen: int | None = None,
    timezone: str = "UTC",
) -> DecisionResult:
    """Snooze the finding until that time (aware) or until it grows; without a time only until it grows.

    `timezone` is the one in which the answer names the time.
    """
    with store.begin() as tx:
        finding = _locked(tx, finding_id)
        if until is not None and until <= tx.now:
            raise SnoozeInThePast(until, tx.now)
        if finding.state is State.SNOOZED and finding.snoozed_until == until:
            return _unchanged(finding)
        _check(finding, Event.SNOOZED, "snoozed", seen)
        effects.void(tx, [finding.id], reason=f"snoozed by {actor}", by=actor)
        details = {"until": None if until is None else utc_minute(until)}
        _move(tx, finding, Event.SNOOZED, actor, note, snoozed_until=until, details=details)
        when = f"until {words.to_the_minute(until, timezone)}, or until it grows" if until else "until it grows"
        return DecisionResult(f"{finding.id} is snoozed {when}.", finding.id)


def reopen(
    store: Store, finding_id: str, *, actor: str, note: str | None = None, seen: int | None = None
) -> DecisionResult:
    """Open the finding and its records again after a dismissal, a snooze or an undo, or if it was handled."""
    with store.begin() as tx:
        finding = _locked(tx, finding_id)
        if can_take_back(tx, finding):
            return _taken_back(tx, finding, actor, note, seen)
        if finding.state is State.OPEN:
            return _unchanged(finding, " is already open")
        _check(finding, Event.DECISION_UNDONE, "reopened", seen)
        details = {"pairs": _forget_decisions(tx, finding)} if finding.state in SETTLED else {}
        _move(tx, finding, Event.DECISION_UNDONE, actor, note, details=details)
        return DecisionResult(f"{finding.id} is open again.", finding.id)


_UNDECIDED = (State.OPEN, State.AWAITING, State.STALE, State.FAILED)


def can_take_back(tx: Transaction, finding: Finding) -> bool:
    """Return True if the finding is open and a decision, made in it or in one that it took in, covers its records."""
    if finding.state not in _UNDECIDED:
        return False
    if finding.settled_pairs or finding.handled_pairs or finding_states.decided_findings(tx, [finding.id]):
        return True
    return bool(finding_memory.decided_within(tx, finding.id, map(member_name, finding.members)))


def _taken_back(tx: Transaction, finding: Finding, actor: str, note: str | None, seen: int | None) -> DecisionResult:
    """Take back the decisions about records of a finding that is open, as others joined them; its plan ends."""
    check_seen(finding, seen)
    effects.void(tx, [finding.id], reason=f"reopened by {actor}", by=actor)
    if finding.state is State.AWAITING:
        progress.move(tx, [Transition(finding.id, Event.VOIDED, why=f"reopened by {actor}")], by=actor)
    pairs = _forget_decisions(tx, finding)
    log.touch(tx, facts.FINDING, [finding.id])
    finding_states.name_decider(tx, finding.id, by=actor, note=note)
    body = {"from": finding.state.value, "to": State.OPEN.value, "records": finding.records}
    _tell(tx, finding, Event.DECISION_UNDONE.value, actor=actor, body=body | {"note": note or None, "pairs": pairs})
    return DecisionResult(f"{finding.id} is open; no decision covers any of its records now.", finding.id)


def _forget_decisions(tx: Transaction, finding: Finding) -> int:
    """Forget what people decided about the finding's records, also in findings that it took in; return the pairs."""
    records = judgements.present(tx, finding.id)
    taken_in = finding_memory.decided_within(tx, finding.id, records)
    judged = judgements.judged_among(tx, records)
    log.touch(tx, facts.FINDING, [*judged.findings, finding.id, *taken_in])
    log.touch(tx, facts.PAIR, judged.pairs)
    for name in (finding.id, *taken_in):
        finding_memory.settle(tx, name, None)
        finding_states.forget_decision(tx, name)
    return judgements.forget_judgements(tx, finding.id, finding.rule, records)


def assign(
    store: Store, finding_id: str, *, actor: str, to: str | None, note: str | None = None, seen: int | None = None
) -> DecisionResult:
    """Assign the finding to a person; None for nobody. Possible in every state but merged.

    Where there are users, the person is one of them. Raises AssigneeUnknown.
    """
    with store.begin() as tx:
        finding = lock(tx, name_of(tx, finding_id))
        whom = f"assigned to {to}" if to else "assigned to nobody"
        if finding.state is State.MERGED:
            raise WrongState(finding, whom)
        check_seen(finding, seen)
        if finding.assigned_to == to:
            return _unchanged(finding, f" is already {whom}")
        if to is not None:
            _check_assignee(tx, finding, to)
        log.touch(tx, facts.FINDING, [finding.id])
        finding_states.assign(tx, finding.id, to, note=note)
        _tell(tx, finding, "finding.assigned", actor=actor, body={"whom": to, "note": note})
        return DecisionResult(f"{finding.id} is {whom}.", finding.id)


def _check_assignee(tx: Transaction, finding: Finding, name: str) -> None:
    names = [user.name for user in users.listed(tx)]
    if names and name not in names:
        raise AssigneeUnknown(finding.id, name, names)


def _settle(
    store: Store, finding_id: str, event: Event, actor: str, note: str | None, seen: int | None
) -> DecisionResult:
    """Settle the records of the finding: its plan ends, and its pairs are judged."""
    state = after(State.OPEN, event)
    with store.begin() as tx:
        finding = _locked(tx, finding_id)
        if finding.state is state:
            return _unchanged(finding)
        _check(finding, event, state.value, seen)
        effects.void(tx, [finding.id], reason=f"{state.value} by {actor}", by=actor)
        judged = judgements.judged_before(tx, [finding.id])
        log.touch(tx, facts.FINDING, judged.findings)
        log.touch(tx, facts.PAIR, judged.pairs)
        pairs = judgements.judge(tx, [finding.id], by=actor, note=note, are_handled=state is State.HANDLED)
        finding_memory.settle(tx, finding.id, tx.now)
        finding_states.settle_values(tx, finding.id, state)
        _move(tx, finding, event, actor, note, details={"pairs": pairs})
        return DecisionResult(f"{finding.id} is {state.value}: {_settled_text(finding, state)}.", finding.id)


def _settled_text(finding: Finding, state: State) -> str:
    if state is State.HANDLED:
        return "it is real, and was dealt with outside Reconcile"
    if finding.form != DUPLICATE:
        return "its records are accepted as they are"
    return f"its {finding.records} records are not the same"


def _locked(tx: Transaction, finding_id: str) -> Finding:
    """Lock the finding, but its plan first, in the order that execution uses."""
    name = name_of(tx, finding_id)
    stored_plans.standing(tx, name, lock=True)
    return lock(tx, name)


def _check(finding: Finding, event: Event, wish: str, seen: int | None = None) -> None:
    if (finding.state, event) not in TRANSITIONS:
        raise WrongState(finding, wish)
    check_seen(finding, seen)


def check_seen(finding: Finding, seen: int | None) -> None:
    """Raise FindingChanged if a person saw another version."""
    if seen is not None and seen != finding.version:
        raise FindingChanged(finding)


def _unchanged(finding: Finding, clause: str | None = None) -> DecisionResult:
    sentence = f"{finding.id}{clause or f': {state_in_words(finding)}'}; nothing was changed."
    return DecisionResult(sentence, finding.id, changed=False)


def _move(
    tx: Transaction,
    finding: Finding,
    event: Event,
    actor: str,
    note: str | None,
    *,
    snoozed_until: dt.datetime | None = None,
    details: Mapping[str, Any],
) -> None:
    """Make the transition from the table of states, and write its audit entry."""
    state = after(finding.state, event)
    log.touch(tx, facts.FINDING, [finding.id])
    finding_states.decide(tx, finding.id, state, by=actor, snoozed_until=snoozed_until, note=note)
    body = {"from": finding.state.value, "to": state.value, "records": finding.records, "version": finding.version}
    _tell(tx, finding, event.value, actor=actor, body=body | {"note": note or None} | dict(details))


def _tell(tx: Transaction, finding: Finding, event: str, *, actor: str, body: Mapping[str, Any]) -> None:
    details = {"finding": finding.id, "rule": finding.rule, **body}
    log.append(tx, actor, event, finding.id, {name: value for name, value in details.items() if value is not None})
