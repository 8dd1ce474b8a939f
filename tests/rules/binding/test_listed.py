"""`except` from a dataset: pairs that people keep in a table, a file or a workbook, read again for every use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.kinds.duplicates import Duplicates
from rules.values import Type, Value
from tests.rules.binding.datasets import SLOT, Dataset, detect, relations, rule
from tests.support.chance import examples
from tests.support.cli import Answer, Project
from tests.support.rules import Rows
from tests.support.shop import SERVERS, Shop, address
from tests.support.world import ALONE, CUSTOMERS, DELETE, World

pytestmark = pytest.mark.slow

PEOPLE = ((1, "a@x", "1"), (2, "a@x", "1"), (3, "a@x", "2"), (4, "b@x", "3"), (5, "b@x", "4"), (6, "c@x", "4"))
PAIRS = (("1", "2"), ("4", "5"))
LISTED = {"dataset": "known_different", "columns": ["first_id", "second_id"]}
GAP = {"gap": {"at": 1}, "key": ["email"]}
ANY = {"key": {"any": [["email"], ["phone"]]}}


@pytest.fixture(params=[*SERVERS, "csv"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    if request.param == "csv":
        yield Office(tmp_path, None)
        return
    shop = Shop(address(request), tmp_path)
    yield Office(tmp_path, shop)


class Office:
    """People in a database or a CSV file, and the pairs known to be different, in a CSV file or beside them."""

    def __init__(self, folder: Path, shop: Shop | None) -> None:
        self.folder, self.shop = folder, shop
        lines = [f"{number},{email},{phone},{number}" for number, email, phone in PEOPLE]
        (folder / "people.csv").write_text("\n".join(["id,email,phone,at", *lines, ""]))
        if shop is not None:
            shop.sql("create table people (id integer primary key, email varchar(9), phone varchar(9), at integer)")
            shop.sql(*(f"insert into people values ({n}, '{email}', '{phone}', {n})" for n, email, phone in PEOPLE))
            shop.sql("create table known_different (first_id integer, second_id integer, note varchar(9))")
        self.list(*PAIRS)

    def list(self, *pairs: Sequence[str]) -> None:
        """Replace the list, in the file and in the database."""
        lines = [f"{first},{second},by Ann" for first, second in pairs]
        (self.folder / "known.csv").write_text("\n".join(["first_id,second_id,note", *lines, ""]))
        if self.shop is not None:
            values = (", ".join(part or "null" for part in pair) for pair in pairs)
            self.shop.sql("delete from known_different")
            self.shop.sql("select 1", *(f"insert into known_different values ({pair}, 'by Ann')" for pair in values))

    def command(self, rule: Mapping[str, Any], *words: str, in_file: bool = False, state: str = "state") -> Answer:
        files = {"type": "files"}
        people: dict[str, Any] = {"id": "id", "columns": {"id": "integer", "at": "integer"}}
        typed: dict[str, Any] = {"columns": {"first_id": "integer", "second_id": "integer"}}
        sources: dict[str, Any] = {"files": files}
        if self.shop is not None:
            sources["shop"] = {"type": "sql", "url": self.shop.url}
        in_shop, file = {"source": "shop"}, {"source": "files"}
        configuration = {
            "version": 1,
            "state": f"sqlite:///{state}.db",
            "sources": sources,
            "datasets": {
                "people": file | people | {"path": "people.csv"}
                if self.shop is None
                else in_shop | {"table": "people", "id": "id"},
                "known_different": file | typed | {"path": "known.csv"}
                if self.shop is None or in_file
                else in_shop | {"table": "known_different"},
            },
            "rules": {"twins": {"kind": "duplicates", "dataset": "people", "key": ["email"]} | dict(rule)},
        }
        project = Project(self.folder)
        project.write(json.dumps(configuration))
        return project(*words)

    def found(self, rule: Mapping[str, Any], *, in_file: bool = False, state: str) -> tuple[str, list[Any]]:
        """The engine, and the records of each finding."""
        report = self.command(rule, "run", "--json", in_file=in_file, state=state)
        assert report.code == 0, report.said
        findings = self.command(rule, "findings", "--json", in_file=in_file, state=state).json
        return report.json["rules"][0]["engine"], sorted([each["keeper"], each["surplus"]] for each in findings)


@pytest.mark.parametrize("rule", [{}, GAP, ANY], ids=["key", "gap", "any"])
def test_a_list_in_a_dataset_gives_the_findings_of_the_same_list_in_yaml(rule: dict[str, Any], office: Office) -> None:
    engines = ["embedded"] if office.shop is None else ["embedded", "pushdown"]
    for engine in engines:
        by_engine = rule | {"engine": engine}
        inline = office.found(by_engine | {"except": [list(pair) for pair in PAIRS]}, state=f"inline-{engine}")
        listed = office.found(by_engine | {"except": LISTED}, state=f"listed-{engine}")
        in_file = office.found(by_engine | {"except": LISTED}, in_file=True, state=f"file-{engine}")

        assert listed == in_file == inline
        assert inline[0] == engine
        assert inline[1] != office.found(by_engine, state=f"without-{engine}")[1]


@pytest.mark.parametrize("excepted", [LISTED, [["1", {"more": "2"}]]], ids=["listed", "inline"])
def test_a_list_is_no_part_of_a_key_of_every_column_of_several_datasets(excepted: Any, tmp_path: Path) -> None:
    """The columns of the list were looked for among the names of the compared datasets: the rule failed."""
    (tmp_path / "people.csv").write_text("id,email\n1,a@x\n3,b@x\n")
    (tmp_path / "more.csv").write_text("id,email\n2,a@x\n4,b@x\n")
    (tmp_path / "known.csv").write_text("first_id,second_id\n1,2\n")
    datasets = {
        "people": {"source": "files", "path": "people.csv", "id": "id"},
        "more": {"source": "files", "path": "more.csv", "id": "id"},
        "known_different": {"source": "files", "path": "known.csv"},
    }
    of_more = {**LISTED, "columns": ["first_id", {"more": "second_id"}]} if excepted is LISTED else excepted
    rule = {"kind": "duplicates", "datasets": ["people", "more"], "key": "all", "except": of_more}
    files = {"sources": {"files": {"type": "files"}}, "datasets": datasets, "rules": {"twins": rule}}
    project = Project(tmp_path).write(json.dumps(files))

    checked, report = project("check"), project("run", "--json")

    assert (checked.code, report.code) == (0, 0), checked.said + report.said
    assert [finding["key"] for finding in project("findings", "--json").json] == [{"email": "b@x"}]


def test_each_run_reads_the_list_again_and_counts_the_rows_that_are_no_pair(office: Office) -> None:
    rule = {"except": LISTED}
    office.list(("1", "2"))
    first = office.command(rule, "run", "--json").json["rules"][0]
    office.list(("1", "2"), ("2", "3"), ("3", "1"), ("", "4"), ("5", "5"))

    second = office.command(rule, "run", "--json").json["rules"][0]

    assert first["findings"]["new"] == 2
    assert second["findings"]["resolved"] == 1
    assert second["skipped"] == [
        {"column": "first_id", "reason": "null", "records": 1, "dataset": "known_different"},
        {"column": "second_id", "reason": "the same id as first_id", "records": 1, "dataset": "known_different"},
    ]


def test_a_list_that_cannot_be_read_or_was_emptied_fails_the_rule_and_keeps_its_findings(office: Office) -> None:
    rule = {"except": LISTED}
    office.command(rule, "run", "--json")
    findings = office.command(rule, "findings", "--json").json
    office.list()
    emptied = office.command(rule, "run", "--json")
    if office.shop is None:
        (office.folder / "known.csv").unlink()
    else:
        office.shop.sql("drop table known_different")

    missing = office.command(rule, "run", "--json")

    assert (emptied.code, missing.code) == (3, 3)
    assert emptied.json["rules"][0]["failed"] == (
        "Dataset 'known_different' is empty, but had 2 records in the previous run. Its findings are unchanged; "
        "check the job that fills it. If that is right: `reconcile allow twins`"
    )
    assert "known" in missing.json["rules"][0]["failed"]
    assert office.command(rule, "findings", "--json").json == findings


def test_explain_says_where_the_pairs_are_and_how_many(office: Office) -> None:
    told = office.command({"except": LISTED}, "explain", "twins")

    assert told.code == 0, told.said
    assert "twins  duplicates in people, severity" in told.out
    assert "except pairs of records that dataset known_different lists as different" in told.out
    assert "leaves out 2 pairs of records listed in dataset known_different" in told.out
    assert "samples of known_different" not in told.out


@pytest.mark.parametrize(
    ("rule", "code", "sentence"),
    [
        ({"except": {"dataset": "known"}}, 2, "there is no dataset `known`; known names: `known_different`"),
        ({"except": {"dataset": "people"}}, 2, "`except` lists pairs in `people`, which the rule compares; give"),
        ({"except": {"dataste": "known_different"}}, 2, "`dataste` is not known here; did you mean `dataset`?"),
        ({"except": {**LISTED, "columns": ["first_id"]}}, 2, "`columns`: write the columns of the two ids: [first_id"),
        ({"except": {**LISTED, "columns": ["first_id", "first_id"]}}, 2, "write the columns of the two ids"),
        ({"except": {**LISTED, "columns": ["first", "second_id"]}}, 2, "`except` names `first`, but dataset `known_di"),
        ({"except": {**LISTED, "columns": [["first_id", "note"], "second_id"]}}, 2, "`except` has 2 columns for an id"),
        (
            {"except": {"dataset": "known_different"}},
            2,
            "dataset `known_different` has 3 columns besides its id; write",
        ),
        ({"except": LISTED}, 0, "rule twins: fits"),
    ],
)
def test_check_says_what_is_wrong_with_a_list(rule: dict[str, Any], code: int, sentence: str, tmp_path: Path) -> None:
    answer = Office(tmp_path, None).command(rule, "check")

    assert (answer.code, "Traceback" in answer.said) == (code, False), answer.said
    assert sentence in " ".join(answer.said.split())


TENANTS = """\
sources: {files: {type: files}, office: {type: workbook, path: known.xlsx}}
datasets:
  people: {source: files, path: people.csv, id: [tenant, number], columns: {number: integer}}
  known: {source: office, sheet: Pairs}
rules:
  twins:
    kind: duplicates
    dataset: people
    key: email
    except: {dataset: known, columns: [[tenant, first], [tenant, second]]}
"""


def test_a_sheet_lists_pairs_of_ids_of_several_columns(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(
        "tenant,number,email\n" + "".join(f"{t},{n},a@x\n" for t in "AB" for n in (1, 2))
    )
    book = openpyxl.Workbook()
    book.active.title = "Pairs"
    for cells in (
        ["tenant", "first", "second", "note"],
        ["A", 1, 2, "by Ann"],
        ["B", "2", 1.0, None],
        ["B", None, 2, ""],
    ):
        book.active.append(cells)
    book.save(tmp_path / "known.xlsx")
    project = Project(tmp_path).write(TENANTS)

    answer = project("run", "--json")

    [rule] = answer.json["rules"]
    assert answer.code == 0, answer.said
    [finding] = project("findings", "--json").json
    assert sorted([finding["keeper"], *finding["surplus"]]) == [["A", 1], ["A", 2], ["B", 1], ["B", 2]]
    assert rule["skipped"] == [{"column": "first", "reason": "null", "records": 1, "dataset": "known"}]
    project.write(TENANTS.replace("key: email", "key: [tenant, email]"))
    assert project("run", "--json").json["rules"][0]["groups"] == 0


def test_an_unknown_dataset_of_a_list_is_told_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "reconcile.yaml").write_text(
        "version: 1\nsources: {f: {type: files}}\ndatasets: {people: {source: f, path: people.csv, id: id}}\n"
        "rules:\n  twins:\n    kind: duplicates\n    dataset: people\n    key: email\n    except:\n"
        "      dataset: nowhere\n"
    )

    assert "reconcile.yaml:10:16: there is no dataset `nowhere`" in Project(tmp_path)("check").said


def test_examples_give_the_list_or_leave_it_empty(office: Office) -> None:
    people = [{"id": 1, "email": "a@x"}, {"id": 2, "email": "a@x"}]
    pair = [{"first_id": 1, "second_id": 2}]
    examples = [
        {"name": "empty", "given": people, "expect": [{"keep": 1, "surplus": [2]}]},
        {"name": "listed", "given": {"people": people, "known_different": pair}, "expect": []},
    ]

    tested = office.command({"except": LISTED, "examples": examples}, "test")

    assert tested.code == 0, tested.said
    assert tested.out.count("ok ") == 2
    assert office.shop is None or tested.out.count("pushdown (") >= 2


def test_an_example_does_not_take_a_row_of_the_list_for_a_record(tmp_path: Path) -> None:
    people = [{"id": 1, "email": "a@x"}, {"id": 2, "email": "a@x"}]
    examples = [{"given": {"people": people, "knwn": []}, "expect": [{"keep": {"known_different": 1}, "surplus": [2]}]}]

    tested = Office(tmp_path, None).command({"except": LISTED, "examples": examples}, "test")

    assert "the rule reads no dataset `knwn`; known names: `known_different` and `people`" in tested.said
    assert "the rule reads no dataset `known_different`" in tested.said


def test_a_diff_shows_what_a_list_leaves_out(office: Office) -> None:
    office.command({}, "run", "--json")
    old = office.command({}, "releases", "--json").json[0]["release"]

    told = office.command({"except": LISTED}, "diff", old, "--json")

    assert told.code == 0, told.said
    [compared] = told.json["rules"]
    assert (compared["state"], compared["vanishes"], compared["same"]) == ("compared", 1, 1), compared


# Cleaning


@pytest.fixture
def world(tmp_path: Path) -> World:
    pairs = {"source": "shop", "table": "known_different", "id": ["first_id", "second_id"]}
    rows = ((1, "a@x", "Ann"), (2, "a@x", "Anna"), (3, "b@x", "Bob"), (4, "c@x", "C"), (5, "c@x", "D"), (6, "c@x", "E"))
    config = {"datasets": {"customers": CUSTOMERS, "known_different": pairs}}
    world = World.at(tmp_path / "w", *rows, config=config, twins=DELETE | {"except": {"dataset": "known_different"}})
    world.shop.sql("create table known_different (first_id integer, second_id integer)")
    world.shop.sql("insert into known_different values (1, 3)")
    return world


def test_a_pair_listed_after_the_plan_is_not_cleaned_when_it_is_approved(world: World) -> None:
    world.run()
    pair, three = sorted(world.findings(), key=lambda name: world.plans(name)[0].records)
    world.shop.sql("insert into known_different values (1, 2), (4, 6)")

    of_pair, of_three = world.command("approve", pair), world.command("approve", three)

    assert (of_pair.code, of_three.code) == (4, 4)
    assert f"{pair} was skipped: Its records changed since it was found" in of_pair.said
    assert f"{three} was skipped: A person decided that some of its records are not the same" in of_three.said
    assert world.shop.ids() == [1, 2, 3, 4, 5, 6]


def test_a_plan_is_executed_while_the_list_does_not_concern_it(world: World) -> None:
    world.run()
    world.shop.sql("insert into known_different values (2, 3)")

    answers = [world.command("approve", finding) for finding in world.findings()]

    assert [answer.code for answer in answers] == [0, 0], [answer.said for answer in answers]
    assert world.shop.ids() == [1, 3, 4]


def test_a_plan_waits_while_the_list_cannot_be_read(world: World) -> None:
    world.run()
    [finding, _] = world.findings()
    world.shop.sql("drop table known_different")

    answer = world.command("approve", finding)

    assert answer.code != 0
    assert "known_different" in answer.said
    assert "Traceback" not in answer.said
    assert world.shop.ids() == [1, 2, 3, 4, 5, 6]


def test_a_pair_listed_after_the_approval_is_not_cleaned_by_the_next_run(world: World) -> None:
    world.run()
    for name in world.findings():
        assert world.command("approve", name, "--later").code == 0
    world.shop.sql("insert into known_different values (1, 2), (4, 5), (4, 6), (5, 6)")

    world.run()

    assert world.shop.ids() == [1, 2, 3, 4, 5, 6]


def test_a_group_that_holds_a_listed_pair_is_never_cleaned_alone(world: World) -> None:
    world.rules["twins"] |= ALONE
    world.shop.sql("insert into known_different values (4, 6)")
    world.run()

    world.run()

    assert world.shop.ids() == [1, 3, 4, 5, 6]


# Any list


TYPES = {"id": Type.INTEGER, "email": Type.TEXT, "phone": Type.TEXT, "at": Type.INTEGER}


@st.composite
def people(draw: st.DrawFn, name: str) -> Dataset:
    values = {"email": st.sampled_from(("a", "b")), "phone": st.sampled_from(("1", "2", "3")), "at": st.integers(0, 4)}
    rows = [{"id": number} | draw(st.fixed_dictionaries(values)) for number in range(1, draw(st.integers(2, 7)))]
    return Dataset(name, Rows(TYPES, rows), {})


@settings(max_examples=examples(60), deadline=None)
@given(
    data=st.tuples(people("crm"), people("shop")),
    of=st.sampled_from(("crm", "shop")),
    pairs=st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), max_size=8),
    matching=st.sampled_from(
        [{"key": "email"}, ANY, GAP, {"key": "email", "window": {"at": 1}}, {"key": "email", "minimum": 3}]
    ),
    kind=st.sampled_from((Type.INTEGER, Type.DECIMAL, Type.TEXT)),
)
def test_any_list_in_a_dataset_gives_the_groups_of_the_same_list_in_yaml(
    data: tuple[Dataset, Dataset],
    of: str,
    pairs: list[tuple[int, int]],
    matching: dict[str, Any],
    kind: Type,
) -> None:
    different = [(first, second) for first, second in pairs if of == "shop" or first != second]
    inline = [[str(first), {of: str(second)}] for first, second in different]
    rows = [{"first": _typed(first, kind), "second": _typed(second, kind)} for first, second in different]
    pairs = Dataset("known", Rows({"first": kind, "second": kind}, rows, ()), {})
    listed = {"dataset": "known", "columns": ["first", {of: "second"}]}

    expected = detect(rule(data, **matching, **{"except": inline}), data)
    over = rule(data, **matching, **{"except": listed})
    answer = (
        Duplicates()
        .fit(over, relations((*data, pairs)))
        .detect({dataset.name: dataset.rows.streamed() for dataset in (*data, pairs)}, SLOT)
    )

    assert list(answer.groups) == list(expected.groups)
    assert [group.excepted for group in answer.groups] == [group.excepted for group in expected.groups]
    assert answer.skipped == expected.skipped
    assert answer.listed == {"known": len({frozenset(pair) if of == "crm" else pair for pair in different})}


def _typed(number: int, kind: Type) -> Value:
    return Decimal(number) if kind is Type.DECIMAL else f" {number}" if kind is Type.TEXT else number
