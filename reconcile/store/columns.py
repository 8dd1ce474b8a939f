"""The column types of the store: stored alike on SQLite and PostgreSQL, and never changed once released.

A new stored form is a new type beside the old one: migrations name these types and must mean the same for ever.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from rules.values import canonical_instant


class Word(TypeDecorator[str]):
    """Text that sorts by code point on both databases, whatever the server's locale."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        return dialect.type_descriptor(sa.Text(collation="C") if dialect.name == "postgresql" else sa.Text())


class Instant(TypeDecorator[dt.datetime]):
    """An aware time as `2026-11-21T05:15:00.000000Z`: exact to the microsecond, 27 characters, sorted as time is.

    Text, so that both databases hold the same bytes and a person can read them. Binding a naive time is a ValueError.
    """

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        return dialect.type_descriptor(sa.Text(collation="C") if dialect.name == "postgresql" else sa.Text())

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else canonical_instant(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> dt.datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else dt.datetime.fromisoformat(value)


class Json(TypeDecorator[Any]):
    """Plain JSON as ASCII text with sorted keys; None is SQL NULL.

    Text rather than the databases' JSON types: those refuse or alter what real data holds (NUL, lone surrogates,
    long decimals), and equal values must be equal bytes. Decimals and times are given as text by the caller.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else json_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else json.loads(value)


class Document(TypeDecorator[Any]):
    """JSON that people read later: its keys stay in the order they were written in; None is SQL NULL."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else json.loads(value)


def json_text(value: Any) -> str:
    """JSON with sorted keys, no spaces, ASCII: one text for one value. Raises TypeError or ValueError for others."""
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
