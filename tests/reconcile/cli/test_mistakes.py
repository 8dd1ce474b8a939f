"""Mistakes of people at the command line: each is answered with what is wrong and what to do, and loses nothing."""

import json
import re
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter

from tests.support.cli import FILES, ORDERS, Project, in_words, sqlite

PAYMENTS = """\
version: 1
sources: {books: {type: sql, url: "sqlite:///books.db"}}
datasets: {payments: {source: books, table: payments, id: id, money: {amount: amount, currency: currency}}}
rules: {twice: {kind: duplicates, dataset: payments, key: [payee], where: status = 'ok'}}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    (tmp_path / "orders.csv").write_text(ORDERS)
    return Project(tmp_path).write(FILES)


@pytest.fixture
def books(tmp_path: Path) -> Project:
    with sqlite(tmp_path / "books.db") as db:
        db.execute("create table payments(id integer primary key, payee text, amount int, currency text, status text)")
        db.execute("insert into payments(payee, amount, currency, status) values ('a', 1, 'EUR', 'ok')")
    return Project(tmp_path).write(PAYMENTS)


def test_the_demo_writes_into_no_folder_that_holds_something(shop: Project) -> None:
    in_words(shop("demo", "--in", "."), 2, ". is not empty, so nothing was written", "--in FOLDER", lines=1)
    in_words(shop("demo", "--in", "orders.csv"), 2, "orders.csv cannot be used: File exists", lines=1)

    assert (shop.folder / "reconcile.yaml").read_text() == FILES
    assert sorted(path.name for path in shop.folder.iterdir()) == ["orders.csv", "reconcile.yaml"]


@pytest.mark.parametrize("more", [(), ("--replace",)])
def test_a_folder_is_no_place_for_a_backup(shop: Project, more: tuple[str, ...]) -> None:
    shop("run", "-q")
    (shop.folder / "backups").mkdir()

    in_words(shop("backup", ".", *more), 2, ". is a folder, but a backup is a file; name one", lines=1)
    in_words(shop("backup", "backups", *more), 2, "like backups/backup.db", lines=1)


def test_a_day_is_a_time_that_people_write_and_one_that_is_over_is_told(shop: Project) -> None:
    shop.write("timezone: Europe/Berlin\n" + FILES)("run", "-q")
    name = shop("findings", "--json").json[0]["id"]

    assert "is snoozed until 2999-07-01 00:00 CEST" in shop("snooze", name, "--until", "2999-07-01").out
    assert "until 30 Jun 2999 22:00 UTC" in shop("pause", "default", "--until", "2999-07-01").out
    in_words(shop("snooze", name, "--until", "2020-01-01"), 2, "is in the past", lines=1)
    in_words(shop("pause", "--all", "--until", "2020-01-01"), 2, "A pause until 2019-12-31 23:00 UTC would be over")
    assert [item["paused"] is not None for item in shop("jobs", "--json").json] == [True]
    for wrong in ("tomorrow", "2026-13-01", "99999999999999d", "99999999d"):
        in_words(shop("snooze", name, "--until", wrong), 2, "neither a duration like 3d nor a time like", lines=4)


def test_where_nothing_could_be_read_as_declared_it_says_as_what_and_where(shop: Project) -> None:
    shop.write(FILES.replace("paid_at: instant", "paid_at: date %d.%m.%Y"))
    shop.write((shop.folder / "reconcile.yaml").read_text().replace("[order_id]", "[order_id, paid_at]"))

    done = shop("run", "-q")

    assert done.code == 3
    assert "every record was skipped (paid_at is null in 2 records; " in done.out
    assert "paid_at of 2 records treated as empty: not a date" in done.out
    assert "first at orders.csv:2" in done.out


def test_a_pattern_that_means_nothing_is_told_with_how_it_is_written(shop: Project) -> None:
    shop.write(FILES.replace("orders.csv", "'or**.csv'"))

    answer = shop("check", "-q")

    assert (answer.code, "`**` must be alone between slashes" in answer.out, "like **/*.csv" in answer.out) == (
        2,
        True,
        True,
    )


def test_a_file_in_another_encoding_is_told_in_a_sentence(shop: Project) -> None:
    text = ORDERS.replace("A-1", "Ä-1").encode("cp1252")
    (shop.folder / "orders.csv").write_bytes(text)

    remarks = shop("run").err.splitlines()

    output = (
        "the file is not UTF-8 and was read as Windows-1252; set `encoding` to the right one, first at orders.csv:2"
    )
    assert f"twice: {output}" in remarks


@pytest.mark.slow
def test_a_name_that_stands_twice_in_a_header_is_told_by_check_and_by_the_runs_of_rules_that_name_it(
    shop: Project,
) -> None:
    (shop.folder / "orders.csv").write_text(
        ORDERS.replace("id,order_id", "id,order_id,order_id").replace("A-1", "A-1,B")
    )
    text = "`order_id` appears more than once in the header and is read as `order_id`, `order_id_2`; rename them"

    looked, ran = shop("check"), shop("run")
    shop.write(FILES.replace("[order_id]", "[amount]"))
    another = shop("run", "--slot", "2026-03-02T00:00:00Z")

    assert looked.code == 0
    assert f"note   dataset orders: orders.csv:1: {text}" in looked.err
    assert f"twice: {text}" in ran.err
    assert ", first at orders.csv:1" in ran.err
    assert "more than once" not in another.said


@pytest.mark.parametrize(
    ("written", "instead", "sentence"),
    [
        (
            "status = 'ok'",
            "status = 5",
            "Cannot compare text with integer at column 8 of `status = 5`; declare a column",
        ),
        ("status = 'ok'", "id = '5'", "Cannot compare integer with text at column 4 of `id = '5'`; a number is"),
        ("status = 'ok'", "5 = status", "; a text is written in single quotes."),
        ("currency: currency", "currency: euro", "write a column, or a currency as three capitals like EUR; known"),
        ("currency: currency", "currency: curency", "has no such column; did you mean `currency`?"),
    ],
)
def test_what_does_not_fit_is_told_with_how_it_is_written(
    books: Project, written: str, instead: str, sentence: str
) -> None:
    books.write(PAYMENTS.replace(written, instead))

    answer = books("check", "-q")

    assert (answer.code, len(answer.out.splitlines())) == (2, 1), answer.said
    assert sentence in answer.out


COMPARED = """\
sources: {s: {type: files}}
datasets:
  bank: {source: s, path: bank.csv, id: id, columns: {amount: decimal}}
  ledger: {source: s, path: ledger.csv, id: id, columns: {amount: decimal}}
rules:
  agree:
    kind: reconciliation
    left: bank
    right: ledger
"""


@pytest.mark.parametrize(
    ("settings", "place", "sentence"),
    [
        ("    key: [rfe]\n", "10:5", "`key` names `rfe`, but dataset `bank` has no such column; did you mean `ref`?"),
        ("    key: [ref]\n    compare: [amuont]\n", "11:5", "`compare` names `amuont`, but dataset `bank`"),
        (
            "    totals:\n      by: [{left: [rfe], right: [ref]}]\n      sum: {left: amount, right: amount}\n",
            "11:7",
            "`totals.by` names `rfe`, but dataset `bank`",
        ),
        (
            "    totals:\n      by: [ref]\n      sum: {left: amount, right: amuont}\n",
            "12:7",
            "`totals.sum` names `amuont`, but dataset `ledger`",
        ),
        (
            "    totals:\n      by: [ref]\n      sum: {left: 0 - amuont, right: amount}\n",
            "12:7",
            "`totals.sum` cannot be computed: There is no column `amuont`",
        ),
        (
            "    key: [ref]\n    tolerance:\n      amount: {left: amount, right: amuont, by: 1}\n",
            "12:7",
            "`tolerance.amount` names `amuont`, but dataset `ledger`",
        ),
        (
            "    key: [ref]\n    match: one_to_many\n    sum: {left: amuont, right: amount}\n",
            "12:5",
            "`sum` names `amuont`, but dataset `bank`",
        ),
        ("    key: [ref]\n    where: {left: rfe = 'A'}\n", "11:13", "`where.left`: There is no column `rfe`"),
    ],
)
@pytest.mark.slow
def test_a_column_that_is_missing_is_told_alike_by_check_and_run_with_the_line_of_the_setting(
    settings: str, place: str, sentence: str, tmp_path: Path
) -> None:
    for name in ("bank", "ledger"):
        (tmp_path / f"{name}.csv").write_text("id,ref,amount\n1,A,10\n")
    books = Project(tmp_path).write(COMPARED + settings)

    check, run, dry = books("check", "-q"), books("run"), books("run", "--dry-run")

    text = f"reconcile.yaml:{place}: Rule 'agree' does not fit dataset `bank` and `ledger`: {sentence}"
    assert [answer.code for answer in (check, run, dry)] == [2, 2, 2]
    assert f"error  rule agree: {text}" in check.out
    assert f"could not check agree: {text}" in run.out
    assert f"could not check agree: {text}" in dry.out


@pytest.mark.parametrize(
    ("source", "dataset", "rule", "told"),
    [
        ("root: exports", "", "", "source s: reconcile.yaml:2:28: Source 's' cannot be opened"),
        ("root: .", "path: order.csv", "", "dataset d: reconcile.yaml:4:3: Source 's' has no file order.csv"),
        ("root: .", "columns: {amount: integer}", "", "dataset d: reconcile.yaml:4:13: 0 of 2 values of `amount`"),
        ("root: .", "pii: [name]", "", "rule r: reconcile.yaml:4:3: Rule 'r' does not fit dataset `d`: `pii`"),
        (
            "root: .",
            "where: amout > 1",
            "",
            "rule r: reconcile.yaml:4:3: Rule 'r' does not fit dataset `d`: The dataset's",
        ),
        ("root: .", "", "where: amout > 1", "rule r: reconcile.yaml:6:47: Rule 'r' does not fit dataset `d`: where:"),
    ],
)
def test_check_tells_where_the_file_has_the_setting_that_is_wrong(
    shop: Project, source: str, dataset: str, rule: str, told: str
) -> None:
    place = "" if dataset.startswith("path") else "path: orders.csv, "
    shop.write(
        f"version: 1\nsources: {{s: {{type: files, {source}}}}}\ndatasets: {{d: {{source: s, {place}\n"
        f"  {dataset}}}}}\nrules:\n  r: {{kind: duplicates, dataset: d, key: all, {rule}}}\n"
    )

    checked = shop("check", "--quiet")

    assert f"error  {told}" in checked.said
    assert checked.code in {2, 3}


def test_a_source_that_failed_beside_a_rule_that_does_not_fit_is_worth_another_run(tmp_path: Path) -> None:
    (tmp_path / "bank.csv").write_text("id,ref,amount\n1,A,10\n")
    (tmp_path / "ledger.csv").write_text("id,ref,amount\n1,A,10,more\n")
    rules = COMPARED + "    key: [ref]\n  twice: {kind: duplicates, dataset: bank, key: [rfe]}\n"
    books = Project(tmp_path).write(rules)

    answer = books("run")

    assert answer.code == 3
    assert "reconcile.yaml:11:44: Rule 'twice' does not fit dataset `bank`: `key` names `rfe`" in answer.out


BILLS = """\
sources: {books: {type: workbook, path: books.xlsx}}
datasets: {bills: {source: books, id: Beleg, money: {amount: Betrag, currency: EUR}}}
rules: {twice: {kind: duplicates, dataset: bills, key: [Lieferant, Betrag]}}
"""


@pytest.mark.slow
def test_a_heading_below_a_title_is_asked_for_and_what_there_is_instead_stands_once(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "books.xlsx") as book:
        sheet = book.add_worksheet("A")
        for row, cells in enumerate([["Eingangsrechnungen 2026"], ["Beleg", "Lieferant", "Betrag"], ["R1", "A", 2]]):
            sheet.write_row(row, 0, cells)
    books = Project(tmp_path).write(BILLS)

    text = books("check", "-q").out

    assert text.count("known names:") == 1
    assert text.count("set `header_row` (workbook) or `skip` (file)") == 1
    assert books.write(BILLS.replace("id: Beleg", "header_row: 2, id: Beleg"))("check").code == 0


@pytest.mark.slow
def test_ids_that_a_workbook_has_rounded_are_no_duplicates(tmp_path: Path) -> None:
    """Written as 17 digits and more, they come back as the same number."""
    book = openpyxl.Workbook()
    for cells in (["Beleg", "Lieferant", "Betrag"], ["R1", 123456789012345671, 2], ["R2", 123456789012345672, 2]):
        book.active.append(cells)
    book.save(tmp_path / "books.xlsx")
    reason = "numbers with more than 15 digits, which the program that wrote them may have rounded"
    books = Project(tmp_path).write(BILLS)

    of_key = books("run", "--dry-run").said
    books.write(BILLS.replace("id: Beleg", "id: Lieferant").replace("[Lieferant, Betrag]", "[Betrag]"))
    of_id = books("run", "--dry-run").said

    assert f"Lieferant of 2 records treated as empty: {reason}" in of_key
    assert "12345678901234" not in of_key + of_id
    assert f"Lieferant of 2 records treated as empty: {reason}" in of_id
    assert "compared no records: the id of every record is empty" in of_id


EXPORTS = """\
sources: {bank: {type: files}}
datasets: {payments: {source: bank, path: "may*.csv", columns: {amount: decimal}}}
rules: {paid-twice: {kind: duplicates, dataset: payments, key: [iban, amount]}}
channels: {team: {type: file, path: told.txt}}
"""


def test_records_without_an_id_are_shown_by_file_and_row_and_the_first_is_kept(tmp_path: Path) -> None:
    rows = "".join(f"DE1,5.00,note {n}\n" for n in range(8))
    (tmp_path / "may.csv").write_text(f"iban,amount,note\n{rows}")
    bank = Project(tmp_path).write(EXPORTS)

    bank("run")
    [finding] = json.loads(bank("findings", "--json").out)
    shown, listed = bank("show", finding["id"]), json.loads(bank("show", finding["id"], "--json").out)

    assert [line.split()[:4] for line in shown.out.splitlines() if "may.csv, row" in line][:2] == [
        ["keeper", "may.csv,", "row", "2"],
        ["surplus", "may.csv,", "row", "3"],
    ]
    assert finding["places"] == listed["places"] == [["may.csv", row] for row in range(2, 10)]
    assert finding["keeper"][0] not in shown.out


def test_records_of_a_table_without_an_id_are_shown_by_their_values(tmp_path: Path) -> None:
    with sqlite(tmp_path / "shop.db") as db:
        db.execute("create table orders (code text, note text, secret text)")
        db.execute("insert into orders values ('A', 'z', 'x'), ('A', 'a', 'x'), ('A', null, 'x')")
    shop = Project(tmp_path).write(
        "sources: {shop: {type: sql, url: sqlite:///shop.db}}\n"
        "datasets: {orders: {source: shop, table: orders, pii: secret}}\n"
        "rules: {twice: {kind: duplicates, dataset: orders, key: code,"
        " keep: [{prefer: {note: [y]}}, {first: secret}]}}\n"
    )

    shop("run")
    [finding] = json.loads(shop("findings", "--json").out)
    shown = shop("show", finding["id"])

    [unmasked] = json.loads(shop("findings", "--json", "--show").out)
    assert finding["values"] == [{"code": "A", "note": note, "secret": "•••"} for note in ("a", "z", None)]
    assert set(finding["keeper"]) == {"•••"}, "the id is a digest of all columns"
    assert unmasked["keeper"][0] not in shown.out
    assert "A · a · •••" in shown.out


@pytest.mark.slow
def test_a_record_just_outside_the_window_is_told_and_shown(tmp_path: Path) -> None:
    (tmp_path / "may.csv").write_text(
        "no,iban,at\n" + "".join(f"P-{m},DE1,2026-05-01T10:{m}:00Z\n" for m in (10, 24, 26))
    )
    bank = Project(tmp_path).write(
        "sources: {bank: {type: files}}\n"
        "datasets: {payments: {source: bank, path: may.csv, id: no, columns: {at: instant}}}\n"
        "rules: {twice: {kind: duplicates, dataset: payments, key: iban, window: {at: 15m}}}\n"
        "channels: {team: {type: file, path: told.txt}}\n"
        "jobs: {nightly: {rules: all, notify: team, existing: report}}\n"
    )

    planned = json.loads(bank("run", "--dry-run", "--json").out)["findings"]
    bank("run")
    [finding] = json.loads(bank("findings", "--json").out)
    shown = bank("show", finding["id"]).out

    near = {"records": 1, "nearest": [["P-26"]], "at": ["2026-05-01T10:26:00Z"]}
    assert (finding["records"], finding["nearby"], planned[0]["nearby"]) == (2, near, near)
    assert "nearby, not in the group  P-26 (2026-05-01 10:26:00 UTC)" in shown
    assert "Nearby, not in the group: P-26" in (tmp_path / "told.txt").read_text()

    with (tmp_path / "may.csv").open("a") as file:
        file.write("P-27,DE1,2026-05-01T10:27:00Z\nP-28,DE1,2026-05-01T10:28:00Z\n")
    bank("run")
    grown = json.loads(bank("show", finding["id"], "--json").out)

    assert (grown["version"], grown["nearby"]["records"]) == (finding["version"], 3)


def test_a_dry_run_shows_the_largest_groups_before_anybody_is_told(tmp_path: Path) -> None:
    numbers = [1, 2, 3, 4, 5, 2, 3, 4, 5, 5]
    rows = "".join(f"DE{number},{number}.00\n" for number in numbers)
    (tmp_path / "may.csv").write_text(f"iban,amount\n{rows}")
    more = "pii: iban, money: {amount: amount, currency: EUR}, path: may*.csv"
    bank = Project(tmp_path).write(EXPORTS.replace('path: "may*.csv"', more))

    looked, shown = bank("run", "--dry-run"), bank("run", "--dry-run", "--show")

    first, *_, last = [line for line in shown.out.splitlines() if line.startswith("paid-twice: ")]
    assert first.startswith("paid-twice: new  DE5 · 5.00: keep may.csv, row ")
    assert sorted(re.findall(r"row (\d+)", first), key=int) == ["6", "10", "11"]
    assert first.endswith(", 10.00 EUR at risk")
    assert last == "paid-twice: and 1 more; --json lists all"
    assert "paid-twice: new  ••• · 5.00: keep may.csv, row " in looked.out
    assert "DE5" not in looked.said
    assert not (tmp_path / "told.txt").exists()


@pytest.mark.slow
def test_an_export_that_was_put_there_twice_is_told_as_the_cause(tmp_path: Path) -> None:
    text = "iban,amount\n" + "".join(f"DE{number},{number}.00\n" for number in range(1, 21))
    (tmp_path / "may.csv").write_text(text)
    bank = Project(tmp_path).write(EXPORTS)
    bank("run")
    (tmp_path / "may (1).csv").write_text(text)

    bank("run")

    cause = "20 of 20 repeats are in may (1).csv and, in the same order, in may.csv"
    assert (
        f"Probable cause: {cause}: this looks like one export that was delivered twice."
        in (tmp_path / "told.txt").read_text()
    )


def test_a_file_with_lines_above_its_heading_is_told_how_to_skip_them(shop: Project) -> None:
    (shop.folder / "orders.csv").write_text("Export of May,,,,\n" + ORDERS)

    answer = shop("check", "-q")

    assert answer.code == 2
    assert "Most columns have no heading: if it is further down, set `skip`" in answer.out


def test_the_log_is_listed_without_what_an_entry_does_not_say(shop: Project) -> None:
    shop("run", "-q")

    assert "None" not in shop("audit").out


def test_arguments_are_named_alike_in_every_usage(shop: Project) -> None:
    for words, usage in {
        ("undo", "-h"): "reconcile undo [OPTIONS] [ID]...",
        ("run", "-h"): "reconcile run [OPTIONS] [JOB]...",
        ("runs", "-h"): "reconcile runs [OPTIONS] [JOB]",
        ("assign", "-h"): "reconcile assign [OPTIONS] [ID]... {NAME}",
        ("explain", "-h"): "reconcile explain [OPTIONS] {RULE}",
    }.items():
        assert f"Usage: {usage}\n" in shop(*words).out
