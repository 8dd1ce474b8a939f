"""The listener with an application: which bodies it takes, what it bounds, and that monitoring goes on meanwhile."""

import asyncio
import http.client
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import pytest
import structlog

from reconcile.service import applications, connections, exchange
from reconcile.service.applications import Message
from reconcile.service.exchange import RouteResponse
from reconcile.service.listener import Listener

Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Toy:
    """Says back how it was asked; waits, fails or misbehaves at some paths."""

    def __init__(self) -> None:
        self.waiting = threading.Semaphore(0)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        path, headers = scope["path"], [(b"content-type", b"text/plain")]
        if path == "/waits":
            self.waiting.release()
            await asyncio.sleep(60)
        if path == "/fails":
            raise ValueError("Mrs Petersen")
        if path == "/splits":
            headers.append((b"location", b"/x\r\nset-cookie: a=b"))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        text = f"{scope['method']} {path} {scope['query_string'].decode()} {scope['client'][0]} {len(body)}"
        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b"!"})


def probe(_headers: Mapping[str, str]) -> RouteResponse:
    return RouteResponse.sentence(HTTPStatus.OK, "ok")


@pytest.fixture
def server() -> Iterator[Listener]:
    pytest.importorskip("anyio")
    server = Listener("127.0.0.1:0", {"/healthz": probe}, app=Toy())
    server.start()
    yield server
    server.stop()


def ask(server: Listener, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(server.address, timeout=10)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def say(server: Listener, *parts: bytes, pause: float = 0.0) -> bytes:
    host, _, port = server.address.rpartition(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            answer = b""
            while more := connection.recv(4096):
                answer += more
        except (ConnectionResetError, BrokenPipeError):
            return b"reset"
        return answer


HEAD = b"POST /x HTTP/1.1\r\nHost: localhost\r\n"


def test_the_application_gets_every_method_with_its_body_and_monitoring_keeps_its_routes(server: Listener) -> None:
    assert ask(server, "POST", "/a%20b?c=d", b"x" * 70_000) == (200, b"POST /a b c=d 127.0.0.1 70000!")
    assert ask(server, "DELETE", "/x") == (200, b"DELETE /x  127.0.0.1 0!")
    assert ask(server, "HEAD", "/x") == (200, b"")
    assert ask(server, "GET", "/healthz") == (200, b"ok\n")
    assert ask(server, "POST", "/healthz", b"x") == (405, b"Method Not Allowed\n")
    assert ask(server, "GET", "/x", Host="evil.example")[0] == 421


def test_a_body_that_comes_in_parts_is_whole(server: Listener) -> None:
    answer = say(server, HEAD + b"Content-Length: 6\r\n\r\nab", b"cd", b"ef", pause=0.05)

    assert b" 200 " in answer
    assert answer.endswith(b"POST /x  127.0.0.1 6!")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b" 411 "),
        (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", b" 400 "),
        (HEAD + b"Content-Length: -1\r\n\r\n", b" 400 "),
        (HEAD + b"Content-Length: 1e3\r\n\r\n", b" 400 "),
        (HEAD + b"Content-Length: " + b"9" * 400 + b"\r\n\r\n", b" 413 "),
        (HEAD + f"Content-Length: {exchange.MAX_BODY + 1}\r\n\r\n".encode() + b"x" * 300_000, b" 413 "),
        (HEAD + b"Content-Length: 1\r2\r\n\r\n", b" 400 "),
        (b"GET /x HTTP/1.1\r\n\r\n", b" 400 "),
        (b"NONSENSE\r\n\r\n", b" 400 "),
    ],
    ids=["chunks", "two sizes", "negative", "no number", "endless", "too large", "two lines", "no host", "no request"],
)
def test_a_body_without_one_honest_size_is_refused_in_an_answer_that_arrives(
    server: Listener, sent: bytes, status: bytes
) -> None:
    answer = say(server, sent)

    assert status in answer.split(b"\r\n")[0]
    assert ask(server, "GET", "/x")[0] == 200


def test_a_size_after_many_blanks_costs_nothing(server: Listener) -> None:
    """It is read in the thread of all connections: what takes long there stops everybody, the health checks too."""
    begun = time.process_time()

    answer = say(server, HEAD + b"Content-Length:" + b" " * 1_000 + b"\rX\r\n\r\n")

    assert b" 400 " in answer.split(b"\r\n")[0]
    assert time.process_time() - begun < 0.5


@pytest.mark.slow
def test_who_stops_in_the_middle_of_a_body_is_cut_off(server: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.2)

    assert say(server, HEAD + b"Content-Length: 10\r\n\r\nabc") == b""


def test_an_application_that_fails_is_an_answer_without_data_and_a_line_in_the_log(server: Listener) -> None:
    with structlog.testing.capture_logs() as lines:
        answers = [ask(server, "GET", path) for path in ("/fails", "/splits")]

    assert answers == [(500, b"This request failed; see the log\n")] * 2
    assert [line["event"] for line in lines] == ["console.failed", "console.failed"]
    assert "Petersen" not in str(lines)


@pytest.mark.slow
def test_monitoring_is_answered_while_as_many_requests_as_may_wait_do(
    server: Listener,
) -> None:
    host, _, port = server.address.rpartition(":")
    toy = server._app._app if server._app else None
    assert isinstance(toy, Toy)
    waiting = []
    for _ in range(applications.WAITING):
        waiting.append(socket.create_connection((host, int(port)), 10))
        waiting[-1].sendall(b"GET /waits HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for _ in waiting:
        assert toy.waiting.acquire(timeout=10)

    one_more = ask(server, "GET", "/x")
    probed = ask(server, "GET", "/healthz")
    for client in waiting:
        client.close()

    assert one_more[0] == 503
    assert probed == (200, b"ok\n")
