"""Plans as the store keeps them: written once, read back whole, listed in bounded memory."""

from __future__ import annotations

import datetime as dt
import functools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from connectors.errors import Reaction
from reconcile.findings.bundle import Bundle, from_json, hash_of, is_alike, text_of
from reconcile.findings.operations import OVER, BundleState
from reconcile.store import bulk
from reconcile.store.database import Transaction
from reconcile.store.sealing import SealedUnreadable, Seals
from reconcile.store.tables import bundles, finding_members

PAGE = 500
"""Rows read from the database at once."""
LIVE = tuple(state for state in BundleState if state not in OVER and state is not BundleState.COMPENSATING)
"""States of a plan that is still to come, or under way. What is being undone was done: its undo is what is live."""
BEYOND_LIMITS = "beyond_limits"
"""What the summary of a plan says that a person lets go beyond its limits."""
_DUE = (BundleState.APPROVED.value, BundleState.RETRY_WAIT.value)


class BundleError(Exception):
    """A plan cannot be shown or used as asked; nothing was changed. The message is one sentence for people."""

    reaction = Reaction.STOP


class BundleUnknown(BundleError):
    def __init__(self, asked: str) -> None:
        super().__init__(f"No bundle is called `{asked}`; `reconcile quarantine` and `reconcile audit` name them.")


class BundlePurged(BundleError):
    """The rows of the plan are kept for `undo_window` only, or were erased."""

    def __init__(self, bundle: str) -> None:
        super().__init__(
            f"The rows of bundle {bundle} are not kept any more (`undo_window`, or an erasure), so it can neither be "
            "shown nor undone; its audit entries remain."
        )


class BundleDamaged(BundleError):
    """What stands in the store is not what was planned and approved."""

    def __init__(self, bundle: str) -> None:
        super().__init__(
            f"Bundle {bundle} in the state database is not the one its hash names: it was changed outside Reconcile. "
            "Nothing of it is carried out; `reconcile audit verify` tells what else was changed."
        )


@dataclass(frozen=True)
class Stored:
    """A plan's row. `content` and `outcome` are as they stand, perhaps sealed; None: purged, erased, or not yet."""

    id: str
    finding: str
    rule: str
    dataset: str
    source: str
    target: str
    action: str
    run: str | None
    release: str
    plan_hash: str
    undoes: str | None
    state: BundleState
    reason: str | None
    content: str | None = field(repr=False)
    outcome: str | None = field(repr=False)
    summary: Mapping[str, Any]
    records: int
    rows: int
    money: Mapping[str, str]
    reversible: str
    policy: str
    proposed_by: str
    created_at: dt.datetime
    expires_at: dt.datetime | None
    fence: int
    owner: Mapping[str, Any] | None
    lease_until: dt.datetime
    attempts: int
    next_at: dt.datetime
    give_up_at: dt.datetime | None
    transaction: str | None
    sent_at: dt.datetime | None
    ended_at: dt.datetime | None
    seals: Seals = field(repr=False)

    @property
    def is_beyond_limits(self) -> bool:
        return bool(self.summary.get(BEYOND_LIMITS))

    @cached_property
    def bundle(self) -> Bundle:
        """The plan itself.

        Raises BundlePurged, SealedUnreadable, and BundleDamaged where it is not the one that `plan_hash` names.
        """
        if self.content is None:
            raise BundlePurged(self.id)
        text = self.seals.open(self.content, _of("content", self.id))
        if hash_of(text) != self.plan_hash:
            raise BundleDamaged(self.id)
        return from_json(json.loads(text))

    def is_for(self, bundle: Bundle) -> bool:
        """Whether it is this plan, or differs only in what may drift."""
        if self.plan_hash == bundle.plan_hash or not bundle.ignore_drift:
            return self.plan_hash == bundle.plan_hash
        try:
            return is_alike(self.bundle, bundle)
        except (BundleError, SealedUnreadable):
            return False

    def outcome_json(self) -> Any:
        """What `effects.succeeded` was given; None where nothing was, or it is purged. Raises SealedUnreadable."""
        return None if self.outcome is None else json.loads(self.seals.open(self.outcome, _of("outcome", self.id)))


@dataclass(frozen=True)
class Filter:
    """Which plans to list; what is None or empty does not filter."""

    states: tuple[BundleState, ...] = ()
    rules: tuple[str, ...] = ()
    source: str | None = None
    target: str | None = None
    run: str | None = None
    finding: str | None = None
    undoes: str | None = None
    limit: int | None = None


COLUMNS = tuple(bundles.c)
_NAMES = tuple(column.name for column in COLUMNS)


def stored(tx: Transaction, row: sa.Row[Any]) -> Stored:
    """A row of `COLUMNS`."""
    values: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    values["state"] = BundleState(values["state"])
    return Stored(**values, seals=tx.store.seals)


def sealed(tx: Transaction, column: str, bundle: str, text: str) -> str:
    """A text as `content` or `outcome` of that plan holds it."""
    return tx.store.seals.seal(text, _of(column, bundle))


def _of(column: str, bundle: str) -> str:
    return f"bundles.{column}|{bundle}"


def row_of(tx: Transaction, name: str, bundle: Bundle) -> dict[str, Any]:
    """What a plan's own columns hold; who proposes it adds the others."""
    text = text_of(bundle)
    return {
        "id": name,
        "finding": bundle.finding,
        "rule": bundle.rule,
        "dataset": bundle.dataset,
        "source": bundle.source,
        "target": bundle.target,
        "action": bundle.action,
        "plan_hash": hash_of(text),
        "undoes": bundle.undoes,
        "content": sealed(tx, "content", name, text),
        "records": len(bundle.surplus),
        "rows": bundle.rows,
        "money": dict(bundle.money),
        "reversible": bundle.reversible,
    }


def insert(tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> None:
    bulk.insert(tx, bundles, rows)


def get(tx: Transaction, asked: str) -> Stored:
    """The plan with this id; raises BundleUnknown."""
    row = tx.connection.execute(sa.select(*COLUMNS).where(bundles.c.id == asked)).one_or_none()
    if row is None:
        raise BundleUnknown(asked)
    return stored(tx, row)


def of_finding(tx: Transaction, finding: str) -> list[Stored]:
    """All plans a finding ever had, the newest last."""
    query = sa.select(*COLUMNS).where(bundles.c.finding == finding).order_by(bundles.c.created_at, bundles.c.id)
    return [stored(tx, row) for row in tx.connection.execute(query)]


def find(tx: Transaction, wanted: Filter | None = None) -> Iterator[Stored]:
    """Plans, the oldest first, streamed: not more than a page of them is in memory, however many there are."""
    wanted = wanted or Filter()
    query = sa.select(*COLUMNS).order_by(bundles.c.created_at, bundles.c.id).limit(wanted.limit)
    equal = {"source": wanted.source, "target": wanted.target, "run": wanted.run, "finding": wanted.finding}
    equal["undoes"] = wanted.undoes
    conditions = [bundles.c[name] == value for name, value in equal.items() if value is not None]
    if wanted.states:
        conditions.append(bundles.c.state.in_([state.value for state in wanted.states]))
    if wanted.rules:
        conditions.append(bundles.c.rule.in_(wanted.rules))
    found = tx.connection.execute(query.where(*conditions), execution_options={"yield_per": PAGE})
    for row in found:
        yield stored(tx, row)


def counts(tx: Transaction, rule: str | None = None, run: str | None = None) -> dict[BundleState, int]:
    """How many plans are in each state; of a rule, of those that a run proposed."""
    query = sa.select(bundles.c.state, sa.func.count()).group_by(bundles.c.state)
    if rule is not None:
        query = query.where(bundles.c.rule == rule)
    if run is not None:
        query = query.where(bundles.c.run == run)
    return {BundleState(state): number for state, number in tx.connection.execute(query)}


def in_state(tx: Transaction, ids: Collection[str], state: BundleState) -> set[str]:
    """Those of these plans that are in this state."""
    query = sa.select(bundles.c.id).where(bundles.c.id.in_(list(ids)), bundles.c.state == state.value)
    return set(tx.connection.execute(query).scalars())


def findings_of(tx: Transaction, ids: Collection[str]) -> dict[str, str]:
    """The finding of each of these plans."""
    query = sa.select(bundles.c.id, bundles.c.finding).where(bundles.c.id.in_(list(ids)))
    return dict(tx.connection.execute(query).all())


def sharing_with(tx: Transaction, one: Stored) -> list[str]:
    """Other plans that were carried out, before or after this one, on any of the same records."""
    mine = sa.select(finding_members.c.record).where(finding_members.c.finding == one.finding)
    sharing = sa.select(finding_members.c.finding).where(finding_members.c.record.in_(mine))
    done = (BundleState.SUCCEEDED.value, BundleState.COMPENSATING.value)
    query = (
        sa.select(bundles.c.id)
        .where(bundles.c.finding.in_(sharing), bundles.c.id != one.id, bundles.c.state.in_(done))
        .where(bundles.c.dataset == one.dataset, bundles.c.target == one.target, bundles.c.undoes.is_(None))
        .order_by(bundles.c.id)
    )
    return list(tx.connection.execute(query).scalars())


# What is due


def due_ids(
    tx: Transaction,
    source: str,
    limit: int,
    *,
    ids: Collection[str] | None = None,
    run: str | None = None,
    rules: Collection[str] | None = None,
    lock: bool = False,
) -> list[str]:
    """Up to `limit` plans of a source that may be claimed now: those that were tried before, then the longest waiting.

    `lock`: they are the caller's until its transaction ends, and those of others are left out.
    """
    found: list[str] = []
    query = _due(of_run=run is not None, some=ids is not None, of_rules=rules is not None, lock=lock)
    bound: dict[str, Any] = {"the_source": source, "now": tx.now, "the_run": run}
    bound |= {"the_ids": sorted(ids or ()), "the_rules": sorted(rules or ())}
    for state in (BundleState.RETRY_WAIT, BundleState.APPROVED):
        if len(found) < limit:
            more = {"the_state": state.value, "most": limit - len(found)}
            found += tx.connection.execute(query, bound | more).scalars()
    return found


@functools.cache
def _due(*, of_run: bool, some: bool, of_rules: bool, lock: bool) -> sa.Select[Any]:
    query = sa.select(bundles.c.id).where(
        bundles.c.state == sa.bindparam("the_state"),
        bundles.c.source == sa.bindparam("the_source"),
        bundles.c.next_at <= sa.bindparam("now", type_=bundles.c.next_at.type),
    )
    if of_run:
        query = query.where(bundles.c.run == sa.bindparam("the_run"))
    if some:
        query = query.where(bulk.one_of(bundles.c.id, "the_ids"))
    if of_rules:
        query = query.where(bulk.one_of(bundles.c.rule, "the_rules"))
    query = query.order_by(bundles.c.next_at, bundles.c.id).limit(sa.bindparam("most"))
    return query.with_for_update(skip_locked=True) if lock else query


def _is_due(tx: Transaction) -> list[sa.ColumnElement[bool]]:
    return [bundles.c.state.in_(_DUE), bundles.c.next_at <= tx.now]


def due_of(tx: Transaction, source: str) -> list[tuple[str, str, str]]:
    """Rules, datasets and targets that have plans in this source which may be claimed now."""
    which = (bundles.c.rule, bundles.c.dataset, bundles.c.target)
    query = sa.select(*which).where(bundles.c.source == source, *_is_due(tx))
    return list(tx.connection.execute(query.distinct().order_by(bundles.c.rule)))


def tables_in_hand(tx: Transaction, source: str) -> set[str]:
    """The tables of a source that plans are about which may be claimed, or are claimed, sent or in doubt."""
    states = [state.value for state in LIVE if state is not BundleState.AWAITING]
    query = sa.select(bundles.c.summary).where(bundles.c.source == source, bundles.c.state.in_(states)).distinct()
    return {summary["table"] for summary in tx.connection.execute(query).scalars() if "table" in summary}


def sources_due(tx: Transaction) -> list[str]:
    """The sources that have plans which may be claimed now."""
    query = sa.select(bundles.c.source).where(*_is_due(tx)).distinct().order_by(bundles.c.source)
    return list(tx.connection.execute(query).scalars())


def next_due(
    tx: Transaction,
    *,
    ids: Collection[str] | None = None,
    run: str | None = None,
    rules: Collection[str] | None = None,
    states: Sequence[BundleState] = (BundleState.RETRY_WAIT, BundleState.APPROVED),
) -> dt.datetime | None:
    """When the next plan may be claimed, of these or of a run, which may be over; None when none waits."""
    query = sa.select(sa.func.min(bundles.c.next_at, type_=bundles.c.next_at.type))
    query = query.where(bundles.c.state.in_([state.value for state in states]))
    if rules is not None:
        query = query.where(bundles.c.rule.in_(list(rules)))
    if ids is not None:
        query = query.where(bundles.c.id.in_(list(ids)))
    if run is not None:
        query = query.where(bundles.c.run == run)
    found: dt.datetime | None = tx.connection.execute(query).scalar_one()
    return found


def undo_of(tx: Transaction, finding: str) -> Stored | None:
    """The undo of a finding that waits, is under way, or is in doubt."""
    query = sa.select(*COLUMNS).where(bundles.c.finding == finding, bundles.c.undoes.is_not(None))
    query = query.where(bundles.c.state.in_([state.value for state in LIVE])).limit(1)
    row = tx.connection.execute(query.order_by(bundles.c.created_at.desc(), bundles.c.id)).one_or_none()
    return None if row is None else stored(tx, row)


def waiting_plans(tx: Transaction, names: Collection[str]) -> dict[str, str]:
    """The hash of the plan that waits for approval, by finding, of those that have one."""
    query = sa.select(bundles.c.finding, bundles.c.plan_hash).where(
        bundles.c.finding.in_(list(names)), bundles.c.state == BundleState.AWAITING.value
    )
    return dict(tx.connection.execute(query).all())


def standing(tx: Transaction, finding: str, *, lock: bool = False) -> Stored | None:
    """The plan of a finding that is not over, if there is one; of two, the undo. `lock`: nobody else takes it."""
    query = sa.select(*COLUMNS).where(
        bundles.c.finding == finding, bundles.c.state.in_([state.value for state in LIVE])
    )
    query = query.order_by(bundles.c.created_at.desc(), bundles.c.id).limit(1)
    row = tx.connection.execute(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else stored(tx, row)
