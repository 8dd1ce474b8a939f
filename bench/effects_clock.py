"""The clock of every contender: it waits until all are ready, and reports the time of its effects."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


class Clock:
    """`begin` prints "ready" and waits for a line; `end` prints the seconds, processor seconds and peak memory."""

    def begin(self) -> None:
        print("ready", flush=True)
        sys.stdin.readline()
        self._begun, self._processor = time.perf_counter(), time.process_time()

    def end(self, effects: int) -> None:
        seconds, processor = time.perf_counter() - self._begun, time.process_time() - self._processor
        result = {"effects": effects, "seconds": seconds, "processor": processor, "megabytes": _peak()}
        print(json.dumps(result))


def _peak() -> float:
    """The peak memory of this program alone: `ru_maxrss` begins with that of the parent process."""
    line = next(text for text in Path("/proc/self/status").read_text().splitlines() if text.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
