"""Kind `sql` over files: DuckDB runs the query here, over declared datasets and nothing else."""

import datetime as dt
import decimal
import gzip
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from openpyxl import Workbook

from rules.engines.base import OutOfMemory, Relation, Streamed
from rules.engines.compile import Columns
from rules.engines.select import Select, SelectRefused, parse_select
from rules.engines.tables import QuerySession, QueryTable
from rules.models.calendar import ONLY_WEEKENDS
from rules.values import schema_from_arrow
from tests.support.cli import Answer, Project
from tests.support.config import problems
from tests.support.servers import execute

SLOT = dt.datetime(2026, 1, 31, tzinfo=dt.UTC)
LINES = """\
line,booked,amount,balance,holder
1,2026-01-02,-10.00,90.00,Ann Example
2,2026-01-03,-5.00,85.00,Ann Example
3,2026-01-04,-5.00,75.00,Bob Example
4,2026-01-05,25.00,100.00,Bob Example
"""
CONFIGURATION = """\
version: 1
sources: {bank: {type: files}}
datasets:
  lines:
    source: bank
    path: lines.csv
    id: line
    columns: {line: integer, booked: date, amount: decimal, balance: decimal}
rules:
  broken-balance:
    kind: sql
    dataset: lines
"""
BROKEN = """\
query: |
  select line as group_key, line, balance - amount as expected from (
    select *, lag(balance) over (order by line) as former from lines
  ) where balance <> former + amount
"""


@pytest.fixture
def bank(tmp_path: Path) -> Project:
    (tmp_path / "lines.csv").write_text(LINES)
    return Project(tmp_path)


def run(bank: Project, rule: str, *words: str, datasets: str = "", configuration: str = CONFIGURATION) -> Answer:
    before, rules, after = configuration.partition("rules:\n")
    bank.write(before + textwrap.indent(datasets, "  ") + rules + after + textwrap.indent(rule, "    "))
    return bank(*(words or ("run", "--slot", "2026-01-31T00:00", "--json")))


def keys(bank: Project, rule: str, datasets: str = "", configuration: str = CONFIGURATION) -> list[object]:
    """The keys of the rule's findings after a run."""
    answer = run(bank, rule, datasets=datasets, configuration=configuration)
    assert answer.code in (0, 1), answer.said
    listed = run(bank, rule, "findings", "--json", "--show", datasets=datasets, configuration=configuration)
    return sorted(finding["key"]["group_key"] for finding in listed.json)


# What a query finds


@pytest.mark.slow
def test_a_query_over_a_file_finds_what_needs_the_previous_record(bank: Project) -> None:
    [result] = run(bank, BROKEN).json["rules"]

    [finding] = run(bank, BROKEN, "findings", "--json", "--show").json
    assert (result["engine"], result["read"], result["scanned"]) == ("embedded", 4, 4)
    assert (finding["kind"], finding["key"], finding["keeper"], finding["surplus"]) == (
        "sql",
        {"group_key": 3},
        [3],
        [],
    )


@pytest.mark.slow
def test_a_finding_is_known_again_and_resolved_when_the_query_lists_it_no_more(bank: Project) -> None:
    counts = []
    for lines in (LINES, LINES, LINES.replace("75.00", "80.00").replace("100.00", "105.00")):
        (bank.folder / "lines.csv").write_text(lines)
        [result] = run(bank, BROKEN, "run", "--json").json["rules"]
        counts.append([result["findings"][state] for state in ("new", "known", "resolved")])

    assert counts == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.slow
def test_a_dry_run_and_explain_show_what_a_run_finds_and_store_nothing(bank: Project) -> None:
    rehearsal = run(bank, BROKEN, "run", "--dry-run", "--json")
    explained = run(bank, BROKEN, "explain", "broken-balance")
    sql = run(bank, BROKEN, "explain", "broken-balance", "--sql")

    assert [rule["groups"] for rule in rehearsal.json["rules"]] == [1], rehearsal.said
    assert "1 group with 1 record, of 4 read" in explained.out
    assert "what its query over `lines` returns" in explained.out
    assert "lag(balance) over (order by line)" in sql.out
    assert not (bank.folder / "reconcile.db").exists()


@pytest.mark.slow
def test_a_query_reads_every_dataset_that_it_names_from_any_source(bank: Project) -> None:
    execute(
        f"sqlite:///{bank.folder}/shop.db",
        "create table holders (name text)",
        "insert into holders values ('Bob Example')",
    )
    book = Workbook()
    for row in (("day", "open"), ("2026-01-02", "yes"), ("2026-01-04", "no")):
        book.active.append(row)
    book.save(bank.folder / "days.xlsx")
    more = CONFIGURATION.replace(
        "{bank: {type: files}}",
        "{bank: {type: files}, shop: {type: sql, url: 'sqlite:///shop.db'}, book: {type: workbook, path: days.xlsx}}",
    )
    datasets = """\
holders: {source: shop, table: holders}
bank-days: {source: book, columns: {day: date}, where: open <> 'yes'}
"""
    rule = """\
query: |
  select h.name as group_key, l.line from LINES l
  join holders h on h.name = l.holder join "bank-days" d on d.day = l.booked
"""

    group_keys = keys(bank, rule, datasets, more)
    [result] = run(bank, rule, datasets=datasets, configuration=more).json["rules"]

    assert group_keys == ["Bob Example"]
    assert result["read_of"] == {"lines": 4, "holders": 1, "bank-days": 2}
    assert result["scanned_of"] == {"lines": 4, "holders": 1, "bank-days": 1}


@pytest.mark.slow
def test_where_derived_columns_empty_values_and_the_slot_are_those_of_the_dataset(bank: Project) -> None:
    (bank.folder / "lines.csv").write_text(LINES + "5,2026-02-01,1,1,Zoe\n6,2026-01-06,,1, \n")
    more = CONFIGURATION.replace(
        "balance: decimal}", "balance: decimal, cents: {is: amount * 100}}\n    where: amount < 20"
    )
    rule = """\
query: |
  select line as group_key, line, cents from lines where booked < :slot and cents < 0 and holder is not null
"""

    group_keys = keys(bank, rule, configuration=more)
    [result] = run(bank, rule, configuration=more).json["rules"]

    assert group_keys == [1, 2, 3]
    assert (result["read"], result["scanned"]) == (6, 4)
    assert [(entry["column"], entry["records"]) for entry in result["skipped"]] == [("where", 1)]


@pytest.mark.slow
def test_rows_of_one_key_are_a_group_with_the_keeper_and_the_money_of_the_query(bank: Project) -> None:
    more = CONFIGURATION.replace("id: line", "id: line\n    money: {amount: amount, currency: EUR}")
    rule = "query: select holder as group_key, line, amount, booked from lines\nminimum: 2\nkeep: {last: booked}\n"

    run(bank, rule, configuration=more)
    findings = run(bank, rule, "findings", "--json", "--show", configuration=more).json

    assert sorted((f["key"]["group_key"], f["keeper"], f["surplus"], f["money"]) for f in findings) == [
        ("Ann Example", [2], [[1]], {"EUR": "10.00"}),
        ("Bob Example", [4], [[3]], {"EUR": "5.00"}),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "select line as group_key, -line as line from lines",
        "select line as group_key, line, balance as amount from lines",
        "select line as group_key, line, length(holder)::decimal(9,2) as amount from lines",
        "select a.line as group_key, a.line, b.amount from lines a join lines b on b.line = 5 - a.line",
    ],
)
def test_an_id_or_an_amount_that_the_query_computes_is_never_shown_as_a_records_own(query: str, bank: Project) -> None:
    more = CONFIGURATION.replace("id: line", "id: line\n    pii: [holder]\n    money: {amount: amount, currency: EUR}")

    answer = run(bank, f"query: {query}\n", configuration=more)

    assert answer.code == 3
    [failed] = [rule["failed"] for rule in answer.json["rules"]]
    assert "returned values of `line`" in failed
    assert "that no record of dataset 'lines' has (rows: " in failed
    assert "Ann" not in answer.said


@pytest.mark.slow
def test_an_empty_id_or_amount_is_no_stranger(bank: Project) -> None:
    more = CONFIGURATION.replace("id: line", "id: line\n    money: {amount: amount, currency: EUR}")
    query = "select line as group_key, nullif(line, 1) as line, nullif(amount, -5) as amount from lines"

    assert keys(bank, f"query: {query}\n", configuration=more) == [2, 3, 4]


# What keeps findings from being wrong


@pytest.mark.slow
def test_a_file_that_became_empty_fails_the_rule_and_keeps_its_findings(bank: Project) -> None:
    run(bank, BROKEN)
    (bank.folder / "lines.csv").write_text(LINES.splitlines()[0] + "\n")

    answer = run(bank, BROKEN, "run", "--json")

    [rule] = answer.json["rules"]
    assert answer.code == 3
    assert rule["failed"].startswith("Dataset 'lines' is empty, but had 4 records in the previous run.")
    assert len(run(bank, BROKEN, "findings", "--json").json) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("query: select line as group_key, line from lines\nlimit: 2\n", "returned more than 2 rows."),
        ("query: select null as group_key, line from lines\n", "group_key is null in 4 rows of its query."),
        ("query: select holder::integer as group_key, line from lines\n", "a value cannot be converted"),
        (
            "query: select line as group_key, line from lines where strptime(holder, '%Y') is null\n",
            "DuckDB stopped it",
        ),
    ],
)
def test_a_query_that_fails_is_one_sentence_without_values(rule: str, sentence: str, bank: Project) -> None:
    answer = run(bank, rule)

    [result] = answer.json["rules"]
    assert answer.code == 3
    assert sentence in result["failed"]
    assert "broken-balance" in result["failed"]
    assert not any(word in answer.said for word in ("Ann", "Bob", "Traceback", "LINE 1"))


@pytest.mark.slow
def test_unchanged_files_are_read_again_with_the_reason(bank: Project) -> None:
    content = CONFIGURATION.replace("id: line", "id: line\n    incremental: {by: content}")
    run(bank, BROKEN, configuration=content)
    run(bank, BROKEN, "run", "--json", configuration=content)

    [result] = run(bank, BROKEN, "run", "--json", configuration=content).json["rules"]

    assert (result["mode"], result["findings"]["known"]) == ("full", 1)
    assert "findings of kind `sql`" in result["mode_reason"]


@pytest.mark.slow
@pytest.mark.parametrize("who", ["lines", "people"])
def test_personal_data_of_any_dataset_hides_all_but_the_id_and_the_amount(who: str, bank: Project) -> None:
    (bank.folder / "people.csv").write_text("name\nBob Example\n")
    pii = {"lines": "", "people": ""} | {who: ", pii: [holder]" if who == "lines" else ", pii: [name]"}
    more = CONFIGURATION.replace("id: line", f"id: line{pii['lines'].replace(', ', chr(10) + '    ')}")
    datasets = f"people: {{source: bank, path: people.csv{pii['people']}}}\n"
    rule = """\
query: |
  select upper(name) as group_key, line, lower(name) as quiet, 7 as seven from lines join people on name = holder
"""

    run(bank, rule, datasets=datasets, configuration=more)
    for words in (("findings", "--json"), ("findings",), ("explain", "broken-balance"), ("run", "--dry-run")):
        answer = run(bank, rule, *words, datasets=datasets, configuration=more)

        assert answer.code in (0, 1), answer.said
        assert "bob example" not in answer.said.lower()
    [finding] = run(bank, rule, "findings", "--json", datasets=datasets, configuration=more).json
    assert finding["keeper"] == [3]


@pytest.mark.slow
def test_cleaning_a_compressed_file_by_a_query_is_refused(bank: Project) -> None:
    (bank.folder / "lines.csv.gz").write_bytes(gzip.compress(LINES.encode()))
    compressed = CONFIGURATION.replace("path: lines.csv", "path: lines.csv.gz")

    answer = run(bank, BROKEN + "clean: {action: delete}\n", "check", configuration=compressed)

    assert answer.code == 2
    assert "it is compressed, and only plain CSV files can be changed" in answer.said


@pytest.mark.slow
def test_a_query_that_takes_too_long_is_stopped_at_the_limit_of_the_job(bank: Project) -> None:
    limited = CONFIGURATION.replace("rules:\n", "jobs: {daily: {rules: all, time_limit: 2s}}\nrules:\n")
    endless = (
        "query: select sum(a.range * b.range) as group_key, 1 as line from lines, range(10000000) a, range(10000000) b"
    )

    answer = run(bank, endless, configuration=limited)

    [rule] = answer.json["rules"]
    assert "timed out after 2s" in rule["failed"]
    assert answer.seconds < 60


@pytest.mark.slow
def test_names_of_datasets_that_duckdb_or_we_use_are_only_names(bank: Project) -> None:
    datasets = "".join(
        f"{name}: {{source: bank, path: lines.csv, id: line, columns: {{line: integer}}}}\n"
        for name in ("arriving", "answer", "loaded_0", "reconcile", "main", "select", "_weiß.2")
    )
    rule = """\
query: |
  select l.line as group_key, l.line from lines l
  join arriving using (line) join answer using (line) join loaded_0 using (line) join reconcile using (line)
  join main using (line) join "select" using (line) join "_weiß.2" using (line)
"""

    assert keys(bank, rule, datasets) == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_dataset_without_id_and_one_of_a_duckdb_file_are_read(bank: Project) -> None:
    with duckdb.connect(bank.folder / "lake.duckdb") as lake:
        lake.execute("create table days as select date '2026-01-04' as day, 'Bob Example' as name")
    more = CONFIGURATION.replace(
        "{bank: {type: files}}", "{bank: {type: files}, lake: {type: duckdb, path: lake.duckdb}}"
    )
    more = more.replace("    dataset: lines", "    dataset: days")
    rule = "query: select day as group_key, name, balance from days join lines on booked = day"
    datasets = "days: {source: lake, table: days}\n"

    first, again = (run(bank, rule, "run", "--json", datasets=datasets, configuration=more).json for _ in range(2))

    assert [rule["findings"]["new"] for rule in first["rules"]] == [1]
    assert [rule["findings"]["known"] for rule in again["rules"]] == [1]


@pytest.mark.slow
def test_examples_say_what_the_query_finds_in_records_of_each_dataset(bank: Project) -> None:
    (bank.folder / "lines.csv").unlink()
    datasets = "people: {source: bank, path: people.csv}\n"
    rule = """\
query: select line as group_key, line from lines where holder not in (select name from people)
examples:
  - given:
      lines: [{line: 1, holder: Ann}, {line: 2, holder: Bob}]
      people: [{name: Ann}]
    expect: [{keep: 2}]
  - given: [{line: 1, holder: Ann}]
    expect: [{keep: 1}]
"""

    answer = run(bank, rule, "test", "--json", datasets=datasets)
    wrong = run(bank, rule.replace("not in", "in"), "test", "--json", datasets=datasets)
    unread = run(bank, rule.replace("people: [", "poeple: ["), "check", datasets=datasets)

    assert (answer.code, answer.json["passed"]) == (0, 2), answer.said
    assert (wrong.code, wrong.json["failed"]) == (1, 2)
    assert "the rule reads no dataset `poeple`; did you mean `people`?" in unread.said


# What check says


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("select line from lines", "Its query does not return `group_key`; select it."),
        ("select 1 as group_key from lines", "Its query does not return `line`; select it."),
        ("select 1 as group_key, 'x' as line from lines", "Its query returns `line` as text, but in the dataset of"),
        ("select amuont as group_key, line from lines", "13:5: Rule 'broken-balance' does not fit dataset `lines`: "),
        ("select amuont as group_key, line from lines", 'Referenced column "amuont" not found'),
    ],
)  # fmt: skip
def test_check_says_what_the_answer_of_a_query_lacks(query: str, sentence: str, bank: Project) -> None:
    answer = run(bank, f"query: {query}\n", "check")

    assert answer.code == 2, answer.said
    assert sentence in answer.said
    assert "Traceback" not in answer.said


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("selec 1", 'DuckDB cannot read it: syntax error at or near "selec"'),
        ("delete from lines", "it is no select"),
        ("select 1; select 2", "it holds more than one statement"),
        ("select * from linse", "it reads `linse`, but there is no such dataset; did you mean `lines`?"),
        ("select 1 as group_key", "it does not read `lines`, whose records it must return; select from it"),
        ("select * from lines where line = $line", "it holds a parameter; only `:slot` has a value"),
        ("select * from main.lines", "it reads `main.lines`, but there is no such dataset"),
    ],
)
def test_a_query_that_is_refused_is_told_with_its_place(query: str, reason: str, tmp_path: Path) -> None:
    mistakes = problems(tmp_path, CONFIGURATION + f"    query: {query}\n")

    assert any(sentence.startswith(f"13:12: `query` is refused: {reason}") for sentence in mistakes), mistakes


# What a query cannot reach


OUTSIDE = (
    "select * from read_csv('/etc/passwd'), lines",
    "select * from '/etc/passwd', lines",
    "select * from lines where line in (select 1 from read_text('/etc/passwd'))",
    "with x as (from read_blob('/etc/passwd')) select * from x, lines",
    "select * from glob('/*'), lines",
    "select * from sniff_csv('/etc/passwd'), lines",
    "copy lines to '/tmp/lines.csv'",
    "copy (select * from lines) to '/tmp/lines.csv'",
    "export database '/tmp/lines'",
    "attach '/tmp/other.db' as other",
    "install httpfs",
    "load httpfs",
    "pragma database_list",
    "set memory_limit = '100GB'",
    "set enable_external_access = true",
    "reset memory_limit",
    "create table other as select 1",
    "insert into lines values (1)",
    "with x as (insert into lines values (1) returning *) select * from x",
    "with x as (delete from lines returning *) select * from x, lines",
    "drop table lines",
    "explain select * from lines",
    "describe lines",
    "summarize lines",
    "show tables",
    "from (show all tables), lines",
    "call pragma_version()",
    "select 1; drop table lines",
    "select * from lines) to '/tmp/x'; --",
    "select getenv('HOME') from lines",
    "select current_setting('s3_secret_access_key') from lines",
    "select main.current_setting('temp_directory') from lines",
    "select getvariable('x') from lines",
    "select * from duckdb_secrets(), lines",
    "select * from duckdb_settings(), lines",
    "select * from system.main.duckdb_settings(), lines",
    "select * from duckdb_tables, lines",
    "select * from information_schema.tables, lines",
    "select * from sqlite_master, lines",
    "select * from (with duckdb_tables as (select 1) select 1), duckdb_tables, lines",
    "select * from query('select 1'), lines",
    "select * from query_table('lines'), lines",
    "select json_serialize_plan('select * from read_csv(''/etc/passwd'')') from lines",
    "select json_execute_serialized_sql('{}') from lines",
    "from json_execute_serialized_sql('{}'), lines",
    "select nextval('x') from lines",
    "select write_log('x') from lines",
    "select error(holder) from lines",
    "select sleep_ms(100000) from lines",
    "select random() from lines",
    "select python_0_1(holder) from lines",
    "select \x00 from lines",
    "select " + "(" * 5_000 + "1" + ")" * 5_000 + " from lines",
)


@pytest.mark.parametrize("query", OUTSIDE)
def test_a_query_that_reaches_outside_its_datasets_is_refused(query: str) -> None:
    with pytest.raises(SelectRefused):
        parse_select(query).datasets(["lines"])


@pytest.mark.parametrize(
    "query",
    [
        "select n from lines where booked < now()",
        "select n from lines where booked < current_date",
        "select n, Current_Timestamp from lines",
        "select n, localtime from lines",
        "select n, user from lines",
        "select n, age(booked) from lines",
        "select n from lines using sample 1 rows",
        "select n from lines tablesample 50%",
        "select n from (select n from lines tablesample reservoir(1))",
    ],
)
def test_a_query_that_answers_otherwise_in_another_run_is_refused(query: str) -> None:
    with pytest.raises(SelectRefused):
        parse_select(query)


def test_a_column_with_a_word_of_duckdb_and_the_age_of_two_times_are_allowed() -> None:
    parse_select("select l.user, l.current_date, age(:slot, booked) from lines l")


def test_every_function_of_duckdb_that_depends_on_more_than_its_arguments_is_refused() -> None:
    with duckdb.connect() as con:
        functions = con.execute(
            "select distinct function_name from duckdb_functions() "
            "where stability in ('VOLATILE', 'CONSISTENT_WITHIN_QUERY') and function_type in ('scalar', 'aggregate')"
        ).fetchall()

    assert len(functions) > 20
    for (name,) in functions:
        with pytest.raises(SelectRefused, match=name):
            parse_select(f"select {name}(1) from lines")


def test_every_function_of_duckdb_with_side_effects_is_refused() -> None:
    """A new version of DuckDB may bring more of them."""
    with duckdb.connect() as con:
        functions = con.execute(
            "select distinct function_name from duckdb_functions() where has_side_effects"
        ).fetchall()

    assert len(functions) > 10
    for (name,) in functions:
        with pytest.raises(SelectRefused, match=name):
            parse_select(f"select {name}(1) from lines")


NUMBERS = pa.table({"n": pa.array(range(5), pa.int64()), "name": ["a", "b", "c", "d", " "]})


def table_of(select: Select, records: pa.Table = NUMBERS) -> QueryTable:
    relation = Relation("numbers", schema_from_arrow(records.schema), ("n",))
    return QueryTable.of(relation, Columns.of(relation.schema, {}, "UTC", ONLY_WEEKENDS), select)


def session_of(query: str, records: pa.Table = NUMBERS, memory: str | None = None) -> QuerySession:
    def read(columns: tuple[str, ...]) -> pa.RecordBatchReader:
        return pa.Table.to_reader(records.select(columns), max_chunksize=100_000)

    return QuerySession((table_of(parse_select(query), records),), {"numbers": Streamed(read)}, SLOT, memory)


def rows_of(query: str) -> Sequence[Mapping[str, object]]:
    with session_of(query) as session:
        session.prepare(parse_select(query))
        rows: list[Mapping[str, object]] = session.answer(100).to_pylist()
    return rows


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("select * from read_csv('/etc/passwd')", duckdb.PermissionException),
        ("select * from read_text('/etc/passwd')", duckdb.PermissionException),
        ("select * from glob('/etc/*')", duckdb.PermissionException),
        ("select * from '/etc/passwd'", duckdb.CatalogException),
        ("select * from NUMBERS_HERE", duckdb.CatalogException),
        ("select * from duckdb_secrets()", duckdb.Error),
        ("copy (select 1) to '/tmp/reconcile-copied.csv'", duckdb.PermissionException),
        ("attach '/tmp/reconcile-attached.db'", duckdb.PermissionException),
        ("install httpfs", duckdb.PermissionException),
        ("load httpfs", duckdb.PermissionException),
        ("set enable_external_access = true", duckdb.InvalidInputException),
        ("set memory_limit = '100GB'", duckdb.InvalidInputException),
        ("reset memory_limit", duckdb.InvalidInputException),
        ("set lock_configuration = false", duckdb.InvalidInputException),
        ("pragma threads = 64", duckdb.InvalidInputException),
    ],
)
def test_the_session_itself_is_closed_to_what_the_parser_would_miss(
    statement: str, error: type[Exception], tmp_path: Path
) -> None:
    NUMBERS_HERE = NUMBERS  # noqa: F841, N806 - DuckDB would find a variable of Python under its name

    with session_of("select n from numbers") as session, pytest.raises(error):
        session.run(statement)


def test_a_constant_is_not_computed_where_no_limit_holds() -> None:
    query = "select n, list_sum(range(100000000)) as total from numbers"

    with session_of(query) as session:
        begun = time.monotonic()
        session.prepare(parse_select(query))

    assert time.monotonic() - begun < 5, "computing it takes longer"


def test_a_query_within_the_limit_spills_and_one_beyond_it_fails() -> None:
    many = pa.table({"n": pa.array(range(600_000), pa.int64())})
    sorting = (
        "select n, md5(n::varchar) as digest, row_number() over (order by sha256(n::varchar)) as place from numbers"
    )
    with session_of(sorting, many, "100MB") as session:
        session.prepare(parse_select(sorting))
        assert session.answer(3).num_rows == 3

    collecting = "select string_agg(repeat(md5(n::varchar), 50), '') as n from numbers"
    with session_of(collecting, many, "100MB") as session:
        session.prepare(parse_select(collecting))
        with pytest.raises(OutOfMemory):
            session.answer(3)


# How a query is read


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("select n from numbers", ("n",)),
        ("select numbers.n from numbers where length(NAME) = 1", ("n", "name")),
        ("select count(*) as c from numbers", ("n",)),
        ("select * from numbers", ("n", "name")),
        ("select columns('n.*') from numbers", ("n", "name")),
        ("select x.* from numbers x", ("n", "name")),
        ("select hash(x) from numbers x", ("n", "name")),
        ("select hash(numbers) from numbers", ("n", "name")),
        ("select #2 from numbers", ("n", "name")),
        ("select a from numbers as x(a)", ("n", "name")),
        ("select x.n from numbers x natural join numbers y", ("n", "name")),
        ("select 1 as one from numbers x join numbers y using (name)", ("name",)),
        ("select n from numbers order by all", ("n", "name")),
        ("select n from (select n from numbers) where n in (select n from numbers)", ("n",)),
    ],
)  # fmt: skip
def test_only_the_columns_that_a_query_may_read_are_read(query: str, columns: tuple[str, ...]) -> None:
    assert table_of(parse_select(query)).needed == columns


@pytest.mark.parametrize(
    ("query", "datasets"),
    [
        ("select * from A, b", ("a", "b")),
        ('select * from "my.lines" union all table b', ("my.lines", "b")),
        ("with x as (select * from b), y as (from x) select * from y where n > (select max(n) from a)", ("b", "a")),
        ("select * from unnest([1, 2]), range(3), generate_series(1, 2), (values (1)) v, a", ("a",)),
        ("with recursive t as (select 1 as n union all select n + 1 from t where n < 9) from t, a", ("a",)),
        ("select * from a pivot (sum(n) for m in (1, 2))", ("a",)),
        ("select [x + 1 for x in [1]], {'k': 1}, n::date, case when n then 1 end from a", ("a",)),
    ],
)  # fmt: skip
def test_the_datasets_of_a_query_are_those_that_duckdb_reads_in_it(query: str, datasets: Sequence[str]) -> None:
    assert sorted(parse_select(query).datasets(["a", "b", "my.lines"])) == sorted(datasets)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select * from my.lines", 'it reads my.lines, which needs double quotes: "my.lines"'),
        ("select * from a, B", "names differ only in upper and lower case"),
        ("select * from b", "there is no such dataset"),
    ],
)
def test_a_name_that_is_no_single_dataset_is_refused(query: str, reason: str) -> None:
    with pytest.raises(SelectRefused, match=reason):
        parse_select(query.replace(", B", ", A")).datasets(["a", "A", "my.lines"])


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("select ':slot' as a, 'ü :slot' as b, \":slot\" as c from (select 1 as \":slot\") -- :slot", 0),
        ("select 'ä', :slot as a, $$ :slot $$, {'slot':1} /* :slot */", 1),
        ("select (:slot::date) as a, [1, 2][1:2] as b, :slot - interval 3 day", 2),
    ],
)
def test_the_slot_is_put_in_place_of_its_parameter_only(query: str, texts: int) -> None:
    assert parse_select(query).at(SLOT).count("timestamptz '2026-01-31 00:00:00.000000+00'") == texts


def test_values_of_an_answer_have_types_that_rules_have() -> None:
    query = """\
select n, nullif(name, 'a') as name, sum(n) over () as total, timestamp '2026-01-02 03:04:05' as naive,
  timestamptz '2026-01-02 03:04:05+01' as instant, date 'infinity' as never, date '0044-03-15 (BC)' as ides,
  [1, 2] as list, {'a': 1} as struct, interval 3 day as length, time '10:00' as time, 1.50 as price, true as yes,
  '1'::json as json, 1::ubigint as size, n as n
from numbers where name is null;
"""

    [row] = rows_of(query)

    assert row == {
        "n": 4,
        "name": None,
        "total": decimal.Decimal(4),
        "naive": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        "instant": dt.datetime(2026, 1, 2, 2, 4, 5, tzinfo=dt.UTC),
        "never": None,
        "ides": None,
        "list": "[1, 2]",
        "struct": "{'a': 1}",
        "length": "3 days",
        "time": "10:00:00",
        "price": decimal.Decimal("1.50"),
        "yes": True,
        "json": "1",
        "size": 1,
        "n_1": 4,
    }
