"""Images of rows before and after: compare them with a plan, compute their digest, convert them to JSON. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from connectors.target import Cell, Cells, Change, Image, Row, RowName
from reconcile.findings.plan import Plan

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


Images = tuple[Image, ...]
"""One image per change, without guards, in the order of the changes."""


def drift(plan: Plan, rows: Mapping[RowName, Row]) -> str | None:
    """Return why these locked rows differ from the plan, without values; None if they match."""
    for change in plan.changes:
        row = rows.get(change.row)
        if change.before is None:
            if row is not None:
                return f"a row of {change.row.table} to be inserted already exists"
        elif row is None:
            return f"a row of {change.row.table} no longer exists"
        elif changed := differing(plan, change, row.cells):
            return f"a row of {change.row.table} changed since it was planned ({', '.join(changed)})"
    return None


def differing(plan: Plan, change: Change, cells: Cells) -> list[str]:
    """Return the columns in which a row differs from the plan, except columns that may drift."""
    before = change.before or {}
    if before == cells:
        return []
    ignored = plan.ignore_drift if change.row.table == plan.table else ()

    def may_differ(name: str) -> bool:
        return name in ignored and (name not in plan.filled or (before.get(name) is None) == (cells.get(name) is None))

    missing = object()
    names = dict.fromkeys((*before, *cells))
    return [name for name in names if before.get(name, missing) != cells.get(name, missing) and not may_differ(name)]


def as_locked(plan: Plan, rows: Mapping[RowName, Row]) -> Plan:
    """Return the plan with the locked values of moved rows in columns that may drift."""
    arrivals = [change for change in plan.changes if change.is_arrival] if plan.ignore_drift else []
    if not arrivals:
        return plan
    columns = tuple(name for name, _ in arrivals[0].row.key)
    moving = [change for change in plan.changes if change.role == "surplus" and change.after is None]
    cells = {tuple((change.before or {}).get(name) for name in columns): rows[change.row].cells for change in moving}

    def arriving(change: Change) -> Change:
        if not change.is_arrival:
            return change
        now, planned = cells[tuple(cell for _, cell in change.row.key)], change.after or {}
        newer = {name: now[name] for name in plan.ignore_drift if name in planned and name in now}
        return replace(change, after={**planned, **newer})

    return replace(plan, changes=tuple(map(arriving, plan.changes)))


def name_after(change: Change) -> RowName:
    """Return the row's name after the change, which can set columns of its key."""
    set_ = change.after
    if not set_ or not any(column in set_ for column, _ in change.row.key):
        return change.row
    return RowName(change.row.table, tuple((column, set_.get(column, cell)) for column, cell in change.row.key))


def done(plan: Plan, before: Mapping[RowName, Row], after: Mapping[RowName, Row]) -> Images:
    """Return the images of a plan from its locked rows before and after it was applied."""
    images = []
    for change in plan.changes:
        if change.is_guard:
            continue
        row_before, row_after = before.get(change.row), after.get(name_after(change))
        images.append(Image(change, _of(row_before), _of(row_after)))
    return tuple(images)


def _of(row: Row | None) -> Cells | None:
    return None if row is None else dict(row.cells)


def expected(plan: Plan) -> Images:
    """Return the images that the plan alone predicts, without the effects of defaults and triggers."""
    return tuple(
        Image(change, change.before, None if change.after is None else {**(change.before or {}), **change.after})
        for change in plan.changes
        if not change.is_guard
    )


def left_over(images: Images) -> str | None:
    """Return why these images contradict the plan: a deleted row still exists, or a written one is missing."""
    for image in images:
        if image.change.after is None and image.after is not None:
            return f"a row of {image.change.row.table} still exists after it was deleted"
        if image.change.after is not None and image.after is None:
            return f"a row of {image.change.row.table} is missing after it was written"
    return None


def digest(images: Images) -> str:
    """Return 64 hex digits that identify the rows before and after; a receipt holds them.

    Before counts too: a column may have drifted from the plan, and an undo must restore the drifted value.
    """
    content = [
        [
            item.change.row.table,
            item.change.row.key,
            *(None if c is None else dict(c) for c in (item.before, item.after)),
        ]
        for item in images
    ]
    return hashlib.sha256(_ENCODER.encode(content).encode()).hexdigest()


def to_json(images: Images) -> list[Any]:
    """Return plain JSON; it omits a row's earlier cells if they equal the plan's."""
    return [
        {"after": item.after} if item.before == item.change.before else {"before": item.before, "after": item.after}
        for item in images
    ]


def from_json(plan: Plan, stored_images: Sequence[Mapping[str, Any]]) -> Images:
    """Return the images of this plan from the JSON of `to_json`."""
    changes = [change for change in plan.changes if not change.is_guard]
    return tuple(
        Image(change, _cells(entry["before"]) if "before" in entry else change.before, _cells(entry["after"]))
        for change, entry in zip(changes, stored_images, strict=True)
    )


def _cells(stored_cells: Mapping[str, Sequence[str] | None] | None) -> Cells | None:
    return None if stored_cells is None else {name: _cell(cell) for name, cell in stored_cells.items()}


def _cell(stored_cell: Sequence[str] | None) -> Cell:
    return None if stored_cell is None else (stored_cell[0], stored_cell[1])
