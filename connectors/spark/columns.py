"""The columns of a Spark dataset: how Spark selects them, and their types here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from connectors.spark.settings import SparkDataset
from connectors.sql.reading import AnswerColumn, AsDeclared, Kind
from connectors.sql.values import Wall, arrow_type

_SAME: dict[str, Kind] = {
    "boolean": sa.Boolean(),
    "tinyint": sa.BigInteger(),
    "smallint": sa.BigInteger(),
    "int": sa.BigInteger(),
    "bigint": sa.BigInteger(),
    "double": sa.Double(),
    "date": sa.Date(),
    "timestamp": sa.DateTime(timezone=True),
    "string": sa.Text(),
    "binary": sa.LargeBinary(),
}


@dataclass(frozen=True)
class SparkColumn:
    """A column: the type it has here, the type Spark casts it to, and whether Spark compares it exactly as we do."""

    name: str
    kind: Kind
    cast: str | None
    pushable: bool
    nullable: bool

    def selected(self) -> str:
        """The column in Spark's SQL, cast: text, because the functions of Spark Connect are not those of a context."""
        name = "`" + self.name.replace("`", "``") + "`"
        if self.cast == "json":
            return f"to_json({name}) AS {name}"
        return f"CAST({name} AS {self.cast}) AS {name}" if self.cast else name

    def answer(self, dataset: SparkDataset) -> AnswerColumn:
        return AnswerColumn(self.name, self.kind, dataset.declared(self.name))

    def declaring(self, dataset: SparkDataset) -> Kind:
        """The type in a statement, with which a declared column is never compared by Spark."""
        if not self.is_declared(dataset):
            return self.kind
        return AsDeclared(self.kind, dataset.declared(self.name), dataset.notation)

    def is_declared(self, dataset: SparkDataset) -> bool:
        """Return True if a value here may differ from the one in Spark."""
        return self.name in dataset.columns or bool(dataset.null_values and arrow_type(self.kind) == pa.string())


def columns(frame: Any, timezone: str) -> list[SparkColumn]:
    """Return the columns of a frame, with naive times in that zone."""
    return [_column(field, timezone) for field in frame.schema.fields]


def _column(field: Any, timezone: str) -> SparkColumn:
    kind_name = field.dataType.simpleString()
    name, nullable = field.name, bool(field.nullable)
    if kind_name in _SAME:
        # A text may have a collation, which `simpleString` adds; then it is none of these.
        return SparkColumn(name, _SAME[kind_name], None, pushable=True, nullable=nullable)
    if kind_name.startswith("decimal("):
        precision, scale = field.dataType.precision, field.dataType.scale
        return SparkColumn(name, sa.Numeric(precision, scale), None, pushable=True, nullable=nullable)
    if kind_name == "float":
        return SparkColumn(name, sa.Double(), "double", pushable=True, nullable=nullable)
    if kind_name == "timestamp_ntz":
        if timezone == "UTC":
            kind = sa.DateTime(timezone=True)
            return SparkColumn(name, kind, "timestamp", pushable=True, nullable=nullable)
        return SparkColumn(name, Wall(timezone), None, pushable=False, nullable=nullable)
    is_nested = kind_name.startswith(("struct<", "array<", "map<", "variant"))
    return SparkColumn(name, sa.Text(), "json" if is_nested else "string", pushable=False, nullable=nullable)
