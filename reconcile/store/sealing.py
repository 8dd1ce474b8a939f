"""Sealed texts: values of records before a cleaning, encrypted in the state so that a copy of it reveals nothing.

AES-256-GCM with a random nonce of 96 bits. A sealed text is `rs1.<key id>.<base64url of nonce, ciphertext, tag>`: it
names its form and its key, so that both can change while older texts stay readable. Its row is authenticated with
it: moved to another row, it does not open. Without a key texts stay unsealed; with a key, only sealed texts are
opened, because anyone who can write the state could replace an unsealed text.

A key may seal 2^32 texts before two random nonces meet with a chance of 2^-33 (NIST SP 800-38D, 8.3); that is a
cleaning every second for 136 years.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from reconcile.errors import Failed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import aead

FORM = "rs1"
KEY_SIZE = 32

_NONCE = 12


class RowsUnreadable(Failed):
    """The stored rows of a plan cannot be read: `for_good`, or until the cause is fixed; nothing was changed."""

    for_good: ClassVar[bool] = False


class SealKeyMissing(RowsUnreadable):
    """It was sealed with a key that is not configured."""

    def __init__(self, kid: str, key_ids: Sequence[str]) -> None:
        configured = f"this configuration has {', '.join(key_ids)}" if key_ids else "this configuration has none"
        super().__init__(
            f"The values before a cleaning are sealed with the key {kid}, but {configured}: add that key to the list "
            "of `encryption_key`. Nothing was changed, and nothing is lost as long as you keep the key"
        )


class SealBroken(RowsUnreadable):
    """It was sealed with a configured key, but was changed since."""

    for_good = True

    def __init__(self, kid: str) -> None:
        super().__init__(
            f"The values before a cleaning, sealed with the key {kid}, were damaged or copied from elsewhere and are "
            "not used. Compare the state with a backup"
        )


class NotSealed(RowsUnreadable):
    """A key is configured, but the text is not sealed: it was stored earlier, or somebody else wrote it."""

    def __init__(self) -> None:
        super().__init__(
            "The values before a cleaning are stored unsealed although `encryption_key` is set, so they are not used. "
            "If they are older than the key, run `reconcile seal`, which checks them against the audit log and seals "
            "them. Nothing was changed"
        )


class SealUnknown(RowsUnreadable):
    """It was sealed in a form of a later version."""

    def __init__(self, form: str) -> None:
        super().__init__(
            f"The values before a cleaning are sealed in the form {form} of a later version of Reconcile; "
            "use that version. Nothing was changed"
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
        """Seal the text so that it opens only with the key, and only for the same `of` (a plan's id)."""
        if self.kid is None:
            return text
        nonce = secrets.token_bytes(_NONCE)
        sealed = _cipher(self._keys[self.kid]).encrypt(nonce, text.encode(), _bound(self.kid, of))
        return f"{FORM}.{self.kid}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, text: str, of: str) -> str:
        """Open a sealed text; without any key, return an unsealed text unchanged. Raises RowsUnreadable."""
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
    """Return True if a text is sealed; JSON never has this form."""
    form, dot, body = text.partition(".")
    return bool(dot) and form.startswith("rs") and form[2:].isdecimal() and "." in body


def _opened(key: bytes, kid: str, body: str, of: str) -> str:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - see _cipher

    try:
        raw = base64.b64decode(body, altchars=b"-_", validate=True)
        return _cipher(key).decrypt(raw[:_NONCE], raw[_NONCE:], _bound(kid, of)).decode()
    except (binascii.Error, ValueError, InvalidTag) as error:
        raise SealBroken(kid) from error


def _cipher(key: bytes) -> aead.AESGCM:
    from cryptography.hazmat.primitives.ciphers import aead  # noqa: PLC0415 - imported only with a key

    return aead.AESGCM(key)


def _bound(kid: str, of: str) -> bytes:
    return f"{FORM}|{kid}|{of}".encode()
