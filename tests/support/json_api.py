"""A JSON API over loopback that answers byte by byte as a test says, well or badly; and one that pages a list.

Requests arrive on real sockets, with or without TLS, so a fault is what a client really meets.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import ipaddress
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

JSON_TYPE = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Asked:
    """A request as it arrived, with its number from 1."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    number: int


@dataclass(frozen=True)
class Reply:
    """The bytes that are sent, one part after the other, with a pause between them, and how the connection ends.

    `end`: `close`, `reset` (the client gets a RST), or `hang` until the server is closed.
    """

    parts: Sequence[bytes] = ()
    end: str = "close"
    pause: float = 0.0


Answering = Callable[[Asked], Reply]


def reply(
    body: bytes | str = b"", status: int = 200, headers: Mapping[str, str] | None = None, *, length: int | None = None
) -> Reply:
    """A complete answer; `length` is another Content-Length than that of the body."""
    content = body.encode() if isinstance(body, str) else body
    fields = {"Content-Length": str(len(content) if length is None else length), **(headers or {})}
    return Reply([head(status, fields) + content])


def head(status: int, fields: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Some Reason", *(f"{name}: {content}" for name, content in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def answer(document: Any, status: int = 200, **headers: str) -> Reply:
    """A JSON answer; `Retry_After` is the header Retry-After."""
    fields = {name.replace("_", "-"): content for name, content in headers.items()}
    return reply(json.dumps(document), status, {**JSON_TYPE, **fields})


def compressed(document: Any) -> Reply:
    return reply(gzip.compress(json.dumps(document).encode()), 200, {**JSON_TYPE, "Content-Encoding": "gzip"})


class JsonApi:
    """A server; `asked` are its requests so far. Replace `answering` at any time."""

    def __init__(self, answering: Answering, context: ssl.SSLContext | None = None) -> None:
        self.answering = answering
        self.asked: list[Asked] = []
        self._context = context
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"{'http' if context is None else 'https'}://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._closed.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._socket.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                line, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        try:
            if self._context is not None:
                line = self._context.wrap_socket(line, server_side=True)
            request = self._read(line)
            if request is not None:
                self._send(line, self.answering(request))
        except OSError:  # the client went away
            pass
        finally:
            line.close()

    def _read(self, line: socket.socket) -> Asked | None:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = line.recv(65_536)
            if not piece:
                return None
            data += piece
        top, _, body = data.partition(b"\r\n\r\n")
        first, *rest = top.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): content for name, _, content in (each.partition(": ") for each in rest)}
        while len(body) < int(headers.get("content-length", "0")):
            body += line.recv(65_536)
        parts = urlsplit(target)
        with self._lock:
            asked = Asked(method, parts.path, dict(parse_qsl(parts.query)), headers, body, len(self.asked) + 1)
            self.asked.append(asked)
        return asked

    def _send(self, line: socket.socket, sent: Reply) -> None:
        for number, part in enumerate(sent.parts):
            if number and sent.pause:
                self._closed.wait(sent.pause)
            line.sendall(part)
        if sent.end == "hang":
            self._closed.wait(20)
        if sent.end == "reset":
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@contextmanager
def serving(answering: Answering, context: ssl.SSLContext | None = None) -> Iterator[JsonApi]:
    api = JsonApi(answering, context)
    try:
        yield api
    finally:
        api.close()


def certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A context of a server for 127.0.0.1, and the file with its certificate, which nobody signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "api.example")])
    now = dt.datetime.now(dt.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file, key_file = folder / "api.pem", folder / "api.key"
    file.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key_file)
    return context, file


@dataclass
class PagedList:
    """A list that an API pages in one of the five ways. `before` is called ahead of each page, as people work."""

    records: list[Any]
    by: str
    size: int = 2
    before: Callable[[Asked], None] = lambda _asked: None
    texts: list[str] | None = None
    """The records as JSON, if their digits matter."""
    extra: dict[str, Any] = field(default_factory=dict)

    PAGING = {  # noqa: RUF012 - read only
        "cursor": {"by": "cursor", "param": "after", "next": "meta.next"},
        "page": {"by": "page", "param": "p"},
        "offset": {"by": "offset", "param": "skip"},
        "link": {"by": "link"},
        "next": {"by": "next", "next": "meta.next"},
    }

    def __call__(self, asked: Asked) -> Reply:
        self.before(asked)
        begin = self._begin(asked)
        end = begin + self.size
        written = self.texts if self.texts is not None else [json.dumps(record) for record in self.records]
        meta: dict[str, Any] = {"total": len(written), **self.extra}
        headers = dict(JSON_TYPE)
        if end < len(written):
            following = {
                "cursor": str(end),
                "next": f"{asked.path}?from={end}",
                "link": f"{asked.path}?from={end}",
            }.get(self.by)
            if self.by == "link":
                headers["Link"] = f'<{asked.path}?from=0>; rel="first", <{following}>; rel="next"; title="a, b"'
            elif following is not None:
                meta["next"] = following
        body = f'{{"meta": {json.dumps(meta)}, "data": {{"items": [{", ".join(written[begin:end])}]}}}}'
        return reply(body, 200, headers)

    def _begin(self, asked: Asked) -> int:
        query = asked.query
        if self.by == "page":
            return (int(query["p"]) - 1) * self.size
        return int(query.get({"cursor": "after", "offset": "skip"}.get(self.by, "from"), "0"))
