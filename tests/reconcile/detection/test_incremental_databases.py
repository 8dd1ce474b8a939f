"""What MariaDB and SQLite do with times, types, indexes and tables, judged by a second state whose runs read all."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.findings.results import RuleResult
from tests.reconcile.detection.changing_table import INCREMENTAL, ChangingTable

RULE = {"kind": "duplicates", "dataset": "charges", "key": ["customer"], "keep": [{"first": "id"}]}
NEW_YORK = "strftime('%Y-%m-%d %H:%M:%f', 'now', '-5 hours')"
LITE = "id integer primary key, customer integer, updated_at datetime, email text"
MARIA = "id bigint primary key, customer bigint, updated_at datetime(6), email varchar(80)"


class Judged:
    """A table, read by runs of two states: they must find the same."""

    def __init__(self, url: str, folder: Path, **settings: Any) -> None:
        settings["dataset"] = {"money": None} | settings.get("dataset", {})
        self.table = ChangingTable(url, folder / "incremental", **({"rule": RULE} | settings))
        self.full = replace(self.table, folder=folder / "full", incremental=None)

    def create(self, columns: str, options: str = "") -> Judged:
        self.sql(f"create table charges ({columns}) {options}")
        self.sql("create index by_time on charges (updated_at)")
        self.sql("create index by_customer on charges (customer)")
        return self

    def sql(self, *statements: str) -> Judged:
        for statement in statements:
            with self.table.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(sa.text(statement))
        return self

    def add(self, *rows: tuple[Any, ...], at: str = "'2026-01-01 00:00:00'") -> Judged:
        """Insert rows of (id, customer)."""
        return self.sql(*(f"insert into charges (id, customer, updated_at) values ({n}, {of}, {at})" for n, of in rows))

    def run(self) -> RuleResult:
        outcome, judge = self.table.run(), self.full.run()
        assert self.table.findings() == self.full.findings()
        assert (outcome.groups, outcome.findings) == (judge.groups, judge.findings)
        return outcome

    def begun(self) -> Judged:
        """Return it after a first run, which is full."""
        assert self.run().mode == "full"
        return self

    def is_full_because(self, reason: str) -> bool:
        outcome = self.table.run()
        assert reason in outcome.mode_reason
        return outcome.mode == "full"


@pytest.fixture
def lite(tmp_path: Path) -> Callable[..., Judged]:
    return lambda **settings: Judged(f"sqlite:///{tmp_path / 'shop.db'}", tmp_path, **settings)


@pytest.fixture
def maria(mariadb_server: str, tmp_path: Path) -> Callable[..., Judged]:
    def emptied(**settings: Any) -> Judged:
        judged = Judged(mariadb_server, tmp_path, **settings)
        judged.sql("drop view if exists charges", "drop table if exists charges, fresh, customers")
        return judged

    return emptied


@pytest.mark.slow
def test_times_of_sqlite_are_found_in_every_form_that_a_run_reads(lite: Callable[..., Judged]) -> None:
    judged = lite(dataset={"timezone": "America/New_York"}).create(LITE)
    forms = [
        NEW_YORK,
        "strftime('%Y-%m-%dT%H:%M:%f', 'now', '-5 hours')",
        "strftime('%Y-%m-%d %H:%M', 'now', '-5 hours')",
        "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
        "strftime('%Y-%m-%d %H:%M:%f', 'now') || '+00:00'",
        "strftime('%Y-%m-%dT%H:%M:%f', 'now', '-11 hours') || '-11:00'",
        "strftime('%Y-%m-%d %H:%M:%f', 'now', '14 hours') || ' +1400'",
        "x'00'",
        "'soon'",
        "0",
        "''",
        "'0001-01-01 00:00:00'",
        "null",
    ]
    judged.add(*((of, of) for of in range(len(forms)))).begun()
    for of, form in enumerate(forms):
        judged.add((100 + of, of), at=form)

    outcome = judged.run()

    assert (outcome.mode, outcome.findings.new) == ("incremental", len(forms))


@pytest.mark.parametrize(
    ("kind", "declared", "old", "now"),
    [
        ("date", None, "'2026-01-01'", "date('now')"),
        ("text", "instant", "'2026-01-01'", "datetime('now')"),
        ("integer", "instant", "1767225600", "unixepoch('now')"),
    ],
)
@pytest.mark.slow
def test_days_and_seconds_of_sqlite_are_times(
    lite: Callable[..., Judged], kind: str, declared: str | None, old: str, now: str
) -> None:
    columns = {"columns": {"updated_at": declared}} if declared else {}
    judged = lite(dataset=columns).create(LITE.replace("datetime", kind)).add((1, 1), (2, 2), (3, 3), at=old).begun()
    judged.add((4, 1), at=now).run()

    outcome = judged.add((5, 2), at=now).run()

    assert (outcome.mode, outcome.findings.new) == ("incremental", 1)
    assert outcome.mode_reason.startswith("2 records touched" if kind != "date" else "2 records")


@pytest.mark.slow
def test_texts_that_sqlite_does_not_compare_as_times_make_a_run_full(lite: Callable[..., Judged]) -> None:
    judged = lite().create(LITE).add((1, 1), (2, 2)).add((3, 3), at="datetime('now', '-3 days')").begun()
    assert judged.run().mode == "incremental"
    judged.add((4, 1), at="'20/11/2026 10:00'")

    assert judged.is_full_because("`updated_at` holds texts that the database does not compare as times")
    for table in (judged.table, judged.full):
        table.dataset["columns"] = {"updated_at": "instant %d/%m/%Y %H:%M"}
    assert judged.is_full_because("")  # because its dataset changed
    assert judged.is_full_because("`updated_at` holds times in a form that the database does not compare as times")


@pytest.mark.slow
def test_cells_of_sqlite_are_found_whatever_they_hold(lite: Callable[..., Judged]) -> None:
    """A blob is read as text, and a number of 17 digits in a decimal column as it is."""
    judged = lite(rule=RULE | {"key": ["customer", "email"]}).create(
        LITE.replace("customer integer", "customer numeric")
    )
    now = judged.table.dialect.now
    judged.sql(
        "create index by_email on charges (email)",
        "insert into charges values (1, 90071992547409931, '2026-01-01', 'b'), (2, 0.1, '2026-01-01', 'c')",
    ).begun()
    judged.sql(
        f"insert into charges values (3, 90071992547409931, {now}, cast('b' as blob))",
        f"insert into charges values (4, 90071992547409932, {now}, 'b'), (5, '0.10', {now}, 'c')",
    )

    outcome = judged.run()

    assert (outcome.mode, outcome.findings.new) == ("incremental", 2)


@pytest.mark.parametrize(
    ("columns", "index", "reason"),
    [
        (LITE.replace("id integer primary key", "id"), "(id)", "the database cannot look up `id` as it is read"),
        (LITE, "(email collate nocase)", "create index charges_email_idx on charges (email)"),
        (LITE, "(email) where customer > 1", "create index charges_email_idx on charges (email)"),
        (LITE, "(customer, email)", "create index charges_email_idx on charges (email)"),
        (LITE, "(lower(email))", "create index charges_email_idx on charges (email)"),
        (LITE.replace("email text", "email text collate nocase"), "(email)", None),
    ],
)
def test_an_index_of_sqlite_counts_if_it_finds_values(
    lite: Callable[..., Judged], columns: str, index: str, reason: str | None
) -> None:
    judged = lite(rule=RULE | {"key": ["email"]}).create(columns).sql(f"create index by_email on charges {index}")
    judged.table.run()

    assert judged.table.run().mode == "incremental" if reason is None else judged.is_full_because(reason)


@pytest.mark.slow
def test_a_table_of_sqlite_in_the_order_of_its_key_with_replaced_rows(lite: Callable[..., Judged]) -> None:
    columns = "id text, customer integer, updated_at datetime default current_timestamp, ref text unique"
    judged = lite(dataset={"id": ["customer", "id"]}).create(f"{columns}, primary key (customer, id)", "without rowid")
    judged.sql("insert into charges values ('a', 1, '2026-01-01', 'r1'), ('b', 2, '2026-01-01', 'r2')").begun()
    judged.sql("insert or replace into charges (id, customer, ref) values ('c', 2, 'r1'), ('d', 2, 'r3')")
    assert judged.run().findings.new == 1
    judged.sql("insert or replace into charges (id, customer, ref) values ('e', 1, 'r2'), ('f', 1, 'r3')")

    outcome = judged.run()

    assert (outcome.mode, outcome.findings.new, outcome.findings.resolved) == ("incremental", 1, 1)


@pytest.mark.slow
def test_a_copied_file_that_lags_and_one_that_was_replaced(lite: Callable[..., Judged], tmp_path: Path) -> None:
    judged = lite(incremental=INCREMENTAL | {"overlap": "0s"}).create(LITE).add((1, 1), (2, 2), (3, 3)).begun()
    file, origin = tmp_path / "shop.db", tmp_path / "origin.db"
    shutil.copyfile(file, origin)
    with sqlite3.connect(origin) as connection:
        connection.execute(f"insert into charges values (4, 1, {judged.table.dialect.now}, null)")
    time.sleep(2.1)
    assert judged.run().mode == "incremental"
    shutil.copyfile(origin, file)  # in its place: what it brings is older than the last run

    outcome = judged.run()

    assert (outcome.mode, outcome.findings.new) == ("incremental", 1)
    origin.replace(file)
    assert judged.is_full_because("the table was replaced or altered since")


@pytest.mark.slow
def test_late_commits_are_found_by_the_overlap(lite: Callable[..., Judged], tmp_path: Path) -> None:
    judged = lite().sql("pragma journal_mode = wal").create(LITE).add((1, 1), (2, 2)).begun()
    writer = sqlite3.connect(tmp_path / "shop.db")
    writer.execute(f"insert into charges values (3, 1, {judged.table.dialect.now}, null)")
    assert judged.run().groups == 0
    writer.commit()
    writer.close()

    outcome = judged.run()

    assert (outcome.mode, outcome.findings.new) == ("incremental", 1)


@pytest.mark.server
def test_mariadb_keeps_the_time_of_a_change_itself(maria: Callable[..., Judged]) -> None:
    """In whole seconds, below the start of the run, and in any session's time zone."""
    time_column = "timestamp not null default current_timestamp on update current_timestamp"
    columns = f"id bigint auto_increment primary key, customer bigint, ref varchar(9) unique, updated_at {time_column}"
    judged = maria(incremental=INCREMENTAL | {"overlap": "0s"}).create(columns)
    judged.sql(*(f"insert into charges values ({n}, {n}, 'r{n}', '2026-01-01')" for n in range(1, 6))).begun()
    judged.sql("update charges set customer = 1 where id = 2", "replace into charges (customer, ref) values (3, 'r5')")
    judged.sql("insert into charges (customer, ref) values (9, 'r4') on duplicate key update customer = 3")
    with judged.table.engine.begin() as connection:
        connection.execute(sa.text("set time_zone = '-11:00'"))
        connection.execute(sa.text("insert into charges (customer, ref) values (1, 'r9')"))

    outcome = judged.run()

    assert (outcome.mode, outcome.findings.new, outcome.groups) == ("incremental", 2, 2)


@pytest.mark.server
def test_naive_times_of_mariadb_are_those_of_the_datasets_zone(maria: Callable[..., Judged]) -> None:
    judged = maria(dataset={"timezone": "America/New_York"}).create(MARIA).add((1, 1), (2, 2)).begun()

    outcome = judged.add((3, 1), at="utc_timestamp(6) - interval 5 hour").run()

    assert (outcome.mode, outcome.findings.new) == ("incremental", 1)


@pytest.mark.server
def test_values_of_mariadb_are_found_as_they_are_read(maria: Callable[..., Judged]) -> None:
    """Of each part of the key, whatever its collation and type; the last three are not looked up."""
    kinds = {
        "folded": ("varchar(20) collate utf8mb4_general_ci", "'Müller'", "'Müller'"),
        "plain": ("varchar(20) collate utf8mb4_bin", "'b'", "'b'"),
        "latin": ("text character set latin1", "'ß'", "'ß'"),
        "exact": ("decimal(30, 4)", "1.5000", "1.5"),
        "large": ("bigint unsigned", "18446744073709551615", "18446744073709551615"),
        "bytes": ("binary(4)", "x'00ff00ff'", "x'00ff00ff'"),
        "flag": ("tinyint(1)", "true", "1"),
        "uuid": ("uuid", "'00000000-0000-0000-0000-0000000000a1'", "'00000000-0000-0000-0000-0000000000A1'"),
        "day": ("date", "'2026-01-01'", "20260101"),
        "odd": ("bigint as (id % 2) virtual", "default", "default"),
        "word": ("enum('a', 'b')", "'a'", "1"),
        "ratio": ("double", "1e0", "1"),
        "clock": ("time", "'10:00'", "100000"),
    }
    columns = ", ".join(f"{name} {kind}" for name, (kind, *_) in kinds.items())
    judged = maria(rule=RULE | {"key": [*kinds]}).create(f"{MARIA}, {columns}")
    assert judged.begun().is_full_because("create index charges_folded_idx on charges (folded)")
    old, new = (", ".join(values) for values in zip(*(values for _, *values in kinds.values()), strict=True))
    judged.sql("create index by_text on charges (latin(1))", f"insert into charges values (1, 1, null, null, {old})")
    judged.sql(f"insert into charges values (2, 1, null, null, {old})").run()
    now = judged.table.dialect.now
    judged.sql(*(f"insert into charges values ({n}, 1, {now}, null, {new})" for n in (3, 4)))
    judged.sql(f"insert into charges values (5, 1, {now}, null, {new.replace('M', 'm')})")

    outcome = judged.run()

    assert (outcome.mode, outcome.findings.new, outcome.findings.grown) == ("incremental", 2, 0)


@pytest.mark.server
@pytest.mark.parametrize(
    ("columns", "options", "change", "reason"),
    [
        (
            MARIA,
            "",
            "alter table charges alter index by_time ignored",
            "create index charges_updated_at_idx on charges",
        ),
        (MARIA, "engine = MyISAM", "select 1", "charges has the engine MyISAM, which has no snapshots"),
        (
            f"{MARIA}, foreign key (customer) references customers (id) on update cascade",
            "",
            "update customers set id = 2 where id = 1",
            "a foreign key changes `customer` without `updated_at`",
        ),
        (MARIA, "", "rename table charges to customers_2, fresh to charges", "the table was replaced or altered since"),
        (
            MARIA,
            "partition by range (id) (partition p0 values less than (10), partition p1 values less than (20))",
            "alter table charges exchange partition p1 with table fresh",
            "the table was replaced or altered since",
        ),
        (MARIA, "", "create or replace view charges as select * from fresh", "charges is not a table"),
    ],
)
def test_a_run_over_mariadb_is_full_where_its_times_do_not_tell(
    maria: Callable[..., Judged], columns: str, options: str, change: str, reason: str
) -> None:
    judged = maria().sql("create table customers (id bigint primary key)", "insert into customers values (1), (3), (4)")
    judged.sql("drop table if exists customers_2").create(columns, options).add((1, 1), (3, 3), (4, 4))
    judged.sql(f"create table fresh ({MARIA})", "create index by_time on fresh (updated_at)")
    judged.sql("create index by_customer on fresh (customer)", "insert into fresh values (13, 5, null, null)")
    judged.table.run()
    if "view" in change:
        judged.sql("drop table charges")
    elif "rename" in change:
        time.sleep(1.1)  # MariaDB tells the second of a creation

    judged.sql(change)

    assert judged.is_full_because(reason)


@pytest.mark.server
def test_partitions_of_mariadb_need_the_right_process(maria: Callable[..., Judged]) -> None:
    user = f"reader_{os.getpid()}"
    judged = maria().create(MARIA, "partition by hash (id) partitions 2").add((1, 1), (2, 2)).begun()
    assert judged.add((3, 1), at=judged.table.dialect.now).run().mode == "incremental"
    judged.sql(f"create user {user}", f"grant select on *.* to {user}")
    try:
        for table in (judged.table, judged.full):
            table.url = table.url.replace("root@", f"{user}@")

        assert judged.is_full_because("charges is partitioned, and a user without the right `process`")
    finally:
        judged.sql(f"drop user {user}")
