"""What takes a bundle back: the inverse of each change, held against the rows as they are now. Pure.

Fields that nobody touched since go back; fields that somebody did are conflicts, and stay. Rows that came to refer to
the keeper since stay with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from connectors.target import Cells, Change, RowName
from reconcile.clean.images import Image, Images, name_after
from reconcile.findings.bundle import Bundle, Operation

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


def inverse(name: str, bundle: Bundle, images: Images, now: Mapping[RowName, Cells]) -> Inverse:
    """The bundle that takes back the bundle called `name`, where its rows are `now` (without those that are gone).

    The last change is taken back first: a row that others refer to is there again before they do.
    """
    changes: list[Change] = []
    conflicts: list[Conflict] = []
    for image in reversed(images):
        change = _back(image, now.get(name_after(image.change)), conflicts)
        if change is not None:
            changes.append(change)
    if not changes:
        return Inverse(None, tuple(conflicts))
    return Inverse(_bundle(name, bundle, changes), tuple(conflicts))


def rows_of(images: Images) -> list[RowName]:
    """The rows that have to be looked at, as they are called now."""
    return list(dict.fromkeys(name_after(image.change) for image in images))


def _back(image: Image, now: Cells | None, conflicts: list[Conflict]) -> Change | None:
    row, role = name_after(image.change), image.change.role
    if image.before is None:  # it was inserted
        if now is None:
            return None
        if touched := _touched(image.after or {}, now):
            conflicts.append(Conflict(row, "that was inserted changed since", touched))
            return None
        return Change(row, now, None, role)
    if image.after is None:  # it was deleted
        if now is None:
            return Change(image.change.row, None, image.before, role)
        if _touched(image.before, now):
            conflicts.append(Conflict(row, "is there under the id of one that was deleted"))
        return None
    if now is None:
        conflicts.append(Conflict(row, "that was changed is gone"))
        return None
    set_back, touched = _fields(image.before, image.after, now)
    if touched:
        conflicts.append(Conflict(row, "changed since", touched))
    return Change(row, now, set_back, role) if set_back else None


def _fields(before: Cells, after: Cells, now: Cells) -> tuple[Cells, tuple[str, ...]]:
    """What goes back, and the columns that somebody touched since."""
    changed = [name for name in after if before.get(name) != after[name]]
    set_back = {name: before.get(name) for name in changed if name in now and now[name] == after[name]}
    touched = [name for name in changed if name not in set_back and now.get(name) != before.get(name)]
    return set_back, tuple(touched)


def _touched(then: Cells, now: Cells) -> tuple[str, ...]:
    names = dict.fromkeys((*then, *now))
    return tuple(name for name in names if name not in then or name not in now or then[name] != now[name])


def _bundle(name: str, bundle: Bundle, changes: Sequence[Change]) -> Bundle:
    operations = tuple(
        replace(one, effect=f"{one.effect}{UNDO}", fingerprint=_fingerprint(bundle.target, one, changes))
        for one in bundle.operations
    )
    return replace(
        bundle,
        action="undo",
        operations=operations,
        changes=tuple(changes),
        references=(),
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
