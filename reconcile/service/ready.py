"""Readiness: the state can be read and written, and some process schedules."""

from __future__ import annotations

from reconcile.coordination import lease
from reconcile.store import Store, StoreError, Transaction
from reconcile.store.failing import LastingFailure


def obstacle(store: Store, *, is_worker: bool) -> str | None:
    """Return why no work gets done; None if it does. Names no place and no data."""
    try:
        with store.read() as tx:
            return obstacle_in(tx, is_worker=is_worker)
    except StoreError as error:
        return f"The state database does not answer ({type(error).__name__})"


def obstacle_in(tx: Transaction, *, is_worker: bool) -> str | None:
    """Return the same for a state that answers."""
    failure = tx.store.writes.ongoing()
    if failure is not None:
        return not_written(failure)
    if is_worker or lease.holder(tx, "scheduler") is not None:
        return None
    return "No scheduler is running yet"


def not_written(failure: LastingFailure) -> str:
    """Return the obstacle of a state that can't be written."""
    kind = type(failure.error).__name__
    return f"The state database can't be written since {failure.since:%H:%M:%S} UTC ({kind})"
