"""Hosts an ASGI application for the listener: one event loop in a thread of its own, and a few threads for its work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_to_bytes

import structlog

from reconcile.service.connections import Received
from reconcile.service.exchange import Exchange, Request, answer_bytes
from reconcile.service.hosts import Hosts

Message = MutableMapping[str, Any]
Asgi = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]
"""An application of the ASGI protocol, version 3."""

WAITING = 200
"""Requests that may wait for an answer; one more is refused."""
THREADS = 16
"""Threads in which requests are answered; the database has about as many connections."""

_LAST_WORDS = 5.0
"""Seconds for requests in progress at a stop."""

log = structlog.get_logger("reconcile")


class ApplicationHost:
    """Answers requests by an application from `start` to `stop`."""

    def __init__(self, app: Asgi) -> None:
        self._app = app
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="application", daemon=True)
        self._places = threading.BoundedSemaphore(WAITING)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Safe to call twice, and without a start. Requests in progress get no answer."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()

    def begin(self, request: Received, hosts: Hosts, answer: Callable[[bytes], None]) -> bytes | None:
        """Begin to answer; return an answer at once if too many wait."""
        if not self._places.acquire(blocking=False):
            return _BUSY
        asyncio.run_coroutine_threadsafe(self._answer(request, hosts, answer), self._loop)
        return None

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.create_task(_limit_threads())
        self._loop.run_forever()
        if tasks := asyncio.all_tasks(self._loop):
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.wait(tasks, timeout=_LAST_WORDS))

    async def _answer(self, received: Received, hosts: Hosts, answer: Callable[[bytes], None]) -> None:
        written = b""
        try:
            one_exchange = Exchange({}, hosts, received.head)
            request = one_exchange.request()
            written = one_exchange.written() if request is None else await self._ask(request, received)
        except Exception as error:  # noqa: BLE001 - the client gets an answer, and no data
            log.error("console.failed", error=type(error).__name__)
            sentence = b"This request failed; see the log\n"
            written = answer_bytes(HTTPStatus.INTERNAL_SERVER_ERROR, [], sentence)
        finally:
            self._places.release()
            answer(written)

    async def _ask(self, request: Request, received: Received) -> bytes:
        is_read, parts = False, list[bytes]()
        start: Message = {}

        async def receive() -> Message:
            nonlocal is_read
            if is_read:
                await asyncio.Event().wait()  # the client's end is noticed when the answer is sent
            is_read = True
            return {"type": "http.request", "body": received.body, "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                parts.append(message.get("body", b""))

        await self._app(_scope(request, received.peer), receive, send)
        return answer_bytes(start["status"], start["headers"], b"".join(parts), is_head=request.method == "HEAD")


def _scope(request: Request, peer: str) -> Message:
    """Return the request for the application, which answers HEAD as GET."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET" if request.method == "HEAD" else request.method,
        "scheme": "http",
        "path": unquote_to_bytes(request.path).decode("utf-8", "replace"),
        "raw_path": request.path,
        "query_string": request.query,
        "root_path": "",
        "headers": list(request.headers),
        "client": (peer, 0),
        "server": None,
    }


async def _limit_threads() -> None:
    import anyio.to_thread  # noqa: PLC0415 - of the extra `console`, as every application is

    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS


_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
