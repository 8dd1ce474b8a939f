"""Replace a file by a new version, so that neither a crash nor another program's save loses anything.

The new version is written beside the file and then exchanged with it in one step. What comes out is compared with what
was read: if somebody saved in between, their version goes back. Files of ours beside `customers.csv`, all hidden:

    .customers.csv.reconcile-lock     held while we work on the file
    .customers.csv.reconcile-new      a version that is being written
    .customers.csv.reconcile-former   the version before our last change

A version that somebody saved and that cannot go back is kept as `customers.csv.saved-1`. POSIX only.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from connectors.disk.paths import beside
from connectors.target import TargetError, TargetRefused, TransactionOutcome

STEPS = ("written", "noted", "compared", "exchanged", "verified", "kept")
"""The steps of a replacement, in order; see `armed`."""
armed: Callable[[str], None] | None = None
"""Called after each step. Only tests set it: to save the file, or to die, between two steps."""

_OPENED_BY = {"Excel": "~${}", "LibreOffice": ".~lock.{}#"}
"""The file that each program keeps beside one that is open there."""
_PAUSING = frozenset(
    {errno.EACCES, errno.ENAMETOOLONG, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ETXTBSY}
)
_WITHOUT_EXCHANGE = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_WAIT = 0.05

Outcome = Literal["done", "not_done"]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def not_changed(name: str, reason: str, remedy: str, outcome: TransactionOutcome) -> TargetError:
    """The error of a change that was not made, as one sentence."""
    return TargetError(f"{name} was not changed: {reason}; {remedy}", outcome)


def refuse_links(path: Path, name: str) -> None:
    """Raise TargetRefused for a file that an exchange would tear from its other names, and for anything else."""
    status = path.lstat()
    reason = None
    if stat.S_ISLNK(status.st_mode):
        reason = "it is a symbolic link, which an exchange of the file would replace; name the file behind it"
    elif not stat.S_ISREG(status.st_mode):
        reason = "it is not a regular file; name a file"
    elif status.st_nlink > 1 and not (status.st_nlink == 2 and _is_same(path, beside(path, "former"))):
        reason = "it has several names (hard links), which an exchange would separate; make a copy with only one"
    if reason:
        raise TargetRefused(f"Records of {name} cannot be cleaned: {reason}")


class LockedFile:
    """A file that no other process of ours works on as long as this block lasts.

    `path` has no link in it; `name` names it to people. After `seconds`, nothing is begun any more.
    """

    def __init__(self, path: Path, name: str, seconds: float) -> None:
        self.path, self.name = path, name
        self._end = time.monotonic() + seconds
        self._lock: int | None = None
        self._is_begun = False

    def __enter__(self) -> LockedFile:
        with self.failing("lock"):
            self._lock = self._locked()
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            with contextlib.suppress(OSError):  # somebody removed it, or the folder became read-only
                beside(self.path, "lock").unlink()
            os.close(self._lock)
            self._lock = None

    def read(self) -> bytes:
        with self.failing("read"):
            return self.path.read_bytes()

    def must_be_free(self) -> None:
        """Raise a TargetError, which is a PAUSE, if the file is open in an office program or may not be written."""
        for program, form in _OPENED_BY.items():
            marker = self.path.with_name(form.format(self.path.name))
            if os.path.lexists(marker):
                remedy = f"close it there, or remove {marker.name} if it is not open"
                raise not_changed(self.name, f"it is open in {program}", remedy, TransactionOutcome.PAUSE)
        with self.failing("look at"):
            for place, what in ((self.path, "the file"), (self.path.parent, "its folder")):
                if not place.stat().st_mode & _WRITE_BITS or not os.access(place, os.W_OK):
                    reason = f"{what} is read-only"
                    raise not_changed(self.name, reason, f"allow writing to {what}", TransactionOutcome.PAUSE)

    def replace(
        self, before: str, data: bytes, note: Callable[[], None], is_former_ours: Callable[[str], bool]
    ) -> None:
        """Replace the version with the digest `before` by this one; `note` is called before that begins.

        `is_former_ours` is asked about the digest of the former version that is kept so far. Raises a TargetError:
        NOT_DONE if another version is there, UNKNOWN if somebody saved twice meanwhile, so that only the rows can tell.
        """
        new, former = beside(self.path, "new"), beside(self.path, "former")
        self._is_begun = False
        self.must_be_free()
        try:
            with self.failing("write"):
                self._write_new(new, data)
                _reach("written")
                note()
                _reach("noted")
                self.must_be_free()
                self._must_be_unchanged(before)
                _reach("compared")
                self._set_apart(former, is_former_ours)
                self._is_begun = True
                came_out = new if _exchanged(new, self.path) else self._replaced(new, former)
                _reach("exchanged")
                if digest(came_out.read_bytes()) != before:
                    self._give_back(came_out, digest(data))
                _reach("verified")
                came_out.rename(former)
                _sync_folder(self.path.parent)
                _reach("kept")
        except TargetError:
            if not self._is_begun:
                new.unlink(missing_ok=True)
            raise

    def settle(self, before: str, after: str, rows: Callable[[bytes], Outcome | None]) -> Outcome | None:
        """Tell if a replacement was done that a process began and did not finish; tidy up after it.

        None if only a person can tell. `rows` looks at the rows of a version that is neither of the two.
        """
        new, former = beside(self.path, "new"), beside(self.path, "former")
        with self.failing("settle"):
            now = digest(self.path.read_bytes())
            out = new if new.exists() or now != after else former
            left = digest(out.read_bytes()) if out.exists() else None
            if now == after and left not in (None, before, after):  # a save came out, and the process died
                _exchange_or_replace(out, self.path)
                now, left = left, after
            if left == before:
                out.rename(former)
            elif left == after:
                out.unlink()
            elif left is not None:
                self._keep(out)
            _sync_folder(self.path.parent)
            data = self.path.read_bytes()
        if now in (before, after):
            return "done" if now == after else "not_done"
        return "not_done" if left == after else rows(data)

    def tidy(self) -> None:
        """Remove what a process left that died before it noted anything."""
        with self.failing("tidy"):
            beside(self.path, "new").unlink(missing_ok=True)

    @contextlib.contextmanager
    def failing(self, step: str, *, unknown: bool = False) -> Iterator[None]:
        """Raise a TargetError instead of an OSError: UNKNOWN if the file may have been exchanged."""
        try:
            yield
        except OSError as error:
            outcome = TransactionOutcome.PAUSE if error.errno in _PAUSING else TransactionOutcome.NOT_DONE
            if unknown or self._is_begun:
                outcome = TransactionOutcome.UNKNOWN
            reason = f"the system refused to {step} it ({(error.strerror or type(error).__name__).lower()})"
            remedy = "check the rights and the free space of its folder"
            raise not_changed(self.name, reason, remedy, outcome) from error

    def _locked(self) -> int:
        lock = beside(self.path, "lock")
        while True:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.lexists(lock) and os.path.samestat(os.fstat(descriptor), lock.stat()):
                    return descriptor
            except BlockingIOError:
                if time.monotonic() > self._end:
                    os.close(descriptor)
                    reason = "another process of Reconcile is working on it"
                    raise not_changed(self.name, reason, "try again", TransactionOutcome.NOT_DONE) from None
                time.sleep(_WAIT)
            os.close(descriptor)

    def _must_be_unchanged(self, before: str) -> None:
        if time.monotonic() > self._end:
            raise not_changed(self.name, "the time limit passed", "it is tried again", TransactionOutcome.NOT_DONE)
        if digest(self.path.read_bytes()) != before:
            raise self._saved_meanwhile()

    def _write_new(self, new: Path, data: bytes) -> None:
        """Write the new version with the mode, the owner and the attributes of the file."""
        new.unlink(missing_ok=True)
        status = self.path.stat()
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if (os.fstat(descriptor).st_uid, os.fstat(descriptor).st_gid) != (status.st_uid, status.st_gid):
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
            for name in os.listxattr(self.path):
                with contextlib.suppress(OSError):  # of the system, or of a file system without such attributes
                    os.setxattr(descriptor, name, os.getxattr(self.path, name))
            os.fsync(descriptor)

    def _replaced(self, new: Path, former: Path) -> Path:
        """Replace the file where the system cannot exchange two; return its former version, by a link made before."""
        former.unlink(missing_ok=True)
        os.link(self.path, former)
        if not _is_same(self.path, former):  # saved between the two calls
            former.unlink()
            self._is_begun = False
            raise self._saved_meanwhile()
        new.replace(self.path)
        return former

    def _give_back(self, came_out: Path, after: str) -> None:
        """Put back what somebody saved in between; raise the TargetError for it."""
        if came_out == beside(self.path, "former"):
            self._restore_linked(came_out, after)
            raise self._saved_meanwhile()
        _exchange_or_replace(came_out, self.path)
        if digest(came_out.read_bytes()) == after:
            came_out.unlink()
            _sync_folder(self.path.parent)
            raise self._saved_meanwhile()
        _exchange_or_replace(came_out, self.path)  # saved once more: the newest version keeps the name
        kept = self._keep(came_out)
        raise not_changed(
            self.name,
            f"it was saved twice at the same moment, and the earlier version is now {kept.name}",
            "compare the two",
            TransactionOutcome.UNKNOWN,
        )

    def _restore_linked(self, former: Path, after: str) -> None:
        """Put back a version that somebody wrote into the file that we replaced."""
        if digest(self.path.read_bytes()) != after:
            kept = self._keep(former)
            raise not_changed(
                self.name,
                f"it was saved twice, and one version is now {kept.name}",
                "compare the two",
                TransactionOutcome.UNKNOWN,
            )
        former.rename(self.path)
        _sync_folder(self.path.parent)

    def _saved_meanwhile(self) -> TargetError:
        reason = "another program saved it at the same moment, and that version is kept"
        return not_changed(self.name, reason, "it is tried again", TransactionOutcome.NOT_DONE)

    def _set_apart(self, former: Path, is_ours: Callable[[str], bool]) -> None:
        """Keep the version before our last change under a name of its own if somebody wrote into it since."""
        if former.exists() and not is_ours(digest(former.read_bytes())):
            self._keep(former)

    def _keep(self, file: Path) -> Path:
        """Give a version that somebody saved a clear name of its own."""
        for number in range(1, 1_000):
            kept = self.path.with_name(f"{self.path.name}.saved-{number}")
            with contextlib.suppress(FileExistsError):
                os.close(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
                file.rename(kept)
                return kept
        raise FileExistsError(errno.EEXIST, "too many saved versions", str(self.path))


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
    _sync_folder(path.parent)


def _exchanged(first: Path, second: Path) -> bool:
    """Exchange two files in one step; False where the system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        _sync_folder(second.parent)
        return True
    number = ctypes.get_errno()
    if number in _WITHOUT_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(second))


def _exchange_or_replace(first: Path, second: Path) -> None:
    if not _exchanged(first, second):
        aside = second.with_name(f"{first.name}-aside")
        os.link(second, aside)
        first.replace(second)
        aside.rename(first)


def _is_same(first: Path, second: Path) -> bool:
    return os.path.lexists(second) and os.path.samestat(first.lstat(), second.lstat())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reach(step: str) -> None:
    if armed is not None:
        armed(step)
