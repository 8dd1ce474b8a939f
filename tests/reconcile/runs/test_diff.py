"""`diff` shows exactly the findings that a full run of each release would, and `promote` shows its counts."""

import functools
import itertools
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from reconcile import plugins
from reconcile.app import load
from reconcile.config import ConfigProblems
from reconcile.views import comparison
from tests.support.chance import examples
from tests.support.cli import Project
from tests.toys.sheet import BOOKS, Book

pytestmark = pytest.mark.slow

Json = dict[str, Any]
PEOPLE = """\
id,name,town,paid,at,vip
1,Ann,Bonn,10,2026-03-01T10:00:00Z,yes
2,Ann,Bonn,20,2026-03-01T10:05:00Z,no
3,ann,Bonn,30,2026-03-01T12:00:00Z,no
4,Ben,Ulm,40,2026-03-01T10:00:00Z,no
5,Ben,Ulm,50,2026-03-01T10:01:00Z,no
6,Cem,Ulm,60,2026-03-01T10:00:00Z,no
"""
HEAD = """\
version: 1
state: sqlite:///STATE.db
sources: {lists: {type: files, root: ROOT}}
datasets:
  people:
    source: lists
    path: people.csv
    id: id
    columns: {paid: decimal, at: instant}
    money: {amount: paid, currency: EUR}
"""
TWIN = "rules: {twin: {kind: duplicates, dataset: people, key: KEY}}\n"


@pytest.fixture
def people(tmp_path: Path) -> Project:
    (tmp_path / "people.csv").write_text(PEOPLE)
    return write(Project(tmp_path), "[name]")


def write(project: Project, key: str, name: str = "reconcile.yaml", more: str = "") -> Project:
    return project.write((HEAD + more + TWIN).replace("KEY", key).replace("ROOT", ".").replace("STATE", "db"), name)


def shape(finding: Json | None) -> str:
    """All that a full run and a diff say of a finding."""
    names = ("keeper", "surplus", "left", "right", "form", "differences", "key", "money", "records")
    return json.dumps({name: (finding or {}).get(name) for name in names}, sort_keys=True)


def compared(folder: Path, before: str, after: str) -> Json:
    for name, text in (("before", before), ("after", after)):
        (folder / f"{name}.yaml").write_text(text.replace("STATE", "state"))
    with load(folder / "after.yaml") as application:
        view = comparison.compare(application, str(folder / "before.yaml"), None, show=True)
    document = view.to_json()
    return document | {"findings": list(document["findings"])}


# As two runs


KEYS = ("[name]", "[{name: [lower]}]", "[name, town]", "[town]", "all")
EXTRAS = (
    "",
    ", window: {at: 10m}",
    ", gap: {at: 2h}",
    ", keep: [{last: at}]",
    ", where: vip = 'no'",
    ", distinct: town",
    ", having: sum(paid) > 45",
)
SPANNED = (", window", ", gap")

rules = st.fixed_dictionaries(
    {}, optional={name: st.tuples(st.sampled_from(KEYS), st.sampled_from(EXTRAS)) for name in "ab"}
)
rows = st.lists(
    st.tuples(
        st.sampled_from(["Ann", "ann", "Ben", ""]),
        st.sampled_from(["Ulm", "Bonn"]),
        st.integers(0, 60),
        st.integers(0, 300),
        st.booleans(),
    ),
    max_size=12,
)


def configuration(chosen: Json, where: str) -> str:
    lines = [
        f"  {name}: {{kind: duplicates, dataset: people, key: {key}{extra}}}" for name, (key, extra) in chosen.items()
    ]
    head = HEAD.replace("ROOT", ".") + (f"    where: {where}\n" if where else "")
    return head + "rules:\n" + "\n".join([*lines, "  z: {kind: duplicates, dataset: people, key: [at]}"]) + "\n"


def table(data: list[tuple[Any, ...]]) -> str:
    lines = [
        f"{n},{name},{town},{paid},2026-03-01T{10 + minute // 60}:{minute % 60:02}:00Z,{'yes' if vip else 'no'}"
        for n, (name, town, paid, minute, vip) in enumerate(data, 1)
    ]
    return "\n".join(["id,name,town,paid,at,vip", *lines]) + "\n"


@settings(max_examples=examples(12), deadline=None)
@given(rows, rules, rules, st.sampled_from(["", "", "paid > 20"]))
def test_a_diff_turns_the_findings_of_the_one_run_into_those_of_the_other(
    data: list[tuple[Any, ...]], before: Json, after: Json, where: str
) -> None:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        place = Path(folder)
        (place / "people.csv").write_text(table(data))
        texts = configuration(before, ""), configuration(after, where)
        try:
            difference = compared(place, *texts)
        except ConfigProblems:
            reject()  # such a rule could never find anything

        is_as_two_runs(difference, *(runs_of(place, text) for text in texts))


def runs_of(folder: Path, config: str) -> dict[str, list[str] | None]:
    """The findings of each rule, None for a rule that failed."""
    (folder / "fresh.db").unlink(missing_ok=True)
    file = folder / "fresh.yaml"
    file.write_text(config.replace("STATE", "fresh"))
    with load(file) as application:
        [report] = application.run_all()
    failed = {failure.rule for failure in report.failures}
    findings_by_rule: dict[str, list[str] | None] = {
        rule.rule: None if rule.rule in failed else [] for rule in report.rules
    }
    for finding in report.to_json()["findings"]:
        listed = findings_by_rule[finding["rule"]]
        assert listed is not None
        listed.append(shape(finding))
    return findings_by_rule


def is_as_two_runs(difference: Json, old: dict[str, list[str] | None], new: dict[str, list[str] | None]) -> None:
    """Each rule's findings of the first run, changed as the diff says, are those of the second."""
    assert {rule["rule"] for rule in difference["rules"]} == old.keys() | new.keys()
    for rule in difference["rules"]:
        name = rule["rule"]
        mine = [finding for finding in difference["findings"] if finding["rule"] == name]
        before, after = old.get(name, []), new.get(name, [])
        if rule["state"] == "failed":
            assert before is None or after is None
            continue
        if rule["state"] == "unchanged":
            assert (before, mine) == (after, [])
            continue
        assert before is not None
        assert after is not None
        left = sorted(before)
        for finding in mine:
            assert finding["from"] != finding["to"]
            if finding["from"]:
                left.remove(shape(finding["from"]))
        assert len(left) == rule["same"]
        assert sorted([*left, *(shape(finding["to"]) for finding in mine if finding["to"])]) == sorted(after)
        assert rule["from"] is None or rule["from"]["findings"] == len(before)
        assert rule["to"] is None or rule["to"]["findings"] == len(after)


@pytest.mark.parametrize(
    ("before", "after"),
    list(itertools.permutations(["[name]", "[{name: [lower]}], where: town = 'Bonn'", "[town], window: {at: 5m}"], 2)),
)
def test_a_diff_agrees_with_two_runs_into_fresh_stores(people: Project, before: str, after: str) -> None:
    texts = [(HEAD + TWIN).replace("KEY", key).replace("ROOT", ".") for key in (before, after)]

    difference = compared(people.folder, *texts)

    assert difference["findings"]
    is_as_two_runs(difference, *(runs_of(people.folder, text) for text in texts))


SIDES = """\
version: 1
state: sqlite:///STATE.db
sources: {lists: {type: files, root: .}}
datasets:
  bank:
    source: lists
    path: bank.csv
    id: line
    columns: {amount: decimal, booked: date}
    money: {amount: amount, currency: EUR}
    pii: [line]
  ledger:
    source: lists
    path: ledger.csv
    id: entry
    columns: {total: decimal, posted: date}
    money: {amount: total, currency: EUR}
    pii: [entry]
rules:
  paid:
    kind: reconciliation
    left: bank
    right: ledger
    key: [{left: [ref, alnum], right: [doc, alnum]}]
    tolerance: {date: {left: booked, right: posted, days: DAYS}, amount: {left: amount, right: total, by: 0.01}}
"""


@pytest.fixture
def sides(tmp_path: Path) -> Project:
    bank = ["1,A-1,10.00,2026-01-01", "2,A-2,5.00,2026-01-02", "3,A-3,7.00,2026-01-02"]
    ledger = ["e1,A1,10.00,2026-01-02", "e2,A2,5.50,2026-01-02", "e4,A4,1.00,2026-01-02"]
    (tmp_path / "bank.csv").write_text("\n".join(["line,ref,amount,booked", *bank]) + "\n")
    (tmp_path / "ledger.csv").write_text("\n".join(["entry,doc,total,posted", *ledger]) + "\n")
    return Project(tmp_path)


def test_a_comparison_of_two_datasets_is_compared_as_two_runs_find_it(sides: Project) -> None:
    texts = [SIDES.replace("DAYS", days) for days in ("3", "0")]

    difference = compared(sides.folder, *texts)

    assert [finding["change"] for finding in difference["findings"]] == ["appears"]
    is_as_two_runs(difference, *(runs_of(sides.folder, text) for text in texts))


def test_personal_data_of_each_dataset_of_a_rule_is_hidden(sides: Project) -> None:
    sides.write(SIDES.replace("DAYS", "3"), "old.yaml").write(SIDES.replace("DAYS", "0"), "new.yaml")

    hidden, shown = sides("diff", "old.yaml", "new.yaml"), sides("diff", "old.yaml", "new.yaml", "--show")

    assert "e1" not in hidden.out
    assert "use --show to see it" in hidden.err
    assert "e1" in shown.out


def test_personal_data_of_a_dataset_that_was_renamed_stays_hidden(people: Project) -> None:
    write(people, "[name]", "old.yaml", more="    pii: [name]\n")
    write(people, "[{name: [lower]}]", "new.yaml")
    new = people.folder / "new.yaml"
    new.write_text(new.read_text().replace("  people:", "  persons:").replace("dataset: people", "dataset: persons"))

    assert "Ben" not in people("diff", "old.yaml", "new.yaml").out


@pytest.mark.server
def test_a_rule_that_runs_inside_the_database_is_compared_as_exactly(tmp_path: Path, postgres_url: str) -> None:
    import sqlalchemy as sa  # noqa: PLC0415 - only this test

    engine = sa.create_engine(postgres_url)
    with engine.begin() as db:
        db.exec_driver_sql("create table people (id int primary key, name text, town text, paid numeric(10, 2))")
        for number, name, town, paid, *_ in (line.split(",") for line in PEOPLE.splitlines()[1:]):
            db.exec_driver_sql(f"insert into people values ({number}, '{name}', '{town}', {paid})")
    engine.dispose()
    head = (
        f'version: 1\nstate: sqlite:///STATE.db\nsources: {{shop: {{type: sql, url: "{postgres_url}"}}}}\n'
        "datasets: {people: {source: shop, table: people, id: id, money: {amount: paid, currency: EUR}}}\n"
    )
    texts = [
        head + f"rules: {{twin: {{kind: duplicates, dataset: people, key: {key}, engine: pushdown}}}}\n"
        for key in ("[name]", "[{name: [lower]}]")
    ]

    difference = compared(tmp_path, *texts)

    assert [finding["differs"] for finding in difference["findings"]] == [["members", "money", "key"], ["key"]]
    is_as_two_runs(difference, *(runs_of(tmp_path, text) for text in texts))


# What it says


def test_findings_appear_vanish_and_change(people: Project) -> None:
    write(people, "[{name: [lower]}], where: town = 'Bonn'", "new.yaml")

    done = people("diff", "./reconcile.yaml", "./new.yaml")

    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert done.code == 0
    assert "twin 0 1 1 0 70.00 EUR 50.00 EUR" in lines
    assert (
        "twin changes (members, money, key) ann: keep 1, surplus 2; 3, 50.00 EUR at risk; was: keep 1, surplus 2"
        in lines
    )
    assert "twin vanishes Ben: keep 4, surplus 5, 50.00 EUR at risk" in lines
    assert "twin: 1 finding gets another key, so a new id without decisions" in lines


def test_the_current_release_and_the_file_are_named(people: Project) -> None:
    people("promote", "--no-diff")
    write(people, "[at]")

    told = people("diff", "active")

    assert re.match(r"from release [0-9a-f]{12} \(current\) to [0-9a-f]{12} \(this file\)\n", told.out), told.said


def test_another_keeper_is_a_change(people: Project) -> None:
    write(people, "[name], keep: [{last: at}]", "new.yaml")

    answer = people("diff", "reconcile.yaml", "new.yaml", "--json").json

    assert [(finding["change"], finding["differs"]) for finding in answer["findings"]] == [
        ("changes", ["keeper", "money"])
    ] * 2
    assert answer["findings"][0]["from"]["keeper"] == ["1"]
    assert answer["findings"][0]["to"]["keeper"] == ["2"]


def test_the_most_severe_and_then_the_most_expensive_findings_come_first(people: Project) -> None:
    write(people, "[name]", "old.yaml")
    rules = "rules:\n  urgent: {%s, window: {at: 10m}, severity: critical}\n  twin: {%s}\n"
    people.write(
        HEAD.replace("ROOT", ".") + rules.replace("%s", "kind: duplicates, dataset: people, key: [town]"), "new.yaml"
    )

    lines = people("diff", "old.yaml", "new.yaml", "--limit", "3").out.splitlines()
    all_lines = people("diff", "old.yaml", "new.yaml").out.splitlines()

    first, second, third, rest = lines[-4:]
    assert [line.split(":")[0] for line in (first, second)] == ["urgent appears  Ulm", "urgent appears  Bonn"]
    assert ("110.00 EUR" in first, "20.00 EUR" in second) == (True, True)
    assert third.startswith("twin changes")
    assert rest == "and 1 more; --limit or --json shows them"
    assert not any("more" in line for line in all_lines)


def test_a_rule_without_changes_is_named_and_not_run(people: Project) -> None:
    people.write((people.folder / "reconcile.yaml").read_text() + "jobs: {daily: {rules: all}}\n", "new.yaml")
    (people.folder / "people.csv").unlink()

    done = people("diff", "reconcile.yaml", "new.yaml")

    assert done.code == 0
    assert "unchanged, so not run: twin" in done.out


@pytest.mark.parametrize(
    "edit", [("key:", "keep: [{last: at}], key:"), ("amount: paid", "amount: id"), ("path: people", "path: p*ople")]
)
def test_a_rule_is_run_if_any_setting_that_decides_its_findings_changed(people: Project, edit: tuple[str, str]) -> None:
    people.write((people.folder / "reconcile.yaml").read_text().replace(*edit), "new.yaml")

    answer = people("diff", "reconcile.yaml", "new.yaml", "--json").json

    assert [rule["state"] for rule in answer["rules"]] != ["unchanged"]


def test_rules_added_removed_and_renamed_are_told(people: Project) -> None:
    more = TWIN.replace("twin", "near").replace("KEY", "[town]")
    people.write(
        (people.folder / "reconcile.yaml").read_text().replace(TWIN.replace("KEY", "[name]"), more), "new.yaml"
    )
    renamed = (people.folder / "reconcile.yaml").read_text().replace("twin: {", "pair: {was: twin, severity: high, ")
    people.write(renamed, "named.yaml")

    changed = people("diff", "reconcile.yaml", "new.yaml", "--json").json
    same = people("diff", "reconcile.yaml", "named.yaml")

    states = {rule["rule"]: (rule["state"], rule["appears"], rule["vanishes"]) for rule in changed["rules"]}
    assert states == {"near": ("added", 2, 0), "twin": ("removed", 0, 2)}
    assert "unchanged, so not run: pair" in same.out
    assert "pair: was twin" in same.out
    assert "pair: severity medium becomes high" in same.out


def test_a_rule_that_cannot_run_in_one_release_is_told_with_the_reason(people: Project) -> None:
    write(people, "[nmae]", "new.yaml")

    done = people("diff", "reconcile.yaml", "new.yaml", "--fail-on-changes")
    answer = people("diff", "reconcile.yaml", "new.yaml", "--json").json

    assert done.code == 3
    assert "twin: could not run in the second release: Rule 'twin' does not fit" in done.out
    assert "did you mean `name`?" in done.out
    assert answer["rules"][0]["state"] == "failed"
    assert answer["rules"][0]["from"]["findings"] == 2


def test_a_pipeline_can_fail_on_changes(people: Project) -> None:
    write(people, "[{name: [lower]}]", "new.yaml")

    codes = [
        people("diff", "reconcile.yaml", "new.yaml").code,
        people("diff", "reconcile.yaml", "new.yaml", "--fail-on-changes").code,
        people("diff", "reconcile.yaml", "reconcile.yaml", "--fail-on-changes").code,
    ]

    assert codes == [0, 1, 0]


def test_only_named_rules_are_compared(people: Project) -> None:
    write(people, "[{name: [lower]}]", "new.yaml")

    chosen, unknown = (
        people("diff", "reconcile.yaml", "new.yaml", "--rule", "twin"),
        people("diff", "active", "--rule", "twn"),
    )
    wrong = people("diff", "reconcile.yaml", "new.yaml", "--rule", "twn")

    assert "twin changes" in chosen.out
    assert (wrong.code, "did you mean `twin`?" in wrong.err) == (2, True)
    assert unknown.code == 2


def test_personal_data_of_either_release_is_hidden(people: Project) -> None:
    write(people, "[{name: [lower]}]", "new.yaml")
    write(people, "[name]", "old.yaml", more="    pii: [name, paid]\n")

    hidden, as_json = people("diff", "old.yaml", "new.yaml"), people("diff", "old.yaml", "new.yaml", "--json")
    shown = people("diff", "old.yaml", "new.yaml", "--show")

    for text in (hidden.out, as_json.out):
        assert "ann" not in text.lower()
    assert "use --show to see it" in hidden.err
    assert "ann: keep 1" in shown.out


# The same records


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Book]:
    package = tmp_path / "toys-0.1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 0.1\n")
    (package / "entry_points.txt").write_text("[reconcile.connectors]\nmemory_sheet = tests.toys.sheet:MemorySheet\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "_foreign", functools.cache(plugins._foreign.__wrapped__))
    BOOKS["office"] = Book({"people": {n: {"id": n, "name": "Ann", "town": "Ulm"} for n in ("1", "2")}})
    yield BOOKS["office"]
    del BOOKS["office"]


def test_both_releases_are_judged_on_the_same_records(tmp_path: Path, books: Book) -> None:
    text = (
        "version: 1\nsources: {office: {type: memory_sheet, book: office}}\n"
        "datasets: {people: {source: office, sheet: people, id: id}}\n"
        "rules: {twin: {kind: duplicates, dataset: people, key: [name]}}\n"
    )
    Project(tmp_path).write(text, "before.yaml").write(text.replace("[name]", "[name, town]"), "after.yaml")

    def grow(_rule: str, _read: int) -> None:
        number = str(len(books.sheets["people"]) + 1)
        books.sheets["people"][number] = {"id": number, "name": "Ann", "town": "Ulm"}

    with load(tmp_path / "after.yaml") as application:
        view = comparison.compare(application, str(tmp_path / "before.yaml"), None, watch=grow)

    [rule] = view.comparison.rules
    assert len(books.sheets["people"]) > 2
    assert (rule.before and rule.before.read, rule.after and rule.after.read) == (2, 2)
    assert rule.count("changes") == 1
    assert rule.changes[0].differs == ("key",)


def test_a_dataset_that_the_releases_read_differently_is_said(people: Project) -> None:
    text = (people.folder / "reconcile.yaml").read_text()
    people.write(
        text.replace("path: people.csv", "path: people.csv, null_values: [Ben]".replace(", ", "\n    ")), "new.yaml"
    )

    done = people("diff", "reconcile.yaml", "new.yaml")

    assert "twin vanishes  Ben" in done.out
    assert "twin: each release reads people in its own way, one directly after the other" in done.out


def test_a_record_left_out_for_a_column_of_one_release_stays_in_the_other(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["id", "name", "town"], ["1", "Ann", "Ulm"], ["2", "Ann", "#DIV/0!"], ["3", "Ann", "Ulm"]):
        book.active.append(row)
    book.active["C3"].data_type = "e"
    book.save(tmp_path / "people.xlsx")
    head = (
        "version: 1\nstate: sqlite:///STATE.db\nsources: {lists: {type: workbook, path: people.xlsx}}\n"
        f"datasets: {{people: {{source: lists, sheet: {book.active.title}, id: id}}}}\n"
    )
    texts = [head + TWIN.replace("KEY", key) for key in ("[name]", "[name, town]")]

    difference = compared(tmp_path, *texts)

    assert [(finding["from"]["records"], finding["to"]["records"]) for finding in difference["findings"]] == [(3, 2)]
    is_as_two_runs(difference, *(runs_of(tmp_path, text) for text in texts))


def test_a_diff_writes_nothing(people: Project) -> None:
    write(people, "[{name: [lower]}]", "new.yaml")
    before = sorted(path.name for path in people.folder.iterdir())

    people("diff", "reconcile.yaml", "new.yaml")

    assert sorted(path.name for path in people.folder.iterdir()) == before


# Releases


def test_releases_are_named_by_their_hash_or_as_the_active_one(people: Project) -> None:
    people("run")
    first = people("releases", "--json").json[0]["release"]
    none = people("diff", "active")
    people("promote")
    write(people, "[{name: [lower]}]")

    by_hash, active = people("diff", first[:8], "--json").json, people("diff", "active", "--json").json
    unknown = people("diff", "zzzz")

    assert none.code == 2
    assert "No release is active yet" in none.err
    assert by_hash["from"] == active["from"] == first
    assert by_hash["findings"] == active["findings"] != []
    assert (unknown.code, "There is no release 'zzzz'" in unknown.err) == (2, True)


def test_two_files_are_compared_without_any_other_configuration(people: Project) -> None:
    write(people, "[{name: [lower]}]", "new.yaml")
    (people.folder / "reconcile.yaml").rename(people.folder / "old.yaml")

    done = people("diff", "old.yaml", "./new.yaml")

    assert done.code == 0
    assert "twin changes" in done.out


def test_promote_shows_what_changes_before_it_changes_the_release(people: Project) -> None:
    people("run")
    first = people("promote", "--json").json
    write(people, "[{name: [lower]}]")

    shown = people("promote")
    write(people, "[town]")
    as_json = people("promote", "--json").json
    write(people, "[name]")
    silent = people("promote", "--no-diff")

    assert "diff" not in first
    assert [line.split()[0] for line in shown.out.splitlines()][:3] == ["from", "rule", "twin"]
    assert shown.out.splitlines()[-1].startswith("Release ")
    assert as_json["diff"]["rules"][0]["appears"] + as_json["diff"]["rules"][0]["changes"] == 2
    assert "findings" not in as_json["diff"]
    assert silent.out.splitlines()[0].startswith("Release ")


def test_promote_goes_on_if_the_releases_cannot_be_compared(people: Project) -> None:
    people("run")
    people("promote")
    (people.folder / "people.csv").unlink()
    write(people, "[{name: [lower]}]")

    done = people("promote")

    assert done.code == 0
    assert "twin: could not run in the first release" in done.out
    assert people("releases", "--json").json[0]["current"]
