"""`target`: the targets cleaned from here; taking one over from another state, or after a restore."""

from __future__ import annotations

from typing import Annotated

import typer

from reconcile.cli import people
from reconcile.cli.output import FILE, Config, Output
from reconcile.errors import Wrong

Source = Annotated[str, typer.Argument(help="The source.", metavar="SOURCE")]


class NothingCleaned(Wrong):
    """No rule cleans the source, so there is nothing to take over."""

    def __init__(self, source: str) -> None:
        super().__init__(f"No rule cleans source {source!r}, so there is nothing to take over. Nothing was changed")


def register(app: typer.Typer) -> None:
    about = "List the targets that are cleaned, or take one over."
    group = typer.Typer(help=about, invoke_without_command=True, rich_markup_mode=None)
    group.callback()(targets)
    group.command(help="Take over a target from another state, or after a restore.")(adopt)
    app.add_typer(group, name="target")


def targets(
    context: typer.Context,
    out: Output,
    config: Config = FILE,
) -> None:
    if context.invoked_subcommand is not None:
        return
    from reconcile.cli.opening import load_for_state
    from reconcile.views.targets import listed, to_json

    with load_for_state(config) as application:
        views = list(listed(application))
    if out.json:
        out.emit(list(map(to_json, views)))
        return
    if not views:
        out.note("No rule has `clean:`, so nothing is cleaned.")
        return
    rows = [(view.source, view.owner or "nobody yet", view.problem or "ok") for view in views]
    out.table(("source", "cleaned by", "state"), rows)


def adopt(out: Output, source: Source, config: Config = FILE) -> None:
    from notifications.wording.words import plural
    from reconcile.cleaning.execution import undone as undone_plans
    from reconcile.cli.opening import load
    from reconcile.journal import ownership

    with load(config) as application:
        application.require("source", source, tuple(application.project.sources))
        store, target = application.memory, application.target(source)
        claims = ownership.look_at(target, ownership.cleaned(application.project).get(source, ()))
        if not claims:
            raise NothingCleaned(source)
        owners = [ownership.adopt(store, target, claim.table, by=people.person()) for claim in claims]
        undone = undone_plans.adopt(store, target, by=people.person())
        mine = store.id
    was = next((owner[0] for owner in owners if owner is not None and owner[0] != mine), None)
    if out.json:
        out.emit({"source": source, "owner": mine, "before": was, "undone": undone})
        return
    instead = f", and no longer from {was}" if was else ""
    out.say(f"Source {source!r} is now cleaned from here{instead}. `reconcile plan` shows what would be done.")
    if undone:
        out.say(f"{plural(len(undone), 'finding', 'findings')} undone since the backup: {', '.join(undone[:5])}")
