"""A TCP proxy that simulates a bad network or a hung server."""

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
        """Cut the connection; with `reset` the sockets send RST instead of FIN when closed."""
        self.is_reset = self.is_reset or reset
        for end in (self.client, self.target):
            with contextlib.suppress(OSError):  # already cut
                if reset:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RD if self.is_reset else socket.SHUT_RDWR)


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
    """Listens on a free port of 127.0.0.1 and forwards every connection to `target`.

    A fault applies to current and new connections, from the next bytes on, until another method is called. Use it in a
    `with`, or `close` it.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._fault = _Fault()
        self._pairs: list[_Pair] = []
        self._closed = False
        self.connections = 0
        """Connections accepted so far."""
        self.dropped = 0
        """Replies dropped by `drop_reply_to`."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._listener.getsockname()
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def passes(self) -> None:
        """Forward everything again, including bytes held back while silent."""
        self._set_fault(_Fault())

    def silent(self) -> None:
        """Accept connections and bytes, but forward nothing in either direction."""
        self._set_fault(_Fault(_Way.SILENT))

    def cut(self) -> None:
        """Close every connection at once, on both sides, and every new one as soon as it is accepted."""
        self._set_fault(_Fault(_Way.CUT))
        self._cut_all()

    def delay(self, seconds: float) -> None:
        """Forward each piece of up to 64 KiB only after this many seconds."""
        self._set_fault(_Fault(seconds=seconds))

    def drop_reply_after(self, size: int) -> None:
        """Forward this many more bytes of the target on each connection; cut that connection at the next byte.

        Bytes of the client still arrive, so the target executes the request and the client gets no answer.
        """
        self._set_fault(_Fault(replies_left=size))

    def drop_reply_to(self, words: bytes, *, skip: int = 0) -> None:
        """When a client sends these words (`COMMIT`, in any case), cut its connection after the target's answer, which
        is dropped. The first `skip` times pass. Happens once; `dropped` counts it.
        """
        self._set_fault(_Fault(unanswered=words.upper(), skip=skip))

    def reset(self) -> None:
        """Reset every connection at once, on both sides (RST), and every new one as soon as it is accepted."""
        self._set_fault(_Fault(_Way.CUT, resets=True))
        self._cut_all()

    def close(self) -> None:
        """Stop listening and cut every connection. Safe to call twice."""
        self._closed = True
        with contextlib.suppress(OSError):  # already closed
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _set_fault(self, fault: _Fault) -> None:
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
                    self._check_words(pair, data)
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

    def _check_words(self, pair: _Pair, data: bytes) -> None:
        """Stop replies to this client if these bytes contain the words of `drop_reply_to`."""
        with self._fault.changed:
            if self._fault.unanswered is None or self._fault.unanswered not in data.upper():
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
        """Wait for the delay; return False if the connections are to be cut."""
        if fault.seconds:
            with self._fault.changed:
                self._fault.changed.wait_for(lambda: self._fault is not fault, timeout=fault.seconds)
        return self._fault.way is not _Way.CUT
