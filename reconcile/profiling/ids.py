"""Choose the columns that identify a dataset's records. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from notifications.wording.words import plural
from reconcile.profiling.columns import PERSONAL, Column, Role
from rules.values import Type

MOST_PAIRS = 30
"""Pairs of columns that are tried; each takes one count over all records."""
_NAMED = (Type.TEXT, Type.INTEGER)
_NO_NAME = (*PERSONAL, Role.AMOUNT, Role.PRICE, Role.CURRENCY, Role.STATE)


@dataclass(frozen=True)
class Id:
    """Columns that identify each record, and why."""

    columns: tuple[str, ...]
    why: str


def choose_id(
    columns: Sequence[Column], keys: Sequence[tuple[str, ...]], is_unique: Callable[[Sequence[str]], bool], records: int
) -> Id | None:
    """Return a key that the source keeps unique, else the smallest unique set of up to two columns; None without one.

    `is_unique` counts whether no two records share the values of several columns.
    """
    by_name = {column.name: column for column in columns}
    unique = f"unique and not null in {plural(records, 'record', 'records')}"
    for names in keys:
        key_columns = [by_name[name] for name in names if name in by_name and by_name[name].empty == 0]
        if len(key_columns) == len(names) and (key_columns[0].is_unique if len(names) == 1 else is_unique(names)):
            return Id(names, f"a key of the table; {unique}")
    for names in _smallest(columns, records):
        if len(names) == 1 or is_unique(names):
            return Id(names, unique)
    return None


def _smallest(columns: Sequence[Column], records: int) -> Iterator[tuple[str, ...]]:
    """Yield sets of columns that may identify records, the most plausible first; single columns are unique."""
    possible = [c for c in columns if c.empty == 0 and c.type in _NAMED and c.role not in _NO_NAME]
    single = [column for column in possible if column.is_unique]
    yield from ((column.name,) for column in sorted(single, key=_plausible) if column.is_identifier)
    pairs = [pair for pair in combinations(possible, 2) if pair[0].different * pair[1].different >= records]
    pairs.sort(key=lambda pair: (sum(not _is_name(column) for column in pair), pair[0].different * pair[1].different))
    named = [pair for pair in pairs if all(map(_is_name, pair))][:MOST_PAIRS]
    yield from ((first.name, second.name) for first, second in named)
    yield from ((column.name,) for column in single if not column.is_identifier)
    others = [pair for pair in pairs if pair not in named][: MOST_PAIRS - len(named)]
    yield from ((first.name, second.name) for first, second in others if not (first.is_unique or second.is_unique))


def _is_name(column: Column) -> bool:
    return column.is_identifier or column.name == "_file"


def _plausible(column: Column) -> tuple[bool, bool]:
    """Sort `id` first, then what ends like it."""
    return column.words != "id", not column.words.endswith(("id", "uuid", "guid"))
