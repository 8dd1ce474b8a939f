"""Our own two tables in a target: what was done there, and which store cleans there.

`reconcile_receipts` has a row for every effect that was made, written in the transaction that made it.
`reconcile_owner` has at most one row. Nothing else of ours is ever in a target.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from connectors.sql_cells import Fragment, chunks
from connectors.sql_target_dialect import Dialect
from connectors.sql_target_session import Session
from connectors.target import Receipt

RECEIPTS, OWNER = "reconcile_receipts", "reconcile_owner"
_COLUMNS = ("key", "fingerprint", "store", "epoch", "fence", "bundle", "after")
_NUMBERS = {"epoch", "fence"}
_AT_ONCE = 100
_UPDATES_AT_ONCE = 50
_FEW = 8
"""Up to so many it costs less to send each value by itself, where they could go as JSON."""


class OurTables:
    """The statements on them, in the words of a database."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._names = {one: dialect.quoted(one) for one in (*_COLUMNS, "id", "at", "ratchet", "identity")}
        self._all = self._list(_COLUMNS)

    def made(self) -> Sequence[str]:
        """What creates them where they are not there yet."""
        types, quoted = self._dialect.receipt_types, self._dialect.quoted
        kinds = {one: "number" if one in _NUMBERS else "key" if one == "key" else "word" for one in _COLUMNS}
        receipts = [f"{self._names[one]} {types[kind]}" for one, kind in kinds.items()]
        receipts.append(f"{self._names['at']} {types['time']}")
        owner = [
            f"{self._names['id']} {types['number']} PRIMARY KEY",
            *(f"{self._names[one]} {types['word']}" for one in ("identity", "store")),
            *(f"{self._names[one]} {types['number']}" for one in ("epoch", "ratchet")),
        ]
        return [
            f"CREATE TABLE IF NOT EXISTS {quoted(name)} ({', '.join(columns)}){types['end']}"
            for name, columns in ((RECEIPTS, receipts), (OWNER, owner))
        ]

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
        into = f"INSERT INTO {self._dialect.quoted(RECEIPTS)} ({self._all}) "
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
        mark, table = self._dialect.mark, self._dialect.quoted(RECEIPTS)
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
            sql = (
                f"SELECT {self._all} FROM {self._dialect.quoted(RECEIPTS)} "
                f"WHERE {self._names['key']} IN ({self._marks(some)})"
            )
            for row in session.run(sql, some).rows:
                receipt = Receipt(**dict(zip(_COLUMNS, row, strict=True)))
                found[receipt.key] = receipt
        return found

    def owner(self, session: Session) -> tuple[str, int, int] | None:
        """(store, epoch, ratchet); None while no store ever cleaned there."""
        sql = f"SELECT {self._list(('store', 'epoch', 'ratchet'))} FROM {self._dialect.quoted(OWNER)} WHERE {self._row}"
        rows = session.run(sql).rows
        return (str(rows[0][0]), int(rows[0][1]), int(rows[0][2])) if rows and rows[0][0] else None

    def identity(self, session: Session) -> str | None:
        """The random name that the target was given when its row was made."""
        asked = f"SELECT {self._names['identity']} FROM {self._dialect.quoted(OWNER)} WHERE {self._row}"
        found = session.one(asked)
        return None if found is None else str(found)

    def name_it(self, session: Session, identity: str) -> None:
        """Make the owner's row, of nobody yet, where there is none."""
        columns = ("id", "identity", "store", "epoch", "ratchet")
        sql = f"INSERT INTO {self._dialect.quoted(OWNER)} ({self._list(columns)}) VALUES ({self._marks(columns)})"
        bound = (1, identity, "", 0, 0)
        if self._dialect.insert_new:
            session.run(sql + self._dialect.insert_new, bound)
        else:
            self._inserted(session, sql, bound)

    def adopt(self, session: Session, to: tuple[str, int, int], instead_of: tuple[str, int, int] | None) -> bool:
        mark, names = self._dialect.mark, ("store", "epoch", "ratchet")
        was = instead_of or ("", 0, 0)
        sets = ", ".join(f"{self._names[one]} = {mark}" for one in names)
        still = " AND ".join(f"{self._names[one]} = {mark}" for one in names)
        sql = f"UPDATE {self._dialect.quoted(OWNER)} SET {sets} WHERE {self._row} AND {still}"
        return session.run(sql, (*to, *was)).count == 1

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
