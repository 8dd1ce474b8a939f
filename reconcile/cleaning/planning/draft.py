"""A bundle while it is planned: at most one change a row, and in the end an order that constraints allow."""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from connectors.target import Catalogue, Cell, Cells, Change, Reference, Role, Row, RowName, TableFacts
from reconcile.cleaning.actions.base import NotPlannable
from rules.document.mistakes import listed

_RANKS = {"moved": 0, "captured": 1, "reference": 2, "surplus": 3, "keeper": 4}
Key = tuple[Cell, ...]


def order_of(name: RowName) -> tuple[str, str]:
    """The order rows are named and locked in: by table, then by key."""
    return name.table, json.dumps(name.key)


@dataclass
class Draft:
    """The changes of one bundle, and the rows it leans on."""

    catalogue: Catalogue
    changes: dict[RowName, Change] = field(default_factory=dict)

    def add(self, change: Change) -> None:
        """One more change. What is set in one row twice must agree; a row that goes needs nothing else."""
        known = self.changes.get(change.row)
        if known is None or known.is_guard:
            self.changes[change.row] = change
        elif change.is_guard or known.after is None:
            return
        elif change.after is None:
            self.changes[change.row] = change
        else:
            self.changes[change.row] = replace(known, after=_both(known, change))

    def guard(self, row: Row, role: Role = "keeper") -> None:
        """It is done only while this row is as it was read."""
        self.add(Change(row.name, row.cells, {}, role))

    def goes(self, row: RowName) -> bool:
        """Whether the row is deleted."""
        change = self.changes.get(row)
        return change is not None and change.after is None

    def final(self, row: Row) -> Cells:
        """What a row that stays looks like in the end."""
        change = self.changes.get(row.name)
        return row.cells if change is None or change.after is None else {**row.cells, **change.after}

    def in_order(self) -> tuple[Change, ...]:
        """Guards first, then every change after those it needs; raises NotPlannable where they need each other."""
        guards = sorted((one for one in self.changes.values() if one.is_guard), key=lambda one: order_of(one.row))
        return (*guards, *_sorted([one for one in self.changes.values() if not one.is_guard], self.catalogue))


def cells_at(cells: Cells, columns: Sequence[str]) -> Key | None:
    """The cells of these columns; None where one of them is null: then they name nothing and collide with nothing."""
    found = tuple(cells.get(name) for name in columns)
    return None if None in found else found


def keys_of(facts: TableFacts) -> tuple[tuple[str, ...], ...]:
    """The columns of every key whose values no two rows share."""
    return tuple(dict.fromkeys((facts.primary_key, *facts.uniques)))


def _both(known: Change, change: Change) -> Cells:
    assert known.after is not None  # noqa: S101 - the caller looked
    assert change.after is not None  # noqa: S101 - the caller looked
    torn = sorted(c for c, cell in change.after.items() if c in known.after and known.after[c] != cell)
    if torn:
        raise NotPlannable(
            f"A row of `{known.row.table}` refers to several records through {listed(torn)}, and they would come to "
            "differ; re-point it by hand first."
        )
    return {**known.after, **change.after}


def _sorted(changes: list[Change], catalogue: Catalogue) -> Iterator[Change]:
    """Topological; by rank, then by table and key, where several could be next, whatever order they come in."""
    changes.sort(key=lambda one: (_RANKS[one.role], order_of(one.row)))
    after: dict[int, set[int]] = defaultdict(set)
    waits = [0] * len(changes)
    for first, second in _needs(changes, catalogue):
        if first != second and second not in after[first]:
            after[first].add(second)
            waits[second] += 1
    ready = [n for n, many in enumerate(waits) if not many]
    done = 0
    while ready:
        n = heapq.heappop(ready)
        yield changes[n]
        done += 1
        for following in after[n]:
            waits[following] -= 1
            if not waits[following]:
                heapq.heappush(ready, following)
    if done < len(changes):
        tables = sorted({changes[n].row.table for n, many in enumerate(waits) if many})
        raise NotPlannable(
            f"Rows of {listed(tables)} refer to each other in a circle, so none of them can go first; "
            "break the circle by hand."
        )


def _needs(changes: Sequence[Change], catalogue: Catalogue) -> Iterator[tuple[int, int]]:
    """Pairs: the first has to be done before the second."""
    for reference in catalogue.references:
        if not reference.soft:
            yield from _for_reference(changes, reference)
    for table, facts in catalogue.tables.items():
        for columns in keys_of(facts):
            yield from _for_key(changes, table, columns)


def _for_reference(changes: Sequence[Change], reference: Reference) -> Iterator[tuple[int, int]]:
    """Who refers lets go before the other goes, and takes hold after the other is there."""
    gone, come = _lost_and_won(changes, reference.to_table, reference.to_columns)
    if not gone and not come:
        return
    lost, won = _lost_and_won(changes, reference.table, reference.columns)
    for key, leaving in gone.items():
        yield from ((child, parent) for child in lost.get(key, ()) for parent in leaving)
    for key, arriving in come.items():
        yield from ((parent, child) for child in won.get(key, ()) for parent in arriving)


def _for_key(changes: Sequence[Change], table: str, columns: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Who has a key gives it up before another one takes it."""
    lost, won = _lost_and_won(changes, table, columns)
    for key, takers in won.items():
        yield from ((giver, taker) for giver in lost.get(key, ()) for taker in takers)


def _lost_and_won(
    changes: Sequence[Change], table: str, columns: Sequence[str]
) -> tuple[Mapping[Key, list[int]], Mapping[Key, list[int]]]:
    """Which changes take these cells away from a row of the table, and which give them to one."""
    lost: dict[Key, list[int]] = defaultdict(list)
    won: dict[Key, list[int]] = defaultdict(list)
    for n, change in enumerate(changes):
        if change.row.table != table:
            continue
        before = None if change.before is None else cells_at(change.before, columns)
        whole = None if change.after is None else {**(change.before or {}), **change.after}
        after = None if whole is None else cells_at(whole, columns)
        if before != after:
            if before is not None:
                lost[before].append(n)
            if after is not None:
                won[after].append(n)
    return lost, won
