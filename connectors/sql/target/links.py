"""Compare a declared link whose two columns have different types: as numbers or UUIDs, whatever their spelling.

`customer_id bigint` and `about numeric(12,2)` refer to each other as 7 and 7.00, a `uuid` and a text as lower-case and
upper-case digits. A text with leading zeros is a code, not a number. In all other cases the texts have to be equal.
"""

from __future__ import annotations

import re
from typing import Literal

from connectors.sql.cells import Column
from connectors.target import Cell

Family = Literal["number", "uuid", "text", "other"]
_NUMBER = re.compile(r"int|serial|numeric|decimal|real|float|double|money", re.IGNORECASE)
_TEXT = re.compile(r"char|text|clob|citext|enum", re.IGNORECASE)
_LOOKS_LIKE_A_NUMBER = re.compile(r"\s*[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?\s*")


def family(declared: str) -> Family:
    """The family of values of a column of this declared type."""
    if "uuid" in declared.lower() or "uniqueidentifier" in declared.lower():
        return "uuid"
    if declared.endswith("[]") or "point" in declared.lower() or "interval" in declared.lower():
        return "other"
    if not declared or _TEXT.search(declared):  # SQLite keeps anything in a column without a type
        return "text"
    return "number" if _NUMBER.search(declared) else "other"


def number_of(column: Column, to: Column, cell: Cell) -> str | None:
    """The number to look for, if one column holds numbers and the other numbers of another type, or texts."""
    families = {family(column.type), family(to.type)}
    if cell is None or column.type == to.type or "number" not in families or not families <= {"number", "text"}:
        return None
    return cell[1].strip() if _LOOKS_LIKE_A_NUMBER.fullmatch(cell[1]) else None


def uuid_of(column: Column, to: Column, cell: Cell) -> str | None:
    """The 32 lower-case digits to look for, if one column holds UUIDs and the other texts."""
    if cell is None or {family(column.type), family(to.type)} != {"uuid", "text"}:
        return None
    digits = re.sub(r"[-{}]", "", cell[1]).lower()
    return digits if re.fullmatch(r"[0-9a-f]{32}", digits) else None
