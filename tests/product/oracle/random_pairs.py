"""Random tables and rules for the oracle: few different values, most of them awkward."""

import datetime as dt
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from tests.product.oracle.case import Case, Cell, Column, Cut, Percent, Rule
from tests.product.oracle.conditions import condition, derived, having
from tests.product.oracle.plain import answer
from tests.product.oracle.values import Kind

DRAWS = 6
FOUND_NOTHING = 0.15
TEXTS = (
    *("A1", "a1", "A1 ", " A1", "\u00a0A1", "\tA1", "Müller", "Mu\u0308ller", "MULLER", "müller", "Straße", "STRASSE"),
    *("B-007", "b 7", "B-0070", "B007", "ＡＢ", "AB", "ab", "ﬁ", "fi", "A\u200b", "A", "é", "e\u0301", "e", "Σ", "ς"),
    *(
        "20",
        "100",
        "020",
        "20.0",
        "1-23",
        "12-3",
        "2025/17",
        "20251-7",
        "000",
        "a\nb",
        "a b",
        "null",
        "N/A",
        "-",
        "none",
        "it's",
    ),
    *('"q"', "a;b", "a,b", "x  y", "x y", "x\u2003y", "%", "_", "a\\%", "٣", "3", "²", "日本", "\U0001f600"),
    *("Mueller", "MÜLLER", "MUELLER", "Ü", "Ue", "a\U0001f600b", "\U0001f600\u0301"),
)
MAILS = (
    *("ann@example.com", "Ann <ANN@Example.com>", "ann+x@example.com", "a.nn@gmail.com", "ann@googlemail.com"),
    *("ann", "ann@", "bob@example.com", " bob@example.com "),
)
PHONES = ("+49 30 901820", "030/90 18 20", "0049 30 901820", "+4930901820", "abc", "030 901821", "+44 20 7946 0958")
NAMES = ("Lee, Ann", "Ann Lee", "ann  LEE", "Ann Lee Ann", "L\u00adee Ánn", "Ann-Lee 2", "2 Lee Ann", "-")
WORDS: tuple[tuple[Any, ...], ...] = (("words",), ("unaccent", "casefold", "words"), ("nfkc", "words", {"prefix": 3}))
EMPTY = ("", " ", "\u00a0", "\u3000\t", None, None)
STATUS = ("ok", "void", "paid", "OK", "ok ")
POOLS: Mapping[Kind, tuple[str, ...]] = {
    "text": TEXTS,
    "integer": ("7", "07", "+7", "-7", "0", "-0", "1", "2", "10", "20", "7.0", "x", "9223372036854775808", "1e3"),
    "decimal": (
        *("10.5", "10.50", "010.5", "-3", "+3", "3", "0", "-0.00", "20", "20.00", "100", "1,234.50", "1234.5", "0.125"),
        *(
            "-20",
            "abc",
            "1e3",
            "12.5.1",
            "--1",
            "1_0",
            "1,234",
            "0,125",
            "1,23",
            "1'234.5",
            "1 234",
            "1,234,567",
            " 10.5 ",
            ".5",
            "5.",
            "9" * 26,
            "9" * 27,
            "12345678901234567890.123456789012",
            "0.0000000000001",
            "12,34",
        ),
    ),
    "float": ("0.25", "0.250", "2.5e-1", "-2.5", "1e1", "10", "1.0E0", " 0.25", "nan", "inf", "x"),
    "boolean": ("true", "YES", "T", "1", "y", "false", "No", "f", " no ", "0", "maybe", "2"),
    "date": (
        "2026-03-01",
        "2026-03-02",
        "2026-03-04",
        "2026-02-28",
        "2026-02-29",
        "01.03.2026",
        "1.3.2026",
        "2026-3-1",
        " 2026-03-01",
        "1000-01-01",
        "9999-12-31",
        "soon",
    ),
    "instant": (
        *("2026-03-01T10:00:00Z", "2026-03-01T11:00:00+01:00", "2026-03-01 10:00:00", "2026-03-01T10:00"),
        *("2026-03-01T10:10:00Z", "2026-03-01T10:14:00.5Z", "2026-03-01T10:15:00Z", "2026-03-01T10:16:00Z"),
        *(
            "2026-03-01T05:15:00-05:00",
            "2026-03-01T11:15:00+0100",
            "2026-03-01",
            "2026-03-01 10:14:00.5 +00:00",
            "2026-10-25T02:30:00",
            "2026-10-25T01:30:00Z",
            "2026-10-25T00:30:00Z",
        ),
        *("2026-03-29T02:30:00", "2026-03-29T01:00:00Z", "2026-03-01T25:00:00Z", "soon", "2026-02-30T10:00:00Z"),
    ),
}
TYPED: Mapping[Kind, tuple[Cell, ...]] = {
    "text": TEXTS,
    "integer": (0, 1, 2, -2, 4, 5, 10, 20, 100, -20, 2**62),
    "decimal": tuple(map(Decimal, ("0.00", "10.50", "20.00", "-3.25", "3.25", "100.00", "-20.00", "0.01", "0.05"))),
    "float": (0.0, 0.25, -0.25, 2.5, 10.0, 20.0, -2.5),
    "boolean": (True, False),
    "date": (
        *(dt.date(2026, month, day) for month, day in ((3, 1), (3, 2), (3, 4), (2, 28), (10, 25))),
        dt.date(1000, 1, 1),  # a text of an earlier year is unreadable
        dt.date(9999, 12, 31),
    ),
    "instant": tuple(
        dt.datetime(2026, month, day, hour, minute, second, micro)  # noqa: DTZ001 - wall clock of the dataset's zone
        for month, day, hour, minute, second, micro in (
            *((3, 1, 10, 0, 0, 0), (3, 1, 10, 10, 0, 0), (3, 1, 10, 14, 0, 500000), (3, 1, 10, 15, 0, 0)),
            *((3, 1, 10, 16, 0, 0), (3, 1, 10, 30, 0, 0), (3, 1, 23, 59, 0, 0), (3, 2, 0, 5, 0, 0)),
            *((10, 25, 2, 30, 0, 0), (10, 25, 1, 30, 0, 0), (3, 29, 3, 0, 0, 0)),
        )
    ),
}
KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("k", "Order No", "mail", "phone", "select", "cur"), "text"),
    "n": "integer",
    "amt": "decimal",
    "f": "float",
    "b": "boolean",
    "d": "date",
    "at": "instant",
    "until": "instant",
    "m": "integer",
}
SPECIAL: Mapping[str, tuple[str, ...]] = {
    "mail": MAILS,
    "phone": PHONES,
    "select": STATUS,
    "cur": ("EUR", "USD", "EUR", "EUR"),
}
FORMATS: Mapping[Kind, tuple[tuple[str, ...], ...]] = {
    "date": ((), (), ("%d.%m.%Y",), ("%Y-%m-%d", "%d.%m.%Y")),
}
CHAINS: Mapping[Kind, tuple[tuple[Any, ...], ...]] = {
    "text": (
        *(
            (),
            (),
            ("trim",),
            ("squeeze",),
            ("lower",),
            ("upper",),
            ("casefold",),
            ("nfkc",),
            ("unaccent",),
            ("alnum",),
            ("digits",),
        ),
        *(("letters",), ("strip_zeros",), ("docno",), ({"prefix": 1},), ({"prefix": 2},), ("trim", "casefold")),
        *(({"map": {"A1": "B", "a1": None}},), ({"regex": ["[0-9]+", "#"]},), ({"regex": ["[^0-9]", ""]},)),
        *(("nfkc", "unaccent", "lower"), ("trim", "digits", "strip_zeros"), ("squeeze", "lower", {"prefix": 3})),
        *(("alnum", "casefold"), ("letters", "unaccent")),
        *(
            ({"translit": "de"},),
            ({"translit": "de"}, "unaccent", "casefold"),
            ({"suffix": 2},),
            ("trim", {"suffix": 1}),
        ),
    ),
    "integer": ((), (), ("abs",), ({"round": -1},)),
    "decimal": ((), (), ("abs",), ({"round": 0},), ({"round": 1},), ({"round": -1}, "abs")),
    "float": ((), ("abs",), ({"round": 1},)),
    "boolean": ((),),
    "date": ((), ("day",), ("month",), ("week",), ("quarter",), ("year",), ("weekday",)),
    "instant": ((), ("day",), ("hour",), ("week",), ("month",), ("quarter",), ("year",), ("day", "weekday")),
}
PERIODS = (("at", "until"), ("until", "at"), ("n", "m"))
REACHES: Mapping[Kind, tuple[tuple[str, Any], ...]] = {
    "instant": (
        *(("15m", dt.timedelta(minutes=15)), ("6h", dt.timedelta(hours=6)), ("14m", dt.timedelta(minutes=14))),
        ("1d", dt.timedelta(days=1)),
    ),
    "date": (("1d", dt.timedelta(days=1)), ("3d", dt.timedelta(days=3))),
    "integer": (("1", Decimal(1)), ("10", Decimal(10)), ("50%", Percent(50))),
    "decimal": (("0.05", Decimal("0.05")), ("10", Decimal(10)), ("1%", Percent(1)), ("99.5%", Percent("99.5"))),
}


def random_case(seed: int) -> Case:
    """The case of this seed, always the same. Most of those that find nothing are drawn again."""
    draw = random.Random(seed)
    for _ in range(DRAWS):
        case = _Draw(seed, draw).case()
        told = answer(case)
        if (told and told.groups) or draw.random() < FOUND_NOTHING:
            break
    return case


class _Draw:
    """One case in the making."""

    def __init__(self, seed: int, draw: random.Random) -> None:
        self.seed = seed
        self.random = draw
        self.added = random.Random(repr(draw.getstate()))
        """Draws what was added later, so that a seed without it means the same pair as before."""
        self.plain = self.chance(0.6)
        """Most databases can answer themselves: types of their own, UTC, and normalisers that they have."""
        self.bare = self.plain and self.chance(0.4)
        """SQLite can, too: it has neither decimals nor times."""
        self.mark = self.random.choice(("", "", ".", ","))
        self.columns = tuple(self._column(name, kind) for name, kind in KINDS.items() if self._wants(kind))
        if not any(column.kind == "text" for column in self.columns):
            self.columns += (Column("k", "text"),)
        self.id, ids = self._id()
        self.columns = (*ids, *self.columns)
        self.data = self.columns[len(ids) :]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def _wants(self, kind: Kind) -> bool:
        if self.bare and kind not in ("text", "integer", "boolean"):
            return self.chance(0.03)
        return self.chance(0.15 if self.plain and kind == "float" else 0.5)

    def case(self) -> Case:
        rows = self._rows()
        formulas = {"x": derived(self.random, self.data)} if self.chance(0.25) else {}
        kinds = {column.name: column.kind for column in self.data} | {n: e.kind for n, e in formulas.items()}
        zone = "UTC" if self.plain else self.random.choice(("UTC", "Europe/Berlin", "America/New_York"))
        return Case(
            self.seed,
            self.columns,
            rows,
            self._rule(kinds, rows, zone),
            self.id,
            condition(self.random, {c.name: c.kind for c in self.data}, zone) if self.chance(0.25) else None,
            formulas,
            tuple(self.random.sample(("N/A", "-", "none", "A1", "ok"), 2))
            if self.chance(0.1 if self.plain else 0.4)
            else (),
            self.mark,
            zone,
            self._money(kinds),
        )

    def _column(self, name: str, kind: Kind) -> Column:
        as_text = kind == "text" or self.chance(0.15 if self.plain else 0.5)
        formats = self.random.choice(FORMATS.get(kind, ((),)))
        return Column(name, kind, as_text, formats, aware=self.chance(0.6))

    def _id(self) -> tuple[tuple[str, ...], tuple[Column, ...]]:
        if self.chance(0.08):
            return (), ()
        if self.chance(0.15):
            return ("part", "id"), (Column("part", "text"), Column("id", "integer", as_text=False))
        return ("id",), (self.random.choice((Column("id", "integer", as_text=False), Column("id", "text"))),)

    # Rows

    def _rows(self) -> tuple[Mapping[str, Cell], ...]:
        domains = {column.name: self._domain(column) for column in self.data}
        rows: list[dict[str, Cell]] = []
        for _ in range(self.random.choice((0, 2, 3, 5, 8, 12, 16))):
            row = dict(self.random.choice(rows)) if rows and self.chance(0.6) else {}
            for name, domain in domains.items():
                if name not in row or self.chance(0.25):
                    row[name] = self.random.choice(domain)
            rows.append(row)
        clash = self.chance(0.15)
        for number, row in enumerate(rows, 1):
            self._name(row, number - 1 if clash and number > 1 and self.chance(0.3) else number)
        self.random.shuffle(rows)
        return tuple(rows)

    def _domain(self, column: Column) -> list[Cell]:
        pool: Sequence[Cell] = SPECIAL.get(column.name) or (POOLS if column.as_text else TYPED)[column.kind]
        values = [self._spelled(column, self.random.choice(pool)) for _ in range(self.random.randint(1, 4))]
        if column.kind == "text" and column.name not in SPECIAL and self.added.random() < 0.15:
            values += self.added.sample(NAMES, 3)
        if self.chance(0.4):
            values += [self.random.choice(EMPTY) if column.as_text else None]
        return values

    def _spelled(self, column: Column, cell: Cell) -> Cell:
        """A text as its dataset writes numbers and days."""
        if isinstance(cell, str) and column.kind in ("decimal", "float", "integer") and self.mark == ",":
            return cell.translate(str.maketrans(",.", ".,"))
        if isinstance(cell, str) and column.formats and self.chance(0.6) and len(cell) == 10 and cell[:4].isdigit():
            return f"{cell[8:]}.{cell[5:7]}.{cell[:4]}"
        return cell

    def _name(self, row: dict[str, Cell], number: int) -> None:
        for column in self.columns[: len(self.id)]:
            typed: Cell = number if column.kind == "integer" else f"R-{number}"
            row[column.name] = "ab"[number % 2] if column.name == "part" else typed

    # The rule

    def _rule(self, kinds: Mapping[str, Kind], rows: Sequence[Mapping[str, Cell]], zone: str) -> Rule:
        names = self.random.sample(list(kinds), min(len(kinds), self.random.choice((1, 1, 1, 2, 2, 3))))
        whole = self.chance(0.04)
        free = {name: kind for name, kind in kinds.items() if name not in names and not whole}
        cut = self._cut(free)
        others = [name for name in free if cut is None or name not in cut.columns]
        rule = Rule(
            key=None if whole else tuple((name, self._chain(name, kinds[name])) for name in names),
            nulls=frozenset() if whole else frozenset(name for name in names if self.chance(0.1)),
            where=condition(self.random, kinds, zone) if self.chance(0.4) else None,
            cut=cut,
            distinct=self.random.choice(others) if others and self.chance(0.12) else None,
            having=having(self.random, kinds, zone) if self.chance(0.25) else None,
            minimum=3 if self.chance(0.12) else 2,
            keep=tuple(self._line(kinds) for _ in range(self.random.randint(1, 3))) if self.chance(0.6) else (),
            excepted=self._excepted(rows) if self.chance(0.15) else (),
        )
        if len(rule.key or ()) > 1 and cut is None and self.added.random() < 0.5:
            opened = frozenset(self.added.sample(names, self.added.randint(1, len(names) - 1)))
            return replace(rule, open=opened, nulls=rule.nulls - opened)
        numbered = [name for name in others if name != rule.distinct]
        if cut is None and numbered and self.added.random() < 0.25:
            return replace(rule, repeats=self.added.choice(numbered))
        if cut is None and not whole and self.added.random() < 0.2:
            return replace(rule, cut=self._consecutive(names, others, kinds, rows))
        return rule

    def _consecutive(
        self,
        names: Sequence[str],
        others: Sequence[str],
        kinds: Mapping[str, Kind],
        rows: Sequence[Mapping[str, Cell]],
    ) -> Cut | None:
        """An order of the records; none where two share an id, for nothing is said about which of them is first."""
        ids = [tuple(row[name] for name in self.id) for row in rows]
        orders = [name for name in others if kinds[name] in REACHES]
        if not orders or (self.id and len(set(ids)) < len(ids)):
            return None
        within = self.added.sample(list(names), self.added.randint(0, len(names) - 1))
        return Cut("consecutive", ((self.added.choice(orders), "", tuple(within)),))

    def _chain(self, name: str, kind: Kind) -> tuple[Any, ...]:
        if name == "mail" and self.chance(0.1 if self.plain else 0.7):
            return self.random.choice((("email",), ("mailbox",)))
        if name == "phone" and self.chance(0.1 if self.plain else 0.7):
            return ({"phone": "DE"},)
        if kind == "text" and not self.bare and self.added.random() < 0.1:
            return self.added.choice(WORDS)
        chain: tuple[Any, ...] = self.random.choice(CHAINS[kind])
        return () if self.plain and chain and kind in ("float", "date") else chain

    def _cut(self, kinds: Mapping[str, Kind]) -> Cut | None:
        names = [name for name, kind in kinds.items() if kind in REACHES]
        if not names or self.chance(0.6):
            return None
        periods = [pair for pair in PERIODS if kinds.keys() >= {*pair}]
        if periods and self.chance(0.4):
            begin, end = self.random.choice(periods)
            ends = self.random.choice(("", "", "included", "excluded"))
            return Cut("overlap", ((begin, ends, None), (end, "", None)))
        chosen = self.random.sample(names, min(len(names), self.random.choice((1, 1, 2))))
        limits = tuple((name, *self.random.choice(REACHES[kinds[name]])) for name in chosen)
        return Cut(self.random.choice(("gap", "window")), limits)

    def _line(self, kinds: Mapping[str, Kind]) -> Any:
        numbers = [name for name, kind in kinds.items() if kind in ("integer", "decimal", "float")]
        ordered = [name for name, kind in kinds.items() if kind != "boolean"]
        lines: list[Callable[[], Any]] = [
            lambda: "most_complete",
            *[lambda: {self.random.choice(("first", "last")): self.random.choice(ordered)}] * 2,
        ]
        if numbers:
            lines += [lambda: {self.random.choice(("max", "min")): self.random.choice(numbers)}] * 2
        if "select" in kinds:
            lines += [lambda: {"prefer": {"select": self.random.sample(("ok", "void", "paid"), 2)}}]
        return self.random.choice(lines)()

    def _excepted(self, rows: Sequence[Mapping[str, Cell]]) -> tuple[tuple[Any, Any], ...]:
        ids: list[Any] = []
        for row in rows:
            ids += [written] if (written := [row[name] for name in self.id]) not in ids else []
        if not self.id or len(ids) < 2:
            return ()
        pairs = [self.random.sample(ids, 2) for _ in range(self.random.randint(1, 2 * len(ids)))]
        single = len(self.id) == 1
        return tuple((left[0], right[0]) if single else (left, right) for left, right in pairs)

    def _money(self, kinds: Mapping[str, Kind]) -> tuple[str, str] | None:
        amounts = [name for name in ("amt", "n") if name in kinds]
        if not amounts or self.chance(0.5):
            return None
        return self.random.choice(amounts), "cur" if "cur" in kinds and self.chance(0.6) else "EUR"
