"""A log server (RFC 5424). Its messages cannot be read back from here; its copy is compared on that server."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from reconcile.audit.anchors.base import AnchorError, Receipt, Torn
from reconcile.audit.anchors.settings import AnchorSettings, SyslogSettings
from reconcile.audit.verifier import Mark

_PRIORITY = 13 * 8 + 5
"""Facility 13, log audit; severity 5, notice."""


class SyslogAnchor:
    """Heads as messages to a socket of this host, or over UDP or TCP (octet counting, RFC 6587)."""

    Settings: ClassVar[type[AnchorSettings]] = SyslogSettings

    def __init__(self, name: str, settings: SyslogSettings, _root: Path, _channels: Mapping[str, object]) -> None:
        self.name = name
        self._address = settings.address
        self._timeout = settings.timeout

    def write(self, mark: Mark) -> Receipt:
        """Send one message; syslog never confirms that it was kept."""
        host = socket.gethostname() or "-"
        message = f"<{_PRIORITY}>1 {mark.at} {host} reconcile {os.getpid()} audit-anchor - {mark.line()}".encode()
        try:
            if self._address.startswith("/"):
                self._send_to_socket(message)
            else:
                self._send_to_server(message)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise AnchorError(self.name, f"cannot be written ({self._address}: {reason})") from error
        return {"address": self._address}

    def _send_to_socket(self, message: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.settimeout(self._timeout)
            out.connect(self._address)
            out.send(message)

    def _send_to_server(self, message: bytes) -> None:
        parts = urlsplit(self._address)
        place = (parts.hostname or "", parts.port or 514)
        if parts.scheme == "tcp":
            with socket.create_connection(place, self._timeout) as stream:
                stream.sendall(b"%d %s" % (len(message), message))
            return
        [(family, _, _, _, address), *_] = socket.getaddrinfo(*place, type=socket.SOCK_DGRAM)
        with socket.socket(family, socket.SOCK_DGRAM) as out:
            out.settimeout(self._timeout)
            out.sendto(message, address)

    def read(self, _store: str) -> Iterator[Mark | Torn]:
        raise AnchorError(self.name, "cannot be read back from here; compare the copy that the log server keeps")
