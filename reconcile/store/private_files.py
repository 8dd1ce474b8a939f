"""Files that only their owner can read, from their first byte on, also in a folder where others can write."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import BinaryIO

MODE = 0o600


def create(file: Path) -> BinaryIO:
    """A new file of mode 0600, to write to; the umask can only take from that.

    Raises FileExistsError for whatever has the name already, a link that leads nowhere included, and other OSErrors.
    """
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(file, flags, MODE), "wb")


def keep(part: Path, file: Path) -> None:
    """Give a finished file its name; raises FileExistsError rather than overwrite one that came in between."""
    with contextlib.suppress(PermissionError, NotImplementedError):  # a file system without links
        os.link(part, file)
        part.unlink()
        return
    part.replace(file)
