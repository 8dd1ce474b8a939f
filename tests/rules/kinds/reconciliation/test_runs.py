"""Reconciliations as people run them: any two sources, findings that stay the same from run to run, and broken ones."""

import csv
import datetime as dt
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
import xlsxwriter

from reconcile.app import Application
from reconcile.config import load
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.store import findings
from rules.kinds.reconciliation.workspace import Workspace
from tests.support.folders import ROOT
from tests.support.runs import Command
from tests.support.servers import MARIADB, POSTGRES, scratch_database

pytestmark = pytest.mark.slow

Row = Mapping[str, Any]
COLUMNS = ("id", "ref", "day", "amount", "currency")
CONFIGURATION: dict[str, Any] = {
    "version": 1,
    "state": "sqlite:///state.db",
    "rules": {
        "agree": {
            "kind": "reconciliation",
            "left": "bank",
            "right": "ledger",
            "key": ["currency", {"ref": ["docno"]}],
            "tolerance": {
                "date": {"left": "day", "right": "day", "days": 3},
                "amount": {"left": "amount", "right": "amount", "by": "0.01"},
            },
        }
    },
    "jobs": {"nightly": {"rules": "all", "existing": "report"}},
}


def row(number: int, ref: str | None, day: int = 1, amount: str = "10.00", currency: str = "EUR") -> dict[str, Any]:
    return {
        "id": number,
        "ref": ref,
        "day": dt.date(2026, 3, day),
        "amount": Decimal(amount),
        "currency": currency,
    }


class Project:
    """A folder with two datasets, `bank` and `ledger`, and the rule that compares them."""

    def __init__(self, folder: Path, **rule: Any) -> None:
        self.folder = folder
        self.configuration = json.loads(json.dumps(CONFIGURATION))
        self.configuration["rules"]["agree"] |= rule
        self.configuration |= {"sources": {}, "datasets": {}}

    def put(self, name: str, rows: Sequence[Row], source: str = "csv") -> None:
        """Replace a dataset by these rows in a source of that type."""
        self.configuration["sources"][name], dataset = STORED[source](self.folder, name, rows)
        money = {"amount": "amount", "currency": "currency"}
        self.configuration["datasets"][name] = dataset | {"source": name, "id": "id", "money": money}

    def opened(self) -> Application:
        path = self.folder / "reconcile.yaml"
        path.write_text(json.dumps(self.configuration), encoding="utf-8")
        return Application(load(path, {}))

    def run(self) -> dict[str, Any]:
        with closing(self.opened()) as application:
            [rule] = application.run("nightly").to_json()["rules"]
            return dict(rule)

    def findings(self) -> list[Finding]:
        with closing(self.opened()) as application, application.store.read() as tx:
            return findings.find(tx)


def _csv(folder: Path, name: str, rows: Sequence[Row]) -> tuple[Any, Any]:
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    types = {"id": "integer", "day": "date", "amount": "decimal"}
    return {"type": "files", "root": "."}, {"path": f"{name}.csv", "columns": types}


def _parquet(folder: Path, name: str, rows: Sequence[Row]) -> tuple[Any, Any]:
    table = pa.Table.from_pylist(list(rows)).cast(
        pa.schema(
            {"id": pa.int32(), "ref": pa.string(), "day": pa.date32(), "amount": pa.decimal128(12, 2)}
            | {"currency": pa.string()}
        )
    )
    pq.write_table(table, folder / f"{name}.parquet")
    return {"type": "files", "root": "."}, {"path": f"{name}.parquet"}


def _workbook(folder: Path, name: str, rows: Sequence[Row]) -> tuple[Any, Any]:
    with xlsxwriter.Workbook(folder / f"{name}.xlsx") as book:
        sheet = book.add_worksheet("rows")
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for at, each in enumerate([dict(zip(COLUMNS, COLUMNS, strict=True)), *rows]):
            for column, value in enumerate(each.values()):
                if isinstance(value, dt.date):
                    sheet.write_datetime(at, column, dt.datetime.combine(value, dt.time()), day)
                elif value is not None:
                    sheet.write(at, column, value)
    types = {"id": "integer", "day": "date", "amount": "decimal"}
    return {"type": "workbook", "path": f"{name}.xlsx"}, {"sheet": "rows", "columns": types}


def _table(url: str, name: str, rows: Sequence[Row]) -> None:
    engine = sa.create_engine(url)
    table = sa.Table(
        name,
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("ref", sa.String(20)),
        sa.Column("day", sa.Date),
        sa.Column("amount", sa.Numeric(12, 2)),
        sa.Column("currency", sa.String(3)),
    )
    table.metadata.drop_all(engine)
    table.metadata.create_all(engine)
    with engine.begin() as connection:
        if rows:
            connection.execute(table.insert(), list(rows))
    engine.dispose()


def _sqlite(folder: Path, name: str, rows: Sequence[Row]) -> tuple[Any, Any]:
    url = f"sqlite:///{folder}/{name}.sqlite"
    _table(url, name, rows)
    return {"type": "sql", "url": url}, {"table": name}


STORED: dict[str, Any] = {"csv": _csv, "parquet": _parquet, "workbook": _workbook, "sqlite": _sqlite}


@pytest.fixture(scope="module")
def servers() -> Iterator[None]:
    """PostgreSQL and MariaDB among the sources."""
    opened = {name: scratch_database(url) for name, url in (("postgresql", POSTGRES), ("mariadb", MARIADB))}
    for server, scratch in opened.items():
        url = next(scratch)

        def put(_folder: Path, name: str, rows: Sequence[Row], url: str = url) -> tuple[Any, Any]:
            _table(url, name, rows)
            return {"type": "sql", "url": url}, {"table": name}

        STORED[server] = put
    yield
    for server, scratch in opened.items():
        del STORED[server]
        next(scratch, None)


BANK = [
    row(1, "INV-007"),
    row(2, "A 8", amount="20.00"),
    row(3, "A 8", amount="20.00"),
    row(4, "B-1", day=1),
    row(5, None, amount="-3.50"),
    row(6, "C 5", currency="USD"),
]
LEDGER = [
    row(11, "inv 7", day=3, amount="10.01"),
    row(12, "A8", amount="20.00"),
    row(13, "b1", day=9),
    row(14, "c5"),
]
EXPECTED = [
    ("ambiguous", [2, 3], [12]),
    ("left_only", [5], []),
    ("near_miss", [4], [13]),
    ("near_miss", [6], [14]),
]


def shown(project: Project) -> list[Any]:
    given = []
    for finding in project.findings():
        sides: dict[str, list[Any]] = {"left": [], "right": []}
        for member in finding.members:
            sides[member.role].append(int(member.id[0]))
        given.append((finding.form, sides["left"], sides["right"]))
    return sorted(given)


@pytest.mark.server
@pytest.mark.usefixtures("servers")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("csv", "postgresql"),
        ("postgresql", "mariadb"),
        ("sqlite", "parquet"),
        ("workbook", "csv"),
        ("mariadb", "workbook"),
    ],
)
def test_any_two_sources_give_the_same_findings(tmp_path: Path, left: str, right: str) -> None:
    project = Project(tmp_path)
    project.put("bank", BANK, left)
    project.put("ledger", LEDGER, right)

    result = project.run()

    assert shown(project) == EXPECTED
    assert (result["read"], result["groups"]) == (10, 4)


@pytest.mark.server
@pytest.mark.usefixtures("servers")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("csv", "parquet"),
        ("workbook", "postgresql"),
        ("sqlite", "sqlite"),
        ("postgresql", "postgresql"),
        ("mariadb", "mariadb"),
    ],
)
def test_any_two_sources_prefer_the_same_partners(tmp_path: Path, left: str, right: str) -> None:
    compared = {"left": "id", "right": "id"}  # they always differ, so that every pair is a finding
    project = Project(tmp_path, key=["currency"], prefer=[{"ref": ["docno"]}], compare=[compared])
    project.put("bank", [row(1, "INV-7", day=1), row(2, "B 8", day=2), row(3, None, day=3)], left)
    project.put("ledger", [row(11, "b8", day=1), row(12, "inv 07", day=2), row(13, None, day=3)], right)

    project.run()

    assert shown(project) == [("mismatch", [1], [12]), ("mismatch", [2], [11]), ("mismatch", [3], [13])]


def test_a_second_run_tells_nothing_twice_and_a_late_partner_resolves_a_finding(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.put("bank", [row(1, "A"), row(2, "B")])
    project.put("ledger", [])

    first, second = project.run(), project.run()
    project.put("ledger", [row(11, "A")])
    third = project.run()

    assert (first["findings"]["new"], second["findings"]["new"], second["findings"]["known"]) == (2, 0, 2)
    assert (third["findings"]["resolved"], third["findings"]["known"]) == (1, 1)
    assert {finding.state for finding in project.findings()} == {State.OPEN, State.RESOLVED}


def test_a_record_that_finds_a_partner_that_differs_is_the_same_finding(tmp_path: Path) -> None:
    project = Project(tmp_path, compare=["currency"], key=["ref"])
    project.put("bank", [row(1, "A")])
    project.put("ledger", [row(12, "Z", amount="3.00")])
    project.run()
    [before] = [finding for finding in project.findings() if finding.form == "left_only"]

    project.put("ledger", [row(12, "Z", amount="3.00"), row(11, "A", currency="USD")])
    result = project.run()

    [after] = [finding for finding in project.findings() if finding.form == "mismatch"]
    assert after.id == before.id
    assert result["findings"]["new"] == 0


def test_totals_keep_their_findings_by_key(tmp_path: Path) -> None:
    project = Project(tmp_path)
    rule = project.configuration["rules"]["agree"]
    for setting in ("key", "tolerance"):
        del rule[setting]
    rule["totals"] = {"by": ["day", "currency"], "sum": {"left": "amount", "right": "amount"}}
    project.put("bank", [row(1, "A"), row(2, "B", day=2)])
    project.put("ledger", [row(11, "A"), row(12, "B", day=2, amount="9.00")])
    first = project.run()

    project.put("ledger", [row(21, "A"), row(22, "B", day=2, amount="8.00")])
    second = project.run()

    assert (first["findings"]["new"], second["findings"]["new"]) == (1, 0)
    [finding] = project.findings()
    assert finding.money == {"EUR": Decimal("2.00")}


def test_a_broken_balance_fails_the_rule_and_nothing_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path)
    project.put("bank", BANK)
    project.put("ledger", LEDGER)
    query = Workspace.query
    monkeypatch.setattr(Workspace, "query", lambda self, statement: _without_one(query(self, statement)))

    with closing(project.opened()) as application:
        report = application.run("nightly")

    assert report.failed
    [rule] = report.to_json()["rules"]
    assert "Rule 'agree' does not balance: " in rule["failed"]
    assert "Nothing was reported." in rule["failed"]
    assert project.findings() == []


def _without_one(table: pa.Table) -> pa.Table:
    """The answer of an engine that loses a pair's record."""
    return table.slice(1) if {"row", "key_0"} <= set(table.column_names) else table


def test_a_broken_balance_ends_a_process_with_code_3_and_records_nothing(tmp_path: Path) -> None:
    """The error is planted into the command: its engine loses a record of a pair."""
    project = Project(tmp_path)
    project.put("bank", BANK)
    project.put("ledger", LEDGER)
    project.opened().close()
    plant = (
        "import sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.rules.kinds.reconciliation.test_runs import _without_one\n"
        "from reconcile.cli import command\n"
        "from rules.kinds.reconciliation.workspace import Workspace\n"
        "query = Workspace.query\n"
        "Workspace.query = lambda self, statement: _without_one(query(self, statement))\n"
        "sys.exit(command())\n"
    )

    broken = subprocess.run(
        [sys.executable, "-c", plant, "run", "nightly"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    findings_left = project.findings()
    intact = Command(tmp_path, "run", "nightly").end()

    assert broken.returncode == 3
    assert "Rule 'agree' does not balance: " in broken.stdout + broken.stderr
    assert "Traceback" not in broken.stdout + broken.stderr
    assert findings_left == []
    assert intact.code == 0


def test_the_balance_says_what_matched_records_with_other_sums_differ_by(tmp_path: Path) -> None:
    """A ledger that books with the other sign matches exactly, though its money differs by twice the amounts."""
    bundles = {"match": "one_to_many", "tolerance": {}, "sum": {"left": "amount", "right": "0 - amount"}}
    project = Project(tmp_path, **bundles)
    project.put("bank", [row(1, "A", amount="100.00"), row(2, "B", amount="5.00")])
    project.put("ledger", [row(11, "A", amount="-60.00"), row(12, "A", amount="-40.00")])
    project.opened().close()

    ended = Command(tmp_path, "run", "nightly").end()

    assert ended.code == 0
    explained = "explained by findings 5.00 (missing in ledger 5.00), in matched records 200.00"
    balance = f"bank 105.00, ledger -100.00, difference 205.00, {explained}"
    assert balance in ended.out + ended.err


@pytest.mark.parametrize("away", ["bank", "ledger"])
def test_the_source_that_is_away_is_told_whichever_side_reads_it(away: str, tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.put("bank", BANK)
    project.put("ledger", LEDGER)
    for name in ("bank", "ledger"):
        folder = tmp_path / name
        folder.mkdir()
        (tmp_path / f"{name}.csv").rename(folder / f"{name}.csv")
        project.configuration["sources"][name]["root"] = name
    project.configuration["channels"] = {"team": {"type": "file", "path": "told.jsonl", "format": "jsonl"}}
    project.configuration["jobs"]["nightly"]["notify"] = ["team"]
    (tmp_path / away).rename(tmp_path / "elsewhere")
    down = project.run()
    (tmp_path / "elsewhere").rename(tmp_path / away)
    up = project.run()

    messages = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert (down["subject"], "failed" in up) == (f"source {away}", False)
    failures = [[(each["subject"], each["ended"]) for each in message["failures"]] for message in messages]
    assert failures == [[(f"source {away}", False)], [(f"source {away}", True)]]


def test_a_broken_file_is_named_whichever_side_it_is_on(tmp_path: Path) -> None:
    for name, intact in (("bank", "ledger"), ("ledger", "bank")):
        folder = tmp_path / name
        folder.mkdir()
        project = Project(folder)
        project.put(intact, LEDGER)
        project.put(name, BANK)
        (folder / f"{name}.csv").write_text("id,ref,day,amount,currency\n1,A,2026-03-01,10,EUR,more\n")

        with closing(project.opened()) as application:
            [rule] = application.run("nightly").to_json()["rules"]

        assert f"{name}.csv" in rule["failed"]


def test_the_command_line_runs_explains_and_checks_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.put("bank", BANK)
    project.put("ledger", LEDGER)
    project.opened().close()

    check, explain, sql, run, show = (
        Command(tmp_path, *arguments.split()).end()
        for arguments in ("check", "explain agree", "explain agree --sql", "run nightly", "findings --json")
    )

    assert [ended.code for ended in (check, explain, sql, run, show)] == [0] * 5
    assert "rule agree: fits" in check.out
    assert "one left record with one right record" in explain.out
    assert "create temp table bank" not in sql.out
    assert "left_records" in sql.out
    assert len(show.json) == 4


@pytest.mark.parametrize(
    ("pii", "rule"),
    [
        ("day", {"key": ["ref"], "tolerance": {}, "compare": "all"}),
        ("amount", {"key": ["ref"], "tolerance": {}}),
        ("amount", {}),
        ("day", {}),
        ("ref", {"key": ["currency"], "prefer": [{"ref": ["docno"]}]}),
        ("amount", {"match": "many_to_one", "sum": {"left": "amount + 0", "right": "0 + amount"}, "tolerance": {}}),
    ],
    ids=["compare all", "money", "amount", "date", "prefer", "sum"],
)
def test_what_one_dataset_masks_the_other_may_not_show(tmp_path: Path, pii: str, rule: dict[str, Any]) -> None:
    project = Project(tmp_path, **rule)
    project.put("bank", BANK)
    project.put("ledger", LEDGER)
    project.configuration["datasets"]["bank"]["pii"] = [pii]
    (tmp_path / "reconcile.yaml").write_text(json.dumps(project.configuration))

    checked, ran = Command(tmp_path, "check").end(), Command(tmp_path, "run", "nightly").end()

    sentence = f"`{pii}` of dataset `bank` is personal data (`pii`), but `{pii}` of dataset `ledger`, which is compared"
    assert sentence in checked.out + checked.err
    assert sentence in ran.out + ran.err
    assert (checked.code == 0, ran.code == 0) == (False, False)

    project.configuration["datasets"]["ledger"]["pii"] = [pii]
    project.opened().close()
    assert Command(tmp_path, "check").end().code == 0


def test_the_sides_of_a_dataset_that_is_compared_with_itself_are_called_left_and_right(tmp_path: Path) -> None:
    """A record without a partner was "missing in postings", where it is."""
    (tmp_path / "postings.csv").write_text(
        "id,ref,side,amount\n1,A,debit,10\n2,A,credit,10\n3,B,credit,7\n4,C,debit,5\n"
    )
    postings = {"source": "files", "path": "postings.csv", "id": "id", "columns": {"amount": "decimal"}}
    where = {"left": "side = 'debit'", "right": "side = 'credit'"}
    rule = {"kind": "reconciliation", "left": "postings", "right": "postings", "where": where, "key": ["ref"]}
    configuration = {
        "sources": {"files": {"type": "files"}},
        "datasets": {"postings": postings | {"money": {"amount": "amount", "currency": "EUR"}}},
        "rules": {"balanced": rule},
    }
    (tmp_path / "reconcile.yaml").write_text(json.dumps(configuration))

    ran, listed = Command(tmp_path, "run").end(), Command(tmp_path, "findings").end()

    assert ran.code == 0, ran.err
    assert "1 missing in right, 1 missing in left" in ran.out
    assert "(missing in right 5.00, missing in left -7.00)" in ran.out
    assert "missing in postings" not in ran.out + listed.out


@pytest.mark.server
def test_columns_that_differ_only_in_case_are_refused_where_duckdb_would_confuse_them(tmp_path: Path) -> None:
    scratch = scratch_database(POSTGRES)
    url = next(scratch)
    with sa.create_engine(url).begin() as connection:
        connection.exec_driver_sql('create table people (id int primary key, "Name" text, name text)')
        connection.exec_driver_sql("insert into people values (1, 'A', 'b'), (2, 'A', 'b'), (3, 'A', 'c')")
    rule = {"kind": "duplicates", "dataset": "people", "key": ["Name", "name"]}
    settings = {
        "sources": {"db": {"type": "sql", "url": url}},
        "datasets": {"people": {"source": "db", "table": "people", "id": "id"}},
        "rules": {"here": rule | {"engine": "embedded"}, "there": rule, "one": rule | {"key": ["Name"]}},
    }
    (tmp_path / "reconcile.yaml").write_text(json.dumps(settings))

    checked, ran = Command(tmp_path, "check").end(), Command(tmp_path, "run", "--dry-run", "--json").end()
    next(scratch, None)

    printed = checked.out + checked.err
    assert printed.count("Columns `Name` and `name` of dataset `people` differ only in upper and lower case") == 1
    assert {rule["rule"]: rule.get("groups") for rule in ran.json["rules"]} == {"here": None, "there": 1, "one": 1}
