"""A small HTTP server for monitoring. It answers GET requests with its routes and accepts no data.

It limits the bytes and time of a request and the number served at once; it never echoes a request. One thread holds
all connections, so stalled clients take no thread and delay nobody.
"""

from __future__ import annotations

import contextlib
import io
import ipaddress
import queue
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

import structlog

from reconcile.config.values import DEFAULT_LISTEN
from reconcile.errors import Wrong

MAX_HEAD = 8192
"""Bytes of request line and headers."""
PATIENCE = 5.0
"""Seconds for a client to send its request, and again to read the answer."""
AT_ONCE = 16
"""Requests answered at the same time, each in a thread."""
CONNECTIONS = 256
"""Connections open at the same time; one more closes the oldest that waits for its client."""
_NOTICED = 0.1
"""Seconds until a stop is noticed."""

log = structlog.get_logger("reconcile")


class ListenRefused(Wrong):
    """The listener cannot use the address; nothing was started."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"`listen`: cannot listen on {address}: {reason}. Nothing was started. Free the address, or set another "
            "address or `none` in `listen` or after --listen"
        )


@dataclass(frozen=True)
class RouteResponse:
    """The answer of a route."""

    status: HTTPStatus
    body: bytes
    kind: str = "text/plain; charset=utf-8"

    @classmethod
    def sentence(cls, status: HTTPStatus, text: str) -> RouteResponse:
        return cls(status, f"{text}\n".encode())


Route = Callable[[Mapping[str, str]], RouteResponse]
"""Answers a request by its headers."""


class Listener:
    """Answers at an address from `start` on. The constructor takes the address; raises ListenRefused.

    It answers only requests for a loopback name, the host of `address`, one of `hosts`, or, on a public address, an IP
    address: a web page whose own name resolves to this host gets 421 (DNS rebinding).
    """

    def __init__(self, address: str, routes: Mapping[str, Route], hosts: Iterable[str] = ()) -> None:
        try:
            family, host, port = _resolve(address)
            self.is_open = not ipaddress.ip_address(host.partition("%")[0]).is_loopback
            names = {"localhost", _host_of(address), *(name.lower() for name in hosts)}
            self._server = _Server(family, (host, port), partial(_respond, routes, _Hosts(names, self.is_open)))
        except (OSError, OverflowError, ValueError) as error:
            reason = getattr(error, "strerror", None) or f"it is not an address; write it like {DEFAULT_LISTEN}"
            raise ListenRefused(address, reason.lower()) from error
        self._thread = threading.Thread(target=self._server.run, name="listener", daemon=True)

    @property
    def address(self) -> str:
        host, port = self._server.address
        return f"[{host!s}]:{port}" if ":" in str(host) else f"{host!s}:{port}"

    def start(self) -> None:
        self._thread.start()
        log.info("listener.started", address=self.address)
        if self.is_open:
            why = "there is no authentication: any client of this address can read names of jobs and rules, and counts"
            log.warning("listener.open", address=self.address, why=why)

    def stop(self) -> None:
        """Safe to call twice, and without a start."""
        if self._thread.is_alive():
            self._server.stop()
            self._thread.join()
        self._server.close()


def _resolve(address: str) -> tuple[socket.AddressFamily, str, int]:
    host, _, port = address.rpartition(":")
    if not host or not 0 <= int(port) <= 65535:
        raise ValueError(address)
    family, *_, place = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
    return family, str(place[0]), int(place[1])


def _call_route(route: Route, path: str, headers: Mapping[str, str]) -> RouteResponse:
    try:
        return route(headers)
    except Exception as error:  # noqa: BLE001 - the client gets an answer, and no data
        log.error("listener.failed", path=path, error=type(error).__name__)
        return RouteResponse.sentence(HTTPStatus.INTERNAL_SERVER_ERROR, "This request failed; see the log")


def _host_of(authority: str) -> str:
    """The host of `host:port`, in lower case, without brackets and the dot of the root."""
    bracketed, _, _ = authority.removeprefix("[").partition("]")
    host = bracketed if authority.startswith("[") else authority.partition(":")[0]
    return host.strip().lower().removesuffix(".")


@dataclass(frozen=True)
class _Hosts:
    """The accepted host names. A page cannot rebind an IP address, so any is accepted if `is_open`."""

    names: set[str]
    is_open: bool

    def __contains__(self, authority: str) -> bool:
        host = _host_of(authority)
        if host in self.names:
            return True
        try:
            return ipaddress.ip_address(host).is_loopback or self.is_open
        except ValueError:
            return False


@dataclass(eq=False)
class _Connection:
    """One client: the request read so far and the answer still to send, each until `until`."""

    raw: socket.socket
    until: float
    head: bytes = b""
    answer: memoryview = field(default_factory=lambda: memoryview(b""))
    is_answered: bool = False
    """A thread makes its answer: it does not wait for its client."""


class _Server:
    """All connections in one thread; `respond` turns a request's bytes into an answer's, in another thread."""

    def __init__(self, family: int, place: tuple[str, int], respond: Callable[[bytes], bytes]) -> None:
        self._respond = respond
        self._connections: dict[socket.socket, _Connection] = {}
        self._answers: queue.SimpleQueue[tuple[_Connection, bytes]] = queue.SimpleQueue()
        self._busy = 0
        self._is_stopping = False
        self._listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listening.bind(place)
            self._listening.listen(128)
        except (OSError, OverflowError):
            self._listening.close()
            raise
        self._wakes, self._wake = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        for raw, call in ((self._listening, self._accept), (self._wakes, self._collect)):
            raw.setblocking(False)  # noqa: FBT003 - the method's name explains it
            self._selector.register(raw, selectors.EVENT_READ, call)
        self._wake.setblocking(False)  # noqa: FBT003 - see above

    @property
    def address(self) -> tuple[object, int]:
        host, port = self._listening.getsockname()[:2]
        return host, port

    def run(self) -> None:
        while not self._is_stopping:
            for key, _ in self._selector.select(_NOTICED):
                if key.fileobj.fileno() != -1:  # type: ignore[union-attr] # just closed to make room
                    key.data()
            self._end_overdue()

    def stop(self) -> None:
        self._is_stopping = True
        self._wake_up()

    def close(self) -> None:
        """Safe to call twice; answers still being made are discarded."""
        for connection in list(self._connections.values()):
            self._end(connection)
        self._selector.close()
        for raw in (self._listening, self._wakes, self._wake):
            raw.close()

    def _wake_up(self) -> None:
        with contextlib.suppress(OSError):  # it is full and wakes anyway, or it is closed
            self._wake.send(b"!")

    def _accept(self) -> None:
        for _ in range(CONNECTIONS):
            try:
                raw, _peer = self._listening.accept()
            except BlockingIOError:
                return
            except OSError:  # this process has no descriptor left, or the client is gone
                if not self._make_room():
                    time.sleep(_NOTICED)
                return
            if len(self._connections) >= CONNECTIONS:
                self._make_room()
            raw.setblocking(False)  # noqa: FBT003 - see above
            connection = self._connections[raw] = _Connection(raw, time.monotonic() + PATIENCE)
            self._selector.register(raw, selectors.EVENT_READ, partial(self._read, connection))

    def _make_room(self) -> bool:
        """Close the oldest connection that waits for its client; return False if there is none."""
        oldest = next((connection for connection in self._connections.values() if not connection.is_answered), None)
        if oldest is not None:
            self._end(oldest)
        return oldest is not None

    def _read(self, connection: _Connection) -> None:
        try:
            more = connection.raw.recv(MAX_HEAD)
        except BlockingIOError:
            return
        except OSError:
            more = b""
        connection.head += more
        if not more or len(connection.head) > MAX_HEAD:
            self._end(connection)
        elif b"\r\n\r\n" in connection.head or b"\n\n" in connection.head:
            self._begin_answer(connection)

    def _begin_answer(self, connection: _Connection) -> None:
        self._selector.unregister(connection.raw)
        if self._busy >= AT_ONCE:
            self._send(connection, _BUSY)
            return
        self._busy += 1
        connection.is_answered = True
        threading.Thread(target=self._answer, args=(connection,), name="listener-answer", daemon=True).start()

    def _answer(self, connection: _Connection) -> None:
        """Answer in a separate thread: a route may wait for the database."""
        answer = b""
        try:
            answer = self._respond(connection.head)
        finally:
            self._answers.put((connection, answer))
            self._wake_up()

    def _collect(self) -> None:
        with contextlib.suppress(OSError):
            self._wakes.recv(4096)
        while not self._answers.empty():
            connection, answer = self._answers.get()
            self._busy -= 1
            connection.is_answered = False
            self._send(connection, answer)

    def _send(self, connection: _Connection, answer: bytes) -> None:
        connection.answer = memoryview(answer)
        connection.until = time.monotonic() + PATIENCE
        self._selector.register(connection.raw, selectors.EVENT_WRITE, partial(self._write, connection))
        self._write(connection)

    def _write(self, connection: _Connection) -> None:
        try:
            connection.answer = connection.answer[connection.raw.send(connection.answer) :]
            if not connection.answer:
                connection.raw.shutdown(socket.SHUT_WR)
                self._end(connection)
        except BlockingIOError:
            return
        except OSError:  # the client is gone
            self._end(connection)

    def _end_overdue(self) -> None:
        now = time.monotonic()
        for connection in list(self._connections.values()):
            if connection.until < now and not connection.is_answered:
                self._end(connection)

    def _end(self, connection: _Connection) -> None:
        del self._connections[connection.raw]
        with contextlib.suppress(KeyError):  # it is not registered while its answer is made
            self._selector.unregister(connection.raw)
        connection.raw.close()


def _respond(routes: Mapping[str, Route], hosts: _Hosts, head: bytes) -> bytes:
    """The bytes of an answer; none if `head` is not a request."""
    exchange = _Exchange(routes, hosts, head)
    exchange.handle_one_request()
    return exchange.written()


class _Exchange(BaseHTTPRequestHandler):
    """One request, read from bytes, and its answer, written to bytes: http.server knows the protocol."""

    protocol_version = "HTTP/1.0"
    close_connection = True

    def __init__(self, routes: Mapping[str, Route], hosts: _Hosts, head: bytes) -> None:
        self._routes = routes
        self._hosts = hosts
        self.rfile = io.BytesIO(head)
        self.wfile = self._output = io.BytesIO()

    def written(self) -> bytes:
        return self._output.getvalue()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        route = self._routes.get(path)
        if refusal := self._refused():
            self._answer(refusal)
        elif route is None:
            paths = ", ".join(self._routes)
            self._answer(RouteResponse.sentence(HTTPStatus.NOT_FOUND, f"Not found; available paths: {paths}"))
        else:
            self._answer(_call_route(route, path, dict(self.headers.items())))

    def _refused(self) -> RouteResponse | None:
        """The refusal of a request for another host; only HTTP/1.0 may omit the Host header."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) > 1 or (not hosts and self.request_version == "HTTP/1.1"):
            return RouteResponse.sentence(HTTPStatus.BAD_REQUEST, "A request needs one Host header")
        if hosts and hosts[0] not in self._hosts:
            sentence = "This host name is not accepted; to accept it, add it to `listen_hosts`"
            return RouteResponse.sentence(HTTPStatus.MISDIRECTED_REQUEST, sentence)
        return None

    do_HEAD = do_GET  # noqa: N815 - the name http.server calls

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer with the status only; the request is never echoed."""
        replaced = {HTTPStatus.NOT_IMPLEMENTED: HTTPStatus.METHOD_NOT_ALLOWED}
        status = replaced.get(HTTPStatus(code), HTTPStatus(code))
        self._answer(RouteResponse.sentence(status, status.phrase))

    def _answer(self, answer: RouteResponse) -> None:
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
        """Log nothing: probes come every few seconds."""


_BUSY = b"HTTP/1.0 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n"
