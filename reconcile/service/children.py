"""A run in a process of its own: a hung run can be killed, and its memory is freed when it ends.

Processes are forked from a server process that only imports everything. A fork takes milliseconds and inherits no
thread and no connection.
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
from reconcile.service.workers import RunOutcome
from reconcile.store.slots import SlotRow
from reconcile.telemetry import logs, visible

Sentence = Callable[[Exception], str]
"""Puts an error into words for people; a module-level function, because it is passed to another process."""


class Stopped(BaseException):
    """The run has to stop: open resources are closed and leases released on the way out."""


class RunProcess:
    """One run in a child process. It ends with its parent, which alone receives its result."""

    def __init__(self, project: Project, row: SlotRow, sentence: Sentence) -> None:
        self._pipe, child = _server().Pipe()
        self._process = _server().Process(
            target=_run_child, args=(project, row, sentence, logs.style(), child), name=f"run {row.job}", daemon=False
        )
        self._process.start()
        child.close()
        self._rule: str | None = None
        self._ended: RunOutcome | None = None
        self._is_over = False

    @property
    def pid(self) -> int:
        number: int = self._process.pid
        return number

    def ended(self) -> RunOutcome | None:
        """See workers.SlotRun. The result the run sent takes precedence over how its process ended.

        Repeated calls return the same result: the store may have been unavailable when it was to be recorded.
        """
        if self._is_over:
            return self._ended
        if self._process.is_alive():
            return None
        self._process.join()
        self._receive()
        code = self._process.exitcode
        self._is_over = True
        self._pipe.close()
        self._process.close()
        if self._ended is None:
            how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
            self._ended = RunOutcome("died", f"the process of its run {how} without a result")
        return self._ended

    def rule(self) -> str | None:
        if not self._is_over:
            self._receive()
        return self._rule

    def _receive(self) -> None:
        """Receive the name of each rule as it begins and, last, the result of the run."""
        try:
            while self._pipe.poll():
                message = self._pipe.recv()
                if isinstance(message, RunOutcome):
                    self._ended = message
                else:
                    self._rule = message
        except EOFError:
            return

    def stop(self) -> None:
        if not self._is_over and self._process.is_alive():
            self._process.terminate()

    def kill(self) -> None:
        if not self._is_over and self._process.is_alive():
            self._process.kill()


def warm_up(more: Sequence[str] = ()) -> None:
    """Start the server, so the first run does not wait for its imports; `more` are further modules to load."""
    process = _server(more).Process(target=_do_nothing)
    process.start()
    process.join()
    process.close()


def _server(more: Sequence[str] = ()) -> Any:
    # `python -c` starts the server, its children and the tracker of their resources; it would look for modules in the
    # working directory first.
    os.environ["PYTHONSAFEPATH"] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["reconcile.service.fork_server", *more])
    return context


def _do_nothing() -> None:
    return


@visible.standard_streams()
def _run_child(project: Project, row: SlotRow, sentence: Sentence, style: logs.Style | None, pipe: Connection) -> None:
    """The body of the child process: one run, one result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    signal.signal(signal.SIGTERM, _stop)
    if style is not None:
        logs.set_up(as_json=style.as_json, quiet=style.quiet, colors=style.colors)
    threading.Thread(target=_stop_without_parent, args=(pipe,), name="parent", daemon=True).start()
    try:
        ended = _ended(project, row, sentence, _rule_reporter(pipe))
    except Stopped:
        ended = RunOutcome("stopped")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with contextlib.suppress(BrokenPipeError):  # the parent is gone; the results are in the store
        pipe.send(ended)
    os._exit(0)  # an abandoned read may still hang in a thread


def _stop(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


def _stop_without_parent(pipe: Connection) -> None:
    """Stop when the parent is gone: it never writes, so a readable pipe means its end is closed."""
    try:
        pipe.poll(None)
    except OSError:
        return  # we closed it: the run has ended
    os.kill(os.getpid(), signal.SIGTERM)


def _rule_reporter(pipe: Connection) -> Callable[[str, int], None]:
    """A callback that sends each rule to the parent once."""
    sent: set[str] = set()

    def watch(rule: str, _read: int) -> None:
        if rule not in sent:
            sent.add(rule)
            with contextlib.suppress(BrokenPipeError):
                pipe.send(rule)

    return watch


def _ended(project: Project, row: SlotRow, sentence: Sentence, watch: Callable[[str, int], None]) -> RunOutcome:
    try:
        with Application(project) as application:
            report = application.run_slot(row.job, row.slot, row.trigger, watch)
    except (AnotherIsHeld, Paused) as error:
        return RunOutcome("paused", str(error))
    except Exception as error:  # noqa: BLE001 - the last handler of this process
        return RunOutcome("died", sentence(error))
    if report.status == "running":
        return RunOutcome("busy", f"the job is already running: {report.by}")
    if report.status == "failed":
        return RunOutcome("failed", next(report.problems, None))
    return RunOutcome("succeeded", report.watchdog)
