"""`target`: which databases are cleaned from here; taking one over from another state, or after a backup."""

from __future__ import annotations

from typing import Annotated

import typer

from reconcile.cli import people
from reconcile.cli.output import FILE, AsJson, Config, NoColor, Output, Quiet

Source = Annotated[str, typer.Argument(help="The source.", metavar="SOURCE")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="The databases that are cleaned: whose they are, and taking one over.", rich_markup_mode=None
    )
    group.command("list", help="Which sources are cleaned, and whether they may be from here.")(listed)
    group.command(help="Clean a database from here, whoever did before, and whatever a backup brought back.")(adopt)
    app.add_typer(group, name="target")


def listed(config: Config = FILE, json: AsJson = False, quiet: Quiet = False, no_color: NoColor = False) -> None:
    from connectors.errors import ConnectorError
    from reconcile import ownership
    from reconcile.cli.opening import load

    out = Output(json, quiet, no_color)
    found = []
    with load(config) as application:
        for name in ownership.cleaned(application.project):
            said: dict[str, str | None] = {"source": name, "target": None, "owner": None, "problem": None}
            found.append(said)
            try:
                seen = ownership.look(application.target(name))
                said |= {"target": seen.identity, "owner": seen.owner and seen.owner[0]}
                with application.memory.read() as tx:
                    ownership.check(tx, seen)
            except (ConnectorError, ownership.OwnershipRefused) as error:
                said["problem"] = str(error)
    if json:
        out.emit(found)
        return
    if not found:
        out.note("No rule says `clean:`, so nothing is cleaned.")
        return
    rows = [(one["source"] or "", one["owner"] or "nobody yet", one["problem"] or "ok") for one in found]
    out.table(("source", "cleaned by", "state"), rows)


def adopt(
    source: Source, config: Config = FILE, json: AsJson = False, quiet: Quiet = False, no_color: NoColor = False
) -> None:
    from reconcile import ownership
    from reconcile.cli.opening import load

    out = Output(json, quiet, no_color)
    with load(config) as application:
        application.require("source", source, tuple(application.project.sources))
        before = ownership.adopt(application.memory, application.target(source), by=people.person())
        mine = application.memory.id
    was = before[0] if before is not None and before[0] != mine else None
    if json:
        out.emit({"source": source, "owner": mine, "before": was})
        return
    instead = f", and no more from {was}" if was else ""
    out.say(f"Source {source!r} is cleaned from here{instead}. `reconcile plan` shows what would be done.")
