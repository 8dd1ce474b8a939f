"""A TCP proxy that breaks what goes through it, to see what a program does about a bad network or a hung server."""

from __future__ import annotations

import contextlib
import enum
import socket
import struct
import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

_CHUNK = 65_536


class _Way(enum.Enum):
    PASS = enum.auto()
    SILENT = enum.auto()
    CUT = enum.auto()


@dataclass(eq=False)
class _Pair:
    """A client and its connection to the target; `replies_left` bytes of reply still pass, None: all."""

    client: socket.socket
    target: socket.socket
    replies_left: int | None = None
    is_heard: bool = True
    is_reset: bool = False

    def cut(self, *, reset: bool = False) -> None:
        """With `reset` the sockets, once closed, send RST instead of FIN."""
        self.is_reset = self.is_reset or reset
        for one in (self.client, self.target):
            with contextlib.suppress(OSError):  # it is cut already
                if reset:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                one.shutdown(socket.SHUT_RD if self.is_reset else socket.SHUT_RDWR)


@dataclass
class _Fault:
    way: _Way = _Way.PASS
    seconds: float = 0
    replies_left: int | None = None
    unanswered: bytes | None = None
    skip: int = 0
    resets: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)


class TcpProxy:
    """Listens on a free port of 127.0.0.1 and hands every connection on to `target`, until it is told otherwise.

    What it is told holds for the connections there are and for new ones, from the next bytes on, until it is told
    something else. Use it in a `with`, or `close` it.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._fault = _Fault()
        self._pairs: list[_Pair] = []
        self._closed = False
        self.connections = 0
        """How many were accepted so far."""
        self.dropped = 0
        """How many replies were dropped by `drop_reply_to`."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._listener.getsockname()
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def passes(self) -> None:
        """Hand everything on again, also what was held back while it was silent."""
        self._becomes(_Fault())

    def silent(self) -> None:
        """Accept connections and bytes, and hand nothing on, in neither direction."""
        self._becomes(_Fault(_Way.SILENT))

    def cut(self) -> None:
        """Close every connection at once, on both sides, and every new one as soon as it is accepted."""
        self._becomes(_Fault(_Way.CUT))
        self._cut_all()

    def delay(self, seconds: float) -> None:
        """Hand on each piece of up to 64 KiB only after so many seconds."""
        self._becomes(_Fault(seconds=seconds))

    def drop_reply_after(self, size: int) -> None:
        """Of what the target still says on each connection hand on so many bytes; at the next one cut that connection.

        What the client says still arrives, so the target does what it is asked and the client never hears of it.
        """
        self._becomes(_Fault(replies_left=size))

    def drop_reply_to(self, words: bytes, *, skip: int = 0) -> None:
        """Once a client says these words (`COMMIT`), in whatever letters, its connection is cut as soon as the target
        has answered, and the answer is not handed on. The first `skip` times are let through. Once; `dropped` counts.
        """
        self._becomes(_Fault(unanswered=words.upper(), skip=skip))

    def reset(self) -> None:
        """Reset every connection at once, on both sides (RST), and every new one as soon as it is accepted."""
        self._becomes(_Fault(_Way.CUT, resets=True))
        self._cut_all()

    def close(self) -> None:
        """Stop listening and cut every connection. Safe to call twice."""
        self._closed = True
        with contextlib.suppress(OSError):  # it is closed already
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _becomes(self, fault: _Fault) -> None:
        with self._fault.changed:
            fault.changed = self._fault.changed
            self._fault = fault
            for pair in self._pairs:
                pair.replies_left = fault.replies_left
            fault.changed.notify_all()

    def _cut_all(self) -> None:
        with self._fault.changed:
            pairs = list(self._pairs)
        for pair in pairs:
            pair.cut(reset=self._fault.resets)

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            self.connections += 1
            threading.Thread(target=self._serve, args=(client,), name="proxy", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._wait_while_silent()
        try:
            target = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        pair = _Pair(client, target)
        with self._fault.changed:
            pair.replies_left = self._fault.replies_left
            self._pairs.append(pair)
        back = threading.Thread(target=self._pump, args=(pair, target, client), name="proxy", daemon=True)
        back.start()
        self._pump(pair, client, target)
        back.join()
        with self._fault.changed:
            self._pairs.remove(pair)
        client.close()
        target.close()

    def _pump(self, pair: _Pair, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(_CHUNK):
                self._wait_while_silent()
                if self._fault.way is _Way.CUT or not self._waited(self._fault):
                    break
                if source is pair.client:
                    self._listen(pair, data)
                elif not pair.is_heard:
                    break
                passing = self._passing(pair, data) if source is pair.target else data
                sink.sendall(passing)
                if len(passing) < len(data):
                    break
        except OSError:
            return  # cut by the other direction, or from outside
        finally:
            pair.cut()

    def _listen(self, pair: _Pair, said: bytes) -> None:
        """Whether these are the words after which this client hears nothing any more."""
        with self._fault.changed:
            if self._fault.unanswered is None or self._fault.unanswered not in said.upper():
                return
            if self._fault.skip:
                self._fault.skip -= 1
                return
            pair.is_heard = False
            self.dropped += 1
            self._fault.unanswered = None

    def _passing(self, pair: _Pair, reply: bytes) -> bytes:
        with self._fault.changed:
            if pair.replies_left is None:
                return reply
            passing = reply[: pair.replies_left]
            pair.replies_left -= len(passing)
            return passing

    def _wait_while_silent(self) -> None:
        with self._fault.changed:
            self._fault.changed.wait_for(lambda: self._fault.way is not _Way.SILENT)

    def _waited(self, fault: _Fault) -> bool:
        """Whether the delay passed without a new order to cut."""
        if fault.seconds:
            with self._fault.changed:
                self._fault.changed.wait_for(lambda: self._fault is not fault, timeout=fault.seconds)
        return self._fault.way is not _Way.CUT
