"""Checkpoints: heads of the audit log signed with Ed25519 by the store, in the transaction of the entry they cover.

The key pair is derived from the store's secret, so there is no second file to keep, copy to other hosts or lose.
Every hundredth entry is signed; `audit.checkpoint` signs the last one at the end of a run and once a minute.

The newest one is also kept in a file beside the key, outside the database. Somebody who can write only the database
cannot delete all checkpoints and make the log look as if it had never been signed.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reconcile import points
from reconcile.audit.verifier import EVERY, Mark
from reconcile.store import Store, Transaction, heads, key
from reconcile.store.errors import StoreNotWritable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def public_key(store: Store) -> str:
    """The store's public key: 64 hex digits. Anchors and exports name it; keep a copy in a safe place."""
    return _private(store).public_key().public_bytes_raw().hex()


def mark(store: Store, seq: int, head: str, at: str) -> Mark:
    """Sign a head. `at` is a canonical instant."""
    private = _private(store)
    signer = private.public_key().public_bytes_raw().hex()
    bare = Mark(store.id, store.epoch, seq, head, at, signer, "")
    return Mark(store.id, store.epoch, seq, head, at, signer, private.sign(bare.signed).hex())


def write(tx: Transaction, unsigned: list[tuple[int, str, str]]) -> None:
    """Sign and keep these heads (entry, head, time)."""
    marks = [mark(tx.store, *head) for head in unsigned]
    heads.insert(tx, [heads.SignedHead(m.epoch, m.seq, m.head, m.at, m.signer, m.signature) for m in marks])
    newest = marks[-1]
    tx.after_commit.append(lambda: _keep_beside(tx.store, newest))
    points.reach("audit.checkpoint.written")


def beside(store: Store) -> Mark | None:
    """The newest signed head in the file beside the key; None if it holds none of this store. Raises ValueError."""
    try:
        fields = json.loads(store.signed_file.read_text(encoding="ascii"))
    except OSError:
        return None  # the next checkpoint writes it, unless its folder is read-only; `audit verify` says so
    newest = Mark.of(fields)
    return newest if newest.store == store.id else None


def _keep_beside(store: Store, newest: Mark) -> None:
    """Write the newest head beside the key. If its folder is read-only, `audit verify` says so."""
    with contextlib.suppress(ValueError):
        current = beside(store)
        if current is not None and (current.epoch, current.seq) >= (newest.epoch, newest.seq):
            return
    with contextlib.suppress(StoreNotWritable, OSError):  # OSError: a read-only mount refuses even to delete nothing
        key.write_text(store.signed_file, newest.line(), store.where)


def get(tx: Transaction, seq: int) -> Mark | None:
    """The checkpoint of that entry."""
    head = heads.get(tx, seq)
    return None if head is None else Mark(tx.store.id, *head)


def all_of(tx: Transaction) -> Iterator[Mark]:
    """Every checkpoint as stored, oldest first, streamed."""
    return (Mark(tx.store.id, *head) for head in heads.all_of(tx))


def due_within(first: int, end: int) -> range:
    """The entries among these that need a signature."""
    return range(-(-first // EVERY) * EVERY, end + 1, EVERY)


def _private(store: Store) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - see below

    # cryptography loads more slowly than a short command runs, and most commands write no checkpoint
    seed = hmac.new(store.key, f"reconcile/audit/1/signing-key|{store.id}".encode(), hashlib.sha256).digest()
    return Ed25519PrivateKey.from_private_bytes(seed)
