"""Delete finished data older than `retention`; data that something refers to stays, and so does the audit log.

Three ages: after `details`, reports and texts of delivered messages shrink to counts and a proof of their content;
after `undo_window`, before-images and after-images of cleanings are deleted; after `runs`, due times, messages,
checkpoints and runs are deleted. Transactions are small, so other processes never wait long, and each may be the last:
the next call continues. The first one logs what all of them will do.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from reconcile.audit import facts, log
from reconcile.config.settings import Retention
from reconcile.findings.states import OVER
from reconcile.messages import outbox
from reconcile.store import Store, Transaction, tables
from reconcile.store.tables import dataset_stats, failures, findings, releases, rule_state, run_rules, runs, slots
from rules.values import canonical_instant

_KEPT_STATS = 3
"""A rule is compared with this many earlier runs."""

_COUNTS = (
    *("rule", "dataset", "severity", "engine", "read", "scanned", "groups", "findings", "money"),
    *("first_run", "edited", "seconds", "failed", "subject"),
)
"""The fields kept of a rule's part of a report."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Compacted:
    """The number of rows of each kind compacted, or to compact: `reports` and `texts` shrink, others are deleted."""

    counts: Mapping[str, int]

    def __bool__(self) -> bool:
        return bool(self.counts)


@dataclass(frozen=True)
class _Cut:
    """Data that ended before these times is old."""

    details: dt.datetime
    runs: dt.datetime
    images: dt.datetime


@dataclass(frozen=True)
class _Step:
    """A query for rows, with their keys and needed columns, and the change of each."""

    what: str
    table: sa.Table
    find: Callable[[_Cut], sa.Select[Any]]
    change: Callable[[Transaction, Row], dict[str, Any] | None] | None = None  # None: delete it


def compact(
    store: Store,
    retention: Retention,
    *,
    undo_window: dt.timedelta = dt.timedelta(days=30),
    limit: int = 500,
    actor: str = "reconcile",
    dry_run: bool = False,
) -> Compacted:
    """Delete data that is old by the store's clock, up to `limit` rows per transaction; with `dry_run` only count it.

    Before-images of cleaned records are deleted once no undo is possible, after `undo_window`.
    Safe to run at any time, in several processes, and to kill. Raises a StoreError.
    """
    with store.read() as tx:
        cut = _Cut(tx.now - retention.details, tx.now - retention.runs, tx.now - undo_window)
        due_counts = {step.what: count for step in _STEPS if (count := _count(tx, step.find(cut)))}
    if not due_counts or dry_run:
        return Compacted(due_counts)
    work = _Work(store, cut, limit, actor, due_counts)
    changed = {step.what: work.through(step) for step in _STEPS if step.what in due_counts}
    return Compacted({name: count for name, count in changed.items() if count})


def _count(tx: Transaction, query: sa.Select[Any]) -> int:
    return tx.connection.execute(sa.select(sa.func.count()).select_from(query.subquery())).scalar_one()


@dataclass
class _Work:
    """One compaction in progress."""

    store: Store
    cut: _Cut
    limit: int
    actor: str
    due: Mapping[str, int]
    _is_logged: bool = field(default=False)

    def through(self, step: _Step) -> int:
        """Run one step in batches, until no rows are left or another process changes them."""
        query = step.find(self.cut).limit(self.limit)
        total = 0
        while True:
            with self.store.read() as tx:
                rows = [dict(row) for row in tx.connection.execute(query).mappings()]
            if not rows:
                return total
            with self._begin() as tx:
                changed = _apply(tx, step, rows)
            total += changed
            if changed < len(rows):
                return total

    @contextmanager
    def _begin(self) -> Iterator[Transaction]:
        """Begin without foreign key checks: the query made them, and nothing new refers to finished data."""
        with self.store.begin(unchecked=True) as tx:
            if not self._is_logged:
                body = {"counts": dict(self.due), "details_before": canonical_instant(self.cut.details)}
                body |= {"runs_before": canonical_instant(self.cut.runs)}
                log.append(tx, self.actor, "store.compacted", "store", body)
            yield tx
        self._is_logged = True


def _apply(tx: Transaction, step: _Step, rows: Sequence[Row]) -> int:
    keys: dict[str, Any] = {c.name: sa.bindparam(f"the_{c.name}") for c in step.table.primary_key.columns}
    conditions = [*(step.table.c[name] == bound for name, bound in keys.items()), *_still_over(step.table)]
    parameters = [{f"the_{name}": row[name] for name in keys} for row in rows]
    if step.change is None:
        statement: sa.Delete | sa.Update = sa.delete(step.table).where(*conditions)
    else:
        [column] = set(rows[0]) - set(keys)
        statement = sa.update(step.table).where(*conditions).values({column: sa.bindparam("becomes")})
        for values, row in zip(parameters, rows, strict=True):
            values["becomes"] = step.change(tx, row)
    if step.table is tables.bundles:
        log.touch(tx, facts.PLAN, [row["id"] for row in rows])
    changed: int = tx.connection.execute(statement, parameters).rowcount
    return changed


def _still_over(table: sa.Table) -> list[sa.ColumnElement[bool]]:
    """Conditions that leave alone a run or a message that was resumed meanwhile."""
    return [table.c.status != status for status in _IN_PROGRESS] if "status" in table.c else []


_IN_PROGRESS = ("running", "due", "queued", "sending")


# Old data. Of two runs of a job, the one with the higher fence is the later.


def _latest(*conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """The last run of each job among these."""
    fence = sa.func.max(runs.c.fence).label("fence")
    last = sa.select(runs.c.job, fence).where(*conditions).group_by(runs.c.job).subquery()
    is_last = sa.and_(runs.c.job == last.c.job, runs.c.fence == last.c.fence)
    return sa.select(runs.c.id).join_from(runs, last, is_last)


_LAST = _latest()
_LAST_SUCCESS = _latest(runs.c.status == "succeeded")


def _ended(cut_off: dt.datetime) -> sa.ColumnElement[bool]:
    """Runs that ended before this time, except each job's last run and last success."""
    over = (runs.c.status != "running", runs.c.finished < cut_off)
    return sa.and_(*over, runs.c.id.not_in(_LAST), runs.c.id.not_in(_LAST_SUCCESS))


def _text(column: sa.Column[Any]) -> sa.ColumnElement[str]:
    return sa.type_coerce(column, sa.Text)


def _reports(cut: _Cut) -> sa.Select[Any]:
    whole = ~_text(runs.c.summary).contains('"reduced":true')
    return sa.select(runs.c.id, runs.c.summary).where(_ended(cut.details), runs.c.summary.is_not(None), whole)


def _outcomes(cut: _Cut) -> sa.Select[Any]:
    whole = ~_text(run_rules.c.outcome).contains('"reduced":true')
    ended = sa.select(runs.c.id).where(_ended(cut.details))
    columns = (run_rules.c.run, run_rules.c.rule, run_rules.c.outcome)
    return sa.select(*columns).where(run_rules.c.run.in_(ended), whole)


def _texts(cut: _Cut) -> sa.Select[Any]:
    box = tables.outbox.c
    whole = ~_text(box.notice).startswith('{"blanked":')
    over = sa.and_(box.status.in_(("sent", "dropped")), sa.func.coalesce(box.sent_at, box.next_at) < cut.details)
    return sa.select(box.message, box.notice).where(over, whole)


def _images(column: sa.Column[Any]) -> Callable[[_Cut], sa.Select[Any]]:
    """Plans that ended before the cut and still hold rows; outcome and counts stay."""
    columns = tables.bundles.c
    over = columns.state.in_([state.value for state in OVER])

    def find(cut: _Cut) -> sa.Select[Any]:
        empty = sa.null().label(column.name)
        return sa.select(columns.id, empty).where(over, columns.ended_at < cut.images, column.is_not(None))

    return find


def _nothing(_tx: Transaction, _row: Row) -> None:
    return None


def _slots(cut: _Cut) -> sa.Select[Any]:
    over = slots.c.status.in_(("succeeded", "failed", "missed"))
    return sa.select(slots.c.job, slots.c.slot).where(over, slots.c.ended_at < cut.runs)


def _messages(cut: _Cut) -> sa.Select[Any]:
    columns = tables.outbox.c
    over = sa.and_(
        columns.status.in_(("sent", "failed", "dropped")), sa.func.coalesce(columns.sent_at, columns.next_at) < cut.runs
    )
    return sa.select(columns.message).where(over, columns.message.not_in(sa.select(tables.told.c.message)))


def _checkpoints(cut: _Cut) -> sa.Select[Any]:
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


def _is_old(cut: _Cut) -> sa.ColumnElement[bool]:
    """Old counts, except each rule's latest ones and the latest in which a record passed."""
    passed_last = sa.and_(_STATS.c.passed, _STATS.c.of_passed == 1)
    return sa.and_(_STATS.c.at < cut.runs, _STATS.c.number > _KEPT_STATS, ~passed_last)


def _stats(cut: _Cut) -> sa.Select[Any]:
    return sa.select(_STATS.c.dataset, _STATS.c.rule, _STATS.c.run).where(_is_old(cut))


def _runs(cut: _Cut) -> sa.Select[Any]:
    """Old runs to which nothing that stays refers."""
    staying_stats = sa.select(_STATS.c.run).where(~_is_old(cut))
    message, plan = tables.outbox.c, tables.bundles.c
    staying_messages = sa.select(message.run).where(message.run.is_not(None), message.message.not_in(_messages(cut)))
    plans = sa.select(plan.run).where(plan.run.is_not(None))
    pointing = [
        sa.select(table.c[name]) for table in (findings, rule_state, failures) for name in ("first_run", "last_run")
    ]
    unused = [runs.c.id.not_in(query) for query in (*pointing, staying_stats, staying_messages, plans)]
    return sa.select(runs.c.id).where(_ended(cut.runs), *unused)


def _releases(cut: _Cut) -> sa.Select[Any]:
    """Old releases to which no kept run or plan refers, except the promoted and the newest one."""
    used = sa.select(runs.c.release).where(runs.c.id.not_in(_runs(cut)))
    plans = sa.select(tables.bundles.c.release)
    newest = sa.select(releases.c.hash).order_by(releases.c.first_seen.desc(), releases.c.hash).limit(1)
    unused = [releases.c.hash.not_in(query) for query in (used, plans, sa.select(tables.promotion.c.release), newest)]
    return sa.select(releases.c.hash).where(releases.c.first_seen < cut.runs, *unused)


# Changes of a row


def _reduced_report(_tx: Transaction, row: Row) -> dict[str, Any]:
    summary: dict[str, Any] = row["summary"]
    return summary | {"rules": [_reduced(outcome) for outcome in summary["rules"]], "reduced": True}


def _reduced_outcome(_tx: Transaction, row: Row) -> dict[str, Any]:
    return _reduced(row["outcome"]) | {"reduced": True}


def _reduced(outcome: Row) -> dict[str, Any]:
    """One rule's counts; readers of reports find the same fields, with empty lists."""
    emptied: dict[str, Any] = {} if "failed" in outcome else {"skipped": [], "groups_before": []}
    return {name: value for name, value in outcome.items() if name in _COUNTS} | emptied


def _blanked(tx: Transaction, row: Row) -> dict[str, Any]:
    return outbox.blanked(tx, row["notice"])


_STEPS = (
    _Step("reports", runs, _reports, _reduced_report),
    _Step("outcomes", run_rules, _outcomes, _reduced_outcome),
    _Step("texts", tables.outbox, _texts, _blanked),
    _Step("before-images", tables.bundles, _images(tables.bundles.c.content), _nothing),
    _Step("after-images", tables.bundles, _images(tables.bundles.c.outcome), _nothing),
    _Step("due times", slots, _slots),
    _Step("messages", tables.outbox, _messages),
    _Step("checkpoints", run_rules, _checkpoints),
    _Step("counts", dataset_stats, _stats),
    _Step("runs", runs, _runs),
    _Step("releases", releases, _releases),
)
"""The steps in order: rows that refer to runs, then runs, then their releases."""
