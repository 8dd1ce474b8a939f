"""What commands print: JSON or text on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

Config = Annotated[str, typer.Option("-c", "--config", help="The configuration file.", metavar="FILE")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON to standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the result and errors.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="Print without colours.")]
Note = Annotated[str | None, typer.Option("--note", help="Why; kept with the decision and in the audit log.")]

FILE = "reconcile.yaml"


@dataclass
class Output:
    """How this command was asked to speak."""

    json: bool = False
    quiet: bool = False
    no_color: bool = False

    @property
    def is_interactive(self) -> bool:
        """Whether a person watches: only then do bars move."""
        return sys.stderr.isatty() and not self.quiet

    def console(self, *, stderr: bool = False) -> Console:
        from rich.console import Console

        plain = self.no_color or "NO_COLOR" in os.environ
        stream = sys.stderr if stderr else sys.stdout
        width = None if stream.isatty() else 120
        return Console(stderr=stderr, no_color=plain, highlight=False, soft_wrap=False, width=width)

    def emit(self, value: Any) -> None:
        """One JSON document."""
        sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")

    def say(self, text: str) -> None:
        """A line of the result."""
        sys.stdout.write(text + "\n")

    def note(self, text: str) -> None:
        """A remark beside the result."""
        if not self.quiet:
            sys.stderr.write(text + "\n")

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> None:
        """Columns that line up; cells are plain text, never markup."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for place, heading in enumerate(headings):
            table.add_column(heading, justify="right" if place in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self.console().print(table)
