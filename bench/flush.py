"""A disk with slower flushes, the same for every contender.

A commit costs as much as a flush, from 0.03 ms (a virtual disk that its host keeps in memory) to several ms (a cloud
disk), and so does every ratio to a commit per row. A few lines of C before the system's own slow down SQLite's flushes;
PostgreSQL's setting `commit_delay` sleeps before each flush.
"""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
import time
from pathlib import Path

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static int slowly(const char *name, int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    const char *more = getenv("BENCH_FLUSH_US");
    if (more) usleep((useconds_t)atoi(more));
    return real(file);
}
int fsync(int file) { return slowly("fsync", file); }
int fdatasync(int file) { return slowly("fdatasync", file); }
"""


def environment(milliseconds: float) -> dict[str, str]:
    """The environment for a process with slower flushes; raises RuntimeError without a C compiler."""
    if not milliseconds:
        return {}
    return {"LD_PRELOAD": _library(), "BENCH_FLUSH_US": f"{milliseconds * 1000:.0f}"}


def settings(milliseconds: float) -> dict[str, int]:
    """The settings for a PostgreSQL database with slower flushes."""
    return {"commit_delay": round(milliseconds * 1000), "commit_siblings": 0} if milliseconds else {}


def own() -> float:
    """Milliseconds of a flush of this machine's disk: the median of a hundred."""
    took = []
    with tempfile.NamedTemporaryFile(dir=tempfile.gettempdir()) as file:
        for _ in range(100):
            file.write(b"x" * 8192)
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return 1000 * sorted(took)[50]


@functools.cache
def _library() -> str:
    folder = Path(tempfile.mkdtemp(prefix="bench-flush-"))
    source, library = folder / "flush.c", folder / "flush.so"
    source.write_text(_SOURCE)
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError("a slower disk needs a C compiler called cc") from error
    return str(library)
