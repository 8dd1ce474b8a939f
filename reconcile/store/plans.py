"""Stored plans: written once, read back whole, listed in bounded memory."""

from __future__ import annotations

import datetime as dt
import functools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from reconcile.errors import Wrong
from reconcile.findings.plan import Plan, from_json, hash_of, is_alike, is_alike_renamed, text_of
from reconcile.findings.states import HOLDING, OVER, PlanState
from reconcile.store import bulk
from reconcile.store.database import Transaction
from reconcile.store.sealing import RowsUnreadable, Seals
from reconcile.store.tables import approvals, finding_members, plans

PAGE = 500
"""Rows read from the database at once."""
LIVE = tuple(state for state in PlanState if state not in OVER and state is not PlanState.COMPENSATING)
"""States of a pending or running plan. A plan being undone has succeeded; its undo is the live plan."""
STANDING = (PlanState.AWAITING, PlanState.APPROVED)
"""States of a plan that was not begun: another plan may replace it."""
BEYOND_LIMITS = "beyond_limits"
"""The key in a plan's summary set when a person approves it beyond its limits."""
APPROVED_WITHIN = "approved_within"
"""The key in a plan's summary of the limits that were configured when it got its last approval."""
FORBIDDEN = "forbidden"
"""The key in a plan's summary set when a constraint of the target forbade the plan."""
DOUBT = "doubt"
"""The key in a plan's summary of a sentence on what people should look at before they approve it."""
RENAMED = "renamed"
"""The key in a plan's summary of its records that have other names now: pairs of the name in the plan and that one."""
_EXECUTED = (PlanState.SUCCEEDED.value, PlanState.COMPENSATING.value, PlanState.COMPENSATED.value)
_DUE = (PlanState.APPROVED.value, PlanState.RETRY_WAIT.value)


class PlanUnknown(Wrong):
    """No plan has that id."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no plan `{name}`; `reconcile quarantine` and `reconcile audit` list them.")


class PlanPurged(RowsUnreadable):
    """The rows of the plan are older than `undo_window`, or were erased."""

    exit_code = Wrong.exit_code
    for_good = True

    def __init__(self, plan: str) -> None:
        super().__init__(
            f"The rows of plan {plan} are no longer stored (`undo_window` passed, or they were erased), so it "
            "cannot be shown or undone; its audit entries remain."
        )


class PlanDamaged(RowsUnreadable):
    """The stored plan is not the plan that was approved."""

    exit_code = Wrong.exit_code
    for_good = True

    def __init__(self, plan: str) -> None:
        super().__init__(
            f"Plan {plan} in the state database does not match its hash: it was changed outside Reconcile. "
            "It is not executed; `reconcile audit verify` reports other changes."
        )


@dataclass(frozen=True)
class StoredPlan:
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
    state: PlanState
    reason: str | None
    sealed_content: str | None = field(repr=False)
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

    @property
    def was_forbidden(self) -> bool:
        """True if a constraint of the target forbade the plan."""
        return bool(self.summary.get(FORBIDDEN))

    @property
    def approved_within(self) -> Mapping[str, Any] | None:
        """The limits that were configured when the plan was approved; None if no person approved it."""
        return self.summary.get(APPROVED_WITHIN)

    @property
    def doubt(self) -> str | None:
        """A doubt that people should look at before they approve the plan, while it waits for them."""
        return self.summary.get(DOUBT) if self.state is PlanState.AWAITING else None

    def is_expired(self, now: dt.datetime) -> bool:
        """Return True if it waited for too long for an approval, or for its execution after one."""
        return self.state in STANDING and self.expires_at is not None and self.expires_at <= now

    @cached_property
    def content(self) -> Plan:
        """The plan.

        Raises a RowsUnreadable: PlanPurged, one of its seal, or PlanDamaged if it does not match `plan_hash`.
        """
        if self.sealed_content is None:
            raise PlanPurged(self.id)
        text = self.seals.open(self.sealed_content, _of("content", self.id))
        if hash_of(text) != self.plan_hash:
            raise PlanDamaged(self.id)
        return from_json(json.loads(text))

    @property
    def renamed(self) -> Mapping[str, str]:
        """The present names of its records, by their names in `content`; those that were never renamed are left out."""
        return dict(self.summary.get(RENAMED, ()))

    @property
    def current(self) -> Plan:
        """The plan with the name that its rule has now. Raises as `content`."""
        return replace(self.content, rule=self.rule)

    def is_for(self, plan: Plan) -> bool:
        """Return True if it is this plan, or differs only in columns that may drift, in the rule's former name, or in
        the names of records that have other ids now."""
        if self.plan_hash in plan.hashes:
            return True
        try:
            if self.renamed:
                return is_alike_renamed(self.content, plan, self.renamed)
            planned_as = self.content.rule
            if planned_as == plan.rule and not plan.ignore_drift:
                return False
            return is_alike(self.content, replace(plan, rule=planned_as))
        except RowsUnreadable:
            return False

    def outcome_json(self) -> Any:
        """Return the outcome passed to `effects.succeeded`; None without one, or if purged. Raises RowsUnreadable."""
        return None if self.outcome is None else json.loads(self.seals.open(self.outcome, _of("outcome", self.id)))


@dataclass(frozen=True)
class PlanFilter:
    """A filter for plans; fields that are None or empty do not filter. `or_tried` adds to the `states` all plans that
    wait for another attempt."""

    states: tuple[PlanState, ...] = ()
    or_tried: bool = False
    rules: tuple[str, ...] = ()
    source: str | None = None
    target: str | None = None
    run: str | None = None
    finding: str | None = None
    undoes: str | None = None
    limit: int | None = None


COLUMNS = tuple(plans.c)
_NAMES = tuple(column.name for column in COLUMNS)


def stored(tx: Transaction, row: sa.Row[Any]) -> StoredPlan:
    """Build a plan from a row of `COLUMNS`."""
    values: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    values["sealed_content"] = values.pop("content")
    values["state"] = PlanState(values["state"])
    return StoredPlan(**values, seals=tx.store.seals)


def sealed(tx: Transaction, column: str, plan: str, text: str) -> str:
    """Return a text in the form stored as `content` or `outcome` of that plan."""
    return tx.store.seals.seal(text, _of(column, plan))


def _of(column: str, plan: str) -> str:
    return f"plans.{column}|{plan}"


def row_of(tx: Transaction, name: str, plan: Plan) -> dict[str, Any]:
    """Return the values of a plan's own columns; the caller adds the others."""
    text = text_of(plan)
    return {
        "id": name,
        "finding": plan.finding,
        "rule": plan.rule,
        "dataset": plan.dataset,
        "source": plan.source,
        "target": plan.target,
        "action": plan.action,
        "plan_hash": hash_of(text),
        "undoes": plan.undoes,
        "content": sealed(tx, "content", name, text),
        "records": len(plan.surplus),
        "rows": plan.rows,
        "money": dict(plan.money),
        "reversible": plan.reversible,
    }


def insert(tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> None:
    bulk.insert(tx, plans, rows)


def get(tx: Transaction, name: str) -> StoredPlan:
    """Return the plan with this id; raises PlanUnknown."""
    row = tx.connection.execute(sa.select(*COLUMNS).where(plans.c.id == name)).one_or_none()
    if row is None:
        raise PlanUnknown(name)
    return stored(tx, row)


def some(tx: Transaction, ids: Sequence[str]) -> list[StoredPlan]:
    """Return these plans, in this order, without missing ones."""
    query = sa.select(*COLUMNS).where(bulk.one_of(plans.c.id, "ids"))
    by_id = {row.id: stored(tx, row) for row in tx.connection.execute(query, {"ids": list(ids)})} if ids else {}
    return [by_id[name] for name in ids if name in by_id]


def renamed(tx: Transaction, ids: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """Return the part of their summaries that tells the present names of records, for plans that have it."""
    query = sa.select(plans.c.id, plans.c.summary).where(bulk.one_of(plans.c.id, "ids"))
    rows = tx.connection.execute(query, {"ids": list(ids)}) if ids else ()
    return {plan: {RENAMED: summary[RENAMED]} for plan, summary in rows if RENAMED in summary}


def of_finding(tx: Transaction, finding: str) -> list[StoredPlan]:
    """Return all plans a finding ever had, the newest last."""
    query = sa.select(*COLUMNS).where(plans.c.finding == finding).order_by(plans.c.created_at, plans.c.id)
    return [stored(tx, row) for row in tx.connection.execute(query)]


def find(tx: Transaction, criteria: PlanFilter | None = None) -> Iterator[StoredPlan]:
    """Stream plans, the oldest first, with at most a page of them in memory."""
    criteria = criteria or PlanFilter()
    query = sa.select(*COLUMNS).order_by(plans.c.created_at, plans.c.id).limit(criteria.limit)
    equal = {"source": criteria.source, "target": criteria.target, "run": criteria.run, "finding": criteria.finding}
    equal["undoes"] = criteria.undoes
    conditions = [plans.c[name] == value for name, value in equal.items() if value is not None]
    if criteria.states:
        in_states = plans.c.state.in_([state.value for state in criteria.states])
        conditions.append(sa.or_(in_states, _TRIED) if criteria.or_tried else in_states)
    if criteria.rules:
        conditions.append(plans.c.rule.in_(criteria.rules))
    result = tx.connection.execute(query.where(*conditions), execution_options={"yield_per": PAGE})
    for row in result:
        yield stored(tx, row)


def counts(tx: Transaction, rule: str | None = None, run: str | None = None) -> dict[PlanState, int]:
    """Count the plans in each state; of a rule without undos; optionally of a run that proposed them."""
    query = sa.select(plans.c.state, sa.func.count()).group_by(plans.c.state)
    if rule is not None:
        query = query.where(plans.c.rule == rule, plans.c.undoes.is_(None))
    if run is not None:
        query = query.where(plans.c.run == run)
    return {PlanState(state): number for state, number in tx.connection.execute(query)}


def expired(tx: Transaction) -> dict[PlanState, int]:
    """Count the plans past their expiry date that were not begun, by state."""
    over = (plans.c.state.in_([state.value for state in STANDING]), plans.c.expires_at <= tx.now)
    query = sa.select(plans.c.state, sa.func.count()).where(*over).group_by(plans.c.state)
    return {PlanState(state): number for state, number in tx.connection.execute(query)}


def records_removed(tx: Transaction, rule: str, states: Collection[PlanState] = (PlanState.SUCCEEDED,)) -> int:
    """Return how many records the rule's plans in these states may have removed from its dataset."""
    of_rule = (plans.c.rule == rule, plans.c.state.in_([state.value for state in states]))
    removing = (plans.c.action != "set", plans.c.undoes.is_(None))
    return int(tx.connection.execute(sa.select(sa.func.sum(plans.c.records)).where(*of_rule, *removing)).scalar() or 0)


def records_cleaned(tx: Transaction, rule: str, *, since: dt.datetime | None = None) -> int:
    """Return how many records the rule's plans changed or removed, or may have, without those that were undone.

    `since`: only those of plans that ended at this time or later, or have not ended.
    """
    states = [state.value for state in (*HOLDING, PlanState.SUCCEEDED)]
    query = sa.select(sa.func.sum(plans.c.records)).where(plans.c.rule == rule, plans.c.state.in_(states))
    if since is not None:
        query = query.where(sa.or_(plans.c.ended_at.is_(None), plans.c.ended_at >= since))
    return int(tx.connection.execute(query.where(plans.c.undoes.is_(None))).scalar() or 0)


def oldest_awaiting(tx: Transaction) -> dt.datetime | None:
    """Return when the oldest plan that waits for an approval was created."""
    first = sa.func.min(plans.c.created_at, type_=plans.c.created_at.type)
    at: dt.datetime | None = tx.connection.execute(
        sa.select(first).where(plans.c.state == PlanState.AWAITING.value)
    ).scalar_one()
    return at


def in_state(tx: Transaction, ids: Collection[str], state: PlanState) -> set[str]:
    """Return the ids of these plans that are in this state."""
    query = sa.select(plans.c.id).where(plans.c.id.in_(list(ids)), plans.c.state == state.value)
    return set(tx.connection.execute(query).scalars())


def sharing_with(tx: Transaction, plan: StoredPlan) -> list[str]:
    """Return other plans executed, before or after this one, on any of the same records."""
    records = sa.select(finding_members.c.record).where(finding_members.c.finding == plan.finding)
    sharing = sa.select(finding_members.c.finding).where(finding_members.c.record.in_(records))
    executed = (PlanState.SUCCEEDED.value, PlanState.COMPENSATING.value)
    query = (
        sa.select(plans.c.id)
        .where(plans.c.finding.in_(sharing), plans.c.id != plan.id, plans.c.state.in_(executed))
        .where(plans.c.dataset == plan.dataset, plans.c.target == plan.target, plans.c.undoes.is_(None))
        .order_by(plans.c.id)
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
    targets: Collection[str] | None = None,
    lock: bool = False,
) -> list[str]:
    """Return up to `limit` plans of a source that may be claimed now: retries first, then the longest waiting.

    `lock` locks them until the caller's transaction ends, and skips plans locked by others.
    """
    due: list[str] = []
    query = _due(
        of_run=run is not None,
        some=ids is not None,
        of_rules=rules is not None,
        of_targets=targets is not None,
        lock=lock,
    )
    bound: dict[str, Any] = {"the_source": source, "now": tx.now, "the_run": run}
    bound |= {"the_ids": sorted(ids or ()), "the_rules": sorted(rules or ()), "the_targets": sorted(targets or ())}
    for state in (PlanState.RETRY_WAIT, PlanState.APPROVED):
        if len(due) < limit:
            more = {"the_state": state.value, "most": limit - len(due)}
            due += tx.connection.execute(query, bound | more).scalars()
    return due


@functools.cache
def _due(*, of_run: bool, some: bool, of_rules: bool, of_targets: bool, lock: bool) -> sa.Select[Any]:
    query = sa.select(plans.c.id).where(
        plans.c.state == sa.bindparam("the_state"),
        plans.c.source == sa.bindparam("the_source"),
        plans.c.next_at <= sa.bindparam("now", type_=plans.c.next_at.type),
    )
    if of_run:
        query = query.where(plans.c.run == sa.bindparam("the_run"))
    if some:
        query = query.where(bulk.one_of(plans.c.id, "the_ids"))
    if of_rules:
        query = query.where(bulk.one_of(plans.c.rule, "the_rules"))
    if of_targets:
        query = query.where(bulk.one_of(plans.c.target, "the_targets"))
    query = query.order_by(plans.c.next_at, plans.c.id).limit(sa.bindparam("most"))
    return query.with_for_update(skip_locked=True) if lock else query


def _is_due(tx: Transaction) -> list[sa.ColumnElement[bool]]:
    return [plans.c.state.in_(_DUE), plans.c.next_at <= tx.now]


def due_of(tx: Transaction, source: str) -> list[tuple[str, str, str]]:
    """Return rules, datasets and targets with plans in this source that may be claimed now."""
    which = (plans.c.rule, plans.c.dataset, plans.c.target)
    query = sa.select(*which).where(plans.c.source == source, *_is_due(tx))
    return list(tx.connection.execute(query.distinct().order_by(plans.c.rule)))


def tables_in_hand(tx: Transaction, source: str) -> set[str]:
    """Return the tables of a source with plans that may be claimed, or are claimed, sent or of unknown outcome."""
    states = [state.value for state in LIVE if state is not PlanState.AWAITING]
    query = sa.select(plans.c.summary).where(plans.c.source == source, plans.c.state.in_(states)).distinct()
    return {summary["table"] for summary in tx.connection.execute(query).scalars() if "table" in summary}


def sources_due(tx: Transaction) -> list[str]:
    """Return the sources with plans that may be claimed now."""
    query = sa.select(plans.c.source).where(*_is_due(tx)).distinct().order_by(plans.c.source)
    return list(tx.connection.execute(query).scalars())


_TRIED = sa.or_(
    plans.c.state == PlanState.RETRY_WAIT.value,
    sa.and_(plans.c.state == PlanState.APPROVED.value, plans.c.attempts > 0),
)
"""Plans with a failed attempt that wait for the next one; nothing was sent of those that are approved."""


def waiting_of(tx: Transaction) -> dict[tuple[str, str, str], int]:
    """Count the approved plans that are not executed yet, by source, target and rule."""
    of = (plans.c.source, plans.c.target, plans.c.rule)
    query = sa.select(*of, sa.func.count()).where(plans.c.state.in_(_DUE)).group_by(*of).order_by(*of)
    return {(source, target, rule): number for source, target, rule, number in tx.connection.execute(query)}


def tried(tx: Transaction) -> int:
    """Count the plans with a failed attempt that wait for the next one."""
    return int(tx.connection.execute(sa.select(sa.func.count()).select_from(plans).where(_TRIED)).scalar_one())


def next_attempt(
    tx: Transaction, *, ids: Collection[str] | None = None, rules: Collection[str] | None = None
) -> dt.datetime | None:
    """Return when the next of these plans with a failed attempt is tried again, perhaps in the past; None if none."""
    query = sa.select(sa.func.min(plans.c.next_at, type_=plans.c.next_at.type)).where(_TRIED)
    if rules is not None:
        query = query.where(plans.c.rule.in_(list(rules)))
    if ids is not None:
        query = query.where(plans.c.id.in_(list(ids)))
    earliest: dt.datetime | None = tx.connection.execute(query).scalar_one()
    return earliest


def undo_of(tx: Transaction, finding: str) -> StoredPlan | None:
    """Return the undo of a finding that is waiting, running or of unknown outcome."""
    query = sa.select(*COLUMNS).where(plans.c.finding == finding, plans.c.undoes.is_not(None))
    query = query.where(plans.c.state.in_([state.value for state in LIVE])).limit(1)
    row = tx.connection.execute(query.order_by(plans.c.created_at.desc(), plans.c.id)).one_or_none()
    return None if row is None else stored(tx, row)


def last_undo(tx: Transaction, finding: str) -> StoredPlan | None:
    """Return the last undo of a finding that was done."""
    is_done = (plans.c.undoes.is_not(None), plans.c.state == PlanState.SUCCEEDED.value)
    query = sa.select(*COLUMNS).where(plans.c.finding == finding, *is_done).limit(1)
    row = tx.connection.execute(query.order_by(plans.c.ended_at.desc(), plans.c.id)).one_or_none()
    return None if row is None else stored(tx, row)


def undo_done(tx: Transaction, plan: str) -> StoredPlan | None:
    """Return the plan that undid this one; None if it was not undone."""
    is_done = (plans.c.undoes == plan, plans.c.state == PlanState.SUCCEEDED.value)
    row = tx.connection.execute(sa.select(*COLUMNS).where(*is_done).limit(1)).one_or_none()
    return None if row is None else stored(tx, row)


def last_executed(tx: Transaction, finding: str) -> StoredPlan | None:
    """Return the last cleaning of a finding that was executed, also if it was undone since."""
    query = sa.select(*COLUMNS).where(
        plans.c.finding == finding, plans.c.undoes.is_(None), plans.c.state.in_(_EXECUTED)
    )
    row = tx.connection.execute(query.order_by(plans.c.ended_at.desc(), plans.c.id).limit(1)).one_or_none()
    return None if row is None else stored(tx, row)


def decided_in_vain(tx: Transaction, findings: Collection[str]) -> set[str]:
    """Return those of these findings with a plan that a person decided about, and that was not executed, nor any
    later plan."""
    is_decided = sa.exists().where(approvals.c.plan == plans.c.id)
    query = sa.select(plans.c.finding, is_decided, plans.c.state).where(
        plans.c.finding.in_(list(findings)), plans.c.undoes.is_(None)
    )
    rows = tx.connection.execute(query.order_by(plans.c.created_at, plans.c.id))
    in_vain: dict[str, bool] = {}
    for finding, decided, state in rows:
        in_vain[finding] = state not in _EXECUTED and (decided or in_vain.get(finding, False))
    return {finding for finding, is_in_vain in in_vain.items() if is_in_vain}


@dataclass(frozen=True)
class WaitingPlan:
    """A plan that waits for approval, as messages show it. `records` are surplus records."""

    hash: str
    action: str
    records: int
    expires: dt.datetime | None


def waiting_plans(tx: Transaction, names: Collection[str]) -> dict[str, WaitingPlan]:
    """Return the plan that waits for approval, by finding; findings without one are missing."""
    columns = (plans.c.finding, plans.c.plan_hash, plans.c.action, plans.c.records, plans.c.expires_at)
    query = sa.select(*columns).where(plans.c.finding.in_(list(names)), plans.c.state == PlanState.AWAITING.value)
    return {finding: WaitingPlan(*plan) for finding, *plan in tx.connection.execute(query)}


def awaiting(tx: Transaction, names: Collection[str]) -> dict[str, StoredPlan]:
    """Return the plan that waits for approval, by finding; findings without one are missing."""
    state = plans.c.state.concat("")  # not the bare column: SQLite would read every waiting plan by its index
    query = sa.select(*COLUMNS).where(plans.c.finding.in_(list(names)), state == PlanState.AWAITING.value)
    waiting = (stored(tx, row) for row in tx.connection.execute(query))
    return {plan.finding: plan for plan in waiting if plan.undoes is None}


def standing(tx: Transaction, finding: str, *, lock: bool = False) -> StoredPlan | None:
    """Return the finding's unfinished plan, if any; of two, the undo. `lock` locks its row."""
    query = sa.select(*COLUMNS).where(plans.c.finding == finding, plans.c.state.in_([state.value for state in LIVE]))
    query = query.order_by(plans.c.created_at.desc(), plans.c.id).limit(1)
    row = tx.connection.execute(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else stored(tx, row)
