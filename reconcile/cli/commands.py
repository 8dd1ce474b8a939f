"""All commands by name; each group is one file."""

from __future__ import annotations

import typer
import typer.main

from reconcile.cli import (
    cleaning,
    comparing,
    configuration,
    decisions,
    doctor,
    examples,
    explaining,
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
):
    group.register(app)

program = typer.main.get_command(app)
"""All commands, built once per process and before any fork, not once per call."""
