"""What runs in a forked child of the chaos suites: the command line on a small disk, by another clock, at one moment.

The fork server imports it, so that nothing runs on import.
"""

import datetime as dt
import functools
import os
import resource
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from reconcile.cleaning.planning import shape
from reconcile.store import Store
from tests.support.fork_server import command_line

shape.FEW = 1_000_000
"""Tables that fill up from nothing are no sign of a mass match here; that stop has tests of its own."""


def on_a_small_disk(most: int, *arguments: str) -> int:
    """No file grows beyond so many bytes: what a full disk says, for every file of this process but the outputs."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    try:
        return command_line(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def with_few_pages(file: str, pages: int, *arguments: str) -> int:
    """That SQLite file does not grow by more than so many pages, and says that its disk is full."""
    place = Path(file).resolve()
    most: list[int] = []

    def limit(connection: Any, _record: object) -> None:
        if not hasattr(connection, "execute"):
            return
        cursor = connection.cursor()
        try:
            cursor.execute("PRAGMA database_list")
        except Exception:  # noqa: BLE001 - another kind of database
            return
        here = [Path(row[2]).resolve() for row in cursor.fetchall() if row[2]]
        if place in here:
            if not most:  # the first connection says what all of them may
                most.append(cursor.execute("PRAGMA page_count").fetchone()[0] + pages)
            cursor.execute(f"PRAGMA max_page_count = {most[0]}")
        cursor.close()

    sa.event.listen(sa.Engine, "connect", limit)
    return command_line(*arguments)


def by_another_clock(ahead_seconds: float, *arguments: str) -> int:
    """The command where the store's clock is that far ahead. A wait for a retry moves the clock and takes no time."""
    from reconcile.app import Application  # noqa: PLC0415 - only this child

    ahead = dt.timedelta(seconds=ahead_seconds)

    def sleep(seconds: float) -> None:
        nonlocal ahead
        ahead += dt.timedelta(seconds=seconds)

    _open_with(clock=lambda: dt.datetime.now(dt.UTC) + ahead)
    Application.__init__ = functools.partialmethod(Application.__init__, sleep=sleep)  # type: ignore[method-assign, assignment]
    return command_line(*arguments)


def _open_with(**defaults: Any) -> None:
    """Stores of this process are opened like that from now on."""
    opened = Store.open.__func__  # type: ignore[attr-defined]

    def open_so(cls: type[Store], *places: Any, **how: Any) -> Store:
        store: Store = opened(cls, *places, **(defaults | how))
        return store

    Store.open = classmethod(open_so)  # type: ignore[assignment, method-assign]


def at_once(start: float, *arguments: str) -> int:
    """The command, begun at that moment of the host's monotonic clock."""
    while (left := start - time.monotonic()) > 0:
        time.sleep(min(left, 0.05))
    return command_line(*arguments)


def processor(*arguments: str) -> list[float]:
    """[exit code, processor seconds] of the command."""
    code = command_line(*arguments)
    used = os.times()
    return [code, used.user + used.system]


def carry(start: float, most: int) -> dict[str, int]:
    """Execute what is approved, `most` plans a batch, begun at that moment; how many findings ended how.

    It waits long for its turn: SQLite's queue is not fair, and the fate of the last of many is not the subject.
    """
    from reconcile import config  # noqa: PLC0415 - only this child
    from reconcile.app import Application  # noqa: PLC0415
    from reconcile.cleaning.execution import executor  # noqa: PLC0415
    from reconcile.cleaning.execution.terms import Terms  # noqa: PLC0415

    executor.BATCH = most
    _open_with(patience=dt.timedelta(minutes=2))
    with Application(config.load(Path("reconcile.yaml"))) as application:
        tools = executor.ExecutionContext(
            application.store, Terms(application.project), application.target, application.subject
        )
        while (left := start - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))
        return dict(executor.execute_plans(tools).counts)
