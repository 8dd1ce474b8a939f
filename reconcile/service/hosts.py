"""Addresses to listen on, and the names of hosts that requests may be for."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass


def resolve(address: str) -> tuple[socket.AddressFamily, str, int]:
    """Return family, IP address and port of `host:port`. Raises ValueError, OSError, OverflowError."""
    host, _, port = address.rpartition(":")
    if not host or not 0 <= int(port) <= 65535:
        raise ValueError(address)
    family, *_, place = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
    return family, str(place[0]), int(place[1])


def host_of(authority: str) -> str:
    """Return the host of `host:port`, in lower case, without brackets and the dot of the root."""
    bracketed, _, _ = authority.removeprefix("[").partition("]")
    host = bracketed if authority.startswith("[") else authority.partition(":")[0]
    return host.strip().lower().removesuffix(".")


@dataclass(frozen=True)
class Hosts:
    """The accepted host names. A page cannot rebind an IP address, so any is accepted if `is_open`."""

    names: set[str]
    is_open: bool

    def __contains__(self, authority: str) -> bool:
        host = host_of(authority)
        if host in self.names:
            return True
        try:
            return ipaddress.ip_address(host).is_loopback or self.is_open
        except ValueError:
            return False
