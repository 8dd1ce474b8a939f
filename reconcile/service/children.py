"""A run in a process of its own: what hangs can be killed, and its memory goes back when it ends.

Processes are forked from a server process that has imported everything and nothing else, so that one takes
milliseconds to start and inherits no thread and no connection.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

from reconcile.app import Application
from reconcile.config.settings import Project
from reconcile.coordination.pauses import Paused
from reconcile.coordination.releases import AnotherIsHeld
from reconcile.service.workers import Ended
from reconcile.store.slots import SlotRow
from reconcile.telemetry import logs, visible

Sentence = Callable[[Exception], str]
"""What people are told of an error; a function at the top of a module, for it goes to another process."""


class Stopped(BaseException):
    """The run was told to stop: everything open is closed, and leases are given back on the way out."""


class Child:
    """One run, carried out in a child process. It ends with its parent: nobody would hear of it."""

    def __init__(self, project: Project, row: SlotRow, sentence: Sentence) -> None:
        self._ours, theirs = _server().Pipe()
        self._process = _server().Process(
            target=_carry_out, args=(project, row, sentence, logs.style(), theirs), name=f"run {row.job}", daemon=False
        )
        self._process.start()
        theirs.close()
        self._rule: str | None = None
        self._ended: Ended | None = None
        self._is_over = False

    @property
    def pid(self) -> int:
        number: int = self._process.pid
        return number

    def ended(self) -> Ended | None:
        """See workers.Carrying. What it said counts before how its process ended.

        It says the same as often as it is asked: the store may not have answered when this was to be put down.
        """
        if self._is_over:
            return self._ended
        if self._process.is_alive():
            return None
        self._process.join()
        self._listen()
        code = self._process.exitcode
        self._is_over = True
        self._ours.close()
        self._process.close()
        if self._ended is None:
            how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
            self._ended = Ended("died", f"the process of its run {how}, without a word")
        return self._ended

    def rule(self) -> str | None:
        if not self._is_over:
            self._listen()
        return self._rule

    def _listen(self) -> None:
        """A rule's name as it is begun, and at last how the run ended."""
        try:
            while self._ours.poll():
                said = self._ours.recv()
                if isinstance(said, Ended):
                    self._ended = said
                else:
                    self._rule = said
        except EOFError:
            return

    def stop(self) -> None:
        if not self._is_over and self._process.is_alive():
            self._process.terminate()

    def kill(self) -> None:
        if not self._is_over and self._process.is_alive():
            self._process.kill()


def warm_up(more: Sequence[str] = ()) -> None:
    """Start the server, so that the first run need not wait for its imports; `more` are modules for it to load."""
    process = _server(more).Process(target=_nothing)
    process.start()
    process.join()
    process.close()


def _server(more: Sequence[str] = ()) -> Any:
    # The server, its children and the tracker of their resources are started by `python -c`, which would look for
    # modules in the working directory first.
    os.environ["PYTHONSAFEPATH"] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["reconcile.service.fork_server", *more])
    return context


def _nothing() -> None:
    return


@visible.standard_streams()
def _carry_out(project: Project, row: SlotRow, sentence: Sentence, style: logs.Style | None, pipe: Connection) -> None:
    """The child's whole life: one run, one answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides what it means
    signal.signal(signal.SIGTERM, _stop)
    if style is not None:
        logs.set_up(as_json=style.as_json, quiet=style.quiet, colors=style.colors)
    threading.Thread(target=_end_with_parent, args=(pipe,), name="parent", daemon=True).start()
    try:
        ended = _ended(project, row, sentence, _telling(pipe))
    except Stopped:
        ended = Ended("stopped")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with contextlib.suppress(BrokenPipeError):  # whoever asked is gone; what was done is in the store
        pipe.send(ended)
    os._exit(0)  # a read that was given up may still hang in a thread


def _stop(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


def _end_with_parent(pipe: Connection) -> None:
    """The parent never writes: when its end is closed, it is gone."""
    try:
        pipe.poll(None)
    except OSError:
        return  # we closed it: the run has ended
    os.kill(os.getpid(), signal.SIGTERM)


def _telling(pipe: Connection) -> Callable[[str, int], None]:
    """Tell the parent of each rule once."""
    told: set[str] = set()

    def watch(rule: str, _read: int) -> None:
        if rule not in told:
            told.add(rule)
            with contextlib.suppress(BrokenPipeError):
                pipe.send(rule)

    return watch


def _ended(project: Project, row: SlotRow, sentence: Sentence, watch: Callable[[str, int], None]) -> Ended:
    try:
        with Application(project) as application:
            report = application.carry_out(row.job, row.slot, row.trigger, watch)
    except (AnotherIsHeld, Paused) as error:
        return Ended("paused", str(error))
    except Exception as error:  # noqa: BLE001 - the last door of this process
        return Ended("died", sentence(error))
    if report.status == "running":
        return Ended("busy", f"the job is under way: {report.by}")
    failed = [rule["failed"] for rule in report.rules if "failed" in rule]
    return Ended("failed", failed[0]) if failed else Ended("succeeded", report.watchdog)
