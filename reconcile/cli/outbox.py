"""`messages`: unsent messages, and people's decisions about those that may have arrived."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import exits, people
from reconcile.cli.output import FILE, Config, Output
from reconcile.documents import JsonObject

if TYPE_CHECKING:
    from reconcile.store.outbox import Message

Named = Annotated[str, typer.Argument(help="A message's id, as `reconcile messages` shows it.", metavar="ID")]


def register(app: typer.Typer) -> None:
    about = "List unsent messages; send or drop them."
    group = typer.Typer(help=about, invoke_without_command=True, rich_markup_mode=None)
    group.callback()(messages)
    group.command(help="Send a held message now, or one whose delivery is unknown.")(requeue)
    group.command(help="Drop a message that is held, failed or unknown.")(drop)
    app.add_typer(group, name="messages")


def messages(
    context: typer.Context,
    out: Output,
    config: Config = FILE,
) -> None:
    if context.invoked_subcommand is not None:
        return
    from reconcile.cli.opening import load_for_state
    from reconcile.store import outbox

    with load_for_state(config) as application, application.memory.read() as tx:
        unsent = list(outbox.listed(tx, "queued", "sending", "failed", "unknown"))
        now, timezone = tx.now, application.project.timezone
    if out.json:
        out.emit([_to_json(message) for message in unsent])
    elif not unsent:
        out.note("No unsent messages.")
    else:
        rows = [
            (message.message, message.channel, message.job, *_state_and_reason(message, now, timezone))
            for message in unsent
        ]
        out.table(("message", "channel", "job", "status", "why"), rows)


def _state_and_reason(message: Message, now: dt.datetime, timezone: str) -> tuple[str, str]:
    from notifications.wording import words

    if message.is_held(now):
        return "held", f"until {words.moment(message.next_at, timezone)} ({message.held})"
    return message.status, message.problem or ""


def requeue(out: Output, message: Named, config: Config = FILE) -> None:
    from reconcile.messages import outbox

    _decide(config, message, outbox.requeue, out)


def drop(out: Output, message: Named, config: Config = FILE) -> None:
    from reconcile.messages import outbox

    _decide(config, message, outbox.drop, out)


def _decide(config: str, name: str, decision: Callable[..., bool], out: Output) -> None:
    """Record the decision, deliver waiting messages, and print the message's state; exit with 3 if it is not sent."""
    from reconcile.cli.opening import load
    from reconcile.store import outbox

    with load(config) as application:
        store = application.memory
        with store.begin() as tx:
            changed = decision(tx, name, actor=people.person())
        if changed:
            application.deliver()
            application.anchor()
        with store.read() as tx:
            message = outbox.get(tx, name)
    if out.json:
        out.emit({"changed": changed} | _to_json(message))
    else:
        out.say(f"{message.message}  {_standing(message)}{'' if changed else '; nothing was changed'}")
    waits = changed and message.status not in ("sent", "dropped")
    raise typer.Exit(exits.FAILED if waits else exits.DONE)


def _standing(message: Message) -> str:
    if message.status == "sent" and message.receipt is not None:
        return f"was sent to {message.receipt.where}"
    if message.status == "dropped":
        return "is dropped"
    return f"is {message.status}{f': {message.problem}' if message.problem else ''}"


def _to_json(message: Message) -> JsonObject:
    names = ("message", "channel", "job", "run", "status", "attempts", "outcome_unknown", "problem", "held")
    return {name: getattr(message, name) for name in names} | {"next_at": message.next_at.isoformat()}
