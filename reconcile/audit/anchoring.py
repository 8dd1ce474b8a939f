"""Write checkpoints to the anchors, outside any transaction; record each success and retry failures for ever.

An anchor has at most one due head, the newest; the next due head replaces one that is not yet written. A head may be
written twice if a process is killed in between, which does no harm.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reconcile import points
from reconcile.audit import checkpoints, log
from reconcile.audit.anchors.base import Anchor, AnchorError, Lasting
from reconcile.documents import JsonObject
from reconcile.schedule import retry
from reconcile.store import Store, Transaction, heads

RETRY = retry.Policy(dt.timedelta(seconds=5), dt.timedelta(minutes=15), 1_000_000, dt.timedelta(days=36_500))
CLAIM = dt.timedelta(minutes=5)
LATE = dt.timedelta(hours=1)
"""An anchor that has failed for this long is reported as a trouble, if a process is running that tries again."""


@dataclass
class AnchoringReport:
    """By anchor: the entry written, the error of a failure, and a sentence for one that has failed for long enough."""

    written: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    late: dict[str, str] = field(default_factory=dict)


def write_due(
    store: Store, places: Mapping[str, Anchor], every: Mapping[str, dt.timedelta], *, patience: dt.timedelta = LATE
) -> AnchoringReport:
    """Sign the end of the log, and write the newest head to each anchor where it is due.

    `every` is the least time between two heads of an anchor; one that failed for `patience` is late. Safe to call in
    several processes. An anchor's error is only reported; a StoreError is raised, and the next call continues from
    there.
    """
    report = AnchoringReport()
    log.checkpoint(store)
    if not places:
        return report
    with store.read() as tx:
        if not any(_needs_head(tx, name, every[name]) for name in places) and not heads.is_any_due(tx, places):
            report.late = late(tx, places, patience)
            return report
    with store.begin() as tx:
        for name in places:
            if _needs_head(tx, name, every[name]):
                _make_due(tx, name)
    for name, place in places.items():
        _write(store, name, place, report)
    with store.read() as tx:
        report.late = late(tx, places, patience)
    return report


@dataclass(frozen=True)
class AnchorState:
    """The state of an anchor: it has heads up to the entry `until`, and `missing` signed ones are not written yet.

    `problem` is the reason if the newest attempt failed; `since` is when the oldest head that it missed was signed.
    """

    until: int
    missing: int
    since: dt.datetime
    problem: str | None

    @property
    def sentence(self) -> str:
        """The problem, since when, and how many heads are missing."""
        count = "1 head is" if self.missing == 1 else f"{self.missing:,} heads are"
        return f"{self.problem} (since {self.since:%d %b %Y %H:%M} UTC; {count} not anchored)"


def state(tx: Transaction, name: str) -> AnchorState:
    """Return what an anchor holds and misses."""
    written, due = heads.last_written(tx, name), heads.due(tx, name)
    until = 0 if written is None else written.seq
    return AnchorState(until, heads.signed_after(tx, until), _since(tx, name), None if due is None else due.problem)


def late(tx: Transaction, places: Iterable[str], patience: dt.timedelta = LATE) -> dict[str, str]:
    """A sentence for each anchor that has failed for so long."""
    states = {name: state(tx, name) for name in places}
    return {
        name: anchor.sentence
        for name, anchor in states.items()
        if anchor.problem is not None and tx.now - anchor.since >= patience
    }


def receipts(tx: Transaction, name: str) -> list[JsonObject]:
    """The receipts of an anchor's heads, oldest first."""
    written = heads.written(tx, name)
    return [{"seq": head.seq, "at": head.at and head.at.isoformat(), "receipt": head.receipt} for head in written]


def _since(tx: Transaction, name: str) -> dt.datetime:
    """The time at which the oldest unwritten head since the last written one was signed."""
    last_head = heads.last_written(tx, name)
    seq = heads.first_after(tx, name, last_head.seq if last_head is not None else 0)
    mark = None if seq is None else checkpoints.get(tx, seq)
    return tx.now if mark is None else dt.datetime.fromisoformat(mark.at)


def _needs_head(tx: Transaction, name: str, every: dt.timedelta) -> bool:
    """Return True if the newest head is neither written nor due for the anchor, and `every` has passed."""
    newest = heads.newest(tx)
    if newest is None or heads.newest_at(tx, name) >= newest.seq:
        return False
    last_head = heads.last_written(tx, name)
    return last_head is None or last_head.at is None or tx.now - last_head.at >= every or tx.now < last_head.at


def _make_due(tx: Transaction, name: str) -> None:
    """Make the newest head due; it replaces one that still waits."""
    newest = heads.newest(tx)
    assert newest is not None  # noqa: S101 - the caller checked, and checkpoints stay
    heads.make_due(tx, name, newest.seq, heads.due(tx, name))


def _write(store: Store, name: str, place: Anchor, report: AnchoringReport) -> None:
    with store.begin() as tx:
        head = heads.due(tx, name)
        if head is None or head.next_at > tx.now:
            return
        if not heads.claim(tx, head, tx.now + CLAIM):
            return  # another process was first
        mark = checkpoints.get(tx, head.seq)
        assert mark is not None  # noqa: S101 - a foreign key
        last_head = heads.last_written(tx, name)
        held = None if last_head is None else checkpoints.get(tx, last_head.seq)
    points.reach("anchor.before_write")
    try:
        if last_head is not None and held is not None and isinstance(place, Lasting):
            place.check_held(held, last_head.receipt or {})
        receipt = place.write(mark)
    except AnchorError as error:
        report.failed[name] = str(error)
        decision = retry.decide(f"anchor:{name}", min(head.attempts, 20), RETRY)
        with store.begin() as tx:
            heads.retry(tx, head, tx.now + decision.delay, str(error))
        return
    points.reach("anchor.written")
    with store.begin() as tx:
        heads.mark_written(tx, head, receipt)
    report.written[name] = head.seq
