"""`trigger`: queue a job for `serve`, from a script, another scheduler, or by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli.output import FILE, Config, Output

if TYPE_CHECKING:
    from reconcile.coordination.pauses import Pause
    from reconcile.store import Transaction


def register(app: typer.Typer) -> None:
    app.command(help="Queue a job for `serve` to run as soon as possible.")(trigger)


def trigger(
    out: Output,
    job: Annotated[str, typer.Argument(help="The job.", metavar="JOB")],
    config: Config = FILE,
    key: Annotated[
        str | None, typer.Option("--key", help="Identifies the event; each key starts only one run.", metavar="K")
    ] = None,
) -> None:
    from notifications.wording.words import to_the_second
    from reconcile.cli.opening import load_for_state
    from reconcile.cli.people import person
    from reconcile.coordination.lease import holder
    from reconcile.schedule.slots import slot_text
    from reconcile.service import triggers

    with load_for_state(config) as application:
        application.job(job)
        timezone = application.project.timezone
        with application.store.begin() as tx:
            request = triggers.request(tx, application.project, job, key, by=person())
            paused, server = _pause(tx, job), holder(tx, "scheduler")
    if out.json:
        document = {"job": job, "run": request.run, "slot": slot_text(request.slot), "status": request.status}
        out.emit(document | {"new": request.is_new, "paused": None if paused is None else paused.reason})
        return
    was = "is queued" if request.is_new else f"was already requested and is {request.status}"
    out.say(f"{job}  {to_the_second(request.slot, timezone)}  {was}  {request.run}")
    if paused is not None:
        out.note(f"It is waiting: {paused.sentence}")
    elif request.status == "due" and server is None:
        out.note("No `reconcile serve` is running on this state; the run starts when one does")


def _pause(tx: Transaction, job: str) -> Pause | None:
    from reconcile.coordination import pauses

    active = pauses.active(tx)
    return active.get(pauses.EVERYTHING) or active.get(pauses.of_job(job))
