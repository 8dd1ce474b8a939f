"""Google Sheets pass the suite of every source."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from connectors.conformance import source as conformance
from connectors.google_sheets.connector import GoogleSheetsDataset, GoogleSheetsSettings
from connectors.google_sheets.source import GoogleSheetsSource
from tests.support.google_sheets import GoogleSheets, google_sheets, private_key

WORDS = {
    pa.string(): "text",
    pa.int64(): "integer",
    pa.decimal128(20, 4): "decimal(20,4)",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "instant",
}


class SheetsKit:
    """Values that a cell cannot hold exactly are stored as texts and declared, as people do."""

    secret = private_key().splitlines()[1]
    empty_is_null = True

    def __init__(self, fake: GoogleSheets) -> None:
        self.fake = fake
        self.settings = fake.settings()

    def store(self, table: pa.Table) -> conformance.Stored:
        rows = [[_text(value) for value in record.values()] for record in table.to_pylist()]
        self.fake.sheets.clear()
        self.fake.repeats = {}
        self.fake.add("Orders", [list(table.column_names), *rows], width=table.num_columns)
        columns = {field.name: WORDS[field.type] for field in table.schema}
        return conformance.Stored(
            GoogleSheetsSource("crm", GoogleSheetsSettings(**self.settings), Path()),
            GoogleSheetsDataset(sheet="Orders", columns=columns, timezone="UTC"),
            GoogleSheetsDataset(sheet="Orderz", columns=columns),
            "Orders",
            lambda: (repr(self.fake.sheets), self.fake.batches),
        )


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return value.astimezone(ZoneInfo("UTC")).strftime("%Y-%m-%d %H:%M:%S.%f")
    return None if value is None else str(value)


@pytest.fixture
def fake() -> Iterator[GoogleSheets]:
    with google_sheets() as services:
        yield services


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_google_sheets_conform(
    check: Callable[[Any], None], fake: GoogleSheets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance, "MANY", 12_000)
    monkeypatch.setattr("connectors.google_sheets.reading.CELLS", 10_000)
    check(SheetsKit(fake))
