"""`notify preview`, `notify test`: preview a message, or send a test."""

from __future__ import annotations

import datetime as dt
import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli.output import FILE, AsJson, Config, NoColor, Output, Quiet

if TYPE_CHECKING:
    from notifications.base import Notice
    from reconcile.app import Application

Channel = Annotated[str, typer.Argument(help="A configured channel.", metavar="CHANNEL")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Preview and test channels.", no_args_is_help=True)
    group.command(help="Preview the message about all open findings, as the channel would show it.")(preview)
    group.command(help="Send a test message.")(test)
    app.add_typer(group, name="notify")


def preview(
    channel: Channel,
    job: Annotated[str | None, typer.Argument(help="The job; required if there are several.", metavar="JOB")] = None,
    config: Config = FILE,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load_for_state

    out = Output(json, quiet, no_color)
    with load_for_state(config) as application:
        application.require("channel", channel, tuple(application.channels))
        shown_by = application.channels[channel]
        notice = about_open_findings(application, channel, job)
        if notice is None:
            out.note("This job has not run yet, so there is nothing to show; use `reconcile run` first.")
            shown = None
        else:
            shown = shown_by.preview(notice)
    if json:
        out.emit({"channel": channel, "message": shown})
    elif shown is not None:
        out.block(shown)


def about_open_findings(application: Application, channel: str, name: str | None) -> Notice | None:
    """Return the message of the job's latest run for a channel that has received nothing before."""
    from reconcile.findings.results import summary_of
    from reconcile.findings.states import State
    from reconcile.messages import notify
    from reconcile.messages.news import News
    from reconcile.store import runs as stored
    from reconcile.store.findings import ASKING, FindingFilter, each, not_undone
    from reconcile.store.plans import waiting_plans

    job = application.job(name)
    with application.memory.read() as tx:
        ended = [run for run in stored.listed(tx, job.name, 20) if run.summary]
        if not ended:
            return None
        last = ended[0]
        project = application.project
        opened = News.of(project, each(tx, FindingFilter(rules=job.rules, states=(State.OPEN,))))
        asking = News.of(project, each(tx, FindingFilter(rules=job.rules, states=ASKING)))
        undos = News.of(project, not_undone(tx, job.rules))
        failing = stored.failing(tx, job.name).items()
        news = [notify.FailureNews(subject, sentence, since) for subject, (sentence, since) in failing]
        letter = notify.Letter(
            project=project,
            job=job.name,
            run=last.id,
            slot=last.slot,
            message=notify.message_id(last.id, channel, last.attempt),
            since=stored.slot_before(tx, job.name, last.slot),
            created=tx.now,
            show=project.channels[channel].settings.show,
            plans=waiting_plans(tx, asking.shown),
        )
        summary = summary_of(last.summary)
        outcomes = [outcome for outcome in summary.rules if outcome.rule in project.rules]  # some may be gone since
        return notify.digest(letter, outcomes, opened, news, asking, undos)


def test(
    channel: Channel,
    config: Config = FILE,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from notifications.base import Notice
    from reconcile.cli.opening import load

    out = Output(json, quiet, no_color)
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
    if json:
        out.emit({"channel": channel, "where": receipt.where, "details": dict(receipt.details)})
    else:
        out.say(f"{channel}: the test message arrived at {receipt.where}")
