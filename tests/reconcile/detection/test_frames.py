"""Duplicates in pandas frames: the rows come back as they are, with group and role; and projects run from Python."""

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reconcile
from tests.support.chance import examples
from tests.support.cli import FILES, ORDERS, Project


def roles(data_frame: pd.DataFrame) -> list[tuple[int, str, object]]:
    return [
        (int(g), str(r), i) for g, r, i in zip(data_frame["group"], data_frame["role"], data_frame.index, strict=True)
    ]


def test_rows_that_share_a_key_come_back_group_by_group_with_their_index() -> None:
    frame = pd.DataFrame({"order": ["A", "B", "A", "C", "B"]}, index=["v", "w", "x", "y", "z"])

    duplicates = reconcile.find_duplicates(frame, "order")

    assert list(duplicates.columns) == ["group", "role", "order"]
    assert roles(duplicates) == [(0, "keeper", "v"), (0, "surplus", "x"), (1, "keeper", "w"), (1, "surplus", "z")]
    assert list(frame.columns) == ["order"], "the frame itself is left as it is"
    pd.testing.assert_frame_equal(duplicates[["order"]], frame.loc[list(duplicates.index)])


def test_a_frame_without_duplicates_or_without_rows_gives_none() -> None:
    empty = pd.DataFrame({"order": pd.Series([], dtype="str")})

    for frame in (empty, pd.DataFrame({"order": ["A", "B"]})):
        duplicates = reconcile.find_duplicates(frame, "order")

        assert len(duplicates) == 0
        assert list(duplicates.columns) == ["group", "role", "order"]


def test_keys_are_compared_through_their_normalisers() -> None:
    frame = pd.DataFrame({"email": ["Ada@Example.com", "ada+shop@example.com", "bob@example.com"], "n": [1, 2, 3]})

    assert list(reconcile.find_duplicates(frame, [{"email": ["mailbox"]}])["n"]) == [1, 2]
    assert len(reconcile.find_duplicates(frame, ["email"])) == 0


def test_empty_keys_are_not_equal_to_each_other_unless_asked() -> None:
    frame = pd.DataFrame({"order": [None, None, "", " ", "A", "A"]})

    assert list(reconcile.find_duplicates(frame, "order").index) == [4, 5]


def test_several_columns_make_a_key() -> None:
    frame = pd.DataFrame({"a": [1, 1, 1, 2], "b": ["x", "x", "y", "x"]})

    assert list(reconcile.find_duplicates(frame, ["a", "b"]).index) == [0, 1]


TIMES = ["2026-03-01T10:00:00", "2026-03-01T10:10:00", "2026-03-01T11:00:00"]


@pytest.mark.slow
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_a_window_keeps_apart_what_is_far_apart_in_naive_and_aware_times(zone: str | None) -> None:
    frame = pd.DataFrame({"order": ["A", "A", "A"], "at": pd.to_datetime(TIMES).tz_localize(zone)})

    assert list(reconcile.find_duplicates(frame, "order", window={"at": "15m"}).index) == [0, 1]
    assert len(reconcile.find_duplicates(frame, "order", window={"at": "2h"})) == 3


def test_the_length_of_a_window_may_be_a_timedelta() -> None:
    frame = pd.DataFrame({"order": ["A", "A", "A"], "at": pd.to_datetime(TIMES)})

    assert list(reconcile.find_duplicates(frame, "order", window={"at": dt.timedelta(minutes=15)}).index) == [0, 1]


def test_a_naive_time_is_in_the_zone_that_is_given() -> None:
    frame = pd.DataFrame({"order": ["A", "A"], "at": pd.to_datetime(["2026-03-29T01:55:00", "2026-03-29T03:05:00"])})

    assert len(reconcile.find_duplicates(frame, "order", window={"at": "15m"}, timezone="Europe/Berlin")) == 2
    assert len(reconcile.find_duplicates(frame, "order", window={"at": "15m"})) == 0


def test_categories_nullable_integers_and_decimals_are_compared_by_value() -> None:
    frame = pd.DataFrame(
        {
            "kind": pd.Categorical(["a", "b", "a", None, None]),
            "number": pd.array([1, 2, 1, None, None], dtype="Int64"),
            "amount": [Decimal("1.10"), Decimal("2"), Decimal("1.1"), None, None],
        }
    )

    for key in ("kind", "number", "amount"):
        assert list(reconcile.find_duplicates(frame, key).index) == [0, 2], key


@pytest.mark.slow
def test_keep_and_where_and_minimum_mean_what_they_mean_in_a_rule() -> None:
    frame = pd.DataFrame({"order": ["A", "A", "A", "B", "B"], "n": [1, 3, 2, 1, 2]})

    last = reconcile.find_duplicates(frame, "order", keep=[{"last": "n"}])
    assert list(last[last["role"] == "keeper"]["n"]) == [3, 2]
    assert list(reconcile.find_duplicates(frame, "order", where="n > 1").index) == [1, 2]
    assert set(reconcile.find_duplicates(frame, "order", minimum=3)["order"]) == {"A"}


def test_rows_that_share_any_of_several_keys_come_back_together() -> None:
    frame = pd.DataFrame({"email": ["a", "a", None, "b"], "phone": [None, "1", "1", "2"], "fax": ["0"] * 4})

    duplicates = reconcile.find_duplicates(frame, {"any": ["email", ["phone"]]})
    capped = reconcile.find_duplicates(frame, {"any": ["email", "fax"]}, max_shared=3)

    assert roles(duplicates) == [(0, "keeper", 0), (0, "surplus", 1), (0, "surplus", 2)]
    assert list(capped.index) == [0, 1]


def test_whole_rows_are_compared_where_the_key_is_all() -> None:
    frame = pd.DataFrame({"a": [1, 1, 1], "b": ["x", "x", None]})

    assert list(reconcile.find_duplicates(frame, "all").index) == [0, 1]


def test_what_does_not_fit_is_a_value_error_in_one_sentence() -> None:
    frame = pd.DataFrame({"order": ["A", "A"], "at": ["x", "y"]})
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    mixed = pd.DataFrame({"a": ["x", 1]})
    for call, part in (
        (lambda: reconcile.find_duplicates(frame, "ordr"), "did you mean `order`?"),
        (lambda: reconcile.find_duplicates(frame, "order", window={"at": "15m"}), "measures time"),
        (lambda: reconcile.find_duplicates(frame, "order", where="nope = 1"), "no column `nope`"),
        (lambda: reconcile.find_duplicates(frame, "order", where="= 1"), "where"),
        (lambda: reconcile.find_duplicates(frame, []), "a key needs at least one column"),
        (lambda: reconcile.find_duplicates(frame, "order", window={"at": "soon"}), "soon"),
        (lambda: reconcile.find_duplicates(frame, "order", timezone="Mars/Base"), "Mars/Base"),
        (lambda: reconcile.find_duplicates(twice, "a"), "several columns named a"),
        (lambda: reconcile.find_duplicates(mixed, "a"), "column a holds values of several types"),
    ):
        with pytest.raises(ValueError, match=re.escape(part)) as caught:
            call()

        assert "\n" not in str(caught.value), str(caught.value)


def test_a_column_of_the_frame_named_group_or_role_is_told(tmp_path: Path) -> None:
    frame = pd.DataFrame({"group": ["A", "A"]})

    with pytest.raises(ValueError, match="has a column named group"):
        reconcile.find_duplicates(frame, "group")


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(st.one_of(st.none(), st.text("abc", min_size=1, max_size=2)), st.integers(0, 3)), max_size=30)
)
def test_plain_keys_agree_with_groupby(rows: list[tuple[str | None, int]]) -> None:
    frame = pd.DataFrame(
        {"a": pd.Series([a for a, _ in rows], dtype="str"), "b": pd.Series([b for _, b in rows], dtype="int64")}
    )

    duplicates = reconcile.find_duplicates(frame, ["a", "b"])

    theirs = {frozenset(part.index) for _, part in frame.groupby(["a", "b"]) if len(part) > 1}
    assert {frozenset(part.index) for _, part in duplicates.groupby("group")} == theirs


@pytest.mark.slow
def test_a_project_runs_from_python_and_gives_its_report(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text(ORDERS)
    Project(tmp_path).write(FILES)

    with reconcile.load(tmp_path / "reconcile.yaml") as project:
        rehearsed = project.run(dry_run=True)
        report = project.run("default")

    assert (rehearsed.run, report.status, report.failed) == (None, "succeeded", False)
    assert (report.job, report.slot.tzinfo) == ("default", dt.UTC)
    assert report.checked[0].findings.new == 1
    assert report.to_json()["findings"][0]["surplus"] == [["P-2"]]
    assert report.to_json()["run"] == report.run
