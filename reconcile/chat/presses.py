"""Presses of buttons: each is stored before Slack gets the acknowledgement, and carried out once, later.

A press counts only if it is on a message of ours, with the proof that the message carried; if the chat's user is a user
here; and if that user's role allows it. Then it is one call of the services that every door uses, about the version and
the plan that the message showed.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from notifications.base import GroupNotice, Interactive, Press
from notifications.errors import ChannelError
from notifications.slack.buttons import ButtonValue
from reconcile.app import Application
from reconcile.audit import log
from reconcile.coordination.lease import Owner, is_dead
from reconcile.decisions.request import DecisionRequest
from reconcile.errors import Refused, Wrong
from reconcile.messages import living
from reconcile.people import users
from reconcile.people.roles import Person, parse_role
from reconcile.schedule import retry
from reconcile.store import Store, Transaction
from reconcile.store import outbox as stored_outbox
from reconcile.store import presses as stored
from reconcile.store.columns import json_text
from reconcile.store.errors import StoreError
from reconcile.store.presses import PressRow

CLAIM = dt.timedelta(minutes=5)
SNOOZE = dt.timedelta(days=1)
_RETRIES = retry.Policy(dt.timedelta(seconds=2), dt.timedelta(minutes=2), 6, dt.timedelta(minutes=30))
_ACTOR = "reconcile"


class PressRefused(Refused):
    """A press that does not count; nothing was changed."""


@dataclass(frozen=True)
class HandledPress:
    """A press that was carried out or refused, with the sentence that its person was told."""

    id: str
    changed: bool
    sentence: str


def keep(store: Store, press: Press, signature: str | None = None) -> bool:
    """Keep a press to be carried out; return False if it is kept already. Raises PressRefused for a replay."""
    with store.begin() as tx:
        content = {"press": asdict(press), "mac": _mac(tx, press)}
        if stored.keep(tx, press.id, _channel_of(tx, press), content, signature):
            return True
        if signature is not None and stored.is_replay(tx, press.id, signature):
            raise PressRefused("This request was received before")
        return False


def _mac(tx: Transaction, press: Press) -> str:
    """Return what proves that a process with the key kept this press, not somebody who can only write the state."""
    text = f"reconcile/press/1|{json_text(asdict(press))}"
    return hmac.new(tx.store.key, text.encode(), hashlib.sha256).hexdigest()


def _channel_of(tx: Transaction, press: Press) -> str:
    """Return the channel of the message that the press names; empty if there is none."""
    try:
        content = stored_outbox.content(tx, ButtonValue.read(press.value).message)
    except ValueError:
        return ""
    return "" if content is None else content.channel


def handle_due(application: Application) -> list[HandledPress]:
    """Carry out the presses that are due; safe to run in any number of processes. Raises StoreError."""
    handled = []
    store = application.store
    with store.read() as tx:
        rows = [row for row in stored.due(tx) if row.status == "due" or _is_abandoned(tx, row)]
    for row in rows:
        with store.begin() as tx:
            if not stored.claim(tx, row, Owner.this_process(CLAIM).to_json(), tx.now + CLAIM):
                continue
        if (done := _handle(application, row)) is not None:
            handled.append(done)
    return handled


def _is_abandoned(tx: Transaction, row: PressRow) -> bool:
    return is_dead(tx, Owner.from_json(row.owner), row.lease_until)


def _handle(application: Application, row: PressRow) -> HandledPress | None:
    """Carry out one claimed press; None if it is tried again later."""
    press, fence, store = Press(**row.press["press"]), row.fence + 1, application.store
    try:
        changed, sentence, status = *_decided(application, row, press), "done"
    except (Refused, Wrong) as error:
        changed, sentence, status = False, str(error), "refused"
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - a source can fail in its own ways; the press is not lost
        delay = retry.decide(row.id, row.attempts, _RETRIES).delay
        if row.attempts + 1 < _RETRIES.attempts:
            with store.begin() as tx:
                stored.again(tx, row.id, fence, tx.now + delay)
            return None
        changed, sentence, status = (
            False,
            f"This could not be done ({type(error).__name__}); try it in the console",
            "refused",
        )
    with store.begin() as tx:
        if not stored.end(tx, row.id, fence, status, sentence):
            return None
        if status == "refused":
            body = {"press": row.id, "user": press.user, "action": press.action}
            log.append(tx, _ACTOR, "press.refused", f"press:{row.id}", body)
    _reply(application, row, press, sentence)
    return HandledPress(row.id, changed, sentence)


def _decided(application: Application, row: PressRow, press: Press) -> tuple[bool, str]:
    """Check the press, and call the service; raises a Refused or a Wrong if it does not count."""
    with application.store.read() as tx:
        if not hmac.compare_digest(_mac(tx, press), row.press["mac"]):
            raise PressRefused("Reconcile did not receive this button press. Nothing was changed")
        value = _proven(tx, press)
        person = _person(tx, application, row.channel, press)
    if press.action not in _ACTIONS:
        raise PressRefused("This button does not belong to Reconcile. Nothing was changed")
    result = application.decisions_of(person).decide(_request(press.action, value, row.received_at))
    return result.ok if press.action == "approve" else result.changed, result.sentence


def _proven(tx: Transaction, press: Press) -> ButtonValue:
    """Return what the button is about, if it is in the message where we put it."""
    try:
        value = ButtonValue.read(press.value)
    except ValueError:
        raise PressRefused("This button does not belong to Reconcile. Nothing was changed") from None
    shown = GroupNotice(value.finding, "", {}, "", (), 0, version=value.version, plan_hash=value.plan)
    message = stored_outbox.living(tx, value.message)
    place = {} if message is None else message.receipt.details
    is_there = place.get("channel") == press.place.get("channel") and place.get("ts") == press.place.get("ts")
    if (
        message is None
        or not is_there
        or not hmac.compare_digest(living.proof(tx.store.key, value.message, shown), value.proof)
    ):
        raise PressRefused(
            "This button belongs to a message that this Reconcile no longer has, or to another Reconcile. "
            "Nothing was changed"
        )
    return value


def _person(tx: Transaction, application: Application, channel: str, press: Press) -> Person:
    """Return the user who pressed; raises PressRefused for anybody else."""
    settings = application.project.channels[channel].settings if channel in application.project.channels else None
    names: Mapping[str, str] = getattr(settings, "users", {})
    user = users.active(tx, names[press.user]) if press.user in names else None
    if user is None:
        raise PressRefused(
            f"Slack user {press.user} is not a user of Reconcile, so nothing was changed. An administrator can add "
            f"you: `reconcile users add NAME --role reviewer`, and `users: {{{press.user}: NAME}}` in channel {channel}"
        )
    return Person(user.name, parse_role(user.role), sees_personal=False, origin=f"{user.name}@slack")


_ACTIONS = ("approve", "dismiss", "handle", "snooze")


def _request(action: str, value: ButtonValue, at: dt.datetime) -> DecisionRequest:
    """Return what a button of this action decides about what its message shows."""
    if action == "approve":
        return DecisionRequest(action, value.finding, plan=value.plan)
    until = at + SNOOZE if action == "snooze" else None
    return DecisionRequest(action, value.finding, version=value.version, until=until, timezone="UTC", may_repeat=True)


def _reply(application: Application, row: PressRow, press: Press, sentence: str) -> None:
    """Tell the person what became of the press; the message itself shows it to everybody."""
    if row.channel not in application.project.channels:
        return
    channel = application.channels[row.channel]
    if isinstance(channel, Interactive):
        try:
            channel.reply(press, sentence)
        except ChannelError:
            with application.store.begin() as tx:
                log.append(tx, _ACTOR, "press.unanswered", f"press:{row.id}", {"press": row.id})
