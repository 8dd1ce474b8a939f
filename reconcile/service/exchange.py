"""One request, from bytes, and its answer, to bytes: http.server knows the protocol. No answer echoes a request."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

import structlog

from reconcile.service.hosts import Hosts

MAX_BODY = 1_000_000
"""Bytes of a body."""

_LENGTH = re.compile(rb"^content-length[ \t]*:([^\n]*)", re.IGNORECASE | re.MULTILINE)
"""Blanks around the number are cut off afterwards: in the expression they would cost cubic time."""
_CODED = re.compile(rb"^transfer-encoding[ \t]*:", re.IGNORECASE | re.MULTILINE)

log = structlog.get_logger("reconcile")


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


@dataclass(frozen=True)
class Request:
    """A request for the application: names of headers are lower case."""

    method: str
    path: bytes
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]


def path_of(head: bytes) -> str:
    """Return the path in the first line of a head; empty if it is not a request."""
    parts = head.split(b"\r\n", 1)[0].split(b" ")
    return parts[1].partition(b"?")[0].decode("latin-1") if len(parts) > 1 else ""


def body_size(head: bytes) -> int | bytes:
    """Return the size of the body, or an answer: chunks, two sizes, or more than MAX_BODY are refused."""
    sizes = [size.strip(b" \t\r") for size in _LENGTH.findall(head)]
    if _CODED.search(head):
        return answer_bytes(HTTPStatus.LENGTH_REQUIRED, [], b"Send a body with Content-Length\n")
    if len(sizes) > 1 or not all(size.isdigit() for size in sizes):
        return answer_bytes(HTTPStatus.BAD_REQUEST, [], b"Content-Length is not one number\n")
    if not sizes:
        return 0
    if len(sizes[0]) > len(str(MAX_BODY)) or int(sizes[0]) > MAX_BODY:
        sentence = f"A body has at most {MAX_BODY:,} bytes\n".encode()
        return answer_bytes(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, [], sentence)
    return int(sizes[0])


def answer_bytes(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes, *, is_head: bool = False) -> bytes:
    """Return an answer, after which the connection ends. Raises ValueError for a header with a line end."""
    lines = [f"HTTP/1.1 {status} {_phrase(status)}".encode()]
    given = [(name.lower(), value) for name, value in headers]
    if b"content-type" not in dict(given):
        given.append((b"content-type", b"text/plain; charset=utf-8"))
    given = [pair for pair in given if pair[0] != b"content-length"]
    given += [(b"content-length", str(len(body)).encode()), (b"connection", b"close"), (b"server", b"reconcile")]
    for name, value in given:
        if b"\r" in name + value or b"\n" in name + value:
            raise ValueError(f"The header {name!r} holds a line end")
        lines.append(name.title() + b": " + value)
    return b"\r\n".join([*lines, b"", b"" if is_head else body])


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


class Exchange(BaseHTTPRequestHandler):
    """One request to our own routes."""

    protocol_version = "HTTP/1.0"
    default_request_version = "HTTP/1.0"  # what is no request gets a status too
    close_connection = True

    def __init__(self, routes: Mapping[str, Route], hosts: Hosts, head: bytes) -> None:
        self._routes = routes
        self._hosts = hosts
        self.rfile = io.BytesIO(head)
        self.wfile = self._output = io.BytesIO()

    def written(self) -> bytes:
        return self._output.getvalue()

    def request(self) -> Request | None:
        """Parse the request for the application; None if it was refused, which is then `written`."""
        self.raw_requestline = self.rfile.readline()
        if not self.parse_request():
            return None
        if refusal := self._refused():
            self._answer(refusal)
            return None
        path, _, query = self.path.encode("latin-1").partition(b"?")
        headers = ((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in self.headers.items())
        return Request(self.command, path, query, tuple(headers))

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

    do_HEAD = do_GET  # noqa: N815 - the name http.server calls

    def _refused(self) -> RouteResponse | None:
        """The refusal of a request for another host; only HTTP/1.0 may omit the Host header."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) > 1 or (not hosts and self.request_version == "HTTP/1.1"):
            return RouteResponse.sentence(HTTPStatus.BAD_REQUEST, "A request needs one Host header")
        if hosts and hosts[0] not in self._hosts:
            sentence = "This host name is not accepted; to accept it, add it to `listen_hosts`"
            return RouteResponse.sentence(HTTPStatus.MISDIRECTED_REQUEST, sentence)
        return None

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


def _call_route(route: Route, path: str, headers: Mapping[str, str]) -> RouteResponse:
    try:
        return route(headers)
    except Exception as error:  # noqa: BLE001 - the client gets an answer, and no data
        log.error("listener.failed", path=path, error=type(error).__name__)
        return RouteResponse.sentence(HTTPStatus.INTERNAL_SERVER_ERROR, "This request failed; see the log")
