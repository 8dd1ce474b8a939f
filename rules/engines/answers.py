"""The answers of engines as rows."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from rules.values import Value


def rows(table: pa.Table) -> list[dict[str, Value]]:
    """Return the table's rows, with instants in UTC."""
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    for name, values in columns.items():
        if pa.types.is_timestamp(table.schema.field(name).type):
            columns[name] = [None if value is None else value.astimezone(dt.UTC) for value in values]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
