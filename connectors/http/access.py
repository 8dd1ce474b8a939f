"""The headers that give access to an API: fixed ones, a bearer token, Basic, or a token of OAuth."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol
from urllib.parse import quote_plus, urlencode, urlsplit

from pydantic import SecretStr

from connectors.errors import ConnectorError, FileUnreadable
from connectors.http.body import text_of
from connectors.http.connector import HttpAuth, HttpSettings
from connectors.http.errors import TokenRefused
from connectors.http.failures import Again, of_connection, of_status
from connectors.outbound import Exchange, Interrupted, NotConnected, NotPublic

_MOST = 1_000_000
_EARLY = 30.0
"""Seconds before its end at which a token is replaced."""
_WORDS = (
    *("invalid_request", "invalid_client", "invalid_grant", "unauthorized_client"),
    *("unsupported_grant_type", "invalid_scope", "access_denied"),
)
"""The errors that RFC 6749 names. Any other text of an answer may hold a secret, and is not shown."""


class Sending(Protocol):
    """Opens an exchange that ends at a time, and with the source's `stop`."""

    def __call__(
        self, method: str, url: str, body: bytes | None, headers: dict[str, str], until: float
    ) -> AbstractContextManager[Exchange]: ...


class Access:
    """The headers of a source's requests. OAuth's token is kept until it expires or is refused."""

    def __init__(self, source: str, settings: HttpSettings, send: Sending, clock: Callable[[], float]) -> None:
        self._source, self._settings, self._send, self._clock = source, settings, send, clock
        self._token: str | None = None
        self._ends = math.inf
        self._refresh = settings.auth.refresh_token if settings.auth is not None else None

    def headers(self, until: float) -> dict[str, str]:
        """The headers of a request now. Raises Again, a ConnectorError."""
        headers = {name: content.get_secret_value() for name, content in self._settings.headers.items()}
        auth = self._settings.auth
        if auth is None:
            return headers
        if auth.token is not None:
            return {**headers, "Authorization": f"Bearer {auth.token.get_secret_value()}"}
        if auth.user is not None:
            return {**headers, "Authorization": _basic(auth.user, auth.password)}
        if self._token is None or self._clock() >= self._ends:
            self._token = self._new_token(auth, until)
        return {**headers, "Authorization": f"Bearer {self._token}"}

    def forget_token(self) -> bool:
        """Drop the token that the API refused; False if another one cannot be had."""
        had_token, self._token = self._token is not None, None
        return had_token

    def _new_token(self, auth: HttpAuth, until: float) -> str:
        assert auth.token_url is not None  # noqa: S101 - the settings were checked
        where = urlsplit(auth.token_url).hostname or ""
        fields, headers = self._request(auth)
        try:
            with self._send("POST", auth.token_url, urlencode(fields).encode(), headers, until) as exchange:
                if exchange.status != 200:
                    raise self._refusal(where, exchange)
                return self._read(where, exchange)
        except (NotPublic, NotConnected, Interrupted) as error:
            raise of_connection(self._source, where, error) from None

    def _request(self, auth: HttpAuth) -> tuple[dict[str, str], dict[str, str]]:
        """The fields and the headers of a request for a token."""
        fields = dict(auth.params)
        if self._refresh is None:
            fields["grant_type"] = "client_credentials"
        else:
            fields |= {"grant_type": "refresh_token", "refresh_token": self._refresh.get_secret_value()}
        if auth.scope is not None:
            fields["scope"] = auth.scope
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
            "User-Agent": "reconcile",
            "Connection": "close",
        }
        client, secret = auth.client_id or "", auth.client_secret
        if auth.client_in == "header" and secret is not None:
            encoded = SecretStr(quote_plus(secret.get_secret_value()))
            return fields, {**headers, "Authorization": _basic(SecretStr(quote_plus(client)), encoded)}
        fields["client_id"] = client
        if secret is not None:
            fields["client_secret"] = secret.get_secret_value()
        return fields, headers

    def _refusal(self, where: str, exchange: Exchange) -> Again | ConnectorError:
        meaning = of_status(self._source, where, exchange.status, exchange.headers)
        if isinstance(meaning, Again) or not 300 <= exchange.status < 500:
            return meaning
        try:
            word = json.loads(text_of(exchange, where, _MOST)).get("error")
        except (ConnectorError, Interrupted, ValueError, AttributeError):
            word = None  # the status says enough
        return TokenRefused(self._source, where, word if word in _WORDS else f"it answered with HTTP {exchange.status}")

    def _read(self, where: str, exchange: Exchange) -> str:
        try:
            answer: Any = json.loads(text_of(exchange, where, _MOST))
        except (FileUnreadable, ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise TokenRefused(self._source, where, "its answer is not a JSON object")
        token, seconds, refresh = (answer.get(name) for name in ("access_token", "expires_in", "refresh_token"))
        if not isinstance(token, str) or not re.fullmatch(r"[!-~]+", token):
            raise TokenRefused(self._source, where, "its answer has no `access_token`")
        if str(answer.get("token_type", "bearer")).lower() != "bearer":
            raise TokenRefused(self._source, where, "its token is not a bearer token")
        if isinstance(refresh, str) and self._refresh is not None:
            self._refresh = SecretStr(refresh)
        self._ends = self._clock() + max(_seconds(seconds) - _EARLY, 0.0)
        return token


def _seconds(text: Any) -> float:
    """The seconds that a token is valid; for ever if the answer does not say."""
    try:
        seconds = float(text)
    except (TypeError, ValueError):
        return math.inf
    return seconds if seconds >= 0 else math.inf


def _basic(user: SecretStr, password: SecretStr | None) -> str:
    pair = f"{user.get_secret_value()}:{password.get_secret_value() if password else ''}"
    return "Basic " + base64.b64encode(pair.encode()).decode("ascii")
