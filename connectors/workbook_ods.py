"""OpenDocument sheets, cell by cell: exact numbers, booleans, durations and errors, which other readers merge."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from lxml import etree

TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
CALC = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"
COLUMNS = 16_384
ROWS = 1_048_576


class ErrorCell:
    """A formula that failed."""


ERROR = ErrorCell()


def sheets(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive, archive.open("content.xml") as file:
        found = []
        for _, one in _events(file, ("start",), f"{TABLE}table"):
            found.append(one.get(f"{TABLE}name") or "")
        return found


def rows(path: Path, sheet: str) -> Iterator[list[Any]]:
    """Rows from the top, the empty ones included; a cell is None, ERROR or a value."""
    with zipfile.ZipFile(path) as archive, archive.open("content.xml") as file:
        inside, empty, count = False, 0, 0
        for event, one in _events(file, ("start", "end"), f"{TABLE}table", f"{TABLE}table-row"):
            if one.tag == f"{TABLE}table":
                if inside and event == "end":
                    return
                inside = event == "start" and one.get(f"{TABLE}name") == sheet
            elif event == "end":
                if inside:
                    row, repeat = _row(one), _repeat(one, "rows", ROWS)
                    if not any(cell is not None for cell in row):
                        empty += repeat
                    else:
                        count += empty + repeat
                        if count > ROWS:
                            raise ValueError("more rows than a sheet has")
                        yield from ([] for _ in range(empty))
                        yield from (row for _ in range(repeat))
                        empty = 0
                one.clear()


def _events(file: Any, events: tuple[str, ...], *tags: str) -> Iterator[tuple[str, Any]]:
    yield from etree.iterparse(file, events=events, tag=tags, resolve_entities=False, no_network=True, load_dtd=False)


def _repeat(element: Any, what: str, limit: int) -> int:
    return min(int(element.get(f"{TABLE}number-{what}-repeated") or 1), limit)


def _row(element: Any) -> list[Any]:
    found: list[Any] = []
    for cell in element:
        if cell.tag in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            value, repeat = _value(cell), _repeat(cell, "columns", COLUMNS)
            found += [value] * min(repeat, COLUMNS - len(found))
    while found and found[-1] is None:
        found.pop()
    return found


def _value(cell: Any) -> Any:
    kind = cell.get(f"{OFFICE}value-type")
    if cell.get(f"{CALC}value-type") == "error":
        return ERROR
    if kind in ("float", "percentage", "currency"):
        return Decimal(cell.get(f"{OFFICE}value"))
    if kind == "boolean":
        return cell.get(f"{OFFICE}boolean-value") == "true"
    if kind == "date":
        said = cell.get(f"{OFFICE}date-value")
        return dt.date.fromisoformat(said) if len(said) == 10 else dt.datetime.fromisoformat(said[:26])
    if kind == "time":
        return cell.get(f"{OFFICE}time-value")
    if kind == "string":
        said = cell.get(f"{OFFICE}string-value")
        return said or "\n".join(_text(p) for p in cell if p.tag == f"{TEXT}p") or None
    return None


def _text(element: Any) -> str:
    parts = [element.text or ""]
    for child in element:
        if child.tag == f"{TEXT}s":
            parts.append(" " * int(child.get(f"{TEXT}c") or 1))
        elif child.tag in (f"{TEXT}tab", f"{TEXT}line-break"):
            parts.append("\t" if child.tag == f"{TEXT}tab" else "\n")
        elif child.tag != f"{OFFICE}annotation":
            parts.append(_text(child))
        parts.append(child.tail or "")
    return "".join(parts)
