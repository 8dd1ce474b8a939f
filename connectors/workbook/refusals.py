"""Sentences for what the child that reads a workbook refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connectors.errors import ConnectorError, DatasetMissing, FileRefused, FileUnreadable, HeadersDiffer, SheetsMissing
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
    answer: Mapping[str, Any], order: Mapping[str, Any], source: str, file: str, limits: WorkbookLimits
) -> ConnectorError:
    """The error for what the child refused in its answer to the order."""
    if answer["refused"] == "repeated":
        cells, characters = answer["limits"]
        return FileRefused(
            file,
            f"its repeated cells are more than {cells:,}, or their text is more than {characters:,} bytes",
            "if that is right, raise `max_repeated` or `max_unpacked`",
        )
    if answer["refused"] == "written":
        reason = f"its sheet takes more than {limits.unpacked:,} bytes unpacked"
        return FileRefused(file, reason, "if that is right, raise `max_unpacked`, or split it")
    wanted = answer["wanted"]
    place = file if wanted is None or not order["several"] else f"{file}, sheet {wanted}"
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
            column, without = answer["known"]
            return HeadersDiffer(place, column, f"{file}, sheet {without}", "sheet")
        case "pattern":
            return SheetsMissing(file, wanted, answer["known"])
        case "sheet":
            return DatasetMissing(source, f"sheet {wanted}", answer["known"])
        case "unnamed":
            return DatasetMissing(source, "single visible sheet, so `sheet` must say which", answer["known"])
    return FileUnreadable(place, *UNREADABLE[answer["refused"]])
