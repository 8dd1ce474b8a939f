"""Findings in a spreadsheet: what an export holds, and the decisions that come back in it."""

import csv
import io
import json
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet as pq
import pytest

from reconcile.decisions import decide
from reconcile.sheets import exporting, formats
from tests.support.cli import Answer, Project
from tests.support.world import DELETE, Kept, World

FORMATS = ("csv", "xlsx", "parquet")
Cells = dict[str, Any]
GROUPS = 6


def customers(groups: int) -> list[tuple[int, str, str]]:
    return [(2 * n + half, f"{n:03}@x", f"Zoë {half}") for n in range(groups) for half in (0, 1)]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    world = World.at(tmp_path_factory.mktemp("prepared") / "w", *customers(GROUPS), twins=DELETE)
    world.config = {"datasets": {"customers": SHOWN}}
    world.run()
    return world.kept()


@pytest.fixture
def world(prepared: Kept) -> World:
    """Groups of two customers with an e-mail of their own; their plans wait for approval."""
    return prepared.restored()


EUR: dict[str, Any] = {"source": "shop", "table": "customers", "id": "id", "money": {"amount": "id", "currency": "EUR"}}
SHOWN = EUR | {"display": ["email", "name"]}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The same, exported in each format; tests work on copies of its folder."""
    world = World.at(tmp_path_factory.mktemp("exported") / "w", *customers(GROUPS), twins=DELETE)
    world.run()
    for form in FORMATS:
        assert world.command("export", f"findings.{form}").code == 0
    return world


@pytest.fixture
def copied(exported: World, tmp_path: Path) -> World:
    """A copy, in which nothing can be approved: its shop is another database."""
    shutil.copytree(exported.folder, tmp_path / "w")
    return World(tmp_path / "w", exported.rules, exported.config)


# What a person does


def read(file: Path, sheet: str = "findings") -> list[Cells]:
    """The rows of a file, as another program reads it."""
    if file.suffix == ".csv":
        return list(csv.DictReader(io.StringIO(file.read_text("utf-8-sig"))))
    if file.suffix == ".parquet":
        rows: list[Cells] = pq.read_table(file).to_pylist()
        return rows
    header, *cells = openpyxl.load_workbook(file)[sheet].values
    return [dict(zip(map(str, header), row, strict=True)) for row in cells]


def write(file: Path, rows: list[Cells]) -> None:
    """Save the rows as that program saves them."""
    if file.suffix == ".csv":
        with file.open("w", encoding="utf-8-sig", newline="") as out:
            writer = csv.DictWriter(out, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif file.suffix == ".parquet":
        pq.write_table(pq.read_table(file).from_pylist(rows), file)
    else:
        book = openpyxl.load_workbook(file)
        sheet = book["findings"]
        for number, row in enumerate(rows, 2):
            for place, name in enumerate(row, 1):
                cell = sheet.cell(number, place, row[name])
                if str(row[name]).startswith("="):
                    cell.data_type = "s"
        book.save(file)


def fill(file: Path, *cells: Cells) -> None:
    """Fill in the first rows."""
    rows = read(file)
    for row, more in zip(rows, cells, strict=False):
        row.update(more)
    write(file, rows)


def change(file: Path, how: Callable[[list[Cells]], object]) -> None:
    rows = read(file)
    how(rows)
    write(file, rows)


def by_key(world: World) -> dict[str, str]:
    """The states of findings by their e-mail."""
    document = world.command("findings", "--state", "all", "--all", "--json").json
    return {finding["key"]["email"]: finding["state"] for finding in document}


def export(world: World, name: str, *options: str) -> Path:
    answer = world.command("export", name, *options)
    assert answer.code == 0, answer.said
    return world.folder / name


# There and back


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.slow
def test_decisions_come_back_from_each_format_and_the_second_time_change_nothing(world: World, form: str) -> None:
    file = export(world, f"out.{form}")
    decided: list[Cells] = [
        {"decision": " Approve "},
        {"decision": "REJECT", "note": "both are right"},
        {"decision": "dismiss", "note": "=not a formula; Zoë"},
        {"decision": "snooze", "until": "2031-12-01"},
        {"decision": "assign", "to": "maria"},
        {"decision": "Handle", "note": "merged in the shop"},
    ]
    fill(file, *decided)
    keys = [row["key"].removeprefix("email = ") for row in read(file)]

    first = world.command("decide", file.name)
    states, events = by_key(world), world.events()
    second = world.command("decide", file.name)

    assert (first.code, first.out.splitlines()[-1]) == (0, "6 findings: 6 decided."), first.said
    assert [states[key] for key in keys] == [
        *("cleaned", "open", "dismissed", "snoozed", "awaiting_approval", "handled"),
    ]
    assert (second.code, second.out.splitlines()[-1]) == (0, "6 findings: 6 unchanged."), second.said
    assert (by_key(world), world.events()) == (states, events)
    assert len(world.shop.rows()) == 2 * GROUPS - 1
    notes = {finding.get("note") for finding in world.command("findings", "--state", "all", "--json").json}
    assert notes >= {"both are right", "=not a formula; Zoë"}
    assert world.intact()


@pytest.mark.slow
def test_what_was_done_is_taken_back_in_a_file(world: World) -> None:
    file = export(world, "out.xlsx")
    fill(file, {"decision": "approve"}, {"decision": "dismiss"})
    assert world.command("decide", "out.xlsx").code == 0
    back = export(world, "back.xlsx", "--state", "cleaned", "--state", "dismissed")

    fill(back, *({"decision": OPPOSITE[row["state"]]} for row in read(back)))
    first, second = (world.command("decide", "back.xlsx") for _ in range(2))

    assert (first.code, first.out.splitlines()[-1]) == (0, "2 findings: 2 decided."), first.said
    assert (second.code, second.out.splitlines()[-1]) == (0, "2 findings: 2 unchanged."), second.said
    assert len(world.shop.rows()) == 2 * GROUPS


OPPOSITE = {"cleaned": "undo", "dismissed": "reopen"}


def test_an_approved_plan_is_left_to_serve_and_a_file_given_again_executes_it(world: World) -> None:
    file = export(world, "out.csv")
    fill(file, {"decision": "approve"})

    later = world.command("decide", "out.csv", "--later")
    waits = len(world.shop.rows())
    now = world.command("decide", "out.csv")

    assert (later.code, waits) == (0, 2 * GROUPS), later.said
    assert (now.code, len(world.shop.rows())) == (0, 2 * GROUPS - 1), now.said


@pytest.mark.slow
def test_a_dry_run_shows_what_would_be_decided(copied: World) -> None:
    fill(copied.folder / "findings.xlsx", {}, {"decision": "snooze", "until": "2031-12-01", "note": "May"})
    events = copied.events()

    shown = copied.command("decide", "findings.xlsx", "--dry-run")
    asked = copied.command("decide", "findings.xlsx", "--dry-run", "--json").json

    name = read(copied.folder / "findings.xlsx")[1]["id"]
    assert shown.out.splitlines() == [
        f"{name}: snooze, until 2031-12-01 00:00 UTC, note: May",
        "1 finding: 1 can be decided, 0 not. Nothing was changed.",
    ]
    assert asked["decisions"][0]["finding"] == name
    assert copied.events() == events


@pytest.mark.slow
def test_five_hundred_findings_come_back_in_any_order(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *customers(500), twins={})
    world.run()
    file = export(world, "out.csv")

    def shuffle(rows: list[Cells]) -> None:
        names = list(rows[0])
        random.Random(7).shuffle(names)
        rows[:] = [{name: row[name] for name in names} | {"decision": "dismiss"} for row in reversed(rows)]

    change(file, shuffle)
    order = [row["id"] for row in read(file)]

    refused = world.command("decide", "out.csv")
    done = world.command("decide", "out.csv", "--confirm", "500", "--json")

    assert (refused.code, "repeat with --confirm 500" in refused.err) == (4, True)
    assert (done.code, done.json["decided"]) == (0, 500)
    assert [finding["finding"] for finding in done.json["findings"]] == order


# What changed since


@pytest.mark.slow
def test_a_finding_that_changed_since_the_export_is_refused_and_the_others_are_decided(world: World) -> None:
    file = export(world, "out.csv")
    grown, decided, stale, *_ = rows = read(file)
    email = [row["key"].removeprefix("email = ") for row in rows]
    world.add((900, email[0], "Third"))
    world.run()
    assert world.command("assign", decided["id"], "bob").code == 0
    world.shop.sql(f"UPDATE customers SET name = 'New' WHERE email = '{email[2]}'")
    fill(file, *[{"decision": "approve"}] * 4)

    answer = world.command("decide", "out.csv")

    told = answer.out.splitlines()
    assert (answer.code, told[-1]) == (4, "4 findings: 1 decided, 3 not done."), answer.said
    assert told[0].startswith(f"{grown['id']} changed since it was shown: a record joined")
    assert told[1].startswith(f"{decided['id']} changed since the export: it is awaiting approval since")
    assert stale["id"] in told[2]
    assert len(world.shop.rows()) == 2 * GROUPS  # one joined, one was deleted


def test_a_file_that_is_given_again_does_not_overrule_what_was_decided_since(copied: World) -> None:
    fill(copied.folder / "findings.csv", {"decision": "dismiss"})
    name = read(copied.folder / "findings.csv")[0]["id"]
    assert copied.command("decide", "findings.csv").code == 0
    assert copied.command("reopen", name).code == 0

    again = copied.command("decide", "findings.csv")

    assert (again.code, "changed since the export" in again.out) == (4, True)
    assert copied.findings()[name] == "open"


def test_only_the_plan_that_was_shown_is_approved(world: World) -> None:
    file = export(world, "out.csv")
    fill(file, {"decision": "approve", "plan": "f" * 64})

    answer = world.command("decide", "out.csv")

    assert (answer.code, "Nothing was decided" in answer.out) == (4, True)
    assert len(world.shop.rows()) == 2 * GROUPS


# Mistakes


def _cells(**cells: str) -> Callable[[list[Cells]], None]:
    return lambda rows: rows[1].update({"decision": "dismiss"} | cells)


def _twice(rows: list[Cells]) -> None:
    for row in rows[:2]:
        row.update(decision="dismiss", id=rows[0]["id"])


def _without(name: str) -> Callable[[list[Cells]], None]:
    def without(rows: list[Cells]) -> None:
        for row in rows:
            del row[name]

    return without


MISTAKES: Mapping[str, tuple[Callable[[list[Cells]], None], str]] = {
    "a misspelt decision": (
        _cells(decision="dismis"),
        "line 3, column `decision`: `dismis` is not a decision; did you",
    ),
    "no decision": (_cells(decision="x" * 90), "line 3, column `decision`: `xxxxx"),
    "an unknown finding": (_cells(id="F-NOBODY"), "line 3, column `id`: there is no finding `F-N0B0DY`"),
    "no finding": (_cells(id=""), "line 3, column `id`: it is empty"),
    "two rows": (_twice, "line 3, column `id`: "),
    "a version": (_cells(version="two"), "line 3, column `version`: `two` is not a version"),
    "no version": (_cells(version=""), "line 3, column `version`: `` is not a version"),
    "no mark": (_cells(seen=""), "line 3, column `seen`: it is empty"),
    "no time": (_cells(decision="snooze", until="tomorrow"), "line 3, column `until`: `tomorrow` is not a day like"),
    "a duration": (_cells(decision="snooze", until="3d"), "line 3, column `until`: `3d` is not a day like"),
    "no such day": (_cells(decision="snooze", until="2031-02-30"), "line 3, column `until`: `2031-02-30` is not a day"),
    "the past": (_cells(decision="snooze", until="2001-01-01"), "line 3, column `until`: `2001-01-01` is in the past"),
    "an end of nothing": (
        _cells(until="2031-01-01"),
        "line 3, column `until`: only `snooze` takes a time, not `dismiss`",
    ),
    "nobody": (_cells(decision="assign"), "line 3, column `to`: `assign` needs the name of a person"),
    "a person too many": (_cells(to="maria"), "line 3, column `to`: only `assign` takes a person, not `dismiss`"),
    "no plan": (_cells(decision="approve", plan=""), "line 3, column `plan`: this finding had no plan waiting"),
    "half a plan": (_cells(decision="reject", plan="0af3"), "line 3, column `plan`: `0af3` is not the hash of a plan"),
    "a missing column": (_without("until"), "findings.csv: the column `until` is missing"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_place_and_nothing_is_decided(copied: World, mistake: str) -> None:
    how, sentence = MISTAKES[mistake]
    fill(copied.folder / "findings.csv", {}, {}, {}, {"decision": "dismiss"})
    change(copied.folder / "findings.csv", how)

    answer = copied.command("decide", "findings.csv")

    told = answer.err.splitlines()
    assert (answer.code, len(told), told[1]) == (2, 2, "Nothing was decided; correct the file, then submit it again")
    assert sentence in told[0]
    assert set(copied.findings().values()) == {"awaiting_approval"}


def test_all_mistakes_are_told_at_once(copied: World) -> None:
    wrong = {"decision": "snooze", "until": "soon", "version": "?"}
    fill(copied.folder / "findings.xlsx", wrong, {}, {"decision": "yes", "until": "soon"})

    answer = copied.command("decide", "findings.xlsx")

    places = [line.partition(": ")[0] for line in answer.err.splitlines()]
    assert (answer.code, places[:-1]) == (
        2,
        [
            "findings.xlsx, row 2, column `until`",
            "findings.xlsx, row 2, column `version`",
            "findings.xlsx, row 4, column `decision`",
        ],
    )


def _no_workbook(file: Path) -> None:
    file.write_text("id;decision\n")


def _zip(file: Path) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("hello.txt", "hello")


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:3000])


def _other_sheets(file: Path) -> None:
    book = openpyxl.load_workbook(file)
    book["findings"].title = "mine"
    book.save(file)


def _error_cell(file: Path) -> None:
    fill(file, {"decision": "#REF!"})


@pytest.mark.parametrize(
    ("name", "spoil", "sentence"),
    [
        ("findings.xlsx", _no_workbook, "findings.xlsx: it is not a workbook"),
        ("findings.xlsx", _zip, "findings.xlsx: it is a zip file without the part"),
        ("findings.xlsx", _cut, "findings.xlsx: the workbook is truncated or damaged"),
        ("findings.xlsx", _other_sheets, "findings.xlsx: it has no sheet `findings`"),
        ("findings.xlsx", _error_cell, "findings.xlsx, row 2, column `decision`: an error like #N/A"),
        ("findings.parquet", _cut, "findings.parquet: "),
        ("findings.csv", lambda file: file.write_text(""), "findings.csv: the file is empty"),
        ("findings.csv", lambda file: file.unlink(), "findings.csv: it cannot be read: No such file or directory"),
        ("findings.csv", lambda file: (file.unlink(), file.mkdir()), "findings.csv: it is a directory"),
        ("notes.txt", lambda _file: None, "notes.txt: its name has no known ending; use .csv, .xlsx, .parquet"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(
    copied: World, name: str, spoil: Callable[[Path], object], sentence: str
) -> None:
    spoil(copied.folder / name)

    answer = copied.command("decide", name)

    assert (answer.code, answer.err.startswith(sentence)) == (2, True), answer.said
    assert "Nothing was decided" in answer.err


def test_a_broken_quote_and_a_cell_too_many_are_told_with_their_lines(copied: World) -> None:
    file = copied.folder / "findings.csv"
    fill(file, {"decision": "dismiss"})
    lines = file.read_text("utf-8").splitlines()
    lines[2] += ",more"
    lines.append('"never closed')
    file.write_text("\n".join(lines), "utf-8")

    answer = copied.command("decide", "findings.csv")

    assert (answer.code, answer.err.splitlines()[0]) == (2, "findings.csv, line 3: it has more cells than the header")
    assert answer.err.splitlines()[1].startswith("findings.csv, line 8: a quote opened on this line is never closed")
    assert set(copied.findings().values()) == {"awaiting_approval"}


# As spreadsheets save


@pytest.mark.parametrize(
    ("delimiter", "encoding", "end"),
    [(";", "cp1252", "\r\n"), (";", "utf-8-sig", "\r\n"), ("\t", "utf-16", "\n"), (",", "utf-8", "\n")],
)
def test_a_csv_file_is_read_as_spreadsheets_save_it(copied: World, delimiter: str, encoding: str, end: str) -> None:
    """With other columns in between, in another order, with blank lines and a note over two lines."""
    rows = read(copied.folder / "findings.csv")
    rows[2] |= {"decision": " Dismiss ", "note": "Müller: zwei\nPersonen"}
    names = ["mine", *reversed(rows[0])]
    with (copied.folder / "back.csv").open("w", encoding=encoding, newline="") as out:
        writer = csv.DictWriter(out, names, delimiter=delimiter, lineterminator=end, restval="")
        writer.writerow({name: f" {name.title()}" for name in names})
        out.write(end)
        for row in rows:
            writer.writerow({name: text.replace("•", "") for name, text in row.items()})
        out.write(delimiter * (len(names) - 1) + end)

    answer = copied.command("decide", "back.csv")

    assert (answer.code, answer.out.splitlines()[-1]) == (0, "1 finding: 1 decided."), answer.said
    shown = copied.command("show", rows[2]["id"], "--json").json
    assert (shown["state"], shown["note"]) == ("dismissed", "Müller: zwei\nPersonen")


@pytest.mark.slow
def test_a_workbook_with_cells_that_a_spreadsheet_has_typed(copied: World) -> None:
    """A day, a moment and a number that somebody typed are no texts there; the sheet may have another name."""
    import datetime as dt  # noqa: PLC0415 - beside its use

    file = copied.folder / "findings.xlsx"
    rows = read(file)
    rows[0] |= {"decision": "snooze", "until": dt.datetime(2031, 12, 1), "note": 4711}  # noqa: DTZ001 - cells have no zone
    rows[1] |= {"decision": "snooze", "until": dt.datetime(2031, 12, 1, 8, 30), "note": 1.5}  # noqa: DTZ001 - as above
    write(file, rows)
    book = openpyxl.load_workbook(file)
    del book["records"]
    book["findings"].title = "Tabelle1"
    book["Tabelle1"].append([])
    book["Tabelle1"].append([None, "added below"])
    book.save(file)

    answer = copied.command("decide", "findings.xlsx")

    assert (answer.code, answer.out.splitlines()[-1]) == (0, "2 findings: 2 decided."), answer.said
    shown = [copied.command("show", row["id"], "--json").json for row in rows[:2]]
    assert [finding["snoozed_until"] for finding in shown] == ["2031-12-01T00:00:00Z", "2031-12-01T08:30:00Z"]
    assert [finding["note"] for finding in shown] == ["4711", "1.5"]


def test_rows_that_were_filled_in_without_a_decision_are_told(copied: World) -> None:
    fill(copied.folder / "findings.csv", {"note": "ask Eva"})

    answer = copied.command("decide", "findings.csv")

    assert (answer.code, answer.out) == (0, "0 findings: nothing to decide.\n")
    assert answer.err == "1 row has a note, a time or a person, but no decision: skipped.\n"


# What an export holds


def test_a_row_says_what_was_found_and_what_would_happen(world: World) -> None:
    world.config["console"] = {"url": "https://reconcile.example.com"}
    world.write()
    rows = read(export(world, "out.xlsx"))

    [row] = [row for row in rows if row["key"] == "email = 003@x"]
    assert (row["rule"], row["severity"], row["state"]) == ("twins", "medium", "awaiting_approval")
    assert (row["records"], row["keeper"], row["surplus"], row["left"]) == (2, "6", "7", None)
    assert (row["at_risk"], row["money EUR"], row["would_happen"]) == ("7.00 EUR", 7, "1 record deleted")
    assert (row["why"], row["form"]) == ("They have the same email.", "duplicate")
    assert row["link"] == f"https://reconcile.example.com/findings/{row['id']}"
    assert [row[name] for name in ("decision", "note", "until", "to")] == [None] * 4
    assert len(row["plan"]) == 64


def test_a_workbook_has_the_records_and_is_made_for_deciding(world: World) -> None:
    file = export(world, "out.xlsx")

    book = openpyxl.load_workbook(file)
    sheet, records = book["findings"], read(file, "records")

    assert (sheet.freeze_panes, book["records"].freeze_panes) == ("A2", "A2")
    assert sheet.auto_filter.ref == f"A1:{sheet.dimensions.partition(':')[2]}"
    [validation] = sheet.data_validations.dataValidation
    [column] = [cell.column_letter for cell in sheet[1] if cell.value == "decision"]
    assert str(validation.sqref) == f"{column}2:{column}{GROUPS + 1}"
    assert validation.formula1 == '"approve,reject,dismiss,handle,snooze,reopen,assign,undo,retry"'
    assert len(records) == 2 * GROUPS
    of_first = [record for record in records if record["email"] == "000@x"]
    assert [(record["role"], record["id"], record["name"]) for record in of_first] == [
        ("keeper", "0", "Zoë 0"),
        ("surplus", "1", "Zoë 1"),
    ]
    assert {record["dataset"] for record in records} == {"customers"}


ATTACKS = ("=HYPERLINK(0)", "+1", "-1+1", "@SUM(A1)", "\t=1", "＝1", "http://x.example", "a\x07b", "x" * 40_000)


@pytest.mark.slow
def test_a_text_never_becomes_a_formula(tmp_path: Path) -> None:
    rows = [(2 * n + half, text, "A") for n, text in enumerate(ATTACKS) for half in (0, 1)]
    world = World.at(tmp_path / "w")
    world.shop.sql("CREATE TABLE notes (id INTEGER PRIMARY KEY, email TEXT, name TEXT)")
    world.rules = {"twins": {}}
    for row in rows:
        with world.shop.engine.begin() as connection:
            connection.exec_driver_sql("INSERT INTO notes VALUES (?, ?, ?)", (row[0], row[1], row[1]))
    world.config = {"datasets": {"customers": {"source": "shop", "table": "notes", "id": ["name", "id"]}}}
    world.run()

    for form in FORMATS:
        export(world, f"out.{form}")

    book = openpyxl.load_workbook(world.folder / "out.xlsx")
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert not [cell.value for cell in cells if cell.data_type == "f" or cell.hyperlink]
    assert max(len(str(cell.value)) for cell in cells) <= 32_767
    plain = [cell for row in read(world.folder / "out.csv") for cell in row.values()]
    assert any(cell.startswith("'=HYPERLINK") for cell in plain)
    assert not [cell for cell in plain if cell.startswith(("=", "+", "-", "@", "\t", "＝"))]
    assert {row["key"].removeprefix("email = ") for row in read(world.folder / "out.parquet")} == set(ATTACKS)


@pytest.mark.parametrize("form", FORMATS)
def test_personal_data_is_masked_unless_asked_for(tmp_path: Path, form: str) -> None:
    world = World.at(tmp_path / "w", *customers(2), twins=DELETE)
    world.config = {"datasets": {"customers": EUR | {"pii": ["email", "id"]}}}
    world.run()

    masked, shown = world.command("export", f"masked.{form}"), world.command("export", f"shown.{form}", "--show")

    hidden, clear = read(world.folder / f"masked.{form}"), read(world.folder / f"shown.{form}")
    assert "Personal data is hidden" in masked.err
    assert "Personal data is hidden" not in shown.err
    assert {(row["key"], row["keeper"], row["surplus"], row["at_risk"]) for row in hidden} == {
        ("email = •••", "•••", "•••", "•••")
    }
    assert {row["money EUR"] for row in hidden} <= {None, ""}
    assert {row["key"] for row in clear} == {"email = 000@x", "email = 001@x"}
    if form == "xlsx":
        assert {record["email"] for record in read(world.folder / "masked.xlsx", "records")} == {"•••"}
        assert {record["email"] for record in read(world.folder / "shown.xlsx", "records")} == {"000@x", "001@x"}


def test_an_amount_is_exact_or_a_text_and_each_currency_has_a_column(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", twins={}, abroad={"dataset": "foreign"})
    world.shop.sql("CREATE TABLE paid (id INTEGER, email TEXT, amount TEXT)")
    world.shop.sql("CREATE TABLE paid_abroad (id INTEGER, email TEXT, amount TEXT)")
    for number, (email, amount) in enumerate((("a@x", "0.10"), ("b@x", "12345678901234567.89"))):
        world.shop.sql(*(f"INSERT INTO paid VALUES ({2 * number + half}, '{email}', '{amount}')" for half in (0, 1)))
    world.shop.sql(*(f"INSERT INTO paid_abroad VALUES ({half}, 'c@x', '5')" for half in (0, 1)))
    dataset = {"source": "shop", "id": "id", "columns": {"amount": "decimal"}}
    world.config = {
        "datasets": {
            "customers": dataset | {"table": "paid", "money": {"amount": "amount", "currency": "EUR"}},
            "foreign": dataset | {"table": "paid_abroad", "money": {"amount": "amount", "currency": "JPY"}},
        }
    }
    world.run()

    rows = {form: {row["key"]: row for row in read(export(world, f"out.{form}"))} for form in FORMATS}

    big = rows["xlsx"]["email = b@x"]["money EUR"]
    assert (big, rows["csv"]["email = b@x"]["money EUR"]) == ("12345678901234567.89", "12345678901234567.89")
    assert str(rows["parquet"]["email = b@x"]["money EUR"]).rstrip("0") == "12345678901234567.89"
    assert (rows["xlsx"]["email = a@x"]["money EUR"], rows["xlsx"]["email = a@x"]["money JPY"]) == (0.1, None)
    assert rows["csv"]["email = c@x"]["money JPY"] == "5"


@pytest.mark.slow
def test_a_discrepancy_names_both_sides_and_masks_each_by_its_own_columns(tmp_path: Path) -> None:
    (tmp_path / "bank.csv").write_text("line,ref,amount,payer\nB1,R-1,10.00,Zoë\nB2,R-2,5.00,Eva\n", "utf-8")
    (tmp_path / "ledger.csv").write_text("entry,ref,amount\nL1,R-1,10.50\n", "utf-8")
    bank = {"source": "files", "path": "bank.csv", "id": "line", "columns": {"amount": "decimal"}, "pii": ["payer"]}
    ledger = {"source": "files", "path": "ledger.csv", "id": "entry", "columns": {"amount": "decimal"}}
    money = {"money": {"amount": "amount", "currency": "EUR"}}
    rule = {"kind": "reconciliation", "left": "bank", "right": "ledger", "key": ["ref"]}
    settings = {
        "version": 1,
        "sources": {"files": {"type": "files"}},
        "datasets": {"bank": bank | money | {"display": ["ref", "payer", "amount"]}, "ledger": ledger | money},
        "rules": {"books": rule},
    }
    project = Project(tmp_path).write(json.dumps(settings))
    assert project("run").code == 0

    answer = project("export", "out.xlsx")

    rows = {row["key"]: row for row in read(tmp_path / "out.xlsx")}
    assert answer.code == 0, answer.said
    different, missing = rows["ref = R-1"], rows["ref = R-2"]
    assert (different["left"], different["right"], different["keeper"]) == ("bank B1", "ledger L1", None)
    assert (missing["left"], missing["right"], missing["form"]) == ("bank B2", None, "missing in ledger")
    records = {(record["dataset"], record["id"]): record for record in read(tmp_path / "out.xlsx", "records")}
    assert records["bank", "B1"]["payer"] == "•••"
    assert (records["ledger", "L1"]["role"], records["ledger", "L1"]["amount"]) == ("right", "10.50")


@pytest.mark.parametrize(
    ("options", "number"),
    [
        ((), GROUPS - 1),
        (("--state", "all"), GROUPS),
        (("--state", "dismissed"), 1),
        (("--severity", "critical"), 0),
        (("--rule", "twins", "--where", "email in ('003@x', '004@x', '005@x') and records = 2"), 3),
        (("--where", "email = 'nobody'"), 0),
    ],
)
def test_the_filters_are_those_of_the_list(copied: World, options: tuple[str, ...], number: int) -> None:
    with copied.open() as application:
        [name] = [row["id"] for row in read(copied.folder / "findings.csv") if row["key"] == "email = 000@x"]
        decide.dismiss(application.memory, name, actor="bob")

    answer = copied.command("export", "out.xlsx", "--json", *options)

    assert (answer.code, answer.json["findings"]) == (0, number), answer.said
    assert len(read(copied.folder / "out.xlsx")) == number


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("out.ods",), "out.ods has no known ending; use .csv, .xlsx, .parquet"),
        (("out",), "out has no known ending"),
        (("findings.csv",), "findings.csv already exists and was not changed"),
        (("no/out.csv",), "no/out.csv could not be written: No such file or directory"),
        (("out.csv", "--where", "nmae = 1"), "`nmae` is not known here"),
        (("out.csv", "--rule", "twinz"), "twinz"),
        (("out.csv", "--state", "closed"), "closed"),
        (("out.xlsx", "--records"), "out.xlsx is a workbook, which has the records in its sheet `records`"),
    ],
)
def test_an_export_that_cannot_be_is_told_and_leaves_nothing(
    copied: World, arguments: tuple[str, ...], sentence: str
) -> None:
    before = sorted(copied.folder.iterdir())

    answer = copied.command("export", *arguments)

    assert (answer.code in (2, 3), sentence in answer.err) == (True, True), answer.said
    assert sorted(copied.folder.iterdir()) == before


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_records_are_exported_one_a_row_as_in_the_sheet_of_a_workbook(copied: World, form: str) -> None:
    rows = read(export(copied, f"out.{form}", "--records"))
    of_workbook = read(export(copied, "out.xlsx"), "records")

    assert len(rows) == 2 * GROUPS
    assert [list(row.items()) for row in rows] == [list(row.items()) for row in of_workbook]
    assert {row["role"] for row in rows} == {"keeper", "surplus"}


def test_a_file_is_replaced_only_on_request_and_only_its_owner_can_read_it(copied: World) -> None:
    file = copied.folder / "findings.csv"
    file.write_text("old")

    answer = copied.command("export", "findings.csv", "--overwrite")

    assert (answer.code, len(read(file)), file.stat().st_mode & 0o777) == (0, GROUPS, 0o600)


@pytest.mark.parametrize("form", FORMATS)
def test_a_full_disk_leaves_the_file_as_it_was(copied: World, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No half of a file, and nothing beside it."""

    def full(*_: object) -> Iterator[object]:
        raise OSError(28, "No space left on device")

    before = {path: path.read_bytes() for path in copied.folder.glob("findings.*")}
    monkeypatch.setattr(exporting.stored_plans, "awaiting", full)

    answer = copied.command("export", f"findings.{form}", "--overwrite")

    assert (answer.code, "could not be written: No space left on device" in answer.err) == (3, True), answer.said
    assert {path: path.read_bytes() for path in copied.folder.glob("findings.*")} == before
    assert not list(copied.folder.glob(".reconcile-scratch-*"))


def test_a_workbook_that_cannot_hold_the_rows_is_refused(copied: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MOST_ROWS", GROUPS)

    answer = copied.command("export", "out.xlsx")

    assert (answer.code, "The sheet `records` would have more than 6 rows" in answer.err) == (2, True), answer.said
    assert not (copied.folder / "out.xlsx").exists()


@pytest.mark.server
def test_findings_in_postgresql_come_and_go_the_same(tmp_path: Path, postgres_url: str) -> None:
    world = World.at(tmp_path / "w", *customers(GROUPS), twins={})
    world.config = {"state": postgres_url}
    world.run()
    file = export(world, "out.xlsx", "--where", "email < '003@x'")
    fill(file, *[{"decision": "dismiss"}] * 3)

    answer: Answer = world.command("decide", "out.xlsx")

    assert (answer.code, answer.out.splitlines()[-1]) == (0, "3 findings: 3 decided."), answer.said


def test_a_dry_run_knows_a_plan_that_is_not_the_one_of_the_file(world: World) -> None:
    file = export(world, "out.csv")
    change(file, lambda rows: rows[0].update(decision="approve", plan="0" * 64))

    dry = world.command("decide", "out.csv", "--dry-run")
    real = world.command("decide", "out.csv")

    assert (dry.code, real.code) == (4, 4)
    assert "its plan differs from the plan in the file" in dry.out
    assert set(world.findings().values()) == {"awaiting_approval"}
