"""Examples of rules: what `reconcile test` runs, where it runs them, and what it says of those that fail."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.cli import Answer, Project, sqlite
from tests.support.servers import execute

pytestmark = pytest.mark.slow

FILES = """\
version: 1
sources: {shop: {type: files, root: .}}
datasets:
  charges:
    source: shop
    path: charges.csv
    id: id
    decimal: ","
    null_values: [none]
    columns: {amount: decimal, charged_at: "instant %d.%m.%Y %H:%M", gross: {is: amount * 2}}
rules:
  double-charge:
    kind: duplicates
    dataset: charges
    key: [order_id, amount]
    window: {charged_at: 15m}
    examples:
"""
ROWS = 'id,order_id,amount,charged_at\nc1,A,"20,00",01.03.2026 10:00\n'
TWICE = """\
- name: a charge a minute later
  given:
    - {id: c1, order_id: A, amount: "20,00", charged_at: 01.03.2026 10:00}
    - {id: c2, order_id: A, amount: "20,0", charged_at: 01.03.2026 10:01}
    - {id: c3, order_id: A, amount: "20,00", charged_at: 01.03.2026 11:00}
    - {id: c4, order_id: A, amount: none, charged_at: 01.03.2026 10:01}
    - {id: c5, order_id: A, charged_at: 01.03.2026 10:01}
  expect: [{keep: c1, surplus: [c2]}]
"""


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    (tmp_path / "charges.csv").write_text(ROWS, encoding="utf-8")
    return Project(tmp_path)


def run_examples(project: Project, examples: str, *words: str, base: str = FILES) -> Answer:
    return project.write(base + textwrap.indent(examples, " " * 6))("test", *words)


def test_records_are_read_with_the_notation_of_the_dataset(shop: Project) -> None:
    answer = run_examples(shop, TWICE)

    assert answer.code == 0, answer.said
    assert "ok      double-charge: a charge a minute later (embedded)" in answer.out
    assert "1 example: 1 passed, 0 failed." in answer.out
    assert "Not run by pushdown: `double-charge`, because source 'shop' cannot run queries." in answer.err


def test_a_failure_names_the_example_and_shows_each_group_that_differs(shop: Project) -> None:
    answer = run_examples(
        shop,
        """\
        - name: all of it wrong
          given:
            - {id: c1, order_id: A, amount: 1, charged_at: 01.03.2026 10:00}
            - {id: c2, order_id: A, amount: 1, charged_at: 01.03.2026 10:01}
            - {id: c3, order_id: B, amount: 1, charged_at: 01.03.2026 10:00}
            - {id: c4, order_id: B, amount: 1, charged_at: 01.03.2026 10:01}
            - {id: c5, order_id: C, amount: 1, charged_at: 01.03.2026 10:00}
            - {id: c6, order_id: D, amount: 1, charged_at: 01.03.2026 10:01}
          expect: [{keep: c2, surplus: c1}, {keep: c5, surplus: [c6]}]
        """,
    )

    assert answer.code == 1, answer.said
    assert answer.out.splitlines() == [
        "failed  double-charge: all of it wrong, reconcile.yaml:18",
        "        expected    keep c2, surplus c1",
        "        found       keep c1, surplus c2",
        "        missing     keep c5, surplus c6",
        "        unexpected  duplicate: keep c3, surplus c4",
        "1 example: 0 passed, 1 failed.",
    ]


def test_json_says_the_same(shop: Project) -> None:
    wrong = TWICE.replace("{keep: c1, surplus: [c2]}", "{keep: c3, surplus: [c4]}")

    document = run_examples(shop, wrong, "--json").json

    [rule] = document["rules"]
    [example] = rule["examples"]
    assert (document["passed"], document["failed"], example["line"], example["passed"]) == (0, 1, 18, False)
    assert example["engines"] == {
        "embedded": {
            "different": [],
            "missing": [{"keep": ["c3"], "surplus": ["c4"]}],
            "unexpected": [{"form": "duplicate", "keep": ["c1"], "surplus": ["c2"]}],
        }
    }


def test_nothing_expected_passes_only_if_nothing_is_found(shop: Project) -> None:
    none = TWICE.replace("[{keep: c1, surplus: [c2]}]", "[]")

    answer = run_examples(shop, none)

    assert answer.code == 1, answer.said
    assert "unexpected  duplicate: keep c1, surplus c2" in answer.out


def test_only_the_named_rules_are_tested_and_those_without_examples_are_named(shop: Project) -> None:
    base = FILES.replace("rules:\n", "rules:\n  plain: {kind: duplicates, dataset: charges, key: [order_id]}\n")

    everything, answer = run_examples(shop, TWICE, base=base), shop("test", "plain")

    assert "Without examples: `plain`." in everything.err
    assert (answer.code, answer.out) == (0, "0 examples: 0 passed, 0 failed.\n")
    assert shop("test", "plane").code == 2


def test_a_rule_over_its_slot_is_tested_at_the_time_of_the_example(shop: Project) -> None:
    base = FILES.replace("    window:", "    where: charged_at > slot() - 2d\n    window:")
    late = TWICE.replace("  given:", "  at: 2026-03-09T00:00\n  given:").replace("[{keep: c1, surplus: [c2]}]", "[]")

    answer = run_examples(shop, TWICE.replace("  given:", "  at: 2026-03-02T00:00Z\n  given:") + late, base=base)

    assert answer.code == 0, answer.said


def test_without_its_source_a_rule_is_tested_with_declared_and_inferred_types(tmp_path: Path) -> None:
    answer = run_examples(Project(tmp_path), TWICE)

    assert answer.code == 0, answer.said
    assert "Types of `id` and `order_id` in charges are inferred from the examples: " in answer.err


@pytest.mark.parametrize(
    ("value", "same"),
    [
        ("7", "7.0"),
        ("20.50", "20.5"),
        ("2026-03-01T10:00Z", "2026-03-01T11:00+01:00"),
    ],
)
def test_types_are_inferred_from_the_form_of_the_values(value: str, same: str, tmp_path: Path) -> None:
    equal = (
        f"- given: [{{id: 1, order_id: {value}}}, {{id: 2, order_id: {same}}}]\n  expect: [{{keep: 1, surplus: 2}}]\n"
    )
    quoted = f"- given: [{{id: 1, order_id: '{value}'}}, {{id: 2, order_id: '{same}'}}]\n  expect: []\n"
    base = FILES.replace("key: [order_id, amount]\n    window: {charged_at: 15m}", "key: [order_id]")

    assert run_examples(Project(tmp_path), equal, base=base).code == 0
    assert run_examples(Project(tmp_path), quoted, base=base).code == 0


def test_a_record_without_id_is_named_by_its_number(shop: Project) -> None:
    base = FILES.replace("    id: id\n", "").replace("[order_id, amount]\n    window: {charged_at: 15m}", "all")
    same = """\
    - given:
        - {id: c1, order_id: A}
        - {id: c2, order_id: A}
        - {id: c1, order_id: A}
      expect: [{keep: 1, surplus: [3]}]
    """

    answer = run_examples(shop, textwrap.dedent(same), base=base)

    assert answer.code == 0, answer.said


def test_an_id_of_several_columns_is_a_list(shop: Project) -> None:
    base = FILES.replace("id: id", "id: [id, order_id]").replace("[order_id, amount]", "[amount]")
    lists = TWICE.replace("keep: c1, surplus: [c2]", "keep: [c1, A], surplus: [[c2, A]]")

    assert run_examples(shop, lists, base=base).code == 0
    assert "keep [c1, A], surplus [c2, A]" in run_examples(shop, lists.replace("keep: [c1", "keep: [c3"), base=base).out


MISTAKES = {
    "- given: [{id: 1}]": "18:9: an example needs `expect`: the groups that the rule must find; [] for none",
    "- expect: []": "18:9: an example needs `given`: the records that the rule reads",
    "- {given: [{id: 1}], expects: [], expect: []}": "18:28: `expects` is not known here; did you mean `expect`?",
    "- {given: {1: 2}, expect: []}": "18:18: the rule reads no dataset `1`; known names: `charges`",
    "- {given: [[1]], expect: []}": "18:18: a record is a mapping of columns and values, like {id: 1, email: ",
    "- {given: [{id: [1]}], expect: []}": "18:23: a column has one value; quote it if it is a text with brackets",
    "- {given: [], expect: [{keeps: 1}]}": "18:31: `keeps` is not known here; did you mean `keep`?",
    "- {given: [], expect: {keep: 1}}": "18:21: `expect` must be a list of groups, like [{keep: …, surplus: …}]",
    "[]": "",
    "- {given: [{id: 1}, {id: 1}], expect: []}": "18:32: this id is also the id of the record in line 18",
    "- {given: [{order_id: 1}], expect: []}": "18:18: a record of `charges` in an example needs its id `id`; add it",
    "- {given: [{id: 1, order: A}], expect: []}": "18:26: dataset `charges` has no column `order`; did you mean `ord",
    "- {given: [{id: 1, gross: 2}], expect: []}": "18:26: `gross` is computed from other columns of `charges`; remove",
    "- {given: [{id: 1, amount: abc}], expect: []}": "18:34: `amount`: `abc` is not a decimal with at most 26",
    "- {given: [{id: 1}], expect: [{keep: 7}]}": "18:44: `7` is not the id of a record of this example; correct it",
    "- {given: [{id: 1}], expect: [{form: twins, keep: 1}]}": "18:44: `form`: the rule finds no `twins`; known na",
    "- {given: [{id: 1}], at: soon, expect: []}": "18:32: `at`: `soon` is not a time; write it like 2026-01-01T06:00Z",
}


@pytest.mark.parametrize("written", MISTAKES)
def test_a_mistake_in_an_example_is_told_with_its_place(written: str, shop: Project) -> None:
    expected = MISTAKES[written]

    answer = run_examples(shop, written + "\n")

    assert answer.code == (2 if expected else 0), answer.said
    assert not expected or f"reconcile.yaml:{expected}" in answer.err
    assert "Traceback" not in answer.said


def test_check_tells_mistakes_in_examples_and_runs_none(shop: Project) -> None:
    wrong = TWICE.replace("[{keep: c1, surplus: [c2]}]", "[]")
    run_examples(shop, wrong + "- {given: [{id: 1, amount: abc}], expect: []}\n")

    answer = shop("check")

    assert answer.code == 2
    assert "error  examples of double-charge: reconcile.yaml:26:34: `amount`: `abc` is not a decimal" in answer.out


def test_examples_may_be_in_an_included_file_and_do_not_change_what_a_rule_matches(shop: Project) -> None:
    head, rules = FILES.split("rules:\n")
    bare = "rules:\n" + rules.replace("    examples:\n", "")
    shop.write(head + "include: more.yaml\n").write(bare, "more.yaml")
    shop("run")
    shop.write("rules:\n" + rules + textwrap.indent(TWICE, " " * 6), "more.yaml")

    answer, again = shop("test"), shop("run", "--json")

    assert answer.code == 0, answer.said
    assert again.json["rules"][0]["edited"] is False


# Inside the database

COLUMNS = """
    id integer primary key, email varchar(100), city char(12), amount numeric(10, 2), live boolean, born date, at {time}
"""
TIMES = {"sqlite": "datetime", "postgresql": "timestamp", "mysql": "datetime(6)"}
DATABASE = """\
version: 1
sources: {shop: {type: sql, url: "${secret:SHOP}"}}
datasets: {people: {source: shop, table: people, id: id}}
rules:
  twins:
    kind: duplicates
    dataset: people
    key: [{email: [trim, lower]}, %s]
    where: live
    window: {at: 1h}
    examples:
"""
TWINS = """\
- given:
    - {id: 1, email: Ann@a.com, city: Berlin, amount: 5, live: true, born: 2000-02-01, at: 2026-03-01 10:00}
    - {id: 2, email: "ann@a.com ", city: Berlin, amount: 5.00, live: true, born: 2000-02-01, at: 2026-03-01T11:30+01}
    - {id: 3, email: ANN@A.COM, city: Berlin, amount: 5, live: true, born: 2000-02-01, at: 2026-03-01 11:00:00.000001}
    - {id: 4, email: ann@a.com, city: Berlin, amount: 5, live: false, born: 2000-02-01, at: 2026-03-01 10:00}
    - {id: 5, email: änn@a.com, city: berlin, live: true, at: 2026-03-01 10:00}
    - {id: 6, email: ÄNN@a.com, city: berlin, live: true, at: 2026-03-01 10:00}
  expect: [{keep: 1, surplus: [2]}%s]
- name: no records
  given: []
  expect: []
"""


@pytest.fixture(params=["postgresql", "mysql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Project, str, str]:
    server = {"postgresql": "postgres_url", "mysql": "mariadb_url"}[request.param]
    url = str(request.getfixturevalue(server))
    execute(url, f"create table people ({COLUMNS.format(time=TIMES[request.param])})")
    return Project(tmp_path), url, request.param


@pytest.mark.server
def test_examples_run_inside_the_database_with_the_types_of_its_columns(database: tuple[Project, str, str]) -> None:
    project, url, dialect = database
    project.write(DATABASE % "amount, city, born" + textwrap.indent(TWINS % "", " " * 6))

    answer = project("test", SHOP=url)

    assert answer.code == 0, answer.said
    assert f"ok      twins: example 1 (embedded, pushdown ({dialect}))" in answer.out
    assert f"ok      twins: no records (embedded, pushdown ({dialect}))" in answer.out


@pytest.mark.server
def test_text_that_is_not_ascii_is_compared_on_both_sides(database: tuple[Project, str, str]) -> None:
    project, url, dialect = database
    project.write(
        DATABASE.replace("    window: {at: 1h}\n", "") % "city"
        + textwrap.indent(TWINS.replace("surplus: [2]", "surplus: [2, 3]") % ", {keep: 5, surplus: 6}", " " * 6)
    )

    answer = project("test", SHOP=url)

    assert answer.code == 0, answer.said
    assert f"pushdown ({dialect})" in answer.out


def test_sqlite_runs_the_examples_of_rules_over_numbers_and_text(tmp_path: Path) -> None:
    with sqlite(tmp_path / "shop.db") as connection:
        connection.execute(f"create table people ({COLUMNS.format(time='datetime')})")
    project = Project(tmp_path).write(
        DATABASE.replace("    window: {at: 1h}\n", "") % "city"
        + textwrap.indent(TWINS.replace("surplus: [2]", "surplus: [2, 3]") % ", {keep: 5, surplus: 6}", " " * 6)
    )

    answer = project("test", SHOP="sqlite:///shop.db")

    assert answer.code == 0, answer.said
    assert "ok      twins: example 1 (embedded, pushdown (sqlite))" in answer.out


def test_a_rule_that_the_database_cannot_answer_exactly_says_why_it_ran_only_here(tmp_path: Path) -> None:
    with sqlite(tmp_path / "shop.db") as connection:
        connection.execute(f"create table people ({COLUMNS.format(time='datetime')})")
    project = Project(tmp_path).write(DATABASE % "amount" + textwrap.indent(TWINS % "", " " * 6))

    answer = project("test", SHOP="sqlite:///shop.db")

    assert answer.code == 0, answer.said
    assert "Not run by pushdown: `twins`, because " in answer.err


@pytest.mark.server
def test_a_user_that_may_only_select_runs_every_example_and_nothing_is_created(
    postgres_url: str, tmp_path: Path
) -> None:
    url = sa.make_url(postgres_url)
    role = f"reader_{url.database}"
    execute(
        postgres_url,
        f"create table people ({COLUMNS.format(time='timestamp')})",
        f"create role {role} login",
        f"grant select on people to {role}",
        "revoke all on schema public from public",
        f"grant usage on schema public to {role}",
        f"revoke temporary on database {url.database} from public",
    )
    project = Project(tmp_path).write(DATABASE % "amount" + textwrap.indent(TWINS % "", " " * 6))
    reader = url.set(username=role).render_as_string(hide_password=False)

    try:
        answer = project("test", SHOP=reader)

        assert answer.code == 0, answer.said
        assert "pushdown (postgresql)" in answer.out
    finally:
        execute(postgres_url, f"drop owned by {role}", f"drop role {role}")


def test_a_database_that_does_not_answer_leaves_the_embedded_engine(tmp_path: Path) -> None:
    project = Project(tmp_path).write(DATABASE % "amount" + textwrap.indent(TWINS % "", " " * 6))

    answer = project("test", SHOP="sqlite:///nowhere.db")

    assert answer.code == 0, answer.said
    assert "ok      twins: example 1 (embedded)" in answer.out
    assert "inferred from the examples: Source 'shop'" in answer.err


# Mistakes people make in rules

CHARGES = """\
version: 1
sources: {shop: {type: files, root: .}}
datasets: {charges: {source: shop, path: charges.csv, id: id, columns: {amount: decimal, charged_at: instant}}}
"""
RULE: dict[str, Any] = {
    "kind": "duplicates",
    "dataset": "charges",
    "key": ["customer", "currency", {"reference": ["docno"]}, {"amount": [{"round": 2}]}],
    "where": "status = 'paid'",
    "window": {"charged_at": "15m"},
    "distinct": "terminal",
    "having": "sum(amount) >= 40",
    "keep": [{"first": "charged_at"}],
}


def charge(number: int, minute: int, **settings: Any) -> dict[str, Any]:
    same = {"customer": "ann", "payer": "bob", "currency": "EUR", "reference": "INV-7", "amount": 20, "status": "paid"}
    return {"id": number, **same, "charged_at": f"2026-03-01T10:{minute:02}Z", "terminal": f"t{number}", **settings}


EXAMPLES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "charged twice in ten minutes, and again ten minutes later": (
        [charge(1, 0), charge(2, 10, reference="inv 007", amount="20.001", payer="eve"), charge(3, 20)],
        [{"keep": 1, "surplus": [2]}],
    ),
    "another currency": ([charge(1, 0), charge(2, 1, currency="USD")], []),
    "one of them failed": ([charge(1, 0), charge(2, 1, status="failed")], []),
    "one terminal is a retry that the bank settles": ([charge(1, 0), charge(2, 1, terminal="t1")], []),
    "the customer is empty": ([charge(1, 0, customer=None), charge(2, 1, customer=None)], []),
}
MUTATIONS: dict[str, dict[str, Any]] = {
    "the wrong column": {"key": ["payer", *RULE["key"][1:]]},
    "a column left out": {"key": [RULE["key"][0], *RULE["key"][2:]]},
    "a missing normaliser": {"key": [*RULE["key"][:2], "reference", RULE["key"][3]]},
    "no tolerance of the amount": {"key": [*RULE["key"][:3], "amount"]},
    "a window that is too short": {"window": {"charged_at": "5m"}},
    "gap instead of window": {"window": None, "gap": RULE["window"]},
    "keep reversed": {"keep": [{"last": "charged_at"}]},
    "where inverted": {"where": "status <> 'paid'"},
    "distinct missing": {"distinct": None},
    "having off by one": {"having": "sum(amount) > 40.001"},
    "a minimum that is too high": {"minimum": 3},
    "empty values that match": {"nulls": {"customer": "match"}},
}


def with_rule(project: Project, rule: dict[str, Any]) -> Project:
    examples = [{"name": name, "given": given, "expect": expect} for name, (given, expect) in EXAMPLES.items()]
    written = {key: value for key, value in {**rule, "examples": examples}.items() if value is not None}
    return project.write(f"{CHARGES}rules: {{double-charge: {json.dumps(written)}}}\n")


def test_the_examples_agree_with_the_rule(tmp_path: Path) -> None:
    answer = with_rule(Project(tmp_path), RULE)("test")

    assert answer.code == 0, answer.said


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_mistake_in_the_rule_fails_its_examples(mutation: str, tmp_path: Path) -> None:
    answer = with_rule(Project(tmp_path), RULE | MUTATIONS[mutation])("test")

    assert answer.code == 1, answer.said
    assert "failed  double-charge: " in answer.out


TWO_SIDES = """\
version: 1
sources: {books: {type: files, root: .}}
datasets:
  bank: {source: books, path: bank.csv, id: id, columns: {amount: decimal, day: date}}
  ledger: {source: books, path: ledger.csv, id: id, columns: {amount: decimal, day: date}}
"""
COMPARISON: dict[str, Any] = {
    "kind": "reconciliation",
    "left": "bank",
    "right": "ledger",
    "key": ["currency", {"left": ["reference", "docno"], "right": ["reference", "docno"]}],
    "tolerance": {
        "date": {"left": "day", "right": "day", "days": 3},
        "amount": {"left": "amount", "right": "amount", "by": "0.01"},
    },
    "compare": ["account"],
}


def entry(number: int, day: int = 1, **settings: Any) -> dict[str, Any]:
    same = {"reference": "INV-7", "currency": "EUR", "amount": "20.00", "account": "4400"}
    return {"id": number, **same, "day": f"2026-03-{day:02}", **settings}


SIDES: list[dict[str, Any]] = [
    {"left": [entry(1)], "right": [entry(1, 4, amount="20.01", reference="inv 7")], "expect": []},
    {
        "left": [entry(1)],
        "right": [entry(1, currency="USD")],
        "expect": [{"form": "near_miss", "left": [1], "right": [1]}],
    },
    {
        "left": [entry(1)],
        "right": [entry(2, account="1200")],
        "expect": [{"form": "mismatch", "left": 1, "right": 2}],
    },
]
MISTAKEN: dict[str, dict[str, Any]] = {
    "no mistake": {},
    "the currency left out of the key": {"key": COMPARISON["key"][1:]},
    "a missing normaliser": {"key": ["currency", "reference"]},
    "a tolerance of 0": {
        "tolerance": {**COMPARISON["tolerance"], "amount": {"left": "amount", "right": "amount", "by": 0}}
    },
    "a date tolerance in one direction": {
        "tolerance": {**COMPARISON["tolerance"], "date": {"left": "day", "right": "day", "days": 3, "after": 0}}
    },
    "a field that is not compared": {"compare": None},
    "a form that is not reported": {"report": ["right_only", "mismatch"]},
}


def test_a_misspelt_form_is_told_with_its_place(tmp_path: Path) -> None:
    wrong = [{**SIDES[1], "expect": [{"form": "left_onyl", "left": [1]}]}]
    rules = f"rules: {{bank-vs-ledger: {json.dumps({**COMPARISON, 'examples': wrong})}}}\n"

    answer = Project(tmp_path).write(TWO_SIDES + rules)("check")

    assert answer.code == 2
    assert "reconcile.yaml:6:" in answer.err
    assert "`form`: the rule finds no `left_onyl`; did you mean `left_only`?" in answer.err


@pytest.mark.parametrize("mistake", MISTAKEN)
def test_a_mistake_in_a_comparison_of_two_sides_fails_its_examples(mistake: str, tmp_path: Path) -> None:
    rule = {key: value for key, value in {**COMPARISON, **MISTAKEN[mistake], "examples": SIDES}.items() if value}

    answer = Project(tmp_path).write(f"{TWO_SIDES}rules: {{bank-vs-ledger: {json.dumps(rule)}}}\n")("test")

    assert answer.code == (1 if MISTAKEN[mistake] else 0), answer.said
