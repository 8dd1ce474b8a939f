"""What commands print: JSON or text on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reconcile.cli import exits
from rules.packed import Packed

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Config = Annotated[str, typer.Option("-c", "--config", help="The configuration file.", metavar="FILE")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON to standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the result and errors.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="Print without colours.")]
Note = Annotated[str | None, typer.Option("--note", help="Why; kept with the decision and in the audit log.")]

Show = Annotated[bool, typer.Option("--show", help="Show personal data too, which is hidden otherwise.")]

FILE = "reconcile.yaml"
HIDDEN = "Personal data is hidden; --show shows it."

_ENDLESS = 10_000
"""Columns of an output that is no terminal: a row is a line, whatever reads it."""

_BETWEEN = "  "
"""What stands between two columns."""

_UNSEEN = {*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)} - {ord("\n"), ord("\t")}
_AS_ESCAPES = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _UNSEEN}


def visible(text: str) -> str:
    """The text with control and direction characters as escapes: data must not steer the reader's terminal."""
    return text.translate(_AS_ESCAPES)


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

    def progress(self) -> Console:
        """Where bars move: standard error."""
        from rich.console import Console

        return Console(stderr=True, no_color=self._plain, highlight=False)

    def heading(self, text: str) -> None:
        """A line of the result that stands out."""
        from rich.text import Text

        self._render(Text(text, style="bold"))

    def emit(self, value: Any) -> None:
        """One JSON document; what is packed in it is written as it is unpacked."""
        for text in _pieces(value):
            self._write(text)
        self._write("\n")

    def stream(self, values: Iterable[Any]) -> None:
        """One JSON list, an element a line, written as it is read."""
        before = "["
        for value in values:
            self._write(f"{before}\n{json.dumps(value, ensure_ascii=False)}")
            before = ","
        self._write("[]\n" if before == "[" else "\n]\n")

    def say(self, text: str) -> None:
        """A line of the result."""
        self._write(visible(text) + "\n")

    def note(self, text: str) -> None:
        """A remark beside the result."""
        if not self.quiet:
            exits.remark(visible(text))

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> None:
        """Columns that line up; cells are plain text, never markup."""
        cells = [[visible(cell) for cell in row] for row in rows]
        if not self._lined_up(headings, cells, right):
            self._folded(headings, cells, right)

    def _lined_up(self, headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> bool:
        """Print them a row a line, if that can be: rich would measure each cell several times, which takes seconds."""
        from rich.cells import cell_len

        if any("\n" in cell or "\t" in cell for row in rows for cell in row):
            return False
        sizes = [[cell_len(cell) for cell in row] for row in (headings, *rows)]
        widths = [max(column) for column in zip(*sizes, strict=True)]
        if sum(widths) + len(_BETWEEN) * (len(widths) - 1) > self._console().width:
            return False
        lines = []
        for row, size in zip((headings, *rows), sizes, strict=True):
            padded = [" " * (width - own) for width, own in zip(widths, size, strict=True)]
            cells = (gap + c if n in right else c + gap for n, (c, gap) in enumerate(zip(row, padded, strict=True)))
            lines.append(_BETWEEN.join(cells).rstrip())
        self.heading(lines[0])
        self._write("".join(f"{line}\n" for line in lines[1:]))
        return True

    def _folded(self, headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for place, heading in enumerate(headings):
            table.add_column(heading, justify="right" if place in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        self._render(table)

    @property
    def _plain(self) -> bool:
        return self.no_color or bool(os.environ.get("NO_COLOR"))

    def _render(self, what: RenderableType) -> None:
        """As text first: rich would end the process when nobody reads."""
        console = self._console()
        with console.capture() as captured:
            console.print(what)
        self._write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))

    def _console(self) -> Console:
        from rich.console import Console

        return Console(no_color=self._plain, highlight=False, width=None if sys.stdout.isatty() else _ENDLESS)

    @staticmethod
    def _write(text: str) -> None:
        try:
            sys.stdout.write(text)
        except BrokenPipeError:
            exits.nobody_reads()
        except OSError as error:
            raise exits.AnswerNotWritten(error) from error


_PLAIN = json.JSONEncoder(ensure_ascii=False, indent=2)


def _pieces(value: Any, margin: str = "\n") -> Iterator[str]:
    """What `json.dumps` makes of it, in pieces where something packed is in it."""
    if not _holds_packed(value):
        yield _PLAIN.encode(value).replace("\n", margin)
        return
    named, inner, comma = isinstance(value, dict), margin + "  ", ""
    yield "{" if named else "["
    for one in value:
        yield comma + inner
        if isinstance(value, Packed):
            yield _PLAIN.encode(one).replace("\n", inner)
        else:
            yield f"{_PLAIN.encode(one)}: " if named else ""
            yield from _pieces(value[one] if named else one, inner)
        comma = ","
    yield margin + ("}" if named else "]")


def _holds_packed(value: Any) -> bool:
    """Whether it is packed, or has something packed in it, as the reports of runs have."""
    if isinstance(value, dict):
        return any(map(_holds_packed, value.values()))
    if isinstance(value, list):
        return any(isinstance(one, dict) and _holds_packed(one) for one in value)
    return isinstance(value, Packed)
