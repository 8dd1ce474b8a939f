"""Idempotency keys: one for an effect on a record and its generation, the same whoever computes it, and when.

A key is a keyed hash: a plain hash of an e-mail address is still personal data. What may never be part of it: time,
attempt, run, worker, revision of the rule, order of rows, and the other records of the group, which may grow.
"""

from __future__ import annotations

import base64
import functools
import hmac

from reconcile.store.columns import json_text

VERSION = 1


def key_of(secret: bytes, *, namespace: str, target: str, effect: str, record: str, generation: int) -> str:
    """`rk1.<key id>.<52 characters>`: HMAC-SHA256 of the canonical JSON of what is named, in base 32.

    `namespace` is the store's id, `target` what the target itself is, `record` the typed name of a record (`name_of`).
    """
    said = {"v": VERSION, "namespace": namespace, "target": target, "effect": effect, "record": record}
    digest = hmac.digest(secret, json_text(said | {"generation": generation}).encode(), "sha256")
    return f"rk{VERSION}.{key_id(secret)}.{_base32(digest)}"


@functools.lru_cache(maxsize=8)
def key_id(secret: bytes) -> str:
    """Six characters that tell which secret a key was made with, and nothing of it."""
    return _base32(hmac.digest(secret, b"reconcile/effects/1/key-id", "sha256"))[:6]


def name_of(table: str, record: str) -> str:
    """A record's name within its target: its table, and its id as the store names it (`identity.record_of`)."""
    return json_text([table, record])


def subject_of(secret: bytes, name: str) -> str:
    """What the journal holds of a record's name: 64 hex digits that outlive the erasure of everything else."""
    return hmac.digest(secret, b"reconcile/effects/1/record\0" + name.encode(), "sha256").hex()


def _base32(digest: bytes) -> str:
    return base64.b32encode(digest).decode().rstrip("=").lower()
