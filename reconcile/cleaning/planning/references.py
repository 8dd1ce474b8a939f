"""Plan the rows that refer to leaving records: no reference dangles, and no row is deleted outside the plan.

Foreign keys from the database's catalogue and declared links are followed alike. The plan itself contains every change
that a cascade or `SET NULL` of the database would make; otherwise there is no plan.

Rows that would share a unique key once they all refer to the keeper.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from connectors.target import Catalogue, Cell, Cells, Change, Reference, Row, RowName, TableFacts
from reconcile.cleaning.actions.base import NotPlannable, PlanTooLarge
from reconcile.cleaning.planning.draft import Draft, Key, cells_at, keys_of, order_of
from reconcile.findings.plan import ReferenceGuard
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


Policy = Literal["refuse", "repoint", "capture"]
_DELETES = ("CASCADE", "NO ACTION", "RESTRICT")


class Referring(Protocol):
    """Reads the rows that currently refer to a row."""

    def rows(self, reference: Reference, to: Key) -> Sequence[Row]:
        """Return the rows whose `columns` hold these cells of `to_columns`."""


@dataclass(frozen=True)
class RemovedRow:
    """A row that no reference may keep pointing at, and its replacement, if any."""

    row: Row
    instead: Row | None


@dataclass
class Closure:
    """Follows references from the leaving rows until no row refers to any of them.

    `stays` are rows of the group that no reference may delete: the keeper, and records with an earlier decision.
    """

    draft: Draft
    policy: Policy
    referring: Referring
    keeper: Row | None
    stays: frozenset[RowName]
    most: int
    _guards: dict[Reference, dict[Key, tuple[RowName, ...]]] = field(default_factory=lambda: defaultdict(dict))
    _refused: Counter[str] = field(default_factory=Counter)
    moved: set[RowName] = field(default_factory=set)
    """Rows whose references were handled."""

    def follow(self, leaving: Iterable[RemovedRow]) -> None:
        """Add the changes of all rows that refer to these. Raises NotPlannable."""
        pending = sorted(leaving, key=lambda entry: order_of(entry.row.name))
        followed: set[RowName] = set()
        while pending:
            level, pending = pending, []
            for entry in level:
                if entry.row.name not in followed:
                    followed.add(entry.row.name)
                    pending += self._children(entry)
            pending.sort(key=lambda entry: order_of(entry.row.name))
        if self._refused:
            raise self._refusal()

    def check_keys(self) -> None:
        """Raise NotPlannable if a remaining row would lose a value that other rows refer to."""
        for change in list(self.draft.changes.values()):
            if change.before is None or not change.after:
                continue
            for reference in _to(self.draft.catalogue, change.row.table):
                changed = set(reference.to_columns) & change.after.keys()
                key = cells_at(change.before, reference.to_columns)
                if not changed or key is None or self._keeper_has(reference, key):
                    continue
                if any(not self._is_released(row, reference) for row in self._rows(reference, key)):
                    raise NotPlannable(
                        f"Rows of `{reference.table}` refer to a row of `{change.row.table}` by "
                        f"{listed(sorted(changed))}, which would change; leave that column as it is."
                    )

    def _refusal(self) -> NotPlannable:
        tables = listed(sorted(self._refused))
        number = sum(self._refused.values())
        rows = "1 row" if number == 1 else f"{number} rows"
        goes = any(change.after is None and change.role == "surplus" for change in self.draft.changes.values())
        ways = ["with `references: repoint` they would follow the keeper"] if self.keeper else []
        ways += ["with `references: capture` they would be deleted with it"] if goes else []
        subject = f"to its {'surplus' if self.keeper else 'records'}; {', '.join(ways)}."
        refers = "refers" if number == 1 else "refer"
        return NotPlannable(f"{rows} of {tables} {refers} {subject}", f"rows of {tables} refer {subject}")

    def guards(self) -> tuple[ReferenceGuard, ...]:
        """Return the references as read, for a check before execution."""
        guards = []
        for reference, by_key in self._guards.items():
            names = sorted({name for rows in by_key.values() for name in rows}, key=order_of)
            guards.append(ReferenceGuard(reference, tuple(sorted(by_key, key=str)), tuple(names)))
        return tuple(sorted(guards, key=lambda guard: _place(guard.reference)))

    def _children(self, leaving: RemovedRow) -> list[RemovedRow]:
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
                following += self._handle(child, reference, leaving)
            if sum(not change.is_guard for change in self.draft.changes.values()) > self.most:
                raise PlanTooLarge(self.most)
        return following

    def _keeper_has(self, reference: Reference, key: Key) -> bool:
        """Return True if these cells refer to the keeper as well, as declared links to non-unique columns may.

        Always False for a foreign key: if its key is not unique, the database changes the rows anyway.
        """
        if self.keeper is None or self.keeper.name.table != reference.to_table or not reference.soft:
            return False
        return cells_at(self.draft.final(self.keeper), reference.to_columns) == key

    def _must_not_share(self, reference: Reference, key: Key, children: Sequence[Row]) -> None:
        """Raise NotPlannable if a foreign key refers to the keeper and a leaving row by the same values."""
        if self.keeper is None:
            return
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
        rows = sorted(self.referring.rows(reference, key), key=lambda row: order_of(row.name))
        self._guards[reference][key] = tuple(row.name for row in rows)
        return rows

    def _handle(self, child: Row, reference: Reference, leaving: RemovedRow) -> list[RemovedRow]:
        if self.policy == "refuse":
            self._refused[reference.table] += 1
            return []
        if leaving.instead is not None:
            return self._repoint(child, reference, leaving.row, leaving.instead)
        return self._capture(child, reference)

    def _repoint(self, child: Row, reference: Reference, row: Row, instead: Row) -> list[RemovedRow]:
        if child.name == instead.name:
            raise NotPlannable(
                f"A remaining record refers to a surplus record ({_in_words(reference)}), so it would refer to "
                "itself; re-point it by hand first."
            )
        facts = self._writable(reference, reference.columns)
        to = cells_at(self.draft.final(instead), reference.to_columns)
        if to is None:
            raise NotPlannable(
                f"Rows of `{reference.table}` refer to its surplus by {listed(reference.to_columns)}, and the keeper "
                "has no value there; fill it in first."
            )
        parent = self.draft.catalogue.tables[reference.to_table]
        after = {
            name: _converted(facts, name, child.cells[name], parent, parent_column, cell)
            for name, parent_column, cell in zip(reference.columns, reference.to_columns, to, strict=True)
            if cells_at(row.cells, (parent_column,)) != (cell,)
        }
        if not after:
            raise NotPlannable(
                f"Rows of `{reference.table}` refer to its surplus by {listed(reference.to_columns)}, which would move "
                "to the keeper: neither change can go first; re-point them by hand."
            )
        change = Change(child.name, child.cells, after, "reference")
        referring = self.referring.rows(reference, to)
        twin = collision(change, facts, referring, self.draft)
        if twin is None:
            self.draft.add(change)
            return []
        if reference.table == self.draft.catalogue.table:
            raise NotPlannable(
                f"Two rows of `{reference.table}` would become one ({_in_words(reference)}), and both are records of "
                "the dataset itself; merge them by hand."
            )
        if twin.name not in self.draft.changes:
            self.draft.guard(twin, "reference")
        self.draft.add(Change(child.name, child.cells, None, "captured"))
        return [RemovedRow(child, twin)]

    def _capture(self, child: Row, reference: Reference) -> list[RemovedRow]:
        if reference.on_delete == "SET NULL":
            facts = self._writable(reference, reference.columns)
            required = [
                column.name for column in facts.columns if column.name in reference.columns and not column.nullable
            ]
            if required:
                raise NotPlannable(
                    f"`{reference.table}` says ON DELETE SET NULL, but {listed(required)} cannot be null; rows "
                    "referenced there cannot be deleted."
                )
            if child.name in self.stays:
                raise self._stays_but_refers(reference)
            self.draft.add(Change(child.name, child.cells, dict.fromkeys(reference.columns), "reference"))
            return []
        if reference.on_delete not in _DELETES:
            raise NotPlannable(
                f"`{reference.table}` says ON DELETE {reference.on_delete} ({_in_words(reference)}), which is not "
                "supported; write `references: repoint`, or clean it by hand."
            )
        if child.name in self.stays:
            raise self._stays_but_refers(reference)
        if reference.table == self.draft.catalogue.table:
            raise NotPlannable(
                f"Other records of `{reference.table}` refer to its surplus ({_in_words(reference)}): deleting them "
                "too would delete records outside the finding; write `references: repoint`."
            )
        self._writable(reference, ())
        self.draft.add(Change(child.name, child.cells, None, "captured"))
        return [RemovedRow(child, None)]

    def _stays_but_refers(self, reference: Reference) -> NotPlannable:
        return NotPlannable(
            f"A remaining record refers to a surplus record ({_in_words(reference)}); re-point it by hand, or write "
            "`references: repoint`."
        )

    def _writable(self, reference: Reference, columns: Sequence[str]) -> TableFacts:
        """Return the facts of the referring table; raise NotPlannable if its columns cannot be written."""
        facts = self.draft.catalogue.tables[reference.table]
        if facts.refused:
            raise NotPlannable(f"Rows of `{reference.table}` refer to its surplus. {facts.refused}")
        computed = [column.name for column in facts.columns if column.name in columns and column.generated]
        if computed:
            raise NotPlannable(
                f"Rows of `{reference.table}` refer to its surplus by {listed(computed)}, which the database computes; "
                "re-point them by hand."
            )
        return facts

    def _is_released(self, row: Row, reference: Reference) -> bool:
        """Return True if the plan deletes or re-points the row. It compares its own cells: spellings may differ."""
        final = cells_at(self.draft.final(row), reference.columns)
        return self.draft.goes(row.name) or final != cells_at(row.cells, reference.columns)


def _to(catalogue: Catalogue, table: str) -> list[Reference]:
    """Return the references to a table, in an order independent of the catalogue's."""
    return sorted((reference for reference in catalogue.references if reference.to_table == table), key=_place)


def _place(reference: Reference) -> tuple[object, ...]:
    return reference.table, reference.columns, reference.to_table, reference.to_columns, reference.name


def _in_words(reference: Reference) -> str:
    return f"`{reference.table}`, column {listed(reference.columns)}"


def _converted(
    facts: TableFacts, column: str, current: Cell, parent: TableFacts, parent_column: str, cell: Cell
) -> Cell:
    """Convert a cell of the keeper for a referring column; unchanged if both columns have the same type or form."""
    if cell is None or (current is not None and (current[0] == cell[0] or "t" not in (current[0], cell[0]))):
        return cell
    types: Mapping[str, str] = {fact.name: fact.type for fact in facts.columns if fact.name == column}
    parent_types = {fact.name: fact.type for fact in parent.columns if fact.name == parent_column}
    return cell if types.get(column) == parent_types.get(parent_column) else ("t", cell[1])
