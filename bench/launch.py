"""`launch.py FILE COMMAND …` runs a command and writes what it took into FILE: seconds, processor seconds, megabytes.

A process counts the peak of the one it was made from as its own until it is another program, so a bench that has read
a file of gigabytes would see that in every contender. This one is small.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    told, *command = sys.argv[1:]
    begin = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.execvp(command[0], command)  # noqa: S606 - that is what a launcher does
    _, status, usage = os.wait4(child, 0)
    took = {
        "seconds": time.perf_counter() - begin,
        "processor": usage.ru_utime + usage.ru_stime,
        "megabytes": usage.ru_maxrss / 1024,
    }
    Path(told).write_text(json.dumps(took))
    sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main()
