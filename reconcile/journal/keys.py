"""Idempotency keys: one per effect, record and generation, always the same for every process.

A key is a keyed hash: a plain hash of an e-mail address is still personal data. It must not depend on time,
attempt, run, worker, revision of the rule, order of rows, or the other records of the group, which may grow.
"""

from __future__ import annotations

import base64
import functools
import hmac

from reconcile.store.columns import json_text

VERSION = 1


def key_of(secret: bytes, *, namespace: str, target: str, effect: str, record: str, generation: int) -> str:
    """`rk1.<key id>.<52 characters>`: HMAC-SHA256 of the canonical JSON of the arguments, in base 32.

    `namespace` is the store's id, `target` the target's identity, `record` the typed name of a record (`name_of`).
    """
    fields = {"v": VERSION, "namespace": namespace, "target": target, "effect": effect, "record": record}
    digest = hmac.digest(secret, json_text(fields | {"generation": generation}).encode(), "sha256")
    return f"rk{VERSION}.{key_id(secret)}.{_base32(digest)}"


@functools.lru_cache(maxsize=8)
def key_id(secret: bytes) -> str:
    """Six characters that identify the secret of a key without revealing it."""
    return _base32(hmac.digest(secret, b"reconcile/effects/1/key-id", "sha256"))[:6]


def name_of(table: str, record: str) -> str:
    """A record's name within its target: its table, and its id as the store names it (`identity.record_of`)."""
    return json_text([table, record])


def subject_of(secret: bytes, name: str) -> str:
    """The journal's form of a record's name: 64 hex digits that outlive the erasure of everything else."""
    return hmac.digest(secret, b"reconcile/effects/1/record\0" + name.encode(), "sha256").hex()


def _base32(digest: bytes) -> str:
    return base64.b32encode(digest).decode().rstrip("=").lower()
