"""The question how many records lack a value in some columns, for any engine, and what its answer means."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

_CASTS = frozenset({"postgresql", "mysql", "mariadb", "sqlite", "duckdb"})
"""Dialects in which any column of texts can be compared as text; elsewhere only nulls are counted."""
_ALL = "records"


def question(table: sa.FromClause, columns: Iterable[str], texts: Collection[str], dialect: str) -> sa.Select[Any]:
    """Count all records, and those with a value in each column; of `texts`, one without characters is none."""

    def present(name: str) -> sa.ColumnElement[int]:
        column = table.c[name]
        is_text = dialect in _CASTS and name in texts
        return sa.func.count(sa.func.nullif(sa.cast(column, sa.String), "") if is_text else column)

    counts = (present(name).label(f"c{number}") for number, name in enumerate(columns))
    asked: list[sa.ColumnElement[Any]] = [sa.func.count().label(_ALL), *counts]
    return sa.select(*asked).select_from(table)


def shares(answer: pa.Table, columns: Sequence[str]) -> dict[str, float]:
    """Return the share of all records without a value, by column; empty if there are no records."""
    [counts] = answer.to_pylist()
    records = int(counts[_ALL])
    if not records:
        return {}
    return {name: 1 - int(counts[f"c{number}"]) / records for number, name in enumerate(columns)}
