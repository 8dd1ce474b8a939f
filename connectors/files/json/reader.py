"""Records of a JSON file as columns of text.

A declared column whose name has dots, like `payload.items.0.sku`, is a path into nested objects and lists, except in
the records that have a key of that very name. With `explode`, each element of a list is a record, together with
everything around the list.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from connectors.base import UnreadableCells
from connectors.errors import ColumnMissing, ConnectorError, FileUnreadable
from connectors.files.json.exploded import Exploding
from connectors.files.json.lines import JsonLines
from connectors.files.json.located import Located, RecordLayout
from connectors.files.json.values import TOO_DEEP, at, cell
from connectors.files.left_out import MalformedRecords, confirm_count
from connectors.headers import confusable, repeated, stable_names


@dataclass(frozen=True)
class JsonFile:
    """One file. `declared` are the columns that the dataset declares, `explode` the path of a list."""

    layout: RecordLayout
    declared: tuple[str, ...] = ()
    explode: str | None = None

    @property
    def name(self) -> str:
        return self.layout.name

    @property
    def left_out(self) -> MalformedRecords:
        return self.layout.left_out

    @property
    def columns(self) -> pa.Schema:
        return pa.schema([pa.field(name, pa.string()) for name in self._columns])

    def warnings(self, columns: Sequence[str] | None) -> Iterator[UnreadableCells]:
        """Warnings for readers of these columns, or of any."""
        if warning := confusable(repeated(list(self._columns.values()), list(self._columns)), columns):
            yield UnreadableCells("*", f"{warning}; rename them where the records come from", 0, self.name)

    def batches(self, columns: Sequence[str], nulls: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Text of the columns, in the order of the file, and the number `_row` of each record last.

        Raises FileUnreadable with the place.
        """
        schema = pa.schema([*(pa.field(name, pa.string()) for name in columns), pa.field("_row", pa.int64())])
        empty = frozenset(("", *nulls))
        values = [(self._columns[name], self._paths[name], list[str | None]()) for name in columns]
        numbers: list[int] = []
        for located in self._records():
            record = located.record
            try:
                for key, path, cells in values:
                    cells.append(cell(record[key] if key in record else at(record, path), empty))
            except UnicodeEncodeError as error:
                place = self.layout.place(located)
                raise FileUnreadable(place, "a character is incomplete", "repair the record") from error
            except RecursionError:
                raise FileUnreadable(self.layout.place(located), *TOO_DEEP) from None
            numbers.append(located.number)
            if len(numbers) >= rows:
                yield _batch(schema, values, numbers)
        if numbers:
            yield _batch(schema, values, numbers)

    def place(self, record: int) -> str:
        for position, located in enumerate(self._records()):
            if position == record:
                return self.layout.place(located)
        raise IndexError(record)

    def failure(self, error: Exception) -> ConnectorError:
        return FileUnreadable(self.name, f"it cannot be read ({type(error).__name__})", "fetch it again")

    def confirm(self, returned: int) -> None:
        """Raise RecordsLost if it holds another number of records."""
        counted = self.layout.count() if isinstance(self.layout, JsonLines) and not self.explode else self._contents[2]
        confirm_count(self.name, counted, returned)

    def _records(self) -> Iterator[Located]:
        exploding = self._exploding
        for located in self.layout.located():
            if exploding is None:
                yield located
            else:
                yield from exploding.records(located, self.layout.place)

    @cached_property
    def _exploding(self) -> Exploding | None:
        return None if self.explode is None else Exploding(self.explode)

    @cached_property
    def _columns(self) -> Mapping[str, str]:
        """The key of each column by its name."""
        keys, elements, _ = self._contents
        all_keys = [*keys, *elements]
        by_name = dict(zip(stable_names(all_keys), all_keys, strict=True))
        return {**by_name, **{name: name for name in self.declared if name not in by_name}}

    @cached_property
    def _paths(self) -> Mapping[str, tuple[str, ...]]:
        """The keys from a record down to the value of each column, for the records without a key of its name."""
        _, elements, _ = self._contents
        return {
            name: elements.get(key) or (tuple(key.split(".")) if name in self.declared else (key,))
            for name, key in self._columns.items()
        }

    @cached_property
    def _contents(self) -> tuple[Collection[str], Mapping[str, tuple[str, ...]], int]:
        """Every key of any record, in the order of their first use; the columns of elements with their paths; the
        number of records."""
        keys: dict[str, None] = {}
        elements: dict[str, tuple[str, ...]] = {}
        count, is_met = 0, False
        for located in self.layout.located():
            keys.update(dict.fromkeys(located.record))
            if self._exploding is None:
                count += 1
                continue
            elements.update(self._exploding.columns(located, self.layout.place))
            count += self._exploding.times(located, self.layout.place)
            is_met = is_met or self._exploding.is_met(located.record)
        if self._exploding is None or not count:
            return keys, {}, count
        if not is_met:
            raise ColumnMissing(self.name, self._exploding.path, keys)
        keys.pop(self._exploding.path, None)
        if shared := keys.keys() & elements.keys():
            reason = f"a record and an element of `{self.explode}` both have {min(shared)!r}"
            raise FileUnreadable(self.name, reason, "rename the key where the records come from")
        return keys, elements, count


def _batch(
    schema: pa.Schema, values: Sequence[tuple[str, tuple[str, ...], list[str | None]]], numbers: list[int]
) -> pa.RecordBatch:
    """Take what the lists hold."""
    columns: list[list[Any]] = [*(cells for _, _, cells in values), numbers]
    arrays = [pa.array(cells, kind) for cells, kind in zip(columns, schema.types, strict=True)]
    for cells in columns:
        cells.clear()
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
