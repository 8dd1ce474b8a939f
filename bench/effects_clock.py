"""What every contender measures alike: it waits until all are ready, and says how long its effects took."""

from __future__ import annotations

import json
import resource
import sys
import time


class Clock:
    """`begin` says "ready" and waits for a line; `end` writes the seconds, processor seconds and peak memory."""

    def begin(self) -> None:
        print("ready", flush=True)
        sys.stdin.readline()
        self._begun, self._processor = time.perf_counter(), time.process_time()

    def end(self, effects: int) -> None:
        seconds, processor = time.perf_counter() - self._begun, time.process_time() - self._processor
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"effects": effects, "seconds": seconds, "processor": processor, "megabytes": peak}))
