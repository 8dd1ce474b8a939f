"""What takes a bundle back: the inverse of each change, held against the rows as they are now. Pure.

Fields that nobody touched since go back; fields that somebody did are conflicts, and stay. Rows that came to refer to
the keeper since stay with it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from connectors.target import Cells, Change, Image, RowName
from reconcile.cleaning.execution.images import Images, name_after
from reconcile.findings.bundle import Bundle, Operation, ReferenceGuard
from rules.document.mistakes import listed

UNDO = ".undo"
"""What an effect is called that takes another one back."""


@dataclass(frozen=True)
class Conflict:
    """Something of a row that is not any more as the cleaning left it; no `columns`: the row itself."""

    row: RowName
    why: str
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        which = f" ({', '.join(self.columns)})" if self.columns else ""
        return f"a row of {self.row.table} {self.why}{which}"


@dataclass(frozen=True)
class Inverse:
    """`bundle` takes back what can be; None where nothing is left to take back. `conflicts` are what it leaves."""

    bundle: Bundle | None
    conflicts: tuple[Conflict, ...] = ()


def inverse(
    name: str,
    bundle: Bundle,
    images: Images,
    now: Mapping[RowName, Cells],
    leaning: Mapping[RowName, Sequence[ReferenceGuard]] | None = None,
) -> Inverse:
    """The bundle that takes back the bundle called `name`, where its rows are `now` (without those that are gone).

    The last change is taken back first: a row that others refer to is there again before they do. `leaning`: who refers
    to rows that were inserted, by the row; nobody may, for it goes again.
    """
    changes: list[Change] = []
    conflicts: list[Conflict] = []
    lost = _lost(bundle, images, now)
    guards = leaning or {}
    for image in reversed(images):
        row = name_after(image.change)
        if any(one is not image and _needs(bundle, image, one) for one in lost.values()):
            if now.get(row) != image.before:
                conflicts.append(Conflict(row, "belonged to a row that does not come back"))
            continue
        change = _back(image, now.get(row), guards.get(row, ()), conflicts, triggers=bool(bundle.triggers))
        if change is not None:
            changes.append(change)
    if not changes:
        return Inverse(None, tuple(conflicts))
    gone = [change.row for change in changes if change.after is None]
    referring = [guard for row in gone for guard in guards.get(row, ())]
    return Inverse(_bundle(name, bundle, changes, [*referring, *_watched(bundle)]), tuple(conflicts))


def _watched(bundle: Bundle) -> list[ReferenceGuard]:
    """Return the declared links of the plan, which no catalogue names: nothing else may happen in their tables.

    They expect no rows, for nothing leaves that could be referred to.
    """
    return [ReferenceGuard(guard.reference, (), ()) for guard in bundle.references if guard.reference.soft]


def rows_of(images: Images) -> list[RowName]:
    """The rows that have to be looked at, as they are called now."""
    return list(dict.fromkeys(name_after(image.change) for image in images))


def inserted(images: Images) -> list[RowName]:
    """The rows that were not there before."""
    return [name_after(image.change) for image in images if image.before is None]


def _lost(bundle: Bundle, images: Images, now: Mapping[RowName, Cells]) -> dict[RowName, Image]:
    """Rows that were deleted and cannot come back: another one has their place, or that of a row they refer to."""
    gone = [image for image in images if image.after is None]
    there = {one.change.row: now.get(one.change.row) for one in gone}
    lost = {
        one.change.row: one for one in gone if (cells := there[one.change.row]) and _touched(one.before or {}, cells)
    }
    more = lost
    while more:
        rest = [one for one in gone if one.change.row not in lost and there[one.change.row] is None]
        more = {one.change.row: one for one in rest if any(_needs(bundle, one, other) for other in more.values())}
        lost |= more
    return lost


def _needs(bundle: Bundle, image: Image, other: Image) -> bool:
    """Whether a row was, before, what the other one had to be there for: it referred to it, or it is what was made of
    it elsewhere, the only one that is left."""
    cells = other.before or {}
    if image.before is None:
        arrived = (image.change.after or {}, image.after or {})  # as planned, or with what drifted meanwhile
        return image.change.role == "moved" and any(
            all(after.get(name, cell) == cell for name, cell in cells.items()) for after in arrived
        )
    return any(
        guard.reference.table == image.change.row.table
        and guard.reference.to_table == other.change.row.table
        and image.change.row in guard.rows
        and _texts(image.before, guard.reference.columns) == _texts(cells, guard.reference.to_columns)
        for guard in bundle.references
    )


def _texts(cells: Cells, columns: Sequence[str]) -> list[str | None]:
    """A reference may be declared with another type than what it refers to, and still say the same: 7 and 7.00."""
    return [None if (cell := cells.get(name)) is None else _plainly(cell[1]) for name in columns]


def _plainly(text: str) -> str:
    if re.fullmatch(r"\s*[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?\s*", text):
        return str(Decimal(text).normalize())
    digits = re.sub(r"[-{}]", "", text).lower()
    return digits if re.fullmatch(r"[0-9a-f]{32}", digits) else text


def _back(
    image: Image,
    now: Cells | None,
    leaning: Sequence[ReferenceGuard],
    conflicts: list[Conflict],
    *,
    triggers: bool,
) -> Change | None:
    """The inverse of one change. What a trigger wrote then, or may write when the row is inserted, is not sure."""
    row, role = name_after(image.change), image.change.role
    if image.before is None:  # it was inserted
        if now is None:
            return None
        if touched := _touched(image.after or {}, now):
            conflicts.append(Conflict(row, "that was inserted changed since", touched))
            return None
        if who := sorted({one.reference.table for one in leaning if one.rows}):
            conflicts.append(Conflict(row, f"that was inserted is referred to by now, by rows of {listed(who)}"))
            return None
        return Change(row, now, None, role)
    if image.after is None:  # it was deleted
        if now is None:
            return Change(image.change.row, None, image.before, role, _beside_key(image) if triggers else ())
        if _touched(image.before, now):
            conflicts.append(Conflict(row, "is there under the id of one that was deleted"))
        return None
    if now is None:
        conflicts.append(Conflict(row, "that was changed is gone"))
        return None
    set_back, touched = _fields(image.before, image.after, now)
    if touched:
        conflicts.append(Conflict(row, "changed since", touched))
    unsure = tuple(name for name in set_back if name not in (image.change.after or {}))
    return Change(row, now, set_back, role, unsure) if set_back else None


def _beside_key(image: Image) -> tuple[str, ...]:
    key = {column for column, _ in image.change.row.key}
    return tuple(name for name in image.before or {} if name not in key)


def _fields(before: Cells, after: Cells, now: Cells) -> tuple[Cells, tuple[str, ...]]:
    """What goes back, and the columns that somebody touched since."""
    changed = [name for name in after if before.get(name) != after[name]]
    set_back = {name: before.get(name) for name in changed if name in now and now[name] == after[name]}
    touched = [name for name in changed if name not in set_back and now.get(name) != before.get(name)]
    return set_back, tuple(touched)


def _touched(then: Cells, now: Cells) -> tuple[str, ...]:
    names = dict.fromkeys((*then, *now))
    return tuple(name for name in names if name not in then or name not in now or then[name] != now[name])


def _bundle(name: str, bundle: Bundle, changes: Sequence[Change], guards: Sequence[ReferenceGuard]) -> Bundle:
    operations = tuple(
        replace(one, effect=f"{one.effect}{UNDO}", fingerprint=_fingerprint(bundle.target, one, changes))
        for one in bundle.operations
    )
    return replace(
        bundle,
        action="undo",
        operations=operations,
        changes=tuple(changes),
        references=tuple(guards),
        ignore_drift=(),
        reversible="no",
        why=("an undo is not taken back; the finding can be reopened and cleaned again",),
        origins={},
        undoes=name,
        binding="",
    )


def _fingerprint(target: str, operation: Operation, changes: Sequence[Change]) -> str:
    said = [[one.row.table, one.row.key, None if one.after is None else dict(one.after)] for one in changes]
    text = json.dumps([operation.effect, operation.record, target, said], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
