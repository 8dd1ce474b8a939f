"""Rows that would become one too many under a unique key, once they all refer to the keeper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from connectors.target import Cells, Change, Row, TableFacts
from reconcile.cleaning.actions.base import NotPlannable
from reconcile.cleaning.planning.draft import Draft, Key, cells_at, keys_of, order_of
from rules.document.mistakes import listed


def collision(change: Change, facts: TableFacts, others: Iterable[Row], draft: Draft) -> Row | None:
    """The row that has the place which this changed row would take, and says the same; None where the place is free.

    `others` are rows of the same table that refer to the keeper already; those of the draft are known. Raises
    NotPlannable where the two differ: which one is right, nobody can say.
    """
    assert change.before is not None  # noqa: S101 - it is a row that is there
    assert change.after is not None  # noqa: S101 - see above
    final = {**change.before, **change.after}
    for columns in keys_of(facts):
        key = cells_at(final, columns)
        if key is None or not set(columns) & change.after.keys():
            continue
        taken = _holder(change, columns, key, others, draft)
        if taken is not None:
            _must_be_equal(change, final, taken, facts, columns, draft)
            return taken
    return None


def _holder(change: Change, columns: Sequence[str], key: Key, others: Iterable[Row], draft: Draft) -> Row | None:
    planned = (Row(one.row, one.before) for one in draft.changes.values() if one.before is not None)
    rows = {one.name: one for one in (*planned, *others) if one.name.table == change.row.table}
    rows.pop(change.row, None)
    found = (one for one in rows.values() if not draft.goes(one.name) and cells_at(draft.final(one), columns) == key)
    return min(found, key=lambda one: order_of(one.name), default=None)


def _must_be_equal(
    change: Change, final: Cells, taken: Row, facts: TableFacts, columns: Sequence[str], draft: Draft
) -> None:
    """What numbers rows and what the database computes says nothing about them."""
    aside = {one.name for one in facts.columns if one.identity or one.generated}
    aside |= set(facts.primary_key) if len(facts.primary_key) == 1 else set()
    theirs = draft.final(taken)
    torn = sorted(name for name, cell in final.items() if name not in aside and theirs.get(name) != cell)
    if torn:
        raise NotPlannable(
            f"`{change.row.table}` holds one row for {listed(columns)}: the keeper has one and the surplus another, "
            f"and they differ in {listed(torn)}; decide by hand which one stays."
        )


def group_collision(rows: Iterable[Row], facts: TableFacts, draft: Draft) -> tuple[str, ...] | None:
    """The columns of a key that two of these records would come to share, if a change makes them; None: none do."""
    left = [one for one in rows if not draft.goes(one.name)]
    changed = {one.row for one in draft.changes.values() if one.after}
    for columns in keys_of(facts):
        met: dict[Key, bool] = {}
        for one in left:
            key = cells_at(draft.final(one), columns)
            if key is None:
                continue
            if key in met and (met[key] or one.name in changed):
                return columns
            met[key] = met.get(key, False) or one.name in changed
    return None
