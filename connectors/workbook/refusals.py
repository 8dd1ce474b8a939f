"""Sentences for what the child that reads a workbook refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connectors.errors import (
    WORKBOOKS,
    ConnectorError,
    DatasetMissing,
    FileRefused,
    FileUnreadable,
    HeadersDiffer,
    SheetsMissing,
)
from connectors.workbook.guard import LOCKED, WorkbookLimits

UNREADABLE = {
    "locked": LOCKED,
    "code page": ("its text has an unknown code page", "save it as .xlsx"),
    "errors": ("its header row holds only errors, such as #N/A", "choose another `sheet` or `header_row`"),
    "all": (
        "one of its sheets is named `all`, so `sheet: all` is ambiguous",
        'write `sheet: [all]` for that sheet, or `sheet: "*"` for all of them',
    ),
    "no sheet": ("it has no sheet with cells, only charts, dialogs or macros", "choose another workbook"),
}
"""Reason and remedy for each word with which the child refuses."""


def refusal(
    answer: Mapping[str, Any], order: Mapping[str, Any], source: str, file: Mapping[str, Any], limits: WorkbookLimits
) -> ConnectorError:
    """The error for what the child refused in its answer to the order, while it read that file of it."""
    name = file["name"]
    if answer["refused"] == "repeated":
        reason = (
            f"its repeated cells are more than {file['repeated']:,}, or their text is more than "
            f"{file['characters']:,} bytes"
        )
        return FileRefused(name, reason, "if that is right, raise `max_repeated` or `max_unpacked`")
    if answer["refused"] == "written":
        return _too_long(order, name, limits)
    wanted = answer["wanted"]
    place = name if wanted is None or not order["several"] else f"{name}, sheet {wanted}"
    match answer["refused"]:
        case "footer":
            reason = f"it has fewer than the {order['skip_footer']} filled rows that `skip_footer` leaves out"
            return FileUnreadable(place, reason, "choose another `sheet`, or correct `skip_footer`")
        case "header":
            row = order["header_row"]
            sentence = f"row {row} is below the last filled row" if row else "the sheet is empty and has no header"
            if order["several"] and wanted is None:
                sentence = "its sheets are empty and have no header"
            return FileUnreadable(place, sentence, "choose another `sheet` or `header_row`")
        case "columns":
            return _columns_differ(*answer["known"], several=order["several"])
        case "pattern":
            return SheetsMissing(name, wanted, answer["known"])
        case "sheet":
            return DatasetMissing(source, f"sheet {wanted}{_in(order, name)}", answer["known"])
        case "unnamed":
            which = f"single visible sheet{_in(order, name)}, so `sheet` must say which"
            return DatasetMissing(source, which, answer["known"])
    return FileUnreadable(place, *UNREADABLE[answer["refused"]])


def _in(order: Mapping[str, Any], name: str) -> str:
    return f" in {name}" if len(order["files"]) > 1 else ""


def _too_long(order: Mapping[str, Any], name: str, limits: WorkbookLimits) -> FileRefused:
    if len(order["files"]) == 1:
        reason = f"its sheet takes more than {limits.unpacked:,} bytes unpacked"
        return FileRefused(name, reason, "if that is right, raise `max_unpacked`, or split it")
    reason = f"it and {len(order['files']) - 1} other workbooks take more than {limits.unpacked:,} bytes each, unpacked"
    return FileRefused(name, reason, "if that is right, raise `max_unpacked`, or narrow `path`")


def _columns_differ(
    column: str, file: str, sheet: str, file_without: str, without: str, *, several: bool
) -> HeadersDiffer:
    if file == file_without:
        return HeadersDiffer(f"{file}, sheet {sheet}", column, f"{file}, sheet {without}", "sheet")
    with_sheet, without_sheet = (f", sheet {sheet}", f", sheet {without}") if several else ("", "")
    return HeadersDiffer(f"{file}{with_sheet}", column, f"{file_without}{without_sheet}", WORKBOOKS)
