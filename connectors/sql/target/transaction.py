"""One transaction of a database in which rows are changed.

How long it can last, whatever becomes of us, of the `seconds` it is given: our side sends nothing more after half of
them, not even COMMIT; a statement takes at most a quarter, waiting for a lock a little less; and a session that is
silent for a quarter is ended by the database (SQLite has no server that could, and takes no part in this). A
connection on which the server keeps silent is cut off after `seconds`.

Outcomes of errors: `connectors.sql.target.outcomes`. After one that is no CONFLICT or TERMINAL nothing more is sent,
because databases roll back more or less than one statement then: MariaDB, after the time-out of a lock, would go on and
commit an effect without its receipt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from connectors.sql.catalogue.facts import Ident
from connectors.sql.catalogue.stamp import held
from connectors.sql.cells import Column, Fragment, Shape, chunks, joined, row_order
from connectors.sql.target.dialect import Dialect, NotCommitted, Unwritable
from connectors.sql.target.errors import late, over, told, unwritable
from connectors.sql.target.outcomes import Phase
from connectors.sql.target.receipts import OurTables
from connectors.sql.target.session import Session
from connectors.sql.target.tables import CONDITIONS_AT_ONCE, Tables
from connectors.sql.witness.base import Counting, Kind, Statements, begin_witness
from connectors.target import (
    Cell,
    Cells,
    Change,
    Image,
    Outcome,
    Receipt,
    ReceiptStands,
    Reference,
    Row,
    RowName,
    RowsDiffer,
    TargetError,
    TargetRefused,
    Unplanned,
    Witness,
)

ROWS_AT_ONCE = 500


class SqlWork:
    """See the port. The transaction is begun; whoever made this ends it."""

    def __init__(self, session: Session, dialect: Dialect, beside: Callable[[Session, str], OurTables]) -> None:
        self._session, self._dialect, self._beside = session, dialect, beside
        self._ours: dict[str, OurTables] = {}
        """Our own tables, by the table whose receipts they keep."""
        self._tables = Tables(session, dialect)
        self._depth = 0
        self._over: TargetError | None = None
        self._failed: TargetError | None = None
        """An error of the innermost savepoint, which can only be left and undone."""
        self._name: str | None = None
        self._statements: Statements = Statements()
        self.committed = False

    @property
    def transaction(self) -> str | None:
        if self._name is None:
            with self.telling():
                self._name = self._dialect.transaction(self._session)
        return self._name

    def hold(self, tables: Sequence[str]) -> dict[str, str]:
        with self.telling():
            shapes = {name: self._tables.named(name) for name in tables}
            idents = {name: Ident(one.schema or "", one.table) for name, one in shapes.items()}
            return held(self._rows, self._session.ask, self._dialect.name, idents)

    def _rows(self, sql: str, bound: Sequence[Any]) -> Sequence[Sequence[Any]]:
        return self._session.run(sql, bound).rows

    def lock(self, rows: Sequence[RowName]) -> dict[RowName, Row]:
        found: dict[RowName, Row] = {}
        with self.telling():
            ordered = sorted(set(rows), key=lambda one: (*_kind(one), row_order(one.key)))
            for (table, columns), names in groupby(ordered, key=_kind):
                shape = self._tables.named(table)
                size = ROWS_AT_ONCE if len(columns) == 1 else CONDITIONS_AT_ONCE
                for some in chunks(list(names), size):
                    found.update(self._locked(shape, self._tables.columns(shape, columns), some))
        return {name: found[name] for name in rows if name in found}

    def _locked(self, shape: Shape, key: Sequence[Column], names: Sequence[RowName]) -> Iterator[tuple[RowName, Row]]:
        wanted = {one.key: one for one in names}
        where, bound = self._any_of(key, [[cell for _, cell in one.key] for one in names])
        order = ", ".join(self._dialect.quoted(one.name) for one in key)
        sql = f"{self._tables.select(shape)} WHERE {where} ORDER BY {order}{self._dialect.for_update}"
        for row in self._session.run(sql, bound).rows:
            cells = self._tables.cells(shape, row)
            name = wanted.get(tuple((one.name, cells[one.name]) for one in key))
            if name is not None:  # what a collation finds equal is another row
                yield name, Row(name, cells)

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]], *, lock: bool) -> list[Row]:
        with self.telling():
            return self._tables.referring(reference, to, lock=lock)

    def receive(self, receipts: Sequence[Receipt]) -> None:
        with self.telling():
            found: dict[str, Receipt] = {}
            for ours, some in self._by_home(receipts):
                if not ours.insert(self._session, some):
                    found |= ours.find(self._session, [one.key for one in some])
                    break
            else:
                return
            given = {one.key: one for one in receipts}
            standing = {key: one for key, one in found.items() if one != given[key] or one.after}
            if not standing:
                raise over(self._session.place, "a receipt that was in its way is gone again")
            raise ReceiptStands(standing)

    def apply(self, change: Change) -> None:
        if change.is_guard:
            return
        with self.telling():
            count = self._run(self._changed(change), change)
            if count != 1:
                raise RowsDiffer(change.row, count)

    def apply_all(self, changes: Sequence[Change]) -> None:
        with self.telling():
            for _, neighbours in groupby((one for one in changes if not one.is_guard), key=_alike):
                for some in chunks(list(neighbours), CONDITIONS_AT_ONCE):
                    count = self._run_all(self._changed(some[0]), some)
                    if count != len(some):
                        raise RowsDiffer(some[0].row, count)

    def witness(self, changes: Sequence[Change], *, related: Sequence[str] = (), triggers: bool = False) -> Witness:
        counting = Counting(self._session, self._dialect, self._tables, changes, self._statements, related, triggers)
        with self.telling():
            return _Telling(self, begin_witness(counting))

    def unheld(self, images: Sequence[Image]) -> list[tuple[Image, tuple[str, ...]]]:
        with self.telling():
            return [(image, columns) for image in images if (columns := self._unheld(image))]

    def _unheld(self, image: Image) -> tuple[str, ...]:
        written, now = image.change.after, image.after
        if written is None or now is None:
            return ()
        shape = self._tables.named(image.change.row.table)
        names = [name for name, cell in written.items() if now.get(name) != cell]
        columns = [column for column in self._tables.columns(shape, names) if not column.generated]
        if not columns:
            return ()
        conditions = [self._dialect.holds(column, written[column.name]) for column in columns]
        row = RowName(image.change.row.table, tuple((name, now[name]) for name, _ in image.change.row.key))
        where, key = self._this_row(shape, row)
        asked, bound = joined([(f"({sql})", values) for sql, values in conditions], ", ")
        rows = self._session.run(
            f"SELECT {asked} FROM {self._dialect.relation(shape)} WHERE {where}", (*bound, *key)
        ).rows
        held = rows[0] if rows else [False] * len(columns)
        return tuple(column.name for column, is_held in zip(columns, held, strict=True) if not is_held)

    def seal(self, receipts: Sequence[Receipt]) -> None:
        with self.telling():
            count = sum(ours.seal(self._session, some) for ours, some in self._by_home(receipts))
            if count != len(receipts):
                raise over(self._session.place, "some of the receipts that it inserted are not there")

    def _by_home(self, receipts: Sequence[Receipt]) -> list[tuple[OurTables, list[Receipt]]]:
        """Where these are kept, by schema."""
        homes: dict[str, tuple[OurTables, list[Receipt]]] = {}
        for one in receipts:
            if one.table not in self._ours:
                self._ours[one.table] = self._beside(self._session, one.table)
            ours = self._ours[one.table]
            homes.setdefault(ours.schema, (ours, []))[1].append(one)
        return [homes[schema] for schema in sorted(homes)]

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        name = f"reconcile_{self._depth + 1}"
        with self.telling():
            self._session.say(f"SAVEPOINT {name}")
        self._depth += 1
        try:
            yield
            self._must_not_have_failed()
        except BaseException:
            self._depth -= 1
            self._failed = None
            if self._over is None:
                with self.telling():
                    self._session.say(f"ROLLBACK TO SAVEPOINT {name}")
                    self._session.say(f"RELEASE SAVEPOINT {name}")
            raise
        self._depth -= 1
        with self.telling():
            self._session.say(f"RELEASE SAVEPOINT {name}")

    def commit(self) -> None:
        with self.telling("commit"):
            if self._depth:
                raise over(self._session.place, "COMMIT was asked for inside a savepoint")
            self._dialect.commit(self._session)
        self.committed = True

    @contextmanager
    def telling(self, phase: Phase = "before") -> Iterator[None]:
        """Errors of the database become ours, and end the transaction where it cannot go on."""
        place = self._session.place
        if self._over is not None:
            raise self._over
        if self.committed:
            raise over(place, "it is committed")
        self._must_not_have_failed()
        try:
            self._must_have_time()
            yield
        except self._session.errors as error:
            raise self._ended(told(place, self._dialect.code(error), phase, error)) from None
        except NotCommitted:
            raise self._ended(told(place, "not committed", phase)) from None
        except Unwritable as error:
            raise self._ended(unwritable(place, str(error))) from None
        except TargetError as error:
            raise self._ended(error) from None
        except BaseException as error:  # ReceiptStands, RowsDiffer, TargetRefused, or somebody pressed Ctrl-C
            ended = over(place, "an error ended it")
            if self._depth and isinstance(error, Exception):
                self._failed = ended
            else:
                self._over = ended
            raise

    def _must_not_have_failed(self) -> None:
        if self._failed is not None:
            raise self._failed

    def _must_have_time(self) -> None:
        if self._session.is_late:
            raise late(self._session.place)

    def _ended(self, error: TargetError) -> TargetError:
        if not self._depth or error.outcome not in (Outcome.CONFLICT, Outcome.TERMINAL):
            self._over = error
        else:
            self._failed = error
        return error

    def _changed(self, change: Change) -> Shape:
        shape = self._tables.named(change.row.table)
        if shape.fixed:
            raise TargetRefused(f"Nothing can be cleaned in table {shape.name}: {shape.fixed}")
        return shape

    def _run(self, shape: Shape, change: Change) -> int:
        table = self._dialect.relation(shape)
        if change.before is None:
            columns, values = self._inserted(shape, change.after or {})
            sql, bound = joined(values, ", ")
            return self._met(shape, "insert", self._session.run(self._insert(shape, columns) + f"({sql})", bound).count)
        where, key = self._this_row(shape, change.row)
        if change.after is None:
            return self._met(shape, "delete", self._session.run(f"DELETE FROM {table} WHERE {where}", key).count)
        sql, bound = self._update(shape, change, where)
        count = self._session.run(sql, (*bound, *key)).count
        return count if sql.startswith("SELECT") else self._met(shape, "update", count)

    def _met(self, shape: Shape, kind: Kind, count: int) -> int:
        """How many rows a statement met, noted for the witness."""
        self._statements[shape.name, kind] += count
        return count

    def _run_all(self, shape: Shape, changes: Sequence[Change]) -> int:
        first, table = changes[0], self._dialect.relation(shape)
        if first.before is None:
            columns, _ = self._inserted(shape, first.after or {})
            each = [joined(self._inserted(shape, one.after or {})[1], ", ") for one in changes]
            sql, bound = joined([(f"({values})", given) for values, given in each], ", ")
            return self._met(shape, "insert", self._session.run(self._insert(shape, columns) + sql, bound).count)
        if first.after is None:
            where, key = self._any_exactly(shape, [one.row for one in changes])
            return self._met(shape, "delete", self._session.run(f"DELETE FROM {table} WHERE {where}", key).count)
        statements: dict[str, list[tuple[object, ...]]] = {}
        for one in changes:
            where, key = self._this_row(shape, one.row)
            sql, bound = self._update(shape, one, where)
            statements.setdefault(sql, []).append((*bound, *key))
        counts = {sql: self._session.run_many(sql, given) for sql, given in statements.items()}
        self._met(shape, "update", sum(count for sql, count in counts.items() if not sql.startswith("SELECT")))
        return sum(counts.values())

    def _insert(self, shape: Shape, columns: Sequence[Column]) -> str:
        names = ", ".join(self._dialect.quoted(one.name) for one in columns)
        numbered = " OVERRIDING SYSTEM VALUE" if any(one.identity for one in columns) else ""
        into = f"INSERT{self._dialect.or_abort} INTO {self._dialect.relation(shape)}"
        return f"{into} ({names}){numbered} VALUES "

    def _inserted(self, shape: Shape, cells: Cells) -> tuple[list[Column], list[Fragment]]:
        """What is written: what the database computes by itself is not."""
        columns = [one for one in self._tables.columns(shape, sorted(cells)) if not one.generated]
        return columns, [self._dialect.written(one, cells[one.name]) for one in columns]

    def _update(self, shape: Shape, change: Change, where: str) -> Fragment:
        """Without what the database computes, and numbers of its own that stay. The row is met even if that is all."""
        after, before, table = change.after or {}, change.before or {}, self._dialect.relation(shape)
        parts = []
        for column in self._tables.columns(shape, sorted(after)):
            stays = column.identity and after[column.name] == before.get(column.name)
            if not column.generated and not stays:
                sql, bound = self._dialect.written(column, after[column.name])
                parts.append((f"{self._dialect.quoted(column.name)} = {sql}", bound))
        if not parts:
            return f"SELECT 1 FROM {table} WHERE {where}", ()
        sets, bound = joined(parts, ", ")
        return f"UPDATE{self._dialect.or_abort} {table} SET {sets} WHERE {where}", bound

    def _this_row(self, shape: Shape, row: RowName) -> Fragment:
        columns = self._tables.columns(shape, [name for name, _ in row.key])
        parts = [self._dialect.is_exactly(one, cell) for one, (_, cell) in zip(columns, row.key, strict=True)]
        sql, bound = joined(parts, " AND ")
        return f"({sql})", bound

    def _any_exactly(self, shape: Shape, rows: Sequence[RowName]) -> Fragment:
        key = self._tables.columns(shape, [name for name, _ in rows[0].key])
        return self._few(key, [[cell for _, cell in one.key] for one in rows]) or joined(
            [self._this_row(shape, one) for one in rows], " OR "
        )

    def _few(self, key: Sequence[Column], cells: Sequence[Sequence[Cell]]) -> Fragment | None:
        """The condition of many rows in few parameters, where there is one."""
        alone = len(key) == 1 and len(cells) > 1
        return self._dialect.is_any(key[0], [cell for (cell,) in cells]) if alone else None

    def _any_of(self, key: Sequence[Column], cells: Sequence[Sequence[Cell]]) -> Fragment:
        """The condition of these rows and maybe more."""
        if few := self._few(key, cells):
            return few
        if len(key) == 1 and all(cell is not None for (cell,) in cells):
            sql, bound = joined([self._dialect.sought(key[0], cell) for (cell,) in cells], ", ")
            return f"{self._dialect.quoted(key[0].name)} IN ({sql})", bound
        each = [joined(list(map(self._dialect.is_exactly, key, one)), " AND ") for one in cells]
        return joined([(f"({sql})", bound) for sql, bound in each], " OR ")


class _Telling:
    """A witness whose errors are told as those of its transaction."""

    def __init__(self, work: SqlWork, witness: Witness) -> None:
        self._work, self._witness = work, witness

    def unplanned(self, images: Sequence[Image]) -> list[Unplanned]:
        with self._work.telling():
            return self._witness.unplanned(images)


def _kind(row: RowName) -> tuple[str, list[str]]:
    """Rows that are alike in this are read by one statement."""
    return row.table, [name for name, _ in row.key]


def _alike(change: Change) -> tuple[object, ...]:
    """Neighbours that are alike in this are one statement."""
    key = tuple(name for name, _ in change.row.key)
    sets = None if change.after is None else tuple(sorted(change.after))
    return change.row.table, key, change.before is None, sets
