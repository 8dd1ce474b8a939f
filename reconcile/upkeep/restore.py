"""Restore a backup in one transaction, even while other processes work.

A process that had the state open finds another epoch at its next transaction and stops; earlier leases, claims and
fences become invalid. Events after the backup are unknown: a waiting message may have been sent, so its channel is
asked first; a due time that waited, or came later, may have run, so it is recorded as missed. A session may have been
ended since, so all of them end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from reconcile.audit import log
from reconcile.documents import JsonObject
from reconcile.errors import Refused
from reconcile.journal import effects
from reconcile.store import Store, Transaction, audit_log, erasing, image, key, sessions
from reconcile.upkeep import backup, erasure
from reconcile.upkeep.backup import Backup, BackupUnusable
from rules.values import canonical_instant

_MISSED = "the state was restored from a backup"


class OtherStore(Refused):
    """The backup belongs to another state than the current one; nothing was changed."""

    def __init__(self, file: Path, where: str) -> None:
        super().__init__(
            f"{file} is a backup of another state than the one in {where}, which is not empty; nothing was changed. "
            "Name the configuration of this backup with -c, or add --other-store to replace the state"
        )


class StateIsNewer(Refused):
    """The state holds data that the backup lacks; nothing was changed."""

    def __init__(self, file: Path, where: str, entries: tuple[int, int]) -> None:
        super().__init__(
            f"The state in {where} holds data that {file} lacks (its audit log has {entries[0]:,} entries, the "
            f"backup's {entries[1]:,}); nothing was changed. Back it up first if you may need it, then add --yes"
        )


@dataclass(frozen=True)
class Restored:
    """The result of a restore. `gone` counts, by table, the rows the state held beyond the backup.

    `erased_again` counts the erasures that the backup lacked and that were repeated; `erased_left` are the plans that
    still hold what they erased, since a cleaning of it is approved or in progress.
    """

    backup: Backup
    epoch: int
    gone: Mapping[str, int]
    slots_missed: int
    messages_unknown: int
    erased_again: int = 0
    erased_left: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Former:
    """The replaced state."""

    store: str
    epoch: int
    entries: int
    head: str
    rows: Mapping[str, int]


def restore(
    store: Store, file: Path, *, other_store: bool = False, yes: bool = False, actor: str = "reconcile"
) -> Restored:
    """Replace the whole open state by the backup; afterwards `store` is invalid and must be opened again.

    `other_store` allows a backup of another state, `yes` the loss of data the backup lacks. Raises BackupUnusable,
    OtherStore, StateIsNewer, StoreError; then the state is unchanged.
    """
    scratch = None if store.is_shared else store.key_file.parent
    with backup.opened(file, scratch) as (old, saved):
        try:
            with store.begin(unchecked=True) as tx:
                restored = _replace(tx, old, saved, actor, other_store=other_store, yes=yes)
                _ready_key(store, old.store.key)
        except image.ROWS_REFUSED as error:
            raise BackupUnusable(file, "it holds rows that are invalid in a state") from error
        if old.store.key != store.key:
            key.take_next(store.key_file, store.where)
    return restored


def _ready_key(store: Store, secret: bytes) -> None:
    """Write the backup's key beside the current one if it differs, as the last step before the commit.

    After a kill, a process that opens the state finds the key of its rows, the old ones or those of the backup.
    """
    if secret != store.key:
        key.write(key.next_of(store.key_file), secret, store.where)


def _replace(tx: Transaction, old: Transaction, saved: Backup, actor: str, *, other_store: bool, yes: bool) -> Restored:
    image.lock_out_others(tx)
    former = _former(tx)
    if former.entries and former.store != saved.store and not other_store:
        raise OtherStore(saved.file, tx.store.where)
    if not yes and not _is_in(old, former, saved):
        raise StateIsNewer(saved.file, tx.store.where, (former.entries, saved.entries))
    new_fence = 1 + max(image.highest_fence(tx), image.highest_fence(old))
    names = {*image.lease_names(tx), *image.lease_names(old)}
    erasures = erasing.recorded(tx) if former.store == saved.store else []
    heir = tx.store.heir(saved.store, old.store.key, 1 + max(former.epoch, old.store.epoch))
    image.replace(tx, old, heir.epoch)
    image.free_leases(tx, names, new_fence)
    sessions.end_all(tx)
    missed, unknown = image.miss_slots(tx, new_fence, _MISSED), image.requeue_as_unknown(tx, new_fence)
    lost = {name: count - saved.rows[name] for name, count in former.rows.items() if count > saved.rows[name]}
    restored_tx = Transaction(heir, tx.connection, tx.now)
    effects.take_all(restored_tx, "The state was restored from a backup.")
    restored = Restored(saved, heir.epoch, lost, missed, unknown)
    _log(restored_tx, actor, restored, former)
    repeated = erasure.repeat(restored_tx, erasures)
    left = sorted({plan for erased in repeated for plan in erased.left})
    restored = replace(restored, erased_again=len(repeated), erased_left=tuple(left))
    restored_tx.finish()
    return restored


def _former(tx: Transaction) -> _Former:
    end = audit_log.end(tx)
    return _Former(tx.store.id, tx.store.epoch, end.seq, end.head, image.counts(tx))


def _is_in(old: Transaction, former: _Former, saved: Backup) -> bool:
    """Return True if the backup's log contains the whole log of the state."""
    is_same = former.store == saved.store
    return former.entries == 0 or (is_same and audit_log.head_of(old, former.entries) == former.head)


def _log(tx: Transaction, actor: str, restored: Restored, former: _Former) -> None:
    """Write the restored log's next entry: its backup, and the replaced and lost data."""
    saved = restored.backup
    body: JsonObject = {
        "backup": {"entries": saved.entries, "head": saved.head, "until": canonical_instant(saved.until)},
        "epoch": restored.epoch,
        "replaced": {"store": former.store, "epoch": former.epoch, "entries": former.entries, "head": former.head},
        "gone": dict(restored.gone),
        "slots_missed": restored.slots_missed,
        "no_slots_between": [canonical_instant(saved.until), canonical_instant(tx.now)],
        "messages_unknown": restored.messages_unknown,
    }
    log.append(tx, actor, "store.restored", f"store:{saved.store}", body)
