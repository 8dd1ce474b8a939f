"""The store's secret key: a file of mode 0600 beside the state, created once, never logged.

It turns the subjects of the audit log into HMACs, since a plain hash of an e-mail is still personal data. Beside an
SQLite store it is `<state file>.key`; with PostgreSQL it is `reconcile.key` beside the configuration and must be
copied to every host that shares the store, or passed in by the caller. `meta.key_check` detects a wrong one.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from reconcile.store import private_files
from reconcile.store.errors import StoreKeyMissing, StoreNotWritable

SIZE = 32


def check(key: bytes, store_id: str) -> str:
    """Return the value of `meta.key_check` for this key: it identifies the right key and reveals nothing of it."""
    return hmac.new(key, f"reconcile/key-check|{store_id}".encode(), hashlib.sha256).hexdigest()


def make(path: Path, where: str) -> bytes:
    """Read the key in the file, or create it. The caller holds the lock for creating stores."""
    if path.exists():
        return read(path, where)
    key = secrets.token_bytes(SIZE)
    write(path, key, where)
    return key


def write(path: Path, key: bytes, where: str) -> None:
    """Write the key file atomically; raises StoreNotWritable."""
    write_text(path, key.hex(), where)


def write_text(path: Path, text: str, where: str) -> None:
    """Write a line to a file beside the key, or to the key file, atomically; raises StoreNotWritable."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        with private_files.create(fresh) as file:
            file.write(f"{text}\n".encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise StoreNotWritable(where, f"its key file {path}: {error.strerror}") from error
    finally:
        fresh.unlink(missing_ok=True)


def signed_of(path: Path) -> Path:
    """Return the file of the newest signed head of the audit log (see reconcile.audit.checkpoints)."""
    return path.with_name(f"{path.name}.signed")


def next_of(path: Path) -> Path:
    """Return the file of the key of a state being restored; it replaces the key file after the commit."""
    return path.with_name(f"{path.name}.next")


def take_next(path: Path, where: str) -> None:
    """Move the waiting key, if any, into place; another process may do so at the same time."""
    try:
        next_of(path).replace(path)
        sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreNotWritable(where, f"its key file {path}: {error.strerror}") from error


def fitting(path: Path, where: str, store_id: str, key_check: str, override: bytes | None = None) -> bytes:
    """Return the key of this store: the override, or the key in the file. Raises StoreKeyMissing.

    A restore killed at its end leaves the key in `next_of`; it is moved into place now.
    """
    waiting = next_of(path)
    if override is None and waiting.exists() and _fits(read(waiting, where), store_id, key_check):
        take_next(path, where)
    key = override or read(path, where)
    if not _fits(key, store_id, key_check):
        raise StoreKeyMissing(where, str(path), "belongs to another store")
    return key


def _fits(key: bytes, store_id: str, key_check: str) -> bool:
    return hmac.compare_digest(check(key, store_id), key_check)


def sync_folder(folder: Path) -> None:
    """Make renames in the folder survive a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read(path: Path, where: str) -> bytes:
    """Read the key in the file; raises StoreKeyMissing if it is missing, truncated, or readable by others."""
    try:
        if path.stat().st_mode & 0o077:
            raise StoreKeyMissing(
                where, str(path), "can be read by other users: chmod 600 it, or restore the right one"
            )
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise StoreKeyMissing(where, str(path), f"cannot be read ({error.strerror})") from error
    except ValueError:
        raise StoreKeyMissing(where, str(path), "contains no key") from None
    if len(key) != SIZE:
        raise StoreKeyMissing(where, str(path), "contains an incomplete key")
    return key
