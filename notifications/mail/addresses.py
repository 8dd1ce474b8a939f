"""Addresses of people and servers in a configuration, checked so that none can add a header or a recipient."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.headerregistry import Address
from typing import Any

import idna

_WRITTEN = re.compile(r'"?(?P<name>[^<>"]*)"?\s*<(?P<inside>[^<>\s]+)>|(?P<bare>[^<>\s]+)')
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*")
_LONGEST_LOCAL, _LONGEST = 64, 254


@dataclass(frozen=True)
class Mailbox:
    """An address, with the name of its owner if there is one. `domain` is in ASCII."""

    name: str
    local: str
    domain: str

    @property
    def address(self) -> str:
        return f"{self.local}@{self.domain}"

    @property
    def header(self) -> Address:
        return Address(display_name=self.name, username=self.local, domain=self.domain)


def mailbox(text: Any) -> Mailbox:
    """Parse `anna@example.com` or `Anna Muster <anna@example.com>`; raises ValueError."""
    if isinstance(text, Mailbox):
        return text
    written = str(text).strip()
    match = _WRITTEN.fullmatch(written)
    name = (match["name"] or "").strip() if match else ""
    address = (match["inside"] or match["bare"]) if match else ""
    local, at, domain = address.rpartition("@")
    ascii_domain = _ascii(domain)
    is_short = len(local) <= _LONGEST_LOCAL and len(address) <= _LONGEST
    if not (at and is_short and ascii_domain and _LOCAL.fullmatch(local) and name.isprintable()):
        raise ValueError(
            f"`{written[:60]}` is not a mail address; write anna@example.com or Anna Muster <anna@example.com>"
        )
    return Mailbox(name, local, ascii_domain)


def mailboxes(texts: Any) -> tuple[Mailbox, ...]:
    """Parse one address or a list; each is kept once."""
    listed = [texts] if isinstance(texts, (str, Mailbox)) else list(texts)
    return tuple({each.address.lower(): each for each in map(mailbox, listed)}.values())


def _ascii(domain: str) -> str | None:
    """Return the domain as DNS has it; None if it is none."""
    try:
        encoded = idna.encode(domain, uts46=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        return None
    return encoded if _DOMAIN.fullmatch(encoded) else None
