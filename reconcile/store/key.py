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

from reconcile.store import private_files
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
    write(path, key, where)
    return key


def write(path: Path, key: bytes, where: str) -> None:
    """The key file, whole or not at all; raises StoreNotWritable."""
    write_text(path, key.hex(), where)


def write_text(path: Path, text: str, where: str) -> None:
    """A line in a file beside the key, or the key itself, whole or not at all; raises StoreNotWritable."""
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
    """Where the newest signed head of the audit log stands beside the key (see reconcile.audit.checkpoints)."""
    return path.with_name(f"{path.name}.signed")


def next_of(path: Path) -> Path:
    """Where the key of a state waits that is being restored; it takes the key file's place once that is kept."""
    return path.with_name(f"{path.name}.next")


def take_next(path: Path, where: str) -> None:
    """Put the key that waits, if one does, into its place; another process may do so at the same time."""
    try:
        next_of(path).replace(path)
        sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreNotWritable(where, f"its key file {path}: {error.strerror}") from error


def fitting(path: Path, where: str, store_id: str, key_check: str, given: bytes | None = None) -> bytes:
    """The key of this store: the one given, or that in the file. Raises StoreKeyMissing.

    A restore that was killed at its end left the key in `next_of`; it is put in its place now.
    """
    waiting = next_of(path)
    if given is None and waiting.exists() and _fits(read(waiting, where), store_id, key_check):
        take_next(path, where)
    key = given or read(path, where)
    if not _fits(key, store_id, key_check):
        raise StoreKeyMissing(where, str(path), "belongs to another store")
    return key


def _fits(key: bytes, store_id: str, key_check: str) -> bool:
    return hmac.compare_digest(check(key, store_id), key_check)


def sync_folder(folder: Path) -> None:
    """What was renamed in the folder stays so after a loss of power."""
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
