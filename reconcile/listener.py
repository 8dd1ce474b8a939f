"""A small HTTP server for those who watch Reconcile. It answers with what its routes say, and takes nothing in.

It bounds what it is sent, in bytes and in time, and how many it serves at once; what it was sent is never said back.
"""

from __future__ import annotations

import io
import ipaddress
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import structlog

from reconcile.config.values import DEFAULT_LISTEN

MAX_HEAD = 8192
"""Bytes of request line and headers."""
PATIENCE = 5.0
"""Seconds in which a request has to be there, and an answer taken."""
AT_ONCE = 16
_NOTICED = 0.1
"""Seconds until a stop is noticed."""

log = structlog.get_logger("reconcile")


class ListenRefused(Exception):
    """The address cannot be listened on; nothing was started."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"`listen`: {address} cannot be listened on: {reason}. Nothing was started; free it, or write another "
            "address, or none, in `listen` or after --listen"
        )


@dataclass(frozen=True)
class Answer:
    """What a route answers with."""

    status: HTTPStatus
    body: bytes
    kind: str = "text/plain; charset=utf-8"

    @classmethod
    def sentence(cls, status: HTTPStatus, text: str) -> Answer:
        return cls(status, f"{text}\n".encode())


Route = Callable[[Mapping[str, str]], Answer]
"""An answer to a request's headers."""


class Listener:
    """Answers at an address from `start` on. Made, it has the address already: raises ListenRefused."""

    def __init__(self, address: str, routes: Mapping[str, Route]) -> None:
        try:
            family, host, port = _place(address)
            self._server = _Server(family, (host, port), routes)
        except (OSError, OverflowError, ValueError) as error:
            reason = getattr(error, "strerror", None) or f"it is no address; write it like {DEFAULT_LISTEN}"
            raise ListenRefused(address, reason.lower()) from error
        self.is_open = not ipaddress.ip_address(host.partition("%")[0]).is_loopback
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_NOTICED,), name="listener", daemon=True
        )

    @property
    def address(self) -> str:
        host, port = self._server.server_address[:2]
        return f"[{host!s}]:{port}" if ":" in str(host) else f"{host!s}:{port}"

    def start(self) -> None:
        self._thread.start()
        log.info("listener.started", address=self.address)
        if self.is_open:
            why = "whoever reaches this address reads names of jobs and rules, and counts: there is no authentication"
            log.warning("listener.open", address=self.address, why=why)

    def stop(self) -> None:
        """Safe to call twice, and without a start."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


def _place(address: str) -> tuple[socket.AddressFamily, str, int]:
    host, _, port = address.rpartition(":")
    if not host or not 0 <= int(port) <= 65535:
        raise ValueError(address)
    family, *_, place = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
    return family, str(place[0]), int(place[1])


def _answered(route: Route, path: str, headers: Mapping[str, str]) -> Answer:
    try:
        return route(headers)
    except Exception as error:  # noqa: BLE001 - who asks gets an answer, and no data
        log.error("listener.failed", path=path, error=type(error).__name__)
        return Answer.sentence(HTTPStatus.INTERNAL_SERVER_ERROR, "This could not be answered; the log says more")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_port = False

    def __init__(self, family: socket.AddressFamily, place: tuple[str, int], routes: Mapping[str, Route]) -> None:
        self.address_family = family
        self.routes = routes
        self._room = threading.BoundedSemaphore(AT_ONCE)
        super().__init__(place, _Handler)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # HTTPServer would ask the network for this host's name

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, _request: object, _client_address: object) -> None:
        """A client that is gone is nobody's trouble."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = PATIENCE
    protocol_version = "HTTP/1.0"

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BytesIO(self._head())

    def _head(self) -> bytes:
        """Request line and headers; nothing when they are too long or do not come in time."""
        until, head = time.monotonic() + PATIENCE, b""
        while b"\r\n\r\n" not in head and b"\n\n" not in head:
            left = until - time.monotonic()
            if left <= 0 or len(head) > MAX_HEAD:
                return b""
            self.connection.settimeout(left)
            try:
                more = self.connection.recv(MAX_HEAD)
            except OSError:
                return b""
            if not more:
                return b""
            head += more
        self.connection.settimeout(PATIENCE)
        return head if len(head) <= MAX_HEAD else b""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        route = self.server.routes.get(path)
        if route is None:
            known = ", ".join(self.server.routes)
            self._answer(Answer.sentence(HTTPStatus.NOT_FOUND, f"There is nothing here; ask for {known}"))
        else:
            self._answer(_answered(route, path, dict(self.headers.items())))

    do_HEAD = do_GET  # noqa: N815 - the name http.server asks for

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """What was sent is not said back."""
        known = {HTTPStatus.NOT_IMPLEMENTED: HTTPStatus.METHOD_NOT_ALLOWED}
        status = known.get(HTTPStatus(code), HTTPStatus(code))
        self._answer(Answer.sentence(status, status.phrase))

    def _answer(self, answer: Answer) -> None:
        self.send_response(answer.status)
        if answer.status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def version_string(self) -> str:
        return "reconcile"

    def log_message(self, *_: object) -> None:
        """A probe every few seconds is no news."""
