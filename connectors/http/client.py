"""The requests of a source: paced, guarded, sent again a few times, and all of a read within its deadline.

A redirect is followed only on the origin of `url`, so credentials go nowhere else. No text of the API is shown.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from connectors.errors import ConnectorError, ReadStopped
from connectors.http.access import Access
from connectors.http.body import etag_of, text_of
from connectors.http.connector import HttpSettings
from connectors.http.document import parsed
from connectors.http.errors import AnswerCut, ApiUnanswered, RedirectRefused
from connectors.http.failures import Again, of_connection, of_status
from connectors.outbound import Exchange, HttpLimits, Interrupted, NotConnected, NotPublic, connect
from connectors.pace import Pace

MOST_REDIRECTS = 5
CONNECT_SECONDS = 10.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class OutOfTime(Exception):
    """The deadline of the read passed."""


@dataclass(frozen=True)
class Answer:
    """A page: its text, and that as JSON."""

    url: str
    text: str
    document: Any
    link: str = ""
    etag: str | None = None


@dataclass(frozen=True)
class FormerPage:
    """A page that was read before: its tag, and how to get its text."""

    etag: str
    text: Callable[[], str]
    link: str


class HttpClient:
    """Requests of one source, for any thread. `sleep` waits so many seconds; None: until `stop`."""

    def __init__(
        self,
        name: str,
        settings: HttpSettings,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        self.name, self._settings = name, settings
        self.clock, self._sleep = clock, sleep
        self._pace = Pace(settings.rate, clock) if settings.rate is not None else None
        self._access = Access(name, settings, self._open, clock)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._active: set[Exchange] = set()

    def __repr__(self) -> str:
        return f"<HttpClient {self.name!r}>"

    def stop(self) -> None:
        """End the current reads of all threads; later ones begin anew."""
        with self._lock:
            stopped, self._stopped = self._stopped, threading.Event()
            active = list(self._active)
        stopped.set()
        for exchange in active:
            exchange.hang_up()

    def reach(self) -> None:
        """Connect, and get a token if one is needed. Raises a ConnectorError."""
        parts = urlsplit(self._settings.url)
        is_secure = parts.scheme == "https"
        try:
            limits = HttpLimits(self._settings.allow, CONNECT_SECONDS, float(self._settings.timeout))
            port = parts.port or (443 if is_secure else 80)
            connect(parts.hostname or "", port, limits, is_secure=is_secure).close()
            self._access.headers(self.clock() + self._settings.timeout)
        except (NotPublic, NotConnected) as error:
            meaning = of_connection(self.name, parts.netloc, error)
            raise (meaning.error if isinstance(meaning, Again) else meaning) from None
        except Again as again:
            raise again.error from None
        except OutOfTime:
            raise ApiUnanswered(self.name, parts.netloc, f"no answer in {self._settings.timeout} s") from None

    def get(self, url: str, where: str, until: float, former: FormerPage | None = None) -> Answer:
        """Read a page of JSON before that time of the clock. Raises OutOfTime, a ConnectorError.

        `where` names it for people.
        """
        stopped = self._stopped
        for number in range(self._settings.retries + 1):
            self._take_turn(until, stopped)
            try:
                return self._asked(url, where, until, former)
            except Again as again:
                _must_go_on(self.name, stopped)
                pause = again.wait(number)
                if number == self._settings.retries or self.clock() + pause > until:
                    raise again.error from None
            except ConnectorError:
                _must_go_on(self.name, stopped)
                raise
            self._wait(pause, stopped)
        raise AssertionError  # pragma: no cover - the last round raises

    def _asked(self, url: str, where: str, until: float, former: FormerPage | None) -> Answer:
        """Ask once, and once more with a new token. Raises Again, OutOfTime, a ConnectorError."""
        for is_last in (False, True):
            headers = {"Accept": "application/json", "User-Agent": "reconcile"}
            given = self._access.headers(until)
            names = {name.lower() for name in given}
            headers = {name: content for name, content in headers.items() if name.lower() not in names} | given
            headers |= {"Accept-Encoding": "gzip", "Connection": "close"}
            if former is not None:
                headers["If-None-Match"] = former.etag
            try:
                answer = self._followed(url, where, headers, until, former)
            except (NotPublic, NotConnected, Interrupted) as error:
                raise of_connection(self.name, where, error) from None
            if answer is not None:
                return answer
            if is_last or not self._access.forget_token():
                break
        raise of_status(self.name, where, 401, {})

    def _followed(
        self, url: str, where: str, headers: dict[str, str], until: float, former: FormerPage | None
    ) -> Answer | None:
        """The answer at the end of redirects; None for 401, which a new token may change."""
        visited = {url}
        while True:
            with self._open("GET", url, None, headers, until) as exchange:
                if exchange.status in _REDIRECTS:
                    following = self._redirected(url, where, exchange.headers.get("location", ""))
                else:
                    return self._answered(url, where, exchange, former)
            if following in visited or len(visited) > MOST_REDIRECTS:
                raise RedirectRefused(
                    self.name, where, "redirects in circles", "ask the API's owner for the right `url` and `path`"
                )
            visited.add(following)
            url = following

    def _redirected(self, url: str, where: str, location: str) -> str:
        try:
            target = joined(url, location)
            if location and origin(target) == origin(url):
                return target
            host = urlsplit(target).hostname if location else None
        except ValueError:
            host = None
        names = f"redirects to another origin, {host[:100]!r}" if host else "redirects to an invalid address"
        remedy = "it is followed only on the origin of `url`, so that credentials go nowhere else: correct `url`"
        raise RedirectRefused(self.name, where, names, remedy)

    def _answered(self, url: str, where: str, exchange: Exchange, former: FormerPage | None) -> Answer | None:
        status = exchange.status
        if status == 304 and former is not None:
            text = former.text()
            return Answer(url, text, parsed(text, where), former.link, former.etag)
        if status == 401:
            return None
        if status != 200:
            raise of_status(self.name, where, status, exchange.headers)
        text = text_of(exchange, where, self._settings.max_page)
        try:
            document = parsed(text, where)
        except AnswerCut as error:
            raise Again(error) from None
        return Answer(url, text, document, exchange.headers.get("link", ""), etag_of(exchange.headers))

    @contextmanager
    def _open(
        self, method: str, url: str, body: bytes | None, headers: dict[str, str], until: float
    ) -> Iterator[Exchange]:
        """Open an exchange that `stop` ends. Raises OutOfTime, and the errors of `Exchange`."""
        seconds = min(until - self.clock(), float(self._settings.timeout))
        if seconds <= 0:
            raise OutOfTime
        exchange = Exchange(
            method, url, body, headers, HttpLimits(self._settings.allow, min(seconds, CONNECT_SECONDS), seconds)
        )
        with self._lock:
            self._active.add(exchange)
        try:
            with exchange:
                yield exchange
        finally:
            with self._lock:
                self._active.discard(exchange)

    def _take_turn(self, until: float, stopped: threading.Event) -> None:
        wait = 0.0 if self._pace is None else self._pace.turn()
        if self.clock() + wait >= until:
            raise OutOfTime
        self._wait(wait, stopped)

    def _wait(self, seconds: float, stopped: threading.Event) -> None:
        if seconds > 0:
            if self._sleep is None:
                stopped.wait(seconds)
            else:
                self._sleep(seconds)
        _must_go_on(self.name, stopped)


def _must_go_on(source: str, stopped: threading.Event) -> None:
    if stopped.is_set():
        raise ReadStopped(source)


def joined(url: str, reference: str) -> str:
    """The address that a reference in an answer means, in characters that a request can have. Raises ValueError."""
    return quote(urljoin(url, reference.strip()), safe="!#$%&'()*+,/:;=?@[]~").partition("#")[0]


def origin(url: str) -> tuple[str, str, int]:
    """The scheme, host and port of an address. Raises ValueError."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    return parts.scheme, (parts.hostname or "").lower(), port
