"""JSON Lines: one object per line. Numbers keep their written digits, nested values are JSON text.

A declared column whose name has dots, like `payload.items.0.sku`, is a path into nested objects and lists, except in
the lines that have a key of that very name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from connectors.base import UnreadableCells
from connectors.disk.opened_file import OpenedFile
from connectors.errors import ConnectorError, FileUnreadable
from connectors.files.left_out import NONE, MalformedRecords, confirm_count
from connectors.headers import confusable, repeated, stable_names


class _Digits(str):
    """A number as it is written."""

    __slots__ = ()


@dataclass(frozen=True)
class JsonLines:
    """One file. `left_out` are the malformed lines that are skipped; empty lines do not count."""

    file: OpenedFile
    max_line: int
    declared: tuple[str, ...] = ()
    left_out: MalformedRecords = NONE

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def columns(self) -> pa.Schema:
        return pa.schema([pa.field(name, pa.string()) for name in self._keys])

    @cached_property
    def _keys(self) -> Mapping[str, str]:
        """The key of each column by its name: every key of any record, in the order of their first use."""
        keys = list(dict.fromkeys(key for _, record in self._records() for key in record))
        by_name = dict(zip(stable_names(keys), keys, strict=True))
        return {**by_name, **{name: name for name in self.declared if name not in by_name}}

    @cached_property
    def _paths(self) -> Mapping[str, tuple[str, ...]]:
        """The keys from a record down to the value of each column, for the records without a key of its name."""
        return {name: tuple(key.split(".")) if name in self.declared else (key,) for name, key in self._keys.items()}

    def warnings(self, columns: Sequence[str] | None) -> Iterator[UnreadableCells]:
        """Warnings for readers of these columns, or of any."""
        if warning := confusable(repeated(list(self._keys.values()), list(self._keys)), columns):
            yield UnreadableCells("*", f"{warning}; rename them in the program that writes the file", 0, self.name)

    def batches(self, columns: Sequence[str], nulls: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Text of the columns, in the order of the file. Raises FileUnreadable with the line."""
        schema = pa.schema([pa.field(name, pa.string()) for name in columns])
        empty = frozenset(("", *nulls))
        waiting: list[dict[str, str | None]] = []
        for line, record in self._records():
            try:
                waiting.append({name: _cell(self._value(record, name), empty) for name in columns})
            except UnicodeEncodeError as error:
                raise FileUnreadable(f"{self.name}:{line}", "a character is incomplete", "repair the line") from error
            if len(waiting) >= rows:
                yield pa.RecordBatch.from_pylist(waiting, schema)
                waiting = []
        if waiting:
            yield pa.RecordBatch.from_pylist(waiting, schema)

    def _value(self, record: Mapping[str, Any], column: str) -> Any:
        key = self._keys[column]
        return record[key] if key in record else _at(record, self._paths[column])

    def place(self, record: int) -> str:
        for position, (line, _) in enumerate(self._records()):
            if position == record:
                return f"{self.name}:{line}"
        raise IndexError(record)

    def failure(self, error: Exception) -> ConnectorError:
        return FileUnreadable(self.name, f"it cannot be read ({type(error).__name__})", "fetch it again")

    def count(self) -> int:
        """The number of records: lines that are not blank."""
        with self.file.bytes() as content:
            return sum(1 for line in content if line.strip()) - len(self.left_out.numbers)

    def confirm(self, returned: int) -> None:
        """Raise RecordsLost if it holds another number of records."""
        confirm_count(self.name, self.count(), returned)

    def without_malformed(self) -> JsonLines:
        """The same file without the lines that are not JSON objects."""
        wrong: dict[int, FileUnreadable] = {}
        count = 0
        for number, (line, text) in enumerate(self._lines()):
            count = number + 1
            try:
                self._parsed(text, line)
            except FileUnreadable as error:
                wrong[number] = error
        first = next(iter(wrong.values()), None)
        place, reason = (first.place, first.reason) if first else ("", "")
        return replace(self, left_out=MalformedRecords(tuple(wrong), count, reason, place))

    def _records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        left_out = frozenset(self.left_out.numbers)
        for at, (line, text) in enumerate(self._lines()):
            if at not in left_out:
                yield line, self._parsed(text, line)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not blank, with their numbers from 1."""
        number = 0
        try:
            with self.file.bytes() as content:
                while line := content.readline(self.max_line + 1):
                    number += 1
                    if len(line) > self.max_line:
                        raise FileUnreadable(
                            f"{self.name}:{number}",
                            f"it is longer than {self.max_line:,} bytes",
                            "raise `max_line`",
                        )
                    if line.strip():
                        yield number, line
        except (EOFError, OSError) as error:
            raise FileUnreadable(self.name, "it is cut or damaged", "fetch it again") from error

    def _parsed(self, line: bytes, number: int) -> Mapping[str, Any]:
        try:
            record = _DECODER.decode(line.decode("utf-8-sig" if number == 1 else "utf-8").strip())
        except UnicodeDecodeError as error:
            raise FileUnreadable(f"{self.name}:{number}", "it is not UTF-8", "write it in UTF-8") from error
        except (ValueError, RecursionError) as error:
            column = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise FileUnreadable(f"{self.name}:{number}{column}", "this is not JSON", "repair the line") from None
        if not isinstance(record, dict):
            raise FileUnreadable(f"{self.name}:{number}", "this is not a JSON object", "write one object per line")
        return record


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


_INDEX = re.compile("0|[1-9][0-9]{0,8}")
_DECODER = json.JSONDecoder(parse_float=_Digits, parse_int=_Digits, parse_constant=_refuse)


def _at(record: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return the value at a path; None where it does not lead to one."""
    value: Any = record
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def _cell(value: Any, nulls: frozenset[str]) -> str | None:
    if value is None:
        return None
    text = str(value) if isinstance(value, str) else _json(value)
    text.encode("utf-8")
    return None if text in nulls else text


def _json(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return str(value) if isinstance(value, _Digits) else json.dumps(value, ensure_ascii=False)
