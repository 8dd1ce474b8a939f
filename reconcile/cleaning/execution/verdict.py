"""Decide if a transaction may commit: compare the changes that the target reports with the plans.

Any difference in the plan's tables, or in tables that refer to them, rolls the plan back. The result only names
changes of known triggers in other tables, and fields that an undo could not restore because a trigger wrote them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from connectors.target import Row, RowName, Unplanned, Witness, Work
from reconcile.cleaning.execution import images
from reconcile.cleaning.execution.images import Images
from reconcile.findings.plan import Plan
from rules.document.mistakes import listed


class NotAsPlanned(Exception):
    """The target deviated from the plan, so it must be rolled back. The message is a clause."""


class Unassigned(Exception):
    """The transaction changed more than its plans; run each plan alone to find the deviating one."""


def verify(
    work: Work, witness: Witness, plans: Sequence[Plan], image_sets: Sequence[Images], after: Mapping[RowName, Row]
) -> list[tuple[str, ...]]:
    """Return sentences on the side effects of each plan; `after` holds the current rows of all changes and guards.

    Raises NotAsPlanned and, for several plans, Unassigned.
    """
    written = [image for plan_images in image_sets for image in plan_images]
    unheld = {id(image): columns for image, columns in work.unheld(written)}
    unplanned = witness.unplanned(written)
    if len(plans) > 1:
        if unheld or unplanned or any(_guards_that_changed(plan, after) for plan in plans):
            raise Unassigned
        return [tuple(_also_changed(plan, own)) for plan, own in zip(plans, image_sets, strict=True)]
    [plan], [own] = plans, image_sets
    if changed := _guards_that_changed(plan, after):
        raise NotAsPlanned(f"the target itself changed a row of {listed(changed)} that must stay as it is")
    return [(*_not_restored(own, unheld), *_also_changed(plan, own), *_side_effects(plan, unplanned))]


def _guards_that_changed(plan: Plan, after: Mapping[RowName, Row]) -> list[str]:
    """Return the tables of guard rows that changed."""
    guards = [change for change in plan.changes if change.is_guard]
    changed = {
        guard.row.table
        for guard in guards
        if (row := after.get(guard.row)) is None or images.differing(plan, guard, row.cells)
    }
    return sorted(changed)


def _not_restored(own: Images, unheld: Mapping[int, tuple[str, ...]]) -> Iterator[str]:
    """Yield fields that a trigger wrote again during an undo; raises NotAsPlanned for any other lost value."""
    rewritten: dict[str, set[str]] = {}
    for image in own:
        columns = unheld.get(id(image), ())
        if not columns:
            continue
        if not set(columns) <= set(image.change.unsure):
            raise NotAsPlanned(
                f"a row of {image.change.row.table} does not hold what was written ({', '.join(columns)}): a trigger "
                "or the column's type changed it"
            )
        rewritten.setdefault(image.change.row.table, set()).update(columns)
    for table, names in sorted(rewritten.items()):
        yield f"Not restored: {listed(sorted(names))} of `{table}`, which the target writes itself."


def _also_changed(plan: Plan, own: Images) -> Iterator[str]:
    """Yield other fields of the plan's rows that the target changed; during an undo they are not restored."""
    written: dict[str, set[str]] = {}
    for image in own:
        before, after, meant = image.before, image.after, image.change.after
        if before is not None and after is not None and meant is not None:
            names = {name for name in after if name not in meant and after[name] != before.get(name)}
            written.setdefault(image.change.row.table, set()).update(names)
    for table, names in sorted(written.items()):
        if not names:
            continue
        columns = f"{listed(sorted(names))} of `{table}`"
        if plan.undoes:
            yield f"Not restored: {columns}, which a trigger changed during the undo."
        else:
            yield f"The target also changed {columns} in these rows."


def _side_effects(plan: Plan, unplanned: Sequence[Unplanned]) -> Iterator[str]:
    """Yield changes of triggers in other tables; raises NotAsPlanned if they may be in the plan's tables."""
    for item in unplanned:
        if item.related or not plan.triggers:
            raise NotAsPlanned(f"the target also changed {_rows(item)} {_where(item)}, which is not planned")
        if item.rows is None:
            yield f"Triggers fired, but the target does not report how many rows they changed {_where(item)}."
        else:
            yield f"Triggers also changed {_rows(item)} {_where(item)}."


def _rows(item: Unplanned) -> str:
    if item.rows is None:
        return "rows"
    return "1 row" if item.rows == 1 else f"{item.rows:,} rows"


def _where(item: Unplanned) -> str:
    if item.table:
        return f"of table {item.table}"
    if item.hints:
        return f"in a table that refers to it ({', '.join(item.hints)}, or one that this user cannot see)"
    return "in tables it does not name"


def guards_of(plans: Sequence[Plan]) -> list[RowName]:
    """Return the rows that must stay unchanged."""
    return list(dict.fromkeys(change.row for plan in plans for change in plan.changes if change.is_guard))
