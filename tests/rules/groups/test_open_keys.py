"""`nulls: {column: any}`: an empty value agrees with every value, and joins no two records that differ."""

import datetime as dt
import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import reconcile
from rules.kinds.duplicates import DuplicatesRule
from rules.kinds.duplicates.detection import FittedDuplicates
from rules.kinds.duplicates.reasons import because
from rules.values import Type
from tests.support.rules import Rows, detect

SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
TYPES = {"id": Type.INTEGER, "code": Type.TEXT, "shop": Type.TEXT, "till": Type.INTEGER}
VALUES = ["shop", "till"]


def rule(**settings: Any) -> DuplicatesRule:
    key = {"key": ["code", "shop", "till"], "nulls": {"shop": "any", "till": "any"}}
    return DuplicatesRule(name="twins", dataset="things", **key | settings)


def agree(first: dict[str, Any], second: dict[str, Any]) -> bool:
    pairs = [(first[name], second[name]) for name in VALUES]
    return first["code"] == second["code"] and all(None in pair or pair[0] == pair[1] for pair in pairs)


def is_certain(record: dict[str, Any], records: list[dict[str, Any]]) -> bool:
    """Return True if no two of the records that it agrees with differ from each other."""
    partners = [each for each in records if agree(record, each)]
    return all(agree(first, second) for first, second in itertools.combinations(partners, 2))


rows = st.lists(
    st.tuples(st.just("A") | st.just("B"), st.sampled_from([None, "x", "y", "z"]), st.sampled_from([None, 1, 2])),
    max_size=12,
)


@given(drawn=rows, data=st.data())
def test_no_group_holds_two_values_of_a_column_and_the_order_of_records_changes_nothing(
    drawn: list[tuple[str, str | None, int | None]], data: st.DataObject
) -> None:
    records = [{"id": n, "code": code, "shop": shop, "till": till} for n, (code, shop, till) in enumerate(drawn)]
    shuffled = data.draw(st.permutations(records))

    fitted = FittedDuplicates.of(rule(), Rows(TYPES, []).relation())
    groups = fitted.regroup(records, SLOT)

    assert groups == fitted.regroup(shuffled, SLOT)
    group_of = {member.id[0]: number for number, group in enumerate(groups) for member in group.members}
    for group in groups:
        assert all(len({member.values[name] for member in group.members} - {None}) <= 1 for name in VALUES)
    for first, second in itertools.combinations(records, 2):
        are_joined = first["id"] in group_of and group_of[first["id"]] == group_of.get(second["id"])
        are_certain = is_certain(first, records) and is_certain(second, records)
        are_same = all(first[name] == second[name] for name in ("code", *VALUES))
        assert are_joined == (are_same or (are_certain and agree(first, second)))


def test_a_group_shows_the_values_in_which_its_records_agree() -> None:
    records = [
        {"id": 1, "code": "A", "shop": None, "till": 1},
        {"id": 2, "code": "A", "shop": "x", "till": None},
    ]
    data = Rows(TYPES, records)

    [group] = detect(rule(), data.relation(), data.streamed(), SLOT).groups

    assert group.key == {"code": "A", "shop": "x", "till": 1}
    assert because(rule()) == "They have the same code, shop or none and till or none."


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"key": ["shop", "till"]}, "nulls: any for every column of the key would compare all records; leave one"),
        (
            {"window": {"at": "5m"}},
            "nulls: any needs all records of a key together, but window splits them; remove one",
        ),
        ({"repeats": "file"}, "nulls: any needs all records of a key together, but repeats splits them; remove one"),
        (
            {"key": {"any": [["code", "shop"], ["till"]]}},
            "nulls: any cannot be combined with key: any, where an empty value joins nothing; remove one",
        ),
        ({"key": "all"}, "nulls has no effect with key: all"),
        ({"nulls": {"shops": "any"}}, "nulls names `shops`, which is not in the key; did you mean `shop`?"),
    ],
)
def test_settings_that_make_no_sense_with_open_columns_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as told:
        rule(**settings)

    assert sentence in str(told.value)


def test_a_finding_of_open_columns_stays_the_same_when_its_empty_value_is_filled(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    (tmp_path / "reconcile.yaml").write_text(
        "version: 1\n"
        "sources: {files: {type: files}}\n"
        "datasets: {people: {source: files, path: people.csv, id: id}}\n"
        "rules:\n"
        "  twins: {kind: duplicates, dataset: people, key: [name, born], nulls: {born: any}}\n"
        "jobs: {daily: {rules: all, existing: report}}\n",
        encoding="utf-8",
    )
    file.write_text("id,name,born\n1,Ann,\n2,Ann,1990\n", encoding="utf-8")
    with reconcile.load(tmp_path / "reconcile.yaml") as opened:
        first = opened.run(slot="2026-06-01T00:00:00Z").to_json()
        file.write_text("id,name,born\n1,Ann,1990\n2,Ann,1990\n", encoding="utf-8")
        second = opened.run(slot="2026-06-02T00:00:00Z").to_json()
        file.write_text("id,name,born\n1,Ann,\n2,Ann,1990\n3,Ann,1991\n", encoding="utf-8")
        third = opened.run(slot="2026-06-03T00:00:00Z").to_json()

    assert first["rules"][0]["findings"]["new"] == 1
    assert (second["rules"][0]["findings"]["known"], second["rules"][0]["findings"]["new"]) == (1, 0)
    assert third["rules"][0]["findings"]["resolved"] == 1
