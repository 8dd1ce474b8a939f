"""What became of plans that were claimed or sent; each function raises ClaimLost where they are another's by now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reconcile.findings.operations import BundleState
from reconcile.journal.effects.moving import RECONCILE, Claimed, locked, move, note
from reconcile.schedule import retry as retries
from reconcile.store import Transaction
from reconcile.store.bundles import sealed
from reconcile.store.columns import json_text


def succeeded(
    tx: Transaction, done: Sequence[tuple[Claimed, Any]], *, beside: Sequence[Sequence[str]] = ()
) -> list[Claimed]:
    """It was done, once. What the rows were in the end goes with each: plain JSON, kept sealed; None: not known.

    `beside`: what the database did with each beside the plan, in sentences for the log.
    """
    plans = [one for one, _ in done]
    said = [{"beside": list(sentences)} if sentences else {} for sentences in beside] or None
    if all(outcome is None for _, outcome in done):
        return move(tx, plans, BundleState.SUCCEEDED, said=said)
    each = [
        {"outcome": None if outcome is None else sealed(tx, "outcome", one.id, json_text(outcome))}
        for one, outcome in done
    ]
    return move(tx, plans, BundleState.SUCCEEDED, each=each, said=said)


def found_undone(tx: Transaction, ids: Collection[str], *, actor: str = RECONCILE) -> list[Claimed]:
    """Move those of these plans that were done to undone: a restored backup did not know of it, but the target does."""
    plans = locked(tx, ids, (BundleState.SUCCEEDED,))
    why = "The database has receipts of its undo, of which a restored backup did not know."
    return move(tx, plans, BundleState.COMPENSATED, reason=why, actor=actor)


def skipped(tx: Transaction, plans: Sequence[tuple[Claimed, str]], *, actor: str = RECONCILE) -> list[Claimed]:
    """Proven not done, for these reasons; the keys are free."""
    return _by_reason(tx, plans, BundleState.SKIPPED, actor)


def failed(tx: Transaction, plans: Sequence[tuple[Claimed, str]], *, actor: str = RECONCILE) -> list[Claimed]:
    """Proven not done, and it is not tried again; the keys are free."""
    return _by_reason(tx, plans, BundleState.FAILED, actor)


def quarantined(tx: Transaction, plans: Sequence[tuple[Claimed, str]], *, actor: str = RECONCILE) -> list[Claimed]:
    """Nobody but a person can say whether it was done; the keys and the holds stay taken until one does."""
    return _by_reason(tx, plans, BundleState.QUARANTINED, actor)


def ambiguous(tx: Transaction, plans: Sequence[Claimed], reason: str) -> list[Claimed]:
    """It may have been done: the target has to be asked. They stay ours."""
    return move(tx, plans, BundleState.AMBIGUOUS, reason=reason)


def released(
    tx: Transaction, plans: Sequence[Claimed], reason: str, *, next_at: dt.datetime | None = None
) -> list[Claimed]:
    """Given back unsent: approved as before or, where it was tried before, waiting as before. It costs no attempt."""
    fresh = [one for one in plans if one.sent_at is None]
    tried = [one for one in plans if one.sent_at is not None]
    values = {"next_at": next_at or tx.now}
    done = move(tx, fresh, BundleState.APPROVED, reason=reason, event="operation.released", values=values)
    done += move(tx, tried, BundleState.RETRY_WAIT, reason=reason, event="operation.released", values=values)
    by_id = {one.id: one for one in done}
    return [by_id[one.id] for one in plans]


@dataclass(frozen=True)
class Retried:
    """`waiting` have their next attempt's time; `given_up` have used up their budget and failed."""

    waiting: list[Claimed]
    given_up: list[Claimed]


def retry(
    tx: Transaction,
    plans: Sequence[Claimed],
    policy: retries.Policy,
    *,
    kind: str,
    reason: str,
    retry_after: dt.timedelta | None = None,
    burn: bool = True,
    at: dt.datetime | None = None,
) -> Retried:
    """Proven not done: to be tried again, when the policy says so, or failed when its budget is used up.

    `kind` is the class of the failure, as the log holds it. Without `burn` it counts for no attempt (the target is
    known to be away). `at`: not before then, whatever the policy says.
    """
    waiting, given_up = [], []
    for one in plans:
        attempts = one.attempts if burn else one.attempts - 1
        give_up_at = one.give_up_at or (one.sent_at or tx.now) + policy.budget
        decision = retries.decide(one.keys[0] if one.keys else one.id, max(attempts - 1, 0), policy, retry_after)
        next_at = max(tx.now + decision.delay, at or tx.now)
        values = {"attempts": attempts, "give_up_at": give_up_at, "next_at": next_at}
        said = {"class": kind, **decision.to_json(), "attempts_left": max(policy.attempts - attempts, 0)}
        if burn and (attempts >= policy.attempts or next_at > give_up_at):
            given_up.append((one, values, said))
        else:
            waiting.append((one, values, said))
    return Retried(
        _with_each(tx, waiting, BundleState.RETRY_WAIT, reason),
        _with_each(tx, given_up, BundleState.FAILED, reason),
    )


def transaction_is(tx: Transaction, plans: Sequence[Claimed], name: str) -> list[Claimed]:
    """Write down what the target calls the transaction that these plans are carried out in, before its COMMIT."""
    return note(tx, plans, {"transaction": name})


Decided = tuple[Claimed, Mapping[str, Any], Mapping[str, Any]]


def _with_each(tx: Transaction, plans: Sequence[Decided], to: BundleState, reason: str) -> list[Claimed]:
    each, said = [values for _, values, _ in plans], [words for _, _, words in plans]
    return move(tx, [one for one, _, _ in plans], to, reason=reason, each=each, said=said)


def _by_reason(tx: Transaction, plans: Sequence[tuple[Claimed, str]], to: BundleState, actor: str) -> list[Claimed]:
    groups: dict[str, list[Claimed]] = {}
    for one, reason in plans:
        groups.setdefault(reason, []).append(one)
    done = {one.id: one for reason, some in groups.items() for one in move(tx, some, to, reason=reason, actor=actor)}
    return [done[one.id] for one, _ in plans]
