"""The versions that a file had before our changes, kept beside it for people until no undo is possible any more.

    .customers.csv.reconcile-former                      before the last change
    .customers.csv.reconcile-former-20260301T101500Z     before the change of that time, in UTC

An undo does not need them: it takes the rows from the state.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from pathlib import Path
from typing import NamedTuple

from connectors.disk.paths import beside

MOST = 100
"""Earlier versions kept beside a file, besides the one before the last change."""
MOST_BYTES = 500_000_000
"""The size of these earlier versions; the oldest go first."""
UNKNOWN_TIME = "19700101T000000Z"
"""The stamp of a change that an earlier version of Reconcile noted without its time."""
_STAMP = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(r"-([0-9]{8}T[0-9]{6}Z)(?:-([0-9]+))?")


class KeptVersion(NamedTuple):
    """A kept version; `stamp` is the time of the change that replaced it, empty for the last one."""

    stamp: str
    number: int
    path: Path
    size: int


def stamp_of(moment: dt.datetime) -> str:
    """The text for a moment in names and notes: later moments have later texts."""
    return moment.astimezone(dt.UTC).strftime(_STAMP)


def stamp_now() -> str:
    """The stamp of a change that is made now."""
    return stamp_of(dt.datetime.now(dt.UTC))


def kept(path: Path) -> list[KeptVersion]:
    """The versions kept beside a file, oldest first, but the last one without a stamp first."""
    prefix = beside(path, "former").name
    versions = []
    with os.scandir(path.parent) as entries:
        for entry in entries:
            if entry.name == prefix:
                versions.append(KeptVersion("", 0, path.parent / entry.name, entry.stat().st_size))
            elif entry.name.startswith(prefix) and (match := _NAME.fullmatch(entry.name.removeprefix(prefix))):
                number = int(match[2] or 1)
                versions.append(KeptVersion(match[1], number, path.parent / entry.name, entry.stat().st_size))
    return sorted(versions)


def dated(path: Path, stamp: str) -> Path:
    """A free name for the version before the change of that time."""
    numbers = [version.number for version in kept(path) if version.stamp == stamp]
    number = max(numbers, default=0) + 1
    return beside(path, f"former-{stamp}{f'-{number}' if number > 1 else ''}")


def beyond_bounds(path: Path) -> list[KeptVersion]:
    """The oldest of the dated versions, which are too many or too large."""
    versions = [version for version in kept(path) if version.stamp]
    sizes = [version.size for version in versions]
    first = max(0, len(versions) - MOST)
    while sum(sizes[first:]) > MOST_BYTES:
        first += 1
    return versions[:first]
