"""What the tests of the store, the audit log, leases and the outbox share: both stores, and programs beside us."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)

_PRELUDE = """
import datetime as dt, os, signal, sys, time
from pathlib import Path
import sqlalchemy as sa
from reconcile import audit, delivery, lease, outbox
from reconcile.store import Store, tables
url, root = sys.argv[1], Path(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
"""


class Program:
    """Python code in a process of its own, which waits at a barrier until `go`; `url` and `root` name the store."""

    def __init__(self, code: str, url: str, root: Path) -> None:
        command = [sys.executable, "-c", _PRELUDE + textwrap.dedent(code), url, str(root)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ready(self) -> Program:
        assert self.line() == "ready", self.process.stderr and self.process.stderr.read()
        return self

    def go(self) -> Program:
        assert self.process.stdin
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def end(self) -> str:
        """What it printed since, once it ended well."""
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        return out.strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def in_parallel(count: int, code: str, url: str, root: Path) -> list[str]:
    """The same code in that many processes, started together; what each printed."""
    programs = [Program(code, url, root) for _ in range(count)]
    for one in programs:
        one.ready()
    for one in programs:
        one.go()
    return [one.end() for one in programs]


class FixedClock:
    """A store's clock that stands still until it is moved."""

    def __init__(self, now: dt.datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> dt.datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)
