"""Plots as shapes for a template: rectangles in a box of fixed size. Each has its numbers beside it as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reconcile.views.today import Days
from rules.groups.learning import Weights

WIDTH, HEIGHT = 720, 120
_CLASSES = "abcde"
_TICKS = 4
_FEWEST_POINTS = 3


@dataclass(frozen=True)
class Bar:
    """A rectangle; `kind` chooses its colour."""

    x: float
    y: float
    width: float
    height: float
    kind: str


@dataclass(frozen=True)
class Plot:
    """Bars above dates. `ticks` are dates at equal distances, `series` the names with their colours."""

    bars: Sequence[Bar]
    ticks: Sequence[str]
    series: Sequence[tuple[str, str]]
    largest: int


@dataclass(frozen=True)
class Curves:
    """Points of lines, as SVG has them, and where the chosen threshold stands. `ticks` are thresholds."""

    precision: str
    recall: str
    chosen: float
    ticks: Sequence[str]


def curves(weights: Weights) -> Curves | None:
    """Return precision and recall over thresholds; None if the file of the weights does not have them."""
    points = weights.expected
    if len(points) < _FEWEST_POINTS:
        return None
    step = WIDTH / (len(points) - 1)
    precision, recall = (
        " ".join(f"{place * step:.1f},{HEIGHT - 4 - share * (HEIGHT - 8):.1f}" for place, share in enumerate(shares))
        for shares in ([each.precision for each in points], [each.recall for each in points])
    )
    after = next((place for place, each in enumerate(points) if each.threshold >= weights.threshold), len(points) - 1)
    return Curves(precision, recall, round(after * step, 1), [f"{100 * each.threshold:g}%" for each in points])


def stacked(days: Days) -> Plot:
    """Return one bar a day, with a part for each rule."""
    step, scale = WIDTH / len(days.days), (HEIGHT - 4) / max(days.largest, 1)
    bars = []
    for place in range(len(days.days)):
        top = float(HEIGHT)
        for kind, numbers in zip(_CLASSES, days.numbers.values(), strict=False):
            height = numbers[place] * scale
            if height:
                top -= height
                bars.append(Bar(round(place * step + 2, 1), round(top, 1), round(step - 4, 1), round(height, 1), kind))
    last = len(days.days) - 1
    ticks = [f"{days.days[last * n // _TICKS].day} {days.days[last * n // _TICKS]:%b}" for n in range(_TICKS + 1)]
    return Plot(bars, ticks, list(zip(days.numbers, _CLASSES, strict=False)), days.largest)
