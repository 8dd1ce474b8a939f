"""The question in DuckDB's own form: marks of 64-bit hashes first, then only the records whose hash repeats.

A mark is 17 bytes a record, whatever the length of its key. Marks are grouped in slices by hash: a slice's table fits
the processor's caches, so that many small groupings are faster than one large one and need a fraction of its memory.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from rules.engines.base import Repeats

MARKS = sa.table(
    "marks",
    sa.column("state", sa.SmallInteger),
    sa.column("id_hash", sa.BigInteger),
    sa.column("key_hash", sa.BigInteger),
    sa.column("place"),
    sa.column("differ", sa.BigInteger),
)
_HALF: sa.ColumnElement[int] = sa.literal_column("32")
REPEATED = sa.table("repeated", sa.column("key_hash", sa.BigInteger), sa.column("place"))


def marks(question: Repeats) -> sa.Select[Any]:
    """One small row for every record; a null hash where it takes no part, or has no id."""
    keyed = question.keyed
    columns: list[sa.ColumnElement[Any]] = [
        sa.cast(question.state, sa.SmallInteger).label("state"),
        _key_hash(question).label("key_hash"),
    ]
    if question.identity:
        named = sa.and_(_inside(question, question.state), *(c.is_not(None) for c in question.identity))
        columns.append(sa.case((named, sa.func.hash(*question.identity))).label("id_hash"))
    if question.near is not None:
        columns.append(question.near.at.label("place"))
    if question.differ is not None:
        columns.append(_hash_or_null(question.differ).label("differ"))
    return sa.select(*columns).select_from(keyed)


def states() -> sa.Select[Any]:
    return sa.select(MARKS.c.state, sa.func.count()).group_by(MARKS.c.state)


def named() -> sa.Select[Any]:
    """How many marks carry an id."""
    return sa.select(sa.func.count(MARKS.c.id_hash))


def taking_part() -> sa.Select[Any]:
    return sa.select(sa.func.count(MARKS.c.key_hash))


def different_ids(slices: int, number: int) -> sa.Select[Any]:
    """How many different hashes of ids one slice has."""
    return sa.select(sa.func.count(MARKS.c.id_hash.distinct())).where(_slice(MARKS.c.id_hash, slices, number))


def repeated(question: Repeats, slices: int, number: int) -> sa.Select[Any]:
    """The hashes of one slice that repeat and, where nearness is asked, at which places."""
    hashes = (
        sa.select(MARKS.c.key_hash)
        .where(_slice(MARKS.c.key_hash, slices, number))
        .group_by(MARKS.c.key_hash)
        .having(sa.func.count() >= question.minimum)
    )
    if question.differ is not None:
        hashes = hashes.having(sa.func.min(MARKS.c.differ) < sa.func.max(MARKS.c.differ))
    if question.near is None:
        return hashes
    over: dict[str, Any] = {"partition_by": MARKS.c.key_hash, "order_by": MARKS.c.place}
    ordered = (
        sa.select(
            MARKS.c.key_hash,
            MARKS.c.place,
            sa.func.lag(MARKS.c.place).over(**over).label("before"),
            sa.func.lead(MARKS.c.place).over(**over).label("after"),
        )
        .where(MARKS.c.key_hash.in_(hashes))
        .cte("ordered")
    )
    place = _typed(ordered.c.place, question.near.at)
    before, after = _typed(ordered.c.before, question.near.at), _typed(ordered.c.after, question.near.at)
    near = sa.or_(question.near.within(before, place), question.near.within(place, after))
    return sa.select(ordered.c.key_hash, ordered.c.place).where(near).distinct()


def members(question: Repeats) -> sa.Select[Any]:
    """The records whose hash repeats."""
    # One expression, as in the marks: a condition on the key of its own would be moved into the scan, and computed
    # there once more for every place it mentions the key.
    key = _key_hash(question)
    wanted = sa.select(*(question.keyed.c[name] for name in question.columns))
    if question.near is None:
        return wanted.where(key.in_(sa.select(REPEATED.c.key_hash)))
    return wanted.where(sa.tuple_(key, question.near.at).in_(sa.select(REPEATED.c.key_hash, REPEATED.c.place)))


def narrowed(question: Repeats, table: sa.FromClause) -> Repeats:
    """The question over the records whose plain columns repeat, which spares the others the costly part of the key."""
    if not question.plain or question.over is None:
        return question
    upper = _upper(sa.func.hash(*(table.c[name] for name in question.plain)))
    left = sa.select(table).where(upper.in_(sa.select(_upper(REPEATED.c.key_hash))))
    return question.over(left.subquery("records"))


def _key_hash(question: Repeats) -> sa.ColumnElement[Any]:
    """64 bits; when there are plain columns their hash is the upper half, so that it can be looked up alone."""
    whole: sa.ColumnElement[Any] = sa.func.hash(*question.key)
    if question.plain:
        plain = sa.func.hash(*(question.keyed.c[name] for name in question.plain))
        whole = sa.func.xor(_upper(plain).op("<<")(_HALF), _upper(whole))
    return sa.case((question.takes_part, whole))


def _upper(hashed: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    return hashed.op(">>")(_HALF)


def _inside(question: Repeats, state: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    return state.not_in(question.outside) if question.outside else sa.true()


def _slice(hashed: sa.ColumnElement[int], slices: int, number: int) -> sa.ColumnElement[bool]:
    return hashed.is_not(None) if slices == 1 else hashed % slices == number


def _hash_or_null(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    return sa.case((column.is_not(None), sa.func.hash(column)))


def _typed(column: sa.ColumnElement[Any], like: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    return sa.type_coerce(column, like.type)
