"""A file, or the terminal: each notice appended once, whole, and on disk before it counts as delivered."""

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from notifications import base
from notifications.base import ChannelSettings, DeliveryReceipt, Notice
from notifications.errors import CannotBeAsked, FileNotWritable
from notifications.wording import render, words
from notifications.wording.document import text
from notifications.wording.template import Template


class FileSettings(ChannelSettings):
    """The settings of a file channel."""

    type: Literal["file"] = Field(description="A file or the terminal.")
    path: str = Field(min_length=1, description="The file to append messages to; `-` is standard output.")
    format: Literal["text", "jsonl"] = Field(default="text", description="Plain text, or one JSON line per message.")


class FileChannel:
    """Appends messages to a file that several processes may share; a message cut off by a crash is completed."""

    Settings: ClassVar[type[ChannelSettings]] = FileSettings
    looks: ClassVar[tuple[float, ...]] = (0.0,)  # a message missing from the file now was not written

    def __init__(self, name: str, settings: FileSettings, root: Path) -> None:
        """Opening writes nothing; raises TemplateRefused."""
        self.name = name
        self.settings = settings
        self._path = None if settings.path == "-" else root / settings.path
        self._template = Template(root / settings.template, str) if settings.template else None

    def __repr__(self) -> str:
        return f"FileChannel({self.name!r})"

    def send(self, notice: Notice) -> DeliveryReceipt:
        """Append the message and wait until it is on disk; an existing one is not written again."""
        message = self._message(notice)
        if self._path is None:
            sys.stdout.write(self.preview(notice))
            sys.stdout.flush()
            return DeliveryReceipt("terminal", {"notice": notice.id})
        with self._opened(os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
            receipt, missing = self._look(file, notice, message)
            if missing:
                self._write(file, missing)
            return receipt

    def find(self, notice: Notice) -> DeliveryReceipt | None:
        """Return the receipt of a message in the file, after completing one that was cut off."""
        if self._path is None:
            raise CannotBeAsked(self.name, "terminal output is not kept")
        if not self._path.exists():
            return None
        message = self._message(notice)
        with self._opened(os.O_RDWR | os.O_APPEND) as file:
            receipt, missing = self._look(file, notice, message)
            if len(missing) >= len(message):
                return None
            self._write(file, missing)
            return receipt

    def check(self) -> None:
        """Raise FileNotWritable if a message could not be appended; does not create the file."""
        if self._path is None:
            return
        if os.path.lexists(self._path):
            with self._opened(os.O_RDWR | os.O_APPEND):
                return
        if not os.access(self._path.parent, os.W_OK | os.X_OK):
            raise self._refused(os.strerror(errno.EACCES))

    def preview(self, notice: Notice) -> str:
        """Return the appended text, without the marks around it."""
        if self.settings.format == "jsonl":
            return self._message(notice).decode("utf-8")
        return self._text(notice)

    def _text(self, notice: Notice) -> str:
        shown = render.document(notice, render.PAPER)
        return self._template.render(shown, base.to_json(notice)) if self._template else text(shown)

    def _message(self, notice: Notice) -> bytes:
        if self.settings.format == "jsonl":
            facts = base.to_json(notice)
            line = {"id": facts["id"], "text": self._text(notice), **facts, "end": facts["id"]}
            return json.dumps(line, ensure_ascii=True).encode("ascii") + b"\n"
        begin, end = self._marks(notice)
        body = self._text(notice).rstrip("\n").encode("utf-8", "backslashreplace")
        return begin + b"\n" + body + b"\n" + end

    def _marks(self, notice: Notice) -> tuple[bytes, bytes]:
        """Return the first and last bytes of a message, which identify it and prove it whole."""
        if self.settings.format == "jsonl":
            name = json.dumps(notice.id)
            return f'{{"id": {name},'.encode("ascii"), f'"end": {name}}}\n'.encode("ascii")
        name = words.visible(notice.id, 200)
        return f"── notice {name} ──".encode(), f"── end of {name} ──\n\n".encode()

    def _look(self, file: int, notice: Notice, message: bytes) -> tuple[DeliveryReceipt, bytes]:
        """Return the receipt, and the bytes that must still be written for it to be true.

        A last message that a crash cut off gets its missing end when it is ours, and a line break when it is not.
        """
        begin, end = self._marks(notice)
        size = os.fstat(file).st_size
        receipt = DeliveryReceipt(f"file {self.settings.path}", {"notice": notice.id})
        if size == 0:
            return receipt, message
        with mmap.mmap(file, size, access=mmap.ACCESS_READ) as content:
            start = _at_line(content, begin)
            if start >= 0 and content.find(end, start) >= 0:
                return receipt, b""
            cut = content[start if start >= 0 else content.rfind(b"\n") + 1 :]
        if cut and message.startswith(cut):
            return receipt, message[len(cut) :]
        return receipt, (b"" if not cut or cut.endswith(b"\n") else b"\n") + message

    def _write(self, file: int, missing: bytes) -> None:
        rest = memoryview(missing)
        try:
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        except OSError as error:
            raise self._refused(error.strerror) from error

    @contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        """Open the file, locked against our other writers. Raises FileNotWritable if it is not a regular file."""
        path = self._path or Path()
        try:
            file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._refused(error.strerror) from error
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise self._refused("it is not a regular file")
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    def _refused(self, reason: str | None) -> FileNotWritable:
        if self._path is not None and not self._path.parent.is_dir():
            reason = "its folder does not exist"
        return FileNotWritable(self.name, self.settings.path, (reason or "it failed").lower())


def _at_line(content: mmap.mmap, mark: bytes) -> int:
    """Return the position of the last line that begins with this mark; -1 without one."""
    position = content.rfind(mark)
    while position > 0 and content[position - 1 : position] != b"\n":
        position = content.rfind(mark, 0, position)
    return position
