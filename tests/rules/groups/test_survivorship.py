"""The keeper of a group: by the lines of `keep`, then by id, whatever order the records came in."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.document.mistakes import RuleError
from rules.groups.group import Member
from rules.groups.survivorship import Strategy, check_keep, choose, columns_of, in_order
from rules.models import Keep
from rules.values import Column, Schema, Type, Value

SCHEMA = Schema(
    (
        Column("at", Type.INSTANT),
        Column("score", Type.DECIMAL),
        Column("status", Type.TEXT),
        Column("done", Type.BOOLEAN),
    )
)
NOON = dt.datetime(2026, 3, 29, 12, tzinfo=dt.UTC)


def member(name: Value, **values: Value) -> Member:
    return Member((name,), dict.fromkeys(SCHEMA.names) | values)


def ids(members: list[Member], *keep: Keep) -> list[Value]:
    return [m.id[0] for m in in_order(members, keep, SCHEMA.names)]


def test_the_first_in_time_is_kept_and_nulls_lose() -> None:
    members = [member(1), member(2, at=NOON), member(3, at=NOON - dt.timedelta(microseconds=1))]

    assert ids(members, Keep(how="first", column="at")) == [3, 2, 1]
    assert ids(members, Keep(how="last", column="at")) == [2, 3, 1]


def test_numbers_are_ordered_by_value() -> None:
    members = [member(1, score=Decimal(9)), member(2, score=Decimal("10.0")), member(3), member(4, score=Decimal(10))]

    assert ids(members, Keep(how="max", column="score")) == [2, 4, 1, 3]
    assert ids(members, Keep(how="min", column="score")) == [1, 2, 4, 3]


def test_the_most_complete_has_the_most_values() -> None:
    members = [member(1, status=""), member(2, status="x", at=NOON), member(3)]

    assert ids(members, Keep(how="most_complete")) == [2, 1, 3]


def test_preferred_values_win_in_their_order_then_others_then_nulls() -> None:
    members = [member(1), member(2, status="void"), member(3, status="open"), member(4, status="paid")]

    assert ids(members, Keep(how="prefer", column="status", prefer=("paid", "open"))) == [4, 3, 2, 1]


def test_a_later_line_decides_only_what_the_earlier_leaves_open() -> None:
    members = [
        member(1, status="open", score=Decimal(9)),
        member(2, status="paid", score=Decimal(1)),
        member(3, status="paid", score=Decimal(5)),
    ]
    keep = (Keep(how="prefer", column="status", prefer=("paid",)), Keep(how="max", column="score"))

    assert ids(members, *keep) == [3, 2, 1]


def test_a_tie_ends_at_the_id_by_value_not_by_text() -> None:
    members = [member(10), member(9), member("9"), member("10"), member("Z"), member("a")]

    assert ids(members) == [9, 10, "10", "9", "Z", "a"]


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "at": st.none() | st.integers(0, 3).map(lambda n: NOON + dt.timedelta(seconds=n)),
    "score": st.none() | st.sampled_from([Decimal("1.0"), Decimal(1), Decimal(-2), Decimal(10)]),
    "status": st.none() | st.sampled_from(["paid", "open", "Ä", ""]),
    "done": st.none() | st.booleans(),
}
IDS = st.tuples(st.integers(-3, 12) | st.sampled_from(["a", "B", "10"]), st.sampled_from(["x", "y"]))
KEEP = st.sampled_from(
    [
        Keep(how="first", column="at"),
        Keep(how="last", column="at"),
        Keep(how="max", column="score"),
        Keep(how="min", column="score"),
        Keep(how="most_complete"),
        Keep(how="prefer", column="status", prefer=("paid", "open", "paid")),
    ]
)


@given(
    st.lists(st.builds(Member, IDS, st.fixed_dictionaries(VALUES)), max_size=8, unique_by=lambda m: m.id),
    st.lists(KEEP, max_size=3),
    st.randoms(use_true_random=False),
)
def test_the_order_records_came_in_never_changes_the_choice(members: list[Member], keep: list[Keep], dice: Any) -> None:
    shuffled = list(members)
    dice.shuffle(shuffled)

    chosen = in_order(members, keep, SCHEMA.names)

    assert [m.id for m in in_order(shuffled, keep, SCHEMA.names)] == [m.id for m in chosen]
    assert sorted(map(repr, chosen)) == sorted(map(repr, members))


def test_a_choice_reads_only_the_columns_it_looks_at() -> None:
    assert columns_of([Keep(how="max", column="score"), Keep(how="first", column="at")], SCHEMA) == ("score", "at")
    assert columns_of([Keep(how="most_complete")], SCHEMA) == SCHEMA.names


@pytest.mark.parametrize(
    ("keep", "sentence"),
    [
        (Keep(how="max", column="scor"), "`keep` names `scor`, which is not a column; did you mean `score`?"),
        (Keep(how="first", column="done"), "`keep` cannot order by `done`: values of type boolean have no order."),
        (Keep(how="prefer", column="score", prefer=("1",)), "`keep` cannot prefer values of `score`, which is of type"),
    ],
)
def test_a_line_that_cannot_choose_is_told_in_one_sentence(keep: Keep, sentence: str) -> None:
    with pytest.raises(RuleError) as told:
        check_keep([keep], SCHEMA)

    assert str(told.value).startswith(sentence)


def test_lines_that_fit_are_accepted() -> None:
    check_keep([Keep(how="most_complete"), Keep(how="prefer", column="done", prefer=("true",))], SCHEMA)


LINKED = st.lists(st.fixed_dictionaries({name: st.sampled_from([None, "x", "yy"]) for name in "abc"}), min_size=1)


@given(records=LINKED, how=st.sampled_from(["longest", "most_frequent"]))
def test_linked_fields_never_empty_a_field_of_the_keeper(records: list[dict[str, Value]], how: str) -> None:
    members = [Member((number,), values) for number, values in enumerate(records)]

    [chosen] = choose(members, {"a": Strategy(how=how)}, [["a", "b", "c"]])  # type: ignore[arg-type]

    keeper = records[0]
    for origin in chosen.origins:
        taken = records[origin]
        assert all(taken[name] is not None for name in "abc" if keeper[name] is not None)
        assert sum(value is not None for value in taken.values()) >= sum(value is not None for value in keeper.values())
    assert chosen.origins or all(value is None for record in records for value in record.values())
