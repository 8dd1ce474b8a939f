"""A file of JSON lines that is only appended to; with `chattr +a` not even its owner can rewrite it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from reconcile.audit.anchors.base import AnchorError, HeadLost, Receipt, Torn
from reconcile.audit.anchors.settings import AnchorSettings, FileAnchorSettings
from reconcile.audit.verifier import Mark
from reconcile.store import private_files


class FileAnchor:
    """Heads as lines of one file."""

    Settings: ClassVar[type[AnchorSettings]] = FileAnchorSettings

    def __init__(self, name: str, settings: FileAnchorSettings, root: Path, _channels: Mapping[str, object]) -> None:
        self.name = name
        self._file = root / settings.path

    def write(self, mark: Mark) -> Receipt:
        """Append a line and fsync it; a line that a crash cut off stays, and ours begins a new one.

        A new file has mode 0600; an existing one keeps its mode.
        """
        try:
            handle = os.open(self._file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, private_files.MODE)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                size = os.fstat(handle).st_size
                whole = size == 0 or os.pread(handle, 1, size - 1) == b"\n"
                line = (b"" if whole else b"\n") + mark.line().encode() + b"\n"
                if os.write(handle, line) != len(line):
                    raise AnchorError(self.name, f"wrote only part of a line ({self._file}: the disk may be full)")
                os.fsync(handle)
            finally:
                os.close(handle)
            if size == 0:
                self._sync_folder()
        except OSError as error:
            raise AnchorError(self.name, f"cannot be written ({self._file}: {error.strerror})") from error
        return {"file": str(self._file), "at": str(size)}

    def check_held(self, mark: Mark, receipt: Receipt) -> None:
        """Raise HeadLost unless the head is in the file: where the receipt says, or elsewhere."""
        place = str(receipt.get("at", ""))
        try:
            with self._file.open("rb") as file:
                for start in (int(place) if place.isdecimal() else 0, 0):
                    file.seek(start)
                    if any(_mark(line) == mark for line in file):
                        return
        except OSError as error:
            raise HeadLost(self.name, f"{self._file}: {error.strerror}", mark.seq) from error
        raise HeadLost(self.name, str(self._file), mark.seq)

    def _sync_folder(self) -> None:
        folder = os.open(self._file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def read(self, store: str) -> Iterator[Mark | Torn]:
        """The heads of the file; other lines are Torn. A missing file holds none."""
        with contextlib.ExitStack() as stack:
            try:
                lines = stack.enter_context(self._file.open("rb"))
            except FileNotFoundError:
                return
            except OSError as error:
                raise AnchorError(self.name, f"cannot be read ({self._file}: {error.strerror})") from error
            for number, line in enumerate(lines, 1):
                mark = _mark(line)
                if mark is None:
                    yield Torn(f"{self._file}, line {number}", is_last=not line.endswith(b"\n"))
                elif mark.store == store:
                    yield mark


def _mark(line: bytes) -> Mark | None:
    try:
        return Mark.of(json.loads(line))
    except ValueError:
        return None
