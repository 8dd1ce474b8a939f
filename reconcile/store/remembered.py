"""What a rule remembers of the records that its last run read, so that the next one compares only new records with all.

The bytes are the rule's own. They are encrypted under the store's key, which is in a file of its own: they tell which
records have values in common, so a copy of the state alone must not reveal them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import defaultdict
from collections.abc import Mapping

import sqlalchemy as sa

from reconcile.store.database import Transaction
from reconcile.store.tables import remembered

_PART = 1_000_000
"""Bytes of a row."""
_NONCE = 16


def keep(tx: Transaction, rule: str, dataset: str, contents: Mapping[str, bytes], *, all_of_them: bool) -> None:
    """Store what a rule remembers, by name; `all_of_them` are there, others stay."""
    stored = remembered.c
    of_rule = stored.rule == rule
    tx.connection.execute(
        sa.delete(remembered).where(of_rule if all_of_them else of_rule & stored.name.in_(sorted(contents)))
    )
    for name, content in contents.items():
        for number, begin in enumerate(range(0, len(content), _PART)):
            sealed = _sealed(tx.store.key, content[begin : begin + _PART], f"{rule}|{name}|{number}")
            row = {"rule": rule, "name": name, "number": number, "dataset": dataset, "content": sealed}
            tx.connection.execute(sa.insert(remembered).values(row))


def get(tx: Transaction, rule: str) -> dict[str, bytes]:
    """Return what a rule remembers, by name, without what was damaged or written under another key."""
    query = sa.select(remembered).where(remembered.c.rule == rule).order_by(remembered.c.name, remembered.c.number)
    parts: dict[str, list[bytes | None]] = defaultdict(list)
    for row in tx.connection.execute(query):
        parts[row.name].append(_opened(tx.store.key, row.content, f"{rule}|{row.name}|{row.number}"))
    return {
        name: b"".join(part for part in opened if part is not None)
        for name, opened in parts.items()
        if None not in opened
    }


def forget(tx: Transaction, rule: str) -> None:
    tx.connection.execute(sa.delete(remembered).where(remembered.c.rule == rule))


def rules_of(tx: Transaction, dataset: str) -> list[str]:
    """Return the rules that remember records of the dataset."""
    rules = sa.select(remembered.c.rule).distinct().where(remembered.c.dataset == dataset)
    return list(tx.connection.execute(rules.order_by(remembered.c.rule)).scalars())


def _sealed(key: bytes, content: bytes, of: str) -> bytes:
    nonce = secrets.token_bytes(_NONCE)
    hidden = _masked(key, nonce, content)
    return nonce + _tag(key, nonce + hidden, of) + hidden


def _opened(key: bytes, sealed: bytes, of: str) -> bytes | None:
    nonce, tag, hidden = sealed[:_NONCE], sealed[_NONCE : 2 * _NONCE], sealed[2 * _NONCE :]
    if not hmac.compare_digest(tag, _tag(key, nonce + hidden, of)):
        return None
    return _masked(key, nonce, hidden)


def _masked(key: bytes, nonce: bytes, content: bytes) -> bytes:
    """Return the content added to a stream of SHAKE-256, which is its own inverse."""
    stream = hashlib.shake_256(b"reconcile/remembered/1|" + key + nonce).digest(len(content))
    return (int.from_bytes(content, "little") ^ int.from_bytes(stream, "little")).to_bytes(len(content), "little")


def _tag(key: bytes, content: bytes, of: str) -> bytes:
    return hmac.digest(key, f"reconcile/remembered/1|{of}|".encode() + content, "sha256")[:_NONCE]
