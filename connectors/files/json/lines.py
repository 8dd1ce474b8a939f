"""JSON Lines: one object per line."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileUnreadable
from connectors.files.json.located import Located
from connectors.files.json.values import DECODER, TOO_DEEP, NotJson
from connectors.files.left_out import NONE, MalformedRecords


@dataclass(frozen=True)
class JsonLines:
    """One file. `left_out` are the malformed lines that are skipped; empty lines do not count."""

    file: OpenedFile
    max_line: int
    left_out: MalformedRecords = NONE

    @property
    def name(self) -> str:
        return self.file.name

    def located(self) -> Iterator[Located]:
        """Yield the records, with their number from 1 and their line. Raises FileUnreadable with the line."""
        left_out = frozenset(self.left_out.numbers)
        for position, (line, text) in enumerate(self._lines()):
            if position not in left_out:
                yield Located(position + 1, line, self._parsed(text, line, is_first=position == 0))

    def place(self, located: Located) -> str:
        return f"{self.name}:{located.line}"

    def count(self) -> int:
        """The number of records: lines that are not blank."""
        with self.file.bytes() as content:
            return sum(1 for line in content if line.strip()) - len(self.left_out.numbers)

    def without_malformed(self) -> JsonLines:
        """The same file without the lines that are not JSON objects."""
        wrong: dict[int, FileUnreadable] = {}
        count = 0
        for position, (line, text) in enumerate(self._lines()):
            count = position + 1
            try:
                self._parsed(text, line, is_first=position == 0)
            except FileUnreadable as error:
                wrong[position] = error
        first = next(iter(wrong.values()), None)
        place, reason = (first.place, first.reason) if first else ("", "")
        return replace(self, left_out=MalformedRecords(tuple(wrong), count, reason, place))

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not blank, with their numbers from 1."""
        number = 0
        try:
            with self.file.bytes() as content:
                while line := content.readline(self.max_line + 1):
                    number += 1
                    if len(line) > self.max_line:
                        reason = f"it is longer than {self.max_line:,} bytes"
                        remedy = _AS_DOCUMENT if line[:64].lstrip().startswith(b"[") else "raise `max_line`"
                        raise FileUnreadable(f"{self.name}:{number}", reason, remedy)
                    if line.strip():
                        yield number, line
        except (EOFError, OSError, zlib.error) as error:
            raise FileUnreadable(self.name, "it is truncated or damaged", "fetch it again") from error

    def _parsed(self, line: bytes, number: int, *, is_first: bool) -> Mapping[str, Any]:
        place = f"{self.name}:{number}"
        text = ""
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            record = DECODER.decode(text)
        except UnicodeDecodeError as error:
            raise FileUnreadable(place, "it is not UTF-8", "write it in UTF-8") from error
        except NotJson as error:
            raise FileUnreadable(place, error.reason, error.remedy) from None
        except RecursionError:
            raise FileUnreadable(place, *TOO_DEEP) from None
        except json.JSONDecodeError as error:
            if is_first and _opens_a_document(text):
                raise FileUnreadable(place, _NOT_LINES, _AS_DOCUMENT) from None
            raise FileUnreadable(f"{place}, column {error.colno}", "this is not JSON", "repair the line") from None
        if isinstance(record, list) and is_first:
            raise FileUnreadable(place, _NOT_LINES, _AS_DOCUMENT)
        if not isinstance(record, dict):
            raise FileUnreadable(place, "this is not a JSON object", "write one object per line")
        return record


_NOT_LINES = "the file is one JSON document, not an object per line"
_AS_DOCUMENT = "set `format: json`"


def _opens_a_document(text: str) -> bool:
    """Return True for the first line of a document that goes on in the next lines."""
    return text.startswith("[") or (text.startswith("{") and text.endswith(("{", "[", ",")))
