"""What stands in the audit log of a finding, in words for people."""

from __future__ import annotations

from collections.abc import Mapping

IN_WORDS: Mapping[str, str] = {
    "finding.opened": "found",
    "finding.grown": "grew",
    "finding.shrunk": "shrank",
    "finding.reopened": "open again",
    "finding.woken": "its snooze is over",
    "finding.resolved": "resolved",
    "finding.merged": "became part of another finding",
    "finding.dismissed": "dismissed",
    "finding.snoozed": "snoozed",
    "finding.decision_undone": "decision taken back",
    "finding.assigned": "assigned",
    "finding.noted": "note",
    "finding.proposed": "waits for approval",
    "finding.approved": "may be cleaned",
    "finding.rejected": "plan rejected",
    "finding.plan_void": "plan void",
    "finding.cleaning": "cleaning begun",
    "finding.cleaned": "cleaned",
    "finding.partly_cleaned": "partly cleaned",
    "finding.stale": "its records changed",
    "finding.failed": "cleaning failed",
    "finding.quarantined": "in quarantine",
    "finding.not_done": "not done, to be tried again",
    "finding.undone": "taken back",
    "finding.not_undone": "undo not done",
    "approval.approved": "approved",
    "approval.rejected": "rejected",
    "rejection.overruled": "approved although it was rejected",
    "limits.exceeded": "approved beyond a limit",
    "bundle.proposed": "proposed",
    "bundle.approved": "plan approved",
    "bundle.skipped": "plan dropped",
    "bundle.to_people": "given to people",
    "operation.claimed": "taken by a worker",
    "operation.sent": "sent",
    "operation.retry_wait": "waits for its next attempt",
    "operation.ambiguous": "in doubt",
    "operation.quarantined": "put in quarantine",
    "operation.succeeded": "carried out",
    "operation.failed": "failed",
    "operation.skipped": "not carried out",
    "operation.compensating": "being taken back",
    "operation.compensated": "was taken back",
    "operation.judged": "decided by a person",
    "operation.due_now": "to be tried at once",
    "operation.id_reused": "another record has an id known from before",
    "operation.released": "given back by its worker",
    "operation.taken_over": "taken over from a worker that ended",
}


def in_words(event: str) -> str:
    """The event for people; one of a later version as well as its name says it."""
    return IN_WORDS.get(event) or event.rpartition(".")[2].replace("_", " ")
