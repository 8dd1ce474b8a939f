"""Checkpoints: heads of the audit log signed with Ed25519 by the store, in the transaction of the entry they cover.

The key pair is derived from the store's secret, so there is no second file to keep, to copy to other hosts and to lose.
Every hundredth entry is signed; `audit.checkpoint` signs the last one at the end of a run and once a minute.

The newest one also stands in a file beside the key, where the rows of the log are not: whoever writes the database
alone cannot delete all checkpoints and leave a log that looks as if nothing of it had ever been signed.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from reconcile import points
from reconcile.audit.verifier import EVERY, Mark
from reconcile.store import Store, Transaction, key, tables
from reconcile.store.errors import StoreNotWritable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_BATCH = 1_000


def public_key(store: Store) -> str:
    """The store's public key: 64 hex digits. Anchors and exports name it; keep it where you keep such things."""
    return _private(store).public_key().public_bytes_raw().hex()


def mark(store: Store, seq: int, head: str, at: str) -> Mark:
    """A head, signed. `at` is a canonical instant."""
    private = _private(store)
    signer = private.public_key().public_bytes_raw().hex()
    bare = Mark(store.id, store.epoch, seq, head, at, signer, "")
    return Mark(store.id, store.epoch, seq, head, at, signer, private.sign(bare.signed).hex())


def write(tx: Transaction, heads: list[tuple[int, str, str]]) -> None:
    """Sign and keep these heads (entry, head, time)."""
    rows = []
    for seq, head, at in heads:
        said = mark(tx.store, seq, head, at).to_json()
        rows.append({name: value for name, value in said.items() if name != "store"})
    tx.connection.execute(sa.insert(_raw), rows)
    newest = mark(tx.store, *heads[-1])
    tx.after_commit.append(lambda: _keep_beside(tx.store, newest))
    points.reach("audit.checkpoint.written")


def beside(store: Store) -> Mark | None:
    """The newest signed head that stands beside the key; None where none of this store does. Raises ValueError."""
    try:
        said = json.loads(store.signed_file.read_text(encoding="ascii"))
    except OSError:
        return None  # made at the next checkpoint, or its folder may not be written; `audit verify` says so
    found = Mark.of(said)
    return found if found.store == store.id else None


def _keep_beside(store: Store, newest: Mark) -> None:
    """Where the folder of the key may not be written there is no such file, and `audit verify` remarks that."""
    with contextlib.suppress(ValueError):
        there = beside(store)
        if there is not None and (there.epoch, there.seq) >= (newest.epoch, newest.seq):
            return
    with contextlib.suppress(StoreNotWritable, OSError):  # OSError: a read-only mount refuses even to delete nothing
        key.write_text(store.signed_file, newest.line(), store.where)


def last(tx: Transaction) -> Mark | None:
    """The newest checkpoint."""
    row = tx.connection.execute(_NEWEST).mappings().one_or_none()
    return None if row is None else _mark(tx.store, row)


def get(tx: Transaction, seq: int) -> Mark | None:
    """The checkpoint of that entry."""
    row = tx.connection.execute(sa.select(_raw).where(_raw.c.seq == seq)).mappings().one_or_none()
    return None if row is None else _mark(tx.store, row)


def all_of(tx: Transaction) -> Iterator[Mark]:
    """Every checkpoint as it stands, oldest first, streamed."""
    found = tx.connection.execute(sa.select(_raw).order_by(_raw.c.seq).execution_options(yield_per=_BATCH))
    for row in found.mappings():
        yield _mark(tx.store, row)


def due_within(first: int, end: int) -> range:
    """The entries among these that are to be signed."""
    return range(-(-first // EVERY) * EVERY, end + 1, EVERY)


def _private(store: Store) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - see below

    # cryptography takes longer to load than a short command to run, and most write less than a checkpoint
    seed = hmac.new(store.key, f"reconcile/audit/1/signing-key|{store.id}".encode(), hashlib.sha256).digest()
    return Ed25519PrivateKey.from_private_bytes(seed)


def _mark(store: Store, row: sa.RowMapping) -> Mark:
    said: dict[str, Any] = {name: row[name] for name in Mark.__dataclass_fields__ if name != "store"}
    return Mark(store.id, **said)


_raw = sa.table("checkpoints", *(sa.column(c.name) for c in tables.checkpoints.c))
_NEWEST = sa.select(_raw).order_by(_raw.c.seq.desc()).limit(1)
