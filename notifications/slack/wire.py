"""Calls to Slack through slack-sdk, each made once: failures become our errors, and the outbox retries."""

from __future__ import annotations

import http.client
import logging
import re
import traceback
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlsplit

from pydantic import SecretStr

from notifications.errors import (
    ChannelError,
    ChannelRefused,
    ChannelUnreachable,
    DeliveryUnknown,
    RateLimited,
    TokenMissingScope,
)
from notifications.http import retry_after

if TYPE_CHECKING:
    from notifications.slack.client import ApiClient

LOG = logging.getLogger("notifications.slack_sdk")
LOG.setLevel(logging.CRITICAL)  # slack-sdk writes addresses of webhooks, which are secrets, into its debug log
LOG.propagate = False

_INVITE = "invite the bot: type /invite @the-bot in the channel."
_NEW_TOKEN = "the token is not valid; copy the Bot User OAuth Token (xoxb-…) of the Slack app again."  # noqa: S105 - a sentence
_NEW_HOOK = "the webhook no longer exists; create a new one in the Slack app and use its address."
_ADVICE = {
    "invalid_auth": _NEW_TOKEN,
    "not_authed": _NEW_TOKEN,
    "token_revoked": _NEW_TOKEN,
    "token_expired": _NEW_TOKEN,
    "account_inactive": _NEW_TOKEN,
    "channel_not_found": "the bot cannot see this channel; check `channel`, use its id (C…), or " + _INVITE,
    "not_in_channel": _INVITE,
    "is_archived": "the channel is archived; use another one.",
    "channel_is_archived": "the channel is archived; use another one.",
    "restricted_action": "the workspace does not let this app post there; ask its administrator.",
    "no_service": _NEW_HOOK,
    "no_active_hooks": _NEW_HOOK,
    "no_team": _NEW_HOOK,
    "invalid_token": _NEW_HOOK,
    "action_prohibited": "the workspace does not let this app post there; ask its administrator.",
    "invalid_blocks": "Slack rejected the message format; if you use a `template`, check its markup.",
    "msg_too_long": "the message is too long; shorten the channel's `template`.",
    "msg_blocks_too_long": "the message is too long; shorten the channel's `template`.",
}
_MOVED = "redirects are not followed; check `webhook_url` or `base_url`, and which server answers instead of Slack."
_CODE = re.compile(r"[a-z_]{1,60}")
# Errors slack-sdk raises when an answer is not from Slack: half a body, another encoding, another shape.
_UNREADABLE = (
    http.client.IncompleteRead,
    http.client.BadStatusLine,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
)
_UNKNOWN = {"internal_error", "fatal_error", "service_unavailable", "request_timeout", "rollup_error"}
_LIMITED = {"ratelimited", "rate_limited", "message_limit_exceeded"}


class Api:
    """Slack's Web API with a token."""

    def __init__(
        self, channel: str, token: SecretStr, base_url: str, timeout: float, proxy: SecretStr | None = None
    ) -> None:
        self._channel = channel
        self._token = token
        self._base_url = base_url
        self._timeout = timeout
        self._proxy = proxy
        self._made: ApiClient | None = None

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Call a method once. Raises a ChannelError; a call that only reads is always safe to repeat."""
        from slack_sdk.errors import SlackApiError, SlackClientError  # noqa: PLC0415 - 0.1 s, only to talk to Slack

        try:
            writes = method.startswith("chat.")  # methods that read take no JSON
            answer = self._client().api_call(
                method, json=arguments if writes else None, params=None if writes else arguments
            )
            return dict(answer.data) if isinstance(answer.data, dict) else {}
        except SlackApiError as error:
            raise self._refusal(method, error.response) from None
        except (SlackClientError, *_UNREADABLE) as error:
            raise DeliveryUnknown(self._channel, f"the answer cannot be read ({type(error).__name__})") from None
        except OSError as error:
            raise lost(self._channel, self._base_url, error) from None

    def _client(self) -> ApiClient:
        from notifications.slack.client import ApiClient  # noqa: PLC0415 - see above

        if self._made is None:
            seconds = int(self._timeout) or 1
            self._made = ApiClient(self._token.get_secret_value(), self._base_url, seconds, revealed(self._proxy), LOG)
        return self._made

    def _refusal(self, method: str, response: Any) -> ChannelError:
        data = response.data if isinstance(response.data, dict) else {}
        error = str(data.get("error", ""))
        code = error if _CODE.fullmatch(error) else ""
        if code == "missing_scope":
            return TokenMissingScope(self._channel, method, str(data.get("needed", "it needs")))
        return refusal(self._channel, int(response.status_code), code, dict(response.headers))


class Hook:
    """An incoming webhook: an address that is itself the secret."""

    def __init__(self, channel: str, address: SecretStr, timeout: float, proxy: SecretStr | None = None) -> None:
        self._channel = channel
        self._address = address
        self._timeout = timeout
        self._proxy = proxy

    def post(self, message: dict[str, Any]) -> None:
        """Post once. Raises a ChannelError."""
        from notifications.slack.client import HookClient  # noqa: PLC0415 - see above

        seconds = int(self._timeout) or 1
        client = HookClient(self._address.get_secret_value(), seconds, revealed(self._proxy), LOG)
        try:
            answer = client.send_dict({**message, "unfurl_links": False, "unfurl_media": False})
        except _UNREADABLE as error:
            raise DeliveryUnknown(self._channel, f"the answer cannot be read ({type(error).__name__})") from None
        except OSError as error:
            raise lost(self._channel, self._address.get_secret_value(), error) from None
        if answer.status_code != 200:
            body = answer.body.strip()
            code = body if _CODE.fullmatch(body) else ""
            raise refusal(self._channel, answer.status_code, code, dict(answer.headers))


def revealed(secret: SecretStr | None) -> str | None:
    """Return the text of a secret, to hand it to Slack's client."""
    return None if secret is None else secret.get_secret_value()


def refusal(channel: str, status: int, code: str, headers: dict[str, str]) -> ChannelError:
    """Return the error for an unsuccessful answer."""
    if status == 429 or code in _LIMITED:
        return RateLimited(channel, retry_after(headers))
    if status >= 500 or status == 408 or code in _UNKNOWN:
        return DeliveryUnknown(channel, f"Slack answered {code or 'HTTP ' + str(status)}")
    if status == 200 and not code:
        return DeliveryUnknown(channel, "the answer is not from Slack")
    if 300 <= status < 400:
        return ChannelRefused(channel, f"HTTP {status}", _MOVED)
    advice = _ADVICE.get(code, "see this code in Slack's documentation of chat.postMessage.")
    return ChannelRefused(channel, code or f"HTTP {status}", advice)


def lost(channel: str, address: str, error: Exception) -> ChannelError:
    """Return the error for a call without an answer: not sent if the connection failed, otherwise unknown."""
    reason = error.reason if isinstance(error, URLError) else error
    cause = reason if isinstance(reason, Exception) else error
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    if _before_sending(error) or _before_sending(cause):
        return ChannelUnreachable(channel, urlsplit(address).hostname or "its address", text.lower())
    if isinstance(cause, TimeoutError):
        return DeliveryUnknown(channel, "no answer came in time")
    return DeliveryUnknown(channel, f"the connection broke ({type(cause).__name__})")


def _before_sending(error: BaseException) -> bool:
    """Return True if it failed while connecting (look-up, TCP, TLS, tunnel), inside http.client's `connect`."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.name == "connect" and frame.filename.endswith("client.py") for frame in frames)
