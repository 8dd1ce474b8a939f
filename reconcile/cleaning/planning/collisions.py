"""Rows that would share a unique key once they all refer to the keeper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from connectors.target import Cells, Change, Row, TableFacts
from reconcile.cleaning.actions.base import NotPlannable
from reconcile.cleaning.planning.draft import Draft, Key, cells_at, keys_of, order_of
from rules.document.mistakes import listed


def collision(change: Change, facts: TableFacts, referring: Iterable[Row], draft: Draft) -> Row | None:
    """Return the equal row that already has a unique key of this changed row; None if the keys are free.

    `referring` are rows of the same table that already refer to the keeper. Raises NotPlannable if the two rows
    differ, because only a person can choose between them.
    """
    assert change.before is not None  # noqa: S101 - the row exists
    assert change.after is not None  # noqa: S101 - see above
    final = {**change.before, **change.after}
    for columns in keys_of(facts):
        key = cells_at(final, columns)
        if key is None or not set(columns) & change.after.keys():
            continue
        holder = _holder(change, columns, key, referring, draft)
        if holder is not None:
            _must_be_equal(change, final, holder, facts, columns, draft)
            return holder
    return None


def _holder(change: Change, columns: Sequence[str], key: Key, referring: Iterable[Row], draft: Draft) -> Row | None:
    planned = (Row(entry.row, entry.before) for entry in draft.changes.values() if entry.before is not None)
    rows = {row.name: row for row in (*planned, *referring) if row.name.table == change.row.table}
    rows.pop(change.row, None)
    holders = (row for row in rows.values() if not draft.goes(row.name) and cells_at(draft.final(row), columns) == key)
    return min(holders, key=lambda row: order_of(row.name), default=None)


def _must_be_equal(
    change: Change, final: Cells, holder: Row, facts: TableFacts, columns: Sequence[str], draft: Draft
) -> None:
    """Raise NotPlannable if the rows differ in columns that the database neither numbers nor computes."""
    ignored = {column.name for column in facts.columns if column.identity or column.generated}
    ignored |= set(facts.primary_key) if len(facts.primary_key) == 1 else set()
    holder_cells = draft.final(holder)
    differing = sorted(name for name, cell in final.items() if name not in ignored and holder_cells.get(name) != cell)
    if differing:
        raise NotPlannable(
            f"`{change.row.table}` allows one row for {listed(columns)}: the keeper has one, the surplus has another, "
            f"and they differ in {listed(differing)}; decide by hand which one stays."
        )


def group_collision(rows: Iterable[Row], facts: TableFacts, draft: Draft) -> tuple[str, ...] | None:
    """Return the columns of a key that a change would make two of these records share; None if there is none."""
    remaining = [row for row in rows if not draft.goes(row.name)]
    changed = {change.row for change in draft.changes.values() if change.after}
    for columns in keys_of(facts):
        is_changed: dict[Key, bool] = {}
        for row in remaining:
            key = cells_at(draft.final(row), columns)
            if key is None:
                continue
            if key in is_changed and (is_changed[key] or row.name in changed):
                return columns
            is_changed[key] = is_changed.get(key, False) or row.name in changed
    return None
