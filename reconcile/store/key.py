"""The store's secret key: a file of mode 0600 beside the state, made once, never logged.

It turns the subjects of the audit log into HMACs, since a plain hash of an e-mail is still personal data. Beside an
SQLite store it is `<state file>.key`; with PostgreSQL it is `reconcile.key` beside the configuration and has to be
copied to every host that shares the store, or its content given by the caller. `meta.key_check` tells a wrong one.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from reconcile.store.errors import StoreKeyMissing, StoreNotWritable

SIZE = 32


def check(key: bytes, store_id: str) -> str:
    """What `meta.key_check` holds for this key: it tells whether a key is the right one and nothing of the key."""
    return hmac.new(key, f"reconcile/key-check|{store_id}".encode(), hashlib.sha256).hexdigest()


def make(path: Path, where: str) -> bytes:
    """The key in the file, made if there is none. The caller holds the lock under which stores are created."""
    if path.exists():
        return read(path, where)
    key = secrets.token_bytes(SIZE)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        handle = os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(key.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise StoreNotWritable(where, f"its key file {path}: {error.strerror}") from error
    return key


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read(path: Path, where: str) -> bytes:
    """The key in the file; raises StoreKeyMissing where there is none, it is cut, or others may read it."""
    try:
        if path.stat().st_mode & 0o077:
            raise StoreKeyMissing(
                where, str(path), "can be read by other users: chmod 600 it, or put back the right one"
            )
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise StoreKeyMissing(where, str(path), f"cannot be read ({error.strerror})") from error
    except ValueError:
        raise StoreKeyMissing(where, str(path), "does not hold a key") from None
    if len(key) != SIZE:
        raise StoreKeyMissing(where, str(path), "does not hold a whole key")
    return key
