"""One consistent read of a sheet: in pages of rows, read twice if there are several, typed as cells of workbooks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from connectors.errors import DatasetMissing, SourceChanged
from connectors.filled import confirm_columns
from connectors.google_sheets.client import Api
from connectors.google_sheets.connector import GoogleSheetsDataset
from connectors.google_sheets.grid import SheetFacts, facts_of, quoted, rows_of, value_of
from connectors.google_sheets.refusals import WHERE, RequestRefused
from connectors.workbook.blocks import NotInWorkbook, RowBlock
from connectors.workbook.forms import text_forms
from connectors.workbook.guard import WorkbookLimits
from connectors.workbook.refusals import refusal
from connectors.workbook.sheet import Sheet, SheetPart
from connectors.workbook.table import tables_of, write

CELLS = 200_000
"""The most cells of a page: about 20 MB of JSON."""
TRIES = 3
FACTS = "properties(sheetId,title,hidden,sheetType,gridProperties(rowCount,columnCount))"
_VALUES = "data.rowData.values(effectiveValue,effectiveFormat.numberFormat.type)"
_LIMITS = WorkbookLimits(unpacked=0, memory=0, seconds=0)
"""Their sentences are for files; no refusal of a sheet names them."""


def sheets_of(api: Api) -> tuple[str, list[SheetFacts]]:
    """The spreadsheet's time zone, and its sheets with cells."""
    answer = api.spreadsheet([("fields", f"properties.timeZone,sheets({FACTS})")])
    sheets = [facts_of(sheet) for sheet in answer.get("sheets", [])]
    return str(answer.get("properties", {}).get("timeZone", "UTC")), [sheet for sheet in sheets if sheet.is_grid]


def chosen(source: str, dataset: GoogleSheetsDataset, sheets: list[SheetFacts]) -> SheetFacts:
    """The sheet of a dataset. Raises DatasetMissing with the nearest names."""
    visible = [sheet for sheet in sheets if not sheet.hidden]
    if dataset.sheet is None:
        if len(visible) == 1:
            return visible[0]
        which = "single visible sheet, so `sheet` must say which"
        raise DatasetMissing(source, which, [sheet.title for sheet in visible])
    match = next((sheet for sheet in sheets if sheet.title == dataset.sheet), None)
    if match is None:
        raise DatasetMissing(source, f"sheet {dataset.sheet}", [sheet.title for sheet in visible])
    return match


def read(source: str, api: Api, dataset: GoogleSheetsDataset, sheet: SheetFacts, target: Path) -> Sheet:
    """Read and type all records into an Arrow file. Raises a ConnectorError."""
    for _ in range(TRIES):
        digests: list[str] = []
        order = order_of(dataset, target)
        result = _typed(source, order, dataset, sheet.title, _blocks(api, sheet, digests), target)
        if len(digests) == 1 or digests == list(_digests(api, sheet)):
            return result
        target.unlink(missing_ok=True)
    raise SourceChanged(source, f"sheet {sheet.title}")


def typed_rows(
    source: str, dataset: GoogleSheetsDataset, title: str, rows: list[list[Mapping[str, Any]]], target: Path
) -> Sheet:
    """Type records that were read together with more facts about their cells."""
    blocks = iter([RowBlock(1, [[value_of(cell) for cell in row] for row in rows])])
    return _typed(source, order_of(dataset, target), dataset, title, blocks, target)


def content(api: Api, sheet: SheetFacts) -> str:
    """A digest of all values of the sheet."""
    return hashlib.sha256("".join(_digests(api, sheet)).encode()).hexdigest()


def order_of(dataset: GoogleSheetsDataset, target: Path) -> dict[str, Any]:
    """What the reader of workbooks is told about a dataset."""
    return {
        "header_row": dataset.header_row,
        "skip_footer": dataset.skip_footer,
        "fill": dataset.fill,
        "nulls": dataset.null_values,
        "text_forms": text_forms(dataset),
        "target": str(target),
        "several": False,
        "files": [None],
    }


def _typed(
    source: str,
    order: dict[str, Any],
    dataset: GoogleSheetsDataset,
    title: str,
    blocks: Iterator[RowBlock],
    target: Path,
) -> Sheet:
    try:
        answer = write(order, tables_of(order, title, [(title, blocks)]))
    except NotInWorkbook as missing:
        words = {"refused": missing.what, "known": missing.existing, "wanted": missing.wanted}
        raise refusal(words, order, source, {"name": title}, _LIMITS) from None
    columns = tuple(answer["columns"])
    confirm_columns(title, dataset.fill, columns)
    parts = [SheetPart(*part) for part in answer["parts"]]
    return Sheet(target, parts, columns, answer["rounded"], answer["header"], tuple(answer["repeated"]), several=False)


def _blocks(api: Api, sheet: SheetFacts, digests: list[str]) -> Iterator[RowBlock]:
    for first, answer in _pages(api, sheet):
        digests.append(_digest(answer))
        rows = [[value_of(cell) for cell in row] for row in rows_of(answer)]
        if rows:
            yield RowBlock(first, rows)


def _digests(api: Api, sheet: SheetFacts) -> Iterator[str]:
    for _, answer in _pages(api, sheet):
        yield _digest(answer)


def _digest(answer: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(answer, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _pages(api: Api, sheet: SheetFacts) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The first row of each page, counted from 1, and the answer about its sheet."""
    height = max(1, CELLS // max(sheet.columns, 1))
    for first in range(1, max(sheet.rows, 1) + 1, height):
        last = min(first + height - 1, max(sheet.rows, 1))
        answer = api.spreadsheet(
            [("ranges", f"{quoted(sheet.title)}!{first}:{last}"), ("fields", f"sheets({FACTS},{_VALUES})")]
        )
        page = next((page for page in answer.get("sheets", []) if facts_of(page).id == sheet.id), None)
        if page is None:
            raise RequestRefused(WHERE, f"sheet {sheet.title} is gone")
        yield first, page
