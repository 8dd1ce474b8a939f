"""Records that a reader returned compared with those that are there, and what is said of records that were skipped."""

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
"""One malformed record in so many is the most that `malformed: skip` leaves out."""


@dataclass(frozen=True)
class LeftOut:
    """Malformed records of one file: their ascending numbers, counted from 0, of so many; the first one's mistake."""

    numbers: tuple[int, ...] = ()
    of: int = 0
    reason: str = ""
    first: str = ""


NONE = LeftOut()


def confirm_count(place: str, counted: int, returned: int) -> None:
    """Compare what a reader returned of a file with a count made without that reader. Raises RecordsLost."""
    if counted != returned:
        raise RecordsLost(place, counted, returned)


def told(files: Sequence[LeftOut]) -> tuple[Problem, ...]:
    """What people hear of the records that are skipped in a dataset. Raises FileRefused where they are too many."""
    left_out, count = sum(len(one.numbers) for one in files), sum(one.of for one in files)
    first = next((one for one in files if one.numbers), None)
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
    """The numbers in the file of the records returned as `first` to `end`, where those ascending ones are left out."""
    numbers = np.arange(first, end, dtype=np.int64)
    returned_before = np.asarray(left_out, np.int64) - np.arange(len(left_out), dtype=np.int64)
    return numbers + np.searchsorted(returned_before, numbers, side="right")
