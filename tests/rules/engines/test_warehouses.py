"""Rules inside warehouses: the same findings as in plain Python, from SQL that each warehouse's grammar parses.

DuckDB stands for the warehouses (`tests/rules/engines/warehouse.py`), and PostgreSQL for Redshift.
RECONCILE_ORACLE_PAIRS is how many pairs of a table and a rule each is asked about, RECONCILE_SEED where they begin.

The test with fakesnow needs an environment of its own, because fakesnow 0.12 does not work with version 5 of
Snowflake's connector: install requirements-dev.lock, then `fakesnow[server]`, `snowflake-connector-python<4`, and
`snowflake-sqlalchemy==2.1.0` with `--no-deps`.
"""

import datetime as dt
import os
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa

from connectors.base import Queryable
from connectors.errors import DriverMissing
from connectors.sql.generic.values import GenericColumn, Moment, inspected
from connectors.sql.generic.warehouse import WAREHOUSES as FORMS
from connectors.sql.generic.warehouse import exact_form
from connectors.sql.source import SqlDataset, SqlSettings, SqlSource
from rules.functions import WAREHOUSES, dialect
from tests.product.oracle.check import compare
from tests.product.oracle.engines import Home
from tests.product.oracle.random_pairs import random_case
from tests.rules.engines import warehouse as warehouse_matrix
from tests.rules.engines.warehouse import (
    NOW,
    REDSHIFT_FUNCTIONS,
    STAND_INS,
    TIMELESS,
    on_postgres,
    stand_in,
    translated,
)
from tests.support.cli import Project
from tests.support.servers import execute, postgres_url

__all__ = ["postgres_url"]
PAIRS = int(os.environ.get("RECONCILE_ORACLE_PAIRS") or 60)
SEED = int(os.environ.get("RECONCILE_SEED") or random.randrange(10**6))


@pytest.mark.slow
@pytest.mark.parametrize("warehouse", WAREHOUSES)
def test_every_rule_over_every_table_says_what_the_docs_say(warehouse: str, tmp_path: Path) -> None:
    print(f"\n{warehouse}: RECONCILE_SEED={SEED} RECONCILE_ORACLE_PAIRS={PAIRS}")
    sent = STAND_INS[warehouse].sent
    sent.clear()
    cases = [random_case(seed) for seed in range(SEED, SEED + PAIRS)]

    tally = compare(tmp_path, cases, Home(warehouse, "pushdown", stand_in(warehouse, tmp_path)))

    print({"pairs": tally.pairs, "inside": tally.pushed, "with groups": tally.with_groups, "statements": len(sent)})
    assert not tally.differences, "\n\n".join(map(str, tally.differences[:5]))
    assert tally.pushed >= 0.03 * PAIRS
    assert all(times == ({NOW} if warehouse != "redshift" else set()) for _, times in sent)


@pytest.mark.slow
@pytest.mark.parametrize("warehouse", WAREHOUSES)
def test_every_feature_of_a_rule_finds_inside_what_it_finds_here(warehouse: str, tmp_path: Path) -> None:
    """What it finds here, in DuckDB, is compared with plain Python by tests/product/oracle."""
    url, rules = stand_in(warehouse, tmp_path), warehouse_matrix.of(warehouse)
    warehouse_matrix.write(url)
    groups, counts = {}, {}
    for engine in ("embedded", "pushdown"):
        folder = tmp_path / engine
        folder.mkdir()
        answer = Project(folder).write(warehouse_matrix.config(url, engine, rules))("run", "--json")
        failed = {rule["rule"]: rule["failed"] for rule in answer.json["rules"] if "failed" in rule}
        assert not failed
        assert {rule["engine"] for rule in answer.json["rules"]} == {engine}
        counts[engine] = [(rule["read"], rule["scanned"], rule["skipped"]) for rule in answer.json["rules"]]
        groups[engine] = {
            (finding["rule"], *map(str, (finding["keeper"], finding["surplus"], finding["key"])))
            for finding in answer.json["findings"]
        }

    assert groups["pushdown"] == groups["embedded"]
    assert counts["pushdown"] == counts["embedded"]
    assert len({rule for rule, *_ in groups["embedded"]}) > 0.8 * len(rules)


@pytest.mark.server
@pytest.mark.slow
def test_what_is_sent_to_redshift_runs_on_postgresql_word_for_word(postgres_url: str, tmp_path: Path) -> None:
    """Rules with a gap, a window or an overlap are left out: their DATEDIFF has no counterpart in PostgreSQL."""
    execute(postgres_url, *REDSHIFT_FUNCTIONS)
    cases = [case for case in map(random_case, range(SEED, SEED + 2 * PAIRS)) if case.rule.cut is None]

    tally = compare(tmp_path, cases, Home("postgresql as redshift", "pushdown", on_postgres(postgres_url)))

    print({"seed": SEED, "pairs": tally.pairs, "inside": tally.pushed, "with groups": tally.with_groups})
    assert not tally.differences, "\n\n".join(map(str, tally.differences[:5]))
    assert tally.pushed >= 0.3 * tally.pairs


def opened(url: str, folder: Path = Path()) -> Any:
    return SqlSource.open("lake", SqlSettings.model_validate({"type": "sql", "url": url}), folder)


@pytest.fixture
def lake(tmp_path: Path) -> Project:
    """A project over a Snowflake that DuckDB stands for, with a table that has versions and one that has none."""
    url = stand_in("snowflake", tmp_path)
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for table in ("orders", TIMELESS):
            connection.exec_driver_sql(f"create table {table} (id bigint, ref varchar, ratio double)", ())
            connection.exec_driver_sql(f"insert into {table} values (1, 'a', 1), (2, 'a', 1), (3, 'b', 2)", ())
    engine.dispose()
    project = Project(tmp_path)
    project.write(
        f'sources: {{lake: {{type: sql, url: "{url}"}}}}\n'
        "datasets:\n"
        "  orders: {source: lake, table: orders, id: id}\n"
        f"  timeless: {{source: lake, table: {TIMELESS}, id: id}}\n"
        '  query: {source: lake, query: "select * from orders", id: id}\n'
        "rules:\n"
        "  twice: {kind: duplicates, dataset: orders, key: [ref]}\n"
        "  ratio: {kind: duplicates, dataset: orders, key: [ratio]}\n"
        "  timeless: {kind: duplicates, dataset: timeless, key: [ref]}\n"
        "  query: {kind: duplicates, dataset: query, key: [ref]}\n"
    )
    return project


@pytest.mark.slow
def test_explain_says_where_each_rule_runs_and_why(lake: Project) -> None:
    explained = {rule: lake("explain", rule, "--sql").out for rule in ("twice", "ratio", "timeless", "query")}

    assert explained["twice"].startswith("twice runs pushed down (inside the source)")
    assert "AT (TIMESTAMP => CAST('the time at which the rule begins' AS TIMESTAMP_TZ))" in explained["twice"]
    assert (
        "embedded (DuckDB, in this process): Snowflake does not compare `ratio` exactly as Reconcile does"
        in explained["ratio"]
    )
    assert "timeless cannot be read as of one moment (time travel)" in explained["timeless"]
    assert "a warehouse compares only a `table`, not a `query`" in explained["query"]


@pytest.mark.slow
def test_every_rule_finds_its_group_wherever_it_runs(lake: Project) -> None:
    report = lake("run", "--json").json

    assert {rule["rule"]: (rule["engine"], rule["groups"]) for rule in report["rules"]} == {
        "twice": ("pushdown", 1),
        "ratio": ("embedded", 1),
        "timeless": ("embedded", 1),
        "query": ("embedded", 1),
    }


def test_cleaning_in_a_warehouse_is_refused(lake: Project) -> None:
    config = lake.folder / "reconcile.yaml"
    config.write_text(config.read_text().replace("key: [ref]}", "key: [ref], clean: {action: delete}}", 1))

    answer = lake("check")

    assert answer.code != 0
    assert "only PostgreSQL, MariaDB, MySQL and SQLite are written to, not snowflake" in answer.said


@pytest.mark.parametrize(
    ("url", "extra"),
    [
        ("snowflake://reader@account/shop", "snowflake"),
        ("bigquery://project/shop", "bigquery"),
        ("redshift+redshift_connector://reader@h/shop", "redshift"),
        ("trino://reader@h:8080/lake/shop", "trino"),
    ],
)
def test_a_missing_package_is_named(url: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> Any:
        raise sa.exc.NoSuchModuleError(f"Can't load plugin: sqlalchemy.dialects:{name}")

    source = opened(url)
    with monkeypatch.context() as patch:
        patch.setattr(sa.dialects.registry, "load", load)  # as if the package were not installed here
        with pytest.raises(DriverMissing, match=rf"not installed: pip install 'reconcile-runner\[{extra}\]'"):
            source.datasets()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mssql+pymssql://reader@h/books", "SQL Server compares texts with collations that ignore trailing spaces"),
        ("oracle+oracledb://reader@h/books", "Oracle compares texts by session settings"),
    ],
)
def test_sql_server_and_oracle_are_read_here_for_a_reason(url: str, reason: str) -> None:
    source = opened(url)

    assert not isinstance(source, Queryable)
    assert reason in source.no_pushdown(SqlDataset(table="ledger"))


@pytest.mark.parametrize(
    ("warehouse", "kind", "is_exact"),
    [
        ("snowflake", sa.Numeric(38, 2), True),
        ("snowflake", sa.Numeric(), False),
        ("snowflake", sa.Float(), False),
        ("bigquery", sa.NUMERIC(), True),
        ("bigquery", sa.Numeric(76, 38), False),
        ("bigquery", sa.TIMESTAMP(), True),
        ("bigquery", sa.JSON(), False),
        ("redshift", sa.VARCHAR(256), True),
        ("redshift", sa.VARCHAR(40_000), False),
        ("redshift", sa.CHAR(3), False),
        ("trino", sa.LargeBinary(), False),
        ("trino", sa.TIMESTAMP(timezone=True), True),
    ],
)
def test_only_types_that_a_warehouse_compares_as_we_do_are_compared_there(
    warehouse: str, kind: Any, is_exact: bool
) -> None:
    column = GenericColumn("c", inspected(kind, "UTC"), kind)

    assert (exact_form(FORMS[warehouse], column, '"c"', "UTC") is not None) is is_exact


def test_times_of_snowflake_are_times_although_sqlalchemy_does_not_know_their_types() -> None:
    class TimestampNtz(sa.types.TypeEngine[Any]):
        __visit_name__ = "TIMESTAMP_NTZ"

    kind = inspected(TimestampNtz(), "UTC")

    assert isinstance(kind, Moment)
    form = exact_form(FORMS["snowflake"], GenericColumn("at", kind, TimestampNtz()), '"AT"', "UTC")
    assert form is not None
    assert form.sql == "DATE_TRUNC('MICROSECOND', \"AT\")"


@pytest.mark.parametrize("warehouse", WAREHOUSES)
def test_naive_times_are_compared_there_only_in_utc(warehouse: str) -> None:
    column = GenericColumn("at", Moment("UTC"), sa.DATETIME())

    assert exact_form(FORMS[warehouse], column, '"at"', "UTC") is not None
    assert exact_form(FORMS[warehouse], column, '"at"', "Europe/Berlin") is None


@pytest.mark.parametrize("warehouse", WAREHOUSES)
def test_any_text_is_a_constant_that_is_that_text(warehouse: str) -> None:
    """As sqlglot reads the constant in the warehouse's grammar, DuckDB says what the text is."""
    text = "a\\b'c\"d\n\t\u00a0\u200be\\'%:x{0}\U0001f600"
    statement = sa.select(sa.literal(text).label("text")).compile(
        dialect=dialect(warehouse), compile_kwargs={"literal_binds": True}
    )

    sql, _ = translated(str(statement), warehouse)

    assert duckdb.sql(sql).fetchall() == [(text,)]


@pytest.mark.server
def test_all_queries_of_a_rule_in_redshift_see_one_moment(postgres_url: str) -> None:
    execute(postgres_url, *REDSHIFT_FUNCTIONS, "create table orders (id bigint)", "insert into orders values (1)")
    source = opened(on_postgres(postgres_url))
    relation = source.relation(SqlDataset(table="orders"))
    count = sa.select(sa.func.count().label("records")).select_from(relation)

    with source.snapshot() as snapshot:
        before = snapshot.whole(count).to_pylist()
        execute(postgres_url, "insert into orders values (2)")
        after = snapshot.whole(count).to_pylist()
    source.close()

    assert before == after == [{"records": 1}]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_snowflake_is_read_over_its_own_protocol(tmp_path: Path) -> None:
    fakesnow = pytest.importorskip("fakesnow", exc_type=ImportError)
    from snowflake.sqlalchemy.snowdialect import SnowflakeDialect  # noqa: PLC0415 - with fakesnow

    class OverHttp(SnowflakeDialect):  # type: ignore[misc]
        supports_statement_cache = True

        def create_connect_args(self, url: sa.URL) -> Any:
            arguments, settings = super().create_connect_args(url)
            return arguments, settings | {"protocol": "http", "host": url.host, "port": url.port, "account": "fake"}

    sa.dialects.registry.impls["snowflake.http"] = lambda: OverHttp
    with fakesnow.server() as server:
        url = f"snowflake+http://fake:snow@127.0.0.1:{server['port']}/db/s"
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            for statement in (
                *("create database if not exists db", "create schema if not exists db.s", "use schema db.s"),
                "create table orders (id integer, ref varchar, total number(10,2), paid timestamp_ntz, day date)",
                "insert into orders values (1, 'a', 1.5, '2026-01-01 00:00:00.123456', '2026-01-02')",
            ):
                connection.exec_driver_sql(statement)
        source, orders = opened(url), SqlDataset(table="orders")

        schema = source.describe(orders)
        [row] = source.scan(orders, schema.names).reader.read_all().to_pylist()
        reason = source.no_pushdown(orders)
        source.close()
        engine.dispose()

    at = dt.datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=dt.UTC)
    assert row == {"id": 1, "ref": "a", "total": Decimal("1.50"), "paid": at, "day": dt.date(2026, 1, 2)}
    assert reason == "orders cannot be read as of one moment (time travel)"
