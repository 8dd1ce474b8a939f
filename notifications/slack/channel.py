"""Slack: a bot that posts to a channel and can check delivery, or an incoming webhook that cannot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from notifications import base
from notifications.base import ChannelSettings, DeliveryReceipt, Notice, Press
from notifications.errors import (
    CannotBeAsked,
    ChannelError,
    ChannelRefused,
    ChannelUnreachable,
    DeliveryUnknown,
    PartlySent,
    RateLimited,
    TokenMissingScope,
)
from notifications.slack import blockkit
from notifications.slack.wire import Api, Hook
from notifications.wording import html, render, words
from notifications.wording.document import Document
from notifications.wording.template import Template

EVENT = "reconcile_notice"
"""The metadata event type by which our messages are found again."""

_PAGE = 200
_PAGES = 10
_EARLIER = 3_600  # seconds before the notice: clocks differ
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


class SlackSettings(ChannelSettings):
    """The settings of a Slack channel: `token` with `channel`, or `webhook_url`."""

    type: Literal["slack"] = Field(description="A Slack channel.")
    token: SecretStr | None = Field(default=None, description="The bot's token (xoxb-…), with the scope chat:write.")
    channel: str | None = Field(default=None, description="Where the bot posts: #name, or the channel's id C….")
    webhook_url: SecretStr | None = Field(
        default=None, description="An incoming webhook, instead of token and channel."
    )
    base_url: str = Field(default="https://slack.com/api/", description="Slack's API address; only tests change it.")
    mentions: dict[str, str] = Field(
        default_factory=dict,
        description="The Slack id to mention for each rule owner: a user (U…), a user group (S…), !here or !channel.",
    )
    timeout: float = Field(default=15, gt=0, le=300, description="Seconds to wait for Slack.")
    proxy: SecretStr | None = Field(
        default=None, description="An HTTP proxy for Slack: http://host:port. By default no proxy is used."
    )
    app_token: SecretStr | None = Field(
        default=None, description="The app-level token (xapp-…): buttons over Socket Mode, without a public address."
    )
    signing_secret: SecretStr | None = Field(
        default=None, description="The app's signing secret: buttons over /slack/interactions."
    )
    team: str | None = Field(
        default=None,
        pattern=r"^T[A-Z0-9]{2,20}$",
        description="The workspace's id: buttons in other workspaces are ignored.",
    )
    app: str | None = Field(
        default=None, pattern=r"^A[A-Z0-9]{2,20}$", description="The app's id: buttons of other apps are ignored."
    )
    users: dict[str, str] = Field(
        default_factory=dict, description="Who may press buttons: Slack ids (U…), each with its Reconcile user."
    )

    @field_validator("base_url")
    @classmethod
    def _kept_from_listeners(cls, address: str) -> str:
        return _encrypted("base_url", address)

    @field_validator("webhook_url")
    @classmethod
    def _webhook_kept_from_listeners(cls, address: SecretStr | None) -> SecretStr | None:
        if address is not None:
            _encrypted("webhook_url", address.get_secret_value())
        return address

    @field_validator("proxy")
    @classmethod
    def _is_proxy(cls, proxy: SecretStr | None) -> SecretStr | None:
        """A user name and a password may be in it, so it is never repeated."""
        if proxy is not None and not re.fullmatch(
            r"http://([!-.0-~]+@)?[A-Za-z0-9._\[\]:-]+/?", proxy.get_secret_value()
        ):
            raise ValueError("`proxy` must be like http://host:3128 or http://user:password@host:3128")
        return proxy

    @field_validator("mentions")
    @classmethod
    def _known_to_slack(cls, mentions: dict[str, str]) -> dict[str, str]:
        for owner, slack_id in mentions.items():
            if not re.fullmatch(r"[SUW][A-Z0-9]{6,20}|!here|!channel", slack_id):
                raise ValueError(
                    f"`{owner}`: `{slack_id}` is not a Slack id; copy the id from the profile (U…) or the user "
                    "group (S…), or write !here or !channel"
                )
        return mentions

    @field_validator("users")
    @classmethod
    def _ids_of_people(cls, users: dict[str, str]) -> dict[str, str]:
        for slack_id in users:
            if not re.fullmatch(r"[UW][A-Z0-9]{2,20}", slack_id):
                raise ValueError(f"`{slack_id}` is not the Slack id of a person; copy it from the profile (U…)")
        return users

    @property
    def has_buttons(self) -> bool:
        """True if presses reach us, and somebody may press."""
        return bool(self.users) and (self.app_token is not None or self.signing_secret is not None)

    @model_validator(mode="after")
    def _buttons_need_a_bot(self) -> SlackSettings:
        reached = self.app_token is not None or self.signing_secret is not None
        if reached and self.token is None:
            raise ValueError("`app_token` and `signing_secret` need a bot: set `token` and `channel`")
        if reached != bool(self.users):
            raise ValueError("buttons need `users`, and `app_token` or `signing_secret`; write both or neither")
        return self

    @model_validator(mode="after")
    def _one_way(self) -> SlackSettings:
        bot = self.token is not None or self.channel is not None
        if bot == (self.webhook_url is not None):
            raise ValueError("a slack channel needs either `token` and `channel`, or `webhook_url`, but not both")
        if bot and not (self.token and self.token.get_secret_value() and self.channel):
            raise ValueError("a bot needs both `token` (xoxb-…) and `channel` (#name or C…)")
        return self


def _encrypted(setting: str, address: str) -> str:
    """Return the address if the secret in it is encrypted in transit, or never leaves this host."""
    parts = urlsplit(address)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        return address
    raise ValueError(f"`{setting}` must be an https:// address; otherwise a secret is sent unencrypted")


class SlackChannel:
    """Messages in one Slack channel. A message has one reply in its thread when there are more groups than fit."""

    Settings: ClassVar[type[ChannelSettings]] = SlackSettings

    def __init__(self, name: str, settings: SlackSettings, root: Path) -> None:
        """Opening sends nothing; raises TemplateRefused for a template that cannot be used."""
        self.name = name
        self.settings = settings
        self._template = Template(root / settings.template, blockkit.inert) if settings.template else None
        self._hook: Hook | None = None
        if settings.webhook_url is not None:
            self._hook = Hook(name, settings.webhook_url, settings.timeout, settings.proxy)
        elif settings.token is not None:
            self._api = Api(name, settings.token, settings.base_url, settings.timeout, settings.proxy)

    def __repr__(self) -> str:
        return f"SlackChannel({self.name!r})"

    def send(self, notice: Notice) -> DeliveryReceipt:
        """Post the message and its thread, each once, without retries of its own."""
        parent = self._parent(notice, self._document(notice))
        if self._hook is not None:
            self._hook.post(parent)
            return DeliveryReceipt(where="slack webhook", details={"notice": notice.id})
        answer = self._api.call("chat.postMessage", **self._post(notice, parent, "message"))
        return self.finish(
            notice, DeliveryReceipt(f"slack {answer['channel']}", {"channel": answer["channel"], "ts": answer["ts"]})
        )

    def finish(self, notice: Notice, begun: DeliveryReceipt) -> DeliveryReceipt:
        """Post the thread of a posted message, without checking for it first."""
        try:
            return self._with_thread(notice, self._document(notice), begun)
        except ChannelError as error:
            raise PartlySent(self.name, begun, error) from error

    def update(self, notice: Notice, receipt: DeliveryReceipt) -> None:
        """Show the notice in the posted message and its thread; does nothing for a webhook's message."""
        ts, channel = receipt.details.get("ts"), receipt.details.get("channel")
        if self._hook is not None or ts is None:
            return
        shown = self._document(notice)
        place = {"channel": channel, "ts": ts}
        self._api.call("chat.update", **(self._post(notice, self._parent(notice, shown), "message") | place))
        reply = blockkit.thread(shown, self.settings.mentions)
        if reply is not None and "thread" in receipt.details:
            place = {"channel": channel, "ts": receipt.details["thread"]}
            self._api.call("chat.update", **(self._post(notice, reply, "details") | place))

    def reply(self, press: Press, text: str) -> None:
        """Show the text to the person who pressed, below the message."""
        if self._hook is None:
            shown = words.visible(text, 2_000)
            block = {"type": "section", "text": {"type": "plain_text", "text": shown, "emoji": False}}
            place = {"channel": press.place["channel"], "user": press.user}
            self._api.call("chat.postEphemeral", **place, text=blockkit.inert(shown), blocks=[block])

    def find(self, notice: Notice) -> DeliveryReceipt | None:
        """Search for this notice's message since the notice was written, and complete its thread.

        Raises CannotBeAsked for a webhook, a token that may not read, and a channel with too many messages since.
        """
        if self._hook is not None:
            raise CannotBeAsked(self.name, "an incoming webhook can only post; use a bot token to check")
        try:
            return self._found(notice)
        except TokenMissingScope as error:
            raise CannotBeAsked(self.name, f"the token lacks the scope {error.needed}") from error
        except ChannelRefused as error:
            if error.code != "not_in_channel":
                raise
            raise CannotBeAsked(self.name, "the bot is not a member; type /invite @the-bot in the channel") from error
        except (RateLimited, ChannelUnreachable) as error:
            reason = f"it could not be checked just now: {error}"
            raise DeliveryUnknown(self.name, reason, error.retry_after) from error

    def _found(self, notice: Notice) -> DeliveryReceipt | None:
        channel = self._channel_id()
        message = self._search(notice, channel)
        if message is None:
            return None
        posted = DeliveryReceipt(f"slack {channel}", {"channel": channel, "ts": message["ts"]})
        return self._with_thread(notice, self._document(notice), posted, look=True)

    def preview(self, notice: Notice) -> str:
        """The message as Slack shows it, its thread below."""
        shown = self._document(notice)
        reply = blockkit.thread(shown, self.settings.mentions)
        below = f"\nIn its thread:\n{blockkit.as_text(reply)}" if reply else ""
        return blockkit.as_text(self._parent(notice, shown)) + below

    def html(self, notice: Notice) -> str:
        """The message with its thread; the text of a template as it is."""
        return html.plain(self.preview(notice)) if self._template else html.fragment(self._document(notice))

    def _document(self, notice: Notice) -> Document:
        return render.document(notice, render.SLACK_WEBHOOK if self._hook is not None else render.SLACK)

    def _parent(self, notice: Notice, shown: Document) -> blockkit.Message:
        if self._template is None:
            return blockkit.message(shown, self.settings.mentions, notice.id)
        return blockkit.templated(shown, self._template.render(shown, base.to_json(notice)))

    def _post(self, notice: Notice, message: blockkit.Message, part: str) -> dict[str, Any]:
        return {
            **message,
            "channel": self.settings.channel,
            "metadata": {"event_type": EVENT, "event_payload": {"notice": notice.id, "part": part}},
            "unfurl_links": False,
            "unfurl_media": False,
        }

    def _with_thread(
        self, notice: Notice, shown: Document, posted: DeliveryReceipt, *, look: bool = False
    ) -> DeliveryReceipt:
        """Return the receipt with the thread's time stamp; `look` for the reply before posting it."""
        reply = blockkit.thread(shown, self.settings.mentions)
        if reply is None:
            return posted
        ts = posted.details["ts"]
        reply_ts = self._reply(notice, posted.details["channel"], ts) if look else None
        if reply_ts is None:
            answer = self._api.call("chat.postMessage", **self._post(notice, reply, "details"), thread_ts=ts)
            reply_ts = str(answer["ts"])
        return DeliveryReceipt(posted.where, {**posted.details, "thread": reply_ts})

    def _search(self, notice: Notice, channel: str) -> dict[str, Any] | None:
        oldest = (notice.created or notice.slot).timestamp() - _EARLIER
        arguments = {"channel": channel, "oldest": f"{oldest:.6f}", "include_all_metadata": True}
        for message in self._messages("conversations.history", "messages", **arguments):
            if _is_part(message, notice, "message"):
                return message
        return None

    def _reply(self, notice: Notice, channel: str, ts: str) -> str | None:
        arguments = {"channel": channel, "ts": ts, "include_all_metadata": True}
        for message in self._messages("conversations.replies", "messages", **arguments):
            if _is_part(message, notice, "details"):
                return str(message["ts"])
        return None

    def _channel_id(self) -> str:
        """Return the channel's id; a name is looked up, because Slack reads histories only by id."""
        wanted = self.settings.channel or ""
        if re.fullmatch(r"[CGD][A-Z0-9]{6,}", wanted):
            return wanted
        arguments = {"types": "public_channel,private_channel", "exclude_archived": True}
        for channel in self._messages("conversations.list", "channels", **arguments):
            if channel.get("name") == wanted.removeprefix("#"):
                return str(channel["id"])
        raise CannotBeAsked(self.name, f"no channel {wanted} is visible to the bot; use the channel's id (C…)")

    def _messages(self, method: str, key: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        """Yield everything a paginated method lists; raises CannotBeAsked for more pages than we read."""
        cursor: str | None = None
        for _ in range(_PAGES):
            page = self._api.call(method, **arguments, limit=_PAGE, **({"cursor": cursor} if cursor else {}))
            yield from page.get(key, ())
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return
        raise CannotBeAsked(self.name, f"{method} lists more than {_PAGES} pages; the message is not among the newest")


def _is_part(message: dict[str, Any], notice: Notice, part: str) -> bool:
    metadata = message.get("metadata") or {}
    payload = metadata.get("event_payload") or {}
    return metadata.get("event_type") == EVENT and payload.get("notice") == notice.id and payload.get("part") == part
