"""One HTTP call to a user's address: resolved once, to a public address only, in bounded time, without redirects."""

from __future__ import annotations

import datetime as dt
import email.utils
import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from notifications.errors import AddressRefused, ChannelUnreachable, DeliveryUnknown

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

DEFAULT_PAUSE = 30.0
_MAX_PAUSE = 86_400.0
_MAX_ANSWER = 65_536


def _blocks(text: str) -> tuple[Network, ...]:
    return tuple(map(ipaddress.ip_network, text.split()))


_SPECIAL = _blocks("""
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
    203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
""")
"""IANA's registry of special-purpose IPv4 addresses, and multicast; Python's own list changes between its versions."""
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_SPECIAL6 = _blocks("2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20")
"""IANA's registry of special-purpose IPv6 addresses inside 2000::/3: Teredo is in the first, 6to4 the third.

What lies outside 2000::/3 is never public: loopback, link-local, site-local, unique local, the NAT64 of one network
(64:ff9b:1::/48, where the place of the IPv4 address depends on that network), IPv4-compatible, multicast.
"""
_CARRIES_IPV4 = _blocks("::ffff:0:0/96 64:ff9b::/96")
"""Addresses that lead to the IPv4 address in their last 32 bits: IPv4-mapped, and NAT64 anywhere."""


@dataclass(frozen=True)
class HttpLimits:
    """Which addresses besides public ones may be sent to, and the seconds for connecting and for the whole call."""

    allow: tuple[Network, ...] = ()
    connect: float = 5
    total: float = 30


@dataclass(frozen=True)
class HttpResponse:
    """Status, headers (names in lower case) and at most 64 KB of the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def networks(texts: Any) -> tuple[Network, ...]:
    """Parse `allow`, one network or a list of them; raises ValueError."""
    blocks = []
    for text in [texts] if isinstance(texts, str) else texts:
        try:
            blocks.append(ipaddress.ip_network(text))
        except ValueError:
            raise ValueError(f"`{text}` is not a network; write for example 10.0.0.0/8 or 192.168.1.7/32") from None
    return tuple(blocks)


def web_address(setting: str, address: str, instead: str) -> str:
    """Return the address if it is valid; raises ValueError, which never repeats it: it may be a secret.

    `instead` says what to do with a user name or a password in it.
    """
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or not re.fullmatch(r"[!-~]+", address):
        raise ValueError(f"`{setting}` must be an http:// or https:// address without spaces")
    if parts.username or parts.password:
        raise ValueError(f"`{setting}` contains a user name or password; {instead}")
    try:
        parts.port  # noqa: B018 - reading it checks it
    except ValueError:
        raise ValueError(f"the port in `{setting}` is invalid") from None
    return address


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
    parts = urlsplit(url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    connected = _connect(channel, host, port, limits, secure=secure)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = http.client.HTTPConnection(host, port, timeout=limits.total)
    connection.sock = connected
    late = threading.Event()
    watch = threading.Timer(limits.total, _hang_up, (connected, late))
    watch.daemon = True
    watch.start()
    try:
        connection.request(method, path, body=body, headers={"Host": parts.netloc.rpartition("@")[2], **headers})
        answer = connection.getresponse()
        response_headers = {name.lower(): value for name, value in answer.getheaders()}
        return HttpResponse(answer.status, response_headers, answer.read(_MAX_ANSWER))
    except (OSError, http.client.HTTPException) as error:
        in_time = not late.is_set() and not isinstance(error, TimeoutError)
        reason = f"the connection broke ({type(error).__name__})" if in_time else f"no answer in {limits.total:g} s"
        raise DeliveryUnknown(channel, reason) from None
    finally:
        watch.cancel()
        connection.close()


def _hang_up(connection: socket.socket, late: threading.Event) -> None:
    """End a call that drips for too long: a socket's time-out only bounds the time between two bytes."""
    late.set()
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # it ended in this very moment
        return


def _connect(channel: str, host: str, port: int, limits: HttpLimits, *, secure: bool) -> socket.socket:
    """Connect to the first address of the host that answers; every address must be allowed."""
    until = time.monotonic() + limits.connect
    reason = "it has no address"
    for address in _resolved(channel, host, port, limits.allow):
        try:
            remaining = max(until - time.monotonic(), 0.05)
            connected = socket.create_connection((address, port), timeout=remaining)
            if secure:
                connected = ssl.create_default_context().wrap_socket(connected, server_hostname=host)
            connected.settimeout(limits.total)
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
        else:
            return connected
    raise ChannelUnreachable(channel, f"{host}:{port}", reason)


def _resolved(channel: str, host: str, port: int, allow: Sequence[Network]) -> list[str]:
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = (getattr(error, "strerror", None) or "the host name cannot be resolved").lower()
        raise ChannelUnreachable(channel, host, reason) from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    for text in addresses:
        address = ipaddress.ip_address(text.partition("%")[0])
        if not _is_allowed(address, allow):
            raise AddressRefused(channel, host, str(address))
    return addresses


def _is_allowed(address: Address, allow: Sequence[Network]) -> bool:
    """Return True for a public or allowed address; an address that leads to an IPv4 address counts as that."""
    if any(address in network for network in allow if network.version == address.version):
        return True
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _SPECIAL)
    if any(address in network for network in _CARRIES_IPV4):
        return _is_allowed(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF), allow)
    return address in _GLOBAL_UNICAST and not any(address in network for network in _SPECIAL6)


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait by the Retry-After header, a number or a date; 30 by default, a day at most."""
    header = next((value for name, value in headers.items() if name.lower() == "retry-after"), "").strip()
    if header.replace(".", "", 1).isdecimal():
        return min(float(header), _MAX_PAUSE)
    try:
        until = email.utils.parsedate_to_datetime(header)
    except (ValueError, TypeError):
        return DEFAULT_PAUSE
    if until.tzinfo is None:
        return DEFAULT_PAUSE
    seconds = (until - dt.datetime.now(dt.UTC)).total_seconds()
    return min(max(seconds, 0.0), _MAX_PAUSE)
