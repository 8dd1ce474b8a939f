"""The command that a person means by a word that is none."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Any

from typer.core import TyperGroup

NEAR = 0.65
"""How alike two words are before one is proposed: `rnu` and `run` are 0.67, `ignore` and `migrate` 0.62."""
MEANT: dict[str, tuple[str, ...]] = {
    "accept": ("approve", "dismiss"),
    "alerts": ("messages", "notify"),
    "cancel": ("reject", "pause"),
    "clean": ("plan", "approve"),
    "close": ("handle", "dismiss"),
    "config": ("check", "releases"),
    "delete": ("plan", "erase"),
    "deny": ("reject",),
    "discard": ("dismiss",),
    "fix": ("plan", "approve"),
    "history": ("runs", "audit"),
    "ignore": ("dismiss", "snooze"),
    "issues": ("findings",),
    "lint": ("check",),
    "list": ("findings",),
    "log": ("audit", "runs"),
    "logs": ("audit", "runs"),
    "match": ("run", "explain"),
    "mute": ("snooze",),
    "new": ("init", "suggest"),
    "profile": ("suggest",),
    "repair": ("doctor", "plan"),
    "rerun": ("run", "retry"),
    "resolve": ("handle", "approve"),
    "revert": ("undo",),
    "rollback": ("undo", "restore"),
    "scan": ("run",),
    "schedule": ("jobs", "serve"),
    "start": ("serve", "run"),
    "stop": ("pause",),
    "unignore": ("reopen",),
    "upgrade": ("migrate",),
    "user": ("users",),
    "validate": ("check",),
    "verify": ("check", "audit"),
    "web": ("serve",),
}
"""Words of other programs and of everyday language, each with the commands that do it here."""


def commands_meant(word: str, names: Collection[str]) -> list[str]:
    """Return the commands that the word may mean, the likeliest first."""
    meanings = {
        synonym: kept for synonym, meant in MEANT.items() if (kept := [name for name in meant if name in names])
    }
    meanings |= {name: [name] for name in names}
    close = [word.lower()] if word.lower() in meanings else difflib.get_close_matches(word.lower(), meanings, 2, NEAR)
    return list(dict.fromkeys(name for near in close for name in meanings[near]))[:2]


class CommandGroup(TyperGroup):
    """Commands that propose what a person means by a word that is none of them."""

    suggest_commands = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command whose help names its arguments without their Python types, such as `list[str]`."""
        command: Any = super().get_command(ctx, cmd_name)
        for parameter in command.params if command else ():
            if parameter.param_type_name == "argument":
                parameter.display_type_rich = _no_type
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is named first. Raises UsageError with those that may be meant."""
        if args and args[0] not in self.commands and not ctx.resilient_parsing and not args[0].startswith("-"):
            close = commands_meant(args[0], self.commands)
            hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"{ctx.command_path} --help lists all"
            ctx.fail(f"No such command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


class RootGroup(CommandGroup):
    """All commands, which the help lists by purpose."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        from reconcile.cli.panels import format_commands

        format_commands(self, ctx, formatter)


def _no_type(ctx: Any) -> None:  # noqa: ARG001 - replaces a method of typer
    return None
