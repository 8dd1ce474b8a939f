"""Buttons below a finding, and the value that a press carries back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from notifications.base import GroupNotice
from notifications.wording import words

ACTIONS = ("approve", "handle", "dismiss", "snooze", "open")
"""The decisions of the buttons; their action ids begin with these words."""

_DECIDABLE = ("new", "grown", "reopened", "awaiting_approval")
_LONGEST = 2_000
_LINK = 3_000
_PLAN = 16
"""Characters of a plan's hash that identify it for approval."""

Block = dict[str, Any]


@dataclass(frozen=True)
class ButtonValue:
    """The subject of a button: a finding as shown, in a version and with a plan, and the proof that we wrote it.

    `plan` are the first characters of the plan's hash.
    """

    message: str
    finding: str
    version: int
    plan: str | None
    proof: str

    def written(self) -> str:
        facts = {"m": self.message, "f": self.finding, "v": self.version, "p": self.plan, "h": self.proof}
        return json.dumps(facts, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> ButtonValue:
        """Return what `written` wrote; raises ValueError for anything else."""
        if len(text) > _LONGEST:
            raise ValueError("the value is too long")
        facts = json.loads(text)
        if not isinstance(facts, dict) or set(facts) != {"m", "f", "v", "p", "h"}:
            raise ValueError("the value is not ours")
        message, finding, version, plan, proof = (facts[name] for name in "mfvph")
        texts = (message, finding, proof, plan or "")
        if not all(isinstance(each, str) for each in texts) or type(version) is not int:
            raise ValueError("the value is not ours")
        return cls(message, finding, version, plan, proof)


def actions(group: GroupNotice, message: str, number: int) -> Block | None:
    """Return the block of buttons below a finding; None if there is nothing to press."""
    elements = list(_buttons(group, message, number))
    return {"type": "actions", "block_id": f"finding-{number}", "elements": elements} if elements else None


def _buttons(group: GroupNotice, message: str, number: int) -> Iterator[Block]:
    if group.proof is not None and group.outcome is None and group.state in _DECIDABLE:
        plan = group.plan_hash and group.plan_hash[:_PLAN]
        value = ButtonValue(message, group.finding, group.version, plan, group.proof).written()
        if group.plan_hash is not None and group.state == "awaiting_approval":
            yield _button("approve", "Approve", number, group, value) | {"style": "primary", "confirm": _confirm(group)}
        else:
            yield _button("handle", "Handled", number, group, value)
        yield _button(
            "dismiss", "Not a duplicate" if group.form == "duplicate" else "Accept as it is", number, group, value
        )
        yield _button("snooze", "Snooze 1 day", number, group, value)
    if group.link is not None and len(group.link) <= _LINK:
        yield _button("open", "Open", number, group, None) | {"url": group.link}


def _button(action: str, label: str, number: int, group: GroupNotice, value: str | None) -> Block:
    text = {"type": "plain_text", "text": label, "emoji": False}
    button = {"type": "button", "action_id": f"{action}:{group.finding}:{number}", "text": text}
    return button | ({} if value is None else {"value": value})


def _confirm(group: GroupNotice) -> Block:
    """Ask once more: a tap in a pocket must not change records."""

    def plain(text: str) -> Block:
        return {"type": "plain_text", "text": text, "emoji": False}

    finding = words.visible(group.finding, 40)
    records = words.plural(len(group.surplus), "surplus record", "surplus records")
    return {
        "title": plain("Approve this plan?"),
        "text": plain(f"{finding}: {records}. Reconcile executes exactly the plan that you see."),
        "confirm": plain("Approve"),
        "deny": plain("Cancel"),
    }
