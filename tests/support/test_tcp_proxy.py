"""The TCP proxy: the reply to COMMIT is dropped once, connections are reset."""

import socket
import threading
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa

from tests.support.tcp_proxy import TcpProxy


@pytest.fixture
def echo() -> Iterator[tuple[str, int]]:
    """A server that says everything back."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(item: socket.socket) -> None:
        with item:
            try:
                while data := item.recv(4096):
                    item.sendall(data)
            except OSError:
                return

    def accept() -> None:
        while True:
            try:
                entry, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(entry,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield listener.getsockname()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_a_reset_connection_says_so_to_the_client(echo: tuple[str, int]) -> None:
    with TcpProxy(echo) as proxy, socket.create_connection((proxy.host, proxy.port)) as client:
        client.sendall(b"hello")
        assert client.recv(10) == b"hello"

        proxy.reset()

        with pytest.raises(ConnectionResetError):
            client.recv(10)


@pytest.mark.server
def test_what_was_committed_stays_when_the_reply_to_commit_is_dropped_and_only_that_one_is(postgres_url: str) -> None:
    url = sa.make_url(postgres_url)
    with psycopg.connect(url.set(drivername="postgresql").render_as_string(), autocommit=True) as direct:
        direct.execute("create table done (n integer)")
        with TcpProxy((url.host or "127.0.0.1", url.port or 5432)) as proxy:
            through = url.set(drivername="postgresql", host=proxy.host, port=proxy.port).render_as_string()
            proxy.drop_reply_to(b"commit", skip=1)
            with psycopg.connect(through) as first:
                first.execute("insert into done values (1)")
                first.commit()
                first.execute("insert into done values (2)")
                with pytest.raises(psycopg.OperationalError):
                    first.commit()
            with psycopg.connect(through) as second:
                second.execute("insert into done values (3)")
            assert proxy.dropped == 1
        assert [row[0] for row in direct.execute("select n from done order by n")] == [1, 2, 3]
