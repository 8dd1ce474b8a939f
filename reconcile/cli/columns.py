"""The cells of tables: how wide they are, and which columns a terminal has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reconcile.telemetry import visible

BETWEEN = "  "
"""The separator between two columns."""


@dataclass(frozen=True)
class Styled:
    """A text of a table that is drawn in a style of rich, such as `bold red`, where there are colours."""

    text: str
    style: str


Cell = str | Styled


def cell_width(cell: Cell) -> int:
    """Return the columns that a text takes on a terminal."""
    from rich.cells import cell_len

    return cell_len(cell.text if isinstance(cell, Styled) else cell)


def visible_cell(cell: Cell) -> Cell:
    return Styled(visible.line(cell.text), cell.style) if isinstance(cell, Styled) else visible.line(cell)


_SEVERITIES = {"critical": "bold red", "high": "red", "medium": "yellow"}


def severity_cell(name: str) -> Cell:
    """Return the cell of a severity, coloured if people should see it first."""
    return Styled(name, _SEVERITIES[name]) if name in _SEVERITIES else name


def without_usual(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[int], usual: Mapping[int, str]
) -> tuple[list[str], list[list[Cell]], list[int]]:
    """Return the columns with news in any row, and the new places of those aligned right; `usual` values are none."""
    silent = {place: {"", usual.get(place, "")} for place in range(len(headings))}
    places = [place for place in silent if not rows or any(row[place] not in silent[place] for row in rows)]
    cells = [[row[place] for place in places] for row in rows]
    return [headings[place] for place in places], cells, [n for n, place in enumerate(places) if place in right]


def without_spare(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[int], spare: Sequence[str], width: int
) -> tuple[list[str], list[list[Cell]], list[int]]:
    """Leave out one column of `spare` headings after another, until no word has to be broken."""
    left_out: set[int] = set()
    for heading in spare:
        places = [place for place in range(len(headings)) if place not in left_out]
        kept = [[row[place] for place in places] for row in (headings, *rows)]
        if word_widths(kept, width) is not None:
            break
        left_out |= {place for place in places if headings[place] == heading}
    places = [place for place in range(len(headings)) if place not in left_out]
    cells = [[row[place] for place in places] for row in rows]
    return [headings[place] for place in places], cells, [n for n, place in enumerate(places) if place in right]


def word_widths(rows: Sequence[Sequence[Cell]], width: int) -> list[int] | None:
    """Return widths of columns at which no word is broken, the narrow ones unfolded; None if there are none."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(_longest_word, column)) for column in columns]
    spare = width - sum(widths) - len(BETWEEN) * (len(widths) - 1)
    wanted = [max(map(cell_width, column)) - least for column, least in zip(columns, widths, strict=True)]
    for place in sorted(range(len(columns)), key=wanted.__getitem__):
        given = max(0, min(wanted[place], spare))
        widths[place] += given
        spare -= given
    return None if spare < 0 else widths


def _longest_word(cell: Cell) -> int:
    return max(map(cell_width, (cell.text if isinstance(cell, Styled) else cell).split(" ")))
