"""Convert the rows of a select to Arrow, in bounded memory."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from connectors.base import UnreadableCells
from connectors.coerce import INSTANT, Coercion
from connectors.declared import Declared, Notation
from connectors.errors import ValueDoesNotFit
from connectors.sql.errors import ErrorContext
from connectors.sql.values import (
    DIGITS,
    NOT_BOOLEAN,
    OUTSIDE,
    ArrowColumn,
    Unfit,
    Wall,
    arrow_type,
    from_arrow,
    positions,
    to_arrow,
)

ROWS = 10_000
Kind = sa.types.TypeEngine[Any]


@dataclass(frozen=True)
class AnswerColumn:
    """One column of an answer: its name, its SQL type and its declaration in `columns:`.

    `compared`: the database may have compared it, so an unreadable value is an error.
    """

    name: str
    kind: Kind
    declared: Declared | None = None
    compared: bool = False


class AsDeclared(sa.types.TypeDecorator[Any]):
    """The type of a column that the dataset declares, so that the database never compares it.

    It stays with the column in every statement, so each reader of the column gets the declared values.
    """

    impl = sa.types.NullType
    cache_ok = True

    def __init__(self, kind: Kind, declared: Declared | None, notation: Notation) -> None:
        super().__init__()
        self.kind, self.declared, self.notation = kind, declared, notation

    def load_dialect_impl(self, dialect: sa.Dialect) -> Kind:
        return dialect.type_descriptor(self.kind)


class AnswerReader:
    """Converts driver values to the batches of one answer; counts unreadable values."""

    def __init__(self, columns: Sequence[AnswerColumn], notation: Notation, place: ErrorContext) -> None:
        self._columns = [_stored(column, place.dialect) for column in columns]
        self._place = place
        self._unfit: dict[str, tuple[str, int, int]] = {}
        self._position = 0
        natural = [pa.field(column.name, _natural(column)) for column in self._columns]
        texts = [field.name for field in natural if field.type == pa.string() and notation.null_values]
        declared = {
            column.name: column.declared for column in self._columns if column.declared and not _is_epoch(column)
        }
        self._coerced = [i for i, field in enumerate(natural) if field.name in declared or field.name in texts]
        self._coercion = Coercion(pa.schema([natural[i] for i in self._coerced]), declared, notation)
        for i, field in zip(self._coerced, self._coercion.schema, strict=True):
            natural[i] = field
        self.schema = pa.schema(natural)

    def rows(self, rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
        """A batch from a driver's rows."""
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self._columns)
        arrays = [self._to_arrow(values, column) for values, column in zip(columns, self._columns, strict=True)]
        return self._batch(arrays, len(rows))

    def arrow(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Batches of at most ROWS records from a batch of ADBC."""
        for start in range(0, batch.num_rows, ROWS):
            part = batch.slice(start, ROWS)
            pairs = zip(part.columns, self._columns, strict=True)
            yield self._batch(
                [_epoch(from_arrow(array, column.kind), column) for array, column in pairs], part.num_rows
            )

    def problems(self) -> tuple[UnreadableCells, ...]:
        unfit = [
            UnreadableCells(name, reason, count, _record(first)) for name, (reason, count, first) in self._unfit.items()
        ]
        return (*unfit, *self._coercion.problems())

    def close(self) -> None:
        self._coercion.close()

    def _to_arrow(self, values: Sequence[Any], column: AnswerColumn) -> ArrowColumn:
        return _epoch(to_arrow(values, column.kind, self._place.dialect), column)

    def _batch(self, columns: Sequence[ArrowColumn], rows: int) -> pa.RecordBatch:
        for column, answer_column in zip(columns, self._columns, strict=True):
            if column.unfit:
                self._count(answer_column, column.unfit)
        arrays: list[Any] = [column.array for column in columns]
        if self._coerced:
            names = [self._columns[i].name for i in self._coerced]
            part = pa.RecordBatch.from_arrays([arrays[i] for i in self._coerced], names=names)
            for i, array in zip(self._coerced, self._coercion.batch(part, _record).columns, strict=True):
                arrays[i] = array
        self._position += rows
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _count(self, column: AnswerColumn, unfit: Unfit) -> None:
        if unfit.fatal or column.compared:
            raise misfit(self._place, column.name, unfit)
        reason, count, first = self._unfit.get(column.name, (unfit.reason, 0, self._position + unfit.positions[0]))
        self._unfit[column.name] = (reason, count + len(unfit.positions), first)


def misfit(place: ErrorContext, name: str, unfit: Unfit) -> ValueDoesNotFit:
    """The error for a value that would make an answer wrong, here or in a comparison by the database."""
    declare = f"nothing is rounded or truncated; declare `columns: {{{name}: "
    if unfit.reason == NOT_BOOLEAN:
        declare += "integer}`"
    else:
        declare += "text}`, which holds any value (integer or decimal(38,20) hold more digits, but no NaN)"
    remedy = (
        declare
        if unfit.fatal
        else "correct the data, leave those records out in the dataset's query, or use `engine: embedded`, which "
        "counts them as unreadable"
    )
    return ValueDoesNotFit(place.source, name, f"holds a value that is {unfit.reason}", remedy)


def _stored(column: AnswerColumn, dialect: str) -> AnswerColumn:
    """The column as it is read before coercion: SQLite stores dates and times as text; a tinyint(1) may hold 2."""
    if dialect == "sqlite" and isinstance(column.kind, (sa.Date, sa.DateTime)):
        word = "date" if isinstance(column.kind, sa.Date) else "instant"
        return replace(column, kind=sa.Text(), declared=column.declared or Declared(word))
    word = column.declared.word if column.declared else ""
    is_number_or_text = word in ("integer", "decimal", "float", "text")
    if isinstance(column.kind, sa.Boolean) and is_number_or_text and dialect != "postgresql":
        return replace(column, kind=sa.SmallInteger())
    if isinstance(column.kind, sa.Numeric) and not 0 < (column.kind.precision or 0) <= DIGITS and word == "text":
        return replace(column, kind=sa.Text())
    if isinstance(column.kind, sa.Numeric) and column.declared and word == "decimal":
        return replace(column, kind=sa.Numeric(column.declared.precision, column.declared.scale))
    return column


def _is_epoch(column: AnswerColumn) -> bool:
    declared = column.declared if isinstance(column.kind, sa.Integer) else None
    return declared is not None and declared == Declared("instant")


def _natural(column: AnswerColumn) -> pa.DataType:
    return INSTANT if _is_epoch(column) else arrow_type(column.kind)


_LAST_SECOND = int(dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC).timestamp())


def _epoch(column: ArrowColumn, asked_column: AnswerColumn) -> ArrowColumn:
    """Convert integers declared as instants: seconds since 1970."""
    if not _is_epoch(asked_column):
        return column
    seconds = column.array.cast(pa.int64())
    first, last = pa.scalar(-_LAST_SECOND), pa.scalar(_LAST_SECOND)  # pc.abs(-2**63) would be negative
    inside = pc.and_(pc.greater_equal(seconds, first), pc.less_equal(seconds, last))
    outside = positions(pc.invert(inside))
    valid = pc.if_else(inside, seconds, pa.scalar(None, pa.int64()))
    unfit = Unfit(f"{OUTSIDE} as seconds since 1970", outside) if outside else column.unfit
    return ArrowColumn(valid.cast(pa.timestamp("s", "UTC")).cast(INSTANT), unfit)


def _record(position: int) -> str:
    return f"record {position + 1} in the order read"


def wall_zone(kinds: Sequence[Kind]) -> str:
    """The zone of the naive times in an answer, the same for all columns of a dataset."""
    return next((kind.zone for kind in kinds if isinstance(kind, Wall)), "UTC")
