"""`notify preview`, `notify test`: preview the next message, or send a test."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli.output import FILE, AsJson, Config, NoColor, Output, Quiet

if TYPE_CHECKING:
    from notifications.base import Notice
    from reconcile.app import Application
    from reconcile.config.settings import JobConfig, Project
    from reconcile.messages.news import News
    from reconcile.messages.notify import FailureNews
    from reconcile.store import Transaction

Channel = Annotated[str, typer.Argument(help="A configured channel.", metavar="CHANNEL")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Preview and test channels.", no_args_is_help=True)
    group.command(help="Preview the next message of a job, as the channel would show it.")(preview)
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
        message = next_message(application, channel, job)
        if message is None:
            out.note("This job has not run yet, so there is nothing to show; use `reconcile run` first.")
            shown = None
        else:
            notice, is_next = message
            shown = shown_by.preview(notice)
            if not is_next:
                out.note("Nothing is new for this channel. This is a message about everything that is open.")
    if json:
        out.emit({"channel": channel, "message": shown})
    elif shown is not None:
        out.block(shown)


@dataclass(frozen=True)
class _Contents:
    """The findings and failed checks of a message; `is_next` is False if the channel was sent all of them."""

    opened: News
    asking: News
    undos: News
    failures: Sequence[FailureNews]
    is_next: bool

    def __bool__(self) -> bool:
        return any((self.opened, self.asking, self.undos, self.failures))


def next_message(
    application: Application, channel: str, name: str | None, *, is_new: bool = False
) -> tuple[Notice, bool] | None:
    """Return what the job's next message to the channel would say, as of its latest run; None before its first.

    If the channel was sent everything, return a message about all that is open, and False; with `is_new`, as if the
    channel had received nothing before.
    """
    from reconcile.findings.results import summary_of
    from reconcile.messages import notify
    from reconcile.store import runs as stored
    from reconcile.store.plans import waiting_plans

    job = application.job(name)
    with application.memory.read() as tx:
        ended = [run for run in stored.listed(tx, job.name, 20) if run.summary]
        if not ended:
            return None
        last = ended[0]
        project = application.project
        contents = None if is_new else _unsent(tx, project, job, channel)
        contents = contents or _everything(tx, project, job, keep_summary=is_new)
        letter = notify.Letter(
            project=project,
            job=job.name,
            run=last.id,
            slot=last.slot,
            message=notify.message_id(last.id, channel, last.attempt),
            since=stored.slot_before(tx, job.name, last.slot),
            created=tx.now,
            show=project.channels[channel].settings.show,
            plans=waiting_plans(tx, contents.asking.shown),
        )
        summary = summary_of(last.summary)
        outcomes = [outcome for outcome in summary.rules if outcome.rule in project.rules]  # some may be gone since
        parts = (contents.opened, contents.failures, contents.asking, contents.undos)
        return notify.digest(letter, outcomes, *parts), contents.is_next


def _unsent(tx: Transaction, project: Project, job: JobConfig, channel: str) -> _Contents:
    from reconcile.messages import notify
    from reconcile.messages.news import News
    from reconcile.store.findings import ASKING, not_undone, unnotified

    return _Contents(
        opened=News.of(project, unnotified(tx, channel, job.rules)),
        asking=News.of(project, unnotified(tx, channel, job.rules, states=ASKING)),
        undos=News.of(project, not_undone(tx, job.rules, channel)),
        failures=tuple(notify.unheard(tx, project, job.name, channel, ())),
        is_next=True,
    )


def _everything(tx: Transaction, project: Project, job: JobConfig, *, keep_summary: bool) -> _Contents:
    from reconcile.findings.states import State
    from reconcile.messages.news import News
    from reconcile.messages.notify import FailureNews
    from reconcile.store import runs as stored
    from reconcile.store.findings import ASKING, FindingFilter, each, not_undone

    opened = each(tx, FindingFilter(rules=job.rules, states=(State.OPEN,)))
    failing = stored.failing(tx, job.name).items()
    return _Contents(
        opened=News.of(project, (replace(finding, summary=finding.summary and keep_summary) for finding in opened)),
        asking=News.of(project, each(tx, FindingFilter(rules=job.rules, states=ASKING))),
        undos=News.of(project, not_undone(tx, job.rules)),
        failures=[FailureNews(subject, sentence, since) for subject, (sentence, since) in failing],
        is_next=False,
    )


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
