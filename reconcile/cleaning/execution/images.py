"""How rows looked before and after: compared with what was planned, named by a digest, kept as JSON. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from connectors.target import Cell, Cells, Change, Image, Row, RowName
from reconcile.findings.bundle import Bundle

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


Images = tuple[Image, ...]
"""One image a change, guards left out, in the order of the changes."""


def drift(bundle: Bundle, rows: Mapping[RowName, Row]) -> str | None:
    """Why these rows, read under lock, are not what was planned; None where they are. Names no values."""
    for change in bundle.changes:
        row = rows.get(change.row)
        if change.before is None:
            if row is not None:
                return f"a row of {change.row.table} that was to be inserted is there already"
        elif row is None:
            return f"a row of {change.row.table} is gone"
        elif changed := differing(bundle, change, row.cells):
            return f"a row of {change.row.table} changed since it was planned ({', '.join(changed)})"
    return None


def differing(bundle: Bundle, change: Change, cells: Cells) -> list[str]:
    """The columns in which a row is not as it was planned, those aside that may change meanwhile."""
    before = change.before or {}
    if before == cells:
        return []
    ignored = bundle.ignore_drift if change.row.table == bundle.table else ()

    def may_differ(name: str) -> bool:
        return name in ignored and (
            name not in bundle.filled or (before.get(name) is None) == (cells.get(name) is None)
        )

    missing = object()
    names = dict.fromkeys((*before, *cells))
    return [name for name in names if before.get(name, missing) != cells.get(name, missing) and not may_differ(name)]


def as_locked(bundle: Bundle, rows: Mapping[RowName, Row]) -> Bundle:
    """The bundle with its moved rows arriving as they are under lock, where they may differ from the plan."""
    arrivals = [change for change in bundle.changes if change.is_arrival] if bundle.ignore_drift else []
    if not arrivals:
        return bundle
    columns = tuple(name for name, _ in arrivals[0].row.key)
    moving = [change for change in bundle.changes if change.role == "surplus" and change.after is None]
    cells = {tuple((change.before or {}).get(name) for name in columns): rows[change.row].cells for change in moving}

    def arriving(change: Change) -> Change:
        if not change.is_arrival:
            return change
        now, planned = cells[tuple(cell for _, cell in change.row.key)], change.after or {}
        newer = {name: now[name] for name in bundle.ignore_drift if name in planned and name in now}
        return replace(change, after={**planned, **newer})

    return replace(bundle, changes=tuple(map(arriving, bundle.changes)))


def name_after(change: Change) -> RowName:
    """How the row is called once the change was done: a change can set columns of its key."""
    set_ = change.after
    if not set_ or not any(column in set_ for column, _ in change.row.key):
        return change.row
    return RowName(change.row.table, tuple((column, set_.get(column, cell)) for column, cell in change.row.key))


def done(bundle: Bundle, before: Mapping[RowName, Row], after: Mapping[RowName, Row]) -> Images:
    """The images of a bundle whose rows were read under lock before and after it was applied."""
    images = []
    for change in bundle.changes:
        if change.is_guard:
            continue
        was, is_ = before.get(change.row), after.get(name_after(change))
        images.append(Image(change, _of(was), _of(is_)))
    return tuple(images)


def _of(row: Row | None) -> Cells | None:
    return None if row is None else dict(row.cells)


def expected(bundle: Bundle) -> Images:
    """The images as the plan alone foretells them: without what defaults and triggers make of them."""
    return tuple(
        Image(one, one.before, None if one.after is None else {**(one.before or {}), **one.after})
        for one in bundle.changes
        if not one.is_guard
    )


def left_over(images: Images) -> str | None:
    """Why this is not what a bundle comes to: a row that was deleted is still there, or one that was written is not."""
    for one in images:
        if one.change.after is None and one.after is not None:
            return f"a row of {one.change.row.table} is still there after it was deleted"
        if one.change.after is not None and one.after is None:
            return f"a row of {one.change.row.table} is not there after it was written"
    return None


def digest(images: Images) -> str:
    """64 hex digits that name what rows looked like before and in the end; a receipt holds them.

    Before, too: a column that may drift was perhaps not as planned, and is not to be taken back to what was planned.
    """
    said = [
        [one.change.row.table, one.change.row.key, *(None if c is None else dict(c) for c in (one.before, one.after))]
        for one in images
    ]
    return hashlib.sha256(_ENCODER.encode(said).encode()).hexdigest()


def to_json(images: Images) -> list[Any]:
    """Plain JSON; a row's cells before are left out where they are those of the plan."""
    return [
        {"after": one.after} if one.before == one.change.before else {"before": one.before, "after": one.after}
        for one in images
    ]


def from_json(bundle: Bundle, said: Sequence[Mapping[str, Any]]) -> Images:
    """The images that `to_json` was given, of the bundle they are of."""
    changes = [one for one in bundle.changes if not one.is_guard]
    return tuple(
        Image(change, _cells(one["before"]) if "before" in one else change.before, _cells(one["after"]))
        for change, one in zip(changes, said, strict=True)
    )


def _cells(said: Mapping[str, Sequence[str] | None] | None) -> Cells | None:
    return None if said is None else {name: _cell(cell) for name, cell in said.items()}


def _cell(said: Sequence[str] | None) -> Cell:
    return None if said is None else (said[0], said[1])
