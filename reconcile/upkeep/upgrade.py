"""Back up an older state right before it is upgraded: only the backup leads back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

from reconcile.store import Store
from reconcile.upkeep import backup
from reconcile.upkeep.backup import Backup


def back_up_first(told: Callable[[Backup], None]) -> Callable[[Store], None]:
    """Return an `upgrade` for `Store.open` that backs the older state up, and calls `told` with the backup.

    The file is beside an SQLite state, and beside the configuration for PostgreSQL. Without the backup nothing is
    upgraded: raises BackupNotWritten, BackupExists.
    """

    def upgrade(store: Store) -> None:
        told(backup.make(store, _place(store, dt.datetime.now(dt.UTC))))

    return upgrade


def without_backup(_store: Store) -> None:
    """Upgrade an older state without a backup: somebody said so."""


def sentence(saved: Backup) -> str:
    """Say where the backup is."""
    return f"The state had schema {saved.schema} and was backed up to {saved.file} before the upgrade"


def _place(store: Store, now: dt.datetime) -> Path:
    name = store.key_file.name.removesuffix(".key").removesuffix(".db")
    return store.key_file.with_name(f"{name}-schema-{store.revision}-{now:%Y%m%dT%H%M%SZ}.db")
