"""`launch.py FILE COMMAND …` runs a command and writes its cost into FILE: seconds, processor seconds, megabytes.

Until it executes another program, a process counts its parent's peak as its own, so a bench that has read a file of
gigabytes would see that in every contender. This process is small.

The megabytes are the peak of the process or, while it has processes of its own, of all of them together, in which
memory that several share counts once.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

PAUSE = 0.05
"""Seconds between two looks at the processes of the command."""


def main() -> None:
    file, *command = sys.argv[1:]
    begin = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.execvp(command[0], command)  # noqa: S606 - that is what a launcher does
    family = _Family(child)
    watcher = threading.Thread(target=family.watch, daemon=True)
    watcher.start()
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - begin
    family.is_over.set()
    watcher.join()
    took = {
        "seconds": seconds,
        "processor": usage.ru_utime + usage.ru_stime,
        "megabytes": max(usage.ru_maxrss, family.kilobytes) / 1024,
    }
    Path(file).write_text(json.dumps(took))
    sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)


class _Family:
    """The processes below one, and the most memory that they and it held together, in kilobytes."""

    def __init__(self, head: int) -> None:
        self._head = head
        self.kilobytes = 0
        self.is_over = threading.Event()

    def watch(self) -> None:
        while not self.is_over.wait(PAUSE):
            members = list(_descendants(self._head))
            if members:  # the peak of a process alone is exact without looking
                self.kilobytes = max(self.kilobytes, sum(map(_proportional, (self._head, *members))))


def _descendants(process: int) -> Iterator[int]:
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, _text(children).split()):
            yield child
            yield from _descendants(child)


def _proportional(process: int) -> int:
    """The process's memory in kilobytes, in which a page that n processes share counts an n-th."""
    lines = _text(Path(f"/proc/{process}/smaps_rollup")).splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""  # it ended meanwhile


if __name__ == "__main__":
    main()
