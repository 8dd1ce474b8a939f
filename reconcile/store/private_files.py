"""Files readable only by their owner from the first byte, also in a folder where others can write."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import BinaryIO

MODE = 0o600


def create(file: Path) -> BinaryIO:
    """Create a file of mode 0600 for writing; the umask can only remove rights.

    Raises FileExistsError if the name exists, even as a dangling link, and other OSErrors.
    """
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(file, flags, MODE), "wb")


def keep(part: Path, file: Path) -> None:
    """Give a finished file its name; raises FileExistsError instead of overwriting a file created meanwhile."""
    with contextlib.suppress(PermissionError, NotImplementedError):  # a file system without links
        os.link(part, file)
        part.unlink()
        return
    part.replace(file)
