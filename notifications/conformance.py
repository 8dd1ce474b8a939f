"""A suite of every channel's duties, for its author to run: `run(Suite(...))` raises ChannelConformanceFailure.

Needs a place to send to: a test account, or a server such as `reconcile.testing.slack_server`.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from pydantic import ValidationError

from notifications.base import MASK, Channel, GroupNotice, Notice, RuleNotice
from notifications.errors import CannotBeAsked, ChannelError

HOSTILE = (
    "<!channel> @here <@U012345> <https://evil.example|click>",
    "*bold* _it_ ~no~ `code` ```block``` :tada: &amp; & < >",
    "two\nlines\r\nand\ttab\x00\x1b[31m",
    "\u202egnp.exe\u200b\u2066 \ufeff",
    "{{ 7 * 7 }} {% raw %} ${HOME} %s {0}",
    "'; drop table charges; --",
    "=1+1\t@SUM(A1)",
    "𝔘𝔫𝔦" * 400,
    "\ud800 lone",
    "",
)
"""Values that have broken messages, templates or terminals before."""

_HIDDEN = ("\u202e", "\u200b", "\u2066", "\ufeff", "\x00", "\x1b")


class ChannelConformanceFailure(AssertionError):
    """The channel breaks a promise; the message says which."""


@dataclass(frozen=True)
class Suite:
    """A channel to test: how to open it, its settings, how many messages arrived, secrets nothing may show."""

    opened: Callable[[], Channel]
    settings: dict[str, Any]
    arrived: Callable[[], int] | None = None
    unreachable: Callable[[], Channel] | None = None
    secrets: Sequence[str] = field(default=())


def run(suite: Suite) -> None:
    """Run every check in order. Raises ChannelConformanceFailure at the first broken promise."""
    for check in (_sends_once, _finds_or_says_it_cannot, _previews, _takes_anything, _keeps_secrets, _knows_settings):
        check(suite)


def example(hostile: str | None = None) -> Notice:
    """A notice with every kind of content; with `hostile` in all of its free texts. Its id is new each time."""
    text = hostile if hostile is not None else "A-17"
    now = dt.datetime(2026, 11, 21, 5, 15, tzinfo=dt.UTC)
    group = GroupNotice(
        "F-7K2M9Q",
        "new",
        {"order_id": text, "email": MASK},
        text or "ch_1",
        ("ch_2", text or "ch_3"),
        3,
        {"EUR": Decimal("20.00")},
        now,
        now,
        (30.0,),
    )
    rule = RuleNotice(
        "double-charge",
        "critical",
        "charges",
        2,
        0,
        0,
        1,
        1,
        4,
        {"EUR": Decimal("40.00")},
        owner=text or None,
        runbook=text or None,
        why=text or None,
        trend=text or None,
        largest=(group, group),
        skipped=(text,),
    )
    created = dt.datetime.now(dt.UTC)
    return Notice(f"conformance-{uuid.uuid4().hex}", "nightly", text or "run", now, (rule,), created=created)


def _require(condition: object, promise: str) -> None:
    if not condition:
        raise ChannelConformanceFailure(promise)


def _sends_once(suite: Suite) -> None:
    before = suite.arrived() if suite.arrived else 0
    receipt = suite.opened().send(example())
    _require(receipt.where, "send returns a Receipt that says where the message went")
    if suite.arrived:
        _require(suite.arrived() == before + 1, f"one send is one message; {suite.arrived() - before} arrived")


def _finds_or_says_it_cannot(suite: Suite) -> None:
    channel = suite.opened()
    notice = example()
    try:
        before = channel.find(notice)
    except CannotBeAsked:
        return
    _require(before is None, "find returns None for a notice that was never sent")
    sent = channel.send(notice)
    receipt = channel.find(notice)
    _require(receipt is not None, "find returns the receipt of a notice that was sent")
    _require(receipt == sent, f"find and send return the same receipt, not {receipt} and {sent}")
    _require(channel.find(replace(notice, id=notice.id + "x")) is None, "find compares the whole id of a notice")


def _previews(suite: Suite) -> None:
    notice = example()
    before = suite.arrived() if suite.arrived else 0
    shown = suite.opened().preview(notice)
    for rule in notice.rules:
        _require(rule.rule in shown, f"the preview names the rule {rule.rule}")
    _require("40.00" in shown, "the preview says how much money is at risk")
    _require(not suite.arrived or suite.arrived() == before, "a preview sends nothing")


def _takes_anything(suite: Suite) -> None:
    for hostile in HOSTILE:
        notice = example(hostile)
        channel = suite.opened()
        try:
            channel.send(notice)
        except ChannelError as error:
            raise ChannelConformanceFailure(
                f"a message about {hostile[:20]!a} is delivered, not refused: {error}"
            ) from error
        shown = channel.preview(notice)
        hidden = [f"U+{ord(mark):04X}" for mark in _HIDDEN if mark in shown]
        _require(not hidden, f"characters that hide or reverse text are shown as codes, not passed on: {hidden}")


def _keeps_secrets(suite: Suite) -> None:
    channel = suite.opened()
    texts = [repr(channel), str(channel), channel.preview(example()), repr(getattr(channel, "settings", ""))]
    if suite.unreachable is not None:
        broken = suite.unreachable()
        try:
            broken.send(example())
        except ChannelError as error:
            texts += [str(error), repr(error), repr(error.__cause__), str(error.__cause__)]
        else:
            raise ChannelConformanceFailure("sending to a place that does not answer raises a ChannelError")
    for secret in suite.secrets:
        _require(all(secret not in text for text in texts), "no repr, preview or error shows a secret of the settings")


def _knows_settings(suite: Suite) -> None:
    settings_class = type(suite.opened()).Settings
    settings_class.model_validate(suite.settings)
    try:
        settings_class.model_validate({**suite.settings, "tresholds": 1})
    except ValidationError:
        return
    raise ChannelConformanceFailure("an unknown setting is refused, so that a typo is reported")
