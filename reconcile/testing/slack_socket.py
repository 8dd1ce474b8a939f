"""Slack's Socket Mode on this machine: the WebSocket of RFC 6455 as far as Slack uses it, in text frames."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import threading
from http.server import BaseHTTPRequestHandler
from typing import BinaryIO

from reconcile.documents import JsonObject

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


class SocketSession:
    """One client that is connected; `acknowledged` are the envelopes that it confirmed."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer the handshake of a request."""
        key = handler.headers.get("Sec-WebSocket-Key", "").encode()
        accept = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest()).decode()
        handler.send_response_only(101)
        for name, value in {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept}.items():
            handler.send_header(name, value)
        handler.end_headers()
        self._reader: BinaryIO = handler.rfile  # type: ignore[assignment]  # it is one
        self._connection = handler.connection
        self._lock = threading.Lock()
        self.acknowledged: list[JsonObject] = []
        self.is_open = True

    def send(self, message: JsonObject) -> None:
        self._frame(_TEXT, json.dumps(message).encode())

    def close(self) -> None:
        """Ask the client to go, as Slack does every few hours."""
        self.is_open = False
        self._frame(_CLOSE, struct.pack("!H", 1000))

    def serve(self) -> None:
        """Read until the client goes."""
        try:
            while (frame := _read(self._reader)) is not None:
                kind, content = frame
                if kind == _CLOSE:
                    break
                if kind == _PING:
                    self._frame(_PONG, content)
                elif kind == _TEXT:
                    self.acknowledged.append(json.loads(content))
        except OSError:  # the client is gone
            return
        finally:
            self.is_open = False

    def _frame(self, kind: int, content: bytes) -> None:
        size = len(content)
        length = bytes([size]) if size < 126 else b"\x7e" + struct.pack("!H", size)
        if size > 65_535:
            length = b"\x7f" + struct.pack("!Q", size)
        with self._lock:
            try:
                self._connection.sendall(bytes([0x80 | kind]) + length + content)
            except OSError:  # the client is gone
                self.is_open = False


def _read(reader: BinaryIO) -> tuple[int, bytes] | None:
    """Return the kind and content of a client's frame, which is masked; None at the end."""
    head = reader.read(2)
    if len(head) < 2:
        return None
    size = head[1] & 0x7F
    if size == 126:
        [size] = struct.unpack("!H", reader.read(2))
    elif size == 127:
        [size] = struct.unpack("!Q", reader.read(8))
    mask = reader.read(4)
    content = reader.read(size)
    return head[0] & 0x0F, bytes(byte ^ mask[place % 4] for place, byte in enumerate(content))
