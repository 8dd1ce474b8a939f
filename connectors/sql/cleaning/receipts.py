"""Our own two tables in a target: the effects made there, and the store that cleans there.

`reconcile_receipts` has a row for every effect, written in the transaction that made it. `reconcile_owner` has at most
one row. Nothing else of ours is ever in a target.

They are in the schema (PostgreSQL) or database (MariaDB, MySQL) of the cleaned table. So every store that cleans it
finds them, whatever the default schema of its session is. Every statement names that schema. Older versions kept them
in the default schema; `identity` in such a row has no `_MARK` before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from connectors.sql.cells import Fragment, chunks
from connectors.sql.cleaning import trust
from connectors.sql.cleaning.dialect import Dialect
from connectors.sql.cleaning.session import TargetSession
from connectors.target import Receipt

RECEIPTS, OWNER = "reconcile_receipts", "reconcile_owner"
_MARK = "schema:"
"""Begins the `identity` of an owner's row that covers only the tables of its own schema."""
_COLUMNS = ("key", "fingerprint", "store", "epoch", "fence", "plan", "after")
_NUMBERS = {"epoch", "fence"}
_KINDS: Mapping[str, trust.Columns] = {
    RECEIPTS: (
        *((name, "number" if name in _NUMBERS else "key" if name == "key" else "word") for name in _COLUMNS),
        ("at", "time"),
    ),
    OWNER: (("id", "one"), ("identity", "word"), ("store", "word"), ("epoch", "number"), ("ratchet", "number")),
}
"""Their columns in order, each with its kind."""
_AT_ONCE = 100
_UPDATES_AT_ONCE = 50
_FEW = 8
"""Up to this many receipts, separate parameters cost less than JSON."""


@dataclass(frozen=True)
class OwnerRow:
    """The owner's row: `owner` is (store, epoch, ratchet), None before an adoption. `is_older`: see the module."""

    owner: tuple[str, int, int] | None
    identity: str
    is_older: bool


class OurTables:
    """The statements on our tables of one schema, in the SQL of its database."""

    def __init__(self, dialect: Dialect, schema: str) -> None:
        self._dialect = dialect
        self.schema = schema
        self._receipts, self._owner = (f"{dialect.quoted(schema)}.{dialect.quoted(name)}" for name in (RECEIPTS, OWNER))
        self._names = {column: dialect.quoted(column) for column in (*_COLUMNS, "id", "at", "ratchet", "identity")}
        self._all = self._list(_COLUMNS)

    def create_statements(self) -> Mapping[str, str]:
        """The statement that creates each table if it does not exist, by its name."""
        types = {**self._dialect.receipt_types, "one": f"{self._dialect.receipt_types['number']} PRIMARY KEY"}
        statements = {}
        for name, columns in _KINDS.items():
            declarations = ", ".join(f"{self._names[column]} {types[kind]}" for column, kind in columns)
            statements[name] = f"CREATE TABLE IF NOT EXISTS {self._relation(name)} ({declarations}){types['end']}"
        return statements

    def _relation(self, name: str) -> str:
        return self._receipts if name == RECEIPTS else self._owner

    def check(self, session: TargetSession, name: str) -> None:
        """Raise TableNotOurs if this table exists and is not as we create it."""
        trust.check(
            lambda sql, bound: session.run(sql, bound).rows,
            self._dialect.name,
            session.place.source,
            (self.schema, name),
            _KINDS[name],
            self.create_statements()[name],
        )

    def hold(self, session: TargetSession) -> None:
        """Check the receipts and keep them so until the transaction ends. MariaDB and MySQL have no lock against new
        triggers, but run those with the rights of their authors; they are not checked again."""
        if self._dialect.name == "postgresql":
            session.run(f"LOCK TABLE ONLY {self._receipts} IN ROW EXCLUSIVE MODE")
        if self._dialect.name != "mysql":
            self.check(session, RECEIPTS)

    def insert(self, session: TargetSession, receipts: Sequence[Receipt]) -> bool:
        """Return True if all of them are new. If not, some may be inserted: roll the savepoint back.

        Waits for a transaction that is inserting the same ones, as long as the database allows.
        """
        for batch in chunks(sorted(receipts, key=lambda receipt: receipt.key), _AT_ONCE):
            sql, bound = self._new(batch)
            if self._dialect.insert_new:
                if len(session.run(sql + self._dialect.insert_new, bound).rows) < len(batch):
                    return False
            elif not self._inserted(session, sql, bound):
                return False
        return True

    def _new(self, receipts: Sequence[Receipt]) -> Fragment:
        into = f"INSERT INTO {self._receipts} ({self._all}) "
        if self._are_many(receipts):
            return f"{into}SELECT {self._all} FROM {self._dialect.receipts_given}", (_json(receipts, _COLUMNS),)
        marks = ", ".join([f"({self._marks(_COLUMNS)})"] * len(receipts))
        return f"{into}VALUES {marks}", tuple(value for receipt in receipts for value in _values(receipt))

    def _inserted(self, session: TargetSession, sql: str, bound: Sequence[object]) -> bool:
        try:
            session.run(sql, bound)
        except session.errors as error:
            if self._dialect.code(error) != self._dialect.duplicate:
                raise
            return False
        return True

    def seal(self, session: TargetSession, receipts: Sequence[Receipt]) -> int:
        """Write the `after` of these rows; return the number of rows written."""
        size = _AT_ONCE if self._dialect.receipts_given else _UPDATES_AT_ONCE
        batches = chunks(sorted(receipts, key=lambda receipt: receipt.key), size)
        return sum(session.run(*self._sealed(batch)).count for batch in batches)

    def _sealed(self, receipts: Sequence[Receipt]) -> Fragment:
        mark, table = self._dialect.mark, self._receipts
        key, after = self._names["key"], self._names["after"]
        if self._are_many(receipts):
            sets = f"UPDATE {table} SET {after} = given.{after} FROM {self._dialect.receipts_given}"
            return f"{sets} WHERE {table}.{key} = given.{key}", (_json(receipts, ("key", "after")),)
        cases = " ".join([f"WHEN {mark} THEN {mark}"] * len(receipts))
        sql = f"UPDATE {table} SET {after} = CASE {key} {cases} END WHERE {key} IN ({self._marks(receipts)})"
        bound = [value for receipt in receipts for value in (receipt.key, receipt.after)]
        return sql, (*bound, *(receipt.key for receipt in receipts))

    def _are_many(self, receipts: Sequence[Receipt]) -> bool:
        return bool(self._dialect.receipts_given) and len(receipts) > _FEW

    def find(self, session: TargetSession, keys: Iterable[str]) -> dict[str, Receipt]:
        by_key: dict[str, Receipt] = {}
        for batch in chunks(sorted(set(keys)), _AT_ONCE):
            sql = f"SELECT {self._all} FROM {self._receipts} WHERE {self._names['key']} IN ({self._marks(batch)})"
            for row in session.run(sql, batch).rows:
                receipt = Receipt(**dict(zip(_COLUMNS, row, strict=True)))
                by_key[receipt.key] = receipt
        return by_key

    def row(self, session: TargetSession) -> OwnerRow | None:
        """The owner's row of an existing table; None if it has none."""
        columns = self._list(("store", "epoch", "ratchet", "identity"))
        rows = session.run(f"SELECT {columns} FROM {self._owner} WHERE {self._row}").rows
        if not rows:
            return None
        store, epoch, ratchet, identity = rows[0]
        owner = (str(store), int(epoch), int(ratchet)) if store else None
        return OwnerRow(owner, str(identity).removeprefix(_MARK), not str(identity).startswith(_MARK))

    def name_it(self, session: TargetSession, identity: str, before: OurTables | None, *, mark: bool) -> None:
        """Insert the owner's row, without an owner and under a random name, if there is none; `mark`: see `adopt`.

        `before` is where an older version kept these tables: we take over its receipts, and its owner unless that row
        covers only its own schema.
        """
        columns = ("id", "identity", "store", "epoch", "ratchet")
        sql = f"INSERT INTO {self._owner} ({self._list(columns)}) VALUES ({self._marks(columns)})"
        older = None if before is None else before.row(session)
        bound: tuple[object, ...] = (1, (_MARK if mark else "") + identity, "", 0, 0)
        if older is not None and older.is_older and older.owner is not None:
            bound = (1, older.identity, *older.owner)
        if self._dialect.insert_new:
            is_new = bool(session.run(sql + self._dialect.insert_new, bound).rows)
        else:
            is_new = self._inserted(session, sql, bound)
        if is_new and before is not None:
            self._take_over(session, before)

    def _take_over(self, session: TargetSession, before: OurTables) -> None:
        """Copy its receipts; wait for transactions that are still writing some."""
        columns, waiting = f"{self._all}, {self._names['at']}", " LOCK IN SHARE MODE"
        if self._dialect.name == "postgresql":
            session.run(f"LOCK TABLE ONLY {before._receipts} IN SHARE MODE")
            waiting = ""
        key = self._names["key"]
        session.run(
            f"INSERT INTO {self._receipts} ({columns}) SELECT {columns} FROM {before._receipts} "
            f"WHERE {key} NOT IN (SELECT {key} FROM {self._receipts}){waiting}"
        )

    def adopt(
        self, session: TargetSession, to: tuple[str, int, int], instead_of: tuple[str, int, int] | None, *, mark: bool
    ) -> bool:
        """Return True if the owner was `instead_of` and is `to` now. `mark`: from now on for its own schema only."""
        sign, names = self._dialect.mark, ("store", "epoch", "ratchet")
        was = instead_of or ("", 0, 0)
        row = self.row(session)
        if row is None:
            return False
        identity = row.identity if row.is_older and not mark else _MARK + row.identity
        sets = ", ".join(f"{self._names[name]} = {sign}" for name in (*names, "identity"))
        still = " AND ".join(f"{self._names[name]} = {sign}" for name in names)
        sql = f"UPDATE {self._owner} SET {sets} WHERE {self._row} AND {still}"
        return session.run(sql, (*to, identity, *was)).count == 1

    @property
    def _row(self) -> str:
        return f"{self._names['id']} = 1"

    def _list(self, columns: Iterable[str]) -> str:
        return ", ".join(self._names[column] for column in columns)

    def _marks(self, items: Sequence[object]) -> str:
        return ", ".join([self._dialect.mark] * len(items))


def _values(receipt: Receipt) -> tuple[str | int, ...]:
    return tuple(getattr(receipt, column) for column in _COLUMNS)


def _json(receipts: Sequence[Receipt], names: Sequence[str]) -> str:
    return json.dumps([{name: getattr(receipt, name) for name in names} for receipt in receipts])
