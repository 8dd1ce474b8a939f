"""Leave out the last lines of a text file for `skip_footer`."""

from __future__ import annotations

import re
import shutil

from connectors.disk.opened_file import OpenedFile, copy_of
from connectors.errors import FileUnreadable

WINDOW = 1 << 16
_LINE = re.compile(rb"[^\r\n]+")


def without_footer(file: OpenedFile, lines: int) -> OpenedFile:
    """A copy without the last lines; blank lines do not count. Raises FileUnreadable if it has fewer."""
    copy, target = copy_of(file)
    with target:
        with file.bytes() as content:
            shutil.copyfileobj(content, target)
        target.flush()
        target.truncate(_end(copy, lines))
    return copy


def _end(file: OpenedFile, lines: int) -> int:
    """The offset of the first of the last lines, found from the end."""
    size, window = file.size, WINDOW
    with file.bytes() as content:
        while True:
            start = max(0, size - window)
            content.seek(start)
            tail = content.read()
            starts = [start + line.start() for line in _LINE.finditer(tail) if line[0].strip()]
            if len(starts) > lines or (len(starts) == lines and start == 0):
                return starts[-lines]
            if start == 0:
                break
            window *= 4
    reason = f"it has fewer than the {lines} lines that `skip_footer` leaves out"
    raise FileUnreadable(file.name, reason, "send it again, or correct `skip_footer`")
