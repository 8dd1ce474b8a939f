"""`reconcile serve` as processes beside us: started, listened to, killed."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reconcile.store import Store
from reconcile.store import slots as stored
from reconcile.store.slots import NewSlot, SlotRow

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
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(json.loads(line) if line.startswith("{") else {"event": "text", "text": line})

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
        for pid in [*children(self.process.pid), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.end()


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
    server = Serving(folder, *arguments, environ=environ, program=program)
    try:
        yield server.ready()
    finally:
        if server.process.poll() is None:
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
