"""A folder for temporary files, which the next process removes if this one is killed.

A process locks its folder as long as it lives; the kernel releases the lock at its death, without any trust in pids or
namespaces. A folder is removed when its lock is free. A folder of another boot may be another host's, whose locks are
invisible on some network file systems, so it must also be a week old.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import re
import shutil
import tempfile
import time
import weakref
from pathlib import Path
from types import TracebackType

FOREIGN_AGE = 7 * 86_400
"""Seconds after which a folder of another boot is removed, if its lock is free and nothing in it has changed since."""

_NAME = re.compile(r"\.?reconcile-scratch-(?P<boot>[0-9a-f]{8})-\w+")


class Scratch:
    """A new folder in `folder` (default: the temporary one), closed to other users; `close` removes it.

    Also removes folders that killed processes of this user left there. `hidden`: its name begins with a dot.
    """

    def __init__(self, folder: Path | None = None, *, hidden: bool = False) -> None:
        place = Path(tempfile.gettempdir()) if folder is None else folder
        remove_left(place)
        self.path, lock = _new_folder(place, f"{'.' * hidden}reconcile-scratch-{_boot()}-")
        self._close = weakref.finalize(self, _remove, self.path, lock, os.getpid())

    def close(self) -> None:
        """Remove the folder with everything in it. Safe to call twice."""
        self._close()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def remove_left(folder: Path) -> None:
    """Remove the scratch folders of dead processes in this folder. Ignores folders that cannot be removed."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder)):
            name = _NAME.fullmatch(entry.name)
            if name and entry.is_dir(follow_symlinks=False) and entry.stat().st_uid == os.geteuid():
                with contextlib.suppress(OSError):
                    _remove_if_left(Path(entry.path), is_local=name["boot"] == _boot())


def _remove_if_left(path: Path, *, is_local: bool) -> None:
    """Remove the folder. Raises OSError if its process lives or the file system has no locks."""
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_local or time.time() - _last_change(path) > FOREIGN_AGE:
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def _last_change(path: Path) -> float:
    return max(entry.lstat().st_mtime for entry in (path, *path.rglob("*")))


def _new_folder(folder: Path, prefix: str) -> tuple[Path, int]:
    """Create a folder and lock it. If another process removes it before the lock, try again.

    Without locks in the file system no process gets one, so none removes the folder.
    """
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
        with contextlib.suppress(FileNotFoundError, BlockingIOError):
            return path, _lock(path)


def _lock(path: Path) -> int:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.lstat()
    except (BlockingIOError, FileNotFoundError):
        os.close(lock)
        raise
    except OSError:
        return lock
    return lock


def _remove(path: Path, lock: int, owner: int) -> None:
    """Remove the folder, but not in a process forked from its owner."""
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


@functools.cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
