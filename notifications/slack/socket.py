"""A connection to Slack's Socket Mode, through slack-sdk's client without other packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from notifications.errors import ChannelUnreachable
from notifications.slack.channel import SlackSettings
from notifications.slack.wire import LOG, lost, revealed

if TYPE_CHECKING:
    from slack_sdk.socket_mode.client import BaseSocketModeClient
    from slack_sdk.socket_mode.request import SocketModeRequest


class Socket:
    """Open until `close`; it connects again by itself when Slack closes the connection, which is every few hours."""

    def __init__(self, settings: SlackSettings, receive: Callable[[Any], None]) -> None:
        """Connect. `receive` gets the payload of each interaction, and returns once it is kept.

        Raises a ChannelError if Slack does not answer or refuses the token.
        """
        from slack_sdk.errors import SlackApiError, SlackClientError  # noqa: PLC0415 - 0.1 s, only for Socket Mode
        from slack_sdk.socket_mode import SocketModeClient  # noqa: PLC0415 - see above

        from notifications.slack.client import ApiClient  # noqa: PLC0415 - see above

        token = revealed(settings.app_token) or ""
        proxy = revealed(settings.proxy)
        client = ApiClient(token, settings.base_url, int(settings.timeout) or 1, proxy, LOG)
        self._receive = receive
        self._client = SocketModeClient(token, logger=LOG, web_client=client)
        self._client.proxy = proxy  # the client alone would use that of the environment
        self._client.socket_mode_request_listeners.append(self._on_request)
        try:
            self._client.connect()
        except SlackApiError as error:
            self.close()
            code = str(error.response.get("error", ""))
            raise ChannelUnreachable("slack", "Socket Mode", f"Slack refuses `app_token` ({code[:60]})") from None
        except (SlackClientError, ValueError) as error:
            self.close()
            raise ChannelUnreachable("slack", "Socket Mode", type(error).__name__) from None
        except OSError as error:
            self.close()
            raise lost("slack", settings.base_url, error) from None

    def close(self) -> None:
        self._client.close()

    @property
    def is_connected(self) -> bool:
        return self._client.is_connected()

    def _on_request(self, client: BaseSocketModeClient, request: SocketModeRequest) -> None:
        from slack_sdk.socket_mode.response import SocketModeResponse  # noqa: PLC0415 - see above

        if request.type == "interactive":
            self._receive(request.payload)
        client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
