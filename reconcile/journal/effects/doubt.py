"""Plans whose worker is gone, and plans of which nobody knows whether they were done."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from connectors.errors import Reaction
from reconcile.audit import log
from reconcile.coordination import lease
from reconcile.findings.operations import BundleState
from reconcile.journal.effects.claiming import WAIT_FOR_KEY
from reconcile.journal.effects.moving import RECONCILE, Claimed, keys_of, locked, move, note
from reconcile.store import Transaction
from reconcile.store.bundles import COLUMNS, BundleError, get, stored
from reconcile.store.sealing import NotSealed, SealBroken, SealedUnreadable, SealKeyMissing, SealUnknown
from reconcile.store.tables import bundles

Verdict = Literal["done", "not_done", "abandon"]

_IN_HAND = (BundleState.CLAIMED, BundleState.SENT, BundleState.AMBIGUOUS)


class NotInQuarantine(Exception):
    """A person answered a question that nobody asks (any more)."""

    reaction = Reaction.STOP

    def __init__(self, bundle: str, state: BundleState) -> None:
        super().__init__(f"Bundle {bundle} is {state.value}, not in quarantine; there is nothing to decide about it.")


class UndoInQuarantine(Exception):
    """Of a plan in quarantine only its undo is in doubt: that is what has to be decided."""

    reaction = Reaction.STOP

    def __init__(self, bundle: str, undo: str) -> None:
        super().__init__(f"What is in doubt is the undo of bundle {bundle}: decide about {undo}.")


@dataclass(frozen=True)
class Left:
    """A plan in the hand of a worker that can no longer act on it by its lease; its process may still be there."""

    id: str
    state: BundleState
    source: str
    target: str
    owner: lease.Owner


def abandoned(tx: Transaction, source: str | None = None) -> list[Left]:
    """The plans that dead owners left in their hands, by id. For looking only: `take_over` looks again."""
    query = sa.select(bundles.c.id, bundles.c.state, bundles.c.source, bundles.c.target, bundles.c.owner)
    query = query.add_columns(bundles.c.lease_until).where(_in_hand(source)).order_by(bundles.c.id)
    found = []
    for row in tx.connection.execute(query):
        owner = lease.Owner.from_json(row.owner)
        if lease.is_dead(tx, owner, row.lease_until):
            found.append(Left(row.id, BundleState(row.state), row.source, row.target, owner))
    return found


def sources_unsettled(tx: Transaction) -> list[str]:
    """The sources with plans in somebody's hand, dead or alive, or in doubt."""
    query = sa.select(bundles.c.source).where(bundles.c.state.in_([state.value for state in _IN_HAND]))
    return list(tx.connection.execute(query.distinct().order_by(bundles.c.source)).scalars())


def doubtful(tx: Transaction, source: str | None = None) -> set[str]:
    """The targets that can be asked now about plans in doubt that nobody has in hand."""
    asked = sa.select(bundles.c.target).where(_may_be_asked(tx), bundles.c.owner.is_(None)).distinct()
    if source is not None:
        asked = asked.where(bundles.c.source == source)
    return set(tx.connection.execute(asked).scalars())


def take_over(tx: Transaction, ids: Collection[str]) -> list[Claimed]:
    """Take these plans from their dead owners: nobody's before it was sent, and in doubt after that.

    Those whose owner lives, or that somebody else took over, are left out.
    """
    dead = [one for one in locked(tx, ids, _IN_HAND) if one.owner and _is_left(tx, one)]
    return _taken(tx, dead, "Its worker is gone.")


def take_all(tx: Transaction, why: str) -> list[Claimed]:
    """The same with every plan that anybody has in hand: whoever that is writes nothing any more."""
    ids = tx.connection.execute(sa.select(bundles.c.id).where(_in_hand(None)).order_by(bundles.c.id)).scalars().all()
    return _taken(tx, locked(tx, ids, _IN_HAND), why)


def _taken(tx: Transaction, dead: Sequence[Claimed], why: str) -> list[Claimed]:
    unsent = [one for one in dead if one.state is BundleState.CLAIMED]
    sent = [one for one in dead if one.state is BundleState.SENT]
    doubtful = [one for one in dead if one.state is BundleState.AMBIGUOUS]
    done = _each_fence(tx, [one for one in unsent if one.sent_at is None], BundleState.APPROVED, why)
    done += _each_fence(tx, [one for one in unsent if one.sent_at is not None], BundleState.RETRY_WAIT, why)
    done += _each_fence(tx, sent, BundleState.AMBIGUOUS, why)
    for one in doubtful:
        done += note(tx, [one], {"fence": one.fence + 1, "owner": None, "next_at": tx.now})
        _log_taken(tx, one)
    return sorted(done, key=lambda one: one.id)


def claim_doubtful(
    tx: Transaction, source: str, limit: int, *, owner: lease.Owner | None = None, ttl: dt.timedelta
) -> list[Claimed]:
    """Plans in doubt that nobody alive has in hand and whose time has come, in ours now; they stay in doubt.

    Those whose seal has no key here wait for it.
    """
    query = sa.select(*COLUMNS).where(_may_be_asked(tx), bundles.c.source == source)
    query = query.order_by(bundles.c.next_at, bundles.c.id)
    mine = (owner or lease.Owner.this_process(ttl)).to_json()
    taken: list[Claimed] = []
    for row in tx.connection.execute(query.with_for_update(skip_locked=True)):
        one = Claimed.of(stored(tx, row))
        if len(taken) < limit and (one.owner is None or _is_left(tx, one)):
            try:
                keys = keys_of(tx.store, one.target, one.bundle)
            except SealedUnreadable as error:
                later = {"owner": None, "next_at": tx.now + WAIT_FOR_KEY, "reason": str(error)}
                note(tx, [one], later | {"fence": one.fence + 1})
                continue
            values = {"fence": one.fence + 1, "owner": mine, "lease_until": tx.now + ttl}
            [one] = note(tx, [one], values)
            _log_taken(tx, one)
            taken.append(one.but(keys=keys))
    return taken


def set_damaged_aside(tx: Transaction, source: str) -> list[tuple[Claimed, str]]:
    """Plans in doubt that cannot be read any more go into quarantine, each with why: nobody can ask about them."""
    query = sa.select(*COLUMNS).where(_may_be_asked(tx), bundles.c.source == source).order_by(bundles.c.id)
    damaged: list[tuple[Claimed, str]] = []
    for row in tx.connection.execute(query.with_for_update(skip_locked=True)):
        one = Claimed.of(stored(tx, row))
        try:
            _ = one.bundle
        except (NotSealed, SealKeyMissing, SealUnknown):
            continue  # it opens again once its key is there, or it is sealed
        except (BundleError, SealBroken) as error:
            if one.owner is None or _is_left(tx, one):
                damaged += [(done, str(error)) for done in move(tx, [one], BundleState.QUARANTINED, reason=str(error))]
    return damaged


def put_off(tx: Transaction, plans: Sequence[Claimed], next_at: dt.datetime) -> list[Claimed]:
    """The target could not be asked: they stay in doubt, in nobody's hand, and are asked about again then."""
    return note(tx, plans, {"owner": None, "next_at": next_at})


def ask_later(tx: Transaction, source: str, next_at: dt.datetime) -> None:
    """Nothing of this source can be asked now: what is in doubt and in nobody's hand is looked at again then."""
    due = sa.and_(_may_be_asked(tx), bundles.c.owner.is_(None))
    tx.connection.execute(sa.update(bundles).where(bundles.c.source == source, due).values(next_at=next_at))


def judged(tx: Transaction, asked: str, verdict: Verdict, *, by: str, reason: str) -> Claimed:
    """A person's word on a plan in quarantine, the only way out of it.

    `done`: it was. `not_done`: it was not, and is tried again now with a new budget. `abandon`: it is left as it is;
    nobody knows, so its keys are never used again. Raises BundleUnknown, NotInQuarantine, UndoInQuarantine.
    """
    found = locked(tx, [asked], (BundleState.QUARANTINED,))
    if not found:
        raise NotInQuarantine(asked, get(tx, asked).state)
    [one] = found
    undo = sa.select(bundles.c.id).where(bundles.c.undoes == asked, bundles.c.state == BundleState.QUARANTINED.value)
    if (doubted := tx.connection.execute(undo).scalars().first()) is not None:
        raise UndoInQuarantine(asked, doubted)
    said, event = [{"verdict": verdict}], "operation.judged"
    fresh = {"fence": one.fence + 1}
    if verdict == "done":
        [after] = move(tx, [one], BundleState.SUCCEEDED, reason=reason, event=event, actor=by, values=fresh, said=said)
    elif verdict == "not_done":
        fresh |= {"attempts": 0, "next_at": tx.now, "give_up_at": None}  # type: ignore[dict-item]
        [after] = move(tx, [one], BundleState.RETRY_WAIT, reason=reason, event=event, actor=by, values=fresh, said=said)
    else:
        [after] = move(
            tx, [one], BundleState.FAILED, reason=reason, event=event, actor=by, values=fresh, said=said, proven=False
        )
    return after


def _may_be_asked(tx: Transaction) -> sa.ColumnElement[bool]:
    return sa.and_(bundles.c.state == BundleState.AMBIGUOUS.value, bundles.c.next_at <= tx.now)


def _in_hand(source: str | None) -> sa.ColumnElement[bool]:
    states = bundles.c.state.in_([state.value for state in _IN_HAND])
    mine = sa.true() if source is None else bundles.c.source == source
    return sa.and_(states, bundles.c.owner.is_not(None), mine)


def _is_left(tx: Transaction, one: Claimed) -> bool:
    return lease.is_dead(tx, lease.Owner.from_json(one.owner), one.lease_until)


def _each_fence(tx: Transaction, plans: Sequence[Claimed], to: BundleState, why: str) -> list[Claimed]:
    """In the new state with another fence, so that who had them before writes nothing any more."""
    done = []
    for one in plans:
        values = {"fence": one.fence + 1, "owner": None, "next_at": tx.now}
        done += move(tx, [one], to, reason=why, event="operation.taken_over", values=values)
    return done


def _log_taken(tx: Transaction, one: Claimed) -> None:
    body = {"bundle": one.id, "finding": one.finding, "run": one.run, "fence": one.fence}
    log.append(tx, RECONCILE, "operation.taken_over", f"bundle:{one.id}", body)
