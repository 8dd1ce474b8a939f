"""`init`, `check`, `schema`, `demo`, `version`: before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reconcile.cli import exits
from reconcile.cli.output import FILE, AsJson, Config, NoColor, Output, Quiet


def register(app: typer.Typer) -> None:
    app.command(help="Create a small, runnable project with sample data.")(init)
    app.command(help="Check the configuration, sources, columns and types.")(check)
    app.command(help="Print the JSON Schema of the configuration, for editors.")(schema)
    app.command(help="Run a ten-second demo in a temporary folder, offline.")(demo)
    app.command(help="Print the version.")(version)


def init(
    out: Output,
    directory: Annotated[Path, typer.Argument(help="The folder; created if missing.", metavar="DIR")] = Path(),
) -> None:
    from reconcile.config import scaffold

    written = [str(path) for path in scaffold.write_project(directory)]
    if out.json:
        out.emit({"files": written})
        return
    for path in written:
        out.say(path)
    where = "" if directory == Path() else f"cd {directory} && "
    out.note(f"Try it: {where}reconcile run")


def check(
    out: Output,
    config: Config = FILE,
    source: Annotated[str | None, typer.Option("--source", help="Check only this source.", metavar="NAME")] = None,
) -> None:
    from reconcile.cli.opening import load
    from reconcile.doctor.checking import look, state

    with load(config) as application:
        findings = [*([state(application)] if source is None else ()), *look(application, source)]
        warnings = [str(problem) for problem in application.project.warnings]
        warnings += [warning for finding in findings for warning in finding.warnings]
    if out.json:
        out.emit({"checks": [finding.to_json() for finding in findings], "warnings": warnings})
    else:
        for finding in findings:
            if finding.wrong or not out.quiet:
                out.say(f"{'error' if finding.wrong else 'ok   '}  {finding.subject}: {finding.sentence}")
        for warning in warnings:
            out.note(f"note   {warning}")
    raise typer.Exit(exits.first_that_applies(*(finding.code for finding in findings)))


def schema(json: AsJson = True, quiet: Quiet = False, no_color: NoColor = False) -> None:
    from reconcile.config.schema import json_schema

    Output(json, quiet, no_color).emit(json_schema())


def demo(
    folder: Annotated[
        Path | None, typer.Option("--in", help="Create the demo in this folder.", metavar="FOLDER")
    ] = None,
    console: Annotated[bool, typer.Option("--serve", help="Then show it in the console, until stopped.")] = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.demo import play

    place = play(folder, Output(quiet=quiet, no_color=no_color))
    if console:
        from reconcile.cli.serving import serve

        file = place / "reconcile.yaml"
        serve(str(file), listen="127.0.0.1:0", quiet=quiet, no_color=no_color)  # any port: the usual one may be taken


def version(out: Output) -> None:
    from reconcile import __version__

    if out.json:
        out.emit({"version": __version__})
    else:
        out.say(f"reconcile {__version__}")
