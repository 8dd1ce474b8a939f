"""Hostile circumstances: each told in a sentence, soon, with the right exit code, and the state as good as before."""

import datetime as dt
import io
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import sqlalchemy as sa
import xlsxwriter

from connectors.workbook import isolated
from reconcile.store import Store
from tests.support.cli import FILES, ORDERS, Answer, Project, in_words, sqlite

pytestmark = pytest.mark.slow

TYPED = ", columns: {amount: decimal, paid_at: instant}"
SECRET_CELL = "Zaphod-Beeblebrox"
NOBODY = 65534
QUICK = 5.0

DATABASE = """\
version: 1
sources: {{shop: {{type: sql, url: "{url}", statement_timeout: 1s}}}}
datasets: {{orders: {{source: shop, {what}, id: id}}}}
rules: {{twice: {{kind: duplicates, dataset: orders, key: [order_id], severity: high}}}}
"""

WORKBOOK = """\
version: 1
sources: {crm: {type: workbook, path: book.xlsx}}
datasets: {orders: {source: crm, sheet: Orders, id: id}}
rules: {twice: {kind: duplicates, dataset: orders, key: [order_id]}}
"""


def database(url: str, what: str = "table: orders") -> str:
    return DATABASE.format(url=url, what=what)


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    """A project over a CSV file that ran once and found one order paid twice."""
    (tmp_path / "orders.csv").write_text(ORDERS)
    project = Project(tmp_path).write(FILES)
    assert project("run").code == 0
    return project


@pytest.fixture
def base(tmp_path: Path) -> Project:
    """The same over a SQLite database."""
    _fill(tmp_path / "shop.db")
    project = Project(tmp_path).write(database("sqlite:///shop.db"))
    assert project("run").code == 0
    return project


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may look into: pytest closes its own whenever one of its processes begins."""
    with tempfile.TemporaryDirectory(prefix="reconcile-test-") as folder:
        for parent in (Path(folder), *Path(folder).parents):
            if parent.stat().st_uid == os.getuid() and parent != Path("/"):
                parent.chmod(parent.stat().st_mode | 0o055)
        yield Path(folder)


def _fill(path: Path) -> None:
    with sqlite(path) as db:
        db.executescript(
            "drop table if exists orders; create table orders(id text, order_id text, name text);"
            f"insert into orders values ('P-1', 'A-1', '{SECRET_CELL}'), ('P-2', 'A-1', '{SECRET_CELL}')"
        )


def told(answer: Answer, *parts: str, seconds: float = QUICK, code: int = 3) -> None:
    """A run that could not check its rule: exit 3, or 2 for a misfit; soon, two lines, no cell of the data."""
    assert answer.code == code, answer.said
    for part in parts:
        assert part in answer.out, f"{part!r} is not in: {answer.out}"
    assert len(answer.out.splitlines()) == 2, answer.out
    assert SECRET_CELL not in answer.said
    assert "Traceback" not in answer.said
    assert answer.seconds < seconds


def healthy(project: Project) -> None:
    """The log is whole, and the next run works and knows the finding of the first."""
    assert project.audit_is_intact()
    after = project("run", "--json", "--all")
    assert after.code == 0, after.said
    assert [finding["state"] for finding in after.json["findings"]] == ["open"]
    assert project.audit_is_intact()


# Databases that change or do not answer


def test_a_column_that_vanished_between_two_runs_is_named_with_the_nearest(base: Project) -> None:
    with sqlite(base.folder / "shop.db") as db:
        db.execute("alter table orders rename column order_id to order_no")

    told(base("run", "-q"), "`key` names `order_id`", "did you mean `order_no`?", code=2)
    checked = base("check", "-q")
    assert (checked.code, len(checked.out.splitlines())) == (2, 1)
    assert "did you mean `order_no`?" in checked.out

    _fill(base.folder / "shop.db")
    healthy(base)


def test_a_table_that_vanished_is_named_with_the_nearest(base: Project) -> None:
    with sqlite(base.folder / "shop.db") as db:
        db.executescript("drop table orders; create table ordres(id text)")

    told(base("run", "-q"), "Source 'shop' has no table orders", "did you mean table ordres?")

    _fill(base.folder / "shop.db")
    healthy(base)


def test_a_database_file_that_vanished_is_not_made_anew(base: Project) -> None:
    (base.folder / "shop.db").unlink()

    told(base("run", "-q"), "Source 'shop' cannot be opened at shop.db", "file not found", "Nothing was created")
    assert not (base.folder / "shop.db").exists()

    _fill(base.folder / "shop.db")
    healthy(base)


def test_a_file_that_is_no_database_is_told(base: Project) -> None:
    (base.folder / "shop.db").write_text(SECRET_CELL * 500)

    told(base("run", "-q"), "shop.db", "it cannot be read as a SQLite database")

    (base.folder / "shop.db").unlink()
    _fill(base.folder / "shop.db")
    healthy(base)


def test_a_locked_source_is_waited_for_a_while_and_then_told(base: Project) -> None:
    holder = sqlite3.connect(base.folder / "shop.db", isolation_level=None)
    holder.execute("begin exclusive")

    told(base("run", "-q"), "Source 'shop' is busy: another program has locked", "shop.db", seconds=15)

    holder.execute("rollback")
    holder.close()
    healthy(base)


SLOW = {
    "sqlite:///shop.db": "with recursive r(i) as (select 1 union all select i + 1 from r) "
    "select max(i) as id, 1 as order_id from r",
    "postgres": "select pg_sleep(30)::text as id, 1 as order_id",
    "mariadb": "select count(*) as id, 1 as order_id from seq_1_to_1000000 a, seq_1_to_1000000 b where a.seq < b.seq",
}


@pytest.mark.server
@pytest.mark.parametrize("engine", SLOW)
def test_a_slow_statement_is_stopped_at_its_limit(engine: str, base: Project, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{engine}_url") if ":" not in engine else engine
    base.write(database(url, f'query: "{SLOW[engine]}"'))

    told(base("run", "-q"), "Source 'shop' was stopped after 1s", "raise statement_timeout")

    base.write(database("sqlite:///shop.db"))
    healthy(base)


def _port_nobody_hears() -> int:
    with socket.socket() as item:
        item.bind(("127.0.0.1", 0))
        return int(item.getsockname()[1])


@pytest.mark.parametrize("driver", ["postgresql", "mysql"])
def test_a_server_that_is_down_is_told_with_source_address_and_cause_and_no_password(
    driver: str, base: Project
) -> None:
    port = _port_nobody_hears()
    base.write(database(f"{driver}://ada:{SECRET_CELL}@127.0.0.1:{port}/shop"))

    told(base("run", "-q"), "Source 'shop' did not answer at 127.0.0.1:", str(port), "Connection refused")
    checked = base("check", "-q")
    assert checked.code == 3
    assert checked.out.count("Connection refused") == 1, "said once, not again for every dataset"
    assert SECRET_CELL not in checked.said

    base.write(database("sqlite:///shop.db"))
    healthy(base)


@pytest.mark.parametrize("driver", ["postgresql", "mysql"])
def test_a_host_that_does_not_exist_is_told(driver: str, base: Project) -> None:
    base.write(database(f"{driver}://ada:{SECRET_CELL}@no-such-host.invalid/shop"))

    told(base("run", "-q"), "Source 'shop' did not answer at no-such-host.invalid", "reconcile check", seconds=30)

    base.write(database("sqlite:///shop.db"))
    healthy(base)


@pytest.mark.server
def test_a_role_that_does_not_exist_is_told(base: Project, postgres_url: str) -> None:
    url = sa.make_url(postgres_url).set(username="nobody_such", password=SECRET_CELL)
    base.write(database(url.render_as_string(hide_password=False)))

    told(base("run", "-q"), "Source 'shop' refused access at", 'role "nobody_such" does not exist', "check the user")

    base.write(database("sqlite:///shop.db"))
    healthy(base)


@pytest.fixture
def mariadb_user(mariadb_url: str) -> Iterator[sa.URL]:
    """A user with a password, who may read that database."""
    name = f"u_{uuid.uuid4().hex[:10]}"
    url = sa.make_url(mariadb_url)
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as db:
        db.exec_driver_sql(f"create user {name}@'%%' identified by 'right'")
        db.exec_driver_sql(f"create user {name}@'localhost' identified by 'right'")
        yield url.set(username=name, password="right")
        db.exec_driver_sql(f"drop user {name}@'%%', {name}@'localhost'")
    engine.dispose()


@pytest.mark.server
def test_a_wrong_password_is_told_and_not_repeated(base: Project, mariadb_user: sa.URL) -> None:
    wrong = mariadb_user.set(password=SECRET_CELL)
    base.write(database(wrong.render_as_string(hide_password=False)))

    told(base("run", "-q"), "Source 'shop' refused access at", "Access denied for user", "check the user, its password")

    base.write(database("sqlite:///shop.db"))
    healthy(base)


def test_a_database_that_is_not_read_here_is_a_mistake_in_the_configuration(base: Project) -> None:
    base.write(database(f"mongodb://ada:{SECRET_CELL}@host/shop"))

    answer = base("run")

    assert (answer.code, answer.out) == (2, "")
    assert re.match(r"reconcile\.yaml:2:\d+: ", answer.err)
    assert SECRET_CELL not in answer.err


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:pass@{}@host/shop",
        "mysql://ada:{}@host:port/shop",
        "mariadb://ada:1@{}@127.0.0.1:3306/shop",
        "mongodb://ada:@{}@host/shop",
    ],
)
def test_an_address_whose_parts_run_into_another_is_refused_without_a_piece_of_the_password(
    address: str, base: Project
) -> None:
    base.write(database(address.format(SECRET_CELL)))

    answer = base("check")

    assert (answer.code, answer.out) == (2, "")
    assert "this is not a database URL; write dialect://" in answer.err
    assert "special characters of the password %-encoded" in answer.err
    assert SECRET_CELL not in answer.err


# Files


CUT = {
    "cut in a quote": (ORDERS + f'P-3,"{SECRET_CELL}', "orders.csv:4: a quote opened on this line is never closed"),
    "ragged": (ORDERS + f"P-3,{SECRET_CELL}\n", "orders.csv:4: this record has 2 fields, the header has 4"),
    "without a column": (ORDERS.replace("order_id", "order_no"), "did you mean `order_no`?"),
    "without a declared column": (ORDERS.replace("amount", "total"), "orders.csv has no column 'amount'"),
    "empty": ("", "orders.csv: the file is empty and has no header"),
    "only a header": (ORDERS.splitlines()[0] + "\n", "is empty, but had 2 records in the previous run"),
}


@pytest.mark.parametrize("case", CUT)
def test_a_broken_csv_file_is_told_at_its_line(case: str, shop: Project) -> None:
    text, part = CUT[case]
    (shop.folder / "orders.csv").write_text(text)

    told(shop("run", "-q"), part, code=2 if case == "without a column" else 3)

    (shop.folder / "orders.csv").write_text(ORDERS)
    healthy(shop)


def test_a_file_in_another_encoding_is_told_where_one_was_declared(shop: Project) -> None:
    shop.write(FILES.replace("path: orders.csv", "path: orders.csv, encoding: utf-8"))
    (shop.folder / "orders.csv").write_bytes(
        ORDERS.encode() + "P-3,Müller,1.00,2026-03-01T10:00:00Z\n".encode("latin1")
    )

    told(shop("run", "-q"), "orders.csv", "it is not utf-8 text", "correct `encoding`")

    (shop.folder / "orders.csv").write_text(ORDERS)
    healthy(shop)


def test_a_line_of_two_gigabytes_is_refused_before_it_is_read(shop: Project) -> None:
    with (shop.folder / "orders.csv").open("w") as file:
        file.write(ORDERS)
        file.truncate(2_000_000_000)

    told(shop("run", "-q"), "a line is longer than 2,000,000 bytes", "max_line")

    (shop.folder / "orders.csv").write_text(ORDERS)
    healthy(shop)


def _directory(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (_directory, "it is a directory"),
        (os.mkfifo, "it is not a regular file"),
        (_link, "a place outside its source's `root`"),
    ],
)
def test_what_is_no_file_is_not_read(make: Callable[[Path], None], part: str, shop: Project) -> None:
    path = shop.folder / "orders.csv"
    path.unlink()
    make(path)

    told(shop("run", "-q"), "orders.csv is not read", part)

    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    path.write_text(ORDERS)
    healthy(shop)


def test_what_cannot_be_read_is_told_apart_from_what_took_no_part(shop: Project) -> None:
    (shop.folder / "orders.csv").write_text(ORDERS + "P-3,A-9,dear,2026-03-01T10:00:00Z\nP-4,,1.00,\n")
    shop.write(FILES.replace("key: [order_id]", "key: [order_id, amount], where: paid_at > '2026-01-01'"))
    shop.write((shop.folder / "reconcile.yaml").read_text() + "channels: {log: {type: file, path: messages.txt}}\n")
    number = "not a decimal with at most 26 digits before the mark and 12 after it"
    sentences = (
        f"amount of 1 record treated as empty: {number}, first at orders.csv:4\n",
        "1 record skipped: amount is null\n",
        "1 record skipped: the condition is unknown: a value in it is null\n",
    )

    answer = shop("run")

    assert answer.code == 1, answer.said
    for sentence in sentences:
        assert f"twice: {sentence}" in answer.err
        assert f"\n{sentence}" in (shop.folder / "messages.txt").read_text()


def test_values_that_cannot_be_read_are_told_once_and_no_run_with_them_succeeds(shop: Project) -> None:
    shop.write(FILES.replace("key: [order_id]", "key: [order_id, amount]"))
    shop.write((shop.folder / "reconcile.yaml").read_text() + "channels: {log: {type: file, path: messages.txt}}\n")
    messages = shop.folder / "messages.txt"

    (shop.folder / "orders.csv").write_text(ORDERS + "P-3,A-9,dear,2026-03-01T10:00:00Z\n")
    runs = [shop("run", "--dry-run"), shop("run"), shop("run", "--fail-on", "critical")]
    status = shop("status")
    first = messages.read_text()
    (shop.folder / "orders.csv").write_text(ORDERS)
    repaired = shop("run")

    assert [run.code for run in runs] == [1, 1, 1]
    assert first.count("Values of dataset orders cannot be read\n") == 1
    assert "amount in 1 record (not a decimal" in first
    assert "orders.csv:4" in first
    assert "dear" not in first
    assert "Values of dataset orders cannot be read." in status.out
    assert repaired.code == 0
    assert messages.read_text().count("All values of dataset orders can be read again\n") == 1
    assert "cannot be read" not in shop("status").out


def test_only_the_columns_that_a_rule_reads_must_be_readable(shop: Project) -> None:
    shop.write(FILES)
    (shop.folder / "orders.csv").write_text(ORDERS + "P-3,A-9,dear,2026-03-01T10:00:00Z\n")

    run = shop("run")

    assert run.code == 0
    assert "cannot be read" not in shop("status").out


def test_ids_that_are_not_unique_are_told(shop: Project) -> None:
    (shop.folder / "orders.csv").write_text(ORDERS + "P-1,A-9,1.00,2026-03-01T10:00:00Z\n")

    answer = shop("run")

    assert answer.code == 0
    assert "twice: 1 record shares its id with another" in answer.err
    assert {"column": "id", "reason": "not unique", "records": 1} in shop("run", "--json").json["rules"][0]["skipped"]


def test_a_shared_id_is_told_once_until_no_record_shares_one(shop: Project) -> None:
    shop.write((shop.folder / "reconcile.yaml").read_text() + "channels: {log: {type: file, path: messages.txt}}\n")
    told = shop.folder / "messages.txt"
    shared = ORDERS + "P-1,A-9,1.00,2026-03-01T10:00:00Z\n"

    (shop.folder / "orders.csv").write_text(shared)
    runs = [shop("run"), shop("run")]
    status = shop("status")
    first = told.read_text()
    (shop.folder / "orders.csv").write_text(ORDERS)
    runs.append(shop("run"))

    assert [run.code for run in runs] == [0, 0, 0]
    assert first.count("Records of dataset orders share their id.") == 1
    assert "has the id of another record" in first
    assert "P-1" not in first.split("share their id.")[1].split("── end of")[0]
    assert "Records of dataset orders share their id." in status.out
    assert told.read_text().count("Records of dataset orders no longer share ids\n") == 1
    assert "share their id" not in shop("status").out


def _book(path: Path) -> bytes:
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet("Orders")
        for row, cells in enumerate((("id", "order_id"), ("P-1", "A-1"), ("P-2", "A-1"))):
            sheet.write_row(row, 0, cells)
    return path.read_bytes()


def _bomb() -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("[Content_Types].xml", "x")
        parts.writestr("xl/worksheets/sheet1.xml", bytes(100_000_000))
    return raw.getvalue()


def test_a_hostile_workbook_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    good = _book(path)
    project = Project(tmp_path).write(WORKBOOK)
    assert project("run").code == 0
    encrypted = bytes.fromhex("D0CF11E0A1B11AE1") + bytes(600) + "EncryptedPackage".encode("utf-16le") + bytes(2000)
    for raw, part in (
        (good[: len(good) // 2], "book.xlsx: the workbook is truncated or damaged"),
        (good[:400] + bytes(200) + good[600:], "book.xlsx: the workbook is truncated or damaged"),
        (SECRET_CELL.encode() * 99, "book.xlsx: it is not a workbook"),
        (b"", "book.xlsx: it is empty"),
        (encrypted, "book.xlsx: the workbook is locked with a password; save it without one"),
        (_bomb(), "book.xlsx is not read: it unpacks to 100,000,001 bytes"),
    ):
        path.write_bytes(raw)
        told(project("run", "-q"), part)
    project.write(WORKBOOK.replace("Orders", "Order"))
    path.write_bytes(good)
    told(project("run", "-q"), "Source 'crm' has no sheet Order; did you mean Orders?")

    project.write(WORKBOOK)
    healthy(project)


# Rules that do not fit


def test_a_rule_that_does_not_fit_its_columns_is_told_at_check(shop: Project) -> None:
    for rule, part in (
        ("key: [order_id], window: {order_id: 15m}", "`window` measures time, but `order_id` is of type text"),
        ("key: [{amount: [mailbox]}]", "`mailbox` takes text, but the value is of type decimal"),
        ('key: [order_id], where: "paid_at > 5"', "Cannot compare instant with integer"),
        ('key: [order_id], where: "order_id + 1 = 2"', "`+` takes numbers but this is of type text"),
        ("key: [order_id], keep: [{first: piad_at}]", "did you mean `paid_at`?"),
    ):
        shop.write(FILES.replace("key: [order_id]", rule))

        answer = shop("check", "-q")

        assert answer.code == 2, answer.said
        assert part in answer.out, answer.out
        assert len(answer.out.splitlines()) == 1

    shop.write(FILES.replace("key: [order_id]", "key: [order], keep: [{first: nope}]"))
    assert "did you mean `order_id`? `keep` names" in shop("check", "-q").out, "every mistake at once, a sentence each"


def test_a_misspelt_column_of_personal_data_is_told_before_it_stands_in_a_message(base: Project) -> None:
    base.write(database("sqlite:///shop.db", "table: orders, pii: [nmae]"))

    for answer in (base("check", "-q"), base("run", "-q")):
        assert answer.code == 2
        assert "`pii` names `nmae`, but dataset `orders` has no such column; did you mean `name`?" in answer.out

    base.write(database("sqlite:///shop.db", "table: orders, columns: {whole: {is: order_id}}, pii: [whole, name]"))
    assert base("check", "-q").code == 0, "a derived column is one of the dataset's"


# The state


def test_a_locked_state_is_waited_for_a_while_and_can_be_read_meanwhile(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults: Any = Store.open.__func__.__kwdefaults__  # type: ignore[attr-defined]
    assert defaults["patience"] == dt.timedelta(seconds=10)
    monkeypatch.setitem(defaults, "patience", dt.timedelta(seconds=1))
    holder = sqlite3.connect(shop.folder / "reconcile.db", isolation_level=None)
    holder.execute("begin immediate")

    in_words(shop("run", "-q"), 3, "reconcile.db stayed locked by another process for 1 s", "nothing was changed")
    assert len(shop("findings", "--json").json) == 1

    holder.execute("rollback")
    holder.close()
    healthy(shop)


def test_no_folder_is_made_for_the_state(shop: Project) -> None:
    """A slip of the pen would make an empty state, and everything would be found and told anew."""
    shop.write("state: sqlite:///stat/reconcile.db\n" + FILES)

    missing = f"folder {shop.folder / 'stat'} does not exist"
    for command in ("run", "serve", "migrate", "restore"):
        in_words(shop(command, *(["x.db"] if command == "restore" else [])), 2, lines=1)
        assert not (shop.folder / "stat").exists()
    in_words(shop("run"), 2, missing, "Correct `state:`, or create the folder", lines=1)
    in_words(shop("findings"), 2, "There is no state database at", "correct `state:`", lines=1)
    checked, examined = shop("check", "-q"), shop("doctor", "-q")
    assert (checked.code, checked.out.startswith("error  state: "), missing in checked.out) == (2, True, True)
    assert (examined.code, missing in examined.out) == (3, True)

    (shop.folder / "stat").mkdir()
    assert "the first run creates it in" in shop("check").out
    assert shop("run").code == 0
    assert f"state: {shop.folder / 'stat' / 'reconcile.db'}, schema" in shop("check").out


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may not")
def test_a_folder_that_may_not_be_looked_into_is_told(public: Path) -> None:
    closed, project = public / "closed", public / "project"
    for folder in (closed, project):
        folder.mkdir()
    (project / "orders.csv").write_text(ORDERS)
    shop = Project(project).write(f"state: sqlite:///{closed / 'reconcile.db'}\n" + FILES)
    closed.chmod(0o700)

    for command in ("run", "findings", "check", "doctor"):
        answer = shop.start(command, "-q", user=NOBODY).end()
        assert (answer.code, "Permission denied" in answer.said) == (3, True), answer.said
    for source in (
        f"files, root: {closed / 'in'}",
        f"workbook, path: {closed / 'book.xlsx'}",
        f"sql, url: 'sqlite:///{closed / 'shop.db'}'",
    ):
        wanted = "table: orders" if "sql" in source else "sheet: Orders" if "book" in source else "path: orders.csv"
        shop.write(FILES.replace("files, root: .", source).replace("path: orders.csv", wanted).replace(TYPED, ""))
        project.chmod(0o777)
        for command in ("run", "check"):
            answer = shop.start(command, "-q", user=NOBODY).end()
            assert (answer.code, "Source 'shop' refused access" in answer.out) == (3, True), answer.said


def test_a_state_that_is_not_ours_is_left_as_it_is(shop: Project) -> None:
    for make, code, part in (
        (lambda path: path.write_text("nothing of the kind " * 99), 3, "cannot be read: file is not a database"),
        (_fill, 2, "belongs to another program (it has the table orders)"),
        (_directory, 2, "it is not a file"),
    ):
        name = f"other{uuid.uuid4().hex[:6]}.db"
        make(shop.folder / name)
        before = (shop.folder / name).stat().st_mtime_ns
        shop.write(f"state: sqlite:///{name}\n" + FILES)

        for command in ("run", "findings", "runs"):
            in_words(shop(command), code, part, lines=1)
        assert part in shop("check").out
        assert shop("check").code == code
        assert (shop.folder / name).stat().st_mtime_ns == before

    shop.write(FILES)
    healthy(shop)


def test_a_state_whose_key_is_gone_is_not_gone_on_with(shop: Project) -> None:
    key = shop.folder / "reconcile.db.key"
    kept = key.read_bytes()
    key.unlink()

    in_words(shop("run"), 3, "The key file", "Restore the file", lines=1)

    key.write_bytes(kept)
    key.chmod(0o600)
    healthy(shop)


@pytest.mark.server
def test_a_state_on_a_server_that_is_down_or_refuses_is_told_apart(shop: Project, postgres_url: str) -> None:
    up = sa.make_url(postgres_url).set(password=SECRET_CELL)
    for url, part in (
        (up.set(port=_port_nobody_hears()), "did not answer: Connection refused. Run it again when it is up"),
        (up.set(username="nobody_such"), 'refused the connection: role "nobody_such" does not exist'),
        (up.set(database="no_such_base"), 'refused the connection: database "no_such_base" does not exist'),
    ):
        shop.write(f'state: "{url.render_as_string(hide_password=False)}"\n' + FILES)

        answer = shop("run")

        in_words(answer, 3, part, lines=1)
        assert SECRET_CELL not in answer.said

    shop.write(FILES)
    healthy(shop)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may not")
def test_what_this_user_may_not_read_or_write_is_told(public: Path) -> None:
    project = Project(public / "other")
    project.folder.mkdir(mode=0o755)
    project.write(FILES)
    (project.folder / "orders.csv").write_text(ORDERS)

    in_words(
        project.start("run", "-q", user=NOBODY).end(), 3, "reconcile.db cannot be written", "write access", lines=1
    )

    project.folder.chmod(0o777)
    (project.folder / "orders.csv").chmod(0)
    answer = project.start("run", "-q", user=NOBODY).end()
    assert (answer.code, "Traceback" in answer.said) == (3, False), answer.said
    assert "orders.csv" in answer.out
    assert "ermission denied" in answer.out

    (project.folder / "reconcile.yaml").chmod(0)
    in_words(project.start("run", user=NOBODY).end(), 2, "reconcile.yaml:1:1: this file cannot be read", lines=1)


def test_a_disk_that_is_full_at_any_moment_leaves_the_state_whole(tmp_path: Path) -> None:
    for size in (4_000, 40_000, 100_000, 230_000, 300_000, 500_000, 700_000, 1_500_000):
        folder = tmp_path / str(size)
        folder.mkdir()
        (folder / "orders.csv").write_text(ORDERS)
        project = Project(folder).write(FILES)

        answer = project.start("run", "-q", file_size=size).end()

        if answer.code != 0:
            in_words(answer, 3, "reconcile.db", "has no space left", "This step was not saved", lines=1)
        if (folder / "reconcile.db").stat().st_size:
            assert project.audit_is_intact(), size
        else:
            in_words(project("audit", "verify"), 2, "There is no state database", lines=1)
        assert project("run").code == 0
        assert len(project("findings", "--json").json) == 1
    assert answer.code == 0, "the largest is room enough"


# Configurations


def test_a_hostile_configuration_is_told_at_its_place(shop: Project) -> None:
    path = shop.folder / "reconcile.yaml"
    for raw, part in (
        (FILES.encode() + b"\0", "control character U+0000 found"),
        (FILES.encode() + b"# x\n" * 500_000, "this file is larger than 1,000 kB"),
        (FILES.encode("utf-16"), "UTF-16"),
        (b"a: " + b"[" * 9_000, "nested deeper than 40 levels"),
        (b"", "a configuration is a mapping"),
    ):
        path.write_bytes(raw)
        answer = shop("run")
        in_words(answer, 2, "reconcile.yaml:", part, lines=1)
        assert answer.seconds < QUICK
    path.unlink()
    in_words(shop("run"), 2, "file not found", "`reconcile init` writes one", lines=1)
    path.mkdir()
    in_words(shop("run"), 2, "is a directory", lines=1)
    path.rmdir()
    os.mkfifo(path)
    in_words(shop.start("run").end(10), 2, "is not a file", lines=1)

    path.unlink()
    shop.write(FILES)
    healthy(shop)


# What is installed


def _isolated(project: Project, missing: str, *words: str) -> Answer:
    """The command in a Python in which that module is not installed."""
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] == '{missing}':\n"
        "            raise ModuleNotFoundError('No module named ' + repr(name), name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        f"sys.argv = {['reconcile', *words]!r}\n"
        "from reconcile.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project.folder, capture_output=True, text=True, check=False)
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("module", "url", "extra"),
    [("psycopg", "postgresql://h/b", "postgres"), ("pymysql", "mysql://h/b", "mysql")],
)
def test_a_driver_that_is_missing_is_told_with_its_installation(
    module: str, url: str, extra: str, tmp_path: Path
) -> None:
    project = Project(tmp_path).write(database(url))

    told(_isolated(project, module, "run", "-q"), "which is not installed", f"pip install 'reconcile-runner[{extra}]'")


def test_a_reader_of_workbooks_that_is_missing_is_told_with_its_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _book(tmp_path / "book.xlsx")
    missing = "raise ModuleNotFoundError('No module named ' + repr(__name__), name=__name__)"
    (tmp_path / "python_calamine.py").write_text(missing)
    project, program = Project(tmp_path).write(WORKBOOK), isolated.program
    first = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    monkeypatch.setattr(isolated, "program", lambda code: program(f"{first}; {code}"))

    answer = project("run", "-q")

    told(answer, "pip install 'reconcile-runner[workbook]'")


@pytest.mark.parametrize(("name", "text"), [("rules", "x = 1"), ("connectors", "raise RuntimeError('boo')")])
def test_a_foreign_package_of_our_name_is_told_before_anything_runs(name: str, text: str, tmp_path: Path) -> None:
    project = Project(tmp_path).write(FILES)
    package = tmp_path / "foreign" / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(text)

    done = subprocess.run(
        [sys.executable, "-m", "reconcile", "run"],
        cwd=project.folder,
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=False,
    )

    in_words(
        Answer(done.returncode, done.stdout, done.stderr), 2, f"The package {name!r}", "is not Reconcile's", lines=1
    )
    assert not (tmp_path / "reconcile.db").exists()


# Being stopped


def _long_file(path: Path) -> None:
    with path.open("w") as file:
        file.write("id,order_id,amount,paid_at\n")
        file.writelines(f"P-{n},A-{max(n, 2)},1.00,2026-03-01T10:00:00Z\n" for n in range(1, 1_000_001))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_while_it_reads_leaves_everything_in_order(
    number: int, code: int, tmp_path: Path
) -> None:
    _long_file(tmp_path / "orders.csv")
    project = Project(tmp_path).write(FILES)
    project("findings")

    answer = _stopped_while_checking(project, number)

    assert answer.code == code, answer.said
    assert answer.err.endswith("Stopped. Finished work is kept; run the command again to continue\n")
    assert "Traceback" not in answer.said
    healthy(project)
    assert [item["status"] for item in project("runs", "--json").json] == ["succeeded", "interrupted"]


@pytest.mark.server
def test_sigterm_reaches_a_driver_that_waits_for_a_database(base: Project, postgres_url: str) -> None:
    slow = "select i::text as id, i as order_id, pg_sleep(1)::text as z from generate_series(1, 30) i"
    text = database(postgres_url, f'query: "{slow}"').replace("1s", "5m").replace("key:", "engine: embedded, key:")
    base.write(text)

    answer = _stopped_while_checking(base, signal.SIGTERM)

    assert answer.code == 143, answer.said
    base.write(database("sqlite:///shop.db"))
    healthy(base)


def _stopped_while_checking(project: Project, number: int) -> Answer:
    program = project.start("run")
    deadline = time.monotonic() + 30
    while "checking" not in program.said_so_far() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    program.signal(number)
    return program.end(20)


@pytest.mark.parametrize(
    ("words", "actor"), [(("pause", "--all", "--reason", "caf\udce9"), ""), (("pause", "--all"), "Ren\udce9")]
)
def test_what_is_said_in_another_encoding_is_refused_in_a_sentence(
    words: tuple[str, ...], actor: str, tmp_path: Path
) -> None:
    project = Project(tmp_path)
    project.write(FILES)

    answer = project(*words, RECONCILE_ACTOR=actor)

    in_words(answer, 2, "\\xe9` is not UTF-8 text")


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "code"), [(4, 1), (5, 1), (6, 3)])
def test_records_with_error_cells_count_among_those_that_cannot_be_read(tmp_path: Path, wrong: int, code: int) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["id", "key", "amount"])
    for number in range(10):
        sheet.append([number, f"k{number // 2}", "#N/A" if number >= 10 - wrong else 1.5])
    for row in sheet.iter_rows(min_row=2, min_col=3, max_col=3):
        for cell in row:
            cell.data_type = "e" if cell.value == "#N/A" else "n"
    book.save(tmp_path / "book.xlsx")
    project = Project(tmp_path).write(
        "version: 1\nsources: {book: {type: workbook, path: book.xlsx}}\n"
        "datasets: {rows: {source: book, id: id}}\n"
        "rules: {twin: {kind: duplicates, dataset: rows, key: [key, amount]}}\n"
    )

    answer = project("run")

    assert answer.code == code, answer.said
    assert ("can't read `amount` in 6 of 10 records" in answer.said) is (code == 3)
