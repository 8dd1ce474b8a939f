"""One transaction of a database in which rows are changed.

Its time is limited, even if this process dies. Of its `seconds`, we send nothing more after half, not even COMMIT. A
statement takes at most a quarter, waiting for a lock a little less. The database ends a session that is silent for a
quarter; SQLite has no server that could. We cut a connection on which the server is silent for `seconds`.

Outcomes of errors: `connectors.sql.cleaning.outcomes`. After an error other than CONFLICT or TERMINAL we send nothing
more, because databases then roll back more or less than one statement. After a lock time-out, MariaDB would go on and
commit an effect without its receipt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from connectors.sql.catalogue.facts import Ident
from connectors.sql.catalogue.stamp import lock_and_stamp
from connectors.sql.cells import Fragment, TableColumn, TableShape, chunks, joined, row_order
from connectors.sql.cleaning.dialect import Dialect, NotCommitted, Unwritable
from connectors.sql.cleaning.outcomes import Phase, late, over, target_error, unwritable
from connectors.sql.cleaning.receipts import OurTables
from connectors.sql.cleaning.rows import CONDITIONS_AT_ONCE, TableShapes
from connectors.sql.cleaning.session import TargetSession
from connectors.sql.cleaning.violations import violations
from connectors.sql.witness.base import Counting, Kind, Statements, begin_witness
from connectors.target import (
    Cell,
    Cells,
    Change,
    Image,
    Receipt,
    ReceiptStands,
    Reference,
    Row,
    RowName,
    RowsDiffer,
    TargetError,
    TargetRefused,
    TransactionOutcome,
    Unplanned,
    Violation,
    Witness,
)

ROWS_AT_ONCE = 500


class SqlWork:
    """See the port. The transaction is already begun; the caller ends it."""

    def __init__(
        self, session: TargetSession, dialect: Dialect, find_tables: Callable[[TargetSession, str], OurTables]
    ) -> None:
        self._session, self._dialect, self._find_tables = session, dialect, find_tables
        self._ours: dict[str, OurTables] = {}
        """Our own tables, by the table whose receipts they keep."""
        self._tables = TableShapes(session, dialect)
        self._depth = 0
        self._final_error: TargetError | None = None
        self._failed: TargetError | None = None
        """An error of the innermost savepoint, which can only be rolled back."""
        self._name: str | None = None
        self._statements: Statements = Statements()
        self.committed = False

    @property
    def transaction(self) -> str | None:
        if self._name is None:
            with self.translated_errors():
                self._name = self._dialect.transaction(self._session)
        return self._name

    def hold(self, tables: Sequence[str]) -> dict[str, str]:
        with self.translated_errors():
            shapes = {name: self._tables.named(name) for name in tables}
            idents = {name: Ident(shape.schema or "", shape.table) for name, shape in shapes.items()}
            return lock_and_stamp(self._rows, self._session.ask, self._dialect.name, idents)

    def _rows(self, sql: str, bound: Sequence[Any]) -> Sequence[Sequence[Any]]:
        return self._session.run(sql, bound).rows

    def lock(self, rows: Sequence[RowName]) -> dict[RowName, Row]:
        rows_by_name: dict[RowName, Row] = {}
        with self.translated_errors():
            ordered = sorted(set(rows), key=lambda name: (*_kind(name), row_order(name.key)))
            for (table, columns), names in groupby(ordered, key=_kind):
                shape = self._tables.named(table)
                size = ROWS_AT_ONCE if len(columns) == 1 else CONDITIONS_AT_ONCE
                for batch in chunks(list(names), size):
                    rows_by_name.update(self._locked(shape, self._tables.columns(shape, columns), batch))
        return {name: rows_by_name[name] for name in rows if name in rows_by_name}

    def _locked(
        self, shape: TableShape, key: Sequence[TableColumn], names: Sequence[RowName]
    ) -> Iterator[tuple[RowName, Row]]:
        names_by_key = {name.key: name for name in names}
        where, bound = self._any_of(key, [[cell for _, cell in name.key] for name in names])
        order = ", ".join(self._dialect.quoted(column.name) for column in key)
        sql = f"{self._tables.select(shape)} WHERE {where} ORDER BY {order}{self._dialect.for_update}"
        for row in self._session.run(sql, bound).rows:
            cells = self._tables.cells(shape, row)
            name = names_by_key.get(tuple((column.name, cells[column.name]) for column in key))
            if name is not None:  # a collation may also match other rows
                yield name, Row(name, cells)

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]], *, lock: bool) -> list[Row]:
        with self.translated_errors():
            return self._tables.referring(reference, to, lock=lock)

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        with self.translated_errors():
            return violations(self._session, self._dialect, self._tables, changes)

    def receive(self, receipts: Sequence[Receipt]) -> None:
        with self.translated_errors():
            by_key: dict[str, Receipt] = {}
            for ours, batch in self._by_home(receipts):
                if not ours.insert(self._session, batch):
                    by_key |= ours.find(self._session, [receipt.key for receipt in batch])
                    break
            else:
                return
            inserted = {receipt.key: receipt for receipt in receipts}
            standing = {key: receipt for key, receipt in by_key.items() if receipt != inserted[key] or receipt.after}
            if not standing:
                raise over(self._session.place, "a conflicting receipt disappeared again")
            raise ReceiptStands(standing)

    def apply(self, change: Change) -> None:
        if change.is_guard:
            return
        with self.translated_errors():
            count = self._run(self._changed(change), change)
            if count != 1:
                raise RowsDiffer(change.row, count)

    def apply_all(self, changes: Sequence[Change]) -> None:
        with self.translated_errors():
            for _, neighbours in groupby((change for change in changes if not change.is_guard), key=_alike):
                for batch in chunks(list(neighbours), CONDITIONS_AT_ONCE):
                    count = self._run_all(self._changed(batch[0]), batch)
                    if count != len(batch):
                        raise RowsDiffer(batch[0].row, count)

    def witness(self, changes: Sequence[Change], *, related: Sequence[str] = (), triggers: bool = False) -> Witness:
        counting = Counting(self._session, self._dialect, self._tables, changes, self._statements, related, triggers)
        with self.translated_errors():
            return _TranslatingWitness(self, begin_witness(counting))

    def unheld(self, images: Sequence[Image]) -> list[tuple[Image, tuple[str, ...]]]:
        with self.translated_errors():
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
        conditions_sql, bound = joined([(f"({sql})", values) for sql, values in conditions], ", ")
        rows = self._session.run(
            f"SELECT {conditions_sql} FROM {self._dialect.relation(shape)} WHERE {where}", (*bound, *key)
        ).rows
        answers = rows[0] if rows else [False] * len(columns)
        return tuple(column.name for column, is_held in zip(columns, answers, strict=True) if not is_held)

    def seal(self, receipts: Sequence[Receipt]) -> None:
        with self.translated_errors():
            count = sum(ours.seal(self._session, batch) for ours, batch in self._by_home(receipts))
            if count != len(receipts):
                raise over(self._session.place, "some of the inserted receipts are missing")

    def _by_home(self, receipts: Sequence[Receipt]) -> list[tuple[OurTables, list[Receipt]]]:
        """Group the receipts by the tables that keep them, in the order of their schemas."""
        homes: dict[str, tuple[OurTables, list[Receipt]]] = {}
        for receipt in receipts:
            if receipt.table not in self._ours:
                self._ours[receipt.table] = self._find_tables(self._session, receipt.table)
            ours = self._ours[receipt.table]
            homes.setdefault(ours.schema, (ours, []))[1].append(receipt)
        return [homes[schema] for schema in sorted(homes)]

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        name = f"reconcile_{self._depth + 1}"
        with self.translated_errors():
            self._session.send(f"SAVEPOINT {name}")
        self._depth += 1
        try:
            yield
            self._must_not_have_failed()
        except BaseException:
            self._depth -= 1
            self._failed = None
            if self._final_error is None:
                with self.translated_errors():
                    self._session.send(f"ROLLBACK TO SAVEPOINT {name}")
                    self._session.send(f"RELEASE SAVEPOINT {name}")
            raise
        self._depth -= 1
        with self.translated_errors():
            self._session.send(f"RELEASE SAVEPOINT {name}")

    def commit(self) -> None:
        with self.translated_errors("commit"):
            if self._depth:
                raise over(self._session.place, "COMMIT was requested inside a savepoint")
            self._dialect.commit(self._session)
        self.committed = True

    @contextmanager
    def translated_errors(self, phase: Phase = "before") -> Iterator[None]:
        """Turn database errors into ours; end the transaction if it cannot go on."""
        place = self._session.place
        if self._final_error is not None:
            raise self._final_error
        if self.committed:
            raise over(place, "it is already committed")
        self._must_not_have_failed()
        try:
            self._must_have_time()
            yield
        except self._session.errors as error:
            raise self._ended(target_error(place, self._dialect.code(error), phase, error)) from None
        except NotCommitted:
            raise self._ended(target_error(place, "not committed", phase)) from None
        except Unwritable as error:
            raise self._ended(unwritable(place, str(error))) from None
        except TargetError as error:
            raise self._ended(error) from None
        except BaseException as error:  # ReceiptStands, RowsDiffer, TargetRefused, or Ctrl-C
            ended = over(place, "an error ended it")
            if self._depth and isinstance(error, Exception):
                self._failed = ended
            else:
                self._final_error = ended
            raise

    def _must_not_have_failed(self) -> None:
        if self._failed is not None:
            raise self._failed

    def _must_have_time(self) -> None:
        if self._session.is_late:
            raise late(self._session.place)

    def _ended(self, error: TargetError) -> TargetError:
        if not self._depth or error.outcome not in (TransactionOutcome.CONFLICT, TransactionOutcome.TERMINAL):
            self._final_error = error
        else:
            self._failed = error
        return error

    def _changed(self, change: Change) -> TableShape:
        shape = self._tables.named(change.row.table)
        if shape.fixed:
            raise TargetRefused(f"Table {shape.name} cannot be cleaned: {shape.fixed}")
        return shape

    def _run(self, shape: TableShape, change: Change) -> int:
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

    def _met(self, shape: TableShape, kind: Kind, count: int) -> int:
        """Record for the witness how many rows a statement met; return the count."""
        self._statements[shape.name, kind] += count
        return count

    def _run_all(self, shape: TableShape, changes: Sequence[Change]) -> int:
        first, table = changes[0], self._dialect.relation(shape)
        if first.before is None:
            columns, _ = self._inserted(shape, first.after or {})
            rows = [joined(self._inserted(shape, change.after or {})[1], ", ") for change in changes]
            sql, bound = joined([(f"({values})", parameters) for values, parameters in rows], ", ")
            return self._met(shape, "insert", self._session.run(self._insert(shape, columns) + sql, bound).count)
        if first.after is None:
            where, key = self._any_exactly(shape, [change.row for change in changes])
            return self._met(shape, "delete", self._session.run(f"DELETE FROM {table} WHERE {where}", key).count)
        statements: dict[str, list[tuple[object, ...]]] = {}
        for change in changes:
            where, key = self._this_row(shape, change.row)
            sql, bound = self._update(shape, change, where)
            statements.setdefault(sql, []).append((*bound, *key))
        counts = {sql: self._session.run_many(sql, parameters) for sql, parameters in statements.items()}
        self._met(shape, "update", sum(count for sql, count in counts.items() if not sql.startswith("SELECT")))
        return sum(counts.values())

    def _insert(self, shape: TableShape, columns: Sequence[TableColumn]) -> str:
        names = ", ".join(self._dialect.quoted(column.name) for column in columns)
        numbered = " OVERRIDING SYSTEM VALUE" if any(column.identity for column in columns) else ""
        into = f"INSERT{self._dialect.or_abort} INTO {self._dialect.relation(shape)}"
        return f"{into} ({names}){numbered} VALUES "

    def _inserted(self, shape: TableShape, cells: Cells) -> tuple[list[TableColumn], list[Fragment]]:
        """The columns to write, without those the database computes, and their values."""
        columns = [column for column in self._tables.columns(shape, sorted(cells)) if not column.generated]
        return columns, [self._dialect.written(column, cells[column.name]) for column in columns]

    def _update(self, shape: TableShape, change: Change, where: str) -> Fragment:
        """The UPDATE without computed columns and unchanged identities; a SELECT of the row if no column is left."""
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

    def _this_row(self, shape: TableShape, row: RowName) -> Fragment:
        columns = self._tables.columns(shape, [name for name, _ in row.key])
        parts = [self._dialect.is_exactly(column, cell) for column, (_, cell) in zip(columns, row.key, strict=True)]
        sql, bound = joined(parts, " AND ")
        return f"({sql})", bound

    def _any_exactly(self, shape: TableShape, rows: Sequence[RowName]) -> Fragment:
        key = self._tables.columns(shape, [name for name, _ in rows[0].key])
        return self._few(key, [[cell for _, cell in name.key] for name in rows]) or joined(
            [self._this_row(shape, name) for name in rows], " OR "
        )

    def _few(self, key: Sequence[TableColumn], cells: Sequence[Sequence[Cell]]) -> Fragment | None:
        """The condition for many rows in few parameters, if there is one."""
        alone = len(key) == 1 and len(cells) > 1
        return self._dialect.is_any(key[0], [cell for (cell,) in cells]) if alone else None

    def _any_of(self, key: Sequence[TableColumn], cells: Sequence[Sequence[Cell]]) -> Fragment:
        """The condition for these rows and maybe more."""
        if few := self._few(key, cells):
            return few
        if len(key) == 1 and all(cell is not None for (cell,) in cells):
            sql, bound = joined([self._dialect.search_value(key[0], cell) for (cell,) in cells], ", ")
            return f"{self._dialect.quoted(key[0].name)} IN ({sql})", bound
        conditions = [joined(list(map(self._dialect.is_exactly, key, row_cells)), " AND ") for row_cells in cells]
        return joined([(f"({sql})", bound) for sql, bound in conditions], " OR ")


class _TranslatingWitness:
    """A witness whose errors become those of its transaction."""

    def __init__(self, work: SqlWork, witness: Witness) -> None:
        self._work, self._witness = work, witness

    def unplanned(self, images: Sequence[Image]) -> list[Unplanned]:
        with self._work.translated_errors():
            return self._witness.unplanned(images)


def _kind(row: RowName) -> tuple[str, list[str]]:
    """The key of rows that one statement reads."""
    return row.table, [name for name, _ in row.key]


def _alike(change: Change) -> tuple[object, ...]:
    """The key of neighbouring changes that one statement makes."""
    key = tuple(name for name, _ in change.row.key)
    sets = None if change.after is None else tuple(sorted(change.after))
    return change.row.table, key, change.before is None, sets
