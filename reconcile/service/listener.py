"""The HTTP server of `serve`: its own routes for monitoring, and an application for everything else, if there is one.

It limits the bytes and time of a request and the number served at once; it never echoes a request. One thread holds all
connections; each answer ends its connection.
"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import structlog

from reconcile.config.values import DEFAULT_LISTEN
from reconcile.errors import Wrong
from reconcile.service import exchange
from reconcile.service.applications import ApplicationHost, Asgi
from reconcile.service.connections import Connections, Received
from reconcile.service.exchange import Exchange, Route
from reconcile.service.hosts import Hosts, host_of, resolve

AT_ONCE = 16
"""Requests to routes answered at the same time, each in a thread."""

log = structlog.get_logger("reconcile")


class ListenRefused(Wrong):
    """The listener cannot use the address; nothing was started."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"`listen`: cannot listen on {address}: {reason}. Nothing was started. Free the address, or set another "
            "address or `none` in `listen` or after --listen"
        )


class Listener:
    """Answers at an address from `start` on. The constructor takes the address; raises ListenRefused.

    It answers only requests for a loopback name, the host of `address`, one of `hosts`, or, on a public address, an IP
    address: a web page whose own name resolves to this host gets 421 (DNS rebinding). Without an `app`, only GET and
    HEAD requests to `routes` are accepted, and no body is read.
    """

    def __init__(
        self, address: str, routes: Mapping[str, Route], hosts: Iterable[str] = (), app: Asgi | None = None
    ) -> None:
        try:
            family, host, port = resolve(address)
            self.is_open = is_open(host)
            names = {"localhost", host_of(address), *(name.lower() for name in hosts)}
            accepted = Hosts(names, self.is_open)
            self._app = None if app is None else ApplicationHost(app)
            self._connections = Connections(family, (host, port), _Requests(routes, accepted, self._app))
        except (OSError, OverflowError, ValueError) as error:
            reason = getattr(error, "strerror", None) or f"it is not an address; write it like {DEFAULT_LISTEN}"
            raise ListenRefused(address, reason.lower()) from error
        self._thread = threading.Thread(target=self._connections.run, name="listener", daemon=True)

    @property
    def address(self) -> str:
        host, port = self._connections.address
        return f"[{host!s}]:{port}" if ":" in str(host) else f"{host!s}:{port}"

    def start(self) -> None:
        if self._app is not None:
            self._app.start()
        self._thread.start()
        log.info("listener.started", address=self.address)
        if self.is_open:
            why = "there is no authentication: any client of this address can read names of jobs and rules, and counts"
            log.warning("listener.open", address=self.address, why=why)

    def stop(self) -> None:
        """Safe to call twice, and without a start."""
        if self._thread.is_alive():
            self._connections.stop()
            self._thread.join()
        if self._app is not None:
            self._app.stop()
        self._connections.close()


def is_open(host: str) -> bool:
    """Return True if others than this host reach the IP address."""
    return not ipaddress.ip_address(host.partition("%")[0]).is_loopback


class _Requests:
    """Gives each request to its route or to the application. Used by the thread of the connections."""

    def __init__(self, routes: Mapping[str, Route], hosts: Hosts, app: ApplicationHost | None) -> None:
        self._routes = routes
        self._hosts = hosts
        self._app = app
        self._places = threading.BoundedSemaphore(AT_ONCE)

    def body_size(self, head: bytes) -> int | bytes:
        return 0 if self._is_ours(head) else exchange.body_size(head)

    def begin(self, request: Received, answer: Callable[[bytes], None]) -> bytes | None:
        if self._app is not None and not self._is_ours(request.head):
            return self._app.begin(request, self._hosts, answer)
        if not self._places.acquire(blocking=False):
            return _BUSY
        respond = partial(self._respond, request.head, answer)
        threading.Thread(target=respond, name="listener-answer", daemon=True).start()
        return None

    def _is_ours(self, head: bytes) -> bool:
        return self._app is None or exchange.path_of(head) in self._routes

    def _respond(self, head: bytes, answer: Callable[[bytes], None]) -> None:
        """Answer in a separate thread: a route may wait for the database."""
        written = b""
        try:
            one_exchange = Exchange(self._routes, self._hosts, head)
            one_exchange.handle_one_request()
            written = one_exchange.written()
        finally:
            self._places.release()
            answer(written)


_BUSY = b"HTTP/1.0 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n"
