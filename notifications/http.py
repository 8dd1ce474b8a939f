"""One HTTP call of a channel, through the guard that all of our HTTP has; its errors are those of channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connectors.outbound import (
    DEFAULT_PAUSE,
    Exchange,
    HttpLimits,
    Interrupted,
    Network,
    NotConnected,
    NotPublic,
    check_header,
    networks,
    retry_after,
    web_address,
)
from notifications.errors import AddressRefused, ChannelUnreachable, DeliveryUnknown

__all__ = (
    "DEFAULT_PAUSE",
    "HttpLimits",
    "HttpResponse",
    "Network",
    "call",
    "check_header",
    "get",
    "networks",
    "post",
    "retry_after",
    "web_address",
)

_MAX_ANSWER = 65_536


@dataclass(frozen=True)
class HttpResponse:
    """Status, headers (names in lower case) and at most 64 KB of the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def post(channel: str, url: str, body: bytes, headers: Mapping[str, str], limits: HttpLimits) -> HttpResponse:
    """POST once; see `call`."""
    return call("POST", channel, url, body, headers, limits)


def get(channel: str, url: str, headers: Mapping[str, str], limits: HttpLimits) -> HttpResponse:
    """GET once; see `call`."""
    return call("GET", channel, url, None, headers, limits)


def call(
    method: str, channel: str, url: str, body: bytes | None, headers: Mapping[str, str], limits: HttpLimits
) -> HttpResponse:
    """Send one request and return the answer. Ignores the environment's proxies and follows no redirect.

    Raises AddressRefused and ChannelUnreachable when nothing was sent, DeliveryUnknown when it may have been.
    """
    try:
        with Exchange(method, url, body, headers, limits) as exchange:
            return HttpResponse(exchange.status, exchange.headers, exchange.read(_MAX_ANSWER))
    except NotPublic as refused:
        raise AddressRefused(channel, refused.subject, refused.network) from None
    except NotConnected as error:
        raise ChannelUnreachable(channel, error.where, error.reason) from None
    except Interrupted as error:
        raise DeliveryUnknown(channel, error.reason) from None
