"""The small HTTP server: what it answers, what it bounds, and the addresses it refuses."""

import datetime as dt
import http.client
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path

import pytest
import structlog

from reconcile.coordination import lease
from reconcile.service import connections, listener, routes
from reconcile.service.exchange import RouteResponse
from reconcile.service.listener import Listener, ListenRefused
from reconcile.store import Store
from tests.support.store import FixedClock


def told(headers: Mapping[str, str]) -> RouteResponse:
    return RouteResponse.sentence(HTTPStatus.OK, f"hello {headers.get('X-Who', 'you')}")


def failing(_headers: Mapping[str, str]) -> RouteResponse:
    raise ValueError("Mrs Petersen")


@pytest.fixture
def server() -> Iterator[Listener]:
    item = Listener("127.0.0.1:0", {"/hello": told, "/fails": failing})
    item.start()
    yield item
    item.stop()


def ask(
    server: Listener, path: str = "/hello", method: str = "GET", **headers: str
) -> tuple[int, bytes, Mapping[str, str]]:
    connection = http.client.HTTPConnection(server.address, timeout=10)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


def say(server: Listener, *parts: bytes) -> bytes:
    """What comes back for these bytes."""
    host, _, port = server.address.rpartition(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        for part in parts:
            connection.sendall(part)
        answer = b""
        try:
            while more := connection.recv(4096):
                answer += more
        except ConnectionResetError:
            pass
        return answer


def test_a_route_is_answered_with_what_it_says_of_the_headers(server: Listener) -> None:
    status, body, headers = ask(server, "/hello?any=thing", **{"X-Who": "world"})

    assert (status, body) == (200, b"hello world\n")
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Server"] == "reconcile"


def test_head_gets_the_headers_alone(server: Listener) -> None:
    status, body, headers = ask(server, method="HEAD")

    assert (status, body, headers["Content-Length"]) == (200, b"", "10")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE"])
def test_nothing_but_get_and_head_is_taken(server: Listener, method: str) -> None:
    status, body, headers = ask(server, method=method)

    assert (status, headers["Allow"]) == (405, "GET, HEAD")
    assert method.encode() not in body


def test_what_was_asked_for_is_never_said_back(server: Listener) -> None:
    status, body, _ = ask(server, "/secret-token")

    assert status == 404
    assert b"secret" not in body
    assert b"/hello" in body


def test_a_route_that_fails_is_an_answer_without_data_and_a_line_in_the_log(server: Listener) -> None:
    with structlog.testing.capture_logs() as lines:
        status, body, _ = ask(server, "/fails")

    assert status == 500
    assert b"Petersen" not in body
    assert lines == [{"event": "listener.failed", "path": "/fails", "error": "ValueError", "log_level": "error"}]


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /hello HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\n\n",
        b"GET /hello HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"h%d: x\r\n" % n for n in range(300)) + b"\r\n",
        b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nHost: localhost\r\nX-Who: " + b"a" * 9000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_request_or_too_long_is_refused_and_the_next_one_answered(server: Listener, sent: bytes) -> None:
    answer = say(server, sent)

    assert b" 200 " not in answer
    assert b"hello" not in answer
    assert ask(server)[0] == 200


@pytest.mark.slow
def test_who_sends_nothing_or_too_slowly_is_cut_off(server: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.2)

    assert say(server) == b""
    assert say(server, b"GET /hello HT") == b""
    assert ask(server)[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent", [b"", b"GET /hello HTTP/1.1\r\nHost: loc", b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"]
)
def test_two_hundred_clients_a_second_that_stall_keep_nobody_waiting(sent: bytes) -> None:
    """Half a minute's stalls would take every thread of a server that gives each its own."""
    large = RouteResponse(HTTPStatus.OK, b"x" * 500_000)
    server = Listener("127.0.0.1:0", {"/hello": told, "/large": lambda _: large})
    server.start()
    host, _, port = server.address.rpartition(":")
    before, stalled, waits = threading.active_count(), [], []
    began = time.monotonic()
    for number in range(300):
        client = socket.create_connection((host, int(port)), 10)
        client.sendall(sent)
        stalled.append(client)
        if number % 50 == 49:
            asked = time.monotonic()
            while (status := ask(server)[0]) == 503 and time.monotonic() < asked + 2:
                time.sleep(0.05)  # all who are answered at once stall: one of them is let go in a moment
            assert status == 200
            waits.append(time.monotonic() - asked)
            assert threading.active_count() <= before + listener.AT_ONCE
        time.sleep(max(0, began + number / 200 - time.monotonic()))
    server.stop()
    for client in stalled:
        client.close()

    assert max(waits) < 2
    assert threading.active_count() <= before


def test_requests_beyond_those_that_are_answered_at_once_are_told_to_come_again() -> None:
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def waiting(_headers: Mapping[str, str]) -> RouteResponse:
        begun.release()
        go_on.wait(60)
        return RouteResponse.sentence(HTTPStatus.OK, "late")

    server = Listener("127.0.0.1:0", {"/hello": told, "/waits": waiting})
    server.start()
    waits = [threading.Thread(target=ask, args=(server, "/waits")) for _ in range(listener.AT_ONCE)]
    for wait in waits:
        wait.start()
    for _ in waits:
        assert begun.acquire(timeout=10)
    status = ask(server)[0]
    go_on.set()
    for wait in waits:
        wait.join()

    assert status == 503
    assert ask(server)[0] == 200
    server.stop()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8321",
        "localhost.evil.example",
        "10.1.2.3",
        "[2001:db8::1]:80",
        "",
        "a b",
        "[",
        "::1x",
    ],
)
def test_a_request_for_another_host_is_refused(server: Listener, host: str) -> None:
    status, body, _ = ask(server, Host=host)

    assert status == 421
    assert b"hello" not in body
    assert b"evil" not in body


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.:1", "127.0.0.1", "127.9.9.9:80", "[::1]:8321", "[::1]"])
def test_a_request_for_this_host_is_answered(server: Listener, host: str) -> None:
    assert ask(server, Host=host)[0] == 200


def test_a_request_names_one_host_unless_its_protocol_is_older_than_that(server: Listener) -> None:
    assert b" 400 " in say(server, b"GET /hello HTTP/1.1\r\n\r\n")
    assert b" 400 " in say(server, b"GET /hello HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
    assert b" 200 " in say(server, b"GET /hello HTTP/1.0\r\n\r\n")
    assert b" 421 " in say(server, b"GET /hello HTTP/1.0\r\nHost: evil.example\r\n\r\n")


def test_where_others_reach_it_addresses_and_the_names_of_the_configuration_are_answered() -> None:
    server = Listener("0.0.0.0:0", {"/hello": told}, ["reconcile.monitoring.svc"])
    server.start()
    port = server.address.rpartition(":")[2]
    statuses = [
        say_status(port, host) for host in (f"10.1.2.3:{port}", "Reconcile.Monitoring.svc", "evil.example", "localhost")
    ]
    server.stop()

    assert statuses == [200, 200, 421, 200]


def say_status(port: str, host: str) -> int:
    connection = http.client.HTTPConnection(f"127.0.0.1:{port}", timeout=10)
    try:
        connection.request("GET", "/hello", headers={"Host": host})
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_taken_port_is_refused_with_a_sentence_before_anything_starts(server: Listener) -> None:
    with pytest.raises(ListenRefused, match=r"cannot listen on .*: address already in use\. Nothing was started"):
        Listener(server.address, {})


@pytest.mark.parametrize(
    "address", ["8321", ":8321", "127.0.0.1:99999", "127.0.0.1:x", "203.0.113.7:8321", "no host:1"]
)
def test_an_address_that_is_none_of_ours_is_refused_with_a_sentence(address: str) -> None:
    with pytest.raises(ListenRefused, match="cannot listen on"):
        Listener(address, {})


def test_beyond_this_host_the_log_says_that_nobody_is_asked_who_they_are() -> None:
    item = Listener("0.0.0.0:0", {})

    with structlog.testing.capture_logs() as lines:
        item.start()
    item.stop()

    assert [line["event"] for line in lines] == ["listener.started", "listener.open"]
    assert "no authentication" in lines[1]["why"]


def test_it_speaks_ipv6() -> None:
    item = Listener("[::1]:0", {"/hello": told})
    item.start()

    assert not item.is_open
    assert ask(item)[0] == 200
    item.stop()


def test_it_can_be_stopped_twice_and_without_a_start() -> None:
    item = Listener("127.0.0.1:0", {})

    item.stop()
    item.stop()


# Routes


def test_a_process_is_well_while_nothing_is_silent() -> None:
    assert routes.health({}).status == 200


def test_a_process_with_a_silent_duty_is_ill_and_says_which() -> None:
    answer = routes.health({"work": 61.2})

    assert (answer.status, answer.body) == (503, b"No activity of: work for 61 s\n")


def test_a_process_is_ready_while_somebody_schedules(tmp_path: Path) -> None:
    clock = FixedClock()
    with Store.open("sqlite:///state.db", tmp_path, clock=clock) as store:
        before = routes.readiness(store, is_worker=False)
        held = lease.acquire(store, "scheduler", dt.timedelta(seconds=30))
        assert isinstance(held, lease.Lease)
        during = routes.readiness(store, is_worker=False)
        lease.release(store, held)
        after = routes.readiness(store, is_worker=False)
        worker = routes.readiness(store, is_worker=True)

    assert [item.status for item in (before, during, after, worker)] == [503, 200, 503, 200]
    assert before.body == b"No scheduler is running yet\n"


def test_a_process_is_not_ready_without_its_store(tmp_path: Path) -> None:
    with Store.open("sqlite:///state.db", tmp_path) as store:
        store.close()
        (tmp_path / "state.db").write_bytes(b"no database at all" * 1000)

        answer = routes.readiness(store, is_worker=True)

    assert answer.status == 503
    assert answer.body == b"The state database does not answer (StoreUnreadable)\n"
