"""`help`: the usage of a command, or a topic that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from reconcile.cli.output import Output


def register(app: typer.Typer) -> None:
    app.command("help", help="Show the help of a command, or explain a topic.")(show_help)


def show_help(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(
            help="A command, or exit-codes, conditions, times, states or personal-data.", metavar="COMMAND|TOPIC"
        ),
    ] = None,
) -> None:
    from reconcile.cli.commands import program
    from reconcile.cli.topics import TOPICS

    words = subjects or []
    if len(words) == 1 and words[0] in TOPICS:
        Output().block(TOPICS[words[0]]())
        return
    _require(program, words, TOPICS)
    program(args=[*words, "--help"], prog_name="reconcile", standalone_mode=False)


def _require(program: Any, words: list[str], topics: Any) -> None:
    """Raise BadParameter, with the nearest name, unless the words lead to a command."""
    from reconcile.cli.meant import commands_meant

    command, before = program, "reconcile"
    for word in words:
        commands = getattr(command, "commands", {})
        if word not in commands:
            names = [*commands, *(topics if command is program else ())]
            close = commands_meant(word, names)
            hint = f"did you mean `{close[0]}`?" if close else f"`{before} --help` lists the choices"
            raise typer.BadParameter(f"{word!r} is neither a command nor a topic; {hint}", param_hint="COMMAND|TOPIC")
        command, before = commands[word], f"{before} {word}"
