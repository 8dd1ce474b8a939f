"""What becomes of rows that refer to records that go: nothing is left dangling, and nothing goes that is not written.

Foreign keys and declared links are followed alike, from the database's own catalogue. A cascade or a `SET NULL` of the
database is never left to it: what it would do stands in the plan as changes of their own, or there is no plan.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from connectors.target import Catalogue, Cell, Change, Reference, Row, RowName, TableFacts
from reconcile.cleaning.actions.base import NotPlannable, TooManyRows
from reconcile.cleaning.planning.collisions import collision
from reconcile.cleaning.planning.draft import Draft, Key, cells_at, order_of
from reconcile.findings.bundle import ReferenceGuard
from rules.document.mistakes import listed

Policy = Literal["refuse", "repoint", "capture"]
_DELETES = ("CASCADE", "NO ACTION", "RESTRICT")


class Referring(Protocol):
    """Who refers to a row, as it is now."""

    def rows(self, reference: Reference, to: Key) -> Sequence[Row]:
        """The rows whose `columns` hold these cells of `to_columns`."""


@dataclass(frozen=True)
class Leaving:
    """A row that no reference may go on pointing at, and the one that takes its place, if any does."""

    row: Row
    instead: Row | None


@dataclass
class Closure:
    """Follows references from the rows that leave until nobody refers to any of them.

    `stays` are rows of the group that must not go through a reference: the keeper, and what was decided before.
    """

    draft: Draft
    policy: Policy
    referring: Referring
    keeper: Row
    stays: frozenset[RowName]
    most: int
    _guards: dict[Reference, dict[Key, tuple[RowName, ...]]] = field(default_factory=lambda: defaultdict(dict))
    _refused: Counter[str] = field(default_factory=Counter)
    moved: set[RowName] = field(default_factory=set)
    """Rows that something referred to, and whose references were seen to."""

    def follow(self, leaving: Iterable[Leaving]) -> None:
        """Add what becomes of everybody who refers to these. Raises NotPlannable."""
        waiting = sorted(leaving, key=lambda one: order_of(one.row.name))
        followed: set[RowName] = set()
        while waiting:
            level, waiting = waiting, []
            for one in level:
                if one.row.name not in followed:
                    followed.add(one.row.name)
                    waiting += self._children(one)
            waiting.sort(key=lambda one: order_of(one.row.name))
        if self._refused:
            raise self._refusal()

    def check_keys(self) -> None:
        """Raises NotPlannable where a row that stays would lose a value that others refer to it by."""
        for change in list(self.draft.changes.values()):
            if change.before is None or not change.after:
                continue
            for reference in _to(self.draft.catalogue, change.row.table):
                lost = set(reference.to_columns) & change.after.keys()
                key = cells_at(change.before, reference.to_columns)
                if not lost or key is None or self._keeper_has(reference, key):
                    continue
                if any(not self._lets_go(row, reference) for row in self._rows(reference, key)):
                    raise NotPlannable(
                        f"Rows of `{reference.table}` refer to a row of `{change.row.table}` by "
                        f"{listed(sorted(lost))}, which would change; leave that column as it is."
                    )

    def _refusal(self) -> NotPlannable:
        who = listed(sorted(self._refused))
        many = sum(self._refused.values())
        rows = "1 row" if many == 1 else f"{many} rows"
        goes = any(one.after is None and one.role == "surplus" for one in self.draft.changes.values())
        ways = "with `references: repoint` they would follow the keeper"
        ways += ", with `references: capture` they would be deleted with it" if goes else ""
        return NotPlannable(f"{rows} of {who} {'refers' if many == 1 else 'refer'} to its surplus; {ways}.")

    def guards(self) -> tuple[ReferenceGuard, ...]:
        """What was read, to be read again before anything is done."""
        found = []
        for reference, by_key in self._guards.items():
            names = sorted({name for rows in by_key.values() for name in rows}, key=order_of)
            found.append(ReferenceGuard(reference, tuple(sorted(by_key, key=str)), tuple(names)))
        return tuple(sorted(found, key=lambda one: _place(one.reference)))

    def _children(self, leaving: Leaving) -> list[Leaving]:
        following = []
        for reference in _to(self.draft.catalogue, leaving.row.name.table):
            key = cells_at(leaving.row.cells, reference.to_columns)
            if key is None or self._keeper_has(reference, key):
                continue
            children = self._rows(reference, key)
            self._must_not_share(reference, key, children)
            for child in children:
                if child.name == leaving.row.name or self.draft.goes(child.name):
                    continue
                self.moved.add(leaving.row.name)
                following += self._one(child, reference, leaving)
            if sum(not one.is_guard for one in self.draft.changes.values()) > self.most:
                raise TooManyRows(self.most)
        return following

    def _keeper_has(self, reference: Reference, key: Key) -> bool:
        """Whether who refers by these cells refers to the keeper as well, as declared links to what is not unique may.

        A foreign key is never satisfied so: where its key is not unique, the database changes the rows all the same.
        """
        if self.keeper.name.table != reference.to_table or not reference.soft:
            return False
        return cells_at(self.draft.final(self.keeper), reference.to_columns) == key

    def _must_not_share(self, reference: Reference, key: Key, children: Sequence[Row]) -> None:
        """Raises NotPlannable where a foreign key refers to the keeper and to a row that leaves by the same values."""
        same_table = self.keeper.name.table == reference.to_table and not reference.soft
        shared = same_table and cells_at(self.keeper.cells, reference.to_columns) == key
        if shared and any(not self.draft.goes(child.name) for child in children):
            raise NotPlannable(
                f"Rows of `{reference.table}` refer to its surplus and to the keeper by the same "
                f"{listed(reference.to_columns)}, which is not unique. The database would change them although the "
                "keeper stays; clean it by hand."
            )

    def _rows(self, reference: Reference, key: Key) -> Sequence[Row]:
        facts = self.draft.catalogue.tables.get(reference.table)
        if facts is not None and facts.hides_rows:
            raise NotPlannable(
                f"Rows of `{reference.table}` may refer to its surplus, and not all of them can be seen: "
                f"{facts.hides_rows}."
            )
        rows = sorted(self.referring.rows(reference, key), key=lambda one: order_of(one.name))
        self._guards[reference][key] = tuple(one.name for one in rows)
        return rows

    def _one(self, child: Row, reference: Reference, leaving: Leaving) -> list[Leaving]:
        if self.policy == "refuse":
            self._refused[reference.table] += 1
            return []
        if leaving.instead is not None:
            return self._repoint(child, reference, leaving.row, leaving.instead)
        return self._capture(child, reference)

    def _repoint(self, child: Row, reference: Reference, row: Row, instead: Row) -> list[Leaving]:
        if child.name == instead.name:
            raise NotPlannable(
                f"A record that stays refers to one that goes ({_said(reference)}), so it would come to refer to "
                "itself; re-point it by hand first."
            )
        facts = self._writable(reference, reference.columns)
        to = cells_at(self.draft.final(instead), reference.to_columns)
        if to is None:
            raise NotPlannable(
                f"Rows of `{reference.table}` refer to its surplus by {listed(reference.to_columns)}, and the keeper "
                "has none; fill it in first."
            )
        parent = self.draft.catalogue.tables[reference.to_table]
        after = {
            name: _as_for(facts, name, child.cells[name], parent, other, cell)
            for name, other, cell in zip(reference.columns, reference.to_columns, to, strict=True)
            if cells_at(row.cells, (other,)) != (cell,)
        }
        if not after:
            raise NotPlannable(
                f"Rows of `{reference.table}` refer to its surplus by {listed(reference.to_columns)}, which would move "
                "to the keeper: neither can go first; re-point them by hand."
            )
        change = Change(child.name, child.cells, after, "reference")
        brothers = self.referring.rows(reference, to)
        twin = collision(change, facts, brothers, self.draft)
        if twin is None:
            self.draft.add(change)
            return []
        if reference.table == self.draft.catalogue.table:
            raise NotPlannable(
                f"Two rows of `{reference.table}` would become one ({_said(reference)}), and both are records of the "
                "dataset itself; merge them by hand."
            )
        if twin.name not in self.draft.changes:
            self.draft.guard(twin, "reference")
        self.draft.add(Change(child.name, child.cells, None, "captured"))
        return [Leaving(child, twin)]

    def _capture(self, child: Row, reference: Reference) -> list[Leaving]:
        if reference.on_delete == "SET NULL":
            facts = self._writable(reference, reference.columns)
            hard = [one.name for one in facts.columns if one.name in reference.columns and not one.nullable]
            if hard:
                raise NotPlannable(
                    f"`{reference.table}` says ON DELETE SET NULL, but {listed(hard)} cannot be null; no row that "
                    "others refer to there can go."
                )
            if child.name in self.stays:
                raise self._torn(reference)
            self.draft.add(Change(child.name, child.cells, dict.fromkeys(reference.columns), "reference"))
            return []
        if reference.on_delete not in _DELETES:
            raise NotPlannable(
                f"`{reference.table}` says ON DELETE {reference.on_delete} ({_said(reference)}), which is not "
                "followed; write `references: repoint`, or clean it by hand."
            )
        if child.name in self.stays:
            raise self._torn(reference)
        if reference.table == self.draft.catalogue.table:
            raise NotPlannable(
                f"Other records of `{reference.table}` refer to its surplus ({_said(reference)}): deleting them as "
                "well would delete what nobody found; write `references: repoint`."
            )
        self._writable(reference, ())
        self.draft.add(Change(child.name, child.cells, None, "captured"))
        return [Leaving(child, None)]

    def _torn(self, reference: Reference) -> NotPlannable:
        return NotPlannable(
            f"A record that stays refers to one that goes ({_said(reference)}); re-point it by hand, or write "
            "`references: repoint`."
        )

    def _writable(self, reference: Reference, columns: Sequence[str]) -> TableFacts:
        """The facts of the referring table; raises NotPlannable where these columns cannot be written there."""
        facts = self.draft.catalogue.tables[reference.table]
        if facts.refused:
            raise NotPlannable(f"Rows of `{reference.table}` refer to its surplus. {facts.refused}")
        computed = [one.name for one in facts.columns if one.name in columns and one.generated]
        if computed:
            raise NotPlannable(
                f"The database computes {listed(computed)} of `{reference.table}`, by which rows refer to its surplus; "
                "re-point them by hand."
            )
        return facts

    def _lets_go(self, row: Row, reference: Reference) -> bool:
        """Whether the plan makes a row refer to something else. Equal values may be spelt in another way there."""
        final = cells_at(self.draft.final(row), reference.columns)
        return self.draft.goes(row.name) or final != cells_at(row.cells, reference.columns)


def _to(catalogue: Catalogue, table: str) -> list[Reference]:
    """References to a table, in an order that does not depend on the catalogue's."""
    return sorted((one for one in catalogue.references if one.to_table == table), key=_place)


def _place(reference: Reference) -> tuple[object, ...]:
    return reference.table, reference.columns, reference.to_table, reference.to_columns, reference.name


def _said(reference: Reference) -> str:
    return f"`{reference.table}`, column {listed(reference.columns)}"


def _as_for(facts: TableFacts, column: str, was: Cell, parent: TableFacts, other: str, cell: Cell) -> Cell:
    """A cell of the keeper for a column that refers to it: itself where both are declared alike or look alike."""
    if cell is None or (was is not None and (was[0] == cell[0] or "t" not in (was[0], cell[0]))):
        return cell
    types: Mapping[str, str] = {one.name: one.type for one in facts.columns if one.name == column}
    theirs = {one.name: one.type for one in parent.columns if one.name == other}
    return cell if types.get(column) == theirs.get(other) else ("t", cell[1])
