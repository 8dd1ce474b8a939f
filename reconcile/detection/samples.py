"""Datasets for examples: with the columns of the real ones if their source answers, else with declared ones."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from connectors.coerce import Coercion
from connectors.declared import Declared, Notation, declared
from connectors.errors import ConnectorError
from reconcile.config.settings import DatasetConfig
from reconcile.detection.subject import Subject, relation_of
from rules.examples.example import Cell, Example
from rules.examples.inferring import inferred
from rules.examples.typed import SampledDataset, Texts, TypedRecords
from rules.values import Type, Value, type_of

_DECLARED = {
    Type.TEXT: Declared("text"),
    Type.INTEGER: Declared("integer"),
    Type.DECIMAL: Declared("decimal"),
    Type.FLOAT: Declared("float"),
    Type.BOOLEAN: Declared("boolean"),
    Type.DATE: Declared("date"),
    Type.INSTANT: Declared("instant"),
}
_NO_BYTES = "not bytes in hexadecimal digits"


@dataclass(frozen=True)
class DatasetSample:
    """A dataset of a rule, ready for records of examples.

    `live` is the real one, None if its source did not answer: `reason` then says why, and `guessed` names the columns
    whose types follow from the examples.
    """

    dataset: SampledDataset
    schema: pa.Schema
    live: Subject | None = None
    reason: str | None = None
    guessed: tuple[str, ...] = ()

    def table(self, records: TypedRecords) -> pa.Table:
        """Return the records as the source would give them."""
        arrays = [pa.array([row[field.name] for row in records.rows], field.type) for field in self.schema]
        return pa.Table.from_arrays(arrays, schema=self.schema)


def sample(config: DatasetConfig, open_dataset: Callable[[str], Subject], examples: Sequence[Example]) -> DatasetSample:
    """Return the dataset with the types of its source, or else with declared and inferred ones."""
    try:
        live = open_dataset(config.name)
    except ConnectorError as error:
        schema = pa.schema(list(_fields(config, examples)))
        guessed = tuple(name for name in schema.names if name not in config.settings.columns)
        return _sample(config, schema, reason=str(error).rstrip("."), guessed=guessed)
    return _sample(config, live.columns, live=live)


def _sample(
    config: DatasetConfig,
    schema: pa.Schema,
    live: Subject | None = None,
    reason: str | None = None,
    guessed: tuple[str, ...] = (),
) -> DatasetSample:
    relation = live.relation if live else relation_of(config, schema)
    fields = [schema.field(name) for name in relation.schema.names]
    columns = {field.name: _Column.of(config, field) for field in fields}
    reasons = {name: column.reason for name, column in columns.items()}
    nulls = frozenset(config.settings.null_values)
    dataset = SampledDataset(relation, lambda texts: _read(columns, texts), reasons, nulls).with_id()
    if dataset.number is not None:
        fields.append(pa.field(dataset.number, pa.int64()))
    return DatasetSample(dataset, pa.schema(fields), live, reason, guessed)


def _fields(config: DatasetConfig, examples: Sequence[Example]) -> Iterator[pa.Field]:
    """Yield the declared columns, then those of the records, with the types that their values suggest."""
    cells: dict[str, list[Cell]] = {name: [] for name in config.id if name not in config.derived}
    for example in examples:
        for record in example.given.get(config.name, ()):
            for name, cell in record.cells.items():
                if name not in config.derived:
                    cells.setdefault(name, []).append(cell)
    words = config.settings.columns
    for name in dict.fromkeys([*words, *cells]):
        kind = declared(name, words[name]) if name in words else _DECLARED[inferred(cells[name])]
        yield pa.field(name, kind.arrow)


@dataclass(frozen=True)
class _Column:
    """How one column reads its texts: as declared for the dataset, or by the type that its source gives it."""

    arrow: pa.DataType
    declared: Declared | None
    notation: Notation

    @classmethod
    def of(cls, config: DatasetConfig, field: pa.Field) -> _Column:
        settings = config.settings
        if field.name in settings.columns:
            notation = Notation(settings.decimal, settings.null_values, settings.timezone)
            return cls(field.type, declared(field.name, settings.columns[field.name]), notation)
        kind = type_of(field.type)
        notation = Notation(null_values=settings.null_values, timezone=settings.timezone)
        if kind is Type.DECIMAL:
            return cls(field.type, Declared("decimal", field.type.precision, max(field.type.scale, 0)), notation)
        return cls(field.type, None if kind is None or kind is Type.BYTES else _DECLARED[kind], notation)

    @property
    def reason(self) -> str:
        return self.declared.reason if self.declared else _NO_BYTES

    def plain(self, texts: Sequence[str | None]) -> list[Value] | None:
        """Return the values of texts and bytes, None for types that are read as the source's reader does."""
        if self.declared is None:
            return [_bytes(text) for text in texts]
        if self.declared.word != "text":
            return None
        return [None if text in self.notation.null_values else text for text in texts]

    def holds(self, value: Value) -> bool:
        try:
            pa.array([value], self.arrow)
        except (pa.ArrowInvalid, OverflowError):
            return False
        return True


def _read(columns: Mapping[str, _Column], texts: Texts) -> dict[str, list[Value]]:
    plain = {name: columns[name].plain(column) for name, column in texts.items()}
    values = {name: column for name, column in plain.items() if column is not None}
    for notation in dict.fromkeys(columns[name].notation for name in texts if name not in values):
        alike = {name: columns[name] for name in texts if columns[name].notation == notation and name not in values}
        values |= _coerced(alike, texts, notation)
    return {name: values[name] for name in texts}


def _coerced(columns: Mapping[str, _Column], texts: Texts, notation: Notation) -> dict[str, list[Value]]:
    """Convert texts as the source's own reader does; all columns have this notation."""
    batch = pa.RecordBatch.from_arrays([pa.array(texts[name], pa.string()) for name in columns], names=list(columns))
    kinds = {name: column.declared for name, column in columns.items() if column.declared is not None}
    coercion = Coercion(batch.schema, kinds, notation)
    try:
        read = [array.to_pylist() for array in coercion.batch(batch).columns]
    finally:
        coercion.close()
    return {
        name: [value if column.holds(value) else None for value in map(_in_utc, values)]
        for (name, column), values in zip(columns.items(), read, strict=True)
    }


def _in_utc(value: Value) -> Value:
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value


def _bytes(text: str | None) -> bytes | None:
    try:
        return bytes.fromhex(text) if text else None
    except ValueError:
        return None
