"""Values of two tables in one form, in which equal values are equal and their hashes too.

DuckDB would round decimals to compare them: the union of DECIMAL(38, 2) and DECIMAL(38, 10) is DECIMAL(38, 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from rules.kinds.reconciliation.stored import SideTable
from rules.values import Type

Element = sa.ColumnElement[Any]
_MOST_DIGITS = 38
_WHOLE_DIGITS = 20
"""Digits of the largest 64-bit number."""


def alike(name: str, tables: Sequence[SideTable], schemas: Sequence[pa.Schema]) -> tuple[Element, Element]:
    """Return a value of both tables, whose Arrow types are in `schemas`, in one form."""
    held = [table.held(name) for table in tables]
    values = [table.value(name) for table in tables]
    if any(each.is_text for each in held):
        forms = [table.canonical(name, table.value(name)) for table in tables]
    elif all(each.type is Type.FLOAT for each in held):
        forms = [value + 0 for value in values]  # the two zeros have two hashes
    elif not held[0].type.is_number:
        forms = values
    else:
        forms = _numbers(name, tables, values, schemas)
    left, right = forms
    return left, right


def places(name: str, tables: Sequence[SideTable], schemas: Sequence[pa.Schema]) -> int:
    """Return how many decimals a number of both tables can have."""
    pairs = zip(tables, schemas, strict=True)
    return max(_shape(_arrow_type(table, name, schema))[1] for table, schema in pairs)


def _numbers(
    name: str, tables: Sequence[SideTable], values: Sequence[Element], schemas: Sequence[pa.Schema]
) -> list[Element]:
    arrow = [_arrow_type(table, name, schema) for table, schema in zip(tables, schemas, strict=True)]
    if arrow[0] == arrow[1] and not pa.types.is_floating(arrow[0]):
        return list(values)
    if not any(pa.types.is_floating(each) for each in arrow):
        shapes = [_shape(each) for each in arrow]
        whole, places = max(shape[0] for shape in shapes), max(shape[1] for shape in shapes)
        if whole + places <= _MOST_DIGITS:
            return [sa.cast(value, sa.Numeric(whole + places, places)) for value in values]
    return [table.canonical(name, table.value(name)) for table in tables]


def _arrow_type(table: SideTable, name: str, schema: pa.Schema) -> pa.DataType:
    column = table.labels[name] if name in table.computed else table.parts[name].column
    return schema.field(column).type


def _shape(arrow: pa.DataType) -> tuple[int, int]:
    """Return the digits before and after the point that the type can hold."""
    if pa.types.is_decimal(arrow):
        return max(arrow.precision - arrow.scale, 0), arrow.scale
    return _WHOLE_DIGITS, 0
