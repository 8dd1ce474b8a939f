"""The start of `serve` while its state can't be written: it waits, and tells people without the state.

To end with a code would leave it to a supervisor to tell: that starts again every few seconds, until it gives up.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path

import structlog

from reconcile import config
from reconcile.app import Application
from reconcile.config.settings import Project
from reconcile.messages import direct
from reconcile.messages.direct import StateTrouble
from reconcile.service import ready
from reconcile.service.duties import REPEAT
from reconcile.service.exchange import Route, RouteResponse
from reconcile.service.listener import Listener
from reconcile.service.routes import health
from reconcile.service.serve import ServeProcess, log_undelivered
from reconcile.store import Store, StoreError
from reconcile.store.errors import CommitUnknown, StoreFull, StoreLocked, StoreNotWritable, StoreUnreachable
from reconcile.store.failing import Failing

PAUSE = 5.0
"""Seconds between two attempts to write the state."""
PASSING = (CommitUnknown, StoreFull, StoreLocked, StoreNotWritable, StoreUnreachable)
"""Errors that can end while `serve` waits, without a change of its configuration."""

log = structlog.get_logger("reconcile")


@dataclass
class Start:
    """The start of a server of this file. `make` builds it with a trouble that it goes on to watch.

    `worker` and `listen` are those of the server. `sleep` waits seconds.
    """

    path: Path
    environ: Mapping[str, str]
    make: Callable[[StateTrouble], ServeProcess]
    worker: bool = False
    listen: str | None = None
    sleep: Callable[[float], None] = time.sleep

    def server(self) -> ServeProcess:
        """Return the server as soon as its state can be written.

        Raises the other errors of `ServeProcess`; with a broken file also those of the state, because the release to go
        on with, and the channels, are in the state then.
        """
        writes, trouble = Failing(), StateTrouble(log_undelivered)
        while True:
            try:
                server = self.make(trouble)
            except PASSING as error:
                writes.failed(error)
                try:
                    project = config.load(self.path, self.environ)
                except config.ConfigProblems:
                    raise error from None
                self._wait(project, writes, trouble)
            else:
                if writes.ongoing() is not None:
                    server.store.writes = writes
                return server

    def _wait(self, project: Project, writes: Failing, trouble: StateTrouble) -> None:
        """Return when the state can be written, or can never be: the next attempt says why."""
        logged = float("-inf")
        key_file = Store.key_file_at(project.state.get_secret_value(), project.directory)
        with self._answering(project, writes), Application(project) as application:
            while (failure := writes.ongoing()) is not None:
                if time.monotonic() - logged >= REPEAT:
                    logged = time.monotonic()
                    log.error("serve.waits", why=str(failure.error), seconds=round(failure.seconds) or None)
                if not self.worker:
                    trouble.tell(failure, key_file, project, application.channels)
                self.sleep(PAUSE)
                try:
                    with Store.open(project.state.get_secret_value(), project.directory) as store:
                        direct.probe(store)
                except PASSING as error:
                    writes.failed(error)
                    continue
                except StoreError:
                    return  # `make` raises it too
                return

    @contextlib.contextmanager
    def _answering(self, project: Project, writes: Failing) -> Iterator[None]:
        """Answer health checks meanwhile: alive, as a restart would not help, and not ready."""
        address = self.listen or project.listen or "none"
        if address == "none":
            yield
            return
        routes: dict[str, Route] = {"/healthz": lambda _headers: health({}), "/readyz": partial(_not_ready, writes)}
        listener = Listener(address, routes, project.listen_hosts)
        try:
            listener.start()
            yield
        finally:
            listener.stop()


def _not_ready(writes: Failing, _headers: Mapping[str, str]) -> RouteResponse:
    failure = writes.ongoing()
    why = "The state database was not opened yet" if failure is None else ready.not_written(failure)
    return RouteResponse.sentence(HTTPStatus.SERVICE_UNAVAILABLE, why)
