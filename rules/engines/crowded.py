"""Values of a key that too many records share: their records are counted, and need not leave the engine."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from rules.engines.base import Key, Repeats

CROWDED = sa.table("crowded", sa.column("key_hash", sa.BigInteger), sa.column("records", sa.BigInteger))


def hashes(marks: sa.TableClause, repeated: sa.TableClause, column: str, most: int) -> sa.Select[Any]:
    """Select the repeating hashes in a column of the marks that more than `most` records have, and how many have it."""
    key_hash, records = sa.column(column, sa.BigInteger), sa.func.count()
    labelled: tuple[sa.Label[Any], ...] = (key_hash.label("key_hash"), records.label("records"))
    select = sa.select(*labelled).select_from(marks)
    select = select.where(key_hash.in_(sa.select(repeated.c.key_hash)))
    return select.group_by(key_hash).having(records > most)


def count() -> sa.Select[Any]:
    """Count the crowded hashes."""
    return sa.select(sa.func.count()).select_from(CROWDED)


def total() -> sa.Select[Any]:
    """Count the records with a crowded hash."""
    return sa.select(sa.func.coalesce(sa.func.sum(CROWDED.c.records), sa.literal_column("0")))


def collisions(question: Repeats, key: Key, key_hash: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select the crowded hashes that different values of the key share."""
    parts = (part.label(f"part_{number}") for number, part in enumerate(key.parts))
    hashed = sa.select(key_hash.label("key_hash"), *parts).select_from(question.keyed).subquery("hashed")
    one_hash, *values = hashed.c
    are_alike = sa.and_(sa.true(), *map(_is_one, values))
    select = sa.select(one_hash).where(one_hash.in_(sa.select(CROWDED.c.key_hash)))
    return select.group_by(one_hash).having(sa.not_(are_alike))


def _is_one(value: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that all records of a group have this value, or all have none."""
    values = sa.func.count(value)
    is_equal = sa.and_(values == sa.func.count(), sa.func.min(value) == sa.func.max(value))
    return sa.or_(values == sa.literal_column("0"), is_equal)


def records(question: Repeats, key: Key, most: int) -> sa.Select[Any]:
    """Count the records with a value of the key that more than `most` records have."""
    counted = sa.select(sa.func.count().label("records")).select_from(question.keyed).where(key.is_complete)
    crowded = counted.group_by(*key.parts).having(sa.func.count() > most).subquery("crowded")
    return sa.select(sa.func.coalesce(sa.cast(sa.func.sum(crowded.c.records), sa.BigInteger), 0).label("records"))
