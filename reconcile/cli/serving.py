"""`serve`, `jobs`, `pause`, `resume`: run jobs on their schedules, list them, and pause them."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import exits, people, signals
from reconcile.cli.output import FILE, Config, NoColor, Output

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.messages.direct import StateTrouble
    from reconcile.service.applications import Asgi
    from reconcile.service.serve import ServeProcess

Job = Annotated[str | None, typer.Argument(help="The job.", metavar="JOB")]
Everything = Annotated[bool, typer.Option("--all", help="All jobs, including future ones.")]
OfRule = Annotated[
    str | None, typer.Option("--rule", help="Only cleaning by this rule, not its checks.", metavar="RULE")
]
OfSource = Annotated[
    str | None, typer.Option("--source", help="Only cleaning in this source, not its reads.", metavar="SOURCE")
]


def register(app: typer.Typer) -> None:
    app.command(help="Run jobs on their schedules until stopped.")(serve)
    app.command(help="List the jobs with their next due time and state.")(jobs)
    app.command(help="Pause a job, or cleaning.")(pause)
    app.command(help="Resume a job, or cleaning.")(resume)


def serve(
    config: Config = FILE,
    worker: Annotated[
        bool, typer.Option("--worker", help="Execute runs and send messages, but do not schedule.")
    ] = False,
    listen: Annotated[
        str | None,
        typer.Option("--listen", help="The address of console, API and monitoring, or none.", metavar="ADDRESS"),
    ] = None,
    no_console: Annotated[bool, typer.Option("--no-console", help="Answer monitoring only.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Log JSON lines to standard error.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log warnings and errors only.")] = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import nothing_to_collect
    from reconcile.service.serve import ServeProcess
    from reconcile.service.starting import Start
    from reconcile.telemetry import logs

    logs.set_up(as_json=json, quiet=quiet, colors=not no_color and not os.environ.get("NO_COLOR"))
    stop, stop_at_once = threading.Event(), threading.Event()
    try:
        with nothing_to_collect():
            site = None if no_console else _site()

            def make(trouble: StateTrouble) -> ServeProcess:
                options = (worker, listen, site)
                return ServeProcess(Path(config), os.environ, exits.sentence, *options, state_trouble=trouble)

            server = Start(Path(config), os.environ, make, worker=worker, listen=listen).server()
    except Exception as error:
        if not json:
            raise
        raise typer.Exit(exits.log_failure(error)) from None

    def hear(number: int) -> None:
        if number == signal.SIGHUP:
            server.alarm.wake("reload")
        elif stop.is_set():
            stop_at_once.set()
        else:
            stop.set()

    current = signals.Signals.current
    assert current is not None  # noqa: S101 - every command runs inside of it
    with current.handed_over(hear):
        server.start()
        _welcome(server)
        server.wait(stop)
        server.stop(stop_at_once)


def _site() -> Callable[[ServeProcess], Asgi] | None:
    """Return what builds the console and the API; None without the extra `console`."""
    import importlib.util

    if importlib.util.find_spec("fastapi") is None or importlib.util.find_spec("argon2") is None:
        return None
    from reconcile.web.site import of_server

    return of_server


def _welcome(server: ServeProcess) -> None:
    """Print the code for the first user, to a terminal alone: in a log it would be a secret for others."""
    if server.has_users or server.listener is None:
        return
    if not sys.stderr.isatty():
        server.log_no_users()
        return
    exits.remark(f"Open http://{server.listener.address}/welcome to create the first user, with this code:")
    exits.remark(f"    {server.welcome.code}")


def jobs(out: Output, config: Config = FILE) -> None:
    from notifications.wording.words import to_the_minute
    from reconcile.cli.opening import load_for_state
    from reconcile.service.jobs import look_at

    with load_for_state(config) as application:
        if application.has_state:
            with application.store.read() as tx:
                views = [look_at(job, tx) for job in application.project.jobs.values()]
        else:
            views = [look_at(job, None) for job in application.project.jobs.values()]
        timezone = application.project.timezone
    if out.json:
        out.emit([view.to_json() for view in views])
        return
    rows = [
        (
            view.name,
            view.when or "by hand",
            to_the_minute(view.next, timezone) if view.next else "",
            view.state,
            to_the_minute(view.last_success, timezone) if view.last_success else "never",
        )
        for view in views
    ]
    out.table(("job", "when", "next", "state", "last success"), rows)
    for view in views:
        if view.pause:
            out.note(view.pause.sentence)


def pause(
    out: Output,
    job: Job = None,
    everything: Everything = False,
    rule: OfRule = None,
    source: OfSource = None,
    reason: Annotated[
        str, typer.Option("--reason", "--note", help="The reason; shown with the pause.", metavar="TEXT")
    ] = "no reason given",
    until: Annotated[
        str | None,
        typer.Option("--until", help="When the pause ends: a time, or a duration like 2h or 3d.", metavar="T"),
    ] = None,
    config: Config = FILE,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.coordination import pauses

    with load_for_state(config) as application:
        subject = _subject(application, job, everything, rule, source)
        end = None if until is None else people.moment(until, application.project.timezone, "--until")
        with application.store.begin() as tx:
            pause_ = pauses.pause(tx, subject, reason=reason, by=people.person(), until=end)
    if out.json:
        out.emit(
            {"subject": pause_.subject, "reason": pause_.reason, "by": pause_.by, "until": end and end.isoformat()}
        )
    else:
        out.say(pause_.sentence)


def resume(
    out: Output,
    job: Job = None,
    everything: Everything = False,
    rule: OfRule = None,
    source: OfSource = None,
    clock: Annotated[
        bool, typer.Option("--clock", help="Confirm that the clock is right, and catch up on missed due times.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --clock: continue even if due times are missed.")] = False,
    config: Config = FILE,
) -> None:
    from reconcile.cli.opening import load, load_for_state
    from reconcile.coordination import pauses
    from reconcile.service import scheduler

    with (load if clock else load_for_state)(config) as application:
        if clock and (job or everything or rule or source):
            raise typer.BadParameter("cannot be combined with a job, --all, --rule or --source", param_hint="--clock")
        if yes and not clock:
            raise typer.BadParameter("is valid only with --clock", param_hint="--yes")
        subject = "clock" if clock else _subject(application, job, everything, rule, source)
        with application.memory.begin() as tx:
            if clock:
                confirmed = scheduler.confirm_clock(tx, application.project, people.person(), lose=yes)
                done, missed = confirmed is not None, dict(confirmed.missed) if confirmed else {}
            else:
                done, missed = pauses.resume(tx, subject, people.person()), {}
    if out.json:
        out.emit({"subject": subject, "resumed": done} | ({"missed": missed} if clock else {}))
    elif done:
        out.say(f"{_called(subject)} resumed")
    else:
        out.note(f"{_called(subject)} was not paused; nothing was changed")


def _called(subject: str) -> str:
    from reconcile.coordination import pauses

    kind, _, name = subject.partition(":")
    return pauses.in_words(subject) if kind in ("rule", "source") else name or subject


def _subject(application: Application, job: str | None, everything: bool, rule: str | None, source: str | None) -> str:
    from reconcile.coordination import pauses

    if sum((job is not None, everything, rule is not None, source is not None)) != 1:
        raise typer.BadParameter("name a job, or give one of --all, --rule and --source", param_hint="JOB")
    if rule is not None:
        application.require("rule", rule, tuple(application.project.rules))
        return pauses.of_rule(rule)
    if source is not None:
        application.require("source", source, tuple(application.sources))
        return pauses.of_source(source)
    return pauses.EVERYTHING if job is None else pauses.of_job(application.job(job).name)
