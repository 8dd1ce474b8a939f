"""Keys and payloads as the store holds them: HMACs under its secret, so that nobody reads or guesses them there.

A key is derived from the thing, never from the moment: a time is refused, because each attempt has another one. Empty
parts are refused, because all things without a name would be one thing. A number may be given as a text.
"""

from __future__ import annotations

import datetime as dt
import functools
import hmac
import unicodedata
import uuid
from base64 import b32encode
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from reconcile.errors import Wrong
from reconcile.store.columns import json_text
from rules.values import canonical_instant

VERSION = 1
PREFIX = f"gk{VERSION}."
"""How every key begins, as people see it."""
LONGEST_PART, MOST_PARTS = 500, 20
DEEPEST = 50
"""Levels of a payload."""

Part = str | int | uuid.UUID | dt.date
Key = Part | Sequence[Part]


class KeyRefused(Wrong):
    """This cannot be a key; nothing was claimed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"This cannot be a key: {why}. Nothing was claimed")


class PayloadRefused(Wrong):
    """This cannot be a payload; nothing was claimed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"This cannot be a payload: {why}. Nothing was claimed")


def key_of(secret: bytes, namespace: str, key: Key) -> str:
    """Return `gk1.<key id>.<32 characters>`: 160 bits of an HMAC-SHA256 of namespace and key. Raises KeyRefused."""
    parts = key if isinstance(key, Sequence) and not isinstance(key, str | bytes) else (key,)
    if not 1 <= len(parts) <= MOST_PARTS:
        raise KeyRefused(f"it has {len(parts)} parts; use 1 to {MOST_PARTS}")
    fields = {"v": VERSION, "namespace": namespace, "key": [_part(part) for part in parts]}
    digest = hmac.digest(secret, b"reconcile/guard/1/key\0" + json_text(fields).encode(), "sha256")
    return f"{PREFIX}{_key_id(secret)}.{_base32(digest[:20])}"


def fingerprint(secret: bytes, payload: Any) -> str:
    """Return the HMAC of a payload: equal for equal JSON, whatever the order of its names. Raises PayloadRefused."""
    text = json_text(_canonical(payload, DEEPEST))
    return hmac.digest(secret, b"reconcile/guard/1/payload\0" + text.encode(), "sha256").hex()


def _part(part: object) -> str:
    if isinstance(part, bool) or not isinstance(part, str | int | uuid.UUID | dt.date):
        raise KeyRefused(f"a part is of type {type(part).__name__}; use texts, whole numbers, days or UUIDs")
    if isinstance(part, dt.datetime):
        raise KeyRefused("a part is a time, which differs between attempts; use what names the thing, such as its id")
    text = unicodedata.normalize("NFC", str(part))
    if not text.strip():
        raise KeyRefused("a part is empty, so all things without a value would have the same key")
    if len(text) > LONGEST_PART:
        raise KeyRefused(f"a part has {len(text)} characters; use up to {LONGEST_PART}")
    return text


def _canonical(value: Any, depth: int) -> Any:
    """Return JSON that is equal exactly if two payloads are: 1, 1.0 and Decimal("1.00") are the same number."""
    if depth == 0:
        raise PayloadRefused(f"it has more than {DEEPEST} levels")
    match value:
        case None | bool() | str():
            return value
        case dt.datetime() if value.tzinfo is None:
            raise PayloadRefused("it has a time without a time zone")
        case dt.datetime():
            return canonical_instant(value)
        case dt.date() | uuid.UUID():
            return str(value)
        case int() | float() | Decimal():
            return ["number", _number(value)]
        case Mapping():
            return ["object", {_name(name): _canonical(item, depth - 1) for name, item in value.items()}]
        case list() | tuple():
            return ["array", *(_canonical(item, depth - 1) for item in value)]
    raise PayloadRefused(f"it has a value of type {type(value).__name__}; use JSON")


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise PayloadRefused(f"it has a name of type {type(name).__name__}; names in JSON are texts")
    return name


def _number(value: float | Decimal) -> str:
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise PayloadRefused("it has a number that is not finite")
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    kept = text.rstrip("0")
    return f"{'-' * sign}{kept}E{int(exponent) + len(text) - len(kept)}" if kept else "0"


@functools.lru_cache(maxsize=8)
def _key_id(secret: bytes) -> str:
    return _base32(hmac.digest(secret, b"reconcile/guard/1/key-id", "sha256"))[:6]


def _base32(digest: bytes) -> str:
    return b32encode(digest).decode("ascii").rstrip("=").lower()
