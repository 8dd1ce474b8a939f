"""A base is read through its Web API: typed by its schema, complete while people work in it, within its limits."""

from __future__ import annotations

import datetime as dt
import json
import logging
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from connectors.airtable.client import AirtableClient
from connectors.airtable.connector import AirtableDataset, AirtableSettings
from connectors.airtable.errors import (
    AirtableBusy,
    AirtableRefused,
    AirtableRequestRefused,
    AirtableUnanswered,
    TableRestless,
)
from connectors.conformance import source as conformance
from connectors.conformance.source import Stored
from connectors.errors import ColumnMissing, ConnectorError, DatasetMissing, ReadStopped
from connectors.pace import SLACK, Pace
from tests.support.airtable import BASE, TOKEN, Answering, FakeAirtable, FakeTable, Request, serving
from tests.support.airtable_target import FAST, Members

SELECT = {"choices": [{"id": "selA", "name": "A"}, {"id": "selB", "name": "B"}]}
NUMBER = {"result": {"type": "number", "options": {"precision": 2}}}


def settings(address: str, **more: Any) -> AirtableSettings:
    return AirtableSettings(**{"type": "airtable", "token": TOKEN, "base": BASE, "endpoint": address, **more})


def scanned(members: Members, *columns: str, **dataset: Any) -> list[dict[str, Any]]:
    source, chosen = members.source, AirtableDataset(table="Members", **dataset)
    scan = source.scan(chosen, columns or source.describe(chosen).names)
    return scan.reader.read_all().to_pylist()


def many(members: Members, number: int) -> list[str]:
    return [members.fake.add(members.table, Name=f"Member {i}") for i in range(number)]


def test_each_type_of_field_has_its_type_of_column(fake: FakeAirtable, members: Members) -> None:
    fields = {
        "Text": ("singleLineText", "a  b "),
        "Whole": (("number", {"precision": 0}), 7),
        "Share": (("percent", {"precision": 1}), 0.125),
        "Price": (("currency", {"precision": 2, "symbol": "$"}), 0.1),
        "Time": (("duration", {"durationFormat": "h:mm"}), 5400),
        "Stars": (("rating", {"max": 5}), 4),
        "On": ("checkbox", True),
        "Day": ("date", "2026-02-28"),
        "At": ("dateTime", "2026-02-28T23:30:00.000Z"),
        "One": (("singleSelect", SELECT), "A"),
        "Many": (("multipleSelects", SELECT), ["B", "A"]),
        "Links": (("multipleRecordLinks", {"linkedTableId": "tblX"}), ["recB", "recA"]),
        "Files": ("multipleAttachments", [{"id": "att1", "filename": "a.pdf", "size": 3, "url": "https://x/expires"}]),
        "Person": ("singleCollaborator", {"id": "usr1", "email": "ann@x.org", "name": "Ann"}),
        "People": ("multipleCollaborators", [{"id": "usr1", "email": "ann@x.org"}, {"id": "usr2", "name": "Bob"}]),
        "Code": ("barcode", {"text": "4006381333931", "type": "ean13"}),
        "Click": ("button", {"label": "Open", "url": "https://x"}),
        "Written": ("aiText", {"state": "generated", "isStale": False, "value": "A summary"}),
        "Looked": (("multipleLookupValues", NUMBER), [1.5, None, "x"]),
        "Rolled": (("rollup", NUMBER), 0.1 + 0.2),
        "Computed": (("formula", {"result": {"type": "singleLineText"}}), "text"),
        "Numbered": ("autoNumber", 12),
        "Counted": ("count", 3),
        "New": ("aTypeOfNextYear", {"some": ["thing"]}),
    }
    table = fake.add_table("Everything", {name: kind for name, (kind, _) in fields.items()})
    fake.add(table, **{name: value for name, (_, value) in fields.items()})
    fake.add(table)
    dataset = AirtableDataset(table="Everything")

    scan = members.source.scan(dataset, members.source.describe(dataset).names)
    filled, empty = scan.reader.read_all().to_pylist()

    del filled["_record"], empty["_record"]
    assert filled == {
        "Text": "a  b ",
        "Whole": 7,
        "Share": Decimal("0.125"),
        "Price": Decimal("0.1"),
        "Time": Decimal(5400),
        "Stars": 4,
        "On": True,
        "Day": dt.date(2026, 2, 28),
        "At": dt.datetime(2026, 2, 28, 23, 30, tzinfo=dt.UTC),
        "One": "A",
        "Many": '["B","A"]',
        "Links": '["recB","recA"]',
        "Files": '[{"filename":"a.pdf","id":"att1","size":3}]',
        "Person": "ann@x.org",
        "People": '["ann@x.org","Bob"]',
        "Code": "4006381333931",
        "Click": "Open",
        "Written": "A summary",
        "Looked": '[1.5,null,"x"]',
        "Rolled": Decimal("0.3"),
        "Computed": "text",
        "Numbered": 12,
        "Counted": 3,
        "New": '{"some":["thing"]}',
    }
    assert {name: value for name, value in empty.items() if value is not None} == {"On": False}
    assert scan.problems() == ()


def test_errors_of_formulas_are_counted_and_null(fake: FakeAirtable, members: Members) -> None:
    table = fake.add_table(
        "Errors", {"Name": "singleLineText", "Ratio": ("formula", NUMBER), "N": ("number", {"precision": 0})}
    )
    fake.add(table, Ratio={"error": "#ERROR!"})
    fake.add(table, Ratio={"specialValue": "NaN"}, N=1.5)
    fake.add(table, Ratio={"specialValue": "Infinity"}, N=2)

    scan = members.source.scan(AirtableDataset(table="Errors"), ["Ratio", "N"])

    assert scan.reader.read_all().to_pylist() == [
        {"Ratio": None, "N": None},
        {"Ratio": None, "N": None},
        {"Ratio": None, "N": 2},
    ]
    assert {(p.column, p.reason, p.records) for p in scan.problems()} == {
        ("Ratio", "Airtable could not compute it (#ERROR!)", 1),
        ("Ratio", "Airtable could not compute it (NaN)", 1),
        ("Ratio", "Airtable could not compute it (Infinity)", 1),
        ("N", "not an integer", 1),
    }


def test_columns_may_be_declared_and_named(fake: FakeAirtable, members: Members) -> None:
    fake.add(members.table, Name="0012", Fee=3)
    by_id = members.table.field_named("Name")["id"]

    [row] = scanned(members, fields={"number": by_id, "fee": "Fee"}, columns={"number": "integer"})
    members.table.field_named("Name")["name"] = "Renamed by somebody"
    [renamed] = scanned(members, "number", fields={"number": by_id})

    assert (row["number"], row["fee"], "Name" in row) == (12, Decimal(3), False)
    assert renamed == {"number": "0012"}


def test_fields_that_differ_in_case_alone_or_are_named_as_ours_have_names_of_their_own(
    fake: FakeAirtable, members: Members
) -> None:
    fake.add_table("Odd", {"Name": "singleLineText", "name": "singleLineText", "_Record": "singleLineText"})

    assert members.source.describe(AirtableDataset(table="Odd")).names == ["_record", "Name", "name_2", "_Record_2"]


def test_records_of_a_view_are_those_that_it_shows(fake: FakeAirtable, members: Members) -> None:
    fee = members.table.field_named("Fee")["id"]
    members.table.views["Paying"] = lambda record: record.cells.get(fee, 0) > 0
    fake.add(members.table, Name="Ann", Fee=1)
    fake.add(members.table, Name="Bob")

    assert [row["Name"] for row in scanned(members, "Name", view="Paying")] == ["Ann"]
    with pytest.raises(AirtableRequestRefused, match="correct `view`"):
        scanned(members, "Name", view="Paing")


def test_missing_tables_and_columns_are_told_with_near_names(members: Members) -> None:
    with pytest.raises(DatasetMissing, match="Members"):
        members.source.describe(AirtableDataset(table="Member"))
    with pytest.raises(ColumnMissing, match="Email"):
        members.source.scan(members.dataset, ["Emial"])
    with pytest.raises(ColumnMissing, match="Email"):
        members.source.describe(AirtableDataset(table="Members", fields={"mail": "Emial"}))


# Pages


def test_a_table_of_many_pages_is_read_whole_and_in_small_batches(members: Members) -> None:
    ids = many(members, 250)

    scan = members.source.scan(members.dataset, ["_record", "Name"])
    batches = list(scan.reader)

    assert [row["_record"] for batch in batches for row in batch.to_pylist()] == ids
    assert max(batch.num_rows for batch in batches) == 100


@pytest.mark.parametrize("times", [1, 3])
def test_a_listing_that_airtable_forgot_begins_again_and_gives_each_record_once(members: Members, times: int) -> None:
    ids = many(members, 250)
    forgotten: list[int] = []

    def before(request: Request) -> None:
        if isinstance(request.body, dict) and "offset" in request.body and len(forgotten) < times:
            forgotten.append(request.number)
            members.fake.forget_iterators()

    members.fake.before = before

    assert sorted(row["_record"] for row in scanned(members, "_record")) == ids
    assert len(forgotten) == times


def test_a_listing_that_airtable_forgets_every_time_is_given_up(members: Members) -> None:
    many(members, 150)
    members.fake.before = lambda _: members.fake.forget_iterators()

    with pytest.raises(TableRestless, match="quieter time"):
        scanned(members, "_record")


def test_a_record_that_slips_between_the_pages_is_read_with_the_second_look(members: Members) -> None:
    """Somebody sorts the view while it is read: a record moves from the second page to the first."""
    ids = many(members, 150)
    records = members.table.records

    def before(request: Request) -> None:
        if isinstance(request.body, dict) and "offset" in request.body and len(moved) < 1:
            moved.append(1)
            last = records.pop(ids[-1])
            members.table.records = {ids[-1]: last, **records}

    moved: list[int] = []
    members.fake.before = before

    read = [row["_record"] for row in scanned(members, "_record")]

    assert sorted(read) == ids
    assert read[-1] == ids[-1]


def test_records_added_and_removed_while_it_is_read_are_read_at_most_once(members: Members) -> None:
    ids = many(members, 250)
    added: list[str] = []

    def before(request: Request) -> None:
        if isinstance(request.body, dict) and "offset" in request.body and len(added) < 3:
            added.append(members.fake.add(members.table, Name="New"))
            members.fake.remove(members.table, ids[len(added)])

    members.fake.before = before

    read = [row["_record"] for row in scanned(members, "_record")]

    assert len(read) == len(set(read))
    assert set(ids[4:]) | set(added) <= set(read)


def test_closing_early_asks_for_no_more(members: Members) -> None:
    many(members, 250)
    scan = members.source.scan(members.dataset, ["Name"])
    scan.reader.read_next_batch()
    before = len(members.fake.requests)

    scan.close()

    assert len(members.fake.requests) == before


# Changes


def test_a_state_and_a_content_change_with_the_records_and_with_nothing_else(members: Members) -> None:
    [key] = many(members, 1)
    content, state = members.source.content(members.dataset, lambda _: None), members.source.state(members.dataset)

    assert members.source.content(members.dataset, lambda _: None) == content
    assert members.source.state(members.dataset) == state
    members.fake.edit(members.table, key, Name="Other")
    assert members.source.content(members.dataset, lambda _: None) != content
    assert members.source.state(members.dataset) != state
    other = members.source.content(members.dataset, lambda _: None)
    members.table.fields[0]["name"] = "Full name"
    assert members.source.content(members.dataset, lambda _: None) != other


def test_a_followed_table_is_watched_by_two_requests(members: Members) -> None:
    ids = many(members, 250)
    members.ready()
    state = members.source.state(members.dataset)
    before = len(members.fake.requests)

    assert members.source.state(members.dataset) == state
    assert len(members.fake.requests) - before == 2
    members.fake.edit(members.table, ids[200], Name="Other")
    assert members.source.state(members.dataset) != state


# Limits


def test_requests_keep_to_the_rate_that_airtable_grants(fake: FakeAirtable, members: Members) -> None:
    fake.limit = 5
    many(members, 400)
    source = members.source
    source.client = AirtableClient("club", settings(members.address, requests_per_second=5))

    scan = source.scan(members.dataset, ["_record"])

    assert scan.reader.read_all().num_rows == 400
    assert len(fake.requests) == 9


def test_a_pace_lets_so_many_pass_in_a_second() -> None:
    now = [0.0]
    pace = Pace(4 * SLACK, lambda: now[0])

    waits = [pace.turn() for _ in range(5)]
    pace.pause(30)

    assert waits == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert pace.turn() == 30


@pytest.mark.parametrize(
    ("header", "pause"),
    [
        (None, 30),
        ("7", 7),
        ("0", 0),
        ("nonsense", 30),
        ("-5", 30),
        ("1e9", 30),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ],
)
def test_after_429_we_wait_as_long_as_airtable_asks(
    fake: FakeAirtable, members: Members, header: str | None, pause: float
) -> None:
    many(members, 1)
    faults = [Answering("status", status=429, headers={} if header is None else {"Retry-After": header})]
    fake.faults.append(lambda request: faults.pop() if faults and "listRecords" in request.path else None)

    assert len(scanned(members, "_record")) == 1
    assert sum(members.clock.slept) == pytest.approx(pause, abs=0.5)


def test_a_pause_of_minutes_is_left_to_a_later_run(fake: FakeAirtable, members: Members) -> None:
    fake.faults.append(lambda _: Answering("status", status=429, headers={"Retry-After": "999999999"}))

    with pytest.raises(AirtableBusy, match="for another 600 s"):
        scanned(members, "_record")
    assert len(fake.requests) == 1


def test_a_base_that_is_always_busy_is_left_alone(fake: FakeAirtable, members: Members) -> None:
    fake.faults.append(lambda _: Answering("status", status=429))

    with pytest.raises(AirtableBusy, match="limits the requests"):
        scanned(members, "_record")
    assert len(fake.requests) == 5


# What a person is told

TOLD = [
    (Answering("status", status=401, kind="AUTHENTICATION_REQUIRED"), AirtableRefused, "new personal access token"),
    (Answering("status", status=403, kind="INVALID_PERMISSIONS"), AirtableRefused, "schema.bases:read"),
    (Answering("status", status=404, kind="NOT_FOUND"), AirtableRefused, "check `base` and `table`"),
    (
        Answering("status", status=422, kind="INVALID_REQUEST_UNKNOWN"),
        AirtableRequestRefused,
        "INVALID_REQUEST_UNKNOWN",
    ),
    (Answering("status", status=413), AirtableRequestRefused, "fewer or shorter"),
    (Answering("status", status=500), AirtableUnanswered, "status 500"),
    (Answering("status", status=503), AirtableUnanswered, "status 503"),
    (Answering("reset"), AirtableUnanswered, "the connection broke"),
    (Answering("html"), AirtableUnanswered, "not one of Airtable's"),
    (Answering("text", applies=True), AirtableUnanswered, "not one of Airtable's"),
    (Answering("cut", applies=True), AirtableUnanswered, "the connection broke"),
    (Answering("garbage"), AirtableUnanswered, "not one of Airtable's"),
    (Answering("list"), AirtableUnanswered, "not one of Airtable's"),
    (Answering("redirect"), AirtableUnanswered, "another address"),
]


@pytest.mark.parametrize(("fault", "error", "words"), TOLD, ids=lambda value: getattr(value, "way", None))
def test_an_error_says_what_to_do_and_holds_no_secret(
    fake: FakeAirtable,
    members: Members,
    caplog: pytest.LogCaptureFixture,
    fault: Answering,
    error: type[Exception],
    words: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    fake.faults.append(lambda _: fault)

    with pytest.raises(error, match=words) as raised:
        scanned(members, "_record")

    texts = (str(raised.value), repr(raised.value), repr(members.source), repr(members.source.client), caplog.text)
    assert not any(secret in text for text in texts for secret in (TOKEN, "secret-value"))
    assert raised.value.__cause__ is None


def test_an_address_where_nobody_answers_is_told(fake: FakeAirtable) -> None:
    with serving(fake) as address:
        pass
    members = Members.of(fake, address)

    with pytest.raises(AirtableUnanswered, match="no connection could be made"):
        scanned(members, "_record")


def test_a_schema_in_another_form_is_refused(fake: FakeAirtable, members: Members) -> None:
    del members.table.fields[0]["type"]

    with pytest.raises(ConnectorError, match="form that we do not know"):
        scanned(members, "_record")


def test_values_and_the_token_are_in_no_address(members: Members) -> None:
    [key] = many(members, 1)
    members.ready()
    members.make(members.changes({key: {"Note": "a private note"}}), "rk1.secret-key")

    text = json.dumps(members.fake.addresses)

    assert not any(word in text for word in (TOKEN, "private", "Members", "rk1", key))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"base": "tblX"}, "begins with `app`"),
        ({"token": "two words"}, "copy it again"),
        ({"endpoint": "http://proxy.example"}, "https"),
        ({"endpoint": "https://user:pw@proxy.example"}, "write an address"),
        ({"endpoint": "nowhere"}, "write an address"),
        ({"requests_per_second": 6}, "less than or equal to 5"),
    ],
)
def test_settings_that_cannot_be_right_are_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        settings("https://api.airtable.com", **more)


@pytest.mark.parametrize(
    "fields", [{"_record": "Name"}, {"a": "Name", "A": "Email"}, {"a": "Name", "b": "Name"}, {"": "Name"}]
)
def test_names_that_would_hide_one_another_are_refused(fields: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        AirtableDataset(table="Members", fields=fields)


def test_reads_that_wait_can_be_stopped(fake: FakeAirtable, members: Members) -> None:
    many(members, 250)
    source = members.source
    scan = source.scan(members.dataset, ["_record"])
    scan.reader.read_next_batch()

    source.stop()
    fake.before = lambda _: source.stop()

    with pytest.raises(ReadStopped):
        scan.reader.read_all()
    fake.before = lambda _: None
    assert source.scan(members.dataset, ["_record"]).reader.read_all().num_rows == 250


# The port


class AirtableKit:
    secret = TOKEN
    empty_is_null = True

    def __init__(self, fake: FakeAirtable, address: str) -> None:
        self.settings = {"type": "airtable", "token": TOKEN, "base": BASE, "endpoint": address}
        self._fake, self._address = fake, address

    def store(self, table: Any) -> Stored:
        words = {"int64": "integer", "decimal128(20, 4)": "decimal(20,4)", "bool": "boolean", "date32[day]": "date"}
        self._fake.tables.clear()
        own: FakeTable = self._fake.add_table("charges", dict.fromkeys(table.column_names, "singleLineText"))
        for row in table.to_pylist():
            self._fake.add(own, **{name: _as_text(value) for name, value in row.items() if value is not None})
        columns = {
            f.name: words.get(str(f.type), "instant")
            for f in table.schema
            if str(f.type) not in ("string", "large_string")
        }
        source = Members(self._fake, self._address).source
        return Stored(
            source,
            AirtableDataset(table="charges", columns=columns, fields={}),
            AirtableDataset(table="chargs"),
            "charges",
            lambda: json.dumps({key: record.cells for key, record in own.records.items()}),
        )


def _as_text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


@pytest.mark.slow
@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_a_base_conforms(check: Any, fake: FakeAirtable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "MANY", 1_500)
    with serving(fake) as address:
        check(AirtableKit(fake, address))


def test_pyairtable_is_asked_for_nothing_but_requests() -> None:
    """Its own retries are off: one layer repeats requests."""
    client = AirtableClient("club", settings("http://127.0.0.1:1"), Pace(FAST))

    session = client._api.session

    assert {adapter.max_retries.total for adapter in session.adapters.values()} == {0}
    assert session.trust_env is False
