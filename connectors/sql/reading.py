"""Running a select and turning its rows into Arrow, in bounded memory."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from connectors.base import Problem
from connectors.coerce import INSTANT, Coercion
from connectors.declared import Declared, Notation
from connectors.errors import ValueDoesNotFit
from connectors.sql.errors import Place
from connectors.sql.values import (
    DIGITS,
    NOT_BOOLEAN,
    OUTSIDE,
    Taken,
    Unfit,
    Wall,
    arrow_type,
    from_arrow,
    positions,
    taken,
)

ROWS = 10_000
Kind = sa.types.TypeEngine[Any]


@dataclass(frozen=True)
class Asked:
    """One column of an answer: its name, its SQL type, what `columns:` says of it.

    `compared`: the database may have compared it, so that a value which is no value here is an error.
    """

    name: str
    kind: Kind
    declared: Declared | None = None
    compared: bool = False


class AsDeclared(sa.types.TypeDecorator[Any]):
    """The type of a column whose values mean what the dataset declares, so that the database never compares it.

    It goes with the column into every statement: whatever reads the column gets the declared values.
    """

    impl = sa.types.NullType
    cache_ok = True

    def __init__(self, kind: Kind, declared: Declared | None, notation: Notation) -> None:
        super().__init__()
        self.kind, self.declared, self.notation = kind, declared, notation

    def load_dialect_impl(self, dialect: sa.Dialect) -> Kind:
        return dialect.type_descriptor(self.kind)


class Reading:
    """From driver values to the batches of one answer; counts the values that could not be taken."""

    def __init__(self, asked: Sequence[Asked], notation: Notation, place: Place) -> None:
        self._asked = [_stored(one, place.dialect) for one in asked]
        self._place = place
        self._unfit: dict[str, tuple[str, int, int]] = {}
        self._seen = 0
        natural = [pa.field(one.name, _natural(one)) for one in self._asked]
        texts = [one.name for one in natural if one.type == pa.string() and notation.null_values]
        declared = {one.name: one.declared for one in self._asked if one.declared and not _is_epoch(one)}
        self._coerced = [i for i, one in enumerate(natural) if one.name in declared or one.name in texts]
        self._coercion = Coercion(pa.schema([natural[i] for i in self._coerced]), declared, notation)
        for i, field in zip(self._coerced, self._coercion.schema, strict=True):
            natural[i] = field
        self.schema = pa.schema(natural)

    def rows(self, rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
        """A batch of rows as a driver gives them."""
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self._asked)
        read = [self._one(values, one) for values, one in zip(columns, self._asked, strict=True)]
        return self._batch(read, len(rows))

    def arrow(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Batches of at most ROWS records from one that ADBC gives."""
        for start in range(0, batch.num_rows, ROWS):
            part = batch.slice(start, ROWS)
            pairs = zip(part.columns, self._asked, strict=True)
            yield self._batch([_epoch(from_arrow(array, one.kind), one) for array, one in pairs], part.num_rows)

    def problems(self) -> tuple[Problem, ...]:
        own = [Problem(name, reason, count, _record(first)) for name, (reason, count, first) in self._unfit.items()]
        return (*own, *self._coercion.problems())

    def close(self) -> None:
        self._coercion.close()

    def _one(self, values: Sequence[Any], one: Asked) -> Taken:
        return _epoch(taken(values, one.kind, self._place.dialect), one)

    def _batch(self, columns: Sequence[Taken], rows: int) -> pa.RecordBatch:
        for column, one in zip(columns, self._asked, strict=True):
            if column.unfit:
                self._count(one, column.unfit)
        arrays: list[Any] = [column.array for column in columns]
        if self._coerced:
            names = [self._asked[i].name for i in self._coerced]
            part = pa.RecordBatch.from_arrays([arrays[i] for i in self._coerced], names=names)
            for i, array in zip(self._coerced, self._coercion.batch(part, _record).columns, strict=True):
                arrays[i] = array
        self._seen += rows
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _count(self, one: Asked, unfit: Unfit) -> None:
        if unfit.fatal or one.compared:
            raise misfit(self._place, one.name, unfit)
        reason, count, first = self._unfit.get(one.name, (unfit.reason, 0, self._seen + unfit.positions[0]))
        self._unfit[one.name] = (reason, count + len(unfit.positions), first)


def misfit(place: Place, name: str, unfit: Unfit) -> ValueDoesNotFit:
    """The error for a column with a value that would make a wrong answer, here or where the database compared it."""
    kinds = "integer}`" if unfit.reason == NOT_BOOLEAN else "text}`, integer, decimal(38,20)"
    remedy = (
        f"nothing is rounded or cut: declare what it is: `columns: {{{name}: {kinds}"
        if unfit.fatal
        else "correct the data, leave those records out in the dataset's query, or use `engine: embedded`, which "
        "counts them as unreadable"
    )
    return ValueDoesNotFit(place.source, name, f"holds a value that is {unfit.reason}", remedy)


def _stored(one: Asked, dialect: str) -> Asked:
    """What is read before it is coerced: SQLite keeps dates and times as text, and 2 in a tinyint(1) is an integer."""
    if dialect == "sqlite" and isinstance(one.kind, (sa.Date, sa.DateTime)):
        word = "date" if isinstance(one.kind, sa.Date) else "instant"
        return replace(one, kind=sa.Text(), declared=one.declared or Declared(word))
    word = one.declared.word if one.declared else ""
    if isinstance(one.kind, sa.Boolean) and word in ("integer", "decimal", "float", "text") and dialect != "postgresql":
        return replace(one, kind=sa.SmallInteger())
    if isinstance(one.kind, sa.Numeric) and not 0 < (one.kind.precision or 0) <= DIGITS and word == "text":
        return replace(one, kind=sa.Text())
    if isinstance(one.kind, sa.Numeric) and one.declared and word == "decimal":
        return replace(one, kind=sa.Numeric(one.declared.precision, one.declared.scale))
    return one


def _is_epoch(one: Asked) -> bool:
    whole = isinstance(one.kind, sa.Integer)
    return whole and one.declared is not None and one.declared.word == "instant" and not one.declared.formats


def _natural(one: Asked) -> pa.DataType:
    return INSTANT if _is_epoch(one) else arrow_type(one.kind)


_LAST_SECOND = int(dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC).timestamp())


def _epoch(column: Taken, one: Asked) -> Taken:
    """Integers declared as instants are seconds since 1970."""
    if not _is_epoch(one):
        return column
    seconds = column.array.cast(pa.int64())
    inside = pc.less_equal(pc.abs(seconds), pa.scalar(_LAST_SECOND))
    outside = positions(pc.invert(inside))
    kept = pc.if_else(inside, seconds, pa.scalar(None, pa.int64()))
    unfit = Unfit(f"{OUTSIDE} as seconds since 1970", outside) if outside else column.unfit
    return Taken(kept.cast(pa.timestamp("s", "UTC")).cast(INSTANT), unfit)


def _record(position: int) -> str:
    return f"record {position + 1} in the order read"


def wall_zone(kinds: Sequence[Kind]) -> str:
    """The zone of the naive times in an answer; columns of one dataset share it."""
    return next((one.zone for one in kinds if isinstance(one, Wall)), "UTC")
