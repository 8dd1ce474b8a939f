"""`launch.py FILE COMMAND …` runs a command and writes its cost into FILE: seconds, processor seconds, megabytes.

Until it executes another program, a process counts its parent's peak as its own, so a bench that has read a file of
gigabytes would see that in every contender. This process is small.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    file, *command = sys.argv[1:]
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
    Path(file).write_text(json.dumps(took))
    sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main()
