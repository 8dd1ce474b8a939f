"""Rules that cannot find anything are mistakes, and rules that can are none."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.expressions import parse, parse_group
from rules.expressions.possible import narrowed
from rules.kinds.base import DatasetFacts
from rules.kinds.duplicates import DuplicatesRule
from rules.kinds.duplicates.barren import reasons
from rules.values import Type
from tests.support.config import problems
from tests.support.rules import Rows, check

BARREN: list[tuple[dict[str, Any], str]] = [
    ({"key": ["no", "id"]}, "key"),
    ({"key": ["no", "_file", "_row"]}, "key"),
    ({"key": [{"no": ["letters", "digits"]}]}, "key"),
    ({"key": ["id2", {"no": ["trim", "alnum", "lower", "email"]}]}, "key"),
    ({"key": [{"no": ["digits", {"phone": "DE"}, "letters"]}]}, "key"),
    ({"distinct": "no"}, "distinct"),
    ({"distinct": "twice_no"}, "distinct"),
    ({"key": "all", "distinct": "amount"}, "distinct"),
    ({"where": "status = 'open'", "distinct": "status"}, "distinct"),
    ({"where": "status is null", "distinct": "status"}, "distinct"),
    ({"where": "status = 'open' and status = 'paid'"}, "where"),
    ({"where": "amount > 5 and not amount >= 3"}, "where"),
    ({"where": "status in ('a', 'b') and status <> 'a' and status not in ('b', 'c')"}, "where"),
    ({"where": "amount between 5 and 3"}, "where"),
    ({"where": "(status = 'a' or status = 'b') and (status = 'c' or amount is null and amount > 1)"}, "where"),
    ({"where": "live and not live"}, "where"),
    ({"where": "kind = 'b'"}, "where"),
    ({"where": "no is null"}, "where"),
    ({"where": "at is null", "window": {"at": "1h"}}, "where"),
    ({"where": "1 = 2"}, "where"),
    ({"having": "records < 2"}, "having"),
    ({"having": "records = 2", "minimum": 3}, "having"),
    ({"having": "records > 2 and records < 3"}, "having"),
    ({"having": "records = 2.5"}, "having"),
    ({"having": "2 > records or count_distinct(no) > 1"}, "having"),
    ({"having": "min(amount) > max(amount)"}, "having"),
    ({"having": "max(no) <> min(no)"}, "having"),
    ({"having": "count_distinct(amount) < 0"}, "having"),
    ({"having": "sum(amount) > 5 and sum(amount) < -5"}, "having"),
]
FINE: list[dict[str, Any]] = [
    {"key": [{"id": ["lower"]}]},
    {"key": ["id2", "no"]},
    {"key": ["no", "_file"]},
    {"key": [{"no": ["alnum", "digits"]}]},
    {"key": [{"no": ["letters", {"map": {"A": "1"}}, "digits"]}]},
    {"key": [{"no": ["docno", "alnum"]}]},
    {"key": [{"no": ["trim"]}], "distinct": "no"},
    {"key": "all", "distinct": "id"},
    {"distinct": "amount"},
    {"where": "no = 'a'"},
    {"where": "at = '2026-01-31' and at = '2026-01-31 00:00'"},
    {"where": "status = 'a' or status = 'b'"},
    {"where": "amount >= 3 and amount <= 3"},
    {"where": "no is null", "nulls": {"no": "match"}},
    {"where": "status is null"},
    {"window": {"at": "0s"}},
    {"having": "records >= 2 and count_distinct(amount) < 1"},
    {"having": "min(amount) < max(amount)"},
    {"having": "min(amount) = max(no)"},
    {"having": "sum(amount) is null"},
]
DATASET = DatasetFacts(("id",), "kind = 'a'", {"twice_no": "no + no"})


def rule(settings: dict[str, Any]) -> DuplicatesRule:
    return DuplicatesRule.model_validate({"name": "r", "dataset": "d", "key": ["no"], **settings})


@pytest.mark.parametrize(("settings", "setting"), BARREN, ids=str)
def test_a_rule_that_cannot_find_anything_is_told_at_its_setting(settings: dict[str, Any], setting: str) -> None:
    assert [path[0] for path, _ in reasons(rule(settings), DATASET)] == [setting]


@pytest.mark.parametrize("settings", FINE, ids=str)
def test_a_rule_that_may_find_something_is_accepted(settings: dict[str, Any]) -> None:
    assert list(reasons(rule(settings), DATASET)) == []


CONDITIONS = st.recursive(
    st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.integers(0, 3)).map(
        lambda item: f"{item[0]} {item[1]} {item[2]}"
    )
    | st.sampled_from(["a is null", "b is not null", "a in (1, 2)", "b not in (0, 3)", "a < b", "a between 1 and 2"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda item: f"({item[0]} {item[1]} {item[2]})"),
        inner.map(lambda entry: f"not ({entry})"),
    ),
    max_leaves=6,
)


@given(CONDITIONS)
def test_a_condition_that_a_record_meets_is_never_called_impossible(condition: str) -> None:
    schema = Rows({"a": Type.INTEGER, "b": Type.INTEGER}, []).relation().schema
    bound = parse(condition).condition(schema)
    values = [None, -1, 0, 1, 2, 3, 4]
    is_met = any(bound.evaluate({"a": a, "b": b}, None) is True for a in values for b in values)  # type: ignore[arg-type]  # it names no slot

    assert not is_met or narrowed([parse(condition).root], {}) is not None


def test_the_mistake_is_told_with_line_and_column_when_the_configuration_is_read(tmp_path: Path) -> None:
    text = (
        "sources: {s: {type: files}}\n"
        "datasets: {d: {source: s, path: a.csv, id: [no, line], where: status = 'open'}}\n"
        "rules:\n"
        "  one: {kind: duplicates, dataset: d, key: [line, no]}\n"
        "  two: {kind: duplicates, dataset: d, key: iban, where: status = 'paid'}\n"
        "  three: {kind: duplicates, dataset: d, key: iban, having: records < 2}\n"
        "  four: {kind: duplicates, dataset: d, key: iban, where: a = 1}\n"
    )

    assert problems(tmp_path, text) == [
        (
            "4:44: `key`: it holds the whole id (`no` and `line`), so no two records are equal; remove a column; "
            "rule `one` would never find anything"
        ),
        (
            "5:57: `where`: no record can meet this condition together with the dataset's `where`; correct it; "
            "rule `two` would never find anything"
        ),
        "6:60: `having`: no group can meet this condition; correct it; rule `three` would never find anything",
    ]


def test_a_key_of_all_columns_of_a_dataset_that_has_only_an_id_compares_nothing() -> None:
    data = Rows({"id": Type.INTEGER}, [])

    assert check(rule({"key": "all"}), data.relation()) == [
        "`key: all` compares nothing: every column of dataset `things` is in its id."
    ]


def test_a_group_is_possible_with_any_number_of_records() -> None:
    assert narrowed([parse_group("records > 1000000").root], {}) is not None
