"""Seal plans stored before `encryption_key` was set, if the audit log covers them."""

from __future__ import annotations

from dataclasses import dataclass

from reconcile.audit import facts, log
from reconcile.errors import Wrong
from reconcile.store import Store, unsealed


class NoSealKey(Wrong):
    """No key for sealing is configured; nothing was changed."""

    def __init__(self) -> None:
        super().__init__("No `encryption_key` is configured, so nothing can be sealed; nothing was changed. Set one")


@dataclass(frozen=True)
class SealedNow:
    """The number of sealed plans, and the ids of refused ones: nothing proves that Reconcile stored them."""

    plans: int
    refused: tuple[str, ...] = ()


def seal(store: Store, *, actor: str = "reconcile") -> SealedNow:
    """Seal the rows of plans that are stored unencrypted and match the audit log; in small transactions.

    Other plans stay unchanged, and cannot be opened. Safe to repeat and to kill. Raises NoSealKey, StoreError.
    """
    if store.seals.kid is None:
        raise NoSealKey
    sealed, refused, last = 0, list[str](), ""
    while True:
        with store.begin() as tx:
            ids = unsealed.next_ids(tx, last)
            if not ids:
                return SealedNow(sealed, tuple(refused))
            recorded = facts.as_recorded(tx, facts.PLAN, ids)
            proven = [name for name in ids if recorded.get(name, False)]
            if proven:
                unsealed.seal(tx, proven)
                log.touch(tx, facts.PLAN, proven)
                body = {"plans": len(proven), "key": store.seals.kid}
                log.append(tx, actor, "state.sealed", f"store:{store.id}", body)
        sealed += len(proven)
        refused += [name for name in ids if name not in proven]
        last = ids[-1]
