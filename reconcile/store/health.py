"""Checks of the state database itself."""

from __future__ import annotations

import sqlalchemy as sa

from reconcile.store.database import Transaction
from reconcile.store.tables import audit, audit_head


def damage(tx: Transaction) -> str | None:
    """Return the first damage that SQLite's own check of the file finds; None without one, and on PostgreSQL."""
    if tx.store.is_shared:
        return None
    verdict = str(tx.connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one())
    return None if verdict == "ok" else verdict


def audit_length(tx: Transaction) -> int | None:
    """Return the number of entries of the audit log; None if its end does not match its recorded head."""
    head = tx.connection.execute(sa.select(audit_head.c.seq, audit_head.c.head)).one_or_none()
    last = tx.connection.execute(sa.select(audit.c.seq, audit.c.head).order_by(audit.c.seq.desc()).limit(1)).first()
    if head is None or (last or (0, "")) != (head.seq, head.head if head.seq else ""):
        return None
    return int(head.seq)


def setting(tx: Transaction, name: str) -> str:
    """Return the value of a PostgreSQL setting in this connection."""
    return str(tx.connection.execute(sa.text("SELECT current_setting(:name)"), {"name": name}).scalar_one())
