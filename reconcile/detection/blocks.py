"""Notice columns that a table writes once per block of records, as merged cells do, and propose `fill` for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from connectors.base import Queryable
from connectors.errors import ConnectorError
from connectors.headers import SUBTOTAL, TOTAL, TOTAL_AFTER
from reconcile.detection.subject import Subject
from rules.values import PLACE

SAMPLE = 1_000
LEAST_EMPTY = 0.2
"""The share of the first records below which empty cells are gaps, and no blocks."""


def written_once(subject: Subject) -> tuple[str, ...]:
    """Return the first columns of a dataset if they seem to be written once per block. Raises a ConnectorError.

    They are empty in the same records, the first of which is not among them, and repeat no value.
    """
    settings: Any = subject.dataset.settings
    if isinstance(subject.source, Queryable) or "fill" not in type(settings).model_fields or settings.fill:
        return ()
    cells = _without_totals(_cells(subject))
    names = list(cells)
    if len(names) < 2:
        return ()
    empty = _empty(cells[names[0]])
    if not empty or empty[0] or sum(empty) < max(1, LEAST_EMPTY * len(empty)):
        return ()
    written = [value for value, is_empty in zip(cells[names[0]], empty, strict=True) if not is_empty]
    if len(written) < 2 or len(set(written)) < len(written) or all(any(_empty(cells[name])) for name in names):
        return ()
    block = next(i for i, name in enumerate(names) if _empty(cells[name]) != empty)
    return tuple(names[:block]) if _can_fill(subject, names[:block]) else ()


def remark(columns: Sequence[str]) -> str:
    """Return the sentence of `check` that proposes to fill these columns."""
    named = ", ".join(f"`{name}`" for name in columns)
    setting = f"fill: [{', '.join(columns)}]"
    return f"{named} may be written only once per block, as in merged cells: `{setting}` repeats the value below it"


def _can_fill(subject: Subject, columns: Sequence[str]) -> bool:
    """Return False if the source refuses the setting, as for JSON."""
    try:
        subject.source.describe(subject.dataset.settings.model_copy(update={"fill": tuple(columns)}))
    except ConnectorError:
        return False
    return True


def _cells(subject: Subject) -> dict[str, list[Any]]:
    """Return the cells of the first records by column."""
    settings = subject.dataset.settings.model_copy(update={"columns": {}})
    fields = [field for field in subject.source.describe(settings) if field.name not in PLACE]
    names = [field.name for field in fields if b"refused" not in (field.metadata or {})]
    if not names:
        return {}
    scan = subject.source.scan(settings, names)
    try:
        batch = next(iter(scan.reader), None)
    finally:
        scan.close()
    return {} if batch is None else batch.slice(0, SAMPLE).to_pydict()


def _empty(cells: Sequence[Any]) -> list[bool]:
    return [cell is None or (isinstance(cell, str) and not cell.strip()) for cell in cells]


def _without_totals(cells: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Leave out rows with a word for a total, whose other cells are often empty."""
    rows = [row for row in zip(*cells.values(), strict=True) if not any(map(_is_total, row))]
    return {name: [row[place] for row in rows] for place, name in enumerate(cells)}


def _is_total(cell: Any) -> bool:
    return isinstance(cell, str) and bool(TOTAL.match(cell) or SUBTOTAL.match(cell) or TOTAL_AFTER.search(cell))
