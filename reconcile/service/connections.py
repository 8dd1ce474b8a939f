"""All connections of the listener, in one thread: stalled clients take no thread and delay nobody."""

from __future__ import annotations

import contextlib
import queue
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

MAX_HEAD = 8192
"""Bytes of request line and headers."""
PATIENCE = 5.0
"""Seconds for a client to send a request, or the next part of a body, and again to read the next part of an answer."""
LONGEST = 60.0
"""Seconds for a whole body, and for a whole answer."""
CONNECTIONS = 256
"""Connections open at the same time; one more closes the oldest that waits for its client."""
_PART = 65_536
_NOTICED = 0.1
"""Seconds until a stop is noticed."""


@dataclass(frozen=True)
class Received:
    """The bytes of a request, from the IP address `peer`."""

    head: bytes
    body: bytes
    peer: str


class Handling(Protocol):
    """Handles the requests of the listener; called in the thread of the connections, so it must not wait."""

    def body_size(self, head: bytes) -> int | bytes:
        """Return the size of the body, or the answer that refuses it."""

    def begin(self, request: Received, answer: Callable[[bytes], None]) -> bytes | None:
        """Begin to answer; `answer` is called once, from any thread. Return an answer at once if nothing was begun."""


@dataclass(eq=False)
class _Connection:
    """One client: the request read so far and the answer still to send. It waits for the client until `until`."""

    raw: socket.socket
    peer: str
    until: float
    last: float = 0.0
    """The end of the whole body or answer."""
    data: bytearray = field(default_factory=bytearray)
    head: int = 0
    """The size of the head, once it is complete."""
    size: int | None = None
    """The size of the body, once it is known."""
    answer: memoryview = field(default_factory=lambda: memoryview(b""))
    is_answered: bool = False
    """An answer is being made: it does not wait for its client."""
    is_refused: bool = False
    """The client may still send a body that nobody wants; a close would destroy the answer."""

    def wait(self) -> None:
        """Wait for the next part."""
        self.until = min(time.monotonic() + PATIENCE, self.last)

    def wait_for_all(self) -> None:
        """Wait for a body or an answer."""
        self.last = time.monotonic() + LONGEST
        self.wait()


class Connections:
    """A listening socket with its clients. `run` serves them until `stop`. The constructor raises OSError."""

    def __init__(self, family: int, place: tuple[str, int], handling: Handling) -> None:
        self._handling = handling
        self._connections: dict[socket.socket, _Connection] = {}
        self._answers: queue.SimpleQueue[tuple[_Connection, bytes]] = queue.SimpleQueue()
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
                raw, place = self._listening.accept()
            except BlockingIOError:
                return
            except OSError:  # this process has no descriptor left, or the client is gone
                if not self._make_room():
                    time.sleep(_NOTICED)
                return
            if len(self._connections) >= CONNECTIONS:
                self._make_room()
            raw.setblocking(False)  # noqa: FBT003 - see above
            connection = self._connections[raw] = _Connection(raw, str(place[0]), time.monotonic() + PATIENCE)
            self._selector.register(raw, selectors.EVENT_READ, partial(self._read, connection))

    def _make_room(self) -> bool:
        """Close the oldest connection that waits for its client; return False if there is none."""
        oldest = next((connection for connection in self._connections.values() if not connection.is_answered), None)
        if oldest is not None:
            self._end(oldest)
        return oldest is not None

    # Reading

    def _read(self, connection: _Connection) -> None:
        more = self._received(connection, MAX_HEAD if connection.size is None else _PART)
        if more is None:
            return
        connection.data += more
        if connection.size is None and not self._read_head(connection):
            if not more or len(connection.data) > MAX_HEAD:
                self._end(connection)
            return
        if connection.size is not None and len(connection.data) >= connection.head + connection.size:
            self._begin_answer(connection, connection.size)
        elif not more:
            self._end(connection)
        else:
            connection.wait()

    def _received(self, connection: _Connection, size: int) -> bytes | None:
        """Return what the client sent; nothing at its end, None if nothing came."""
        try:
            return connection.raw.recv(size)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _read_head(self, connection: _Connection) -> bool:
        """Return True if the head is complete; then the size of the body is known, unless it was refused."""
        ends = [at + len(end) for end in (b"\r\n\r\n", b"\n\n") if (at := connection.data.find(end)) >= 0]
        if not ends or min(ends) > MAX_HEAD:
            return False
        connection.head = min(ends)
        size = self._handling.body_size(bytes(connection.data[: connection.head]))
        if isinstance(size, bytes):
            connection.is_refused = True
            self._selector.unregister(connection.raw)
            self._send(connection, size)
            return True
        connection.size = size
        connection.wait_for_all()
        return True

    def _drain(self, connection: _Connection) -> None:
        """Discard what a refused client still sends, so that it can read the answer."""
        if self._received(connection, _PART) == b"":
            self._end(connection)

    # Answering

    def _begin_answer(self, connection: _Connection, size: int) -> None:
        self._selector.unregister(connection.raw)
        head, body = connection.data[: connection.head], connection.data[connection.head : connection.head + size]
        connection.data.clear()
        connection.is_answered = True
        request = Received(bytes(head), bytes(body), connection.peer)
        at_once = self._handling.begin(request, partial(self._take_answer, connection))
        if at_once is not None:
            self._send(connection, at_once)

    def _take_answer(self, connection: _Connection, answer: bytes) -> None:
        """Called in another thread."""
        self._answers.put((connection, answer))
        self._wake_up()

    def _collect(self) -> None:
        with contextlib.suppress(OSError):
            self._wakes.recv(4096)
        while not self._answers.empty():
            self._send(*self._answers.get())

    def _send(self, connection: _Connection, answer: bytes) -> None:
        connection.is_answered = False
        connection.answer = memoryview(answer)
        connection.wait_for_all()
        self._selector.register(connection.raw, selectors.EVENT_WRITE, partial(self._write, connection))
        self._write(connection)

    def _write(self, connection: _Connection) -> None:
        try:
            connection.answer = connection.answer[connection.raw.send(connection.answer) :]
            connection.wait()
            if not connection.answer:
                connection.raw.shutdown(socket.SHUT_WR)
                self._end_answered(connection)
        except BlockingIOError:
            return
        except OSError:  # the client is gone
            self._end(connection)

    def _end_answered(self, connection: _Connection) -> None:
        if connection.is_refused:
            self._selector.modify(connection.raw, selectors.EVENT_READ, partial(self._drain, connection))
        else:
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
