"""Messages in a Slack channel: its members see them at once, and their metadata is read back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from notifications.errors import ChannelError
from notifications.slack import channel as slack
from notifications.slack.wire import Api
from reconcile.audit.anchors.base import AnchorError, Receipt, Torn
from reconcile.audit.anchors.settings import AnchorSettings, SlackAnchorSettings
from reconcile.audit.verifier import Mark
from reconcile.documents import JsonObject

EVENT = "reconcile_audit_anchor"
"""The metadata event type that identifies our messages."""

_PAGE = 200
_PAGES = 50


class SlackAnchor:
    """Heads as messages of a bot."""

    Settings: ClassVar[type[AnchorSettings]] = SlackAnchorSettings
    fades = "a workspace keeps messages only as long as its plan and its retention allow"

    def __init__(self, name: str, settings: SlackAnchorSettings, _root: Path, channels: Mapping[str, object]) -> None:
        """`channels` are the settings of the configured channels by name. Raises AnchorError without a bot."""
        self.name = name
        channel = channels.get(settings.channel)
        if not isinstance(channel, slack.SlackSettings) or channel.token is None or channel.channel is None:
            raise AnchorError(name, f"needs a Slack channel with a bot token, but {settings.channel!r} is not one")
        self._place = channel.channel
        self._api = Api(settings.channel, channel.token, channel.base_url, channel.timeout, channel.proxy)

    def write(self, mark: Mark) -> Receipt:
        """Post one message that people can read and `audit verify` finds again."""
        text = (
            f"Reconcile audit log: entry {mark.seq:,} of {mark.at[:16].replace('T', ' ')} UTC, head `{mark.head[:16]}…`"
        )
        try:
            answer = self._api.call(
                "chat.postMessage",
                channel=self._place,
                text=text,
                metadata={"event_type": EVENT, "event_payload": mark.to_json()},
                unfurl_links=False,
                unfurl_media=False,
            )
        except ChannelError as error:
            raise AnchorError(self.name, f"was not written: {error}") from error
        return {"channel": str(answer["channel"]), "ts": str(answer["ts"])}

    def read(self, store: str) -> Iterator[Mark | Torn]:
        """The heads in the channel's history, as far back as Slack shows it, the oldest first."""
        marks: list[Mark | Torn] = []
        try:
            for message in self._listed("conversations.history", "messages", channel=self._id(), oldest="0"):
                metadata = message.get("metadata") or {}
                if metadata.get("event_type") == EVENT:
                    marks.append(_mark(message, metadata.get("event_payload")))
        except ChannelError as error:
            raise AnchorError(self.name, f"cannot be read back: {error}") from error
        yield from (mark for mark in reversed(marks) if isinstance(mark, Torn) or mark.store == store)

    def _id(self) -> str:
        """The id of the channel: Slack reads histories by id only."""
        if re.fullmatch(r"[CGD][A-Z0-9]{6,}", self._place):
            return self._place
        for channel in self._listed("conversations.list", "channels", types="public_channel,private_channel"):
            if channel.get("name") == self._place.removeprefix("#"):
                return str(channel["id"])
        raise AnchorError(self.name, f"cannot be read back: no channel {self._place} is visible to the bot")

    def _listed(self, method: str, key: str, **arguments: Any) -> Iterator[JsonObject]:
        if key == "messages":
            arguments["include_all_metadata"] = True
        cursor: str | None = None
        for _ in range(_PAGES):
            page = self._api.call(method, **arguments, limit=_PAGE, **({"cursor": cursor} if cursor else {}))
            yield from page.get(key, ())
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return
        reason = f"{method} lists more than {_PAGE * _PAGES:,} {key}; give it a channel of its own, by its id (C…)"
        raise AnchorError(self.name, f"cannot be read back: {reason}")


def _mark(message: Mapping[str, Any], payload: Any) -> Mark | Torn:
    try:
        return Mark.of(payload)
    except ValueError:
        return Torn(f"the message {message.get('ts')}", is_last=False)
