"""Source `duckdb`: a database file is read exactly, without a copy, and never together with a writer."""

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pydantic import ValidationError

from connectors.base import UnreadableCells
from connectors.conformance import source
from connectors.conformance.source import Stored
from connectors.errors import ConnectorError, DatasetMissing, Reaction, SourceBusy, SourceChanged, SourceMissing
from connectors.sql.duckdb_file import DuckDbSettings, DuckDbSource
from connectors.sql.settings import SqlDataset
from tests.support.cli import Project


def wrote(path: Path, *statements: str) -> None:
    with duckdb.connect(path) as con:
        for statement in statements:
            con.execute(statement)


def opened(folder: Path, path: str = "shop.duckdb") -> DuckDbSource:
    return DuckDbSource("lake", DuckDbSettings(type="duckdb", path=path), folder)


def records(lake: DuckDbSource, dataset: SqlDataset, columns: list[str]) -> list[dict[str, Any]]:
    scan = lake.scan(dataset, columns)
    try:
        return scan.reader.read_all().to_pylist()
    finally:
        scan.close()


class DuckDbKit:
    secret = None
    empty_is_null = False

    def __init__(self, folder: Path, form: str) -> None:
        self.settings = {"type": "duckdb", "path": "shop.duckdb"}
        self._folder, self._form = folder, form

    def store(self, table: pa.Table) -> Stored:
        path = self._folder / "shop.duckdb"
        path.unlink(missing_ok=True)
        with duckdb.connect(path) as con:
            con.execute("set TimeZone = 'UTC'")
            con.register("arrow", table)
            con.execute("create table stored as select * from arrow")
            con.execute(f"create {self._form} charges as select * from stored")
        return Stored(
            opened(self._folder),
            SqlDataset(table="charges"),
            SqlDataset(table="chargs"),
            "charges",
            path.read_bytes,
        )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "view"])
@pytest.mark.parametrize("check", source.CHECKS, ids=lambda check: check.__name__)
def test_duckdb_files_conform(check: Any, form: str, tmp_path: Path) -> None:
    check(DuckDbKit(tmp_path, form))


@pytest.mark.slow
def test_the_engine_reads_a_table_where_it_is_and_streams_what_it_cannot_read_itself(tmp_path: Path) -> None:
    wrote(
        tmp_path / "shop.duckdb",
        "create schema sales",
        'create table sales."o""r" as select 1 as id, timestamp \'2026-01-01 10:00\' as at',
        'create view v as from sales."o""r"',
    )
    lake = opened(tmp_path)
    table = SqlDataset(table='sales.o"r')

    scan = lake.duck_scan(table, ["at", "id"])

    assert scan is not None
    with duckdb.connect() as engine:
        rows = engine.sql(f"""select id, "at" = '2026-01-01 10:00Z'::timestamptz from ({scan.sql})""").fetchall()
        assert rows == [(1, True)]
    scan.confirm(1)
    assert lake.duck_scan(SqlDataset(table="v"), ["id"]) is None
    assert lake.duck_scan(table.model_copy(update={"timezone": "Europe/Berlin"}), ["at"]) is None
    berlin = records(lake, table.model_copy(update={"timezone": "Europe/Berlin"}), ["at"])
    assert berlin == [{"at": dt.datetime(2026, 1, 1, 9, tzinfo=dt.UTC)}]


def test_infinite_times_are_empty_and_counted(tmp_path: Path) -> None:
    wrote(tmp_path / "shop.duckdb", "create table t as select unnest(['infinity', '2026-01-01'])::timestamptz as until")
    lake, dataset = opened(tmp_path), SqlDataset(table="t")
    expected = (UnreadableCells("until", "not an instant", 1, "table t"),)

    scan, direct = lake.scan(dataset, ["until"]), lake.duck_scan(dataset, ["until"])

    assert scan.reader.read_all()["until"].null_count == 1
    assert scan.problems() == expected
    scan.close()
    assert direct is not None
    assert direct.problems() == expected
    with duckdb.connect() as engine:
        assert engine.sql(f"select count(*), count(until) from ({direct.sql})").fetchall() == [(2, 1)]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select 1; drop table t", "more than one statement"),
        ("create table x as select 1", "starts with 'create'"),
        ("with a as (select 1) insert into t select * from a", "insert"),
        ("select * from read_csv('/etc/passwd')", "it calls read_csv"),
        ("select * from '/etc/passwd.csv'", "disabled by configuration"),
        ("select * from missing", "does not exist"),
        ("select 'secret 4711'::integer as n", "Conversion Error"),
    ],
)
def test_a_query_reads_this_file_and_nothing_else(query: str, reason: str, tmp_path: Path) -> None:
    wrote(tmp_path / "shop.duckdb", "create table t as select 1 as id")

    with pytest.raises(ConnectorError) as error:
        records(opened(tmp_path), SqlDataset(query=query), ["id" if "t" not in query else "n"])

    assert reason in str(error.value)
    assert "\n" not in str(error.value)
    assert "4711" not in str(error.value)


@pytest.mark.slow
def test_a_file_that_another_program_writes_is_busy_and_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    wrote(path, "create table t as select 1 as id")
    writing = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", writing, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()

        with pytest.raises(SourceBusy, match=r"locked shop\.duckdb for writing") as error:
            opened(tmp_path).describe(SqlDataset(table="t"))

        writer.communicate()
    assert error.value.reaction is Reaction.RETRY
    assert opened(tmp_path).describe(SqlDataset(table="t")).names == ["id"]


@pytest.mark.slow
def test_a_read_during_which_another_program_commits_is_not_used(tmp_path: Path) -> None:
    """An engine that closes the file in this process releases DuckDB's lock; the stamp still shows the commit."""
    path = tmp_path / "shop.duckdb"
    wrote(path, "create table t as select 1 as id")
    scan = opened(tmp_path).duck_scan(SqlDataset(table="t"), ["id"])
    assert scan is not None
    with duckdb.connect() as engine:
        assert engine.sql(scan.sql).fetchall() == [(1,)]
    commit = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('insert into t values (2)')"
    subprocess.run([sys.executable, "-c", commit, str(path)], check=True)

    with pytest.raises(SourceChanged, match=r"another program wrote to shop\.duckdb") as error:
        scan.confirm(1)

    assert error.value.reaction is Reaction.RETRY


def test_what_is_no_database_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.duckdb").write_text("no database " * 500)

    for path, reason in (("none.duckdb", "file not found"), (".", "not a file"), ("text.duckdb", "not a DuckDB")):
        with pytest.raises(SourceMissing, match=reason):
            opened(tmp_path, path).datasets()
    assert not (tmp_path / "none.duckdb").exists()
    with pytest.raises(ValidationError, match="MotherDuck is not supported"):
        DuckDbSettings(type="duckdb", path="md:sales")


def test_keys_and_missing_tables(tmp_path: Path) -> None:
    wrote(
        tmp_path / "shop.duckdb",
        "create table t (a integer unique, b integer unique not null, c integer, d integer, primary key (c, d))",
    )
    lake = opened(tmp_path)

    assert lake.keys(SqlDataset(table="t")) == [("c", "d"), ("b",)]
    with pytest.raises(DatasetMissing, match="did you mean table t"):
        lake.keys(SqlDataset(table="tt"))
    assert DuckDbSource.of_file(tmp_path / "shop.duckdb") == {"type": "duckdb", "path": str(tmp_path / "shop.duckdb")}


CONFIG = """\
version: 1
sources: {files: {type: files, root: .}, lake: {type: duckdb, path: shop.duckdb}}
datasets:
  csv: {source: files, path: orders.csv, id: id, columns: {id: integer, amount: decimal, paid_at: instant}}
  table: {source: lake, table: orders, id: id}
  view: {source: lake, table: recent, id: id}
rules:
"""
RULE = "  {0}: {{kind: duplicates, dataset: {0}, key: [{{order_id: [trim, lower]}}, amount], gap: {{paid_at: 15m}}}}\n"


@pytest.mark.slow
def test_a_rule_finds_the_same_in_a_duckdb_file_as_in_csv(tmp_path: Path) -> None:
    query = (
        "select i as id, chr((65 + i % 7)::integer) || (i // 14) || case when i % 3 = 0 then ' ' else '' end "
        "as order_id, (i // 14 % 2)::decimal(10, 2) as amount, "
        "timestamptz '2026-01-01 00:00Z' + interval (i * 40) second as paid_at from range(700) as numbers(i)"
    )
    wrote(
        tmp_path / "shop.duckdb",
        f"create table orders as {query}",
        "create view recent as from orders",
        f"copy orders to '{tmp_path}/orders.csv'",
    )
    (tmp_path / "reconcile.yaml").write_text(CONFIG + "".join(map(RULE.format, ("csv", "table", "view"))))
    project = Project(tmp_path)

    run = project("run")
    findings = project("findings", "--all", "--json").json

    assert run.code == 0, run.said
    told = ("keeper", "surplus", "key", "span", "records")
    csv, table, view = (
        sorted(json.dumps([finding[part] for part in told]) for finding in findings if finding["rule"] == rule)
        for rule in ("csv", "table", "view")
    )
    assert len(csv) == 350
    assert csv == table == view
