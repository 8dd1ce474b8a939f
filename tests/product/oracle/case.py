"""What a case of the oracle is: a table, its dataset and a rule; and the answer to it."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.product.oracle.expressions import Expression
from tests.product.oracle.values import Kind, Value

Cell = str | int | float | bool | Decimal | dt.date | dt.datetime | None


@dataclass(frozen=True)
class Column:
    """A column of a table: `kind` is what its values are, `as_text` that the database holds them as texts."""

    name: str
    kind: Kind
    as_text: bool = True
    formats: tuple[str, ...] = ()
    aware: bool = False
    """Instants that PostgreSQL keeps with a time zone, and texts that SQLite compares without case."""

    @property
    def declared(self) -> str:
        return f"{self.kind} {' | '.join(self.formats)}" if self.formats else self.kind


class Percent(Decimal):
    """A distance in per cent of the larger number."""


@dataclass(frozen=True)
class Cut:
    """`gap` or `window` with the columns and their reach, as it is written and as it is added; or another way.

    The columns of `overlap` are those of begin and end, and their reach is what `ends` says. The reach of `consecutive`
    is what `within` says.
    """

    way: str
    limits: tuple[tuple[str, str, Any], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.limits)

    @property
    def written(self) -> dict[str, Any]:
        if self.way == "consecutive":
            [(name, _, within)] = self.limits
            return {"by": name, "within": list(within)}
        if self.way != "overlap":
            return {name: text for name, text, _ in self.limits}
        (begin, ends, _), (end, _, _) = self.limits
        return {"from": begin, "to": end} | ({"ends": ends} if ends else {})


@dataclass(frozen=True)
class Rule:
    """The settings of a rule, as they are written; conditions are expressions."""

    key: tuple[tuple[str, tuple[Any, ...]], ...] | None
    """Columns with their chains; None is `all`."""
    nulls: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    """Columns of `nulls` with `any`; `nulls` are those with `match`."""
    where: Expression | None = None
    cut: Cut | None = None
    repeats: str | None = None
    distinct: str | None = None
    having: Expression | None = None
    minimum: int = 2
    keep: tuple[Any, ...] = ()
    excepted: tuple[tuple[Any, Any], ...] = ()


@dataclass(frozen=True)
class Case:
    """A table, its dataset, and a rule."""

    seed: int
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Cell], ...]
    rule: Rule
    id: tuple[str, ...] = ()
    where: Expression | None = None
    derived: Mapping[str, Expression] = field(default_factory=dict)
    null_values: tuple[str, ...] = ()
    mark: str = ""
    """The decimal mark that is declared."""
    zone: str = "UTC"
    money: tuple[str, str] | None = None
    is_file: bool = True
    """Records without an id have an order in a file; those of a table are compared by their values."""

    @property
    def kinds(self) -> dict[str, Kind]:
        return {column.name: column.kind for column in self.columns} | {
            name: expression.kind for name, expression in self.derived.items()
        }


@dataclass(frozen=True)
class Group:
    """A group as a finding shows it. Ids are what JSON shows, or else the row in the file; tables without have none."""

    keeper: tuple[Any, ...]
    surplus: tuple[tuple[Any, ...], ...]
    key: tuple[tuple[str, Value], ...]
    money: tuple[tuple[str, Decimal], ...] = ()
    number: int = 0
    """Under `repeats`, which record of its value each one is."""
    nearby: int = 0
    """How many records a window left out though they are within its length of a record of the group."""


@dataclass(frozen=True)
class Answer:
    """Everything a rule says about a table."""

    read: int
    scanned: int
    skipped: Mapping[tuple[str, str], int]
    unread: Mapping[str, int] | None
    """Values that cannot be read as declared, by column; None where only those of groups are counted."""
    groups: frozenset[Group]


def named_columns(case: Case) -> set[str]:
    """The columns of the table that the rule names, through derived columns too."""
    rule = case.rule
    names = {name for name, _ in rule.key or ()} | ({rule.distinct} if rule.distinct else set())
    names |= {*rule.cut.columns} if rule.cut else set()
    names |= {rule.repeats} if rule.repeats else set()
    for line in (line for line in rule.keep if isinstance(line, Mapping)):
        names |= {
            name for argument in line.values() for name in ([argument] if isinstance(argument, str) else argument)
        }
    for condition in (rule.where, rule.having):
        names |= condition.columns if condition else set()
    if rule.key is None or "most_complete" in rule.keep:
        names |= {column.name for column in case.columns}
    return names | {name for derived in names & case.derived.keys() for name in case.derived[derived].columns}


def read_columns(case: Case) -> set[str]:
    """The columns that are read for the rule: those it names, and those of its dataset's id, condition and money."""
    if not case.id:
        return {column.name for column in case.columns}
    return named_columns(case) | {*case.id, *(case.money or ())} | (case.where.columns if case.where else set())
