"""The commands by purpose, as the help lists them: first the ten with which a newcomer gets from data to a cleaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PANELS: Mapping[str, Sequence[str]] = {
    "Start here": (
        *("init", "suggest", "check", "run", "findings", "show", "dismiss"),
        *("plan", "approve", "undo"),
    ),
    "Rules": ("explain", "test", "presets", "rules", "learn", "judge", "schema"),
    "Runs": ("status", "serve", "jobs", "runs", "trigger", "pause", "resume"),
    "Findings": ("handle", "snooze", "reopen", "assign", "split", "export", "decide"),
    "Cleaning": ("reject", "keep", "retry", "quarantine", "allow", "target"),
    "Releases": ("releases", "diff", "hold", "promote"),
    "Channels and log": ("notify", "messages", "audit"),
    "Front door": ("keys",),
    "People": ("users", "tokens"),
    "State": ("doctor", "backup", "restore", "migrate", "compact", "seal", "erase"),
    "Help": ("help", "demo", "completion", "version"),
}


def format_commands(group: Any, context: Any, formatter: Any) -> None:
    """Write the commands of a group by panel."""
    commands = {name: command for name in group.list_commands(context) if (command := group.get_command(context, name))}
    width = max(map(len, commands))
    for title, names in _shown(commands):
        longest = formatter.width - 6 - width
        rows = [(name.ljust(width), commands[name].get_short_help_str(longest)) for name in names]
        with formatter.section(title):
            formatter.write_dl(rows)


def _shown(commands: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each panel with those of its commands that there are."""
    for title, names in PANELS.items():
        if shown := [name for name in names if name in commands]:
            yield title, shown
