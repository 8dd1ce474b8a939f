"""Replace a file by a new version, so that neither a crash nor another program's save loses anything.

The new version is written beside the file and then exchanged with it in one step. What comes out is compared with what
was read: if somebody saved in between, their version goes back. Files of ours beside `customers.csv`, all hidden:

    .customers.csv.reconcile-lock     held while we work on the file
    .customers.csv.reconcile-new      a version that is being written
    .customers.csv.reconcile-former   the version before our last change; see `versions` for earlier ones

A version that somebody saved and that cannot go back is kept as `customers.csv.saved-1`. POSIX only.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from connectors.disk.cleaning import swapping, versions
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
_WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_WAIT = 0.05

Outcome = Literal["done", "not_done"]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def not_changed(name: str, reason: str, remedy: str, outcome: TransactionOutcome) -> TargetError:
    """The error of a change that was not made, as one sentence."""
    return TargetError(f"{name} was not changed: {reason}; {remedy}", outcome)


def _digest_of(path: Path) -> str | None:
    return digest(path.read_bytes()) if path.exists() else None


def refuse_links(path: Path, name: str) -> None:
    """Raise TargetRefused for a file that an exchange would tear from its other names, and for anything else."""
    status = path.lstat()
    reason = None
    if stat.S_ISLNK(status.st_mode):
        reason = "it is a symbolic link, which an exchange of the file would replace; name the file behind it"
    elif not stat.S_ISREG(status.st_mode):
        reason = "it is not a regular file; name a file"
    elif status.st_nlink > 1 and not (status.st_nlink == 2 and swapping.is_same(path, beside(path, "former"))):
        reason = "it has several names (hard links), which an exchange would separate; make a copy with only one"
    if reason:
        raise TargetRefused(f"Records of {name} cannot be cleaned: {reason}")


@dataclass(frozen=True)
class Standing:
    """Where the two versions of an interrupted exchange are, by their digests `before` and `after`.

    `now` is the digest of the file, None if it is missing; `left` that of `out`, the version beside it.
    """

    before: str
    after: str
    now: str | None
    left: str | None
    out: Path

    @property
    def outcome(self) -> Outcome | None:
        """Done or not, as far as the bytes of the file tell."""
        if self.now in (self.before, self.after):
            return "done" if self.now == self.after else "not_done"
        return None

    @property
    def can_go_on(self) -> bool:
        """Return True if the file is as it was read, and its next version is beside it."""
        return (self.now, self.left) == (self.before, self.after)

    @property
    def can_go_back(self) -> bool:
        """Return True if nobody saved the file since the exchange, and its former version is beside it."""
        return (self.now, self.left) == (self.after, self.before)


class LockedFile:
    """A file that no other process of ours works on as long as this block lasts.

    `path` has no link in it; `name` names it to people. After `seconds`, nothing is begun any more.
    """

    def __init__(self, path: Path, name: str, seconds: float) -> None:
        self.path, self.name = path, name
        self._end = time.monotonic() + seconds
        self._lock: int | None = None
        self._is_begun = False
        self._came_out: Path | None = None

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

    def write(self, data: bytes) -> None:
        """Write the next version beside the file. Raises a TargetError; then nothing was changed."""
        self._is_begun, self._came_out = False, None
        self.must_be_free()
        with self.failing("write"):
            self._write_new(beside(self.path, "new"), data)
            reach("written")

    def compare(self, before: str) -> None:
        """Raise a TargetError, which is NOT_DONE or PAUSE, unless the file still is the version with this digest."""
        self.must_be_free()
        with self.failing("read"):
            self._must_be_unchanged(before)
            reach("compared")

    def exchange(self, before: str, after: str, replaced_at: Callable[[str], str | None]) -> None:
        """Exchange the file for the version that was written; these are the digests of the two.

        `replaced_at` tells when a change of ours replaced the version with this digest. Raises a TargetError: NOT_DONE
        if another version was there, UNKNOWN if somebody saved twice meanwhile, so that only the rows can tell.
        """
        new, former = beside(self.path, "new"), beside(self.path, "former")
        with self.failing("write"):
            self._set_apart(former, replaced_at)
            self._is_begun = True
            came_out = new if swapping.exchanged(new, self.path) else self._replaced(new, former)
            reach("exchanged")
            if digest(came_out.read_bytes()) != before:
                self._give_back(came_out, after)
            self._came_out = came_out
            reach("verified")

    def must_hold(self, version: str) -> None:
        """Raise a TargetError, which is NOT_DONE, unless the file is the version with this digest."""
        with self.failing("read"):
            if _digest_of(self.path) != version:
                raise self._saved_meanwhile()

    def keep_former(self) -> None:
        """Keep the version that an exchange took out, beside the file."""
        assert self._came_out is not None  # noqa: S101 - the caller exchanged it
        with self.failing("write"):
            swapping.sync_file(self._came_out)  # the program that wrote it may not have made it durable
            self._came_out.rename(beside(self.path, "former"))
            swapping.sync_folder(self.path.parent)
            reach("kept")

    def abandon(self) -> None:
        """Remove the next version, unless it may be in the place of the file."""
        if not self._is_begun:
            beside(self.path, "new").unlink(missing_ok=True)

    def standing(self, before: str, after: str) -> Standing:
        """Tell where the versions of an interrupted exchange are; give back a save that came out of it."""
        new, former = beside(self.path, "new"), beside(self.path, "former")
        with self.failing("settle"):
            now = _digest_of(self.path)
            out = new if new.exists() or now != after else former
            left = _digest_of(out)
            if now == after and left not in (None, before, after):  # a save came out, and the process died
                swapping.exchange_or_replace(out, self.path)
                now, left = left, after
            return Standing(before, after, now, left, out)

    def take_back(self, standing: Standing) -> None:
        """Exchange the file for its former version again. Raises a TargetError: NOT_DONE if somebody saved it."""
        self.must_be_free()
        with self.failing("settle", unknown=True):
            swapping.exchange_or_replace(standing.out, self.path)
            if _digest_of(standing.out) != standing.after:  # saved at this moment: their version keeps the name
                swapping.exchange_or_replace(standing.out, self.path)
                raise self._saved_meanwhile()
            swapping.sync_folder(self.path.parent)

    def tidy_up(self, standing: Standing) -> None:
        """Keep or remove what an interrupted exchange left beside the file."""
        with self.failing("settle"):
            if standing.left == standing.before:
                standing.out.rename(beside(self.path, "former"))
            elif standing.left == standing.after:
                standing.out.unlink()
            elif standing.left is not None:
                self._keep(standing.out)
            swapping.sync_folder(self.path.parent)

    def discard(self, version: Path, is_ours: Callable[[str], bool]) -> None:
        """Delete a version that is kept beside the file, unless somebody wrote into it since."""
        if is_ours(digest(version.read_bytes())):
            version.unlink()
        else:
            self._keep(version)

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
        self.must_hold(before)

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
        if not swapping.is_same(self.path, former):  # saved between the two calls
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
        swapping.exchange_or_replace(came_out, self.path)
        if digest(came_out.read_bytes()) == after:
            came_out.unlink()
            swapping.sync_folder(self.path.parent)
            raise self._saved_meanwhile()
        swapping.exchange_or_replace(came_out, self.path)  # saved once more: the newest version keeps the name
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
        swapping.sync_folder(self.path.parent)

    def _saved_meanwhile(self) -> TargetError:
        reason = "another program saved it at the same moment, and that version is kept"
        return not_changed(self.name, reason, "it is tried again", TransactionOutcome.NOT_DONE)

    def _set_apart(self, former: Path, replaced_at: Callable[[str], str | None]) -> None:
        """Keep the version before our last change by its time; one that somebody wrote into since by a clear name."""
        if not former.exists():
            return
        stamp = replaced_at(digest(former.read_bytes()))
        if stamp is None:
            self._keep(former)
            return
        former.rename(versions.dated(self.path, stamp))
        for version in versions.beyond_bounds(self.path):
            self.discard(version.path, lambda content: replaced_at(content) is not None)

    def _keep(self, file: Path) -> Path:
        """Give a version that somebody saved a clear name of its own."""
        for number in range(1, 1_000):
            kept = self.path.with_name(f"{self.path.name}.saved-{number}")
            with contextlib.suppress(FileExistsError):
                os.close(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
                file.rename(kept)
                return kept
        raise FileExistsError(errno.EEXIST, "too many saved versions", str(self.path))


def reach(step: str) -> None:
    """Tell the tests that a step of a replacement is done."""
    if armed is not None:
        armed(step)
