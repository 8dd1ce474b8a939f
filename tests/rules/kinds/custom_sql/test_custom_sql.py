"""Kind `sql`: what a query of one's own finds, in each database, and which queries are never sent."""

import textwrap
from pathlib import Path

import pytest
import sqlalchemy as sa

from connectors.errors import NotReadOnly
from connectors.sql.read_only import read_only, refusal, with_value
from tests.support.cli import Answer, Project
from tests.support.config import problems
from tests.support.servers import execute

TABLES = (
    "create table orders (id integer primary key, total decimal(10, 2))",
    "create table charges (id integer primary key, order_id integer, amount decimal(10, 2), charged_at timestamp null)",
    "insert into orders values (1, 20), (2, 30)",
    "insert into charges values (10, 1, 20, '2026-01-01 10:00:00'), (11, 1, 21, '2026-01-01 10:01:00')",
    "insert into charges values (12, 9, 5, '2026-01-04 10:00:00'), (13, null, 5, '2026-01-04 10:00:00')",
    "insert into charges values (14, 1, 20, '2026-02-01 10:00:00')",
)
CONFIGURATION = """\
version: 1
sources: {shop: {type: sql, url: "${secret:SHOP}", statement_timeout: 2s}}
datasets:
  charges: {source: shop, table: charges, id: id, pii: [order_id], money: {amount: amount, currency: EUR}}
rules:
  odd:
    kind: sql
    dataset: charges
"""
TWICE = """\
query: |
  select order_id as group_key, id, amount, charged_at /* ; */ from charges
  where charged_at < :slot -- not ':slot'; drop table charges
minimum: 2
keep: {last: charged_at}
"""


@pytest.fixture(params=["sqlite", *(pytest.param(name, marks=pytest.mark.server) for name in ("postgresql", "mysql"))])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Project, str]:
    """A folder, and the address of a database with orders and charges."""
    servers = {"postgresql": "postgres_url", "mysql": "mariadb_url"}
    server = servers.get(request.param)
    url = f"sqlite:///{tmp_path}/shop.db" if server is None else str(request.getfixturevalue(server))
    execute(url, *TABLES)
    return Project(tmp_path), url


def run(shop: tuple[Project, str], rule: str, *words: str) -> Answer:
    project, url = shop
    project.write(CONFIGURATION + textwrap.indent(rule, "    "))
    return project(*(words or ("run", "--slot", "2026-01-31T00:00", "--json")), SHOP=url)


@pytest.mark.slow
def test_groups_have_the_key_the_keeper_and_the_money_of_the_query(shop: tuple[Project, str]) -> None:
    [result] = run(shop, TWICE).json["rules"]

    [finding] = run(shop, TWICE, "findings", "--json", "--show").json
    assert (finding["kind"], finding["key"], finding["keeper"], finding["surplus"]) == (
        "sql", {"group_key": 1}, [11], [[10]],
    )  # fmt: skip
    assert finding["money"] == {"EUR": "20.00"}
    assert result["skipped"] == [{"column": "group_key", "reason": "null", "records": 1}]
    assert result["engine"] == "embedded"


@pytest.mark.slow
def test_a_single_record_is_a_finding_until_the_query_lists_it_no_more(shop: tuple[Project, str]) -> None:
    orphans = "query: select id as group_key, c.* from charges c where order_id not in (select id from orders)\n"

    first = run(shop, orphans)
    execute(shop[1], "insert into orders values (9, 5)")
    again = run(shop, orphans, "run", "--json")

    assert [rule["findings"]["new"] for rule in first.json["rules"]] == [1]
    assert [(rule["findings"]["known"], rule["findings"]["resolved"]) for rule in again.json["rules"]] == [(0, 1)]


@pytest.mark.slow
def test_more_rows_than_the_limit_fail_the_rule_and_change_no_finding(shop: tuple[Project, str]) -> None:
    answer = run(shop, TWICE + "limit: 2\n")

    assert answer.code == 3
    [rule] = answer.json["rules"]
    assert rule["failed"].startswith("The query of rule 'odd' returned more than 2 rows.")
    assert run(shop, TWICE, "findings", "--json").json == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("select id from charges", "Its query does not return `group_key`; select it."),
        ("select 1 as group_key", "Its query does not return `id`; select it."),
        ("select 1 as group_key, 'x' as id", "Its query returns `id` as text, but in the dataset of type integer"),
        ("select nonsense from charges", "nonsense"),
    ],
)
def test_check_says_what_the_answer_of_a_query_lacks(query: str, sentence: str, shop: tuple[Project, str]) -> None:
    answer = run(shop, f"query: {query}\n", "check")

    assert answer.code == 2, answer.said
    assert sentence in answer.said
    assert "Traceback" not in answer.said


@pytest.mark.slow
@pytest.mark.server
def test_an_error_of_the_database_is_one_sentence_without_values(tmp_path: Path, postgres_url: str) -> None:
    execute(postgres_url, *TABLES)
    failing = "query: select cast(amount::text || 'secret' as integer) as group_key, id from charges\n"

    [rule] = run((Project(tmp_path), postgres_url), failing).json["rules"]

    assert "invalid input syntax for type integer" in rule["failed"]
    assert "secret" not in rule["failed"]


@pytest.mark.slow
@pytest.mark.server
def test_a_query_that_takes_too_long_is_stopped(tmp_path: Path, postgres_url: str) -> None:
    execute(postgres_url, *TABLES)
    slow = "query: select id as group_key, id from charges where pg_sleep(20) is not null\n"

    [rule] = run((Project(tmp_path), postgres_url), slow).json["rules"]

    assert "2s" in rule["failed"]


@pytest.mark.slow
@pytest.mark.server
def test_a_function_that_writes_finds_a_session_that_cannot(tmp_path: Path, postgres_url: str) -> None:
    execute(
        postgres_url,
        *TABLES,
        "create function harmless(i integer) returns integer language sql as 'delete from charges; select 1'",
    )

    [rule] = run((Project(tmp_path), postgres_url), "query: select harmless(id) as group_key, id from charges\n").json[
        "rules"
    ]

    assert "read-only" in rule["failed"]
    with sa.create_engine(postgres_url).connect() as connection:
        assert connection.exec_driver_sql("select count(*) from charges").scalar() == 5


@pytest.mark.slow
def test_surplus_records_of_a_table_are_cleaned_while_the_query_still_lists_them(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shop.db"
    execute(url, *TABLES, "delete from charges where id = 14")
    shop = (Project(tmp_path), url)
    clean = f"{TWICE}clean: {{action: delete}}\nlimits: {{records: 10, share: 100%}}\n"
    run(shop, clean)
    [finding] = run(shop, clean, "findings", "--json").json

    planned = run(shop, clean, "plan")
    execute(url, "update charges set order_id = 2 where id = 10")
    stale = run(shop, clean, "approve", finding["id"])
    execute(url, "update charges set order_id = 1 where id = 10")
    approved = run(shop, clean, "approve", finding["id"])

    assert "10" in planned.out, planned.said
    assert stale.code == 4, stale.said
    assert approved.code == 0, approved.said
    with sa.create_engine(url).connect() as connection:
        assert list(connection.exec_driver_sql("select id from charges order by id").scalars()) == [11, 12, 13]


@pytest.mark.slow
def test_a_release_is_compared_with_the_answers_of_both_queries(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shop.db"
    execute(url, *TABLES)
    shop = (Project(tmp_path), url)
    release = run(shop, TWICE).json["release"]

    answer = run(shop, TWICE.replace("where", "where order_id > 1 and"), "diff", release, "--json")

    assert answer.code == 0, answer.said
    assert '"odd"' in answer.out


# What is never sent


@pytest.mark.parametrize(
    ("dialect", "query", "reason"),
    [
        ("postgresql", "delete from t", "starts with 'delete'"),
        ("postgresql", "select 1; select 2", "more than one statement"),
        ("postgresql", "select 1 /* /* */ ' */ ; drop table t --'", "more than one statement"),
        ("postgresql", "select 1 -- \r; drop table t", "more than one statement"),
        ("postgresql", "select e'a\\'' ; drop table t --'", "more than one statement"),
        ("postgresql", "select a$b$c ; drop table t -- $b$", "more than one statement"),
        ("postgresql", "with gone as (delete from t returning *) select * from gone", "'delete', which changes data"),
        ("postgresql", "with x as (select 1) update t set a = 1", "'update', which changes data"),
        ("postgresql", "select * into copy from t", "'into', which writes its result"),
        ("postgresql", "select * from t for update", "locks records"),
        ("postgresql", "select * from t for no key update", "locks records"),
        ("postgresql", "select pg_catalog . pg_read_file /* x */ ('/etc/passwd')", "calls pg_read_file"),
        ("postgresql", "select * from ts_stat('select pg_read_file(''/etc/passwd'')::tsvector')", "calls ts_stat"),
        ("postgresql", "select pg_catalog.ts_rewrite(q, 'select a, b from c') from t", "calls ts_rewrite"),
        *(
            ("postgresql", f"select {name}('x')", f"calls {name}")
            for name in (
                *(
                    "query_to_xml",
                    "query_to_xml_and_xmlschema",
                    "table_to_xml",
                    "schema_to_xmlschema",
                    "database_to_xml",
                ),
                *("cursor_to_xml", "dblink", "dblink_exec", "crosstab", "xpath_table", "lo_import", "lo_export"),
                *("pg_read_binary_file", "pg_stat_file", "pg_ls_dir", "pg_current_logfile", "http_get"),
            )
        ),
        ("mysql", "select sys_exec('id')", "calls sys_exec"),
        ("sqlite", "select readfile('/etc/passwd')", "calls readfile"),
        ("duckdb", "select * from read_csv_auto('/etc/passwd')", "calls read_csv_auto"),
        ("duckdb", "select * from read_text('/etc/passwd')", "calls read_text"),
        ("postgresql", "select \"pg_read_file\"('/etc/passwd')", "calls pg_read_file"),
        ("postgresql", "select U&\"pg\\005fread_file\"('/etc/passwd')", "Unicode escapes"),
        ("postgresql", "select set_config('transaction_read_only', 'off', false)", "calls set_config"),
        ("postgresql", "select query_to_xml('delete from t', true, true, '')", "calls query_to_xml"),
        ("postgresql", "select nextval('s')", "calls nextval"),
        ("postgresql", "select 1 /* never closed", "a comment in it is not closed"),
        ("mysql", "select 1 /*! into outfile '/tmp/x' */", "comment that is executed"),
        ("mysql", "select 1 /*M!100100 into outfile '/tmp/x' */", "comment that is executed"),
        ("mysql", "select 1 into outfile '/tmp/x'", "'into', which writes its result"),
        ("mysql", "select 1 # '\n ; drop table t -- '", "more than one statement"),
        ("mysql", "select 1 --1 ; drop table t", "more than one statement"),
        ("mysql", "select 'a\\' ; drop table t -- '", "a quote after a backslash"),
        ("mysql", "select `load_file`('/etc/passwd')", "calls load_file"),
        ("mysql", "select * from t lock in share mode", "locks records"),
        ("sqlite", "select load_extension('x')", "calls load_extension"),
        ("sqlite", "select 1; attach 'x' as y", "more than one statement"),
        ("sqlite", "select [a from t", "not closed"),
        ("sqlite", "select 1) as a union select (2", "parentheses"),
        ("sqlite", "select 1\x00", "NUL character"),
        ("sqlite", "-- nothing", "is empty"),
    ],
)
def test_a_query_that_does_more_than_read_is_not_sent(dialect: str, query: str, reason: str) -> None:
    refused = refusal(query, dialect)

    assert refused is not None
    assert reason in refused
    with pytest.raises(NotReadOnly):
        read_only("shop", query, dialect)


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("postgresql", "select $$;$$, $a$ delete; $a$, e'\\'', 'a\\' from t where a[1:2] is not null"),
        ("postgresql", "with x as materialized (select replace(a, 'x', ';') from t) table x"),
        ("postgresql", 'select "delete", updated_at, substring(a for 3) from t /* /* ; */ */'),
        ("mysql", "select insert(a, 1, 2, 'x'), 'it''s', \"; drop\" from `update` # ;\n"),
        ("sqlite", 'select [a;b], "c;" from t -- ;'),
        ("duckdb", "from_x as a select 1".removeprefix("from_x as a ")),
    ],
)
def test_a_query_that_only_looks_as_if_it_wrote_is_sent(dialect: str, query: str) -> None:
    assert refusal(query, dialect) is None
    assert read_only("shop", f"{query};", dialect).startswith(query[:20])


def test_the_slot_is_put_in_place_of_its_parameter_only() -> None:
    query = "select ':slot', a[1:slots], b::slot, \":slot\", :slot -- :slot"

    replaced = with_value(query, "slot", "X", "postgresql")

    assert replaced == "select ':slot', a[1:slots], b::slot, \":slot\", X -- :slot"


FILES = """\
sources: {exports: {type: files, root: .}}
datasets: {charges: {source: exports, path: charges.csv, id: id}}
rules:
  odd:
    kind: sql
    dataset: charges
    query: select 1
"""
SQLITE = FILES.replace("{type: files, root: .}", "{type: sql, url: 'sqlite:///shop.db'}").replace(
    "path: charges.csv", "table: c"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FILES, "7:12: `query` is refused: it does not read `charges`, whose records it must return; select from it"),
        (
            SQLITE.replace("select 1", "delete from charges"),
            "7:12: `query` is refused: it starts with 'delete'; write a single read-only select",
        ),
        (SQLITE.replace("    query: select 1\n", ""), "4:3: rule `odd` needs `query`; add it"),
        (SQLITE + "    where: id > 1\n", "8:12: `where`: a rule of kind sql has no where; put the condition in its"),
        (
            SQLITE + "    engine: pushdown\n",
            "8:13: `engine`: the source of its dataset decides where the query runs; remove",
        ),
        (SQLITE + "    minimum: 0\n", "8:14: `minimum`: `0` must be at least 1"),
        (SQLITE + "    key: [id]\n", "8:5: `key` is not known here; "),
        (SQLITE + "    examples: [{given: [], expect: []}]\n", "8:5: `examples`: only the database can run its query"),
    ],
)
def test_a_mistake_in_a_sql_rule_is_told_with_its_place(text: str, expected: str, tmp_path: Path) -> None:
    told = problems(tmp_path, text)

    assert any(sentence.startswith(expected) for sentence in told), told
