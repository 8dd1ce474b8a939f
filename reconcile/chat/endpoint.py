"""Presses over HTTP: a request of Slack's becomes a kept press, within milliseconds. Mounted at /slack/interactions.

Every answer is decided here: 200 for a press that is kept, or was; 401 and 403 for anything that is not Slack's or not
for us; 503 if the state does not answer, so that the person sees that nothing happened.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from notifications.slack.channel import SlackSettings
from notifications.slack.interactions import InteractionRefused, payload, presses, verified
from reconcile.chat.presses import PressRefused, keep
from reconcile.config.settings import Project
from reconcile.store import Store
from reconcile.store.errors import StoreError

PATH = "/slack/interactions"


@dataclass(frozen=True)
class EndpointAnswer:
    """The HTTP status, and the reason for our log; Slack gets no body. `kept` is the number of new presses."""

    status: int
    reason: str = ""
    kept: int = 0


def is_wanted(project: Project) -> bool:
    """Return True if a channel takes presses over HTTP."""
    return any(True for _ in _apps(project))


def answer(
    project: Project, store: Store, headers: Mapping[str, str], body: bytes, now: float | None = None
) -> EndpointAnswer:
    """Keep the presses of a request. Never raises; `now` is in seconds since 1970."""
    try:
        at = time.time() if now is None else now
        signature, settings = _genuine(project, headers, body, at)
        pressed = presses(payload(body), settings.team, settings.app)
        return EndpointAnswer(200, kept=sum(keep(store, press, signature) for press in pressed))
    except InteractionRefused as error:
        return EndpointAnswer(error.status, str(error))
    except PressRefused as error:
        return EndpointAnswer(403, str(error))
    except StoreError as error:
        return EndpointAnswer(503, str(error))


def _genuine(project: Project, headers: Mapping[str, str], body: bytes, now: float) -> tuple[str, SlackSettings]:
    """Return the signature and its app; raises InteractionRefused."""
    refusal = InteractionRefused(403, "no channel accepts button presses")
    for secret, settings in _apps(project):
        try:
            return verified(secret, headers, body, now), settings
        except InteractionRefused as error:
            refusal = error
    raise refusal


def _apps(project: Project) -> Iterator[tuple[SecretStr, SlackSettings]]:
    for channel in project.channels.values():
        settings = channel.settings
        if isinstance(settings, SlackSettings) and settings.has_buttons and settings.signing_secret is not None:
            yield settings.signing_secret, settings
