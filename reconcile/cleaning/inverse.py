"""The inverse of a plan: the inverse of each change, compared with the current rows. Pure.

Fields that are unchanged since the cleaning are set back; changed fields are conflicts and stay. Rows that began to
refer to the keeper since then keep doing so.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from connectors.calls import Answer, Call
from connectors.target import Cells, Change, Image, RowName
from reconcile.cleaning.execution.images import Images, name_after
from reconcile.findings.plan import Operation, Plan, ReferenceGuard
from rules.document.mistakes import listed

UNDO = ".undo"
"""The suffix of an inverse effect's name."""


@dataclass(frozen=True)
class Conflict:
    """A row that changed since its cleaning; without `columns`, the row as a whole."""

    row: RowName
    why: str
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        columns = f" ({', '.join(self.columns)})" if self.columns else ""
        return f"a row of {self.row.table} {self.why}{columns}"


@dataclass(frozen=True)
class Inverse:
    """The undo of a plan: `plan` is None if nothing is left to undo; `conflicts` are left as they are."""

    plan: Plan | None
    conflicts: tuple[Conflict, ...] = ()


def inverse(
    name: str,
    plan: Plan,
    images: Images,
    now: Mapping[RowName, Cells],
    referring: Mapping[RowName, Sequence[ReferenceGuard]] | None = None,
) -> Inverse:
    """Return the inverse of the plan `name`; `now` holds its current rows, without deleted ones.

    Changes are undone last first, so that a row exists before others refer to it. `referring` holds the references
    to inserted rows, by row: any of them is a conflict, because undo deletes the row.
    """
    changes: list[Change] = []
    conflicts: list[Conflict] = []
    lost = _unrestorable(plan, images, now)
    guards = referring or {}
    for image in reversed(images):
        row = name_after(image.change)
        if any(lost_image is not image and _needs(plan, image, lost_image) for lost_image in lost.values()):
            if now.get(row) != image.before:
                conflicts.append(Conflict(row, "belongs to a row that cannot be restored"))
            continue
        change = _inverse_change(image, now.get(row), guards.get(row, ()), conflicts, triggers=bool(plan.triggers))
        if change is not None:
            changes.append(change)
    if not changes:
        return Inverse(None, tuple(conflicts))
    inserted_rows = [change.row for change in changes if change.after is None]
    guarding = [guard for row in inserted_rows for guard in guards.get(row, ())]
    return Inverse(_plan(name, plan, changes, [*guarding, *_watched(plan)]), tuple(conflicts))


def taking_back(name: str, plan: Plan, answer: Answer) -> Plan | None:
    """Return the undo of the plan `name` that made a call with this answer; None if nothing takes it back."""
    if any(call.undo is None for call in plan.calls):
        return None
    calls = tuple(Call(call.row, call.undo or {}, answer=answer) for call in plan.calls)
    return _plan(name, plan, (), (), calls)


def _watched(plan: Plan) -> list[ReferenceGuard]:
    """Return the declared links of the plan, which no catalogue lists, so that their tables are watched.

    They expect no rows, because the undo deletes no row that could be referred to.
    """
    return [ReferenceGuard(guard.reference, (), ()) for guard in plan.references if guard.reference.soft]


def rows_of(images: Images) -> list[RowName]:
    """Return the rows to read, by their current names."""
    return list(dict.fromkeys(name_after(image.change) for image in images))


def inserted(images: Images) -> list[RowName]:
    """Return the rows that the cleaning inserted."""
    return [name_after(image.change) for image in images if image.before is None]


def _unrestorable(plan: Plan, images: Images, now: Mapping[RowName, Cells]) -> dict[RowName, Image]:
    """Return deleted rows that cannot be restored: their place, or that of a row they refer to, is taken."""
    deleted = [image for image in images if image.after is None]
    current = {image.change.row: now.get(image.change.row) for image in deleted}
    lost = {
        image.change.row: image
        for image in deleted
        if (cells := current[image.change.row]) and _touched(image.before or {}, cells)
    }
    newly = lost
    while newly:
        pending = [image for image in deleted if image.change.row not in lost and current[image.change.row] is None]
        newly = {
            image.change.row: image
            for image in pending
            if any(_needs(plan, image, parent) for parent in newly.values())
        }
        lost |= newly
    return lost


def _needs(plan: Plan, image: Image, parent: Image) -> bool:
    """Return True if a row needs `parent`: it referred to it, or it is the only remaining copy of it elsewhere."""
    cells = parent.before or {}
    if image.before is None:
        arrived = (image.change.after or {}, image.after or {})  # as planned, or with columns that drifted
        return image.change.role == "moved" and any(
            all(after.get(name, cell) == cell for name, cell in cells.items()) for after in arrived
        )
    return any(
        guard.reference.table == image.change.row.table
        and guard.reference.to_table == parent.change.row.table
        and image.change.row in guard.rows
        and _texts(image.before, guard.reference.columns) == _texts(cells, guard.reference.to_columns)
        for guard in plan.references
    )


def _texts(cells: Cells, columns: Sequence[str]) -> list[str | None]:
    """Return comparable texts: a reference may have another type than its target, such as 7 and 7.00."""
    return [None if (cell := cells.get(name)) is None else _plainly(cell[1]) for name in columns]


def _plainly(text: str) -> str:
    if re.fullmatch(r"\s*[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?\s*", text):
        return str(Decimal(text).normalize())
    digits = re.sub(r"[-{}]", "", text).lower()
    return digits if re.fullmatch(r"[0-9a-f]{32}", digits) else text


def _inverse_change(
    image: Image,
    now: Cells | None,
    referring: Sequence[ReferenceGuard],
    conflicts: list[Conflict],
    *,
    triggers: bool,
) -> Change | None:
    """Return the inverse of one change; columns that a trigger wrote, or may write on insert, are marked unsure."""
    row, role = name_after(image.change), image.change.role
    if image.before is None:  # it was inserted
        if now is None:
            return None
        if touched := _touched(image.after or {}, now):
            conflicts.append(Conflict(row, "was inserted by the cleaning and changed since", touched))
            return None
        if tables := sorted({guard.reference.table for guard in referring if guard.rows}):
            conflicts.append(Conflict(row, f"was inserted by the cleaning; rows of {listed(tables)} now refer to it"))
            return None
        return Change(row, now, None, role)
    if image.after is None:  # it was deleted
        if now is None:
            return Change(image.change.row, None, image.before, role, _outside_key(image) if triggers else ())
        if _touched(image.before, now):
            conflicts.append(Conflict(row, "now has the id of a deleted row"))
        return None
    if now is None:
        conflicts.append(Conflict(row, "was changed by the cleaning and no longer exists"))
        return None
    set_back, touched = _fields(image.before, image.after, now)
    if touched:
        conflicts.append(Conflict(row, "changed since", touched))
    unsure = tuple(name for name in set_back if name not in (image.change.after or {}))
    return Change(row, now, set_back, role, unsure) if set_back else None


def _outside_key(image: Image) -> tuple[str, ...]:
    key = {column for column, _ in image.change.row.key}
    return tuple(name for name in image.before or {} if name not in key)


def _fields(before: Cells, after: Cells, now: Cells) -> tuple[Cells, tuple[str, ...]]:
    """Return the fields to set back, and the columns that changed since."""
    changed = [name for name in after if before.get(name) != after[name]]
    set_back = {name: before.get(name) for name in changed if name in now and now[name] == after[name]}
    touched = [name for name in changed if name not in set_back and now.get(name) != before.get(name)]
    return set_back, tuple(touched)


def _touched(earlier: Cells, now: Cells) -> tuple[str, ...]:
    names = dict.fromkeys((*earlier, *now))
    return tuple(name for name in names if name not in earlier or name not in now or earlier[name] != now[name])


def _plan(
    name: str,
    plan: Plan,
    changes: Sequence[Change],
    guards: Sequence[ReferenceGuard],
    calls: tuple[Call, ...] = (),
) -> Plan:
    operations = tuple(
        replace(item, effect=f"{item.effect}{UNDO}", fingerprint=_fingerprint(plan.target, item, changes, calls))
        for item in plan.operations
    )
    return replace(
        plan,
        action="undo",
        operations=operations,
        changes=tuple(changes),
        references=tuple(guards),
        ignore_drift=(),
        reversible="no",
        why=("an undo cannot be undone; reopen the finding and clean it again",),
        origins={},
        undoes=name,
        binding="",
        calls=calls,
    )


def _fingerprint(target: str, operation: Operation, changes: Sequence[Change], calls: Sequence[Call]) -> str:
    content: list[object] = [
        [change.row.table, change.row.key, None if change.after is None else dict(change.after)] for change in changes
    ]
    content += [[call.row.table, call.row.key, dict(call.sends), dict(call.answer or {})] for call in calls]
    text = json.dumps([operation.effect, operation.record, target, content], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
