"""Delete finished data older than `retention`; data that something refers to stays, and so does the audit log.

Four ages: after `unchanged`, runs that changed nothing become one row a day, and signed heads that later ones cover are
deleted; after `details`, reports and texts of delivered messages shrink to counts and a proof of their content;
after `undo_window`, before-images and after-images of cleanings are deleted; after `runs`, due times, messages,
checkpoints and runs are deleted. Transactions are small, so other processes never wait long, and each may be the last:
the next call continues. The first one logs what all of them will do.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from reconcile.audit import facts, log
from reconcile.config.settings import Retention
from reconcile.coordination import clock
from reconcile.documents import JsonObject
from reconcile.messages import outbox
from reconcile.store import Store, Transaction, leases, retention, unchanged_runs
from reconcile.store.retention import Cut, Old
from rules.values import canonical_instant

EVERY = dt.timedelta(days=1)
_DAILY = "compaction"
"""The lease whose end is when the next daily compaction is due."""

_COUNTS = (
    *("rule", "dataset", "severity", "engine", "read", "scanned", "groups", "findings", "money"),
    *("first_run", "edited", "seconds", "failed", "subject"),
)
"""The fields kept of a rule's part of a report."""


@dataclass(frozen=True)
class Compacted:
    """The number of rows of each kind compacted, or to compact: `reports` and `texts` shrink, others are deleted."""

    counts: Mapping[str, int]

    def __bool__(self) -> bool:
        return bool(self.counts)


@dataclass(frozen=True)
class _CompactionStep:
    """Old rows, and how the long column of each is shortened. `is_recorded`: the log has a digest of the plan.

    `folds`: the rows are runs that changed nothing, and a row a day replaces them.
    """

    what: str
    old: Old
    shortened: Callable[[Transaction, Any], Any] | None = None  # None: the rows are deleted
    is_recorded: bool = False
    folds: bool = False


def compact(
    store: Store,
    settings: Retention,
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
        cut = Cut(
            now=tx.now,
            details=tx.now - settings.details,
            runs=tx.now - settings.runs,
            unchanged=tx.now - settings.unchanged,
            images=tx.now - undo_window,
        )
        due_counts = {step.what: count for step in _STEPS if (count := retention.count(tx, step.old, cut))}
    if not due_counts or dry_run:
        return Compacted(due_counts)
    work = _Compaction(store, cut, limit, actor, due_counts)
    changed = {step.what: work.through(step) for step in _STEPS if step.what in due_counts}
    return Compacted({name: count for name, count in changed.items() if count})


def daily(store: Store, settings: Retention, *, undo_window: dt.timedelta) -> Compacted | None:
    """Compact once a day, whichever process comes first; None if it is not due. A clock jump waits for a person.

    Raises a StoreError.
    """
    with store.read() as tx:
        last = leases.get(tx, _DAILY)
        if clock.held(tx) is not None or (last is not None and tx.now < last.until <= tx.now + EVERY):
            return None
    with store.begin() as tx:
        last = leases.lock(tx, _DAILY)
        if tx.now < last.until <= tx.now + EVERY:
            return None
        leases.shorten(tx, _DAILY, tx.now + EVERY)
    return compact(store, settings, undo_window=undo_window)


@dataclass
class _Compaction:
    """One compaction in progress."""

    store: Store
    cut: Cut
    limit: int
    actor: str
    due: Mapping[str, int]
    _is_logged: bool = field(default=False)

    def through(self, step: _CompactionStep) -> int:
        """Run one step in batches, until no rows are left or another process changes them."""
        total = 0
        while True:
            with self.store.read() as tx:
                rows = retention.rows(tx, step.old, self.cut, self.limit)
            if not rows:
                return total
            with self._begin() as tx:
                if step.is_recorded:
                    log.touch(tx, facts.PLAN, [row["id"] for row in rows])
                if step.folds:
                    changed = unchanged_runs.fold(tx, [row["id"] for row in rows], partial(_reduced_report, tx))
                elif step.shortened is None:
                    changed = retention.delete(tx, step.old, rows)
                else:
                    changed = retention.shorten(tx, step.old, rows, partial(step.shortened, tx))
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
                body |= {"unchanged_before": canonical_instant(self.cut.unchanged)}
                log.append(tx, self.actor, "store.compacted", "store", body)
            yield tx
        self._is_logged = True


# What old columns become


def _reduced_report(_tx: Transaction, summary: JsonObject) -> JsonObject:
    return summary | {"rules": [_reduced(outcome) for outcome in summary["rules"]], "reduced": True}


def _reduced_outcome(_tx: Transaction, outcome: Mapping[str, Any]) -> JsonObject:
    return _reduced(outcome) | {"reduced": True}


def _reduced(outcome: Mapping[str, Any]) -> JsonObject:
    """One rule's counts; readers of reports find the same fields, with empty lists."""
    emptied: JsonObject = {} if "failed" in outcome else {"skipped": [], "groups_before": []}
    return {name: value for name, value in outcome.items() if name in _COUNTS} | emptied


def _nothing(_tx: Transaction, _image: None) -> None:
    return None


_STEPS = (
    _CompactionStep("reports", retention.REPORTS, _reduced_report),
    _CompactionStep("outcomes", retention.OUTCOMES, _reduced_outcome),
    _CompactionStep("texts", retention.TEXTS, outbox.blanked),
    _CompactionStep("before-images", retention.BEFORE_IMAGES, _nothing, is_recorded=True),
    _CompactionStep("after-images", retention.AFTER_IMAGES, _nothing, is_recorded=True),
    _CompactionStep("due times", retention.DUE_TIMES),
    _CompactionStep("findings shown in messages", retention.SHOWN),
    _CompactionStep("messages", retention.MESSAGES),
    _CompactionStep("presses", retention.PRESSES),
    _CompactionStep("requests with a key", retention.KEYED_REQUESTS),
    _CompactionStep("guarded keys", retention.GUARDED_KEYS),
    _CompactionStep("checkpoints", retention.CHECKPOINTS),
    _CompactionStep("counts", retention.COUNTS),
    _CompactionStep("unchanged runs", retention.UNCHANGED, folds=True),
    _CompactionStep("days of unchanged runs", retention.DAYS),
    _CompactionStep("signed heads", retention.HEADS),
    _CompactionStep("runs", retention.RUNS),
    _CompactionStep("releases", retention.RELEASES),
)
"""The steps in order: rows that refer to runs, then runs, then their releases."""
