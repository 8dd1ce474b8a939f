"""A base as a target: receipts in the records, one owner, values as Airtable keeps them, and refusals in a sentence."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from connectors.airtable.cleaning import confirmation, receipts
from connectors.airtable.cleaning.receipts import notes_in
from connectors.airtable.connector import AirtableDataset
from connectors.target import (
    Change,
    ReceiptStands,
    RowsDiffer,
    TargetError,
    TargetRefused,
    TransactionOutcome,
    Undecided,
)
from tests.support.airtable import Answering, FakeAirtable
from tests.support.airtable_target import STORE, Members


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirmation, "POLLS", (0.01,) * 4)


def pair(members: Members, **cells: Any) -> tuple[str, str]:
    first, second = (members.fake.add(members.table, **{"Name": "Ann", "Status": "active", **cells}) for _ in range(2))
    return first, second


def outcome(members: Members, changes: list[Change], key: str = "rk1.a") -> TargetError:
    with pytest.raises(TargetError) as raised:
        members.make(changes, key)
    return raised.value


# Records


def test_rows_are_found_by_airtables_id_and_by_other_columns(members: Members) -> None:
    first, second = pair(members)
    members.fake.edit(members.table, second, Email="b@x.org", Fee=2.5)
    target = members.target

    by_id = target.rows(members.dataset, ["_record"], [(second,), ("recUNKNOWN",), (first,), ("x' OR 1",)])
    by_mail = target.rows(members.dataset, ["Email"], [("b@x.org",), ("c@x.org",), (None,)])

    assert [row and row.values["_record"] for row in by_id] == [second, None, first, None]
    assert [row and row.values["_record"] for row in by_mail] == [second, None, None]
    with pytest.raises(TargetRefused, match="Use `id: _record`"):
        target.rows(members.dataset, ["Name"], [("Ann",)])


def test_values_are_those_of_a_scan(members: Members) -> None:
    first, _ = pair(members, Fee=2.5, Paid=True)
    scan = members.source.scan(members.dataset, members.source.describe(members.dataset).names)

    assert members.rows(first)[0].values == scan.reader.read_all().to_pylist()[0]


def test_what_people_wrote_beside_the_receipts_stays(members: Members) -> None:
    first, _ = pair(members)
    members.ready()
    members.fake.edit(members.table, first, Reconcile="do not merge, says Eve\n{not json}")

    members.make(members.changes({first: {"Status": "duplicate"}}), "rk1.a")
    members.make(members.changes({first: {"Status": "active"}}), "rk1.b")

    lines = members.table.values(first)["Reconcile"].splitlines()
    assert lines[:2] == ["do not merge, says Eve", "{not json}"]
    assert members.receipts(first) == ["rk1.a", "rk1.b"]
    assert set(members.target.receipts(["rk1.a", "rk1.b", "rk1.c"], "Members")) == {"rk1.a", "rk1.b"}


def test_receipts_hold_no_values(members: Members) -> None:
    first, second = pair(members, Note="a private note", Email="ann@x.org")

    members.make(members.ready().changes({first: {"Note": "merged into Bob"}}, second), "rk1.a")

    text = members.table.values(first)["Reconcile"]
    assert not any(word in text for word in ("private", "ann@x", "Bob", "merged", "active"))


def test_the_field_of_receipts_is_no_column(members: Members) -> None:
    members.ready()

    assert "Reconcile" not in members.source.describe(members.dataset).names
    assert "Reconcile" not in members.source.datasets()


# Receipts and owner


def test_a_receipt_is_written_with_its_change_and_stands_once(members: Members) -> None:
    first, _ = pair(members)
    changes = members.ready().changes({first: {"Status": "duplicate"}})
    members.make(changes, "rk1.a")

    with pytest.raises(ReceiptStands) as raised:
        members.make(changes, "rk1.a")

    assert raised.value.found == {"rk1.a": members.receipt("rk1.a")}
    assert len(members.effects()) == 1


def test_one_store_owns_a_base(members: Members) -> None:
    first, _ = pair(members)
    target = members.ready().target

    assert target.owned("Members").owner == (*STORE, 1)
    assert not target.adopt("st_other", 1, 1, None, "Members")
    changes = members.changes({first: {"Status": "duplicate"}})
    assert members.target.adopt("st_other", 1, 1, (*STORE, 1), "Members")
    assert "another state" in str(outcome(members, changes))
    assert members.table.values(first)["Status"] == "active"


def test_an_owner_that_somebody_edited_is_refused(members: Members, fake: FakeAirtable) -> None:
    members.ready()
    own = next(table for table in fake.tables.values() if table.name == "Reconcile")
    [key] = own.records
    fake.edit(own, key, Note="mine")

    with pytest.raises(TargetRefused, match="was edited"):
        members.target.owned("Members")


def test_a_table_of_another_purpose_with_our_name_is_refused(members: Members, fake: FakeAirtable) -> None:
    fake.add_table("Reconcile", {"Name": "singleLineText", "Amount": "number"})

    with pytest.raises(TargetRefused, match="not as Reconcile creates it"):
        members.target.owned("Members")


def test_nothing_is_created_twice(members: Members, fake: FakeAirtable) -> None:
    members.ready()
    fields, hooks, tables = len(members.table.fields), len(fake.hooks), len(fake.tables)

    assert members.target.remembers("Members")

    assert (len(members.table.fields), len(fake.hooks), len(fake.tables)) == (fields, hooks, tables)


# What cannot be known


def test_a_list_of_changes_that_is_gone_leaves_the_answer_to_a_person_once(
    members: Members, fake: FakeAirtable
) -> None:
    """Airtable keeps the list for a week; the process died before it could look."""
    first, _ = pair(members)
    changes = members.ready().changes({first: {"Status": "duplicate"}})
    lost = [Answering("reset", applies=True)]
    fake.faults.append(lambda request: lost.pop() if lost and request.is_change else None)
    fake.after = lambda request: fake.hooks.clear() if request.is_change else None
    assert outcome(members, changes).outcome is TransactionOutcome.UNKNOWN
    fake.after = lambda _: None

    with pytest.raises(Undecided, match="compare the record's history"):
        members.make(changes, "rk1.a")
    with pytest.raises(ReceiptStands):
        members.make(changes, "rk1.a")

    assert members.table.values(first)["Status"] == "duplicate"


def test_an_entry_that_comes_late_is_waited_for_by_the_next_attempt(members: Members, fake: FakeAirtable) -> None:
    first, _ = pair(members)
    changes = members.ready().changes({first: {"Status": "duplicate"}})
    fake.lag = 1_000

    assert outcome(members, changes).outcome is TransactionOutcome.UNKNOWN
    assert outcome(members, changes).outcome is TransactionOutcome.UNKNOWN
    fake.entries = {key: [(0, entry) for _, entry in entries] for key, entries in fake.entries.items()}
    assert members.carry_out(changes, "rk1.a") == "done before"
    assert len(members.effects()) == 1


def test_a_list_of_changes_that_reports_an_error_is_no_answer(members: Members, fake: FakeAirtable) -> None:
    first, _ = pair(members)
    changes = members.ready().changes({first: {"Status": "duplicate"}})

    def broken(request: Any) -> None:
        for key, entries in fake.entries.items():
            fake.entries[key] = [
                (at, {"error": True, "code": "INVALID_HOOK", "payloadFormat": "v0"}) for at, _ in entries
            ]

    fake.after = broken

    assert outcome(members, changes).outcome is TransactionOutcome.UNKNOWN
    with pytest.raises(Undecided):
        members.make(changes, "rk1.a")


def test_a_list_of_changes_that_has_ended_is_followed_no_more(members: Members, fake: FakeAirtable) -> None:
    """Airtable ends a list a week after it was last read."""
    first, _ = pair(members)
    changes = members.ready().changes({first: {"Status": "duplicate"}})
    fake.expire()

    members.make(changes, "rk1.a")

    assert members.table.values(first)["Status"] == "duplicate"
    assert len(fake.hooks) == 2


def test_a_base_without_room_for_another_list_is_told_with_what_to_do(members: Members, fake: FakeAirtable) -> None:
    of_fields = {"options": {"filters": {"dataTypes": ["tableFields"]}}}
    for number in range(10):
        fake.hooks[f"ach{number}"] = {"specification": of_fields, "isHookEnabled": True, "expirationTime": "2999-01-01"}
        fake.entries[f"ach{number}"] = []

    with pytest.raises(TargetRefused, match="delete one that nobody uses"):
        members.target.remembers("Members")


def test_rich_text_is_written_and_put_back_though_airtable_ends_it_with_a_line_end(
    members: Members, fake: FakeAirtable
) -> None:
    members.table.fields.append({"id": "fldRICH", "name": "Story", "type": "richText"})
    first, _ = pair(members, Story="**old**")
    changes = members.ready().changes({first: {"Story": "see *Ann*"}})

    members.make(changes, "rk1.a")

    assert members.table.values(first)["Story"] == "see *Ann*\n"
    assert members.rows(first)[0].values["Story"] == "see *Ann*"
    members.make(members.changes({first: {"Story": "**old**"}}), "rk1.b")
    assert members.table.values(first)["Story"] == "**old**\n"


def test_a_field_of_rich_text_keeps_no_receipts(members: Members) -> None:
    """Airtable escapes characters in it."""
    members.table.fields.append({"id": "fldOURS", "name": "Reconcile", "type": "richText"})

    with pytest.raises(TargetRefused, match="without rich text formatting"):
        members.target.remembers("Members")


def test_values_that_airtable_alters_are_taken_back(members: Members, fake: FakeAirtable) -> None:
    first, _ = pair(members)
    changes = members.ready().changes({first: {"Note": "merged  "}})
    fake.alters = lambda name, value: value.strip() if name == "Note" and isinstance(value, str) else value

    error = outcome(members, changes)

    assert error.outcome is TransactionOutcome.TERMINAL
    assert "stored other values" in str(error)
    assert not members.table.values(first).get("Note")
    assert members.receipts(first) == []


# What is refused


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"Fee": "many"}, "not a number"),
        ({"Fee": "0.1234567890123456789"}, "so many digits"),
        ({"Status": "gone"}, "no such option"),
        ({"Paid": "perhaps"}, "not true or false"),
        ({"Files": "x"}, "not written to"),
        ({"Sum": "1"}, "computed by Airtable"),
        ({"Day": "tomorrow"}, "not a date"),
        ({"At": "noon"}, "not a time"),
        ({"Tags": '["new"]'}, "no such option"),
        ({"Links": "Ann"}, "begins with rec"),
        ({"Stars": "1.5"}, "whole number"),
        ({"_record": "rec1"}, "computed by Airtable"),
    ],
)
def test_a_value_that_a_field_cannot_hold_is_refused_before_anything_is_sent(
    fake: FakeAirtable, members: Members, cells: dict[str, str], words: str
) -> None:
    for name, kind in {
        "Files": "multipleAttachments",
        "Sum": "formula",
        "Day": "date",
        "At": "dateTime",
        "Tags": "multipleSelects",
        "Links": "multipleRecordLinks",
        "Stars": "rating",
    }.items():
        members.table.fields.append({"id": fake.new_id("fld"), "name": name, "type": kind, "options": {"choices": []}})
    first, _ = pair(members)
    changes = members.ready().changes({first: cells})
    sent = len([request for request in fake.requests if request.is_change])

    error = outcome(members, changes)

    assert error.outcome is TransactionOutcome.TERMINAL
    assert words in str(error)
    assert len([request for request in fake.requests if request.is_change]) == sent


def test_planned_texts_are_written_as_the_fields_hold_them(fake: FakeAirtable, members: Members) -> None:
    choices = {"choices": [{"id": "sel1", "name": "a"}, {"id": "sel2", "name": "b"}]}
    for name, kind in {
        "Day": "date",
        "At": "dateTime",
        "Tags": "multipleSelects",
        "Links": "multipleRecordLinks",
    }.items():
        members.table.fields.append({"id": fake.new_id("fld"), "name": name, "type": kind, "options": choices})
    first, second = pair(members, Fee=1, Paid=True)
    planned = {
        "Fee": "12.50",
        "Paid": "no",
        "Day": "2026-02-28",
        "At": "2026-02-28T10:00:00+02:00",
        "Tags": '["b","a"]',
        "Links": second,
        "Status": None,
        "Note": "two\nlines",
    }
    before = members.table.values(first)
    changes = members.ready().changes({first: planned})

    members.make(changes, "rk1.a")

    now = {name: value for name, value in members.table.values(first).items() if name != "Reconcile"}
    assert now == {
        "Name": "Ann",
        "Fee": 12.5,
        "Day": "2026-02-28",
        "At": "2026-02-28T08:00:00.000Z",
        "Tags": ["b", "a"],
        "Links": [second],
        "Note": "two\nlines",
    }
    [row] = members.rows(first)
    back = Change(row.name, row.cells, {name: (changes[0].before or {})[name] for name in planned}, "surplus")
    members.make([back], "rk1.b")
    assert {n: v for n, v in members.table.values(first).items() if n != "Reconcile"} == before


def test_deleting_creating_and_too_many_are_refused(members: Members) -> None:
    ids = [key for _ in range(6) for key in pair(members)]
    [row, *_] = members.ready().rows(*ids)

    for change in (Change(row.name, row.cells, None, "surplus"), Change(row.name, None, row.cells, "surplus")):
        assert outcome(members, [change]).outcome is TransactionOutcome.TERMINAL
    error = outcome(members, members.changes({key: {"Status": "duplicate"} for key in ids}))
    assert "more than 10 records" in str(error)
    assert members.effects() == []


def test_a_plan_that_a_field_cannot_hold_is_refused_when_it_is_made(members: Members) -> None:
    first, second = pair(members)
    [change] = members.changes({first: {"Status": "gone"}})
    [row] = members.rows(second)

    reasons = members.source.impossible(
        members.dataset,
        [change, Change(row.name, row.cells, None, "surplus"), *members.changes({second: {"Fee": "1"}})],
    )

    assert "no such option" in reasons[change.row]
    assert "are not deleted" in reasons[row.name]
    assert len(reasons) == 2


def test_a_record_that_is_gone_is_not_met(members: Members) -> None:
    first, _ = pair(members)
    changes = members.ready().changes({first: {"Status": "duplicate"}})
    members.fake.remove(members.table, first)

    with pytest.raises(RowsDiffer):
        members.make(changes, "rk1.a")


def test_a_field_that_others_alone_may_edit_waits_for_a_person(members: Members) -> None:
    first, _ = pair(members)
    changes = members.ready().changes({first: {"Status": "duplicate"}})
    members.table.locked.add("Status")

    error = outcome(members, changes)

    assert error.outcome is TransactionOutcome.PAUSE
    assert "data.records:write" in str(error)


def test_an_option_that_was_removed_since_the_plan_is_a_conflict(members: Members) -> None:
    first, _ = pair(members)
    changes = members.ready().changes({first: {"Status": "duplicate"}})
    target = members.target
    members.table.field_named("Status")["options"] = {"choices": [{"id": "selA", "name": "active"}]}

    with target.work(20) as work:
        work.receive([members.receipt("rk1.a")])
        work.apply_all(changes)
        with pytest.raises(TargetError) as raised:
            work.commit()

    assert raised.value.outcome is TransactionOutcome.CONFLICT


def test_a_field_with_receipts_that_is_full_is_refused(members: Members, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = pair(members)
    changes = members.ready().changes({first: {"Status": "duplicate"}})
    monkeypatch.setattr("connectors.airtable.cleaning.transaction.MOST_CHARACTERS", 100)

    assert "is full" in str(outcome(members, changes))


def test_a_schema_that_changed_makes_another_catalogue(members: Members) -> None:
    target = members.target
    digest = target.catalogue(members.dataset).digest
    members.ready()

    assert members.target.catalogue(members.dataset).digest == digest
    members.table.fields[2]["type"] = "number"
    assert members.target.catalogue(members.dataset).digest != digest
    assert members.target.catalogue(AirtableDataset(table="Members"), table="Other").tables["Other"].refused


def test_a_savepoint_undoes_its_block_and_no_more(members: Members) -> None:
    first, second = pair(members)
    changes = members.ready().changes({first: {"Note": "kept"}, second: {"Note": "not kept"}})

    with members.target.work(20) as work:
        work.receive([members.receipt("rk1.a")])
        work.apply(changes[0])
        with suppress(ZeroDivisionError), work.savepoint():
            work.apply(changes[1])
            raise ZeroDivisionError
        work.commit()

    assert members.table.values(first)["Note"] == "kept"
    assert "Note" not in members.table.values(second)


def test_after_an_error_and_without_a_commit_nothing_is_kept(members: Members) -> None:
    first, _ = pair(members)
    changes = members.ready().changes({first: {"Note": "new"}})

    with members.target.work(20) as work:
        work.apply_all(changes)
    with members.target.work(20) as work:
        with pytest.raises(TargetError):
            work.apply(Change(changes[0].row, None, {}, "surplus"))
        with pytest.raises(TargetError, match="is over"):
            work.commit()

    assert "Note" not in members.table.values(first)


def test_notes_of_any_text_are_read_without_an_error() -> None:
    good = receipts.ChangeNote("n", receipts.Place("ach1", 1), (), {}, (), ()).line
    texts = (
        None,
        "",
        "text",
        good[:-5],
        good.replace("1,", "[],"),
        json.dumps({"reconcile": 1}),
        '{"reconcile":1,"list":3}',
    )

    assert [notes_in(text) for text in texts] == [[]] * len(texts)
    assert len(notes_in(f"text\n{good}\n{good[:20]}")) == 1
