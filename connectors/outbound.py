"""HTTP to an address that a configuration names: resolved once, to a public address only, in bounded time, no redirect.

Sources and channels use it, see docs/decisions/0098-one-guard-for-all-http.md. It imports nothing of ours.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import email.utils
import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

DEFAULT_PAUSE = 30.0
_MAX_PAUSE = 86_400.0


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


class NotPublic(Exception):
    """A host has an address that is neither public nor allowed; nothing was sent."""

    def __init__(self, host: str, address: str) -> None:
        super().__init__(address)
        self.host, self.address = host, address

    @property
    def subject(self) -> str:
        """The beginning of a sentence that ends with `is not a public address`."""
        return self.address if self.host == self.address else f"{self.host} is {self.address}, which"

    @property
    def network(self) -> str:
        """The network that allows this address alone."""
        return f"{self.address}/{128 if ':' in self.address else 32}"


class NotConnected(Exception):
    """No connection was made, so nothing was sent. `is_untrusted`: the server has no certificate that we trust."""

    def __init__(self, where: str, reason: str, *, is_untrusted: bool = False) -> None:
        super().__init__(reason)
        self.where, self.reason, self.is_untrusted = where, reason, is_untrusted


class Interrupted(Exception):
    """The connection broke, or took too long, after the request may have been sent."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class HttpLimits:
    """Which addresses besides public ones may be sent to, and the seconds for connecting and for the whole call."""

    allow: tuple[Network, ...] = ()
    connect: float = 5
    total: float = 30


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


def check_header(name: str, content: str, ours: Collection[str]) -> None:
    """Refuse a header that a request cannot have, or that we set. Raises ValueError without the content."""
    if name.lower() in ours:
        raise ValueError(f"the header `{name}` is set by Reconcile itself; remove it")
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise ValueError(f"`{name}` is not a valid header name")
    if not re.fullmatch(r"[\t -~]*", content):
        raise ValueError(f"the header `{name}` contains a line break or a character that headers do not allow")


class Exchange:
    """One request and its answer, whose body is read in pieces. Used in a `with` block, which ends the connection.

    Entering sends the request; it ignores the environment's proxies. Raises NotPublic and NotConnected when nothing was
    sent, Interrupted when it may have been.
    """

    status: int
    headers: Mapping[str, str]
    """Names in lower case; the values of a repeated header are joined by commas."""

    def __init__(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], limits: HttpLimits
    ) -> None:
        self._request = (method, url, body, headers)
        self._limits = limits
        self._late, self._hung_up = threading.Event(), threading.Event()
        self._line: socket.socket | None = None

    def __enter__(self) -> Exchange:
        method, url, body, headers = self._request
        parts = urlsplit(url)
        host, is_secure = parts.hostname or "", parts.scheme == "https"
        port = parts.port or (443 if is_secure else 80)
        line = self._line = connect(host, port, self._limits, is_secure=is_secure)
        if self._hung_up.is_set():
            line.close()
            raise Interrupted("the connection was ended")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._connection = http.client.HTTPConnection(host, port, timeout=self._limits.total)
        self._connection.sock = line
        self._watch = threading.Timer(self._limits.total, self._end_late)
        self._watch.daemon = True
        self._watch.start()
        try:
            self._connection.request(
                method, path, body=body, headers={"Host": parts.netloc.rpartition("@")[2], **headers}
            )
            self._answer = self._connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self._close()
            raise self._interrupted(error) from None
        except BaseException:
            self._close()
            raise
        self.status = self._answer.status
        joined: dict[str, str] = {}
        for name, content in self._answer.getheaders():
            key = name.lower()
            joined[key] = f"{joined[key]}, {content}" if key in joined else content
        self.headers = joined
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()

    def read(self, most: int) -> bytes:
        """Read at most so many bytes of the body; empty at its end, see `confirm_end`. Raises Interrupted."""
        try:
            return self._answer.read(most)
        except (OSError, http.client.HTTPException) as error:
            raise self._interrupted(error) from None

    def confirm_end(self) -> None:
        """After the last piece: raise Interrupted if the body was cut."""
        if self._late.is_set() or self._answer.length:
            raise self._interrupted(http.client.IncompleteRead(b""))

    def hang_up(self) -> None:
        """End the connection from any thread: whoever reads from it gets an Interrupted."""
        self._hung_up.set()
        if self._line is not None:
            with contextlib.suppress(OSError):  # it ended in this very moment
                self._line.shutdown(socket.SHUT_RDWR)

    def _end_late(self) -> None:
        """End a call that drips for too long: a socket's time-out only bounds the time between two bytes."""
        self._late.set()
        self.hang_up()

    def _interrupted(self, error: Exception) -> Interrupted:
        if self._late.is_set() or isinstance(error, TimeoutError):
            return Interrupted(f"no answer in {self._limits.total:g} s")
        return Interrupted(f"the connection broke ({type(error).__name__})")

    def _close(self) -> None:
        self._watch.cancel()
        self._connection.close()
        if self._line is not None:
            self._line.close()


def connect(host: str, port: int, limits: HttpLimits, *, is_secure: bool) -> socket.socket:
    """Connect to the first address of the host that answers; every address must be allowed.

    The host is resolved once, and only an address that was checked is connected to, so a later answer of DNS has no
    effect. Raises NotPublic, NotConnected.
    """
    until = time.monotonic() + limits.connect
    reason, is_untrusted = "it has no address", False
    for address in _resolved(host, port, limits.allow):
        try:
            remaining = max(until - time.monotonic(), 0.05)
            line = socket.create_connection((address, port), timeout=remaining)
        except OSError as error:
            reason = _reason(error)
            continue
        try:
            if is_secure:
                line = ssl.create_default_context().wrap_socket(line, server_hostname=host)
            line.settimeout(limits.total)
        except (OSError, ValueError) as error:
            line.close()
            reason, is_untrusted = _reason(error), isinstance(error, ssl.SSLCertVerificationError)
        else:
            return line
    raise NotConnected(f"{host}:{port}", reason, is_untrusted=is_untrusted)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its TLS certificate is not trusted: {error.verify_message.lower()}"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()


def _resolved(host: str, port: int, allow: Sequence[Network]) -> list[str]:
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = (getattr(error, "strerror", None) or "the host name cannot be resolved").lower()
        raise NotConnected(host, reason) from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    for text in addresses:
        address = ipaddress.ip_address(text.partition("%")[0])
        if not is_allowed(address, allow):
            raise NotPublic(host, str(address))
    return addresses


def is_allowed(address: Address, allow: Sequence[Network]) -> bool:
    """Return True for a public or allowed address; an address that leads to an IPv4 address counts as that."""
    if any(address in network for network in allow if network.version == address.version):
        return True
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _SPECIAL)
    if any(address in network for network in _CARRIES_IPV4):
        return is_allowed(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF), allow)
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
