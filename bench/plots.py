"""Draw the tables of bench/RESULTS.md as the figures of docs/figures; `python -m bench` does it, and so does this."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
FIGURES = HERE.parent / "docs" / "figures"
_OURS, _OTHERS = "#0b6e99", "#b8bfc6"
Table = Mapping[str, Mapping[str, str]]
"""The cells of a table by row and column; of columns with one name, the first."""


@dataclass(frozen=True)
class Plot:
    """A figure with a row of bars for each section, and a column of bars for each unit."""

    file: str
    sections: tuple[str, ...]
    """The first words of the headings."""
    units: tuple[str, ...]
    """The columns drawn."""


PLOTS = (
    Plot("exact-keys.svg", ("csv", "parquet", "PostgreSQL"), ("seconds", "peak MB")),
    Plot(
        "reconciliation.svg",
        ("Two sides", "Exact, one to one", "One to many", "Any of three keys"),
        ("seconds", "peak MB"),
    ),
)


def draw(results: Path = RESULTS, folder: Path = FIGURES) -> list[Path]:
    """Draw every plot whose sections were measured; return the files. The same results give the same bytes."""
    tables = read(results.read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for plot in PLOTS:
        chosen = {heading: table for heading, table in tables.items() if heading.startswith(plot.sections)}
        if chosen:
            drawn.append(_drawn(plot, chosen, folder / plot.file))
    return drawn


def read(page: str) -> Mapping[str, Table]:
    """Return the first table below each heading of the page."""
    tables = {}
    for part in page.split("\n### ")[1:]:
        lines = next((block.splitlines() for block in part.split("\n\n") if block.startswith("|")), None)
        if lines is not None:
            columns, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
            tables[part.splitlines()[0]] = {
                name: dict(reversed(list(zip(columns[1:], cells, strict=True)))) for name, *cells in rows
            }
    return tables


def _drawn(plot: Plot, tables: Mapping[str, Table], path: Path) -> Path:
    heights = [len(table) for table in tables.values()]
    # Text stays text, and nothing depends on the time or on chance.
    with mpl.rc_context({"svg.hashsalt": plot.file, "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(9, 0.3 * sum(heights) + 0.8 * len(heights)), layout="constrained")
        places = figure.subplots(len(tables), len(plot.units), squeeze=False, height_ratios=heights)
        for row, (heading, table) in zip(places, tables.items(), strict=True):
            for column, unit in zip(row, plot.units, strict=True):
                _bars(column, table, unit)
            row[0].set_title(heading.partition(":")[0], loc="left", fontweight="bold")
            for column in row[1:]:
                column.set_yticklabels([])
        figure.savefig(path, metadata={"Date": None})
    return path


def _bars(axes: Axes, table: Table, unit: str) -> None:
    names: Sequence[str] = list(table)
    values = [float(re.sub(r"[^\d.]", "", table[name][unit])) for name in names]
    colours = [_OURS if name.startswith("reconcile") else _OTHERS for name in names]
    bars = axes.barh(names, values, color=colours)
    axes.bar_label(bars, [f"{value:,.0f}" if value >= 100 else f"{value:.2f}" for value in values], padding=3)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.set_xmargin(0.15)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    for path in draw():
        print(path)
