"""Stored plans: written once, read back whole, listed in bounded memory."""

from __future__ import annotations

import datetime as dt
import functools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from reconcile.errors import Wrong
from reconcile.findings.bundle import Bundle, from_json, hash_of, is_alike, text_of
from reconcile.findings.states import OVER, BundleState
from reconcile.store import bulk
from reconcile.store.database import Transaction
from reconcile.store.sealing import RowsUnreadable, Seals
from reconcile.store.tables import bundles, finding_members

PAGE = 500
"""Rows read from the database at once."""
LIVE = tuple(state for state in BundleState if state not in OVER and state is not BundleState.COMPENSATING)
"""States of a pending or running plan. A plan being undone has succeeded; its undo is the live plan."""
BEYOND_LIMITS = "beyond_limits"
"""The key in a plan's summary set when a person approves it beyond its limits."""
_DUE = (BundleState.APPROVED.value, BundleState.RETRY_WAIT.value)


class BundleUnknown(Wrong):
    """No plan has that id."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No bundle is called `{name}`; `reconcile quarantine` and `reconcile audit` list them.")


class BundlePurged(RowsUnreadable):
    """The rows of the plan are older than `undo_window`, or were erased."""

    exit_code = Wrong.exit_code
    for_good = True

    def __init__(self, bundle: str) -> None:
        super().__init__(
            f"The rows of bundle {bundle} are no longer stored (`undo_window` passed, or they were erased), so it "
            "cannot be shown or undone; its audit entries remain."
        )


class BundleDamaged(RowsUnreadable):
    """The stored plan is not the plan that was approved."""

    exit_code = Wrong.exit_code
    for_good = True

    def __init__(self, bundle: str) -> None:
        super().__init__(
            f"Bundle {bundle} in the state database does not match its hash: it was changed outside Reconcile. "
            "It is not executed; `reconcile audit verify` reports other changes."
        )


@dataclass(frozen=True)
class Stored:
    """A plan's row. `content` and `outcome` may be sealed; None: purged, erased, or not written yet."""

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
        """The plan.

        Raises a RowsUnreadable: BundlePurged, one of its seal, or BundleDamaged if it does not match `plan_hash`.
        """
        if self.content is None:
            raise BundlePurged(self.id)
        text = self.seals.open(self.content, _of("content", self.id))
        if hash_of(text) != self.plan_hash:
            raise BundleDamaged(self.id)
        return from_json(json.loads(text))

    def is_for(self, bundle: Bundle) -> bool:
        """Return True if it is this plan, or differs only in columns that may drift."""
        if self.plan_hash == bundle.plan_hash or not bundle.ignore_drift:
            return self.plan_hash == bundle.plan_hash
        try:
            return is_alike(self.bundle, bundle)
        except RowsUnreadable:
            return False

    def outcome_json(self) -> Any:
        """Return the outcome passed to `effects.succeeded`; None without one, or if purged. Raises RowsUnreadable."""
        return None if self.outcome is None else json.loads(self.seals.open(self.outcome, _of("outcome", self.id)))


@dataclass(frozen=True)
class Filter:
    """A filter for plans; fields that are None or empty do not filter."""

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
    """Build a plan from a row of `COLUMNS`."""
    values: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    values["state"] = BundleState(values["state"])
    return Stored(**values, seals=tx.store.seals)


def sealed(tx: Transaction, column: str, bundle: str, text: str) -> str:
    """Return a text in the form stored as `content` or `outcome` of that plan."""
    return tx.store.seals.seal(text, _of(column, bundle))


def _of(column: str, bundle: str) -> str:
    return f"bundles.{column}|{bundle}"


def row_of(tx: Transaction, name: str, bundle: Bundle) -> dict[str, Any]:
    """Return the values of a plan's own columns; the caller adds the others."""
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


def get(tx: Transaction, name: str) -> Stored:
    """Return the plan with this id; raises BundleUnknown."""
    row = tx.connection.execute(sa.select(*COLUMNS).where(bundles.c.id == name)).one_or_none()
    if row is None:
        raise BundleUnknown(name)
    return stored(tx, row)


def of_finding(tx: Transaction, finding: str) -> list[Stored]:
    """Return all plans a finding ever had, the newest last."""
    query = sa.select(*COLUMNS).where(bundles.c.finding == finding).order_by(bundles.c.created_at, bundles.c.id)
    return [stored(tx, row) for row in tx.connection.execute(query)]


def find(tx: Transaction, criteria: Filter | None = None) -> Iterator[Stored]:
    """Stream plans, the oldest first, with at most a page of them in memory."""
    criteria = criteria or Filter()
    query = sa.select(*COLUMNS).order_by(bundles.c.created_at, bundles.c.id).limit(criteria.limit)
    equal = {"source": criteria.source, "target": criteria.target, "run": criteria.run, "finding": criteria.finding}
    equal["undoes"] = criteria.undoes
    conditions = [bundles.c[name] == value for name, value in equal.items() if value is not None]
    if criteria.states:
        conditions.append(bundles.c.state.in_([state.value for state in criteria.states]))
    if criteria.rules:
        conditions.append(bundles.c.rule.in_(criteria.rules))
    result = tx.connection.execute(query.where(*conditions), execution_options={"yield_per": PAGE})
    for row in result:
        yield stored(tx, row)


def counts(tx: Transaction, rule: str | None = None, run: str | None = None) -> dict[BundleState, int]:
    """Count the plans in each state, optionally of a rule or of a run that proposed them."""
    query = sa.select(bundles.c.state, sa.func.count()).group_by(bundles.c.state)
    if rule is not None:
        query = query.where(bundles.c.rule == rule)
    if run is not None:
        query = query.where(bundles.c.run == run)
    return {BundleState(state): number for state, number in tx.connection.execute(query)}


def records_removed(tx: Transaction, rule: str) -> int:
    """Return how many records the rule's successful plans may have removed from its dataset."""
    of_rule = (bundles.c.rule == rule, bundles.c.state == BundleState.SUCCEEDED.value)
    removing = (bundles.c.action != "set", bundles.c.undoes.is_(None))
    return int(
        tx.connection.execute(sa.select(sa.func.sum(bundles.c.records)).where(*of_rule, *removing)).scalar() or 0
    )


def oldest_awaiting(tx: Transaction) -> dt.datetime | None:
    """Return when the oldest plan that waits for an approval was created."""
    first = sa.func.min(bundles.c.created_at, type_=bundles.c.created_at.type)
    at: dt.datetime | None = tx.connection.execute(
        sa.select(first).where(bundles.c.state == BundleState.AWAITING.value)
    ).scalar_one()
    return at


def in_state(tx: Transaction, ids: Collection[str], state: BundleState) -> set[str]:
    """Return the ids of these plans that are in this state."""
    query = sa.select(bundles.c.id).where(bundles.c.id.in_(list(ids)), bundles.c.state == state.value)
    return set(tx.connection.execute(query).scalars())


def sharing_with(tx: Transaction, plan: Stored) -> list[str]:
    """Return other plans executed, before or after this one, on any of the same records."""
    records = sa.select(finding_members.c.record).where(finding_members.c.finding == plan.finding)
    sharing = sa.select(finding_members.c.finding).where(finding_members.c.record.in_(records))
    executed = (BundleState.SUCCEEDED.value, BundleState.COMPENSATING.value)
    query = (
        sa.select(bundles.c.id)
        .where(bundles.c.finding.in_(sharing), bundles.c.id != plan.id, bundles.c.state.in_(executed))
        .where(bundles.c.dataset == plan.dataset, bundles.c.target == plan.target, bundles.c.undoes.is_(None))
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
    """Return up to `limit` plans of a source that may be claimed now: retries first, then the longest waiting.

    `lock` locks them until the caller's transaction ends, and skips plans locked by others.
    """
    due: list[str] = []
    query = _due(of_run=run is not None, some=ids is not None, of_rules=rules is not None, lock=lock)
    bound: dict[str, Any] = {"the_source": source, "now": tx.now, "the_run": run}
    bound |= {"the_ids": sorted(ids or ()), "the_rules": sorted(rules or ())}
    for state in (BundleState.RETRY_WAIT, BundleState.APPROVED):
        if len(due) < limit:
            more = {"the_state": state.value, "most": limit - len(due)}
            due += tx.connection.execute(query, bound | more).scalars()
    return due


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
    """Return rules, datasets and targets with plans in this source that may be claimed now."""
    which = (bundles.c.rule, bundles.c.dataset, bundles.c.target)
    query = sa.select(*which).where(bundles.c.source == source, *_is_due(tx))
    return list(tx.connection.execute(query.distinct().order_by(bundles.c.rule)))


def tables_in_hand(tx: Transaction, source: str) -> set[str]:
    """Return the tables of a source with plans that may be claimed, or are claimed, sent or in doubt."""
    states = [state.value for state in LIVE if state is not BundleState.AWAITING]
    query = sa.select(bundles.c.summary).where(bundles.c.source == source, bundles.c.state.in_(states)).distinct()
    return {summary["table"] for summary in tx.connection.execute(query).scalars() if "table" in summary}


def sources_due(tx: Transaction) -> list[str]:
    """Return the sources with plans that may be claimed now."""
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
    """Return when the next of these plans may be claimed, perhaps in the past; None when none waits."""
    query = sa.select(sa.func.min(bundles.c.next_at, type_=bundles.c.next_at.type))
    query = query.where(bundles.c.state.in_([state.value for state in states]))
    if rules is not None:
        query = query.where(bundles.c.rule.in_(list(rules)))
    if ids is not None:
        query = query.where(bundles.c.id.in_(list(ids)))
    if run is not None:
        query = query.where(bundles.c.run == run)
    earliest: dt.datetime | None = tx.connection.execute(query).scalar_one()
    return earliest


def undo_of(tx: Transaction, finding: str) -> Stored | None:
    """Return the undo of a finding that is waiting, running or in doubt."""
    query = sa.select(*COLUMNS).where(bundles.c.finding == finding, bundles.c.undoes.is_not(None))
    query = query.where(bundles.c.state.in_([state.value for state in LIVE])).limit(1)
    row = tx.connection.execute(query.order_by(bundles.c.created_at.desc(), bundles.c.id)).one_or_none()
    return None if row is None else stored(tx, row)


def waiting_plans(tx: Transaction, names: Collection[str]) -> dict[str, str]:
    """Return the hash of the plan that waits for approval, by finding; findings without one are missing."""
    query = sa.select(bundles.c.finding, bundles.c.plan_hash).where(
        bundles.c.finding.in_(list(names)), bundles.c.state == BundleState.AWAITING.value
    )
    return dict(tx.connection.execute(query).all())


def standing(tx: Transaction, finding: str, *, lock: bool = False) -> Stored | None:
    """Return the finding's unfinished plan, if any; of two, the undo. `lock` locks its row."""
    query = sa.select(*COLUMNS).where(
        bundles.c.finding == finding, bundles.c.state.in_([state.value for state in LIVE])
    )
    query = query.order_by(bundles.c.created_at.desc(), bundles.c.id).limit(1)
    row = tx.connection.execute(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else stored(tx, row)
