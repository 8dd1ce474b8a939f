"""The question for DuckDB: a mark of 64-bit hashes for every record, then only records whose mark repeats.

A mark is some 20 bytes for any key length. We find repeating hashes by sorting their upper halves as integers, a
slice at a time, and then the few full hashes with equal halves: several times faster than a GROUP BY, in a small,
fixed amount of memory. Two keys may share a hash, so the result is a superset; `rules.grouping` compares the values.
A whole number is its own handle: it finds its record again without a hash of every other one.

Measured on 2,000,000 records: a dry run takes 3.5 s and 398 MB for a CSV file (window functions over the keys: 5.5 s
and 718 MB), and 12.2 s and 341 MB for a table of SQLite (11.6 s and 493 MB).
"""

from __future__ import annotations

import sys
from typing import Any, TypeVar

import numpy as np
import sqlalchemy as sa

from rules.engines.base import Repeats
from rules.engines.neighbours import is_near, neighbours
from rules.functions import filled

Hashes = np.ndarray[tuple[int], np.dtype[np.uint64]]
Number = TypeVar("Number", np.uint32, np.uint64)

MARKS = sa.table(
    "marks",
    sa.column("state", sa.SmallInteger),
    sa.column("key_hash", sa.BigInteger),
    sa.column("handle", sa.BigInteger),
    sa.column("place"),
    sa.column("until"),
    sa.column("differ", sa.BigInteger),
)
HASHES = sa.table("hashes", sa.column("key_hash", sa.BigInteger))
REPEATED = sa.table("repeated", sa.column("key_hash", sa.BigInteger), sa.column("place"))
CANDIDATES = "candidates"
WHOLE_NUMBERS = frozenset(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"))
"""Types of DuckDB whose values are their own handles."""
_UPPER = 1 if sys.byteorder == "little" else 0
_LOOKED_UP = 22  # bits of a half that say whether it may repeat: a table of 4 MB stays in a processor's cache
_PIECE = 1 << 17
_ONE: sa.ColumnElement[int] = sa.literal_column("1")
_NO_ID: sa.ColumnElement[int] = sa.literal_column("0")


def marks(question: Repeats, *, numbered: bool = False) -> sa.Select[Any]:
    """Select one small row per record; the key hash is null where it takes no part, the handle where it has no id.

    `numbered` says that the handle is one column of WHOLE_NUMBERS.
    """
    columns: list[sa.ColumnElement[Any]] = [
        sa.cast(question.state, sa.SmallInteger).label("state"),
        *(hashed.label(name) for name, hashed in key_hashes(question).items()),
    ]
    if question.handle:
        columns.append(_handle(question, question.keyed, _inside(question), numbered=numbered).label("handle"))
    if question.near is not None:
        columns.append(question.near.at.label("place"))
        columns += [] if question.near.until is None else [question.near.until.label("until")]
    if question.differ is not None:
        columns.append(sa.case((question.differ.is_not(None), sa.func.hash(question.differ))).label("differ"))
    return sa.select(*columns).select_from(question.keyed)


def states() -> sa.Select[Any]:
    return sa.select(MARKS.c.state, sa.func.count()).group_by(MARKS.c.state)


def marked(column: str) -> sa.Select[Any]:
    """Count the marks that have something in that column."""
    return sa.select(sa.func.count(sa.column(column))).select_from(MARKS)


def nameless(question: Repeats) -> sa.Select[Any]:
    """Count the marks that take part and have no handle."""
    takes_part = sa.or_(*(sa.column(name).is_not(None) for name in key_hashes(question)))
    return sa.select(sa.func.count()).select_from(MARKS).where(MARKS.c.handle.is_(None), takes_part)


def span() -> sa.Select[Any]:
    """Select the number of handles, the least and the greatest."""
    handle: sa.ColumnElement[Any] = MARKS.c.handle
    columns: list[sa.ColumnElement[Any]] = [sa.func.count(handle), sa.func.min(handle), sa.func.max(handle)]
    return sa.select(*columns).select_from(MARKS)


def handles() -> sa.Select[Any]:
    """Select the handles."""
    return sa.select(MARKS.c.handle).select_from(MARKS).where(MARKS.c.handle.is_not(None))


def hashes_in(column: str, slices: int, number: int, *, numbered: bool = False) -> sa.Select[Any]:
    """Select one slice of that column's hashes, without nulls; of whole numbers if it is `numbered`."""
    given: sa.ColumnElement[Any] = sa.column(column, sa.BigInteger)
    hashed: sa.ColumnElement[Any] = sa.func.hash(given) if numbered else given
    select = sa.select(hashed.label("hashed")).select_from(MARKS).where(given.is_not(None))
    return select if slices == 1 else select.where(hashed % slices == number)


def repeating_hashes(hashes: Hashes, minimum: int) -> Hashes:
    """Return the hashes that occur at least `minimum` times, each once, sorted."""
    halves = hashes.view(np.uint32)[_UPPER::2]
    ordered = np.sort(halves)
    shift = np.uint32(32 - _LOOKED_UP)
    may_repeat = np.zeros(1 << _LOOKED_UP, np.bool_)
    may_repeat[repeating(ordered, minimum) >> shift] = True
    pieces = (slice(begin, begin + _PIECE) for begin in range(0, len(hashes), _PIECE))
    alike = np.concatenate([hashes[:0], *(hashes[piece][may_repeat[halves[piece] >> shift]] for piece in pieces)])
    alike.sort()
    return repeating(alike, minimum)


def repeating(sorted_: np.ndarray[tuple[int], np.dtype[Number]], minimum: int) -> np.ndarray[Any, np.dtype[Number]]:
    """Return the values that a sorted array has at least `minimum` times, each once."""
    offset = minimum - 1
    repeats = sorted_[offset:][sorted_[offset:] == sorted_[: max(len(sorted_) - offset, 0)]]
    # np.unique loads numpy.ma, 20 ms a run
    return np.concatenate([repeats[:1], repeats[1:][repeats[1:] != repeats[:-1]]])


def repeated(question: Repeats) -> sa.Select[Any]:
    """Select the repeating hashes, if required with different values and near neighbours, and their places."""
    hashes = sa.select(HASHES.c.key_hash)
    if question.differ is not None:
        hashes = (
            sa.select(MARKS.c.key_hash)
            .where(MARKS.c.key_hash.in_(hashes))
            .group_by(MARKS.c.key_hash)
            .having(sa.func.min(MARKS.c.differ) < sa.func.max(MARKS.c.differ))
        )
    if question.near is None:
        return hashes
    beside = neighbours([MARKS.c.key_hash], MARKS.c.place, None if question.near.until is None else MARKS.c.until)
    computed = (column.label(name) for name, column in beside.items())
    ordered = sa.select(MARKS.c.key_hash, *computed).where(MARKS.c.key_hash.in_(hashes)).cte("ordered")
    near = is_near(question.near, dict(ordered.c))
    return sa.select(ordered.c.key_hash, ordered.c["at"].label("place")).where(near).distinct()


def candidates(
    question: Repeats, table: sa.FromClause, *, numbered: bool = False, nameless: bool = True
) -> sa.Select[Any]:
    """Select the records with the handle of a repeated mark: few extra records, found without computing keys.

    `nameless` says that some of them may have no handle.
    """
    marks = {name: sa.column(name, sa.BigInteger) for name in key_hashes(question)}
    repeats = sa.or_(*(_is_repeated(question, hashed, MARKS.c.place) for hashed in marks.values()))
    if numbered and not nameless:
        # A bare column: DuckDB then passes the numbers to the reader of a file, which skips what has none of them.
        [name] = question.handle
        return sa.select(table).where(table.c[name].in_(sa.select(MARKS.c.handle).select_from(MARKS).where(repeats)))
    handles = sa.select(sa.func.coalesce(MARKS.c.handle, _NO_ID)).select_from(MARKS).where(repeats)
    handle = _handle(question, table, numbered=numbered)
    return sa.select(table).where(sa.func.coalesce(handle, _NO_ID).in_(handles))


def members(question: Repeats) -> sa.Select[Any]:
    """Select the records whose hash repeats."""
    # One expression, as in the marks: a condition on the key of its own would be moved into the scan, and computed
    # there once more for every place it mentions the key.
    columns, hashes = [question.keyed.c[name] for name in question.columns], key_hashes(question)
    if not question.keys:
        [key_hash], place = hashes.values(), None if question.near is None else question.near.at
        return sa.select(*columns).where(_is_repeated(question, key_hash, place))
    hashed = sa.select(*columns, *(value.label(name) for name, value in hashes.items())).subquery("hashed")
    repeats = (sa.case((_is_repeated(question, hashed.c[name], None), 1), else_=0) for name in hashes)
    marked = (column.label(key.column) for column, key in zip(repeats, question.keys, strict=True))
    compared = sa.select(*(hashed.c[name] for name in question.columns), *marked).subquery("compared")
    return sa.select(compared).where(sa.or_(*(compared.c[key.column] == _ONE for key in question.keys)))


def key_hashes(question: Repeats) -> dict[str, sa.ColumnElement[Any]]:
    """Return the hash of the key, or of each of several keys; null where it takes no part."""
    if not question.keys:
        return {"key_hash": sa.case((question.takes_part, sa.func.hash(*question.key)))}
    # The number of the key is hashed too: all repeating hashes are in one table.
    return {
        f"key_hash_{number}": sa.case((key.is_complete, sa.func.hash(sa.literal_column(str(number)), *key.parts)))
        for number, key in enumerate(question.keys)
    }


def _is_repeated(
    question: Repeats, key_hash: sa.ColumnElement[Any], place: sa.ColumnElement[Any] | None
) -> sa.ColumnElement[bool]:
    if question.near is None or place is None:
        condition: sa.ColumnElement[bool] = key_hash.in_(sa.select(REPEATED.c.key_hash))
        return condition
    return sa.tuple_(key_hash, place).in_(sa.select(REPEATED.c.key_hash, REPEATED.c.place))


def _handle(
    question: Repeats, table: sa.FromClause, *also: sa.ColumnElement[bool], numbered: bool
) -> sa.ColumnElement[Any]:
    """Return the hash of the handle's columns, or the whole number; null where a part of an id is empty."""
    columns = [table.c[name] for name in question.handle]
    handle: sa.ColumnElement[Any] = sa.cast(columns[0], sa.BigInteger) if numbered else sa.func.hash(*columns)
    present = ((filled(c) if isinstance(c.type, sa.Text) else c).is_not(None) for c in columns)
    return sa.case((sa.and_(*also, *present), handle)) if question.id else handle


def _inside(question: Repeats) -> sa.ColumnElement[bool]:
    return question.state.not_in(question.outside) if question.outside else sa.true()
