"""Reconciliations inside one database: it settles the keys that agree, and only other records leave it."""

import dataclasses
import datetime as dt
import threading
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from connectors.sql.snapshot import SqlSnapshot
from rules.engines import pushdown
from rules.kinds.reconciliation import pulling
from tests.rules.kinds.reconciliation.compared import MONEY, SLOT, Compared, row, shown
from tests.rules.kinds.reconciliation.test_oracle import assert_agrees_inside
from tests.rules.kinds.reconciliation.test_runs import Project
from tests.support.rules import databases, pushed_together
from tests.support.runs import Command
from tests.support.servers import MARIADB, POSTGRES, scratch_database

__all__ = ["databases"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
KEY = "key: [{ref: [trim]}, currency]\n"
NEAR = "tolerance: {date: {left: day, right: day, days: 3}, amount: {left: amount, right: amount, by: 0.01}}\n"
SERVERS = ("postgresql", "mariadb")


def sent(compared: Compared, engine: sa.Engine, text: str) -> tuple[list[Any], int]:
    """Return the findings, and the number of records that left the database."""
    numbers = []
    with pushed_together(engine, compared.rows) as pushed:
        counting = []
        for records in pushed:

            def query(statement: sa.Select[Any], ask: Any = records.query) -> Any:
                table = ask(statement).read_all()
                numbers.append(len(table))
                return table.to_reader()

            counting.append(dataclasses.replace(records, query=query))
        detection = compared.fitted(text).detect(dict(zip(("bank", "ledger"), counting, strict=True)), SLOT)
        return shown(detection), sum(numbers)


@pytest.mark.parametrize("server", SERVERS)
def test_only_records_of_keys_that_do_not_agree_leave_the_database(
    databases: dict[str, sa.Engine], server: str
) -> None:
    left = [row(n, f"A{n}") for n in range(50)]
    right = [row(100 + n, f"A{n} ", day=dt.date(2026, 3, 3), amount=Decimal("10.01")) for n in range(50)]
    right[7]["amount"], right[8]["day"], right[9]["ref"] = Decimal("10.02"), dt.date(2026, 3, 5), None
    left += [row(60, "A10")]

    findings, records = sent(Compared(left, right, money=MONEY), databases[server], KEY + NEAR)

    assert records == 9
    assert findings == [
        ("ambiguous", [10, 60], [110]),
        ("left_only", [9], []),
        *(("near_miss", [n], [100 + n]) for n in (7, 8)),
        ("right_only", [], [109]),
    ]


LONG = "x" * 300
TRICKY = ["a1", "A1", "a1 ", " a1", "ä1", "Ä1", "é", "é", "ß", "ss", LONG, LONG + "y", LONG + "z", "\xa0", "", None]


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("key", ["key: [ref]\n", KEY, "key: [{ref: [trim, lower]}]\n", "key: [{ref: [docno]}]\n"])
def test_texts_that_a_collation_takes_for_one_another_are_compared_as_here(
    databases: dict[str, sa.Engine], server: str, key: str
) -> None:
    left = [row(n, text, status=text) for n, text in enumerate(TRICKY)]
    right = [row(n, text, status=TRICKY[n - 1] if n % 3 == 0 else text) for n, text in enumerate(TRICKY)]
    compared = Compared(left, right, money=MONEY)
    if compared.fitted(key).obstacle(databases[server].dialect.name) is not None:
        pytest.skip("this database has no such normaliser")

    assert_agrees_inside(compared, databases[server], key + "compare: [status]\n")


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("days", [0, 1])
def test_local_days_follow_the_zones_of_both_sides_also_when_clocks_change(
    databases: dict[str, sa.Engine], server: str, days: int
) -> None:
    moments = [
        dt.datetime(2026, month, day, hour, minute, tzinfo=dt.UTC)
        for month, day in ((1, 31), (3, 8), (3, 29), (10, 25), (11, 1), (12, 31))
        for hour, minute in ((0, 30), (4, 59), (5, 0), (22, 30), (22, 59), (23, 0))
    ]
    left = [row(n, f"A{n}", at=moment) for n, moment in enumerate(moments)]
    right = [row(n, f"A{n}", at=moment + dt.timedelta(hours=n % 30)) for n, moment in enumerate(moments)]
    compared = Compared(left, right, money=MONEY, timezones=("Europe/Berlin", "America/New_York"))

    tolerance = f"tolerance: {{date: {{left: at, right: at, days: {days}}}}}\n"
    assert_agrees_inside(compared, databases[server], KEY + tolerance)
    assert_agrees_inside(compared, databases[server], KEY + f"compare: [{{left: at, right: at, days: {days}}}]\n")


@pytest.mark.parametrize("server", SERVERS)
def test_records_that_add_nothing_to_the_balance_are_counted(databases: dict[str, sa.Engine], server: str) -> None:
    left = [row(n, f"A{n}", amount=amount) for n, amount in enumerate((None, None, Decimal(3), Decimal(4)))]
    right = [row(n, f"A{n}", currency=currency) for n, currency in enumerate(("EUR", None, " ", "", "EUR"))]
    compared = Compared(left, right, money=MONEY)

    detection = compared.detect("key: [ref]\n")

    counted = {(each.dataset, each.column): each.records for each in detection.skipped}
    assert counted == {("bank", "amount"): 2, ("ledger", "currency"): 3}
    assert_agrees_inside(compared, databases[server], "key: [ref]\n")


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("ids", [[1, 1, 2, None], [1, 2, 3, 4]])
def test_ids_that_repeat_among_settled_records_are_counted(
    databases: dict[str, sa.Engine], server: str, ids: Sequence[Any]
) -> None:
    left = [row(0, f"A{n}") | {"id": number} for n, number in enumerate(ids)]

    assert_agrees_inside(Compared(left, [row(n, f"A{n}") for n in range(4)]), databases[server], KEY)


@pytest.mark.parametrize("server", SERVERS)
def test_records_without_id_and_amounts_below_zero_agree(databases: dict[str, sa.Engine], server: str) -> None:
    left = [row(n, f"A{n // 2}", amount=Decimal(-n)) for n in range(12)]
    right = [row(n, f"A{n}", amount=Decimal(-n), currency=None if n == 3 else "EUR") for n in range(8)]

    compared = Compared(left, right, money=MONEY, id=())
    percent = "tolerance: {amount: {left: amount, right: amount, percent: 50}}\n"

    assert_agrees_inside(compared, databases[server], "key: [ref]\n" + percent)


def test_if_few_keys_agree_all_records_are_matched_here(
    databases: dict[str, sa.Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulling, "MOST", 3)
    compared = Compared([row(n, f"A{n}") for n in range(9)], [row(n, f"A{n}") for n in range(4)], money=MONEY)

    findings, records = sent(compared, databases["postgresql"], KEY)

    assert (len(findings), records) == (5, 13)
    assert pushdown.MOST > 3


@pytest.fixture(scope="module", params=SERVERS)
def server_url(request: pytest.FixtureRequest) -> Iterator[str]:
    yield from scratch_database({"postgresql": POSTGRES, "mariadb": MARIADB}[request.param])


class Database(Project):
    """A project whose two datasets are tables of one database."""

    def __init__(self, folder: Path, url: str, **rule: Any) -> None:
        super().__init__(folder, **rule)
        self.url = url
        self.configuration["rules"]["agree"]["key"] = ["currency", {"ref": ["trim"]}]
        money = {"amount": "amount", "currency": "currency"}
        self.configuration["sources"]["shop"] = {"type": "sql", "url": url}
        for name in ("bank", "ledger"):
            self.configuration["datasets"][name] = {"source": "shop", "table": name, "id": "id", "money": money}

    def fill(self, bank: Sequence[Mapping[str, Any]], ledger: Sequence[Mapping[str, Any]]) -> None:
        engine = sa.create_engine(self.url)
        for name, rows in (("bank", bank), ("ledger", ledger)):
            table = self.table(name)
            table.metadata.drop_all(engine)
            table.metadata.create_all(engine)
            with engine.begin() as connection:
                connection.execute(table.insert(), [dict(each) for each in rows])
        engine.dispose()

    def table(self, name: str) -> sa.Table:
        return sa.Table(
            name,
            sa.MetaData(),
            sa.Column("id", sa.Integer, primary_key=True),
            sa.Column("ref", sa.String(20)),
            sa.Column("day", sa.Date),
            sa.Column("amount", sa.Numeric(12, 2)),
            sa.Column("currency", sa.String(3)),
        )

    def add(self, name: str, *rows: Mapping[str, Any]) -> None:
        engine = sa.create_engine(self.url)
        with engine.begin() as connection:
            connection.execute(self.table(name).insert(), [dict(each) for each in rows])
        engine.dispose()


def entry(number: int, ref: str, amount: str = "10.00") -> dict[str, Any]:
    day, money = dt.date(2026, 3, 1), Decimal(amount)
    return {"id": number, "ref": ref, "day": day, "amount": money, "currency": "EUR"}


def test_a_record_committed_while_the_database_answers_is_in_no_part_of_the_answer(
    tmp_path: Path, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Database(tmp_path, server_url, engine="pushdown")
    project.fill([entry(n, f"A{n}") for n in range(1, 6)], [entry(n, f"A{n}") for n in range(1, 5)])
    numbers = iter(range(100, 200))
    lock = threading.Lock()

    def interrupted(method: str) -> None:
        ask = getattr(SqlSnapshot, method)

        def asking(self: SqlSnapshot, statement: sa.Select[Any]) -> Any:
            answer = ask(self, statement)
            with lock:
                number = next(numbers)
                project.add("bank", entry(number, f"A{number}"))
                project.add("ledger", entry(number, "A5" if number == 101 else f"B{number}", "7.00"))
            return answer

        monkeypatch.setattr(SqlSnapshot, method, asking)

    for method in ("whole", "query"):
        interrupted(method)
    report = project.run()

    assert (report["engine"], report["read"], report["groups"]) == ("pushdown", 9, 1)
    [line] = report["balance"]
    assert (Decimal(line["left"]), Decimal(line["right"]), Decimal(line["explained"])) == (50, 40, 10)
    assert next(numbers) > 104


TOTALS = {"by": ["day", "currency"], "sum": {"left": "amount", "right": "amount"}}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"key": ["ref"], "match": "one_to_many"},
            "bundles (`match: one_to_many`) are added up in DuckDB",
        ),
        ({"totals": TOTALS}, "sums of `totals` are compared in DuckDB"),
        ({"key": ["ref"], "sides": 2}, "its datasets are in several sources"),
    ],
)
def test_what_a_database_cannot_settle_is_said_in_one_sentence(
    tmp_path: Path, server_url: str, settings: Mapping[str, Any], sentence: str
) -> None:
    project = Database(tmp_path, server_url)
    rule = project.configuration["rules"]["agree"]
    del rule["tolerance"], rule["key"]
    rule |= {name: value for name, value in settings.items() if name != "sides"}
    if "sides" in settings:
        project.configuration["sources"]["books"] = project.configuration["sources"]["shop"]
        project.configuration["datasets"]["ledger"]["source"] = "books"
    project.fill([entry(1, "A")], [entry(1, "A")])

    assert project.run()["engine"] == "embedded"
    assert sentence in Command(tmp_path, "explain", "agree", "--sql").end().out

    rule["engine"] = "pushdown"
    assert sentence in project.run()["failed"]
    assert sentence in Command(tmp_path, "check").end().out


def test_a_value_that_reconcile_cannot_hold_is_counted_as_when_all_records_are_read(
    tmp_path: Path, postgres_url: str
) -> None:
    project = Database(tmp_path, postgres_url)
    project.fill([entry(n, f"A{n}") for n in range(1, 5)], [entry(n, f"A{n}") for n in range(1, 5)])
    engine = sa.create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(sa.text("update bank set day = 'infinity' where id = 2"))
        connection.execute(sa.text("update ledger set day = 'infinity' where id = 2"))
    engine.dispose()

    automatic = project.run()
    project.configuration["rules"]["agree"]["engine"] = "embedded"
    embedded = project.run()

    for report in (automatic, embedded):
        assert (report["engine"], report["groups"]) == ("embedded", 2)
    assert automatic["skipped"] == embedded["skipped"] != []


@pytest.mark.parametrize("server", SERVERS)
def test_filters_of_the_dataset_that_are_unknown_are_skipped_and_counted(
    databases: dict[str, sa.Engine], server: str
) -> None:
    left = [row(n, f"A{n}", status=[None, "ok", "no"][n % 3]) for n in range(12)]
    right = [row(n, f"A{n}", status="ok", day=None if n == 4 else dt.date(2026, 3, 1)) for n in range(12)]

    where = "where: {left: status = 'ok', right: status = 'ok' and id <> 7}\n"

    assert_agrees_inside(Compared(left, right, money=MONEY), databases[server], KEY + where + NEAR)


def test_a_dataset_is_compared_with_itself_inside_the_database(tmp_path: Path, server_url: str) -> None:
    project = Database(tmp_path, server_url, engine="pushdown", right="bank")
    project.configuration["rules"]["agree"]["where"] = {"left": "id < 100", "right": "id >= 100"}
    project.fill(
        [*(entry(n, f"A{n}") for n in range(1, 5)), *(entry(100 + n, f"A{n}") for n in range(1, 4))], [entry(1, "A")]
    )

    report = project.run()

    assert (report["engine"], report["groups"], report["read"]) == ("pushdown", 1, 7)


def test_examples_of_a_reconciliation_run_inside_its_database_too(tmp_path: Path, server_url: str) -> None:
    project = Database(tmp_path, server_url)
    project.configuration["rules"]["agree"]["examples"] = [
        {
            "name": "one is missing",
            "left": [
                {"id": 1, "ref": "A", "day": "2026-03-01", "amount": 10, "currency": "EUR"},
                {"id": 2, "ref": "B"},
            ],
            "right": [{"id": 1, "ref": "A ", "day": "2026-03-01", "amount": 10, "currency": "EUR"}],
            "expect": [{"form": "left_only", "left": [2]}],
        }
    ]
    project.fill([entry(1, "A")], [entry(1, "A")])
    project.opened().close()

    ended = Command(tmp_path, "test").end()

    assert ended.code == 0, (ended.out, ended.err)
    assert "pushdown" in ended.out
