"""Sessions of Spark, and jobs that end when they are stopped or take too long.

A process has one Spark context. Sources share it; the last one that is closed stops it, unless it existed before.
"""

from __future__ import annotations

import importlib
import socket
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from connectors.errors import DriverMissing, SourceMissing, SourceUnreachable
from connectors.spark.errors import connector_error, database_error, database_reason
from connectors.sql.errors import ErrorContext

CONNECT_SECONDS = 10
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.variable.substitute": "false",
    # An exact difference of decimals, or an error; never a rounded one.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
}
"""Settings of every session of ours, without which our statements would mean something else."""

_lock = threading.Lock()
_created: dict[str, int] = {}
"""The addresses of contexts that we created, each with the number of sources that use it."""


class Connection:
    """A source's use of Spark; opened by the first read, closed with the source."""

    def __init__(
        self, place: ErrorContext, url: str | None, config: Mapping[str, str], seconds: float, database: str | None
    ) -> None:
        self.place = place
        self.database = database
        self.seconds = seconds
        self._url, self._config = url, config
        self._base: Any = None
        self._remote: list[Any] = []
        self._counted = False

    def session(self) -> Any:
        """A session with settings, views and conversions of its own."""
        if self._base is None:
            self._base = self._connected()
        with self.running(None):
            session = self._base.newSession()
            if _is_remote(session):
                self._remote.append(session)
                for name, value in self._config.items():  # a new session of a context has them already
                    session.conf.set(name, value)
            for name, value in _SETTINGS.items():
                if session.conf.get(name) != value:  # Connect warns of some that are set, even to their default
                    session.conf.set(name, value)
        return session

    def close(self) -> None:
        """Stop the context if no other source uses it and we created it. Safe to call twice."""
        remote, self._remote = self._remote, []
        for session in remote:
            session.stop()  # else the server would keep it, and its copies, for an hour
        base, self._base = self._base, None
        if base is None or not self._counted or self._url is None:
            return
        self._counted = False
        with _lock:
            _created[self._url] -= 1
            if _created[self._url] == 0:
                del _created[self._url]
                base.stop()

    def _connected(self) -> Any:
        try:
            from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise DriverMissing(self.place.source, "pyspark", "reconcile-runner[spark]") from error
        active = SparkSession.getActiveSession()
        if self._url is None:
            if active is None:
                raise SourceMissing(self.place.source, "this process", "it has no active Spark session; set `url`")
            return active
        _must_answer(self.place, self._url)
        builder = SparkSession.builder.appName("reconcile")
        is_remote = self._url.startswith("sc://")
        if is_remote:
            _load_connect(self.place)
        builder = builder.remote(self._url) if is_remote else builder.master(self._url)
        quiet = {} if is_remote else {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
        for name, value in {**quiet, **self._config}.items():
            builder = builder.config(name, value)
        with _lock, self.running(None):
            if active is None or self._url in _created:
                _created[self._url] = _created.get(self._url, 0) + 1
                self._counted = True
            return builder.getOrCreate()

    @contextmanager
    def running(self, session: Any, dataset: str = "") -> Iterator[None]:
        """Turn errors into ours, and cancel the session's jobs that are stopped or take too long."""
        from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with pyspark
        from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra

        stops = self.place.underway.stops
        tag = f"reconcile-{uuid.uuid4().hex}"
        late = threading.Event()

        jobs = None if session is None else _Jobs.of(session)

        def cancel() -> None:
            if jobs is not None:
                jobs.cancel(tag)

        def expire() -> None:
            late.set()
            cancel()

        read = self.place.underway.begin(cancel)
        timer = threading.Timer(self.seconds, expire)
        timer.daemon = True
        timer.start()
        if jobs is not None:
            jobs.tag(tag)
        try:
            yield
        except (PySparkException, Py4JError, OSError) as error:
            self.place.must_go_on(stops)
            if not late.is_set() and self.database and (reason := database_reason(error)):
                raise database_error(reason, replace(self.place, where=self.database), dataset) from None
            raise connector_error(error, self.place, late=late.is_set(), dataset=dataset) from None
        finally:
            timer.cancel()
            if jobs is not None:
                jobs.untag(tag)
            read.over()


@dataclass(frozen=True)
class _Jobs:
    """Tags the jobs that this thread starts, and cancels those with a tag from any thread."""

    tag: Callable[[str], None]
    untag: Callable[[str], None]
    cancel: Callable[[str], object]

    @classmethod
    def of(cls, session: Any) -> _Jobs:
        if _is_remote(session):
            return cls(session.addTag, session.removeTag, session.interruptTag)
        # A session here knows its tags only in the thread that added them; its context knows them everywhere.
        context = session.sparkContext
        context.setInterruptOnCancel(True)
        return cls(context.addJobTag, context.removeJobTag, context.cancelJobsWithTag)


def in_session(session: Any, copy: Any) -> Any:
    """Return a checkpoint as a frame of the session that made it: Spark Connect binds it to the active session."""
    if not _is_remote(session):
        return copy
    copy_id = copy._plan._relation_id  # noqa: SLF001 - no public name leads to it
    return session._create_remote_dataframe(copy_id)  # noqa: SLF001 - as above


def _load_connect(place: ErrorContext) -> None:
    """Load Spark Connect's client without its warning about pandas, which we do not call. Raises DriverMissing."""
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            importlib.import_module("pyspark.sql.connect.session")
        except ImportError as error:
            raise DriverMissing(place.source, "the client of Spark Connect", "pyspark[connect]") from error


def _is_remote(session: Any) -> bool:
    """Return True if the session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _must_answer(place: ErrorContext, url: str) -> None:
    """Raise SourceUnreachable if nothing listens there: Spark itself would try for a minute."""
    if not url.startswith(("spark://", "sc://")):
        return
    try:
        address = urlsplit(url.split(",", 1)[0].split(";", 1)[0])
        default = 7077 if address.scheme == "spark" else 15002
        socket.create_connection((address.hostname or "", address.port or default), CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise SourceUnreachable(place.source, place.where, str(error)) from None
