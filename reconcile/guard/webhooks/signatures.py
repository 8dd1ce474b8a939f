"""Signatures of webhooks: who sent a body, when, and which event it is. Pure; comparisons take constant time.

Sources: docs.stripe.com/webhooks/signature, docs.github.com (validating webhook deliveries), api.slack.com
(verifying requests from Slack), shopify.dev (deliver webhooks through HTTPS).
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from reconcile.errors import Refused, Wrong

TOLERANCE = dt.timedelta(minutes=5)
"""How far the time in a signature may be from now."""
LONGEST_ID = 200
_DIGITS = re.compile(r"\d{1,12}", re.ASCII)


class SignatureRefused(Refused):
    """The body was not signed with the secret, or not lately; nothing was done."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The webhook's signature is refused: {why}. Nothing was done")


class EventUnnamed(Wrong):
    """The event has no id, so it can't be recognised when it comes again."""

    def __init__(self, place: str) -> None:
        super().__init__(f"The webhook has no event id in {place}, so a repeat can't be recognised. Nothing was done")


class SecretMissing(Wrong):
    """A signature can't be checked without a secret."""

    def __init__(self) -> None:
        super().__init__("A webhook's secret is empty: set it to the one that the sender shows")


class Headers:
    """Headers of a request by their names in any case; of one that was sent twice, none counts."""

    def __init__(self, headers: Mapping[str, str] | Sequence[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in headers.items() if isinstance(headers, Mapping) else headers:
            self._values.setdefault(name.lower(), []).append(value)

    def get(self, name: str) -> str | None:
        values = self._values.get(name.lower(), [])
        return values[0] if len(values) == 1 else None

    def require(self, name: str) -> str:
        """Return a header. Raises SignatureRefused."""
        value = self.get(name)
        if value is None:
            raise SignatureRefused(f"there is no header {name}, or several")
        return value


class Sender(Protocol):
    """How a service signs its webhooks and names its events."""

    def check(self, headers: Headers, body: bytes, now: dt.datetime) -> str:
        """Return the id of the event. Raises SignatureRefused, and only then EventUnnamed."""


Secret = str | Sequence[str]
"""The secret, or several while one replaces another."""


@dataclass(frozen=True)
class Stripe:
    """Stripe: `Stripe-Signature: t=…,v1=…` over the time and the body; the event's `id` is in the body."""

    secret: Secret = field(repr=False)
    tolerance: dt.timedelta = TOLERANCE

    def check(self, headers: Headers, body: bytes, now: dt.datetime) -> str:
        parts = [part.strip().partition("=") for part in headers.require("Stripe-Signature").split(",")]
        times = [value for name, _, value in parts if name == "t"]
        if len(times) != 1:
            raise SignatureRefused("Stripe-Signature has not one time")
        signed = f"{times[0]}.".encode() + body
        _compare([value for name, _, value in parts if name == "v1"], _hex(self.secret, signed))
        _refuse_old(times[0], now, self.tolerance)
        return _named(body, "id")


@dataclass(frozen=True)
class GitHub:
    """GitHub: `X-Hub-Signature-256: sha256=…` over the body; the event's id is the header `X-GitHub-Delivery`.

    The header is not signed: a stranger who saw a delivery could send it again under another id.
    """

    secret: Secret = field(repr=False)

    def check(self, headers: Headers, body: bytes, now: dt.datetime) -> str:  # noqa: ARG002 - GitHub signs no time
        _compare([_after("sha256=", headers.require("X-Hub-Signature-256"))], _hex(self.secret, body))
        return _in_header(headers, "X-GitHub-Delivery")


@dataclass(frozen=True)
class Slack:
    """Slack: `X-Slack-Signature: v0=…` over the time and the body; the event's id is `event_id` in the body.

    Commands and button presses have none: each signed text is an event then.
    """

    secret: Secret = field(repr=False)
    tolerance: dt.timedelta = TOLERANCE

    def check(self, headers: Headers, body: bytes, now: dt.datetime) -> str:
        time = headers.require("X-Slack-Request-Timestamp")
        signed = f"v0:{time}:".encode() + body
        _compare([_after("v0=", headers.require("X-Slack-Signature"))], _hex(self.secret, signed))
        _refuse_old(time, now, self.tolerance)
        document = _document(body)
        if isinstance(document, dict) and "event_id" in document:
            return _named(body, "event_id")
        return f"signed-{hashlib.sha256(signed).hexdigest()}"


@dataclass(frozen=True)
class Shopify:
    """Shopify: `X-Shopify-Hmac-Sha256` over the body, in base 64; the event's id is `X-Shopify-Event-Id`, with the
    topic, since an event can be sent to several subscriptions. Neither header is signed, as with GitHub."""

    secret: Secret = field(repr=False)

    def check(self, headers: Headers, body: bytes, now: dt.datetime) -> str:  # noqa: ARG002 - Shopify signs no time
        _compare([headers.require("X-Shopify-Hmac-Sha256")], _base64(self.secret, body))
        topic = headers.get("X-Shopify-Topic") or ""
        return f"{topic[:LONGEST_ID]} {_in_header(headers, 'X-Shopify-Event-Id')}".strip()


@dataclass(frozen=True)
class Hmac:
    """Any sender with an HMAC-SHA256 in a header: `prefix` is in front of it, and `encoding` hex or base64.

    With `timestamp` (a header with seconds since 1970), the HMAC is over `<time>.<body>`, and old requests are refused.
    The event's id is in the header `id_header`, or else at `id_field` in the JSON body, like `event.id`.
    """

    secret: Secret = field(repr=False)
    header: str = "X-Signature"
    prefix: str = ""
    encoding: Literal["hex", "base64"] = "hex"
    timestamp: str | None = None
    id_header: str | None = None
    id_field: str = "id"
    tolerance: dt.timedelta = TOLERANCE

    def check(self, headers: Headers, body: bytes, now: dt.datetime) -> str:
        time = None if self.timestamp is None else headers.require(self.timestamp)
        signed = body if time is None else f"{time}.".encode() + body
        expected = _hex(self.secret, signed) if self.encoding == "hex" else _base64(self.secret, signed)
        _compare([_after(self.prefix, headers.require(self.header))], expected)
        if time is not None:
            _refuse_old(time, now, self.tolerance)
        return _in_header(headers, self.id_header) if self.id_header else _named(body, self.id_field)


def _hex(secret: Secret, signed: bytes) -> list[str]:
    return [digest.hex() for digest in _digests(secret, signed)]


def _base64(secret: Secret, signed: bytes) -> list[str]:
    return [base64.b64encode(digest).decode("ascii") for digest in _digests(secret, signed)]


def _digests(secret: Secret, signed: bytes) -> Iterator[bytes]:
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets or not all(secrets):
        raise SecretMissing
    return (hmac.digest(item.encode(), signed, "sha256") for item in secrets)


def _compare(given: list[str], expected: list[str]) -> None:
    """Raise SignatureRefused unless one is expected. All are compared, so the time says nothing about which."""
    equal = [
        hmac.compare_digest(value.encode("utf-8", "replace"), right.encode()) for value in given for right in expected
    ]
    if not any(equal):
        raise SignatureRefused("it does not fit the body and the secret")


def _after(prefix: str, value: str) -> str:
    if not value.startswith(prefix):
        raise SignatureRefused(f"it does not begin with {prefix}")
    return value.removeprefix(prefix)


def _refuse_old(seconds: str, now: dt.datetime, tolerance: dt.timedelta) -> None:
    if not _DIGITS.fullmatch(seconds):
        raise SignatureRefused("its time is not a number of seconds")
    if abs(now.timestamp() - int(seconds)) > tolerance.total_seconds():
        raise SignatureRefused("its time is too far from now: it is old, or a clock is wrong")


def _in_header(headers: Headers, name: str) -> str:
    return _checked(headers.get(name), f"the header {name}")


def _named(body: bytes, path: str) -> str:
    value: Any = _document(body)
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return _checked(text, f"`{path}` of the body")


def _checked(value: object, place: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_ID:
        raise EventUnnamed(place)
    return value


def _document(body: bytes) -> Any:
    """Return the body as JSON; None if it is something else."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
