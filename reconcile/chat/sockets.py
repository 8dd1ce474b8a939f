"""Presses over Slack's Socket Mode: a connection that we open, so that no address of ours has to be public."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import structlog

from notifications.slack.channel import SlackSettings
from notifications.slack.interactions import InteractionRefused, presses
from notifications.slack.socket import Socket
from reconcile.chat.presses import keep
from reconcile.config.settings import Project
from reconcile.store import Store

log = structlog.get_logger("reconcile")


class OpenSocket(Protocol):
    """A connection in progress."""

    def close(self) -> None: ...


class Sockets:
    """One connection for each app that is configured with an `app_token`. Call `tick` every few seconds."""

    def __init__(self, store: Callable[[], Store], woken: Callable[[], None] = lambda: None) -> None:
        """`woken` is called when a press was kept."""
        self._store = store
        self._woken = woken
        self._open: dict[tuple[str, str], OpenSocket] = {}

    def tick(self, project: Project) -> None:
        """Open the configured connections, and close the others. Raises a ChannelError if Slack does not answer."""
        wanted = {_identity(settings): settings for settings in _apps(project)}
        for identity in self._open.keys() - wanted.keys():
            self._open.pop(identity).close()
        for identity in wanted.keys() - self._open.keys():
            self._open[identity] = self._connected(wanted[identity])

    def stop(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def _connected(self, settings: SlackSettings) -> OpenSocket:
        def receive(payload: Any) -> None:
            """Store the presses; Slack gets the acknowledgement after this returns."""
            try:
                kept = [keep(self._store(), press) for press in presses(payload, settings.team, settings.app)]
            except InteractionRefused as error:
                log.warning("press.refused", why=str(error))
            else:
                if any(kept):
                    self._woken()

        return Socket(settings, receive)


def _apps(project: Project) -> list[SlackSettings]:
    of_slack = (channel.settings for channel in project.channels.values())
    return [
        settings
        for settings in of_slack
        if isinstance(settings, SlackSettings) and settings.has_buttons and settings.app_token is not None
    ]


def _identity(settings: SlackSettings) -> tuple[str, str]:
    token = settings.app_token
    return settings.base_url, "" if token is None else token.get_secret_value()
