"""What is over and old is let go of, as `retention:` says; what something points at stays, and so does the audit log.

Three ages: after `details`, reports and the texts of delivered messages shrink to counts and a proof of what they were;
after `undo_window`, what records held before and after a cleaning goes; after `runs`, due times, messages, checkpoints
and runs go. Everything happens in small transactions, so that nobody
waits long, and any of them may be the last: the next call goes on. The first one writes down what all of them will do.
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
from reconcile.findings.operations import OVER
from reconcile.messages import outbox
from reconcile.store import Store, Transaction, tables
from reconcile.store.tables import dataset_stats, failures, findings, releases, rule_state, run_rules, runs, slots
from rules.values import canonical_instant

_KEPT_STATS = 3
"""A rule is compared with this many runs before."""

_COUNTS = (
    *("rule", "dataset", "severity", "engine", "read", "scanned", "groups", "findings", "money"),
    *("first_run", "edited", "seconds", "failed", "subject"),
)
"""What stays of a rule's part of a report."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Compacted:
    """How many of each were let go of, or would be: `reports` and `texts` shrank, the others are gone."""

    counts: Mapping[str, int]

    def __bool__(self) -> bool:
        return bool(self.counts)


@dataclass(frozen=True)
class _Cut:
    """What ended before these times is old."""

    details: dt.datetime
    runs: dt.datetime
    images: dt.datetime


@dataclass(frozen=True)
class _Step:
    """Rows to find, as their keys and what is needed of them, and what to do with each."""

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
    """Let go of what is old by the store's clock, at most `limit` rows a transaction; with `dry_run` only count it.

    What records held before they were cleaned goes once nobody can undo it any more, after `undo_window`.
    Safe to run at any time, in several processes, and to kill. Raises a StoreError.
    """
    with store.read() as tx:
        cut = _Cut(tx.now - retention.details, tx.now - retention.runs, tx.now - undo_window)
        due = {step.what: count for step in _STEPS if (count := _count(tx, step.find(cut)))}
    if not due or dry_run:
        return Compacted(due)
    work = _Work(store, cut, limit, actor, due)
    done = {step.what: work.through(step) for step in _STEPS if step.what in due}
    return Compacted({what: count for what, count in done.items() if count})


def _count(tx: Transaction, query: sa.Select[Any]) -> int:
    return tx.connection.execute(sa.select(sa.func.count()).select_from(query.subquery())).scalar_one()


@dataclass
class _Work:
    """One compaction while it lasts."""

    store: Store
    cut: _Cut
    limit: int
    actor: str
    due: Mapping[str, int]
    _written_down: bool = field(default=False)

    def through(self, step: _Step) -> int:
        """Batch after batch of one step, until nothing is left to find, or others are at the rows."""
        query = step.find(self.cut).limit(self.limit)
        total = 0
        while True:
            with self.store.read() as tx:
                found = [dict(row) for row in tx.connection.execute(query).mappings()]
            if not found:
                return total
            with self._begin() as tx:
                changed = _carry_out(tx, step, found)
            total += changed
            if changed < len(found):
                return total

    @contextmanager
    def _begin(self) -> Iterator[Transaction]:
        """SQLite need not look up who points at a row: the query did, and nobody begins to point at what is over."""
        with self.store.begin(unchecked=True) as tx:
            if not self._written_down:
                body = {"counts": dict(self.due), "details_before": canonical_instant(self.cut.details)}
                body |= {"runs_before": canonical_instant(self.cut.runs)}
                log.append(tx, self.actor, "store.compacted", "store", body)
            yield tx
        self._written_down = True


def _carry_out(tx: Transaction, step: _Step, found: Sequence[Row]) -> int:
    keys: dict[str, Any] = {c.name: sa.bindparam(f"the_{c.name}") for c in step.table.primary_key.columns}
    these = [*(step.table.c[name] == bound for name, bound in keys.items()), *_still_over(step.table)]
    named = [{f"the_{name}": row[name] for name in keys} for row in found]
    if step.change is None:
        statement: sa.Delete | sa.Update = sa.delete(step.table).where(*these)
    else:
        [column] = set(found[0]) - set(keys)
        statement = sa.update(step.table).where(*these).values({column: sa.bindparam("becomes")})
        for values, row in zip(named, found, strict=True):
            values["becomes"] = step.change(tx, row)
    if step.table is tables.bundles:
        log.touch(tx, facts.PLAN, [row["id"] for row in found])
    changed: int = tx.connection.execute(statement, named).rowcount
    return changed


def _still_over(table: sa.Table) -> list[sa.ColumnElement[bool]]:
    """What was taken up again since it was found, a run or a message, is left alone."""
    return [table.c.status != one for one in _UNDER_WAY] if "status" in table.c else []


_UNDER_WAY = ("running", "due", "queued", "sending")


# What is old. A run is the later one of two of its job where its fence is higher.


def _latest(*which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """The last run of each job, of those."""
    last = sa.select(runs.c.job, sa.func.max(runs.c.fence).label("fence")).where(*which).group_by(runs.c.job).subquery()
    mine = sa.and_(runs.c.job == last.c.job, runs.c.fence == last.c.fence)
    return sa.select(runs.c.id).join_from(runs, last, mine)


_LAST = _latest()
_LAST_SUCCESS = _latest(runs.c.status == "succeeded")


def _ended(before: dt.datetime) -> sa.ColumnElement[bool]:
    """Runs that ended so long ago, but the last of each job and its last that went well."""
    over = (runs.c.status != "running", runs.c.finished < before)
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
    mine = tables.outbox.c
    whole = ~_text(mine.notice).startswith('{"blanked":')
    over = sa.and_(mine.status.in_(("sent", "dropped")), sa.func.coalesce(mine.sent_at, mine.next_at) < cut.details)
    return sa.select(mine.message, mine.notice).where(over, whole)


def _images(column: sa.Column[Any]) -> Callable[[_Cut], sa.Select[Any]]:
    """Plans that are over for so long, and hold rows still; what happened, and to how many, stays."""
    mine = tables.bundles.c
    over = mine.state.in_([state.value for state in OVER])

    def find(cut: _Cut) -> sa.Select[Any]:
        gone = sa.null().label(column.name)
        return sa.select(mine.id, gone).where(over, mine.ended_at < cut.images, column.is_not(None))

    return find


def _nothing(_tx: Transaction, _row: Row) -> None:
    return None


def _slots(cut: _Cut) -> sa.Select[Any]:
    over = slots.c.status.in_(("succeeded", "failed", "missed"))
    return sa.select(slots.c.job, slots.c.slot).where(over, slots.c.ended_at < cut.runs)


def _messages(cut: _Cut) -> sa.Select[Any]:
    mine = tables.outbox.c
    over = sa.and_(
        mine.status.in_(("sent", "failed", "dropped")), sa.func.coalesce(mine.sent_at, mine.next_at) < cut.runs
    )
    return sa.select(mine.message).where(over, mine.message.not_in(sa.select(tables.told.c.message)))


def _checkpoints(cut: _Cut) -> sa.Select[Any]:
    ended = sa.select(runs.c.id).where(_ended(cut.runs))
    return sa.select(run_rules.c.run, run_rules.c.rule).where(run_rules.c.run.in_(ended))


def _numbered_stats() -> sa.Subquery:
    """Each rule's counts, numbered from the latest, and those in which a record passed its `where` by themselves."""
    mine = dataset_stats.c
    passed = mine.scanned > 0
    latest = (mine.at.desc(), mine.run)
    number = sa.func.row_number().over(partition_by=(mine.dataset, mine.rule), order_by=latest)
    of_passed = sa.func.row_number().over(partition_by=(mine.dataset, mine.rule, passed), order_by=latest)
    columns = (mine.dataset, mine.rule, mine.run, mine.at, passed.label("passed"))
    return sa.select(*columns, number.label("number"), of_passed.label("of_passed")).subquery()


_STATS = _numbered_stats()


def _is_going(cut: _Cut) -> sa.ColumnElement[bool]:
    """Of the counts all but each rule's latest, and the latest in which a record passed."""
    passed_last = sa.and_(_STATS.c.passed, _STATS.c.of_passed == 1)
    return sa.and_(_STATS.c.at < cut.runs, _STATS.c.number > _KEPT_STATS, ~passed_last)


def _stats(cut: _Cut) -> sa.Select[Any]:
    return sa.select(_STATS.c.dataset, _STATS.c.rule, _STATS.c.run).where(_is_going(cut))


def _runs(cut: _Cut) -> sa.Select[Any]:
    """Those that nothing points at which stays."""
    staying_stats = sa.select(_STATS.c.run).where(~_is_going(cut))
    message, plan = tables.outbox.c, tables.bundles.c
    staying_messages = sa.select(message.run).where(message.run.is_not(None), message.message.not_in(_messages(cut)))
    plans = sa.select(plan.run).where(plan.run.is_not(None))
    pointing = [
        sa.select(table.c[name]) for table in (findings, rule_state, failures) for name in ("first_run", "last_run")
    ]
    unused = [runs.c.id.not_in(query) for query in (*pointing, staying_stats, staying_messages, plans)]
    return sa.select(runs.c.id).where(_ended(cut.runs), *unused)


def _releases(cut: _Cut) -> sa.Select[Any]:
    """Those no run and no plan points at which stays, but the promoted and the newest one."""
    used = sa.select(runs.c.release).where(runs.c.id.not_in(_runs(cut)))
    plans = sa.select(tables.bundles.c.release)
    newest = sa.select(releases.c.hash).order_by(releases.c.first_seen.desc(), releases.c.hash).limit(1)
    unused = [releases.c.hash.not_in(query) for query in (used, plans, sa.select(tables.promotion.c.release), newest)]
    return sa.select(releases.c.hash).where(releases.c.first_seen < cut.runs, *unused)


# What becomes of it


def _reduced_report(_tx: Transaction, row: Row) -> dict[str, Any]:
    summary: dict[str, Any] = row["summary"]
    return summary | {"rules": [_reduced(one) for one in summary["rules"]], "reduced": True}


def _reduced_outcome(_tx: Transaction, row: Row) -> dict[str, Any]:
    return _reduced(row["outcome"]) | {"reduced": True}


def _reduced(outcome: Row) -> dict[str, Any]:
    """One rule's counts; who reads reports finds the same names in it, with nothing left in the lists."""
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
"""In this order: what points at runs goes before them, and runs before the releases they ran with."""
