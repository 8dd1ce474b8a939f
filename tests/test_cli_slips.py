"""Slips of people at the command line, each answered with what is wrong and what to do; nothing of theirs is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import FILES, ORDERS, Project, in_words, sqlite

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
    in_words(shop("demo", "--in", "orders.csv"), 2, "orders.csv cannot hold a project: File exists", lines=1)

    assert (shop.folder / "reconcile.yaml").read_text() == FILES
    assert sorted(one.name for one in shop.folder.iterdir()) == ["orders.csv", "reconcile.yaml"]


@pytest.mark.parametrize("more", [(), ("--replace",)])
def test_a_folder_is_no_place_for_a_backup(shop: Project, more: tuple[str, ...]) -> None:
    shop("run", "-q")
    (shop.folder / "backups").mkdir()

    in_words(shop("backup", ".", *more), 2, ". is a folder, and a backup is a file; name one", lines=1)
    in_words(shop("backup", "backups", *more), 2, "like backups/backup.db", lines=1)


def test_a_day_is_a_time_that_people_write_and_one_that_is_over_is_told(shop: Project) -> None:
    shop.write("timezone: Europe/Berlin\n" + FILES)("run", "-q")
    name = shop("findings", "--json").json[0]["id"]

    assert "is snoozed until 2999-06-30 22:00 UTC" in shop("snooze", name, "--until", "2999-07-01").out
    assert "until 30 Jun 2999 22:00 UTC" in shop("pause", "default", "--until", "2999-07-01").out
    in_words(shop("snooze", name, "--until", "2020-01-01"), 2, "would be over already", lines=1)
    in_words(shop("pause", "--all", "--until", "2020-01-01"), 2, "A pause until 2019-12-31 23:00 UTC would be over")
    assert [one["paused"] is not None for one in shop("jobs", "--json").json] == [True]
    for wrong in ("tomorrow", "2026-13-01", "99999999999999d", "99999999d"):
        in_words(shop("snooze", name, "--until", wrong), 2, "neither a duration like 3d nor a time like", lines=4)


def test_where_nothing_could_be_read_as_declared_it_says_as_what_and_where(shop: Project) -> None:
    shop.write(FILES.replace("paid_at: instant", "paid_at: date %d.%m.%Y"))
    shop.write((shop.folder / "reconcile.yaml").read_text().replace("[order_id]", "[order_id, paid_at]"))

    done = shop("run", "-q")

    assert done.code == 3
    assert "every record was left out (paid_at is null in 2 records; " in done.out
    assert "paid_at of 2 records counts as empty, for it is not a date" in done.out
    assert "first at orders.csv:2" in done.out


def test_a_pattern_that_means_nothing_is_told_with_how_it_is_written(shop: Project) -> None:
    shop.write(FILES.replace("orders.csv", "'or**.csv'"))

    answer = shop("check", "-q")

    assert (answer.code, "`**` stands for folders" in answer.out, "like **/*.csv" in answer.out) == (2, True, True)


def test_a_file_in_another_encoding_is_told_in_a_sentence(shop: Project) -> None:
    text = ORDERS.replace("A-1", "Ä-1").encode("cp1252")
    (shop.folder / "orders.csv").write_bytes(text)

    remarks = shop("run").err.splitlines()

    said = "the file is not UTF-8 and was read as Windows-1252; set `encoding` to what it is, first at orders.csv:2"
    assert f"twice: {said}" in remarks


def test_a_name_that_stands_twice_in_a_header_is_told_by_check_and_by_the_runs_of_rules_that_name_it(
    shop: Project,
) -> None:
    (shop.folder / "orders.csv").write_text(
        ORDERS.replace("id,order_id", "id,order_id,order_id").replace("A-1", "A-1,B")
    )
    said = "`order_id` stands more than once in the header and is read as `order_id`, `order_id_2`; rename them"

    looked, ran = shop("check"), shop("run")
    shop.write(FILES.replace("[order_id]", "[amount]"))
    another = shop("run", "--slot", "2026-03-02T00:00:00Z")

    assert looked.code == 0
    assert f"note   dataset orders: orders.csv:1: {said}" in looked.err
    assert f"twice: {said}" in ran.err
    assert ", first at orders.csv:1" in ran.err
    assert "more than once" not in another.said


@pytest.mark.parametrize(
    ("written", "instead", "sentence"),
    [
        ("status = 'ok'", "status = 5", "Cannot compare text with integer at column 8 of `status = 5`; a text is"),
        ("status = 'ok'", "id = '5'", "Cannot compare integer with text at column 4 of `id = '5'`; a number is"),
        ("status = 'ok'", "5 = status", "; a text is written in single quotes."),
        ("currency: currency", "currency: euro", "write a column, or a currency as three capitals like EUR; known are"),
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


def test_the_log_is_listed_without_what_an_entry_does_not_say(shop: Project) -> None:
    shop("run", "-q")

    assert "None" not in shop("audit").out


def test_arguments_are_named_alike_in_every_usage(shop: Project) -> None:
    for words, usage in {
        ("undo", "-h"): "reconcile undo [OPTIONS] [ID]",
        ("run", "-h"): "reconcile run [OPTIONS] [JOB]...",
        ("runs", "-h"): "reconcile runs [OPTIONS] [JOB]",
        ("assign", "-h"): "reconcile assign [OPTIONS] {ID} {NAME}",
        ("explain", "-h"): "reconcile explain [OPTIONS] {RULE}",
    }.items():
        assert f"Usage: {usage}\n" in shop(*words).out
