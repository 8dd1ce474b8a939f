"""`suggest`: profile a dataset, a source, a file or a database, and print settings and rules for it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli.output import FILE, Config, Output
from reconcile.cli.progress import progress

if TYPE_CHECKING:
    from reconcile.profiling.suggestion import Suggestion


def register(app: typer.Typer) -> None:
    app.command(help="Profile data, and print settings and rules for it as YAML.")(suggest)


def suggest(
    out: Output,
    target: Annotated[
        str,
        typer.Argument(
            help="A dataset or source of the configuration, a file, a folder or a database URL.", metavar="TARGET"
        ),
    ],
    config: Config = FILE,
) -> None:
    from reconcile.profiling import document

    out = Output(out.json, out.quiet or out.json, out.no_color)
    suggestion = _suggestion(target, config, out)
    if out.json:
        out.emit(document.to_json(suggestion))
    else:
        out.block(document.text_of(suggestion).rstrip("\n"))


def _suggestion(target: str, config: str, out: Output) -> Suggestion:
    from reconcile.cli.opening import load, ready_to_load

    if "/" in target or "." in target or not Path(config).exists():
        with ready_to_load():
            from reconcile.app import without_configuration
            from reconcile.profiling import targets

        with without_configuration() as application, progress(out) as watch:
            profiled = targets.of_address(target) if "://" in target else targets.of_file(target)
            with closing(profiled.source):
                return targets.suggest(profiled, application.budget, watch)
    with load(config, needs_rules=False) as application, progress(out) as watch:
        from reconcile.profiling import targets

        profiled = targets.of_project(target, application.project, application.sources)
        return targets.suggest(profiled, application.budget, watch)
