"""Every column a rule reads is read as its dataset declares it, whatever the rule does with it and on every engine."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import sqlalchemy as sa

from tests.support.cli import Project
from tests.support.servers import MARIADB, POSTGRES, scratch_database

TABLE = "create table things (id integer primary key, word integer, d varchar(20), at varchar(40), n varchar(20))"
ROWS = [
    (1, 1, "20", "2026-03-01T12:00:00+02:00", "-"),
    (2, 1, "100", "2026-03-01T11:00:00+00:00", "-"),
    (3, 1, "3", "2026-03-01T10:30:00Z", "x"),
    (4, 2, " ", "", "-"),
    (5, 2, "-", "2026-03-01", None),
    (6, 3, "junk", None, "y"),
    (7, 3, "7,5", "2026-03-02T01:00:00+05:00", ""),
]
COLUMNS = "columns: {d: decimal, at: instant, half: {is: d * 0.5}}, null_values: ['-'], decimal: ','"
USES = {
    "keep last": "keep: [{last: d}]",
    "keep smallest": "keep: [{min: d}]",
    "keep first": "keep: [{first: at}]",
    "keep preferred": "keep: [{prefer: {n: ['-', x]}}]",
    "keep most complete": "keep: [most_complete]",
    "keep derived": "keep: [{max: half}]",
    "having sum": "having: sum(d) > 100",
    "having max": "having: max(at) > min(at)",
    "having count": "having: count_distinct(n) = 1",
    "having derived": "having: sum(half) > 10",
}
MONEY = "money: {amount: d, currency: EUR}"


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "mysql"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database with the table."""
    servers = {"postgresql": POSTGRES, "mysql": MARIADB}
    if request.param not in servers:
        yield prepared(f"sqlite:///{tmp_path_factory.mktemp('declared') / 'things.db'}")
        return
    for created in scratch_database(servers[request.param]):
        yield prepared(created)


def prepared(url: str) -> str:
    execute(url, TABLE)
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.begin() as connection:
        names = ("id", "word", "d", "at", "n")
        rows = [dict(zip(names, row, strict=True)) for row in ROWS]
        connection.execute(sa.text("insert into things values (:id, :word, :d, :at, :n)"), rows)
    return url


def execute(url: str, *statements: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def findings(folder: Path, url: str, engine: str, rule: str, dataset: str) -> Any:
    """What a run finds: keepers, surplus, what findings show, and what was skipped; or its exit code and sentence."""
    project = Project(folder).write(f"""\
        version: 1
        sources: {{shop: {{type: sql, url: "{url}"}}}}
        datasets: {{things: {{source: shop, table: things, id: id, {dataset}}}}}
        rules: {{twins: {{kind: duplicates, dataset: things, engine: {engine}, {rule}}}}}
        """)
    answer = project("run", "--rule", "twins", "--dry-run", "--json")
    if answer.code not in (0, 1):
        return answer.code, answer.said
    [rule_report] = answer.json["rules"]
    collected = [(finding["keeper"], finding["surplus"], finding.get("money")) for finding in answer.json["findings"]]
    skipped = [item for item in rule_report["skipped"] if "first" not in item]
    return collected, rule_report["read"], rule_report["scanned"], skipped, rule_report["money"]


@pytest.mark.server
@pytest.mark.parametrize("use", USES)
def test_a_declared_column_means_the_same_in_every_use_on_every_engine(url: str, use: str, tmp_path: Path) -> None:
    rule, dataset = f"key: [word], {USES[use]}", f"{COLUMNS}, {MONEY}"

    expected = findings(tmp_path, url, "embedded", rule, dataset)

    assert isinstance(expected[0], list), expected
    for engine in ("pushdown", "auto"):
        assert (engine, findings(tmp_path, url, engine, rule, dataset)) == (engine, expected)


def test_the_largest_decimal_is_kept_and_not_the_last_text(tmp_path: Path) -> None:
    url = prepared(f"sqlite:///{tmp_path}/things.db")

    finding, *_ = findings(tmp_path, url, "pushdown", "key: [word], keep: [{last: d}]", COLUMNS)

    assert [keeper for keeper, *_ in finding] == [[2], [4], [7]]


def test_what_cannot_be_read_as_declared_is_told_by_a_pushed_down_rule_too(tmp_path: Path) -> None:
    url = prepared(f"sqlite:///{tmp_path}/things.db")
    project = Project(tmp_path).write(f"""\
        version: 1
        sources: {{shop: {{type: sql, url: "{url}"}}}}
        datasets: {{things: {{source: shop, table: things, id: id, {COLUMNS}}}}}
        rules: {{twins: {{kind: duplicates, dataset: things, engine: pushdown, key: [word], keep: [{{last: d}}]}}}}
        """)

    answer = project("run", "--rule", "twins", "--dry-run", "--json")

    [unreadable] = [rule for rule in answer.json["rules"][0]["skipped"] if "first" in rule]
    assert (unreadable["column"], unreadable["records"]) == ("d", 1)
    assert unreadable["reason"] == "not a decimal with at most 26 digits before the mark and 12 after it"


FLAGS: Mapping[str, str] = {
    "a key": "key: [flag]",
    "where": "key: [word], where: flag",
    "keep": "key: [word], keep: [{prefer: {flag: ['true']}}]",
    "distinct": "key: [word], distinct: flag",
}


@pytest.mark.server
@pytest.mark.parametrize("use", FLAGS)
def test_a_tinyint_of_mariadb_that_holds_two_is_refused_by_every_engine(
    use: str, mariadb_url: str, tmp_path: Path
) -> None:
    execute(
        mariadb_url,
        "create table things (id int primary key, word varchar(9), flag tinyint(1))",
        "insert into things values (1, 'a', 1), (2, 'a', 1), (3, 'c', 2), (4, 'd', 0)",
    )

    for engine in ("embedded", "pushdown"):
        code, finding = findings(tmp_path, mariadb_url, engine, FLAGS[use], "pii: []")
        assert (engine, code) == (engine, 3), finding
        assert "Column 'flag'" in finding
        assert "not a boolean, 0 or 1" in finding
        assert "columns: {flag: integer}" in finding


@pytest.mark.server
@pytest.mark.parametrize("use", FLAGS)
def test_a_tinyint_of_mariadb_that_holds_true_and_false_is_a_boolean_on_every_engine(
    use: str, mariadb_url: str, tmp_path: Path
) -> None:
    execute(
        mariadb_url,
        "create table things (id int primary key, word varchar(9), flag tinyint(1))",
        "insert into things values (1, 'a', 1), (2, 'a', 1), (3, 'a', 0), (4, 'd', null)",
    )

    expected = findings(tmp_path, mariadb_url, "embedded", FLAGS[use], "pii: []")

    assert expected[0]
    assert findings(tmp_path, mariadb_url, "pushdown", FLAGS[use], "pii: []") == expected


@pytest.mark.server
def test_a_value_that_the_database_compares_otherwise_makes_auto_read_and_pushdown_an_error(
    postgres_url: str, tmp_path: Path
) -> None:
    execute(
        postgres_url,
        "create table things (id int primary key, word int, day date)",
        "insert into things values (1, 1, 'infinity'), (2, 1, 'infinity'), (3, 2, '2026-03-01'), (4, 2, '2026-03-01')",
    )
    rule = "key: [word], keep: [{last: day}]"

    expected = findings(tmp_path, postgres_url, "embedded", rule, "pii: []")

    assert findings(tmp_path, postgres_url, "auto", rule, "pii: []") == expected
    code, finding = findings(tmp_path, postgres_url, "pushdown", rule, "pii: []")
    assert code == 3
    assert "Column 'day'" in finding
    assert "use `engine: embedded`" in finding


HOMES = {
    "csv": ("{type: files, root: .}", "{source: home, path: a.csv, columns: {amount: decimal, n: integer}, id: id}"),
    "xlsx": ("{type: workbook, path: a.xlsx}", "{source: home, columns: {amount: decimal, n: integer}, id: id}"),
}


@pytest.mark.slow
@pytest.mark.parametrize("where", ["amount + 2.5 >= 20", "amount * 1000 >= 20", "n * n <> 10.5"])
@pytest.mark.parametrize("kind", HOMES)
def test_a_result_of_more_than_38_digits_ends_the_rule_with_a_sentence(tmp_path: Path, where: str, kind: str) -> None:
    rows = [
        ["id", "amount", "ref", "n"],
        ["1", "9" * 26, "x", str(2**62)],
        ["2", "30", "y", "3"],
        ["3", "30", "y", "3"],
    ]
    (tmp_path / "a.csv").write_text("\n".join(map(",".join, rows)) + "\n")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    source, dataset = HOMES[kind]
    shop = Project(tmp_path).write(
        f"""
        version: 1
        state: sqlite:///state.db
        sources: {{home: {source}}}
        datasets: {{a: {dataset}}}
        rules: {{twins: {{kind: duplicates, dataset: a, key: ref, where: "{where}"}}}}
        jobs: {{nightly: {{rules: [twins]}}}}
        """
    )
    answer = shop("run")
    assert answer.code == 3, answer.said
    assert "a sum, a difference or a product in the rule has more than 38 digits" in " ".join(answer.said.split())
