"""The output of commands: JSON, CSV or text on standard output, everything else on standard error."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer

from reconcile.cli import exits
from reconcile.cli.columns import (
    BETWEEN,
    Cell,
    Styled,
    cell_width,
    visible_cell,
    without_spare,
    without_usual,
    word_widths,
)
from reconcile.errors import Failed
from reconcile.telemetry import visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Config = Annotated[str, typer.Option("-c", "--config", help="The configuration file.", metavar="FILE")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON to standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result and errors.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="Print without colours.")]
Note = Annotated[
    str | None, typer.Option("--note", help="The reason; kept with the decision and in the audit log.", metavar="TEXT")
]

Show = Annotated[bool, typer.Option("--show", help="Show personal data, which is hidden by default.")]

FILE = "reconcile.yaml"
HIDDEN = "Personal data is hidden; use --show to see it."

_ENDLESS = 10_000
"""Width of an output that is not a terminal: one line per row."""

_PAGE = 80
"""Width of running text, and of what is drawn where there is no terminal."""

_IS_CSV = ContextVar("_IS_CSV", default=False)
"""True while a command runs whose list of JSON documents is printed as CSV; commands do not know it."""


@contextlib.contextmanager
def as_csv(*, is_csv: bool) -> Iterator[None]:
    """Within the block, outputs print lists of JSON documents as CSV."""
    token = _IS_CSV.set(is_csv)
    try:
        yield
    finally:
        _IS_CSV.reset(token)


@dataclass
class Output:
    """The output options of a command."""

    json: AsJson = False
    quiet: Quiet = False
    no_color: NoColor = False
    is_csv: bool = field(default_factory=_IS_CSV.get)

    @property
    def is_interactive(self) -> bool:
        """Return True if a person watches; only then progress bars are drawn."""
        return sys.stderr.isatty() and not self.quiet

    def progress(self) -> Console:
        """The console for progress bars: standard error."""
        from rich.console import Console

        return Console(file=visible.raw(sys.stderr), no_color=self._plain, highlight=False)

    def heading(self, text: str) -> None:
        """Print an emphasised line of the result."""
        self._write(self._coloured(Styled(visible.line(text), "bold")) + "\n", visible.raw(sys.stdout))

    def emit(self, value: Any) -> None:
        """Print one JSON document, or a list of documents as CSV; iterators in it are read as they are written."""
        if self.is_csv:
            self._rows(value, list(dict.fromkeys(chain.from_iterable(value))))
            return
        for text in _pieces(value):
            self._write(self._json(text))
        self._write("\n")

    def stream(self, values: Iterable[Any]) -> None:
        """Print one JSON list, one element per line, as it is read; as CSV with the fields of the first."""
        if self.is_csv:
            elements = iter(values)
            for first in elements:
                self._rows(chain((first,), elements), list(first))
            return
        before = "["
        for value in values:
            self._write(f"{before}\n{self._json(json.dumps(value, ensure_ascii=False))}")
            before = ","
        self._write("[]\n" if before == "[" else "\n]\n")

    def _rows(self, documents: Iterable[Mapping[str, Any]], fields: Sequence[str]) -> None:
        """Print CSV as RFC 4180 defines it; a list without documents has no fields, and prints nothing."""
        lines = csv.writer(_Lines(self._exactly), lineterminator="\r\n")
        if fields:
            lines.writerow(map(self._csv_cell, fields))
        for document in documents:
            lines.writerow([self._csv_cell(document.get(name)) for name in fields])

    def _csv_cell(self, value: Any) -> str:
        """Return the exact value, nested ones as JSON; on a terminal, which would obey it, with escapes."""
        text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return visible.line(text) if sys.stdout.isatty() else text

    def _exactly(self, text: str) -> None:
        try:
            self._write(text, visible.raw(sys.stdout))
        except UnicodeEncodeError as error:
            raise CsvNotEncoded(sys.stdout.encoding) from error

    def say(self, text: str) -> None:
        """Print a line of the result; line breaks in it come from data."""
        self._write(visible.line(text) + "\n")

    def block(self, text: str) -> None:
        """Print lines of the result; none of their line breaks comes from data."""
        self._write(visible.block(text) + "\n")

    def wrapped(self, text: str, indent: str = "", more: str = "  ") -> None:
        """Print a line of the result, folded at 80 columns or less; further lines are indented by `more`."""
        shown = visible.line(text)
        lines = textwrap.wrap(
            shown,
            min(_PAGE, self.width),
            initial_indent=indent,
            subsequent_indent=indent + more,
            break_on_hyphens=False,
        )
        self._write("".join(f"{line}\n" for line in lines))

    def note(self, text: str) -> None:
        """Print a remark to standard error."""
        if not self.quiet:
            exits.remark(text)

    @property
    def width(self) -> int:
        """The width of the terminal; 80 columns without one."""
        return shutil.get_terminal_size((_PAGE, 24)).columns

    def table(
        self,
        headings: Sequence[str],
        rows: Iterable[Sequence[Cell]],
        *,
        right: Sequence[int] = (),
        fit: bool = False,
        usual: Mapping[int, str] | None = None,
        spare: Sequence[str] = (),
    ) -> None:
        """Print aligned columns; cells are plain text, never markup. With `fit`, cells are folded into `width`.

        Without it, so are those for a terminal, where columns without any value are left out; any other output gets
        one line per row and all columns. `usual` has a value for some columns that is no news either. `spare` are the
        headings of columns that a narrow terminal leaves out, the first one first, before it breaks a word.
        """
        names, cells = list(map(visible.line, headings)), [[visible_cell(cell) for cell in row] for row in rows]
        if sys.stdout.isatty() and not fit:
            names, cells, right = without_usual(names, cells, right, usual or {})
            names, cells, right = without_spare(names, cells, right, spare, self.width)
        width = self.width if fit or sys.stdout.isatty() else _ENDLESS
        if not self._lined_up(names, cells, right, width):
            self._folded(names, cells, right, width)

    def _lined_up(
        self, headings: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[int], width: int
    ) -> bool:
        """Print one line per row if they fit: rich would measure each cell several times, which takes seconds."""
        sizes = [[cell_width(cell) for cell in row] for row in (headings, *rows)]
        widths = [max(column) for column in zip(*sizes, strict=True)]
        if sum(widths) + len(BETWEEN) * (len(widths) - 1) > width:
            return False
        lines = []
        for row, size in zip((headings, *rows), sizes, strict=True):
            padded = [" " * (width - own) for width, own in zip(widths, size, strict=True)]
            cells = (self._padded(c, gap, n in right) for n, (c, gap) in enumerate(zip(row, padded, strict=True)))
            lines.append(BETWEEN.join(cells).rstrip())
        self.heading(lines[0])
        self._write("".join(f"{line}\n" for line in lines[1:]), visible.raw(sys.stdout))
        return True

    def _padded(self, cell: Cell, gap: str, is_right: bool) -> str:
        text = self._coloured(cell) if isinstance(cell, Styled) else cell
        return gap + text if is_right else text + gap

    def _coloured(self, cell: Styled) -> str:
        if not self._is_coloured:
            return cell.text
        from rich.style import Style

        return Style.parse(cell.style).render(cell.text)

    def _folded(
        self, headings: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[int], width: int
    ) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold", width=None)
        widths = word_widths([headings, *rows], width)
        for place, heading in enumerate(headings):
            justify: Literal["left", "right"] = "right" if place in right else "left"
            table.add_column(heading, justify=justify, overflow="fold", width=widths[place] if widths else None)
        for row in rows:
            table.add_row(*(Text(c.text, c.style) if isinstance(c, Styled) else Text(c) for c in row))
        self._render(table, width)

    @property
    def _plain(self) -> bool:
        return self.no_color or bool(os.environ.get("NO_COLOR"))

    @property
    def _is_coloured(self) -> bool:
        return sys.stdout.isatty() and not self._plain and os.environ.get("TERM") not in ("dumb", "unknown")

    def _render(self, what: RenderableType, width: int | None = None) -> None:
        """Render to text first: rich would end the process if nobody reads."""
        console = self._console(width)
        with console.capture() as captured:
            console.print(what)
        self._write("".join(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1]), visible.raw(sys.stdout))

    def _console(self, width: int | None = None) -> Console:
        from rich.console import Console

        usual = None if sys.stdout.isatty() else _ENDLESS
        return Console(no_color=self._plain, highlight=False, width=width or usual)

    @staticmethod
    def _json(document: str) -> str:
        return visible.in_json(document, sys.stdout.encoding or "utf-8")

    @staticmethod
    def _write(text: str, stream: TextIO | None = None) -> None:
        try:
            (stream or sys.stdout).write(text)
        except BrokenPipeError:
            exits.nobody_reads()
        except OSError as error:
            raise exits.AnswerNotWritten(error) from error


class CsvNotEncoded(Failed):
    """The encoding of standard output lacks a character of the data."""

    def __init__(self, encoding: str) -> None:
        super().__init__(
            f"CSV prints exact values, but standard output has the encoding {encoding}, which lacks one of their "
            "characters. Set PYTHONIOENCODING=utf-8, or use --json"
        )


class _Lines:
    """The file that `csv` writes to."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self.write = write


_PLAIN = json.JSONEncoder(ensure_ascii=False)


def _indented(value: Any, margin: str) -> str:
    """Return the result of `json.dumps` with `indent=2`, which yields every bracket, comma and value by itself."""
    if isinstance(value, str):
        return encode_basestring(value)
    inner = margin + "  "
    if isinstance(value, dict) and value:
        named = [f"{_name(name)}: {_indented(item, inner)}" for name, item in value.items()]
        return f"{{{inner}{f',{inner}'.join(named)}{margin}}}"
    if isinstance(value, (list, tuple)) and value:
        return f"[{inner}{f',{inner}'.join([_indented(item, inner) for item in value])}{margin}]"
    return _PLAIN.encode(value)


def _name(name: Any) -> str:
    return encode_basestring(name if isinstance(name, str) else _PLAIN.encode(name))


def _pieces(value: Any, margin: str = "\n") -> Iterator[str]:
    """Yield the result of `json.dumps`, in pieces if the value holds an iterator."""
    if not _holds_iterator(value):
        yield _indented(value, margin)
        return
    named, inner, comma = isinstance(value, dict), margin + "  ", ""
    yield "{" if named else "["
    for item in value:
        yield comma + inner
        if isinstance(value, Iterator):
            yield _indented(item, inner)
        else:
            yield f"{_name(item)}: " if named else ""
            yield from _pieces(value[item] if named else item, inner)
        comma = ","
    yield margin + ("}" if named else "]")


def _holds_iterator(value: Any) -> bool:
    """Return True if it is or contains an iterator, as in the reports of runs."""
    if isinstance(value, dict):
        return any(map(_holds_iterator, value.values()))
    if isinstance(value, list):
        return any(isinstance(item, dict) and _holds_iterator(item) for item in value)
    return isinstance(value, Iterator)
