"""People's decisions about findings: one function each, used by every door.

A decision is one transaction with its audit entry. Deciding the same twice says so and changes nothing. Every function
raises a FindingError (FindingUnknown, FindingAmbiguous, WrongState, FindingChanged, SnoozeInThePast) with a sentence to
act on. `seen` is the version that was shown to the person: a decision about records they never saw is refused.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from reconcile import points
from reconcile.audit import facts, log
from reconcile.findings.bundle import Bundle
from reconcile.findings.identity import encode
from reconcile.findings.operations import BundleState
from reconcile.findings.shown import Finding
from reconcile.findings.states import TRANSITIONS, Event, State, after
from reconcile.journal import approvals, effects
from reconcile.store import Store, Transaction, finding_memory
from reconcile.store import bundles as stored_bundles
from reconcile.store.bundles import Stored
from reconcile.store.findings import FindingError, lock, name_of
from reconcile.store.tables import findings, not_same
from reconcile.tracking import progress
from reconcile.tracking.progress import Move

SHORTEST_PLAN = 8
"""So many characters of a plan's hash name it."""

_INSTEAD = {
    State.DISMISSED: ("reopen", "opens it again"),
    State.UNDONE: ("reopen", "opens it again"),
    State.CLEANED: ("undo", "takes that back"),
}
"""What a person may want who decides about a plan that there is none of."""


class WrongState(FindingError):
    """The finding is in a state in which that cannot be decided."""

    def __init__(self, finding: Finding, wish: str) -> None:
        super().__init__(f"{finding.id} cannot be {wish}: {_standing(finding)}. Nothing was changed.")


class FindingChanged(FindingError):
    """The finding is no longer what the person who decided has seen."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(
            f"{finding.id} changed since it was shown: {finding.reason or 'a record joined'}. Nothing was changed; "
            f"look again (`reconcile show {finding.id}`) and decide about what is there now."
        )


class SnoozeInThePast(FindingError):
    """The end of the snooze is not in the future."""

    def __init__(self, until: dt.datetime, now: dt.datetime) -> None:
        super().__init__(
            f"A snooze until {_time(until)} would be over already: it is {_time(now)}. Give a time that is still to "
            "come, or none to be asked again when the finding grows."
        )


class NothingProposed(FindingError):
    """Nothing is planned for the finding, so there is nothing to approve or to reject."""

    def __init__(self, finding: Finding) -> None:
        command, what = _INSTEAD.get(finding.state, ("plan --finding", "shows what could be done"))
        super().__init__(
            f"There is no plan for {finding.id} ({_standing(finding)}), so there is nothing to decide about. "
            f"`reconcile {command} {finding.id}` {what}"
        )


class PlanChanged(FindingError):
    """The plan is not, or no longer, the one that was decided about."""

    def __init__(self, finding: Finding, why: str) -> None:
        super().__init__(
            f"Nothing was decided about {finding.id}: {why}. Look at what is planned now (`reconcile plan "
            f"--finding {finding.id}`) and decide about that"
        )


class UndoInHand(FindingError):
    """The undo is being done, or nobody knows whether it was: it cannot be withdrawn."""

    def __init__(self, finding: Finding, undo: Stored) -> None:
        super().__init__(
            f"The undo of {finding.id} is {_of_plan(undo)}, so it cannot be withdrawn. Nothing was changed; "
            f"`reconcile show {finding.id}` says what became of it"
        )


class NotYours(FindingError):
    """The rule asks for two people, and this one has had their say."""

    def __init__(self, finding: Finding, actor: str) -> None:
        super().__init__(
            f"{actor} has approved {finding.id} already, and its rule asks for two people; somebody else has to "
            "approve it as well. Nothing was changed"
        )


@dataclass(frozen=True)
class Decision:
    """The finding after the decision, whether anything changed, and one sentence that says so."""

    finding: Finding
    changed: bool
    sentence: str
    ready: bool = False
    """A plan of it may be carried out now."""
    remark: str = ""
    """What else the person should know, as the end of the answer."""


def dismiss(store: Store, asked: str, *, actor: str, note: str | None = None, seen: int | None = None) -> Decision:
    """Not a duplicate: settled for its records, and "not the same" for every pair of them in this rule."""
    with store.begin() as tx:
        finding = _taken(tx, asked)
        if finding.state is State.DISMISSED:
            return _again(finding)
        _check(finding, Event.DISMISSED, "dismissed", seen)
        effects.void(tx, [finding.id], reason=f"dismissed by {actor}", by=actor)
        log.touch(tx, facts.FINDING, finding_memory.judged_before(tx, [finding.id]))
        pairs = finding_memory.judge_different(tx, [finding.id], by=actor, note=note)
        finding_memory.settle(tx, finding.id, tx.now)
        key = [[name, encode(value)] for name, value in finding.key.items()]
        _move(tx, finding, Event.DISMISSED, actor, note, payload={"settled_key": key}, said={"pairs": pairs})
        return _done(tx, finding, f"{finding.id} is dismissed: its {finding.records} records are not the same.")


def snooze(
    store: Store,
    asked: str,
    *,
    actor: str,
    until: dt.datetime | None = None,
    note: str | None = None,
    seen: int | None = None,
) -> Decision:
    """Not now: nothing is told until that time (aware), or until it grows; without a time only until it grows."""
    with store.begin() as tx:
        finding = _taken(tx, asked)
        if until is not None and until <= tx.now:
            raise SnoozeInThePast(until, tx.now)
        if finding.state is State.SNOOZED and finding.snoozed_until == until:
            return _again(finding)
        _check(finding, Event.SNOOZED, "snoozed", seen)
        effects.void(tx, [finding.id], reason=f"snoozed by {actor}", by=actor)
        said = {"until": None if until is None else _time(until)}
        _move(tx, finding, Event.SNOOZED, actor, note, columns={"snoozed_until": until}, said=said)
        when = f"until {_time(until)}, or until it grows" if until else "until it grows"
        return _done(tx, finding, f"{finding.id} is snoozed {when}.")


def reopen(store: Store, asked: str, *, actor: str, note: str | None = None) -> Decision:
    """Take back a dismissal, a snooze or what an undo settled: the finding is open, and so are its records again."""
    with store.begin() as tx:
        finding = lock(tx, name_of(tx, asked))
        if finding.state is State.OPEN:
            return Decision(finding, changed=False, sentence=f"{finding.id} is open already; nothing was changed.")
        _check(finding, Event.UNDONE, "reopened")
        said = {}
        if finding.state in (State.DISMISSED, State.UNDONE):
            said["pairs"] = tx.connection.execute(sa.delete(not_same).where(not_same.c.finding == finding.id)).rowcount
            finding_memory.settle(tx, finding.id, None)
        _move(tx, finding, Event.UNDONE, actor, note, columns={"snoozed_until": None}, said=said)
        return _done(tx, finding, f"{finding.id} is open again.")


def assign(store: Store, asked: str, *, actor: str, to: str | None, note: str | None = None) -> Decision:
    """Who looks after it; None for nobody. Possible in every state but merged."""
    with store.begin() as tx:
        finding = lock(tx, name_of(tx, asked))
        whom = f"assigned to {to}" if to else "assigned to nobody"
        if finding.state is State.MERGED:
            raise WrongState(finding, whom)
        if finding.assigned_to == to:
            return Decision(finding, changed=False, sentence=f"{finding.id} is {whom} already; nothing was changed.")
        _write(tx, finding, {"assigned_to": to} | ({"note": note} if note else {}))
        _tell(tx, finding, "finding.assigned", actor=actor, body={"whom": to, "note": note})
        return _done(tx, finding, f"{finding.id} is {whom}.")


def annotate(store: Store, asked: str, *, actor: str, note: str) -> Decision:
    """A note beside the finding, in any state. The last one is shown; the audit log keeps all."""
    with store.begin() as tx:
        finding = lock(tx, name_of(tx, asked))
        if finding.note == note:
            return Decision(
                finding, changed=False, sentence=f"{finding.id} has that note already; nothing was changed."
            )
        _write(tx, finding, {"note": note})
        _tell(tx, finding, "finding.noted", actor=actor, body={"note": note})
        return _done(tx, finding, f"{finding.id} has the note.")


Void = Callable[[Bundle, str], str | None]
"""Why a plan that was proposed under a policy may not be carried out any more; None where it may."""


def approve(
    store: Store,
    asked: str,
    *,
    actor: str,
    system: str | None = None,
    plan: str | None = None,
    note: str | None = None,
    void: Void = lambda _bundle, _policy: None,
    reserve: Callable[[Transaction, Stored], None] = lambda _tx, _bundle: None,
) -> Decision:
    """The plan of this finding may be carried out, exactly as it stands; see `Decision.ready`.

    `plan` is its hash, or the beginning of it, where the person saw one. `reserve` counts it against the limits, and
    raises where they do not allow it. `system` is who the operating system says gives the name `actor`. Raises
    NothingProposed, PlanChanged, NotYours.
    """
    with store.begin() as tx:
        name = name_of(tx, asked)
        bundle = _plan_taken(tx, name)
        finding = lock(tx, name)
        if bundle is None or bundle.undoes is not None:
            raise NothingProposed(finding)
        _must_be(finding, bundle, plan)
        if bundle.state is not BundleState.AWAITING:
            sentence = f"The plan for {finding.id} is {_of_plan(bundle)} already; nothing was changed."
            return Decision(finding, changed=False, sentence=sentence, ready=bundle.state is BundleState.APPROVED)
        _must_hold(tx, finding, bundle, void)
        given = approvals.given(tx, [bundle.id]).get(bundle.id, ())
        if approvals.person(actor) in map(approvals.person, given):
            raise NotYours(finding, actor)
        reserve(tx, bundle)
        if not approvals.give(tx, bundle, by=actor, plan_hash=bundle.plan_hash, note=note, system=system):
            sentence = f"{actor} approves the plan for {finding.id}; one more person has to."
            return _done(tx, finding, sentence)
        effects.approved(tx, [bundle.id], by=actor)
        progress.move(tx, [Move(finding.id, Event.APPROVED, bundle.id)], by=actor)
        _decided(tx, finding, actor, note)
        done = replace(_done(tx, finding, f"The plan for {finding.id} is approved."), ready=True)
        if given and system is not None and approvals.systems(tx, bundle.id) == {system}:
            remark = (
                f" All approvals of it came from {system}, under different names; a name given there proves nothing."
            )
            done = replace(done, remark=remark)
    points.reach("approve.committed")
    return done


def reject(
    store: Store,
    asked: str,
    *,
    actor: str,
    system: str | None = None,
    plan: str | None = None,
    note: str | None = None,
) -> Decision:
    """The plan of this finding is not carried out, nor proposed again as it is; the finding stays open.

    Where an undo of it stands instead, that is withdrawn, and the finding stays what it is; it can be asked for again.
    Raises NothingProposed, PlanChanged, UndoInHand.
    """
    with store.begin() as tx:
        name = name_of(tx, asked)
        bundle = _plan_taken(tx, name)
        finding = lock(tx, name)
        if bundle is None:
            raise NothingProposed(finding)
        _must_be(finding, bundle, plan)
        if bundle.undoes is not None:
            if not effects.withdraw(tx, [bundle.id], f"Withdrawn by {actor}.", actor):
                raise UndoInHand(finding, bundle)
            _decided(tx, finding, actor, note)
            if note:
                _tell(tx, finding, "finding.noted", actor=actor, body={"note": note})
            sentence = f"The undo of {finding.id} is withdrawn; its records stay as they were cleaned."
            return _done(tx, finding, sentence)
        if bundle.state not in (BundleState.AWAITING, BundleState.APPROVED):
            raise PlanChanged(finding, f"its plan is {_of_plan(bundle)} already")
        approvals.give(tx, bundle, by=actor, plan_hash=bundle.plan_hash, decision="rejected", note=note, system=system)
        effects.void(tx, [finding.id], reason=f"rejected by {actor}", by=actor)
        progress.move(tx, [Move(finding.id, Event.REJECTED, bundle.id)], by=actor)
        _decided(tx, finding, actor, note)
        return _done(tx, finding, f"The plan for {finding.id} is rejected; its records stay as they are.")


def _taken(tx: Transaction, asked: str) -> Finding:
    """The finding, and before it its plan, which whoever carries plans out locks first."""
    name = name_of(tx, asked)
    stored_bundles.standing(tx, name, lock=True)
    return lock(tx, name)


def _plan_taken(tx: Transaction, name: str) -> Stored | None:
    """The plan that stands, kept as it is until this transaction ends: before its finding, as everywhere. Where another
    one took its place while this waited for it, that one."""
    return stored_bundles.standing(tx, name, lock=True) or stored_bundles.standing(tx, name, lock=True)


def _must_be(finding: Finding, bundle: Stored, plan: str | None) -> None:
    if plan is not None and not (len(plan) >= SHORTEST_PLAN and bundle.plan_hash.startswith(plan.lower())):
        raise PlanChanged(finding, f"its plan is {bundle.plan_hash[:SHORTEST_PLAN]}, not `{plan[:16]}`")


def _must_hold(tx: Transaction, finding: Finding, bundle: Stored, void: Void) -> None:
    if bundle.expires_at is not None and bundle.expires_at <= tx.now:
        raise PlanChanged(finding, f"its plan waited for approval until {_time(bundle.expires_at)}")
    if why := void(bundle.bundle, bundle.policy):
        raise PlanChanged(finding, why)


def _of_plan(bundle: Stored) -> str:
    return bundle.state.value.replace("_", " ")


def _decided(tx: Transaction, finding: Finding, actor: str, note: str | None) -> None:
    _write(tx, finding, {"decided_by": actor} | ({"note": note} if note else {}))


def _check(finding: Finding, event: Event, wish: str, seen: int | None = None) -> None:
    if (finding.state, event) not in TRANSITIONS:
        raise WrongState(finding, wish)
    if seen is not None and seen != finding.version:
        raise FindingChanged(finding)


def _again(finding: Finding) -> Decision:
    return Decision(finding, changed=False, sentence=f"{finding.id}: {_standing(finding)}; nothing was changed.")


def _standing(finding: Finding) -> str:
    by = f" by {finding.decided_by}" if finding.decided_by else ""
    since = f"since {_time(finding.state_since)}"
    match finding.state:
        case State.MERGED:
            return f"its records are part of {finding.merged_into} {since}; decide about that one"
        case State.RESOLVED:
            return f"it is resolved {since}, {finding.reason or 'its records no longer match'}"
        case State.SNOOZED:
            end = f"until {_time(finding.snoozed_until)}" if finding.snoozed_until else "until it grows"
            return f"it is snoozed{by} {end} already"
        case State.DISMISSED:
            return f"it was dismissed{by} on {_time(finding.state_since)} already"
    return f"it is {finding.state.value} {since}"


def _time(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")


def _move(
    tx: Transaction,
    finding: Finding,
    event: Event,
    actor: str,
    note: str | None,
    *,
    columns: Mapping[str, Any] | None = None,
    payload: Mapping[str, Any] | None = None,
    said: Mapping[str, Any] | None = None,
) -> None:
    """The transition, as the table of states has it, and its audit entry."""
    state = after(finding.state, event)
    values: dict[str, Any] = {"state": state.value, "state_since": tx.now, "decided_by": actor, "snoozed_until": None}
    values |= columns or {}
    if note:
        values["note"] = note
    if payload:
        stored = tx.connection.execute(sa.select(findings.c.payload).where(findings.c.id == finding.id)).scalar_one()
        values["payload"] = stored | payload
    _write(tx, finding, values)
    body = {"from": finding.state.value, "to": state.value, "records": finding.records, "version": finding.version}
    _tell(tx, finding, event.value, actor=actor, body=body | {"note": note or None} | dict(said or {}))


def _write(tx: Transaction, finding: Finding, values: Mapping[str, Any]) -> None:
    log.touch(tx, facts.FINDING, [finding.id])
    tx.connection.execute(sa.update(findings).where(findings.c.id == finding.id).values(dict(values)))


def _tell(tx: Transaction, finding: Finding, event: str, *, actor: str, body: Mapping[str, Any]) -> None:
    said = {"finding": finding.id, "rule": finding.rule, **body}
    log.append(tx, actor, event, finding.id, {name: value for name, value in said.items() if value is not None})


def _done(tx: Transaction, finding: Finding, sentence: str) -> Decision:
    return Decision(lock(tx, finding.id), changed=True, sentence=sentence)
