"""Whatever happens to a request, a change is made once or not at all, and it is known which.

The witness is the fake's own table and its record of changes; our client has no part in them.
"""

from __future__ import annotations

import itertools

import pytest

from connectors.airtable import client
from connectors.errors import ConnectorError
from tests.support.airtable import Answering, FakeAirtable, Request
from tests.support.airtable_target import Members
from tests.support.chance import spread

STATUSES = (
    *((429, {}), (429, {"Retry-After": "1"}), (429, {"Retry-After": "90"}), (401, {}), (403, {}), (404, {}), (413, {})),
    *((500, {}), (502, {}), (503, {}), (504, {}), (520, {})),
)
KINDS = (
    *("INVALID_REQUEST_UNKNOWN", "INVALID_VALUE_FOR_COLUMN", "UNKNOWN_FIELD_NAME", "INVALID_MULTIPLE_CHOICE_OPTIONS"),
    *(
        "ROW_DOES_NOT_EXIST",
        "LIST_RECORDS_ITERATOR_NOT_AVAILABLE",
        "INVALID_FILTER_BY_FORMULA",
        "CANNOT_UPDATE_COMPUTED",
    ),
)
FAULTS = (
    *(Answering("status", status=status, kind="A_FAULT", headers=headers) for status, headers in STATUSES),
    *(Answering("status", status=422, kind=kind) for kind in KINDS),
    *(Answering("status", applies=True, status=status) for status in (500, 502, 503, 504, 520)),
    *(Answering("reset", applies=applies) for applies in (False, True)),
    *(Answering("html", applies=applies) for applies in (False, True)),
    *(Answering("text", applies=applies) for applies in (False, True)),
    *(Answering("garbage", applies=applies) for applies in (False, True)),
    *(Answering("list", applies=applies) for applies in (False, True)),
    *(Answering("empty", applies=applies) for applies in (False, True)),
    *(Answering("object", applies=applies) for applies in (False, True)),
    *(Answering("redirect", applies=applies) for applies in (False, True)),
    Answering("cut", applies=True),
    *(Answering("reset", applies=applies, seconds=0.5) for applies in (False, True)),
)
"""44 ways in which a request can fail; those that apply have their effect first."""
REQUESTS = 7
"""Requests of a transaction: owner, receipts, place, lock, change, records, list of changes."""
CASES = list(itertools.product(range(REQUESTS), range(len(FAULTS))))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SILENCE_SECONDS", 0.3)


def once(fault: Answering, number: int, fake: FakeAirtable) -> None:
    """Let the request of that number, from now on, have the fault, and no other one."""
    at = len(fake.requests) + number
    fake.faults.append(lambda request: fault if request.number == at else None)


def test_a_transaction_has_as_many_requests_as_the_matrix_has(fake: FakeAirtable, members: Members) -> None:
    first, guard = (fake.add(members.table, Name=name, Status="active") for name in ("Ann", "Ann"))
    changes = members.ready().changes({first: {"Status": "duplicate"}}, guard)
    target = members.target
    before = len(fake.requests)

    with target.work(20) as work:
        work.receive([members.receipt("rk1.a")])
        work.lock([change.row for change in changes])
        work.apply_all(changes)
        work.commit()

    assert len(fake.requests) - before == REQUESTS
    assert len(FAULTS) >= 40


@pytest.mark.parametrize(("number", "kind"), spread(CASES, 24))
def test_after_any_fault_a_change_is_made_once_or_not_at_all(
    fake: FakeAirtable, members: Members, number: int, kind: int
) -> None:
    first, guard = (fake.add(members.table, Name=name, Status="active") for name in ("Ann", "Ann"))
    changes = members.ready().changes({first: {"Status": "duplicate"}}, guard)
    once(FAULTS[kind], number + 1, fake)  # the first request reads the schema

    way = members.carry_out(changes, "rk1.a")
    if way not in ("done", "done before"):  # a person corrected the cause, and the plan is tried again
        assert members.table.values(first)["Status"] == "active"
        way = members.carry_out(changes, "rk1.a")

    assert way in ("done", "done before")
    assert members.table.values(first)["Status"] == "duplicate"
    assert members.receipts(first) == ["rk1.a"]
    assert members.effects() == [(first, "active", "duplicate")]
    assert members.table.values(guard) == {"Name": "Ann", "Status": "active"}


@pytest.mark.parametrize(("number", "kind"), spread(list(itertools.product(range(4), range(len(FAULTS)))), 24))
def test_after_any_fault_all_records_are_read_or_none(
    fake: FakeAirtable, members: Members, number: int, kind: int
) -> None:
    ids = [fake.add(members.table, Name=f"Member {i}") for i in range(150)]
    once(FAULTS[kind], number, fake)

    try:
        read = all_ids(members)
    except ConnectorError:
        read = all_ids(members)  # the next run

    assert sorted(read) == ids
    assert len(fake.history) == 0


def all_ids(members: Members) -> list[str]:
    scan = members.source.scan(members.dataset, ["_record"])
    return [row["_record"] for row in scan.reader.read_all().to_pylist()]


def test_a_batch_that_is_applied_in_part_is_taken_back(fake: FakeAirtable, members: Members) -> None:
    """Airtable does not promise that an update of several records is one: what was made of it goes back."""
    ids = [fake.add(members.table, Name="Ann", Status="active") for _ in range(4)]
    changes = members.ready().changes({key: {"Status": "duplicate"} for key in ids})
    parts = [Answering("usual", only=2), Answering("status", applies=True, only=3)]
    fake.faults.append(lambda request: parts.pop() if parts and request.is_change else None)

    assert members.carry_out(changes, "rk1.a") == "done"

    assert not parts
    assert [members.table.values(key)["Status"] for key in ids] == ["duplicate"] * 4
    assert [members.receipts(key) for key in ids] == [["rk1.a"]] * 4


def test_a_token_that_is_revoked_in_the_middle_leaves_the_answer_to_the_records(
    fake: FakeAirtable, members: Members
) -> None:
    first = fake.add(members.table, Name="Ann", Status="active")
    changes = members.ready().changes({first: {"Status": "duplicate"}})

    def revoke(request: Request) -> None:
        if request.is_change:
            fake.token = "patANOTHER"

    fake.after = revoke
    assert members.carry_out(changes, "rk1.a") == "pause"
    assert members.table.values(first)["Status"] == "duplicate"
    fake.after, fake.token = (lambda _: None), "patCANARY1234567.0123456789abcdef0123456789abcdef"

    assert members.carry_out(changes, "rk1.a") == "done before"
    assert members.effects() == [(first, "active", "duplicate")]
