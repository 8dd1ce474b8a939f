"""Whether a transaction may be committed: what the database says it changed against what the plans say.

Everything that differs inside the tables of the plan, or in tables that refer to them, rolls the plan back. What known
triggers did in other tables is named in the outcome instead, and so is what an undo could not set back because a
trigger wrote it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from connectors.target import Row, RowName, Unplanned, Witness, Work
from reconcile.cleaning.execution import images
from reconcile.cleaning.execution.images import Images
from reconcile.findings.bundle import Bundle
from rules.document.mistakes import listed


class NotAsPlanned(Exception):
    """The database did something else than this plan says; nothing of it may be kept. The message is a clause."""


class Unassigned(Exception):
    """The transaction changed more than its plans say; each of them has to be tried by itself to know whose it is."""


def verify(
    work: Work, witness: Witness, bundles: Sequence[Bundle], done: Sequence[Images], after: Mapping[RowName, Row]
) -> list[tuple[str, ...]]:
    """What else happened with each bundle, in sentences; `after` holds the rows of all changes and guards as they are.

    Raises NotAsPlanned and, for several bundles, Unassigned.
    """
    written = [image for some in done for image in some]
    unheld = {id(image): columns for image, columns in work.unheld(written)}
    unplanned = witness.unplanned(written)
    if len(bundles) > 1:
        if unheld or unplanned or any(_guards_that_changed(bundle, after) for bundle in bundles):
            raise Unassigned
        return [() for _ in bundles]
    [bundle], [own] = bundles, done
    if changed := _guards_that_changed(bundle, after):
        raise NotAsPlanned(f"a row of {listed(changed)} that must stay as it is was changed by the database itself")
    others = _changed_on_undo(own) if bundle.undoes else ()
    return [(*_not_restored(own, unheld), *others, *_side_effects(bundle, unplanned))]


def _guards_that_changed(bundle: Bundle, after: Mapping[RowName, Row]) -> list[str]:
    """The tables of rows that are not what the plan holds only while they are."""
    guards = [change for change in bundle.changes if change.is_guard]
    changed = {
        guard.row.table
        for guard in guards
        if (row := after.get(guard.row)) is None or images.differing(bundle, guard, row.cells)
    }
    return sorted(changed)


def _not_restored(done: Images, unheld: Mapping[int, tuple[str, ...]]) -> Iterator[str]:
    """What a trigger wrote again on an undo; raises NotAsPlanned for any other value that does not stand."""
    again: dict[str, set[str]] = {}
    for image in done:
        columns = unheld.get(id(image), ())
        if not columns:
            continue
        if not set(columns) <= set(image.change.unsure):
            raise NotAsPlanned(
                f"a row of {image.change.row.table} does not hold what was written ({', '.join(columns)}): a trigger "
                "or the column's type changed it"
            )
        again.setdefault(image.change.row.table, set()).update(columns)
    for table, names in sorted(again.items()):
        yield f"Not restored: {listed(sorted(names))} of `{table}`, which the database writes by itself."


def _changed_on_undo(done: Images) -> Iterator[str]:
    """What a trigger wrote into rows of an undo beside what goes back: nobody takes it back after that."""
    written: dict[str, set[str]] = {}
    for image in done:
        before, after, meant = image.before, image.after, image.change.after
        if before is not None and after is not None and meant is not None:
            names = {name for name in after if name not in meant and after[name] != before.get(name)}
            written.setdefault(image.change.row.table, set()).update(names)
    for table, names in sorted(written.items()):
        if names:
            yield f"Not restored: {listed(sorted(names))} of `{table}`, which a trigger changed during the undo."


def _side_effects(bundle: Bundle, unplanned: Sequence[Unplanned]) -> Iterator[str]:
    """What triggers did in other tables; raises NotAsPlanned where the rows may be those of the plan's tables."""
    for item in unplanned:
        if item.related or not bundle.triggers:
            raise NotAsPlanned(f"beside the plan, the database changed {_rows(item)} {_where(item)}")
        if item.rows is None:
            yield f"Triggers fired, and the database does not say how many rows they changed {_where(item)}."
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
        return f"in a table that refers to it ({', '.join(item.hints)}, or one that this user may not see)"
    return "in tables it does not name"


def guards_of(bundles: Sequence[Bundle]) -> list[RowName]:
    """The rows that must stay as they are."""
    return list(dict.fromkeys(change.row for bundle in bundles for change in bundle.changes if change.is_guard))
