"""A process that has imported everything and forks a child for each case: one starts in milliseconds.

    with Warm() as warm:
        child = warm.cli("run", "nightly", cwd=folder, faults=[Fault("target.committed")])
        assert child.wait().killed

A child inherits neither threads nor connections. It can be killed, stopped and continued; it dies with its server.
"""

import contextlib
import ctypes
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from connectors.workbook.isolated import search_path
from tests.support.crash_points import Fault, arm
from tests.support.folders import ROOT

PRELOAD = (
    *("reconcile.service.fork_server", "reconcile.cli.commands", "reconcile.cli.opening", "reconcile.app"),
    *("connectors.sql.source", "notifications.file", "rules.engines.embedded", "rules.engines.pushdown"),
    *("sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite.pysqlite"),
)
"""The modules that a run loads; a database driver that is not installed is left out."""
_PIECE = 65_536
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class ChildHangs(Exception):
    """The child did not end in time; it still runs."""


@dataclass(frozen=True)
class Ended:
    """The end of a child: exit code, negative for a signal; result of its function; its output."""

    code: int
    result: Any
    out: str
    err: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


class Child:
    """A forked process. Call `wait` in the end: it deletes the folder of its output."""

    def __init__(self, pid: int, status: socket.socket, place: tempfile.TemporaryDirectory[str]) -> None:
        self.pid = pid
        self._status = status
        self._place = place
        self._ended: Ended | None = None

    def kill(self) -> None:
        """Send SIGKILL; does nothing after its end."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """Send SIGSTOP, and wait until it has stopped."""
        self._signal(signal.SIGSTOP)
        self.stopped()

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def stopped(self, seconds: float = 30) -> None:
        """Wait until it has stopped, e.g. at a point; raises ChildHangs if it does not, or ended instead."""
        end = time.monotonic() + seconds
        while (state := self._state()) not in "Tt":
            if time.monotonic() > end or state in "ZX":
                raise ChildHangs(f"process {self.pid} did not stop; its state is {state}")
            time.sleep(0.002)

    def is_alive(self) -> bool:
        return self._state() not in "ZX"

    def wait(self, seconds: float = 60) -> Ended:
        """Wait for its end; raises ChildHangs."""
        if self._ended is None:
            self._status.settimeout(seconds)
            try:
                answer = self._status.recv(64)
            except TimeoutError:
                raise ChildHangs(f"process {self.pid} did not end in {seconds} s") from None
            folder = Path(self._place.name)
            out, err = ((folder / name).read_text(encoding="utf-8", errors="replace") for name in ("out", "err"))
            file = folder / "result"
            result = json.loads(file.read_text()) if file.exists() else None
            code = int(answer) if answer else -signal.SIGKILL  # nothing: the server is gone, and the child with it
            self._ended = Ended(code, result, out, err)
            self._status.close()
            self._place.cleanup()
        return self._ended

    def _signal(self, number: int) -> None:
        if self._ended is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _state(self) -> str:
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return "X"


class Warm:
    """The server. Use it in a `with`, or `close` it; this kills remaining children."""

    def __init__(self, more: Sequence[str] = (), path: Sequence[str] = ()) -> None:
        self._socket, server_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        code = f"from tests.support import fork_server; fork_server.serve({server_end.fileno()}, {[*PRELOAD, *more]!r})"
        paths = [*path, str(ROOT), *search_path()]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {paths!r}; {code}"],
            pass_fds=[server_end.fileno()],
            env=os.environ | {"PYDANTIC_DISABLE_PLUGINS": "__all__"},
        )
        server_end.close()

    def call(
        self,
        target: str,
        *arguments: Any,
        cwd: Path | str = ".",
        faults: Iterable[Fault] = (),
        log: Path | None = None,
        environ: Mapping[str, str] | None = None,
        exits: bool = False,
    ) -> Child:
        """Fork a child that calls `module:function` with these arguments; arguments and result are plain JSON.

        `faults` and `log`: see points.arm. `exits`: the result is the exit code.
        """
        place = tempfile.TemporaryDirectory(prefix="reconcile-case-")
        status, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for name in ("out", "err"):
            (Path(place.name) / name).touch()
        order = {
            "target": target,
            "arguments": arguments,
            "cwd": str(cwd),
            "environ": dict(environ or {}),
            "faults": [str(fault) for fault in faults],
            "log": None if log is None else str(log),
            "place": place.name,
            "exits": exits,
        }
        (Path(place.name) / "order").write_text(json.dumps(order))
        with child_end:
            socket.send_fds(self._socket, [place.name.encode()], [child_end.fileno()])
        status.settimeout(120)  # the first call waits for the imports
        answer = status.recv(32)
        if not answer:
            raise ChildHangs("the fork server ended; see its output")
        return Child(int(answer), status, place)

    def cli(self, *arguments: str, **how: Any) -> Child:
        """`reconcile …`; `how` as for `call`."""
        return self.call("tests.support.fork_server:command_line", *arguments, exits=True, **how)

    def close(self) -> None:
        """End the server and all remaining children. Safe to call twice."""
        self._socket.close()
        self._process.wait(60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def command_line(*arguments: str) -> int:
    """Run the command with these arguments in this process; return its exit code."""
    from reconcile.cli import main  # noqa: PLC0415 - other children do not need it

    sys.argv = ["reconcile", *arguments]
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 70


def serve(fd: int, modules: Sequence[str]) -> None:
    """The body of the server: import, then fork a child for each order, and send the exit code of each."""
    import gc  # noqa: PLC0415 - only the server needs it

    for name in modules:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    gc.freeze()
    _Server(socket.socket(fileno=fd)).run()


class _Server:
    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._children: dict[int, socket.socket] = {}
        wakes, self._wake = socket.socketpair()
        wakes.setblocking(False)
        self._wake.setblocking(False)
        self._wakes = wakes
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self._wake.fileno())

    def run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._orders, selectors.EVENT_READ)
            selector.register(self._wakes, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if self._wakes in ready:
                    self._wakes.recv(_PIECE)
                    self._reap()
                if self._orders in ready and not self._order():
                    break
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        while self._children:
            self._reap(wait=True)

    def _order(self) -> bool:
        order, fds, _, _ = socket.recv_fds(self._orders, _PIECE, 1)
        if not order:
            return False
        status = socket.socket(fileno=fds[0])
        server = os.getpid()
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            for descriptor in (self._orders, self._wakes, self._wake, status, *self._children.values()):
                descriptor.close()
            _be_child(Path(order.decode()), server)
        self._children[pid] = status
        status.send(str(pid).encode())
        return True

    def _reap(self, *, wait: bool = False) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, 0 if wait else os.WNOHANG)
                if not pid:
                    return
                with self._children.pop(pid) as connection, contextlib.suppress(BrokenPipeError):
                    connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _be_child(place: Path, server: int) -> None:
    """Run the child; never returns."""
    code = 70
    try:
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(code)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        order = json.loads((place / "order").read_text())
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(place / name, os.O_WRONLY | os.O_CREAT, 0o600), number)
        os.chdir(order["cwd"])
        os.environ.update(order["environ"])
        if order["faults"] or order["log"]:
            log = order["log"]
            arm(*map(Fault.parse, order["faults"]), log=None if log is None else Path(log))
        module, _, name = order["target"].partition(":")
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
        result = function(*order["arguments"])
        code = result if order["exits"] else 0
        (place / "result").write_text(json.dumps(result))
    except BaseException:  # noqa: BLE001 - the last handler of the child: its parent reads it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
