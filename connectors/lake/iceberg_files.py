"""The values of a column in a file of an Iceberg table: from the file's own bounds, or from its partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, LongType, NestedField

from connectors.lake.pruning import Spans, ValueSpan, is_time, span


def spans_of(file: DataFile, schema: Schema, spec: PartitionSpec, stored: pa.Schema, columns: Sequence[str]) -> Spans:
    """Return the spans of these columns; `stored` is the schema in Arrow's types."""
    spans = {name: _span(file, schema.find_field(name), spec, stored.field(name).type) for name in columns}
    return {name: values for name, values in spans.items() if values is not None}


def _span(file: DataFile, column: NestedField, spec: PartitionSpec, kind: pa.DataType) -> ValueSpan | None:
    checks = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_string, is_time)
    if not any(check(kind) for check in (*checks, pa.types.is_large_string)):
        return None
    low, high = ((bounds or {}).get(column.field_id) for bounds in (file.lower_bounds, file.upper_bounds))
    nulls = (file.null_value_counts or {}).get(column.field_id)
    if low is not None and high is not None and nulls is not None:
        return span(kind, _value(column, low), _value(column, high), has_nulls=nulls > 0)
    for value in _partition_values(file, column, spec):
        return span(kind, value, value, has_nulls=value is None)
    return None


def _value(column: NestedField, bound: bytes) -> Any:
    """Read a bound; one of a widened whole number has the bytes of the narrower type."""
    if isinstance(column.field_type, IntegerType | LongType):
        return int.from_bytes(bound, "little", signed=True)
    return from_bytes(column.field_type, bound)  # type: ignore[arg-type]  # the types above are primitive


def _partition_values(file: DataFile, column: NestedField, spec: PartitionSpec) -> Iterator[Any]:
    for position, field in enumerate(spec.fields):
        if field.source_id == column.field_id and isinstance(field.transform, IdentityTransform):
            yield file.partition[position]
