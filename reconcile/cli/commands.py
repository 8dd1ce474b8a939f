"""All commands by name; each group is one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
import typer.main
from typer.models import CommandInfo, TyperInfo

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
    keys,
    learning,
    log,
    messages,
    outbox,
    pairs,
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
from reconcile.cli.meant import CommandGroup, RootGroup
from reconcile.cli.output import Output

_SETTINGS: Mapping[str, Any] = {
    "name": "reconcile",
    "help": "Find duplicates and mismatches, report them, and keep an audit log.",
    "no_args_is_help": True,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(**_SETTINGS)
for group in (
    configuration,
    examples,
    suggesting,
    explaining,
    learning,
    presets,
    status,
    running,
    triggering,
    serving,
    releases,
    comparing,
    planning,
    decisions,
    pairs,
    sheets,
    rules,
    cleaning,
    targets,
    messages,
    outbox,
    keys,
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
        configuration.version(Output())
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Find duplicates and mismatches, report them, and keep an audit log."""


class _Commands(Mapping[str, Any]):
    """The commands of `app`, each built when it is first used: all of them take as long as reading a configuration."""

    def __init__(self) -> None:
        groups = {str(info.name): info for info in app.registered_groups}
        self._infos: dict[str, CommandInfo | TyperInfo] = {_name(info): info for info in app.registered_commands}
        self._infos |= groups
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = _built(self._infos[name])
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._infos

    def __iter__(self) -> Iterator[str]:
        return iter(self._infos)

    def __len__(self) -> int:
        return len(self._infos)


def _name(info: CommandInfo) -> str:
    assert info.callback is not None  # noqa: S101 - every command has one
    return info.name or typer.main.get_command_name(info.callback.__name__)


def _built(info: CommandInfo | TyperInfo) -> Any:
    if isinstance(info, CommandInfo):
        return typer.main.get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode=None)
    info.cls = CommandGroup
    return typer.main.get_group_from_info(
        info, pretty_exceptions_short=True, suggest_commands=False, rich_markup_mode=None
    )


def _program() -> Any:
    root = typer.Typer(**_SETTINGS, cls=RootGroup)
    root.callback()(_options)
    group: Any = typer.main.get_command(root)
    group.commands = _Commands()
    return group


program = _program()
"""All commands, once per process and before any fork."""
