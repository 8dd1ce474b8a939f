"""Faults of calls that the servers of this package can simulate, one per call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Fault:
    """A fault of one call instead of its answer. `does`: the call still has its effect."""

    how: Literal["answer", "reset", "drop", "slow"]
    does: bool = False
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    seconds: float = 0


def ratelimited(retry_after: int = 1) -> Fault:
    """429 with Retry-After; nothing is posted."""
    body = json.dumps({"ok": False, "error": "ratelimited"})
    return Fault("answer", status=429, headers={"Retry-After": str(retry_after)}, body=body)


def error(code: str, **more: Any) -> Fault:
    """An error answer of Slack, e.g. `channel_not_found`; nothing is posted."""
    return Fault("answer", body=json.dumps({"ok": False, "error": code, **more}))


def server_error(*, posted: bool = False) -> Fault:
    """500; with `posted` the message is still posted."""
    return Fault("answer", does=posted, status=500, body="upstream failed")


def lost_answer() -> Fault:
    """The message is posted and the connection ends without an answer."""
    return Fault("drop", does=True)


def reset(*, posted: bool = False) -> Fault:
    """The connection is reset."""
    return Fault("reset", does=posted)


def slow(seconds: float) -> Fault:
    """The message is posted at once, the answer comes after this many seconds."""
    return Fault("slow", does=True, seconds=seconds)
