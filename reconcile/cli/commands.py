"""All commands by name; each group is one file."""

from __future__ import annotations

from typing import Annotated

import typer
import typer.main

from reconcile.cli import (
    cleaning,
    comparing,
    completion,
    configuration,
    decisions,
    doctor,
    examples,
    explaining,
    formats,
    helping,
    log,
    messages,
    outbox,
    planning,
    presets,
    releases,
    rules,
    running,
    serving,
    sheets,
    state,
    status,
    suggesting,
    targets,
    triggering,
    users,
)

app = typer.Typer(
    name="reconcile",
    help="Find duplicates and mismatches, report them, and keep an audit log.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (
    configuration,
    examples,
    suggesting,
    explaining,
    presets,
    status,
    running,
    triggering,
    serving,
    releases,
    comparing,
    planning,
    decisions,
    sheets,
    rules,
    cleaning,
    targets,
    messages,
    outbox,
    log,
    state,
    users,
    doctor,
    completion,
    helping,
):
    group.register(app)
formats.offer(app)


def _print_version(value: bool) -> None:
    if value:
        configuration.version()
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Find duplicates and mismatches, report them, and keep an audit log."""


program = typer.main.get_command(app)
"""All commands, built once per process and before any fork, not once per call."""
