"""Our own two tables in a target: what was done there, and which store cleans there.

`reconcile_receipts` has a row for every effect that was made, written in the transaction that made it.
`reconcile_owner` has at most one row. Nothing else of ours is ever in a target.

They stand in the schema (PostgreSQL) or database (MariaDB, MySQL) of the table that is cleaned, so that whoever cleans
that table finds them, whatever the default schema of a session is. Every statement names that schema. Older versions
kept them in the default schema; what such a version left is told by `identity`, which has no `_MARK` before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from connectors.sql.cells import Fragment, chunks
from connectors.sql.target import trust
from connectors.sql.target.dialect import Dialect
from connectors.sql.target.session import Session
from connectors.target import Receipt

RECEIPTS, OWNER = "reconcile_receipts", "reconcile_owner"
_MARK = "schema:"
"""What begins the `identity` of an owner's row that speaks for the tables of its own schema, and for no others."""
_COLUMNS = ("key", "fingerprint", "store", "epoch", "fence", "bundle", "after")
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
"""Up to so many it costs less to send each value by itself, where they could go as JSON."""


@dataclass(frozen=True)
class OwnerRow:
    """The owner's row: `owner` is (store, epoch, ratchet), None while nobody is. `is_older`: see the module."""

    owner: tuple[str, int, int] | None
    identity: str
    is_older: bool


class OurTables:
    """The statements on those of one schema, in the words of a database."""

    def __init__(self, dialect: Dialect, schema: str) -> None:
        self._dialect = dialect
        self.schema = schema
        self._receipts, self._owner = (f"{dialect.quoted(schema)}.{dialect.quoted(one)}" for one in (RECEIPTS, OWNER))
        self._names = {one: dialect.quoted(one) for one in (*_COLUMNS, "id", "at", "ratchet", "identity")}
        self._all = self._list(_COLUMNS)

    def made(self) -> Mapping[str, str]:
        """What creates each where it is not there yet."""
        types = {**self._dialect.receipt_types, "one": f"{self._dialect.receipt_types['number']} PRIMARY KEY"}
        made = {}
        for name, columns in _KINDS.items():
            told = ", ".join(f"{self._names[column]} {types[kind]}" for column, kind in columns)
            made[name] = f"CREATE TABLE IF NOT EXISTS {self._relation(name)} ({told}){types['end']}"
        return made

    def _relation(self, name: str) -> str:
        return self._receipts if name == RECEIPTS else self._owner

    def check(self, session: Session, name: str) -> None:
        """Raise TableNotOurs where this table, if it is there, is not as we make it."""
        trust.check(
            lambda sql, bound: session.run(sql, bound).rows,
            self._dialect.name,
            session.place.source,
            (self.schema, name),
            _KINDS[name],
            self.made()[name],
        )

    def hold(self, session: Session) -> None:
        """The same of the receipts, and it stays so until the transaction ends. Triggers of MariaDB and MySQL, where
        no lock keeps them away for so long, run as whoever made them, and are not asked for again."""
        if self._dialect.name == "postgresql":
            session.run(f"LOCK TABLE ONLY {self._receipts} IN ROW EXCLUSIVE MODE")
        if self._dialect.name != "mysql":
            self.check(session, RECEIPTS)

    def insert(self, session: Session, receipts: Sequence[Receipt]) -> bool:
        """Whether all of them are new. Otherwise some may be inserted: the savepoint has to be rolled back.

        Waits for a transaction that is inserting the same ones, as long as the database lets it.
        """
        for some in chunks(sorted(receipts, key=lambda one: one.key), _AT_ONCE):
            sql, bound = self._new(some)
            if self._dialect.insert_new:
                if len(session.run(sql + self._dialect.insert_new, bound).rows) < len(some):
                    return False
            elif not self._inserted(session, sql, bound):
                return False
        return True

    def _new(self, receipts: Sequence[Receipt]) -> Fragment:
        into = f"INSERT INTO {self._receipts} ({self._all}) "
        if self._are_many(receipts):
            return f"{into}SELECT {self._all} FROM {self._dialect.receipts_given}", (_json(receipts, _COLUMNS),)
        marks = ", ".join([f"({self._marks(_COLUMNS)})"] * len(receipts))
        return f"{into}VALUES {marks}", tuple(value for one in receipts for value in _values(one))

    def _inserted(self, session: Session, sql: str, bound: Sequence[object]) -> bool:
        try:
            session.run(sql, bound)
        except session.errors as error:
            if self._dialect.code(error) != self._dialect.duplicate:
                raise
            return False
        return True

    def seal(self, session: Session, receipts: Sequence[Receipt]) -> int:
        """How many of these rows got their `after`."""
        size = _AT_ONCE if self._dialect.receipts_given else _UPDATES_AT_ONCE
        some = chunks(sorted(receipts, key=lambda one: one.key), size)
        return sum(session.run(*self._sealed(one)).count for one in some)

    def _sealed(self, receipts: Sequence[Receipt]) -> Fragment:
        mark, table = self._dialect.mark, self._receipts
        key, after = self._names["key"], self._names["after"]
        if self._are_many(receipts):
            sets = f"UPDATE {table} SET {after} = given.{after} FROM {self._dialect.receipts_given}"
            return f"{sets} WHERE {table}.{key} = given.{key}", (_json(receipts, ("key", "after")),)
        cases = " ".join([f"WHEN {mark} THEN {mark}"] * len(receipts))
        sql = f"UPDATE {table} SET {after} = CASE {key} {cases} END WHERE {key} IN ({self._marks(receipts)})"
        bound = [value for one in receipts for value in (one.key, one.after)]
        return sql, (*bound, *(one.key for one in receipts))

    def _are_many(self, receipts: Sequence[Receipt]) -> bool:
        return bool(self._dialect.receipts_given) and len(receipts) > _FEW

    def find(self, session: Session, keys: Iterable[str]) -> dict[str, Receipt]:
        found: dict[str, Receipt] = {}
        for some in chunks(sorted(set(keys)), _AT_ONCE):
            sql = f"SELECT {self._all} FROM {self._receipts} WHERE {self._names['key']} IN ({self._marks(some)})"
            for row in session.run(sql, some).rows:
                receipt = Receipt(**dict(zip(_COLUMNS, row, strict=True)))
                found[receipt.key] = receipt
        return found

    def row(self, session: Session) -> OwnerRow | None:
        """The owner's row of a table that is there; None while it has none."""
        columns = self._list(("store", "epoch", "ratchet", "identity"))
        rows = session.run(f"SELECT {columns} FROM {self._owner} WHERE {self._row}").rows
        if not rows:
            return None
        store, epoch, ratchet, identity = rows[0]
        owner = (str(store), int(epoch), int(ratchet)) if store else None
        return OwnerRow(owner, str(identity).removeprefix(_MARK), not str(identity).startswith(_MARK))

    def name_it(self, session: Session, identity: str, before: OurTables | None, *, mark: bool) -> None:
        """Make the owner's row, of nobody yet, where there is none, under a random name; `mark`: see `adopt`.

        `before` is where an older version kept these tables: its receipts are taken over, and its owner, unless that
        speaks for its own schema only.
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

    def _take_over(self, session: Session, before: OurTables) -> None:
        """Copy its receipts, also those of transactions that are still under way there: they are waited for."""
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
        self, session: Session, to: tuple[str, int, int], instead_of: tuple[str, int, int] | None, *, mark: bool
    ) -> bool:
        """Whether the owner was `instead_of` and is `to` now. `mark`: from now on for its own schema only."""
        sign, names = self._dialect.mark, ("store", "epoch", "ratchet")
        was = instead_of or ("", 0, 0)
        row = self.row(session)
        if row is None:
            return False
        identity = row.identity if row.is_older and not mark else _MARK + row.identity
        sets = ", ".join(f"{self._names[one]} = {sign}" for one in (*names, "identity"))
        still = " AND ".join(f"{self._names[one]} = {sign}" for one in names)
        sql = f"UPDATE {self._owner} SET {sets} WHERE {self._row} AND {still}"
        return session.run(sql, (*to, identity, *was)).count == 1

    @property
    def _row(self) -> str:
        return f"{self._names['id']} = 1"

    def _list(self, columns: Iterable[str]) -> str:
        return ", ".join(self._names[one] for one in columns)

    def _marks(self, items: Sequence[object]) -> str:
        return ", ".join([self._dialect.mark] * len(items))


def _values(receipt: Receipt) -> tuple[str | int, ...]:
    return tuple(getattr(receipt, one) for one in _COLUMNS)


def _json(receipts: Sequence[Receipt], names: Sequence[str]) -> str:
    return json.dumps([{name: getattr(one, name) for name in names} for one in receipts])
