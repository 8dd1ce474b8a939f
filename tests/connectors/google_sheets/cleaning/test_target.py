"""A sheet is cleaned: cells are replaced where they hold what was planned, once, and are put back."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from connectors.google_sheets.cleaning.ledger import LEDGER
from connectors.google_sheets.connector import GoogleSheetsDataset
from connectors.target import Change, ReceiptStands, RowName, RowsDiffer, TargetError, TargetRefused, TransactionOutcome
from tests.support.google_sheets import Date, Error, Formatted, Formula, Rich, Spilled, google_sheets
from tests.support.sheets_target import ROWS, SECONDS, STORE, TITLE, SheetTarget


@pytest.fixture
def sheet() -> Iterator[SheetTarget]:
    with google_sheets() as fake:
        yield SheetTarget(fake)


def failure(make: Callable[[], object]) -> TargetError:
    with pytest.raises(TargetError) as raised:
        make()
    return raised.value


def test_cells_are_replaced_and_put_back(sheet: SheetTarget) -> None:
    undo = sheet.make(sheet.changes({"A-1": {"status": "dup of A-2"}, "A-2": {"name": "Zoë", "score": "8"}}), "k1")

    assert sheet.record("A-1") == {"id": "A-1", "name": "Zoë", "status": "dup of A-2", "score": 5.0}
    assert sheet.record("A-2") == {"id": "A-2", "name": "Zoë", "status": "new", "score": 8.0}
    sheet.make(undo, "k2")
    assert [row[:4] for row in sheet.sheet.rows] == ROWS


def test_a_change_that_was_made_leaves_no_value_in_the_ledger(sheet: SheetTarget) -> None:
    sheet.make([*sheet.changes({"A-1": {"status": "dup"}}), *sheet.guards("A-3")], "k1")

    ledger = sheet.fake.sheet(LEDGER)
    assert ledger.hidden
    assert "Zoë" not in repr(ledger.rows)
    assert "dup" not in repr(ledger.rows)
    assert json.loads(ledger.rows[0][1])["pending"] is None


def test_a_receipt_is_written_once(sheet: SheetTarget) -> None:
    sheet.make(sheet.changes({"A-1": {"status": "dup"}}), "k1")

    with pytest.raises(ReceiptStands), sheet.target.work(SECONDS) as work:
        work.receive([sheet.receipt("k1")])
    assert list(sheet.target.receipts(["k1", "k2"], TITLE)) == ["k1"]
    assert sheet.has_happened("k1")
    assert not sheet.has_happened("k2")


def test_nothing_is_changed_without_a_commit(sheet: SheetTarget) -> None:
    target = sheet.target
    target.remembers()
    with target.work(SECONDS) as work:
        work.receive([sheet.receipt("k1")])
        work.apply_all(sheet.changes({"A-1": {"status": "dup"}}))

    assert sheet.sheet.rows == ROWS
    assert not sheet.has_happened("k1")


def test_a_savepoint_takes_its_changes_back(sheet: SheetTarget) -> None:
    target = sheet.target
    target.remembers()
    missing = Change(RowName(TITLE, (("id", ("s", "A-77")),)), {}, {"status": ("t", "x")}, "surplus")
    with target.work(SECONDS) as work:
        work.apply_all(sheet.changes({"A-2": {"status": "kept"}}))
        with pytest.raises(RowsDiffer), work.savepoint():
            work.apply_all([*sheet.changes({"A-3": {"status": "lost"}}), missing])
        work.commit()

    assert sheet.column("status") == {"A-1": None, "A-2": "kept", "A-3": None, "A-4": "new"}


def test_a_record_is_found_by_its_id_wherever_it_is(sheet: SheetTarget) -> None:
    changes = sheet.changes({"A-1": {"status": "dup"}})
    sheet.sheet.rows[1:] = [[], *sheet.sheet.rows[:0:-1]]

    sheet.make(changes, "k1")

    assert sheet.column("status") == {"A-1": "dup", "A-2": "new", "A-3": None, "A-4": "new"}


UNWRITABLE: dict[str, tuple[Any, str, str]] = {
    "a formula": (Formula("=1+1", 2.0), "x", "a formula"),
    "a date": (Date("2026-03-01"), "x", "a date"),
    "a check box": (True, "x", "a check box"),
    "an error": (Error("N_A"), "x", "an error"),
    "a number shown otherwise": (Formatted(1000.0, "1,000.00"), "x", "another form"),
    "a part of a formula's result": (Spilled("new"), "x", "a formula or a pivot table in another cell"),
    "an empty part of a formula's result": (Spilled(""), "x", "a formula or a pivot table in another cell"),
    "a smart chip": (Rich("Ann", {"chipRuns": [{"chip": {"personProperties": {}}}]}), "x", "a smart chip"),
    "a link": (Rich("Ann", {"hyperlink": "https://crm.example/7"}), "x", "a link"),
    "formats of parts": (Rich("Ann", {"textFormatRuns": [{}, {"startIndex": 1}]}), "x", "parts have their own format"),
    "a text that may become a formula": ("new", "=A1", "something else"),
    "a text that may become a number": ("new", "007", "as a number"),
    "a text that may become a date": ("new", "2026-03-01", "a date"),
    "a text that may become a check box": ("new", "true", "a check box"),
    "a text that may become a check box elsewhere": ("new", "Wahr", "a check box"),
    **{f"a text that may become a date: {t}": ("new", t, "a date") for t in ("5 May", "Mar-26", "1 de mayo", "3月1日")},
    **{f"a text that may become a time: {t}": ("new", t, "a time") for t in ("10am", "3 p.m.", "10h30")},
    **{f"a text that may become a number: {t}": ("new", t, "a number") for t in ("1e5", "12E-3", "5 EUR", "kr 10")},
    "a text that may become an error": ("new", "#N/A", "an error"),
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_a_cell_that_cannot_be_replaced_exactly_is_refused_before_anything_is_sent(
    sheet: SheetTarget, name: str
) -> None:
    before, text, expected = UNWRITABLE[name]
    sheet.fake.edit(TITLE, 1, 2, before)
    sheet.target.remembers()
    batches = len(sheet.fake.batches)

    error = failure(lambda: sheet.make(sheet.changes({"A-1": {"status": text}})))

    assert error.outcome is TransactionOutcome.TERMINAL
    assert expected in str(error)
    assert len(sheet.fake.batches) == batches


@pytest.mark.parametrize("text", ["A-1", "SO-12", "merged into 1", "phone 5", "May", "Q1 2026", "#vip 1", "5 plates"])
def test_a_text_that_stays_a_text_everywhere_is_written(sheet: SheetTarget, text: str) -> None:
    sheet.make(sheet.changes({"A-1": {"status": text}}))

    assert sheet.record("A-1")["status"] == text


@pytest.mark.parametrize("link", ["mailto:ann@x.org", "http://Ann@x.org/"])
def test_a_link_that_google_makes_of_the_text_itself_is_no_obstacle(sheet: SheetTarget, link: str) -> None:
    sheet.fake.edit(TITLE, 1, 2, Rich("ann@x.org", {"hyperlink": link}))

    sheet.make(sheet.changes({"A-1": {"status": "dup"}}))

    assert sheet.record("A-1")["status"] == "dup"


def test_a_fraction_is_written_only_in_a_locale_with_a_point(sheet: SheetTarget) -> None:
    sheet.make(sheet.changes({"A-1": {"score": "1.5"}}))
    assert sheet.record("A-1")["score"] == 1.5

    sheet.fake.locale = "de_DE"

    assert "decimal mark" in str(failure(lambda: sheet.make(sheet.changes({"A-2": {"score": "2.5"}}))))


@pytest.mark.parametrize(
    ("kind", "text", "is_right"),
    [
        ("DROPDOWN", "done", True),
        ("DROPDOWN", "dup", False),
        ("TEXT", "dup", True),
        ("DOUBLE", "dup", False),
        ("PEOPLE_CHIP", "dup", False),
    ],
)
def test_a_column_of_a_table_gets_only_values_of_its_type(
    sheet: SheetTarget, kind: str, text: str, is_right: bool
) -> None:
    rule = {"condition": {"type": "ONE_OF_LIST", "values": [{"userEnteredValue": "done"}]}}
    area = {"sheetId": 0, "startRowIndex": 0, "endRowIndex": 5, "startColumnIndex": 1, "endColumnIndex": 4}
    column = {"columnIndex": 1, "columnName": "status", "columnType": kind}
    column |= {"dataValidationRule": rule} if kind == "DROPDOWN" else {}
    sheet.sheet.tables = [{"tableId": "t1", "range": area, "columnProperties": [{"columnName": "name"}, column]}]

    if is_right:
        sheet.make(sheet.changes({"A-1": {"status": text}}))
    else:
        assert "has a type in a table" in str(failure(lambda: sheet.make(sheet.changes({"A-1": {"status": text}}))))


def test_what_cannot_be_replaced_is_told_when_it_is_planned(sheet: SheetTarget) -> None:
    sheet.fake.edit(TITLE, 1, 2, Formula("=1+1", 2.0))
    changes = sheet.changes({"A-1": {"status": "dup"}, "A-3": {"status": "dup"}})

    reasons = sheet.target.impossible(sheet.dataset, changes)

    assert list(reasons) == [changes[0].row]
    assert "'status' in sheet 'Customers' cannot be replaced: it holds a formula" in reasons[changes[0].row]


def test_merged_protected_and_validated_cells_are_refused(sheet: SheetTarget) -> None:
    area = {"sheetId": 0, "startRowIndex": 1, "endRowIndex": 2, "startColumnIndex": 2, "endColumnIndex": 3}
    rule = {"strict": True, "condition": {"type": "ONE_OF_LIST", "values": [{"userEnteredValue": "ok"}]}}
    for attribute, value, word in (
        ("merges", [area], "merged"),
        ("protected", [{"range": area, "requestingUserCanEdit": False}], "protected"),
        ("validation", {2: rule}, "validation"),
    ):
        empty = type(value)()
        setattr(sheet.sheet, attribute, value)

        error = failure(lambda: sheet.make(sheet.changes({"A-1": {"status": "dup"}})))

        assert word in str(error)
        setattr(sheet.sheet, attribute, empty)
    sheet.sheet.validation = {2: rule}
    sheet.make(sheet.changes({"A-1": {"status": "ok"}}))
    assert sheet.record("A-1")["status"] == "ok"


def test_a_protected_sheet_is_told_by_the_catalogue(sheet: SheetTarget) -> None:
    assert sheet.target.catalogue(sheet.dataset).tables[TITLE].refused is None

    sheet.sheet.protected = [{"range": {"sheetId": 0}, "requestingUserCanEdit": False}]

    assert "protected" in str(sheet.target.catalogue(sheet.dataset).tables[TITLE].refused)


def test_rows_are_neither_deleted_nor_added(sheet: SheetTarget) -> None:
    [row] = sheet.rows("A-1")

    assert failure(lambda: sheet.make([Change(row.name, row.cells, None, "surplus")])).outcome is (
        TransactionOutcome.TERMINAL
    )
    assert "cannot delete" in sheet.target.catalogue(sheet.dataset).tables[TITLE].undeletable


def test_a_former_value_that_cannot_be_written_back_is_told_before(sheet: SheetTarget) -> None:
    sheet.fake.edit(TITLE, 1, 2, "007")
    sheet.fake.edit(TITLE, 3, 2, "new")
    changes = sheet.changes({"A-1": {"status": "dup"}, "A-3": {"status": "dup"}})

    [told] = sheet.target.violations(changes)

    assert told.row == changes[0].row
    assert told.sentence.startswith("Column `status` of `Customers` holds what could not be written back: ")


def test_a_value_that_google_reads_as_something_else_is_taken_back(sheet: SheetTarget) -> None:
    """The fake does not read what it writes as typed, so a number would become a text."""
    sheet.target.remembers()
    sheet.fake.parses = False

    error = failure(lambda: sheet.make(sheet.changes({"A-2": {"status": "8", "name": "Zoë"}}), "k1"))

    assert error.outcome is TransactionOutcome.TERMINAL
    assert "something else" in str(error)
    assert sheet.sheet.rows == ROWS
    assert not sheet.has_happened("k1")


@pytest.mark.parametrize("setting", ["finds_empty", "finds_numbers"])
def test_a_cell_that_google_does_not_find_is_not_changed_and_told(sheet: SheetTarget, setting: str) -> None:
    sheet.target.remembers()
    setattr(sheet.fake, setting, False)

    error = failure(lambda: sheet.make(sheet.changes({"A-1": {"score": "8", "status": "dup", "name": "Zoe"}}), "k1"))

    assert error.outcome is TransactionOutcome.TERMINAL
    assert "did not find" in str(error)
    assert sheet.sheet.rows == ROWS
    assert not sheet.has_happened("k1")


@pytest.mark.parametrize(
    ("setting", "after", "word"),
    [("finds_empty", {"status": "dup"}, "empty cell"), ("finds_numbers", {"score": "8"}, "a number exactly")],
)
def test_what_google_did_not_do_when_it_was_tried_is_refused_before(
    sheet: SheetTarget, setting: str, after: dict[str, str], word: str
) -> None:
    """The ledger's creation tries in cells of its own what the documentation leaves open."""
    setattr(sheet.fake, setting, False)
    sheet.target.remembers()
    batches = len(sheet.fake.batches)

    error = failure(lambda: sheet.make(sheet.changes({"A-1": after})))

    assert word in str(error)
    assert len(sheet.fake.batches) == batches


def test_an_empty_cell_gets_any_text_exactly(sheet: SheetTarget) -> None:
    sheet.make(sheet.changes({"A-1": {"status": r"a\b $1 of A-2"}}))

    assert sheet.record("A-1")["status"] == r"a\b $1 of A-2"


def test_one_store_owns_the_spreadsheet(sheet: SheetTarget) -> None:
    assert sheet.target.owned(TITLE).owner is None
    assert sheet.target.adopt(*STORE, 1, None, TITLE)
    assert not sheet.target.adopt("st_other", 1, 1, None, TITLE)
    assert sheet.target.owned(TITLE).owner == (*STORE, 1)
    assert sheet.target.adopt("st_other", 1, 1, (*STORE, 1), TITLE)

    error = failure(lambda: sheet.make(sheet.changes({"A-1": {"status": "dup"}}), "k1"))
    assert "another state" in str(error)


def test_a_ledger_that_somebody_changed_is_refused(sheet: SheetTarget) -> None:
    sheet.target.remembers()
    sheet.fake.edit(LEDGER, 0, 1, "hello")

    with pytest.raises(TargetRefused, match="version history"):
        sheet.target.remembers()


def test_a_sheet_with_the_name_of_the_ledger_is_not_taken(sheet: SheetTarget) -> None:
    sheet.fake.add(LEDGER, [["mine"]], id=77)

    with pytest.raises(TargetRefused, match="rename it"):
        sheet.target.remembers()


def test_many_receipts_fit(sheet: SheetTarget) -> None:
    keys = [f"key-{n:03}" for n in range(230)]

    sheet.make(sheet.changes({"A-1": {"status": "dup"}}), *keys)

    assert len(sheet.target.receipts(keys, TITLE)) == 230


def test_two_records_with_one_id_are_refused(sheet: SheetTarget) -> None:
    changes = sheet.changes({"A-1": {"status": "dup"}})
    sheet.fake.edit(TITLE, 4, 0, "A-1")

    with pytest.raises(TargetRefused, match="do not identify"):
        sheet.rows("A-1")
    assert failure(lambda: sheet.make(changes)).outcome is TransactionOutcome.CONFLICT
    assert GoogleSheetsDataset(sheet=TITLE).fill == ()
