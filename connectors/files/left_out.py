"""Compare the number of records from a reader with that of the file, and report skipped records.

Leave out the last lines of a text file for `skip_footer`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from connectors.base import UnreadableCells
from connectors.disk.opened_file import OpenedFile, copy_of
from connectors.errors import FileRefused, FileUnreadable, RecordsLost

MOST = 100
"""`malformed: skip` leaves out at most one record in so many."""


@dataclass(frozen=True)
class MalformedRecords:
    """Malformed records of one file: their ascending numbers from 0, the number of all records, the first mistake."""

    numbers: tuple[int, ...] = ()
    of: int = 0
    reason: str = ""
    first: str = ""


NONE = MalformedRecords()


def confirm_count(place: str, counted: int, returned: int) -> None:
    """Compare the number of records from a reader with a count made without it. Raises RecordsLost."""
    if counted != returned:
        raise RecordsLost(place, counted, returned)


def skipped(files: Sequence[MalformedRecords]) -> tuple[UnreadableCells, ...]:
    """The warning about a dataset's skipped records. Raises FileRefused if they are too many."""
    left_out, count = sum(len(file.numbers) for file in files), sum(file.of for file in files)
    first = next((file for file in files if file.numbers), None)
    if first is None:
        return ()
    of = f"{left_out:,} of {count:,} records {'is' if left_out == 1 else 'are'} malformed"
    if left_out * MOST > count:
        raise FileRefused(
            first.first,
            f"{of}, and `malformed: skip` may leave out at most 1 %; the first: {first.reason}",
            "repair the file, or leave out a footer with `skip_footer`",
        )
    reason = f"{of} and left out by `malformed: skip`; the first: {first.reason}"
    return (UnreadableCells("*", reason, left_out, first.first, skipped=True),)


def numbered(left_out: Sequence[int], first: int, end: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The numbers in the file of the returned records `first` to `end`, without those left out."""
    numbers = np.arange(first, end, dtype=np.int64)
    returned_before = np.asarray(left_out, np.int64) - np.arange(len(left_out), dtype=np.int64)
    return numbers + np.searchsorted(returned_before, numbers, side="right")


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
