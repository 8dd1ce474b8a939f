"""Sessions that only Reconcile can make or bring back: each row is sealed, and the log says which ones ended.

The seal is an HMAC under the store's key over the row and the hash of the user's password. A row of a session that
ended has a right seal too, so the entries about the user are read as well.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator

from reconcile.audit import log
from reconcile.store import Transaction, audit_log
from reconcile.store import sessions as stored
from reconcile.store.columns import json_text
from reconcile.store.sessions import SessionRow
from rules.values import canonical_instant

BEGUN, ENDED = "session.begun", "session.ended"
_ENDS_ALL = ("user.password_changed", "user.disabled")
"""Events that end every session of a user, except the one that the entry names as `kept`."""
_SHOWN = 16


def named(session: str) -> str:
    """Return what the log calls a session."""
    return session[:_SHOWN]


def sealed(tx: Transaction, row: SessionRow, password: str | None) -> SessionRow:
    """Return the row with the seal that it needs; `password` is the hash of the user's password."""
    return row._replace(seal=_seal(tx, row, password))


def is_genuine(tx: Transaction, row: SessionRow, password: str | None) -> bool:
    """Return True if Reconcile stored this row, for a user with this hash of a password, and did not end it."""
    return hmac.compare_digest(row.seal or "", _seal(tx, row, password)) and not _has_ended(tx, row)


def forged(tx: Transaction) -> Iterator[str]:
    """Yield a sentence for each session that was changed or brought back outside Reconcile.

    A session without a seal comes from an earlier version; it is refused.
    """
    for row, password in stored.sealed_ones(tx):
        if not hmac.compare_digest(row.seal or "", _seal(tx, row, password)):
            yield f"a session of {row.user} differs from what Reconcile stored: it was changed outside Reconcile"
        elif _has_ended(tx, row):
            yield f"a session of {row.user} has ended, but is in the state: it was put back outside Reconcile"


def _seal(tx: Transaction, row: SessionRow, password: str | None) -> str:
    times = (canonical_instant(time) for time in (row.started_at, row.seen_at, row.ends_at))
    text = json_text([row.id, row.user, *times, password, tx.store.epoch])
    return hmac.digest(tx.store.key, f"reconcile/session-seal/1|{text}".encode(), "sha256").hex()


def _has_ended(tx: Transaction, row: SessionRow) -> bool:
    """Return True unless the log tells that the session began, and of no end since."""
    subject, name, has_begun = log.subject_of(tx.store, f"user:{row.user}"), named(row.id), False
    for entry in audit_log.since(tx, subject, (BEGUN, ENDED, *_ENDS_ALL), row.started_at):
        body = entry.body or {}
        if entry.event == BEGUN:
            has_begun = has_begun or body.get("session") == name
        elif has_begun and (body.get("session") == name if entry.event == ENDED else body.get("kept") != name):
            return True
    return not has_begun
