"""Headers of every answer: nothing of others is loaded, nothing is cached, no other page frames ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from reconcile.service.applications import Asgi, Message

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_ALWAYS = {
    b"content-security-policy": POLICY.encode(),
    b"x-frame-options": b"DENY",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class SafeHeaders:
    """Adds the headers to every answer of the application."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = dict(message["headers"])
                cache = {} if b"cache-control" in given else {b"cache-control": b"no-store"}
                message["headers"] = [*message["headers"], *(_ALWAYS | cache).items()]
            await send(message)

        await self._app(scope, receive, send_safely)
