"""The running `serve` as the web's pages see it, and the origin of a request."""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, TypeVar, cast

from fastapi import Depends, Request

from reconcile.app import Application
from reconcile.config.settings import Project
from reconcile.guard.counts import Counts
from reconcile.guard.guard import Guard
from reconcile.people.sessions import Lifetime
from reconcile.people.welcome import Welcome
from reconcile.store import Store

T = TypeVar("T")
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d+)?|([\d.]+):\d+", re.ASCII)

SUMS_KEPT = 10.0
"""Seconds for which sums over all findings are shown before they are computed again."""


@dataclass(frozen=True)
class WebContext:
    """The present project and state of a process that serves, which change when a release is taken up.

    `wake` makes a duty begin at once. `sentence` puts an error into words; a defect is written to a file.
    """

    project: Callable[[], Project]
    store: Callable[[], Store]
    wake: Callable[[str], None]
    sentence: Callable[[Exception], str]
    welcome: Welcome
    counts: Counts = field(default_factory=Counts)
    _kept: dict[str, tuple[float, object]] = field(default_factory=dict, repr=False)

    def application(self) -> Application:
        """Return an application for one request, to be closed: its connections belong to the request alone."""
        return Application(self.project(), store=self.store())

    def guard(self) -> Guard:
        """Return the front door over the state; what it counts is kept for the whole process."""
        return Guard.over(self.store(), self.project().guard, self.counts)

    def lifetime(self) -> Lifetime:
        settings = self.project().console
        return Lifetime(settings.idle, settings.session)

    def kept(self, name: str, seconds: float, compute: Callable[[], T]) -> T:
        """Return a value that is computed at most once in so many seconds, under a name of its own."""
        at, value = self._kept.get(name, (0.0, None))
        if value is None or time.monotonic() - at > seconds:
            value = compute()
            self._kept[name] = (time.monotonic(), value)
        return cast(T, value)


def context_of(request: Request) -> WebContext:
    context: WebContext = request.app.state.context
    return context


At = Annotated[WebContext, Depends(context_of)]
"""The context of a request."""


@dataclass(frozen=True)
class RequestOrigin:
    """Where a request comes from. `address` is the client's; a trusted proxy says it, and if it came by https."""

    address: str
    is_secure: bool
    proxied_user: str | None


def connection_of(request: Request, context: WebContext) -> RequestOrigin:
    """Return where the request comes from. Headers of proxies count only from their configured addresses."""
    settings = context.project().console
    peer = request.client.host if request.client else ""
    is_https = settings.url is not None and settings.url.startswith("https:")
    if not _is_within(peer, settings.proxies):
        return RequestOrigin(peer, is_https, None)
    forwarded = list(map(_without_port, _listed(request, "x-forwarded-for")))
    unknown = [part for part in forwarded if not _is_within(part, settings.proxies)]
    is_secure = is_https or [part.lower() for part in _listed(request, "x-forwarded-proto")][-1:] == ["https"]
    named = request.headers.getlist(settings.user_header) if settings.user_header else []
    return RequestOrigin(unknown[-1] if unknown else peer, is_secure, named[0] if len(named) == 1 else None)


def _listed(request: Request, name: str) -> list[str]:
    """Return the parts of a header in all its lines; a proxy may add a line of its own after the client's."""
    parts = (part.strip() for line in request.headers.getlist(name) for part in line.split(","))
    return [part for part in parts if part]


def _without_port(address: str) -> str:
    """Return an address as `ipaddress` reads it; some proxies write `[2001:db8::1]:443` or `192.0.2.1:443`."""
    match = _WITH_PORT.fullmatch(address)
    return address if match is None else match[1] or match[2]


def _is_within(address: str, networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]) -> bool:
    try:
        place = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(place.version == network.version and place in network for network in networks)
