"""A file below the root of a source, opened once: it is read by its descriptor, and its name is never used again.

Some readers take a name for a pattern, and the file behind a name can be swapped between a check and a read.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import itertools
import json
import os
import resource
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from connectors.errors import FileRefused

DESCRIPTORS = "/proc/self/fd" if Path("/proc/self/fd").is_dir() else "/dev/fd"
BUFFER = 1 << 18
TRIES = 20
"""The number of attempts to resolve a name if a part of it becomes a link in between."""
SPARE = 256
"""Descriptors for everything that is not a file of a source: connections, the state, DuckDB."""
ALWAYS_UNPACKED, MOST_UNPACKED = 500_000_000, 20_000_000_000
RATIO = 100
_PIECE = 1 << 22
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class OpenedFile:
    """A regular file that stays open as long as this object exists; `name` is its path below the root.

    `limit` is the number of bytes that a compressed file may unpack to; None for any other file.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        self.name = name
        self.limit: int | None = None

    @property
    def descriptor(self) -> int:
        return self._descriptor

    @property
    def path(self) -> str:
        """A path to this very file, valid in this process and in one that inherits the descriptor."""
        return f"{DESCRIPTORS}/{self._descriptor}"

    @property
    def is_compressed(self) -> bool:
        return self.limit is not None

    @property
    def stamp(self) -> tuple[int, int, int, int]:
        """Device, inode, size and time of the last change: it differs after the file was changed or replaced."""
        status = os.fstat(self._descriptor)
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return os.fstat(self._descriptor).st_size

    def bytes(self) -> BinaryIO:
        """The content from its beginning, unpacked as it is read. Reading raises FileRefused beyond the limit."""
        plain = io.BufferedReader(_Positioned(self), BUFFER)
        if self.limit is None:
            return plain
        return io.BufferedReader(_Unpacked(cast(BinaryIO, gzip.GzipFile(fileobj=plain)), self), BUFFER)

    def refuse_more(self, unpacked: int) -> None:
        """Raise FileRefused if a compressed file may not unpack to so many bytes."""
        if self.limit is not None and unpacked > self.limit:
            raise unpacks_to_too_much(self, self.limit)


class _Positioned(io.RawIOBase):
    """Reads at a position of its own, since all users of a descriptor share its position."""

    def __init__(self, file: OpenedFile) -> None:
        self._file, self._at = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        count = os.preadv(self._file.descriptor, [buffer], self._at)  # type: ignore[list-item]
        self._at += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._file.size}[whence]
        if start + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at


class _Unpacked(io.RawIOBase):
    def __init__(self, source: BinaryIO, file: OpenedFile) -> None:
        self._source, self._file, self._count = source, file, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        count: int = self._source.readinto(buffer)  # type: ignore[attr-defined]
        self._count += count
        self._file.refuse_more(self._count)
        return count


class _Copying(io.FileIO):
    """Writes a copy of a file, with the same limit as the unpacked file."""

    def __init__(self, descriptor: int, source: OpenedFile) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._source = source

    def write(self, data: object) -> int:
        count = super().write(data)  # type: ignore[arg-type]
        self._source.refuse_more(self.tell())
        return count


def copy_of(file: OpenedFile) -> tuple[OpenedFile, BinaryIO]:
    """Create an empty file without a name, which vanishes when unused, and a writer for its content."""
    with tempfile.TemporaryFile() as file_object:
        copy = OpenedFile(os.dup(file_object.fileno()), file.name)
    return copy, io.BufferedWriter(_Copying(copy.descriptor, file), BUFFER)


def open_beneath(root: Path, name: str) -> OpenedFile:
    """Open the regular file of that name, links followed, below `root`. Raises FileRefused.

    Links are resolved first; then no part of the resolved name may be a link. So a swap in between cannot open a file
    outside the root.
    """
    for _ in range(TRIES):
        try:
            parts = _resolved(root, name)
            return OpenedFile(_opened(root, parts, name), name)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.EXDEV):
                raise _refusal(name, error) from error
    raise FileRefused(
        name, "it keeps being replaced by a link", "stop the program that replaces it, then read it again"
    )


def digest(files: Iterable[OpenedFile], progress: Callable[[int], None]) -> str:
    """A digest of the names and bytes of these files, in this order. Raises FileRefused.

    `progress` is called with 0 for each piece that is read.
    """
    whole = hashlib.sha256()
    for file in files:
        content = hashlib.sha256()
        try:
            for begin in itertools.count(0, _PIECE):
                piece = os.pread(file.descriptor, _PIECE, begin)
                progress(0)
                if not piece:
                    break
                content.update(piece)
        except OSError as error:
            raise _refusal(file.name, error) from error
        whole.update(json.dumps([file.name, content.hexdigest()]).encode("ascii"))
    return whole.hexdigest()


def _resolved(root: Path, name: str) -> Sequence[str]:
    """The parts of the name below the root after all links; only a hint, since they may change at any time."""
    real = (root / name).resolve(strict=True)
    try:
        return PurePosixPath(real.relative_to(root.resolve(strict=True))).parts
    except ValueError:
        raise FileRefused(
            name, "it links to a place outside its source's `root`", "copy the file or widen `root`"
        ) from None


def _opened(root: Path, parts: Sequence[str], name: str) -> int:
    """Open the regular file without following links; return its descriptor."""
    folder = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        last = parts[-1] if parts else "."
        _refuse_irregular(name, os.stat(last, dir_fd=folder, follow_symlinks=False))
        descriptor = os.open(last, _FILE, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        _refuse_irregular(name, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _refuse_irregular(name: str, status: os.stat_result) -> None:
    """Raise FileRefused for a folder, a FIFO or a device, and OSError for a link."""
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if not stat.S_ISREG(status.st_mode):
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise FileRefused(name, f"it is {kind}", "name a file, or files by a pattern like *.csv")


def _refusal(name: str, error: OSError) -> FileRefused:
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return FileRefused(
            name, "this process may not open more files", "narrow `path`, or raise the limit (`ulimit -n`)"
        )
    return FileRefused(name, f"it cannot be opened ({error.strerror})", "check the link and its permissions")


def unpacks_to_too_much(file: OpenedFile, limit: int) -> FileRefused:
    """The error for a small file that unpacks to a large one."""
    return FileRefused(
        file.name,
        f"its {file.size:,} bytes unpack to more than {limit:,}",
        "if that is right, raise `max_unpacked` of its source",
    )


def unpacked_limit(size: int) -> int:
    """The default limit for unpacking a compressed file of that size: text shrinks to about a tenth."""
    return min(MOST_UNPACKED, max(ALWAYS_UNPACKED, RATIO * size))


def make_room(files: int) -> None:
    """Raise this process's limit of open files for so many files, as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = len(os.listdir("/dev/fd"))  # noqa: PTH208 - a count; a server holds connections of people and databases
    needed = held + 2 * files + SPARE  # DuckDB opens each again while it reads
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
