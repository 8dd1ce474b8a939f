"""`repeats`: equal records are numbered within each value of a column, and the n-th meets the n-th."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import reconcile
from reconcile.config import ConfigProblems
from rules.groups.group import DuplicateGroup, Group
from rules.groups.repetition import Repetition
from rules.kinds.duplicates import DuplicatesRule
from rules.kinds.duplicates.detection import FittedDuplicates
from rules.values import Type
from tests.support.rules import Rows

pytestmark = pytest.mark.slow

SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
TYPES = {"id": Type.INTEGER, "code": Type.TEXT, "export": Type.TEXT}
COLUMNS = ["booked", "text", "amount"]
JANUARY = [("2026-01-30", "Rent", "-900.00"), *[("2026-01-31", "Bus", "-2.80")] * 2, ("2026-01-31", "Kiosk", "-4.00")]
FEBRUARY = [*JANUARY[1:], ("2026-02-02", "Kiosk", "-4.00"), ("2026-01-31", "Bus", "-2.80")]
CONFIG = """
version: 1
sources: {{files: {{type: files}}}}
datasets:
  bank:
    source: files
    path: "export-*.{ending}"
    columns: {{booked: date, amount: decimal}}
    money: {{amount: amount, currency: EUR}}
rules:
  exported-again: {{kind: duplicates, dataset: bank, {settings}}}
jobs: {{daily: {{rules: all, existing: report}}}}
"""
Statement = list[tuple[str, str, str]]


def csv(path: Path, rows: Statement) -> None:
    path.write_text("\n".join(map(",".join, [tuple(COLUMNS), *rows])) + "\n", encoding="utf-8")


def jsonl(path: Path, rows: Statement) -> None:
    path.write_text("".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows), encoding="utf-8")


def parquet(path: Path, rows: Statement) -> None:
    pq.write_table(pa.table(dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))), path)


def project(folder: Path, settings: str = "key: all, repeats: _file", ending: str = "csv") -> reconcile.Project:
    (folder / "reconcile.yaml").write_text(CONFIG.format(settings=settings, ending=ending), encoding="utf-8")
    return reconcile.load(folder / "reconcile.yaml")


def surplus_rows(report: dict[str, Any]) -> list[tuple[str, int]]:
    return sorted(tuple(place) for finding in report["findings"] for place in finding["places"][1:])


@pytest.mark.parametrize(("ending", "write"), [("csv", csv), ("jsonl", jsonl), ("parquet", parquet)])
def test_two_exports_that_show_two_real_tickets_hold_two_repeats(
    ending: str, write: Callable[[Path, Statement], None], tmp_path: Path
) -> None:
    write(tmp_path / f"export-1.{ending}", JANUARY)
    write(tmp_path / f"export-2.{ending}", FEBRUARY)

    with project(tmp_path, ending=ending) as opened:
        report = opened.run(slot=SLOT.isoformat(), dry_run=True).to_json()

    first = 2 if ending == "csv" else 1
    assert surplus_rows(report) == [(f"export-2.{ending}", first + row) for row in range(3)]
    assert report["rules"][0]["money"] == {"EUR": "9.60"}
    numbers = [finding["repetition"] for finding in report["findings"]]
    assert sorted(map(str, numbers)) == sorted(
        str({"column": "_file", "number": number, "least": least, "most": most})
        for number, least, most in ((1, 1, 1), (1, 2, 3), (2, 2, 3))
    )


def test_the_findings_of_a_later_run_are_the_same_and_another_export_makes_them_grow(tmp_path: Path) -> None:
    csv(tmp_path / "export-1.csv", JANUARY)
    csv(tmp_path / "export-2.csv", FEBRUARY)
    with project(tmp_path) as opened:
        first = opened.run(slot="2026-06-01T00:00:00Z").to_json()
        second = opened.run(slot="2026-06-02T00:00:00Z").to_json()
        csv(tmp_path / "export-3.csv", FEBRUARY)
        third = opened.run(slot="2026-06-03T00:00:00Z").to_json()

    assert first["rules"][0]["findings"]["new"] == 3
    assert (second["rules"][0]["findings"]["known"], second["rules"][0]["findings"]["new"]) == (3, 0)
    grown = {finding["id"] for finding in third["findings"] if finding["last_change"] == "grown"}
    assert grown == {finding["id"] for finding in first["findings"]}
    assert third["rules"][0]["findings"]["new"] == 2


def duplicate_group(group: Group) -> DuplicateGroup:
    assert isinstance(group, DuplicateGroup)
    return group


rows = st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from(["x", "y", "z", None])), max_size=14)


@given(drawn=rows, data=st.data())
def test_surplus_is_what_exceeds_the_largest_number_in_any_value_whatever_the_order(
    drawn: list[tuple[str, str | None]], data: st.DataObject
) -> None:
    records = [{"id": n, "code": code, "export": export} for n, (code, export) in enumerate(drawn)]
    shuffled = data.draw(st.permutations(records))
    rule = DuplicatesRule(name="twins", dataset="things", key="code", repeats="export")

    fitted = FittedDuplicates.of(rule, Rows(TYPES, []).relation())
    groups = fitted.regroup(records, SLOT)

    expected = 0
    for code in "AB":
        counts = Counter(export for each, export in drawn if each == code and export is not None)
        expected += sum(counts.values()) - max(counts.values(), default=0)
    assert sum(len(duplicate_group(group).surplus) for group in groups) == expected
    assert groups == fitted.regroup(shuffled, SLOT)
    for group in groups:
        assert len({member.values["export"] for member in group.members}) == len(group.members)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"window": {"at": "5m"}}, "repeats numbers all equal records, but window splits them; remove one of"),
        ({"overlap": {"from": "a", "to": "b"}}, "repeats numbers all equal records, but overlap splits them"),
        ({"distinct": "export"}, "distinct names the column of repeats, which differs in every group"),
        ({"key": {"any": [["code"], ["name"]]}}, "needs a common key to number in, which groups of `any` do not have"),
    ],
)
def test_settings_that_make_no_sense_with_repeats_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as told:
        DuplicatesRule(name="twins", dataset="things", **{"key": "code", "repeats": "export"} | settings)

    assert sentence in str(told.value)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("key: [text], repeats: text", "`text` has at most one value in every group; remove it or name another column"),
        ("key: all, repeats: amount", "`amount` has at most one value in every group"),
        (
            "key: [text], repeats: _file, clean: {action: delete}",
            "a rule with `repeats` only reports, because cleaning would renumber the other records",
        ),
    ],
)
def test_a_rule_with_repeats_that_finds_nothing_or_cleans_is_a_mistake(
    settings: str, sentence: str, tmp_path: Path
) -> None:
    csv(tmp_path / "export-1.csv", JANUARY)

    with pytest.raises(ConfigProblems) as told:
        project(tmp_path, settings)

    assert sentence in str(told.value)


def test_repeats_of_a_column_that_the_dataset_lacks_names_the_nearest(tmp_path: Path) -> None:
    csv(tmp_path / "export-1.csv", JANUARY)

    with project(tmp_path, "key: [text], repeats: _fiel") as opened:
        report = opened.run(slot=SLOT.isoformat(), dry_run=True).to_json()

    assert (
        "`repeats` names `_fiel`, but dataset `bank` has no such column; did you mean `_file`?"
        in (report["rules"][0]["failed"])
    )


def test_the_nth_record_of_one_dataset_meets_the_nth_of_another(tmp_path: Path) -> None:
    csv(tmp_path / "export-1.csv", JANUARY)
    csv(tmp_path / "other.csv", FEBRUARY)
    text = CONFIG.format(settings="key: all", ending="csv").replace("dataset: bank", "datasets: [bank, other]")
    text = text.replace("key: all", "key: [booked, text, amount], repeats: dataset")
    other_text = "other: {source: files, path: other.csv, columns: {booked: date, amount: decimal}}\nrules:"
    (tmp_path / "reconcile.yaml").write_text(text.replace("rules:\n", f"  {other_text}\n", 1), encoding="utf-8")

    with reconcile.load(tmp_path / "reconcile.yaml") as opened:
        report = opened.run(slot=SLOT.isoformat(), dry_run=True).to_json()

    assert surplus_rows(report) == [("other.csv", row) for row in (2, 3, 4)]


@pytest.mark.parametrize(
    ("repetition", "words"),
    [
        (Repetition("_file", 1, 1, 1), "the 1st of 1 in its _file"),
        (Repetition("_file", 2, 2, 3), "the 2nd of 2 to 3 in its _file"),
        (Repetition("batch", 13, 1_213, 1_213), "the 13th of 1,213 in its batch"),
        (Repetition("batch", 23, 23, 23), "the 23rd of 23 in its batch"),
    ],
)
def test_a_repetition_says_which_one_each_record_is(repetition: Repetition, words: str) -> None:
    assert repetition.in_words == words
