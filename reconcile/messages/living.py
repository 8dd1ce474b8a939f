"""Living messages: a sent message shows what became of its findings, and who decided.

A message is compared with the current state of its findings. The process that sees a difference claims the message
under a fence, so that one process updates it, and the last update shows the last state. Nothing has to be remembered
for that: a kill leaves a difference, and the next delivery sees it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypedDict

from notifications.base import GroupNotice, Notice, RecordNotice, Updatable
from notifications.errors import ChannelError, DeliveryReaction
from notifications.wording import words
from reconcile.config.settings import Project
from reconcile.coordination.lease import Owner, is_dead
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.journal import approvals
from reconcile.masking import records
from reconcile.masking.personal import Masking
from reconcile.messages.notices import in_words, plan_facts
from reconcile.messages.outbox import log, notice_of
from reconcile.schedule import retry
from reconcile.store import Store, Transaction, plans
from reconcile.store import findings as stored_findings
from reconcile.store import outbox as stored
from reconcile.store.findings import FindingState
from reconcile.store.outbox import LivingMessage

UPDATES = retry.Policy(dt.timedelta(seconds=2), dt.timedelta(minutes=10), 12, dt.timedelta(days=1))
LIVES = dt.timedelta(days=14)
"""How long after its delivery a message is updated."""
CLAIM = dt.timedelta(minutes=2)
_MARGIN = dt.timedelta(minutes=5)
"""A decision's time is that of its transaction's begin; it may be visible so much later."""

_PAST = {
    State.DISMISSED: "not a duplicate",
    State.HANDLED: "handled",
    State.SNOOZED: "snoozed",
    State.APPROVED: "approved",
    State.CLEANED: "cleaned",
    State.RESOLVED: "resolved",
    State.MERGED: "part of another finding",
    State.UNDONE: "cleaning undone",
}
"""The outcome of a finding in words, by its state; in other states it still waits."""


def with_proofs(notice: Notice, key: bytes) -> Notice:
    """Return the notice with a proof for each finding, which buttons carry."""
    return _each_group(notice, lambda group: replace(group, proof=proof(key, notice.id, group)))


def proof(key: bytes, message: str, group: GroupNotice) -> str:
    """Return the proof that this message showed this version of the finding, and this plan."""
    text = json.dumps(["reconcile/button/1", message, group.finding, group.version, (group.plan_hash or "")[:16]])
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:24]


def update_due(store: Store, project: Project, channels: Mapping[str, object]) -> list[str]:
    """Update the messages whose findings changed; return the ids of those that were updated.

    Safe to run in any number of processes. A channel's error never ends it; a StoreError does, and nothing is lost.
    """
    updated = []
    for name in project.channels:
        channel = channels[name]
        if isinstance(channel, Updatable):
            with store.read() as tx:
                candidates = _candidates(tx, name)
            updated += [message for message in candidates if _update(store, project, channel, message)]
    return updated


def anything_stale(tx: Transaction, project: Project) -> bool:
    """Return True if a message may show anything else than its findings."""
    return any(_candidates(tx, name) for name in project.channels)


def _candidates(tx: Transaction, channel: str) -> list[str]:
    return stored.possibly_stale(tx, channel, sent_after=tx.now - LIVES, margin=_MARGIN)


def _update(store: Store, project: Project, channel: Updatable, name: str) -> bool:
    """Update one message if it shows anything else than its findings; False if not, or if another process does it."""
    with store.begin() as tx:
        message = stored.living(tx, name)
        if message is None or not _is_free(tx, message):
            return False
        notice = current(tx, project, notice_of(message.notice), project.channels[message.channel].settings.show)
        shown = digest(notice)
        if shown == message.shown:
            stored.mark_current(tx, name, shown)
            return False
        if not stored.claim_update(tx, message, Owner.this_process(CLAIM).to_json(), tx.now + CLAIM):
            return False
        fence = message.fence + 1
    try:
        channel.update(notice, message.receipt)
    except ChannelError as error:
        _failed(store, message, fence, shown, error)
        return False
    with store.begin() as tx:
        if not stored.mark_updated(tx, name, fence, shown):  # another process showed something newer meanwhile
            stored.distrust(tx, name)
            return False
        log(tx, "reconcile", "message.updated", name, {"channel": message.channel})
    return True


def _is_free(tx: Transaction, message: LivingMessage) -> bool:
    return message.owner is None or is_dead(tx, Owner.from_json(message.owner), message.lease_until)


def _failed(store: Store, message: LivingMessage, fence: int, shown: str, error: ChannelError) -> None:
    """Try again later; a message that cannot be changed any more stays as it is."""
    delay = retry.decide(message.message, message.updates, UPDATES, _asked(error)).delay
    over = error.reaction in (DeliveryReaction.STOP, DeliveryReaction.ASK) or message.updates + 1 >= UPDATES.attempts
    with store.begin() as tx:
        body = {"channel": message.channel, "class": type(error).__name__, "attempts": message.updates + 1}
        if stored.mark_not_updated(tx, message.message, fence, tx.now + delay, shown if over else None):
            log(tx, "reconcile", "message.not_updated" if over else "message.update_retry", message.message, body)


def _asked(error: ChannelError) -> dt.timedelta | None:
    return None if error.retry_after is None else dt.timedelta(seconds=min(error.retry_after, 86_400.0))


def keep_alive(tx: Transaction, notice: Notice) -> None:
    """Record that a message was sent that shows this notice, so that it is updated."""
    findings = {group.finding for group in groups(notice)}
    if findings and not notice.test:
        kept = [each.id for each in stored_findings.standing(tx, sorted(findings))]
        stored.keep_alive(tx, notice.id, digest(notice), notice.created or tx.now, kept)


def digest(notice: Notice) -> str:
    """Return what identifies the state of a notice's findings."""
    states = [
        [group.finding, group.version, group.plan_hash, group.outcome, *filter(None, [group.kept_by, group.approvals])]
        for group in groups(notice)
    ]
    return hashlib.sha256(json.dumps(states).encode()).hexdigest()[:32]


def groups(notice: Notice) -> list[GroupNotice]:
    """Return every finding that the notice describes."""
    of_rules = [group for rule in notice.rules for group in rule.largest]
    return of_rules + [group for cleaning in notice.cleaning for group in cleaning.findings]


def current(tx: Transaction, project: Project, notice: Notice, show: Collection[str] = ()) -> Notice:
    """Return the notice with what became of its findings since, with the keepers that people chose, and with the plans
    that wait now and their approvals. `show` are the personal columns that the channel may show."""
    names = [group.finding for group in groups(notice)]
    standing = {each.id: each for each in stored_findings.standing(tx, names)}
    waiting, given = plans.waiting_plans(tx, names), approvals.of_waiting(tx, names)
    was_chosen = [group.finding for group in groups(notice) if group.kept_by is not None]
    chosen = stored_findings.some(tx, sorted({*was_chosen, *stored_findings.with_choice(tx, names)}))
    kept = {finding.id: _kept(project, finding, show) for finding in chosen}

    def now(group: GroupNotice) -> GroupNotice:
        finding = standing.get(group.finding)
        if finding is None:
            return replace(group, proof=None, outcome="no longer kept", approvals=None)
        plan = waiting.get(group.finding)
        if group.finding in kept:
            group = replace(group, **kept[group.finding])
        outcome = _outcome(finding, group.form, project)
        changed = replace(group, version=finding.version, outcome=outcome, **plan_facts(plan))
        changed = replace(changed, approvals=in_words(given.get(group.finding)))
        if group.proof is None or changed.outcome is not None:
            return replace(changed, proof=None)
        state = State.AWAITING.value if plan else group.state
        changed = replace(changed, state=state)
        return replace(changed, proof=proof(tx.store.key, notice.id, changed))

    return _each_group(notice, now)


class KeptRecords(TypedDict):
    keeper: str
    surplus: tuple[str, ...]
    kept_by: str | None
    display: tuple[RecordNotice, ...]


def _kept(project: Project, finding: Finding, show: Collection[str]) -> KeptRecords:
    """Return the keeper and the surplus as fields of a notice: a button must not approve another plan than it names."""
    hidden = Masking.of(project, finding.dataset, finding.rule, show)
    names = hidden.names(finding.members, finding.datasets)
    return {
        "keeper": next(iter(names), ""),
        "surplus": tuple(names[1:]),
        "kept_by": finding.kept_by,
        "display": records.displayed(project, finding, hidden),
    }


def _outcome(finding: FindingState, form: str, project: Project) -> str | None:
    """Like "not a duplicate, says maria (21 Nov 09:12)"; None if it still waits for a decision."""
    past = _PAST.get(finding.state)
    if finding.state is State.DISMISSED and form != DUPLICATE:
        past = "accepted as it is"
    if past is None:
        return f"assigned to {finding.assigned_to}" if finding.assigned_to else None
    by = f", says {finding.decided_by}" if finding.decided_by and finding.state is State.DISMISSED else ""
    by = f" by {finding.decided_by}" if finding.decided_by and not by and finding.state in _DECIDED else by
    until = ""
    if finding.state is State.SNOOZED and finding.snoozed_until is not None:
        until = f" until {words.minute(finding.snoozed_until, finding.state_since, project.timezone)}"
    note = f": {finding.note}" if finding.note and finding.state is State.HANDLED else ""
    return f"{past}{until}{by} ({words.minute(finding.state_since, finding.state_since, project.timezone)}){note}"


_DECIDED = (State.SNOOZED, State.APPROVED, State.HANDLED)


def _each_group(notice: Notice, change: Callable[[GroupNotice], GroupNotice]) -> Notice:
    def of(listed: Iterable[GroupNotice]) -> tuple[GroupNotice, ...]:
        return tuple(map(change, listed))

    return replace(
        notice,
        rules=tuple(replace(rule, largest=of(rule.largest)) for rule in notice.rules),
        cleaning=tuple(replace(cleaning, findings=of(cleaning.findings)) for cleaning in notice.cleaning),
    )
