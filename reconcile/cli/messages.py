"""`notify preview`, `notify test`: preview the next message, or send a test."""

from __future__ import annotations

import datetime as dt
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli.output import FILE, Config, Output
from reconcile.errors import Wrong

if TYPE_CHECKING:
    from notifications.base import Channel, Notice
    from reconcile.app import Application
    from reconcile.config.settings import JobConfig


class PageNotWritten(Wrong):
    """The page of a preview could not be written."""

    def __init__(self, file: Path, error: OSError) -> None:
        super().__init__(f"The page {file} cannot be written: {(error.strerror or 'it failed').lower()}")


ChannelName = Annotated[str, typer.Argument(help="A configured channel.", metavar="CHANNEL")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Preview and test channels.", no_args_is_help=True)
    group.command(help="Preview the next message of a job, as the channel would show it.")(preview)
    group.command(help="Send a test message.")(test)
    app.add_typer(group, name="notify")


def preview(
    out: Output,
    channel: Annotated[
        list[str] | None, typer.Argument(help="The channels; by default all that the job notifies.", metavar="CHANNEL")
    ] = None,
    job: Annotated[
        str | None, typer.Option("--job", help="The job; required if there are several.", metavar="NAME")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the rules now, store nothing, and show the message about them.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the messages to this file as a page.", metavar="FILE")
    ] = None,
    config: Config = FILE,
) -> None:
    from reconcile.cli.opening import load, load_for_state

    with load(config) if dry_run else load_for_state(config) as application:
        chosen = application.job(job)
        names = channel or list(dict.fromkeys((*chosen.notify, *application.project.alerts)))
        for name in names:
            application.require("channel", name, tuple(application.channels))
        channels = {name: application.channels[name] for name in names}
        notices = dict(
            _foreseen(application, chosen, names, out) if dry_run else _next(application, chosen, names, out)
        )
        messages = {name: channels[name].preview(notice) for name, notice in notices.items()}
        if html is not None:
            _write(html, channels, notices)
    shown = [{"channel": name, "message": messages.get(name)} for name in names]
    if out.json:
        out.emit(shown[0] if channel and len(channel) == 1 else shown)
        return
    for name, message in messages.items():
        out.block(message if len(names) == 1 else f"── {name} ──\n{message}")


def _next(
    application: Application, job: JobConfig, channels: Sequence[str], out: Output
) -> Iterator[tuple[str, Notice]]:
    """Yield the next message to each channel, with a remark if there is none."""
    from reconcile.messages.previews import next_message

    with application.memory.read() as tx:
        messages = {name: next_message(tx, application.project, job, name) for name in channels}
    if None in messages.values():
        out.note("This job has not run yet, so there is nothing to show. Use --dry-run, or `reconcile run` first.")
    sent = [name for name, message in messages.items() if message is not None and not message[1]]
    for name in sent:
        out.note(f"Nothing is new for channel {name}. This preview shows all open findings.")
    yield from ((name, message[0]) for name, message in messages.items() if message is not None)


def _foreseen(
    application: Application, job: JobConfig, channels: Sequence[str], out: Output
) -> Iterator[tuple[str, Notice]]:
    """Yield the message to each channel about what a dry run finds."""
    from reconcile.cli.progress import progress
    from reconcile.findings.shown import Foreseen
    from reconcile.messages.previews import of_dry_run

    with progress(out) as watch:
        report = application.run(job.name, dry_run=True, watch=watch)
    foreseen = [finding for finding in report.findings if isinstance(finding, Foreseen)]
    with ExitStack() as stack:
        tx = stack.enter_context(application.store.read()) if application.has_state else None
        for name in channels:
            yield name, of_dry_run(tx, application.project, job, name, report.slot, report.rules, foreseen)


def _write(file: Path, channels: Mapping[str, Channel], notices: Mapping[str, Notice]) -> None:
    """Write the messages as a page that only its owner can read: it may show personal data."""
    from notifications.base import Drawable
    from notifications.wording import html

    parts = []
    for name, notice in notices.items():
        channel = channels[name]
        drawn = channel.html(notice) if isinstance(channel, Drawable) else html.plain(channel.preview(notice))
        parts.append(f"{html.caption(name)}{drawn}")
    text = html.page("Preview of messages", parts)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as page:
            page.write(text)
    except OSError as error:
        raise PageNotWritten(file, error) from error


def test(
    out: Output,
    channel: ChannelName,
    config: Config = FILE,
) -> None:
    from notifications.base import Notice
    from reconcile.cli.opening import load

    with load(config) as application:
        application.require("channel", channel, tuple(application.project.channels))
        now = dt.datetime.now(dt.UTC)
        notice = Notice(
            id=f"msg1_test_{secrets.token_hex(8)}",
            job="test",
            run="test",
            slot=now,
            test=True,
            created=now,
            timezone=application.project.timezone,
        )
        receipt = application.channels[channel].send(notice)
    if out.json:
        out.emit({"channel": channel, "where": receipt.where, "details": dict(receipt.details)})
    else:
        out.say(f"{channel}: the test message arrived at {receipt.where}")
