"""Choose the columns that identify a dataset's records. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from notifications.wording.words import plural
from reconcile.profiling.columns import PERSONAL, ProfiledColumn
from reconcile.profiling.headers import ColumnRole
from rules.values import PLACE, Type

MOST_PAIRS = 30
"""Pairs of columns that are tried; each takes one count over all records."""
_NAMED = (Type.TEXT, Type.INTEGER)
_OF_RECORDS = ("id", "uuid", "guid")
"""Ends of names of columns that identify records; a `no` or a `reference` identifies a document."""
_NO_NAME = (*PERSONAL, ColumnRole.AMOUNT, ColumnRole.PRICE, ColumnRole.CURRENCY, ColumnRole.STATE)


@dataclass(frozen=True)
class Id:
    """Columns that identify each record, and why; if it `is_open`, a person should decide that."""

    columns: tuple[str, ...]
    why: str
    is_open: bool = False


def choose_id(
    columns: Sequence[ProfiledColumn],
    keys: Sequence[tuple[str, ...]],
    is_unique: Callable[[Sequence[str]], bool],
    records: int,
    *,
    is_table: bool = True,
) -> Id | None:
    """Return a key that the source keeps unique, else the smallest unique set of up to two columns; None without one.

    Texts without the name of an identifier, dates and amounts are never proposed; a number of a document is open.

    `keys` are those of a table if it `is_table`, else of the files of a bank.
    `is_unique` counts whether no two records share the values of several columns.
    """
    by_name = {column.name: column for column in columns}
    of_source = "a key of the table" if is_table else "identifies each entry of a bank file"
    unique = f"unique and not null in {plural(records, 'record', 'records')}"
    for names in keys:
        key_columns = [by_name[name] for name in names if name in by_name and by_name[name].empty == 0]
        if len(key_columns) == len(names) and (key_columns[0].is_unique if len(names) == 1 else is_unique(names)):
            return Id(names, f"{of_source}; {unique}")
    for names in _smallest(columns, records):
        if len(names) == 1 or is_unique(names):
            return Id(names, unique)
    document = next((c for c in columns if c.is_unique and c.is_identifier and _is_document(c)), None)
    why = f"unique in {plural(records, 'record', 'records')} today; as an id it hides a repeated one"
    return None if document is None else Id((document.name,), why, is_open=True)


def _smallest(columns: Sequence[ProfiledColumn], records: int) -> Iterator[tuple[str, ...]]:
    """Yield sets of columns that may identify records, the most plausible first; single columns are unique."""
    possible = [c for c in columns if c.empty == 0 and c.type in _NAMED and c.role not in _NO_NAME]
    possible = [c for c in possible if c.type is not Type.TEXT or _is_name(c) or _is_numbering(c)]
    single = [column for column in possible if column.is_unique and not _is_document(column)]
    yield from ((column.name,) for column in sorted(single, key=_plausible) if column.is_identifier)
    pairs = [pair for pair in combinations(possible, 2) if pair[0].different * pair[1].different >= records]
    pairs.sort(key=lambda pair: (sum(not _is_name(column) for column in pair), pair[0].different * pair[1].different))
    named = [pair for pair in pairs if all(map(_is_name, pair))][:MOST_PAIRS]
    yield from ((first.name, second.name) for first, second in named)
    yield from ((column.name,) for column in single if not column.is_identifier)
    others = [pair for pair in pairs if pair not in named][: MOST_PAIRS - len(named)]
    yield from ((first.name, second.name) for first, second in others if not (first.is_unique or second.is_unique))


def _is_numbering(column: ProfiledColumn) -> bool:
    """Return True for texts like 0001 and 0002."""
    return column.share(str.isdigit) == 1 and column.role is not ColumnRole.DOCUMENT


def _is_document(column: ProfiledColumn) -> bool:
    """Return True for a reference: unique today, it is repeated by the double payment of next month."""
    return column.role is ColumnRole.DOCUMENT and not column.words.endswith(_OF_RECORDS)


def _is_name(column: ProfiledColumn) -> bool:
    return column.is_identifier or column.name in PLACE


def _plausible(column: ProfiledColumn) -> tuple[bool, bool]:
    """Sort `id` first, then what ends like it."""
    return column.words != "id", not column.words.endswith(_OF_RECORDS)
