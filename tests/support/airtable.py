"""A fake of Airtable's Web API over loopback: it answers as the documentation says, and refuses what Airtable refuses.

Its tables are read directly by tests, so they are a witness that our client has no part in. People edit through `edit`
and `remove`. Faults and people come between requests: see `FakeAirtable.faults` and `FakeAirtable.before`.
"""

from __future__ import annotations

import itertools
import json
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "patCANARY1234567.0123456789abcdef0123456789abcdef"
BASE = "appFAKE0000000001"
SCOPES = frozenset(
    {"schema.bases:read", "schema.bases:write", "data.records:read", "data.records:write", "webhook:manage"}
)
COMPUTED = frozenset(
    {
        *("formula", "rollup", "count", "multipleLookupValues", "createdTime", "lastModifiedTime", "createdBy"),
        *("lastModifiedBy", "autoNumber", "button", "aiText", "externalSyncSource"),
    }
)
_TEXTS = ("singleLineText", "multilineText", "email", "url", "phoneNumber", "richText")
_NUMBERS = ("number", "percent", "currency", "duration", "rating")
_LISTING = {"pageSize", "offset", "fields", "view", "filterByFormula", "returnFieldsByFieldId", "sort", "maxRecords"}


class Refusal(Exception):
    """An error answer: a status and a body."""

    def __init__(self, status: int, kind: str, message: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(kind)
        self.status, self.headers = status, dict(headers or {})
        self.body: Any = {"error": {"type": kind, "message": message or kind}} if message != "-" else {"error": kind}


@dataclass
class FakeRecord:
    id: str
    created: str
    cells: dict[str, Any]
    modified: str = ""


@dataclass
class FakeTable:
    id: str
    name: str
    fields: list[dict[str, Any]]
    records: dict[str, FakeRecord] = field(default_factory=dict)
    views: dict[str, Callable[[FakeRecord], bool]] = field(default_factory=dict)
    locked: set[str] = field(default_factory=set)
    """The names of fields that only others may edit."""

    def field_named(self, name: str) -> dict[str, Any]:
        for item in self.fields:
            if name in (item["id"], item["name"]):
                return item
        raise Refusal(422, "UNKNOWN_FIELD_NAME", f'Unknown field name: "{name}"')

    def values(self, key: str) -> dict[str, Any]:
        """The filled cells of a record by the names of its fields: what a person sees."""
        record = self.records[key]
        named = {item["id"]: item["name"] for item in self.fields}
        return {named[name]: value for name, value in record.cells.items() if name in named}


@dataclass(frozen=True)
class Request:
    method: str
    path: tuple[str, ...]
    query: Mapping[str, str]
    body: Any
    number: int

    @property
    def is_change(self) -> bool:
        """Return True for a change of records of a person's table."""
        return self.method == "PATCH"


Fault = Callable[[Request], "Answering | None"]


@dataclass(frozen=True)
class Answering:
    """A fault: how a request is answered. `applies`: what it asks for happens first."""

    way: str
    applies: bool = False
    status: int = 500
    kind: str = "SERVER_ERROR"
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    only: int | None = None
    """How many of the records of a change are changed; None: all."""


class FakeAirtable:
    """One base of the service. `limit` are the requests per second that it allows."""

    def __init__(self, limit: float | None = None) -> None:
        self.token, self.scopes = TOKEN, set(SCOPES)
        self.tables: dict[str, FakeTable] = {}
        self.hooks: dict[str, dict[str, Any]] = {}
        self.entries: dict[str, list[tuple[float, dict[str, Any]]]] = {}
        self.requests: list[Request] = []
        self.history: list[tuple[str, str, dict[str, Any]]] = []
        """Each change of records: who made it, the table's name, and the former and new cells by record."""
        self.addresses: list[str] = []
        self.faults: deque[Fault] = deque()
        self.before: Callable[[Request], None] = lambda _: None
        self.after: Callable[[Request], None] = lambda _: None
        self.limit, self.lag, self.splits = limit, 0.0, False
        self.lock = threading.RLock()
        self.alters: Callable[[str, Any], Any] = lambda _name, value: value
        self._iterators: dict[str, list[str]] = {}
        self._numbers = itertools.count(1)
        self._transactions = itertools.count(1)
        self._recent: deque[float] = deque()
        self._blocked = 0.0

    # What people do

    def add_table(self, name: str, fields: Mapping[str, Any]) -> FakeTable:
        """Add a table; a field is its type, or its type and options."""
        described = []
        for column, kind in fields.items():
            type_, options = (kind, None) if isinstance(kind, str) else kind
            described.append({"id": self.new_id("fld"), "name": column, "type": type_})
            if options is not None:
                described[-1]["options"] = options
        table = FakeTable(self.new_id("tbl"), name, described)
        self.tables[table.id] = table
        return table

    def add(self, table: FakeTable, **cells: Any) -> str:
        """Add a record as a person does; returns its id."""
        return self.insert(table, cells, source="client")

    def edit(self, table: FakeTable, key: str, **cells: Any) -> None:
        """Edit cells of a record as a person does."""
        with self.lock:
            if key in table.records:
                self.update(table, {key: {table.field_named(name)["id"]: value for name, value in cells.items()}})

    def expire(self) -> None:
        """A week passes in which nobody reads the lists of changes."""
        for hook in self.hooks.values():
            hook["expirationTime"] = _now(-timedelta(minutes=1))

    def remove(self, table: FakeTable, key: str) -> None:
        with self.lock:
            if table.records.pop(key, None) is not None:
                self.note(table, {}, [key], "client")

    # The base

    def new_id(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers):014d}"

    def insert(self, table: FakeTable, cells: Mapping[str, Any], source: str) -> str:
        with self.lock:
            key = self.new_id("rec")
            stored = {table.field_named(name)["id"]: value for name, value in cells.items()}
            table.records[key] = FakeRecord(
                key, _now(), {n: _stored(table.field_named(n), v) for n, v in stored.items() if not _empty(v)}, _now()
            )
            del source
            return key

    def update(self, table: FakeTable, by_record: Mapping[str, Mapping[str, Any]], source: str = "client") -> None:
        """One transaction: set cells of records, and note the change for webhooks."""
        changed = {}
        for key, cells in by_record.items():
            record = table.records[key]
            before = dict(record.cells)
            for name, value in cells.items():
                if _empty(value):
                    record.cells.pop(name, None)
                else:
                    record.cells[name] = _stored(table.field_named(name), value)
            names = [name for name in cells if before.get(name) != record.cells.get(name)]
            if names:
                record.modified = _now()
                changed[key] = self._changed(table, before, record, names)
        if changed:
            self.note(table, changed, [], source)

    def _changed(
        self, table: FakeTable, before: Mapping[str, Any], record: FakeRecord, names: list[str]
    ) -> dict[str, Any]:
        kinds = {item["id"]: item for item in table.fields}

        def values(cells: Mapping[str, Any], wanted: list[str]) -> dict[str, Any]:
            return {"cellValuesByFieldId": {name: _second_format(kinds[name], cells.get(name)) for name in wanted}}

        others = [name for name in record.cells if name not in names]
        return {
            "current": values(record.cells, names),
            "previous": values(before, names),
            "unchanged": values(record.cells, others),
        }

    def note(self, table: FakeTable, changed: Mapping[str, Any], removed: list[str], source: str) -> None:
        number = next(self._transactions)
        self.history.append((source, table.name, dict(changed)))
        parts = [{key: value} for key, value in changed.items()] if self.splits and len(changed) > 1 else [changed]
        for part in parts:
            of_table: dict[str, Any] = {"changedRecordsById": part} if part else {}
            if removed:
                of_table["destroyedRecordIds"] = removed
            entry = {
                "timestamp": _now(),
                "baseTransactionNumber": number,
                "payloadFormat": "v0",
                "actionMetadata": {"source": source, "sourceMetadata": {}},
                "changedTablesById": {table.id: of_table},
            }
            for key, hook in self.hooks.items():
                if (
                    hook["expirationTime"] > _now()
                    and hook["specification"]["options"]["filters"].get("recordChangeScope", table.id) == table.id
                ):
                    self.entries[key].append((time.monotonic() + self.lag, entry))

    # Answers

    def answer(self, request: Request, headers: Mapping[str, str], only: int | None = None) -> Any:
        """The body of a successful answer; raises Refusal."""
        with self.lock:
            if headers.get("Authorization") != f"Bearer {self.token}":
                raise Refusal(401, "AUTHENTICATION_REQUIRED", "Authentication required")
            for routes in (self._schema_routes, self._hook_routes, self._record_routes):
                body = routes(request, only)
                if body is not None:
                    return body
            raise Refusal(404, "NOT_FOUND", "-")

    def _schema_routes(self, request: Request, _only: int | None) -> Any:
        match (request.method, *request.path):
            case ("GET", "v0", "meta", "bases", base, "tables"):
                self._needs("schema.bases:read", base)
                return {"tables": [self._described(table) for table in self.tables.values()]}
            case ("POST", "v0", "meta", "bases", base, "tables"):
                self._needs("schema.bases:write", base)
                return self._new_table(request.body)
            case ("POST", "v0", "meta", "bases", base, "tables", table, "fields"):
                self._needs("schema.bases:write", base)
                return self._new_field(self._table(table), request.body)
        return None

    def _hook_routes(self, request: Request, _only: int | None) -> Any:
        match (request.method, *request.path):
            case ("GET", "v0", "bases", base, "webhooks"):
                self._needs("webhook:manage", base)
                return {"webhooks": [self._hook(key) for key in self.hooks]}
            case ("POST", "v0", "bases", base, "webhooks"):
                self._needs("webhook:manage", base)
                return self._new_hook(request.body)
            case ("GET", "v0", "bases", base, "webhooks", key, "payloads"):
                self._needs("webhook:manage", base)
                self._needs("data.records:read", base)
                return self._payloads(key, request.query)
        return None

    def _record_routes(self, request: Request, only: int | None) -> Any:
        match (request.method, *request.path):
            case ("POST", "v0", base, table, "listRecords"):
                self._needs("data.records:read", base)
                return self._list(self._table(table), request.body)
            case ("PATCH", "v0", base, table):
                self._needs("data.records:write", base)
                return self._patch(self._table(table), request.body, only)
            case ("POST", "v0", base, table):
                self._needs("data.records:write", base)
                return self._create(self._table(table), request.body)
            case ("DELETE", "v0", base, table, key):
                self._needs("data.records:write", base)
                return self._delete(self._table(table), key)
        return None

    def throttled(self) -> bool:
        """Count a request against the limit; True if it is refused, as all are for the next 30 s."""
        if self.limit is None:
            return False
        now = time.monotonic()
        while self._recent and now - self._recent[0] >= 1:
            self._recent.popleft()
        self._recent.append(now)
        if len(self._recent) > self.limit:
            self._blocked = now + 30
        return now < self._blocked

    def _needs(self, scope: str, base: str) -> None:
        if scope not in self.scopes or base != BASE:
            raise Refusal(403, "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND", "Invalid permissions, or not found.")

    def _table(self, name: str) -> FakeTable:
        for table in self.tables.values():
            if name in (table.id, table.name):
                return table
        raise Refusal(403, "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND", "Invalid permissions, or not found.")

    def _described(self, table: FakeTable) -> dict[str, Any]:
        fields = [{key: value for key, value in item.items() if not key.startswith("_")} for item in table.fields]
        return {"id": table.id, "name": table.name, "primaryFieldId": fields[0]["id"], "fields": fields, "views": []}

    def _new_table(self, body: Any) -> dict[str, Any]:
        if any(table.name == body["name"] for table in self.tables.values()):
            raise Refusal(422, "DUPLICATE_TABLE_NAME", "The table name is taken")
        table = self.add_table(body["name"], {item["name"]: item["type"] for item in body["fields"]})
        return self._described(table)

    def _new_field(self, table: FakeTable, body: Any) -> dict[str, Any]:
        if any(item["name"] == body["name"] for item in table.fields):
            raise Refusal(422, "DUPLICATE_OR_EMPTY_FIELD_NAME", "The field name is taken")
        table.fields.append({"id": self.new_id("fld"), "name": body["name"], "type": body["type"]})
        return dict(table.fields[-1])

    def _hook(self, key: str) -> dict[str, Any]:
        shown = [entry for at, entry in self.entries[key] if at <= time.monotonic()]
        return {**self.hooks[key], "id": key, "cursorForNextPayload": len(shown) + 1}

    def _new_hook(self, body: Any) -> dict[str, Any]:
        if set(body) - {"notificationUrl", "specification"} or "filters" not in body["specification"]["options"]:
            raise Refusal(422, "INVALID_REQUEST_UNKNOWN", "Invalid request")
        if len(self.hooks) >= 10:
            raise Refusal(422, "TOO_MANY_WEBHOOKS_IN_BASE", "Too many webhooks")
        key = self.new_id("ach")
        self.hooks[key] = {
            "specification": body["specification"],
            "notificationUrl": body.get("notificationUrl"),
            "isHookEnabled": True,
            "areNotificationsEnabled": True,
            "expirationTime": _now(timedelta(days=7)),
        }
        self.entries[key] = []
        return {"id": key, "macSecretBase64": "c2VjcmV0", "expirationTime": self.hooks[key]["expirationTime"]}

    def _payloads(self, key: str, query: Mapping[str, str]) -> dict[str, Any]:
        if key not in self.hooks:
            raise Refusal(404, "NOT_FOUND", "-")
        self.hooks[key]["expirationTime"] = _now(timedelta(days=7))
        cursor = int(query.get("cursor", "1"))
        visible = [entry for at, entry in self.entries[key] if at <= time.monotonic()]
        page = visible[cursor - 1 : cursor + 49]
        following = cursor + len(page)
        return {"payloads": page, "cursor": following, "mightHaveMore": following <= len(visible)}

    def _list(self, table: FakeTable, body: Any) -> dict[str, Any]:
        if not isinstance(body, dict) or set(body) - _LISTING:
            raise Refusal(422, "INVALID_REQUEST_UNKNOWN", "Invalid request: parameter validation failed.")
        size = body.get("pageSize", 100)
        if not isinstance(size, int) or not 1 <= size <= 100:
            raise Refusal(422, "INVALID_REQUEST_UNKNOWN", "Invalid page size")
        wanted = [table.field_named(name)["id"] for name in body.get("fields", [])]
        view = body.get("view")
        if view is not None and view not in table.views:
            raise Refusal(422, "VIEW_NAME_NOT_FOUND", "View not found")
        chosen = [key for key, record in table.records.items() if view is None or table.views[view](record)]
        if formula := body.get("filterByFormula"):
            chosen = [key for key in chosen if _is_true(table, table.records[key], formula)]
        start = 0
        if (offset := body.get("offset")) is not None:
            iterator, _, anchor = str(offset).partition("/")
            if iterator not in self._iterators or anchor not in chosen:
                raise Refusal(422, "LIST_RECORDS_ITERATOR_NOT_AVAILABLE", "Restart the iteration")
            start = chosen.index(anchor)
        else:
            iterator = self.new_id("itr")
            self._iterators[iterator] = []
        page = chosen[start : start + size]
        by_id = bool(body.get("returnFieldsByFieldId"))
        answer: dict[str, Any] = {"records": [self._record(table, key, wanted, by_id=by_id) for key in page]}
        if start + size < len(chosen):
            answer["offset"] = f"{iterator}/{chosen[start + size]}"
        return answer

    def forget_iterators(self) -> None:
        self._iterators.clear()

    def _record(self, table: FakeTable, key: str, wanted: list[str], *, by_id: bool) -> dict[str, Any]:
        record = table.records[key]
        cells = {**record.cells}
        for item in table.fields:
            if item["type"] == "lastModifiedTime":
                cells[item["id"]] = record.modified
            elif item["type"] == "createdTime":
                cells[item["id"]] = record.created
            elif "_compute" in item:
                cells[item["id"]] = item["_compute"](table.values(key))
        named = {item["id"]: item["id"] if by_id else item["name"] for item in table.fields}
        kept = {named[name]: value for name, value in cells.items() if name in named and (not wanted or name in wanted)}
        return {"id": key, "createdTime": record.created, "fields": {n: v for n, v in kept.items() if not _empty(v)}}

    def _patch(self, table: FakeTable, body: Any, only: int | None) -> dict[str, Any]:
        allowed = {"records", "typecast", "returnFieldsByFieldId", "performUpsert"}
        if not isinstance(body, dict) or set(body) - allowed or not isinstance(body.get("records"), list):
            raise Refusal(422, "INVALID_REQUEST_MISSING_FIELDS", "Could not find field 'records'")
        if not 1 <= len(body["records"]) <= 10:
            raise Refusal(422, "INVALID_RECORDS", "You can only update up to 10 records")
        updates: dict[str, dict[str, Any]] = {}
        for item in body["records"]:
            if set(item) != {"id", "fields"} or item["id"] in updates:
                raise Refusal(422, "INVALID_RECORDS", "Invalid record")
            if item["id"] not in table.records:
                raise Refusal(422, "ROW_DOES_NOT_EXIST", f"Record ID {item['id']} does not exist in this table")
            updates[item["id"]] = self._checked(table, item["fields"])
        some = dict(itertools.islice(updates.items(), only))
        self.update(table, some, source="publicApi")
        by_id = bool(body.get("returnFieldsByFieldId"))
        return {"records": [self._record(table, key, [], by_id=by_id) for key in updates]}

    def _create(self, table: FakeTable, body: Any) -> dict[str, Any]:
        keys = []
        for item in body["records"]:
            cells = self._checked(table, item["fields"])
            named = {entry["id"]: entry["name"] for entry in table.fields}
            keys.append(self.insert(table, {named[n]: v for n, v in cells.items()}, source="publicApi"))
        return {"records": [self._record(table, key, [], by_id=True) for key in keys]}

    def _delete(self, table: FakeTable, key: str) -> dict[str, Any]:
        if key not in table.records:
            raise Refusal(404, "NOT_FOUND", "-")
        del table.records[key]
        return {"deleted": True, "id": key}

    def _checked(self, table: FakeTable, cells: Mapping[str, Any]) -> dict[str, Any]:
        checked = {}
        for name, value in cells.items():
            item = table.field_named(name)
            if item["name"] in table.locked:
                raise Refusal(403, "INVALID_PERMISSIONS", f"You are not permitted to update cells in field {name}")
            if item["type"] in COMPUTED:
                raise Refusal(422, "INVALID_VALUE_FOR_COLUMN", f'Field "{item["name"]}" is computed')
            _check(item, value)
            checked[item["id"]] = self.alters(item["name"], value)
        return checked


def _check(item: Mapping[str, Any], value: Any) -> None:
    """Refuse a value that the field does not take without typecast."""
    kind = item["type"]
    options = item.get("options") or {}
    if value is None:
        return
    if kind in ("singleSelect", "multipleSelects"):
        names = [choice["name"] for choice in options.get("choices", [])]
        texts = [value] if kind == "singleSelect" else value
        if not isinstance(texts, list) or any(text not in names for text in texts):
            raise Refusal(422, "INVALID_MULTIPLE_CHOICE_OPTIONS", "Insufficient permissions to create new option")
        return
    is_right = {
        **dict.fromkeys(_TEXTS, lambda: isinstance(value, str) and len(value) <= 100_000),
        **dict.fromkeys(_NUMBERS, lambda: isinstance(value, int | float) and not isinstance(value, bool)),
        "checkbox": lambda: isinstance(value, bool),
        "date": lambda: isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value) is not None,
        "dateTime": lambda: isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT.*Z", value) is not None,
        "multipleRecordLinks": lambda: isinstance(value, list) and all(str(i).startswith("rec") for i in value),
    }.get(kind, lambda: True)
    if not is_right():
        raise Refusal(422, "INVALID_VALUE_FOR_COLUMN", f'Field "{item["name"]}" cannot accept the provided value')


def _second_format(item: Mapping[str, Any], value: Any) -> Any:
    """A value as lists of changes have it."""
    if value is None:
        return None
    if item["type"] == "singleSelect":
        return {"id": f"sel{value}", "name": value, "color": "blueLight2"}
    if item["type"] == "multipleSelects":
        return [{"id": f"sel{name}", "name": name} for name in value]
    if item["type"] == "multipleRecordLinks":
        return [{"id": key, "name": "Linked"} for key in value]
    return value


def _empty(value: Any) -> bool:
    return value is None or value in ("", []) or value is False


def _stored(item: Mapping[str, Any], value: Any) -> Any:
    """A value as Airtable keeps it: rich text always ends with a line end."""
    return f"{value.removesuffix(chr(10))}\n" if item["type"] == "richText" else value


def _now(later: timedelta = timedelta()) -> str:
    return (datetime.now(UTC) + later).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_true(table: FakeTable, record: FakeRecord, formula: str) -> bool:
    """The few formulas that are needed: OR, RECORD_ID, FIND and the equality of a field."""
    if match := re.fullmatch(r"OR\((.*)\)", formula, re.DOTALL):
        return any(_is_true(table, record, part) for part in _parts(match[1]))
    if match := re.fullmatch(r"RECORD_ID\(\)='(\w+)'", formula):
        return record.id == match[1]
    if match := re.fullmatch(r"FIND\('([^']+)',\{(.+)\}\)", formula):
        return match[1] in str(record.cells.get(table.field_named(match[2])["id"], ""))
    if match := re.fullmatch(r"\{(.+)\}='([^']*)'", formula):
        return bool(record.cells.get(table.field_named(match[1])["id"], "") == match[2])
    raise Refusal(422, "INVALID_FILTER_BY_FORMULA", "The formula for filtering records is invalid")


def _parts(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


@contextmanager
def serving(fake: FakeAirtable) -> Iterator[str]:
    """Serve the fake; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(fake))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _handler(fake: FakeAirtable) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"fake": fake})


class _Handler(BaseHTTPRequestHandler):
    fake: FakeAirtable
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_: Any) -> None:
        """Nothing: the requests are kept."""

    def _answered(self) -> None:
        fake = self.fake
        address = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = tuple(unquote(part) for part in address.path.split("/") if part)
        query = {name: texts[-1] for name, texts in parse_qs(address.query).items()}
        with fake.lock:
            request = Request(self.command, path, query, json.loads(raw) if raw else None, len(fake.requests))
            fake.requests.append(request)
            fake.addresses.append(self.path)
            fake.before(request)
            fault = next((a for f in list(fake.faults) if (a := f(request)) is not None), None)
        if fault is None or fault.way == "usual":
            self._usual(request, None if fault is None else fault.only)
        else:
            self._faulty(request, fault)
        fake.after(request)

    do_GET = do_POST = do_PATCH = do_DELETE = _answered  # noqa: N815 - as http.server names them

    def _usual(self, request: Request, only: int | None = None) -> None:
        if self.fake.throttled():
            self._send(429, {"errors": [{"error": "RATE_LIMIT_REACHED", "message": "Rate limit exceeded."}]})
            return
        try:
            body = self.fake.answer(request, self.headers, only)
        except Refusal as refusal:
            self._send(refusal.status, refusal.body, refusal.headers)
        else:
            self._send(200, body)

    def _faulty(self, request: Request, fault: Answering) -> None:
        body: Any = {"error": {"type": fault.kind, "message": "A fault for the record secret-value"}}
        if fault.applies and fault.way != "status":
            body = self.fake.answer(request, self.headers, fault.only)
        elif fault.applies:
            self.fake.answer(request, self.headers, fault.only)
        time.sleep(fault.seconds)
        match fault.way:
            case "status":
                self._send(fault.status, body, fault.headers)
            case "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
            case "cut":
                self._send(200, body, cut=True)
            case _:
                self._raw(*_STRANGE[fault.way])

    def _send(self, status: int, body: Any, headers: Mapping[str, str] | None = None, *, cut: bool = False) -> None:
        data = json.dumps(body).encode()
        self._raw(status, data, "application/json; charset=utf-8", headers, cut=cut)

    def _raw(
        self, status: int, data: bytes, kind: str, headers: Mapping[str, str] | None = None, *, cut: bool = False
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        if cut:
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()


_STRANGE: Mapping[str, tuple[int, bytes, str, Mapping[str, str]]] = {
    "html": (200, b"<html>Sign in to the hotel's network</html>", "text/html", {}),
    "text": (200, b'{"records": []}', "text/plain", {}),
    "garbage": (200, b'{"records": [{"id": 3', "application/json", {}),
    "list": (200, b"[]", "application/json", {}),
    "object": (200, b'{"unexpected": true}', "application/json", {}),
    "empty": (200, b"", "application/json", {}),
    "redirect": (302, b"", "text/html", {"Location": "http://127.0.0.1:1/stolen"}),
}
"""Answers that are none of Airtable's."""
