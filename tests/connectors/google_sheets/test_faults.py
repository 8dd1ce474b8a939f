"""What networks and services do wrong, while a sheet is read and while it is cleaned: nothing is lost or doubled."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from connectors.errors import ConnectorError
from connectors.google_sheets.source import GoogleSheetsSource
from connectors.target import Change, TargetError, TransactionOutcome
from tests.support.chance import spread
from tests.support.google_sheets import BadRequest, Fault, GoogleSheets, error, google_sheets, in_seconds
from tests.support.sheets_target import ROWS, TITLE, SheetTarget

QUOTA = error(429, "RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED")
HTML = {"Content-Type": "text/html"}
ANSWERS = {
    "quota": Fault("", 429, QUOTA, {"Retry-After": "0"}),
    "quota with seconds": Fault("", 429, QUOTA, {"Retry-After": "3"}),
    "quota with a date": Fault("", 429, QUOTA, {"Retry-After": in_seconds(2)}),
    "quota without a time": Fault("", 429, QUOTA),
    "quota with a strange time": Fault("", 429, QUOTA, {"Retry-After": "soon"}),
    "quota that stays": Fault("", 429, QUOTA, times=500),
    "quota as 403": Fault("", 403, error(403, "", legacy="userRateLimitExceeded")),
    "unauthorised once": Fault("", 401, error(401, "UNAUTHENTICATED")),
    "unauthorised": Fault("", 401, error(401, "UNAUTHENTICATED"), times=500),
    "forbidden": Fault("", 403, error(403, "PERMISSION_DENIED"), times=500),
    "the api is off": Fault("", 403, error(403, "PERMISSION_DENIED", "SERVICE_DISABLED"), times=500),
    "a scope is missing": Fault("", 403, error(403, "", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"), times=500),
    "not found": Fault("", 404, error(404, "NOT_FOUND"), times=500),
    "bad request": Fault("", 400, error(400, "INVALID_ARGUMENT")),
    "too large": Fault("", 413, b"<html>", HTML),
    "aborted": Fault("", 409, error(409, "ABORTED")),
    "timeout of Google": Fault("", 408, b""),
}
LOST = {
    "500": Fault("", 500, error(500, "INTERNAL")),
    "502 as a page": Fault("", 502, b"<html>secret cell value</html>", HTML),
    "503": Fault("", 503, error(503, "UNAVAILABLE")),
    "504": Fault("", 504, b""),
    "reset": Fault("", cut=True),
    "three resets": Fault("", cut=True, times=3),
    "503 for long": Fault("", 503, error(503, "UNAVAILABLE"), times=500),
    "a page with status 200": Fault("", 200, b"<html>Sign in</html>", HTML),
    "half an answer": Fault("", 200, b'{"sheets": [{"proper'),
    "another type of content": Fault("", 200, b"{}", {"Content-Type": "application/octet-stream"}),
    "no object": Fault("", 200, b"[]"),
}
"""Answers after which only the spreadsheet tells if a write was made."""
FAULTS = {
    **ANSWERS,
    **{f"{name}, before": fault for name, fault in LOST.items()},
    **{f"{name}, after": replace(fault, applies=True) for name, fault in LOST.items()},
    "no token": Fault("token"),
}
READS = list(itertools.product(FAULTS, range(2)))
CLEANS = list(itertools.product(FAULTS, ("GET", "POST"), range(3)))


@pytest.fixture
def fake() -> Iterator[GoogleSheets]:
    with google_sheets() as services:
        services.add(TITLE, ROWS)
        yield services


def strike(fake: GoogleSheets, name: str, skip: int, method: str) -> None:
    fault = replace(FAULTS[name], skip=skip, only=method)
    if fault.name == "token":
        fake.token_error = 503, b"{}"
        fake.valid_tokens.clear()
    else:
        fake.faults = [fault]


def over(fake: GoogleSheets) -> None:
    fake.faults, fake.token_error = [], None


def values(sheet: SheetTarget, source: GoogleSheetsSource) -> list[str]:
    scan = source.scan(sheet.dataset, ["id"])
    try:
        return [str(record["id"]) for record in scan.reader.read_all().to_pylist()]
    finally:
        scan.close()


@pytest.mark.parametrize(("name", "skip"), spread(READS, 20))
def test_a_read_is_complete_or_fails(fake: GoogleSheets, name: str, skip: int) -> None:
    sheet = SheetTarget(fake)
    strike(fake, name, skip, "")
    source = sheet.target

    try:
        answer = values(sheet, source)
    except ConnectorError as problem:
        answer = [str(problem)]
    over(fake)

    assert answer == ["A-1", "A-2", "A-3", "A-4"] or len(answer) == 1
    assert not [text for text in answer if "secret" in text or "\n" in text]
    assert values(sheet, source) == ["A-1", "A-2", "A-3", "A-4"]


@pytest.mark.parametrize(("name", "method", "skip"), spread(CLEANS, 24))
def test_a_cleaning_is_made_once_or_not_at_all(fake: GoogleSheets, name: str, method: str, skip: int) -> None:
    """It is tried until it is done, as execution does: after an unknown outcome, the receipt is looked up."""
    sheet = SheetTarget(fake)
    sheet.target.remembers()
    changes = [*sheet.changes({"A-1": {"status": "dup"}, "A-2": {"status": "dup", "score": "9"}}), *sheet.guards("A-3")]
    own = len(fake.replacements)
    target = sheet.target
    strike(fake, name, skip, method)

    ended = attempt(sheet, changes, target)
    over(fake)
    if ended == "unknown":
        ended = "done" if sheet.has_happened("k1") else "not done"
    if ended == "not done":
        assert sheet.column("status") == {"A-1": None, "A-2": "new", "A-3": None, "A-4": "new"}
        assert attempt(sheet, changes, sheet.target) == "done"

    assert sheet.column("status") == {"A-1": "dup", "A-2": "dup", "A-3": None, "A-4": "new"}
    assert sheet.record("A-2")["score"] == 9.0
    assert len([title for title, *_ in fake.replacements[own:] if title == TITLE]) == 3
    assert list(sheet.target.receipts(["k1"], TITLE)) == ["k1"]
    assert sheet.has_happened("k1")


def attempt(sheet: SheetTarget, changes: list[Change], target: GoogleSheetsSource) -> str:
    try:
        sheet.make(changes, "k1", target=target)
    except ConnectorError as problem:
        is_unknown = isinstance(problem, TargetError) and problem.outcome is TransactionOutcome.UNKNOWN
        return "a secret is shown" if "secret" in str(problem) else "unknown" if is_unknown else "not done"
    return "done"


def test_a_write_that_arrives_late_is_refused(fake: GoogleSheets) -> None:
    """A request that was on its way when its outcome was asked about has no effect any more."""
    sheet = SheetTarget(fake)
    sheet.target.remembers()
    changes = sheet.changes({"A-1": {"status": "dup"}})
    fake.faults = [Fault("lost", 504, b"", only="POST")]
    assert attempt(sheet, changes, sheet.target) == "not done"
    for _ in range(5):
        assert not sheet.has_happened("k1")

    with pytest.raises(BadRequest, match="already exists"):
        fake.batch_update(fake.lost[0])
    assert sheet.column("status")["A-1"] is None


def renamed(rows: list[list[object]], fake: GoogleSheets) -> None:
    fake.sheets[0].title = "Clients"


def inserted(rows: list[list[object]], fake: GoogleSheets) -> None:
    for row in rows:
        row.insert(1, None)


def relabelled(rows: list[list[object]], fake: GoogleSheets) -> None:
    rows[0][2] = "state"


def swapped(rows: list[list[object]], fake: GoogleSheets) -> None:
    rows[1], rows[3] = rows[3], rows[1]


@pytest.mark.parametrize("change", [renamed, inserted, relabelled, swapped], ids=lambda change: change.__name__)
def test_a_sheet_that_gets_another_form_right_before_the_write_keeps_its_cells(
    fake: GoogleSheets, change: Callable[[list[list[object]], GoogleSheets], None]
) -> None:
    """Nothing of it stays, even if a cell of another record was hit for a moment; the name of a tab does not matter."""
    sheet = SheetTarget(fake)
    sheet.target.remembers()
    changes = sheet.changes({"A-1": {"status": "dup"}})
    changed: list[int] = []

    def edit(number: int, method: str) -> None:
        if method == "POST" and not changed:
            changed.append(number)
            change(fake.sheets[0].rows, fake)

    fake.before = edit
    ended = attempt(sheet, changes, sheet.target)

    rows = {row[0]: row for row in fake.sheets[0].rows}
    assert changed
    assert ended == ("done" if change is renamed else "not done")
    assert [name for name, row in rows.items() if "dup" in row] == ["A-1"] * (ended == "done")
