"""Errors whose message is a sentence for the user, by what it means that a command ends with one.

Each carries the exit code of that command (see docs/cli.md). The errors of rules, connectors and notifications carry
`exit_code` themselves, because those packages do not import this one. An error without `exit_code` is a defect.
"""

from __future__ import annotations

from typing import ClassVar


class Wrong(Exception):
    """The configuration or the command is wrong, or names something that does not exist; nothing was changed."""

    exit_code: ClassVar[int] = 2


class Failed(Exception):
    """A database, a file or another process failed; finished work is kept."""

    exit_code: ClassVar[int] = 3


class Refused(Exception):
    """The command is valid but not allowed now; nothing was changed."""

    exit_code: ClassVar[int] = 4
