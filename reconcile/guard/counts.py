"""Counts of what happened to keys: kept in the process for a moment, then added to the store with the next change.

A count for each claim would make all claims of a namespace wait for one row. What a killed process counted in its last
seconds is lost; keys are not.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from reconcile.store import Store, Transaction, guarded_keys

EVENTS = ("created", "used", "hits", "waits", "conflicts", "expired", "renewed", "failed", "released")
"""A key's first claim, and its end; answers *done* and *in progress*; other payloads; leases that ended and another
claim took over; renewals; claims that ended as not done; releases by people.
"""
SAVED_EVERY = 5.0
"""Seconds."""


class Counts:
    """The counts of one process that are not in the store yet. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: Counter[tuple[str, str]] = Counter()
        self._saved_at = clock()

    def add(self, namespace: str, event: str) -> None:
        """Count an event of `EVENTS`; others are not counted."""
        if event in EVENTS:
            with self._lock:
                self._pending[namespace, event] += 1

    def save_now_and_then(self, tx: Transaction) -> None:
        """Add the counts to the store if that is due, as the last change of a transaction."""
        if self._clock() - self._saved_at >= SAVED_EVERY:
            self._save(tx)

    def save(self, store: Store) -> None:
        """Add all counts to the store."""
        if self._pending:
            with store.begin() as tx:
                self._save(tx)

    def _save(self, tx: Transaction) -> None:
        """A transaction that fails after this loses its counts."""
        with self._lock:
            pending, self._pending = self._pending, Counter()
            self._saved_at = self._clock()
        guarded_keys.add_counts(tx, pending)
