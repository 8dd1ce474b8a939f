"""JSON Lines: one object a line. Numbers keep the digits they are written with, nested values are JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from connectors.errors import ConnectorError, FileUnreadable
from connectors.file_paths import open_bytes

LOOKED_AT = 1_000
"""Keys of that many first records are the columns; a key that appears only later is declared in `columns:`."""


class _Digits(str):
    """A number as it is written."""

    __slots__ = ()


@dataclass(frozen=True)
class JsonLines:
    path: Path
    name: str
    max_line: int
    declared: tuple[str, ...] = ()

    @property
    def columns(self) -> pa.Schema:
        keys: dict[str, None] = {}
        for position, (_, record) in enumerate(self._records()):
            if position >= LOOKED_AT:
                break
            keys.update(dict.fromkeys(record))
        keys.update(dict.fromkeys(self.declared))
        return pa.schema([pa.field(one, pa.string()) for one in keys])

    def batches(self, columns: Sequence[str], nulls: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Text of the columns, in the order of the file. Raises FileUnreadable with the line."""
        schema = pa.schema([pa.field(one, pa.string()) for one in columns])
        empty = frozenset(("", *nulls))
        waiting: list[dict[str, str | None]] = []
        for line, record in self._records():
            try:
                waiting.append({one: _cell(record.get(one), empty) for one in columns})
            except UnicodeEncodeError as error:
                raise FileUnreadable(f"{self.name}:{line}", "it holds half a character", "repair the line") from error
            if len(waiting) >= rows:
                yield pa.RecordBatch.from_pylist(waiting, schema)
                waiting = []
        if waiting:
            yield pa.RecordBatch.from_pylist(waiting, schema)

    def place(self, record: int) -> str:
        for position, (line, _) in enumerate(self._records()):
            if position == record:
                return f"{self.name}:{line}"
        raise IndexError(record)

    def failure(self, error: Exception) -> ConnectorError:
        return FileUnreadable(self.name, f"it cannot be read ({type(error).__name__})", "fetch it again")

    def _records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        decoder = json.JSONDecoder(parse_float=_Digits, parse_int=_Digits, parse_constant=_refuse)
        number = 0
        try:
            with open_bytes(self.path) as file:
                while line := file.readline(self.max_line + 1):
                    number += 1
                    if len(line) > self.max_line:
                        raise FileUnreadable(
                            f"{self.name}:{number}",
                            f"it is longer than {self.max_line:,} bytes",
                            "raise `max_line`",
                        )
                    if line.strip():
                        text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                        yield number, self._parsed(decoder, text, number)
        except UnicodeDecodeError as error:
            raise FileUnreadable(f"{self.name}:{number}", "it is not UTF-8", "write it in UTF-8") from error
        except (EOFError, OSError) as error:
            raise FileUnreadable(self.name, "it is cut or damaged", "fetch it again") from error

    def _parsed(self, decoder: json.JSONDecoder, line: str, number: int) -> Mapping[str, Any]:
        try:
            found = decoder.decode(line)
        except (ValueError, RecursionError) as error:
            column = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise FileUnreadable(f"{self.name}:{number}{column}", "this is not JSON", "repair the line") from None
        if not isinstance(found, dict):
            raise FileUnreadable(f"{self.name}:{number}", "this is no JSON object", "write one object a line")
        return found


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


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
