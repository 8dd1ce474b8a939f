"""A plan in the making: at most one change per row, finally in an order that constraints allow.

Read the references to the rows of many plans together: one query per reference, not per row.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from connectors.target import (
    Catalogue,
    Cell,
    Cells,
    Change,
    Reference,
    Role,
    Row,
    RowName,
    TableFacts,
    Target,
    TargetRefused,
)
from reconcile.cleaning.actions.base import NotPlannable
from rules.document.mistakes import listed

_RANKS = {"moved": 0, "captured": 1, "reference": 2, "surplus": 3, "keeper": 4}
Key = tuple[Cell, ...]


def order_of(name: RowName) -> tuple[str, str]:
    """Return the sort key for naming and locking rows: by table, then by key."""
    return name.table, json.dumps(name.key)


@dataclass
class Draft:
    """The changes of one plan, and its guard rows."""

    catalogue: Catalogue
    changes: dict[RowName, Change] = field(default_factory=dict)

    def add(self, change: Change) -> None:
        """Add a change. Two changes of one row must agree; a deleted row needs no other change."""
        existing = self.changes.get(change.row)
        if existing is None or existing.is_guard:
            self.changes[change.row] = change
        elif change.is_guard or existing.after is None:
            return
        elif change.after is None:
            self.changes[change.row] = change
        else:
            self.changes[change.row] = replace(existing, after=_both(existing, change))

    def guard(self, row: Row, role: Role = "keeper") -> None:
        """Require that this row stays as it was read."""
        self.add(Change(row.name, row.cells, {}, role))

    def goes(self, row: RowName) -> bool:
        """Return True if the row is deleted."""
        change = self.changes.get(row)
        return change is not None and change.after is None

    def final(self, row: Row) -> Cells:
        """Return the final cells of a row that stays."""
        change = self.changes.get(row.name)
        return row.cells if change is None or change.after is None else {**row.cells, **change.after}

    def in_order(self) -> tuple[Change, ...]:
        """Return guards first, then each change after those it needs; raises NotPlannable for a cycle."""
        guards = sorted((item for item in self.changes.values() if item.is_guard), key=lambda item: order_of(item.row))
        return (*guards, *_sorted([item for item in self.changes.values() if not item.is_guard], self.catalogue))


def cells_at(cells: Cells, columns: Sequence[str]) -> Key | None:
    """Return the cells of these columns; None if any is null, since such a key identifies and collides with nothing."""
    key = tuple(cells.get(name) for name in columns)
    return None if None in key else key


def keys_of(facts: TableFacts) -> tuple[tuple[str, ...], ...]:
    """Return the columns of every unique key."""
    return tuple(dict.fromkeys((facts.primary_key, *facts.uniques)))


def _both(existing: Change, change: Change) -> Cells:
    assert existing.after is not None  # noqa: S101 - the caller checked
    assert change.after is not None  # noqa: S101 - the caller checked
    differing = sorted(c for c, cell in change.after.items() if c in existing.after and existing.after[c] != cell)
    if differing:
        raise NotPlannable(
            f"A row of `{existing.row.table}` refers to several records through {listed(differing)}, and would need "
            "two values there; re-point it by hand first."
        )
    return {**existing.after, **change.after}


def _sorted(changes: list[Change], catalogue: Catalogue) -> Iterator[Change]:
    """Sort topologically; ties go by rank, then table and key, so the input order does not matter."""
    changes.sort(key=lambda item: (_RANKS[item.role], order_of(item.row)))
    after: dict[int, set[int]] = defaultdict(set)
    waits = [0] * len(changes)
    for earlier, later in _needs(changes, catalogue):
        if earlier != later and later not in after[earlier]:
            after[earlier].add(later)
            waits[later] += 1
    ready = [n for n, count in enumerate(waits) if not count]
    emitted = 0
    while ready:
        n = heapq.heappop(ready)
        yield changes[n]
        emitted += 1
        for following in after[n]:
            waits[following] -= 1
            if not waits[following]:
                heapq.heappush(ready, following)
    if emitted < len(changes):
        tables = sorted({changes[n].row.table for n, count in enumerate(waits) if count})
        raise NotPlannable(
            f"Rows of {listed(tables)} refer to each other in a circle, so no row can be changed first; "
            "break the circle by hand."
        )


def _needs(changes: Sequence[Change], catalogue: Catalogue) -> Iterator[tuple[int, int]]:
    """Yield pairs of changes: the first must run before the second."""
    for reference in catalogue.references:
        if not reference.soft:
            yield from _for_reference(changes, reference)
    for table, facts in catalogue.tables.items():
        for columns in keys_of(facts):
            yield from _for_key(changes, table, columns)


def _for_reference(changes: Sequence[Change], reference: Reference) -> Iterator[tuple[int, int]]:
    """Remove a reference before its target is deleted, and add one after its target exists."""
    removed, added = _removed_and_added(changes, reference.to_table, reference.to_columns)
    if not removed and not added:
        return
    released, acquired = _removed_and_added(changes, reference.table, reference.columns)
    for key, leaving in removed.items():
        yield from ((child, parent) for child in released.get(key, ()) for parent in leaving)
    for key, arriving in added.items():
        yield from ((parent, child) for child in acquired.get(key, ()) for parent in arriving)


def _for_key(changes: Sequence[Change], table: str, columns: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Release a key before another row takes it."""
    released, acquired = _removed_and_added(changes, table, columns)
    for key, takers in acquired.items():
        yield from ((giver, taker) for giver in released.get(key, ()) for taker in takers)


def _removed_and_added(
    changes: Sequence[Change], table: str, columns: Sequence[str]
) -> tuple[Mapping[Key, list[int]], Mapping[Key, list[int]]]:
    """Return the changes that remove these cells from a row of the table, and those that add them, by key."""
    released: dict[Key, list[int]] = defaultdict(list)
    acquired: dict[Key, list[int]] = defaultdict(list)
    for n, change in enumerate(changes):
        if change.row.table != table:
            continue
        before = None if change.before is None else cells_at(change.before, columns)
        final = None if change.after is None else {**(change.before or {}), **change.after}
        after = None if final is None else cells_at(final, columns)
        if before != after:
            if before is not None:
                released[before].append(n)
            if after is not None:
                acquired[after].append(n)
    return released, acquired


TOGETHER = 500
"""Rows per query."""


@dataclass
class ReadReferring:
    """Referring rows of a target, cached while the plans of one chunk are made."""

    target: Target
    _cache: dict[tuple[Reference, Key], Sequence[Row]] = field(default_factory=dict)

    def rows(self, reference: Reference, to: Key) -> Sequence[Row]:
        """Return the rows that refer to these cells."""
        if (reference, to) not in self._cache:
            self._cache[reference, to] = tuple(self.target.referring(reference, [to]))
        return self._cache[reference, to]

    def read(self, reference: Reference, keys: Iterable[Key]) -> None:
        """Read the rows that refer to any of these keys, for later calls of `rows`.

        If the target refuses a row, nothing is cached: `rows` then reads key by key, and only that key is refused.
        """
        unread = [key for key in dict.fromkeys(keys) if (reference, key) not in self._cache]
        for start in range(0, len(unread), TOGETHER):
            chunk = unread[start : start + TOGETHER]
            try:
                shared = _by_key(reference, chunk, self.target.referring(reference, chunk))
            except TargetRefused:
                shared = None
            if shared is not None:
                self._cache.update(((reference, key), tuple(rows)) for key, rows in shared.items())


def _by_key(reference: Reference, keys: Sequence[Key], rows: Iterable[Row]) -> Mapping[Key, list[Row]] | None:
    """Group rows by the key they refer to; None if their cells do not tell, so that each key is read alone.

    A database may treat different cells as equal (a collation, a link from a text to a number).
    """
    exact = {key: key for key in keys}
    written = _unambiguous(keys)
    rows_by_key: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        own = cells_at(row.cells, reference.columns)
        key = exact.get(own) if own is not None else None
        if key is None and own is not None:
            key = written.get(_texts(own))
        if key is None:
            return None
        rows_by_key[key].append(row)
    return {key: rows_by_key.get(key, []) for key in keys}


def _unambiguous(keys: Sequence[Key]) -> Mapping[tuple[str, ...], Key]:
    by_text: dict[tuple[str, ...], list[Key]] = defaultdict(list)
    for key in keys:
        by_text[_texts(key)].append(key)
    return {text: alike[0] for text, alike in by_text.items() if len(alike) == 1}


def _texts(key: Key) -> tuple[str, ...]:
    return tuple(cell[1] if cell else "" for cell in key)
