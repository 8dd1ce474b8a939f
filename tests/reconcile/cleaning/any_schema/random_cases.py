"""Random cases: a seed means the same case in every process."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.reconcile.cleaning.any_schema.case import (
    ELSEWHERE,
    GONE,
    HOMES,
    KINDS,
    MAIN,
    STAMP,
    TOUCHES,
    TRAIL,
    Case,
    Column,
    ForeignKey,
    Key,
    Server,
    SoftLink,
    Table,
    Trigger,
    Value,
)

ACTIONS = ("NO ACTION", "RESTRICT", "CASCADE", "CASCADE", "SET NULL", "SET DEFAULT")
WORDS = ("k1", "K1", "k2", "K2", "k3", "k4", "K5", "k1 ")
CODE_TYPES: Mapping[Server, tuple[str, ...]] = {
    "postgresql": ("word", "word", "nocase", "citext", "number"),
    "mariadb": ("word", "nocase", "binary_word", "money"),
    "sqlite": ("word", "nocase", "rtrim", "any"),
}
ID_TYPES: Mapping[Server, tuple[str, ...]] = {
    "postgresql": ("int", "int", "int", "bigint", "uuid", "money"),
    "mariadb": ("int", "int", "int", "bigint", "money"),
    "sqlite": ("int", "int", "int", "word_id"),
}
LINK_TYPES: Mapping[str, tuple[str, ...]] = {
    "int": ("int", "word", "money"),
    "bigint": ("money", "word"),
    "uuid": ("word",),
    "money": ("word", "bigint", "money"),
    "word_id": ("word",),
}


@dataclass
class _Maker:
    server: Server
    dice: random.Random
    tables: list[Table] = field(default_factory=list)

    def likely(self, chance: float) -> bool:
        return self.dice.random() < chance

    # Values

    def word(self, kind: str) -> Value:
        if self.likely(0.06):
            return None
        if kind in ("number", "any"):
            return self.dice.choice(["1", "1.0", "1.000", "2", "2.50", "3.5", "4", "5.0"])
        if kind == "money":
            return self.dice.choice(["1.00", "2.00", "2.50", "3.00", "4.50"])
        return self.dice.choice(WORDS)

    def id_of(self, kind: str, number: int) -> str:
        if kind == "uuid":
            return f"abcdef00-0000-4000-8000-00000000000{number:x}"
        if kind == "money":
            return f"{number}.00"
        return f"p{number}" if kind == "word_id" else str(number)

    def spelled(self, value: Value, kind: str, to_kind: str) -> Value:
        """The same value as another column may spell it."""
        if value is None:
            return None
        if to_kind == "money" and kind in ("int", "bigint"):
            return value.split(".")[0]
        if to_kind in ("int", "bigint") and kind in ("money", "number"):
            return f"{value}.00"
        if to_kind == "uuid":
            return value.upper() if kind == "word" and self.likely(0.6) else value
        if kind == "number" or (kind == "any" and to_kind == "any"):
            return self.dice.choice([value, f"{value}0" if "." in value else f"{value}.0"])
        if kind in ("nocase", "citext"):
            return self.dice.choice([value, value.swapcase()])
        if kind == "rtrim":
            return self.dice.choice([value, value.rstrip(), value.rstrip() + " "])
        return value

    # Tables

    def main(self) -> Table:
        id_type = self.dice.choice(ID_TYPES[self.server])
        code = self.dice.choice(CODE_TYPES[self.server])
        pair = self.dice.choice(("int", "word"))
        columns = [
            Column("id", id_type, nullable=False),
            Column("mail"),
            Column("code", code, **self._required()),
            Column("a", pair),
            Column("b", pair),
            Column("grade", "int"),
            Column("status"),
            Column(STAMP, "clock" if self.server == "mariadb" and self.likely(0.15) else "word"),
        ]
        keys = self._keys()
        rows: list[tuple[Value, ...]] = []
        for number in range(1, self.dice.randint(3, 5) + 1):
            for _ in range(20):
                mail = "a@x" if number < 3 else self.dice.choice(("a@x", "b@x"))
                first, second = self._part(pair), self._part(pair)
                old = "2020-02-02 02:02:02" if columns[-1].type == "clock" else "old"
                grade, stamp = str(self.dice.randint(0, 2)), self.dice.choice((None, old))
                status = self.dice.choice((None, "new"))
                row = (self.id_of(id_type, number), mail, self.word(code), first, second, grade, status, stamp)
                if not any(_collide(columns, key, row, other_row) for key in keys for other_row in rows):
                    rows.append(row)
                    break
        return Table(MAIN, tuple(columns), keys, (), tuple(rows), None, self._conflict(0.1), self._rowless())

    def _rowless(self) -> bool:
        return self.server == "sqlite" and self.likely(0.1)

    def homes(self) -> Table:
        """A table that the main one refers to: what happens to its rows goes on to rows that no plan names."""
        columns = (Column("id", "int", nullable=False), Column("word"))
        return Table(HOMES, columns, (), (), tuple((str(number), f"home {number}") for number in (91, 92, 93)))

    def at_home(self, table: Table) -> Table:
        link = self._foreign_key(("home",), HOMES, ("id",))
        rows = tuple((*row, self.dice.choice((None, "91", "92", "93"))) for row in table.rows)
        columns = (*table.columns, Column("home", "int"))
        return replace(table, columns=columns, foreign_keys=(*table.foreign_keys, link), rows=rows)

    def _part(self, kind: str) -> str:
        return self.dice.choice(("1", "2", "3") if kind == "int" else ("k1", "k2", "K1"))

    def _required(self) -> dict[str, Any]:
        conflict = self._conflict(0.1)
        return {"nullable": False, "on_conflict": conflict} if conflict else {}

    def _conflict(self, chance: float) -> str:
        return "REPLACE" if self.server == "sqlite" and self.likely(chance) else ""

    def _keys(self) -> tuple[Key, ...]:
        keys = []
        loose = self.server == "mariadb" and self.likely(0.7)
        if self.likely(0.75):
            keys.append(Key(("code",), not loose, self._conflict(0.35), inline=self.likely(0.5)))
        if self.likely(0.5):
            keys.append(Key(("a", "b"), not (self.server == "mariadb" and self.likely(0.5)), self._conflict(0.35)))
        return tuple(keys)

    def _targets(self, table: Table) -> list[tuple[str, ...]]:
        """The columns that a foreign key may refer to."""
        keys = [("id",), *(key.columns for key in table.keys if key.unique or self.server == "mariadb")]
        if self.server == "mariadb":
            keys += [key.columns[:1] for key in table.keys if len(key.columns) > 1]
        return keys + [columns for columns in keys if columns != ("id",)]

    def self_reference(self, table: Table) -> Table:
        target = self.dice.choice(self._targets(table))
        if len(target) > 1:
            return table
        kind = table.column(target[0]).type
        index = table.at(target[0])
        rows = []
        for row in table.rows:
            value = self.dice.choice(table.rows)[index] if self.likely(0.5) else None
            rows.append((*row, self.spelled(value, kind, kind)))
        link = self._foreign_key(("parent",), MAIN, target)
        return replace(
            table,
            columns=(*table.columns, Column("parent", kind)),
            foreign_keys=(*table.foreign_keys, link),
            rows=tuple(rows),
        )

    def _foreign_key(
        self, columns: tuple[str, ...], to: str, to_columns: tuple[str, ...], *, required: bool = False
    ) -> ForeignKey:
        actions = [action for action in ACTIONS if self._knows(action, required=required)]
        deferrable = self.server == "postgresql" and self.likely(0.2)
        return ForeignKey(
            columns, to, to_columns, self.dice.choice(actions), self.dice.choice(actions), deferrable=deferrable
        )

    def _knows(self, action: str, *, required: bool) -> bool:
        """MariaDB has no SET DEFAULT, and no SET NULL of what may not be null; the others take both."""
        return self.server != "mariadb" or (action != "SET DEFAULT" and not (required and action == "SET NULL"))

    def child(self, number: int, *, limited: bool) -> Table:
        parents = [table for table in self.tables if table.name != HOMES]
        parent = self.dice.choice([self.tables[0], self.tables[0], *parents])
        target = self.dice.choice(self._targets(parent))
        names = tuple(f"to_{name}" for name in target)
        kinds = [self._own_type(parent.column(name).type) for name in target]
        required = self.likely(0.2)
        own = [Column(name, kind, nullable=not required) for name, kind in zip(names, kinds, strict=True)]
        columns = [Column("id", "int", nullable=False), *own, Column("word"), Column(STAMP)]
        keys = []
        if self.likely(0.4):
            keys.append(Key((*names, "word"), on_conflict=self._conflict(0.4)))
        if self.likely(0.2):
            keys.append(Key(("word",), unique=self.likely(0.6), on_conflict=self._conflict(0.4), inline=True))
        rows = []
        for at in range(1, self.dice.randint(1, 4) + 1):
            row = self.dice.choice(parent.rows) if parent.rows else None
            values = [None if row is None else row[parent.at(name)] for name in target]
            if self.likely(0.1) and not required:
                values = [None] * len(target)
            spelled = [
                self.spelled(value, kind, parent.column(name).type)
                for value, kind, name in zip(values, kinds, target, strict=True)
            ]
            rows.append((str(10 * number + at), *spelled, self.dice.choice(WORDS[:3]), self.dice.choice((None, "old"))))
        hidden = None
        if limited and self.server == "postgresql" and self.likely(0.25):
            hidden = tuple(row[0] for row in rows if row[0] and self.likely(0.6))
        return Table(
            f"child{number}",
            tuple(columns),
            tuple(keys),
            (self._foreign_key(names, parent.name, target, required=required),),
            tuple(rows),
            hidden,
            without_rowid=self._rowless(),
        )

    def _own_type(self, kind: str) -> str:
        """The type of a column that refers to one of this type."""
        if self.server == "postgresql" and kind == "money" and self.likely(0.5):
            return "bigint"
        if self.server == "sqlite" and self.likely(0.15):
            return "word" if kind == "int" else kind
        return kind

    def soft(self) -> tuple[Table, SoftLink]:
        main = self.tables[0]
        kind = main.column("id").type
        own = self.dice.choice(LINK_TYPES[kind])
        rows = []
        for at in range(1, self.dice.randint(1, 3) + 1):
            value = self.dice.choice(main.rows)[0]
            rows.append((str(80 + at), self.spelled(value, own, kind), self.dice.choice(WORDS[:3])))
        columns = (Column("id", "int", nullable=False), Column("about", own), Column("word"))
        return Table("notes", columns, (), (), tuple(rows)), SoftLink("notes", "about", "id")

    def gone(self) -> Table:
        main = self.tables[0]
        columns = tuple(replace(column, nullable=column.name != "id", on_conflict="") for column in main.columns)
        keys = (Key(("code",), on_conflict=self._conflict(0.9)),) if self._conflict(0.4) else ()
        rows: tuple[tuple[Value, ...], ...] = ()
        if self.likely(0.4):
            kind = main.column("id").type
            code = main.column("code").type
            rows = ((self.id_of(kind, 9), "z@x", self.word(code), *[None] * (len(columns) - 3), None),)
        return Table(GONE, (*columns, Column("reconcile_finding")), keys, (), rows)

    # Triggers

    def trigger(self, number: int) -> Trigger:
        tables = [table for table in self.tables if table.name not in (GONE, HOMES)]
        table = self.dice.choice([tables[0], *tables])
        kind = self.dice.choice(KINDS)
        event = self.dice.choice(("UPDATE", "DELETE", "INSERT"))
        if kind in (*TOUCHES, "keep_old", "revert"):
            event = "UPDATE"
        if kind == "reinsert":
            event = "DELETE"
        second, other_id = self._somebody(kind)
        names = [column.name for column in table.columns if column.name not in ("id", "mail")]
        column = self.dice.choice(names)
        if kind in TOUCHES or table.name == "notes":
            column = STAMP if table.name != "notes" else "word"
        deferred = self.server == "postgresql" and kind in ELSEWHERE and self.likely(0.25)
        return Trigger(f"tr{number}", table.name, event, kind, second, other_id, column, deferred)

    def _somebody(self, kind: str) -> tuple[str, str]:
        """The row that a trigger writes to."""
        tables = [table for table in self.tables if table.name != GONE and table.rows]
        table = self.dice.choice([self.tables[0], *tables])
        if kind not in ("delete_other", "change_other"):
            return TRAIL, ""
        return table.name, self.dice.choice(table.rows)[0] or ""

    def chained(self) -> list[Trigger]:
        """A trigger that only writes to the trail, and one on the trail that writes to somebody's row."""
        tables = [table.name for table in self.tables if table.name not in (GONE, HOMES)]
        kind = self.dice.choice(("delete_other", "change_other"))
        event = self.dice.choice(("UPDATE", "DELETE"))
        second, other_id = self._somebody(kind)
        log = Trigger("tr8", self.dice.choice([MAIN, MAIN, *tables]), event, "log")
        return [log, Trigger("tr9", TRAIL, "INSERT", kind, second, other_id)]

    # Rules

    def clean(self) -> dict[str, Any]:
        action = self.dice.choice(("delete", "delete", "set", "set", "merge", "merge", "move"))
        cleaning: dict[str, Any] = {
            "action": action,
            "references": self.dice.choice(("refuse", *("repoint", "capture") * 2)),
        }
        if self.likely(0.7):
            cleaning["triggers"] = "known"
        if self.likely(0.1):
            cleaning["ignore_drift"] = [STAMP]
        if action == "set":
            cleaning["values"] = self._values()
        elif action == "merge":
            ways: Sequence[Any] = ("longest", {"last": "grade"}, {"max": "grade"}, "keep")
            names = self.dice.sample(("code", "a", "b", "status", STAMP), self.dice.randint(0, 3))
            cleaning["fields"] = {name: self.dice.choice([*ways[:2], ways[3]]) for name in names}
            cleaning["surplus"] = self.dice.choice(["delete", "delete", {"set": self._values()}])
        elif action == "move":
            cleaning["to"] = GONE
        stays = action == "set" or "set" in cleaning.get("surplus", "")
        if stays and cleaning["references"] == "capture" and self.likely(0.95):
            cleaning["references"] = "repoint"  # `capture` is refused where nothing is deleted
        return cleaning

    def _values(self) -> dict[str, Any]:
        code = self.tables[0].column("code").type
        choices: dict[str, list[Any]] = {
            "status": ["twin", "twin of {{ keeper.id }}"],
            "code": [
                None,
                "{{ keeper.code }}",
                *(("3.50", "2.5") if code in ("number", "money", "any") else ("z9", "K2")),
            ],
            "a": ["2" if self.tables[0].column("a").type == "int" else "k2", "{{ keeper.a }}"],
            "b": ["{{ keeper.b }}", "{{ keeper.b }}"],
        }
        names = list(dict.fromkeys(self.dice.choices(sorted(choices), (2, 1, 4, 1), k=2)))
        return {name: self.dice.choice(choices[name]) for name in names}


def _collide(columns: Sequence[Column], key: Key, row: Sequence[Value], values: Sequence[Value]) -> bool:
    """Whether two rows are one to a unique key, by the coarsest of the collations."""
    names = [column.name for column in columns]
    both = [[(each[names.index(name)] or "").strip().lower() for name in key.columns] for each in (row, values)]
    return key.unique and both[0] == both[1] and "" not in both[0]


def random_case(server: Server, seed: int) -> Case:
    """The case that this seed means, the same whenever and wherever it is asked for."""
    maker = _Maker(server, random.Random(f"{server} {seed}"))
    limited = server != "sqlite" and maker.likely(0.5)
    main = maker.main()
    main = maker.self_reference(main) if maker.likely(0.35) else main
    has_home = maker.likely(0.25)
    maker.tables.append(maker.at_home(main) if has_home else main)
    maker.tables += [maker.homes()] if has_home else []
    for number in range(1, maker.dice.randint(1, 3) + 1):
        maker.tables.append(maker.child(number, limited=limited))
    links: list[SoftLink] = []
    if maker.likely(0.3):
        table, link = maker.soft()
        maker.tables.append(table)
        links.append(link)
    clean = maker.clean()
    triggers = [maker.trigger(number) for number in range(maker.dice.choice((0, 0, 0, 0, 1, 1, 2)))]
    triggers += maker.chained() if maker.likely(0.12) else []
    if clean["action"] == "move":
        maker.tables.append(maker.gone())
    keep = maker.dice.choice(((), ({"last": "grade"},), ({"first": "grade"},)))
    return Case(server, seed, tuple(maker.tables), clean, keep, tuple(triggers), tuple(links), limited)
