"""The journal of effects: what is planned, claimed, sent, and what became of it, each step durable and fenced.

All functions work in the caller's transaction. Order of locks: job, plans, limits, holds, effects, findings, outbox,
audit.
"""

from reconcile.effects.claiming import Held, claim, claim_due, hold, renew
from reconcile.effects.doubt import (
    Left,
    NotInQuarantine,
    UndoInQuarantine,
    Verdict,
    abandoned,
    claim_doubtful,
    judged,
    put_off,
    set_damaged_aside,
    sources_unsettled,
    take_over,
)
from reconcile.effects.lives import generations, known, restored
from reconcile.effects.moving import Claimed, ClaimLost, keys_of, receipts_of
from reconcile.effects.outcomes import (
    Retried,
    ambiguous,
    failed,
    quarantined,
    released,
    retry,
    skipped,
    succeeded,
    transaction_is,
)
from reconcile.effects.proposing import (
    PlanInHand,
    approved,
    expire,
    lock_standing,
    propose,
    propose_many,
    to_people,
    try_now,
    void,
    withdraw,
)
from reconcile.effects.sending import Sent, send

__all__ = [
    "ClaimLost",
    "Claimed",
    "Held",
    "Left",
    "NotInQuarantine",
    "PlanInHand",
    "Retried",
    "Sent",
    "UndoInQuarantine",
    "Verdict",
    "abandoned",
    "ambiguous",
    "approved",
    "claim",
    "claim_doubtful",
    "claim_due",
    "expire",
    "failed",
    "generations",
    "hold",
    "judged",
    "keys_of",
    "known",
    "lock_standing",
    "propose",
    "propose_many",
    "put_off",
    "quarantined",
    "receipts_of",
    "released",
    "renew",
    "restored",
    "retry",
    "send",
    "set_damaged_aside",
    "skipped",
    "sources_unsettled",
    "succeeded",
    "take_over",
    "to_people",
    "transaction_is",
    "try_now",
    "void",
    "withdraw",
]
