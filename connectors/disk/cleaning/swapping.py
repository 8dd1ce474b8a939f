"""Two files exchanged in one step, and a small file written durably, by the calls of the system. POSIX only."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
from pathlib import Path

_WITHOUT_EXCHANGE = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def write_durably(path: Path, data: bytes, like: Path) -> None:
    """Replace a small file of ours in one step, with the mode and the owner of another file."""
    new = path.with_name(f"{path.name}-next")
    new.unlink(missing_ok=True)
    status = like.stat()
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        os.fsync(descriptor)
    new.replace(path)
    sync_folder(path.parent)


def exchanged(first: Path, second: Path) -> bool:
    """Exchange two files in one step; return False where the system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        sync_folder(second.parent)
        return True
    number = ctypes.get_errno()
    if number in _WITHOUT_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(second))


def exchange_or_replace(first: Path, second: Path) -> None:
    """Exchange two files, by a link and two renames where the system cannot in one step."""
    if not exchanged(first, second):
        aside = second.with_name(f"{first.name}-aside")
        os.link(second, aside)
        first.replace(second)
        aside.rename(first)


def is_same(first: Path, second: Path) -> bool:
    """Return True if both are names of one file."""
    return os.path.lexists(second) and os.path.samestat(first.lstat(), second.lstat())


def sync_file(path: Path) -> None:
    """Make the content of a file durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
