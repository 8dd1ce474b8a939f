"""`audit`, `audit verify`: what was done, and the proof that nothing in it was changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from reconcile.cli import exits
from reconcile.cli.output import FILE, AsJson, Config, NoColor, Output, Quiet

if TYPE_CHECKING:
    from reconcile.audit import Entry


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="The audit log: list it, verify it.", invoke_without_command=True, rich_markup_mode=None)
    group.callback()(listing)
    group.command(help="Recompute the chain; exits with 1 and names the first wrong entry when it is broken.")(verify)
    app.add_typer(group, name="audit")


def listing(
    context: typer.Context,
    config: Config = FILE,
    finding: Annotated[str | None, typer.Option("--finding", help="Only entries about this finding.")] = None,
    run: Annotated[str | None, typer.Option("--run", help="Only entries of this run.")] = None,
    event: Annotated[str | None, typer.Option("--event", help="Only such events, e.g. finding or run.started.")] = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    if context.invoked_subcommand is not None:
        return
    from reconcile import audit
    from reconcile.cli.opening import load
    from reconcile.store.findings import name_of

    out = Output(json, quiet, no_color)
    with load(config) as application, application.memory.read() as tx:
        about = None if finding is None else name_of(tx, finding)
        found = audit.entries(tx, finding=about, run=run, event=event)
        if json:
            out.stream(map(_to_json, found))
            return
        for one in found:
            body = " ".join(f"{name}={value}" for name, value in (one.body or {}).items())
            out.say(f"{one.seq}  {one.at:%Y-%m-%d %H:%M:%S}  {one.actor}  {one.event}  {body}".rstrip())


def _to_json(one: Entry) -> dict[str, Any]:
    entry = {"seq": one.seq, "at": one.at.isoformat(), "actor": one.actor, "event": one.event}
    return entry | {"body": one.body, "head": one.head}


def verify(config: Config = FILE, json: AsJson = False, quiet: Quiet = False, no_color: NoColor = False) -> None:
    from reconcile import audit
    from reconcile.cli.opening import load

    out = Output(json, quiet, no_color)
    with load(config) as application:
        result = audit.verify(application.memory)
    if json:
        out.emit({"intact": result.intact, "entries": result.entries, "seq": result.seq, "problem": result.problem})
    elif result.intact:
        out.say(f"{result.entries:,} entries, unbroken; the head is {result.head}")
    else:
        out.say(f"broken at entry {result.seq}: {result.problem}; {result.entries:,} entries before it are right")
    if not result.intact:
        raise typer.Exit(exits.FOUND)
