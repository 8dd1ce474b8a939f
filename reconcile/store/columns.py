"""The column types of the store: stored alike on SQLite and PostgreSQL, and never changed once released.

A new stored form is a new type beside the old one: migrations use these types and must keep their meaning.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from rules.values import canonical_instant
from rules.values.compact import encoder


class Word(TypeDecorator[str]):
    """Text that sorts by code point on both databases, independent of the server's locale."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        return dialect.type_descriptor(sa.Text(collation="C") if dialect.name == "postgresql" else sa.Text())


class Instant(TypeDecorator[dt.datetime]):
    """An aware time as `2026-11-21T05:15:00.000000Z`: exact to the microsecond, 27 characters, sorted by time.

    Text, so that both databases hold the same readable bytes. Binding a naive time is a ValueError.
    """

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        return dialect.type_descriptor(sa.Text(collation="C") if dialect.name == "postgresql" else sa.Text())

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else _instant_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> dt.datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else dt.datetime.fromisoformat(value)


class Json(TypeDecorator[Any]):
    """Plain JSON as ASCII text with sorted keys; None is SQL NULL.

    Text rather than the databases' JSON types: those refuse or alter some real data (NUL, lone surrogates,
    long decimals), and equal values must be equal bytes. The caller passes decimals and times as text.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else json_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else json.loads(value)


class OrderedJson(TypeDecorator[Any]):
    """JSON for display: its keys keep their order; None is SQL NULL."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else json.loads(value)


def json_text(value: Any) -> str:
    """Return JSON with sorted keys, no spaces, ASCII: equal values give equal text. Raises TypeError or ValueError."""
    return _CANONICAL(value)


_instant_text = functools.lru_cache(maxsize=64)(canonical_instant)  # of one transaction, nearly all are the same
_CANONICAL = encoder(sort_keys=True, allow_nan=False)
