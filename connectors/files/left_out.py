"""Compare the number of records from a reader with that of the file, and report skipped records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from connectors.base import Problem
from connectors.errors import FileRefused, RecordsLost

if TYPE_CHECKING:
    from connectors.base import Positions

MOST = 100
"""`malformed: skip` leaves out at most one record in so many."""


@dataclass(frozen=True)
class LeftOut:
    """Malformed records of one file: their ascending numbers from 0, the number of all records, the first mistake."""

    numbers: tuple[int, ...] = ()
    of: int = 0
    reason: str = ""
    first: str = ""


NONE = LeftOut()


def confirm_count(place: str, counted: int, returned: int) -> None:
    """Compare the number of records from a reader with a count made without it. Raises RecordsLost."""
    if counted != returned:
        raise RecordsLost(place, counted, returned)


def skipped(files: Sequence[LeftOut]) -> tuple[Problem, ...]:
    """The warning about a dataset's skipped records. Raises FileRefused if they are too many."""
    left_out, count = sum(len(file.numbers) for file in files), sum(file.of for file in files)
    first = next((file for file in files if file.numbers), None)
    if first is None:
        return ()
    of = f"{left_out:,} of {count:,} records {'is' if left_out == 1 else 'are'} malformed"
    if left_out * MOST > count:
        raise FileRefused(
            first.first,
            f"{of}, and `malformed: skip` leaves out 1 % at most; the first: {first.reason}",
            "repair the file, or leave a footer out with `skip_footer`",
        )
    reason = f"{of} and left out by `malformed: skip`; the first: {first.reason}"
    return (Problem("*", reason, left_out, first.first, skipped=True),)


def numbered(left_out: Sequence[int], first: int, end: int) -> Positions:
    """The numbers in the file of the returned records `first` to `end`, without those left out."""
    numbers = np.arange(first, end, dtype=np.int64)
    returned_before = np.asarray(left_out, np.int64) - np.arange(len(left_out), dtype=np.int64)
    return numbers + np.searchsorted(returned_before, numbers, side="right")
