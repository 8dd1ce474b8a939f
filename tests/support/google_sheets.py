"""A fake of Google's token, Sheets and Drive services over loopback, which answers as Google documents.

Its tables are read and edited directly by tests, which are the witness: nothing of the product looks for them. A
request that the documentation does not allow is refused with 400, as Google does. What the documentation leaves open
can be set: `parses` (a replaced text is read as if it was typed), `finds_empty` (a regular expression finds empty
cells), `finds_numbers` (a search looks at numbers as they are shown).
"""

from __future__ import annotations

import copy
import datetime as dt
import email.utils
import functools
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

BOOK = "1FakeSpreadsheetOfTheTests00"
ACCOUNT = "cleaner@shop.iam.gserviceaccount.com"
TOKEN = "ya29.secret-access-token"
CLIENT_SECRET = "GOCSPX-client-secret"
REFRESH_TOKEN = "1//refresh-token-secret"
_DAY_ZERO = dt.datetime(1899, 12, 30)  # noqa: DTZ001 - cells have no zone
_MASKS = {
    "": {"spreadsheetId", "properties", "sheets", "developerMetadata"},
    "properties": {"title", "locale", "timeZone"},
    "sheets": {"properties", "data", "merges", "protectedRanges", "tables"},
    "sheets.tables": {"tableId", "name", "range", "columnProperties"},
    "sheets.tables.columnProperties": {"columnIndex", "columnName", "columnType", "dataValidationRule"},
    "sheets.properties": {"sheetId", "title", "index", "hidden", "sheetType", "gridProperties"},
    "sheets.properties.gridProperties": {"rowCount", "columnCount"},
    "sheets.data": {"startRow", "startColumn", "rowData"},
    "sheets.data.rowData": {"values"},
    "sheets.data.rowData.values": {
        *("userEnteredValue", "effectiveValue", "formattedValue", "effectiveFormat", "dataValidation", "hyperlink"),
        *("textFormatRuns", "chipRuns"),
    },
    "sheets.data.rowData.values.textFormatRuns": {"startIndex", "format"},
    "sheets.data.rowData.values.chipRuns": {"startIndex", "chip"},
    "sheets.data.rowData.values.effectiveFormat": {"numberFormat"},
    "sheets.data.rowData.values.effectiveFormat.numberFormat": {"type", "pattern"},
    "sheets.data.rowData.values.dataValidation": {"condition", "strict"},
    "developerMetadata": {"metadataId", "metadataKey", "metadataValue", "location", "visibility"},
}
"""Fields that the fake knows below each field; a mask that names another one is refused."""


@functools.cache
def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


class BadRequest(Exception):
    """The request is not valid: nothing of it is applied."""


@dataclass(frozen=True)
class Date:
    """A value whose format shows a date, or a date with a time."""

    text: str
    kind: str = "DATE"

    @property
    def moment(self) -> dt.datetime:
        return dt.datetime.fromisoformat(self.text)

    @property
    def days(self) -> float:
        return (self.moment - _DAY_ZERO) / dt.timedelta(days=1)


@dataclass(frozen=True)
class Formula:
    """A formula and its result."""

    text: str
    result: Any


@dataclass(frozen=True)
class Error:
    kind: str


@dataclass(frozen=True)
class Formatted:
    """A number that is shown with a pattern."""

    number: float
    shown: str


@dataclass(frozen=True)
class Spilled:
    """A part of the result of a formula, or of a pivot table, in another cell: nothing was entered here."""

    result: Any


@dataclass(frozen=True)
class Rich:
    """A text with facts that are lost when it is replaced: a link, formats of its parts, smart chips."""

    text: str
    facts: Mapping[str, Any]


Value = str | float | bool | Date | Formula | Error | Formatted | Spilled | Rich | None
Rows = list[list[Any]]


@dataclass
class FakeSheet:
    """A sheet; `rows` are its values, without formats that do not matter here."""

    id: int
    title: str
    rows: Rows
    hidden: bool = False
    height: int = 1_000
    width: int = 26
    merges: list[dict[str, int]] = field(default_factory=list)
    protected: list[dict[str, Any]] = field(default_factory=list)
    validation: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Rules by column."""
    tables: list[dict[str, Any]] = field(default_factory=list)

    def get(self, row: int, column: int) -> Value:
        cells = self.rows[row] if row < len(self.rows) else []
        return cells[column] if column < len(cells) else None

    def put(self, row: int, column: int, value: Value) -> None:
        if row >= self.height or column >= self.width:
            raise BadRequest(f"Attempting to write column: {column}, beyond the last requested column")
        self.rows += [[] for _ in range(row + 1 - len(self.rows))]
        self.rows[row] += [None] * (column + 1 - len(self.rows[row]))
        self.rows[row][column] = value

    def records(self) -> list[dict[str, Any]]:
        """The rows below the first as records, for assertions."""
        header = self.rows[0]
        return [
            {name: row[n] if n < len(row) else None for n, name in enumerate(header)}
            for row in self.rows[1:]
            if any(value not in (None, "") for value in row)
        ]


@dataclass
class Fault:
    """What happens instead of the next answer. `applies`: a write is made before it."""

    name: str
    status: int = 0
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    applies: bool = False
    cut: bool = False
    times: int = 1
    only: str = ""
    """GET or POST; empty: any."""
    skip: int = 0
    """So many requests are answered first."""


def error(status: int, word: str, reason: str = "", message: str = "secret cell value", legacy: str = "") -> bytes:
    """Google's JSON of an error. Its message may quote anything, so it is never shown."""
    content: dict[str, Any] = {"code": status, "message": message, "status": word}
    if reason:
        content["details"] = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}]
    if legacy:
        content["errors"] = [{"reason": legacy, "domain": "usageLimits"}]
    return json.dumps({"error": content}).encode()


class GoogleSheets:
    """The services. `before` is called with the number and the method of each request, before it is answered."""

    def __init__(self) -> None:
        self.sheets: list[FakeSheet] = []
        self.metadata: dict[int, dict[str, Any]] = {}
        self.timezone, self.locale = "Europe/Berlin", "en_US"
        self.version = 1
        self.faults: list[Fault] = []
        self.before: Callable[[int, str], None] = lambda _number, _method: None
        self.after: Callable[[int, str], None] = lambda _number, _method: None
        self.requests: list[str] = []
        self.batches: list[list[dict[str, Any]]] = []
        self.replacements: list[tuple[str, int, int, str]] = []
        """Cells of sheets that a search replaced, in writes that were applied."""
        self.lost: list[dict[str, Any]] = []
        """Writes that a fault kept from being applied."""
        self.tokens = 0
        self.valid_tokens: set[str] = set()
        self.token_error: tuple[int, bytes] | None = None
        self.parses = True
        self.finds_empty = True
        self.finds_numbers = True
        self.repeats: dict[str, tuple[int, bytes]] | None = None
        """Answers by address, if nothing changes: long tables are written as JSON once."""
        self.lock = threading.RLock()
        self.address = ""

    # For tests

    def sheet(self, title: str) -> FakeSheet:
        return next(sheet for sheet in self.sheets if sheet.title == title)

    def add(self, title: str, rows: Rows, **more: Any) -> FakeSheet:
        sheet = FakeSheet(more.pop("id", len(self.sheets)), title, [list(row) for row in rows], **more)
        sheet.height = max(sheet.height, len(rows))
        self.sheets.append(sheet)
        return sheet

    def edit(self, title: str, row: int, column: int, value: Value) -> None:
        """A person edits a cell; row and column are counted from 0."""
        with self.lock:
            self.sheet(title).put(row, column, value)
            self.version += 1

    def settings(self, **more: Any) -> dict[str, Any]:
        """The settings of a source with the key of a service account."""
        key = {
            "type": "service_account",
            "client_email": ACCOUNT,
            "private_key": private_key(),
            "token_uri": f"{self.address}/token",
        }
        return {
            "type": "google_sheets",
            "spreadsheet": BOOK,
            "service_account": json.dumps(key),
            "api": self.address,
            "drive_api": self.address,
            "patience": 5,
            **more,
        }

    def oauth(self) -> dict[str, Any]:
        settings = self.settings(
            client_id="client",
            client_secret=CLIENT_SECRET,
            refresh_token=REFRESH_TOKEN,
            token_url=f"{self.address}/token",
        )
        del settings["service_account"]
        return settings

    # Answers

    def token(self, form: Mapping[str, list[str]]) -> tuple[int, bytes]:
        if self.token_error is not None:
            return self.token_error
        kind = form.get("grant_type", [""])[0]
        if kind == "refresh_token" and form.get("refresh_token") != [REFRESH_TOKEN]:
            return 400, b'{"error": "invalid_grant", "error_description": "Token has been expired or revoked."}'
        if kind not in ("refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer"):
            return 400, b'{"error": "unsupported_grant_type"}'
        self.tokens += 1
        token = f"{TOKEN}-{self.tokens}"
        self.valid_tokens.add(token)
        return 200, json.dumps({"access_token": token, "expires_in": 3599, "token_type": "Bearer"}).encode()

    def get(self, ranges: list[str], fields: str, *, grid: bool = False) -> dict[str, Any]:
        if not fields and not grid:
            fields = "properties,sheets.properties,developerMetadata"
        mask = parse_mask(fields) if fields else {}
        cells = mask.get("sheets", {}).get("data", {}).get("rowData", {}).get("values", {})
        whole = self._whole([self._range(text) for text in ranges], frozenset(cells))
        return whole if not fields else masked(whole, mask)

    def _whole(
        self, ranges: list[tuple[FakeSheet, dict[str, int]]], cells: frozenset[str] = frozenset()
    ) -> dict[str, Any]:
        shown = []
        for index, sheet in enumerate(self.sheets):
            own = [bounds for each, bounds in ranges if each is sheet]
            if ranges and not own:
                continue
            shown.append(
                {
                    "properties": {
                        "sheetId": sheet.id,
                        "title": sheet.title,
                        "index": index,
                        "sheetType": "GRID",
                        **({"hidden": True} if sheet.hidden else {}),
                        "gridProperties": {"rowCount": sheet.height, "columnCount": sheet.width},
                    },
                    "data": [self._data(sheet, bounds, cells) for bounds in own or [{}]],
                    **({"merges": sheet.merges} if sheet.merges else {}),
                    **({"protectedRanges": sheet.protected} if sheet.protected else {}),
                    **({"tables": sheet.tables} if sheet.tables else {}),
                }
            )
        return {
            "spreadsheetId": BOOK,
            "properties": {"title": "Book", "locale": self.locale, "timeZone": self.timezone},
            "sheets": shown,
            "developerMetadata": [copy.deepcopy(entry) for entry in self.metadata.values()],
        }

    def _data(self, sheet: FakeSheet, bounds: Mapping[str, int], wanted: frozenset[str]) -> dict[str, Any]:
        """The cells in the bounds with the wanted fields; empty: all."""
        first, last = bounds.get("startRowIndex", 0), bounds.get("endRowIndex", sheet.height)
        left, right = bounds.get("startColumnIndex", 0), bounds.get("endColumnIndex", sheet.width)
        rows: list[dict[str, Any]] = []
        for row in range(first, min(last, len(sheet.rows))):
            columns = range(left, min(right, len(sheet.rows[row])))
            cells = [self._cell(sheet, row, column, wanted) for column in columns]
            while cells and not cells[-1]:
                cells.pop()
            rows.append({"values": cells} if cells else {})
        while rows and not rows[-1]:
            rows.pop()
        data: dict[str, Any] = {"rowData": rows} if rows else {}
        return data | ({"startRow": first} if first else {}) | ({"startColumn": left} if left else {})

    def _cell(self, sheet: FakeSheet, row: int, column: int, wanted: frozenset[str]) -> dict[str, Any]:
        value = sheet.get(row, column)
        rule = sheet.validation.get(column) if row else None
        cell: dict[str, Any] = {"dataValidation": rule} if rule and (not wanted or "dataValidation" in wanted) else {}
        if value is None:
            return cell
        effective = value.result if isinstance(value, (Formula, Spilled)) else value
        cell["effectiveValue"] = extended(effective)
        if isinstance(effective, Date):
            cell["effectiveFormat"] = {"numberFormat": {"type": effective.kind, "pattern": "yyyy-mm-dd"}}
        elif isinstance(effective, Formatted):
            cell["effectiveFormat"] = {"numberFormat": {"type": "NUMBER", "pattern": "#,##0.00"}}
        if isinstance(value, Rich):
            cell |= {name: fact for name, fact in value.facts.items() if not wanted or name in wanted}
        if not isinstance(value, Spilled) and (not wanted or "userEnteredValue" in wanted):
            is_formula = isinstance(value, Formula)
            cell["userEnteredValue"] = {"formulaValue": value.text} if is_formula else cell["effectiveValue"]  # type: ignore[union-attr]
        if not wanted or "formattedValue" in wanted:
            cell["formattedValue"] = shown(value)
        return cell

    def _range(self, text: str) -> tuple[FakeSheet, dict[str, int]]:
        match = re.fullmatch(r"('(?P<quoted>(?:[^']|'')*)'|(?P<plain>[^!']+))(?:!(?P<cells>.+))?", text)
        title = match and (match["plain"] if match["quoted"] is None else match["quoted"].replace("''", "'"))
        sheet = next((sheet for sheet in self.sheets if sheet.title == title), None)
        if match is None or sheet is None:
            raise BadRequest(f"Unable to parse range: {text}")
        cells = re.fullmatch(r"(?P<first>\d+):(?P<last>\d+)", match["cells"] or f"1:{sheet.height}")
        if cells is None or int(cells["first"]) > sheet.height:
            raise BadRequest(f"Range ({text}) exceeds grid limits")
        return sheet, {"startRowIndex": int(cells["first"]) - 1, "endRowIndex": min(int(cells["last"]), sheet.height)}

    # Changes

    def batch_update(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Apply all requests or none, in their order."""
        unknown = set(body) - {"requests", "includeSpreadsheetInResponse", "responseRanges", "responseIncludeGridData"}
        if unknown:
            raise BadRequest(f"Unknown name {unknown}")
        if not body.get("requests"):
            raise BadRequest("Must specify at least one request.")
        kept = copy.deepcopy((self.sheets, self.metadata))
        replacements = list(self.replacements)
        try:
            replies = [self._apply(number, request) for number, request in enumerate(body["requests"])]
        except BaseException:
            self.sheets, self.metadata = kept
            self.replacements = replacements
            raise
        self.version += 1
        self.batches.append(list(body["requests"]))
        answer: dict[str, Any] = {"spreadsheetId": BOOK, "replies": replies}
        if body.get("includeSpreadsheetInResponse"):
            ranges = [self._range(text) for text in body.get("responseRanges", [])]
            answer["updatedSpreadsheet"] = self._whole(ranges)
            if not body.get("responseIncludeGridData"):
                for sheet in answer["updatedSpreadsheet"]["sheets"]:
                    sheet.pop("data", None)
        return answer

    def _apply(self, number: int, request: Mapping[str, Any]) -> dict[str, Any]:
        [(kind, content)] = request.items()
        method = getattr(self, f"_do_{kind}", None)
        if method is None:
            raise BadRequest(f"Invalid JSON payload received. Unknown name \"{kind}\" at 'requests[{number}]'")
        try:
            reply: dict[str, Any] | None = method(content)
        except BadRequest as problem:
            raise BadRequest(f"Invalid requests[{number}].{kind}: {problem}") from None
        return {kind: reply} if reply is not None else {}

    def _by_id(self, identifier: int) -> FakeSheet:
        sheet = next((sheet for sheet in self.sheets if sheet.id == identifier), None)
        if sheet is None:
            raise BadRequest(f"No grid with id: {identifier}")
        return sheet

    def _do_addSheet(self, content: Mapping[str, Any]) -> dict[str, Any]:
        wanted = dict(content["properties"])
        known_to_fake = {"sheetId", "title", "hidden", "gridProperties"}
        if set(wanted) - known_to_fake:
            raise BadRequest("Unknown property")
        if any(sheet.id == wanted["sheetId"] for sheet in self.sheets):
            raise BadRequest(f'A sheet with the ID "{wanted["sheetId"]}" already exists.')
        if any(sheet.title == wanted["title"] for sheet in self.sheets):
            raise BadRequest(f'A sheet with the name "{wanted["title"]}" already exists.')
        size = wanted.get("gridProperties", {})
        sheet = FakeSheet(wanted["sheetId"], wanted["title"], [], hidden=wanted.get("hidden", False))
        sheet.height, sheet.width = size.get("rowCount", 1_000), size.get("columnCount", 26)
        self.sheets.append(sheet)
        return {"properties": wanted}

    def _do_createDeveloperMetadata(self, content: Mapping[str, Any]) -> dict[str, Any]:
        wanted = dict(content["developerMetadata"])
        if wanted.get("visibility") not in ("DOCUMENT", "PROJECT") or not wanted.get("metadataKey"):
            raise BadRequest("Developer metadata must always have a key and a visibility specified")
        if wanted.get("location") != {"spreadsheet": True} or not 0 < wanted["metadataId"] < 2**31:
            raise BadRequest("location and a positive id")
        if wanted["metadataId"] in self.metadata:
            raise BadRequest(f"Developer metadata with ID {wanted['metadataId']} already exists.")
        self.metadata[wanted["metadataId"]] = wanted
        if (
            sum(len(entry["metadataKey"]) + len(entry.get("metadataValue", "")) for entry in self.metadata.values())
            > 30_000
        ):
            raise BadRequest("metadata of the spreadsheet exceeds 30000 characters")
        return {"developerMetadata": wanted}

    def _do_deleteDeveloperMetadata(self, content: Mapping[str, Any]) -> dict[str, Any]:
        identifier = content["dataFilter"]["developerMetadataLookup"]["metadataId"]
        if identifier not in self.metadata:
            raise BadRequest("No developer metadata matches")
        return {"deletedDeveloperMetadata": [self.metadata.pop(identifier)]}

    def _do_appendDimension(self, content: Mapping[str, Any]) -> None:
        sheet = self._by_id(content["sheetId"])
        if content["length"] < 1:
            raise BadRequest("length must be positive")
        if content["dimension"] == "ROWS":
            sheet.height += content["length"]
        elif content["dimension"] == "COLUMNS":
            sheet.width += content["length"]
        else:
            raise BadRequest("dimension")

    def _do_updateCells(self, content: Mapping[str, Any]) -> None:
        if content.get("fields") != "userEnteredValue" or ("start" in content) == ("range" in content):
            raise BadRequest("fields, and start or range, must be set")
        if "range" in content:
            sheet, rows, columns = self._bounds(content["range"])
            for row in rows:
                for column in columns:
                    sheet.put(row, column, None)
            first, left = rows.start, columns.start
        else:
            sheet = self._by_id(content["start"]["sheetId"])
            first, left = content["start"]["rowIndex"], content["start"]["columnIndex"]
        for row, cells in enumerate(content.get("rows", ()), first):
            for column, cell in enumerate(cells.get("values", ()), left):
                sheet.put(row, column, entered_value(cell.get("userEnteredValue")))

    def _do_copyPaste(self, content: Mapping[str, Any]) -> None:
        if content.get("pasteType") != "PASTE_VALUES" or content.get("pasteOrientation", "NORMAL") != "NORMAL":
            raise BadRequest("only values are pasted here")
        sheet, rows, columns = self._bounds(content["source"])
        target, to_rows, to_columns = self._bounds(content["destination"])
        if len(rows) != len(to_rows) or len(columns) != len(to_columns):
            raise BadRequest("the fake pastes into a range of the same size")
        for row, to_row in zip(rows, to_rows, strict=True):
            for column, to_column in zip(columns, to_columns, strict=True):
                value = sheet.get(row, column)
                value = value.result if isinstance(value, (Formula, Spilled)) else value
                value = value.text if isinstance(value, Rich) else value
                value = value.days if isinstance(value, Date) else value
                target.put(to_row, to_column, value.number if isinstance(value, Formatted) else value)

    def _do_findReplace(self, content: Mapping[str, Any]) -> dict[str, Any]:
        allowed = {"find", "replacement", "range", "matchCase", "matchEntireCell", "searchByRegex", "includeFormulas"}
        if set(content) - allowed or not content.get("find"):
            raise BadRequest("Must specify find, and one of range, sheetId, allSheets")
        sheet, rows, columns = self._bounds(content["range"])
        count = 0
        for row in rows:
            for column in columns:
                value = sheet.get(row, column)
                if not self._is_found(value, content):
                    continue
                text = content.get("replacement", "")
                sheet.put(row, column, self._typed(java_replacement(text) if content.get("searchByRegex") else text))
                count += 1
                self.replacements.append((sheet.title, row, column, text))
        return {"valuesChanged": count, "occurrencesChanged": count, "rowsChanged": count} if count else {}

    def _is_found(self, value: Value, content: Mapping[str, Any]) -> bool:
        if isinstance(value, (Formula, Error)):
            return False
        if value is None and not self.finds_empty:
            return False
        if not isinstance(value, str) and value is not None and not self.finds_numbers:
            return False
        text, pattern = "" if value is None else shown(value), content["find"]
        if content.get("searchByRegex"):
            return re.fullmatch(pattern, text) is not None
        if not content.get("matchCase"):
            text, pattern = text.lower(), pattern.lower()
        return text == pattern if content.get("matchEntireCell") else pattern in text

    def _typed(self, text: str) -> Value:
        if text == "":
            return None
        if not self.parses:
            return text
        if text.startswith("'"):
            return text[1:]
        if text.startswith("="):
            return Formula(text, 0.0)
        if text.upper() in ("TRUE", "FALSE"):
            return text.upper() == "TRUE"
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return Date(text)
        if match := re.fullmatch(r"(\d\d?) May", text):
            return Date(f"{dt.datetime.now(dt.UTC).year}-05-{int(match[1]):02}")
        if re.fullmatch(r"-?[\d,]*\.?\d+(e\d+)?", text):
            return float(text.replace(",", ""))
        return text

    def _bounds(self, grid: Mapping[str, int]) -> tuple[FakeSheet, range, range]:
        sheet = self._by_id(grid["sheetId"])
        rows = range(grid["startRowIndex"], grid["endRowIndex"])
        columns = range(grid["startColumnIndex"], grid["endColumnIndex"])
        if not rows or not columns or rows.stop > sheet.height or columns.stop > sheet.width:
            raise BadRequest("range exceeds grid limits")
        return sheet, rows, columns


def java_replacement(text: str) -> str:
    """The text that a replacement of Java's regular expressions means; a group is never asked for."""
    plain = re.sub(r"\\(.)", r"\1", text)
    if "$" in re.sub(r"\\.", "", text):
        raise BadRequest("Invalid group")
    return plain


def extended(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, Date):
        return {"numberValue": value.days}
    if isinstance(value, Formatted):
        return {"numberValue": value.number}
    if isinstance(value, Rich):
        return {"stringValue": value.text}
    if isinstance(value, Error):
        return {"errorValue": {"type": value.kind, "message": "secret"}}
    return {"numberValue": value} if isinstance(value, (int, float)) else {"stringValue": value}


def entered_value(value: Mapping[str, Any] | None) -> Value:
    if not value:
        return None
    [(kind, content)] = value.items()
    if kind == "stringValue":
        if len(content) > 50_000:
            raise BadRequest("Your input contains more than the maximum of 50000 characters in a single cell.")
        return str(content)
    if kind == "numberValue":
        return float(content)
    if kind == "boolValue":
        return bool(content)
    raise BadRequest(f"the fake writes no {kind}")


def shown(value: Value) -> str:
    """The text of a cell as a person sees it."""
    if isinstance(value, (Formula, Spilled)):
        return shown(value.result)
    if isinstance(value, Rich):
        return value.text
    if isinstance(value, Formatted):
        return value.shown
    if isinstance(value, Date):
        return value.moment.date().isoformat()
    if isinstance(value, Error):
        return f"#{value.kind}"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, (int, float)):
        return f"{value:.10g}"
    return value or ""


def parse_mask(text: str) -> dict[str, Any]:
    """A field mask as a tree. Raises BadRequest for a malformed one, or one with a field that does not exist."""
    tokens = re.findall(r"[A-Za-z]+|[(),.]", text)
    if "".join(tokens) != text:
        raise BadRequest("Invalid field mask")
    tree, rest = _fields("", tokens)
    if rest:
        raise BadRequest("Invalid field mask")
    return tree


def _fields(path: str, tokens: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The fields of a list, and the tokens after it."""
    tree: dict[str, Any] = {}
    while True:
        tokens = _field(path, tokens, tree)
        if not tokens or tokens[0] != ",":
            return tree, tokens
        tokens = tokens[1:]


def _field(path: str, tokens: list[str], tree: dict[str, Any]) -> list[str]:
    """Add one field with the ones inside it; returns the tokens after it."""
    if not tokens:
        raise BadRequest("Invalid field mask")
    name, *rest = tokens
    if path in _MASKS and name not in _MASKS[path]:
        raise BadRequest(f"Invalid field selection {name}")
    below = f"{path}.{name}" if path else name
    inner = tree.setdefault(name, {})
    if rest[:1] == ["."]:
        return _field(below, rest[1:], inner)
    if rest[:1] == ["("]:
        more, rest = _fields(below, rest[1:])
        inner |= more
        if rest[:1] != [")"]:
            raise BadRequest("Invalid field mask")
        return rest[1:]
    return rest


def masked(content: Any, mask: Mapping[str, Any]) -> Any:
    if not mask or not content:
        return content
    if isinstance(content, list):
        return [masked(item, mask) for item in content]
    if isinstance(content, dict):
        return {
            name: content[name] if name == "rowData" else masked(content[name], inner)  # built with these fields alone
            for name, inner in mask.items()
            if name in content
        }
    return content


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet for headers and body, else the client waits for the second one
    fake: GoogleSheets

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        pass

    def do_GET(self) -> None:
        self._serve("GET", b"")

    def do_POST(self) -> None:
        self._serve("POST", self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _serve(self, method: str, body: bytes) -> None:
        fake, parts = self.fake, urlsplit(self.path)
        if parts.path == "/token":
            self._answer(*fake.token(parse_qs(body.decode())))
            return
        fake.requests.append(f"{method} {self.path}")
        number = len(fake.requests)
        fake.before(number, method)
        with fake.lock:
            fault = self._fault(method)
            applied: tuple[int, bytes] | None = None
            if fault is not None and not fault.applies and method == "POST":
                fake.lost.append(json.loads(body))
            if fault is None or fault.applies:
                applied = self._document(method, parts.path, parse_qs(parts.query), body)
        fake.after(number, method)
        if fault is None:
            assert applied is not None
            self._answer(*applied)
        elif fault.cut:
            # A reset, not an orderly end: what was sent so far is lost, too.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
        else:
            content = fault.body if fault.body is not None else (applied or (0, b""))[1]
            self._answer(fault.status, content, fault.headers)

    def _fault(self, method: str) -> Fault | None:
        for fault in self.fake.faults:
            if fault.times and fault.only in ("", method):
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                return fault
        return None

    def _document(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, bytes]:
        if self.fake.repeats is not None and self.path in self.fake.repeats:
            return self.fake.repeats[self.path]
        answer = self._new_document(method, path, query, body)
        if self.fake.repeats is not None and answer[0] == 200:
            self.fake.repeats[self.path] = answer
        return answer

    def _new_document(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, bytes]:
        fake = self.fake
        if (self.headers.get("Authorization") or "").removeprefix("Bearer ") not in fake.valid_tokens:
            return 401, error(401, "UNAUTHENTICATED")
        try:
            if method == "GET" and path == f"/v4/spreadsheets/{BOOK}":
                answer = fake.get([unquote(text) for text in query.get("ranges", [])], query.get("fields", [""])[0])
            elif method == "GET" and path == f"/drive/v3/files/{BOOK}":
                answer = {"version": str(fake.version)}
            elif method == "POST" and path == f"/v4/spreadsheets/{BOOK}:batchUpdate":
                answer = fake.batch_update(json.loads(body))
            else:
                return 404, error(404, "NOT_FOUND")
        except BadRequest as problem:
            return 400, error(400, "INVALID_ARGUMENT", message=str(problem))
        return 200, json.dumps(answer).encode()

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        sent = {"Content-Type": "application/json; charset=UTF-8", "Content-Length": str(len(body)), **(headers or {})}
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def google_sheets() -> Iterator[GoogleSheets]:
    """Run the services on a free port of this computer."""
    fake = GoogleSheets()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": fake}))
    server.daemon_threads = True
    fake.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def in_seconds(seconds: float) -> str:
    """A moment as a date of HTTP."""
    return email.utils.format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds), usegmt=True)
