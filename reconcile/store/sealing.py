"""Sealed texts: what records held before a cleaning, encrypted in the state so that a copy of it tells nobody.

AES-256-GCM with a random nonce of 96 bits. A sealed text is `rs1.<key id>.<base64url of nonce, ciphertext, tag>`: it
names its form and its key, so that both can change while older texts stay readable. What it belongs to is
authenticated with it: put into another row, it does not open. Without a key texts stay as they are; once there is
one, only sealed texts are opened: whoever may write the state could put any other text in their place.

A key may seal 2^32 texts before two random nonces meet with a chance of 2^-33 (NIST SP 800-38D, 8.3); that is a
cleaning every second for 136 years.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import aead

FORM = "rs1"
KEY_SIZE = 32

_NONCE = 12


class SealedUnreadable(Exception):
    """A sealed text does not open. Nothing was changed or lost: it opens again once the reason is gone."""


class SealKeyMissing(SealedUnreadable):
    """It was sealed with a key that is not configured."""

    def __init__(self, kid: str, known: Sequence[str]) -> None:
        here = f"this configuration has {', '.join(known)}" if known else "this configuration has none"
        super().__init__(
            f"What was there before a cleaning is sealed with the key {kid}, and {here}: add that key to the list of "
            "`encryption_key`. Nothing was changed, and nothing is lost as long as the key is kept"
        )


class SealBroken(SealedUnreadable):
    """It was sealed with a key that is here, and is not what was sealed."""

    def __init__(self, kid: str) -> None:
        super().__init__(
            f"What was there before a cleaning, sealed with the key {kid}, was damaged or put there from elsewhere: it "
            "is not used. Compare the state with a backup"
        )


class NotSealed(SealedUnreadable):
    """A key is configured, and the text is not sealed: it was stored before, or somebody else put it there."""

    def __init__(self) -> None:
        super().__init__(
            "What was there before a cleaning is stored unsealed, and `encryption_key` is set: it is not used. If it "
            "was stored before the key was set, run `reconcile seal`, which checks it against the audit log and seals "
            "it. Nothing was changed"
        )


class SealUnknown(SealedUnreadable):
    """It was sealed in a form of a later version."""

    def __init__(self, form: str) -> None:
        super().__init__(
            f"What was there before a cleaning is sealed in the form {form}, which a later version of Reconcile "
            "writes; use that version. Nothing was changed"
        )


def key_id(key: bytes) -> str:
    """Eight hex digits by which a key is called; they tell nothing of it."""
    return hashlib.sha256(b"reconcile/seal-key|" + key).hexdigest()[:8]


class Seals:
    """Seals with the first of some keys of 32 bytes and opens with all of them; without any, texts stay as they are."""

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        if any(len(key) != KEY_SIZE for key in keys):
            raise ValueError(f"a key for sealing has {KEY_SIZE} bytes")
        self._keys = {key_id(key): key for key in keys}

    def __repr__(self) -> str:
        return f"Seals({', '.join(self._keys) or 'no key'})"

    @property
    def kid(self) -> str | None:
        """The id of the key that seals; None without one."""
        return next(iter(self._keys), None)

    def seal(self, text: str, of: str) -> str:
        """The text so that it opens only with the key, and only as what it is `of` (a bundle's id)."""
        if self.kid is None:
            return text
        nonce = secrets.token_bytes(_NONCE)
        sealed = _cipher(self._keys[self.kid]).encrypt(nonce, text.encode(), _bound(self.kid, of))
        return f"{FORM}.{self.kid}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, text: str, of: str) -> str:
        """What was sealed; without any key, a text that is not sealed as it is. Raises SealedUnreadable."""
        if not is_sealed(text):
            if self._keys:
                raise NotSealed
            return text
        form, kid, body = text.split(".", 2)
        if form != FORM:
            raise SealUnknown(form)
        if kid not in self._keys:
            raise SealKeyMissing(kid, tuple(self._keys))
        return _opened(self._keys[kid], kid, body, of)


def is_sealed(text: str) -> bool:
    """Whether a text is sealed; JSON never looks like that."""
    form, dot, rest = text.partition(".")
    return bool(dot) and form.startswith("rs") and form[2:].isdecimal() and "." in rest


def _opened(key: bytes, kid: str, body: str, of: str) -> str:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - see _cipher

    try:
        raw = base64.b64decode(body, altchars=b"-_", validate=True)
        return _cipher(key).decrypt(raw[:_NONCE], raw[_NONCE:], _bound(kid, of)).decode()
    except (binascii.Error, ValueError, InvalidTag) as why:
        raise SealBroken(kid) from why


def _cipher(key: bytes) -> aead.AESGCM:
    from cryptography.hazmat.primitives.ciphers import aead  # noqa: PLC0415 - few have a key

    return aead.AESGCM(key)


def _bound(kid: str, of: str) -> bytes:
    return f"{FORM}|{kid}|{of}".encode()
