"""Values are written so that they are read again as planned, or refused before anything is written."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import FileUnreadable
from connectors.files.connector import FilesConnector, FilesDataset, FilesSettings
from connectors.target import (
    Change,
    ReceiptStands,
    RowsDiffer,
    Target,
    TargetError,
    TargetRefused,
    TransactionOutcome,
    Work,
)
from tests.support.csv_target import CsvFileTarget

GERMAN: dict[str, Any] = {
    "columns": {"betrag": "decimal", "am": "date %d.%m.%Y", "ab": "instant", "ok": "boolean"},
    "decimal": ",",
    "null_values": ("-",),
}
HEAD = "id;betrag;am;ab;ok;text\n"
LINE = "1;1.234,50;31.12.2025;2026-01-01T00:00:00Z;ja;x\n"


def german(folder: Path, **settings: Any) -> CsvFileTarget:
    return CsvFileTarget(folder, GERMAN | settings).write(HEAD + LINE.replace("ja", "yes"))


@pytest.mark.parametrize(
    ("column", "text", "written", "value"),
    [
        ("betrag", "12.5", "12,5", Decimal("12.5")),
        ("betrag", "1.234", "1,234", Decimal("1.234")),
        ("betrag", "1234,5", "1234,5", Decimal("1234.5")),
        ("am", "2026-03-01", "01.03.2026", "2026-03-01"),
        ("am", "01.03.2026", "01.03.2026", "2026-03-01"),
        ("ab", "2026-03-01 10:00:00+01:00", "2026-03-01 10:00:00+01:00", "2026-03-01 09:00:00+00:00"),
        ("ok", "0", "0", "False"),
        ("text", "a;b", '"a;b"', "a;b"),
        ("text", 'say "x"', '"say ""x"""', 'say "x"'),
        ("text", "two\nlines", '"two\nlines"', "two\nlines"),
        ("text", "'007", "'007", "'007"),
        ("text", " padded ", " padded ", " padded "),
        ("text", "=1+1", "=1+1", "=1+1"),
    ],
)
def test_a_planned_value_is_written_in_the_notation_of_the_file(
    tmp_path: Path, column: str, text: str, written: str, value: object
) -> None:
    file = german(tmp_path)
    place = HEAD.strip().split(";").index(column)
    fields = LINE.replace("ja", "yes").strip().split(";")

    file.change({"1": {column: text}})

    assert file.path.read_text() == HEAD + ";".join([*fields[:place], written, *fields[place + 1 :]]) + "\n"
    [row] = file.rows("1")
    read = row.values[column]
    assert (read if isinstance(read, Decimal) else str(read)) == value


@pytest.mark.parametrize(
    ("column", "text", "reason"),
    [
        ("betrag", "many", "it would not be read as this decimal"),
        ("am", "soon", "it would not be read as this date"),
        ("text", "", "it would be read as null"),
        ("text", "-", "it would be read as null"),
        ("text", "漢字", "cp1252 has no character for it"),
    ],
)
def test_a_value_that_would_be_read_differently_is_refused(tmp_path: Path, column: str, text: str, reason: str) -> None:
    file = german(tmp_path, encoding="cp1252")
    before = file.path.read_bytes()

    with pytest.raises(TargetError, match=rf"a value of '{column}' cannot be written \({reason}\)") as error:
        file.change({"1": {column: text}})

    assert error.value.outcome is TransactionOutcome.TERMINAL
    assert file.path.read_bytes() == before
    assert file.beside() == set()


def test_a_change_after_which_the_file_would_be_read_in_another_encoding_is_refused(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id,name\n1,é\n2,x\n".encode("cp1252"))

    with pytest.raises(TargetError, match="it would be read differently afterwards") as error:
        file.change({"1": None, "2": {"name": "Ã©"}})

    assert error.value.outcome is TransactionOutcome.TERMINAL
    assert file.path.read_bytes() == "id,name\n1,é\n2,x\n".encode("cp1252")


def test_a_removal_after_which_two_line_ends_would_be_one_is_refused(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write(b"id,name\n1,a\r2,b\n\n3,c\n")

    with pytest.raises(TargetError, match="two kinds of line ends would become one"):
        file.change({"2": None})

    assert file.path.read_bytes() == b"id,name\n1,a\r2,b\n\n3,c\n"


MANY = "".join(f"{n},a\n" for n in range(10, 210))


@pytest.mark.parametrize(
    ("settings", "above", "below"),
    [
        ({"header": ("id", "name")}, "", ""),
        ({"skip": {"to": "id"}}, "Export of today\n\n\nid,name\n", ""),
        ({}, "sep=,\r\nid,name\r\n", ""),
        ({}, '"id","two\nlines"\n', ""),
        ({"malformed": "skip"}, "id,name\n1,a,too,many\n", f"{MANY}300,a,too,many\n"),
        ({"skip_footer": 2}, "id,name\n", "\nTotal: 3\nPage 1"),
        ({"quote": "'", "delimiter": "|"}, "id|name\n", ""),
        ({"encoding": "utf-16"}, "id,name\n", ""),
    ],
)
def test_lines_that_reading_leaves_out_stay(tmp_path: Path, settings: dict[str, Any], above: str, below: str) -> None:
    mark = settings.get("delimiter", ",")
    first, second, third = (f"{n}{mark}{name}\n" for n, name in ((2, "b"), (3, "c"), (4, "d")))
    encoding = settings.get("encoding", "utf-8")
    file = CsvFileTarget(tmp_path, settings).write(f"{above}{first}{second}{third}{below}".encode(encoding))

    undo = file.change({"2": None, "4": None, "3": {file.target.describe(file.dataset).names[1]: "twin"}})

    assert file.path.read_bytes() == f"{above}3{mark}twin\n{below}".encode(encoding)
    file.make(undo)
    assert file.path.read_bytes() == f"{above}{first}{second}{third}{below}".encode(encoding)


def test_null_is_an_empty_field(tmp_path: Path) -> None:
    file = german(tmp_path)

    undo = file.change({"1": {"text": None, "betrag": None}})

    assert file.path.read_text() == HEAD + "1;;31.12.2025;2026-01-01T00:00:00Z;yes;\n"
    file.make(undo)
    assert file.path.read_text() == HEAD + LINE.replace("ja", "yes")


def test_a_cell_of_another_record_is_taken_as_it_is_written(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write('id,name\n1,Ann\n2,  "Anna, B"\n')
    keeper, surplus = file.rows("1", "2")

    file.make([Change(keeper.name, keeper.cells, {"name": surplus.cells["name"]}, "keeper")])

    assert file.path.read_text() == 'id,name\n1,  "Anna, B"\n2,  "Anna, B"\n'


def test_records_with_equal_ids_are_refused(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id,name\n1,a\n1,b\n2,c\n")

    with pytest.raises(TargetRefused, match=r"Two records of customers\.csv have the same id.*Choose a unique `id`"):
        file.rows("1")
    assert [row.values["name"] for row in file.rows("2")] == ["c"]


def test_records_that_got_equal_ids_since_the_plan_are_refused(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id,name\n1,a\n2,c\n")
    changes = file.changes({"1": None})
    file.write("id,name\n1,a\n1,b\n2,c\n")

    with pytest.raises(TargetError, match="several of its records have the same id") as error:
        file.make(changes)

    assert error.value.outcome is TransactionOutcome.CONFLICT


def test_a_typed_id_finds_its_record_however_it_is_written(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path, {"columns": {"id": "integer"}}).write("id,name\n007,a\n8,b\n")

    [present, missing] = file.target.rows(file.dataset, ["id"], [(7,), (9,)])

    assert (present and present.values["name"], missing) == ("a", None)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"path": "customers-*.csv"}, "its `path` is a pattern, and only one file with a fixed name can be changed"),
        ({"path": "customers.csv.gz"}, "it is compressed, and only plain CSV files can be changed"),
        ({"path": "customers.json"}, "of files, only CSV and TSV can be changed"),
        ({"path": "customers.parquet"}, "of files, only CSV and TSV can be changed"),
        ({"path": "bank.xml"}, "of files, only CSV and TSV can be changed"),
        ({"path": "a.csv", "fill": ("x",)}, "`fill` gives its records values that are not in their lines"),
        ({"path": "a.csv", "partitions": True}, "`partitions` gives its records values that are not in their lines"),
        ({"path": "customers.csv"}, None),
        ({"path": "customers.tsv"}, None),
        ({"path": "customers.txt", "format": "csv"}, None),
    ],
)
def test_only_one_plain_csv_file_can_be_cleaned(settings: dict[str, Any], reason: str | None) -> None:
    obstacle = FilesConnector.obstacle(FilesSettings(type="files"), FilesDataset(**settings))

    assert obstacle == reason


def test_the_source_is_a_target(tmp_path: Path) -> None:
    assert isinstance(CsvFileTarget(tmp_path).write("id\n1\n").target, Target)


def test_several_files_change_in_one_transaction(tmp_path: Path) -> None:
    first = CsvFileTarget(tmp_path).write("id\n1\n2\n")
    second = CsvFileTarget(tmp_path, name="orders.csv").write("id\n1\n2\n")
    changes = [*first.changes({"1": None}), *second.changes({"1": None})]

    first.make(changes, "key")

    assert (first.path.read_text(), second.path.read_text()) == ("id\n2\n", "id\n2\n")


def test_no_file_changes_if_another_one_cannot(tmp_path: Path) -> None:
    first = CsvFileTarget(tmp_path).write("id,name\n1,a\n2,b\n")
    second = CsvFileTarget(tmp_path, name="orders.csv").write("id,name\n1,a\n2,b\n")
    changes = [*first.changes({"1": None}), *second.changes({"1": None})]
    second.path.chmod(0o444)

    with pytest.raises(TargetError, match=r"orders\.csv was not changed: the file is read-only"):
        first.make(changes, "key")

    assert first.path.read_text() == second.path.read_text() == "id,name\n1,a\n2,b\n"
    assert first.target.receipts(["key"], first.name) == {}


def test_a_record_with_a_malformed_line_is_never_taken_for_a_removed_one(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write('id,name\n1,a\n2,"b" c\n')

    with pytest.raises(FileUnreadable, match=r"customers\.csv:3.*text follows a closing quote"):
        file.rows("1", "2")

    assert [
        row.values["id"]
        for row in CsvFileTarget(tmp_path, {"malformed": "skip"})
        .write("id,name\n" + MANY + '2,"b" c\n')
        .rows("10", "2")
    ] == ["10"]


def test_a_receipt_stands_once(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id,name\n1,a\n2,b\n")
    file.change({"1": None}, "key")

    with pytest.raises(ReceiptStands) as error:
        file.change({"2": None}, "key")

    assert set(error.value.found) == {"key"}
    assert file.path.read_text() == "id,name\n2,b\n"


def test_a_savepoint_undoes_its_block_and_no_more(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id,name\n1,a\n2,b\n3,c\n")
    first, second, third = file.changes({"1": None, "2": None, "3": {"name": "kept"}})

    def fails_half_way(work: Work) -> None:
        with work.savepoint():
            work.apply(second)
            work.receive([file.receipt("key")])
            work.apply(second)

    with file.target.work(5) as work:
        work.apply(first)
        with pytest.raises(RowsDiffer):
            fails_half_way(work)
        work.apply(third)
        work.commit()

    assert file.path.read_text() == "id,name\n2,b\n3,kept\n"
    assert file.target.receipts(["key"], "customers.csv") == {}


def test_nothing_is_kept_without_a_commit_or_after_an_error(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id,name\n1,a\n2,b\n")
    [change] = file.changes({"1": None})

    with file.target.work(5) as work:
        work.apply(change)
    with file.target.work(5) as work:
        work.apply(change)
        with pytest.raises(RowsDiffer):
            work.apply(change)
        with pytest.raises(TargetError, match="the transaction is over"):
            work.commit()

    assert file.path.read_text() == "id,name\n1,a\n2,b\n"
    assert file.beside() == set()


def test_one_store_owns_a_file(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id\n1\n")
    table = file.name

    assert file.target.owned(table).owner is None
    assert file.target.adopt("mine", 1, 0, None, table)
    assert not file.target.adopt("yours", 1, 0, None, table)
    assert file.target.adopt("mine", 1, 1, ("mine", 1, 0), table)
    assert file.target.owned(table).owner == ("mine", 1, 1)


def test_another_owner_ends_what_a_store_had_begun(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id\n1\n2\n")
    file.target.adopt("st_another", 1, 1, None, file.name)

    with pytest.raises(TargetError, match="another state cleans it now"):
        file.change({"1": None}, "key")

    assert file.path.read_text() == "id\n1\n2\n"


def test_a_restored_file_has_an_owner_who_is_behind(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id\n1\n2\n3\n")
    former = file.path.read_bytes()
    store = ("st_ours", 1)
    file.target.adopt(*store, 4, None, file.name)
    undo = file.change({"1": None}, "key")
    assert file.target.owned(file.name).owner == (*store, 4)

    file.write(former)

    assert file.target.owned(file.name).owner == (*store, 3)
    assert file.target.adopt(*store, 5, (*store, 3), file.name)
    assert file.target.owned(file.name).owner == (*store, 5)
    file.change({"1": None}, "again")
    file.make(undo)
    assert file.path.read_bytes() == former
    assert file.target.owned(file.name).owner == (*store, 5)


@pytest.mark.parametrize("content", ["hello", "[]", '{"version": 2}', '{"version": 1, "salt": "x"}'])
def test_notes_that_are_not_ours_are_refused(tmp_path: Path, content: str) -> None:
    file = CsvFileTarget(tmp_path).write("id\n1\n")
    file.path.with_name(".customers.csv.reconcile").write_text(content)

    with pytest.raises(TargetRefused, match=r"\.customers\.csv\.reconcile has the name of the notes"):
        file.target.remembers(file.name)


def test_a_folder_in_the_place_of_the_notes_is_refused(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id\n1\n")
    file.path.with_name(".customers.csv.reconcile").mkdir()

    with pytest.raises(TargetRefused, match=r"\.customers\.csv\.reconcile has the name of the notes"):
        file.target.remembers("customers.csv")


def test_notes_hold_no_values(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id,email\n4711,ada@example.com\n4712,bob@example.com\n")

    file.change({"4711": None, "4712": {"email": "secret@example.com"}}, "key")

    notes = file.path.with_name(".customers.csv.reconcile").read_text()
    assert not any(value in notes for value in ("4711", "ada@", "bob@", "secret@"))


def test_files_of_ours_are_no_files_of_a_pattern(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id\n1\n2\n")
    file.change({"1": None})

    names = file.target.dialect(FilesDataset(path="*", format="csv"))

    assert set(names) == {"customers.csv"}
