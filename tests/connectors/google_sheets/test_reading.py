"""Sheets of a spreadsheet are read as workbooks are: typed cells, one consistent state, waits for quotas."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from connectors.errors import ConnectorError, DatasetMissing, Reaction, SourceChanged
from connectors.google_sheets import reading
from connectors.google_sheets.connector import GoogleSheetsDataset, GoogleSheetsSettings
from connectors.google_sheets.source import GoogleSheetsSource
from tests.support.google_sheets import (
    ACCOUNT,
    BOOK,
    CLIENT_SECRET,
    REFRESH_TOKEN,
    TOKEN,
    Date,
    Error,
    Fault,
    Formatted,
    Formula,
    GoogleSheets,
    error,
    google_sheets,
    in_seconds,
    private_key,
)

ROWS = [
    ["id", "name", "paid", "amount", "booked", "at"],
    ["A-1", "Zoë", True, 12.5, Date("2026-03-01"), Date("2026-03-01 10:30", "DATE_TIME")],
    ["A-2", None, False, Formatted(1000.0, "1,000.00"), Date("2026-03-02"), None],
]


@pytest.fixture
def fake() -> Iterator[GoogleSheets]:
    with google_sheets() as services:
        services.add("Orders", ROWS)
        yield services


class Waits(list[float]):
    """Records how long a source would have waited."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def source(fake: GoogleSheets, waits: Waits | None = None, **settings: Any) -> GoogleSheetsSource:
    made = GoogleSheetsSettings(**fake.settings(**settings))
    return GoogleSheetsSource("crm", made, Path(), pause=waits if waits is not None else Waits())


def records(source: GoogleSheetsSource, **dataset: Any) -> list[dict[str, Any]]:
    settings = GoogleSheetsDataset(**dataset)
    scan = source.scan(settings, source.describe(settings).names)
    try:
        return list(scan.reader.read_all().to_pylist())
    finally:
        scan.close()


def refused(fake: GoogleSheets, **settings: Any) -> ConnectorError:
    with pytest.raises(ConnectorError) as raised:
        records(source(fake, **settings))
    return raised.value


def test_cells_have_the_types_that_they_show(fake: GoogleSheets) -> None:
    first, second = records(source(fake))

    assert first["paid"] is True
    assert first["amount"] == Decimal("12.5")
    assert first["booked"] == dt.date(2026, 3, 1)
    assert (second["name"], second["amount"], second["_row"], second["_file"]) == (None, Decimal(1000), 3, "Orders")


def test_times_are_in_the_zone_of_the_spreadsheet_unless_the_dataset_names_another(fake: GoogleSheets) -> None:
    assert records(source(fake))[0]["at"] == dt.datetime(2026, 3, 1, 9, 30, tzinfo=dt.UTC)
    assert records(source(fake), timezone="UTC")[0]["at"] == dt.datetime(2026, 3, 1, 10, 30, tzinfo=dt.UTC)


def test_a_formula_is_its_result_and_an_error_leaves_its_record_out(fake: GoogleSheets) -> None:
    fake.add("Sums", [["id", "sum"], ["a", Formula("=1+1", 2.0)], ["b", Error("N_A")]])
    sheets, dataset = source(fake), GoogleSheetsDataset(sheet="Sums")

    scan = sheets.scan(dataset, ["id", "sum"])

    assert scan.reader.read_all().to_pylist() == [{"id": "a", "sum": 2}]
    assert [(problem.column, problem.records, problem.skipped) for problem in scan.problems()] == [("sum", 1, True)]


def test_the_header_and_totals_are_where_the_dataset_says(fake: GoogleSheets) -> None:
    fake.add("Report", [["Report of March"], [], ["id", "n", "m"], ["a", 1.0, 1.0], ["b", 2.0, 2.0], ["Total", 3.0]])

    assert [row["id"] for row in records(source(fake), sheet="Report", header_row=3, skip_footer=1)] == ["a", "b"]
    proposal = source(fake).declaration("Report")
    assert proposal.settings == {"sheet": "Report", "header_row": 3, "skip_footer": 1}


def test_a_sheet_must_be_named_if_several_are_visible(fake: GoogleSheets) -> None:
    fake.add("Notes", [["a"]], hidden=True)
    assert len(records(source(fake))) == 2

    fake.add("It's 2026", [["a"], ["x"]])

    assert "`sheet` must say which" in str(refused(fake))
    assert records(source(fake), sheet="It's 2026") == [{"a": "x", "_file": "It's 2026", "_row": 2}]
    with pytest.raises(DatasetMissing, match="did you mean Orders"):
        records(source(fake), sheet="Ordres")


def test_a_sheet_of_several_pages_is_read_twice_and_again_if_it_changed(
    fake: GoogleSheets, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit between two pages leads to a new read: no record is lost or doubled by rows that move."""
    monkeypatch.setattr(reading, "CELLS", 40)
    fake.sheets.clear()
    sheet = fake.add("Long", [["id"], *([f"r{n}"] for n in range(99))], width=4, height=100)
    moved = False

    def sort(number: int, _method: str) -> None:
        nonlocal moved
        if number == 5 and not moved:
            moved = True
            sheet.rows[1:] = sheet.rows[:0:-1]

    fake.before = sort

    assert sorted(row["id"] for row in records(source(fake))) == sorted(f"r{n}" for n in range(99))
    assert moved


def test_a_sheet_that_never_stops_changing_is_not_read(fake: GoogleSheets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CELLS", 40)
    fake.sheets.clear()
    sheet = fake.add("Long", [["id"], *([f"r{n}"] for n in range(99))], width=4, height=100)

    def edit(number: int, _method: str) -> None:
        sheet.put(50, 1, f"edit {number}")

    fake.before = edit

    problem = refused(fake)
    assert isinstance(problem, SourceChanged)
    assert problem.reaction is Reaction.RETRY


def test_the_state_changes_with_the_spreadsheet_and_the_content_with_the_sheet(fake: GoogleSheets) -> None:
    fake.add("Notes", [["a"]])
    sheets, dataset = source(fake), GoogleSheetsDataset(sheet="Orders")
    state, content = sheets.state(dataset), sheets.content(dataset, lambda _: None)

    fake.edit("Notes", 0, 0, "b")

    assert sheets.state(dataset) != state
    assert sheets.content(dataset, lambda _: None) == content
    fake.edit("Orders", 1, 1, "Zoe")
    assert sheets.content(dataset, lambda _: None) != content


def test_a_quota_is_waited_for_as_long_as_google_says(fake: GoogleSheets) -> None:
    answer = error(429, "RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED")
    fake.faults = [
        Fault("seconds", 429, answer, {"Retry-After": "30"}),
        Fault("date", 429, answer, {"Retry-After": in_seconds(40)}),
        Fault("none", 429, answer),
    ]
    waits = Waits()

    assert len(records(source(fake, waits, patience=120))) == 2
    assert waits[0] == 30
    assert 35 < waits[1] <= 41
    assert 4 <= waits[2] <= 5


def test_a_quota_that_stays_used_up_ends_the_read(fake: GoogleSheets) -> None:
    fake.faults = [Fault("quota", 429, error(429, "RESOURCE_EXHAUSTED"), times=1_000)]

    problem = refused(fake, patience=60)

    assert "quota" in str(problem)
    assert problem.reaction is Reaction.RETRY
    assert len(fake.requests) < 10


REFUSALS = {
    "not shared": (403, error(403, "PERMISSION_DENIED"), f"Share it with {ACCOUNT}", Reaction.ASK),
    "the api is off": (403, error(403, "PERMISSION_DENIED", "SERVICE_DISABLED"), "Switch on", Reaction.ASK),
    "the api is off, as Drive says it": (403, error(403, "", legacy="accessNotConfigured"), "Switch on", Reaction.ASK),
    "scopes": (403, error(403, "PERMISSION_DENIED", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"), "scopes", Reaction.ASK),
    "no spreadsheet": (404, error(404, "NOT_FOUND"), "no spreadsheet with this id", Reaction.STOP),
    "credentials": (401, error(401, "UNAUTHENTICATED"), "did not accept the credentials", Reaction.ASK),
    "bad request": (400, error(400, "INVALID_ARGUMENT"), "INVALID_ARGUMENT", Reaction.STOP),
    "too large": (413, b"<html>secret cell value</html>", "too large", Reaction.STOP),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_says_what_to_do(fake: GoogleSheets, name: str) -> None:
    status, body, expected, reaction = REFUSALS[name]
    fake.faults = [Fault(name, status, body, times=2)]

    problem = refused(fake)

    assert expected in str(problem)
    assert problem.reaction is reaction
    assert "secret" not in str(problem)


def test_a_token_that_expires_is_renewed_once(fake: GoogleSheets) -> None:
    sheets = source(fake)
    assert len(records(sheets)) == 2

    fake.valid_tokens.clear()
    sheets.close()

    assert len(records(sheets)) == 2
    assert fake.tokens == 2


def test_a_refresh_token_gives_access_too(fake: GoogleSheets) -> None:
    sheets = GoogleSheetsSource("crm", GoogleSheetsSettings(**fake.oauth()), Path(), pause=Waits())
    assert len(records(sheets)) == 2

    fake.token_error = 400, b'{"error": "invalid_grant"}'
    fake.valid_tokens.clear()

    with pytest.raises(ConnectorError, match="gave no token"):
        sheets.content(GoogleSheetsDataset(), lambda _: None)


def test_no_secret_is_in_settings_and_errors(fake: GoogleSheets, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    texts = [repr(GoogleSheetsSettings(**settings)) for settings in (fake.settings(), fake.oauth())]
    fake.faults = [Fault("reset", cut=True, times=3), Fault("off", 403, error(403, "PERMISSION_DENIED"))]
    sheets = source(fake)
    with pytest.raises(ConnectorError) as raised:
        records(sheets)
    texts += [str(raised.value), repr(sheets), *(str(record.getMessage()) for record in caplog.records)]
    for wrong in ({"service_account": '{"private_key": "abc-secret"}'}, {"api": "http://u:abc-secret@example.com"}):
        with pytest.raises(ValidationError) as problem:
            GoogleSheetsSettings(**fake.settings(**wrong))
        texts.append(str(problem.value))

    for secret in (private_key().splitlines()[1], TOKEN, CLIENT_SECRET, REFRESH_TOKEN, "abc-secret", "secret cell"):
        assert not [text for text in texts if secret in text]


@pytest.mark.parametrize(
    "settings",
    [
        {"spreadsheet": "x"},
        {"api": "http://sheets.googleapis.com"},
        {"service_account": None},
        {"client_id": "a"},
        {"service_account": None, "client_id": "a", "refresh_token": "b"},
    ],
)
def test_settings_that_cannot_work_are_refused(fake: GoogleSheets, settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GoogleSheetsSettings(**fake.settings(**settings))


def test_the_address_in_the_browser_names_a_spreadsheet(fake: GoogleSheets) -> None:
    address = f"https://docs.google.com/spreadsheets/d/{BOOK}/edit?gid=0#gid=0"

    assert len(records(source(fake, spreadsheet=address))) == 2


def test_a_stopped_read_ends_while_it_waits(fake: GoogleSheets) -> None:
    fake.faults = [Fault("quota", 429, error(429, "RESOURCE_EXHAUSTED"), times=1_000)]
    made = GoogleSheetsSettings(**fake.settings(patience=3_000))
    sheets: GoogleSheetsSource

    def stop(_seconds: float) -> None:
        sheets.stop()

    sheets = GoogleSheetsSource("crm", made, Path(), pause=stop)

    with pytest.raises(ConnectorError, match="stopped half-way"):
        records(sheets)
    fake.faults = []
    assert len(records(sheets)) == 2
