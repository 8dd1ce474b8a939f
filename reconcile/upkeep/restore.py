"""A backup becomes the state again, in one transaction, also under processes that are at work.

Whoever had the state open finds another epoch at its next transaction and stops; no lease, claim or fence of before
means anything any more. What the backup cannot know is treated as unknown: a message that waited may have been sent, so
its channel is asked first; a due time that waited, or came up since, may have been run, so it is written as missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from reconcile.audit import log
from reconcile.journal import effects
from reconcile.store import Store, Transaction, copying, errors, key, tables
from reconcile.store.tables import expectations, leases, meta, outbox, schedules, slots
from reconcile.upkeep import backup, erasure
from reconcile.upkeep.backup import Backup, BackupUnusable
from rules.values import canonical_instant

_MISSED = "the state was restored from a backup"


class OtherStore(Exception):
    """The backup is of another state than the one that would be replaced; nothing was changed."""

    def __init__(self, file: Path, where: str) -> None:
        super().__init__(
            f"{file} is a backup of another state than the one in {where}, which is not empty; nothing was changed. "
            "Name the configuration this backup belongs to with -c, or add --other-store to replace one by the other"
        )


class StateIsNewer(Exception):
    """The state holds what the backup does not; nothing was changed."""

    def __init__(self, file: Path, where: str, entries: tuple[int, int]) -> None:
        super().__init__(
            f"The state in {where} holds what {file} does not (its audit log has {entries[0]:,} entries, the backup's "
            f"{entries[1]:,}); nothing was changed. Back it up first if it may be needed, then add --yes"
        )


@dataclass(frozen=True)
class Restored:
    """What a restore did. `gone` are rows, by table, that the state held more of than the backup.

    `erased_again` counts the erasures that the backup did not know of and that were done anew.
    """

    backup: Backup
    epoch: int
    gone: Mapping[str, int]
    slots_missed: int
    messages_in_doubt: int
    erased_again: int = 0


@dataclass(frozen=True)
class _Was:
    """The state as it was before."""

    store: str
    epoch: int
    entries: int
    head: str
    rows: Mapping[str, int]


def restore(
    store: Store, file: Path, *, other_store: bool = False, yes: bool = False, actor: str = "reconcile"
) -> Restored:
    """Replace all of the open state by the backup; afterwards `store` is of the past and has to be opened anew.

    `other_store` allows a backup of another state, `yes` to lose what the state holds beyond the backup. Raises
    BackupUnusable, OtherStore, StateIsNewer, StoreError; then the state is as it was.
    """
    scratch = None if store.is_shared else store.key_file.parent
    with backup.opened(file, scratch) as (old, made):
        try:
            with store.begin(unchecked=True) as tx:
                done = _replace(tx, old, made, actor, other_store=other_store, yes=yes)
                _ready_key(store, old.store.key)
        except (sa.exc.IntegrityError, sa.exc.DataError) as error:
            raise BackupUnusable(file, "it holds rows that no state can hold") from error
        if old.store.key != store.key:
            key.take_next(store.key_file, store.where)
    return done


def _ready_key(store: Store, secret: bytes) -> None:
    """Lay the backup's key ready where it is another one, as the last thing before the rows are kept.

    Whoever opens the state after a kill finds the key that fits its rows, those of before or those of the backup.
    """
    if secret != store.key:
        key.write(key.next_of(store.key_file), secret, store.where)


def _replace(tx: Transaction, old: Transaction, made: Backup, actor: str, *, other_store: bool, yes: bool) -> Restored:
    _alone(tx)
    was = _was(tx)
    if was.entries and was.store != made.store and not other_store:
        raise OtherStore(made.file, tx.store.where)
    if not yes and not _is_in(old, was, made):
        raise StateIsNewer(made.file, tx.store.where, (was.entries, made.entries))
    above = 1 + max(_highest_fence(tx), _highest_fence(old))
    names = {*_lease_names(tx), *_lease_names(old)}
    erasures = erasure.standing(tx) if was.store == made.store else []
    copying.clear(tx.connection)
    copying.copy(old.connection, tx.connection)
    heir = tx.store.heir(made.store, old.store.key, 1 + max(was.epoch, old.store.epoch))
    tx.connection.execute(sa.update(meta).values(epoch=heir.epoch))
    _free_leases(tx, names, above)
    missed, doubtful = _miss_slots(tx, above), _doubt_messages(tx, above)
    gone = {name: count - made.rows[name] for name, count in was.rows.items() if count > made.rows[name]}
    after = Transaction(heir, tx.connection, tx.now)
    effects.take_all(after, "The state was restored from a backup.")
    done = Restored(made, heir.epoch, gone, missed, doubtful)
    _log(after, actor, done, was)
    done = replace(done, erased_again=len(erasure.again(after, erasures)))
    after.finish()
    return done


def _alone(tx: Transaction) -> None:
    """Until the end nobody else reads or writes: each transaction of ours begins with a look at this table.

    On SQLite whoever writes is alone, and others read what was before.
    """
    if tx.store.is_shared:
        tx.connection.execute(sa.text("LOCK TABLE meta IN ACCESS EXCLUSIVE MODE"))
        if tx.connection.execute(sa.select(meta.c.epoch)).scalar() != tx.store.epoch:
            raise errors.StoreReplaced(tx.store.where)


def _was(tx: Transaction) -> _Was:
    end = tx.connection.execute(sa.select(tables.audit_head.c.seq, tables.audit_head.c.head)).one()
    return _Was(tx.store.id, tx.store.epoch, end.seq, end.head, copying.counts(tx.connection))


def _is_in(old: Transaction, was: _Was, made: Backup) -> bool:
    """Whether all that the state's log tells is told by the backup's."""
    there = sa.select(tables.audit.c.head).where(tables.audit.c.seq == was.entries)
    return was.entries == 0 or (was.store == made.store and old.connection.execute(there).scalar() == was.head)


# What nobody may take for what it was


def _highest_fence(tx: Transaction) -> int:
    return max(tx.connection.execute(sa.select(sa.func.max(c.fence))).scalar() or 0 for c in _FENCED)


_FENCED = (leases.c, slots.c, outbox.c)


def _lease_names(tx: Transaction) -> list[str]:
    return list(tx.connection.execute(sa.select(leases.c.name)).scalars())


def _free_leases(tx: Transaction, names: set[str], fence: int) -> None:
    """Every lease there ever was, here or in the backup, is free and has a fence that nobody ever held."""
    tx.connection.execute(sa.delete(leases))
    free = [{"name": name, "fence": fence, "lease_until": tx.now, "taken_at": tx.now} for name in sorted(names)]
    if free:
        tx.connection.execute(sa.insert(leases), free)


def _miss_slots(tx: Transaction, fence: int) -> int:
    """Due times that the backup left waiting or running are over, and none between it and now will come up.

    Nor is a job late for what the backup cannot know.
    """
    over = {"status": "missed", "reason": _MISSED, "owner": None, "fence": fence, "ended_at": tx.now}
    waiting = sa.update(slots).where(slots.c.status.in_(("due", "running"))).values(over)
    missed: int = tx.connection.execute(waiting).rowcount
    tx.connection.execute(sa.update(schedules).values(since=tx.now, watermark=tx.now))
    tx.connection.execute(sa.update(expectations).where(expectations.c.since.is_not(None)).values(since=tx.now))
    return missed


def _doubt_messages(tx: Transaction, fence: int) -> int:
    asked = {"status": "queued", "in_doubt": True, "owner": None, "fence": fence, "next_at": tx.now}
    waiting = sa.update(outbox).where(outbox.c.status.in_(("queued", "sending"))).values(asked)
    doubtful: int = tx.connection.execute(waiting).rowcount
    return doubtful


def _log(tx: Transaction, actor: str, done: Restored, was: _Was) -> None:
    """The restored log's next entry: what it came from, and what was there before and is gone."""
    made = done.backup
    body: dict[str, Any] = {
        "backup": {"entries": made.entries, "head": made.head, "until": canonical_instant(made.until)},
        "epoch": done.epoch,
        "replaced": {"store": was.store, "epoch": was.epoch, "entries": was.entries, "head": was.head},
        "gone": dict(done.gone),
        "slots_missed": done.slots_missed,
        "no_slots_between": [canonical_instant(made.until), canonical_instant(tx.now)],
        "messages_in_doubt": done.messages_in_doubt,
    }
    log.append(tx, actor, "store.restored", f"store:{made.store}", body)
