"""Intent: keys are bound and `sent` is written, durable once the transaction is kept and before anything leaves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from reconcile.audit import facts, log
from reconcile.findings.operations import BundleState
from reconcile.journal import keys
from reconcile.journal.effects.moving import CHUNK, Claimed, move
from reconcile.journal.effects.outcomes import released
from reconcile.store import Transaction, bulk
from reconcile.store.tables import effects

WAIT_FOR_OTHERS = dt.timedelta(seconds=5)
_PROVEN_NOT_DONE = (BundleState.SKIPPED, BundleState.FAILED)
_DONE = (BundleState.SUCCEEDED, BundleState.COMPENSATING, BundleState.COMPENSATED)


@dataclass(frozen=True)
class Sent:
    """What became of plans that were to be sent, each in its new state; the last three with a sentence why.

    `settled`: the effect of one of its keys was made already: skipped, to be planned anew for what is left. `busy`:
    another plan has one of its keys in hand: approved again, to be claimed later. `conflicts`: one of its keys stands
    for another payload: quarantined.
    """

    sent: list[Claimed] = field(default_factory=list)
    settled: list[tuple[Claimed, str]] = field(default_factory=list)
    busy: list[tuple[Claimed, str]] = field(default_factory=list)
    conflicts: list[tuple[Claimed, str]] = field(default_factory=list)


def send(tx: Transaction, claimed: Sequence[Claimed]) -> Sent:
    """Bind the keys of these plans and mark them sent. To be called after `hold`, as the last thing before COMMIT."""
    rows = sorted((row for one in claimed for row in _rows(tx, one)), key=lambda row: row["key"])
    log.touch(tx, facts.PLAN, [one.id for one in claimed])
    bound = _insert(tx, rows)
    answers: dict[str, tuple[str, str]] = {}
    if bound < len(rows):
        answers = _bind_standing(tx, rows)
    ready = [one for one in claimed if one.id not in answers]
    made = Sent(_sent(tx, ready))
    for one in claimed:
        if one.id in answers:
            _set_aside(tx, made, one, *answers[one.id])
    return made


def _rows(tx: Transaction, one: Claimed) -> list[dict[str, Any]]:
    table = one.bundle.table
    return [
        {
            "key": key,
            "bundle": one.id,
            "target": one.target,
            "effect": operation.effect,
            "record": keys.subject_of(tx.store.key, keys.name_of(table, operation.record)),
            "generation": operation.generation,
            "fingerprint": operation.fingerprint,
            "state": BundleState.SENT.value,
            "doubtful": False,
            "sent_at": tx.now,
        }
        for key, operation in zip(one.keys, one.bundle.operations, strict=True)
    ]


def _insert(tx: Transaction, rows: list[dict[str, Any]]) -> int:
    return bulk.insert(tx, effects, rows, ignore=True)


def _sent(tx: Transaction, ready: Sequence[Claimed]) -> list[Claimed]:
    """First attempts and later ones: of the latter, when they were first sent stays."""
    first = [one for one in ready if one.sent_at is None]
    again = [one for one in ready if one.sent_at is not None]
    done = {one.id: one for one in _mark(tx, first, {"sent_at": tx.now}) + _mark(tx, again, {})}
    return [done[one.id] for one in ready]


def _mark(tx: Transaction, some: Sequence[Claimed], values: dict[str, Any]) -> list[Claimed]:
    attempts: dict[int, list[Claimed]] = {}
    for one in some:
        attempts.setdefault(one.attempts + 1, []).append(one)
    marked: list[Claimed] = []
    for number, these in attempts.items():
        said = [{"keys": list(one.keys), "attempt": number} for one in these]
        fixed = {"attempts": number, "transaction": None, **values}
        marked += move(tx, these, BundleState.SENT, values=fixed, said=said)
    return marked


# Keys that stand already


def _bind_standing(tx: Transaction, rows: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """Bind what is proven not done; for the plans that cannot be sent, by id, which of three it is and why."""
    found = _standing(tx, [row["key"] for row in rows])
    answers: dict[str, tuple[str, str]] = {}
    rebound: list[dict[str, Any]] = []
    for row in rows:
        answer = _answer(found[row["key"]], row)
        if answer is not None and (row["bundle"] not in answers or answer[0] == "conflicts"):
            answers[row["bundle"]] = answer
    for row in rows:
        there = found[row["key"]]
        if row["bundle"] in answers or (there.bundle == row["bundle"] and there.state == BundleState.SENT.value):
            continue
        log.touch(tx, facts.PLAN, [there.bundle])
        rebound.append({f"the_{name}": row[name] for name in ("key", "bundle", "fingerprint", "sent_at")})
    if rebound:
        tx.connection.execute(_REBIND, rebound if len(rebound) > 1 else rebound[0])
    for name in answers:
        tx.connection.execute(_UNBIND, {"the_bundle": name})
    return answers


def _standing(tx: Transaction, wanted: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for at in range(0, len(wanted), CHUNK):
        for row in tx.connection.execute(_STANDING, {"the_keys": wanted[at : at + CHUNK]}):
            found[row.key] = row
    return found


def _answer(there: Any, row: dict[str, Any]) -> tuple[str, str] | None:
    state = BundleState(there.state)
    if there.doubtful:
        return "conflicts", f"One of its operations was given up by a person, in doubt whether {there.bundle} did it."
    if there.bundle == row["bundle"] or state in _PROVEN_NOT_DONE:
        return None
    if there.fingerprint != row["fingerprint"] and state is not BundleState.RETRY_WAIT:
        return "conflicts", f"One of its operations was sent with another content by {there.bundle}; nothing was sent."
    if state in _DONE:
        return "settled", f"One of its operations was done by {there.bundle} already; it is planned anew without it."
    return "busy", f"{there.bundle} has one of its operations in hand; it waits until that one is over."


def _set_aside(tx: Transaction, made: Sent, one: Claimed, answer: str, sentence: str) -> None:
    if answer == "busy":
        [after] = released(tx, [one], sentence, next_at=tx.now + WAIT_FOR_OTHERS)
        made.busy.append((after, sentence))
    elif answer == "settled":
        [after] = move(tx, [one], BundleState.SKIPPED, reason=sentence)
        made.settled.append((after, sentence))
    else:
        [after] = move(tx, [one], BundleState.QUARANTINED, reason=sentence)
        made.conflicts.append((after, sentence))


_STANDING = (
    sa.select(effects.c.key, effects.c.bundle, effects.c.state, effects.c.fingerprint, effects.c.doubtful)
    .where(bulk.one_of(effects.c.key, "the_keys"))
    .order_by(effects.c.key)
    .with_for_update()
)
_REBIND = (
    sa.update(effects)
    .where(effects.c.key == sa.bindparam("the_key"))
    .values(
        bundle=sa.bindparam("the_bundle"),
        fingerprint=sa.bindparam("the_fingerprint"),
        sent_at=sa.bindparam("the_sent_at", type_=effects.c.sent_at.type),
        state=BundleState.SENT.value,
        ended_at=None,
    )
)
_UNBIND = sa.delete(effects).where(
    effects.c.bundle == sa.bindparam("the_bundle"), effects.c.state == BundleState.SENT.value
)
"""What was bound a moment ago for a plan that is not sent after all."""
