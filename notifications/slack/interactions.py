"""Presses of buttons as Slack sends them: proven to come from Slack, for this app, now, and read strictly.

Over HTTP Slack signs each request; slack-sdk's own verifier raises on malformed headers and accepts a replay within
five minutes, so this does neither. Over Socket Mode the connection itself proves where a press comes from.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from pydantic import SecretStr

from notifications.base import Press
from notifications.slack.buttons import ACTIONS

TOLERANCE = 300
"""Seconds by which the time in a request may differ from ours."""
LONGEST = 262_144
"""Bytes of a request; Slack's are a few thousand."""

_TIME = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")
_USER = re.compile(r"[UW][A-Z0-9]{2,20}")
_TEAM = re.compile(r"[TE][A-Z0-9]{2,20}")
_APP = re.compile(r"A[A-Z0-9]{2,20}")
_PLACE = re.compile(r"[CGD][A-Z0-9]{2,20}")
_TS = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_ACTION = re.compile(rf"({'|'.join(ACTIONS)}):\S{{1,64}}")


class InteractionRefused(Exception):
    """A request that is not a press of our buttons; `status` is the HTTP answer: 401 unproven, 403 not for us.

    The message is for our log; it repeats nothing of the request.
    """

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        super().__init__(reason)


def signature(secret: SecretStr, stamp: str, body: bytes) -> str:
    """Return Slack's signature of a request."""
    signed = hmac.new(secret.get_secret_value().encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256)
    return f"v0={signed.hexdigest()}"


def verified(secret: SecretStr, headers: Mapping[str, str], body: bytes, now: float) -> str:
    """Return the signature of a genuine request; raises InteractionRefused. `now` is in seconds since 1970."""
    lower = {str(name).lower(): str(value) for name, value in headers.items()}
    stamp, given = lower.get("x-slack-request-timestamp", ""), lower.get("x-slack-signature", "")
    if not _TIME.fullmatch(stamp) or not _SIGNATURE.fullmatch(given):
        raise InteractionRefused(401, "no signature")
    if len(body) > LONGEST:
        raise InteractionRefused(401, "too long")
    if not hmac.compare_digest(signature(secret, stamp, body), given):
        raise InteractionRefused(401, "wrong signature")
    if abs(now - int(stamp)) > TOLERANCE:
        raise InteractionRefused(401, "too old, or from the future")
    return given


def payload(body: bytes) -> Any:
    """Return the JSON of a request's form; raises InteractionRefused."""
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, strict_parsing=True, max_num_fields=4)
        [written] = [value for name, value in fields if name == "payload"]
        return json.loads(written)
    except (ValueError, RecursionError):
        raise InteractionRefused(403, "no payload") from None


def presses(facts: Any, team: str | None, app: str | None) -> list[Press]:
    """Return the presses of our buttons in a payload; none for other interactions.

    Raises InteractionRefused for another workspace or app than these, if they are set, and for a malformed payload.
    """
    kind = _text(facts, "type")
    given_team, given_app = _matching(_TEAM, facts, "team", "id"), _matching(_APP, facts, "api_app_id")
    if (team is not None and team != given_team) or (app is not None and app != given_app):
        raise InteractionRefused(403, "another workspace or app")
    if kind != "block_actions":
        return []
    user = _matching(_USER, facts, "user", "id")
    place = _matching(_PLACE, facts, "container", "channel_id")
    ts = _matching(_TS, facts, "container", "message_ts")
    actions = facts.get("actions")
    if not isinstance(actions, list) or not 1 <= len(actions) <= 25:
        raise InteractionRefused(403, "no actions")
    return [_press(action, given_team, user, place, ts) for action in actions if _is_ours(action)]


def _is_ours(action: Any) -> bool:
    named = action.get("action_id") if isinstance(action, dict) else None
    return isinstance(named, str) and _ACTION.fullmatch(named) is not None and not named.startswith("open:")


def _press(action: Any, team: str, user: str, place: str, ts: str) -> Press:
    value, at = _text(action, "value"), _matching(_TS, action, "action_ts")
    wish = str(action["action_id"]).split(":")[0]
    named = json.dumps([team, user, place, ts, action["action_id"], at])
    digest = hashlib.sha256(f"reconcile/press/1|{named}".encode()).hexdigest()
    return Press(f"press1_{digest[:24]}", wish, value, user, {"team": team, "channel": place, "ts": ts})


def _matching(pattern: re.Pattern[str], facts: Any, *path: str) -> str:
    text = _text(facts, *path)
    if not pattern.fullmatch(text):
        raise InteractionRefused(403, f"`{'.'.join(path)}` is malformed")
    return text


def _text(facts: Any, *path: str) -> str:
    for step in path:
        facts = facts.get(step) if isinstance(facts, dict) else None
    if not isinstance(facts, str) or len(facts) > 2_000:
        raise InteractionRefused(403, f"`{'.'.join(path)}` is missing")
    return facts
