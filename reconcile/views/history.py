"""The audit events of a finding, in words for people."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from notifications.wording.words import listed
from reconcile.audit import facts, log
from reconcile.documents import JsonObject
from reconcile.findings.states import PlanState
from reconcile.store.audit_log import LogEntry


@dataclass(frozen=True)
class EventView:
    """An event of a finding. `note` is a person's, unless it was erased; `system` is their user there.

    `story` is what an event of its plan means for the finding; otherwise it is the event. `columns` are
    those that a choice of values is about.
    """

    seq: int
    at: dt.datetime
    actor: str
    event: str
    note: str | None
    system: str | None
    story: str
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: LogEntry) -> EventView:
        body = entry.body or {}
        columns = body.get("values", body.get("columns", ())) if entry.event.startswith("finding.values_") else ()
        of_entry = (entry.seq, entry.at, entry.actor, entry.event, body.get("note"), body.get("system"))
        return cls(*of_entry, _story(entry), tuple(sorted(columns)))

    @property
    def words(self) -> str:
        return ": ".join([in_words(self.story), *filter(None, [listed(self.columns)])])


def _story(entry: LogEntry) -> str:
    """The finding's event, or that of the plan which an undo moved."""
    body = entry.body or {}
    if entry.event == "plan.proposed" and body.get("undoes"):
        return OF_UNDO
    if entry.event == "plan.proposed" and body.get("policy") == "none":
        return BY_RULE
    undone = next((after for kind, _, _, after in body.get(log.ALSO, ()) if kind == facts.PLAN), None)
    if undone == PlanState.SUCCEEDED.value:  # as before its undo, which was not done
        return NOT_UNDONE if entry.event in _NOT_DONE else entry.event
    story: str = body.get(log.STORY) or (f"operation.{undone}" if undone else entry.event)
    return story


def to_json(view: EventView) -> JsonObject:
    """Return the event as public JSON."""
    optional = {"note": view.note, "system": view.system}
    required = {"seq": view.seq, "at": view.at.isoformat(), "actor": view.actor, "event": view.event}
    return required | {name: text for name, text in optional.items() if text}


BY_RULE = "plan.proposed_by_rule"
"""The story of a plan that its rule allows without asking anybody."""
OF_UNDO = "plan.undo_proposed"
"""The story of the plan by which a person undoes another."""
NOT_UNDONE = "operation.not_compensated"
"""The story of an undo that ended without having changed anything."""
_NOT_DONE = ("operation.failed", "operation.skipped")
IN_WORDS: Mapping[str, str] = {
    "finding.opened": "found",
    "finding.grown": "grew",
    "finding.shrunk": "shrank",
    "finding.reopened": "reopened",
    "finding.woken": "snooze ended",
    "finding.resolved": "resolved",
    "finding.merged": "became part of another finding",
    "finding.dismissed": "dismissed",
    "finding.handled": "handled outside Reconcile",
    "finding.snoozed": "snoozed",
    "finding.decision_undone": "decision undone",
    "finding.assigned": "assigned",
    "finding.noted": "note",
    "finding.keeper_chosen": "keeper chosen",
    "finding.keeper_by_rule": "keeper chosen by the rule again",
    "finding.keeper_left": "chosen keeper left; the rule's keeper counts",
    "finding.keeper_returned": "chosen keeper is in the finding again",
    "finding.values_chosen": "values chosen",
    "finding.values_left": "chosen values left with their record",
    "finding.values_returned": "chosen values are back with their record",
    "finding.keeper_ended": "choice of the keeper ended with the finding",
    "finding.proposed": "awaiting approval",
    "finding.approved": "approved for cleaning",
    "finding.rejected": "plan rejected",
    "finding.handled_again": "left the finding that it was merged into: handled again",
    "finding.dismissed_again": "left the finding that it was merged into: dismissed again",
    "finding.undone_again": "left the finding that it was merged into: undone again",
    "finding.split": "a record was split off",
    "pair.same": "judged the same",
    "pair.not_same": "judged not the same",
    "pair.forgotten": "judgement taken back",
    "finding.plan_void": "plan no longer valid",
    "finding.cleaning": "cleaning started",
    "finding.cleaned": "cleaned",
    "finding.partly_cleaned": "partly cleaned",
    "finding.stale": "records changed",
    "finding.failed": "cleaning failed",
    "finding.quarantined": "quarantined",
    "finding.not_done": "not done, will be retried",
    "finding.undone": "undone",
    "finding.not_undone": "undo failed",
    "approval.approved": "approved",
    "approval.rejected": "rejected",
    "decision.refused": "could not decide: the target did not allow it",
    "rejection.overruled": "approved despite a rejection",
    "limits.exceeded": "approved beyond a limit",
    "plan.proposed": "proposed",
    BY_RULE: "proposed, no approval needed",
    OF_UNDO: "undo requested",
    "plan.approved": "plan approved",
    "plan.skipped": "plan dropped",
    "plan.doubted": "to be looked at before approval",
    "plan.to_people": "left to a person",
    "operation.claimed": "taken by a worker",
    "operation.sent": "sent",
    "operation.attempted": "tried, nothing was sent",
    "operation.retry_wait": "waiting to retry",
    "operation.unknown": "outcome unknown",
    "operation.quarantined": "put in quarantine",
    "operation.succeeded": "executed",
    "operation.failed": "failed",
    "operation.skipped": "skipped",
    "operation.compensating": "undo started",
    "operation.compensated": "undo finished",
    NOT_UNDONE: "undo not executed",
    "operation.judged": "decided by a person",
    "operation.due_now": "retried at once",
    "operation.id_reused": "id reused by another record",
    "operation.released": "released by its worker",
    "personal_data.revealed": "personal data shown",
    "personal_data.searched": "personal data searched",
    "operation.taken_over": "taken over from a dead worker",
}


def in_words(event: str) -> str:
    """Return the event in words; an event of a later version by its name."""
    return IN_WORDS.get(event) or event.rpartition(".")[2].replace("_", " ")
