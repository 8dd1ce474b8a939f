"""`max_share`: a rule whose groups hold most of the records is stopped, says so, and changes nothing."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from rules.groups import encoded, keyed
from rules.groups.implausible import KeyTooCommon, LargeGroup
from rules.kinds.duplicates import DuplicatesRule
from rules.values import Type
from tests.rules.binding.datasets import Dataset
from tests.rules.binding.datasets import detect as detect_several
from tests.rules.binding.datasets import rule as several
from tests.support.cli import Project
from tests.support.config import problems
from tests.support.rules import Rows, databases, detect, pushed

__all__ = ["databases"]
SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
TYPES = {"id": Type.INTEGER, "town": Type.TEXT, "name": Type.TEXT, "amount": Type.INTEGER}
PEOPLE = 12_000


def people(of_town: int = 3) -> Rows:
    """People in towns of three, and a fifth as many who are alone in theirs; the first town has one more."""
    towns = [f"Town {n // of_town:05}" for n in range(PEOPLE)]
    towns += ["Town 00000", *(f"Hamlet {n}" for n in range(PEOPLE // 5))]
    rows = [{"id": n, "town": town, "name": f"person {n}", "amount": n % 50} for n, town in enumerate(towns)]
    return Rows(TYPES, rows)


def rule(**settings: Any) -> DuplicatesRule:
    return DuplicatesRule.model_validate({"name": "twins", "dataset": "things", "key": ["town"], **settings})


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"key": {"any": ["town", "name"]}},
        {"having": "records > 1"},
        {"key": {"any": ["town", "name"]}, "having": "records > 1"},
        {"gap": {"amount": 50}},
        {"except": [["1", "2"]]},
        {"max_share": "80%"},
    ],
    ids=str,
)
@pytest.mark.slow
def test_a_rule_whose_groups_hold_most_records_is_stopped(settings: dict[str, Any]) -> None:
    with pytest.raises(KeyTooCommon) as stopped:
        detect(rule(**settings), people().relation(), people().streamed(), SLOT)

    most = 11_520 if "max_share" in settings else 10_000
    assert f"more than {most:,} of 14,401 records" in str(stopped.value)
    assert "its key (town" in str(stopped.value)
    assert "Town" not in str(stopped.value)
    assert LargeGroup({"town": "Town 00000"}, 4) in stopped.value.largest
    assert len(stopped.value.largest) == 3


@pytest.mark.parametrize(
    "settings",
    [
        {"max_share": "100%"},
        {"max_share": "90%"},
        {"minimum": 4},
        {"having": "sum(amount) > 100"},
        {"gap": {"amount": 0}},
        {"key": {"any": ["town", "name"]}, "having": "sum(amount) > 100"},
    ],
    ids=str,
)
@pytest.mark.slow
def test_only_the_records_in_groups_count(settings: dict[str, Any]) -> None:
    detection = detect(rule(**settings), people().relation(), people().streamed(), SLOT)

    assert sum(len(group.members) for group in detection.groups) > 0 or settings == {"gap": {"amount": 0}}


@pytest.mark.slow
def test_few_records_are_never_too_many() -> None:
    """All of them are duplicates, but a person can go through their findings."""
    rows = Rows(TYPES, [{"id": n, "town": f"Town {n // 2}", "name": "x", "amount": 1} for n in range(10_000)])

    assert len(detect(rule(), rows.relation(), rows.streamed(), SLOT).groups) == 5_000


def test_no_group_is_built_before_the_rule_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """That took minutes for millions of records."""
    monkeypatch.setattr(keyed.Grouping, "records", None)

    with pytest.raises(KeyTooCommon):
        detect(rule(), people().relation(), people().streamed(), SLOT)


@pytest.mark.server
@pytest.mark.parametrize("name", ["postgresql", "mariadb", "sqlite"])
@pytest.mark.parametrize("key", [[{"town": ["lower"]}], {"any": ["town", "name"]}], ids=str)
def test_every_engine_stops_it_with_the_same_words(databases: dict[str, sa.Engine], name: str, key: Any) -> None:
    here = rule(key=key, where="amount >= 0")
    with pytest.raises(KeyTooCommon) as embedded:
        detect(here, people().relation(), people().streamed(), SLOT)
    with pushed(databases[name], people()) as records, pytest.raises(KeyTooCommon) as inside:
        detect(here, people().relation(), records, SLOT)

    assert str(inside.value) == str(embedded.value)
    assert inside.value.largest[0] == embedded.value.largest[0]


@pytest.mark.parametrize("key", [["town"], {"any": ["town", "name"]}], ids=str)
@pytest.mark.slow
def test_the_records_of_several_datasets_count_together(key: Any) -> None:
    datasets = [Dataset(name, people(), {}) for name in ("crm", "shop")]

    with pytest.raises(KeyTooCommon, match=r"more than 14,401 of 28,802 records"):
        detect_several(several(datasets, key=key), datasets)


PROJECT = """
version: 1
sources: {lists: {type: files, root: .}}
datasets:
  people: {source: lists, path: people.csv, id: id, pii: [name]}
  towns: {source: lists, path: people.csv, id: id}
rules:
  twins: {kind: duplicates, dataset: people, key: [name, town]}
  others: {kind: duplicates, dataset: towns, key: [town], where: town like 'Hamlet%'}
jobs: {nightly: {rules: all}}
"""


def write(folder: Path, rows: int) -> None:
    lines = (f"{n},Ann {n // 4},Bonn" for n in range(rows))
    (folder / "people.csv").write_text("\n".join(["id,name,town", *lines, "x,Eve,Hamlet 1", "y,Eve,Hamlet 1"]))


@pytest.mark.slow
def test_nothing_is_written_or_resolved_and_people_hear_why(tmp_path: Path) -> None:
    project = Project(tmp_path).write(PROJECT)
    write(tmp_path, 4)
    assert project("run").code == 0
    write(tmp_path, 12_000)

    dry, run = project("run", "--dry-run", "--json"), project("run", "--json")

    assert (dry.code, run.code) == (3, 3)
    for answer in (dry, run):
        failed, other_rule = answer.json["rules"]
        assert failed["failed"].startswith(
            "Rule 'twins' was stopped: its groups would hold more than 10,000 of 12,002 records (`max_share`), so its "
            "key (name and town) identifies nothing; its largest groups: name •••, town Bonn (4 records); "
        )
        assert other_rule["findings"]["known"] == 1
    assert [finding["state"] for finding in project("findings", "--rule", "twins", "--json").json] == ["open"] * 2
    assert "Bonn" not in project("audit", "log", "--json").out
    assert project.audit_is_intact()

    project.write(PROJECT.replace("[name, town]", "[name, town], max_share: 100%"))
    again = project("run", "--json")
    assert again.code == 0
    assert again.json["rules"][0]["findings"]["known"] == 2
    assert again.json["rules"][0]["findings"]["new"] == 2_999


def test_a_share_is_written_in_per_cent(tmp_path: Path) -> None:
    assert "write it like 1% or 0.5%" in str(
        problems(tmp_path, PROJECT.replace("[name, town]", "[name, town], max_share: half"))
    )


cells = st.one_of(st.none(), st.sampled_from(["", "a", "A", "ä", "1"]))
numbers = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, float("inf"), float("nan")]))


@given(rows=st.lists(st.tuples(cells, numbers, st.booleans()), max_size=30))
@pytest.mark.slow
def test_rows_that_differ_are_never_taken_for_one(rows: list[tuple[str | None, float | None, bool]]) -> None:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    types = (pa.string(), pa.float64(), pa.bool_())
    arrays = [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
    table = pa.table(arrays, ["text", "number", "truth"])

    different, places = encoded.different(table, few=0)

    assert str(different.take(pa.array(places)).to_pylist()) == str(table.to_pylist())
    assert len(different) == len(set(map(str, table.to_pylist())))
