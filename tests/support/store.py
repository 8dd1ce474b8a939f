"""What the tests of the store, the audit log, leases and the outbox share: a clock, and programs beside us."""

from __future__ import annotations

import datetime as dt
import os
import textwrap
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from reconcile.store import Store
from tests.support.forked import SERVER

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)

_PRELUDE = """
import datetime as dt, os, signal
import sqlalchemy as sa
from reconcile.audit import log as audit
from reconcile.coordination import lease
from reconcile.messages import delivery
from reconcile.store import Store, tables
"""


def _run(code: str, url: str, root: Path, pipe: Connection) -> None:
    def say(*words: object) -> None:
        pipe.send(" ".join(map(str, words)))

    names = {"url": url, "root": root, "print": say, "wait": pipe.recv}
    exec(_PRELUDE, names)  # noqa: S102 - programs of the tests themselves
    say("ready")
    pipe.recv()
    exec(textwrap.dedent(code), names)  # noqa: S102 - see above


class Program:
    """Python code in a process of its own, which waits at a barrier until `go`.

    It knows `url` and `root` of the store; `print` sends us a line, `wait()` waits for the next `go`.
    """

    def __init__(self, code: str, url: str, root: Path) -> None:
        self._pipe, theirs = SERVER.Pipe()
        self.process = SERVER.Process(target=_run, args=(code, url, root, theirs), daemon=True)
        self.process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def ready(self) -> Program:
        assert self.line() == "ready"
        return self

    def go(self) -> Program:
        self._pipe.send("go")
        return self

    def line(self) -> str:
        assert self._pipe.poll(60), "the program says nothing"
        return str(self._pipe.recv())

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def exit_code(self) -> int | None:
        self.process.join(60)
        return self.process.exitcode

    def end(self) -> str:
        """The last line it printed since, once it ended well."""
        text = ""
        try:
            while True:
                text = self.line()
        except EOFError:
            assert self.exit_code() == 0, "the program failed; its traceback is above"
        return text

    def kill(self) -> None:
        self.process.kill()
        self.process.join(60)


def in_parallel(count: int, code: str, url: str, root: Path) -> list[str]:
    """The same code in that many processes, started together; the last line each printed."""
    programs = [Program(code, url, root) for _ in range(count)]
    for program in programs:
        program.ready()
    for program in programs:
        program.go()
    return [item.end() for item in programs]


class FixedClock:
    """A store's clock that stands still until it is moved."""

    def __init__(self, now: dt.datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> dt.datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Store]:
    with Store.open(url, tmp_path) as store:
        yield store
