"""Values of a library as DuckDB reads them from Parquet: the same columns give the same findings from either."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import duckdb
import pyarrow as pa

from connectors.coerce import INSTANT
from connectors.duck import NAIVE, exact


class PlainValues:
    """Converts batches of one schema. Nested values, times of day and UUIDs become text, nanoseconds are cut.

    `schema` has the names of the original one; `naive` are the positions of columns with times without a zone.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._con = duckdb.connect(config={"threads": "2"})
        self._con.execute("set TimeZone = 'UTC'")
        self._register(pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema))
        kinds = [row[1] for row in self._con.execute("describe from batch").fetchall()]
        expressions = [exact(f"c{place}", kind) for place, kind in enumerate(kinds)]
        answer = self._ask(expressions).schema
        self.naive = [place for place, kind in enumerate(kinds) if kind in NAIVE]
        self.schema = pa.schema(
            pa.field(field.name, INSTANT if field.type == INSTANT else plain.type, field.nullable)
            for field, plain in zip(schema, answer, strict=True)
        )
        self._expressions = {
            place: expression
            for place, (expression, field) in enumerate(zip(expressions, schema, strict=True))
            if expression != f"c{place}" and field.type != INSTANT
        }

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays: list[pa.Array[Any]] = list(batch.columns)
        if self._expressions:
            self._register(batch)
            table = self._ask(list(self._expressions.values()))
            for place, column in zip(self._expressions, table.columns, strict=True):
                arrays[place] = column.combine_chunks()
        return pa.RecordBatch.from_arrays(
            [array.cast(field.type) for array, field in zip(arrays, self.schema, strict=True)], schema=self.schema
        )

    def close(self) -> None:
        """Safe to call twice."""
        self._con.close()

    def _register(self, batch: pa.RecordBatch) -> None:
        """Show the batch to DuckDB under names that cannot clash."""
        names = [f"c{place}" for place in range(batch.num_columns)]
        self._con.register("batch", pa.Table.from_arrays(batch.columns, names=names))

    def _ask(self, expressions: list[str]) -> pa.Table:
        parts = [f"{expression} as p{place}" for place, expression in enumerate(expressions)]
        answer: pa.Table = self._con.sql(f"select {', '.join(parts)} from batch").to_arrow_table()
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
