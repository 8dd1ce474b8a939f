"""Write checkpoints to the anchors, outside any transaction; record each success and retry failures for ever.

An anchor has at most one due head, the newest; the next due head replaces one that is not yet written. A head may be
written twice if a process is killed in between, which does no harm.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from reconcile import points
from reconcile.audit import checkpoints, log
from reconcile.audit.anchors.base import Anchor, AnchorError
from reconcile.schedule import retry
from reconcile.store import Store, Transaction
from reconcile.store.finding_memory import insert_for
from reconcile.store.tables import anchors

RETRY = retry.Policy(dt.timedelta(seconds=5), dt.timedelta(minutes=15), 1_000_000, dt.timedelta(days=36_500))
CLAIM = dt.timedelta(minutes=5)
LATE = dt.timedelta(hours=1)
"""An anchor that has failed for this long is reported as a trouble."""


@dataclass
class Report:
    """By anchor: the entry written, the error of a failure, and the error of one that failed for longer than LATE."""

    written: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    late: dict[str, str] = field(default_factory=dict)


def carry(store: Store, places: Mapping[str, Anchor], every: Mapping[str, dt.timedelta]) -> Report:
    """Sign the end of the log, and write the newest head to each anchor where it is due.

    `every` is the least time between two heads of an anchor. Safe to call in several processes. An anchor's error is
    only reported; a StoreError is raised, and the next call continues from there.
    """
    report = Report()
    log.checkpoint(store)
    if not places:
        return report
    with store.read() as tx:
        if not any(_needs_head(tx, name, every[name]) for name in places) and not _is_any_due(tx, places):
            return report
    with store.begin() as tx:
        for name in places:
            if _needs_head(tx, name, every[name]):
                _make_due(tx, name)
    for name, place in places.items():
        _write(store, name, place, report)
    with store.read() as tx:
        report.late = late(tx, places)
    return report


def late(tx: Transaction, places: Mapping[str, Any]) -> dict[str, str]:
    """The error of each anchor that has failed for longer than LATE."""
    problems = {}
    for name in places:
        row = tx.connection.execute(_DUE, {"name": name}).one_or_none()
        if row is not None and row.problem is not None and tx.now - _since(tx, name) >= LATE:
            problems[name] = row.problem
    return problems


def last_written(tx: Transaction, name: str) -> sa.Row[Any] | None:
    """The newest head written to the anchor (its `seq`, `at`, `receipt`)."""
    return tx.connection.execute(_WRITTEN, {"name": name}).one_or_none()


def receipts(tx: Transaction, name: str) -> list[dict[str, Any]]:
    """The receipts of an anchor's heads, oldest first."""
    rows = tx.connection.execute(_RECEIPTS, {"name": name}).mappings()
    return [{"seq": row["seq"], "at": row["at"].isoformat(), "receipt": row["receipt"]} for row in rows]


def _since(tx: Transaction, name: str) -> dt.datetime:
    """The time at which the oldest unwritten head since the last written one was signed."""
    last_head = last_written(tx, name)
    is_later = anchors.c.seq > (last_head.seq if last_head is not None else 0)
    oldest = sa.select(sa.func.min(anchors.c.seq)).where(anchors.c.anchor == name, is_later)
    seq = tx.connection.execute(oldest).scalar()
    mark = None if seq is None else checkpoints.get(tx, seq)
    return tx.now if mark is None else dt.datetime.fromisoformat(mark.at)


def _is_any_due(tx: Transaction, places: Mapping[str, Anchor]) -> bool:
    due = sa.select(sa.exists().where(_is_due(), anchors.c.anchor.in_(list(places)), anchors.c.next_at <= tx.now))
    return bool(tx.connection.execute(due).scalar())


def _needs_head(tx: Transaction, name: str, every: dt.timedelta) -> bool:
    """Return True if the newest head is neither written nor due for the anchor, and `every` has passed."""
    newest = checkpoints.last(tx)
    if newest is None:
        return False
    newest_known = sa.select(sa.func.max(anchors.c.seq)).where(anchors.c.anchor == name)
    if (tx.connection.execute(newest_known).scalar() or 0) >= newest.seq:
        return False
    last_head = last_written(tx, name)
    return last_head is None or tx.now - last_head.at >= every or tx.now < last_head.at


def _make_due(tx: Transaction, name: str) -> None:
    """Make the newest head due; it replaces one that still waits."""
    newest = checkpoints.last(tx)
    assert newest is not None  # noqa: S101 - the caller checked, and checkpoints stay
    waiting = tx.connection.execute(_DUE, {"name": name}).one_or_none()
    row: dict[str, Any] = {"anchor": name, "seq": newest.seq, "status": "due", "attempts": 0, "next_at": tx.now}
    if waiting is not None:
        tx.connection.execute(_of(name, waiting.seq).values(status="failed"))
        row |= {"attempts": waiting.attempts, "next_at": waiting.next_at, "problem": waiting.problem}
    tx.connection.execute(insert_for(tx, anchors).on_conflict_do_nothing(), row)


def _write(store: Store, name: str, place: Anchor, report: Report) -> None:
    with store.begin() as tx:
        row = tx.connection.execute(_DUE, {"name": name}).one_or_none()
        if row is None or row.next_at > tx.now:
            return
        this_head = _of(name, row.seq).where(anchors.c.attempts == row.attempts, _is_due())
        claimed = this_head.values(attempts=row.attempts + 1, next_at=tx.now + CLAIM)
        if tx.connection.execute(claimed).rowcount != 1:
            return  # another process was first
        mark = checkpoints.get(tx, row.seq)
        assert mark is not None  # noqa: S101 - a foreign key
    points.reach("anchor.before_write")
    try:
        receipt = place.write(mark)
    except AnchorError as error:
        report.failed[name] = str(error)
        _failed(store, name, row.seq, row.attempts, str(error))
        return
    points.reach("anchor.written")
    with store.begin() as tx:
        values = {"status": "written", "at": tx.now, "receipt": dict(receipt), "problem": None}
        tx.connection.execute(_of(name, row.seq).values(values))
    report.written[name] = row.seq


def _failed(store: Store, name: str, seq: int, attempts: int, problem: str) -> None:
    decision = retry.decide(f"anchor:{name}", min(attempts, 20), RETRY)
    with store.begin() as tx:
        this_head = _of(name, seq).where(_is_due(), anchors.c.attempts == attempts + 1)
        tx.connection.execute(this_head.values(next_at=tx.now + decision.delay, problem=problem))


def _is_due() -> sa.ColumnElement[bool]:
    return anchors.c.status == "due"


def _of(name: str, seq: int) -> sa.Update:
    return sa.update(anchors).where(anchors.c.anchor == name, anchors.c.seq == seq)


_name: sa.BindParameter[str] = sa.bindparam("name")
_DUE = (
    sa.select(anchors)
    .where(anchors.c.anchor == _name, anchors.c.status == "due")
    .order_by(anchors.c.seq.desc())
    .limit(1)
)
_RECEIPTS = sa.select(anchors).where(anchors.c.anchor == _name, anchors.c.status == "written").order_by(anchors.c.seq)
_WRITTEN = (
    sa.select(anchors)
    .where(anchors.c.anchor == _name, anchors.c.status == "written")
    .order_by(anchors.c.seq.desc())
    .limit(1)
)
