"""Old data in the store: the queries that find it, and its changes. `reconcile.upkeep.compaction` uses them in order.

Rows that others refer to are never old, nor are a job's last run and its last success.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.findings.states import OVER
from reconcile.store.database import Transaction
from reconcile.store.guarded_keys import KeyState
from reconcile.store.tables import (
    anchors,
    checkpoints,
    dataset_stats,
    failures,
    findings,
    guarded_keys,
    keyed_requests,
    notified,
    outbox,
    plans,
    presses,
    promotion,
    releases,
    rule_state,
    run_rules,
    runs,
    shown_findings,
    slots,
    unchanged_runs,
)
from reconcile.store.triggers import SUCCESS

Row = Mapping[str, Any]

_KEPT_STATS = 3
"""A rule is compared with this many earlier runs."""

EVERY = 100
"""Every hundredth head stays: reconcile.audit.verifier wants it."""

_IN_PROGRESS = ("running", "due", "queued", "sending")


@dataclass(frozen=True)
class Cut:
    """Data that ended before these times is old, or says itself until when it is kept."""

    now: dt.datetime
    details: dt.datetime
    runs: dt.datetime
    unchanged: dt.datetime
    images: dt.datetime


@dataclass(frozen=True, eq=False)
class Old:
    """Rows of a table that are old. Of those to shorten, `column` holds the part to shorten.

    A row is deleted only if it is still as found in the column `unchanged`.
    """

    table: sa.Table
    query: Callable[[Cut], sa.Select[Any]]
    column: str = ""
    unchanged: str = ""


def count(tx: Transaction, old: Old, cut: Cut) -> int:
    return tx.connection.execute(sa.select(sa.func.count()).select_from(old.query(cut).subquery())).scalar_one()


def rows(tx: Transaction, old: Old, cut: Cut, limit: int) -> list[Row]:
    """Return up to `limit` of these rows: their keys, and the column to shorten."""
    return [dict(row) for row in tx.connection.execute(old.query(cut).limit(limit)).mappings()]


def shorten(tx: Transaction, old: Old, old_rows: Sequence[Row], shortened: Callable[[Any], Any]) -> int:
    """Shorten the column of each row; return the number of rows, without those resumed meanwhile."""
    conditions, keys = _these(old, old_rows)
    statement = sa.update(old.table).where(*conditions).values({old.column: sa.bindparam("becomes")})
    parameters = [{**key, "becomes": shortened(row[old.column])} for key, row in zip(keys, old_rows, strict=True)]
    return tx.connection.execute(statement, parameters).rowcount


def delete(tx: Transaction, old: Old, old_rows: Sequence[Row]) -> int:
    """Delete these rows; return their number, without those resumed meanwhile."""
    conditions, keys = _these(old, old_rows)
    return tx.connection.execute(sa.delete(old.table).where(*conditions), keys).rowcount


def _these(old: Old, old_rows: Sequence[Row]) -> tuple[list[sa.ColumnElement[bool]], list[dict[str, Any]]]:
    """Return conditions with a parameter for each key column, and the parameters of each row."""
    table = old.table
    keys = [*(column.name for column in table.primary_key.columns), *filter(None, [old.unchanged])]
    conditions = [table.c[name] == sa.bindparam(f"the_{name}") for name in keys]
    if "status" in table.c:
        conditions += [table.c.status != status for status in _IN_PROGRESS]
    return conditions, [{f"the_{name}": row[name] for name in keys} for row in old_rows]


# The queries. Of two runs of a job, the one with the higher fence is the later.


def _latest(*conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """The last run of each job among these."""
    fence = sa.func.max(runs.c.fence).label("fence")
    last = sa.select(runs.c.job, fence).where(*conditions).group_by(runs.c.job).subquery()
    is_last = sa.and_(runs.c.job == last.c.job, runs.c.fence == last.c.fence)
    return sa.select(runs.c.id).join_from(runs, last, is_last)


_LAST = _latest()
_LAST_SUCCESS = _latest(runs.c.status == "succeeded")
_LAST_WHOLE_SUCCESS = _latest(*SUCCESS)


def _ended(cut_off: dt.datetime) -> sa.ColumnElement[bool]:
    """Runs that ended before this time, except each job's last run and last success."""
    over = (runs.c.status != "running", runs.c.finished < cut_off)
    last = (_LAST, _LAST_SUCCESS, _LAST_WHOLE_SUCCESS)
    return sa.and_(*over, *(runs.c.id.not_in(query) for query in last))


def _text(column: sa.Column[Any]) -> sa.ColumnElement[str]:
    return sa.type_coerce(column, sa.Text)


def _reports(cut: Cut) -> sa.Select[Any]:
    whole = ~_text(runs.c.summary).contains('"reduced":true')
    return sa.select(runs.c.id, runs.c.summary).where(_ended(cut.details), runs.c.summary.is_not(None), whole)


def _outcomes(cut: Cut) -> sa.Select[Any]:
    whole = ~_text(run_rules.c.outcome).contains('"reduced":true')
    ended = sa.select(runs.c.id).where(_ended(cut.details))
    columns = (run_rules.c.run, run_rules.c.rule, run_rules.c.outcome)
    return sa.select(*columns).where(run_rules.c.run.in_(ended), whole)


def _texts(cut: Cut) -> sa.Select[Any]:
    box = outbox.c
    whole = ~_text(box.notice).startswith('{"blanked":')
    over = sa.and_(
        box.status.in_(("sent", "dropped", "merged")), sa.func.coalesce(box.sent_at, box.next_at) < cut.details
    )
    return sa.select(box.message, box.notice).where(over, whole)


def _images(column: sa.Column[Any]) -> Callable[[Cut], sa.Select[Any]]:
    """Plans that ended before the cut and still hold rows; outcome and counts stay."""
    columns = plans.c
    over = columns.state.in_([state.value for state in OVER])

    def find(cut: Cut) -> sa.Select[Any]:
        empty = sa.null().label(column.name)
        return sa.select(columns.id, empty).where(over, columns.ended_at < cut.images, column.is_not(None))

    return find


def _slots(cut: Cut) -> sa.Select[Any]:
    over = slots.c.status.in_(("succeeded", "failed", "missed"))
    return sa.select(slots.c.job, slots.c.slot).where(over, slots.c.ended_at < cut.runs)


def _messages(cut: Cut) -> sa.Select[Any]:
    columns = outbox.c
    over = sa.and_(
        columns.status.in_(("sent", "failed", "dropped", "merged")),
        sa.func.coalesce(columns.sent_at, columns.next_at) < cut.runs,
    )
    return sa.select(columns.message).where(over, columns.message.not_in(sa.select(notified.c.message)))


def _shown(cut: Cut) -> sa.Select[Any]:
    return sa.select(shown_findings.c.message, shown_findings.c.finding).where(
        shown_findings.c.message.in_(_messages(cut))
    )


def _presses(cut: Cut) -> sa.Select[Any]:
    over = presses.c.status.in_(("done", "refused"))
    return sa.select(presses.c.id).where(over, presses.c.received_at < cut.details)


def _keyed_requests(cut: Cut) -> sa.Select[Any]:
    columns = keyed_requests.c
    return sa.select(columns.user, columns.key).where(columns.received_at < cut.details)


def _guarded_keys(cut: Cut) -> sa.Select[Any]:
    """Keys whose time is over, in any state: a claim moves that time, and so does each renewal."""
    columns = guarded_keys.c
    states = [state.value for state in KeyState]
    return sa.select(columns.key, columns.keep_until).where(columns.state.in_(states), columns.keep_until < cut.now)


def _checkpoints(cut: Cut) -> sa.Select[Any]:
    ended = sa.select(runs.c.id).where(_ended(cut.runs))
    return sa.select(run_rules.c.run, run_rules.c.rule).where(run_rules.c.run.in_(ended))


def _numbered_stats() -> sa.Subquery:
    """Each rule's counts, numbered from the latest; counts in which a record passed `where` are also numbered apart."""
    stats = dataset_stats.c
    passed = stats.scanned > 0
    latest = (stats.at.desc(), stats.run)
    number = sa.func.row_number().over(partition_by=(stats.dataset, stats.rule), order_by=latest)
    of_passed = sa.func.row_number().over(partition_by=(stats.dataset, stats.rule, passed), order_by=latest)
    columns = (stats.dataset, stats.rule, stats.run, stats.at, passed.label("passed"))
    return sa.select(*columns, number.label("number"), of_passed.label("of_passed")).subquery()


_STATS = _numbered_stats()


def _is_old(cut: Cut) -> sa.ColumnElement[bool]:
    """Old counts, except each rule's latest ones and the latest in which a record passed."""
    passed_last = sa.and_(_STATS.c.passed, _STATS.c.of_passed == 1)
    return sa.and_(_STATS.c.at < cut.unchanged, _STATS.c.number > _KEPT_STATS, ~passed_last)


def _stats(cut: Cut) -> sa.Select[Any]:
    return sa.select(_STATS.c.dataset, _STATS.c.rule, _STATS.c.run).where(_is_old(cut))


def _runs(cut: Cut) -> sa.Select[Any]:
    """Old runs to which nothing that stays refers."""
    return sa.select(runs.c.id).where(_ended(cut.runs), *_unused(cut))


def _unchanged(cut: Cut) -> sa.Select[Any]:
    """Runs of whole jobs that changed nothing and ended a while ago, except the one with the latest slot of each job.

    Later runs compare themselves with that one.
    """
    slot = sa.func.max(runs.c.slot).label("slot")
    last = sa.select(runs.c.job, slot).group_by(runs.c.job).subquery()
    is_last = sa.exists().where(last.c.job == runs.c.job, last.c.slot == runs.c.slot)
    changed_nothing = _text(runs.c.summary).contains('"unchanged":true')
    return sa.select(runs.c.id).where(_ended(cut.unchanged), *SUCCESS, changed_nothing, ~is_last, *_unused(cut))


def _days(cut: Cut) -> sa.Select[Any]:
    key = (unchanged_runs.c.job, unchanged_runs.c.day, unchanged_runs.c.release)
    return sa.select(*key).where(unchanged_runs.c.finished < cut.runs)


def _heads(cut: Cut) -> sa.Select[Any]:
    """Signed heads that later ones cover, except every hundredth and those of anchors."""
    head = checkpoints.c
    is_covered = head.seq < sa.select(sa.func.max(head.seq)).scalar_subquery()
    return sa.select(head.seq).where(
        head.at < cut.unchanged, is_covered, head.seq % EVERY != 0, head.seq.not_in(sa.select(anchors.c.seq))
    )


def _unused(cut: Cut) -> list[sa.ColumnElement[bool]]:
    """Conditions that nothing that stays refers to a run."""
    staying_stats = sa.select(_STATS.c.run).where(~_is_old(cut))
    message, plan = outbox.c, plans.c
    staying_messages = sa.select(message.run).where(message.run.is_not(None), message.message.not_in(_messages(cut)))
    of_plans = sa.select(plan.run).where(plan.run.is_not(None))
    pointing = [
        sa.select(table.c[name]) for table in (findings, rule_state, failures) for name in ("first_run", "last_run")
    ]
    return [runs.c.id.not_in(query) for query in (*pointing, staying_stats, staying_messages, of_plans)]


def _releases(cut: Cut) -> sa.Select[Any]:
    """Old releases to which no kept run or plan refers, except the promoted and the newest one."""
    used = sa.select(runs.c.release).where(runs.c.id.not_in(_runs(cut)))
    of_days = sa.select(unchanged_runs.c.release).where(unchanged_runs.c.finished >= cut.runs)
    of_plans = sa.select(plans.c.release)
    newest = sa.select(releases.c.hash).order_by(releases.c.first_seen.desc(), releases.c.hash).limit(1)
    unused = [
        releases.c.hash.not_in(query) for query in (used, of_days, of_plans, sa.select(promotion.c.release), newest)
    ]
    return sa.select(releases.c.hash).where(releases.c.first_seen < cut.runs, *unused)


REPORTS = Old(runs, _reports, "summary")
OUTCOMES = Old(run_rules, _outcomes, "outcome")
TEXTS = Old(outbox, _texts, "notice")
BEFORE_IMAGES = Old(plans, _images(plans.c.content), "content")
AFTER_IMAGES = Old(plans, _images(plans.c.outcome), "outcome")
DUE_TIMES = Old(slots, _slots)
SHOWN = Old(shown_findings, _shown)
MESSAGES = Old(outbox, _messages)
PRESSES = Old(presses, _presses)
KEYED_REQUESTS = Old(keyed_requests, _keyed_requests)
GUARDED_KEYS = Old(guarded_keys, _guarded_keys, unchanged="keep_until")
CHECKPOINTS = Old(run_rules, _checkpoints)
COUNTS = Old(dataset_stats, _stats)
UNCHANGED = Old(runs, _unchanged)
DAYS = Old(unchanged_runs, _days)
HEADS = Old(checkpoints, _heads)
RUNS = Old(runs, _runs)
RELEASES = Old(releases, _releases)
