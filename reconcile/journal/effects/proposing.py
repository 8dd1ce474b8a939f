"""Plans before anybody has them in hand: proposed, approved, superseded, void."""

from __future__ import annotations

import datetime as dt
import hashlib
from base64 import b32encode
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from reconcile.audit import facts, log
from reconcile.findings.bundle import Bundle
from reconcile.findings.operations import WITHDRAWABLE, BundleState
from reconcile.journal.effects.moving import CHUNK, RECONCILE, Claimed, keys_of, locked, move
from reconcile.journal.effects.moving import note as written
from reconcile.store import Transaction
from reconcile.store import bundles as plans
from reconcile.store.bulk import one_of
from reconcile.store.bundles import stored
from reconcile.store.tables import bundles, effects, findings

STANDING = (BundleState.AWAITING, BundleState.APPROVED)
"""Nothing was begun: another plan may take its place."""
_WAITING = (BundleState.RETRY_WAIT, BundleState.APPROVED)
_ID = 12


class PlanInHand(Exception):
    """A plan of this finding is being carried out, or is in doubt; nothing was proposed."""

    def __init__(self, finding: str, bundle: str, state: BundleState) -> None:
        super().__init__(f"Bundle {bundle} of {finding} is {state.value}; nothing else is planned until that is over.")
        self.finding = finding
        self.bundle = bundle


def propose(
    tx: Transaction,
    bundle: Bundle,
    *,
    run: str | None,
    release: str,
    policy: str,
    by: str = RECONCILE,
    expires: dt.datetime | None = None,
    note: str | None = None,
) -> str:
    """A plan that waits to be approved, as the one its finding has; its id.

    The same plan, but for what may drift, stays as it is, with its approvals; another one that nobody has begun is
    superseded. Raises PlanInHand.
    """
    [name] = propose_many(tx, [bundle], run=run, release=release, policy=policy, by=by, expires=expires, note=note)
    stands = plans.get(tx, name)
    if not stands.is_for(bundle) or stands.state not in STANDING:
        raise PlanInHand(bundle.finding, name, stands.state)
    return name


def propose_many(
    tx: Transaction,
    proposed: Sequence[Bundle],
    *,
    run: str | None,
    release: str,
    policy: str,
    by: str = RECONCILE,
    expires: dt.datetime | None = None,
    note: str | None = None,
) -> list[str]:
    """The same for many plans of different findings in a handful of statements: what stands for each, in their order.

    Where a plan of a finding is in somebody's hand nothing is proposed, and that plan's id is the answer.
    """
    names = sorted({one.finding for one in proposed})
    if len(names) != len(proposed):
        raise ValueError("one finding has one plan at a time")
    standing, numbers = _lock(tx, names)
    answers: list[str] = []
    fresh, superseded = [], []
    fixed = {"run": run, "release": release, "policy": policy, "proposed_by": by, "expires_at": expires}
    fixed["reason"] = note
    for one in proposed:
        name = _id_of(tx, one.finding, numbers.get(one.finding, 0))
        row = _row(tx, name, one, fixed)
        before = [plan for plan in standing.get(one.finding, ()) if bool(plan.undoes) == bool(one.undoes)]
        busy = [plan for plan in standing.get(one.finding, ()) if plan.state not in STANDING]
        same = [plan for plan in before if plan.policy == policy and plan.is_for(one)]
        if busy:
            answers.append(busy[0].id)
        elif same:
            answers.append(same[0].id)
        else:
            superseded += before
            fresh.append((one, row))
            answers.append(name)
    move(tx, superseded, BundleState.SKIPPED, reason="Superseded by a newer plan.", event="bundle.skipped", actor=by)
    log.touch(tx, facts.PLAN, [row["id"] for _, row in fresh])
    plans.insert(tx, [row for _, row in fresh])
    for one, row in fresh:
        _log(tx, one, row, by)
    _log_new_lives(tx, fresh, by)
    return answers


def approved(tx: Transaction, ids: Collection[str], by: str) -> list[Claimed]:
    """Plans that people have said yes to may be carried out now; those that do not wait for it are left out."""
    waiting = locked(tx, ids, (BundleState.AWAITING,))
    values = {"next_at": tx.now}
    return move(tx, waiting, BundleState.APPROVED, event="bundle.approved", actor=by, values=values)


def beyond_limits(tx: Transaction, plan: str, records: int, by: str) -> None:
    """A person lets this plan, which takes so many rows of them, go beyond limits, whenever it is carried out."""
    waiting = locked(tx, [plan], (BundleState.AWAITING,))
    for one in waiting:
        body = {"bundle": one.id, "finding": one.finding, "records": records}
        log.append(tx, by, "limits.exceeded", one.finding, body)
        written(tx, [one], {"summary": {**one.summary, plans.BEYOND_LIMITS: True}})


def to_people(tx: Transaction, ids: Collection[str]) -> list[Claimed]:
    """Plans that asked nobody wait for a person after all."""
    waiting = [one for one in locked(tx, ids, (BundleState.AWAITING,)) if one.policy == "none"]
    for one in waiting:
        body = {"bundle": one.id, "finding": one.finding, "run": one.run, "policy": "required"}
        log.append(tx, RECONCILE, "bundle.to_people", f"bundle:{one.id}", body)
    return written(tx, waiting, {"policy": "required"})


def lock_standing(tx: Transaction, rule: str) -> None:
    """Keep the rule's plans that are not over as they are until this transaction ends: plans come before limits and
    findings in the order of locks, also for whoever carries them out."""
    query = sa.select(bundles.c.id).where(bundles.c.rule == rule, bundles.c.state.in_(_values(plans.LIVE)))
    tx.connection.execute(query.order_by(bundles.c.id).with_for_update()).all()


def lock_findings(tx: Transaction, ids: Collection[str]) -> None:
    """Keep these findings, and their plans that are not over, as they are until this transaction ends."""
    if tx.store.is_shared:
        wanted = sorted(set(ids))
        for at in range(0, len(wanted), CHUNK):
            some = {"the_findings": wanted[at : at + CHUNK]}
            tx.connection.execute(_STANDING.with_for_update(), some).all()
            tx.connection.execute(_FINDINGS, some).all()


def lock_plans(tx: Transaction, ids: Collection[str]) -> None:
    """The same with these plans, in everybody's order, by whoever is about to write what became of several."""
    if tx.store.is_shared and len(ids) > 1:
        query = sa.select(bundles.c.id).where(one_of(bundles.c.id, "the_ids")).order_by(bundles.c.id)
        tx.connection.execute(query.with_for_update(), {"the_ids": sorted(ids)}).all()


def void(tx: Transaction, of_findings: Iterable[str], reason: str, by: str = RECONCILE) -> list[Claimed]:
    """The plans of these findings that nobody has begun are no longer to be carried out; what is to be undone stays."""
    found: list[Claimed] = []
    wanted = sorted(set(of_findings))
    for at in range(0, len(wanted), CHUNK):
        some = (bundles.c.finding.in_(wanted[at : at + CHUNK]), bundles.c.undoes.is_(None))
        query = sa.select(bundles.c.id).where(*some, bundles.c.state.in_(_values(STANDING)))
        found += withdraw(tx, tx.connection.execute(query).scalars().all(), reason, by)
    return found


def withdraw(tx: Transaction, ids: Collection[str], reason: str, by: str = RECONCILE) -> list[Claimed]:
    """Plans that are not to be carried out after all, also those that wait for their next attempt: proven not done.

    What somebody has in hand, or is over, is left out.
    """
    found = locked(tx, ids, WITHDRAWABLE)
    fresh = [one for one in found if one.state in STANDING]
    tried = [one for one in found if one.state not in STANDING]
    done = move(tx, fresh, BundleState.SKIPPED, reason=reason, event="bundle.skipped", actor=by)
    return done + move(tx, tried, BundleState.SKIPPED, reason=reason, actor=by)


def homeless(tx: Transaction, rule: str, source: str | None, reason: str) -> list[Claimed]:
    """The rule's plans that nothing would carry out any more are void: those in another source than this, or, where the
    rule does not clean (None), all of them. What somebody has in hand, is in doubt, or takes something back stays."""
    idle = bundles.c.state.in_(_values(WITHDRAWABLE))
    query = sa.select(bundles.c.id).where(bundles.c.rule == rule, idle, bundles.c.undoes.is_(None))
    if source is not None:
        query = query.where(bundles.c.source != source)
    return withdraw(tx, tx.connection.execute(query).scalars().all(), reason)


def expire(tx: Transaction) -> list[Claimed]:
    """Plans whose approval, given or not, came to its date are void."""
    over = sa.select(bundles.c.id).where(bundles.c.state.in_(_values(STANDING)), bundles.c.expires_at < tx.now)
    return withdraw(tx, tx.connection.execute(over).scalars().all(), "Its time to be approved and carried out is over.")


def try_now(tx: Transaction, ids: Collection[str], by: str) -> list[Claimed]:
    """Plans that wait for an attempt are due now, with a new budget, because a person says so."""
    waiting = locked(tx, ids, _WAITING)
    if waiting:
        tx.connection.execute(_NOW, {"the_ids": [one.id for one in waiting], "now": tx.now})
    for one in waiting:
        body = {"bundle": one.id, "finding": one.finding, "run": one.run, "attempts": one.attempts}
        log.append(tx, by, "operation.due_now", f"bundle:{one.id}", body)
    return [one.but(next_at=tx.now, attempts=0, give_up_at=None) for one in waiting]


def _values(states: Iterable[BundleState]) -> list[str]:
    return [state.value for state in states]


def _lock(tx: Transaction, names: Sequence[str]) -> tuple[dict[str, list[Claimed]], dict[str, int]]:
    """The live plans of these findings, and how many each had before; whoever proposes at the same time waits.

    Plans are locked before findings, as everywhere, and looked at again behind that.
    """
    lock_findings(tx, names)
    live: dict[str, list[Claimed]] = {}
    numbers: dict[str, int] = {}
    for at in range(0, len(names), CHUNK):
        some = {"the_findings": list(names[at : at + CHUNK])}
        mine: dict[str, int] = dict(tx.connection.execute(_NUMBERS, some).all())
        if mine:
            for row in tx.connection.execute(_STANDING, some):
                live.setdefault(row.finding, []).append(Claimed.of(stored(tx, row)))
        numbers |= mine
    return live, numbers


def _id_of(tx: Transaction, finding: str, number: int) -> str:
    """`B-` and twelve characters that name the n-th plan of a finding, in this store and no other."""
    digest = hashlib.sha256(f"reconcile/bundle/1|{tx.store.id}|{finding}|{number}".encode()).digest()
    return f"B-{b32encode(digest).decode()[:_ID]}"


def _row(tx: Transaction, name: str, one: Bundle, fixed: dict[str, Any]) -> dict[str, Any]:
    mine = plans.row_of(tx, name, one) | fixed
    mine |= {
        "state": BundleState.AWAITING.value,
        "summary": {"table": one.table, "effects": sorted({o.effect for o in one.operations})},
    }
    mine |= {"created_at": tx.now, "fence": 0, "lease_until": tx.now, "attempts": 0, "next_at": tx.now}
    return mine


def _log(tx: Transaction, one: Bundle, row: dict[str, Any], by: str) -> None:
    body = {"bundle": row["id"], "finding": one.finding, "run": row["run"], "from": None, "to": row["state"]}
    body |= {"plan_hash": row["plan_hash"], "release": row["release"], "policy": row["policy"], "action": one.action}
    body |= {"records": row["records"], "rows": row["rows"], "money": row["money"], "undoes": one.undoes}
    if row["reason"]:
        body["note"] = row["reason"]
    log.append(tx, by, "bundle.proposed", f"bundle:{row['id']}", body)


def _log_new_lives(tx: Transaction, fresh: Sequence[tuple[Bundle, dict[str, Any]]], by: str) -> None:
    """A name that was done away with once and is there again as another record: which operation that was before."""
    for one, row in fresh:
        if one.undoes is not None or all(operation.generation == 1 for operation in one.operations):
            continue
        now, before = (keys_of(tx.store, one.target, one, lives_ago=ago) for ago in (0, 1))
        done = sa.select(effects.c.key).where(effects.c.key.in_(before), effects.c.state == BundleState.SUCCEEDED.value)
        reused = set(tx.connection.execute(done).scalars())
        for key, old, operation in zip(now, before, one.operations, strict=True):
            if old in reused:
                body = {"bundle": row["id"], "finding": one.finding, "run": row["run"]}
                body |= {"key": key, "key_before": old, "generation": operation.generation}
                log.append(tx, by, "operation.id_reused", f"bundle:{row['id']}", body)


_FINDINGS = (
    sa.select(findings.c.id).where(one_of(findings.c.id, "the_findings")).order_by(findings.c.id).with_for_update()
)
_NUMBERS = (
    sa.select(bundles.c.finding, sa.func.count())
    .where(one_of(bundles.c.finding, "the_findings"))
    .group_by(bundles.c.finding)
)
_STANDING = (
    sa.select(*plans.COLUMNS)
    .where(one_of(bundles.c.finding, "the_findings"), bundles.c.state.in_(_values(plans.LIVE)))
    .order_by(bundles.c.id)
)
_NOW = (
    sa.update(bundles)
    .where(
        one_of(bundles.c.id, "the_ids"),
        bundles.c.state.in_(_values(_WAITING)),
    )
    .values(next_at=sa.bindparam("now", type_=bundles.c.next_at.type), attempts=0, give_up_at=None)
)
