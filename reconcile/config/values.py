"""Parsers for single values of a configuration: sizes, times, addresses, names, keys."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import ipaddress
import re
import zoneinfo
from typing import Annotated, Any

from pydantic import BeforeValidator, SecretStr, WithJsonSchema

from reconcile.schedule.schedules import zone_meant, zone_named
from rules.document.mistakes import short

MIN_MEMORY = 64_000_000
DEFAULT_LISTEN = "127.0.0.1:8321"
KEY_SIZE = 32

_SERVER = re.compile(r"[\w+]+://(?:[^:/]*(?::[^@]*)?@)?(?:\[[^/?]+\]|[^/:?@]*)(?::\d*)?(?:[/?].*)?", re.DOTALL)
"""Splits an address as SQLAlchemy does: a password ends at the first @, and a port is a number."""

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]i?B|B)", re.IGNORECASE)
_UNITS = (
    {"b": 1}
    | {f"{u}b": 1000**i for i, u in enumerate("kmgt", 1)}
    | {f"{u}ib": 1024**i for i, u in enumerate("kmgt", 1)}
)


def parse_size(value: Any) -> Any:
    """Parse `512MB`, `2GB`, `1GiB` to bytes; raises ValueError."""
    if isinstance(value, int):
        return value
    match = _SIZE.fullmatch(str(value).strip())
    if not match:
        raise ValueError(f"`{value}` is not a size; write it like 512MB or 2GB")
    return round(float(match[1]) * _UNITS[match[2].lower()])


def parse_memory(value: Any) -> Any:
    """Parse a size that is large enough for detection."""
    size = parse_size(value)
    if size < MIN_MEMORY:
        raise ValueError(f"`{value}` is too little memory; give it at least {MIN_MEMORY // 1_000_000}MB")
    return size


def parse_timezone(value: Any) -> Any:
    """Check the name of an IANA time zone; raises ValueError naming the nearest."""
    try:
        zone_named(str(value))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"`{short(str(value))}` is not a time zone; {zone_meant(str(value))}") from None
    return value


def parse_version(value: Any) -> Any:
    if str(value) != "1":
        raise ValueError(f"`{short(str(value))}` is not a supported version; this Reconcile reads version 1")
    return 1


def parse_name(value: Any) -> Any:
    """Check the name of a project, which begins messages; raises ValueError."""
    if not re.fullmatch(r"\w[\w ./-]{0,39}", str(value)) or str(value) != str(value).strip():
        raise ValueError(f"`{short(str(value))}` is not a name; write 1 to 40 letters, digits, spaces, `.`, `/` or `-`")
    return value


def parse_state(value: Any) -> Any:
    """Check the address of the state database; raises ValueError without repeating it: it may hold a password."""
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    scheme = text.split(":")[0].split("+")[0] if isinstance(text, str) else ""
    if scheme == "postgres":
        raise ValueError("a PostgreSQL address begins with postgresql://")
    if scheme not in ("sqlite", "postgresql"):
        raise ValueError("the state is kept in SQLite or PostgreSQL; write sqlite:///file.db or postgresql://…")
    if scheme == "sqlite" and ":///" not in text and text.rstrip("/") != "sqlite:":
        raise ValueError("an SQLite path follows three slashes; write sqlite:///file.db, or sqlite:////folder/file.db")
    if scheme == "sqlite" and text.split("?")[0].rstrip("/") in ("sqlite:", "sqlite:///:memory:"):
        raise ValueError("a state in memory would be lost after each run; add the path of a file")
    if scheme == "postgresql" and _SERVER.fullmatch(text) is None:
        raise ValueError(
            "this is not a database URL; write postgresql://user:password@host:port/database, with special characters "
            "of the password %-encoded"
        )
    return value


def parse_kept(value: dt.timedelta) -> dt.timedelta:
    """Check a retention time: a day or more, so that a typing error does not empty the store."""
    if value < dt.timedelta(days=1):
        raise ValueError("is too short; keep it for 1d or more")
    return value


def parse_grace(value: dt.timedelta) -> dt.timedelta:
    if value > dt.timedelta(hours=1):
        raise ValueError("is too long for a stop; write 1h or less")
    return value


def parse_limit(value: dt.timedelta) -> dt.timedelta:
    """Check a time limit: a second or more."""
    if value < dt.timedelta(seconds=1):
        raise ValueError("is too short; give it 1s or more")
    return value


def parse_listen(value: Any) -> Any:
    """Check `host:port` or `none`; raises ValueError."""
    if str(value) != "none":
        host, separator, port = str(value).rpartition(":")
        if not separator or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"`{short(str(value))}` is not an address; write it like {DEFAULT_LISTEN}, or none")
    return value


def parse_host(value: str) -> str:
    """Check a host name without a port; raises ValueError."""
    if not re.fullmatch(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,252})", value):
        raise ValueError(f"`{short(value)}` is not a host name; write it like reconcile.example.com, without a port")
    return value


def parse_console_url(value: str) -> str:
    """Check the address of the console: a scheme and a host, without a path; raises ValueError."""
    if not re.fullmatch(r"https?://[A-Za-z0-9_.-]+(:\d{1,5})?/?|https?://\[[0-9a-fA-F:]+\](:\d{1,5})?/?", value):
        raise ValueError(f"`{short(value)}` is not an address; write it like https://reconcile.example.com")
    return value.rstrip("/")


def parse_header(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,63}", value):
        raise ValueError(f"`{short(value)}` is not the name of a header; write it like X-Remote-User")
    return value


def parse_session(value: dt.timedelta) -> dt.timedelta:
    """Check how long people stay signed in; raises ValueError."""
    if not dt.timedelta(minutes=1) <= value <= dt.timedelta(days=30):
        raise ValueError("is not between 1m and 30d")
    return value


def parse_traces(value: Any) -> Any:
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", str(value)):
        raise ValueError("is not an address; write it like http://localhost:4318/v1/traces")
    return value


def parse_heartbeat(value: SecretStr) -> SecretStr:
    """Check an address to call; raises ValueError without repeating it."""
    from notifications.http import web_address  # noqa: PLC0415 - imported only for a watchdog

    web_address("heartbeat", value.get_secret_value(), "a watchdog's address has its secret in its path")
    return value


def parse_networks(value: Any) -> Any:
    from notifications.http import networks  # noqa: PLC0415 - see above

    return networks(value)


def parse_key(value: SecretStr) -> SecretStr:
    """Check a key of 32 bytes in hex or base64; raises ValueError without repeating it."""
    key_bytes(value)
    return value


def key_bytes(value: SecretStr) -> bytes:
    """Return the 32 bytes of a key's text; raises ValueError without repeating it."""
    text = "".join(value.get_secret_value().split())
    key = bytes.fromhex(text) if re.fullmatch("[0-9a-fA-F]{64}", text) else _base64(text)
    if len(key) != KEY_SIZE:
        raise ValueError(
            "this is not a key of 32 bytes in base64 or hex; make one with `openssl rand -base64 32` and keep it safe"
        )
    return key


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return b""


def listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


NAMES_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
Names = Annotated[tuple[str, ...], BeforeValidator(listed), WithJsonSchema(NAMES_SCHEMA)]
Size = Annotated[int, BeforeValidator(parse_memory), WithJsonSchema({"type": "string", "examples": ["512MB", "2GB"]})]
Zone = Annotated[str, BeforeValidator(parse_timezone)]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Networks = Annotated[tuple[Network, ...], BeforeValidator(parse_networks), WithJsonSchema(NAMES_SCHEMA)]
