"""`reconcile serve` as processes beside us: started, listened to, killed."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import connection, forkserver
from pathlib import Path
from socket import AF_UNIX, socket
from typing import Any

from reconcile.cli import command
from reconcile.service.alarm import Alarm, Tick
from reconcile.store import Store
from reconcile.store import slots as stored
from reconcile.store.slots import NewSlot, SlotRow
from tests.support.forked import SERVER

Json = dict[str, Any]
PROGRAM = (str(Path(sys.executable).with_name("reconcile")),)


class Serving:
    """One `reconcile serve` of a folder; what it logs is kept as it comes. `program` stands for `reconcile`."""

    def __init__(
        self, folder: Path, *arguments: str, environ: dict[str, str] | None = None, program: tuple[str, ...] = PROGRAM
    ) -> None:
        self.folder = folder
        self.lines: list[Json] = []
        self.process = subprocess.Popen(
            [*program, "serve", "--json", *arguments],
            cwd=folder,
            env=os.environ | (environ or {}),
            stderr=subprocess.PIPE,
            text=True,
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._output():
            self.lines.append(json.loads(line) if line.startswith("{") else {"event": "text", "text": line})

    def _output(self) -> Iterator[str]:
        assert self.process.stderr is not None
        yield from self.process.stderr

    @property
    def pid(self) -> int:
        return self.process.pid

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def heard(self, event: str, **fields: Any) -> list[Json]:
        """The lines with that event and these fields so far."""
        return [line for line in self.lines if line["event"] == event and fields.items() <= line.items()]

    def hear(self, event: str, count: int = 1, seconds: float = 60, **fields: Any) -> list[Json]:
        """Wait until that was logged so often."""
        until(lambda: len(self.heard(event, **fields)) >= count, seconds, lambda: str(self.lines[-20:]))
        return self.heard(event, **fields)

    def ready(self) -> Serving:
        self.hear("serve.started")
        return self

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self, seconds: float = 60) -> int:
        """Wait for its end; its exit code."""
        code = self.process.wait(seconds)
        self._thread.join(10)
        return code

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.end()

    def kill(self) -> None:
        """With everything it started, as a host that loses power."""
        for pid in [*children(self.pid), self.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.end()


class Forked(Serving):
    """The same, forked from a process that imported everything, so that it starts in a fraction of the time.

    What it does every few seconds, like reading its configuration anew, it does every half second. `prepare` is called
    in its process first, for more that is to be shorter.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        environ: dict[str, str] | None = None,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        self.folder = folder
        self.lines: list[Json] = []
        self._place = tempfile.TemporaryDirectory(prefix="reconcile-serve-")
        self._pipe = Path(self._place.name) / "stderr"
        os.mkfifo(self._pipe)
        given = (folder, self._pipe, arguments, environ or {}, prepare)
        self._forked = SERVER.Process(target=_serve, args=given, daemon=False)
        self._forked.start()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        assert self._forked.pid is not None
        return self._forked.pid

    def has_ended(self) -> bool:
        return not self._forked.is_alive()

    def _output(self) -> Iterator[str]:
        with self._pipe.open() as lines:
            yield from lines

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def end(self, seconds: float = 60) -> int:
        self._forked.join(seconds)
        code = self._forked.exitcode
        assert code is not None, f"it did not end in {seconds} s"
        self._thread.join(10)
        self._place.cleanup()
        return code


def _serve(
    folder: Path,
    pipe: Path,
    arguments: tuple[str, ...],
    environ: dict[str, str],
    prepare: Callable[[], object] | None,
) -> None:
    """Be `reconcile serve` in this process, which was forked for it."""
    os.dup2(os.open(pipe, os.O_WRONLY), 2)
    sys.stderr = os.fdopen(2, "w", 1, "utf-8", closefd=False)
    os.chdir(folder)
    os.environ.update(environ)
    every = Alarm.every

    def hasty(alarm: Alarm, seconds: float, name: str, tick: Tick) -> None:
        every(alarm, min(seconds, 0.5) if seconds < 60 else seconds, name, tick)

    Alarm.every = hasty  # type: ignore[method-assign]  # this process is all its own
    if prepare is not None:
        prepare()
    _fork_runs_from_here()
    sys.argv = ["reconcile", "serve", "--json", *arguments]
    command()


def _fork_runs_from_here() -> None:
    """Start the server that runs are forked from as a fork of this process: it has imported what they need."""
    server: Any = forkserver._forkserver  # type: ignore[attr-defined]
    with socket(AF_UNIX) as listener:
        address = connection.arbitrary_address("AF_UNIX")  # type: ignore[attr-defined]
        listener.bind(address)
        listener.listen()
        lives, server._forkserver_alive_fd = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(server._forkserver_alive_fd)
            forkserver.main(listener.detach(), lives, [])
            os._exit(0)
        os.close(lives)
    server._forkserver_address, server._forkserver_pid = address, pid


def children(pid: int) -> list[int]:
    """Every process below this one."""
    values: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            direct = [int(word) for word in task.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        values += [*direct, *(item for child in direct for item in children(child))]
    return values


def begun_at(pid: int) -> str | None:
    """When a process began, in ticks since the machine did: its number may be another one's later. None: it ended."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == "Z" else rest[18]


def runs_of(pid: int) -> list[int]:
    """The processes that carry runs out for this server: children of what it forks them from."""
    direct = [word for task in Path(f"/proc/{pid}/task").glob("*/children") for word in task.read_text().split()]
    return [child for item in direct for child in children(int(item))]


@contextmanager
def serving(
    folder: Path, *arguments: str, environ: dict[str, str] | None = None, program: tuple[str, ...] = PROGRAM
) -> Iterator[Serving]:
    """A server that is ready, and gone with all its children afterwards."""
    with _ending(Serving(folder, *arguments, environ=environ, program=program)) as server:
        yield server


@contextmanager
def forked(folder: Path, *arguments: str, environ: dict[str, str] | None = None) -> Iterator[Serving]:
    """The same, forked."""
    with _ending(Forked(folder, *arguments, environ=environ)) as server:
        yield server


@contextmanager
def _ending(server: Serving) -> Iterator[Serving]:
    try:
        yield server.ready()
    finally:
        if not server.has_ended():
            server.kill()


def until(true: Callable[[], bool], seconds: float = 60, why: Callable[[], str] = str) -> None:
    """Wait for something that other processes do."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"it did not happen in {seconds} s: {why()}"
        time.sleep(0.05)


def request(store: Store, job: str, count: int = 1, sources: tuple[str, ...] = ("shop",)) -> None:
    """So many slots of a job that are due now."""
    with store.begin() as tx:
        times = [tx.now - dt.timedelta(seconds=number) for number in range(count)]
        stored.write_down(
            tx, [NewSlot(job, item, f"request:{item.isoformat()}", tx.now, sources=sources) for item in times]
        )


def slots(store: Store, job: str | None = None) -> list[SlotRow]:
    with store.read() as tx:
        return stored.listed(tx, job=job)


def all_ended(store: Store, job: str | None = None) -> bool:
    return all(slot.status not in ("due", "running") for slot in slots(store, job))
